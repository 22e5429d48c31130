"""Sentences follow from the tables: turn the tables, and the sentences turn or go."""

import numpy as np
import polars as pl
import pytest

from holdfast.lab.paper.claims import Findings
from holdfast.lab.paper.plan import FIGURES, POLICIES, PaperSettings, PaperTables
from holdfast.lab.paper.report import FIGURE_NOTES, conclusions, figure_notes, overview
from holdfast.results import Result

RUNS = 30
rng = np.random.default_rng(8)


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
