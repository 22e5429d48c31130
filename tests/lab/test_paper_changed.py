"""Other K, T and λ than the paper's: what was changed stands with every figure, fact and verdict."""

import json

import pytest
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app
from holdfast.lab.paper.claims import EXPERIMENT_CLAIMS, Findings
from holdfast.lab.paper.plan import FIGURES, PaperSettings, chosen, paper_plan, rows_of
from holdfast.lab.paper.report import changes, conclusions, facts_of, figure_notes, title_of
from holdfast.lab.paper.reproduce import load, reproduce
from holdfast.lab.tables import play

SMALL = {"replications": 2, "horizon": 300, "n_arms": 3}
OTHER = PaperSettings(**SMALL, switching_cost=2.0)


def test_lambda_changes_the_figures_whose_cost_is_a_constant_above_zero():
    rows = {row.table: row for row in rows_of(chosen(None))}
    same = {name for name, row in rows.items() if row.has_papers_cost(OTHER)}
    assert {"stochastic-free", "varying-cost", "varying-cost.constrained", "long-varying-cost", "free-ties"} <= same
    for name in set(rows) - same:
        for cell in rows[name].cells(OTHER):
            assert cell.switching_cost == 2.0
            told = [policy.switching_cost for policy in cell.policies.values() if hasattr(policy, "switching_cost")]
            assert set(told) <= {2.0}
    assert {"stochastic-easy", "constrained-hard.shuffled", "arms.exp3-blocks", "long-ties-stochastic"} <= set(
        rows
    ) - same
    assert all(row.has_papers_cost(PaperSettings(**SMALL)) for row in rows.values())
    hard = FIGURES["stochastic-hard"]
    assert "λ" not in hard.changes(PaperSettings(switching_cost=1.0))  # the paper's own


@pytest.mark.parametrize("cost", [0.0, -1.0, float("inf"), "1"])
def test_lambda_is_above_zero(cost):
    with pytest.raises(hf.InvalidParameter, match="switching_cost must be a finite number above 0"):
        PaperSettings(switching_cost=cost)


def test_titles_and_facts_name_what_was_changed():
    hard = FIGURES["stochastic-hard"]
    assert title_of(hard, PaperSettings()) == hard.title
    assert title_of(hard, OTHER) == "Stochastic losses, small gap (K = 3, T = 300, λ = 2)"
    assert title_of(FIGURES["stochastic-free"], OTHER).endswith("free switches (K = 3, T = 300)")
    assert title_of(FIGURES["arms"], OTHER) == "From 2 to 32 arms (T = 300, λ = 2)"
    facts = facts_of(hard, OTHER)
    assert facts["switching cost λ"] == "2 (the paper: 1)"
    assert facts["arms K"] == "3 (the paper: 8)"
    assert facts["rounds T"] == "300 (the paper: 100,000)"
    assert facts_of(hard, PaperSettings())["arms K"] == "8"


@pytest.mark.slow
def test_claims_about_the_papers_lambda_are_not_judged_and_theorems_are():
    names = ("stochastic-easy", "stochastic-hard", "stochastic-free", "adversarial")
    figures = tuple(FIGURES[name] for name in names)
    tables = play(paper_plan(figures, OTHER))
    found = Findings(tables, OTHER, figures)
    judged = {verdict.id for verdict in found.verdicts}
    about_experiments = {claim.id for claim in EXPERIMENT_CLAIMS}
    assert judged & about_experiments == {"free-best", "free-alike", "base-log-switches"}
    assert {"bound-theorem-1", "bound-blocks", "bound-theorem-1-unique"} <= judged
    paper = Findings(tables, PaperSettings(**SMALL), figures)
    assert set(found.not_judged) == {verdict.id for verdict in paper.verdicts} - judged
    assert "hard-switching-dominates" in found.not_judged
    assert not paper.not_judged
    assert figure_notes("stochastic-hard", found) == []
    assert not any("Where switches are costly" in sentence for sentence in conclusions(found))
    said, left = changes(found)
    assert said.startswith("Played with K = 3, T = 300 and λ = 2; the paper has K = 8, T = 100,000 and λ = 0.025 or 1.")
    assert left.startswith(
        f"{len(found.not_judged)} claims are not judged, being about the paper's λ: easy-few-switches"
    )
    assert changes(Findings(tables, PaperSettings(), figures)) == []


@pytest.mark.slow
def test_the_folder_keeps_lambda_and_does_not_mix_it(tmp_path):
    asked = "reproduce stochastic-hard --replications 2 --horizon 300 --arms 3 --switching-cost 2"
    made = CliRunner().invoke(app, [*asked.split(), "--out", str(tmp_path / "run")])
    assert made.exit_code == 0, made.output
    assert "Played with K = 3, T = 300 and λ = 2;" in made.output
    ledger = json.loads((tmp_path / "run" / "ledger.json").read_text(encoding="utf-8"))
    assert ledger["settings"] == {**SMALL, "seed": 0, "switching_cost": 2.0}
    assert "hard-trade-off" in ledger["not judged"]
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "--arms 3 --seed 0 --switching-cost 2" in page
    assert "costly switches" not in page
    assert load(tmp_path / "run").settings == OTHER
    for cost, was in ((None, "switching_cost 2.0"), (3.0, "switching_cost 2.0")):
        with pytest.raises(hf.HoldfastError, match=was):
            reproduce(["stochastic-free"], out=tmp_path / "run", **SMALL, switching_cost=cost)
