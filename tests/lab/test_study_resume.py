"""Studies that go on: only what is missing is played, and only what is known to be good is kept."""

import io
import json
import os
from pathlib import Path

import polars as pl
import pytest
from damage import damaged
from study_files import GRID, PLAIN, SEEDS, Counting, Killed

import holdfast as hf
from holdfast.lab.study import finished_tables, read_study, run_study
from holdfast.lab.tables import Chunks, Folder, Tables
from holdfast.runs import write_record


def read(table: bytes) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(table))


def json_of(text: bytes) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


ONE_BY_ONE = Chunks(seconds=1e-9, row_seconds=0.0)
"""Chunks of one replication after the first."""


def same_tables(run: Tables, other: Tables) -> None:
    assert [file.name for file in run.files.values()] == [file.name for file in other.files.values()]
    summaries = [(next(iter(tables.files.values())).parent / "summary.csv").read_bytes() for tables in (run, other)]
    for one, two in zip(run.values(), other.values(), strict=True):
        assert one.frame.equals(two.frame)
        assert {**one.provenance, "backend": ""} == {**two.provenance, "backend": ""}
    assert summaries[0] == summaries[1]


def test_resume_plays_only_what_is_missing(write, tmp_path):
    """Stopped after the third chunk of the second cell, and with two tables damaged or left half-written."""
    file, out = write(GRID), tmp_path / "out"
    with pytest.raises(Killed):
        run_study(file, out, backend=Counting(6 + 4), chunks=ONE_BY_ONE)
    parts = out / "parts" / "switching_cost=0.1,gap=0.3"
    assert sorted(os.listdir(parts)) == ["0-1.parquet", "2-2.parquet", "3-3.parquet"]
    (parts / "2-2.parquet").write_bytes((parts / "2-2.parquet").read_bytes()[:-40])
    (parts / ".holdfast-77.part").write_bytes(b"PAR1")
    lines: list[str] = []
    backend = Counting()
    run = run_study(file, out, backend=backend, resume=True, echo=lines.append, chunks=ONE_BY_ONE)
    assert backend.played[:3] == [(2, 1), (4, 1), (5, 1)]
    assert (run.found, run.played) == (7 + 3, 4 * 7 - 10)
    assert any("played again" in line and "2-2.parquet" in line for line in lines)
    assert "regions: 4 combinations, 18 of 28 replications to play" in lines
    same_tables(run, run_study(file, tmp_path / "whole"))
    again = run_study(file, out, resume=True)
    assert (again.found, again.played) == (28, 0)
    assert set(os.listdir(out)) == {"record.json", "summary.csv", *(file.name for file in run.files.values())}


def test_resume_with_more_replications_plays_the_missing_ones(write, tmp_path):
    out = tmp_path / "out"
    run_study(write(GRID), out)
    more = write(GRID.replace("replications = 7", "replications = 12"))
    said = "holds this study in part; give --resume to play what is missing, or another --out"
    with pytest.raises(hf.HoldfastError, match=said):
        run_study(more, out)
    backend = Counting(stop=2)
    with pytest.raises(Killed):
        run_study(more, out, backend=backend, resume=True)
    backend = Counting()
    run = run_study(more, out, backend=backend, resume=True, chunks=Chunks(seconds=1e9, row_seconds=1e9))
    assert backend.played == [(9, 2), (11, 1)] + [(7, 2), (9, 3)] * 3
    assert (run.found, run.played) == (4 * 7 + 2, 4 * 5 - 2)
    same_tables(run, run_study(more, tmp_path / "whole"))
    with pytest.raises(hf.HoldfastError, match=r"another study: replications is 12 there and 7 here; give another"):
        run_study(write(GRID), out, resume=True)


@pytest.mark.slow
def test_resume_with_more_values_in_the_grid_plays_the_missing_combinations(write, tmp_path):
    out = tmp_path / "out"
    first = run_study(write(GRID), out)
    more = write(GRID.replace("[0.05, 0.3]", "[0.05, 0.2, 0.3]"))
    with pytest.raises(hf.HoldfastError, match=r"holds this study in part; give --resume to play what is missing"):
        run_study(more, out)
    run = run_study(more, out, resume=True)
    assert (run.found, run.played) == (4 * 7, 2 * 7)
    same_tables(run, run_study(more, tmp_path / "whole"))
    with pytest.raises(hf.HoldfastError, match=r"another study: grid.environment.gap is \[0.05, 0.2, 0.3\] there"):
        run_study(write(GRID), out, resume=True)
    assert set(first.files) < set(run.files)
    both = GRID.replace("[0.05, 0.3]", "[0.05, 0.2, 0.3, 0.4]").replace("replications = 7", "replications = 8")
    run = run_study(write(both), out, resume=True)
    assert (run.found, run.played) == (6 * 7, 6 + 2 * 8)
    same_tables(run, run_study(write(both), tmp_path / "both"))


def test_a_value_that_changes_the_type_of_a_column_has_its_tables_made_anew(write, tmp_path):
    """Whole numbers become real ones: tables of both kinds could not be read as one."""
    out, whole = tmp_path / "out", SEEDS.replace("seed = [1, 2]", "switching_cost = [1, 2]")
    run_study(write(whole), out)
    more = write(whole.replace("[1, 2]", "[1, 2, 0.5]"))
    lines: list[str] = []
    run = run_study(more, out, resume=True, echo=lines.append)
    assert sum("does not hold every row that it should" in line for line in lines) == 2
    same_tables(run, run_study(more, tmp_path / "whole"))
    assert finished_tables(out).frame.height == 3 * 3 * 2


def test_more_replications_are_recorded_where_the_first_were(write, tmp_path):
    """Without checkpoints in the file there are fewer of them for very many games; those of the first run stay."""
    text = PLAIN.replace("checkpoints = [10, 100]", "")
    texts = [text.replace("replications = 5", f"replications = {count}") for count in (10**5, 10**6)]
    few, many = (read_study(write(text)) for text in texts)
    assert [len(study.cells[0].checkpoints) for study in (few, many)] == [50, 5]
    write_record(tmp_path, Folder(tmp_path, few, "cpu").record())
    (tmp_path / "study.toml").rename(tmp_path / "study.parquet")  # as if something had been played
    goes_on = Folder.admitted(tmp_path, many, "cpu", resume=True).plan.cells[0]
    assert goes_on.replications == 10**6
    assert goes_on.checkpoints == few.cells[0].checkpoints
    write_record(tmp_path, Folder(tmp_path, many, "cpu").record())
    with pytest.raises(hf.HoldfastError, match="replications is 1000000 there and 100000 here"):
        Folder.admitted(tmp_path, few, "cpu", resume=True)


def test_parts_of_a_finished_cell_go(write, tmp_path):
    """A kill between writing the table and removing its parts leaves both."""
    file, out = write(SEEDS), tmp_path / "out"
    with pytest.raises(Killed):
        run_study(file, out, backend=Counting(4), chunks=ONE_BY_ONE)
    parts = out / "parts" / "seed=2"
    kept = {part.name: part.read_bytes() for part in parts.iterdir()}
    run_study(file, out, resume=True)
    parts.mkdir(parents=True)
    for name, data in kept.items():
        (parts / name).write_bytes(data)
    assert run_study(file, out, resume=True).played == 0
    assert sorted(os.listdir(out)) == ["record.json", "seed=1.parquet", "seed=2.parquet", "summary.csv"]


def finished(write, tmp_path: Path) -> tuple[Path, Path, Tables]:
    out = tmp_path / "out"
    file = write(SEEDS)
    return file, out, run_study(file, out)


def repaired(file: Path, out: Path, whole: Tables, played: int) -> list[str]:
    """Run the study again, check that nothing changed, and return its message."""
    kept = {name: hf.Result.read(path) for name, path in whole.files.items() if path.exists() and not played}
    lines: list[str] = []
    run = run_study(file, out, resume=True, echo=lines.append)
    assert run.played == played
    for name, result in kept.items():
        assert hf.Result.read(run.files[name]).frame.equals(result.frame)
    return [line.removeprefix("played again: ") for line in lines if line.startswith("played again: ")]


def test_tables_that_are_not_their_own_are_named_and_played_again(write, tmp_path):
    file, out, run = finished(write, tmp_path)
    first, second = run.files.values()
    one, two = first.read_bytes(), second.read_bytes()
    for left, right, played in ((two, two, 3), (one, one, 3), (two, one, 6)):  # a copy of the other's; both swapped
        first.write_bytes(left)
        second.write_bytes(right)
        said = repaired(file, out, run, played)
        assert len(said) == played // 3
        assert all(line.endswith("holds other games than its name says") for line in said)
        assert hf.Result.read(first).frame.equals(read(one))
        assert hf.Result.read(second).frame.equals(read(two))
    other = run_study(write(SEEDS.replace("horizon = 50", "horizon = 51"), "other.toml"), tmp_path / "other")
    first.write_bytes(other.files["seed=1"].read_bytes())
    assert len(repaired(file, out, run, played=3)) == 1
    result = hf.Result.read(first)
    for frame in (result.frame.head(-1), result.frame.drop("seed")):
        hf.Result(frame, result.provenance).write(first)
        (line,) = repaired(file, out, run, played=3)
        assert line.endswith("does not hold every row that it should")
    result.frame.write_parquet(first, metadata={"holdfast": json.dumps(result.provenance)})  # no checksum
    assert len(repaired(file, out, run, played=3)) == 1


@pytest.mark.slow
def test_every_damage_to_the_record_is_noticed(write, tmp_path):
    file, out, run = finished(write, tmp_path)
    record = out / "record.json"
    whole = record.read_bytes()
    for what, changed in damaged(whole, 200, seed=5):
        record.write_bytes(changed)
        if json_of(changed) == json_of(whole):  # white space
            continue
        with pytest.raises(hf.BadSavedState, match=r"record\.json is damaged \([^\n]+\); give another --out$"):
            pytest.fail(f"{what}: {run_study(file, out, resume=True)}")
    record.write_bytes(whole)
    assert run_study(file, out, resume=True).found == 6
    assert all(path.exists() for path in run.files.values())


def test_measures_on_request_are_in_every_table_and_kept(write, tmp_path):
    file, out = write('record = ["dynamic"]' + PLAIN), tmp_path / "out"
    first = run_study(file, out)
    assert {result.measures[-1] for result in first.values()} == {"dynamic"}
    assert "dynamic_mean" in (out / "summary.csv").read_text().splitlines()[0]
    again = run_study(file, out, resume=True)
    assert (again.found, again.played) == (5, 0)
    same_tables(again, first)
    assert "dynamic" not in next(iter(run_study(write(PLAIN), tmp_path / "other").values())).frame.columns
