"""Executors and Dask: the same bits as threads, workers that may die, and errors that say what to do."""

import os
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext

import pytest
from study_files import PLAIN

import holdfast as hf
from holdfast.errors import HoldfastError, MissingExtra
from holdfast.lab.study import run_study
from holdfast.simulation import executors
from holdfast.simulation.executors import DaskCluster

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed")

SETTINGS = {"horizon": 20_000, "switching_cost": 0.3, "seed": 3, "checkpoints": "log"}
POLICIES = [hf.TsallisSwitch(4, switching_cost=0.3), hf.Exp3(4)]


@pytest.fixture(scope="module")
def two_workers():
    """One local cluster of two processes for all tests that need one."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local:
        yield local


def test_two_processes_give_the_same_frame_bit_for_bit(two_workers):
    for environment in (hf.Bernoulli.with_gap(4, 0.2, shuffled=True), hf.LossTable([[0.0, 1.0, 0.25, 0.5]] * 20_000)):
        here = hf.simulate(POLICIES, environment, replications=21, **SETTINGS)
        there = hf.simulate(
            POLICIES, environment, replications=21, backend="dask", scheduler=two_workers.scheduler_address, **SETTINGS
        )
        assert there.frame.equals(here.frame)
        assert there.provenance == here.provenance | {"backend": "dask"}


def test_any_executor_gives_the_same_frame_bit_for_bit():
    environment, settings = hf.Bernoulli.with_gap(4, 0.2, shuffled=True), SETTINGS | {"replications": 21}
    here = hf.simulate(POLICIES, environment, **settings)
    with ProcessPoolExecutor(2) as pool:
        there = hf.simulate(POLICIES, environment, backend=pool, workers=2, **settings)
    assert there.frame.equals(here.frame)
    assert there.provenance == here.provenance | {"backend": "executor"}


def test_an_executor_whose_workers_die_is_lost():
    with ProcessPoolExecutor(1) as pool:
        pool.submit(os.getpid).result()
        (worker,) = pool._processes
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(
            hf.BackendLost, match="the workers are gone, so the run was given up; what was finished is kept"
        ):
            hf.simulate(POLICIES, hf.Bernoulli.with_gap(4, 0.2), backend=pool, workers=1, replications=4, **SETTINGS)


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
    with distributed.Client(two_workers) as client:
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


NOWHERE = DaskCluster("tcp://127.0.0.1:9")
NOBODY = r"no Dask scheduler with workers answers at tcp://127\.0\.0\.1:9: "


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(executors, "ANSWER_WITHIN", 0.5)
    monkeypatch.setattr(executors, "PATIENCE", 0.5)


def test_an_address_where_nobody_answers(impatient):
    with pytest.raises(HoldfastError, match=NOBODY):
        hf.simulate(hf.Exp3(2), hf.Bernoulli([0.1, 0.2]), backend=NOWHERE, **SETTINGS)


def test_a_study_without_its_scheduler_leaves_nothing_behind(write, tmp_path, impatient):
    with pytest.raises(HoldfastError, match=NOBODY):
        run_study(write(PLAIN), tmp_path / "out", backend=NOWHERE)
    assert not (tmp_path / "out").exists()


def test_a_scheduler_without_workers(impatient):
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty:
        waiting = DaskCluster(empty.scheduler_address)
        with pytest.raises(HoldfastError, match=r"no Dask scheduler with workers answers at tcp://"):
            hf.simulate(hf.Exp3(2), hf.Bernoulli([0.1, 0.2]), backend=waiting, **SETTINGS)


def test_a_missing_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"backend 'dask' needs the extra: pip install 'holdfast\[dask\]'"):
        hf.simulate(hf.Exp3(2), hf.Bernoulli([0.1, 0.2]), backend="dask", **SETTINGS)


def test_numbers_of_workers_are_checked():
    with pytest.raises(hf.InvalidParameter, match=r"workers must be a whole number of at least 1; got 0"):
        hf.simulate(hf.Exp3(2), hf.Bernoulli([0.1, 0.2]), backend="dask", workers=0, **SETTINGS)
