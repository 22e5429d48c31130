"""One folder, one run: nothing lost, nothing touched that is not ours. Other runs, kills, full disks, users' files."""

import subprocess
from pathlib import Path

import pytest

from holdfast import HoldfastError
from holdfast.files import claimed
from holdfast.lab.paper.reproduce import load, reproduce
from holdfast.report.drawing import KINDS

pytestmark = pytest.mark.slow

SMALL = {"replications": 2, "horizon": 200, "n_arms": 3, "progress": False}


@pytest.fixture(scope="module", autouse=True)
def undrawn():
    """Drawing takes most of a small run, and is tested elsewhere: here a picture is what would be drawn, in words."""

    def write_words(chart, folder, name, title=""):
        for kind in KINDS:
            (folder / f"{name}.{kind}").write_text(f"{title}: {chart}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("holdfast.lab.paper.reproduce.write_images", write_words)
        yield


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---- reproduce in a folder with a history ----


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    folder = tmp_path_factory.mktemp("earlier")
    reproduce(["stochastic-free", "ties-stochastic"], out=folder, **SMALL)
    return folder


@pytest.fixture
def folder(earlier, tmp_path):
    subprocess.run(["cp", "-r", f"{earlier}/.", str(tmp_path)], check=True)
    return tmp_path


def test_files_of_a_user_are_refused_before_anything_is_played(tmp_path):
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "mine.parquet").write_text("mine")
    reproduce(["stochastic-free"], out=tmp_path, **SMALL)  # a folder of that name is no obstacle
    assert (tmp_path / "ledger" / "mine.parquet").read_text() == "mine"
    (tmp_path / "ties-stochastic.png").write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(HoldfastError, match=r"did not write: ties-stochastic\.png; move them away, or choose another"):
        reproduce(["ties-stochastic"], out=tmp_path, **SMALL)
    assert contents(tmp_path) == before


def test_a_subset_is_merged_into_a_fuller_folder(folder):
    before = contents(folder)
    made = reproduce(["adversarial"], out=folder, **SMALL)
    assert [figure.name for figure in made.findings.figures] == ["stochastic-free", "adversarial", "ties-stochastic"]
    after = contents(folder)
    assert {name for name in before if name.endswith(".parquet")} < set(after)
    for name, data in before.items():
        if name.endswith((".parquet", ".png")):
            assert after[name] == data, name
    page = after["report.html"].decode()
    for name in ("stochastic-free", "adversarial", "ties-stochastic"):
        assert f'<section id="{name}">' in page
    assert set(load(folder)) == set(made.findings)


@pytest.mark.parametrize("change", [{"seed": 5}, {"horizon": 300}, {"replications": 3}])
def test_a_subset_with_other_settings_is_refused(folder, change):
    before = contents(folder)
    old = {"seed": "seed 0", "horizon": "horizon 200", "replications": "replications 2"}[next(iter(change))]
    with pytest.raises(HoldfastError, match=rf"has 2 figures made with {old}: .*\(stochastic-free too\)"):
        reproduce(["ties-stochastic"], out=folder, **{**SMALL, **change})
    assert contents(folder) == before


def test_all_figures_of_a_folder_can_be_made_anew(folder):
    reproduce(["stochastic-free", "ties-stochastic"], out=folder, **{**SMALL, "seed": 5})
    assert load(folder).settings.seed == 5


def test_a_damaged_table_of_a_kept_figure_is_played_again(folder):
    sound = (folder / "ties-stochastic.parquet").read_bytes()
    (folder / "ties-stochastic.parquet").unlink()
    said = []
    reproduce(["adversarial"], out=folder, echo=said.append, **SMALL)
    assert said == ["ties-stochastic is played again: ties-stochastic.parquet not as written"]
    assert (folder / "ties-stochastic.parquet").read_bytes() == sound


def test_two_runs_at_once(tmp_path):
    with (
        claimed(tmp_path, "x"),
        pytest.raises(HoldfastError, match=r"another process is reproducing the paper in .*: wait for it to end"),
    ):
        reproduce(["ties-stochastic"], out=tmp_path, **SMALL)
