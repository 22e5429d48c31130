"""Users' own studies: the file, its mistakes, and runs that can be stopped at any moment."""

import json
import os
import signal
import subprocess
import sys
import time
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
    direct = hf.simulate(
        [hf.TsallisSwitch(3, switching_cost=1.5), hf.Exp3(3)],
        hf.Bernoulli.with_gap(3, 0.2),
        horizon=300,
        switching_cost=1.5,
        replications=5,
        seed=3,
        checkpoints=[10, 100],
    )
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
    direct = hf.simulate(
        [hf.Exp3(8), hf.TsallisInf(8)],
        hf.Bernoulli.with_gap(8, 0.1),
        horizon=500_000,
        switching_cost=0.1,
        replications=30,
        seed=1,
        checkpoints=[1000],
    )
    assert hf.Result.read(out / "seed=1.parquet").frame.drop("seed").equals(direct.frame)


def test_a_folder_holds_one_study(write, tmp_path):
    out = tmp_path / "out"
    run_study(write(PLAIN), out)
    with pytest.raises(hf.HoldfastError, match="holds this study already; give --resume to go on, or another"):
        run_study(tmp_path / "study.toml", out)
    edited = PLAIN.replace("300", "301").replace("seed = 3", "seed = 4")
    for resume in (False, True):
        with pytest.raises(
            hf.HoldfastError,
            match=r"out holds another study: horizon is 300 there and 301 here; seed is 3 there and 4 here; "
            r"give another --out$",
        ):
            run_study(write(edited, "renamed.toml"), out, resume=resume)
    with pytest.raises(hf.HoldfastError, match=r'another study: name is "study" there and "other" here; give another'):
        run_study(write('name = "other"\n' + PLAIN, "other.toml"), out, resume=True)
    with pytest.raises(hf.HoldfastError, match=r'study: policies is \["tsallis-switch", "exp3"\] there and \["tsal'):
        run_study(write(PLAIN.replace(', "exp3"', "")), out, resume=True)
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
    with pytest.raises(
        hf.HoldfastError,
        match=r"holds another study: horizon is 300 there and 200 here; seed is 3 there and 4 here; "
        r"checkpoints is \[10, 100\] there and \[100\] here; give another --out$",
    ):
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
    assert sorted(os.listdir(out)) == sorted(
        ["record.json", "summary.csv", *(file.name for file in run.files.values())]
    )


def test_a_folder_with_other_files_is_left_alone(write, tmp_path):
    file = write(PLAIN)
    with pytest.raises(hf.HoldfastError, match=r"must be empty or hold this study; it has 'study\.toml'"):
        run_study(file, tmp_path)
    with pytest.raises(hf.HoldfastError, match="out must be a folder that can be written to"):
        run_study(file, file)


def test_another_process_in_the_same_folder_is_refused(write, tmp_path):
    with (
        claimed(tmp_path / "out", "running a study"),
        pytest.raises(hf.HoldfastError, match="another process is running a study in"),
    ):
        run_study(write(PLAIN), tmp_path / "out")


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
