"""Studies where the disk is full, nobody listens, or two run at once."""

import os
import shutil
import subprocess
import sys
import time

import pytest
from study_files import GRID, PLAIN

import holdfast as hf
from holdfast.lab.study import run_study

pytestmark = pytest.mark.slow


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
