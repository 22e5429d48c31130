"""The paper's figures as frozen values, and two of our own.

Every setting is in the paper's Section 7 and Appendix E; where they leave something open, `docs/errata.md` says how
it is read (points 23 to 28). Policies that are blind to the switching cost play the same games wherever only that
cost differs: the numbers of a policy hang on the seed, its name and the replication alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.environments import Bernoulli, ConstrainedBernoulli, Environment, Reversal
from holdfast.errors import InvalidParameter, nearest
from holdfast.experiments.games import CHECKPOINTS, Experiment, Match, Matches, Row
from holdfast.experiments.settings import Settings
from holdfast.policies import BaSE, BlockExp3, Exp3, Policy, TsallisInf, TsallisSwitch, VaryingTsallisSwitch
from holdfast.simulation import Power

EASY_GAP, EASY_COST = 0.2, 0.025
HARD_GAP, HARD_COST = 0.05, 1.0
TIES_GAP, TIES_COST = 0.2, 1.0
ADVERSARIAL_COST = 1.0
ALPHAS = (0.25, 0.5, 1.0)
ARMS = (2, 4, 8, 16, 32)

POLICIES = ("tsallis-switch", "tsallis-inf", "exp3", "exp3-blocks", "base-arithmetic", "base-geometric")
"""The six policies of the paper's comparisons."""

SHUFFLED = "shuffled"
"""The key of the row whose best arm has a random index."""


def six_policies(n_arms: int, switching_cost: float, horizon: int) -> dict[str, Policy]:
    """The policies the paper compares, by their ids."""
    policies: tuple[Policy, ...] = (
        TsallisSwitch(n_arms, switching_cost),
        TsallisInf(n_arms),
        Exp3(n_arms),
        BlockExp3(n_arms, switching_cost, horizon),
        BaSE(n_arms, horizon, "arithmetic"),
        BaSE(n_arms, horizon, "geometric"),
    )
    return dict(zip(POLICIES, policies, strict=True))


def _compared(kind: str, gap: float, cost: float, *, shuffled: bool = False) -> Matches:
    """All six policies in one match against losses of this kind."""

    def matches(settings: Settings) -> tuple[Match, ...]:
        K, T = settings.n_arms, settings.horizon
        return (Match(six_policies(K, cost, T), _losses(kind, K, T, gap, shuffled=shuffled), cost, T),)

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
    settings: Settings,
    checkpoints: tuple[int, ...] | int = CHECKPOINTS,
    numbers: Sequence[int] = (),
) -> tuple[Match, ...]:
    """Tsallis-Switch with 1, 2, … K − 1 best arms, or these `numbers`; the series are called by their number."""
    K = settings.n_arms
    return tuple(
        Match(
            {str(best): TsallisSwitch(K, TIES_COST)},
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
    def matches(settings: Settings) -> tuple[Match, ...]:
        K, T = settings.n_arms, settings.horizon
        return tuple(
            Match({f"{alpha:g}": VaryingTsallisSwitch(K)}, _losses(kind, K, T, EASY_GAP), Power(alpha), T)
            for alpha in ALPHAS
        )

    return matches


def _arms(policy: str) -> Matches:
    def matches(settings: Settings) -> tuple[Match, ...]:
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


_EXPERIMENTS = (
    Experiment(
        name="stochastic-easy",
        title="Stochastic losses, large gap, cheap switches",
        place="Figure 2",
        see="With a gap of 0.2 every policy soon knows the best arm, so that even those that choose anew in each round "
        "change rarely, and a change costs next to nothing. Blocks only delay learning here: Tsallis-INF learns "
        "fastest of the policies that work against any losses, and Tsallis-Switch pays a little for its caution.\n\n"
        "BaSE, made for exactly these losses and told the horizon, competes with a few dozen switches.",
        facts={"gap Δ": "0.2", "switching cost λ": "0.025", "means": "0.3 for the best arm, 0.5 for the others"},
        rows=_main(_compared("stochastic", EASY_GAP, EASY_COST)),
    ),
    Experiment(
        name="stochastic-hard",
        title="Stochastic losses, small gap, dear switches",
        place="Figure 3",
        see="Read the panels from left to right: Tsallis-INF and EXP3 have the lower regret, the two block policies "
        "about a tenth of their switches, and at a whole loss a switch that decides the sum.\n\n"
        "The policies without blocks pay almost only for switching; those with blocks pay for both in about equal "
        "parts, as the length of their blocks means them to.",
        facts={"gap Δ": "0.05", "switching cost λ": "1", "means": "0.45 for the best arm, 0.5 for the others"},
        rows=_main(_compared("stochastic", HARD_GAP, HARD_COST)),
    ),
    Experiment(
        name="stochastic-free",
        title="Stochastic losses, small gap, free switches",
        place="Figure 4",
        see="Without a switching cost Tsallis-Switch plays blocks of one round: Tsallis-INF with a learning rate √2 "
        "times as high. The two stay together below the others; first and last panel are the same.\n\n"
        "The higher rate gives the wider band: a few runs find the best arm late.",
        facts={"gap Δ": "0.05", "switching cost λ": "0", "means": "0.45 for the best arm, 0.5 for the others"},
        rows=_main(_compared("stochastic", HARD_GAP, 0.0)),
    ),
    Experiment(
        name="constrained-easy",
        title="Losses that rise and fall together, large gap, cheap switches",
        place="Figure 5, Appendix E",
        see="All means jump between the bottom and the top of the range, and only the gap stays. An arm looks bad "
        "if BaSE happens to try it in a bad phase; once it has dropped the best arm, its regret grows by Δ a round to "
        "the end. The importance-weighted policies hardly notice the phases.\n\n"
        "In the first row geometric BaSE is the best of all. In the second, where only the index of the best arm is "
        "drawn anew in each run, it loses that arm in most runs: its batches and the phases happened to be aligned.",
        facts={"gap Δ": "0.2", "switching cost λ": "0.025", "phases": "phase i starts at round ⌈1.6^i⌉"},
        rows=_twice(EASY_GAP, EASY_COST),
    ),
    Experiment(
        name="constrained-hard",
        title="Losses that rise and fall together, small gap, dear switches",
        place="Figure 6, Appendix E",
        see="With a whole loss a switch, blocks are worth a factor of four and more. A gap of 0.05 caps what a policy "
        "can lose by holding one wrong arm for ever: where BaSE has dropped the best arm it still ends below the block "
        "policies, and its straight line says that it would not for long.",
        facts={"gap Δ": "0.05", "switching cost λ": "1", "phases": "phase i starts at round ⌈1.6^i⌉"},
        rows=_twice(HARD_GAP, HARD_COST),
    ),
    Experiment(
        name="adversarial",
        title="An adversary that reverses the losses",
        place="Figure 7, Appendix E",
        see="One arm is perfect just long enough for BaSE to drop the others; then it is the only bad one. Both grids "
        "are bound to it and lose a whole round in every round.\n\n"
        "The others recover. They even end below zero, for the first arm's losses were theirs while the arm that is "
        "best in the end was still losing. Tsallis-Switch does so with few switches, though from then on all arms but "
        "one are equal and nothing tells them apart.",
        facts={
            "switching cost λ": "1",
            "reversal": "after ⌊√(KT ln(KT))⌋ rounds",
            "comparator": "the best arm up to each round",
        },
        rows=_main(_compared("reversal", 1.0, ADVERSARIAL_COST)),
    ),
    Experiment(
        name="ties-stochastic",
        title="Several best arms, stochastic losses",
        place="Figure 8, Appendix E",
        see="With more best arms there is less to lose and more to choose from: the regret falls, the switches rise. "
        "Their sum rises with the second and third best arm and falls again at this horizon, where regret still has "
        "the larger part; on the long horizons of the ledger the switches decide, and every tie costs more than none.",
        facts={"policy": "tsallis-switch", "gap Δ": "0.2", "switching cost λ": "1"},
        rows=_main(_tied("stochastic")),
        series_label="best arms",
    ),
    Experiment(
        name="ties-constrained",
        title="Several best arms, losses that rise and fall together",
        place="Figure 9, Appendix E",
        see="As with stochastic losses regret falls and switches rise, but here the regret is so much larger that up "
        "to this horizon their sum falls with each further best arm. The paper's clear increase comes later.",
        facts={"policy": "tsallis-switch", "gap Δ": "0.2", "switching cost λ": "1"},
        rows=_main(_tied("constrained")),
        series_label="best arms",
    ),
    Experiment(
        name="varying-cost",
        title="A switching cost that rises from block to block",
        place="ours, for Theorem 4 and Corollary 5 (Section 5.1)",
        see="Block n costs n^α if the arm changes. Theorem 4's blocks grow with the cost they are told, so that the "
        "faster it rises the fewer switches are made. At this horizon the curves still look straight; the ledger "
        "follows them a thousand times further, where they bend.",
        facts={"policy": "tsallis-switch-varying", "gap Δ": "0.2", "switching cost λ_n": "n^α"},
        rows=(
            Row("", "stochastic losses", _varying("stochastic")),
            Row("constrained", "losses that rise and fall together", _varying("constrained")),
        ),
        series_label="α",
    ),
    Experiment(
        name="arms",
        title="From 2 to 32 arms",
        place="ours, for the remark on K in Appendix E",
        see="The hard constrained setting with other numbers of arms. More arms cost every policy more, and the one "
        "without blocks most: the factor that Tsallis-Switch gains on it grows with K, its lead over block EXP3 "
        "shrinks.",
        facts={"gap Δ": "0.05", "switching cost λ": "1", "arms K": "2 to 32", "losses": "constrained, best arm first"},
        rows=(
            Row("", "tsallis-switch", _arms("tsallis-switch")),
            Row("tsallis-inf", "tsallis-inf", _arms("tsallis-inf")),
            Row("exp3-blocks", "exp3-blocks", _arms("exp3-blocks")),
        ),
        series_label="arms K",
    ),
)

FIGURES: Mapping[str, Experiment] = {experiment.name: experiment for experiment in _EXPERIMENTS}
"""Every figure by its name, in the paper's order."""


def chosen(names: object) -> tuple[Experiment, ...]:
    """The figures of these names, each once and in the paper's order; all of them for None or none."""
    if isinstance(names, str):
        names = [names]
    wanted = list(names) if names is not None else []  # type: ignore[call-overload]
    for name in wanted:
        if name not in FIGURES:
            rule = f"must be one of {', '.join(FIGURES)}{nearest(name, FIGURES)}"
            raise InvalidParameter("figure", rule, name)
    return tuple(experiment for experiment in _EXPERIMENTS if not wanted or experiment.name in wanted)
