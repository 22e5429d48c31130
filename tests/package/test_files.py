"""Complete files and claimed folders."""

import errno
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import holdfast as hf
from holdfast.files import DRAFTS, LOCK, STALE, claimed, remove_drafts, whole_file, write_whole


def test_a_file_is_replaced_whole(tmp_path):
    file = tmp_path / "a.txt"
    for data in (b"old", b"new and longer", b""):
        assert write_whole(file, data) == file
        assert file.read_bytes() == data
        assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_is_one_line_and_leaves_the_old_file(tmp_path, monkeypatch, call):
    file = write_whole(tmp_path / "a.txt", b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(hf.HoldfastError, match=r"a\.txt cannot be written: No space left on device$"):
        write_whole(file, b"new")
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("name", ["none/a.txt", "a\0b", "x" * 300, ""])
def test_a_name_that_cannot_be_written_is_one_line(tmp_path, name):
    with pytest.raises(hf.HoldfastError, match=r"(cannot be written: [^\n]+|must name a file; got '.*')$"):
        write_whole(tmp_path / name if name else "", b"")


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path):
    (tmp_path / "inner").mkdir()
    for name in (".holdfast-00ff.part", "inner/.holdfast-12.part", "mine.part", ".part"):
        (tmp_path / name).touch()
    remove_drafts(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".part", "inner", "mine.part"]
    assert os.listdir(tmp_path / "inner") == []


def test_one_process_at_a_time(tmp_path):
    out = tmp_path / "deep" / "out"
    code = f"from holdfast.files import claimed\nwith claimed({str(out)!r}, 'playing'): pass"
    with claimed(out, "drawing"):
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert other.stderr.splitlines()[-1].endswith(
            f"HoldfastError: another process is playing in {out}: wait for it to end"
        )
        with (
            pytest.raises(hf.HoldfastError, match=r"another process is here too in .*out: wait"),
            claimed(out, "here too"),
        ):
            raise AssertionError
        (out / "kept").touch()
    assert os.listdir(out) == ["kept"]
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_killed_process_holds_nothing(tmp_path):
    out = tmp_path / "out"
    code = (
        "import os, signal\nfrom holdfast.files import claimed\n"
        f"with claimed({str(out)!r}, 'playing'): os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode != 0
    assert os.listdir(out) == [LOCK]
    with claimed(out, "playing"):
        pass
    assert os.listdir(out) == []  # it was there before, so it stays


def test_only_folders_made_here_go_again(tmp_path):
    with pytest.raises(KeyError), claimed(tmp_path / "a" / "b", "playing"):
        raise KeyError
    assert os.listdir(tmp_path) == []
    (tmp_path / "a").mkdir()
    with claimed(tmp_path / "a" / "b", "playing"):
        pass
    assert os.listdir(tmp_path) == ["a"]


def test_no_folder(tmp_path):
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "a\0b", "/proc/none"):
        with (
            pytest.raises(hf.HoldfastError, match=r"^out must be a folder that can be written to; got .* \([^\n]+\)$"),
            claimed(place, "playing"),
        ):
            raise AssertionError


def test_a_file_system_without_locks_keeps_nobody_out(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", none)
    with claimed(tmp_path, "playing"):
        assert os.listdir(tmp_path) == [LOCK]


# ---- several writers, killed writers ----

WRITE_FOR_EVER = """
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from holdfast.files import whole_file
letter = sys.argv[2].encode()
print("ready", flush=True)
while True:
    with whole_file(sys.argv[1]) as out:
        for _ in range(64):
            out.write(letter * 4096)
"""


def writer(file: Path, letter: str) -> subprocess.Popen:
    process = subprocess.Popen([sys.executable, "-c", WRITE_FOR_EVER, str(file), letter], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    return process


def test_readers_of_a_file_that_several_processes_write_see_one_of_the_versions(tmp_path):
    file = write_whole(tmp_path / "shared", b"a" * 64 * 4096)
    processes = [writer(file, letter) for letter in "abc"]
    try:
        seen, deadline = set(), time.monotonic() + 120
        while len(seen) < 20 and time.monotonic() < deadline:
            data = file.read_bytes()
            assert len(data) == 64 * 4096
            assert data == data[:1] * len(data)
            seen.add(file.stat().st_mtime_ns)
    finally:
        for process in processes:
            process.kill()
            process.wait(timeout=120)
            process.stdout.close()
    assert len(seen) == 20


def test_a_killed_writer_leaves_the_old_file_and_its_draft_goes_with_a_later_write(tmp_path):
    file = tmp_path / "a"
    write_whole(file, b"old")
    code = (
        "import os, signal, sys\nfrom holdfast.files import whole_file\n"
        "with whole_file(sys.argv[1]) as out:\n    out.write(b'new')\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(file)], check=False).returncode < 0
    assert file.read_bytes() == b"old"
    (draft,) = tmp_path.glob(DRAFTS)
    write_whole(file, b"newer")
    assert draft.exists()  # so young, it may be a process that is still writing
    os.utime(draft, (0, time.time() - STALE - 1))
    write_whole(file, b"newest")
    assert os.listdir(tmp_path) == ["a"]


def test_an_error_in_the_block_leaves_the_old_file(tmp_path):
    file = write_whole(tmp_path / "a", b"old")

    def fail(error: BaseException) -> None:
        with whole_file(file) as out:
            out.write(b"new")
            raise error

    for error in (KeyError("k"), hf.StoreError("the store"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            fail(error)
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_has_the_permissions_that_others_made_here_have(tmp_path):
    (tmp_path / "usual").touch()
    assert write_whole(tmp_path / "a", b"").stat().st_mode == (tmp_path / "usual").stat().st_mode
