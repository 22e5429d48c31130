"""One folder, one run: nothing lost, nothing touched that is not ours. Other runs, kills, full disks, users' files."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast import BadSavedState, HoldfastError
from holdfast.files import Manifest, claimed
from holdfast.paper.folder import ASIDE, MANIFEST, ours, put, refuse_strangers
from holdfast.paper.reproduce import load, reproduce

SMALL = {"replications": 2, "horizon": 200, "n_arms": 3, "progress": False}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def written(**files: bytes):
    """A run that writes these files."""

    def write(aside: Path) -> list[str]:
        for name, data in files.items():
            (aside / name).write_bytes(data)
        return list(files)

    return write


def nothing(name: str) -> bool:
    return False


# ---- the swap ----


def test_a_run_replaces_its_own_files_and_no_others(tmp_path):
    (tmp_path / "notes").write_text("mine")
    put(tmp_path, ours(tmp_path), written(a=b"1", b=b"1"), nothing)
    put(tmp_path, ours(tmp_path), written(b=b"2", c=b"2"), nothing)
    found = contents(tmp_path)
    assert set(found) == {"notes", "b", "c", MANIFEST}
    assert found["b"] == b"2"


def test_a_file_of_ours_that_was_edited_is_the_users(tmp_path):
    put(tmp_path, ours(tmp_path), written(a=b"1", b=b"1"), nothing)
    (tmp_path / "a").write_bytes(b"edited")
    with pytest.raises(HoldfastError, match=r"files that a reproduction would replace and that none wrote: a; move"):
        refuse_strangers(tmp_path, ours(tmp_path), ["a", "b"])
    put(tmp_path, ours(tmp_path), written(c=b"2"), nothing)
    assert (tmp_path / "a").read_bytes() == b"edited"
    assert not (tmp_path / "b").exists()


def test_links_and_folders_in_the_way_are_strangers_too(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to(tmp_path / "nowhere")
    (tmp_path / "ledger").write_text("a file")
    with pytest.raises(HoldfastError, match=r"none wrote: a, b, ledger;"):
        refuse_strangers(tmp_path, Manifest(tmp_path), ["a", "b", "ledger/x"])


def test_a_failed_write_leaves_the_old_run(tmp_path):
    put(tmp_path, ours(tmp_path), written(a=b"1"), nothing)
    before = contents(tmp_path)

    def fails(aside: Path) -> list[str]:
        (aside / "a").write_bytes(b"2")
        raise OSError(28, "No space left on device")

    with pytest.raises(HoldfastError, match=r"cannot be written: No space left on device$"):
        put(tmp_path, ours(tmp_path), fails, nothing)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("moved", [0, 1, 2, 3])
def test_a_swap_that_was_killed_is_finished_by_the_next_run(tmp_path, moved):
    """As a kill leaves it: the new run whole aside, some of its files already in their place."""
    put(tmp_path, ours(tmp_path), written(a=b"1", b=b"1", old=b"1"), nothing)
    new = {"a": b"2", "b": b"2", "c": b"2"}
    aside = tmp_path / ASIDE
    aside.mkdir()
    staged = Manifest(aside)
    for name, data in new.items():
        staged.write(name, data)
    staged.save(MANIFEST)
    for name in list(new)[:moved]:
        os.replace(aside / name, tmp_path / name)
    assert set(ours(tmp_path).digests) == set(new)
    found = contents(tmp_path)
    found.pop(MANIFEST)
    assert found == new


def test_a_run_that_was_killed_while_writing_is_cleared_away(tmp_path):
    put(tmp_path, ours(tmp_path), written(a=b"1"), nothing)
    before = contents(tmp_path)
    (tmp_path / ASIDE).mkdir()
    (tmp_path / ASIDE / "a").write_bytes(b"half")
    ours(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("text", ["garbage", "[]", '{"../x": "0"}', '{"a": 1}'])
def test_a_damaged_manifest_is_one_line(tmp_path, text):
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(BadSavedState, match=r"reproduction\.json is damaged.*; choose another folder"):
        ours(tmp_path)


# ---- reproduce in a folder with a history ----


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    folder = tmp_path_factory.mktemp("earlier")
    reproduce(["stochastic-free", "ties-stochastic"], out=folder, **SMALL)
    return folder


@pytest.fixture
def folder(earlier, tmp_path):
    """A folder with an earlier run of two figures."""
    subprocess.run(["cp", "-r", f"{earlier}/.", str(tmp_path)], check=True)
    return tmp_path


def test_files_of_a_user_are_refused_before_anything_is_played(tmp_path):
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "mine.parquet").write_text("mine")
    reproduce(["stochastic-free"], out=tmp_path, **SMALL)  # a folder of that name is no obstacle
    assert (tmp_path / "ledger" / "mine.parquet").read_text() == "mine"
    (tmp_path / "ties-stochastic.png").write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(HoldfastError, match=r"none wrote: ties-stochastic\.png; move them away, or choose another"):
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
    assert set(load(folder).tables) == set(made.findings.tables)


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


def test_a_folder_of_0_2_0_has_no_manifest_and_is_left_alone(folder):
    (folder / MANIFEST).unlink()
    before = contents(folder)
    with pytest.raises(HoldfastError, match=r"that none wrote: .* and \d+ more; move them away"):
        reproduce(["stochastic-free", "ties-stochastic"], out=folder, **SMALL)
    assert contents(folder) == before


def test_two_runs_at_once(tmp_path):
    with (
        claimed(tmp_path, "x"),
        pytest.raises(HoldfastError, match=r"another process is reproducing the paper in .*: wait for it to end"),
    ):
        reproduce(["ties-stochastic"], out=tmp_path, **SMALL)


@pytest.mark.parametrize("reached", ["", "ledger.json", "report.html", MANIFEST])
def test_killed_at_any_moment_the_folder_has_one_whole_run(folder, reached):
    """Killed while it replaces a run, once it has written so much: what is left loads, as the old run or the new."""
    code = (
        "from holdfast.paper.reproduce import reproduce\n"
        f"reproduce(['stochastic-free', 'ties-stochastic'], out={str(folder)!r}, **{ {**SMALL, 'seed': 5}!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    while process.poll() is None and not (folder / ASIDE / reached).exists():
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with claimed(folder, "looking"):
        ours(folder)
    assert load(folder).settings.seed in (0, 5)


@pytest.fixture
def full_disk(tmp_path_factory):
    """A file system that is soon full, where this process may mount one."""
    place = tmp_path_factory.mktemp("small")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)], check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_one_line_and_keeps_the_old_run(full_disk):
    reproduce(["stochastic-free"], out=full_disk, **SMALL)
    before = contents(full_disk)
    filler = full_disk.parent / full_disk.name / "filler"
    with filler.open("wb") as opened:
        room = os.statvfs(full_disk).f_bavail * os.statvfs(full_disk).f_frsize
        opened.write(b"x" * max(room - 300_000, 0))
    for seed in (1, 2):
        with pytest.raises(HoldfastError, match=r"No space left on device$"):
            reproduce(["stochastic-free"], out=full_disk, **{**SMALL, "seed": seed})
        filler.rename(filler)
        found = contents(full_disk)
        found.pop("filler")
        assert found == before
