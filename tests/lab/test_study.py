"""Users' own studies: the file, its mistakes, and runs that can be stopped at any moment."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from study_files import GRID, PLAIN, Killed, table_study

import holdfast as hf
from holdfast.files import claimed
from holdfast.lab.study import run_study
from holdfast.lab.tables import Chunks
from holdfast.simulation.backends import Backend, Threads

SLOW = """
horizon = 500_000
replications = 30
switching_cost = 0.1
checkpoints = [1000]
policies = ["exp3", "tsallis-inf"]
[environment]
kind = "bernoulli"
n_arms = 8
gap = 0.1
[grid]
seed = [1, 2]
"""


def test_a_study_is_one_simulation(write, tmp_path):
    run = run_study(write(PLAIN), tmp_path / "out")
    policies, game = [hf.TsallisSwitch(3, switching_cost=1.5), hf.Exp3(3)], {"horizon": 300, "switching_cost": 1.5}
    how = {"replications": 5, "seed": 3, "checkpoints": [10, 100]}
    direct = hf.simulate(policies, hf.Bernoulli.with_gap(3, 0.2), **game, **how)
    assert list(run.files) == ["study"]
    found = hf.Result.read(tmp_path / "out/study.parquet")
    assert found.frame.equals(direct.frame)
    assert found.provenance.pop("study").items() > {"name": "study", "cell": {}}.items()
    assert found.provenance == direct.provenance
    assert (run.played, run.found) == (5, 0)
    assert sorted(os.listdir(tmp_path / "out")) == ["record.json", "study.parquet", "summary.csv"]
    assert pl.read_csv(tmp_path / "out/summary.csv").equals(direct.summary())


def test_a_grid_runs_every_combination_and_policies_follow_the_study(write, tmp_path):
    run = run_study(write(GRID), tmp_path / "out")
    assert list(run.files) == [f"switching_cost={lam},gap={gap}" for lam in ("0.1", "2") for gap in ("0.05", "0.3")]
    for cell in run.plan.cells:
        values, result = cell.keys, run[cell.name]
        lam = values["switching_cost"]
        assert result.provenance["environment"]["mean_losses"][0] == 0.5 - values["environment.gap"]
        assert result.provenance["policies"] == {
            "tsallis-switch": hf.TsallisSwitch(4, switching_cost=lam).settings(),
            "rv": hf.TsallisInf(4, estimator="reduced-variance").settings(),
            "exp3-blocks": hf.BlockExp3(4, switching_cost=lam, horizon=400).settings(),
        }
        assert result.provenance["switching_cost"] == lam
        assert result.provenance["study"].items() > {"name": "regions", "cell": values}.items()
        assert result.grid == ["switching_cost", "gap"]
        assert result.frame.select(result.grid).unique().row(0) == (lam, values["environment.gap"])
    tables = pl.read_parquet(tmp_path / "out" / "*.parquet")  # all tables, and nothing else
    assert tables.select("switching_cost", "gap", "policy", "replication").unique().height == 4 * 3 * 7
    assert tables.schema["switching_cost"] == pl.Float64  # 0.1 in one cell, 2 in another
    summary = pl.read_csv(tmp_path / "out/summary.csv")
    assert summary.columns[:5] == ["switching_cost", "gap", "policy", "round", "replications"]
    assert summary.filter(pl.col("round") == 400).height == 4 * 3


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1e-9, 1e-3, 100.0])
def test_chunks_change_no_number(write, tmp_path, seconds):
    chunks = Chunks(seconds=seconds, row_seconds=seconds)
    run = run_study(write(GRID.replace("= 7", "= 40")), tmp_path / "out", workers=3, chunks=chunks)
    whole = run_study(tmp_path / "study.toml", tmp_path / "whole", workers=1)
    for one, other in zip(run.values(), whole.values(), strict=True):
        assert one.frame.equals(other.frame)
        assert one.provenance == other.provenance
    assert (tmp_path / "out/summary.csv").read_bytes() == (tmp_path / "whole/summary.csv").read_bytes()


def start(code: str) -> subprocess.Popen:
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))


def slow_run(file: Path, out: Path) -> str:
    return (
        "from holdfast.lab.study import run_study; from holdfast.lab.tables import Chunks\n"
        f"run_study({str(file)!r}, {str(out)!r}, resume=True, echo=lambda line: print(line, flush=True), "
        "chunks=Chunks(seconds=0.02, row_seconds=0.0))"
    )


def wait_for(out: Path, pattern: str, process: subprocess.Popen) -> None:
    while not list(out.glob(pattern)):
        assert process.poll() is None, process.communicate(timeout=300)
        time.sleep(0.01)


@pytest.mark.slow
def test_a_killed_run_loses_only_the_chunk_in_flight_and_ctrl_c_says_what_was_kept(write, tmp_path):
    file, out = write(SLOW), tmp_path / "out"
    process = start(slow_run(file, out))
    wait_for(out, "parts/seed=1/*.parquet", process)
    process.kill()
    process.communicate(timeout=300)
    kept = {part.name: part.read_bytes() for part in out.glob("parts/*/*.parquet")}
    assert kept

    process = start(slow_run(file, out))
    wait_for(out, "seed=1.parquet", process)
    wait_for(out, "parts/seed=2/*.parquet", process)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    first, *_, last = said.splitlines()
    assert first.startswith("study: 2 combinations, ")
    assert int(first.split()[3]) < 60  # what the killed run had finished is not played again
    assert last.startswith("interrupted: ")
    assert last.endswith(f"of 60 replications are kept in {out}; go on with --resume")

    run = run_study(file, out, resume=True)
    assert run.found == int(last.split()[1])
    game = {"horizon": 500_000, "switching_cost": 0.1, "replications": 30, "seed": 1, "checkpoints": [1000]}
    direct = hf.simulate([hf.Exp3(8), hf.TsallisInf(8)], hf.Bernoulli.with_gap(8, 0.1), **game)
    assert hf.Result.read(out / "seed=1.parquet").frame.drop("seed").equals(direct.frame)


OTHERS = {
    PLAIN.replace("300", "301").replace("seed = 3", "seed = 4"): (
        r"out holds another study: horizon is 300 there and 301 here; seed is 3 there and 4 here; give another --out$"
    ),
    'name = "other"\n' + PLAIN: r'another study: name is "study" there and "other" here; give another',
    PLAIN.replace(', "exp3"', ""): r'study: policies is \["tsallis-switch", "exp3"\] there and \["tsal',
}


def test_a_folder_holds_one_study(write, tmp_path):
    out = tmp_path / "out"
    run_study(write(PLAIN), out)
    with pytest.raises(hf.HoldfastError, match="holds this study already; give --resume to go on, or another"):
        run_study(tmp_path / "study.toml", out)
    for text, said in OTHERS.items():
        for resume in (False, True):
            with pytest.raises(hf.HoldfastError, match=said):
                run_study(write(text, "renamed.toml"), out, resume=resume)
    manifest = out / "record.json"
    manifest.write_text(manifest.read_text()[:-20])
    with pytest.raises(hf.BadSavedState, match=r"record\.json is damaged"):
        run_study(write(PLAIN), out, resume=True)


@pytest.mark.parametrize("text", [PLAIN, SLOW.replace("500_000", "1000")])
def test_a_renamed_file_goes_on_with_its_study(write, tmp_path, text):
    """A name that was the file's own is not part of the study: its tables keep the first one."""
    out = tmp_path / "out"
    first = run_study(write(text, "first.toml"), out)
    (tmp_path / "first.toml").rename(tmp_path / "second.toml")
    with pytest.raises(hf.HoldfastError, match="holds this study already; give --resume"):
        run_study(tmp_path / "second.toml", out)
    file = next(iter(first.files.values()))
    whole = hf.Result.read(file)
    file.write_bytes(file.read_bytes()[:-40])
    again = run_study(tmp_path / "second.toml", out, resume=True)
    assert (again.plan.name, again.files) == ("first", first.files)
    assert again.played == whole.provenance["replications"]
    assert hf.Result.read(file).frame.equals(whole.frame)
    assert hf.Result.read(file).provenance == whole.provenance


def test_each_changed_field_is_named_once(write, tmp_path):
    """However many cells it changes, and whatever follows from it."""
    grid = "[grid]\nreplications = [1]\nenvironment.gap = [" + ", ".join(f"0.{i}" for i in range(10, 40)) + "]\n"
    run_study(write(PLAIN + grid), tmp_path / "out")
    changed = PLAIN.replace("seed = 3", "seed = 4").replace("horizon = 300", "horizon = 200").replace("[10, ", "[")
    fields = ["horizon is 300 there and 200 here", "seed is 3 there and 4 here"]
    fields += [r"checkpoints is \[10, 100\] there and \[100\] here"]
    with pytest.raises(hf.HoldfastError, match=f"holds another study: {'; '.join(fields)}; give another --out$"):
        run_study(write(changed + grid), tmp_path / "out", resume=True)
    many = "".join(f"policies.exp3.x{i} = [1]\n" for i in range(30))
    with pytest.raises(hf.HoldfastError, match=r"x0 is not a parameter"):
        run_study(write(PLAIN + grid + many), tmp_path / "out", resume=True)
    same = PLAIN.replace("[10, 100]", "[10, 100, 300]")  # the horizon is always recorded
    assert run_study(write(same + grid), tmp_path / "out", resume=True).played == 0


class Gpu(Threads):
    name = "cuda"


class Absent(Backend):
    name = "cuda"
    side_by_side = False
    width = 4096

    def __enter__(self):
        raise hf.MissingExtra("no device")

    def run(self, tasks, done):
        raise Killed


def test_a_backend_that_is_not_there_leaves_nothing_behind(write, tmp_path):
    file, out = write(PLAIN), tmp_path / "out"
    with pytest.raises(hf.MissingExtra, match="no device"):
        run_study(file, out, backend=Absent())
    assert not out.exists()
    out.mkdir()
    with pytest.raises(hf.MissingExtra, match="no device"):
        run_study(file, out, backend=Absent())
    assert os.listdir(out) == []
    run_study(file, out, backend=Gpu())
    assert run_study(file, out, backend=Absent(), resume=True).found == 5  # nothing to play: no device needed


def test_a_folder_where_nothing_was_played_is_free(write, tmp_path, monkeypatch):
    """A run that failed in its first chunk has left a manifest and an empty folder; another study may begin."""
    out = tmp_path / "out"
    monkeypatch.setattr(Absent, "__enter__", lambda self: self)
    with pytest.raises(Killed):
        run_study(write(PLAIN), out, backend=Absent())
    (out / "parts/study").mkdir(parents=True)
    (out / "parts/study/.holdfast-77.part").write_bytes(b"PAR1")
    assert (out / "record.json").exists()
    run = run_study(write(GRID), out)
    assert (run.found, run.played) == (0, 28)
    assert json.loads((out / "record.json").read_text())["name"] == "regions"
    assert set(os.listdir(out)) == {"record.json", "summary.csv", *(file.name for file in run.files.values())}


def test_folders_that_cannot_be_used_are_left_alone(write, tmp_path):
    file = write(PLAIN)
    with pytest.raises(hf.HoldfastError, match=r"must be empty or hold this study; it has 'study\.toml'"):
        run_study(file, tmp_path)
    with pytest.raises(hf.HoldfastError, match="out must be a folder that can be written to"):
        run_study(file, file)
    with (
        claimed(tmp_path / "out", "running a study"),
        pytest.raises(hf.HoldfastError, match="another process is running a study in"),
    ):
        run_study(file, tmp_path / "out")


def test_numbers_of_a_gpu_and_of_a_cpu_are_not_mixed(write, tmp_path):
    run_study(write(PLAIN), tmp_path / "out")
    with pytest.raises(hf.HoldfastError, match=r'numbers is "cpu" there and "gpu" here'):
        run_study(tmp_path / "study.toml", tmp_path / "out", resume=True, backend=Gpu())


def test_loss_tables_from_files(write, tmp_path):
    """The same losses as .npy, parquet and csv; all rows are played where no horizon is given."""
    losses = np.random.default_rng(5).integers(0, 8, (120, 3)) / 8
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data/t.npy", losses)
    frame = pl.DataFrame(losses, schema=["east", "west", "north"])
    frame.write_parquet(tmp_path / "data/t.parquet")
    frame.write_csv(tmp_path / "data/t.csv")
    frames = []
    for suffix in ("npy", "parquet", "csv"):
        file = write(table_study(f"data/t.{suffix}").replace("horizon = 300", ""))
        run = run_study(file, tmp_path / suffix)
        frames.append(hf.Result.read(run.files["study"]).frame)
        settings = json.loads((tmp_path / suffix / "record.json").read_text())["cells"]["study"]
        assert settings["horizon"] == 120
        assert settings["environment"]["source"] == f"data/t.{suffix}"
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])
    frame.reverse().write_csv(tmp_path / "data/t.csv")
    with pytest.raises(hf.HoldfastError, match=r"environment\.sha256 is .* there and .* here"):
        run_study(file, tmp_path / "csv", resume=True)


def test_mistakes_come_before_anything_is_played(write, tmp_path):
    with pytest.raises(hf.InvalidParameter, match=r"backend must be one of .*did you mean 'threads'"):
        run_study(write(PLAIN), tmp_path / "out", backend="thread")
    with pytest.raises(hf.HoldfastError):
        run_study(write(PLAIN + "[grid]\nenvironment.gap = [0.1, 3.0]"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


# ---- a full disk, and several at once


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_the_study_goes_on_afterwards(write, small_disk, tmp_path):
    """The more of the disk is taken, the earlier the study comes to its end; each time it keeps what was written."""
    file = write(GRID)
    whole = run_study(file, tmp_path / "whole")
    ballast, out = small_disk / "ballast", small_disk / "out"
    seen = set()
    for taken in (64, 60, 52, 44, 36):
        shutil.rmtree(out, ignore_errors=True)
        ballast.write_bytes(bytes(taken * 1024))
        with pytest.raises(hf.HoldfastError, match=r"^[^\n]+No space left on device\)?$") as caught:
            run_study(file, out, resume=True)
        seen.add(str(caught.value))
        assert not list(small_disk.rglob("*.part"))
    assert len(seen) > 2
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=1m", str(small_disk)], check=True)
    run = run_study(file, out, resume=True)
    for one, other in zip(run.values(), whole.values(), strict=True):
        assert one.frame.equals(other.frame)


@pytest.mark.slow
def test_two_at_once_are_one_study(write, tmp_path):
    """Whichever comes second is refused or finds it finished, and the tables are whole."""
    file, out = write(PLAIN.replace("replications = 5", "replications = 3000")), tmp_path / "out"
    code = (
        f"from holdfast.lab.study import run_study; print(run_study({str(file)!r}, {str(out)!r}, resume=True).played)"
    )
    command = [sys.executable, "-c", code]
    runs = []
    for _ in range(4):
        runs.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        time.sleep(0.05)
    ends = [(process.communicate(timeout=300), process.returncode) for process in runs]
    played = [int(said[0]) for said, status in ends if status == 0]
    assert sorted(played)[-1] == 3000
    assert sum(played) == 3000
    for said, status in ends:
        assert status == 0 or "another process is running a study in" in said[1].splitlines()[-1]
    assert sorted(os.listdir(out)) == ["record.json", "study.parquet", "summary.csv"]


# ---- chunks of replications: cut by the clock, in whole rows of games side by side


@pytest.mark.parametrize(
    ("chunk", "taken", "width", "row", "wanted"),
    [
        (2, 0.01, 2, 64, 64),  # quick games: a row for each core at once
        (2, 5.0, 2, 64, 64),  # a row takes as long as ten such games, less than a minute
        (2, 20.0, 2, 64, 1),  # more than a minute: alone, ten seconds at a time
        (64, 56.0, 2, 64, 64),  # what a row took is no reason to cut it
        (64, 1.0, 2, 64, 512),  # eight times as many at most
        (64, 4.0, 2, 64, 128),  # whole rows
        (16, 30.0, 2, 64, 64),  # eight on each core were a row already
        (4096, 5.0, 4096, 1, 8192),  # a GPU has no rows
    ],
)
def test_chunks_grow_to_whole_rows_of_games_side_by_side(chunk, taken, width, row, wanted):
    assert Chunks().next_size(chunk, taken, width, row) == wanted


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def spread(missing, seconds_per_game: float, policies=None, **limits) -> list[tuple[int, int]]:
    """The chunks on two cores, when each game takes so long."""
    clock = Clock()
    found = []
    for first, count in Chunks(clock=clock, **limits).spread(missing, policies or [hf.Exp3(2)], 10, Threads(2)):
        found.append((first, count))
        clock.now += count * seconds_per_game
    return found


@pytest.mark.parametrize("seconds_per_game", [0.0, 1e-3, 0.1, 3.0, 1e3])
def test_together_they_are_what_is_missing(seconds_per_game):
    chunks = spread([(5, 700), (1000, 3)], seconds_per_game)
    assert sum(count for _, count in chunks) == 703
    played = [i for first, count in chunks for i in range(first, first + count)]
    assert played == [*range(5, 705), *range(1000, 1003)]


def test_they_follow_the_clock():
    assert spread([(0, 20_000)], 1e-3)[:4] == [(0, 2), (2, 64), (66, 512), (578, 4096)]
    assert {count for _, count in spread([(0, 90)], 7.0)[1:]} == {1}
    assert all(second[1] <= 8 * max(first[1], 64) for first, second in pairwise(spread([(0, 10**6)], 1e-9)))


def test_a_table_is_never_too_large():
    assert max(count for _, count in spread([(0, 5000)], 0.0, most_rows=1000)) == 100
    assert max(count for _, count in spread([(0, 50)], 0.0, most_rows=1)) == 1
    two = [hf.Exp3(2), hf.TsallisInf(2)]
    assert max(count for _, count in spread([(0, 5000)], 0.0, two, most_rows=1000)) == 50


def test_policies_that_are_not_played_side_by_side_have_no_rows():
    assert spread([(0, 5000)], 4.0, policies=[hf.BaSE(2, horizon=100)])[:3] == [(0, 2), (2, 2), (4, 2)]
