"""Policies on recorded losses: the policies played, the stretches of the trace, and the arms held.

A *piece* is one policy at one λ, on the whole trace and on each of its halves and quarters, every stretch played from
its beginning by a policy that knows nothing yet. Most policies are played many times by `simulate`. The expected cost
of one that mixes experts under full information is known exactly (`expected_game`), and it is played once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray

from holdfast._numba.compile import kernel
from holdfast.checks import CostTable, code_of
from holdfast.data.csv import PLAIN, CsvFormat
from holdfast.data.records import Trace, read_frame
from holdfast.environments import LossTable
from holdfast.environments.environment import Tables
from holdfast.environments.tables import IN_MEMORY, Summed, inform, prefix_sums
from holdfast.errors import InvalidParameter, Set, Words, parameter_named
from holdfast.experts import (
    Expert,
    FixedArm,
    FoundSeason,
    GivenForecast,
    SeasonalPlan,
    Smoothed,
    WorkFunction,
)
from holdfast.extras import pl
from holdfast.numerics.layout import Array
from holdfast.numerics.random import STATE_SIZE
from holdfast.numerics.sums import compensated
from holdfast.players.game import policy_key
from holdfast.players.player import Player
from holdfast.policies.adaptive import AdaptiveTsallisSwitch
from holdfast.policies.averages import HoldForever
from holdfast.policies.guarded import Guarded, Rule
from holdfast.policies.hand_written import Ewma
from holdfast.policies.hedge import AdaptiveHedgeSwitch
from holdfast.policies.policy import Policy, packed_parameters
from holdfast.policies.registry import entry_of, find_policy
from holdfast.policies.tracking import TrackingSwitch
from holdfast.policies.tsallis import TsallisSwitch
from holdfast.replays.advice import FULL_INFORMATION, WITH_FORECASTS, GameTotals
from holdfast.results import SCHEMA, Result
from holdfast.runs import plain
from holdfast.simulation.backends import Backend
from holdfast.simulation.costs import Costs
from holdfast.simulation.game import TALLY, Parts, Rules, Scratch, compose_play, vector_rows
from holdfast.simulation.run import described_policy, fitted, simulate
from holdfast.simulation.tasks import NO_DELAYS, Task, run_task
from holdfast.text import number

# Forecasts of losses: when each was issued, and for which round.
#
# A table with a row for each round that was forecast: `issued`, the first round in which the forecast is known;
# `round`, the round that it is for, both counted from 0 or both times of the record; then a column for each arm.

ISSUED, ROUND = "issued", "round"
NOT_IN_RECORD = -1


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Forecasts in the order in which they become known; those for rounds already over are left out."""

    known_at: NDArray[np.int64]
    """Round, from 0, in which each is first known."""
    rounds: NDArray[np.int64]
    """Round that each is for."""
    losses: Array
    """Predicted loss of each arm in that round."""

    @classmethod
    def of(cls, known_at: Any, rounds: Any, losses: Any) -> Self:
        """Sort forecasts; drop those for rounds already over."""
        when, what, table = np.asarray(known_at, np.int64), np.asarray(rounds, np.int64), np.asarray(losses, np.float64)
        keep = np.flatnonzero((what >= when) & (what >= 0))
        keep = keep[np.argsort(when[keep], kind="stable")]
        return cls(when[keep], what[keep], table[keep])

    def part(self, first: int, stop: int) -> Forecasts:
        """Return the forecasts known from round `first` on, counted from there, including earlier ones still valid."""
        known = self.known_at < stop
        return Forecasts.of(np.maximum(self.known_at[known] - first, 0), self.rounds[known] - first, self.losses[known])


def read_forecasts(source: Any, trace: Trace, form: CsvFormat = PLAIN, *, negative: bool = False) -> Forecasts:
    """Read the forecasts in a file or data frame for the rounds and arms of a trace; `negative` if they are rewards."""
    arms = trace.arm_names
    with parameter_named(lambda _: "forecasts"):
        frame = read_frame(source, numbers=arms, form=form)
    for name in (ISSUED, ROUND, *arms):
        if name not in frame.columns:
            rule = f"must have the columns {ISSUED}, {ROUND} and one for each arm; there is no {name!r}"
            raise InvalidParameter("forecasts", rule, ", ".join(frame.columns))
    for name in (ISSUED, ROUND):
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_max() or 0) + 1
            raise InvalidParameter("forecasts", f"must have a value in row {row}, column {name!r}", None)
    when, what = (_numbered(frame[name], trace, name) for name in (ISSUED, ROUND))
    table = frame.select(pl.col(arms).cast(pl.Float64, strict=False)).to_numpy()
    wrong = ~np.isfinite(table)
    if wrong.any():
        row, arm = (int(i) for i in np.argwhere(wrong)[0])
        rule = f"must have a finite number in row {row + 1}, column {arms[arm]!r}"
        raise InvalidParameter("forecasts", rule, frame[arms[arm]][row])
    found = Forecasts.of(when, what, -table if negative else table)
    if not (found.rounds < trace.shape[0]).any():
        rule = f"must be about the rounds 0 to {trace.shape[0] - 1} of the record, or about its times"
        raise InvalidParameter("forecasts", rule, f"{ROUND} from {frame[ROUND].min()!s} to {frame[ROUND].max()!s}")
    return found


def _numbered(column: pl.Series, trace: Trace, name: str) -> NDArray[np.int64]:
    """Return rounds from 0: integers as they are, times by their position in the record."""
    if column.dtype.is_integer():
        return column.to_numpy().astype(np.int64)
    rule = f"must have in column {name!r} the numbers of rounds, from 0, or times as the record has them"
    if not column.dtype.is_temporal() or trace.labels is None or trace.labels.dtype.kind != "M":
        raise InvalidParameter("forecasts", rule, column.dtype)
    times, labels = column.to_numpy().astype("datetime64[us]"), trace.labels.astype("datetime64[us]")
    places = np.searchsorted(labels, times).astype(np.int64)  # one issued between two rounds is known in the next
    if name == ISSUED:
        return places
    there = labels[np.minimum(places, len(labels) - 1)] == times
    return np.where(there, places, NOT_IN_RECORD)


# The game of a rule that is a function: in Python, a round at a time.


def played_function(
    policy: Policy,
    losses: NDArray[Any],
    marks: Any,
    *,
    switching_cost: float,
    pairs: CostTable | None = None,
    seed: int = 0,
    replication: int = 0,
) -> PlayedGame:
    """Play a rule that is a function, under its guard; it hears losses clipped to its units."""
    number = {arm: i for i, arm in enumerate(policy.arms or range(policy.n_arms))}
    player, arms = Player(policy, seed, replication), np.empty(len(losses), dtype=np.int32)
    for t, heard in enumerate(np.clip(losses.astype(np.float64), *policy.units).tolist()):
        arms[t] = arm = number[player.ask()]
        player.tell(heard[arm])
    moved = np.append(True, arms[1:] != arms[:-1])
    paid = moved * switching_cost
    if pairs is not None:
        paid = np.append(0.0, np.array(pairs)[arms[:-1], arms[1:]])
    lost = losses[np.arange(len(arms)), arms]
    losses, switches, paid = (np.cumsum(each, dtype=np.float64)[np.array(marks) - 1] for each in (lost, moved, paid))
    return PlayedGame(losses, switches, paid, arms)


# Expected cost of a mixture of experts on recorded losses, exactly.
#
# The weights of `AdaptiveHedgeSwitch` depend on the losses alone, never on the arms that were drawn. So one pass gives
# the expected cost of its game: in each round the mean loss over its distribution, and what a switch costs on average.

LOSS, SWITCHES, PAID = 0, 1, 2
OUT_OF_THE_GAME = 1e30


class PlayedGame(NamedTuple):
    """Losses, switches and switching costs up to each mark, or what is expected of them; and the arms of one game."""

    losses: Array
    switches: Array
    paid: Array
    arms: NDArray[np.int32]


class _Recorded(NamedTuple):
    """Tables of recorded losses, and of what was known beforehand."""

    losses: Any
    ends: Any  # the lowest and the highest loss that is heard, and the unit
    closed: Any  # rounds × arms: 1 where an arm is not available; a single number where all are
    issued: Any  # rows of forecasts, in the order in which they become known
    known_at: Any  # the round from which each is known
    covers: Any  # the round that each is for
    newest: Any  # newest forecast of each round so far, −1 for none
    at: Any  # the next forecast to become known, and how many rounds ahead the policy looks
    out: Any  # experts that are out of the game


class _Expectations(NamedTuple):
    """Record of an expected game: sums as two floats, those at each mark, and the arms."""

    sums: Any
    marked: Any
    arms: Any


@kernel
def _heard(tables: Any, place: Any, start: float, stop: float, streams: Any, out: Any) -> None:
    """Look up the loss that the policy hears: within the units."""
    low, high, unit = tables.ends[0], tables.ends[1], tables.ends[2]
    for g in range(out.shape[0]):
        out[g] = (min(max(float(tables.losses[int(start), int(place[g])]), low), high) - low) / unit


@kernel
def _no_gap(tables: Any, place: Any, start: float, stop: float, out: Any) -> None:
    """Leave the excess loss at zero: expectations are recorded instead."""


@kernel
def _known(tables: Any, state: Any, t: float, shift: float) -> None:
    """Tell the policy of closed arms, and of the newest forecasts of this and the next rounds."""
    known_at, covers, newest, at = tables.known_at, tables.covers, tables.newest, tables.at
    now, count = int(t), 0
    if now == 0:
        for j in range(tables.out.shape[0]):
            state.C[tables.out[j], 0] = OUT_OF_THE_GAME
    while at[0] < known_at.shape[0] and known_at[at[0]] <= now:
        newest[covers[at[0]]] = at[0]
        at[0] += 1
    while count < at[1] and now + count < newest.shape[0] and newest[now + count] >= 0:
        count += 1
    state.first[0], state.rows[0] = 0.0, 0.0
    inform(state, tables.closed, t, shift, tables.issued, newest, now, count)


@kernel
def _add(sums: Any, what: int, more: float) -> None:
    """Add to one of the sums."""
    sums[what, 0], sums[what, 1] = compensated(sums[what, 0], sums[what, 1], more)


@kernel
def _expect(rules: Any, state: Any, tally: Any, t: float, end: float, mark: int, record: Any) -> int:
    """Add up the mean loss over the policy's distribution, and its mean switches and their cost; sums at each mark."""
    losses, low, unit = rules.tables.losses, rules.tables.ends[0], rules.tables.ends[2]
    lost, moved = 0.0, 0.0
    for i in range(state.P.shape[0]):
        lost += state.P[i, 0] * ((float(losses[int(t), i]) - low) / unit)
        moved += max(state.P[i, 0] - state.before[i, 0], 0.0)
    sums = record.sums
    _add(sums, LOSS, lost)
    _add(sums, SWITCHES, moved)
    _add(sums, PAID, state.moving[0])
    while mark < rules.checkpoints.shape[0] and rules.checkpoints[mark] <= end:
        for what in range(3):
            record.marked[what, mark] = sums[what, 0] + sums[what, 1]
        mark += 1
    return mark


def expected_game(
    policy: AdaptiveHedgeSwitch,
    losses: NDArray[Any],
    marks: Any,
    *,
    closed: NDArray[np.bool_] | None = None,
    forecasts: Forecasts | None = None,
    only: Sequence[int] | None = None,
    seed: int = 0,
    name: str | None = None,
) -> PlayedGame:
    """Return the exact expected cost of one game; the arms are those of replication 0 under `seed` and `name`.

    Parameters
    ----------
    policy, losses
        The losses, a row per round and a column per arm. Losses add up as they are; the policy hears them
        clipped to its units.
    marks
        Rounds, counted from 1 and rising, up to which losses and switches are added up. The last one ends the game.
    closed
        True where an arm is not available. Its loss is that of the highest of the units.
    forecasts
        The forecasts and their times, in the policy's units.
    only
        The experts that are mixed, by their place in ``policy.mixed``; all by default. The same kernels play them.
    seed, name
        The stream of the arms that are drawn; it changes no cost.
    """
    kernels, K, (low, high) = policy.kernels, policy.n_arms, policy.units
    settings, out = policy.parameters(), []
    if only is not None:  # an expert with a cost this high never has any weight
        settings = settings._replace(log_experts=math.log(max(len(only), 2)))
        out = [j for j in range(len(policy.mixed)) if j not in only]
    ahead = policy.forecast_rounds if forecasts is not None else 0
    given = Forecasts.of([], [], np.zeros((0, K))) if forecasts is None else forecasts
    newest = np.full(len(losses) + ahead if ahead else 0, -1, dtype=np.int64)
    within = given.rounds < len(newest)
    tables = _Recorded(
        losses if losses.nbytes > IN_MEMORY else np.require(losses, np.float64, ["C", "W"]),
        np.array([low, high, policy.unit]),
        np.zeros((1, 1), dtype=np.uint8) if closed is None else closed.astype(np.uint8),
        np.clip((given.losses[within] - low) / policy.unit, -1e6, 1e6),
        given.known_at[within],
        given.rounds[within],
        newest,
        np.array([0, ahead]),
        np.array(out, dtype=np.int64),
    )
    rounds, unused = np.array(marks, dtype=np.float64), policy_key(seed, "")
    rules = Rules(
        params=packed_parameters(policy, settings),
        tables=tables,
        costs=np.zeros(1),
        pairs=np.zeros(1),
        announces_cost=policy.announces == "switching_cost",
        ranges=np.ones(1),
        shuffled=False,
        horizon=float(rounds[-1]),
        checkpoints=rounds,
        policy_key=policy_key(seed, name or policy.label),
        environment_key=unused,
        path_key=unused,
        plan_cost=-1.0,
        delays=NO_DELAYS,
        delay_key=unused,
        drops=False,
    )
    record = _Expectations(np.zeros((3, 2)), np.zeros((3, len(rounds))), np.zeros((1, len(losses)), dtype=np.int32))
    play = compose_play(Parts(kernels, _heard, _no_gap, ahead=_known, keep=_expect, with_arms=True))
    streams = np.zeros((4, STATE_SIZE, 1), dtype=np.uint64)

    def zeros(rows: int) -> Array:
        return np.zeros((rows, 1))

    scratch = Scratch(
        streams[0],
        streams[1],
        streams[2],
        zeros(kernels.state_layout.n_numbers),
        zeros(vector_rows(policy)),
        zeros(kernels.block_layout.n_numbers),
        zeros(TALLY.n_numbers),
        zeros(1),
        zeros(1),
        streams[3],
        zeros(1),
        np.zeros(1),
    )
    play(rules, 0, scratch, K, np.zeros(1, dtype=np.uint8), record)
    sums = record.marked
    return PlayedGame(sums[LOSS] * policy.unit + low * rounds, sums[SWITCHES], sums[PAID] * policy.unit, record.arms[0])


WHOLE = "whole"
COLUMNS = pl.Schema({"switching_cost": pl.Float64, "stretch": pl.String} | SCHEMA | {"switches": pl.Float64})
"""Columns of a piece: λ and stretch, then those of every result; switches may be expectations."""

OWN_LOSS: tuple[dict[str, Any], ...] = (
    {"policy": "adaptive"},
    {"policy": "tracking"},
    {"policy": "tsallis-switch"},
    {"policy": "ewma"},
    {"policy": "fail-over"},
    {"policy": "threshold-cooldown"},
    {"policy": "follow-the-leader", "cooldown": 10, "name": "leader-cooldown-10"},
)
"""Default bandit policies: ours, the paper's, and the rules that people write. A random arm's cost needs no game."""

LONGEST_FORECAST = 48

LOOKING_AHEAD: Mapping[str, tuple[type[Expert], ...]] = {
    "none": (FixedArm, WorkFunction),
    "naive": (Smoothed,),
    "seasonal": (FoundSeason, SeasonalPlan),
    "given": (GivenForecast,),
}
"""Kinds of experts: without look-ahead; assuming the next rounds resemble the last; finding daily or weekly
patterns; using the user's forecasts.
"""

WITH_BOUND = (AdaptiveHedgeSwitch, AdaptiveTsallisSwitch, TsallisSwitch)
"""Policies whose regret has a proven bound for any losses."""

THAT_FOLLOW = (AdaptiveHedgeSwitch, TrackingSwitch, Ewma)
"""Policies that notice when another arm becomes the best, and move to it."""

PolicyLike = str | Mapping[str, Any] | Policy | Rule


def has_bound(policy: Policy) -> bool:
    """Tell whether a policy's cost above every fixed arm is bounded: by a theorem of its own, or by a guard."""
    return isinstance(policy, (*WITH_BOUND, Guarded)) or getattr(policy, "guarded", False)


def follows(policy: Policy) -> bool:
    """Tell whether a policy, or the rule that is guarded, notices when another arm becomes the best.

    A function is given the benefit of the doubt.
    """
    rule = policy.rule if isinstance(policy, Guarded) else policy
    return isinstance(rule, THAT_FOLLOW) or policy.rule_of is not None


@dataclass(frozen=True)
class Stretch:
    """A part of the record: its losses, and what was known beforehand."""

    table: LossTable
    losses: NDArray[Any]
    """Losses as given, a row per round."""
    closed: NDArray[np.bool_] | None
    """True where an arm was not available."""
    forecasts: Forecasts | None


Stretches = Mapping[str, Stretch]


@dataclass(frozen=True)
class Piece:
    """One policy at one λ, as played on each stretch."""

    switching_cost: float
    name: str
    policies: Mapping[str, Policy]
    code: Mapping[str, str]
    """Modules of a user-defined policy or function, each with the checksum of its source."""

    @property
    def policy(self) -> Policy:
        """The policy that plays the whole trace."""
        return self.policies[WHOLE]

    def settings(self) -> dict[str, Any]:
        """Return everything its numbers depend on besides the trace, as JSON."""
        described = {stretch: policy.settings() for stretch, policy in self.policies.items()}
        return plain({"name": self.name, "policies": described, "code": dict(self.code)})


def all_losses(period: Any, forecasts: bool) -> list[dict[str, Any]]:
    """Return the mixtures of experts under full information, without the user's forecasts and with them."""
    common = {"policy": "hedge-switch", **({} if period is None else {"period": period})}
    rounds = {WITH_FORECASTS: LONGEST_FORECAST, FULL_INFORMATION: 0} if forecasts else {FULL_INFORMATION: 0}
    return [{**common, "forecast_rounds": most, "name": name} for name, most in rounds.items()]


def pieces_of(
    given: object, costs: Sequence[float], stretches: Stretches, *, pairs: CostTable | None, defaults: Sequence[Any]
) -> list[Piece]:
    """Return every policy at every λ, checked; `defaults` where none are given.

    A policy by its id or table has λ, the arms, the rounds and the units filled in; with a cost for each pair of arms
    it gets those, if it takes them, or else λ, the largest. A function is guarded, and given all that. An object is
    played as it is, at every λ.
    """
    entries = list(defaults) if given is None else _entries(given)
    pieces = []
    for lam in costs:
        names: set[str] = set()
        for i, entry in enumerate(entries):
            piece = _piece(f"policies[{i}]", entry, lam, stretches, pairs)
            if piece.name in names:
                rule = Words("must have different names; to one, ", Set("name"))
                raise InvalidParameter("policies", rule, piece.name)
            names.add(piece.name)
            pieces.append(piece)
    return pieces


def _entries(given: object) -> list[Any]:
    if isinstance(given, (str, Policy)) or is_function(given) or (isinstance(given, Mapping) and "policy" in given):
        given = [given]
    if isinstance(given, Mapping):
        return [_renamed(str(name), entry) for name, entry in given.items()]
    if not isinstance(given, Sequence) or not given:
        rule = 'must be ids such as "adaptive", tables such as {"policy": "exp3"}, policies, or functions'
        raise InvalidParameter("policies", rule, given)
    return [entry_of(entry) if isinstance(entry, str) else entry for entry in given]


def is_function(given: object) -> bool:
    """Tell whether this is a rule of the user's own: a function (history so far) → arm."""
    return callable(given) and not isinstance(given, (type, Policy))


def _renamed(name: str, entry: Any) -> Any:
    if isinstance(entry, Policy) or is_function(entry):
        return name, entry
    table = entry_of(entry) if isinstance(entry, str) else entry
    return {**table, "name": name} if isinstance(table, Mapping) else table


def _piece(place: str, entry: Any, lam: float, stretches: Stretches, pairs: CostTable | None) -> Piece:
    label, given = entry[:2] if isinstance(entry, tuple) else (None, entry)
    if isinstance(given, Mapping):
        given = dict(given)
        if pairs is not None and issubclass(find_policy(given.get("policy"))[0], AdaptiveHedgeSwitch):
            given.setdefault("switching_cost", pairs)
    policies: dict[str, Policy] = {}
    name, code = "", dict[str, str]()
    for stretch, part in stretches.items():
        table = part.table
        policy = given
        if is_function(given):
            label = label or getattr(given, "__name__", None)
            policy = Guarded(given, n_arms=table.n_arms, arms=table.arms, units=table.units, switching_cost=lam)
        if isinstance(policy, Policy):
            name = policy.label if label is None else label
            code = {} if policy.rule_of is None else code_of(policy.rule_of)
            try:
                policies[stretch] = fitted(policy, table, table.rounds, functions=True)
            except InvalidParameter as error:
                raise InvalidParameter(f"{error.parameter} of {name}", error.rule, error.value) from None
        else:
            name, policies[stretch], code = described_policy(
                place, given, table, table.rounds, Costs.of(lam), Path.cwd()
            )
    return Piece(lam, name, policies, code)


def is_exact(policy: Policy) -> TypeGuard[AdaptiveHedgeSwitch]:
    """Tell whether a policy's expected cost is computed instead of sampled."""
    return isinstance(policy, AdaptiveHedgeSwitch) and policy.announces is None


def totals_of(policy: Policy, last: pl.DataFrame, pairs: CostTable | None) -> GameTotals:
    """Sum up a policy's games on one stretch, from their last rows."""
    losses, paid = last["total_loss"].to_numpy(), (last["total_cost"] - last["total_loss"]).to_numpy()
    return GameTotals(
        losses,
        last["switches"].to_numpy(),
        None if pairs is None else paid,
        "nothing" if isinstance(policy, HoldForever) else "all" if policy.full_information else "own",
        has_bound(policy),
        follows(policy),
    )


@dataclass(frozen=True)
class PieceRunner:
    """Settings with which pieces are played."""

    parts: Stretches
    replications: int
    seed: int
    marks: tuple[int, ...]
    """Recorded rounds of the whole trace; other stretches record only the last."""
    backend: Backend
    pairs: CostTable | None = None
    """Cost of a switch from each arm to each other, if not constant."""
    drawn: dict[tuple[str, float], NDArray[np.int32]] = field(default_factory=dict, compare=False)
    """Arms drawn while computing expected costs, by policy and λ."""

    @property
    def rows(self) -> int:
        """Rows of a piece's table."""
        return self.replications * (len(self.marks) + len(self.parts) - 1)

    def play(self, piece: Piece) -> Result:
        """Play all stretches into one table. A game without random draws is played once, and its rows repeated."""
        frames = []
        provenance: dict[str, Any] = {}
        exact = self._exact(piece) if is_exact(piece.policy) else {}
        for name, part in self.parts.items():
            policy = piece.policies[name]
            once = policy.deterministic or name in exact
            if name in exact:
                frame = exact[name]
            elif policy.rule_of is not None:
                games = (self._game_of_function(piece, name, i) for i in range(self.replications))
                parts = (_rows(piece.name, self._marks(name), part.table, game, i) for i, game in enumerate(games))
                frame = pl.concat(list(parts))
            else:
                result = simulate(
                    {piece.name: policy},
                    part.table,
                    switching_cost=piece.switching_cost if self.pairs is None else self.pairs,
                    replications=1 if once else self.replications,
                    seed=self.seed,
                    checkpoints=self._marks(name),
                    backend=self.backend,
                    progress=False,
                )
                provenance = provenance or {"versions": result.provenance["versions"]}
                frame = result.frame
            if once:
                again = [frame.with_columns(replication=pl.lit(i, pl.Int64)) for i in range(self.replications)]
                frame = pl.concat(again)
            keys = [pl.lit(piece.switching_cost, pl.Float64).alias("switching_cost"), pl.lit(name).alias("stretch")]
            frames.append(frame.select(*keys, pl.all()).cast(COLUMNS))
        return Result(pl.concat(frames), provenance)

    def _game_of_function(self, piece: Piece, name: str, replication: int) -> PlayedGame:
        return played_function(
            piece.policies[name],
            self.parts[name].losses,
            self._marks(name),
            switching_cost=piece.switching_cost,
            pairs=self.pairs,
            seed=self.seed,
            replication=replication,
        )

    def _marks(self, name: str) -> tuple[int, ...]:
        return self.marks if name == WHOLE else (self.parts[name].table.rounds,)

    def _exact(self, piece: Piece) -> dict[str, pl.DataFrame]:
        """Return, for each stretch, the expected cost of the game at each mark."""

        def rows(name: str) -> pl.DataFrame:
            game = self._expected(piece.policies[name], name, self._marks(name), piece.name)
            if name == WHOLE:
                self.drawn[piece.name, piece.switching_cost] = game.arms
            table = self.parts[name].table
            return _rows(piece.name, self._marks(name), table, game)

        with ThreadPoolExecutor() as pool:  # the kernels release the interpreter lock
            return dict(zip(self.parts, pool.map(rows, self.parts), strict=True))

    def _expected(
        self, policy: Policy, name: str, marks: Sequence[int], label: str, only: Sequence[int] | None = None
    ) -> PlayedGame:
        assert is_exact(policy)
        part = self.parts[name]
        return expected_game(
            policy,
            part.losses,
            marks,
            closed=part.closed,
            forecasts=part.forecasts,
            only=only,
            seed=self.seed,
            name=label,
        )

    def with_periods(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Let the default mixtures plan on the period, of those that the record suggests, with which it costs least.

        Without one that costs less they look for a period as they play. Forecasts are left out of this.
        """
        likely = likely_periods(self.parts[WHOLE].losses)
        tried = [None, *likely, *([likely] if len(likely) > 1 else [])]

        def cost(policy: AdaptiveHedgeSwitch) -> float:
            game = self._expected(policy, WHOLE, self.marks[-1:], "")
            return float(game.losses[-1] + game.paid[-1])

        best: dict[float, Any] = {}
        with ThreadPoolExecutor() as pool:
            for piece in pieces:
                if is_exact(piece.policy) and not piece.policy.forecast_rounds:
                    costs = list(pool.map(cost, (replace(piece.policy, period=period) for period in tried)))
                    best[piece.switching_cost] = tried[costs.index(min(costs))]
        return [
            replace(
                piece,
                policies={
                    stretch: replace(policy, period=best[piece.switching_cost]) if is_exact(policy) else policy
                    for stretch, policy in piece.policies.items()
                },
            )
            for piece in pieces
        ]

    def looking_ahead(self, pieces: Sequence[Piece]) -> dict[str, float]:
        """Return the cost of the default mixture on the whole trace, with more and more kinds of experts."""
        policies = [piece.policy for piece in pieces]
        known = [policy for policy in policies if is_exact(policy) and policy.experts is None]
        if not known:
            return {}
        policy = max(known, key=lambda one: one.forecast_rounds)
        forecasts = policy.forecast_rounds and self.parts[WHOLE].forecasts is not None
        kinds = list(LOOKING_AHEAD.values())[: None if forecasts else -1]

        def cost(count: int) -> float:
            mixed = tuple(kind for some in kinds[:count] for kind in some)
            only = [i for i, expert in enumerate(policy.mixed) if isinstance(expert, mixed)]
            game = self._expected(policy, WHOLE, self.marks[-1:], "", only)
            return float(game.losses[-1] + game.paid[-1])

        with ThreadPoolExecutor() as pool:
            return dict(zip(LOOKING_AHEAD, pool.map(cost, range(1, len(kinds) + 1)), strict=False))

    def arms(self, piece: Piece, replication: int) -> NDArray[np.int32]:
        """Return the arm of each round of the whole trace in one replication."""
        if is_exact(piece.policy):
            found = self.drawn.get((piece.name, piece.switching_cost))
            return found if found is not None else self._expected(piece.policy, WHOLE, self.marks[-1:], piece.name).arms
        if piece.policy.rule_of is not None:
            return self._game_of_function(piece, WHOLE, replication).arms
        table = self.parts[WHOLE].table
        costs = replace(Costs.of(piece.switching_cost, blocks=table.rounds), unit=table.unit)
        game = Task(
            piece.name, piece.policy, table, table.rounds, costs, (table.rounds,), self.seed, replication, count=1
        )
        played = run_task(game, with_arms=True)
        assert played is not None  # nothing stops it
        held: NDArray[np.int32] = played.arms[0]
        return held


# Periods that a record suggests.

PERIODS = (7, 12, 24, 48, 96, 144, 168, 288, 336, 672, 1440)
"""Days of a week, months of a year; a day of hours, half hours, quarters, ten and five minutes, minutes; a week of
hours, half hours and quarters.
"""
ALWAYS_TRIED = 24
MOST_LIKELY, LEAST_VISITS, CLOSER = 3, 5, 0.95
"""Most periods tried; how often each must fit into the record; and the largest ratio of the mean square difference to
the losses one period ago to that half a period ago.
"""
MOST_STEPS = 10**9
"""Rounds × arms × period up to which a period is tried: a plan looks two periods ahead in every round."""


def likely_periods(losses: NDArray[Any]) -> tuple[int, ...]:
    """Return the periods worth trying on a record, the likeliest first.

    >>> likely_periods(np.tile(np.arange(7.0)[:, None], (40, 2)))[0]
    7
    """
    T, K = losses.shape
    known = np.asarray(losses[-200_000:], dtype=np.float64)

    def apart(lag: int) -> float:
        return float(np.mean((known[lag:] - known[:-lag]) ** 2))

    there = [P for P in PERIODS if T >= LEAST_VISITS * P and T * K * P <= MOST_STEPS]
    closer = {P: apart(P) / half for P in there if (half := apart(P // 2)) > 0.0}
    likely = sorted((P for P in closer if closer[P] <= CLOSER), key=lambda P: closer[P])[:MOST_LIKELY]
    return tuple(dict.fromkeys([*likely, *(P for P in there if P == ALWAYS_TRIED)]))


def _rows(name: str, marks: Sequence[int], table: LossTable, game: PlayedGame, replication: int = 0) -> pl.DataFrame:
    """Return the rows of one game, in the format of `simulate`."""
    regret = game.losses - np.array([table.expected(0, mark).min() for mark in marks])
    return pl.DataFrame(
        {
            "policy": [name] * len(marks),
            "replication": [replication] * len(marks),
            "round": list(marks),
            "pseudo_regret": regret,
            "switches": game.switches,
            "regret_with_switching": regret + game.paid,
            "total_loss": game.losses,
            "total_cost": game.losses + game.paid,
        },
        schema=dict(SCHEMA | {"switches": pl.Float64}),
    )


# Losses that policies observe clipped and that are counted as recorded.
#
# A few outliers stretch the range of the losses, and all others then differ by a small share of it: a bandit policy
# learns slowly. Clipped losses teach quickly. Costs are still those recorded.

NARROW = 0.1
"""Share of the range: if nearly all losses lie within it, the rest are outliers."""
TAIL = 0.01
"""Share of losses at each end that may be outliers."""
MOST_LOOKED_AT = 10**6
"""Losses sampled for that estimate."""


@kernel
def heard(tables: Any, places: Any, start: float, stop: float, streams: Any, totals: Any) -> None:
    """Look up two sums of the clipped losses, as a share of the units."""
    sums, unit = tables[2], tables[1][1]
    s, t = int(start), int(stop)
    for g in range(totals.shape[0]):
        totals[g] = (sums[t, int(places[g])] - sums[s, int(places[g])]) / unit


@dataclass(frozen=True)
class ClippedSums(Summed):
    """Prefix sums of the losses, as recorded and as observed."""

    heard: Array


@dataclass(frozen=True, eq=False)
class ClippedTable(LossTable):
    """A `LossTable` whose `units` are those of the clipped losses; made by `of`."""

    id = "clipped-table"
    total_kernel = staticmethod(heard)

    @cached_property
    def tables(self) -> Tables:
        """Tables of the recorded losses, and the observed sums."""
        held: ClippedSums = self.source
        return *super().tables, held.heard

    @classmethod
    def of(cls, trace: Trace, units: tuple[float, float] = (0.0, 1.0), index: str | None = None) -> Self:
        """Return the table of these losses, observed within `units`."""
        recorded = prefix_sums(trace, units, checked=False)
        known = prefix_sums(replace(trace, table=np.clip(trace.table.astype(np.float64), *units)), units)
        held = ClippedSums(trace.source, recorded, trace.arms, trace.labels, units, index, known)
        return cls(held, units=units, index=index, arms=trace.arms)

    def part(self, start: int, stop: int) -> Self:
        cut = super().part(start, stop)
        held = replace(cut.source, heard=self.source.heard[start : stop + 1])
        return replace(cut, source=held)


def clipping_note(losses: NDArray[Any], clip: tuple[float, float], *, rewards: bool) -> str:
    """Say how many losses lie outside, and how they are treated."""
    low, high = clip
    count = int(np.count_nonzero((losses < low) | (losses > high)))
    what, ends = ("rewards", (0.0 - high, 0.0 - low)) if rewards else ("losses", clip)
    return (
        f"Policies hear {what} clipped to {ends[0]:g} to {ends[1]:g}: {number(count)} of {number(losses.size)} lie "
        "outside. Costs, fixed arms and plans are of those as recorded."
    )


def outlier_note(losses: NDArray[Any], units: tuple[float, float], *, rewards: bool) -> str | None:
    """Return a warning if nearly all losses lie within a small part of the units."""
    step = max(1, losses.size // MOST_LOOKED_AT)
    seen = np.asarray(losses[::step], dtype=np.float64)
    low, high = (float(end) for end in np.quantile(seen, [TAIL, 1.0 - TAIL], method="nearest"))
    share = (high - low) / (units[1] - units[0])
    if not 0.0 < share < NARROW:
        return None
    what, ends, whole = "losses", (low, high), units
    if rewards:
        what, ends, whole = "rewards", (0.0 - high, 0.0 - low), (0.0 - units[1], 0.0 - units[0])
    least, most = (f"{float(f'{end:.3g}'):g}" for end in ends)
    return (
        f"{100 * (1 - 2 * TAIL):.0f} % of the {what} lie between {least} and {most}, {100 * share:.2g} % of the range "
        f"from {whole[0]:g} to {whole[1]:g}: policies that see their own arm's loss only learn slowly. Clip what they "
        f"hear: clip=({least}, {most}), on the command line --clip={least},{most}."
    )
