"""`replay`: costs of policies on recorded losses, compared with fixed arms and plans in hindsight."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

import holdfast
from holdfast.checks import CostTable, checked_costs, number_range, one_of, real_number, whole_number
from holdfast.data.csv import PLAIN, CsvFormat
from holdfast.data.records import Fill, Missing, Records, Trace, label_text, read_frame, read_records
from holdfast.environments import LossTable
from holdfast.environments.environment import UNIT_RANGE
from holdfast.errors import InvalidParameter, parameter_named
from holdfast.extras import need, pl
from holdfast.files import claimed, reported, write_whole
from holdfast.numerics.hindsight import LARGEST_LOSS, Plan, best_plan, hindsight, runs_of, switching_paid
from holdfast.numerics.layout import Array
from holdfast.numerics.random import check_seed
from holdfast.numerics.statistics import checked_confidence
from holdfast.replays.advice import (
    Recommendation,
    References,
    Sentence,
    Standing,
    advice,
    exact,
    joint_recommendation,
    recommendation,
    stretches,
)
from holdfast.replays.games import (
    COLUMNS,
    OWN_LOSS,
    WHOLE,
    ClippedTable,
    Forecasts,
    Piece,
    PieceRunner,
    PolicyLike,
    Stretch,
    all_losses,
    clipping_note,
    is_exact,
    outlier_note,
    pieces_of,
    read_forecasts,
    totals_of,
)
from holdfast.replays.report import as_html, as_text, page_of, rendered_pictures
from holdfast.results import Result, parquet_bytes
from holdfast.runs import (
    TABLE,
    Outputs,
    check_resumable,
    checksum,
    document,
    earlier_record,
    numbers_of,
    plain,
    read_piece,
    record_of,
    write_record,
)
from holdfast.simulation.backends import Backend, Reporting, find_backend
from holdfast.simulation.run import checkpoint_rounds, progress_bar
from holdfast.text import listed_words, number

# The result of a replay, as numbers, sentences, text and files.

PARTS = {"halves": "half", "quarters": "quarter"}


@dataclass(frozen=True)
class Held:
    """Arms held over time: runs of rounds, as (first round from 0, arm).

    It is the game of that replication as a CPU plays it; a GPU draws other numbers.
    """

    starts: NDArray[np.int64]
    arms: NDArray[Any]
    rounds: int
    replication: int

    @classmethod
    def of(cls, arms: NDArray[Any], replication: int = 0) -> Held:
        """Compress the arm of each round."""
        return cls(*runs_of(arms), len(arms), replication)

    def each_round(self) -> NDArray[Any]:
        """Return the arm of each round."""
        return np.repeat(self.arms, np.diff(self.starts, append=self.rounds))


@dataclass(frozen=True)
class Running:
    """Costs of fixed arms and best plans up to each of some rounds."""

    rounds: NDArray[np.int64]
    arm_losses: Mapping[str, Array]
    plan_losses: Mapping[float, Array]
    plan_switches: Mapping[float, NDArray[np.int64]]
    plan_paid: Mapping[float, Array]

    @classmethod
    def of(cls, table: NDArray[Any], marks: Sequence[int], arms: Sequence[str], plans: Mapping[float, Plan]) -> Running:
        """Sum losses between one mark and the next."""
        ends = np.array(marks, dtype=np.int64)
        starts = np.concatenate([[0], ends[:-1]])
        of_arms = np.array([table[a:b].sum(axis=0, dtype=np.float64) for a, b in zip(starts, ends, strict=True)])
        losses, switches = {}, {}
        paid: dict[float, Array] = {}
        for lam, plan in plans.items():
            pieces = [
                float(
                    np.take_along_axis(table[a:b], plan.arms[a:b, None].astype(np.intp), axis=1).sum(dtype=np.float64)
                )
                for a, b in zip(starts, ends, strict=True)
            ]
            losses[lam] = np.cumsum(pieces)
            switches[lam] = np.searchsorted(plan.runs()[0], ends)
            paid[lam] = np.float64(lam) * switches[lam]
            if isinstance(plan.switching_cost, tuple):
                costs = np.array(plan.switching_cost)
                paid[lam] = np.array([switching_paid(plan.arms[:end], costs) for end in ends])
        by_arm = np.cumsum(of_arms, axis=0)
        return cls(ends, {arm: by_arm[:, i] for i, arm in enumerate(arms)}, losses, switches, paid)


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """Costs of policies on a record, for every λ; made by `replay`. It prints as a table with advice.

    ``str(found.recommendation)`` is what to do; ``found.write("report.html")`` the page.
    """

    source: str
    """File of the trace, or a description of its source."""
    arms: tuple[str, ...]
    labels: NDArray[Any] | None
    """Time or name of each round."""
    index: str | None
    units: tuple[float, float]
    rounds: int
    switching_costs: tuple[float, ...]
    policies: Mapping[str, dict[str, Any]]
    """Settings of each policy by name, at the last λ."""
    replications: int
    seed: int
    confidence: float
    result: Result
    """Every game: the columns `switching_cost` and `stretch`, then those of every result."""
    standings: Mapping[tuple[float, str], Standing]
    """Costs by λ and stretch: ``"whole"``, ``"half 1"``, …, ``"quarter 4"``."""
    plans: Mapping[float, Plan]
    """Best plan in hindsight for each λ."""
    least_losses: Array
    """Least losses of plans with at most 1, 2, … 10 switches."""
    held: Mapping[tuple[float, str], Held]
    """Arms of the replication of median cost, by λ and policy."""
    running: Running
    pair_costs: CostTable | None = None
    """Cost of a switch from each arm to each other, if given; λ is its largest entry."""
    unit: str = ""
    """Unit of the losses."""
    notes: tuple[str, ...] = ()
    """Values filled in and assumptions made."""

    def standing(self, switching_cost: float | None = None, stretch: str = WHOLE) -> Standing:
        """Return the costs of all policies at one λ, on the whole trace or on a part of it."""
        lam = self.switching_costs[0] if switching_cost is None else float(switching_cost)
        known = dict.fromkeys(name for _, name in self.standings)
        if lam not in self.switching_costs:
            raise InvalidParameter("switching_cost", f"must be one of {list(self.switching_costs)}", switching_cost)
        if stretch not in known:
            raise InvalidParameter("stretch", f"must be one of {list(known)}", stretch)
        return self.standings[lam, stretch]

    def label(self, at: int) -> str:
        """Return the time or name of a round, counted from 0, or else its number from 1."""
        if self.labels is None:
            return number(at % self.rounds + 1)
        return label_text(self.labels, at)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row for each λ, stretch and policy: cost, losses and switches with intervals, and each excess."""
        rows = [
            {"stretch": stretch, **row} for (_, stretch), standing in self.standings.items() for row in standing.rows()
        ]
        frame = pl.DataFrame(rows, infer_schema_length=None)
        return frame.select("switching_cost", "stretch", "policy", pl.exclude("switching_cost", "stretch", "policy"))

    @cached_property
    def advice_by_cost(self) -> dict[float, list[Sentence]]:
        """Advice for each λ."""
        return {lam: advice(*self._stretches(lam)) for lam in self.switching_costs}

    def _stretches(self, lam: float) -> tuple[Standing, dict[str, list[Standing]]]:
        """Return the whole, and the halves and the quarters, where the record is long enough."""
        parts = {
            many: [standing for (at, name), standing in self.standings.items() if at == lam and name.startswith(one)]
            for many, one in PARTS.items()
        }
        return self.standings[lam, WHOLE], {name: some for name, some in parts.items() if some}

    @cached_property
    def recommendation_by_cost(self) -> dict[float, Recommendation]:
        """Recommended action at each λ."""
        return {lam: recommendation(*self._stretches(lam)) for lam in self.switching_costs}

    @property
    def recommendation(self) -> Sentence:
        """Recommended action, its reason and its exception."""
        return joint_recommendation(self.recommendation_by_cost)

    @property
    def advice(self) -> list[Sentence]:
        """Plain sentences, each with its numbers and whether its intervals decide it."""
        return [sentence for sentences in self.advice_by_cost.values() for sentence in sentences]

    def plans_frame(self) -> pl.DataFrame:
        """Return the best plans: a row for each arm taken up, with its first round from 1 and that round's label."""
        frames = []
        for lam, plan in self.plans.items():
            starts, arms = plan.runs()
            columns: dict[str, Any] = {
                "switching_cost": np.full(len(starts), lam),
                "first_round": starts + 1,
                "arm": np.array(self.arms, dtype=object)[arms].astype(str),
            }
            if self.labels is not None:
                columns["label"] = self.labels[starts]
            frames.append(pl.DataFrame(columns))
        return pl.concat(frames)

    def plain(self) -> dict[str, Any]:
        """Return all results as plain values for JSON; the plans' arms are in `plans_frame`."""
        return {
            "holdfast": holdfast.__version__,
            "trace": {
                "source": self.source,
                "rounds": self.rounds,
                "arms": list(self.arms),
                "units": list(self.units),
                "unit": self.unit,
                "index": self.index,
                "first": None if self.labels is None else self.label(0),
                "last": None if self.labels is None else self.label(-1),
            },
            "recommendation": asdict(self.recommendation),
            "notes": list(self.notes),
            "pair_costs": None if self.pair_costs is None else [list(row) for row in self.pair_costs],
            "replications": self.replications,
            "seed": self.seed,
            "confidence": self.confidence,
            "policies": plain(dict(self.policies)),
            "switching_costs": [self._at(lam) for lam in self.switching_costs],
            "rows": self.frame.to_dicts(),
        }

    def _at(self, lam: float) -> dict[str, Any]:
        standing = self.standings[lam, WHOLE]
        return {
            "switching_cost": lam,
            "best_arm": standing.best_arm,
            "worst_arm": standing.worst_arm,
            "marks": standing.marks,
            "best_plan": {"losses": self.plans[lam].losses, "switches": self.plans[lam].switches},
            "recommendation": asdict(self.recommendation_by_cost[lam].sentence()),
            "advice": [asdict(sentence) for sentence in self.advice_by_cost[lam]],
        }

    def json(self) -> str:
        """Return `plain` as JSON text."""
        return document(self.plain()).decode()

    def write(self, path: str | Path) -> Path:
        """Write ``.json``, ``.parquet`` (the rows of `frame`) or ``.html`` (the report); otherwise all into a folder.

        A file is whole or absent. A folder may contain other files; those that a replay would replace but did not write
        are left alone and named in an error.
        """
        target = Path(path)
        if target.suffix.lower() in (".json", ".parquet", ".html"):
            return write_whole(target, data_of(self, target.suffix.lower()))
        with claimed(target, "writing a replay") as folder:
            write_outputs(self, folder)
        return target

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


# The folder of a replay.
#
#     DIR/record.json         what is replayed: `resume` continues only the same replay
#     DIR/pieces/L-P.parquet  policy P at the L-th λ, both counted from 1
#
# and once all pieces are complete
#
#     DIR/report.html         everything, on a page that needs nothing else
#     DIR/replay.json         all numbers and sentences
#     DIR/replay.parquet      a row for each λ, stretch and policy
#     DIR/plans.parquet       the best plans
#     DIR/pictures/           each picture as PNG and SVG
#     DIR/files.json          the names and checksums of these files
#
# Each piece is identified by its provenance. A piece that is damaged, or another one, is played again.

PIECES = "pieces"


def described(pieces: list[Piece], runner: PieceRunner, fingerprint: str) -> dict[str, Any]:
    """Return the record of the folder: everything the numbers of a replay depend on."""
    table = runner.parts[WHOLE].table
    written = {
        "trace": fingerprint,
        "rounds": table.rounds,
        "arms": list(table.arms or ()),
        "units": list(table.units),
        "switching_cost": list(dict.fromkeys(piece.switching_cost for piece in pieces)),
        "policies": list(dict.fromkeys(piece.name for piece in pieces)),
        "replications": runner.replications,
        "seed": runner.seed,
        "recorded rounds": len(runner.marks),
    }
    cells = {f"{piece.name} at {exact(piece.switching_cost)}": piece.settings() for piece in pieces}
    numbers = numbers_of(runner.backend.name)
    return record_of("replay", "replay", numbers, written, {"all": written, **cells})


@dataclass(frozen=True)
class ReplayFolder:
    """A claimed folder with the pieces of one replay."""

    path: Path
    record: dict[str, Any]

    @classmethod
    def admitted(cls, path: Path, record: dict[str, Any], resume: bool) -> ReplayFolder:
        """Return the folder, if it is free or holds this replay."""
        there = earlier_record(path, "replay")
        if there is not None:
            check_resumable(path, "replay", there, record, resume=resume)
        return cls(path, record)

    def begin(self) -> None:
        """Write the record, and remove half-written files of a killed run."""
        write_record(self.path, self.record)
        with reported(self.path):
            (self.path / PIECES).mkdir(exist_ok=True)

    def found(self, place: str, piece: Piece, runner: PieceRunner, say: Callable[[str], None]) -> Result | None:
        """Return the piece, if it is complete on disk."""
        identity = self._identity(piece)
        return read_piece(
            self._file(place),
            holds=lambda provenance: provenance.get("replay") == identity,
            rows=lambda provenance: runner.rows,
            schema=COLUMNS,
            say=say,
        )

    def keep(self, place: str, piece: Piece, result: Result) -> Path:
        return Result(result.frame, result.provenance | {"replay": self._identity(piece)}).write(self._file(place))

    def _file(self, place: str) -> Path:
        return self.path / PIECES / f"{place}{TABLE}"

    def _identity(self, piece: Piece) -> str:
        same = {name: value for name, value in self.record.items() if name not in ("cells", "holdfast")}
        return checksum([same, piece.switching_cost, piece.settings()])


def data_of(replay: Replay, suffix: str) -> bytes:
    """Return the content of one output file."""
    if suffix == ".json":
        return replay.json().encode()
    if suffix == ".html":
        return page_of(replay).encode()
    return parquet_bytes(replay.frame)


def write_outputs(replay: Replay, folder: Path) -> None:
    """Write every file into a claimed folder; leave users' files alone."""
    files = {
        "replay.json": data_of(replay, ".json"),
        "replay.parquet": data_of(replay, ".parquet"),
        "plans.parquet": parquet_bytes(replay.plans_frame()),
        **{f"pictures/{name}": data for name, data in rendered_pictures(replay).items()},
        "report.html": data_of(replay, ".html"),
    }
    Outputs(folder, "a replay").write(files)


# Costs of switches from each arm to each other, from a file: a row per arm to leave, a column per arm to go to.


def read_costs(source: Path | pl.DataFrame, arms: list[str], form: CsvFormat = PLAIN) -> Array:
    """Read the table in the order of the arms; the first column names the arm that is left."""
    with parameter_named(lambda _: "switching_cost"):
        frame = read_frame(source, numbers=arms, form=form)
    left = frame.columns[0]
    names = [str(name) for name in frame[left].to_list()]
    rule = "must have a column for each arm, and before them one with the arms that are left"
    for arm in arms:
        if arm not in frame.columns[1:]:
            raise InvalidParameter("switching_cost", f"{rule}; there is no column {arm!r}", ", ".join(frame.columns))
        if names.count(arm) != 1:
            found = f"there {'is no row' if arm not in names else 'are several rows'} {arm!r}"
            raise InvalidParameter("switching_cost", f"{rule}; {found}", ", ".join(names))
    for name in names:
        one_of(f"switching_cost, column {left!r},", name, arms)
    rows: Any = frame.select(pl.col(arms).cast(pl.Float64, strict=False))
    table: Array = rows.to_numpy()[[names.index(arm) for arm in arms]]
    return table


LIMITS = (1, 2, 5, 10)
"""Limits on switches of the plans compared, the first play counted."""
POINTS = 200
"""Rounds at which running costs are recorded."""

Say = Callable[[str], None]


def replay(
    losses: Any,
    policies: PolicyLike | Sequence[PolicyLike] | Mapping[str, PolicyLike] | None = None,
    *,
    switching_cost: float | Sequence[float] | ArrayLike | str | Path | pl.DataFrame,
    sees: Literal["all", "own"] = "all",
    forecasts: Any = None,
    period: int | Sequence[int] | None = None,
    replications: int = 100,
    units: tuple[float, float] | None = None,
    unit: str = "",
    rescale: bool = False,
    clip: tuple[float, float] | None = None,
    rewards: bool = False,
    index: str | None = None,
    arms: Sequence[str] | None = None,
    long: str | Sequence[str] | None = None,
    separator: str = ",",
    decimal: str = ".",
    thousands: str | None = None,
    encoding: str = "utf-8",
    empty: str | Sequence[str] = (),
    fill: Fill | None = None,
    missing: Missing | None = None,
    seed: object = 0,
    confidence: float = 0.95,
    backend: str | Backend = "threads",
    workers: int | None = None,
    scheduler: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool | None = None,
    echo: Say | None = None,
) -> Replay:
    """Compute what policies would have cost on recorded losses, and recommend what to do.

    Policies with full information are played beside bandit policies, which see the loss of their own arm only. They
    are compared with the best and the worst fixed arm and with the best plans in hindsight; all of it again on each
    half and quarter of the record.

    Parameters
    ----------
    losses
        One row for each round, one column for each arm: an array, a data frame (polars, pandas, Arrow), or the path of
        a file, as `LossTable` takes them.
    policies
        Ids such as ``"adaptive"``, with parameters as ``"follow-the-leader:cooldown=5"``; tables such as
        ``{"policy": "exp3", "name": "mine"}``; or by name in a mapping. λ, the arms, the rounds and the units are
        filled in. A policy object is played as it is, at every λ. A Python function of the rounds so far that returns
        an arm is a rule, and played by `Guarded` (slowly: in Python). Left out, these are played:
        `AdaptiveHedgeSwitch`, which sees the losses of all arms, with and without looking ahead; and of those that see
        their own arm's loss only the adaptive and the tracking policy, the paper's, and rules that people write by
        hand: `Ewma`, `FailOver`, `ThresholdCooldown`, and follow-the-leader with a cooldown of 10 rounds.
    switching_cost
        λ, or several, in the units of the losses; or a table with a row of costs for each arm to leave and a column for
        each arm to go to. `AdaptiveHedgeSwitch` and the best plan use the table; the other policies take its largest
        entry for λ, and pay what the table says. The first play then costs nothing. As a data frame or a file, its
        first column names the arms to leave.
    sees
        ``"own"``, where only the loss of the arm in play is seen: then only such policies are played by default.
    forecasts
        A data frame or a file with the columns ``issued`` and ``round`` (numbers of rounds from 0, or times) and one
        for each arm: what each was thought to lose, and from which round on that was known.
    period
        Rounds after which losses repeat, such as 24 for hours, where it is known. Left out, the default mixture plans
        on the period with which it costs least on this record, of those that it suggests: days, weeks, 24 rounds.
    replications
        Games of each policy at each λ; at least 2. A policy that draws nothing is played once, and one whose expected
        cost is computed, `AdaptiveHedgeSwitch`, has no interval.
    units, rescale
        The lowest and the highest loss that one round can have: (0, 1) unless given, or those of the trace with
        `rescale`. Policies need them; all costs, and λ, are in the units of the losses as they were given.
    clip
        Policies are told the nearer end for a loss outside it, and the ends are their units: for records with a
        few outliers, which would make all other losses look alike. Costs, fixed arms and plans are of the losses as
        recorded.
    unit
        Unit of the losses, such as ``"g CO2"``, for tables and axes.
    rewards
        The numbers are rewards: more is better. A cost is then what was paid less what was earned.
    index, arms
        The column with the times of the rounds; names for the columns of an array, or the columns to take.
    long, fill, missing
        Shapes of records, as `read_records` takes them: one row per time and arm, times and values that are missing. An
        arm that is not available in a round counts the highest loss there; `AdaptiveHedgeSwitch` knows and never plays
        it.
    separator, decimal, thousands, encoding, empty
        How CSV files are written: the separators of columns, decimals and thousands; the encoding; and
        texts that mean a missing value. A German export may need ``separator=";", decimal=",", thousands=".",
        encoding="cp1252", empty="n/v"``.
    backend, workers, scheduler, seed, progress
        See `simulate`.
    out, resume
        A folder for the report, the tables and the finished pieces; with `resume` what is there is not played again.
    confidence
        Confidence of the intervals.
    echo
        A function that is given each line of progress.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> losses = (rng.random((500, 2)) < [0.2, 0.6]).astype(float)
    >>> found = replay(losses, ["adaptive", "hold-forever"], switching_cost=0.5, replications=10)
    >>> found.standing(0.5).best_arm, found.plans[0.5].switches < 500
    ('0', True)
    """
    share = checked_confidence(confidence)
    one_of("sees", sees, ("all", "own"))
    chosen = find_backend(backend, workers=workers, scheduler=scheduler)
    form = CsvFormat(separator, decimal, thousands=thousands, encoding=encoding, empty=empty)
    with parameter_named(lambda name: "losses" if name == "source" else name):
        records = read_records(losses, index=index, arms=arms, long=long, form=form, fill=fill, missing=missing)
        trace, table, notes = _losses(records, units, rescale, clip, rewards)
    if table.n_arms < 2:
        raise InvalidParameter("losses", "must have at least two arms, or there is nothing to decide", table.n_arms)
    costs, pairs = _costs(switching_cost, trace.arm_names, table.unit, notes, form)
    if rescale:
        low, high = table.units
        shares = ", ".join(f"{lam / (high - low):.2g}" for lam in costs)
        notes.append(
            f"The losses run from {low:g} to {high:g}. λ is in the same units: {shares} of the difference between the "
            "highest and the lowest."
        )
    given = None if forecasts is None else read_forecasts(forecasts, trace, form, negative=rewards)
    if given is not None and clip is not None:
        given = replace(given, losses=np.clip(given.losses, *table.units))
    cuts = stretches(table.rounds).items()
    parts = {name: _part(table, trace, records.closed, given, *ends) for name, ends in cuts}
    count = whole_number("replications", replications, least=2, most=2**32)  # intervals need two
    marks = checkpoint_rounds(POINTS, table.rounds)
    runner = PieceRunner(parts, count, check_seed(seed), marks, chosen, pairs)
    full_information = all_losses(period, given is not None) if sees == "all" else []
    pieces = pieces_of(policies, costs, parts, pairs=pairs, defaults=[*full_information, *OWN_LOSS])
    if policies is None and period is None:
        pieces = runner.with_periods(pieces)
        notes += periods_note(pieces)
    if given is not None and not any(getattr(piece.policy, "forecast_rounds", 0) for piece in pieces):
        rule = "are used by AdaptiveHedgeSwitch only; play hedge-switch, or leave them out"
        raise InvalidParameter("forecasts", rule, [piece.name for piece in pieces])
    say = echo or (lambda line: None)
    with ExitStack() as stack:
        folder = None
        if out is not None:
            need("matplotlib")
            place = stack.enter_context(claimed(out, "replaying"))
            record = described(pieces, runner, _fingerprint(runner))
            folder = ReplayFolder.admitted(place, record, resume)
            folder.begin()
        games = stack.enter_context(progress_bar(progress, sum(_games(piece, runner) for piece in pieces), "games"))
        result = _played(pieces, runner, folder, stack, games, say)
        made = _assembled(trace, costs, pieces, runner, result, share)
        made = replace(made, unit=unit, notes=tuple(notes))
        if folder is not None:
            write_outputs(made, folder.path)
    return made


def periods_note(pieces: Sequence[Piece]) -> list[str]:
    """Say which periods were found in the record."""
    found = {piece.switching_cost: getattr(piece.policy, "period", None) for piece in pieces if is_exact(piece.policy)}
    if not any(found.values()):
        return []
    said = {lam: listed_words([str(p) for p in np.ravel(period)]) for lam, period in found.items() if period}
    if len(set(said.values())) == 1 and len(said) == len(found):
        when = f"a period of {next(iter(said.values()))} rounds"
    else:
        when = listed_words([f"a period of {words} rounds at λ = {exact(lam)}" for lam, words in said.items()])
    return [f"hedge-switch plans on {when}: found in this record, where it costs least with it."]


def _losses(
    records: Records,
    units: tuple[float, float] | None,
    rescale: bool,
    clip: tuple[float, float] | None,
    rewards: bool,
) -> tuple[Trace, LossTable, list[str]]:
    """Return losses within their units, the highest where an arm was not available; rewards are negated."""
    trace, notes = records.trace, [note[0].upper() + note[1:] + "." for note in records.notes]
    known = trace if records.closed is None else replace(trace, table=_known(trace.table))
    lowest, highest = _units(known, units, rescale, clip)
    if records.closed is not None:
        worst = lowest if rewards else highest
        trace = replace(trace, table=np.where(records.closed, np.float64(worst), trace.table))  # not rounded to float32
        notes.append(
            f"An arm that was not available counts {worst:g} in that round, the worst there is, for fixed arms, plans "
            "and policies that see their own arm only; hedge-switch knows and plays another."
        )
    if clip is not None:
        lowest, highest = number_range("clip", clip)
    if rewards:
        trace = replace(trace, table=-trace.table.astype(np.float64))
        lowest, highest = 0.0 - highest, 0.0 - lowest  # no minus zero
        notes.append("The numbers are rewards: a cost is what was paid less what was earned, so lower is better.")
    ends = lowest, highest
    if clip is not None:
        notes.append(clipping_note(trace.table, ends, rewards=rewards))
        return trace, ClippedTable.of(trace, ends, records.index), notes
    table = LossTable.of(trace, ends, records.index)
    available = trace.table if records.closed is None else trace.table[~records.closed]
    outliers = outlier_note(available, ends, rewards=rewards)
    return trace, table, notes if outliers is None else [*notes, outliers]


def _known(table: NDArray[Any]) -> NDArray[Any]:
    """Replace missing losses by some number of the table, to find its range."""
    known = table[~np.isnan(table)]
    if not known.size:
        raise InvalidParameter("source", "must have a number somewhere; all of them are missing", None)
    return np.where(np.isnan(table), known[0], table)


def _part(
    table: LossTable,
    trace: Trace,
    closed: NDArray[np.bool_] | None,
    given: Forecasts | None,
    first: int,
    stop: int,
) -> Stretch:
    shut = None
    if closed is not None:
        shut = closed[first:stop] & ~closed[first:stop].all(axis=1, keepdims=True)  # one must be played
    known = None if given is None else given.part(first, stop)
    return Stretch(table.part(first, stop), trace.table[first:stop], shut, known)


def _units(
    trace: Trace, units: tuple[float, float] | None, rescale: bool, clip: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the range of one round's loss, which contains every loss, also those outside `clip`."""
    if units is not None and rescale:
        raise InvalidParameter("rescale", "must be left out where units are given", rescale)
    lowest, highest = trace.range()
    if clip is not None:
        if units is not None or rescale:
            raise InvalidParameter("clip", "has the units of what policies hear: leave out units and rescale", clip)
        ends = number_range("clip", clip)
        return min(lowest, ends[0]), max(highest, ends[1])
    if not rescale:
        wanted = UNIT_RANGE if units is None else number_range("units", units)
        if lowest < wanted[0] or highest > wanted[1]:
            for _ in trace.checked_pieces(wanted):  # finds the first
                pass
        return wanted
    if lowest == highest:
        raise InvalidParameter("rescale", "needs losses that differ; all of them are the same", lowest)
    return number_range("losses", (lowest, highest))


def _costs(
    given: Any, arms: list[str], unit: float, notes: list[str], form: CsvFormat
) -> tuple[tuple[float, ...], CostTable | None]:
    """Return the switching costs given, each once; for a table its largest entry, and the table."""
    if isinstance(given, (Path, pl.DataFrame)) or (isinstance(given, str) and Path(given).suffix):
        given = read_costs(given if isinstance(given, pl.DataFrame) else Path(given), arms, form)
    if not isinstance(given, str) and np.ndim(given) == 2:
        pairs, detour = checked_costs(given, len(arms), LARGEST_LOSS * unit)
        largest = max(max(row) for row in pairs)
        notes.append(
            f"A switch costs from {min(c for i, row in enumerate(pairs) for j, c in enumerate(row) if i != j):g} to "
            f"{largest:g}, depending on the pair of arms; the first play costs nothing. Policies that take one λ were "
            f"given the largest, {largest:g}, and pay what the table says."
        )
        if detour is not None:
            a, b, c = (arms[arm] for arm in detour)
            notes.append(f"Switching from {a} to {c} costs more than by way of {b}: the cheapest ways were used.")
        return (largest,), pairs
    several = list(given) if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str) else [given]
    costs = tuple(real_number("switching_cost", cost, least=0, most=LARGEST_LOSS) for cost in several)
    if not costs or len(set(costs)) < len(costs):
        raise InvalidParameter("switching_cost", "must be a number or several different ones", given)
    return costs, None


def _fingerprint(runner: PieceRunner) -> str:
    """Return a checksum of losses, forecasts and costs, whatever file they came from."""
    digest = hashlib.sha256()
    whole = runner.parts[WHOLE]
    table = whole.table
    if whole.forecasts is not None:
        for part in (whole.forecasts.known_at, whole.forecasts.rounds, whole.forecasts.losses):
            digest.update(np.ascontiguousarray(part).data)
    if whole.closed is not None:
        digest.update(np.ascontiguousarray(whole.closed).data)
    if runner.pairs is not None:
        digest.update(repr(runner.pairs).encode())
    for sums in (table.sums, *table.tables[2:]):
        for first in range(0, len(sums), 2**16):
            digest.update(np.ascontiguousarray(sums[first : first + 2**16]).data)
    if table.labels is not None:
        digest.update(repr([str(table.labels[i]) for i in (0, -1)]).encode())
    return digest.hexdigest()


def _games(piece: Piece, runner: PieceRunner) -> int:
    return sum(
        1 if policy.deterministic or is_exact(policy) else runner.replications for policy in piece.policies.values()
    )


def _played(
    pieces: Sequence[Piece],
    runner: PieceRunner,
    folder: ReplayFolder | None,
    stack: ExitStack,
    advance: Callable[[int], None],
    say: Say,
) -> Result:
    """Return all pieces in one table: those on disk, and the rest played."""
    count = len({piece.name for piece in pieces})
    places = {f"{1 + i // count}-{1 + i % count}": piece for i, piece in enumerate(pieces)}
    found: dict[str, Result] = {}
    if folder is not None:
        there = {place: folder.found(place, piece, runner, say) for place, piece in places.items()}
        found = {place: result for place, result in there.items() if result is not None}
    if len(found) < len(places):
        stack.enter_context(runner.backend)
    reporting = replace(runner, backend=Reporting(runner.backend, advance))
    for place, piece in places.items():
        if place in found:
            advance(_games(piece, runner))
            continue
        try:
            found[place] = reporting.play(piece)
            if is_exact(piece.policy) or piece.policy.rule_of is not None:  # not played by the backend
                advance(_games(piece, runner))
        except KeyboardInterrupt:
            kept = f"; {len(found)} of {len(places)} pieces are kept, go on with --resume" if folder else ""
            say(f"interrupted{kept}")
            raise
        if folder is not None:
            folder.keep(place, piece, found[place])
        say(f"played {piece.name} at λ = {piece.switching_cost:g}")
    return Result(pl.concat([found[place].frame for place in places]))


def _assembled(
    trace: Trace,
    costs: Sequence[float],
    pieces: Sequence[Piece],
    runner: PieceRunner,
    result: Result,
    confidence: float,
) -> Replay:
    """Assemble the replay of these games and the references that need no playing."""
    arms, table = tuple(trace.arm_names), runner.parts[WHOLE].table
    last = result.frame.filter(pl.col("round") == pl.col("round").max().over("stretch"))
    policy_of = {(piece.switching_cost, piece.name): piece.policy for piece in pieces}
    played = {
        (lam, stretch, name): totals_of(policy_of[lam, name], part, runner.pairs)
        for (lam, stretch, name), part in last.group_by("switching_cost", "stretch", "policy", maintain_order=True)
    }
    names = list(dict.fromkeys(piece.name for piece in pieces))
    standings: dict[tuple[float, str], Standing] = {}
    plans: dict[float, Plan] = {}
    frontier = np.empty(0)
    for stretch, part in runner.parts.items():
        whole = stretch == WHOLE
        found = hindsight(part.losses, costs, max(LIMITS) if whole else 0)
        free = found.free if runner.pairs is None else (best_plan(part.losses, runner.pairs),)
        fixed = dict(zip(arms, part.table.expected(0, part.table.rounds).tolist(), strict=True))
        if whole:
            plans, frontier = dict(zip(costs, free, strict=True)), found.least_losses
        for lam, plan in zip(costs, free, strict=True):
            by_count = whole and runner.pairs is None
            limited = {limit: found.cost_within(limit, lam) for limit in LIMITS} if by_count else {}
            paid = None if runner.pairs is None else plan.cost - plan.losses
            references = References(fixed, plan.losses, plan.switches, limited, paid)
            of_policies = {name: played[lam, stretch, name] for name in names}
            ahead = runner.looking_ahead([piece for piece in pieces if piece.switching_cost == lam]) if whole else {}
            standings[lam, stretch] = Standing(lam, of_policies, references, confidence, ahead)
    held = {
        (piece.switching_cost, piece.name): _held(piece, runner, standings[piece.switching_cost, WHOLE])
        for piece in pieces
    }
    return Replay(
        source=trace.source,
        arms=arms,
        labels=trace.labels,
        index=table.index,
        units=table.units,
        rounds=table.rounds,
        switching_costs=tuple(costs),
        policies={piece.name: plain(piece.policy.settings()) for piece in pieces},
        replications=runner.replications,
        seed=runner.seed,
        confidence=confidence,
        result=result,
        standings={(lam, stretch): standings[lam, stretch] for lam in costs for stretch in runner.parts},
        plans=plans,
        least_losses=frontier,
        held=held,
        running=Running.of(trace.table, runner.marks, arms, plans),
        pair_costs=runner.pairs,
    )


def _held(piece: Piece, runner: PieceRunner, standing: Standing) -> Held:
    """Return the arms of the replication of median cost."""
    costs = standing.costs[piece.name]
    replication = int(np.argsort(costs, kind="stable")[(len(costs) - 1) // 2])
    return Held.of(runner.arms(piece, replication), replication)
