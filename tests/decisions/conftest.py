"""A place for games in each kind of store."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import KINDS, NUMBERS, Place, fresh_schema
from postgres_server import PrivateServer, binaries

from holdfast.decisions.stores import store_at


@pytest.fixture(scope="session")
def postgres() -> Iterator[PrivateServer]:
    if binaries() is None and os.environ.get("CI") != "true":
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    with PrivateServer() as server:
        yield server


def place_in(kind: str, request: pytest.FixtureRequest, folder: Path) -> Place:
    if kind == "memory":
        return Place(kind, store_at("memory:"))
    if kind == "sqlite":
        return Place(kind, f"sqlite:///{folder}/games{next(NUMBERS)}.db")
    return Place(kind, fresh_schema(request.getfixturevalue("postgres")))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: what is tested here does not depend on the disk's speed."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        yield Path(name)


IN_LANES = [pytest.param(kind, marks=pytest.mark.slow) if kind == "postgresql" else kind for kind in KINDS]
"""`make check` starts no server."""


@pytest.fixture(params=IN_LANES)
def place(request: pytest.FixtureRequest, folder: Path) -> Place:
    return place_in(request.param, request, folder)


@pytest.fixture(params=IN_LANES[1:])
def lasting_place(request: pytest.FixtureRequest, folder: Path) -> Place:
    """A store that other processes can see."""
    return place_in(request.param, request, folder)
