"""Run the code blocks of a page in order, as a reader would: Python in one namespace, commands in one shell."""

import contextlib
import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^( *)(`{3,}|:{3,})(.*?)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
CHECKER = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def pages() -> list[Path]:
    """Every page that users read."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
    written = (file for file in (ROOT / "docs").rglob("*.md") if "pictures" not in file.parts)
    return found + sorted(file for file in written if "gallery" not in file.parts)


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of each fenced block."""
    found = [(info.strip(), body) for _, _, info, body in FENCE.findall(page.read_text(encoding="utf-8"))]
    return [(info, body) for info, body in found if not info.startswith("{")]


class Shell:
    """A bash that stays open between commands, with `holdfast` and `python` those of the tests."""

    def __init__(self, folder: Path) -> None:
        commands = folder / ".commands"
        commands.mkdir()
        for name, arguments in (("holdfast", " -m holdfast"), ("python", "")):
            (commands / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{arguments} "$@"\n')
            (commands / name).chmod(0o755)
        path = f"{commands}{os.pathsep}{os.environ['PATH']}"
        self.process = subprocess.Popen(
            ["bash", "-m"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=folder,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src")},
        )

    def run(self, command: str) -> tuple[int, str]:
        """The exit code of a command and what it printed."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{command}\necho __ended__ $?\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            before, mark, code = line.partition("__ended__ ")
            lines.append(before if mark else line)
            if mark:
                return int(code), "".join(lines)
        raise AssertionError(f"the shell ended at {command!r}")

    def close(self) -> None:
        """End it, and what it left in the background."""
        with contextlib.suppress(AssertionError, BrokenPipeError, ValueError):
            self.run("kill $(jobs -p) 2>/dev/null; wait")
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait(timeout=30)
        if self.process.stdout:
            self.process.stdout.close()


def commands(block: str) -> Iterator[tuple[str, str]]:
    """The commands after ``$`` in a console block, each with the output that is shown."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def run_python(code: str, namespace: dict[str, object], where: str) -> None:
    """A script, or examples with their output."""
    if ">>>" not in code:
        exec(compile(code, where, "exec"), namespace)
        return
    test = doctest.DocTestParser().get_doctest(code, {}, where, where, 0)
    test.globs = namespace
    said: list[str] = []
    runner = doctest.DocTestRunner(CHECKER, optionflags=FLAGS)
    runner.run(test, out=said.append, clear_globs=False)
    assert not said, "".join(said)


def run_commands(block: str, shell: Shell) -> None:
    """Each command ends well, and prints what is shown after it, if anything is."""
    for command, shown in commands(block):
        code, printed = shell.run(command)
        assert code == 0, f"{command}: exit code {code}"
        if shown.strip():
            assert CHECKER.check_output(shown, printed, FLAGS), f"{command} printed\n{printed}"
