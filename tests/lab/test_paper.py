"""`reproduce` from end to end, cut down: fewer figures, a short horizon, three replications."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from documents import MOST_BYTES, write_reproduction

from holdfast import BadSavedState, HoldfastError, simulate
from holdfast.lab.paper.plan import FIGURES, PaperSettings, chosen
from holdfast.lab.paper.reproduce import Reproduction, load, reproduce
from holdfast.results import SCHEMA, Result
from holdfast.simulation.backends import Backend

pytestmark = pytest.mark.slow

NAMES = ["stochastic-easy", "constrained-easy", "ties-stochastic", "varying-cost"]
SMALL = {"replications": 3, "horizon": 2000, "n_arms": 4, "seed": 11, "progress": False}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return reproduce(NAMES, out=tmp_path_factory.mktemp("run") / "new" / "out", **SMALL)


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
        assert frame["round"].max() == SMALL["horizon"]
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
    reproduce([name], out=tmp_path / "same", workers=1, **SMALL)
    reproduce([name], out=tmp_path / "other", **{**SMALL, "seed": 12})
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
        reproduce(figures, out=tmp_path / "out", **{**SMALL, **changes})
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_playing_leaves_nothing(tmp_path: Path) -> None:
    class Broken(Backend):
        name = "broken"
        width = 1

        def run(self, tasks: object, done: object) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(["arms"], out=tmp_path / "a" / "b", backend=Broken(), **SMALL)
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
