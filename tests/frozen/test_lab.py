"""The lab on made tables: plans as data, verdicts, what reports say and draw, results, and the benchmark's ranks."""

from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
import pytest
from matplotlib.collections import PathCollection
from shown import answer, answers, lines_of_page, shown, table

import holdfast as hf
from holdfast.lab import benchmark, judge
from holdfast.lab.paper import claims, plan, report
from holdfast.lab.study import read_study
from holdfast.report.charts import Line, LineChart, Panel, Ribbon, one_panel, result_chart
from holdfast.report.drawing import SIZES, draw_chart, draw_ribbon, styled
from holdfast.results import Result

SMALL = plan.PaperSettings(replications=3, horizon=2000, n_arms=3)
FIGURES = tuple(plan.FIGURES.values())


def made(cell, variant, scale=1.0):
    """Curves of any size and growth, each series of its own."""
    rounds, runs, parts = np.array(cell.checkpoints), min(cell.replications, 8), []
    for name in cell.policies:
        word = crc32(f"{cell.name} {name} {variant}".encode())
        size, growth = 1.0 + word % 97 / 20, (0.4, 0.5, 2 / 3, 1.0)[word // 97 % 4]
        spread = np.linspace(0.97, 1.03, runs)[:, None] if variant else np.ones((runs, 1))
        regret = size * scale * spread * rounds**growth
        switches = np.floor(size * (1 + np.arange(runs)[:, None] % 3 * (word % 5)) * rounds ** (word % 3 / 3))
        keys = {"policy": [name] * regret.size, "replication": np.repeat(np.arange(runs), len(rounds))}
        measures = {"pseudo_regret": regret.ravel(), "switches": switches.ravel().astype(int)}
        total = (regret + switches).ravel()
        frame = pl.DataFrame({**keys, "round": np.tile(rounds, runs), **measures, "regret_with_switching": total})
        parts.append(frame)
    return Result(pl.concat(parts), {"replications": runs, "first replication": 0, "versions": {}})


def findings(variant, settings=SMALL):
    cells = {row.table: row.cells(settings) for row in plan.rows_of(FIGURES)}
    tables = {name: made(some[0], variant) for name, some in cells.items() if len(some) == 1}
    for name in cells.keys() - tables.keys():
        frame = pl.concat([made(cell, variant).frame for cell in cells[name]])
        frame = frame.unique(["policy", "replication", "round"], maintain_order=True)
        tables[name] = Result(frame, {"replications": frame["replication"].n_unique(), "versions": {}})
    return claims.Findings(dict(sorted(tables.items())), settings, FIGURES)


@pytest.mark.parametrize(
    "settings", [plan.PAPER, plan.PaperSettings(4, 5000, 4, 7, switching_cost=2.5)], ids=["paper", "own"]
)
def test_plans(settings, net, request):
    lines: list[str] = []
    for row in plan.rows_of(FIGURES):
        lines.append(f"== {shown([row.table, row.label, list(row.files(settings)), row.has_papers_cost(settings)])}")
        for cell in row.cells(settings):
            ends = [len(cell.checkpoints), *cell.checkpoints[:2], *cell.checkpoints[-2:]]
            lines.append(f"{cell.name} {cell.horizon} {ends} {cell.replications} {cell.seed} {shown(cell.settings())}")
            for one in plan.guarantees(cell):
                values = [f"{one.value(horizon=T):.10g}" for T in (10, 3000)]
                lines.append(f"  {one.series} {one.bound} {one.statement} {one.measure} {one.each} {values}")
    lines += [
        f"{figure.name} {report.title_of(figure, settings)} {report.facts_of(figure, settings)}" for figure in FIGURES
    ]
    net(f"plan, {request.node.callspec.id}", [line[: 600 if settings is plan.PAPER else 200] for line in lines])


@pytest.mark.parametrize("variant", range(2))
def test_verdicts_and_reports(variant, net):
    found = findings(variant)
    lines = [shown(verdict.plain()) for verdict in found.verdicts]
    lines += report.conclusions(found) + report.changes(found) + [shown(report.overview(found))]
    lines += [f"{figure.name}: {report.figure_notes(figure.name, found)}" for figure in FIGURES]
    lines += [*report.summary(len(FIGURES), found.verdicts, 90), *report.ledger(found.verdicts, 70)]
    if variant == 1:
        few = claims.Findings(found, SMALL, [plan.FIGURES[name] for name in ("stochastic-hard", "arms")])
        lines += [line[:400] for line in lines_of_page(report.report_of(few)) if not line.startswith("Linux")]
    net(f"made tables {variant}", [line.replace(hf.__version__, "VERSION")[:900] for line in lines])


def test_questions(net):
    rng = np.random.default_rng(5)
    near, far, one = 1.0 + 0.1 * rng.random(12), 3.0 + rng.random(12), np.array([1.0])
    bound = (np.array([[1.0, 2.0], [1.2, 1.8], [0.9, 2.1]]), np.array([1.5, 2.05]))
    asked: dict[str, Any] = {
        "less": judge.Less("x", near, far),
        "not less": judge.Less("x", far, near),
        "by 3": judge.Less("x", near, far, 0.3),
        "than a number": judge.Less("x", near, 1.05),
        "one run": judge.Less("x", one, one),
        "alike": judge.Less("x", near, near),
        "near": judge.Near("x", near, far, 2.0),
        "within 5": judge.Near("x", near, far, 5.0),
        "within 3.4": judge.Near("x", near, far, 3.4),
        "between": judge.Between("x", near, 1.0, 1.2),
        "above": judge.Between("x", near, 1.06),
        "below": judge.Between("x", near, high=0.9),
        "nan": judge.Between("x", np.array([1.0, np.nan]), 0.0),
        "under": judge.Under("x", (bound,)),
        "each": judge.Under("x", (bound,), each=True),
        "exactly": judge.Under("x", ((bound[0], bound[0].max(axis=0)),), each=True),
    }
    for kind in (judge.Never, judge.Often, judge.Sometimes):
        asked |= {
            f"{kind.__name__} {n} of {N}": kind("x", n, N)
            for n, N in ((0, 1), (1, 1), (0, 30), (1, 30), (9, 30), (30, 30))
        }
    calls: dict[str, Any] = {
        f"{name}, {level}": lambda q=q, level=level: q.answer(level)
        for name, q in asked.items()
        for level in (0.9, 0.995)
    }
    net("questions", answers(calls))


def test_results(net):
    runs = [made(cell, 1) for cell in plan.FIGURES["stochastic-hard"].rows[0].cells(SMALL)]
    result = Result(runs[0].frame, {"seed": 4})
    one = result.policies[1]
    first, other = result.policies[0], result.policies[-1]
    lines = [repr(result), *table(result.summary().tail(4)), *table(result.final()), str(result.final())]
    options: Any
    for options in (
        {},
        {"format": "latex", "best": True},
        {"wide": True, "spread": "sd", "best": True},
        {"measures": ["switches"]},
    ):
        lines += answer(lambda options=options: result.table(**options)).split("\n")
    for measure in ("pseudo_regret", "switches", "regret_with_switching", "total_cost"):
        lines += answers(
            {
                measure: lambda m=measure: result.compare(first, other, measure=m),
                "words": lambda m=measure: str(result.compare(first, other, measure=m, confidence=0.8)),
                "early": lambda m=measure: result.compare(first, other, measure=m, round=int(result.frame["round"][3])),
                "all": lambda m=measure: result.compare_all(one, measure=m, confidence=0.99).table(),
            }
        )
    lines += table(result.compare_all(one))
    few = result.frame.filter(result.frame["round"].is_in(result.frame["round"].unique().sort()[::40].implode()))
    for options in (
        {},
        {"band": "se", "scale": "log"},
        {"band": "quantiles", "measures": ["switches"]},
        {"band": "none"},
    ):
        chart = answer(lambda options=options: result_chart({"": few}, **options))
        lines.append(f"{options} {chart}"[:2500])
    lines.append(answer(lambda: str(Result.concat([result, result]).policies)))
    net("results", lines)


def drawn(figure):
    """Titles, labels, limits and vertices of what is drawn."""
    for axes in figure.axes:
        names = [axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale(), axes.get_yscale()]
        yield f"axes {names} {shown([*axes.get_xlim(), *axes.get_ylim()])} {[t.get_text() for t in axes.texts]}"
        for line in axes.lines:
            yield f"line {line.get_color()} {line.get_linewidth():g} {line.get_linestyle()} {shown(line.get_xydata())}"
        for one in axes.collections:
            dots = isinstance(one, PathCollection)
            points = np.asarray(one.get_offsets()) if dots else [path.vertices for path in one.get_paths()]
            yield f"{'dots' if dots else 'area'} {one.get_alpha()} {shown(points)}"
        for patch in axes.patches[:12]:
            yield f"patch {shown(patch.get_extents().bounds)}"
    yield shown([figure.get_figwidth(), figure.get_figheight()])
    for legend in figure.legends:
        yield f"legend {[text.get_text() for text in legend.get_texts()]}"


def test_drawings(net):
    x = np.array([1.0, 10.0, 100.0, 1000.0])
    lines = (Line("a", x, x**0.5, x**0.5 - 0.2, x**0.5 + 0.3), Line("b", x, np.array([3.0, 2.0, np.nan, 0.0])))
    charts: dict[str, LineChart | Ribbon] = {
        "log": one_panel(Panel("cost", lines, "log"), x_scale="log"),
        "linear": one_panel(Panel("cost", (*lines, Line("c", x[:1], x[:1], joined=False)), title="few")),
        "ribbon": Ribbon(["a", "b", "c"], {"one": [0, 0, 1, 2, 2, 2], "two": [1] * 6}, ("begin", "end")),
        "grid": result_chart(
            {n: made(plan.FIGURES["arms"].rows[0].cells(SMALL)[0], 1, s).frame for n, s in (("x", 1.0), ("y", 0.1))}
        ),
    }
    found = []
    for name, chart in charts.items():
        for size in ("screen", *(["column", (3.5, 2.5)] if name != "grid" else [])):
            with styled(size):
                figure = (draw_ribbon if isinstance(chart, Ribbon) else draw_chart)(chart, f"The {name}", size)
                found += [f"== {name} {size}", *(line[:1200] for line in drawn(figure))]
    net("drawings", [*found, shown(dict(SIZES))])


def test_benchmark(net):
    lines: list[str] = []
    for track in benchmark.TRACKS.values():
        rivals = benchmark.frozen_rivals(track)
        for count in (8,):
            first = {name: {key: values[:count] for key, values in found.items()} for name, found in rivals.items()}
            mine = {key: [0.9 * v + 3.0 * i for i, v in enumerate(values)] for key, values in first["adaptive"].items()}
            result = benchmark.BenchmarkResult("mine", track, mine, first)
            lines += [*result.lines(), shown(result.plain())[:3000], str(result.ranks())]
            lines += [f"{name} {result.verdict(name)} {result.against(name)}" for name in rivals]
        lines += [shown(cell.settings()) for cell in track.plan("x", {"policy": "exp3"}, 4).cells[:2]]
    net("benchmark", lines)


GOOD = """
horizon = 50
replications = 3
switching_cost = 1.0
checkpoints = [20]
[environment]
kind = "bernoulli"
n_arms = 3
gap = 0.1
[[policies]]
policy = "tsallis-switch"
[[policies]]
policy = "exp3"
name = "other"
[grid]
switching_cost = [0.1, 2]
environment.gap = [0.05, 0.3]
"""
STUDIES = {
    "grid": ("", ""),
    "power": ("switching_cost = [0.1, 2]", "switching_cost = [{alpha = 0.5, scale = 2}, 1]"),
    "no policy": ("policies", "policy"),
    "no horizon": ("horizon = 50", "seed = 9"),
    "unknown": ("replications", "replicas"),
    "late": ("checkpoints = [20]", "checkpoints = [60]"),
    "no world": ("[environment]", "[world]"),
    "twice": ('name = "other"', 'name = "tsallis-switch"'),
    "gap": ("environment.gap", "environment.gop"),
    "none": ("switching_cost = [0.1, 2]", "switching_cost = []"),
}


def test_studies(net, tmp_path):
    lines: list[str] = []
    for name, (before, after) in STUDIES.items():
        file = tmp_path / "study.toml"
        file.write_text(GOOD.replace(before, after) if before else GOOD)
        try:
            study = read_study(file)
        except hf.HoldfastError as error:
            lines.append(f"{name}: {error}".replace(str(tmp_path), ""))
            continue
        lines += [
            f"{name}: {cell.name} {cell.checkpoints} {cell.replications} {cell.seed} {shown(cell.settings())}"
            for cell in study.cells
        ]
    net("studies", lines)
