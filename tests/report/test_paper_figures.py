"""Figures fit for papers: fonts, sizes, bands, and the same scale on screen and on paper."""

import json
import re
import shutil
import zlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import command_here

from holdfast.errors import InvalidParameter, MissingExtra
from holdfast.report.charts import Line, Panel, one_panel, result_chart
from holdfast.report.drawing import LATEX, SIZES, draw_chart, rendered, styled
from holdfast.report.html import line_chart
from holdfast.results import SCHEMA, Result

FEW = {"exp3": [4.0, 8.0, 6.0, 1.0, 9.0], "ucb1": [1.0, 2.0, 3.0, 4.0, 7.0]}


@pytest.fixture
def result() -> Result:
    rows = [
        (policy, replication, at, value * at, int(at), 2.0 * value * at, 0.5, 0.5)
        for policy, values in FEW.items()
        for replication, value in enumerate(values)
        for at in (10, 100)
    ]
    return Result(pl.DataFrame(rows, schema=SCHEMA, orient="row"))


def _texts_of(pdf: bytes) -> str:
    found = [pdf.decode("latin-1")]
    for packed in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        try:
            found.append(zlib.decompress(packed).decode("latin-1"))
        except zlib.error:
            continue
    return "".join(found)


@pytest.mark.slow
def test_fonts_in_a_pdf_are_true_type(result: Result, tmp_path: Path) -> None:
    ours = result.plot(tmp_path / "ours.pdf").read_bytes()
    result.plot(measures="switches").savefig(tmp_path / "saved by the user.pdf")
    for pdf in (ours, (tmp_path / "saved by the user.pdf").read_bytes()):
        text = _texts_of(pdf)
        assert "/CIDFontType2" in text  # Type 42: TrueType
        assert "/Type3" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "width", "beside"),
    [("column", 3.25, 1), ("page", 6.75, 3), ((3.5, 5.0), 3.5, 1), ((4.6, 4), 4.6, 2), ([7.0, 2.5], 7.0, 3)],
)
def test_a_figure_is_as_wide_as_its_place(result: Result, tmp_path: Path, size: Any, width: float, beside: int) -> None:
    """Or has any width and height."""
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", result.plot(tmp_path / "a.pdf", size=size).read_bytes())
    assert box
    figure = result.plot(size=size)
    wanted = [width, figure.get_figheight()] if isinstance(size, str) else list(size)
    assert [float(side) / 72 for side in box.groups()] == pytest.approx(wanted, abs=0.01)
    assert figure.get_figwidth() == width
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == 3
    assert len({axes.get_subplotspec().colspan.start for axes in shown}) == beside
    sizes = {text.get_fontsize() for axes in shown for text in (axes.xaxis.label, axes.yaxis.label)}
    assert sizes == {SIZES[size if isinstance(size, str) else "column"].text}


@pytest.mark.parametrize("size", [3.25, (3.25,), (3.25, 0.1), (3.25, 1e9), ("3.25", 2), None])
def test_a_size_that_is_no_pair_of_inches_is_refused(result: Result, size: object) -> None:
    with pytest.raises(InvalidParameter, match=r"^size must be"):
        result.plot(size=size)  # type: ignore[arg-type]


@pytest.mark.slow
def test_more_panels_than_fit_side_by_side_go_below(result: Result) -> None:
    figure = result.plot(measures=["switches", "pseudo_regret", "total_loss", "total_cost"], size="page")
    seen = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_ylabel() for axes in seen] == ["switches", "pseudo-regret", "total loss", "total cost"]
    assert [axes.get_xlabel() for axes in seen] == ["", "round", "round", "round"]


def test_the_page_says_what_its_bands_are(result: Result, tmp_path: Path) -> None:
    page = result.plot(tmp_path / "plot.html", band="quantiles").read_text()
    assert "medians, with bands from the 10\u00a0% to the 90\u00a0% quantile" in page


@pytest.mark.parametrize("option", ["band", "size"])
def test_other_words_are_refused(result: Result, option: str) -> None:
    with pytest.raises(InvalidParameter, match=f"{option} must be one of"):
        result.plot(**{option: "wide"})


@pytest.mark.parametrize(
    ("ends", "log"), [((1.0, 1.0, 100.0), True), ((-1.0, 1.0, 100.0), False), ((90.0, 100.0), False)]
)
@pytest.mark.parametrize("scale", ["auto", "log", "linear"])
def test_screen_and_paper_have_the_same_scale(ends: tuple[float, ...], log: bool, scale: str) -> None:
    lines = tuple(Line(f"p{i}", [1, 2], [end / 2, end]) for i, end in enumerate(ends))
    chart = one_panel(Panel("cost", lines, scale=scale))  # type: ignore[arg-type]
    wanted = {"auto": log, "log": True, "linear": False}[scale]
    with styled():
        axes = draw_chart(chart).axes[0]
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', line_chart(chart, "x"))[1])  # type: ignore[index]
    assert data["rows"][0][0]["log"] is wanted
    assert (axes.get_yscale() != "linear") is wanted


def test_without_latex_it_says_what_is_missing(result: Result, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtra, match=r"needs LaTeX, which pip does not install: .*apt-get install"):
        result.plot(tmp_path / "figure.pgf")


@pytest.mark.slow
@pytest.mark.skipif(not any(map(shutil.which, LATEX)), reason="needs LaTeX")
def test_a_figure_for_latex_is_text_in_the_fonts_of_the_paper(result: Result) -> None:
    chart = result_chart({"": result.frame}, measures=["switches"])
    pgf = rendered(chart, ("pgf",), size="column")["pgf"].decode()
    assert r"\begin{pgfpicture}" in pgf
    assert "switches" in pgf
    assert r"\pgfqpoint{3.250000in}" in pgf
    assert "DejaVu" not in pgf


@pytest.mark.slow
def test_the_options_are_those_of_the_command(result: Result, tmp_path: Path) -> None:
    table, figure = result.write(tmp_path / "games.parquet"), tmp_path / "figure.pdf"
    options = ("--size", "column", "--band", "quantiles", "--measures", "switches")
    done = command_here("study", "plot", str(table), "--out", str(figure), *options)
    assert (done.stderr, done.returncode) == ("", 0)
    again = result.plot(tmp_path / "again.pdf", size="column", band="quantiles", measures=["switches"])
    assert figure.read_bytes() == again.read_bytes()
    assert "--band must be one of 'sd'" in command_here("study", "plot", str(table), "--band", "se").stderr
    assert command_here("study", "plot", str(table), "--out", str(figure), "--size", "3.5,2.5").returncode == 0
    assert b"/MediaBox [ 0 0 252 180 ]" in figure.read_bytes()
    assert "--size must be" in command_here("study", "plot", str(table), "--out", str(figure), "--size", "3,x").stderr
