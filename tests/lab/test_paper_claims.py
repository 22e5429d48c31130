"""What a reproduction says: sentences that follow from the tables, the terminal, changed settings, proved bounds."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from made_results import made

import holdfast as hf
from holdfast.lab.judge import Verdict
from holdfast.lab.paper.claims import CLAIMS, Findings
from holdfast.lab.paper.plan import FIGURES, POLICIES, PaperSettings, PaperTables, chosen, guarantees, rows_of
from holdfast.lab.paper.report import (
    FIGURE_NOTES,
    conclusions,
    facts_of,
    figure_notes,
    ledger,
    overview,
    summary,
    title_of,
)
from holdfast.lab.paper.reproduce import _read
from holdfast.lab.plan import Cell
from holdfast.results import Result
from holdfast.simulation import Power

RUNS = 30
rng = np.random.default_rng(8)


@pytest.fixture(autouse=True)
def begun_anew() -> None:
    """The same noise in a test whatever was tested before it."""
    rng.bit_generator.state = np.random.default_rng(8).bit_generator.state


def result(finals: dict[str, tuple[float, float]], noise: float = 0.02) -> Result:
    """Series that grow evenly to their final regret and switches."""
    marks = np.array([1000 * i for i in range(1, 101)])
    parts = []
    for policy, (regret, switches) in finals.items():
        factor = 1 + noise * rng.standard_normal((RUNS, 1))
        r, s = (np.ravel(final * factor * marks / marks[-1]) for final in (regret, switches))
        keys = {"replication": np.repeat(np.arange(RUNS), marks.size), "round": np.tile(marks, RUNS)}
        measures = {"pseudo_regret": r, "switches": np.round(s).astype(int), "regret_with_switching": r + s}
        parts.append(pl.DataFrame({"policy": [policy] * r.size, **keys, **measures}))
    return Result(pl.concat(parts))


def findings(noise: float = 0.02, **tables: dict[str, tuple[float, float]]) -> Findings:
    named = {name.replace("_", "-"): result(finals, noise) for name, finals in tables.items()}
    return Findings(named, PaperSettings(), tuple(f for f in FIGURES.values() if f.name in named))


HARD = dict.fromkeys(POLICIES, (3000.0, 3000.0)) | {"tsallis-inf": (800.0, 25000.0), "exp3": (900.0, 33000.0)}


def test_blocks_pay_or_not_or_it_is_not_decided():
    (said, *_) = conclusions(findings(stochastic_hard=HARD))
    assert "without blocks Tsallis-INF pays 4.3" in said
    (said, *_) = conclusions(findings(stochastic_hard=HARD | {"tsallis-inf": (800.0, 200.0)}))
    assert "blocks do not pay here, Tsallis-Switch pays 6" in said
    (said, *_) = conclusions(findings(stochastic_hard=dict.fromkeys(POLICIES, (3000.0, 3000.0)), noise=0.3))
    assert f"whether blocks pay is not decided at {RUNS} replications" in said


def test_the_adversary():
    recovers = dict.fromkeys(POLICIES, (100.0, 1000.0))
    lost = recovers | {"base-arithmetic": (90_000.0, 20.0), "base-geometric": (90_000.0, 20.0)}
    assert "rely on stochastic losses pay more" in conclusions(findings(adversarial=lost))[0]
    linear = lost | {"base-arithmetic": (100_000.0, 20.0), "base-geometric": (100_000.0, 20.0)}
    assert "still lose a whole loss per round" in conclusions(findings(adversarial=linear))[0]
    wins = recovers | {"base-arithmetic": (10.0, 20.0), "base-geometric": (10.0, 20.0)}
    assert "elimination still wins here" in conclusions(findings(adversarial=wins))[0]


def test_at_most_five_sentences_of_a_run_that_has_what_they_need():
    assert 1 <= len(conclusions(findings(stochastic_hard=HARD))) <= 5
    assert conclusions(findings()) == []


def test_the_overview_leaves_undecided_cells_without_colour():
    seen = overview(findings(stochastic_hard=HARD))
    assert seen is not None
    values = dict(zip(seen.rows, seen.values[:, 0], strict=True))
    assert values["tsallis-inf"] == pytest.approx(4.3, rel=0.02)
    assert np.isnan(values["tsallis-switch"])  # equal to itself
    assert overview(findings(arms={"2": (1.0, 1.0)})) is None


def test_a_remark_is_made_only_where_it_is_true():
    first, second = (remark.words for remark in FIGURE_NOTES["stochastic-hard"])
    said = figure_notes("stochastic-hard", findings(stochastic_hard=HARD))
    assert first in said
    turned = HARD | {"tsallis-inf": (5000.0, 100.0)}
    assert figure_notes("stochastic-hard", findings(stochastic_hard=turned)) == []
    assert second


def test_every_figure_has_remarks_and_what_needs_no_measuring_is_always_said():
    assert set(FIGURE_NOTES) == set(FIGURES)
    free = result(dict.fromkeys(POLICIES, (100.0, 100.0)))
    said = figure_notes("stochastic-free", PaperTables({"stochastic-free": free}, PaperSettings()))
    assert said == [FIGURE_NOTES["stochastic-free"][0].words]


# ---- the terminal: at most forty lines, ids whole, no LaTeX


def verdicts(kinds: str) -> list[Verdict]:
    """Made-up verdicts on the paper's claims: f, c or h for each."""
    words = {"f": "fails", "c": "conditional", "h": "holds"}
    given = (kinds * len(CLAIMS))[: len(CLAIMS)]
    limit = "holds for T^{2/3}"
    return [
        Verdict(c.id, c.sentence, c.place, f"{c.rule}.", "", words[k], limit if k == "c" else "", 30, "", 0.99, {}, ())
        for c, k in zip(CLAIMS, given, strict=True)
    ]


@pytest.mark.parametrize("kinds", ["h", "hhhc", "hhhhhhhhf", "c", "f", "fc"])
@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_the_end_of_a_run(kinds, width):
    given = verdicts(kinds)
    lines = [*summary(10, given, width), "The report is x"]
    assert len(lines) <= 40
    assert not any("{" in line or "^{" in line for line in lines)
    text = "\n".join(lines)
    unclear = [v for v in given if v.verdict != "holds"]
    named = [v for v in unclear if re.search(rf"^[✗◐] {v.id}( |$)", text, re.MULTILINE)]
    assert len(named) == min(len(unclear), 30)
    assert "; 40 claims of the paper: " in lines[0]
    assert lines[1].startswith("7 claims of ours about it: ")
    if width >= 80:
        assert max(map(len, lines)) <= width
    if len(unclear) > 30:
        assert f"and {len(unclear) - 30} more" in text


def test_failing_claims_come_first():
    lines = summary(10, verdicts("chf"), 80)
    signs = [line[0] for line in lines[:-1] if line[:2] in ("✗ ", "◐ ")]
    assert signs == sorted(signs, key="✗◐".index)


@pytest.mark.parametrize("width", [40, 80])
def test_all_of_it(width):
    given = verdicts("hcf")
    lines = ledger(given, width)
    assert "{" not in "\n".join(lines)
    for verdict in given:
        assert any(line[2:].startswith(f"{verdict.id}: {verdict.verdict}") for line in lines)
    assert any("Condition: holds for T^(2/3)" in line for line in lines)
    assert lines[0].startswith("✗")


# ---- other K, T and λ than the paper's stand with every figure and fact

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


# ---- bounds shown with a series: only those proved of the policy it plays, in the game it plays

GAME = hf.Bernoulli.with_gap(4, 0.1)


def promised(policy: hf.Policy, cost: float | Power = 1.0) -> set[str]:
    return {guarantee.bound for guarantee in guarantees(Cell({"it": policy}, GAME, cost, 1000, (1000,)))}


THEOREM_4 = {"theorem-4", "theorem-4-unique"}


@pytest.mark.parametrize(
    ("policy", "cost", "bounds"),
    [
        (hf.TsallisSwitch(4, switching_cost=1.0), 1.0, {"theorem-1", "theorem-1-unique", "blocks"}),
        *((hf.TsallisSwitch(4, switching_cost=1.0), cost, {"blocks"}) for cost in (0.5, 2.0, 0.0, Power(0.5))),
        (hf.TsallisSwitch(4, block_lengths=lambda n: 3, learning_rates=lambda n: 1 / n), 1.0, set()),
        (hf.TsallisSwitch(4, switching_cost=1.0, units=(0.0, 2.0)), 1.0, set()),
        (hf.TsallisInf(4, estimator="reduced-variance"), 1.0, set()),
        (hf.TsallisInf(4, loss_bound=0.5), 1.0, set()),
        (hf.TsallisInf(4), 1.0, {"corollary-3", "corollary-3-unique", "tsallis-inf-unique"}),
        (hf.Exp3(4), 1.0, {"exp3"}),
        (hf.BaSE(4, horizon=1000), 1.0, set()),
        (hf.VaryingTsallisSwitch(4), Power(0.5), THEOREM_4 | {"corollary-5"}),
        (hf.VaryingTsallisSwitch(4), 1.0, THEOREM_4),
    ],
)
def test_a_policy_is_promised_what_is_proved_of_it(policy, cost, bounds):
    """Theorem 1 for its own schedule and cost; at another cost its blocks alone."""
    assert promised(policy, cost) == bounds


def test_the_bound_is_at_the_cost_of_the_game():
    cell = Cell({"it": hf.TsallisSwitch(4, switching_cost=0.3)}, GAME, 0.3, 1000, (1000,))
    (found,) = [g for g in guarantees(cell) if g.bound == "theorem-1"]
    assert found.value(horizon=1000) == hf.bounds.theorem_1(n_arms=4, switching_cost=0.3, horizon=1000)


def test_theorem_2_for_who_is_told_the_ranges():
    """With one range for all rounds it is Corollary 3's bound, up to the sum over rounds."""
    world = hf.VaryingRanges([0.3, 0.5, 0.5, 0.5], [1.0])
    policies = {"told": hf.TsallisInf(4, loss_bound="announced"), "not told": hf.TsallisInf(4)}
    found = {(g.series, g.bound): g for g in guarantees(Cell(policies, world, 0.0, 1000, (1000,)))}
    assert found.keys() == {("told", "theorem-2"), ("told", "theorem-2-unique"), ("not told", "corollary-3")}
    rates = 2 / np.arange(1, 1001) ** 0.5
    assert found["told", "theorem-2"].value(horizon=1000) == hf.bounds.theorem_2(
        n_arms=4, learning_rates=rates, ranges=1.0
    )
    printed = hf.bounds.theorem_2_constrained(n_arms=4, learning_rates=rates, ranges=1.0, gaps=0.2)
    assert found["told", "theorem-2-unique"].value(horizon=1000) == pytest.approx(printed, rel=1e-12)
    assert found["told", "theorem-2"].value(horizon=1000) < hf.bounds.corollary_3(n_arms=4, horizon=1000)
    assert promised(policies["told"]) == set()


def test_a_table_of_few_replications_is_read_again_with_all_that_claims_are_judged_by(tmp_path: Path) -> None:
    row, settings = rows_of(chosen(["stochastic-hard"]))[0], PaperSettings(replications=2)
    for name, runs in row.files(settings).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        made(exp3=[0.5] * runs).write(tmp_path / name)
    assert _read(row, tmp_path, settings).frame.height == settings.judged > 2
