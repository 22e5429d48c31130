"""Servers for tests."""

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from service import GAME, InThread, Web

from holdfast.service.access import TokenFile

NUMBERS = itertools.count()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: what is tested here does not depend on the disk's speed."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        yield Path(name)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A server without tokens, for tests that each use a game of their own."""
    with InThread(f"sqlite:///{tmp_path_factory.mktemp('store')}/games.db") as found:
        yield found


@pytest.fixture
def game(web: Web) -> str:
    """The path of a fresh game."""
    path = f"/v1/games/game-{next(NUMBERS)}"
    assert web("PUT", path, GAME).status == 201
    return path


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> TokenFile:
    return TokenFile(tmp_path_factory.mktemp("tokens") / "tokens.json")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, tokens: TokenFile) -> Iterator[Web]:
    """A server with tokens; requests show none unless told to."""
    folder: Path = tmp_path_factory.mktemp("guarded")
    with InThread(f"sqlite:///{folder}/games.db", tokens.path) as found:
        yield found
