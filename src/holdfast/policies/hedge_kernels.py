"""What plays a mixture of paths: steps, lessons, weights and the rate. Lines are those of ``docs/visible.md``."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from holdfast._numba.compile import kernel
from holdfast.layouts import Array, PerArm, Scalar, Scratch, ScratchPerArm, extended, several
from holdfast.policies.coupling import flowing_move, lazy_move
from holdfast.policies.path import PathKernels, price
from holdfast.policies.policy import AllSeen, Kernels, PlainBlock
from holdfast.rng import next_uniform
from holdfast.simplex import exp_of_negative

START = 0.1
"""Δ_0 in units of (1 + λ) ln N: the rate begins at 10/(1 + λ)."""

LEVEL_WEIGHT = 0.1
"""Weight of the last loss in the level by which a stand-in is found for an arm that is not available."""

SMALL = 0.01
"""Below this e^−x − 1 + x is summed as a series."""


class HedgeParams(NamedTuple):
    """The parameters."""

    log_paths: float  # ln of the number of paths
    lam: float  # λ, or the largest entry of the table
    varying: float  # whether λ is announced in each round
    sizes: Array  # of the game, see `HedgeGame`
    kinds: Array  # the first path of each kind, and the number of paths
    places: Array  # where settings, sizes, numbers and vectors of each path begin, four numbers each; then their ends
    own: Array  # settings of the paths
    path_sizes: Array  # sizes of the memory of the paths
    costs: Array  # the K × K table, row by row; empty for a single λ


HedgeGame = extended(
    AllSeen,
    "HedgeGame",
    __name__,
    n=Scalar,  # rounds begun
    lam=Scalar,  # λ of this round
    last=Scalar,  # the arm of the last round, from 1; 0 before the first
    gap=Scalar,  # Σ (A − M): what mixing has cost beyond the mix loss
    gap_low=Scalar,  # what the sum has lost in rounding
    delta=Scalar,  # Δ
    moving=Scalar,  # what this round's switch costs on average, less what the paths pay for theirs
    first=Scalar,  # the row of the forecast for this round
    rows=Scalar,  # rows of the forecast
    P=PerArm,  # the distribution of this round's arm
    before=PerArm,  # and of the last round's
    level=PerArm,  # smoothed losses
    closed_rows=Scratch,
    value=ScratchPerArm,
    other=ScratchPerArm,
    C=several(Scalar, "paths"),  # what each path has cost, less the least
    p=several(Scalar, "paths"),  # weights
    at=several(Scalar, "paths"),  # the arm of each path
    paid=several(Scalar, "paths"),  # what its switch of this round costs
    was=several(Scratch, "paths"),  # the last round's arms
    q=several(Scratch, "paths"),  # and weights
    numbers=several(Scalar, "numbers"),  # the memory of all paths
    vectors=several(Scalar, "vectors"),
    forecast=several(PerArm, "forecast"),
    closed=several(ScratchPerArm, "forecast"),
    ahead=several(ScratchPerArm, "ahead"),
    flow=several(ScratchPerArm, "pairs"),  # K where there is a cost for each pair of arms, otherwise none
)
"""A game: beside what every policy that sees all has."""


class PathPart(NamedTuple):
    """What belongs to one path."""

    own: Any
    sizes: Any
    numbers: Any
    vectors: Any


@kernel
def part_of(params: Any, game: Any, j: int) -> PathPart:
    """Settings and memory of path j."""
    at = params.places[4 * j : 4 * j + 8]
    return PathPart(
        params.own[int(at[0]) : int(at[4])],
        params.path_sizes[int(at[1]) :],
        game.numbers[int(at[2]) :],
        game.vectors[int(at[3]) :],
    )


@kernel
def no_steps(params: Any, game: Any, stand_in: int, kind: int) -> None:
    """After the last kind of path."""


@kernel
def no_lessons(params: Any, game: Any, losses: Any, kind: int) -> None:
    """After the last kind of path."""


@cache
def steps_of(kinds: tuple[PathKernels, ...]) -> Any:
    """A kernel that moves every path; each kind has a loop of its own."""
    if not kinds:
        return no_steps
    step, view, rest = kinds[0].step, kinds[0].layout.view, steps_of(kinds[1:])

    @kernel
    def steps(params: Any, game: Any, stand_in: int, kind: int) -> None:
        K = game.P.shape[0]
        for j in range(int(params.kinds[kind]), int(params.kinds[kind + 1])):
            part = part_of(params, game, j)
            memory = view(part, part.numbers, part.vectors, K)
            here = int(game.at[j, 0]) if game.n[0] > 1.0 else -1
            arm = int(step(part.own, memory, game, params.costs, here))
            if arm < 0 or arm >= K or game.shut[arm, 0] > 0.0:
                arm = stand_in
            game.paid[j, 0] = price(game, params.costs, here, arm)
            game.was[j, 0], game.at[j, 0] = here, arm
        rest(params, game, stand_in, kind + 1)

    return steps


@cache
def lessons_of(kinds: tuple[PathKernels, ...]) -> Any:
    """A kernel that tells every path the losses."""
    if not kinds:
        return no_lessons
    learn, view, rest = kinds[0].learn, kinds[0].layout.view, lessons_of(kinds[1:])

    @kernel
    def lessons(params: Any, game: Any, losses: Any, kind: int) -> None:
        K = game.P.shape[0]
        for j in range(int(params.kinds[kind]), int(params.kinds[kind + 1])):
            part = part_of(params, game, j)
            learn(part.own, view(part, part.numbers, part.vectors, K), game, params.costs, losses)
        rest(params, game, losses, kind + 1)

    return lessons


@kernel
def stand_in_of(game: Any) -> int:
    """The available arm of the least smoothed loss."""
    arm, least = 0, math.inf
    for i in range(game.level.shape[0]):
        if game.shut[i, 0] == 0.0 and game.level[i, 0] < least:
            arm, least = i, game.level[i, 0]
    return arm


@kernel
def weigh(params: Any, game: Any) -> None:
    """p ∝ exp(−ηC) into `p`, the last round's into `q`, and the arms' distributions into `P` and `before` (line 2)."""
    eta, total = params.log_paths / game.delta[0], 0.0
    C, p, q, P, before = game.C, game.p, game.q, game.P, game.before
    for j in range(p.shape[0]):
        q[j, 0] = p[j, 0]
        p[j, 0] = exp_of_negative(-eta * C[j, 0])
    for j in range(p.shape[0]):
        total += p[j, 0]
    for i in range(P.shape[0]):
        before[i, 0], P[i, 0] = P[i, 0], 0.0
    for j in range(p.shape[0]):
        p[j, 0] /= total
        P[int(game.at[j, 0]), 0] += p[j, 0]


@kernel
def exp_excess(x: float) -> float:
    """e^−x − 1 + x, without the cancellation."""
    if abs(x) > SMALL:
        return math.expm1(-x) + x
    return x * x * (0.5 - x * (1 / 6 - x * (1 / 24 - x * (1 / 120 - x * (1 / 720)))))


@kernel
def settle(params: Any, game: Any, losses: Any) -> None:
    """Lines 4 to 6: what the round has cost each path and the mixture, Δ."""
    C, p, P, at, paid, stayed = game.C, game.p, game.P, game.at, game.paid, game.other
    eta, mean, own, mixed, least = params.log_paths / game.delta[0], 0.0, 0.0, 0.0, math.inf
    for j in range(p.shape[0]):
        own += p[j, 0] * paid[j, 0]
        C[j, 0] += losses[int(at[j, 0]), 0] + paid[j, 0]
        least = min(least, C[j, 0])
    for i in range(P.shape[0]):
        mean += P[i, 0] * losses[i, 0]
        stayed[i, 0] = P[i, 0]
    mean += own
    for j in range(p.shape[0]):
        C[j, 0] -= least
        if paid[j, 0] > 0.0:  # few paths move; those that stay on one arm cost the same
            arm = int(at[j, 0])
            stayed[arm, 0] -= p[j, 0]
            mixed += p[j, 0] * exp_excess(eta * (losses[arm, 0] + paid[j, 0] - mean))
    for i in range(P.shape[0]):
        if stayed[i, 0] > 0.0:
            mixed += stayed[i, 0] * exp_excess(eta * (losses[i, 0] - mean))
    overhead = (game.moving[0] - own) + math.log1p(mixed) / eta  # A − M, both without the mean loss
    most = game.gap[0] + overhead
    back = most - game.gap[0]
    game.gap_low[0] += (game.gap[0] - (most - back)) + (overhead - back)
    game.gap[0] = most
    game.delta[0] = max(game.delta[0], most + game.gap_low[0])


@cache
def hedge_kernels(kinds: tuple[PathKernels, ...], pairs: bool) -> Kernels:
    """The kernels of a mixture of such paths, however many there are; with a cost for each pair of arms, or one."""
    steps, lessons, move = steps_of(kinds), lessons_of(kinds), flowing_move if pairs else lazy_move

    @kernel
    def choose(params: Any, game: Any, announced: float, streams: Any, block: Any) -> None:
        """Lines 1 to 3: the paths move, their weights, the arm."""
        game.n[0] += 1.0
        game.lam[0] = announced if params.varying > 0.0 else params.lam
        if game.n[0] == 1.0:
            game.delta[0] = START * (1.0 + game.lam[0]) * params.log_paths
        steps(params, game, stand_in_of(game), 0)
        weigh(params, game)
        arm = move(params, game, int(game.last[0]) - 1, next_uniform(streams, 0))
        game.closed_rows[0] = 0.0
        game.last[0] = arm + 1.0
        block.arm[0], block.rounds[0], block.probability[0] = arm, 1.0, min(game.P[arm, 0], 1.0)

    @kernel
    def observe(params: Any, game: Any, block: Any, losses: Any, rounds: float) -> None:
        """Lines 4 to 6, and what the paths make of the losses."""
        settle(params, game, losses)
        lessons(params, game, losses, 0)
        weight = max(LEVEL_WEIGHT, 1.0 / game.n[0])
        for i in range(game.known.shape[0]):
            game.known[i, 0] = losses[i, 0]
            game.level[i, 0] += weight * (losses[i, 0] - game.level[i, 0])
            game.shut[i, 0] = 0.0
        game.first[0] += 1.0

    return Kernels(choose, observe, HedgeGame, PlainBlock, params=HedgeParams, sees="all")
