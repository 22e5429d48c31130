"""The policies and worlds whose numbers are frozen in tests/frozen: the one place to adapt when a keyword changes."""

from collections.abc import Callable

import numpy as np

import holdfast as hf

ARMS = 3


def policies(cost: float, horizon: int) -> dict[str, hf.Policy]:
    """A policy of three arms for every id."""
    K = ARMS
    return {
        "adaptive": hf.AdaptiveTsallisSwitch(K, switching_cost=cost),
        "tracking": hf.TrackingSwitch(K, switching_cost=cost),
        "guarded": hf.Guarded(hf.Ucb1(K), switching_cost=cost),
        "hedge-switch": hf.AdaptiveHedgeSwitch(K, switching_cost=cost),
        "tsallis-switch": hf.TsallisSwitch(K, switching_cost=cost),
        "tsallis-switch-varying": hf.VaryingTsallisSwitch(K),
        "tsallis-inf": hf.TsallisInf(K),
        "exp3": hf.Exp3(K),
        "exp3-blocks": hf.BlockExp3(K, switching_cost=cost, horizon=horizon),
        "base-arithmetic": hf.BaSE(K, horizon=horizon, grid="arithmetic"),
        "base-geometric": hf.BaSE(K, horizon=horizon, grid="geometric"),
        "base-minimax": hf.BaSE(K, horizon=horizon, grid="minimax"),
        "ucb1": hf.Ucb1(K),
        "follow-the-leader": hf.FollowTheLeader(K),
        "thompson": hf.ThompsonSampling(K),
        "ucb2": hf.Ucb2(K),
        "ts2": hf.BatchedThompson(K),
        "batched-elimination": hf.BatchedElimination(K, horizon=horizon),
        "lazy-exp3": hf.LazyExp3(K, switching_cost=cost),
        "amir": hf.AmirTsallis(K, switching_cost=cost, horizon=horizon),
        "amir-anytime": hf.AnytimeAmirTsallis(K, switching_cost=cost),
        "paused-tsallis": hf.PausedTsallis(K, switching_cost=cost),
        "spb-blocks": hf.StabilityPenaltyBiasMatching(K, switching_cost=cost, horizon=horizon),
        "spm": hf.StabilityPenaltyMatching(K, switching_cost=cost),
        "ewma": hf.Ewma(K, switching_cost=cost),
        "fail-over": hf.FailOver(K),
        "threshold-cooldown": hf.ThresholdCooldown(K),
        "hold-forever": hf.HoldForever(K),
        "lazy-hedge": hf.LazyHedge(K, switching_cost=cost, horizon=horizon),
        "shrinking-dartboard": hf.ShrinkingDartboard(K, switching_cost=cost, horizon=horizon),
        "lazy-leader": hf.FollowLazyLeader(K, switching_cost=cost, horizon=horizon),
        "random-walk": hf.RandomWalkPerturbation(K),
        "work-function": hf.WorkFunctionAlone(K, switching_cost=cost),
        "fixed-share": hf.FixedShare(K, switching_cost=cost, horizon=horizon),
        "threshold": hf.Threshold(K, switching_cost=cost),
        "forecast-plan": hf.ForecastPlan(K, switching_cost=cost, period=6),
    }


def variants(horizon: int) -> dict[str, hf.Policy]:
    """The same with other options."""
    K, lengths = ARMS, [1 + n % 4 for n in range(horizon)]
    rates = [1.0 / (n + 2) ** 0.5 for n in range(horizon)]
    few = (hf.experts.FixedArm(0), hf.experts.FixedArm(2), hf.experts.WorkFunction(1.0), hf.experts.Smoothed(0.5, 8))
    return {
        "adaptive, high cost": hf.AdaptiveTsallisSwitch(K, switching_cost=10.0),
        "adaptive, announced": hf.AdaptiveTsallisSwitch(K, switching_cost="announced"),
        "adaptive, other constants": hf.AdaptiveTsallisSwitch(
            K,
            switching_cost=0.3,
            constants=hf.Constants(
                longest_step_down=1.5,
                longest_step_up=2.0,
                floor_budget=1.0,
                cap_budget=1.0,
                least_noise=0.1,
                memory=20.0,
                deviations=2.0,
                calm_length=2.0,
                calm=0.5,
                longest_length=0.25,
                spread_weight=0.1,
                least_spread=0.25,
                switch_weight=0.5,
                floor_share=10.0,
                matched_length=1.0,
            ),
        ),
        "tracking, alone": hf.TrackingSwitch(K, switching_cost=0.3, guarded=False),
        "tracking, announced": hf.TrackingSwitch(K, switching_cost="announced", guarded=False),
        "tracking, notice": hf.TrackingSwitch(K, switching_cost=0.3, notice=20, guarded=False),
        "tsallis-switch, reduced variance": hf.TsallisSwitch(K, switching_cost=0.3, estimator="reduced-variance"),
        "tsallis-switch, lists": hf.TsallisSwitch(K, block_lengths=lengths, learning_rates=rates),
        "tsallis-inf, reduced variance": hf.TsallisInf(K, estimator="reduced-variance"),
        "tsallis-inf, range": hf.TsallisInf(K, loss_bound=4.0),
        "base, random order": hf.BaSE(K, horizon=horizon, order="random", gamma=0.1),
        "base, round-robin": hf.BaSE(K, horizon=horizon, order="round-robin", gamma=0.1),
        "ucb1, hesitant": hf.Ucb1(K, cooldown=7, threshold=0.125),
        "follow-the-leader, hesitant": hf.FollowTheLeader(K, cooldown=5),
        "thompson, hesitant": hf.ThompsonSampling(K, cooldown=7, threshold=0.125),
        "ewma, with more looks": hf.Ewma(K, switching_cost=0.3, memory=8, pays_within=20, fading=300, looks=0.1),
        "fail-over, soon": hf.FailOver(K, fast=5, slow=50, margin=0.25, retry=30),
        "threshold-cooldown, low": hf.ThresholdCooldown(K, threshold=0.375, cooldown=5, memory=4),
        "ts2, alpha": hf.BatchedThompson(K, alpha=0.25),
        "forecast-plan, given": hf.ForecastPlan(K, switching_cost=0.3),
        "hedge-switch, few experts": hf.AdaptiveHedgeSwitch(K, switching_cost=0.3, experts=few, forecast_rounds=3),
        "hedge-switch, stale": hf.AdaptiveHedgeSwitch(K, switching_cost=0.3, experts=few, stale=3),
        "hedge-switch, pairs": hf.AdaptiveHedgeSwitch(
            K, switching_cost=[[0, 1, 2], [1, 0, 1.5], [2, 1.5, 0]], experts=few, forecast_rounds=0
        ),
        "hedge-switch, announced": hf.AdaptiveHedgeSwitch(K, switching_cost="announced", experts=few),
    }


def table(rounds: int, arms: int = ARMS) -> np.ndarray:
    """Losses with a daily swing, from a recurrence of whole numbers: the same on every machine."""
    word, rows = 12345, np.empty((rounds, arms))
    for t in range(rounds):
        for arm in range(arms):
            word = (word * 1103515245 + 12345) % 2**31
            swing = (t + 8 * arm) % 24
            rows[t, arm] = (word // 2**11 % 1024 + 64 * min(swing, 24 - swing)) / 2048
    return rows


def forecasts(rounds: int, every: int = 24) -> dict[int, np.ndarray]:
    """Return a forecast of the next `every` rounds each time that many have passed."""
    return {t: np.round(table(rounds)[t : t + every] * 8) / 8 for t in range(0, rounds, every)}


def available(rounds: int) -> np.ndarray:
    """One arm is not available in some rounds."""
    t, arm = np.mgrid[:rounds, :ARMS]
    return (t // 7 + arm) % 5 != 0


WORLDS: dict[str, Callable[[int], hf.Environment]] = {
    "bernoulli": lambda T: hf.Bernoulli([0.3, 0.5, 0.6]),
    "bernoulli, shuffled": lambda T: hf.Bernoulli.with_gap(ARMS, 0.1, shuffled=True),
    "constrained-bernoulli": lambda T: hf.ConstrainedBernoulli(ARMS, 0.1),
    "reversal": lambda T: hf.Reversal(ARMS, T),
    "loss-table": lambda T: hf.LossTable(table(T)),
    "piecewise-constant": lambda T: hf.PiecewiseConstant([0, T // 3], [[0.1, 0.5, 0.9], [0.9, 0.5, 0.25]]),
    "corrupted": lambda T: hf.Corrupted(ARMS, T, corrupted=T // 5, stretches=2),
    "drifting": lambda T: hf.Drifting(ARMS, T, steps=10),
    "seasonal": lambda T: hf.Seasonal(ARMS, T, period=48),
    "changing-best": lambda T: hf.ChangingBest(ARMS, T, changes=3),
    "unseen-turn": lambda T: hf.UnseenTurn(ARMS, T),
    "jumping-levels": lambda T: hf.JumpingLevels(ARMS, T, stretch=50),
    "multi-scale-walk": lambda T: hf.MultiScaleWalk(ARMS, T, 3),
    "random-changes": lambda T: hf.RandomChanges(ARMS, every=60),
    "varying-ranges": lambda T: hf.VaryingRanges([0.3, 0.5, 0.6], [1.0, 0.25, 0.5]),
    "tiring-arms": lambda T: hf.TiringArms(ARMS, time=20),
    "forecast-table": lambda T: hf.ForecastTable(hf.LossTable(table(T)), forecasts=forecasts(T)),
    "forecast-table, closed arms": lambda T: hf.ForecastTable(
        hf.LossTable(table(T)), forecasts=forecasts(T), available=available(T)
    ),
}
"""Every kind of environment but the searched worlds, which are phases like `PiecewiseConstant`, and of those that draw
their path anew one: the paths of the others are frozen by themselves.
"""
