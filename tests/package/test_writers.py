"""Everything that writes a file for users: several writers at once, and cells that a spreadsheet would run."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest
from hypothesis import given, strategies as st

import holdfast as hf
from holdfast.results import _unmarked, csv_of

pytestmark = pytest.mark.slow

FORMULAS = ["=HYPERLINK(1)", "+1", "-1", "@x", "\tx", "\rx", "'=x", "''-x"]


def test_two_threads_save_fleets_to_one_file(tmp_path):
    fleets = {seed: hf.Fleet(hf.Exp3(3), 500, seed=seed) for seed in (1, 2)}
    file = tmp_path / "fleet.npz"

    def save(fleet: hf.Fleet) -> None:
        for _ in range(10):
            fleet.save(file)
            assert hf.Fleet.load(file).n == 500

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(save, fleets.values()))
    saved = hf.Fleet.load(file).ask().arms.tolist()
    assert saved in [fleet.ask().arms.tolist() for fleet in fleets.values()]
    assert [path.name for path in tmp_path.iterdir()] == ["fleet.npz"]


EXPORT_FOR_EVER = """
import sys
import holdfast as hf
history = hf.open(sys.argv[1], "chat").history
print("ready", flush=True)
while True:
    history.export(sys.argv[2])
"""


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_processes_export_one_log_to_one_file(tmp_path, suffix):
    url, file = f"sqlite:///{tmp_path}/games.db", tmp_path / f"log.{suffix}"
    with hf.open(url, "chat", hf.Exp3(arms=["a", "b"]), seed=1) as router:
        for decision in router.ask(400):
            router.tell(decision.id, 0.5)
        router.history.export(file)
    whole = file.read_bytes()
    processes = [
        subprocess.Popen([sys.executable, "-c", EXPORT_FOR_EVER, url, str(file)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    try:
        for process in processes:
            assert process.stdout.readline() == b"ready\n"
        written, deadline = set(), time.monotonic() + 120
        while len(written) < 20 and time.monotonic() < deadline:
            assert file.read_bytes() == whole
            written.add(file.stat().st_mtime_ns)
    finally:
        for process in processes:
            process.kill()
            process.wait(timeout=120)
            process.stdout.close()
    assert len(written) == 20


def test_no_cell_of_a_csv_export_is_a_formula(tmp_path):
    with hf.open("memory:", "chat", hf.Exp3(arms=[*FORMULAS, "east"]), seed=1) as router:
        for decision in router.ask(200):
            router.tell(decision.id, 0.5)
        for suffix in ("csv", "parquet"):
            router.history.export(tmp_path / f"log.{suffix}")
    shown = set(pl.read_csv(tmp_path / "log.csv")["arm"])
    assert shown == {f"'{name}" for name in FORMULAS} | {"east"}
    assert set(pl.read_parquet(tmp_path / "log.parquet")["arm"]) == {*FORMULAS, "east"}


def test_a_log_without_text_is_exported(tmp_path):
    with hf.open("memory:", "chat", hf.Exp3(2), seed=1) as router:
        router.tell(router.ask().id, 0.5)
        router.history.export(tmp_path / "log.csv")
    assert pl.read_csv(tmp_path / "log.csv")["loss"].to_list() == [0.5]


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
