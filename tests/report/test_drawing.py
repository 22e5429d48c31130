"""The drawn charts: written whole, the same bytes each time, any labels, any axes."""

import itertools
import struct

import numpy as np
import polars as pl
import pytest
from scipy import stats

from holdfast.report.charts import Line, Panel, Ribbon, in_order, looks, one_panel, result_chart
from holdfast.report.drawing import _power, draw_chart, draw_panel, draw_ribbon, rendered, styled, write_images
from holdfast.text import counted, decimals, number, three_digits

EASY = {"tsallis-switch": (np.sqrt, np.log1p), "exp3": (lambda t: 2 * np.sqrt(t), np.sqrt)}


@pytest.mark.slow
def test_three_files_of_their_kind(charts, tmp_path):
    paths = write_images(charts["two rows"], tmp_path / "new", "both", title="Both")
    assert [path.name for path in paths] == ["both.png", "both.svg", "both.pdf"]
    png, svg, pdf = (path.read_bytes() for path in paths)
    assert struct.unpack(">II", png[16:24])[0] == 1365
    assert len(png) < 300_000
    assert svg.startswith(b"<?xml")
    assert pdf.startswith(b"%PDF")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(path.name for path in paths)


@pytest.mark.slow
def test_one_replication_has_no_band(make_table):
    single, several = (result_chart({"": make_table(EASY, replications=n)}) for n in (1, 2))
    assert b"FillBetween" not in rendered(single, ("svg",))["svg"]
    assert b"FillBetween" in rendered(several, ("svg",))["svg"]


@pytest.mark.slow
@pytest.mark.parametrize("label", ["a$x$ <b>&", "_hidden", "", "100%"])
def test_any_label(label, make_table):
    table = make_table({label: EASY["exp3"], "other": EASY["exp3"]}, replications=2, points=20)
    assert len(rendered(result_chart({label: table}, series_label=label), title=label)) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "growth",
    [lambda t: 0 * t, lambda t: -0.3 * t, lambda t: 1e-3 * t / t],
    ids=["zero", "negative", "small"],
)
def test_any_values(growth, make_table):
    table = make_table({**EASY, "other": (growth, growth)}, replications=2, points=20)
    assert len(rendered(result_chart({"": table}))) == 3


@pytest.mark.slow
def test_points_times_and_one_panel():
    days = np.arange("2026-01-01", "2026-01-11", dtype="datetime64[D]")
    running = Line("plan", days, np.arange(10.0), np.arange(10.0) - 1, np.arange(10.0) + 1)
    point = Line("exp3", days[-1:], [4.0], joined=False)
    chart = one_panel(Panel("running cost", (running, point)), x_label="day")
    assert chart.dated
    assert len(rendered(chart)) == 3


def test_a_flattened_column_is_logarithmic_in_all_rows(charts):
    assert [charts["adversarial"].logarithmic(i) for i in range(3)] == [True, True, False]
    assert not charts["ties"].logarithmic(0)
    assert charts["two rows"].logarithmic(0)


@pytest.mark.parametrize(
    ("ends", "log"),
    [((9.9, 9.9, 99.0, 99.0), True), ((9.9, 9.8, 99.0, 99.0, 99.0), False), ((9.91, 9.91, 99.0, 99.0), False)],
)
def test_an_axis_is_logarithmic_where_half_of_the_lines_would_be_flat(ends, log):
    """Below a tenth of the highest."""
    lines = tuple(Line(str(i), [1, 2], [1.0, end * (0.999 if end < 9.905 else 1.0)]) for i, end in enumerate(ends))
    assert one_panel(Panel("cost", lines)).logarithmic(0) == log


def test_a_logarithmic_axis_begins_below_the_end_of_every_line():
    lines = tuple(Line(f"{end}", [1, 2], [0.0, end]) for end in (40.0, 3000.0, 90_000.0))
    with styled():
        (axes,) = draw_chart(one_panel(Panel("cost", lines))).axes
    assert axes.get_ylabel() == "cost\n(log scale above 10)"


@pytest.mark.parametrize("from_zero", [True, False])
def test_a_linear_axis_begins_at_zero_where_it_shall(from_zero):
    panel = Panel("cost", (Line("a", [1, 2], [40.0, 50.0]),), "linear", from_zero)
    with styled():
        (axes,) = draw_chart(one_panel(panel)).axes
    assert (axes.get_ylim()[0] == 0) == from_zero


def test_a_policy_looks_the_same_everywhere():
    alone, together = looks(["exp3"]), looks(["tsallis-switch", "mine", "exp3", "base-geometric"])
    assert alone["exp3"] == together["exp3"]
    for part in ("light", "dark", "dash", "marker"):
        assert len({getattr(look, part) for look in together.values()}) == len(together), part


def test_numbers_run_through_one_palette():
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    sequence = looks([str(n) for n in range(1, 8)])
    assert len({look.light for look in sequence.values()}) == 7
    for i, look in enumerate(sequence.values()):
        np.testing.assert_allclose(to_rgb(look.light), colormaps["viridis"](0.85 * i / 6)[:3], atol=0.02)
    assert in_order(["10", "9", "0.5"]) == ["0.5", "9", "10"]


def test_many_series_stay_apart():
    many = looks([f"series {i}" for i in range(40)])
    assert len({(look.light, look.dash) for look in many.values()}) == 40


@pytest.mark.parametrize("band", ["sd", "mean", "quantiles", "none"])
def test_a_band_is_what_its_legend_says(band):
    """At each round by its own number of replications: seven, four, one."""
    draw = np.random.default_rng(3)
    columns = ("policy", "replication", "round", "pseudo_regret")
    rows = [("a", n, t, draw.gamma(2.0)) for t, runs in ((5, 7), (9, 4), (12, 1)) for n in range(runs)]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    line = result_chart({"": frame}, measures=["pseudo_regret"], band=band).rows[0].panels[0].lines[0]
    for place, sample in enumerate(np.array([row[3] for row in rows if row[2] == t]) for t in (5, 9)):
        middle, half = sample.mean(), sample.std(ddof=1)
        expected = {
            "sd": (middle - half, middle, middle + half),
            "mean": (*stats.t.interval(0.95, len(sample) - 1, middle, stats.sem(sample)), middle),
            "quantiles": tuple(np.quantile(sample, [0.1, 0.5, 0.9])),
            "none": (middle,),
        }[band]
        drawn = [line.y] if line.low is None else [line.low, line.y, line.high]
        assert sorted(part[place] for part in drawn) == pytest.approx(sorted(expected), rel=1e-7)
    assert (line.low is None) == (band == "none")
    assert line.x.tolist() == [5, 9, 12]
    alone = result_chart({"": frame.filter(replication=0)}, measures=["pseudo_regret"], band=band)
    assert alone.lines[0].low is None


@pytest.mark.parametrize("steps", [1, 3, 7, 20, 100])
def test_a_ribbon_shows_the_arm_held_most_in_each_step(steps):
    held = np.random.default_rng(1).integers(0, 3, 20)
    starts, arms, count = Ribbon(["a", "b", "c"], {"x": held}).stretches("x", steps)
    assert count == min(steps, 20)
    shown = np.repeat(arms, np.diff(starts))
    pieces = np.array_split(held, count) if 20 % count == 0 else None
    if pieces is not None:
        assert shown.tolist() == [int(np.bincount(piece, minlength=3).argmax()) for piece in pieces]
    assert (starts[0], starts[-1], len(shown)) == (0, count, count)
    assert all(one != other for one, other in itertools.pairwise(arms))
    last = held[int((count - 1) * 20 / count) :]
    assert shown[-1] == np.bincount(last, minlength=3).argmax()


def test_a_ribbon_is_drawn_where_arms_were_held():
    with styled():
        (axes,) = draw_ribbon(Ribbon(["a", "b"], {"x": [0, 0, 0, 1, 1, 0, 0, 0]})).axes
    (bars,) = axes.collections
    drawn = [tuple(np.asarray(path.vertices)[[0, 2], 0]) for path in bars.get_paths()]
    assert drawn == [(0, 3 / 8), (3 / 8, 5 / 8), (5 / 8, 1)]
    assert {tuple(np.unique(np.asarray(path.vertices)[:, 1])) for path in bars.get_paths()} == {(-0.4, 0.4)}
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 1), (0.5, -0.5))


def test_thinning_keeps_ends(make_table):
    line = result_chart({"": make_table(EASY, points=4000)}).rows[0].panels[0].lines[0]
    thin = line.thin(even=120, log=80)
    assert thin.x.size <= 200 < line.x.size
    assert (thin.x[0], thin.x[-1]) == (line.x[0], line.x[-1])
    assert thin.y.size == thin.low.size == thin.high.size == thin.x.size


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [(12345.6, 0, "12,346"), (-1234.5, 1, "−1,234.5"), (-0.001, 2, "0.00"), (7, 0, "7")],
)
def test_numbers(value, places, text):
    assert number(value, places) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e5, "10⁵"), (1e3, "10³"), (100.0, "100"), (10.0, "10"), (0.01, "0.01"), (0.001, "10⁻³"), (0.0, "0")],
)
def test_powers_of_ten_along_an_axis(value, text):
    assert _power(value) == text


def test_digits():
    assert [three_digits(v) for v in (0.5, 4.0, 44.0, -4400.0)] == ["0.500", "4.00", "44.0", "−4,400"]
    assert [decimals(v) for v in ([500.0], [50.0], [5.0], [5.0, 5000.0], [])] == [0, 1, 2, 1, 0]
    assert counted(1, "policy", "policies") == "1 policy"
    assert counted(2, "policy", "policies") == "2 policies"


def test_bands_and_lines_are_drawn_where_the_table_says():
    from matplotlib.figure import Figure

    x = np.arange(1.0, 9.0)
    line = Line("exp3", x, x**2, x**2 - x / 2, x**2 + x / 4)
    axes = Figure().subplots()
    draw_panel(axes, Panel("cost", (line,)), looks(["exp3"]))
    (band,) = axes.collections
    vertices = band.get_paths()[0].vertices
    lower = {tuple(point) for point in np.column_stack([x, line.low]).tolist()}
    upper = {tuple(point) for point in np.column_stack([x, line.high]).tolist()}
    assert {tuple(point) for point in vertices.tolist()} == lower | upper
    (drawn,) = axes.lines
    assert drawn.get_xydata().tolist() == np.column_stack([x, line.y]).tolist()
