"""`replay`: what policies would have cost on recorded losses, beside what staying put and hindsight cost."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.checks import number_range, real_number
from holdfast.data.traces import Trace, read_trace
from holdfast.environments import LossTable
from holdfast.environments.environment import UNIT_RANGE
from holdfast.errors import InvalidParameter
from holdfast.extras import need, pl
from holdfast.files import claimed
from holdfast.replays.cost_table import GameTotals, References, Standing, stretches
from holdfast.replays.folder import ReplayFolder, described
from holdfast.replays.games import WHOLE, Piece, PieceRunner, PolicyLike, arms_held, pieces_of
from holdfast.replays.outputs import write_outputs
from holdfast.replays.plans import LARGEST_LOSS, Plan, hindsight
from holdfast.replays.result import Held, Replay, Running
from holdfast.results import Result
from holdfast.simulation.backends import Backend, Reporting, find_backend
from holdfast.simulation.progress import progress_bar
from holdfast.statistics import checked_confidence

LIMITS = (1, 2, 5, 10)
"""Plans with at most so many switches are looked at, the first play counted."""
POINTS = 200
"""Rounds at which running costs are recorded."""

Say = Callable[[str], None]


def replay(
    losses: Any,
    policies: PolicyLike | Sequence[PolicyLike] | Mapping[str, PolicyLike] | None = None,
    *,
    switching_cost: float | Sequence[float],
    replications: int = 100,
    units: tuple[float, float] | None = None,
    rescale: bool = False,
    index: str | None = None,
    arms: Sequence[str] | None = None,
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
    """What these policies would have cost, had they been played on recorded losses.

    Every policy sees the loss of the arm it holds and nothing else. Beside it stand the best and the worst fixed arm,
    and the best plans in hindsight; and the same on each half and quarter of the trace, played anew.

    Parameters
    ----------
    losses
        One row for each round, one column for each arm: an array, a data frame (polars, pandas, Arrow), or the path of
        a file, as `LossTable` takes them.
    policies
        Ids such as ``"adaptive"``, with parameters as ``"follow-the-leader:cooldown=5"``; tables such as
        ``{"policy": "exp3", "name": "mine"}``; or by name in a mapping. λ, the arms, the rounds and the units are
        filled in. A policy object is played as it is, at every λ. Left out, four are played: the adaptive policy, the
        paper's, follow-the-leader with a cooldown of 10 rounds, and one arm held forever that was taken at random.
    switching_cost
        λ, or several, in the units of the losses.
    replications
        Games of each policy at each λ; at least 2. A policy that draws nothing is played once.
    units, rescale
        The lowest and the highest loss that one round can have: (0, 1) unless given, or those of the trace with
        `rescale`. Policies need them; all costs are in the units of the losses as they were given.
    index, arms
        The column with the times of the rounds; names for the columns of an array, or the columns to take.
    backend, workers, scheduler, seed, progress
        As in `simulate`.
    out, resume
        A folder for the report, the tables and the finished pieces; with `resume` what is there is not played again.
    confidence
        Of the intervals.
    echo
        A function that is given each line of progress.

    >>> rng = np.random.default_rng(1)
    >>> losses = (rng.random((500, 2)) < [0.2, 0.6]).astype(float)
    >>> found = replay(losses, ["adaptive", "hold-forever"], switching_cost=0.5, replications=10)
    >>> found.standing(0.5).best_arm, found.plans[0.5].switches < 500
    ('0', True)
    """
    costs = _costs(switching_cost)
    share = checked_confidence(confidence)
    chosen = find_backend(backend, workers=workers, scheduler=scheduler)
    trace = _read(losses, index, arms)
    table = LossTable.of(trace, _units(trace, units, rescale), index)
    if table.n_arms < 2:
        raise InvalidParameter("losses", "must have at least two arms, or there is nothing to decide", table.n_arms)
    cuts = stretches(table.rounds)
    runner = PieceRunner.of(
        {name: table.part(*ends) for name, ends in cuts.items()}, replications, seed, POINTS, chosen
    )
    pieces = pieces_of(policies, costs, runner.stretches)
    say = echo or (lambda line: None)
    with ExitStack() as stack:
        folder = None
        if out is not None:
            need("matplotlib")
            place = stack.enter_context(claimed(out, "replaying"))
            record = described(table, pieces, runner, _fingerprint(table))
            folder = ReplayFolder.admitted(place, record, resume)
            folder.begin()
        games = stack.enter_context(progress_bar(progress, sum(_games(piece, runner) for piece in pieces), "games"))
        result = _played(pieces, runner, folder, stack, games, say)
        made = _assembled(trace, table, cuts, costs, pieces, runner, result, share)
        if folder is not None:
            write_outputs(made, folder.path)
    return made


def _read(losses: Any, index: str | None, arms: Sequence[str] | None) -> Trace:
    """The trace with an array for its table; a data frame that was read from a file is let go."""
    try:
        return read_trace(losses, index=index, arms=arms).as_array()
    except InvalidParameter as error:
        raise _of_losses(error) from None


def _of_losses(error: InvalidParameter) -> InvalidParameter:
    parameter = "losses" if error.parameter == "source" else error.parameter
    return InvalidParameter(parameter, error.rule, error.value)


def _units(trace: Trace, units: tuple[float, float] | None, rescale: bool) -> tuple[float, float]:
    """What one round can lose, with every loss within it."""
    if units is not None and rescale:
        raise InvalidParameter("rescale", "must be left out where units are given", rescale)
    try:
        lowest, highest = trace.range()
        if not rescale:
            wanted = UNIT_RANGE if units is None else number_range("units", units)
            if lowest < wanted[0] or highest > wanted[1]:
                for _ in trace.checked_pieces(wanted):  # finds the first
                    pass
            return wanted
    except InvalidParameter as error:
        raise _of_losses(error) from None
    if lowest == highest:
        raise InvalidParameter("rescale", "needs losses that differ; all of them are the same", lowest)
    return number_range("losses", (lowest, highest))


def _costs(given: object) -> tuple[float, ...]:
    """The switching costs as given, each once."""
    several = list(given) if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str) else [given]
    costs = tuple(real_number("switching_cost", cost, least=0, most=LARGEST_LOSS) for cost in several)
    if not costs or len(set(costs)) < len(costs):
        raise InvalidParameter("switching_cost", "must be a number or several different ones", given)
    return costs


def _fingerprint(table: LossTable) -> str:
    """The same for the same losses, whatever file they came from."""
    digest = hashlib.sha256()
    for first in range(0, len(table.sums), 2**16):
        digest.update(np.ascontiguousarray(table.sums[first : first + 2**16]).data)
    if table.labels is not None:
        digest.update(repr([str(table.labels[i]) for i in (0, -1)]).encode())
    return digest.hexdigest()


def _games(piece: Piece, runner: PieceRunner) -> int:
    return sum(1 if policy.deterministic else runner.replications for policy in piece.policies.values())


def _played(
    pieces: Sequence[Piece],
    runner: PieceRunner,
    folder: ReplayFolder | None,
    stack: ExitStack,
    advance: Callable[[int], None],
    say: Say,
) -> Result:
    """All pieces in one table: those that are in the folder, and the rest played."""
    count = len({piece.name for piece in pieces})
    places = {f"{1 + i // count}-{1 + i % count}": piece for i, piece in enumerate(pieces)}
    found: dict[str, Result] = {}
    if folder is not None:
        there = {place: folder.found(place, piece, runner, say) for place, piece in places.items()}
        found = {place: result for place, result in there.items() if result is not None}
    if len(found) < len(places):
        stack.enter_context(runner.backend)
    reporting = PieceRunner(
        runner.stretches, runner.replications, runner.seed, runner.marks, Reporting(runner.backend, advance)
    )
    for place, piece in places.items():
        if place in found:
            advance(_games(piece, runner))
            continue
        try:
            found[place] = reporting.play(piece)
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
    table: LossTable,
    cuts: Mapping[str, tuple[int, int]],
    costs: Sequence[float],
    pieces: Sequence[Piece],
    runner: PieceRunner,
    result: Result,
    confidence: float,
) -> Replay:
    """The replay of these games, measured against what can be known without playing."""
    arms = tuple(table.arms or map(str, range(table.n_arms)))
    last = result.frame.filter(pl.col("round") == pl.col("round").max().over("stretch"))
    played = {
        (lam, stretch, policy): GameTotals(part["total_loss"].to_numpy(), part["switches"].cast(pl.Float64).to_numpy())
        for (lam, stretch, policy), part in last.group_by("switching_cost", "stretch", "policy")
    }
    names = list(dict.fromkeys(piece.name for piece in pieces))
    standings: dict[tuple[float, str], Standing] = {}
    plans: dict[float, Plan] = {}
    frontier = np.empty(0)
    for stretch, (first, stop) in cuts.items():
        whole = stretch == WHOLE
        found = hindsight(trace.table[first:stop], costs, LIMITS if whole else ())
        fixed = dict(zip(arms, table.part(first, stop).expected(0, stop - first).tolist(), strict=True))
        if whole:
            plans, frontier = dict(zip(costs, found.free, strict=True)), found.least_losses
        for lam, plan in zip(costs, found.free, strict=True):
            limited = {limit: found.cost_within(limit, lam) for limit in LIMITS} if whole else {}
            references = References(fixed, plan.losses, plan.switches, limited)
            of_policies = {name: played[lam, stretch, name] for name in names}
            standings[lam, stretch] = Standing(lam, of_policies, references, confidence)
    held = {
        (piece.switching_cost, piece.name): _held(piece, table, runner, standings[piece.switching_cost, WHOLE])
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
        policies={piece.name: piece.policy.settings() for piece in pieces},
        replications=runner.replications,
        seed=runner.seed,
        confidence=confidence,
        result=result,
        standings=standings,
        plans=plans,
        least_losses=frontier,
        held=held,
        running=Running.of(trace.table, runner.marks, arms, plans),
    )


def _held(piece: Piece, table: LossTable, runner: PieceRunner, standing: Standing) -> Held:
    """The arms of the replication in the middle: as many cost less as cost more."""
    costs = standing.costs[piece.name]
    replication = int(np.argsort(costs, kind="stable")[(len(costs) - 1) // 2])
    arms = arms_held(table, piece.name, piece.policy, piece.switching_cost, seed=runner.seed, replication=replication)
    return Held.of(arms, replication)
