"""Everything that writes a file for users: whole files or none, and cells that a spreadsheet would run."""

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, strategies as st

import holdfast as hf
from holdfast.results import _unmarked, csv_of

FORMULAS = ["=HYPERLINK(1)", "+1", "-1", "@x", "\tx", "\rx", "'=x", "''-x"]


def export(file: Path) -> None:
    with hf.open("memory:", "chat", hf.Exp3(2), seed=1) as router:
        router.tell(router.ask().id, 0.5)
        router.history.export(file)


def result() -> hf.Result:
    return hf.simulate(hf.Exp3(2), hf.Bernoulli([0.3, 0.5]), horizon=9, switching_cost=1, replications=2)


def replay() -> hf.Replay:
    return hf.replay([[0.5, 0.25]] * 9, ["exp3"], switching_cost=1, replications=2, progress=False)


WRITERS: dict[str, Callable[[Path], object]] = {
    "fleet.npz": lambda file: hf.Fleet(hf.Exp3(3), 5, seed=1).save(file),
    "log.csv": export,
    "log.parquet": export,
    "result.csv": lambda file: result().write(file),
    "result.parquet": lambda file: result().write(file),
    "replay.json": lambda file: replay().write(file),
    "replay.html": lambda file: replay().write(file),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch, name):
    (tmp_path / name).write_bytes(b"old")

    def fails(*args):
        raise OSError("no space left on device\nat all")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(hf.HoldfastError, match=r"cannot be written: no space left on device$"):
        WRITERS[name](tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"old"
    assert os.listdir(tmp_path) == [name]


def test_no_cell_of_a_csv_export_is_a_formula(tmp_path):
    with hf.open("memory:", "chat", hf.Exp3(arms=[*FORMULAS, "east"]), seed=1) as router:
        for decision in router.ask(200):
            router.tell(decision.id, 0.5)
        for suffix in ("csv", "parquet"):
            router.history.export(tmp_path / f"log.{suffix}")
    shown = set(pl.read_csv(tmp_path / "log.csv")["arm"])
    assert shown == {f"'{name}" for name in FORMULAS} | {"east"}
    assert set(pl.read_parquet(tmp_path / "log.parquet")["arm"]) == {*FORMULAS, "east"}


def test_results_come_back_from_csv_with_their_names(tmp_path):
    policies = {"=cmd": hf.Exp3(2), "plain": hf.Exp3(2)}
    made = hf.simulate(policies, hf.Bernoulli([0.3, 0.5]), horizon=10, switching_cost=1, replications=2)
    text = made.write(tmp_path / "r.csv").read_text()
    assert "\n'=cmd," in text
    assert hf.Result.read(tmp_path / "r.csv").frame.equals(made.frame)


@given(st.lists(st.text(alphabet="'=+-@\tab,", min_size=1), min_size=1, max_size=5, unique=True))
def test_marks_are_undone_exactly(names):
    frame = pl.DataFrame(dict.fromkeys(names, names))
    text = csv_of(frame).decode()
    read = pl.read_csv(text.encode(), infer_schema_length=0)
    assert not any(cell[:1] in "=+-@\t\r" for column in read for cell in [column.name, *column] if cell)
    assert _unmarked(read).equals(frame)
