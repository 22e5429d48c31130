"""A page of every part in a real browser: wide, on a phone, dark, and on paper."""

import numpy as np
import pytest
from chromium import pdf_pages

from holdfast.files import write_whole
from holdfast.report.charts import HeatMap, Line, Panel, Ribbon, one_panel
from holdfast.report.html import (
    Column,
    Section,
    folded,
    heading,
    heat_map,
    line_chart,
    page,
    paragraph,
    ribbon,
    table,
)

pytestmark = pytest.mark.slow

LINES = "plot.chart.series.slice(1).filter(line => line.show).map(line => line.label)"
TYPES = """['x', 'y'].map(axis => plot.chart.scales[axis]).map(
    scale => scale.time ? 'date' : scale.distr === 3 ? 'log' : 'linear')"""
COLOURS = (
    "[getComputedStyle(document.body).backgroundColor, plot.chart.axes[0].stroke(), plot.chart.series[1].stroke()]"
)


@pytest.fixture(scope="module")
def path(charts, tmp_path_factory):
    names = list(charts)
    policies = [f"policy number {i}" for i in range(12)]
    heat = HeatMap(policies, policies, np.geomspace(0.1, 10, 144).reshape(12, 12), [["1 234"] * 12] * 12)
    arms = np.repeat([0, 1, 2, 0], [10, 500, 30, 60])
    days = np.arange("2026-01-01", "2026-03-01", dtype="datetime64[D]")
    dated = one_panel(Panel("running cost", (Line("exp3", days, np.arange(days.size) ** 1.5),)), x_label="day")
    scatter = one_panel(
        Panel("losses", (Line("plan", [0, 1, 5], [9.0, 7.5, 7.0]), Line("exp3", [12], [8.0], joined=False))),
        x_label="switches",
    )
    wide = table([Column("policy"), *(Column(f"a long heading {i}", numeric=True) for i in range(9))], [["a"] * 10] * 3)
    sections = [
        *(Section(f"Chart {i}", [line_chart(charts[name], name)], name=f"chart-{i}") for i, name in enumerate(names)),
        Section("Heat", [heat_map(heat), wide]),
        Section("Time", [ribbon(Ribbon(["a", "b", "c"], {"plan": arms, "exp3": arms[::-1]}, ("January", "March")))]),
        Section("Dated", [line_chart(dated, "cost over days")], name="dated"),
        Section("Scatter", [line_chart(scatter, "losses and switches")], name="scatter"),
        Section("Folded", [folded("12 claims", heading("Inside"), paragraph("unseen", class_="inside"))]),
    ]
    sections.append(Section("End", [folded("more", table([Column("x")], [["1"]], anchors=["deep"]))]))
    lead = "Every part there is."
    path = tmp_path_factory.mktemp("page") / "page.html"
    return write_whole(path, page(title="Parts", lead=lead, sections=sections).encode())


def test_every_chart_is_drawn(browser, path, charts):
    browser.look(path)
    for index, chart in enumerate(charts.values()):
        shown = browser.panels(f"#chart-{index}", LINES)
        assert len(shown) == 3 * len(chart.rows)
        assert all(names == chart.series for names in shown)
    images = browser.run(
        "return [...document.querySelectorAll('img.static')].map(img => [img.complete, img.naturalWidth])"
    )
    assert len(images) == len(charts) + 2
    assert all(complete and width > 300 for complete, width in images)


def test_times_and_points(browser, path):
    browser.look(path)
    assert browser.panels("#dated", TYPES) == [["date", "linear"]]
    paths = "plot.chart.series.slice(1).map(line => line.paths(plot.chart, 1, 0, 0) !== null)"
    assert browser.panels("#scatter", paths) == [[True, False]]
    assert len(browser.all("#dated [data-axis='x']")) == 0


def test_charts_follow_their_page_when_it_gets_narrower(browser, path):
    """Also without a resized window: a chart may be hidden while the window changes, and shown later."""
    drawn = "plot.querySelector('.uplot').getBoundingClientRect().width - plot.clientWidth"
    browser.open(path, width=700)
    assert browser.panels("#chart-0", drawn) == [0, 0, 0]
    browser.run("document.querySelector('main').style.width = '350px'")
    browser.until(lambda: browser.panels("#chart-0", drawn) == [0, 0, 0], "a chart is wider than its place")


def test_a_legend_shows_line_and_marker(browser, path):
    browser.look(path)
    drawn = "return [...document.querySelectorAll('#chart-0 .key .swatch')].map(swatch => swatch.children.length)"
    assert browser.run(drawn) == [2] * 6
    bands = "return [...document.querySelectorAll('.band svg')].map(svg => svg.children.length)"
    assert browser.run(bands) == [4, 4]


def test_hover_shows_all_policies(browser, path):
    from selenium.webdriver.common.action_chains import ActionChains

    browser.open(path)
    browser.panels("#chart-0", "1")
    for plot in browser.all("#chart-0 .plot"):
        ActionChains(browser.driver).move_to_element(plot).perform()
        box = plot.find_element("css selector", ".hover")
        browser.until(lambda box=box: "round" in box.text, "no hover")
        lines = box.text.splitlines()
        assert len(lines) == 1 + 6
        assert lines[1].startswith("tsallis-switch: ")
        assert all(" ± " in line for line in lines[1:])
        ActionChains(browser.driver).move_by_offset(0, -300).perform()


def test_one_click_toggles_a_policy_in_all_panels(browser, path):
    browser.open(path)
    before = browser.panels("#chart-1", LINES)
    key = browser.all("#chart-1 button.key")[2]
    assert key.text == "exp3"
    key.click()
    assert key.get_attribute("aria-pressed") == "false"
    assert browser.panels("#chart-1", LINES) == [[name for name in names if name != "exp3"] for names in before]
    assert len(before) == 6
    key.click()
    assert browser.panels("#chart-1", LINES) == before


def test_all_policies_can_be_hidden(browser, path):
    browser.open(path)
    browser.panels("#chart-0", "1")
    for button in browser.all("#chart-0 [data-scale='log'], #chart-0 button.key"):
        button.click()
    assert browser.panels("#chart-0", LINES) == [[], [], []]


def test_scale_buttons(browser, path):
    captions = "plot.parentElement.querySelector('.scale').textContent"

    def press(axis, scale):
        browser.all(f"#chart-0 [data-axis='{axis}'] [data-scale='{scale}']")[0].click()

    browser.open(path)
    # The hundredfold spread of the switches makes its panel logarithmic from the start.
    begun = browser.panels("#chart-0", TYPES)
    assert begun == [["linear", "linear"], ["linear", "log"], ["linear", "log"]]
    assert browser.panels("#chart-0", captions) == ["", "(log scale)", "(log scale)"]
    press("y", "log")
    press("x", "log")
    assert browser.panels("#chart-0", TYPES) == [["log", "log"]] * 3
    press("y", "linear")
    assert browser.panels("#chart-0", TYPES) == [["log", "linear"]] * 3
    press("x", "linear")
    press("y", "auto")
    assert browser.panels("#chart-0", TYPES) == begun


def test_dark_by_button_outlives_a_reload(browser, path):
    browser.open(path)
    light = browser.panels("#chart-0", COLOURS)[0]
    toggle = browser.all("#theme")[0]
    assert toggle.text == "Dark scheme"
    toggle.click()
    dark = browser.panels("#chart-0", COLOURS)[0]
    assert all(one != other for one, other in zip(light, dark, strict=True))
    browser.open(path, storage=browser.run("return {...localStorage}"))
    assert browser.panels("#chart-0", COLOURS)[0] == dark
    browser.all("#theme")[0].click()
    assert browser.panels("#chart-0", COLOURS)[0] == light


def test_dark_follows_the_system(browser, path):
    browser.open(path)
    light = browser.panels("#chart-0", COLOURS)[0]
    browser.media(dark=True)
    browser.until(lambda: browser.panels("#chart-0", COLOURS)[0][2] != light[2], "lines did not follow")
    assert all(one != other for one, other in zip(light, browser.panels("#chart-0", COLOURS)[0], strict=True))


@pytest.fixture(scope="module", params=[320, 390, 768, 1440])
def width(request):
    """Width of the window; tests of one width run one after the other."""
    return request.param


def test_no_sideways_scrolling_and_every_cut_table_says_so(browser, path, charts, width):
    browser.look(path, width=width)
    for index in range(len(charts)):
        browser.panels(f"#chart-{index}", "1")
    # A phone widens its window to what overflows, a desktop does not.
    assert browser.run("return window.innerWidth") == width
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert not browser.is_cut_unsaid()
    assert browser.visible(".scroll-hint") or width > 1000


def test_the_navigation_is_whole(browser, path, width):
    browser.look(path, width=width)
    if not browser.visible(".contents li a"):
        browser.all(".contents summary")[0].click()
    links = browser.visible(".contents li a")
    assert len(links) == len(browser.all("main section")) > 8
    edges = browser.run(
        "return [...document.querySelectorAll('.contents li a')].map(a => a.getBoundingClientRect()"
        ").map(box => [box.left, box.right])"
    )
    assert all(0 <= left < right <= width for left, right in edges)


def test_a_link_opens_what_it_leads_to(browser, path):
    browser.open(path)
    assert not browser.all("#deep")[0].is_displayed()
    browser.run("location.hash = 'deep'")
    browser.until(lambda: browser.all("#deep")[0].is_displayed(), "still folded")


def test_print_shows_drawn_charts_and_folded_parts(browser, path):
    browser.open(path)
    assert not browser.visible(".inside")
    browser.media(printed=True)
    assert all(img.is_displayed() for img in browser.all("img.static"))
    for hidden in (".controls", ".row", ".contents", "#theme", ".scroll-hint"):
        assert not browser.visible(hidden), hidden
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.visible(".inside")
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert not browser.all(".folded[open]")
    assert pdf_pages(browser.printed()) <= 7
