"""One contract for all backends: threads, Dask, a GPU (on the CUDA simulator), and one that tells of its progress."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from backend_contract import CHECKS, tasks

import holdfast as hf
from holdfast.simulation.backends import BACKENDS, Backend, Reporting, find_backend


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local:
        yield local.scheduler_address


@pytest.fixture(
    params=["threads", "threads, always", "one thread", "reporting", pytest.param("dask", marks=pytest.mark.slow)]
)
def backend(request) -> Backend:
    if request.param == "dask":
        return find_backend("dask", scheduler=request.getfixturevalue("cluster"))
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


def test_what_is_no_backend_is_refused():
    for wrong in ("dusk", 3, None, ["threads"]):
        with pytest.raises(hf.InvalidParameter, match=r"^backend must be one of 'threads', 'cuda', 'dask'; got "):
            find_backend(wrong)
    with pytest.raises(hf.InvalidParameter, match=r"scheduler is only for the backend 'dask'"):
        find_backend("threads", scheduler="tcp://here:1")
    assert [find_backend(name).name for name in BACKENDS if name != "cuda"] == ["threads", "dask"]
