"""Places in which the tests keep games."""

import itertools
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import psycopg
from postgres_server import PrivateServer

import holdfast as hf
from holdfast.decisions.stores import Store
from holdfast.decisions.stores.postgresql import PostgresStore
from holdfast.decisions.stores.sqlite import SqliteStore

KINDS = ("memory", "sqlite", "postgresql")
NUMBERS = itertools.count()


def fresh_schema(server: PrivateServer) -> str:
    """A URL with tables of its own."""
    schema = f"t{os.getpid()}_{next(NUMBERS)}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"{server.url}?options=-csearch_path%3D{schema}"


def fresh_database(server: PrivateServer) -> str:
    """A URL of a new database, which can be dumped and restored as a whole."""
    name = f"d{os.getpid()}_{next(NUMBERS)}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.url.removesuffix("/postgres") + f"/{name}"


def edit(url: str, sql: str) -> None:
    """Change the file of a store behind its back."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute(sql)


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
        """A handle of its own on a game, as in a process of its own; `memory:` lives in one store object."""
        return hf.open(self.store(), name, policy, **{"clock": self.clock, **options})

    def store(self) -> Store:
        if isinstance(self.at, Store):
            return self.at
        return SqliteStore(self.at) if self.kind == "sqlite" else PostgresStore(self.at)
