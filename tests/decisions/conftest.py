"""A place for games in each kind of store."""

import itertools
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres_server import PrivateServer, binaries

import holdfast as hf
from holdfast.decisions.stores import Store, store_at

KINDS = ("memory", "sqlite", "postgresql")
NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PrivateServer]:
    if binaries() is None and os.environ.get("CI") != "true":
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    with PrivateServer() as server:
        yield server


def fresh_schema(server: PrivateServer) -> str:
    """A URL with tables of its own."""
    schema = f"t{os.getpid()}_{next(NUMBERS)}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"{server.url}?options=-csearch_path%3D{schema}"


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Place:
    """A store that games are opened in, as often as one likes."""

    kind: str
    at: str | Store
    clock: Clock = field(default_factory=Clock)

    def open(self, name: str = "chat", policy: hf.Policy | None = None, **options: Any) -> hf.Router:
        """A handle of its own on a game; `memory:` lives in one store object."""
        return hf.open(self.at, name, policy, **{"clock": self.clock, **options})

    def store(self) -> Store:
        return self.at if isinstance(self.at, Store) else store_at(self.at)


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


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, folder: Path) -> Place:
    return place_in(request.param, request, folder)


@pytest.fixture(params=KINDS[1:])
def lasting_place(request: pytest.FixtureRequest, folder: Path) -> Place:
    """A store that other processes can see."""
    return place_in(request.param, request, folder)
