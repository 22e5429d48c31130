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
    names = "plot.data.filter(trace => trace.name).map(trace => trace.name)"
    policies = ["tsallis-switch", "hold-forever", "follow-the-leader:cooldown=5"]
    (cost, relative) = browser.panels("#cost", names)
    assert cost == relative
    assert cost[:4] == [*policies, "best plan"]
    assert len(cost) == 6
    for lam in ("0.1", "1"):
        section = f'[id="lambda-{lam}"]'
        assert all(shown[:4] == [*policies, "best plan"] for shown in browser.panels(section, names))
        assert browser.panels(section, "plot._fullLayout.xaxis.type") == ["date", "date"]
        bands = [band.text for band in browser.all(f"{section} .band .name")]
        assert bands == ["best plan", *policies]
        ends = [end.text for end in browser.all(f"{section} .ends span")]
        assert ends[0] == "2026-01-01 00:00"
        assert ends[-1] == "2026-02-11 15:00"
        assert len(browser.all(f"{section} .ribbon .legend .key")) == 7  # of nine arms, three share a colour
    assert browser.panels("#tradeoff", "plot._fullLayout.xaxis.type") == ["log"]
    pressed = browser.all("#tradeoff [data-axis='x'] [aria-pressed='true']")
    assert [button.text for button in pressed] == ["log"]


def test_the_sentences_come_first_and_names_are_text(browser, path, made):
    browser.look(path)
    said = browser.run("return [...document.querySelectorAll('.opening li')].map(li => li.textContent)")
    assert [text.lstrip("◐") for text in said] == [str(sentence) for sentence in made.advice]
    assert not browser.all("main b b")
    assert browser.run("return document.querySelectorAll('th b, td b, .key b').length") == 0


def test_it_needs_nothing_else(browser, path):
    browser.look(path)
    browser.panels("main", "1")
    asked = browser.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert [name for name in asked if not name.startswith("data:")] == []
    assert path.stat().st_size < 5_000_000


@pytest.mark.parametrize("width", [320, 390, 1440])
@pytest.mark.parametrize("dark", [False, True])
def test_no_sideways_scrolling(browser, path, width, dark):
    browser.open(path, width=width, dark=dark)
    browser.panels("main", "1")
    assert browser.run("return document.documentElement.scrollWidth") <= width
    told = browser.run(
        "return [...document.querySelectorAll('.box')].map(box => "
        "[box.scrollWidth > box.clientWidth + 1, box.previousElementSibling.checkVisibility()])"
    )
    assert all(cut == hinted for cut, hinted in told)
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is not dark


def test_on_paper(browser, path):
    browser.open(path)
    browser.media(printed=True)
    assert len(browser.visible("img.static")) == 4
    assert len(browser.visible(".band svg")) == 8
    browser.media()
