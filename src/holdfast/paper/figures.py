"""The paper's figures as frozen values, and two of our own.

Every setting is in the paper's Section 7 and Appendix E; where they leave something open, `docs/errata.md` says how
it is read (points 23 to 28). Policies that are blind to the switching cost play the same games wherever only that
cost differs: the numbers of a policy depend on the seed, its name and the replication alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.checks import one_of
from holdfast.environments import Bernoulli, ConstrainedBernoulli, Environment, Reversal
from holdfast.paper.games import CHECKPOINTS, Figure, Match, Matches, Row
from holdfast.policies.elimination import BaSE
from holdfast.policies.exp3 import BlockExp3, Exp3
from holdfast.policies.policy import Policy
from holdfast.policies.registry import make_policy
from holdfast.policies.tsallis import TsallisInf, TsallisSwitch, VaryingTsallisSwitch
from holdfast.simulation import Power
from holdfast.verdicts.settings import RunSettings

EASY_GAP, EASY_COST = 0.2, 0.025
HARD_GAP, HARD_COST = 0.05, 1.0
TIES_GAP, TIES_COST = 0.2, 1.0
ADVERSARIAL_COST = 1.0
ALPHAS = (0.25, 0.5, 1.0)
ARMS = (2, 4, 8, 16, 32)

SHUFFLED = "shuffled"
"""The key of the row whose best arm has a random index."""


def six_policies(n_arms: int, switching_cost: float, horizon: int) -> dict[str, Policy]:
    """The policies the paper compares, by their ids."""
    policies: tuple[Policy, ...] = (
        TsallisSwitch(n_arms, switching_cost=switching_cost),
        TsallisInf(n_arms),
        Exp3(n_arms),
        BlockExp3(n_arms, switching_cost=switching_cost, horizon=horizon),
        BaSE(n_arms, horizon=horizon, grid="arithmetic"),
        BaSE(n_arms, horizon=horizon, grid="geometric"),
    )
    return {policy.label: policy for policy in policies}


POLICIES = tuple(six_policies(n_arms=2, switching_cost=1.0, horizon=1000))
"""Their ids, in the paper's order."""


def _compared(kind: str, gap: float, cost: float, *, shuffled: bool = False) -> Matches:
    """All six policies, and those asked for beside them, in one match against losses of this kind."""

    def matches(settings: RunSettings) -> tuple[Match, ...]:
        K, T = settings.n_arms, settings.horizon
        further = {
            name: make_policy({"policy": name, "n_arms": K, "switching_cost": cost}) for name in settings.further
        }
        return (Match(six_policies(K, cost, T) | further, _losses(kind, K, T, gap, shuffled=shuffled), cost, T),)

    return matches


def _losses(kind: str, K: int, T: int, gap: float, *, best_arms: int = 1, shuffled: bool = False) -> Environment:
    if kind == "stochastic":
        return Bernoulli.with_gap(K, gap, best_arms=best_arms, shuffled=shuffled)
    if kind == "constrained":
        return ConstrainedBernoulli(K, gap, best_arms=best_arms, shuffled=shuffled)
    return Reversal(K, T)


def ties(
    kind: str,
    horizon: int,
    settings: RunSettings,
    checkpoints: tuple[int, ...] | int = CHECKPOINTS,
    numbers: Sequence[int] = (),
) -> tuple[Match, ...]:
    """Tsallis-Switch with 1, 2, … K − 1 best arms, or these `numbers`; the series are called by their number."""
    K = settings.n_arms
    return tuple(
        Match(
            {str(best): TsallisSwitch(K, switching_cost=TIES_COST)},
            _losses(kind, K, horizon, TIES_GAP, best_arms=best),
            TIES_COST,
            horizon,
            checkpoints,
        )
        for best in numbers or range(1, K)
    )


def _tied(kind: str) -> Matches:
    return lambda settings: ties(kind, settings.horizon, settings)


def _varying(kind: str) -> Matches:
    def matches(settings: RunSettings) -> tuple[Match, ...]:
        K, T = settings.n_arms, settings.horizon
        return tuple(
            Match({f"{alpha:g}": VaryingTsallisSwitch(K)}, _losses(kind, K, T, EASY_GAP), Power(alpha), T)
            for alpha in ALPHAS
        )

    return matches


def _arms(policy: str) -> Matches:
    def matches(settings: RunSettings) -> tuple[Match, ...]:
        T = settings.horizon
        return tuple(
            Match({str(K): six_policies(K, HARD_COST, T)[policy]}, ConstrainedBernoulli(K, HARD_GAP), HARD_COST, T)
            for K in ARMS
        )

    return matches


def _main(matches: Matches) -> tuple[Row, ...]:
    return (Row("", "", matches),)


def _twice(gap: float, cost: float) -> tuple[Row, ...]:
    """A constrained figure: as in the paper, and with the best arm anywhere."""
    return (
        Row("", "best arm first, as in the paper", _compared("constrained", gap, cost)),
        Row(SHUFFLED, "best arm's index at random", _compared("constrained", gap, cost, shuffled=True)),
    )


_FIGURES = (
    Figure(
        name="stochastic-easy",
        title="Stochastic losses, large gap, cheap switches",
        place="Figure 2",
        facts={"gap Δ": "0.2", "switching cost λ": "0.025", "means": "0.3 for the best arm, 0.5 for the others"},
        rows=_main(_compared("stochastic", EASY_GAP, EASY_COST)),
    ),
    Figure(
        name="stochastic-hard",
        title="Stochastic losses, small gap, costly switches",
        place="Figure 3",
        facts={"gap Δ": "0.05", "switching cost λ": "1", "means": "0.45 for the best arm, 0.5 for the others"},
        rows=_main(_compared("stochastic", HARD_GAP, HARD_COST)),
    ),
    Figure(
        name="stochastic-free",
        title="Stochastic losses, small gap, free switches",
        place="Figure 4",
        facts={"gap Δ": "0.05", "switching cost λ": "0", "means": "0.45 for the best arm, 0.5 for the others"},
        rows=_main(_compared("stochastic", HARD_GAP, 0.0)),
    ),
    Figure(
        name="constrained-easy",
        title="Losses that rise and fall together, large gap, cheap switches",
        place="Figure 5, Appendix E",
        facts={"gap Δ": "0.2", "switching cost λ": "0.025", "phases": "phase i starts at round ⌈1.6^i⌉"},
        rows=_twice(EASY_GAP, EASY_COST),
    ),
    Figure(
        name="constrained-hard",
        title="Losses that rise and fall together, small gap, costly switches",
        place="Figure 6, Appendix E",
        facts={"gap Δ": "0.05", "switching cost λ": "1", "phases": "phase i starts at round ⌈1.6^i⌉"},
        rows=_twice(HARD_GAP, HARD_COST),
    ),
    Figure(
        name="adversarial",
        title="An adversary that reverses the losses",
        place="Figure 7, Appendix E",
        facts={
            "switching cost λ": "1",
            "reversal": "after ⌊√(KT ln(KT))⌋ rounds",
            "comparator": "the best arm up to each round",
        },
        rows=_main(_compared("reversal", 1.0, ADVERSARIAL_COST)),
    ),
    Figure(
        name="ties-stochastic",
        title="Several best arms, stochastic losses",
        place="Figure 8, Appendix E",
        facts={"policy": "tsallis-switch", "gap Δ": "0.2", "switching cost λ": "1"},
        rows=_main(_tied("stochastic")),
        series_label="best arms",
    ),
    Figure(
        name="ties-constrained",
        title="Several best arms, losses that rise and fall together",
        place="Figure 9, Appendix E",
        facts={"policy": "tsallis-switch", "gap Δ": "0.2", "switching cost λ": "1"},
        rows=_main(_tied("constrained")),
        series_label="best arms",
    ),
    Figure(
        name="varying-cost",
        title="A switching cost that rises from block to block",
        place="ours, for Theorem 4 and Corollary 5 (Section 5.1)",
        facts={"policy": "tsallis-switch-varying", "gap Δ": "0.2", "switching cost λ_n": "n^α"},
        rows=(
            Row("", "stochastic losses", _varying("stochastic")),
            Row("constrained", "losses that rise and fall together", _varying("constrained")),
        ),
        series_label="α",
    ),
    Figure(
        name="arms",
        title="From 2 to 32 arms",
        place="ours, for the remark on K in Appendix E",
        facts={"gap Δ": "0.05", "switching cost λ": "1", "arms K": "2 to 32", "losses": "constrained, best arm first"},
        rows=(
            Row("", "tsallis-switch", _arms("tsallis-switch")),
            Row("tsallis-inf", "tsallis-inf", _arms("tsallis-inf")),
            Row("exp3-blocks", "exp3-blocks", _arms("exp3-blocks")),
        ),
        series_label="arms K",
    ),
)

FIGURES: Mapping[str, Figure] = {figure.name: figure for figure in _FIGURES}
"""Every figure by its name, in the paper's order."""


def chosen(names: object) -> tuple[Figure, ...]:
    """The figures of these names, each once and in the paper's order; all of them for None or none."""
    if isinstance(names, str):
        names = [names]
    wanted = list(names) if names is not None else []  # type: ignore[call-overload]  # any iterable of names
    for name in wanted:
        one_of("figure", name, FIGURES)
    return tuple(figure for figure in _FIGURES if not wanted or figure.name in wanted)
