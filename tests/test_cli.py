"""The command: what it prints, and how it answers a mistake."""

import subprocess
import sys

import pytest

import holdfast


def holdfast_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "holdfast.cli", *arguments], capture_output=True, text=True, timeout=300
    )


def test_version():
    assert holdfast_command("--version").stdout == f"holdfast {holdfast.__version__}\n"


def test_bounds_side_by_side():
    run = holdfast_command("bounds", "--arms", "8", "--switching-cost", "1", "--horizon", "1e6", "--gaps", "0.05")
    assert run.returncode == 0, run.stderr
    for shown in ("Theorem 1", "123,125.4", "6,959,731.2", "19,867.0", "Lower bound"):
        assert shown in run.stdout
    assert "Theorem 1 binds: 123,125.4" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bounds", "--arms", "0", "--switching-cost", "1", "--horizon", "1e6"), "--arms must be a whole number"),
        (("bounds", "--arms", "3", "--switching-cost", "-1", "--horizon", "1e6"), "--switching-cost must be"),
        (("bounds", "--arms", "3", "--switching-cost", "1", "--horizon", "9", "--gaps", "x"), "--gaps must be"),
        (("simulate", "no-such-study.toml", "--out", "nowhere"), "no-such-study.toml"),
        (("reproduce", "stochastic-esy"), "did you mean 'stochastic-easy'?"),
        (("reproduce", "--replications", "0"), "--replications must be"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = holdfast_command(*arguments)
    assert run.returncode == 2
    assert said in run.stderr
    assert run.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
