"""`Result.plot`: figures, given axes, images and pages, with the same lines."""

import numpy as np
import polars as pl
import pytest

import holdfast as hf
from holdfast.report.plots import chart_of
from holdfast.results import MEASURES, Result


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
@pytest.mark.parametrize(("name", "begins"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")])
def test_images(result, tmp_path, name, begins):
    file = result.plot(tmp_path / name)
    assert file == tmp_path / name
    assert file.read_bytes().startswith(begins)


@pytest.mark.slow
def test_a_page_of_a_grid(grid, tmp_path, browser):
    grid.plot(tmp_path / "a.html", measures=["total_cost"], title="Two costs")
    browser.open(tmp_path / "a.html", width=390, dark=True)
    names = browser.panels("#rounds", "plot.chart.series.slice(1).map(line => line.label)")
    assert names == [["exp3", "tsallis-switch"]] * 2
    assert [heading.text for heading in browser.all("#rounds h3")] == ["switching_cost = 0.5", "switching_cost = 1"]
    assert browser.run("return document.documentElement.scrollWidth") <= 390


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
