"""The command `holdfast`, in a process of its own and in this one."""

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

from typer.main import get_command

from holdfast.cli import app, main

COMMAND = get_command(app)
"""Made once: a process makes it once too, and it takes as long as most commands."""


def holdfast_command(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """As a shell runs it."""
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *arguments], capture_output=True, text=True, timeout=300, **options
    )


def command_here(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The same without starting a process, which takes a second: for many small mistakes."""
    out, err = io.StringIO(), io.StringIO()
    code: str | int | None = 0
    given, made = patch.object(sys, "argv", ["holdfast", *arguments]), patch("holdfast.cli.app", COMMAND)
    with redirect_stdout(out), redirect_stderr(err), given, made:
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
