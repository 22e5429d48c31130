"""What version 0.5 shows and stores, in JSON files beside the tests: numbers bit for bit, and everything else as lines.

    FREEZE=1 python -m pytest tests/frozen

writes them anew (once with NUMBA_DISABLE_JIT=1, once without). A new policy only adds its own. If a number that was
there changes, that is a change of behaviour: the same seed gives other numbers than before. Say so in CHANGELOG.md.
"""

import itertools
import json
import math
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

FREEZE = os.environ.get("FREEZE") == "1"
FRACTION = re.compile(r"(?<![\w.-])(-?\d+(?:\.\d*(?:e[-+]?\d+)?|e[-+]?\d+))(?![\w.])")
SHOWN = 6
"""Most lines of a difference."""


@pytest.fixture
def frozen(request: pytest.FixtureRequest) -> Callable[[str, Any], None]:
    """A function that compares a value, as JSON has it, with the one frozen by this name."""
    file = file_of(request)

    def check(name: str, value: Any) -> None:
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        found = json.loads(json.dumps(value))
        if FREEZE:
            merged = {**known[name], **found} if isinstance(known.get(name), dict) else found
            write(file, known | {name: merged})
            return
        expected = known[name]
        if isinstance(found, dict):
            missing = sorted(found.keys() - expected.keys())
            assert not missing
            assert found == {key: expected[key] for key in found}
        else:
            assert found == expected

    return check


@pytest.fixture
def net(request: pytest.FixtureRequest) -> Callable[[str, Iterable[str]], None]:
    """A function that compares lines with those frozen by this name; fractions in them to nine digits.

    Their last bits depend on the processor, where a logarithm or a long sum is in them.
    """
    file = file_of(request)

    def check(name: str, lines: Iterable[str]) -> None:
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        found = [part for line in lines for part in line.split("\n")]
        if FREEZE:
            write(file, known | {name: found})
            return
        pairs = itertools.zip_longest(known[name], found)
        other = [(at, was, now) for at, (was, now) in enumerate(pairs) if was != now and not alike(was, now)]
        shown = [f"line {at}\n  was: {was}\n  is:  {now}" for at, was, now in other[:SHOWN]]
        more = [f"and {len(other) - SHOWN} more"] if len(other) > SHOWN else []
        if other:
            meant = "is it meant? FREEZE=1 python -m pytest tests/frozen"
            pytest.fail("\n".join([f"{file.name}, {name}:", *shown, *more, meant]), pytrace=False)

    return check


def alike(was: str | None, now: str | None) -> bool:
    """Two lines that differ only in the last bits of long fractions: 1.0 and 1.00 are not alike."""
    if was is None or now is None:
        return False
    one, other = FRACTION.split(was), FRACTION.split(now)
    return one[::2] == other[::2] and all(
        a == b or (max(len(a), len(b)) > 9 and math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=1e-12))
        for a, b in zip(one[1::2], other[1::2], strict=True)
    )


def file_of(request: pytest.FixtureRequest) -> Path:
    return Path(request.path).parent / f"{request.path.stem.removeprefix('test_')}.json"


def write(file: Path, known: dict[str, Any]) -> None:
    file.write_text(json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids, keys and versions are counted instead of drawn."""
    numbers = itertools.count(1)

    def counted(size: int = 32) -> str:
        return f"{next(numbers):0{2 * size}x}"

    monkeypatch.setattr(secrets, "token_hex", counted)
    for module in ("executor", "router"):
        monkeypatch.setattr(f"holdfast.decisions.{module}.token_hex", counted)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: what is tested here does not depend on the disk's speed."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        yield Path(name)
