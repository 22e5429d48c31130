"""The contract of `holdfast.simulation.backends`: checks that take any backend."""

import threading
from dataclasses import replace

import holdfast as hf
from holdfast.experts import FixedArm, WorkFunction
from holdfast.simulation.backends import Backend
from holdfast.simulation.costs import Costs
from holdfast.simulation.tasks import Task, run_task

HORIZON, CHECKPOINTS = 60, (20, 60)


def tasks() -> list[Task]:
    """Three policies, one played alone, one that sees all; replications do not begin at 0 and fill no whole rows."""
    environment, costs = hf.Bernoulli.with_gap(3, 0.2, shuffled=True), Costs.of(0.5)
    experts = [FixedArm(0), FixedArm(2), WorkFunction(1.0)]
    policies = [
        hf.TsallisInf(3),
        hf.BaSE(3, horizon=HORIZON),
        hf.AdaptiveHedgeSwitch(3, switching_cost=0.5, experts=experts, forecast_rounds=0),
    ]
    return [Task(p.label, p, environment, HORIZON, costs, CHECKPOINTS, 5, 7, 41) for p in policies]


def check_it_says_what_it_is(backend: Backend) -> None:
    assert isinstance(backend, Backend)
    assert isinstance(backend.name, str)
    assert backend.name
    assert isinstance(backend.side_by_side, bool)
    with backend as opened:
        assert opened is backend
        assert isinstance(backend.width, int)
        assert backend.width >= 1


def check_pieces_are_the_tasks(backend: Backend) -> None:
    """Every replication once, with the numbers it has alone, handed over on the caller's thread."""
    whole = {task.label: run_task(task) for task in tasks()}
    seen = {label: set() for label in whole}
    here = threading.get_ident()

    def done(piece):
        assert threading.get_ident() == here
        task, first = piece.task, piece.task.first - 7
        replications = set(range(first, first + task.count))
        assert not replications & seen[task.label]
        seen[task.label] |= replications
        for measure in ("excess", "switches", "paid"):
            same = getattr(whole[task.label], measure)[first : first + task.count]
            assert getattr(piece, measure).tobytes() == same.tobytes()

    backend.run(iter(tasks()), done)
    assert seen == {label: set(range(41)) for label in whole}


def check_it_serves_again(backend: Backend) -> None:
    """Inside ``with`` and outside, and nothing to do is no error."""
    counts = []
    with backend:
        backend.run(tasks(), lambda piece: counts.append(piece.task.count))
        backend.run(tasks(), lambda piece: counts.append(piece.task.count))
        backend.run([], counts.append)
    backend.run([replace(tasks()[0], count=1)], lambda piece: counts.append(piece.task.count))
    assert sum(counts) == 6 * 41 + 1


def check_errors_come_back(backend: Backend) -> None:
    """That of a game and that of `done`, each as it is; and the backend goes on afterwards."""
    short = [replace(tasks()[0], costs=Costs.of([1.0, 2.0]))]
    for given, done, kind in ((short, lambda piece: None, hf.InvalidParameter), (tasks(), _refuse, Refused)):
        try:
            backend.run(given, done)
        except kind:
            pass
        else:
            raise AssertionError(f"no {kind.__name__}")
    check_pieces_are_the_tasks(backend)


class Refused(Exception):
    """The error that `done` raises."""


def _refuse(piece):
    raise Refused


CHECKS = [check_it_says_what_it_is, check_pieces_are_the_tasks, check_it_serves_again, check_errors_come_back]
