"""The walks of docs/design.md: every name exists, and each one is used by the one before it."""

import ast
import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
WALKS = re.findall(r"^- \*\*(.+?)\*\*: (.+?)(?=^- \*\*|\n\n)", PAGE, flags=re.M | re.S)


@cache
def definitions() -> dict[str, list[ast.AST]]:
    found: dict[str, list[ast.AST]] = {}
    for file in (ROOT / "src" / "holdfast").rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.setdefault(node.name, []).append(node)
                if isinstance(node, ast.ClassDef):
                    for member in node.body:
                        if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)):
                            found.setdefault(f"{node.name}.{member.name}", []).append(member)
    return found


def _chains(walk: str) -> list[list[list[str]]]:
    """The names of a walk: chains between semicolons, steps between arrows; brackets are left out."""
    chains = re.sub(r"\([^()]*\)", "", walk).split(";")
    return [[re.findall(r"`([\w.]+)`", step) for step in chain.split("→")] for chain in chains]


def _used(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                yield inner.id
            elif isinstance(inner, ast.Attribute):
                yield inner.attr


def test_there_are_walks() -> None:
    assert len(WALKS) >= 5


@pytest.mark.parametrize(("call", "walk"), WALKS, ids=[call for call, _ in WALKS])
def test_each_step_of_a_walk_uses_the_next(call: str, walk: str) -> None:
    chains = _chains(walk)
    unknown = [name for chain in chains for step in chain for name in step if name not in definitions()]
    assert unknown == []
    for chain in chains:
        for before, after in itertools.pairwise(chain):
            used = {name for step in before for name in _used(definitions()[step])}
            assert [name for name in after if name.rsplit(".", 1)[-1] not in used] == [], f"not used by {before}"
