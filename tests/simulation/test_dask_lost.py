"""Dask when it goes wrong: workers with another Holdfast or without a module, no scheduler left."""

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import holdfast as hf
from holdfast.errors import BackendLost, HoldfastError
from holdfast.simulation.executors import DaskCluster

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed")

LOSSES = hf.Bernoulli.with_gap(4, 0.2)
SETTINGS = {"horizon": 300_000, "switching_cost": 0.3, "seed": 3, "checkpoints": 3, "replications": 320}


class Machines:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.file, self.processes, self.folder = folder / "scheduler.json", [], folder
        self._start("dask_scheduler", "--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(self.file))
        while not self.file.exists() or not self.file.read_text().strip().endswith("}"):
            time.sleep(0.05)
        self.address = json.loads(self.file.read_text())["address"]

    def _start(self, program: str, *options: str, path: Path | None = None) -> subprocess.Popen:
        sources = str(path or Path(hf.__file__).parents[1])
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--no-dashboard", *options]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder}
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": sources}, **quiet)
        self.processes.append(process)
        return process

    def worker(self, path: Path | None = None) -> subprocess.Popen:
        return self._start("dask_worker", "--no-nanny", "--nthreads", "1", self.address, path=path)

    def kill(self, process: subprocess.Popen) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=120)


@pytest.fixture
def machines(tmp_path):
    started = Machines(tmp_path)
    yield started
    for process in started.processes:
        started.kill(process)


@pytest.mark.parametrize(
    ("file", "edit", "message"),
    [
        ("checks.py", lambda text: text + "\n", r"a worker has another holdfast than \d+\.\d+\.\d+ .*: \d+\.\d+\.\d+ "),
        (
            "__init__.py",
            lambda text: text.replace(hf.__version__, "0.0.1"),
            r"a worker has another holdfast .*: 0\.0\.1 ",
        ),
    ],
)
def test_a_worker_with_another_holdfast_is_refused(machines, tmp_path, file, edit, message):
    """It would give other numbers without a word."""
    copy = tmp_path / "other" / "holdfast"
    shutil.copytree(Path(hf.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / file).write_text(edit((copy / file).read_text()))
    machines.worker(copy.parent)
    with pytest.raises(HoldfastError, match=message):
        hf.simulate(hf.Exp3(4), LOSSES, backend="dask", scheduler=machines.address, **SETTINGS)


@pytest.mark.parametrize("own", ["policy", "environment"])
def test_a_module_that_the_cluster_does_not_have_is_named(machines, tmp_path, monkeypatch, own):
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "only_here.py").write_text(
        "import holdfast as hf\n\nclass Mine(hf.Exp3):\n    pass\n\nclass Coins(hf.Bernoulli):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    only_here = importlib.import_module("only_here")
    machines.worker()
    policy = only_here.Mine(2) if own == "policy" else hf.Exp3(2)
    environment = only_here.Coins([0.1, 0.2]) if own == "environment" else hf.Bernoulli([0.1, 0.2])
    message = r"^No module named 'only_here' on a worker: the scheduler and every worker must find the module"
    try:
        with pytest.raises(HoldfastError, match=message):
            hf.simulate(policy, environment, backend="dask", scheduler=machines.address, **SETTINGS | {"horizon": 100})
    finally:
        del sys.modules["only_here"]


class Killing(DaskCluster):
    """A cluster that loses a process when the first piece is finished."""

    victim: subprocess.Popen[bytes]

    def run(self, tasks, done):
        def told(piece):
            done(piece)
            if self.victim.poll() is None:
                self.victim.send_signal(signal.SIGKILL)
                self.victim.wait(timeout=120)

        super().run(tasks, told)


def check_lost(machines, victim, message):
    with distributed.Client(machines.address, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60)  # a busy machine may need longer than the run would wait
    lost = Killing(machines.address)
    lost.victim = victim
    began = time.monotonic()
    with pytest.raises(BackendLost, match=message) as caught:
        hf.simulate(hf.Exp3(4), LOSSES, backend=lost, **SETTINGS)
    assert time.monotonic() - began < 60
    kept = caught.value.result
    assert kept.provenance["interrupted"]
    replications = kept.frame["replication"].unique().to_list()
    assert 0 < len(replications) < 320
    again = hf.simulate(hf.Exp3(4), LOSSES, **SETTINGS | {"first_replication": replications[0], "replications": 1})
    assert again.frame.equals(kept.frame.head(3))


def test_without_its_scheduler_a_run_is_given_up_and_what_is_finished_kept(machines):
    machines.worker()
    check_lost(
        machines, machines.processes[0], "the workers are gone, so the run was given up; what was finished is kept"
    )
