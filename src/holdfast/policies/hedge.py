"""Adaptive Hedge-Switch: a mixture of experts under full information, with a rate that follows its own cost.

Each expert costs its losses and its switches. Experts are weighed by exp(−η·cost), the arm is drawn so that it changes
as rarely as these weights allow, and η follows what mixing has cost so far: AdaHedge (de Rooij, van Erven, Grünwald and
Koolen, JMLR 15, 2014) with the switches of the mixture counted in. ``docs/full_information.md`` has the algorithm, the
theorem and its proof.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from itertools import groupby
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import LARGEST, whole, whole_number
from holdfast.errors import InvalidParameter
from holdfast.numerics.costs import CostTable, checked_costs
from holdfast.numerics.layout import Array, Layout, PerArm, Scalar, Scratch, ScratchPerArm, extended, several
from holdfast.numerics.random import next_uniform
from holdfast.numerics.simplex import exp_of_negative
from holdfast.policies.experts import LONGEST_PERIOD, Expert, ExpertKernels, default_experts, made_expert, price
from holdfast.policies.policy import Announcement, FullInformation, FullInformationState, Kernels, PlainBlock, must_be

# Drawing an arm so that it changes as rarely, or as cheaply, as its distribution allows.


@kernel
def drawn(weights: Any, u: float) -> int:
    """The first arm at which the sum of `weights` exceeds u times their total; at worst the last one that has any."""
    total = 0.0
    for i in range(weights.shape[0]):
        total += weights[i, 0]
    arm, reached, target = 0, 0.0, u * total
    for i in range(weights.shape[0]):
        if weights[i, 0] > 0.0 and reached <= target:
            arm = i
        reached += weights[i, 0]
    return arm


@kernel
def coupled_move(P: Any, before: Any, grown: Any, here: int, u: float) -> int:
    """The arm drawn from P by who stands on `here`, drawn from `before`, with the fewest switches.

    Stay with probability min(1, P(a)/P_before(a)), else go where probability has `grown`. In the first round `here` is
    −1 and `before` all zeros.
    """
    moved = 0.0
    for i in range(P.shape[0]):
        grown[i, 0] = max(P[i, 0] - before[i, 0], 0.0)
        moved += grown[i, 0]
    if here < 0:
        return drawn(P, u)
    stays = P[here, 0] / before[here, 0] if before[here, 0] > 0.0 else 1.0
    if u < stays or moved == 0.0:
        return here
    return drawn(grown, (u - stays) / (1.0 - stays))


@kernel
def lazy_move(params: Any, game: Any, here: int, u: float) -> int:
    """Line 3 with one λ, and what it costs on average."""
    arm, moved = coupled_move(game.P, game.before, game.value, here, u), 0.0
    for i in range(game.P.shape[0]):
        moved += game.value[i, 0]
    game.moving[0] = game.lam[0] * moved if here >= 0 else game.lam[0]
    return arm


@kernel
def flowing_move(params: Any, game: Any, here: int, u: float) -> int:
    """Line 3 with a cost for each pair: probability flows along the experts, and never through an arm that it leaves.

    An expert keeps the smaller of its two weights; what others lost flows to what has grown. Then, where probability
    both enters and leaves an arm, what enters goes on at once and what would leave stays: by the triangle inequality
    that costs no more, and with equal costs it is the lazy move.
    """
    P, flow, lost, grown, K = game.P, game.flow, game.value, game.other, game.P.shape[0]
    if here < 0:
        game.moving[0] = 0.0
        return drawn(P, u)
    total = 0.0
    for a in range(K):
        lost[a, 0], grown[a, 0] = 0.0, 0.0
        for b in range(K):
            flow[a * K + b, 0] = 0.0
    for j in range(game.p.shape[0]):
        origin, arm = int(game.was[j, 0]), int(game.at[j, 0])
        kept = min(game.p[j, 0], game.q[j, 0])
        flow[origin * K + arm, 0] += kept
        lost[origin, 0] += game.q[j, 0] - kept
        grown[arm, 0] += game.p[j, 0] - kept
        total += game.p[j, 0] - kept
    for a in range(K):
        for b in range(K):
            flow[a * K + b, 0] += lost[a, 0] * grown[b, 0] / total if total > 0.0 else 0.0
    for b in range(K):
        enters, leaves = 0.0, 0.0
        for a in range(K):
            enters += flow[a * K + b, 0] if a != b else 0.0
            leaves += flow[b * K + a, 0] if a != b else 0.0
        through = min(enters, leaves)
        if through > 0.0:
            for a in range(K):
                share = flow[a * K + b, 0] / enters if a != b else 0.0
                for c in range(K):
                    flow[a * K + c, 0] += share * (through / leaves) * flow[b * K + c, 0] if c != b else 0.0
                flow[a * K + b, 0] -= share * through
            for c in range(K):
                flow[b * K + c, 0] *= 1.0 - through / leaves if c != b else 1.0
            flow[b * K + b, 0] += through
    cost = 0.0
    for a in range(K):
        for b in range(K):
            cost += max(flow[a * K + b, 0], 0.0) * params.costs[a * K + b]
    game.moving[0] = cost
    return drawn(flow[here * K : (here + 1) * K], u)


# The mixture: steps, lessons, weights and the rate. Lines are those of ``docs/full_information.md``.

START = 0.1
"""Δ_0 in units of (1 + λ) ln N: the rate begins at 10/(1 + λ)."""

LEVEL_WEIGHT = 0.1
"""Weight of the last loss in the level by which a stand-in is found for an arm that is not available."""

SMALL = 0.01
"""Below this e^−x − 1 + x is summed as a series."""


class HedgeParams(NamedTuple):
    """The parameters."""

    log_experts: float  # ln of the number of experts
    lam: float  # λ, or the largest entry of the table
    varying: float  # whether λ is announced in each round
    sizes: Array  # of the game, see `HedgeGame`
    kinds: Array  # the first expert of each kind, and the number of experts
    places: Array  # where settings, sizes, numbers and vectors of each expert begin, four numbers each; then their ends
    own: Array  # settings of the experts
    expert_sizes: Array  # sizes of the memory of the experts
    costs: Array  # the K × K table, row by row; empty for a single λ


HedgeGame = extended(
    FullInformationState,
    "HedgeGame",
    __name__,
    n=Scalar,  # rounds begun
    lam=Scalar,  # λ of this round
    last=Scalar,  # the arm of the last round, from 1; 0 before the first
    gap=Scalar,  # Σ (A − M): what mixing has cost beyond the mix loss
    gap_low=Scalar,  # what the sum has lost in rounding
    delta=Scalar,  # Δ
    moving=Scalar,  # what this round's switch costs on average, less what the experts pay for theirs
    first=Scalar,  # the row of the forecast for this round
    rows=Scalar,  # rows of the forecast
    P=PerArm,  # the distribution of this round's arm
    before=PerArm,  # and of the last round's
    level=PerArm,  # smoothed losses
    closed_rows=Scratch,
    value=ScratchPerArm,
    other=ScratchPerArm,
    C=several(Scalar, "experts"),  # what each expert has cost, less the least
    p=several(Scalar, "experts"),  # weights
    at=several(Scalar, "experts"),  # the arm of each expert
    paid=several(Scalar, "experts"),  # what its switch of this round costs
    was=several(Scratch, "experts"),  # the last round's arms
    q=several(Scratch, "experts"),  # and weights
    numbers=several(Scalar, "numbers"),  # the memory of all experts
    vectors=several(Scalar, "vectors"),
    forecast=several(PerArm, "forecast"),
    closed=several(ScratchPerArm, "forecast"),
    ahead=several(ScratchPerArm, "ahead"),
    flow=several(ScratchPerArm, "pairs"),  # K where there is a cost for each pair of arms, otherwise none
)
"""A game: beside what every policy with full information keeps."""


class ExpertPart(NamedTuple):
    """What belongs to one expert."""

    own: Any
    sizes: Any
    numbers: Any
    vectors: Any


@kernel
def part_of(params: Any, game: Any, j: int) -> ExpertPart:
    """Settings and memory of expert j."""
    at = params.places[4 * j : 4 * j + 8]
    return ExpertPart(
        params.own[int(at[0]) : int(at[4])],
        params.expert_sizes[int(at[1]) :],
        game.numbers[int(at[2]) :],
        game.vectors[int(at[3]) :],
    )


@kernel
def no_steps(params: Any, game: Any, stand_in: int, kind: int) -> None:
    """After the last kind of expert."""


@kernel
def no_lessons(params: Any, game: Any, losses: Any, kind: int) -> None:
    """After the last kind of expert."""


@cache
def steps_of(kinds: tuple[ExpertKernels, ...]) -> Any:
    """A kernel that moves every expert; each kind has a loop of its own."""
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
def lessons_of(kinds: tuple[ExpertKernels, ...]) -> Any:
    """A kernel that tells every expert the losses."""
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
    eta, total = params.log_experts / game.delta[0], 0.0
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
    """Lines 4 to 6: what the round has cost each expert and the mixture, Δ."""
    C, p, P, at, paid, stayed = game.C, game.p, game.P, game.at, game.paid, game.other
    eta, mean, own, mixed, least = params.log_experts / game.delta[0], 0.0, 0.0, 0.0, math.inf
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
        if paid[j, 0] > 0.0:  # few experts move; those that stay on one arm cost the same
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
def hedge_kernels(kinds: tuple[ExpertKernels, ...], pairs: bool) -> Kernels:
    """The kernels of a mixture of such experts, however many there are; with a cost for each pair of arms, or one."""
    steps, lessons, move = steps_of(kinds), lessons_of(kinds), flowing_move if pairs else lazy_move

    @kernel
    def choose(params: Any, game: Any, announced: float, streams: Any, block: Any) -> None:
        """Lines 1 to 3: the experts move, their weights, the arm."""
        game.n[0] += 1.0
        game.lam[0] = announced if params.varying > 0.0 else params.lam
        if game.n[0] == 1.0:
            game.delta[0] = START * (1.0 + game.lam[0]) * params.log_experts
        steps(params, game, stand_in_of(game), 0)
        weigh(params, game)
        arm = move(params, game, int(game.last[0]) - 1, next_uniform(streams, 0))
        game.closed_rows[0] = 0.0
        game.last[0] = arm + 1.0
        block.arm[0], block.rounds[0], block.probability[0] = arm, 1.0, min(game.P[arm, 0], 1.0)

    @kernel
    def observe(params: Any, game: Any, block: Any, losses: Any, rounds: float) -> None:
        """Lines 4 to 6, and what the experts make of the losses."""
        settle(params, game, losses)
        lessons(params, game, losses, 0)
        weight = max(LEVEL_WEIGHT, 1.0 / game.n[0])
        for i in range(game.known.shape[0]):
            game.known[i, 0] = losses[i, 0]
            game.level[i, 0] += weight * (losses[i, 0] - game.level[i, 0])
            game.shut[i, 0] = 0.0
        game.first[0] += 1.0

    return Kernels(choose, observe, HedgeGame, PlainBlock, params=HedgeParams, full_information=True)


ANNOUNCED = "announced"


@dataclass(frozen=True)
class ExpertMixture(FullInformation):
    """A policy that mixes experts, or plays one. It knows what switches cost and which arms are available."""

    switching_cost: float | Literal["announced"] | CostTable = field(kw_only=True)
    """λ, a table with a cost for each pair of arms, or ``"announced"``."""
    stale: int = field(default=0, kw_only=True, metadata=whole(least=0))
    """For how many rounds the last known loss stands for one that is not given."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.switching_cost, str) or self.switching_cost != ANNOUNCED:
            self._set("switching_cost", self._checked_switching_cost())

    def _checked_switching_cost(self) -> float | CostTable:
        cost = self.switching_cost
        if isinstance(cost, str):
            raise InvalidParameter("switching_cost", 'must be a number, a table or "announced"', cost)
        if not isinstance(cost, (Sequence, np.ndarray)):
            return self.checked_cost(cost)
        table, detour = checked_costs(cost, self.n_arms, LARGEST * self.unit)
        if detour is not None:
            a, b, c = (arm if self.arms is None else self.arms[arm] for arm in detour)
            warnings.warn(
                f"switching_cost from {a!r} to {c!r} is more than by way of {b!r}: shortest ways are used instead",
                UserWarning,
                stacklevel=6,
            )
        return table

    def __getstate__(self) -> dict[str, Any]:
        """The settings alone: kernels are composed again where they are needed."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    @abstractmethod
    def mixed(self) -> tuple[Expert, ...]:
        """The experts; those of one kind stand together."""

    @property
    def forecast_rows(self) -> int:
        """The most rows of a given forecast that are looked at."""
        return 0

    @property
    def announces(self) -> Announcement | None:
        """λ of each round, where it is announced."""
        return "switching_cost" if self.switching_cost == ANNOUNCED else None

    @cached_property
    def kernels(self) -> Kernels:
        """The loop over experts, composed of their kernels."""
        kinds = tuple(kind for kind, _ in groupby(self.mixed, key=_kind))
        return hedge_kernels(kinds, pairs=isinstance(self.switching_cost, tuple))

    @cached_property
    def state_layout(self) -> Layout:
        """Where the numbers of a game with these experts lie."""
        layouts = [expert.layout for expert in self.mixed]
        sizes = {
            "experts": len(self.mixed),
            "numbers": sum(layout.n_numbers for layout in layouts),
            "vectors": sum(layout.vector_rows(self.n_arms) for layout in layouts),
            "forecast": self.forecast_rows,
            "ahead": max(expert.kernels.look_ahead for expert in self.mixed),
            "pairs": self.n_arms if isinstance(self.switching_cost, tuple) else 0,
        }
        return self.kernels.state_layout.of_size(sizes)

    def parameters(self) -> HedgeParams:
        """As the kernels take them."""
        own: list[float] = []
        expert_sizes: list[int] = []
        places = [[0, 0, 0, 0]]
        for expert in self.mixed:
            settings, sizes = expert.own(), [expert.sizes()[name] for name in expert.layout.size_names]
            own += settings
            expert_sizes += sizes
            taken = (len(settings), len(sizes), expert.layout.n_numbers, expert.layout.vector_rows(self.n_arms))
            places.append([begin + more for begin, more in zip(places[-1], taken, strict=True)])
        counts = [len(list(group)) for _, group in groupby(self.mixed, key=_kind)]
        table = self.switching_cost if isinstance(self.switching_cost, tuple) else ()
        costs = [cost / self.unit for row in table for cost in row]
        announced = self.switching_cost == ANNOUNCED
        lam = max(costs) if costs else 0.0 if announced else float(self.switching_cost) / self.unit  # type: ignore[arg-type]
        ln_N = math.log(max(len(self.mixed), 2))  # of one expert alone the rate is never used
        return HedgeParams(
            log_experts=ln_N,
            lam=lam,
            varying=float(announced),
            sizes=np.array([self.state_layout.sizes[name] for name in self.state_layout.size_names]),
            kinds=np.cumsum([0, *counts]),
            places=np.array(places, dtype=np.float64).ravel(),
            own=np.array(own),
            expert_sizes=np.array(expert_sizes),
            costs=np.array(costs),
        )

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        """The mixture of this round."""
        return np.array(state.P)

    def settings(self) -> dict[str, Any]:
        """The parameters as plain values, enough to make this policy again."""
        values = super().settings()
        if isinstance(self.switching_cost, tuple):
            values["switching_cost"] = [list(row) for row in self.switching_cost]
        return values

    def check_saved(self, state: Mapping[str, Any], block: Mapping[str, Any] | None) -> None:
        """An error for numbers that no game can have come to."""
        K, N = self.n_arms, len(self.mixed)
        must_be(state["n"] >= 0 and state["n"] == int(state["n"]), "n must be a number of rounds")
        must_be(0 <= state["last"] <= K and (state["last"] > 0) == (state["n"] > 0), "last must be an arm")
        must_be(state["first"] >= 0 and 0 <= state["rows"] <= self.forecast_rows, "rows must be those of a forecast")
        lam = state["lam"]
        must_be(0 <= lam <= LARGEST and 0 <= state["moving"] <= lam * (1 + 1e-9), "lam must be a switching cost")
        if state["n"] == 0:
            return
        must_be(0 < state["delta"] <= LARGEST, "delta must be positive")
        must_be(max(abs(state["gap"]), abs(state["gap_low"])) <= LARGEST, "gap must be a sum")
        must_be(min(state["paid"]) >= 0 and max(state["paid"]) <= lam, "paid must be what a switch costs")
        for name in ("level", "before"):
            must_be(min(state[name]) >= 0 and max(state[name]) <= 1 + 1e-9, f"{name} must be from 0 to 1")
        must_be(all(0 <= arm < K and arm == int(arm) for arm in state["at"]), f"at must be {N} arms")
        must_be(min(state["C"]) >= 0 and max(state["C"]) <= LARGEST, "C must not be negative")
        for name in ("p", "P"):
            must_be(min(state[name]) >= 0 and abs(sum(state[name]) - 1.0) < 1e-9, f"{name} must be weights")
        number = vector = 0
        for expert in self.mixed:
            layout = expert.layout
            numbers = np.array(state["numbers"][number : number + layout.n_numbers])
            vectors = np.array(state["vectors"][vector : vector + layout.vector_rows(K)])
            rule = layout.broken_rule(layout.saved(numbers, vectors), K)
            must_be(rule is None, f"memory of {expert.id}: {rule}")
            number, vector = number + layout.n_numbers, vector + layout.vector_rows(K)


@dataclass(frozen=True)
class AdaptiveHedgeSwitch(ExpertMixture):
    """Mix simple experts when the losses of all arms are observed. `player.certificate` bounds the regret so far.

    An expert is a strategy such as "stay with arm 3", "move when another arm has been cheaper by λ", "plan the next two
    days on what the last days were like", "plan on the given forecast". On average the policy costs no more than the
    best of its experts plus ``player.certificate``, whatever the losses are; it needs no horizon and no tuning. Use
    `AdaptiveTsallisSwitch` where only the loss of the arm in play is seen.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, what one switch costs in the units of `units`; or a table with a row of costs for each arm to leave and
        a column for each arm to go to; or ``"announced"``: then each round's λ is given by
        ``ask(switching_cost=...)``.
    period
        Rounds after which losses repeat, such as 24 for hours; or several, ``(24, 168)``; or none, ``()``. If left out,
        a period of 7, 12, 24 or 48 rounds is looked for in what was seen.
    experts
        The experts to mix instead of the default ones: ``[*default_experts(K), MyPath()]``.
    forecast_rounds
        The most rounds of a forecast in ``ask(forecast=...)`` that are looked at.
    stale
        For how many rounds the last known loss stands for one that is not given. After that it is an error.

    Examples
    --------
    >>> player = AdaptiveHedgeSwitch(arms=["north", "south"], switching_cost=0.5, period=24).player(seed=1)
    >>> arm = player.ask()
    >>> player.tell(losses={"north": 0.2, "south": 0.7})
    >>> player.certificate > 0
    True
    """

    id: ClassVar[str] = "hedge-switch"

    period: int | Sequence[int] | None = field(default=None, kw_only=True)
    experts: Sequence[Any] | None = field(default=None, kw_only=True)
    forecast_rounds: int = field(default=48, kw_only=True, metadata=whole(least=0, most=LONGEST_PERIOD))

    def __post_init__(self) -> None:
        super().__post_init__()
        periods = (self.period,) if self.period is None or not isinstance(self.period, Sequence) else self.period
        if self.period is not None:
            checked = tuple(whole_number("period", p, least=2, most=LONGEST_PERIOD) for p in periods)
            self._set("period", checked[0] if len(checked) == 1 else checked)
        if self.experts is not None:
            if isinstance(self.experts, (str, Mapping)) or not isinstance(self.experts, Sequence) or not self.experts:
                raise InvalidParameter("experts", "must be a list of experts such as WorkFunction(2)", self.experts)
            self._set("experts", tuple(made_expert(expert) for expert in self.experts))

    @cached_property
    def mixed(self) -> tuple[Expert, ...]:
        """The experts that are mixed; those of one kind stand together."""
        if self.experts is not None:
            order: dict[Any, list[Expert]] = {}
            for expert in self.experts:
                order.setdefault(_kind(expert), []).append(expert)
            return tuple(expert for group in order.values() for expert in group)
        periods = (self.period,) if isinstance(self.period, int) else self.period
        return default_experts(self.n_arms, periods, self.forecast_rounds)

    @property
    def forecast_rows(self) -> int:
        """The most rows of a given forecast that are looked at."""
        return self.forecast_rounds

    def certificate(self, state: Any) -> float:
        """2Δ: what the game has cost more than the best expert, at most and on average, in the units of the losses."""
        return 2.0 * float(state.delta[0]) * self.unit

    def settings(self) -> dict[str, Any]:
        """The parameters as plain values, enough to make this policy again."""
        values = super().settings()
        if self.experts is not None:
            values["experts"] = [expert.settings() for expert in self.experts]
        return values


def _kind(expert: Expert) -> ExpertKernels:
    """Return the key that groups experts sharing one compiled kernel."""
    return expert.kernels._replace(look_ahead=0)
