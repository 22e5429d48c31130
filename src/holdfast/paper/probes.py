"""Runs that only the ledger needs: long horizons, another tuning, other batches."""

from __future__ import annotations

import math

from holdfast.environments import Bernoulli, ConstrainedBernoulli, Reversal
from holdfast.paper import figures
from holdfast.paper.games import Match, Probe
from holdfast.policies.elimination import BaSE
from holdfast.policies.tsallis import TsallisInf, TsallisSwitch, VaryingTsallisSwitch
from holdfast.simulation import Power
from holdfast.verdicts.settings import RunSettings

LONG_ALPHAS = (*figures.ALPHAS, 1.4, 2.0)
"""Also just below 3/2, where the paper says sublinear growth ends, and above."""

BATCHES = (-2, -1, 0, 1, 2)
"""Added to the default number of geometric batches."""

CASES = {
    "easy": (figures.EASY_GAP, figures.EASY_COST),
    "hard": (figures.HARD_GAP, figures.HARD_COST),
    "free": (figures.HARD_GAP, 0.0),
}
"""Gap and switching cost of the stochastic figures."""


def long_rounds(settings: RunSettings) -> tuple[int, ...]:
    """Ten rounds a decade, over the five decades up to the longest horizon."""
    top = settings.long_horizon
    return tuple(sorted({math.floor(top / 10 ** (i / 10) + 0.5) for i in range(51)} - {0}))


def horizons(settings: RunSettings) -> tuple[int, ...]:
    """A horizon a decade, from a tenth of the figures' to the longest."""
    top, least = settings.long_horizon, max(100, settings.horizon // 10)
    return tuple(top // 10**i for i in reversed(range(20)) if top // 10**i >= least)


def long_ties(settings: RunSettings) -> tuple[int, ...]:
    """Numbers of best arms in the long runs: one, the fewest ties, and the most."""
    return tuple(sorted({1, min(2, settings.n_arms - 1), settings.n_arms - 1}))


def _long_ties(kind: str) -> Probe:
    return Probe(
        f"long-ties-{kind}",
        f"ties-{kind}",
        lambda settings: figures.ties(
            kind, settings.long_horizon, settings, long_rounds(settings), long_ties(settings)
        ),
        long=True,
    )


def _long_adversarial(settings: RunSettings) -> tuple[Match, ...]:
    """A game for each horizon: the reversal comes later in a longer one."""
    K, cost = settings.n_arms, figures.ADVERSARIAL_COST
    return tuple(
        Match({"tsallis-switch": TsallisSwitch(K, switching_cost=cost)}, Reversal(K, T), cost, T, 1)
        for T in horizons(settings)
    )


def _long_base(settings: RunSettings) -> tuple[Match, ...]:
    K = settings.n_arms
    return tuple(
        Match(
            {"base-geometric": BaSE(K, horizon=T, grid="geometric")},
            Bernoulli.with_gap(K, figures.EASY_GAP),
            figures.EASY_COST,
            T,
            1,
        )
        for T in horizons(settings)
    )


def _long_varying(settings: RunSettings) -> tuple[Match, ...]:
    K, T = settings.n_arms, settings.long_horizon
    losses = ConstrainedBernoulli(K, figures.EASY_GAP)
    return tuple(
        Match({f"{alpha:g}": VaryingTsallisSwitch(K)}, losses, Power(alpha), T, long_rounds(settings))
        for alpha in LONG_ALPHAS
    )


def _constant_cost(settings: RunSettings) -> tuple[Match, ...]:
    """Both tunings of Algorithm 1 where the cost is constant."""
    K = settings.n_arms
    return tuple(
        Match(
            {
                f"{name}, Theorem 1": TsallisSwitch(K, switching_cost=cost),
                f"{name}, Theorem 4": VaryingTsallisSwitch(K),
            },
            Bernoulli.with_gap(K, gap),
            cost,
            settings.horizon,
        )
        for name, (gap, cost) in CASES.items()
    )


def _geometric_batches(settings: RunSettings) -> tuple[Match, ...]:
    """Geometric BaSE with a few batches more or less, the best arm first; and with its arms in random order."""
    K, T = settings.n_arms, settings.horizon
    usual = BaSE(K, horizon=T, grid="geometric").batches
    policies = {f"{usual + more}": BaSE(K, horizon=T, grid="geometric", batches=usual + more) for more in BATCHES}
    policies[f"{usual}, random order"] = BaSE(K, horizon=T, grid="geometric", order="random")
    return (Match(policies, ConstrainedBernoulli(K, figures.EASY_GAP), figures.EASY_COST, T),)


def _free_ties(settings: RunSettings) -> tuple[Match, ...]:
    """Tsallis-INF without switching costs and with several best arms, as Zimmert and Seldin ran it."""
    K = settings.n_arms
    return tuple(
        Match(
            {str(best): TsallisInf(K)},
            Bernoulli.with_gap(K, figures.TIES_GAP, best_arms=best),
            0.0,
            settings.horizon,
        )
        for best in range(1, K)
    )


PROBES = (
    Probe("long-base", "stochastic-easy", _long_base, long=True),
    Probe("geometric-batches", "constrained-easy", _geometric_batches),
    Probe("long-adversarial", "adversarial", _long_adversarial, long=True),
    _long_ties("stochastic"),
    _long_ties("constrained"),
    Probe("free-ties", "ties-stochastic", _free_ties),
    Probe("long-varying-cost", "varying-cost", _long_varying, long=True),
    Probe("constant-cost", "varying-cost", _constant_cost),
)
"""Each runs when its figure is asked for; its table goes to ``ledger/<name>.parquet``."""
