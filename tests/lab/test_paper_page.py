"""The report of a run: as text, and in a real browser."""

import re

import pytest
from chromium import pdf_pages

from holdfast.lab.paper.claims import Findings
from holdfast.lab.paper.plan import PaperSettings, chosen, paper_plan
from holdfast.lab.paper.report import report_of
from holdfast.lab.paper.reproduce import reproduce
from holdfast.lab.tables import play

pytestmark = pytest.mark.slow

NAMES = ["stochastic-hard", "constrained-easy", "adversarial", "ties-stochastic"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return reproduce(NAMES, out=tmp_path_factory.mktemp("run"), replications=4, horizon=20_000, progress=False)


@pytest.fixture(scope="module")
def text(made):
    return made.report.read_text(encoding="utf-8")


def test_order_learnt_then_figures_then_ledger(text):
    places = [text.index(f'<section id="{name}">') for name in [*NAMES, "ledger", "provenance"]]
    assert places == sorted(places)
    assert text.index('<ol class="conclusions">') < text.index('class="heat"') < places[0]
    sentences = re.findall(r"<li>(.*?)</li>", text[text.index('<ol class="conclusions">') : text.index("</ol>")])
    assert len(sentences) == 5
    assert all(re.search(r"\d", sentence) for sentence in sentences)


def test_everything_is_said(made, text):
    for name in NAMES:
        assert f"holdfast reproduce {name} --replications 4 --horizon 20000 --arms 8 --seed 0" in text
    for verdict in made.verdicts:
        assert f'id="claim-{verdict.id}"' in text
    assert "Theorem 1 (tsallis-switch)" in text
    assert f"{len(made.verdicts)} claims" in text


def test_what_does_not_hold_comes_first_and_the_rest_is_folded(made, browser):
    browser.open(made.report)
    groups = browser.all("#ledger > details")
    kinds = [group.find_element("css selector", "tbody .mark").get_attribute("data-mark") for group in groups]
    assert kinds == [kind for kind in ("bad", "partial", "good") if kind in kinds]
    assert [group.get_attribute("open") is not None for group in groups] == [kind != "good" for kind in kinds]
    holds = next(verdict.id for verdict in made.verdicts if verdict.verdict == "holds")
    assert not browser.all(f"#claim-{holds}")[0].is_displayed()
    browser.run(f"location.hash = 'claim-{holds}'")
    browser.until(lambda: browser.all(f"#claim-{holds}")[0].is_displayed(), "the link leads nowhere")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1440])
def test_every_panel_is_drawn_and_nothing_sticks_out(made, browser, width, dark):
    browser.open(made.report, width=width, dark=dark)
    for name, rows in (("stochastic-hard", 1), ("constrained-easy", 2), ("adversarial", 1), ("ties-stochastic", 1)):
        assert len(browser.panels(f"#{name}", "1")) == 3 * rows
    assert browser.run("return document.documentElement.scrollWidth") <= width


def test_paper(made, browser):
    browser.open(made.report)
    for details in browser.all("details.folded[open]"):
        browser.run("arguments[0].open = false", details)
    folded = pdf_pages(browser.printed())
    assert browser.run("return [...document.querySelectorAll('details.folded')].every(part => !part.open)")
    for details in browser.all("details"):
        browser.run("arguments[0].open = true", details)
    assert pdf_pages(browser.printed()) == folded  # what was folded was printed all the same


def test_size_of_the_whole_paper():
    settings, figures = PaperSettings(replications=2, horizon=1000), chosen(None)
    played = play(paper_plan(figures, settings))
    assert len(report_of(Findings(played, settings, figures)).encode()) < 5_000_000
