"""Results in files: formats by suffix, provenance, checksums, damage."""

import io
import json
import os
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from damage import damaged
from made_results import ENVIRONMENT, SETTINGS, simulated

import holdfast as hf
from holdfast.results import SCHEMA, Result

SUFFIXES = (".parquet", ".csv", ".arrow", ".ipc", ".feather")


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".CSV", ".Parquet"])
def test_the_suffix_says_the_format(tmp_path, suffix):
    odd = (' a "quoted", name\nof two lines', "é", "7", "")
    result = hf.simulate(dict.fromkeys(odd, hf.Exp3(2)), ENVIRONMENT, **SETTINGS)
    path = result.write(tmp_path / f"r{suffix}")
    assert os.listdir(tmp_path) == [f"r{suffix}"]
    again = Result.read(path)
    assert again.frame.equals(result.frame)  # every bit of every number
    assert again.frame.schema == SCHEMA
    assert again.provenance == (result.provenance if suffix.lower() == ".parquet" else {})


def test_other_programs_read_each_format_as_what_it_is(tmp_path):
    result = simulated()
    for suffix, read in ((".parquet", pl.read_parquet), (".csv", pl.read_csv), (".arrow", pl.read_ipc)):
        assert read(io.BytesIO(result.write(tmp_path / f"r{suffix}").read_bytes())).equals(result.frame)
    head, first, *_ = (tmp_path / "r.csv").read_text().splitlines()
    assert head == "policy,replication,round,pseudo_regret,switches,regret_with_switching,total_loss,total_cost"
    assert first.startswith("exp3,0,10,")


@pytest.mark.parametrize(
    "path", ["r.json", "r", "", ".", "r.csv.gz", ".parquet", "r.xlsx", None, 3, b"r.csv", ["r.csv"]]
)
def test_other_suffixes_are_refused(tmp_path, path):
    rule = r"^path must be the name of a file that ends in \.parquet, \.csv, \.arrow, \.ipc or \.feather; got "
    place = tmp_path / path if isinstance(path, str) and path else path
    with pytest.raises(hf.InvalidParameter, match=rule):
        simulated().write(place)
    with pytest.raises(hf.InvalidParameter, match=rule):
        Result.read(place)
    assert os.listdir(tmp_path) == []


def test_what_is_no_plain_value_cannot_be_provenance(tmp_path):
    result = simulated()
    result.provenance["note"] = object()
    with pytest.raises(hf.HoldfastError, match=r"^provenance must be of plain values, as JSON has them \(.*object"):
        result.write(tmp_path / "r.parquet")
    with pytest.raises(hf.HoldfastError, match=r"^no name or setting in a result may contain 'holdfast:sha256='"):
        Result(result.frame, {"note": "holdfast:sha256="}).write(tmp_path / "r.parquet")
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("rows", [40, 4000])
def test_no_damage_to_a_parquet_file_goes_unnoticed(tmp_path, rows):
    """600 damages at one place each, for a small and a large table: all are named, none is read."""
    whole = simulated()
    frame = pl.concat([whole.frame] * (rows // whole.frame.height)).with_row_index()
    frame = frame.with_columns(pl.col("index").cast(pl.Int64).alias("replication")).drop("index")
    path = Result(frame, whole.provenance).write(tmp_path / "r.parquet")
    data = path.read_bytes()
    seen = 0
    for what, changed in damaged(data, 600, seed=rows):
        path.write_bytes(changed)
        with pytest.raises(hf.BadSavedState, match=r"r\.parquet (is damaged|must be a file written by)") as caught:
            pytest.fail(f"{what} was read: {Result.read(path)}")
        assert "\n" not in str(caught.value)
        seen += 1
    assert seen > 590
    path.write_bytes(data)
    assert Result.read(path).frame.equals(frame)


def refusal(path: Path) -> str:
    """Return the error for a file that is not read; nothing where it is read."""
    try:
        Result.read(path)
    except hf.BadSavedState as error:
        return str(error)
    return ""


@pytest.mark.parametrize("suffix", [".csv", ".arrow"])
def test_damage_to_other_formats_is_one_line(tmp_path, suffix):
    """They have no checksum; what can still be parsed is read, and nothing else is raised."""
    path = simulated().write(tmp_path / f"r{suffix}")
    for _, changed in damaged(path.read_bytes(), 300, seed=8):
        path.write_bytes(changed)
        assert re.fullmatch(rf"|{re.escape(str(path))} .+", refusal(path))


def test_a_table_without_a_checksum_is_refused(tmp_path):
    result, path = simulated(), tmp_path / "bare.parquet"
    result.frame.write_parquet(path, metadata={"holdfast": json.dumps(result.provenance)})
    assert refusal(path).endswith("bare.parquet is damaged: it has no checksum")


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "r.parquet"
    for foreign in (b"", b"not a table", b"PAR1", b"PAR1" * 9, os.urandom(99)):
        path.write_bytes(foreign)
        with pytest.raises(hf.BadSavedState, match=r"r\.parquet must be a file written by Result\.write \([^\n]+\)$"):
            Result.read(path)
    pl.DataFrame({"x": [1]}).write_parquet(path)
    with pytest.raises(hf.BadSavedState, match=r"this is another table"):
        Result.read(path)
    for metadata in ("", "[]", "{", '"x"', "[" * 10**5):
        pl.DataFrame(schema=SCHEMA).write_parquet(path, metadata={"holdfast": metadata})
        with pytest.raises(hf.BadSavedState):
            Result.read(path)
    pl.DataFrame(schema=SCHEMA).write_parquet(path, metadata={"holdfast": "{}", "holdfast.format": "2"})
    with pytest.raises(hf.BadSavedState, match=r"has format 2; this version of Holdfast reads 1"):
        Result.read(path)
    pl.DataFrame({"x": [1]}).write_csv(tmp_path / "r.csv")
    with pytest.raises(hf.BadSavedState, match=r"r\.csv must be a file written by Result\.write; this is another"):
        Result.read(tmp_path / "r.csv")
    hole = simulated().frame.with_columns(pl.lit(None, pl.Float64).alias("pseudo_regret"))
    hole.write_csv(tmp_path / "r.csv")
    with pytest.raises(hf.BadSavedState, match=r"is damaged: it has rows with nothing in a column that every row has"):
        Result.read(tmp_path / "r.csv")
    for missing in ("none.parquet", "none.csv", "a\0b.csv"):
        with pytest.raises(hf.BadSavedState, match=r"cannot be read: [^\n]+$"):
            Result.read(tmp_path / missing)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(hf.BadSavedState, match=r"folder\.csv cannot be read: Is a directory"):
        Result.read(tmp_path / "folder.csv")


def test_total_loss_and_total_cost_of_a_table_are_what_was_lost():
    """Eighths: every sum is exact. One policy plays one arm, the other is told by its regret."""
    losses = np.random.default_rng(3).integers(0, 8, (200, 3)) / 8
    marks = [1, 50, 200]
    result = hf.simulate(
        {"switch": hf.TsallisSwitch(3, switching_cost=0.5), "exp3": hf.Exp3(3)},
        hf.LossTable(losses),
        horizon=200,
        switching_cost=0.5,
        replications=3,
        checkpoints=marks,
    )
    best = np.cumsum(losses, axis=0)[np.array(marks) - 1].min(axis=1)
    frame = result.frame
    assert np.array_equal(frame["total_loss"], frame["pseudo_regret"] + np.tile(best, 6))
    assert np.array_equal(frame["total_cost"], frame["total_loss"] + 0.5 * frame["switches"])
    alone = hf.simulate(hf.Exp3(1), hf.LossTable(losses[:, :1]), horizon=200, switching_cost=0.5, replications=1)
    assert alone.frame["total_loss"][-1] == losses[:, 0].sum()
    assert alone.frame["total_cost"][-1] == losses[:, 0].sum() + 0.5
