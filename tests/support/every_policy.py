"""Every policy in every variant, with its naive counterpart and a world that treats equal games equally."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import naive
import naive_adaptive
import naive_rivals
import naive_tracking

from holdfast import (
    AdaptiveHedgeSwitch,
    AdaptiveTsallisSwitch,
    AmirTsallis,
    AnytimeAmirTsallis,
    BaSE,
    BatchedElimination,
    BatchedThompson,
    BlockExp3,
    Ewma,
    Exp3,
    FailOver,
    FixedShare,
    FollowLazyLeader,
    FollowTheLeader,
    ForecastPlan,
    Guarded,
    HoldForever,
    LazyExp3,
    LazyHedge,
    PausedTsallis,
    Player,
    Policy,
    RandomWalkPerturbation,
    ShrinkingDartboard,
    StabilityPenaltyBiasMatching,
    StabilityPenaltyMatching,
    ThompsonSampling,
    Threshold,
    ThresholdCooldown,
    TrackingSwitch,
    TsallisInf,
    TsallisSwitch,
    Ucb1,
    Ucb2,
    VaryingTsallisSwitch,
    WorkFunctionAlone,
)
from holdfast.experts import FixedArm, Smoothed, WorkFunction

HORIZON = 2000
LENGTHS = [1 + n % 4 for n in range(HORIZON)]
RATES = [1.0 / (n + 2) ** 0.5 for n in range(HORIZON)]


def varying_cost(n: int) -> float:
    """λ_n: it changes from block to block and is sometimes nothing."""
    return (0.0, 2.5, 0.4, 7.0)[n % 4]


def announced_bound(n: int) -> float:
    """b_t of a round."""
    return (1.0, 4.0, 0.25)[n % 3]


@dataclass(frozen=True)
class Case:
    """A policy, how to make its oracle, and what the world announces at the start of block n."""

    policy: Policy
    oracle: Any = None  # a callable without arguments
    announce: Callable[[int], float] | None = None
    highest: float = 1.0
    estimates: bool = True
    """True if C estimates the losses of all arms without bias: no counts, no floors, no caps."""
    remembers_order: bool = False
    """True if the order of late losses matters: the latest count most."""

    def announced(self, n: int) -> dict[str, float]:
        """Arguments of `ask` at the start of block n."""
        return {} if self.announce is None else {self.policy.announces: self.announce(n)}

    def told(self, n: int) -> float | None:
        """What is announced at the start of block n, if anything."""
        return None if self.announce is None else self.announce(n)

    def highest_loss(self, n: int) -> float:
        """The largest loss one round of block n may have."""
        return self.announce(n) if self.announce and self.policy.announces == "loss_bound" else self.highest


ADAPTS = {"estimates": False, "remembers_order": True}

CASES = {
    "tsallis-switch": Case(TsallisSwitch(4, switching_cost=1.3), lambda: naive.TsallisSwitch(4, 1.3)),
    "tsallis-switch, no cost": Case(TsallisSwitch(3, switching_cost=0.0), lambda: naive.TsallisSwitch(3, 0)),
    "tsallis-switch, high cost": Case(TsallisSwitch(8, switching_cost=10), lambda: naive.TsallisSwitch(8, 10)),
    "tsallis-switch, reduced variance": Case(
        TsallisSwitch(4, switching_cost=1.3, estimator="reduced-variance"), lambda: naive.TsallisSwitch(4, 1.3, "rv")
    ),
    "tsallis-switch, lists": Case(
        TsallisSwitch(5, block_lengths=LENGTHS, learning_rates=RATES),
        lambda: naive.TsallisSwitchGiven(5, LENGTHS, RATES),
    ),
    "tsallis-switch, functions": Case(
        TsallisSwitch(5, block_lengths=lambda n: LENGTHS[n - 1], learning_rates=lambda n: RATES[n - 1]),
        lambda: naive.TsallisSwitchGiven(5, LENGTHS, RATES),
    ),
    "tsallis-switch, varying": Case(
        VaryingTsallisSwitch(4), lambda: naive.VaryingTsallisSwitch(4), announce=varying_cost
    ),
    "tsallis-inf": Case(TsallisInf(4), lambda: naive.TsallisInf(4)),
    "tsallis-inf, reduced variance": Case(
        TsallisInf(4, estimator="reduced-variance"), lambda: naive.TsallisInf(4, estimator="rv")
    ),
    "tsallis-inf, range": Case(TsallisInf(3, loss_bound=4.0), lambda: naive.TsallisInf(3, B=4.0), highest=4.0),
    "tsallis-inf, range, reduced variance": Case(
        TsallisInf(3, loss_bound=4.0, estimator="reduced-variance"),
        lambda: naive.TsallisInf(3, B=4.0, estimator="rv"),
        highest=4.0,
    ),
    "tsallis-inf, announced": Case(
        TsallisInf(3, loss_bound="announced"), lambda: naive.TsallisInfAnnounced(3), announce=announced_bound
    ),
    "tsallis-inf, announced, reduced variance": Case(
        TsallisInf(3, loss_bound="announced", estimator="reduced-variance"),
        lambda: naive.TsallisInfAnnounced(3, "rv"),
        announce=announced_bound,
    ),
    "exp3": Case(Exp3(4), lambda: naive.Exp3(4)),
    "exp3-blocks": Case(BlockExp3(4, switching_cost=1.3, horizon=HORIZON), lambda: naive.BlockExp3(4, 1.3, HORIZON)),
    "base-arithmetic": Case(BaSE(4, horizon=HORIZON, grid="arithmetic"), lambda: naive.BaSE(4, HORIZON, "arithmetic")),
    "base-geometric": Case(BaSE(4, horizon=HORIZON, grid="geometric"), lambda: naive.BaSE(4, HORIZON, "geometric")),
    "base-minimax": Case(
        BaSE(4, horizon=HORIZON, grid="minimax", batches=4), lambda: naive.BaSE(4, HORIZON, "minimax", M=4)
    ),
    "base, round-robin": Case(
        BaSE(4, horizon=HORIZON, order="round-robin", gamma=0.1),
        lambda: naive.BaSE(4, HORIZON, "geometric", 0.1, order="round-robin"),
    ),
    "base, random order": Case(BaSE(4, horizon=HORIZON, order="random", gamma=0.1)),
    "one arm": Case(TsallisSwitch(1, switching_cost=2.0), lambda: naive.TsallisSwitch(1, 2.0)),
    "named arms": Case(TsallisSwitch(arms=["us-east", "eu-west", "ap-south"], switching_cost=0.35)),
    "own units": Case(TsallisSwitch(3, switching_cost=40.0, units=(-64.0, 64.0))),
    "ucb1": Case(Ucb1(4), lambda: naive_rivals.Ucb1(4), estimates=False),
    "ucb1, hesitant": Case(
        Ucb1(4, cooldown=7, threshold=0.125), lambda: naive_rivals.Ucb1(4, 7, 0.125), estimates=False
    ),
    "follow-the-leader": Case(
        FollowTheLeader(4, cooldown=5), lambda: naive_rivals.Ucb1(4, cooldown=5, c=0.0), estimates=False
    ),
    "hold-forever": Case(HoldForever(4), lambda: naive_rivals.HoldForever(4), estimates=False),
    "thompson": Case(ThompsonSampling(4), estimates=False),
    "thompson, hesitant": Case(ThompsonSampling(4, cooldown=7, threshold=0.125), estimates=False),
    "ucb2": Case(Ucb2(4), lambda: naive_rivals.Ucb2(4, 0.1), estimates=False),
    "ts2": Case(BatchedThompson(4, alpha=0.25), estimates=False),
    "batched-elimination": Case(
        BatchedElimination(4, horizon=HORIZON, batches=5),
        lambda: naive_rivals.BatchedElimination(4, HORIZON, 5),
        estimates=False,
    ),
    "lazy-exp3": Case(LazyExp3(4, switching_cost=1.3)),
    "amir": Case(AmirTsallis(4, switching_cost=1.3, horizon=HORIZON), lambda: naive_rivals.Amir(4, 1.3, HORIZON)),
    "amir-anytime": Case(AnytimeAmirTsallis(4, switching_cost=0.7), lambda: naive_rivals.Amir(4, 0.7)),
    "paused-tsallis": Case(PausedTsallis(4, switching_cost=1.3), lambda: naive_rivals.Paused(4, 1.3)),
    "paused-tsallis, often": Case(
        PausedTsallis(4, switching_cost=0.7, budget=0.1), lambda: naive_rivals.Paused(4, 0.7, 0.1)
    ),
    "paused-tsallis, adaptive": Case(PausedTsallis(4, switching_cost=0.7, budget=0.1, fallback="adaptive"), **ADAPTS),
    "adaptive": Case(AdaptiveTsallisSwitch(4, switching_cost=1.3), lambda: naive_adaptive.Adaptive(4, 1.3), **ADAPTS),
    "adaptive, no cost": Case(
        AdaptiveTsallisSwitch(3, switching_cost=0.0), lambda: naive_adaptive.Adaptive(3, 0.0), **ADAPTS
    ),
    "adaptive, high cost": Case(
        AdaptiveTsallisSwitch(8, switching_cost=10), lambda: naive_adaptive.Adaptive(8, 10.0), **ADAPTS
    ),
    "adaptive, announced": Case(
        AdaptiveTsallisSwitch(4, switching_cost="announced"),
        lambda: naive_adaptive.Adaptive(4, None),
        announce=varying_cost,
        **ADAPTS,
    ),
    "adaptive, one arm": Case(
        AdaptiveTsallisSwitch(1, switching_cost=2.0), lambda: naive_adaptive.Adaptive(1, 2.0), **ADAPTS
    ),
    "tracking": Case(
        TrackingSwitch(4, switching_cost=0.3, guarded=False), lambda: naive_tracking.Tracking(4, 0.3), **ADAPTS
    ),
    "tracking, notice": Case(
        TrackingSwitch(4, switching_cost=2.5, notice=40, guarded=False),
        lambda: naive_tracking.Tracking(4, 2.5, 40),
        **ADAPTS,
    ),
    "tracking, announced": Case(
        TrackingSwitch(4, switching_cost="announced", guarded=False),
        lambda: naive_tracking.Tracking(4, None),
        announce=varying_cost,
        **ADAPTS,
    ),
    "tracking, one arm": Case(
        TrackingSwitch(1, switching_cost=2.0, guarded=False), lambda: naive_tracking.Tracking(1, 2.0), **ADAPTS
    ),
    "guarded tracking": Case(TrackingSwitch(4, switching_cost=0.3), **ADAPTS),
    "guarded tracking, announced": Case(TrackingSwitch(4, switching_cost="announced"), announce=varying_cost, **ADAPTS),
    "guarded, one arm": Case(TrackingSwitch(1, switching_cost=2.0), **ADAPTS),
    "guarded, blocks": Case(Guarded(TsallisSwitch(4, switching_cost=1.3)), **ADAPTS),
    "guarded, one that waits": Case(Guarded(BaSE(4, horizon=HORIZON), switching_cost=0.1), **ADAPTS),
    "guarded, told": Case(Guarded(n_arms=4, switching_cost=0.1), announce=lambda n: n // 50 % 4, **ADAPTS),
    "ewma": Case(
        Ewma(4, switching_cost=0.3, memory=8, looks=0.05),
        lambda: naive_rivals.Ewma(4, 0.3, 8, 100, 3000, 0.05),
        **ADAPTS,
    ),
    "fail-over": Case(
        FailOver(4, fast=9, slow=60, margin=0.25, retry=40),
        lambda: naive_rivals.FailOver(4, 9, 60, 0.25, 40),
        **ADAPTS,
    ),
    "threshold-cooldown": Case(
        ThresholdCooldown(4, threshold=0.45, cooldown=12, memory=10),
        lambda: naive_rivals.ThresholdCooldown(4, 0.45, 12, 10),
        **ADAPTS,
    ),
    "spb-blocks": Case(
        StabilityPenaltyBiasMatching(4, switching_cost=1.3, horizon=HORIZON), lambda: naive_rivals.Spb(4, 1.3, HORIZON)
    ),
    "spm": Case(StabilityPenaltyMatching(4, switching_cost=1.3), lambda: naive_rivals.Spm(4, 1.3)),
}

DRAW_NOTHING = ("base", "one arm", "adaptive, one arm", "ucb", "follow", "batched")

FEW_EXPERTS = (FixedArm(0), FixedArm(2), WorkFunction(1.0), Smoothed(0.5, 8))
"""Quickly compiled."""

FULL_INFORMATION = {
    "hedge-switch": Case(AdaptiveHedgeSwitch(4, switching_cost=1.3, forecast_rounds=0)),
    "hedge-switch, pairs": Case(
        AdaptiveHedgeSwitch(
            3, switching_cost=[[0, 1, 2], [1, 0, 1.5], [2, 1.5, 0]], experts=FEW_EXPERTS, forecast_rounds=3
        )
    ),
    "hedge-switch, announced": Case(
        AdaptiveHedgeSwitch(4, switching_cost="announced", experts=FEW_EXPERTS), announce=varying_cost
    ),
    "lazy-hedge": Case(LazyHedge(4, switching_cost=1.3, horizon=HORIZON)),
    "fixed-share": Case(FixedShare(4, switching_cost=1.3, horizon=HORIZON)),
    "shrinking-dartboard": Case(ShrinkingDartboard(4, switching_cost=1.3, horizon=HORIZON)),
    "lazy-leader": Case(FollowLazyLeader(4, switching_cost=1.3, horizon=HORIZON)),
    "random-walk": Case(RandomWalkPerturbation(4)),
    "work-function": Case(WorkFunctionAlone(4, switching_cost=1.3, scale=2)),
    "threshold": Case(Threshold(4, switching_cost=1.3, rounds=10)),
    "forecast-plan": Case(ForecastPlan(4, switching_cost=1.3, period=6)),
}
"""Policies that see the losses of all arms; their twins are in test_full_information_rivals.py and hedge/."""

EVERY = CASES | FULL_INFORMATION

DRAW_ONCE = ("hold-forever", "tracking", "guarded")
"""They draw their first arm alone, or rarely another."""

RANDOMISED = [
    name
    for name, case in EVERY.items()
    if not case.policy.deterministic and (not name.startswith(DRAW_NOTHING + DRAW_ONCE) or "random" in name)
]
"""The cases whose arms hang on the seed, round after round."""


def loss_of(t: int, arm: int) -> float:
    """The loss in [0, 1] of an arm in round t: a multiple of 1/8, so that every sum of them is exact."""
    return ((5 * t + 3 * arm * arm + t // 7) % (9 - arm % 3)) / 8


class Game:
    """A player in a world whose losses depend only on round and arm, and whose announcements only on the block."""

    def __init__(self, case: Case, seed: int = 7) -> None:
        self.case = case
        self.player = case.policy.player(seed=seed)
        self.t = self.n = 0
        self.arms: list[Any] = []

    def ask(self) -> Any:
        """Ask as the world would, announcing at the start of a block."""
        if self.player.hold:
            return self.player.ask()
        self.n += 1
        return self.player.ask(**self.case.announced(self.n))

    def losses(self, rounds: int) -> list[Any]:
        """Losses of the arm being played in the next `rounds` rounds, or of all arms, in the player's units."""
        asked = self.player.ask()
        arm = self.case.policy.arms.index(asked) if self.case.policy.arms else asked
        low, high = self.case.policy.units
        scale = (high - low) * self.case.highest_loss(self.n)
        if self.case.policy.full_information:
            arms = range(self.case.policy.n_arms)
            return [[low + scale * loss_of(self.t + i, k) for k in arms] for i in range(rounds)]
        return [low + scale * loss_of(self.t + i, arm) for i in range(rounds)]

    def step(self, rounds: int = 1) -> None:
        """Ask, and tell up to `rounds` rounds of the block at once."""
        arm = self.ask()
        rounds = min(rounds, self.player.hold)
        if self.case.policy.full_information:
            self.player.tell(*self.losses(rounds))
        else:
            self.player.tell(sum(self.losses(rounds)), rounds=rounds)
        self.t += rounds
        self.arms += [arm] * rounds

    def play(self, rounds: int) -> "Game":
        """Go on until `rounds` rounds have been played."""
        while self.t < rounds:
            self.step(rounds - self.t)
        return self

    def save_and_load(self) -> None:
        """Go on with a player made from the saved text alone (and the policy, where it has functions)."""
        functions = callable(getattr(self.case.policy, "block_lengths", None))
        self.player = Player.load(self.player.save(), policy=self.case.policy if functions else None)
