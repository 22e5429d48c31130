"""The output files of a run: all of them or none, after kills and failures too; users' files stay as they are."""

import json
import os
from pathlib import Path

import pytest

from holdfast import BadSavedState, HoldfastError
from holdfast.files import write_whole
from holdfast.runs import NEW, Outputs, document


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def outputs(tmp_path):
    return Outputs(tmp_path, "a replay")


def test_a_run_replaces_its_own_files_and_no_others(tmp_path, outputs):
    (tmp_path / "notes").write_text("mine")
    outputs.write({"a": b"1", "sub/b": b"1"})
    outputs.write({"sub/b": b"2", "c": b"2"})
    found = contents(tmp_path)
    assert set(found) == {"notes", "sub/b", "c", "files.json"}
    assert found["sub/b"] == b"2"
    assert outputs.unchanged() == {"sub/b", "c"}


def test_what_is_kept_stays_unless_it_is_written_anew(tmp_path, outputs):
    outputs.write({"a": b"1", "b": b"1", "c": b"1"})

    def fill(new: Path) -> list[str]:
        write_whole(new / "b", b"2")
        return ["b"]

    outputs.replace(fill, keep=lambda name: name != "c")
    found = contents(tmp_path)
    del found["files.json"]
    assert found == {"a": b"1", "b": b"2"}
    assert outputs.unchanged() == {"a", "b"}


def test_an_output_that_was_edited_is_the_users(tmp_path, outputs):
    outputs.write({"a": b"1", "b": b"1"})
    (tmp_path / "a").write_bytes(b"edited")
    with pytest.raises(HoldfastError, match=r"files that a replay would replace but did not write: a; move them away"):
        outputs.write({"a": b"2", "b": b"2"})
    outputs.write({"c": b"2"})
    assert (tmp_path / "a").read_bytes() == b"edited"
    assert not (tmp_path / "b").exists()


def test_links_and_folders_in_the_way_are_foreign_too(tmp_path, outputs):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to(tmp_path / "nowhere")
    (tmp_path / "ledger").write_text("a file")
    with pytest.raises(HoldfastError, match=r"did not write: a, b, ledger;"):
        outputs.refuse_foreign(["a", "b", "ledger/x"])


def test_a_failed_write_leaves_the_old_files(tmp_path, outputs):
    outputs.write({"a": b"1"})
    before = contents(tmp_path)

    def fails(new: Path) -> list[str]:
        (new / "a").write_bytes(b"2")
        raise OSError(28, "No space left on device")

    with pytest.raises(HoldfastError, match=r"cannot be written: No space left on device$"):
        outputs.replace(fails)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("moved", [0, 1, 2, 3])
def test_a_move_that_was_killed_is_finished_by_the_next_run(tmp_path, outputs, moved):
    """A kill leaves the new files complete in the hidden folder, some of them moved already."""
    outputs.write({"a": b"1", "b": b"1", "old": b"1"})
    new = {"a": b"2", "b": b"2", "c": b"2"}
    elsewhere = Outputs(tmp_path / "elsewhere", "replay")
    elsewhere.folder.mkdir()
    elsewhere.write(new)
    os.replace(elsewhere.folder, tmp_path / NEW)
    for name in list(new)[:moved]:
        os.replace(tmp_path / NEW / name, tmp_path / name)
    outputs.recover()
    assert outputs.unchanged() == set(new)
    found = contents(tmp_path)
    del found["files.json"]
    assert found == new


def test_a_run_that_was_killed_while_writing_is_removed(tmp_path, outputs):
    outputs.write({"a": b"1"})
    before = contents(tmp_path)
    (tmp_path / NEW).mkdir()
    (tmp_path / NEW / "a").write_bytes(b"half")
    outputs.recover()
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "text", ["", "garbage", "[]", '{"a": 1}', '{"../a": "00"}', '{"/etc/passwd": "00"}', '{"": ""}', "\xff"]
)
def test_a_damaged_manifest_is_refused(tmp_path, outputs, text):
    (tmp_path / "files.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(BadSavedState, match=r"files\.json is damaged[^\n]*; choose another folder"):
        outputs.write({"a": b"1"})


def test_a_document_has_null_for_what_is_not_finite():
    value = {"a": [float("inf"), 1.5, (float("nan"),)], "b": {"c": -float("inf")}, "d": "∞"}
    assert json.loads(document(value)) == {"a": [None, 1.5, [None]], "b": {"c": None}, "d": "∞"}
