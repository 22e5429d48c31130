"""`reproduce` from end to end, cut down: fewer figures, a short horizon, two or three replications.

What the paper has; other K, T and λ, which stand with every figure and verdict; further policies beside the paper's.
"""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from documents import MOST_BYTES, write_reproduction
from typer.testing import CliRunner

import holdfast as hf
from holdfast import BadSavedState, HoldfastError, simulate
from holdfast.cli import app
from holdfast.lab.paper.claims import EXPERIMENT_CLAIMS, Findings
from holdfast.lab.paper.plan import FIGURES, POLICIES, PaperSettings, chosen, guarantees, paper_plan
from holdfast.lab.paper.report import changes, conclusions, figure_notes
from holdfast.lab.paper.reproduce import Reproduction, load, reproduce
from holdfast.lab.tables import play
from holdfast.results import SCHEMA, Result
from holdfast.simulation import contract
from holdfast.simulation.backends import Backend

pytestmark = pytest.mark.slow

NAMES = ["stochastic-easy", "constrained-easy", "ties-stochastic", "varying-cost"]
MADE = {"replications": 3, "horizon": 2000, "n_arms": 4, "seed": 11, "progress": False}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return reproduce(NAMES, out=tmp_path_factory.mktemp("run") / "new" / "out", **MADE)


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_everything_is_there_and_in_the_manifest(made: Reproduction) -> None:
    found = set(contents(made.out))
    for name in NAMES:
        assert {f"{name}.{kind}" for kind in ("parquet", "png", "svg", "pdf")} <= found
    assert {"constrained-easy.shuffled.parquet", "varying-cost.constrained.parquet"} <= found
    assert {"ledger.json", "report.html", "ledger/long-ties-stochastic.parquet"} <= found
    assert not any(name.rsplit("/")[-1].startswith(".") for name in found)
    assert set(json.loads((made.out / "reproduction.json").read_text())) == found - {"reproduction.json"}


def test_tables(made: Reproduction) -> None:
    for name in ("stochastic-easy", "constrained-easy.shuffled"):
        frame = Result.read(made.out / f"{name}.parquet").frame
        assert dict(frame.schema) == SCHEMA
        assert frame["replication"].unique().to_list() == [0, 1, 2]
        assert frame["round"].n_unique() == 100
        assert frame["round"].max() == MADE["horizon"]
        assert frame["policy"].n_unique() == 6
    assert Result.read(made.out / "ties-stochastic.parquet").policies == ["1", "2", "3"]
    assert Result.read(made.out / "varying-cost.parquet").policies == ["0.25", "0.5", "1"]


def test_a_table_is_what_simulate_gives(made: Reproduction) -> None:
    (cell,) = FIGURES["stochastic-easy"].rows[0].cells(PaperSettings(3, 2000, 4, 11))
    alone = simulate(
        cell.policies, cell.environment, horizon=2000, switching_cost=cell.switching_cost, replications=3, seed=11
    )
    found = Result.read(made.out / "stochastic-easy.parquet")
    assert found.frame.equals(alone.frame)
    assert found.provenance == alone.provenance


def test_ledger(made: Reproduction) -> None:
    saved = json.loads((made.out / "ledger.json").read_text(encoding="utf-8"))
    assert saved["settings"] == {"replications": 3, "horizon": 2000, "n_arms": 4, "seed": 11}
    assert saved["figures"] == NAMES
    ids = [verdict["id"] for verdict in saved["verdicts"]]
    assert ids == [verdict.id for verdict in made.verdicts]
    assert {"easy-tsallis-inf-best", "growth-unique", "varying-tuning-loses", "ties-stochastic-cost"} <= set(ids)
    assert not any(id.startswith(("hard", "adversarial")) for id in ids)
    for verdict in saved["verdicts"]:
        assert verdict["verdict"] in ("holds", "fails", "conditional")
        assert bool(verdict["condition"]) == (verdict["verdict"] == "conditional")
        assert verdict["parts"]


def test_document(made: Reproduction, tmp_path: Path) -> None:
    text = write_reproduction(made.out, tmp_path / "docs" / "page.md").read_text(encoding="utf-8")
    assert "holdfast reproduce --replications 3 --horizon 2000 --arms 4 --seed 11" in text
    for name in NAMES:
        assert f"(figures/{name}.png)" in text
        assert (tmp_path / "docs" / "figures" / f"{name}.png").stat().st_size <= MOST_BYTES
    rows = [line for line in text.splitlines() if line.startswith(("| ✓", "| ◐", "| ✗"))]
    assert len(rows) == len(made.verdicts)
    for verdict, row in zip(made.verdicts, rows, strict=True):
        assert f"`{verdict.id}`" in row
        assert verdict.verdict in row
        assert row.count("|") - row.count("\\|") == 5


def test_the_same_seed_gives_the_same_bytes(made: Reproduction, tmp_path: Path) -> None:
    name = "ties-stochastic"
    reproduce([name], out=tmp_path / "same", workers=1, **MADE)
    reproduce([name], out=tmp_path / "other", **{**MADE, "seed": 12})
    first, same, other = (
        (d / f"{name}.parquet").read_bytes() for d in (made.out, tmp_path / "same", tmp_path / "other")
    )
    assert first == same != other


@pytest.mark.parametrize(
    ("figures", "changes", "says"),
    [
        (None, {"replications": 0}, "replications must be"),
        (None, {"horizon": 10}, "horizon must be"),
        (None, {"n_arms": 1}, "n_arms must be"),
        (None, {"seed": -1}, "seed must not be"),
        (["stochastic-esy"], {}, "did you mean 'stochastic-easy'"),
        (None, {"backend": "thread"}, "did you mean 'threads'"),
        (None, {"workers": 0}, "workers must be"),
    ],
)
def test_bad_input_leaves_nothing(tmp_path: Path, figures: object, changes: dict[str, object], says: str) -> None:
    with pytest.raises(HoldfastError, match=says):
        reproduce(figures, out=tmp_path / "out", **{**MADE, **changes})
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_playing_leaves_nothing(tmp_path: Path) -> None:
    class Broken(Backend):
        name = "broken"
        width = 1

        def run(self, tasks: object, done: object) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(["arms"], out=tmp_path / "a" / "b", backend=Broken(), **MADE)
    assert list(tmp_path.iterdir()) == []


def test_only_what_reproduce_wrote_can_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(BadSavedState, match="holdfast reproduce"):
        load(tmp_path)
    (tmp_path / "ledger.json").write_text('{"settings": {}, "figures": ["arms"]}')
    with pytest.raises(BadSavedState, match=r"arms\.parquet"):
        load(tmp_path)


def test_figures_are_in_the_papers_order_and_once() -> None:
    assert [figure.name for figure in chosen(["arms", "adversarial", "arms"])] == ["adversarial", "arms"]
    assert len(chosen(None)) == len(chosen([])) == 11


def test_without_matplotlib_nothing_is_played(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from holdfast.lab.paper.reproduce import reproduce\n"
        f"reproduce(['arms'], out={str(tmp_path / 'out')!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("drawing needs matplotlib: pip install 'holdfast[report]'")
    assert list(tmp_path.iterdir()) == []


# ---- other K, T and λ than the paper's

SMALL = {"replications": 2, "horizon": 300, "n_arms": 3}
OTHER = PaperSettings(**SMALL, switching_cost=2.0)


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


# ---- `holdfast reproduce --with adaptive`: a further curve where the paper compares policies, and nothing else changed

SEEDED = SMALL | {"seed": 4}
ASKED = ["stochastic-hard", "ties-stochastic"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    out = tmp_path_factory.mktemp("further")
    plain = reproduce(ASKED, out=out / "plain", **SEEDED)
    return plain, reproduce(ASKED, out=out / "with", **SEEDED, further=["adaptive"])


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
    assert plain == SEEDED


def test_figures_with_and_without_are_not_mixed(runs):
    plain, further = runs
    for run, asked in ((plain, ["adaptive"]), (further, [])):
        with pytest.raises(hf.HoldfastError, match="further"):
            reproduce(["stochastic-free"], out=run.out, **SEEDED, further=asked)


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
    made = reproduce(["stochastic-hard"], out=tmp_path / "run", **SEEDED, further=asked)
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
