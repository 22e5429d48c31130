"""The report of a replay in a real browser: wide, on a phone, dark, without scripts' help where it matters."""

import numpy as np
import polars as pl
import pytest

import holdfast as hf

pytestmark = pytest.mark.slow

HOSTILE = "<b>arm & co</b>"
POLICIES = ["tsallis-switch", "hold-forever", "follow-the-leader:cooldown=5"]


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(1)
    times = pl.datetime_range(pl.datetime(2026, 1, 1), pl.datetime(2026, 2, 11, 15), interval="1h", eager=True)
    names = [HOSTILE, *(f"region number {i}" for i in range(8))]
    frame = pl.DataFrame({"hour": times, **{name: rng.random(1000) for name in names}})
    return hf.replay(frame, POLICIES, switching_cost=[0.1, 1.0], index="hour", replications=4)


@pytest.fixture(scope="module")
def path(made, tmp_path_factory):
    return made.write(tmp_path_factory.mktemp("page") / "report.html")


def test_every_chart_and_ribbon_is_drawn(browser, path):
    browser.look(path)
    names = "plot.chart.series.slice(1).map(line => line.label)"
    policies = ["tsallis-switch", "follow-the-leader:cooldown=5"]  # not the one that learns nothing
    (cost, relative) = browser.panels("#cost", names)
    assert cost == relative
    assert cost[:3] == [*policies, "best plan"]
    assert len(cost) == 4
    for lam in ("0.1", "1"):
        browser.run("document.querySelector(`[data-chooses='${arguments[0]}']`).click()", lam)
        part = f".chosen[data-choice='{lam}']"
        assert all(shown[:3] == [*policies, "best plan"] for shown in browser.panels(f"#running {part}", names))
        assert browser.panels(f"#running {part}", "plot.chart.scales.x.time") == [True, True]
        bands = [band.text for band in browser.all(f"#held {part} .band .name")]
        assert bands == ["best plan", *POLICIES]
        ends = [end.text for end in browser.all(f"#held {part} .ends span")]
        assert (ends[0], ends[-1]) == ("2026-01-01", "2026-02-11")
        assert len(browser.all(f"#held {part} .ribbon .legend .key")) == 7  # of nine arms, three share a colour
    browser.looking_at = None
    assert browser.panels("#tradeoff", "plot.chart.scales.x.distr") == [3]
    pressed = browser.all("#tradeoff [data-axis='x'] [aria-pressed='true']")
    assert [button.text for button in pressed] == ["log"]


def test_what_to_do_comes_first_then_a_picture_and_names_are_text(browser, path, made):
    browser.look(path)
    first = browser.run("return document.querySelector('h1 + *').textContent")
    assert first.lstrip("◐").replace("\u00a0", " ") == str(made.recommendation)
    shown = browser.run("return [...document.querySelectorAll('.bars, table')].map(part => part.className)")
    assert shown[0] == "bars"
    said = browser.run("return [...document.querySelectorAll('#why li')].map(li => li.textContent)")
    sentences = [str(sentence).replace(" %", "\u00a0%") for sentence in made.advice]  # no sign alone on a line
    assert [text.lstrip("◐") for text in said] == sentences
    assert not browser.all("main b b")
    assert browser.run("return document.querySelectorAll('th b, td b, .key b').length") == 0


def test_one_switching_cost_is_shown_at_a_time(browser, path):
    browser.open(path)
    parts = (
        "return [...document.querySelectorAll('.chosen')].filter(p => p.checkVisibility()).map(p => p.dataset.choice)"
    )
    count = len(browser.all(".chosen"))
    assert browser.run(parts) == ["0.1"] * (count // 2)
    (one,) = [button for button in browser.all("[data-chooses]") if button.text == "1"]
    one.click()
    assert browser.run(parts) == ["1"] * (count // 2)
    assert one.get_attribute("aria-pressed") == "true"
    browser.media(printed=True)
    assert browser.run(parts) == ["0.1", "1"] * (count // 2)
    browser.media()


def test_without_scripts_everything_is_listed(browser, path):
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.open(path)
        assert {part.is_displayed() for part in browser.all(".chosen")} == {True}
        assert browser.visible(".choice") == []
        assert len(browser.visible("img.static")) == 4
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_it_needs_nothing_else(browser, path):
    browser.look(path)
    browser.panels("#cost", "1")
    asked = browser.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert [name for name in asked if not name.startswith("data:")] == []
    assert path.stat().st_size < 5_000_000


@pytest.mark.parametrize("width", [320, 390, 1440])
@pytest.mark.parametrize("dark", [False, True])
def test_no_sideways_scrolling(browser, path, width, dark):
    browser.open(path, width=width, dark=dark)
    browser.panels("main .chosen:not(.other)", "1")
    assert browser.overflow() <= 0
    assert not browser.is_cut_unsaid()
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is not dark
    if width == 1440:  # the column that matters is in sight
        assert browser.visible("#costs .scroll-hint") == []


def test_on_paper(browser, path):
    browser.open(path)
    browser.media(printed=True)
    assert len(browser.visible("img.static")) == 4
    assert len(browser.visible(".band svg")) == 8
    browser.media()
