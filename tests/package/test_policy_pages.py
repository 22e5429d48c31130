"""Every policy has a page: statement, pseudo-code, knobs that are those of its signature, costs, when not to use it."""

import inspect
import re

import policy_pages
import pytest
from pages import ROOT

from holdfast.policies.policy import FullInformation

KINDS = {ids[0]: (kind, ids) for kind, ids in policy_pages.classes().items()}
TEXTS, COSTS, PAGES = policy_pages.written(), policy_pages.measured(), policy_pages.policy_pages()


def test_every_registered_policy_has_one_page_and_no_page_has_no_policy():
    assert list(TEXTS) == list(KINDS)  # in the order of the registry
    assert set(PAGES) == {f"policy-{name}" for name in KINDS}
    ids = [name for _, ids in KINDS.values() for name in ids]
    assert set(COSTS) == {(name, setting) for name in ids for setting in policy_pages.SETTINGS}
    listed = policy_pages.index_of_policies()
    assert listed.count('"all losses"') == sum(issubclass(kind, FullInformation) for kind, _ in KINDS.values())
    for name in ids:
        assert f"``{name}``" in listed


@pytest.mark.parametrize("name", KINDS)
def test_a_page_has_its_parts_and_fits_a_screen(name):
    kind, ids = KINDS[name]
    text, page = TEXTS[name], PAGES[f"policy-{name}"]
    assert set(text) <= {"title", "steps", "avoid", "see", "measured"}
    assert 1 <= len(text["steps"].strip().splitlines()) <= 12
    assert max(map(len, text["steps"].splitlines())) <= 130
    assert 40 < len(text["avoid"]) <= 400
    assert all((ROOT / "docs" / f"{page}.md").exists() for page in text.get("see", ()))
    shown = policy_pages.prose(text["avoid"])
    for part in ("Pseudo-code", "Measured", "When not to use it", f"autoclass:: holdfast.{kind.__name__}", shown):
        assert part in page
    for each in ids:
        assert f", {each}" in page
    assert kind.reconstructed == ("our reconstruction" in text["title"])


@pytest.mark.parametrize("name", KINDS)
def test_the_knobs_are_those_of_the_signature(name):
    kind, _ = KINDS[name]
    doc = inspect.cleandoc(kind.__doc__ or "") + "\n"
    (section,) = re.findall(r"(?m)^Parameters\n-+\n((?:.*\n)*?)(?=^\S.*\n---)", doc)
    told = {knob.strip() for line in section.splitlines() if line and line[0] != " " for knob in line.split(",")}
    assert told == set(inspect.signature(kind).parameters)
    assert set(TEXTS[name].get("measured", {})) <= told


def test_a_page_shows_what_was_measured():
    mean, error = COSTS["exp3", "stochastic-hard"]
    assert f'"one arm better by 0.05, λ = 1", "{mean:,.0f}\u00a0±\u00a0{error:,.0f}"' in PAGES["policy-exp3"]
    assert "Played with ``period=24``" in PAGES["policy-forecast-plan"]
