"""The sources of docs/paper agree with each other, with docs/theory/adaptive.md and with what makes its figures."""

import re
from pathlib import Path

import pytest
import write_up
from growth import GAMES, decades, samples_of

import holdfast as hf

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "docs" / "paper"


@pytest.fixture(scope="module")
def text():
    return "\n".join((PAPER / name).read_text(encoding="utf-8") for name in ("paper.tex", "proofs.tex"))


def keys(text: str, command: str) -> set[str]:
    found = re.findall(rf"\\{command}\{{([^}}]*)\}}", text)
    return {key.strip() for group in found for key in group.split(",")}


def test_references_resolve(text):
    labels = keys(text, "label")
    assert keys(text, "ref") | keys(text, "eqref") <= labels
    assert len(re.findall(r"\\label\{", text)) == len(labels)
    known = set(re.findall(r"@\w+\{(\w+),", (PAPER / "references.bib").read_text(encoding="utf-8")))
    assert keys(text, "cite[pt]?") == known  # none missing, none that is not read


def test_figures_and_numbers_are_made_by_the_script(text):
    made = {path.removeprefix("made/") for path in re.findall(r"\{(made/[\w.]+)\}", text)}
    source = (ROOT / "experiments" / "write_up.py").read_text(encoding="utf-8")
    assert made == set(re.findall(r'"([\w]+\.(?:pdf|tex))": ', source))
    commands = set(re.findall(r"\\newcommand\{\\(\w+)\}", write_up.quoted(write_up.numbers())))
    assert commands == {name for name in commands if f"\\{name}" in text}
    assert "experiments/write_up.py" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.slow
def test_everything_is_drawn_in_a_new_checkout(tmp_path, monkeypatch, text):
    monkeypatch.setattr(write_up, "MADE", tmp_path / "made")
    monkeypatch.setattr("sys.argv", ["write_up.py"])
    write_up.main()
    drawn = {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()}
    assert {f"made/{name}" for name in drawn} == set(re.findall(r"\{(made/[\w.]+)\}", text))
    assert drawn["growth.tex"].decode().count("\n") == len(write_up.GAMES)
    assert drawn["settings.tex"].decode().count("\\\\") == len(write_up.SETTINGS) + 1
    assert all(drawn[name].startswith(b"%PDF") for name in drawn if name.endswith(".pdf"))


def test_the_pdf_is_of_these_sources():
    """After a change of the text or the numbers: make pdf."""
    assert write_up.sources().encode() in (PAPER / "paper.pdf").read_bytes()


def test_numbers_are_of_what_the_script_plays():
    costs = write_up.numbers()
    longest = max(costs["tied", "adaptive"])
    for game in write_up.GAMES:
        for policy in write_up.POLICIES:
            assert {T: len(sample) for T, sample in costs[game, policy].items()} == dict.fromkeys(
                decades(longest), write_up.REPLICATIONS
            )
    assert {len(costs[name, "adaptive"][write_up.ROUNDS]) for name in write_up.SETTINGS} == {write_up.TAILS}
    policies = {"adaptive": write_up.entries(2, 1.0, 10_000)["adaptive"]}
    world = next(game for game in GAMES if game.name == "two-arms-far").losses(10_000)
    played = hf.simulate(policies, world, horizon=10_000, switching_cost=1.0, replications=2, seed=write_up.SEED)
    again = samples_of(played)["adaptive"][10_000]
    assert again == pytest.approx(costs["two-arms-far", "adaptive"][10_000][:2], rel=1e-6)


def test_theorems_and_lemmas_are_those_of_the_pages(text):
    names = ("theory/adaptive", "paused", "safety", "theory/full_information")
    pages = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in names}
    page = "\n".join(pages.values())
    assert text.count(r"\begin{lemma}") == len(re.findall(r"^### Lemma \d+", pages["theory/adaptive"], flags=re.M)) == 9
    assert text.count(r"\begin{theorem}") == len(set(re.findall(r"^\*\*Theorem ([A-G])", page, flags=re.M))) == 7
    assert text.count(r"\begin{mixture}") == len(set(re.findall(r"^\*\*Theorem (H\d)", page, flags=re.M))) == 3
    proved = set(re.findall(r"\\begin\{proof\}\[Proof of Theorem~\\ref\{thm:(\w)\}", text))
    assert proved == set("ABCDEFG")
    constants = ("14.78", "2.82", "5.5D_1^2", "70D_2^4", "1.131", "1.667", "1.363", "0.365P", "1.48", "1.73", "0.735")
    for number in (*constants, "2560", "8T^2", "200g", "64g", "4Kw+", "12w", "4.42"):
        assert number in text
        assert number in page


def test_constants_are_the_policys(text):
    constants = hf.Constants()
    printed = re.search(r"The constants of the guarantee are (.*?)\. Lines", text, flags=re.S)
    assert printed
    for symbol, value in (
        ("a", constants.longest_step_down),
        ("J", constants.longest_step_up),
        (r"\kappa_W", constants.floor_budget),
        (r"\theta", constants.calm),
        (r"\varphi", constants.floor_share),
        (r"\mu", 8 * constants.matched_length),
    ):
        assert f"${symbol}={value:g}$" in printed[1]
    for symbol, value in (
        (r"\kO", constants.cap_budget),
        (r"\kQ", constants.switch_weight),
        (r"\nu", constants.least_noise),
    ):
        below = re.search(rf"{re.escape(symbol)}=\\frac1\{{?(\d+)\}}?", printed[1])
        assert below
        assert 1 / int(below[1]) == value
