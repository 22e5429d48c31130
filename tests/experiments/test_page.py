"""The page of an arena: as text, and in a real browser, wide, on a phone, dark and on paper."""

import pytest
from arena_report import conclusions
from chromium import pdf_pages

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def text(made):
    return (made.out / "arena.html").read_text(encoding="utf-8")


def test_what_it_says_follows_from_the_table(made):
    said = conclusions(made)
    first = next(row for row in made.worst.to_dicts() if not row["knows_horizon"])
    assert len(said) == 5
    assert f"{first['policy']} has the smallest worst ratio to the best: {first['to_best']:.2f}" in said[0]
    own = [row for row in made.table.to_dicts() if row["policy"] == "adaptive" and row["group"] != "found"]
    worse = sum(row["above_paper_low"] > 0 for row in own)
    assert f"more costly than tsallis-switch in {worse} of {len(own)} environments" in said[2]


def test_every_environment_and_policy_is_there(made, text):
    for world in made.settings:
        assert f"{world.name}: K = {world.environment.n_arms}" in text
    for policy in made.policies:
        assert made.marked(policy) in text
    places = [text.index(f'<section id="{name}">') for name in ("worst", "paper", "hard", "traces", "found", "growth")]
    assert places == sorted(places)
    assert (made.out / "arena.html").stat().st_size < 5_000_000


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1440])
def test_every_panel_is_drawn_and_nothing_sticks_out(made, browser, width, dark):
    browser.open((made.out / "arena.html"), width=width, dark=dark)
    for group in ("paper", "hard", "traces", "found"):
        assert len(browser.panels(f"#{group}", "1")) == len(made.group(group))
    assert browser.run("return document.documentElement.scrollWidth") <= width
    cells = browser.run(
        "return [...document.querySelectorAll('#hard .heat')].map(heat => heat.querySelectorAll('td').length)"
    )
    assert cells == [4 * 2] * 3
    inks = browser.run("return getComputedStyle(document.querySelector('.heat td')).color")
    assert inks != browser.run("return getComputedStyle(document.querySelector('.heat td')).backgroundColor")


def test_paper_has_what_is_folded(made, browser):
    browser.open(made.out / "arena.html")
    assert len(browser.all("#numbers details")) == len(made.settings)
    assert not browser.all("#numbers details table")[0].is_displayed()
    assert pdf_pages(browser.printed()) > 5
