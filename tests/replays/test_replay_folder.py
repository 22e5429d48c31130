"""The folder of a replay: what is in it, going on after a kill, damage, other runs, full disks, users' files."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from damage import damaged

import holdfast as hf
from holdfast.files import claimed

LOSSES = np.random.default_rng(2).integers(0, 65, size=(120, 3)) / 64
SETTINGS = {"policies": ["tsallis-switch", "hold-forever"], "switching_cost": [0.25, 1.0], "replications": 4}
TABLES = {"record.json", "files.json", "replay.json", "replay.parquet", "plans.parquet"}
FILES = {*TABLES, "report.html", "pieces", "pictures"}


@pytest.fixture(scope="module", autouse=True)
def undrawn():
    """Drawing takes most of a small run, and is tested elsewhere: here a picture is what would be drawn, in words."""

    def in_words(chart, kinds, **how):
        return {kind: f"{chart} {how}".encode() for kind in kinds}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("holdfast.replays.report.rendered", in_words)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("replay") / "out"
    return out, hf.replay(LOSSES, out=out, **SETTINGS)


def contents(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def copied(whole, place):
    place.mkdir()
    for name, data in contents(whole[0]).items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_bytes(data)
    return place


def test_what_is_in_the_folder(whole):
    out, made = whole
    assert {file.name for file in out.iterdir()} == FILES
    assert json.loads((out / "replay.json").read_text()) == json.loads(made.json())
    assert pl.read_parquet(out / "replay.parquet").equals(made.frame)
    assert pl.read_parquet(out / "plans.parquet").equals(made.plans_frame())
    pictures = {file.name for file in (out / "pictures").iterdir()}
    names = ("cost", "tradeoff", "running-0.25", "running-1", "held-0.25", "held-1")
    assert pictures == {f"{name}.{kind}" for name in names for kind in ("png", "svg")}
    assert len(list((out / "pieces").iterdir())) == 4


@pytest.mark.slow
def test_resuming_plays_nothing_and_gives_the_same(whole, tmp_path):
    out = copied(whole, tmp_path / "out")
    lines = []
    again = hf.replay(LOSSES, out=out, resume=True, echo=lines.append, **SETTINGS)
    assert lines == []
    assert again.frame.equals(whole[1].frame)
    assert contents(out) == contents(whole[0])


def test_a_folder_that_holds_a_replay_is_not_taken_unasked(whole, tmp_path):
    out = copied(whole, tmp_path / "out")
    with pytest.raises(hf.HoldfastError, match="holds this replay already; give --resume"):
        hf.replay(LOSSES, out=out, **SETTINGS)
    others = {
        "seed is 0 there and 1 here": {"seed": 1},
        "replications is 4 there and 5 here": {"replications": 5},
        "switching_cost is .* there and .* here": {"switching_cost": 1.0},
        "policies is .*": {"policies": ["exp3"]},
    }
    for message, changed in others.items():
        with pytest.raises(hf.HoldfastError, match=f"holds another replay: .*{message}"):
            hf.replay(LOSSES, out=out, resume=True, **SETTINGS | changed)
    with pytest.raises(hf.HoldfastError, match="holds another replay: trace is "):
        hf.replay(LOSSES[::-1], out=out, resume=True, **SETTINGS)
    assert contents(out) == contents(whole[0])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(hf.HoldfastError, match=r"must be empty or hold this replay; it has 'thesis\.tex'"):
        hf.replay(LOSSES, out=tmp_path / "mine", **SETTINGS)
    assert len(list((tmp_path / "mine").iterdir())) == 1


@pytest.mark.slow
def test_damaged_or_swapped_pieces_are_named_and_played_again(whole, tmp_path):
    """The last piece, so that any other that was played anew would be told of before it."""
    out = copied(whole, tmp_path / "out")
    piece, other = out / "pieces" / "2-2.parquet", out / "pieces" / "1-2.parquet"
    good = piece.read_bytes()
    for what, data in [*damaged(good, 12, seed=1), ("swapped", other.read_bytes())]:
        piece.write_bytes(data)
        lines = []

        def until_played(line, lines=lines):
            lines.append(line)
            if line.startswith("played hold-forever"):
                raise KeyboardInterrupt  # before anything is drawn

        with pytest.raises(KeyboardInterrupt):
            hf.replay(LOSSES, out=out, resume=True, echo=until_played, **SETTINGS)
        assert lines[0].startswith("played again: "), what
        assert lines[1:] == ["played hold-forever at λ = 1"], what
        assert piece.read_bytes() == good, what
    (out / "record.json").write_text("{}")
    with pytest.raises(hf.BadSavedState, match=r"record\.json is damaged"):
        hf.replay(LOSSES, out=out, resume=True, **SETTINGS)


@pytest.mark.slow
def test_a_users_file_is_not_replaced(whole, tmp_path):
    out = copied(whole, tmp_path / "out")
    (out / "report.html").write_text("my own remarks")
    with pytest.raises(hf.HoldfastError, match=r"files that a replay would replace but did not write: report\.html"):
        hf.replay(LOSSES, out=out, resume=True, **SETTINGS)
    assert (out / "report.html").read_text() == "my own remarks"
    place = copied(whole, tmp_path / "written")
    (place / "notes.txt").write_text("a user's own")
    whole[1].write(place)
    assert (place / "notes.txt").read_text() == "a user's own"
    (place / "replay.json").write_text("edited")
    with pytest.raises(hf.HoldfastError, match=r"did not write: replay\.json"):
        whole[1].write(place)


@pytest.mark.slow
def test_single_files(whole, tmp_path):
    made = whole[1]
    assert json.loads(made.write(tmp_path / "a.json").read_text()) == json.loads(made.json())
    assert pl.read_parquet(made.write(tmp_path / "a.parquet")).equals(made.frame)
    assert made.write(tmp_path / "a.html").read_bytes() == (whole[0] / "report.html").read_bytes()


def test_one_folder_one_run(tmp_path):
    with (
        claimed(tmp_path / "out", "replaying") as out,
        pytest.raises(hf.HoldfastError, match=r"another process is replaying in .*: wait for it to end"),
    ):
        hf.replay(LOSSES, out=out, **SETTINGS)
    assert not (tmp_path / "out").exists()


KILLED = """
import numpy as np, holdfast as hf
losses = np.random.default_rng(2).integers(0, 65, size=(120, 3)) / 64
settings = {"policies": ["tsallis-switch", "hold-forever"], "switching_cost": [0.25, 1.0], "replications": 4}
hf.replay(losses, out="out", echo=lambda line: print(line, flush=True), **settings)
"""


@pytest.mark.slow
@pytest.mark.parametrize("lines", [1, 4])
def test_a_killed_replay_goes_on(whole, tmp_path, lines):
    """Killed after so many pieces; after the last of them while it writes its files."""
    process = subprocess.Popen([sys.executable, "-c", KILLED], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    for _ in range(lines):
        process.stdout.readline()
    if lines == 4:
        time.sleep(0.4)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=120)
    process.stdout.close()
    said = []
    again = hf.replay(LOSSES, out=tmp_path / "out", resume=True, echo=said.append, **SETTINGS)
    assert len(said) <= 4 - lines
    assert again.frame.equals(whole[1].frame)
    assert contents(tmp_path / "out") == contents(whole[0])


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_the_replay_goes_on_afterwards(whole, small_disk, tmp_path):
    ballast, out = small_disk / "ballast", small_disk / "out"
    for taken in (62, 48, 0):
        ballast.write_bytes(bytes(taken * 1024))
        with pytest.raises(hf.HoldfastError, match=r"^[^\n]+No space left on device\)?$"):
            hf.replay(LOSSES, out=out, resume=True, **SETTINGS)
        assert not list(small_disk.rglob("*.part"))
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    again = hf.replay(LOSSES, out=out, resume=True, **SETTINGS)
    assert again.frame.equals(whole[1].frame)
    assert contents(out) == contents(whole[0])
