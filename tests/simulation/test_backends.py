"""One contract for all backends: threads, executors, Dask, a GPU (simulated), one that tells of its progress.

The same bits as threads, workers that may die or have another Holdfast, and errors that say what to do.
"""

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from backend_contract import CHECKS, tasks
from study_files import PLAIN

import holdfast as hf
from holdfast.errors import BackendLost, HoldfastError, MissingExtra
from holdfast.lab.study import run_study
from holdfast.simulation import executors
from holdfast.simulation.backends import BACKENDS, Backend, Reporting, find_backend, split
from holdfast.simulation.executors import DaskCluster


@pytest.fixture(scope="module")
def two_workers():
    """One local cluster of two processes for all tests that need one."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local:
        yield local


@pytest.fixture(
    params=["threads", "threads, always", "one thread", "reporting", pytest.param("dask", marks=pytest.mark.slow)]
)
def backend(request) -> Backend:
    if request.param == "dask":
        return find_backend("dask", scheduler=request.getfixturevalue("two_workers").scheduler_address)
    return {
        "threads": hf.Threads(),
        "threads, always": hf.Threads(3, quick=0),
        "one thread": hf.Threads(1, quick=0),
        "reporting": Reporting(hf.Threads(2, quick=0), lambda count: None),
    }[request.param]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_contract(backend, check):
    check(backend)


@pytest.mark.slow
def test_the_contract_on_the_simulated_gpu():
    script = (
        "from backend_contract import CHECKS\n"
        "from holdfast.simulation.cuda import Cuda\n"
        "for check in CHECKS:\n    check(Cuda())\n    print(check.__name__)\n"
    )
    paths = os.pathsep.join([str(Path(__file__).parents[1] / "support"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=240)
    assert run.stdout.split() == [check.__name__ for check in CHECKS], run.stderr


def test_progress_is_told_of_every_game():
    told, pieces = [], []
    Reporting(hf.Threads(2, quick=0), told.append).run(tasks(), pieces.append)
    assert told == [piece.task.count for piece in pieces]
    assert sum(told) == 3 * 41


@pytest.mark.parametrize(
    ("policy", "count", "workers", "counts"),
    [
        (0, 64, 2, [32, 32]),  # rows of 32 games side by side
        (0, 63, 2, [31, 32]),  # too few to fill a row for each worker
        (0, 100, 3, [32, 32, 32, 4]),
        (0, 640, 2, [32, 32, 32, 64] * 4),  # at most eight for each worker
        (0, 1, 4, [1]),
        (1, 5, 2, [1] * 5),  # not played side by side
    ],
)
def test_pieces_keep_every_worker_busy(policy, count, workers, counts):
    pieces = list(split(replace(tasks()[policy], count=count), workers))
    assert [piece.count for piece in pieces] == counts
    assert [piece.first for piece in pieces] == [7 + sum(counts[:i]) for i in range(len(counts))]


def test_a_few_games_that_are_left_over_are_played_one_by_one():
    lanes = {count: replace(tasks()[0], count=count).lanes() for count in (9, 10, 41, 42, 64)}
    assert lanes == {9: [(9, 1)], 10: [(10, 32)], 41: [(32, 32), (9, 1)], 42: [(42, 32)], 64: [(64, 32)]}


def test_what_is_no_backend_is_refused():
    for wrong in ("dusk", 3, None, ["threads"]):
        with pytest.raises(hf.InvalidParameter, match=r"^backend must be one of 'threads', 'cuda', 'dask'; got "):
            find_backend(wrong)
    with pytest.raises(hf.InvalidParameter, match=r"scheduler is only for the backend 'dask'"):
        find_backend("threads", scheduler="tcp://here:1")
    assert [find_backend(name).name for name in BACKENDS if name != "cuda"] == ["threads", "dask"]


# ---- executors and Dask

SETTINGS = {"horizon": 20_000, "switching_cost": 0.3, "seed": 3, "checkpoints": "log"}
POLICIES = [hf.TsallisSwitch(4, switching_cost=0.3), hf.Exp3(4)]


@pytest.mark.slow
def test_two_processes_give_the_same_frame_bit_for_bit(two_workers):
    for environment in (hf.Bernoulli.with_gap(4, 0.2, shuffled=True), hf.LossTable([[0.0, 1.0, 0.25, 0.5]] * 20_000)):
        here = hf.simulate(POLICIES, environment, replications=21, **SETTINGS)
        there = hf.simulate(
            POLICIES, environment, replications=21, backend="dask", scheduler=two_workers.scheduler_address, **SETTINGS
        )
        assert there.frame.equals(here.frame)
        assert there.provenance == here.provenance | {"backend": "dask"}


@pytest.mark.slow
def test_any_executor_gives_the_same_frame_bit_for_bit():
    environment, settings = hf.Bernoulli.with_gap(4, 0.2, shuffled=True), SETTINGS | {"replications": 21}
    here = hf.simulate(POLICIES, environment, **settings)
    with ProcessPoolExecutor(2) as pool:
        there = hf.simulate(POLICIES, environment, backend=pool, workers=2, **settings)
    assert there.frame.equals(here.frame)
    assert there.provenance == here.provenance | {"backend": "executor"}


@pytest.mark.slow
def test_an_executor_whose_workers_die_is_lost():
    with ProcessPoolExecutor(1) as pool:
        pool.submit(os.getpid).result()
        (worker,) = pool._processes
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(
            hf.BackendLost, match="the workers are gone, so the run was given up; what was finished is kept"
        ):
            hf.simulate(POLICIES, hf.Bernoulli.with_gap(4, 0.2), backend=pool, workers=1, replications=4, **SETTINGS)


@pytest.mark.slow
def test_a_cluster_of_its_own(tmp_path):
    """A study on one local process, which serves all its cells, is the study on threads."""
    file = tmp_path / "s.toml"
    file.write_text(
        'horizon = 500\nswitching_cost = 1\npolicies = ["tsallis-switch"]\n'
        '[environment]\nkind = "bernoulli"\nn_arms = 2\ngap = 0.1\n[grid]\nseed = [1, 2, 3]\n'
    )
    run = run_study(file, tmp_path / "dask", backend="dask", workers=1)
    same = run_study(file, tmp_path / "threads")
    for one, other in zip(run.values(), same.values(), strict=True):
        assert one.frame.equals(other.frame)


@pytest.mark.slow
@pytest.mark.parametrize("entered", [False, True])
def test_several_runs_at_once_on_one_backend(two_workers, entered):
    """From threads, each with an environment of its own: nobody plays another's, and nobody's connection is closed."""
    worlds = [hf.LossTable([[0.0, 1.0, 0.25, share]] * 100) for share in (0.1, 0.3, 0.5, 0.7)]
    settings = SETTINGS | {"horizon": 100, "replications": 20}
    backend = DaskCluster(two_workers.scheduler_address)
    there = {}

    def play(world):
        there[world] = [hf.simulate(POLICIES, world, backend=backend, **settings) for _ in range(4)]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with backend if entered else nullcontext():
            threads = [threading.Thread(target=play, args=(world,)) for world in worlds]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    for world in worlds:
        here = hf.simulate(POLICIES, world, **settings)
        assert [result.frame.equals(here.frame) for result in there[world]] == [True] * 4


@pytest.mark.slow
@pytest.mark.parametrize("victims", [1, 2])
def test_killed_workers_cost_a_retry_and_not_the_run(two_workers, victims):
    """One worker, or both at once, killed while they play; with both, the environment they were sent is gone too."""
    killed, over = [], threading.Event()

    def kill_those_that_play(client):
        while len(playing := [worker for worker, tasks in client.processing().items() if tasks]) < victims:
            if over.wait(0.01):
                return
        killed.extend(client.run(os.getpid, workers=playing[:victims]).values())
        for pid in killed:
            os.kill(pid, signal.SIGKILL)

    settings = SETTINGS | {"horizon": 500_000}
    here = hf.simulate(POLICIES, hf.Bernoulli.with_gap(4, 0.2), replications=120, **settings)
    with pytest.importorskip("distributed").Client(two_workers) as client:
        client.wait_for_workers(2)
        thread = threading.Thread(target=kill_those_that_play, args=(client,))
        thread.start()
        try:
            there = hf.simulate(
                POLICIES,
                hf.Bernoulli.with_gap(4, 0.2),
                replications=120,
                backend=DaskCluster(two_workers.scheduler_address),
                **settings,
            )
        finally:
            over.set()
            thread.join()
    assert len(killed) == victims
    assert there.frame.equals(here.frame)


COINS = hf.Bernoulli([0.1, 0.2])
NOWHERE = DaskCluster("tcp://127.0.0.1:9")
NOBODY = r"no Dask scheduler with workers answers at tcp://127\.0\.0\.1:9: "


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(executors, "ANSWER_WITHIN", 0.5)
    monkeypatch.setattr(executors, "PATIENCE", 0.5)


@pytest.mark.slow
def test_an_address_where_nobody_answers(impatient):
    with pytest.raises(HoldfastError, match=NOBODY):
        hf.simulate(hf.Exp3(2), COINS, backend=NOWHERE, **SETTINGS)


@pytest.mark.slow
def test_a_study_without_its_scheduler_leaves_nothing_behind(write, tmp_path, impatient):
    with pytest.raises(HoldfastError, match=NOBODY):
        run_study(write(PLAIN), tmp_path / "out", backend=NOWHERE)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_scheduler_without_workers(impatient):
    with pytest.importorskip("distributed").LocalCluster(n_workers=0, dashboard_address=":0") as empty:
        waiting = DaskCluster(empty.scheduler_address)
        with pytest.raises(HoldfastError, match=r"no Dask scheduler with workers answers at tcp://"):
            hf.simulate(hf.Exp3(2), COINS, backend=waiting, **SETTINGS)


@pytest.mark.slow
def test_a_missing_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"backend 'dask' needs the extra: pip install 'holdfast\[dask\]'"):
        hf.simulate(hf.Exp3(2), COINS, backend="dask", **SETTINGS)


@pytest.mark.slow
def test_numbers_of_workers_are_checked():
    with pytest.raises(hf.InvalidParameter, match=r"workers must be a whole number of at least 1; got 0"):
        hf.simulate(hf.Exp3(2), COINS, backend="dask", workers=0, **SETTINGS)


# ---- Dask when it goes wrong: workers with another Holdfast or without a module, no scheduler left

LOSSES = hf.Bernoulli.with_gap(4, 0.2)
LONG = SETTINGS | {"horizon": 300_000, "checkpoints": 3, "replications": 320}


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


@pytest.mark.slow
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
        hf.simulate(hf.Exp3(4), LOSSES, backend="dask", scheduler=machines.address, **LONG)


@pytest.mark.slow
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
            hf.simulate(policy, environment, backend="dask", scheduler=machines.address, **LONG | {"horizon": 100})
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
    with pytest.importorskip("distributed").Client(machines.address, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60)  # a busy machine may need longer than the run would wait
    lost = Killing(machines.address)
    lost.victim = victim
    began = time.monotonic()
    with pytest.raises(BackendLost, match=message) as caught:
        hf.simulate(hf.Exp3(4), LOSSES, backend=lost, **LONG)
    assert time.monotonic() - began < 60
    kept = caught.value.result
    assert kept.provenance["interrupted"]
    replications = kept.frame["replication"].unique().to_list()
    assert 0 < len(replications) < 320
    again = hf.simulate(hf.Exp3(4), LOSSES, **LONG | {"first_replication": replications[0], "replications": 1})
    assert again.frame.equals(kept.frame.head(3))


@pytest.mark.slow
def test_without_its_scheduler_a_run_is_given_up_and_what_is_finished_kept(machines):
    machines.worker()
    check_lost(
        machines, machines.processes[0], "the workers are gone, so the run was given up; what was finished is kept"
    )
