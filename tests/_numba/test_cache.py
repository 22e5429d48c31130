"""The folder of machine code: limited in size, private, and believed only where nobody else can have written to it."""

import hashlib
import os
import pickle
import stat
import time
import warnings
from pathlib import Path

import platformdirs
import pytest
from processes import python

from holdfast._numba import cache

POSIX = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path))
    cache._warn.cache_clear()
    return tmp_path / "holdfast"


def test_without_a_setting_the_folder_is_where_the_system_keeps_caches(monkeypatch):
    monkeypatch.setattr(cache.config, "CACHE_DIR", "")
    assert cache.folder() == platformdirs.user_cache_path("holdfast", appauthor=False) / "kernels"


@POSIX
def test_folder_and_files_are_private(folder):
    before = os.umask(0)
    try:
        cache.write("key", b"code")
    finally:
        os.umask(before)
    assert cache.read("key") == b"code"
    (file,) = folder.iterdir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, file)] == [0o700, 0o600]


@POSIX
@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_may_write_to_is_refused_with_one_warning(folder, mode):
    cache.write("key", b"code")
    folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match=r"is not kept on disk: .*holdfast must be a folder that belongs to you"):
        assert cache.read("key") is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.read("key") is None
        cache.write("other", b"code")
    assert len(list(folder.iterdir())) == 1


@POSIX
def test_a_folder_of_another_owner_is_refused(folder, monkeypatch):
    cache.write("key", b"code")
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.warns(RuntimeWarning, match="belongs to you"):
        assert cache.read("key") is None


@POSIX
@pytest.mark.parametrize("change", ["others may write", "a link", "of another name"])
def test_a_file_that_may_be_anothers_is_not_believed(folder, tmp_path, change):
    cache.write("key", b"code")
    file, key = folder / "key.kernel", "key"
    if change == "others may write":
        file.chmod(0o622)
    elif change == "a link":
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
    else:
        key = "other"
        file.rename(folder / "other.kernel")
    assert cache.read(key) is None


def test_beyond_the_limit_the_file_goes_whose_last_use_is_longest_ago(folder, monkeypatch):
    monkeypatch.setattr(cache, "LIMIT", 3 * 132)  # each has a digest of 32 bytes
    for age, key in enumerate("cba", start=1):
        cache.write(key, bytes(100))
        os.utime(folder / f"{key}.kernel", (time.time() - 100 * age,) * 2)
    assert cache.read("a") == bytes(100)  # the oldest, used again
    cache.write("d", bytes(100))
    assert {entry.file.stem for entry in cache.entries()} == {"a", "c", "d"}
    assert sum(entry.size for entry in cache.entries()) == cache.LIMIT


def test_what_a_killed_process_left_is_removed_in_time(folder):
    cache.write("key", b"code")
    for name, age in (("old.part", 2 * cache.ABANDONED), ("new.part", 0.0)):
        (folder / name).write_bytes(b"half")
        os.utime(folder / name, (time.time() - age,) * 2)
    cache.write("other", b"code")
    assert {file.name for file in folder.iterdir()} == {"key.kernel", "other.kernel", "new.part"}


def test_clear_leaves_nothing(folder):
    for key in "ab":
        cache.write(key, b"code")
    assert len(cache.clear()) == 2
    assert cache.entries() == []
    assert cache.clear() == []


PROGRAM = """
from holdfast.kernels import kernel

@kernel
def successor(x):
    return x + 1.0

print(successor(1.0))
"""


class Attack:
    """Files that a stranger might leave in the folder."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("shared", ["folder", "file"])
def test_the_code_of_a_stranger_is_not_run(tmp_path, shared):
    """He can compute the digest, and write where others may write."""
    assert python(PROGRAM, cache=tmp_path).stdout == "2.0\n"
    (file,) = tmp_path.rglob("*.kernel")
    content = pickle.dumps(Attack(tmp_path / "attacked"))
    file.write_bytes(hashlib.sha256(file.stem.encode() + content).digest() + content)
    (file.parent if shared == "folder" else file).chmod(0o777)
    done = python(PROGRAM, cache=tmp_path)
    assert done.stdout == "2.0\n"
    assert not (tmp_path / "attacked").exists()
    assert done.stderr.count("compiled code is not kept on disk") == (shared == "folder")
