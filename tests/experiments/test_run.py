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


def test_another_arena_is_refused_by_what_differs(tmp_path):
    run_arena(tmp_path, **SMALL)
    with pytest.raises(hf.HoldfastError, match="seed is 0 there and 1 here"):
        run_arena(tmp_path, seed=1, resume=True, **SMALL)
    with pytest.raises(hf.HoldfastError, match="policies is"):
        run_arena(tmp_path, resume=True, **(SMALL | {"policies": ["exp3"]}))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policies": ["adaptiv"]}, "policies must be of .*did you mean 'adaptive'"),
        ({"policies": []}, "policies must be a list of names"),
        ({"environments": "drifting"}, "environments must be of .*drifting-c"),
        ({"environments": ["traces"]}, "environments must be some; traces are given with --trace"),
        ({"environments": 3}, "environments must be a list of names"),
        ({"replications": 1}, "replications must be .*2.*; got 1"),
        ({"horizon": 999}, "horizon must be .*1000.*; got 999"),
        ({"seed": -1}, "seed must not be negative"),
        ({"traces": ["nowhere.csv"]}, "trace .*nowhere.csv"),
        ({"backend": "abacus"}, "backend must be"),
    ],
)
def test_refusals_leave_nothing_behind(tmp_path, change, said):
    with pytest.raises(hf.HoldfastError, match=f"(?s){said}"):
        run_arena(tmp_path / "out", **(SMALL | change))
    assert not (tmp_path / "out").exists()


def test_traces_that_do_not_fit_are_refused(tmp_path, trace):
    with pytest.raises(hf.HoldfastError, match="column 'arm 0'; give units"):
        run_arena(tmp_path / "out", traces=[trace], **SMALL)
    with pytest.raises(hf.HoldfastError, match=r"in line 2 of made up\.csv \(0\), column"):
        run_arena(tmp_path / "out", traces=[trace], index="time", **SMALL)
    with pytest.raises(hf.HoldfastError, match="different names and costs"):
        run_arena(tmp_path / "out", traces=[trace, trace], index="time", units=(0, 500), **SMALL)
    with pytest.raises(hf.HoldfastError, match="switching_costs must"):
        run_arena(tmp_path / "out", traces=[trace], index="time", units=(0, 500), switching_costs=[-1], **SMALL)


def test_a_users_files_are_not_replaced(tmp_path):
    (tmp_path / "arena.html").write_text("mine")
    with pytest.raises(hf.HoldfastError, match=r"files that an arena would replace but did not write: arena.html"):
        run_arena(tmp_path, **SMALL)
    assert (tmp_path / "arena.html").read_text() == "mine"


def test_the_summary_fits_a_screen(made):
    lines = summary(made)
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("base-geometric† ") for line in lines)
    assert f"4 policies in {5 + len(FOUND)} environments, 6 replications" in lines[0]
    worst = pl.concat([made.worst] * 10)
    long = summary(replace(made, worst=worst))
    assert len(long) <= 40
    assert "and 10 more in the page" in long


def test_a_summary_of_found_worlds_alone(tmp_path):
    alone = run_arena(tmp_path, **(SMALL | {"environments": ["found-adaptive-1"]}))
    lines = summary(alone)
    assert max(map(len, lines)) <= 80
    assert sum("–" in line for line in lines) == 2


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
