"""Replays of small records: tables, plans, advice and pages; logged play; and how broken files are refused."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from frozen_policies import forecasts, table
from scripted_games import Clock, Script
from shown import answer, answers, lines_of_page, shown, table as rows

import holdfast as hf
from holdfast.data.csv import CsvFormat
from holdfast.data.records import read_records
from holdfast.decisions.stores import store_at
from holdfast.replays.logged import evaluate_log
from holdfast.replays.report import as_html, as_text

LOSSES = table(96)
HOURS = pl.DataFrame({"hour": [f"2026-05-{1 + t // 24:02} {t % 24:02}:00" for t in range(96)]}).with_columns(
    *(pl.Series(name, LOSSES[:, i]) for i, name in enumerate(["east", "<b>north & co</b>", "west"]))
)
GAPS = HOURS.with_columns(west=pl.when(pl.int_range(96) % 9 == 8).then(None).otherwise("west"))
LONG = HOURS.unpivot(index="hour", variable_name="arm", value_name="loss").filter(pl.int_range(288) % 11 != 4)
PAIRS = [[0.0, 0.1, 0.4], [0.2, 0.0, 0.3], [0.4, 0.5, 0.0]]
EXP3, STAY = "exp3", "hold-forever"
OWN_RULE = hf.Guarded(lambda told: len(told) // 5 % 3, n_arms=3, switching_cost=0.3)

REPLAYS = {
    "whole": (HOURS, [EXP3, STAY, "tsallis-switch"], {"index": "hour", "switching_cost": [0.0, 0.05, 2.0]}),
    "units": (LOSSES * 300 - 100, [EXP3, STAY], {"units": (-100, 250), "switching_cost": 50.0, "unit": "EUR"}),
    "rescaled rewards": (LOSSES * 8 - 3, [EXP3], {"rescale": True, "rewards": True, "switching_cost": 1.5}),
    "clipped": (HOURS, [EXP3], {"index": "hour", "clip": (0.2, 0.6), "switching_cost": [0.05]}),
    "gaps, last": (GAPS, [EXP3], {"index": "hour", "fill": "last", "switching_cost": 0.3, "sees": "own"}),
    "gaps, unavailable": (GAPS, ["hedge-switch"], {"index": "hour", "missing": "unavailable", "switching_cost": 0.3}),
    "long": (LONG, [STAY], {"long": ["hour", "arm", "loss"], "fill": "last", "switching_cost": 0.2}),
    "pairs": (
        LOSSES,
        [EXP3, STAY, OWN_RULE],
        {"switching_cost": PAIRS},
    ),
    "alike": (np.tile([[0.5, 0.5]], (40, 1)), [EXP3], {"switching_cost": 0.1}),
    "one dear round": (np.eye(3)[np.arange(30) % 3 * (np.arange(30) < 2)], [STAY], {"switching_cost": 0.5}),
}


@pytest.mark.parametrize("name", REPLAYS)
def test_replays(name, net):
    losses, policies, options = REPLAYS[name]
    made = hf.replay(losses, policies, replications=3, seed=3, progress=False, **options)
    lines = [*as_text(made).splitlines(), "== frame", *rows(made.frame), "== plans", *rows(made.plans_frame())]
    for cost in made.switching_costs:
        standing = made.standing(cost)
        lines += [f"{cost}: {shown(row)}" for row in standing.rows()]
        lines += answers(
            {"marks": lambda one=standing: one.marks, "ranking": lambda one=standing: one.ranking("own", "all")}
        )
        own = [label for label in made.policies if label in standing.played]
        lines += [
            f"{a} less {b}: {answer(lambda a=a, b=b, one=standing: one.difference(a, b, among=3))}"
            for a, b in pairwise(own)
        ]
    lines += [f"advice {one.decided} {one.text} {shown(one.numbers)}" for one in made.advice]
    lines += [f"do {shown(one)}" for one in made.recommendation_by_cost.values()] + [repr(made)]
    lines += [f"{key}: {shown(value)}" for key, value in json.loads(made.json()).items() if key != "rows"]
    if name in ("whole", "pairs", "gaps, unavailable"):
        lines += ["== page", *lines_of_page(as_html(made))]
    net(name, [line.replace(hf.__version__, "VERSION")[:900] for line in lines])


def test_forecasts(net):
    ahead = forecasts(48)
    issued = [(t, t + k, *row) for t, found in ahead.items() for k, row in enumerate(np.asarray(found)[:6].tolist())]
    frame = pl.DataFrame(issued, schema=["issued", "round", "a", "b", "c"], orient="row")
    losses = pl.DataFrame(LOSSES[:48], schema=["a", "b", "c"])
    made = hf.replay(losses, ["hedge-switch"], forecasts=frame, switching_cost=0.2, replications=2, progress=False)
    net("forecasts", [*as_text(made).splitlines(), *rows(made.frame)])


def test_logged_play(net, tmp_path):
    log = [(t % 7 % 3, t % 5 / 5, (0.5, 0.3, 0.2)[t % 7 % 3], t // 3 + 1) for t in range(120)]
    arms, losses, probabilities, _ = zip(*log, strict=True)
    blocks = np.cumsum([0, *(a != b for a, b in pairwise(arms))])
    for name, options in {
        "rounds": {"n_arms": 3},
        "blocks": {"blocks": blocks, "arm_names": ["x", "y", "z"], "confidence": 0.8},
    }.items():
        data = hf.LoggedData(arms, losses, probabilities, **options)
        found: dict[str, Any] = {
            "arm": lambda data=data: data.of_arm(1),
            "mixture": lambda data=data: data.of_mixture([0.2, 0.3, 0.5]),
            "hold": lambda data=data: data.of_random_hold(),
            "hold some": lambda data=data: data.of_random_hold([0.0, 0.5, 0.5]),
            "plan": lambda data=data: data.of_plan([t // 40 for t in range(120)]),
        }
        lines = list(answers(found))
        for estimator in ("inverse_propensity", "self_normalised", "doubly_robust"):
            costs = {n: lambda f=f, e=estimator: f().cost(0.7, e) for n, f in found.items()}
            lines += [f"{estimator} {line}" for line in answers(costs)]
        net(f"log, {name}", [*lines, f"{data.rounds} {data.n_arms} {data.switches}"])
    file = tmp_path / "log.csv"
    rest = "".join(f"{'xyz'[a]},{loss},{p}\n" for a, loss, p, _ in log)
    file.write_text("arm,loss,probability\n" + rest)
    script, lines = Script("holdback", store_at("memory:"), Clock(), rounds=250), []
    list(script.lines())
    script.clock.now += 1e6
    script.router.settle()
    columns = {name: name for name in ("arm", "loss", "probability", "block")}
    talks = Script("holdback, conversations", store_at("memory:"), Clock(), rounds=250)
    list(talks.lines())
    talks.clock.now += 1e6
    talks.router.settle()
    for name, source, missing in (
        ("talks", talks.router.history.log, None),
        ("file", file, None),
        ("game", script.router.history.log, None),
        ("game", script.router.history.log, 0.25),
    ):
        try:
            made = evaluate_log(
                source, {**columns, "block": "rounds"} if name == "file" else columns, [0.0, 0.3], missing
            )
        except hf.HoldfastError as error:
            lines.append(f"{name}: {error}")
            continue
        lines += [f"{name} {missing}", *map(shown, made.rows()), shown(made.plain())]
        lines += [shown(made.logged_cost(0.3)), *map(str, made.notes)]
    net("log, files", [line.replace(str(tmp_path), "").replace(hf.__version__, "VERSION") for line in lines])


BROKEN: dict[str, Any] = {
    "empty": "",
    "head alone": "a,b\n",
    "one column": "a\n0.5\n",
    "missing": "a,b\n0.5,0.25\n0.5,\n",
    "word": "a,b\n0.5,low\n",
    "n/a": "a,b\n0.5,n/a\n",
    "torn": "a,b\n0.5,0.25\n0.5\n",
    "too long": "a,b\n0.5,0.25,0.75\n",
    "no head": "0.5,0.25\n0.5,0.25\n",
    "twice": "a,a\n0.5,0.25\n",
    "unnamed": "a,\n0.5,0.25\n",
    "semicolons": "a;b\n0,5;0,25\n",
    "tabs": "a\tb\n0.5\t0.25\n",
    "times": "t,a,b\n2026-01-01,0.5,0.25\n2026-01-02,0.5,0.25\n",
    "infinite": "a,b\n0.5,inf\n",
    "nan": "a,b\n0.5,nan\n",
    "percent": "a,b\n50%,25%\n",
    "thousands": 'a,b\n"1,342.5",3\n',
    "quote": 'a,b\n"0.5,0.25\n',
    "comment": "# from the lab\na,b\n0.5,0.25\n",
    "blank line": "a,b\n0.5,0.25\n\n0.5,0.75\n",
    "spaces": "a , b\n 0.5 , 0.25\n",
    "latin": "a,b\n0.5,\xe9\n".encode("latin-1"),
    "nul": b"a,b\n0.5,\x00\n",
}


@pytest.mark.parametrize("options", [{}, {"index": "t"}, {"arms": ["b", "a"]}, {"long": ["t", "a", "b"]}], ids=str)
def test_broken_files(options, net, tmp_path):
    lines: list[str] = []
    for name, text in BROKEN.items():
        file = Path(tmp_path / "t.csv")
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        for form in ({}, {"separator": ";", "decimal": ","}, {"empty": ["n/a", "low"], "thousands": ","})[
            : 1 if options else 3
        ]:
            found = answer(lambda form=form, file=file: read_records(file, form=CsvFormat(**form), **options))
            lines.append(f"{name} {form or ''}: {found}".replace(str(tmp_path), ""))
    net(f"files, {options}", lines)


def test_other_sources(net):
    given = {
        "array": LOSSES[:3],
        "one round": LOSSES[:1],
        "one arm": LOSSES[:3, :1],
        "a list": [[0.5, 0.25], [1, 0]],
        "a row": [0.5, 0.25],
        "words": [["a", "b"]],
        "nan": np.array([[0.5, np.nan]]),
        "huge": np.array([[0.5, 1e300]]),
        "frame": HOURS.head(2),
        "null": GAPS[7:10],
        "no hour": HOURS[:3].with_columns(hour=pl.when(pl.int_range(3) != 1).then("hour")),
        "twice": pl.DataFrame({"hour": ["1", "1"], "a": [0.5, 0.5], "b": [0.0, 1.0]}),
        "nothing": None,
        "no file": "none.csv",
        "a folder": "/",
        "another kind": "losses.xls",
    }
    lines = [f"{name}: {answer(lambda one=one: read_records(one))}" for name, one in given.items()]
    lines += [
        f"{name}, by hour: {answer(lambda one=one: read_records(one, index='hour'))}" for name, one in given.items()
    ]
    net("sources", lines)
