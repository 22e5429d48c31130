"""A page as text: everything in it, everything escaped, written whole, and nothing from outside."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from holdfast.report.charts import HeatMap, Line, Panel, Ribbon, one_panel, result_chart
from holdfast.report.html import (
    Bar,
    Column,
    Html,
    Section,
    bars,
    choice,
    chosen,
    code,
    element,
    folded,
    heading,
    heat_map,
    line_chart,
    listed,
    mark,
    page,
    pairs,
    paragraph,
    plain_powers,
    raised,
    ribbon,
    table,
)

ODD = "<script>alert(1)</script> & \"quotes\" 'too' $dollar"
EASY = {"tsallis-switch": (np.sqrt, np.log1p), "exp3": (lambda t: 2 * np.sqrt(t), np.sqrt)}


class Outline(HTMLParser):
    """Ids, links, tags, and whether every element closes."""

    VOID = frozenset({"meta", "link", "img", "br"})

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources, self.tags, self.open = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        self.sources += [given["src"]] if "src" in given else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        given = dict(attrs)
        self.sources += [given["src"]] if "src" in given else []

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def data_of(text):
    return [json.loads(found) for found in re.findall(r'<script type="application/json">(.*?)</script>', text)]


@pytest.fixture(scope="module")
def text(charts):
    sections = [
        Section("Costs & more", [paragraph("Words."), line_chart(charts["two rows"], "costs")], above="Figure 2"),
        Section("Ties", [line_chart(charts["ties"], "ties"), folded("more", paragraph("hidden"))], name="ties"),
        Section("Numbers", [table([Column("policy"), Column("cost", numeric=True)], [["a", "1"]], anchors=["row-a"])]),
    ]
    return page(title="A page", lead="What it says.", opening=[paragraph("First.")], sections=sections)


def test_well_formed_with_links_that_lead_somewhere(text):
    outline = Outline(text)
    assert outline.open == []
    assert len(set(outline.ids)) == len(outline.ids)
    assert {"costs-more", "ties", "numbers", "row-a"} <= set(outline.ids)
    inner = [link[1:] for link in outline.links if link.startswith("#")]
    assert set(inner) <= set(outline.ids)
    assert inner == ["top", "costs-more", "ties", "numbers"]


def test_nothing_from_outside(text):
    outline = Outline(text)
    assert all(link.startswith(("#", "data:")) for link in outline.links)
    assert len(outline.sources) == 2
    assert all(source.startswith("data:image/svg+xml,") for source in outline.sources)
    assert "default-src 'none'" in text


def test_the_plotting_library_comes_once_and_only_where_needed(text):
    assert text.count("https://github.com/leeoniya/uPlot (v") == 1
    assert "The MIT License (MIT)" in text
    alone = page(title="Short", sections=[Section("Words", [paragraph("No chart.")])])
    assert "leeoniya" not in alone
    assert len(alone) < 40_000


def test_the_numbers_of_a_chart_are_there(text, charts):
    data = data_of(text)[0]
    assert [series["label"] for series in data["series"]] == charts["two rows"].series
    line = charts["two rows"].rows[1].panels[2].lines[3].thin(even=120, log=80)
    shown = data["rows"][1][2]["lines"][3]
    np.testing.assert_allclose(shown["y"], line.y, rtol=1e-5)
    np.testing.assert_allclose(shown["spread"], line.high - line.y, rtol=1e-4)
    assert data["x"]["lists"][shown["x"]] == line.x.tolist()
    assert len(data["x"]["lists"]) == 1  # all lines share their rounds


def test_a_band_that_is_not_even_and_a_point():
    lines = (Line("a", [1, 2], [5.0, 6.0], [4.0, 1.0], [7.0, 9.0]), Line("b", [3], [np.nan], joined=False))
    (data,) = data_of(line_chart(one_panel(Panel("y", lines), x_label="switches"), "x"))
    assert data["rows"][0][0]["lines"] == [
        {"series": 0, "x": 0, "y": [5.0, 6.0], "low": [4.0, 1.0], "high": [7.0, 9.0]},
        {"series": 1, "x": 1, "y": [None], "points": True},
    ]
    assert data["x"]["label"] == "switches"


def test_times_are_told_as_times():
    days = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")
    (data,) = data_of(line_chart(one_panel(Panel("y", (Line("a", days, [1.0, 2.0]),)), x_label="day"), "x"))
    assert data["x"] == {"label": "day", "dated": True, "scale": "linear", "lists": [[1767225600.0, 1767312000.0]]}


def test_no_log_axis_unasked_below_zero(make_table):
    far = {"a": (lambda t: 100 * t, np.sqrt), "b": (lambda t: t, np.sqrt), "c": (np.sqrt, np.sqrt)}
    below = {**far, "c": (lambda t: -np.sqrt(t), lambda t: 3 * np.sqrt(t))}
    for growths, wanted in ((far, [True, False, True]), (below, [False, False, True])):
        (data,) = data_of(line_chart(result_chart({"": make_table(growths, points=20)}), "x"))
        assert [panel["log"] for panel in data["rows"][0]] == wanted


def test_specials_are_escaped_everywhere(make_table):
    chart = result_chart({ODD: make_table({ODD: EASY["exp3"], "exp3": EASY["exp3"]}, points=20)}, series_label=ODD)
    values = np.array([[1.0, 0.5]])
    parts = [
        line_chart(chart, ODD),
        heat_map(HeatMap([ODD], [ODD, "b"], values, [[ODD, "1"]], corner=ODD)),
        ribbon(Ribbon([ODD, "b"], {ODD: [0, 1, 1]}, (ODD, ODD))),
        table([Column(ODD), Column("b")], [[ODD, ODD]], caption=ODD, anchors=[ODD]),
        pairs({ODD: ODD}),
        listed([ODD]),
        folded(ODD, ODD),
        mark("good", ODD),
        heading(ODD),
        code(ODD),
        raised(ODD),
    ]
    text = page(title=ODD, lead=ODD, opening=[paragraph(ODD)], sections=[Section(ODD, parts, above=ODD)])
    assert "<script>alert" not in text
    assert Outline(text).tags.count("script") == 2
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quotes&quot;") > 15


def test_powers():
    assert raised("T^{2/3} < n^α") == "T<sup>2/3</sup> &lt; n^α"
    assert plain_powers("5.25(λK)^{1/3}T^{2/3} + 6.4√(KT)") == "5.25(λK)^(1/3) T^(2/3) + 6.4√(KT)"
    assert plain_powers("λ_{n+1}, 10^{7.3}") == "λ_(n+1), 10^7.3"
    assert element("p", Html("<b>a</b>"), "<b>", class_="x", hidden=None) == '<p class="x"><b>a</b>&lt;b&gt;</p>'


@pytest.mark.parametrize(("middle", "limit"), [(1.0, 10.0), (2.0, 8.0)])
def test_a_heat_map_colours_by_how_much_better_or_worse(middle, limit):
    values = middle * np.array([[1.0, 1 / limit, limit, 1e9, np.nan]])
    text = heat_map(HeatMap(["a"], list("bcdef"), values, [list("bcdef")], middle=middle, limit=limit))
    assert re.findall(r'class="(better|worse)" style="--strength: (\d+)%"', text) == [
        ("better", "0"),
        ("better", "100"),
        ("worse", "100"),
        ("worse", "100"),
    ]
    assert "<td>f</td>" in text


def test_a_ribbon_shows_the_arm_held_most():
    held = np.zeros(100_000, dtype=int)
    held[50_000:] = 1
    held[10] = 2  # one round of a hundred thousand is narrower than a pixel
    bands = re.findall(
        r'<rect x="([\d.]+)" y="0" width="([\d.]+)"[^>]*data-arm="(\w)"', ribbon(Ribbon("abc", {"p": held}))
    )
    assert bands == [("0", "0.5", "a"), ("0.5", "0.5", "b")]


def test_bars_stand_left_and_right_of_zero_on_one_scale():
    drawn = bars(
        {"seen": [Bar("<a>", -10.0, -10.0, -10.0, "−10 %")], "": [Bar("b", 30.0, 20.0, 30.0, "+30 %")]}, "zero"
    )
    assert "&lt;a&gt;" in drawn
    assert drawn.count('style="left:25.00%"') == 2  # zero, a quarter of the way from −10 to 30
    assert 'class="bar better" style="left:0.00%;width:25.00%"' in drawn
    assert 'class="bar worse" style="left:25.00%;width:75.00%"' in drawn
    assert drawn.count('class="whisker" style="left:75.00%;width:25.00%"') == 1
    assert "width:0.00%" in bars({"": [Bar("a", 0.0, 0.0, 0.0, "0")]}, "zero")


def test_one_of_several_parts_is_chosen():
    parts = {"0.1": [paragraph("first")], "<1>": [paragraph("second")]}
    shown = chosen(parts, "λ = {}")
    assert shown.count('class="chosen"') == 1
    assert shown.count('class="chosen other"') == 1
    assert "<h3>λ = &lt;1&gt;</h3>" in shown
    assert 'data-chooses="&lt;1&gt;" aria-pressed="false"' in choice("λ", list(parts))
    assert choice("λ", ["0.1"]) == ""
    assert "<h3>" not in chosen({"0.1": [paragraph("alone")]})
