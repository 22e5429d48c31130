"""An arena that goes on, what it refuses, and what it says on a terminal."""

from dataclasses import replace

import arena
import polars as pl
import pytest
from arena import run_arena
from arena_report import summary
from experiment_command import command
from search_worlds import FOUND
from study_files import Counting, Killed
from typer.testing import CliRunner

import holdfast as hf

pytestmark = pytest.mark.slow


def document(made):
    return (made.out / "arena.json").read_bytes()


SMALL = {
    "policies": ["adaptive"],
    "environments": ["stochastic-easy", "drifting-costly"],
    "replications": 3,
    "horizon": 1000,
    "progress": False,
}


def test_resume_plays_only_what_is_missing_and_ends_alike(tmp_path):
    with pytest.raises(Killed):
        run_arena(tmp_path / "out", backend=Counting(2), **SMALL)
    assert not (tmp_path / "out" / "arena.json").exists()
    with pytest.raises(hf.HoldfastError, match="--resume to go on"):
        run_arena(tmp_path / "out", **SMALL)
    again = run_arena(tmp_path / "out", resume=True, **SMALL)
    assert again.tables.found > 0
    assert again.tables.found + again.tables.played == 2 * 3
    whole = run_arena(tmp_path / "whole", **SMALL)
    assert again.table.equals(whole.table)
    assert document(again) == document(whole)
    more = run_arena(tmp_path / "out", resume=True, **(SMALL | {"replications": 5}))
    assert (more.tables.found, more.tables.played) == (6, 4)
    fresh = run_arena(tmp_path / "fresh", **(SMALL | {"replications": 5}))
    assert more.table.equals(fresh.table)


def test_an_arena_grows_by_environments_and_traces(tmp_path, trace):
    run_arena(tmp_path / "out", **SMALL)
    larger = SMALL | {"environments": ["stochastic-easy", "hard", "traces"]}
    larger |= {"traces": [trace], "switching_costs": [2.0], "units": (0, 500), "index": "time"}
    more = run_arena(tmp_path / "out", resume=True, **larger)
    assert more.tables.found == 2 * 3
    assert more.tables.played >= 10 * 3
    whole = run_arena(tmp_path / "whole", **larger)
    assert document(more) == document(whole)
    with pytest.raises(hf.HoldfastError, match=r"environments has \[.*there only; give another --out"):
        run_arena(tmp_path / "out", resume=True, **SMALL)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policies": ["adaptiv"]}, "policies must be of .*did you mean 'adaptive'"),
        ({"environments": "drifting"}, "environments must be of .*drifting-c"),
        ({"environments": ["traces"]}, "environments must be some; traces are given with --trace"),
        ({"replications": 1}, "replications must be .*2.*; got 1"),
        ({"traces": ["nowhere.csv"]}, "trace .*nowhere.csv"),
    ],
)
def test_refusals_leave_nothing_behind(tmp_path, change, said):
    with pytest.raises(hf.HoldfastError, match=f"(?s){said}"):
        run_arena(tmp_path / "out", **(SMALL | change))
    assert not (tmp_path / "out").exists()


def test_the_summary_fits_a_screen(made):
    lines = summary(made)
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("base-geometric† ") for line in lines)
    assert f"4 policies in {5 + len(FOUND)} environments, 6 replications" in lines[0]
    worst = pl.concat([made.worst] * 10)
    long = summary(replace(made, worst=worst))
    assert len(long) <= 40
    assert "and 10 more in the page" in long


def test_the_command(tmp_path):
    options = ["--policies", "adaptive", "--environments", "adversarial", "--replications", "2", "--horizon", "1e3"]
    run = CliRunner().invoke(command(arena.main), ["--out", str(tmp_path / "out"), *options])
    assert run.exit_code == 0, run.output
    lines = run.output.splitlines()
    assert lines[-1] == f"The page is {tmp_path / 'out' / 'arena.html'}"
    assert len(lines) <= 40
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "arena.html", "arena.json", "arena.parquet", "files.json", "games",
    ]  # fmt: skip
    for wrong in (["--units", "1"], ["--horizon", "1.5"], ["--policies", "nobody"]):
        refused = CliRunner().invoke(command(arena.main), ["--out", str(tmp_path / "none"), *wrong])
        assert isinstance(refused.exception, hf.HoldfastError)
        assert not (tmp_path / "none").exists()
