"""Plant one small fault at a time in the core, and see whether the fast tests notice.

    make mutants                                            (the fixed sample: at most 30 minutes on two cores)
    python scripts/mutants.py --rooms policies --sample 40 --seed 7
    python scripts/mutants.py --only 'numerics/simplex.py'  (every fault of one file)
    python scripts/mutants.py --given faults.toml           (a list: [[fault]] file, before, after, tests)

A fault changes one place: a comparison's boundary or direction, an operator, a number, `and` to `or`, `min` to `max`, a
condition to its opposite. Each is tried in a copy of the package by the tests of its room, those first that name what
was changed: kernels of policies with the compiler off, the rest compiled. It is caught if a test fails or runs into
the time limit. Survivors that are accepted are in ``scripts/accepted_mutants.toml``, each with its reason, and not
tried: they would take longest. Of the others at least 85 % must be caught, else the exit status is 1.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import copy
import itertools
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src/holdfast")
ACCEPTED = ROOT / "scripts" / "accepted_mutants.toml"
ENOUGH = 0.85
"""Share of the faults that must be caught."""


@dataclass(frozen=True)
class Room:
    """A place for faults, and the tests that should notice."""

    files: tuple[str, ...]
    tests: tuple[str, ...]
    marked: str = "not slow"
    compiled: bool = True
    limit: float = 600.0
    """Processor seconds after which a run counts as failed, for such a fault loops; ten times as many by the clock."""


ROOMS = {
    "numerics": Room(
        ("numerics/*.py",), ("tests/numerics", "tests/results", "tests/players", "tests/replays/test_plans.py")
    ),
    "statistics": Room(
        ("numerics/statistics.py", "lab/judge.py", "decisions/holdout.py", "replays/advice.py"),
        (
            *("tests/numerics", "tests/lab", "tests/replays", "tests/results"),
            *("tests/decisions/test_held_back.py", "tests/decisions/test_shares.py"),
        ),
    ),
    "bounds": Room(
        ("bounds/*.py",), ("tests/bounds", "tests/frozen/test_arguments.py", "tests/policies/adaptive/test_bounds.py")
    ),
    "policies": Room(
        ("policies/*.py",),
        ("tests/policies", "tests/frozen/test_games.py"),
        "plain and not slow",
        compiled=False,
    ),
    "rules": Room(
        ("decisions/rules/*.py", "decisions/settings.py", "decisions/requests.py", "decisions/holdout.py"),
        ("tests/decisions", "tests/service"),
    ),
}

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NAMES = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Fault:
    """One changed place."""

    room: str
    file: str
    function: str
    before: str
    after: str
    line: int
    text: str
    """The whole changed module."""

    @property
    def name(self) -> str:
        """The same for the same fault, wherever its lines move."""
        return f"{self.file} {self.function}: {self.before} → {self.after}"


def places(node: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Yield each place that can be changed, and the function it lies in. Messages are left alone."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        function = f"{function}.{node.name}".lstrip(".")
    if isinstance(node, (ast.Raise, ast.JoinedStr)):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from places(child, function)
    match node:
        case ast.Compare(ops=[only]):
            changes = type(only) in SWAPS
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign():
            changes = type(node.op) in SWAPS
        case ast.Constant():
            changes = type(node.value) in (int, float)
        case ast.Name(id=name):
            changes = name in NAMES and hasattr(builtins, name)
        case ast.Attribute(attr=name):
            changes = name in NAMES
        case ast.If() | ast.IfExp() | ast.While():
            changes = bool(function)
        case _:
            changes = False
    if changes:
        yield node, function


def change(node: ast.AST) -> None:
    """Plant the fault, in place."""
    match node:
        case ast.Compare():
            node.ops = [SWAPS[type(node.ops[0])]()]  # type: ignore[list-item]
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign():
            node.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
        case ast.Constant(value=int(number)):
            node.value = number + 1
        case ast.Constant(value=float(number)):
            node.value = number * 1.1 if number else 0.1
        case ast.Name():
            node.id = NAMES[node.id]
        case ast.Attribute():
            node.attr = NAMES[node.attr]
        case ast.If() | ast.IfExp() | ast.While():
            node.test = ast.UnaryOp(ast.Not(), node.test)


def written(node: ast.AST) -> ast.AST:
    """Return what a fault changes in the source: of a branch its condition alone."""
    return node.test if isinstance(node, (ast.If, ast.IfExp, ast.While)) else node


def faults_of(room: str, file: Path) -> Iterator[Fault]:
    """Yield every fault of one file; all else in it stays as it is written."""
    source = (ROOT / file).read_text(encoding="utf-8")
    starts = [0, *itertools.accumulate(len(line.encode()) for line in source.splitlines(keepends=True))]
    for node, function in places(ast.parse(source)):
        place = written(node)
        first = starts[place.lineno - 1] + place.col_offset  # type: ignore[attr-defined]
        last = starts[place.end_lineno - 1] + place.end_col_offset  # type: ignore[attr-defined]
        before, line = ast.unparse(place), place.lineno  # type: ignore[attr-defined]
        changed = copy.deepcopy(node)
        change(changed)
        after, whole = ast.unparse(written(changed)), source.encode()
        text = (whole[:first] + after.encode() + whole[last:]).decode()
        yield Fault(room, str(file.relative_to(PACKAGE)), function, before, after, line, text)


def given_in(list_of_faults: Path) -> list[Fault]:
    """Return the faults of a list: what stands once in a file, what takes its place, and who should notice."""
    found = []
    for fault in tomllib.loads(list_of_faults.read_text(encoding="utf-8"))["fault"]:
        room = " ".join(fault["tests"])
        ROOMS[room] = Room((), tuple(fault["tests"]))
        source = (ROOT / PACKAGE / fault["file"]).read_text(encoding="utf-8")
        if source.count(fault["before"]) != 1:
            sys.exit(f"{fault['file']} has {source.count(fault['before'])} times: {fault['before']}")
        line = source[: source.index(fault["before"])].count("\n") + 1
        around = [
            node.name
            for node in ast.walk(ast.parse(source))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            and node.lineno <= line <= (node.end_lineno or 0)
        ]
        text = source.replace(fault["before"], fault["after"])
        found.append(Fault(room, fault["file"], ".".join(around), fault["before"], fault["after"], line, text))
    return found


def sampled(rooms: list[str], size: int, seed: int, only: str | None) -> list[Fault]:
    """Return `size` faults of each room, the same for the same seed while the files stay; or all faults of one file."""
    chosen: list[Fault] = []
    for room in rooms:
        files = sorted(file for pattern in ROOMS[room].files for file in (ROOT / PACKAGE).glob(pattern))
        inside = [file.relative_to(ROOT) for file in files]
        if only:
            chosen += [fault for file in inside if str(file).endswith(only) for fault in faults_of(room, file)]
            continue
        counts = [sum(1 for _ in places(ast.parse((ROOT / file).read_text(encoding="utf-8")))) for file in inside]
        draw = random.Random(f"{seed} {room}")
        for file, index in sorted(
            draw.sample([(f, i) for f, n in zip(inside, counts, strict=True) for i in range(n)], size)
        ):
            chosen.append(next(one for i, one in enumerate(faults_of(room, file)) if i == index))
    return chosen


def tests_of(room: Room, fault: Fault | None) -> list[str]:
    """Return the room's files of tests, those first that name the fault's function or module."""
    files = sorted(
        file
        for place in room.tests
        for file in ([ROOT / place] if place.endswith(".py") else (ROOT / place).rglob("test_*.py"))
    )
    if fault:
        words = (fault.function.rpartition(".")[2] or "-", Path(fault.file).stem)
        files.sort(key=lambda file: [-len(re.findall(rf"\b{word}\b", file.read_text("utf-8"))) for word in words])
    return [str(file.relative_to(ROOT)) for file in files]


class Bench:
    """A copy of the package in which one fault at a time is tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        known = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "holdfast"
        if known.exists():  # machine code of everything that is not changed
            shutil.copytree(known, folder / "cache" / "holdfast")

    def caught(self, fault: Fault | None, room: Room) -> tuple[bool, str]:
        """Run the tests of the room; return whether one failed, and which."""
        file = self.folder / PACKAGE / fault.file if fault else None
        whole = file.read_bytes() if file else b""
        if file and fault:
            file.write_text(fault.text, encoding="utf-8")
        words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", room.marked]
        plain = {"NUMBA_DISABLE_JIT": "0" if room.compiled else "1"}
        own = {"PYTHONPATH": str(self.folder / "src"), "XDG_CACHE_HOME": str(self.folder / "cache")}
        try:
            run = subprocess.run(
                words + tests_of(room, fault),
                cwd=ROOT,
                env={**os.environ, **own, **plain, "PYTHONDONTWRITEBYTECODE": "1"},
                capture_output=True,
                text=True,
                timeout=10 * room.limit,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(room.limit),) * 2),
            )
        except subprocess.TimeoutExpired:
            return True, "time limit"
        finally:
            if file:
                file.write_bytes(whole)
        said = run.stdout.strip().splitlines() or [""]
        return run.returncode != 0, next((line for line in said if line.startswith(("FAILED", "ERROR"))), said[-1])


def main() -> int:
    """Try the sample, print what survived, and judge the share that was caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", default=",".join(ROOMS), help="which, with commas")
    parser.add_argument("--sample", type=int, default=25, help="faults in each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="every fault of the file whose path ends so")
    parser.add_argument("--given", type=Path, help="the faults of this list")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    accepted = tomllib.loads(ACCEPTED.read_text(encoding="utf-8"))["accepted"]
    faults = (
        given_in(given.given) if given.given else sampled(given.rooms.split(","), given.sample, given.seed, given.only)
    )
    rooms = list(dict.fromkeys(fault.room for fault in faults))
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        benches: SimpleQueue[Bench] = SimpleQueue()
        for number in range(given.workers):
            benches.put(Bench(Path(folder) / str(number)))

        def tried(fault: Fault | None, room: Room) -> tuple[bool, str]:
            if fault and fault.name in accepted:
                return False, ""
            bench = benches.get()
            try:
                return bench.caught(fault, room)
            finally:
                benches.put(bench)

        with ThreadPoolExecutor(given.workers) as pool:
            whole = [] if given.given else rooms
            for name, (failed, line) in zip(whole, pool.map(lambda name: tried(None, ROOMS[name]), whole), strict=True):
                if failed:
                    sys.exit(f"the tests of {name} fail without any fault: {line}")
            found = []
            for fault, (failed, line) in zip(
                faults, pool.map(lambda fault: tried(fault, ROOMS[fault.room]), faults), strict=True
            ):
                found.append(failed)
                why = accepted.get(fault.name)
                said = "caught  " if failed else "accepted" if why else "SURVIVED"
                print(f"{said}  {fault.name}  (line {fault.line}): {why or line}", flush=True)
    counted = [(fault, caught) for fault, caught in zip(faults, found, strict=True) if fault.name not in accepted]
    for room in rooms:
        own = [caught for fault, caught in counted if fault.room == room]
        print(f"{room:<9} {sum(own):>4} of {len(own):>4} caught")
    share = sum(caught for _, caught in counted) / max(len(counted), 1)
    used, minutes = resource.getrusage(resource.RUSAGE_CHILDREN), (time.monotonic() - begun) / 60
    spent = f"{minutes:.0f} minutes, {(used.ru_utime + used.ru_stime) / 60:.0f} of a processor"
    print(f"{share:.0%} of {len(counted)} faults caught, {len(faults) - len(counted)} accepted, {spent}")
    return 0 if share >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
