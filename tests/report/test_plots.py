"""`Result.plot`: figures, given axes, images and pages, with the same lines."""

import itertools

import numpy as np
import polars as pl
import pytest

import holdfast as hf
from holdfast.numerics.regret import MEASURES
from holdfast.report.plots import chart_of
from holdfast.results import Result


@pytest.fixture(scope="module")
def result():
    policies = [hf.Exp3(3), hf.TsallisSwitch(3, switching_cost=1.0)]
    return hf.simulate(policies, hf.Bernoulli([0.3, 0.5, 0.5]), horizon=400, switching_cost=1.0, replications=4)


@pytest.fixture(scope="module")
def grid(result):
    frames = [result.frame.select(pl.lit(lam).alias("switching_cost"), pl.all()) for lam in (0.5, 1.0)]
    return Result(pl.concat(frames))


@pytest.mark.parametrize("measure", MEASURES)
def test_lines_are_means_and_bands_one_standard_deviation(result, measure):
    (row,) = chart_of(result, [measure]).rows
    (panel,) = row.panels
    summary = result.summary()
    assert [line.series for line in panel.lines] == ["exp3", "tsallis-switch"]
    for line in panel.lines:
        wanted = summary.filter(pl.col("policy") == line.series)
        mean, sd = wanted[f"{measure}_mean"].to_numpy(), wanted[f"{measure}_sd"].to_numpy()
        np.testing.assert_allclose(line.y, mean)
        np.testing.assert_allclose(line.high - line.y, sd, atol=1e-9)
        assert line.x.tolist() == wanted["round"].to_list()


def test_figures_and_given_axes(result, grid):
    from matplotlib.figure import Figure

    figure = result.plot(measures=["switches", "total_cost"], scale="linear", title="Mine")
    assert isinstance(figure, Figure)
    assert [axes.get_ylabel() for axes in figure.axes] == ["switches", "total cost"]
    assert len(grid.plot().axes) == 6
    axes = Figure().subplots(1, 2)
    assert result.plot(axes=axes, measures=["switches", "total_cost"], scale="log") is axes
    assert [one.get_yscale() for one in axes] == ["log", "log"]
    assert [line.get_label() for line in axes[0].get_lines()] == ["exp3", "tsallis-switch"]
    one = Figure().subplots()
    assert result.plot(axes=one, measures="total_loss") is one
    assert one.get_xlabel() == "round"


@pytest.mark.slow
def test_a_page_of_a_grid(grid, tmp_path, browser):
    grid.plot(tmp_path / "a.html", measures=["total_cost"], title="Two costs")
    browser.open(tmp_path / "a.html", width=390, dark=True)
    names = browser.panels("#rounds", "plot.chart.series.slice(1).map(line => line.label)")
    assert names == [["exp3", "tsallis-switch"]] * 2
    assert [heading.text for heading in browser.all("#rounds h3")] == ["total cost"]
    titles = [caption.text.split(" (")[0] for caption in browser.all("#rounds figcaption")]
    assert titles == ["λ = 0.5", "λ = 1"]
    assert browser.run("return document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_a_page_has_round_numbers_on_logarithmic_axes(grid, tmp_path, browser):
    grid.plot(tmp_path / "a.html", measures=["switches", "total_cost"], scale="log", x_scale="log")
    browser.open(tmp_path / "a.html", width=1280)
    for along in (0, 1):
        for ticks in browser.panels("#rounds", f"plot.chart.axes[{along}]._splits"):
            assert len(ticks) >= 2
            assert all(f"{tick:.6e}"[0] in "125" and f"{tick:.6e}"[2:8] == "000000" for tick in ticks)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"path": "a.jpg"}, r"path must end in \.html, \.png, \.svg, \.pdf or \.pgf"),
        ({"measures": ["regret"]}, "measures must be one of"),
        ({"measures": []}, "measures must be some of"),
        ({"scale": "lin"}, "scale must be one of .* did you mean 'linear'"),
        ({"axes": [1, 2]}, "axes must be 3 pairs of axes"),
        ({"axes": [1], "path": "a.png"}, "path must be left out where axes are given"),
    ],
)
def test_mistakes(result, settings, message):
    with pytest.raises(hf.InvalidParameter, match=message):
        result.plot(**settings)


def test_nothing_to_draw_and_too_much(result):
    with pytest.raises(hf.InvalidParameter, match="result must have rows to draw"):
        Result(result.frame.clear()).plot()
    many = Result(pl.concat([result.frame.select(pl.lit(i).alias("seed"), pl.all()) for i in range(41)]))
    with pytest.raises(hf.InvalidParameter, match="must not have more than 40 combinations in its grid"):
        many.plot()


def test_both_axes_may_be_logarithmic_and_powers_are_straight_lines():
    rounds = [10, 100, 1000]
    frame = pl.concat(
        [
            hf.simulate(
                hf.HoldForever(2), hf.Bernoulli([0.2, 0.5]), horizon=1000, switching_cost=1, checkpoints=rounds
            ).frame.with_columns(pl.lit(name).alias("policy"), (pl.col("round") ** power * 1.0).alias("pseudo_regret"))
            for name, power in (("half", 0.5), ("two thirds", 2 / 3))
        ]
    )
    figure = hf.Result(frame).plot(
        measures="pseudo_regret", scale="log", x_scale="log", size="neurips", title="A long title " * 8
    )
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    for line, power in zip(axes.lines, (0.5, 2 / 3), strict=True):
        assert np.diff(np.log(line.get_ydata())) / np.diff(np.log(line.get_xdata())) == pytest.approx(power)
    assert figure.get_figwidth() == 5.5
    figure.canvas.draw()
    assert figure._suptitle.get_window_extent().width < figure.bbox.width
    assert axes.get_xticklabels()[-2].get_text() in ("10³", "10⁴", "1,000")
    with pytest.raises(hf.InvalidParameter, match="x_scale must be one of 'linear', 'log'; got 'auto'"):
        hf.Result(frame).plot(x_scale="auto")


def grid_of(result, *keys: tuple[str, list[float]]) -> Result:
    frames = [result.frame]
    for name, values in reversed(keys):
        frames = [frame.select(pl.lit(value).alias(name), pl.all()) for value in values for frame in frames]
    return Result(pl.concat(frames))


@pytest.mark.parametrize(
    ("keys", "size", "shape"),
    [
        ([("switching_cost", [0.1, 1.0, 10.0])], "screen", [3]),
        ([("switching_cost", [0.1, 1.0, 10.0, 100.0])], "screen", [2, 2]),
        ([("switching_cost", [0.1, 1.0, 10.0])], "column", [1, 1, 1]),
        ([("gap", [0.1, 0.2]), ("switching_cost", [0.1, 1.0, 10.0])], "page", [3, 3]),
        ([("gap", [0.1, 0.2]), ("switching_cost", [0.1, 1.0, 10.0, 20.0])], "screen", [4, 4]),
        ([("gap", [0.1, 0.2]), ("switching_cost", [0.1, 1.0, 10.0])], "neurips", [2, 2, 2]),
        ([("gap", [0.1]), ("switching_cost", [0.1, 1.0])], "screen", [2]),
    ],
)
def test_one_measure_in_a_grid_makes_small_multiples(result, keys, size, shape):
    figure = grid_of(result, *keys).plot(measures="switches", size=size)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    figure.canvas.draw()
    tops = [round(axes.get_position().y0, 3) for axes in shown]
    assert [tops.count(top) for top in sorted(set(tops), reverse=True)] == shape
    varying = [(name, values) for name, values in keys if len(values) > 1]
    words = {"switching_cost": "λ", "gap": "Δ"}
    combinations = itertools.product(*([f"{words[name]} = {value:g}" for value in values] for name, values in varying))
    assert [axes.get_title("left") for axes in shown] == [", ".join(each) for each in combinations]
    assert sum(bool(axes.get_ylabel()) for axes in shown) == len(shape)  # once in each row
    assert len({axes.get_yscale() for axes in shown}) == 1


def test_several_measures_of_a_grid_stay_rows(grid):
    figure = grid.plot(measures=["switches", "total_cost"])
    assert [axes.get_title("left") for axes in figure.axes] == ["λ = 0.5", "", "λ = 1", ""]


@pytest.mark.parametrize("size", ["screen", "column", "neurips", (2.0, 2.0)])
def test_titles_fit_and_can_be_replaced(result, size):
    figure = result.plot(
        measures="switches", size=size, title="A title of many words " * 6 + "Donaudampfschifffahrt" * 3
    )
    figure.canvas.draw()
    assert figure._suptitle.get_window_extent().width <= figure.bbox.width
    assert figure._suptitle.get_text().count("\n") >= 1
    figure.suptitle("Mine")
    figure.axes[0].set_title("λ = 1", loc="left")
    figure.canvas.draw()
    assert figure._suptitle.get_text() == "Mine"


def test_a_scale_chosen_later_has_readable_ticks_and_a_dollar_is_a_dollar(result):
    figure = result.plot(measures="switches", title="Costs $5 and $6")
    (axes,) = figure.axes
    axes.set_xscale("log")
    axes.set_yscale("log")
    data, _ = figure._repr_png_()
    assert data.startswith(b"\x89PNG")
    label = next(text for text in axes.get_xticklabels() if "10^{2}" in text.get_text())
    drawn = label.get_window_extent()
    assert drawn.width < 100  # 10² as set by matplotlib, not its source
    plain, mathematics = figure._suptitle._preprocess_math(figure._suptitle.get_text())
    assert (plain, mathematics) == ("Costs $5 and $6", False)
