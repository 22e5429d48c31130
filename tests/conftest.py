"""For every test: a deadline; and Hypothesis gives the same examples in every run, fewer where nothing is compiled."""

import gc
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from chromium import Browser
from hypothesis import settings

from holdfast.kernels import COMPILED

common = {"derandomize": True, "deadline": None, "database": None}
settings.register_profile("compiled", max_examples=100, **common)
settings.register_profile("plain", max_examples=15, **common)
settings.load_profile("plain" if os.environ.get("NUMBA_DISABLE_JIT") == "1" else "compiled")

gc.set_threshold(50_000)  # else it looks through all of Numba's objects for 20 s of each worker's time

if COMPILED and os.name == "posix" and "PYTEST_XDIST_WORKER" in os.environ:
    from compiling_once import compile_once

    compile_once()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests slow that need a browser or a database server."""
    for item in items:
        if {"chromium", "postgres"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


DEADLINE = 480
"""Seconds after which a test has failed, whatever it waits for: a stream, a socket, a process, a thread."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End a test that hangs, so that the others go on and what it started is cleaned up."""
    if not hasattr(signal, "SIGALRM"):  # Windows: pytest shows where it is, and ends the run
        return (yield)

    def too_late(*_: object) -> None:
        pytest.fail(f"not done within {DEADLINE} s")  # no Exception, which a test or the package might catch

    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(DEADLINE)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a study file and returns its path."""

    def written(text: str, name: str = "study.toml") -> Path:
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return file

    return written


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The browser; at the end of each test its console must be empty."""
    chromium.complaints()
    yield chromium
    assert chromium.complaints() == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB, where the system lets us make one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    if (
        mount is None
        or subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("needs the right to mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
