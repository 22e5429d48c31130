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

import holdfast as hf
from holdfast.experiments import study as running
from holdfast.experiments.study import run_study
from holdfast.experiments.study_file import read_study

PLAIN = """
horizon = 300
replications = 5
seed = 3
switching_cost = 1.5
checkpoints = [10, 100]
policies = ["tsallis-switch", "exp3"]
[environment]
kind = "bernoulli"
n_arms = 3
gap = 0.2
"""

GRID = """
name = "regions"
horizon = 400
replications = 7
switching_cost = 1.0
checkpoints = "log"
[environment]
kind = "bernoulli"
n_arms = 4
gap = 0.1
[[policies]]
policy = "tsallis-switch"
[[policies]]
policy = "tsallis-inf"
estimator = "reduced-variance"
name = "rv"
[[policies]]
policy = "exp3-blocks"
[grid]
switching_cost = [0.1, 2]
environment.gap = [0.05, 0.3]
"""

SLOW = """
horizon = 100_000
replications = 60
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


@pytest.fixture
def write(tmp_path):
    """A function that writes a study file and returns its path."""

    def written(text: str, name: str = "study.toml") -> Path:
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return file

    return written


def test_a_study_is_one_simulation(write, tmp_path):
    run = run_study(write(PLAIN), tmp_path / "out")
    direct = hf.simulate(
        [hf.TsallisSwitch(3, 1.5), hf.Exp3(3)],
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
    assert found.provenance == direct.provenance | {"study": {"name": "study", "cell": {}}}
    assert (run.played, run.found) == (5, 0)
    assert sorted(os.listdir(tmp_path / "out")) == [".lock", "study.json", "study.parquet", "summary.parquet"]
    assert pl.read_parquet(run.summary).equals(direct.summary())


def test_a_grid_runs_every_combination_and_policies_follow_the_study(write, tmp_path):
    run = run_study(write(GRID), tmp_path / "out")
    assert list(run.files) == [f"switching_cost={lam},gap={gap}" for lam in ("0.1", "2") for gap in ("0.05", "0.3")]
    for values, result in run.results():
        lam = values["switching_cost"]
        assert result.provenance["environment"]["mean_losses"][0] == 0.5 - values["environment.gap"]
        assert result.provenance["policies"] == {
            "tsallis-switch": hf.TsallisSwitch(4, lam).settings(),
            "rv": hf.TsallisInf(4, estimator="reduced-variance").settings(),
            "exp3-blocks": hf.BlockExp3(4, lam, 400).settings(),
        }
        assert result.provenance["switching_cost"] == lam
        assert result.provenance["study"] == {"name": "regions", "cell": values}
    summary = pl.read_parquet(run.summary)
    assert summary.columns[:5] == ["switching_cost", "gap", "policy", "round", "replications"]
    assert summary.filter(pl.col("round") == 400).height == 4 * 3


def test_grids_over_anything(write):
    study = read_study(
        write(
            """
            switching_cost = 1.0
            policies = ["tsallis-switch", { policy = "base-geometric", name = "base" }]
            [grid]
            horizon = [1e3, 2_000]
            replications = [2, 3]
            seed = [0, 7]
            environment = [{ kind = "reversal", n_arms = 2 }, { kind = "constrained-bernoulli", n_arms = 3, gap = 0.1 }]
            switching_cost = [0.5, { power = 0.5 }]
            policies.tsallis-switch.switching_cost = [0.25, 0.75]
            "policies.base.gamma" = [0.1, 0.5]
            checkpoints = [3, "log"]
            """
        )
    )
    assert len(study.cells) == 2**8
    assert study.cells[0].name == "cell-001"
    assert len({json.dumps(cell.settings()) for cell in study.cells}) == 2**8
    last = study.cells[-1]
    assert (last.horizon, last.replications, last.seed, last.environment.n_arms) == (2000, 3, 7, 3)
    assert last.policies["base"] == hf.BaSE(3, 2000, gamma=0.5)
    assert last.policies["tsallis-switch"] == hf.TsallisSwitch(3, 0.75)
    assert last.costs.given == hf.Power(0.5)
    assert study.cells[0].environment == hf.Reversal(2, 1000)
    assert study.cells[0].checkpoints == (333, 667, 1000)


def test_two_fields_with_the_same_last_word_are_told_apart(write):
    text = PLAIN + '[grid]\n"environment.n_arms" = [2, 3]\n"policies.exp3.n_arms" = [2]\n'
    with pytest.raises(hf.HoldfastError, match=r"n_arms must be 3, as many .*at environment.n_arms = 3, policies"):
        read_study(write(text))
    text = PLAIN + "[grid]\nhorizon = [20, 30]\npolicies.tsallis-switch.switching_cost = [1, 2]\nswitching_cost = [3]\n"
    assert read_study(write(text.replace("checkpoints = [10, 100]", ""))).cells[0].name == (
        "horizon=20,policies.tsallis-switch.switching_cost=1,switching_cost=3"
    )


@pytest.mark.parametrize("chunk_seconds", [1e-9, 1e-3, 100.0])
def test_chunks_change_no_number(write, tmp_path, monkeypatch, chunk_seconds):
    monkeypatch.setattr(running, "CHUNK_SECONDS", chunk_seconds)
    run = run_study(write(GRID), tmp_path / "out", workers=3)
    monkeypatch.undo()
    whole = run_study(tmp_path / "study.toml", tmp_path / "whole", workers=1)
    for (_, one), (_, other) in zip(run.results(), whole.results(), strict=True):
        assert one.frame.equals(other.frame)
        assert one.provenance == other.provenance
    assert pl.read_parquet(run.summary).equals(pl.read_parquet(whole.summary))


class Killed(Exception):
    pass


def test_resume_plays_only_what_is_missing(write, tmp_path, monkeypatch):
    """Stopped after the third chunk of the second cell, and with two tables damaged or left half-written."""
    file, out = write(GRID), tmp_path / "out"
    monkeypatch.setattr(running, "CHUNK_SECONDS", 1e-9)  # chunks of one replication after the first
    simulate, played, stop = running.simulate, [], 6 + 4

    def counted(*args, **options):
        played.append((options["first_replication"], options["replications"]))
        if len(played) == stop:
            raise Killed
        return simulate(*args, **options)

    monkeypatch.setattr(running, "simulate", counted)
    with pytest.raises(Killed):
        run_study(file, out, workers=2)
    parts = out / "parts" / "switching_cost=0.1,gap=0.3"
    assert sorted(os.listdir(parts)) == ["0-1.parquet", "2-2.parquet", "3-3.parquet"]
    (parts / "2-2.parquet").write_bytes((parts / "2-2.parquet").read_bytes()[:-40])
    (parts / ".4-4.parquet.77.part").write_bytes(b"PAR1")
    lines: list[str] = []
    played, stop = [], -1
    run = run_study(file, out, workers=2, resume=True, echo=lines.append)
    assert played[:3] == [(2, 1), (4, 1), (5, 1)]
    assert (run.found, run.played) == (7 + 3, 4 * 7 - 10)
    assert any("played again" in line and "2-2.parquet" in line for line in lines)
    assert "regions: 4 cells, 18 of 28 replications to play" in lines
    monkeypatch.undo()
    whole = run_study(file, tmp_path / "whole")
    for (_, one), (_, other) in zip(run.results(), whole.results(), strict=True):
        assert one.frame.equals(other.frame)
        assert one.provenance == other.provenance
    again = run_study(file, out, resume=True)
    assert (again.found, again.played) == (28, 0)
    assert not list(out.rglob("*.part"))


def start(code: str) -> subprocess.Popen:
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))


def slow_run(file: Path, out: Path) -> str:
    """A program that runs a study in small chunks."""
    return (
        "from holdfast.experiments import study; study.CHUNK_SECONDS = 0.02\n"
        f"study.run_study({str(file)!r}, {str(out)!r}, resume=True, echo=lambda line: print(line, flush=True))"
    )


def wait_for(out: Path, pattern: str, process: subprocess.Popen) -> None:
    while not list(out.glob(pattern)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def test_a_killed_run_loses_only_the_chunk_in_flight_and_ctrl_c_says_what_was_kept(write, tmp_path):
    file, out = write(SLOW), tmp_path / "out"
    process = start(slow_run(file, out))
    wait_for(out, "parts/seed=1/*.parquet", process)
    process.kill()
    process.communicate()
    kept = {part.name: part.read_bytes() for part in out.glob("parts/*/*.parquet")}
    assert kept

    process = start(slow_run(file, out))
    wait_for(out, "seed=1.parquet", process)
    wait_for(out, "parts/seed=2/*.parquet", process)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=20)
    assert process.returncode != 0
    first, *_, last = said.splitlines()
    assert first.startswith("study: 2 cells, ")
    assert int(first.split()[3]) < 120  # what the killed run had finished is not played again
    assert last.startswith("interrupted: ")
    assert last.endswith(f"of 120 replications are kept in {out}; go on with --resume")

    run = run_study(file, out, resume=True)
    assert run.found == int(last.split()[1])
    direct = hf.simulate(
        [hf.Exp3(8), hf.TsallisInf(8)],
        hf.Bernoulli.with_gap(8, 0.1),
        horizon=100_000,
        switching_cost=0.1,
        replications=60,
        seed=1,
        checkpoints=[1000],
    )
    assert hf.Result.read(out / "seed=1.parquet").frame.equals(direct.frame)


def test_a_folder_holds_one_study(write, tmp_path):
    out = tmp_path / "out"
    run_study(write(PLAIN), out)
    with pytest.raises(hf.HoldfastError, match="holds this study already; give --resume to go on with it, or another"):
        run_study(tmp_path / "study.toml", out)
    for resume in (False, True):
        with pytest.raises(
            hf.HoldfastError, match=r"out holds another study: study\.horizon is 300 there and 301 here; give another"
        ):
            run_study(write(PLAIN.replace("300", "301"), "study.toml"), out, resume=resume)
    with pytest.raises(hf.HoldfastError, match=r'holds another study: study is "study" there and "other" here'):
        run_study(write(PLAIN, "other.toml"), out, resume=True)
    with pytest.raises(hf.HoldfastError, match=r"another study: it has study\.policies\.exp3"):
        run_study(write(PLAIN.replace(', "exp3"', "")), out, resume=True)
    manifest = out / "study.json"
    manifest.write_text(manifest.read_text()[:-20])
    with pytest.raises(hf.BadSavedState, match=r"study\.json is damaged"):
        run_study(write(PLAIN), out, resume=True)


def test_a_folder_with_other_files_is_left_alone(write, tmp_path):
    file = write(PLAIN)
    with pytest.raises(hf.HoldfastError, match=r"must be empty or hold this study; it has 'study\.toml'"):
        run_study(file, tmp_path)
    with pytest.raises(hf.HoldfastError, match="out must be a folder that can be written to"):
        run_study(file, file)


def test_another_process_in_the_same_folder_is_refused(write, tmp_path):
    with (
        running._claimed(tmp_path / "out"),
        pytest.raises(hf.HoldfastError, match="another process is running a study in"),
    ):
        run_study(write(PLAIN), tmp_path / "out")


def test_numbers_of_a_gpu_and_of_a_cpu_are_not_mixed(write, tmp_path):
    run_study(write(PLAIN), tmp_path / "out")

    class Gpu:
        name = "cuda"

    with pytest.raises(hf.HoldfastError, match=r'numbers is "cpu" there and "gpu" here'):
        run_study(tmp_path / "study.toml", tmp_path / "out", resume=True, backend=Gpu())


def table_study(path: str) -> str:
    return PLAIN.replace('kind = "bernoulli"\nn_arms = 3\ngap = 0.2', f'kind = "loss-table"\npath = "{path}"')


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
        settings = json.loads((tmp_path / suffix / "study.json").read_text())["cells"]["study"]
        assert settings["horizon"] == 120
        assert settings["environment"]["source"] == f"data/t.{suffix}"
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])
    frame.reverse().write_csv(tmp_path / "data/t.csv")
    with pytest.raises(hf.HoldfastError, match=r"environment\.sha256 is .* there and .* here"):
        run_study(file, tmp_path / "csv", resume=True)


def test_mistakes_in_loss_tables(write, tmp_path):
    frame = pl.DataFrame({"east": [0.5, 0.25], "west": [1.0, None]})
    frame.write_parquet(tmp_path / "hole.parquet")
    frame.with_columns(pl.lit("x").alias("label")).write_parquet(tmp_path / "text.parquet")
    (frame * 2).fill_null(0).write_parquet(tmp_path / "large.parquet")
    (tmp_path / "not.parquet").write_text("nothing")
    for path, message in {
        "hole.parquet": r"environment\.loss at row 1, column 1 must be a number from 0 to 1 .*got nan \(study.toml\)",
        "large.parquet": r"environment\.loss at row 0, column 1 must be a number from 0 to 1 .*got 2\.0",
        "text.parquet": r"environment\.path must have a column of numbers for each arm, .*'label' is one of String",
        "not.parquet": r"environment\.path must be a \.parquet table",
        "none.npy": r"environment\.path must be a file; there is no .*none\.npy",
        "table.xls": r"environment\.path must end in \.npy, \.parquet or \.csv",
    }.items():
        with pytest.raises(hf.HoldfastError, match=message):
            read_study(write(table_study(path)))
    np.save(tmp_path / "short.npy", np.zeros((20, 3)))
    with pytest.raises(hf.HoldfastError, match=r"horizon must not exceed the 20 rounds of the table; got 300"):
        read_study(write(table_study("short.npy")))


MISTAKES = {
    "gap = 1.7": r"environment\.gap must be from 0 to 1; got 1\.7 \(study\.toml\)",
    "gap = 0.7": r"environment\.gap must not exceed the mean loss of the other arms, 0\.5; got 0\.7",
    "gap = '0.2'": r"environment\.gap must be a finite number and not negative; got '0\.2'",
    "gpa = 0.2": (
        r"environment\.gpa is not a field of an environment of kind 'bernoulli'; did you mean 'gap'\?; got 0\.2"
    ),
    "n_arms = 2.5": r"environment\.n_arms must be a whole number of at least 1; got 2\.5",
    "n_arms = true": r"environment\.n_arms must be a whole number of at least 1; got True",
    "mean_losses = [0.2]": r"environment must have either mean_losses, or n_arms and gap \(study",
    "shuffled = 1": r"environment\.shuffled must be true or false; got 1",
    "kind = 'bernouli'": (
        r"environment\.kind must be one of 'bernoulli', .*; did you mean 'bernoulli'\?; got 'bernouli'"
    ),
    "horizon = 0": r"^horizon must be a whole number from 1 to \d+; got 0",
    "horizont = 9": r"^horizont is not a field of a study; did you mean 'horizon'\?; got 9",
    "replications = -1": r"^replications must be a whole number from 1 to \d+; got -1",
    "seed = -1": r"^seed must not be negative; got -1",
    "switching_cost = -2.0": r"^switching_cost must be a finite number and not negative; got -2\.0",
    "switching_cost = [0.5, nan]": r"^switching_cost\[1\] must be a finite number and not negative; got nan",
    "switching_cost = { pwoer = 1 }": (
        r"^switching_cost takes 'power' and 'scale' only; did you mean 'power'\?; got 'pwoer'"
    ),
    "switching_cost = { scale = 1 }": r"^switching_cost must have a power: \{ power = 0\.5 \}; got \{'scale': 1\}",
    "switching_cost = { power = 0.5 }": (
        r"policies\[0\]\.switching_cost must be given, because the study's is a sequence"
    ),
    "checkpoints = 'lgo'": r"^checkpoints must be 'linear', 'log', .*; did you mean 'log'\?; got 'lgo'",
    "checkpoints = [999]": r"^checkpoints must be a whole number from 1 to 300; got 999",
    "name = 'a/b'": r"^name must be letters, digits, '\.', '_' and '-', as a file name has; got 'a/b'",
    "policies = []": r"^policies must be a list such as",
    "policies = ['exp4']": r"^policies\[0\]\.policy must be one of .*; did you mean 'exp3'\?; got 'exp4'",
    "policies = ['exp3', 'exp3']": r"^policies\[1\]\.name must differ from those of the policies before it; got 'exp3'",
    "policies = ['exp3', 7]": r"^policies\[1\] must be a policy's id, or a table with it under policy; got 7",
    "policies = [{name = 'x'}]": r"^policies\[0\]\.policy must be given: one of 'tsallis-switch'",
    "policies = [{policy = 'exp3', gama = 1}]": r"^policies\[0\]\.gama is not a parameter of exp3",
    "policies = [{policy = 'exp3', n_arms = 4}]": (
        r"^policies\[0\]\.n_arms must be 3, as many as the environment has; got 4"
    ),
    "policies = [{policy = 'base-geometric', gamma = -1}]": (
        r"^policies\[0\]\.gamma must be a finite number above 0; got -1"
    ),
    "environment = 3": r"^environment must be a table; got 3",
    "grid = 3": r"^grid must be a table of lists, \[grid\]; got 3",
    "grid.horizon = 9": r"^grid\.horizon must be a list of the values to try; got 9",
    "grid.horizon = [9, 9]": r"^grid\.horizon must not have a value twice; got 9",
    "grid.horizon = [400, 0]": r"^horizon must be a whole number .*; got 0 \(study\.toml, at horizon = 0\)",
    "grid.name = ['a']": r"^grid\.name cannot vary",
    "grid.polices.x = [1]": r"^polices is not a field of a study; did you mean 'policies'\?",
    "grid.policies.exp.gamma = [1]": (
        r"^grid must be policies\.<name>\.<parameter> .*did you mean 'exp3'\?; got 'policies\.exp\.gamma'"
    ),
    "grid.seed.x = [1]": r"^grid has 'seed\.x', but seed is no table; got 3",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_answered_with_the_field_the_rule_and_the_value(write, line):
    field = line.partition("=")[0].strip()
    kept = [old for old in PLAIN.splitlines() if not old.startswith(f"{field} =")]
    if field in ("gap", "gpa", "n_arms", "mean_losses", "shuffled", "kind"):
        text = "\n".join([*kept, line])
    elif field == "environment":
        text = "\n".join([line, *kept[: kept.index("[environment]")]])
    else:
        text = "\n".join([line, *kept])
    with pytest.raises(hf.HoldfastError, match=MISTAKES[line]) as caught:
        read_study(write(text))
    assert "\n" not in str(caught.value)
    assert "study.toml" in str(caught.value)


def test_files_that_are_no_study(write, tmp_path):
    with pytest.raises(hf.HoldfastError, match=r"study\.toml is not TOML: .*line 2"):
        read_study(write("horizon = 3\nseed = = 4\n"))
    with pytest.raises(hf.HoldfastError, match=r"none\.toml cannot be read: .*No such file"):
        read_study(tmp_path / "none.toml")
    with pytest.raises(hf.HoldfastError, match=r"cannot be read"):
        read_study(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(hf.HoldfastError, match=r"cannot be read"):
        read_study(tmp_path / "binary.toml")
    for missing in ("switching_cost", "policies", "horizon"):
        text = "\n".join(line for line in PLAIN.splitlines() if not line.startswith(missing))
        with pytest.raises(hf.HoldfastError, match=rf"^{missing} must be given.* \(study\.toml\)$"):
            read_study(write(text))
    with pytest.raises(hf.HoldfastError, match=r"^environment must be given"):
        read_study(write(PLAIN.split("[environment]")[0]))
    grid = "\n".join(f"policies.exp3.x{i} = [1, 2, 3, 4, 5]" for i in range(9))
    with pytest.raises(hf.HoldfastError, match=r"^grid must not have more than 10000 combinations; got 1953125"):
        read_study(write(f"{PLAIN}[grid]\n{grid}"))


def test_mistakes_come_before_anything_is_played(write, tmp_path):
    with pytest.raises(hf.InvalidParameter, match=r"backend must be one of .*did you mean 'threads'"):
        run_study(write(PLAIN), tmp_path / "out", backend="thread")
    with pytest.raises(hf.HoldfastError):
        run_study(write(PLAIN + "[grid]\nenvironment.gap = [0.1, 3.0]"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
