"""The command: what it prints, how it answers a mistake, and what it does when nobody reads on."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import command_here, holdfast_command
from study_files import PLAIN
from typer.testing import CliRunner

import holdfast
from holdfast.cli import app, main
from holdfast.lab.paper.plan import FIGURES

BOUNDS = ("bounds", "--arms", "8", "--switching-cost", "1", "--horizon", "1e6", "--gaps", "0.05")
SMALL = ("--replications", "2", "--horizon", "200", "--arms", "3")


def test_version():
    assert command_here("--version").stdout == f"holdfast {holdfast.__version__}\n"


def test_bounds_side_by_side(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    run = command_here(*BOUNDS)
    assert run.returncode == 0, run.stderr
    for shown in ("Theorem 1", "123,125.4", "6,959,731.2", "19,867.0", "Lower bound"):
        assert shown in run.stdout
    assert "Theorem 1 binds: 123,125.4" in run.stdout
    assert "5.25(λK)^(1/3) T^(2/3)" in run.stdout
    far = command_here(*BOUNDS[:-4], "--horizon", "1e12").stdout
    assert f"{holdfast.bounds.theorem_1(n_arms=8, switching_cost=1.0, horizon=10**12):,.1f}  " in far
    assert "  1e+12  " in far  # T + λ
    assert "{" not in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bounds", "--arms", "0", "--switching-cost", "1", "--horizon", "1e6"), "--arms must be a whole number"),
        (("bounds", "--arms", "3", "--switching-cost", "-1", "--horizon", "1e6"), "--switching-cost must be"),
        (("bounds", "--arms", "3", "--switching-cost", "1", "--horizon", "9", "--gaps", "x"), "--gaps must be"),
        (("study", "run", "no-such-study.toml", "--out", "nowhere"), "no-such-study.toml"),
        (("reproduce", "stochastic-esy"), "did you mean 'stochastic-easy'?"),
        (("reproduce", "--replications", "0"), "--replications must be"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = command_here(*arguments)
    assert run.returncode == 2
    assert said in run.stderr
    assert run.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help(option):
    first = CliRunner().invoke(app, [option], prog_name="holdfast").stdout
    assert "--install-completion" in first
    text = CliRunner().invoke(app, ["reproduce", option], prog_name="holdfast").stdout
    for name in FIGURES:
        assert f"    {name} " in text
    for shown in (first, text, CliRunner().invoke(app, ["study", "run", option]).stdout):
        assert "bool" not in shown
        assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.slow
def test_the_shell_completes_the_names_of_figures():
    asked = {"_HOLDFAST_COMPLETE": "complete_bash", "COMP_WORDS": "holdfast reproduce ties", "COMP_CWORD": "2"}
    code = "import sys; sys.argv[0] = 'holdfast'; from holdfast.cli import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **asked}, check=False
    )
    assert run.stdout.split() == ["ties-stochastic", "ties-constrained"]


def through_a_closed_pipe(*arguments: str, cwd: Path | None = None) -> tuple[int, str]:
    """Exit code and standard error of a command whose reader is gone before it prints."""
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(
        [sys.executable, "-m", "holdfast", *arguments],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        cwd=cwd,
        check=False,
    )
    os.close(writer)
    return run.returncode, run.stderr


@pytest.mark.slow
def test_nobody_reads_on(tmp_path):
    assert through_a_closed_pipe(*BOUNDS) == (0, "")
    assert through_a_closed_pipe("reproduce", "--help") == (0, "")
    study = tmp_path / "study.toml"
    study.write_text(PLAIN)
    assert through_a_closed_pipe("study", "run", str(study), "--out", str(tmp_path / "out")) == (0, "")
    assert list((tmp_path / "out").glob("summary.*"))


@pytest.mark.slow
def test_an_encoding_without_greek_letters():
    run = holdfast_command(*BOUNDS, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith(r"K = 8, \u03bb = 1")


def test_output_that_cannot_be_written_is_an_exit_code(monkeypatch, capsys):
    def full(**given):
        raise OSError(errno.ENOSPC, "No space left on device")

    def ended(code):
        raise SystemExit(code)

    monkeypatch.setattr("holdfast.cli.app", full)
    monkeypatch.setattr("holdfast.cli.os._exit", ended)
    monkeypatch.setattr("sys.stdout", sys.stdout)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    said = "holdfast: cannot write its output: No space left on device; what the command did stands\n"
    assert capsys.readouterr().err == said


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_standard_output_on_a_full_disk():
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "holdfast", *BOUNDS], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (run.returncode, run.stderr) == (
        1,
        "holdfast: cannot write its output: No space left on device; what the command did stands\n",
    )


@pytest.mark.slow
def test_a_reproduction_ends_in_few_lines(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    given = ("reproduce", "stochastic-free", "ties-stochastic", "--out", str(tmp_path / "run"), *SMALL)
    run = command_here(*given)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert len(lines) <= 40
    assert lines[0].startswith("2 figures; ")
    assert lines[-1] == f"The report is {tmp_path / 'run' / 'report.html'}"
    full = command_here(*given, "--verbose").stdout
    assert "played ties-stochastic" in full
    assert len(full.splitlines()) > 60
