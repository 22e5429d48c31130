"""Grids of arguments, corners among them: bounds, statistics, schedules, numbers as text, worlds, policies, players."""

import inspect
import itertools
import json
import math
import os
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from frozen_policies import policies, table
from shown import answer, answers, shown

import holdfast as hf
from holdfast import bounds, checks, text
from holdfast.decisions import holdout
from holdfast.decisions.settings import Budget, Ramp
from holdfast.environments import ENVIRONMENTS
from holdfast.numerics import hindsight, random, regret, schedules, simplex, statistics
from holdfast.policies.registry import make_policy
from holdfast.replays import advice
from holdfast.simulation.costs import Costs

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
OTHER = hf.Constants(longest_step_down=1.25, least_noise=0.1, switch_weight=0.5, longest_step_up=2.0, floor_share=0.5)
RATES, CHANCES = [1.0 / (t + 1) ** 0.5 for t in range(8)], np.array([[0.5, 0.3, 0.2]] * 4 + [[0.8, 0.1, 0.1]] * 4)
VALUES: dict[str, list[Any]] = {
    "n_arms": [3, 2, 8, 100, 1, 0],
    "switching_cost": [0.3, 0.0, 1e-3, 20.0, 1e6, -1.0],
    "horizon": [4000, 1, 2, 1e5, 1e18, 0],
    "gaps": [0.05, 1.0, 1e-6, [0.2, 0.1], 0.0],
    "constants": ["corrected", "printed", "tight", OTHER],
    "loss_bound": [1.0, 0.5, 4.0, 0.0],
    "alpha": [0.5, 1.0, 1.5, 0.01, 0.0],
    "costs": [0.3, lambda n: n**0.5, lambda n: 3.0, -1.0],
    "estimator": ["reduced-variance"],
    "corruption": [5.0, 1e4, -1.0],
    "budget": [1.0, 0.25, 4.0, 0.0],
    "fallback": ["tsallis-switch", "adaptive", "x"],
    "best_arms": [2, 1, 3, 0],
    "constrained": [False, True],
    "paid": [40.0, 0.0],
    "V": [300.0, 0.0],
    "V_most": [12.0, 300.0],
    "W": [0.4, [0.3, 2.0]],
    "cut": [1.0, 0.2],
    "n_experts": [4, 1, 300],
    "spread": [30.0, 0.0],
    "best_cost": [200.0, 0.0, 1e9],
    "rounds": [None, 100.0, 1e6],
    "plan_cost": [70.0, 0.0],
    "gap": [0.05, 1.0, 1e-6],
    "worst_case": [1e4, 1.0],
    "learning_rates": [RATES, RATES[:1]],
    "ranges": [[1.0] * 8, [0.5, 2.0] * 4],
    "probabilities": [CHANCES, CHANCES[:, :1]],
    "best": [0, 2],
    "learning_rate": [0.3, 2.0],
    "elsewhere": [[0.5] * 8, [0.0, 0.9] * 4],
}
"""Of each parameter of a bound: a middle value, then others."""


@pytest.mark.parametrize(
    "name", sorted(set(bounds.__all__) - {"Bound", "Exponents", "applicable", "binding", "smallest"})
)
def test_bounds(name, net):
    bound = getattr(bounds, name)
    parameters = inspect.signature(bound).parameters
    known = {one: VALUES[one] for one in parameters if one in VALUES}
    if "constants" in known:
        own = isinstance(parameters["constants"].default, hf.Constants)
        known["constants"] = [hf.Constants(), OTHER] if own else [*VALUES["constants"][:2], "tight"]
    middle = {one: values[0] for one, values in known.items()}
    tried = [(one, n, value) for one, values in known.items() for n, value in enumerate(values)]
    net(
        f"bounds, {name}",
        [f"{one} {n}: {answer(lambda o=one, v=v: bound(**{**middle, o: v}))}"[:200] for one, n, v in tried],
    )


def test_tables_of_bounds(net):
    lines: list[str] = []
    for K, c, T, gaps, ties in (
        (8, 1.0, 1e5, 0.05, 1),
        (8, 1.0, 1e5, None, 1),
        (4, 0.0, 1e6, [0.1, 0.2], 2),
        (4, 0.3, 1e9, 0.2, 3),
        (2, 30.0, 1e25, 0.5, 1),
        (2, 0.01, 3, 1.0, 1),
        (1, 1.0, 10, None, 1),
        (3, 1.0, 10, None, 3),
        (3, 1e4, 1000, 0.1, 1),
    ):
        given = {"n_arms": K, "switching_cost": c, "horizon": T, "gaps": gaps, "best_arms": ties}
        found = bounds.applicable(**given)
        lines += [f"== {shown(given)}", *map(shown, found)]
        lines += answers(
            {"binding": lambda f=found: bounds.binding(f).name, "smallest": lambda f=found: bounds.smallest(f).name}
        )
    net("tables of bounds", lines)


SAMPLES = {
    "two": [1.0, 2.0],
    "alike": [0.5] * 5,
    "ten": [x * x % 7 / 7 for x in range(10)],
    "far": [1e9 + x for x in range(400)],
    "signs": [-1.0, 0.5, 0.25, -0.125, 3.0],
}


def test_statistics(net):
    calls: dict[str, Any] = {}
    for name, sample in SAMPLES.items():  # of at least two, who calls sees to that
        calls[f"p {name}"] = lambda s=sample: statistics.p_value(s)
        for level in (0.5, 0.95, 0.999, 1.0, 95):
            calls[f"interval {name} {level}"] = lambda s=sample, c=level: statistics.interval(s, c)
        for share, level in itertools.product((0.0, 0.1, 0.5, 0.9, 1.0), (0.9, 0.99)):
            calls[f"quantile {name} {share} {level}"] = lambda s=sample, q=share, c=level: statistics.quantile(s, q, c)
    for q, d in itertools.product((0.5, 0.75, 0.975, 0.9999), (1, 2, 3, 30, 299, 300, 301, 10**6)):
        calls[f"student {q} {d}"] = lambda q=q, d=d: statistics.student_quantile(q, d)
    for p in ([0.01, 0.04, 0.03], [0.5, 0.9], [], [0.2], [0.02, 0.02, 0.02]):
        calls[f"holm {p}"] = lambda p=p: statistics.holm(p)
    for mean, low, high in (
        (1.0, 0.5, 1.5),
        (1.0, 0.0, 2.0),
        (-1.0, -2.0, 0.0),
        (-1.0, -2.0, -0.5),
        (3.0, 3.0, 3.0),
        (0.0, 0.0, 0.0),
    ):
        made = statistics.Estimate(mean, low, high)
        calls[f"estimate {made}"] = lambda e=made: [e.half, e.sign, e.decided, e.less(0.5), e.named("x")]
        shown_one = statistics.Comparison("a", "b", "cost", 9, mean, low, high, 0.95, 4, 0.01)
        calls[f"comparison {made}"] = lambda c=shown_one: [c.decided, str(c), c.numbers()]
    net("statistics", answers(calls))


def test_comparisons_of_games(net):
    """Savings and judgements on made units: decided, open, weighted, in other ranges, of few."""
    lines: list[str] = []
    for n, gap, share, level in (
        (2, 0.5, 0.5, 0.95),
        (40, 0.9, 0.5, 0.95),
        (400, 0.5, 0.3, 0.95),
        (400, 0.5, 0.3, 0.6),
        (3000, -0.2, 0.1, 0.99),
    ):
        held = (np.arange(n) * 7 % 10) < 10 * share
        costs = np.clip(0.3 + (np.arange(n) * 3 % 11) / 30 + gap * held / 2, 0.0, 1.0)
        sizes = 1.0 + np.arange(n) % 4
        for name, more in {"": {}, "weights": {"weights": sizes}, "bounds": {"bounds": (-1.0, 2.0)}}.items():
            found = answer(
                lambda c=costs, h=held, s=share, m=more, level=level: holdout.compare(
                    c, h, np.full(len(c), s), confidence=level, **m
                )
            )
            words = answer(
                lambda c=costs, h=held, s=share, m=more, level=level: holdout.compare(
                    c, h, np.full(len(c), s), confidence=level, **m
                ).words()
            )
            lines += [f"compare {n} {gap} {share} {level} {name}: {found}", f"  {words}"]
        whose = np.where(held, 0, np.where(np.arange(n) % 3 == 0, 1, 2)) - 0
        chances = np.column_stack([np.full(n, share), np.full(n, (1 - share) / 3)])
        to = np.column_stack([whose == 0, whose == 1])
        for name, more in {"": {}, "weights": {"weights": sizes}, "bounds": {"bounds": (-1.0, 2.0)}}.items():
            found = answer(lambda c=costs, t=to, p=chances, m=more, v=level: holdout.judge(c, t, p, confidence=v, **m))
            lines.append(f"judge {n} {name}: {found}")
    for low, high in ((-2.0, -0.1), (-0.1, 0.3), (0.0, 0.3), (0.1, 0.4), (-math.inf, math.inf)):
        made = holdout.Judgement("b", "a", 500, 40, 460, (low + high) / 2, low, high, 0.95)
        saved = holdout.Saving(50, 10, (low + high) / 2, low, high, 0.1, low, high, 0.95)
        lines += answers(
            {
                "words": lambda m=made: [m.verdict, str(m), m.to_json()],
                "saved": lambda s=saved: [s.words(), s.to_json()],
            }
        )
    net("comparisons", lines)


def test_numbers_as_text(net):
    words = (
        "0 1e-12 0.00034567 0.05 0.09996 0.5 0.99996 1 9.9999 10 99.96 100 123.456 999.96 1000 12345.678 99999.5 1e6"
    )
    sizes = [*map(float, words.split()), 1.5e15, 1e300]
    numbers = [*sizes, *(-x for x in sizes[2::4]), math.inf, math.nan]
    calls: dict[str, Any] = {
        name: lambda name=name: [answer(lambda x=x: getattr(text, name)(x)) for x in numbers]
        for name in ("five_digits", "three_digits", "short", "percent", "mean_count", "number", "level")
    }
    calls |= {f"short {d}": lambda d=d: [text.short(x, d, sign="+") for x in numbers] for d in (2, 6)}
    calls["errors"] = lambda: [
        text.with_error(x, e) for x in (None, 0.0, 0.5, 123.456, 1e6) for e in (None, 0.0, 0.01234, 5.5, 1e4)
    ]
    calls["intervals"] = lambda: [
        text.with_interval(x, e) for x in (None, 0.5, 123.4) for e in (None, (0.1, 0.7), (100.0, 2000.0))
    ]
    calls["decimals"] = lambda: [
        text.decimals(some) for some in ([], [0.5], [5, 1000], [5, 999.9], [10, 50], [100, 1e4], [9.99, math.inf, 0])
    ]
    calls["budgets"] = lambda: [
        Budget(n, x).words for n in (1, 9) for x in (1.0, 60.0, 90.0, 3600.0, 5400.0, 86400.0, 9e4)
    ]
    calls["ramps"] = lambda: [Ramp(0.01, 0.5, 60.0, 5.0).at(x) for x in (0.0, 5.0, 20.0, 64.999, 65.0, 90.0)]
    calls["counts"] = lambda: [text.counted(n, "switch", "switches") for n in (0, 1, 2, 12345)]
    calls["lists"] = lambda: [text.listed_words(list("abcd")[:n]) for n in range(4)]
    calls["table"] = lambda: text.table(["name", "cost"], [["a", "1.5"], ["a long name", "12,345.0"]], width=20)
    calls["size"] = lambda: [advice.size(x, b) for x in (0.0, 0.0334, 12.0, 1e-13) for b in (0.0, 1.0, 1000.0)]
    for given, most in ((3, None), (3.0, 3), (4, 3), (0, 3), (2.5, 3), (True, 3), ("3", 3), (None, None)):
        calls[f"whole {given!r} {most}"] = lambda g=given, m=most: checks.whole_number("x", g, least=1, most=m)
    for given in (0, 0.0, -0.1, 1.0, 1.1, math.inf, math.nan, "1", True, 10**400):
        for limits in ({"least": 0}, {"above": 0, "most": 1}, {"least": -1, "most": 1}, {}):
            calls[f"real {str(given)[:9]} {limits}"] = lambda g=given, m=limits: checks.real_number("x", g, **m)
    net("text", answers(calls))


def test_schedules_plans_and_scales(net):
    calls: dict[str, Any] = {}
    for K, c, T in itertools.product((2, 8, 1000), (0.0, 0.025, 1.0, 30.0), (1, 100, 1e5)):
        calls[f"blocks {K} {c} {T}"] = lambda K=K, c=c, T=T: [
            schedules.number_of_blocks(K, c, T),
            schedules.exp3_block(c, T, K),
            list(itertools.islice(schedules.theorem_1_runs(K, c, T), 4)),
        ]
    for n, arms, c in itertools.product((1.0, 2.0, 100.0, 1e9), (2.0, 50.0), (0.0, 0.5, 1e4)):
        a = schedules.theorem_1_length(n, arms, c)
        calls[f"block {n} {arms} {c}"] = lambda n=n, K=arms, c=c, a=a: [
            a,
            schedules.whole_rounds(a),
            schedules.theorem_1_rate(n, max(a, 1.0)),
            schedules.exp3_rate(n, K),
            schedules.corollary_3_rate(n, 1.0 + c),
            schedules.theorem_4_increment(n, K, c),
            schedules.theorem_4_length(K, c, 1.0 + n),
            schedules.theorem_4_rate(K, 1.0 + n),
            schedules.theorem_2_rate(n),
        ]
    losses = table(40)
    plans: Any = (
        (0.0, None),
        (0.05, None),
        (3.0, None),
        (0.05, 1),
        (0.05, 3),
        (0.0, 0),
        (-1.0, None),
        ([[0, 1, 2], [1, 0, 1], [2, 1, 0]], None),
        ([[0, 1], [1, 0]], None),
    )
    for cost, most in plans:
        calls[f"plan {cost} {most}"] = lambda c=cost, m=most: (
            lambda p: [p.losses, p.switches, p.cost, *map(list, p.runs())]
        )(hf.best_plan(losses, c, m))
    calls["one round"] = lambda: hf.best_plan(losses[:1], 0.5)
    calls["ties"] = lambda: hf.best_plan(np.full((6, 2), 0.5), 0.1).runs()
    found = hindsight.hindsight(losses, [0.05, 0.5], 6)
    calls["limited"] = lambda: [found.least_losses, [found.cost_within(n, 0.05) for n in (0, 1, 2, 6)]]
    calls["pieces"] = lambda: hindsight.plan_costs([losses[:15], losses[15:]], 0.2)
    calls["regret"] = lambda: hf.regret(losses, [t // 9 % 3 for t in range(40)], 0.3)
    calls["pseudo"] = lambda: regret.pseudo_regret([[0.5, 1.0]], [[[0.0, 0.2], [0.4, 0.3]]])
    scale = hf.Scale(latency=(0.2, 8.0, 3.0), price=(0.0, 0.02), error=0.9)
    for given in (
        {"latency": 1.3, "price": 0.004},
        {"latency": 90.0, "price": -1.0},
        {"latency": 1.0},
        {"error": True},
        {"x": 1},
        {"latency": math.nan, "price": 0},
        {"latency": 0.2, "price": 0.02},
    ):
        calls[f"scale {given}"] = lambda g=given: [
            scale.loss(**g),
            scale.clipped(**{k: v for k, v in g.items() if k != "error"}),
        ]
    for ranges in (
        {},
        {"a": (1, 1)},
        {"a": (2, 1)},
        {"a": (0, 1, 0)},
        {"a": 3},
        {"a": (0, 1), "error": 2.0},
        {"a": (0, 1, -1)},
        {"a": (-1, 1), "b": (0, 5, 1e-3)},
    ):
        calls[f"made {ranges}"] = lambda r=ranges: hf.Scale(**r).settings()
    prices: Any = (
        0.0,
        3,
        hf.Power(0.5),
        hf.Power(1.0, 3.0),
        [1.0, 2.0, 3.0],
        [1.0],
        [[0, 1], [2, 0]],
        [[1, 1], [1, 0]],
        "x",
        -1.0,
        lambda n: 2.0 * n,
        hf.Power(-1.0),
    )
    for given in prices:
        calls[f"cost {shown(given)[:20]}" if not callable(given) else "cost f"] = lambda g=given: (
            lambda c: [c.constant, c.table(6)[:6], c.described()]
        )(Costs.of(g))
    net("schedules", answers(calls))


@pytest.mark.plain
@pytest.mark.skipif(not PLAIN, reason="takes too long to compile")
def test_draws(net):
    calls: dict[str, Any] = {}
    for n, p in itertools.product((0.0, 1.0, 7.0, 60.0, 1000.0, 1e7), (0.0, 1e-4, 0.3, 0.5, 0.97, 1.0)):
        calls[f"binomial {n} {p}"] = lambda n=n, p=p: (lambda s: [random.binomial(n, p, s) for _ in range(5)])(
            hf.Stream(3, f"{n} {p}").state
        )
    for a in (0.2, 1.0, 5.5, 300.0):
        calls[f"gamma {a}"] = lambda a=a: (lambda s: [random.gamma(a, s), random.beta(a, 2.0, s), random.normal(s)])(
            hf.Stream(4, f"{a}").state
        )
    for C, eta in itertools.product(([0.0, 0.0], [0.0, 3.0, 1.5, 40.0], [1e6, 0.0, 1.0], [5.0]), (1e-6, 0.25, 3.0)):
        calls[f"weights {C} {eta}"] = lambda C=C, eta=eta: [
            hf.tsallis_weights(C, eta),
            simplex.cold_solution(np.array(C), eta),
        ]
    calls["exp"] = lambda: [simplex.exp_of_negative(x) for x in (0.0, -1e-9, -0.5, -3.0, -40.0, -700.0, -1e4)]
    net("draws", answers(calls))


WORLDS: dict[str, list[Any]] = {
    "bernoulli": [[(0.3, 0.5)], [(0.0, 1.0)], [(0.5,)], [(0.3, 1.1)], [()]],
    "constrained-bernoulli": [
        [3, 0.1],
        {"n_arms": 4, "gap": 0.2, "best_arms": 2, "growth": 2.0, "phases": "spacing"},
        [3, 0.0],
        {"n_arms": 3, "gap": 0.1, "growth": 1.0},
        {"n_arms": 2, "gap": 0.1, "best_arms": 3},
    ],
    "reversal": [[3, 100], [2, 7], [1, 9], [3, 0]],
    "piecewise-constant": [
        [(0, 5, 60), ((0.1, 0.5), (0.9, 0.5), (0.3, 0.4))],
        [(0, 5), ((0.1, 0.5),)],
        [(1, 5), ((0.1, 0.5), (0.1, 0.2))],
        [(0, 0), ((0.1, 0.5), (0.1, 0.2))],
    ],
    "corrupted": [
        {"n_arms": 3, "horizon": 100, "corrupted": 20, "stretches": 3},
        {"n_arms": 2, "horizon": 9, "corrupted": 9},
        {"n_arms": 2, "horizon": 9, "corrupted": 10},
    ],
    "drifting": [
        {"n_arms": 3, "horizon": 100, "steps": 7},
        {"n_arms": 2, "horizon": 5, "steps": 5, "gap": 1.0},
        {"n_arms": 2, "horizon": 5, "steps": 1},
    ],
    "seasonal": [
        {"n_arms": 3, "horizon": 100, "period": 30},
        {"n_arms": 2, "horizon": 90, "period": 24, "lag": 0.3, "swing": 0.1, "gap": 0.2},
        {"n_arms": 2, "horizon": 9, "swing": 0.6},
    ],
    "changing-best": [
        {"n_arms": 3, "horizon": 100, "changes": 3},
        {"n_arms": 2, "horizon": 9, "changes": 0},
        {"n_arms": 2, "horizon": 3, "changes": 5},
    ],
    "unseen-turn": [
        {"n_arms": 3, "horizon": 100},
        {"n_arms": 3, "horizon": 90, "gap": 0.3, "drop": 0.05},
        {"n_arms": 2, "horizon": 9, "drop": 0.6},
    ],
    "jumping-levels": [
        {"n_arms": 3, "horizon": 100, "stretch": 9, "seed": 3},
        {"n_arms": 2, "horizon": 9, "stretch": 0},
    ],
    "multi-scale-walk": [
        {"n_arms": 3, "horizon": 100, "seed": 3},
        {"n_arms": 2, "horizon": 64, "switching_cost": 0.2},
        {"n_arms": 2, "horizon": 1},
    ],
    "varying-ranges": [[(0.3, 0.5), (1.0, 0.25, 4.0)], [(0.3, 0.5), (0.0,)], [(0.3,), (1.0,)]],
    "loss-table": [
        [[[0.5, 0.25], [1.0, 0.0], [0.75, 0.5]]],
        {"source": [[5.0, 10.0], [7.0, 6.0]], "units": (5.0, 10.0)},
        [[[0.5, 2.0]]],
        {"source": [[0.5, 1.0]], "units": (0, 0.7)},
    ],
    "random-changes": [
        {"n_arms": 3},
        {"n_arms": 2, "every": 5.0, "alone": True, "low": 0.3},
        {"n_arms": 2, "low": 0.9},
        {"n_arms": 2, "every": 0},
    ],
    "ornstein-uhlenbeck": [
        {"n_arms": 3, "time": 20.0},
        {"n_arms": 2, "deviation": 0.4, "low": 0.0, "high": 1.0},
        {"n_arms": 2, "time": 0.0},
    ],
    "outages": [
        {"n_arms": 3, "every": 10.0, "length": 4.0},
        {"n_arms": 2, "every": 3.0, "length": 1.0, "down": 0.8},
        {"n_arms": 2, "length": 0.0},
    ],
    "seasons": [
        {"n_arms": 3, "period": 12},
        {"n_arms": 2, "period": 7, "swing": 0.4, "middle": 0.5},
        {"n_arms": 2, "middle": 0.9},
    ],
    "common-jumps": [{"n_arms": 3, "every": 6.0}, {"n_arms": 2, "every": 4.0, "gap": 0.5}, {"n_arms": 2, "gap": 1.5}],
    "markov-chain": [
        {"state_means": ((0.1, 0.5), (0.9, 0.2)), "transitions": ((0.9, 0.1), (0.3, 0.7))},
        {"state_means": (0.1, 0.9), "transitions": ((0.9, 0.1), (0.3, 0.7)), "n_arms": 3},
        {"state_means": (0.1, 0.9), "transitions": ((0.9, 0.2), (0.3, 0.7)), "n_arms": 3},
    ],
    "tiring-arms": [
        {"n_arms": 3, "time": 5.0},
        {"n_arms": 2, "low": 0.0, "high": 0.9},
        {"n_arms": 2, "low": 0.5, "high": 0.4},
    ],
}


def test_every_world_is_here():
    assert WORLDS.keys() == ENVIRONMENTS.keys()


@pytest.mark.plain
@pytest.mark.skipif(not PLAIN, reason="takes too long to compile")
def test_worlds(net):
    lines: list[str] = []
    for (name, kind), cases in ((one, WORLDS[one[0]]) for one in ENVIRONMENTS.items()):
        for given in cases:
            try:
                world = kind(**given) if isinstance(given, dict) else kind(*given)
            except hf.HoldfastError as error:
                lines.append(f"{name} {given}: {error}")
                continue
            T = min(world.rounds or 100, 100)
            calls: dict[str, Any] = {
                "settings": world.settings,
                "facts": lambda w=world: [w.n_arms, w.rounds, w.units, w.ranges, w.reference, w.closes_arms],
                "expected": lambda w=world, T=T: [
                    w.expected(s, t) for s, t in ((0, 1), (0, T), (T // 3, T // 2), (T - 1, T), (T // 2, T // 2))
                ],
                "excess": lambda w=world, T=T: [w.excess(t) for t in (0, 1, T // 2, T)],
                "too far": lambda w=world, T=T: w.expected(5, 3),
            }
            if name in ("bernoulli", "constrained-bernoulli", "loss-table", "varying-ranges"):  # few tables to fill
                calls["drawn"] = lambda w=world, T=T: [
                    w.draw(a, s, t, hf.Stream(1, "x"))
                    for a in (0, w.n_arms - 1)
                    for s, t in ((0, 1), (0, T), (T // 3, T))
                ]
            if isinstance(world, hf.ChangingEnvironment):
                calls["path"] = lambda w=world: np.round(w.path(40, seed=3)[::3], 12)
                calls["loss"] = lambda w=world: hf.simulate(
                    [hf.Exp3(w.n_arms)], w, horizon=60, switching_cost=0.2, seed=1, progress=False, record=["dynamic"]
                ).frame.row(-1)
            lines += [f"{name} {line}"[:1500] for line in answers(calls)]
    net("worlds", lines)


def test_policies(net):
    """Settings and labels of every policy, and what it says of values that cannot be."""
    lines, seen = [], set[Any]()
    for name, policy in policies(0.3, 300).items():
        plain = policy.settings()
        facts = [policy.announces, policy.knows_probabilities, policy.waits_for_losses, policy.full_information]
        lines.append(f"{name} {policy.label} {shown(plain)} {facts}")
        known = {one.name for one in fields(policy)}
        for one, wrong in itertools.product([*plain, "colour"], (-1, 0, 1.5, "x", [2, 1], None, 1e300)):
            if one in ("policy", "experts", "constants") or (one not in known and one != "colour"):
                continue
            said = answer(lambda p=plain, o=one, w=wrong: make_policy({**p, o: w}).settings().get(o))
            if (one, wrong if not isinstance(wrong, list) else "list", said) not in seen:
                seen.add((one, wrong if not isinstance(wrong, list) else "list", said))
                lines.append(f"{name} {one} {wrong}: {said}"[:260])
    net("policies", lines)


def test_players(net):
    """Calls out of turn and out of range, in units that do not begin at 0."""
    player: Any = hf.TsallisSwitch(arms=["a", "b", "c"], units=(10.0, 20.0), switching_cost=12.0).player(seed=3)
    calls: dict[str, Any] = {"tell first": lambda: player.tell(12.0), "arm": lambda: player.probability}
    for loss in (9.0, 10.0, 20.0, 20.5, math.nan, "x", True, None):
        calls[f"tell {loss}"] = lambda g=loss: [
            player.ask(),
            player.tell(g),
            player.rounds,
            player.switches,
            player.hold,
        ]
        calls[f"after {loss}"] = lambda: [player.ask(), player.hold, player.probability, player.probabilities]
    for given in ({"rounds": 0}, {"rounds": 99}, {"arm": "z"}, {"rounds": 1.5}):
        calls[f"tell {given}"] = lambda g=given: [player.ask(), player.tell(12.0, **g)]
    calls["reward"] = lambda: [player.ask(), player.tell(reward=12.5), player.tell(reward=40.0)]
    arms: Any
    for arms in ([], ["z"], ["a"], ["b", "c"], "abc"):
        calls[f"available {arms}"] = lambda g=arms: player.ask(available=g)
    calls |= {
        "cost": lambda: player.ask(switching_cost=3.0),
        "saved": lambda: sorted(json.loads(player.save()).items()),
    }
    calls["repr"] = lambda: [repr(player), player._repr_html_()]
    for saved in ("", "{}", "[1]", player.save()[:-9], player.save().replace('"rounds"', '"round"')):
        calls[f"load {len(saved)}"] = lambda s=saved: hf.Player.load(s)
    fleet: Any = hf.Fleet(hf.Exp3(3, units=(10.0, 20.0)), 3, seed=1)
    calls["fleet"] = lambda: [
        fleet.ask().arms,
        fleet.tell([12.0, 19.0, 15.0]),
        fleet.rounds,
        fleet.ask([2]).arms,
        fleet.probability,
    ]
    for losses in ([12.0], [12.0, 9.0, 11.0], [math.nan] * 3):
        calls[f"fleet {losses}"] = lambda g=losses: fleet.tell(g)
    for some in ([0, 0], [3], [-1], []):
        calls[f"fleet of {some}"] = lambda s=some: fleet.ask(s).arms
    net("players", (line[:1500] for line in answers(calls)))
