"""`holdfast reproduce --with adaptive`: a further curve where the paper compares policies, and nothing else changed."""

import json
import sys

import polars as pl
import pytest
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app
from holdfast.lab.paper.plan import FIGURES, POLICIES, PaperSettings, guarantees
from holdfast.lab.paper.reproduce import load, reproduce
from holdfast.simulation import contract

pytestmark = pytest.mark.slow

SMALL = {"replications": 2, "horizon": 300, "n_arms": 3, "seed": 4}
ASKED = ["stochastic-hard", "ties-stochastic"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    out = tmp_path_factory.mktemp("further")
    plain = reproduce(ASKED, out=out / "plain", **SMALL)
    return plain, reproduce(ASKED, out=out / "with", **SMALL, further=["adaptive"])


def test_the_papers_policies_play_the_same_games(runs):
    plain, further = runs
    for name in plain.findings:
        one, other = plain.findings[name].frame, further.findings[name].frame
        assert other.filter(pl.col("policy").is_in(one["policy"].unique().implode())).equals(one)
    assert plain.findings["stochastic-hard"].policies == list(POLICIES)
    assert further.findings["stochastic-hard"].policies == [*POLICIES, "adaptive"]
    assert further.findings["ties-stochastic"].policies == plain.findings["ties-stochastic"].policies


def test_the_verdicts_on_the_paper_are_the_same(runs):
    plain, further = runs
    assert [v.plain() for v in further.verdicts] == [v.plain() for v in plain.verdicts]


def test_the_curve_is_drawn_dashed_and_the_page_says_how_it_was_made(runs):
    plain, further = runs
    shown, without = (run.report.read_text(encoding="utf-8") for run in (further, plain))
    assert "--with adaptive" in shown
    assert "Theorem B of docs/theory/adaptive.md" in shown
    assert "adaptive" not in without
    figure = (further.out / "stochastic-hard.svg").read_text(encoding="utf-8")
    assert "stroke-dasharray" in figure
    assert figure != (plain.out / "stochastic-hard.svg").read_text(encoding="utf-8")


def test_the_ledger_keeps_what_was_asked_and_nothing_where_nothing_was(runs):
    plain, further = (json.loads((run.out / "ledger.json").read_text())["settings"] for run in runs)
    assert further == plain | {"further": ["adaptive"]}
    assert plain == SMALL


def test_figures_with_and_without_are_not_mixed(runs):
    plain, further = runs
    for run, asked in ((plain, ["adaptive"]), (further, [])):
        with pytest.raises(hf.HoldfastError, match="further"):
            reproduce(["stochastic-free"], out=run.out, **SMALL, further=asked)


def test_an_unknown_policy_is_refused(tmp_path):
    with pytest.raises(hf.InvalidParameter, match=r"must be one of .*; got 'adaptve'; did you mean 'adaptive'"):
        reproduce(out=tmp_path / "run", further=["adaptve"])
    said = CliRunner().invoke(app, ["reproduce", "--with", "exp3", "--out", str(tmp_path / "run")])
    assert said.exit_code != 0
    assert not (tmp_path / "run").exists() or not list((tmp_path / "run").glob("*.parquet"))


def test_what_is_proved_of_it_is_listed_where_it_applies():
    (cell,) = FIGURES["stochastic-hard"].rows[0].cells(PaperSettings(further=("adaptive",)))
    (own,) = [g for g in guarantees(cell) if g.series == "adaptive"]
    assert own.value(horizon=1000) == hf.bounds.adaptive(n_arms=8, switching_cost=1.0, horizon=1000)


OWN = """
from dataclasses import dataclass
import holdfast as hf

@dataclass(frozen=True)
class {name}(hf.TsallisSwitch):
    "A policy of one's own."
"""


def test_policies_of_ones_own_are_checked_drawn_and_judged_beside_the_papers(tmp_path, monkeypatch):
    """Any number, with parameters; their folder is read again where their module is imported, and not elsewhere."""
    (tmp_path / "mine.py").write_text(OWN.format(name="Mine"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    seen = []
    monkeypatch.setattr(contract, "check", lambda thing: seen.append(type(thing).__name__))
    asked = ["mine:Mine", "mine:Mine:estimator=reduced-variance", "tracking"]
    made = reproduce(["stochastic-hard"], out=tmp_path / "run", **SMALL, further=asked)
    assert seen == ["Mine"]
    assert made.findings["stochastic-hard"].policies == [*POLICIES, *asked]
    page = made.report.read_text(encoding="utf-8")
    assert "mine:Mine:estimator=reduced-variance" in page
    assert load(tmp_path / "run")["stochastic-hard"].policies == [*POLICIES, *asked]
    monkeypatch.delitem(sys.modules, "mine")
    with pytest.raises(hf.BadSavedState, match="has results of mine:Mine, a policy of your own: import mine first"):
        load(tmp_path / "run")
    with pytest.raises(hf.InvalidParameter, match="must not be one of the paper's six, which play anyway; got 'exp3'"):
        PaperSettings(further=("exp3",))
