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
