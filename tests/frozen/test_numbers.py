"""Bounds, best plans, replays, the ledger of the paper, a study, and what the shell answers."""

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from any_tables import AnyTables
from commands import command_here
from frozen_policies import table

import holdfast as hf
from holdfast.lab.paper.claims import CLAIMS

TRACES = Path(__file__).parents[3] / "shared" / "traces"
PAIRS = [[0.0, 0.1, 0.4], [0.2, 0.0, 0.3], [0.4, 0.5, 0.0]]

Frozen = Callable[[str, Any], None]


def digest(values: Any) -> str:
    """A short name for exactly these numbers."""
    return hashlib.blake2b(np.asarray(values, dtype="<f8").tobytes(), digest_size=8).hexdigest()


def nine_digits(value: float) -> str:
    """An interval's end: NumPy's cosine, in Student's quantile, depends on the processor in its last bits."""
    return f"{value:.9g}"


def plain(value: Any) -> Any:
    """Numbers as hexadecimal text, tuples and records as lists."""
    if isinstance(value, float):
        return value.hex() if math.isfinite(value) else repr(value)
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


# ---- bounds and small numbers ----


def at_points(bounds: Any) -> dict[str, Callable[[int, float, int], Any]]:
    """Every function of `holdfast.bounds`, as one of K, λ and T."""
    b, gap = bounds, 0.05
    other = hf.Constants(longest_step_down=1.25, least_noise=0.1, switch_weight=0.5, longest_step_up=2.0)
    return {
        "adaptive": lambda K, c, T: [
            b.adaptive(n_arms=K, switching_cost=c, horizon=T),
            b.adaptive(n_arms=K, switching_cost=c, horizon=T, constants=other),
        ],
        "adaptive_certificate": lambda K, c, T: b.adaptive_certificate(
            n_arms=K, paid=3 * c, V=T / 7, V_most=T / 5, W=[c, 0.5], cut=1.0
        ),
        "adaptive_constrained": lambda K, c, T: [
            b.adaptive_constrained(n_arms=K, horizon=T, gaps=gap, switching_cost=c),
            b.adaptive_constrained(n_arms=K, horizon=T, gaps=gap, switching_cost=c, constants=other),
        ],
        "adaptive_varying": lambda K, c, T: b.adaptive_varying(n_arms=K, costs=lambda t: c * t**0.1, horizon=T),
        "applicable": lambda K, c, T: [
            [one.name, one.value, one.applies]
            for one in b.applicable(n_arms=K, switching_cost=c, horizon=T, gaps=gap)
            if not one.name.startswith("paused")  # not in 0.4.0
        ],
        "binding": lambda K, c, T: b.binding(b.applicable(n_arms=K, switching_cost=c, horizon=T)).name,
        "blocks": lambda K, c, T: b.blocks(n_arms=K, switching_cost=c, horizon=T),
        "corollary_3": lambda K, c, T: b.corollary_3(n_arms=K, horizon=T, loss_bound=1 + c),
        "corollary_3_constrained": lambda K, c, T: both(
            b.corollary_3_constrained, n_arms=K, horizon=T, gaps=gap, loss_bound=1 + c
        ),
        "corollary_5": lambda K, c, T: both(b.corollary_5, n_arms=K, alpha=0.25 + c, horizon=T, gaps=gap),
        "corollary_5_exponents": lambda K, c, T: exponents(b.corollary_5_exponents(alpha=0.25 + c)),
        "exp3": lambda K, c, T: b.exp3(n_arms=K, horizon=T),
        "lemma_8": lambda K, c, T: both(b.lemma_8, costs=lambda n: c * n, elsewhere=[0.5, 0.25, 1 / K]),
        "lower_bound": lambda K, c, T: b.lower_bound(n_arms=K, switching_cost=c, horizon=T),
        "mixture_excess": lambda K, c, T: [b.mixture_excess(K, c, T / 3), b.mixture_excess(K, c, T / 3, rounds=T)],
        "mixture_overhead": lambda K, c, T: b.mixture_overhead(K, c, T / 3),
        "theorem_1": lambda K, c, T: [
            *both(b.theorem_1, n_arms=K, switching_cost=c, horizon=T),
            b.theorem_1(n_arms=K, switching_cost=c, horizon=T, constants="tight"),
        ],
        "theorem_1_constrained": lambda K, c, T: b.theorem_1_constrained(
            n_arms=K, switching_cost=c, horizon=T, gaps=[gap * (1 + i) for i in range(K - 1)]
        ),
        "theorem_2": lambda K, c, T: b.theorem_2(n_arms=K, learning_rates=rates(), ranges=1 + c),
        "theorem_2_constrained": lambda K, c, T: both(
            b.theorem_2_constrained, n_arms=K, learning_rates=rates(), ranges=1 + c, gaps=gap
        ),
        "theorem_4": lambda K, c, T: [
            b.theorem_4(n_arms=K, costs=c, horizon=T),
            b.theorem_4(n_arms=K, costs=lambda n: n**0.5 * c, horizon=T),
        ],
        "theorem_4_constrained": lambda K, c, T: both(b.theorem_4_constrained, n_arms=K, costs=c, horizon=T, gaps=gap),
        "tsallis_inf": lambda K, c, T: [
            b.tsallis_inf(n_arms=K, horizon=T),
            b.tsallis_inf(n_arms=K, horizon=T, estimator="reduced-variance"),
        ],
        "tsallis_inf_constrained": lambda K, c, T: [
            b.tsallis_inf_constrained(n_arms=K, horizon=T, gaps=gap, corruption=c, estimator=estimator)
            for estimator in ("importance-weighted", "reduced-variance")
        ],
        "work_function_cost": lambda K, c, T: b.work_function_cost(K, c + 0.125, T / 3),
    }


def both(bound: Callable[..., float], **given: Any) -> list[float]:
    """With corrected constants and with the paper's."""
    return [bound(**given, constants=constants) for constants in ("corrected", "printed")]


def rates() -> list[float]:
    return [2 / (t + 1) ** 0.5 for t in range(200)]


def exponents(found: Any) -> list[float]:
    return [found.blocks.arms, found.blocks.horizon, found.last_block.arms, found.last_block.horizon, found.horizon]


@pytest.mark.parametrize("name", at_points(hf.bounds))
def test_bounds(name: str, frozen: Frozen) -> None:
    points = [(2, 0.0, 1000), (3, 0.3, 4000), (8, 1.0, 100_000), (8, 20.0, 3000)]
    frozen("bounds", {name: [plain(at_points(hf.bounds)[name](*point)) for point in points]})


def test_every_bound_is_frozen() -> None:
    values = {"Bound", "Exponents"}
    later = {"paused", "paused_constrained", "safe_cost", "safe_cost_with_ties", "smallest"}  # than 0.4.0
    later |= {"guarded", "lemma_6", "lemma_7", "lemma_9"}
    assert at_points(hf.bounds).keys() == set(hf.bounds.__all__) - values - later


@pytest.mark.plain
def test_streams_weights_and_scales(frozen: Frozen) -> None:
    stream = hf.Stream(7, "frozen", replication=3)
    scale = hf.Scale(latency=(0.2, 8.0, 3.0), price=(0.0, 0.02), error=1.0)
    found = {
        "uniforms": [stream.uniform() for _ in range(4)],
        "weights": hf.tsallis_weights([0.0, 3.0, 1.5, 40.0], 0.25).tolist(),
        "scale": [scale.loss(latency=1.3, price=0.004), scale.loss(latency=90.0, price=1.0), scale.loss(error=True)],
    }
    frozen("small", {name: plain(values) for name, values in found.items()})


def test_logged_play(frozen: Frozen) -> None:
    player, log = hf.TsallisSwitch(3, switching_cost=0.3).player(seed=5), []
    for losses in table(1500):
        arm, chance = player.ask(), player.probability
        player.tell(float(losses[arm]))
        log.append((arm, losses[arm], chance))
    data = hf.LoggedData(*zip(*log, strict=True), n_arms=3)
    found = {}
    for name, made in {
        "mixture": data.of_mixture([0.2, 0.3, 0.5]),
        "arm": data.of_arm(int(np.bincount(data.arms).argmax())),
        "hold": data.of_random_hold(),
    }.items():
        cost = made.cost(0.3)
        found[name] = plain([made.effective_blocks, cost.losses, cost.low, cost.high, made.doubly_robust.losses])
    frozen("logged", found)


# ---- plans and replays ----


@pytest.mark.plain
def test_best_plans(frozen: Frozen) -> None:
    losses, found = table(300), {}
    for name, cost, most in (
        ("free", 0.0, None),
        ("cheap", 0.05, None),
        ("dear", 1.0, None),
        ("one change", 0.05, 2),
        ("few", 0.05, 7),
        ("pairs", PAIRS, None),
    ):
        plan = hf.best_plan(losses, cost, most)
        starts, arms = plan.runs()
        found[name] = [plan.cost.hex(), plan.losses.hex(), plan.switches, digest([starts, arms])]
    frozen("plans", found)


def rows_of(made: hf.Replay) -> dict[str, Any]:
    """By λ, stretch and policy: cost with its interval, losses and switches; and the plans."""
    columns = ("cost", "cost_low", "cost_high", "losses", "switches", "excess_over_best_plan")
    found: dict[str, Any] = {}
    for row in made.frame.to_dicts():
        key = f"{row['switching_cost']:g} {row['stretch']} {row['policy']}"
        shown = {name: nine_digits if name in ("cost_low", "cost_high") else float.hex for name in columns}
        found[key] = " ".join(show(float(row[name])) for name, show in shown.items() if row.get(name) is not None)
    for cost, plan in made.plans.items():
        found[f"{cost:g} plan"] = f"{plan.cost.hex()} {plan.switches} {digest(plan.arms)}"
    found["best"] = [made.standing(cost).best_arm for cost in made.switching_costs]
    found["frontier"] = digest(made.least_losses)
    return found


@pytest.mark.plain
@pytest.mark.slow
def test_replay(tmp_path: Path, frozen: Frozen) -> None:
    lines = ["time,east,north,west"]
    lines += [f"2026-01-{1 + t // 24:02} {t % 24:02}:00,{a},{b},{c}" for t, (a, b, c) in enumerate(table(240).tolist())]
    file = tmp_path / "losses.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = hf.replay(file, switching_cost=[0.05, 0.5], index="time", replications=4, seed=3, progress=False)
    frozen("replay", rows_of(made))
    out = tmp_path / "out"
    words = ("--switching-cost", "0.05,0.5", "--index", "time", "--replications", "4", "--seed", "3")
    assert command_here("replay", str(file), *words, "--out", str(out)).returncode == 0
    told = json.loads((out / "replay.json").read_text(encoding="utf-8"))
    assert told["rows"] == json.loads(made.json())["rows"]
    few = ["tsallis-switch", "follow-the-leader:cooldown=5", "hold-forever", "exp3"]
    pairs = hf.replay(table(240), few, switching_cost=PAIRS, replications=4, seed=3, progress=False)
    frozen("replay, pairs", rows_of(pairs))


@pytest.mark.plain
@pytest.mark.slow
def test_other_records(frozen: Frozen) -> None:
    """Rewards, own units, clipped losses, one loss per row, gaps, and a policy that sees its own loss alone."""
    losses = table(120)
    there = [(t, i) for t in range(120) for i in range(3) if (5 * t + i + 1) % 11]
    rows = [{"t": t, "arm": "xyz"[i], "loss": losses[t, i]} for t, i in there]
    gaps = pl.DataFrame({"t": range(120), **{"xyz"[i]: losses[:, i] for i in range(3)}}).with_columns(
        x=pl.when(pl.col("t") % 9 == 8).then(None).otherwise("x")
    )
    options: dict[str, Any] = {"replications": 3, "seed": 5, "progress": False, "switching_cost": 0.3}
    few = ["tsallis-switch", "ucb1"]
    for name, made in {
        "rewards": hf.replay(losses, few, rewards=True, sees="own", **options),
        "units": hf.replay(losses * 300 - 100, few, units=(-100, 200), **{**options, "switching_cost": 50.0}),
        "rescaled": hf.replay(losses * 300 - 100, few, rescale=True, **{**options, "switching_cost": 50.0}),
        "clipped": hf.replay(losses, few, clip=(0.2, 0.7), **options),
        "long": hf.replay(pl.DataFrame(rows), few, long=["t", "arm", "loss"], fill="last", **options),
        "gaps": hf.replay(gaps, few, index="t", fill="last", **options),
    }.items():
        frozen(f"record, {name}", {key: value for key, value in rows_of(made).items() if "quarter" not in key})


@pytest.mark.slow
@pytest.mark.skipif(not TRACES.exists(), reason="the traces lie beside the repository, and are not there")
@pytest.mark.parametrize("name", ["llm_mmlupro", "forecasts/carbon_us_forecast"])
def test_replays_of_traces(name: str, frozen: Frozen) -> None:
    ahead = TRACES / f"{name}.forecasts.parquet"
    made = hf.replay(
        TRACES / f"{name}.parquet",
        switching_cost=[0.05, 2.0],
        forecasts=ahead if ahead.exists() else None,
        replications=3,
        seed=1,
        progress=False,
    )
    frozen(name, {key: value for key, value in rows_of(made).items() if "half" not in key})


# ---- the paper, and a study ----


def test_what_claims_ask(frozen: Frozen) -> None:
    """Of made-up tables, each series of another size: what each question is about, and its estimate."""
    found = {}
    for claim in CLAIMS:
        asked = [question.answer(0.99) for question in claim.questions(AnyTables())]
        estimates = [nine_digits(part.estimate) for part in asked if part.estimate is not None]
        found[claim.id] = " ".join(estimates)
    frozen("claims", found)


@pytest.mark.slow
def test_ledger(tmp_path: Path, frozen: Frozen) -> None:
    words = ("--replications", "2", "--horizon", "2000", "--arms", "3", "--seed", "11")
    run = command_here("reproduce", "--out", str(tmp_path), *words)
    assert run.returncode == 0, run.stderr
    ledger = json.loads((tmp_path / "ledger.json").read_text(encoding="utf-8"))
    frozen("verdicts", {one["id"]: one["verdict"] for one in ledger["verdicts"]})
    ends = ("estimate", "low", "high")
    frozen(
        "measured",
        {
            one["id"]: " ".join(
                nine_digits(part[name]) for part in one["parts"] for name in ends if part[name] is not None
            )
            for one in ledger["verdicts"]
        },
    )
    tables = {}
    for name in ("stochastic-easy", "constrained-hard.shuffled", "adversarial", "varying-cost"):
        frame = hf.Result.read(tmp_path / f"{name}.parquet").frame
        last = frame.filter((frame["round"] == frame["round"].max()) & (frame["replication"] == 0))
        tables[name] = dict(zip(last["policy"], map(float.hex, last["regret_with_switching"]), strict=True))
    frozen("tables", tables)


@pytest.mark.slow
def test_study(tmp_path: Path, frozen: Frozen) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        """
horizon = 400
replications = 3
seed = 4
switching_cost = 1.0
checkpoints = [100]
[environment]
kind = "bernoulli"
n_arms = 3
gap = 0.1
[[policies]]
policy = "tsallis-switch"
[[policies]]
policy = "exp3"
[grid]
switching_cost = [0.1, 2]
environment.gap = [0.05, 0.3]
""",
        encoding="utf-8",
    )
    run = command_here("study", "run", str(file), "--out", str(tmp_path / "out"))
    assert run.returncode == 0, run.stderr
    frames = [hf.Result.read(table).frame for table in sorted((tmp_path / "out").rglob("*.parquet"))]
    found = sorted(value for frame in frames for value in frame["regret_with_switching"].to_list())
    frozen("study", digest(found))


# ---- the shell ----

REFUSED = {
    ("replya",): "'replya'",
    ("bounds", "--arm", "8"): "--arm ",
    ("bounds", "--arms", "8"): "--switching-cost",
    ("bounds", "--arms", "eight", "--switching-cost", "1", "--horizon", "1e5"): "--arms",
    ("bounds", "--arms", "8", "--switching-cost", "-1", "--horizon", "1e5"): "--switching-cost",
    ("replay", "none.csv", "--switching-cost", "1"): "none.csv",
    ("replay", "good.csv", "--switching-cost", "1", "--policies", "exp4"): "did you mean 'exp3'",
    ("replay", "good.csv"): "--switching-cost",
    ("study", "run", "none.toml", "--out", "out"): "none.toml",
    ("study", "run", "good.csv", "--out", "out"): "good.csv is not TOML",
    ("reproduce", "stochastic-esy", "--out", "out"): "did you mean 'stochastic-easy'",
    ("reproduce", "--replications", "0", "--out", "out"): "--replications",
    ("reproduce", "--backend", "thread", "--out", "out"): "did you mean 'threads'",
    ("benchmark", "run", "--policy", "exp4"): "did you mean 'exp3'",
    ("warm", "--policies", "exp4"): "did you mean 'exp3'",
    ("token", "list", "none.tokens"): "holdfast token make",
}
"""Commands that exit with 2, and what their message names, however it is worded."""


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_refused_commands(words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text("a,b\n" + "0.5,0.25\n" * 20, encoding="utf-8")
    run = command_here(*words)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert run.stderr.startswith("holdfast: ")
    assert REFUSED[words] in run.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["good.csv"]


def test_bounds_in_the_shell() -> None:
    run = command_here("bounds", "--arms", "8", "--switching-cost", "1", "--horizon", "1e5", "--gaps", "0.05")
    assert run.returncode == 0
    assert f"{hf.bounds.theorem_1(n_arms=8, switching_cost=1.0, horizon=1e5):,.1f}" in run.stdout
