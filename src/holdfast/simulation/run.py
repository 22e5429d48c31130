"""`simulate`: policies against an environment, many replications, one tidy table."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

import holdfast
from holdfast.checks import whole_number
from holdfast.environments import Environment
from holdfast.errors import InvalidParameter
from holdfast.policies import Policy
from holdfast.regret import pseudo_regret, total_loss
from holdfast.results import Result, rows
from holdfast.rng import check_seed
from holdfast.simulation.backends import Backend, find_backend
from holdfast.simulation.checkpoints import Checkpoints, checkpoint_rounds
from holdfast.simulation.costs import Costs, SwitchingCost
from holdfast.simulation.progress import progress_bar
from holdfast.simulation.tasks import Played, Task

MOST_ROUNDS = 2**53
MOST_REPLICATIONS = 2**32


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation; `result` has the replications that were finished."""

    def __init__(self, result: Result) -> None:
        super().__init__("interrupted")
        self.result = result


def simulate(
    policies: Policy | Sequence[Policy] | Mapping[str, Policy],
    environment: Environment,
    *,
    horizon: int,
    switching_cost: SwitchingCost,
    replications: int = 10,
    first_replication: int = 0,
    seed: object = 0,
    checkpoints: Checkpoints | None = None,
    backend: str | Backend = "threads",
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool | None = None,
) -> Result:
    """Play each policy `replications` times against `environment` and record regret and switches.

    `switching_cost` is λ, or a sequence λ_n by block: a list, a function of n, or `Power(alpha)`. Policies given
    as a mapping are called by its keys; otherwise each by its `label`. The numbers of a policy depend on `seed`,
    that name and the replication, on nothing else: not on the backend's workers, nor on the other policies (a GPU
    gives other numbers of the same distribution). So a study may be played in pieces: replications are numbered from
    `first_replication` on, and `Result.concat` joins them to what one call would have given.

    `checkpoints` are the rounds to record at (`holdfast.simulation.checkpoints`); the horizon is always one.
    `progress` shows a bar; by default on a terminal only. Ctrl-C raises `Interrupted`, which holds what was finished.

    >>> result = simulate([holdfast.Exp3(2)], holdfast.Bernoulli([0.3, 0.5]), horizon=100, switching_cost=0.1)
    >>> result.frame.columns
    ['policy', 'replication', 'round', 'pseudo_regret', 'switches', 'regret_with_switching', 'total_loss', 'total_cost']
    """
    named = _named(policies)
    if not isinstance(environment, Environment):
        raise InvalidParameter("environment", "must be an environment such as holdfast.Bernoulli", environment)
    rounds = whole_number("horizon", horizon, least=1, most=MOST_ROUNDS)
    if rounds > environment.rounds:
        raise InvalidParameter("horizon", f"must not exceed the {environment.rounds:g} rounds of the table", horizon)
    for name, policy in named.items():
        if policy.n_arms != environment.n_arms:
            rule = f"must be {environment.n_arms}, as many as the environment has"
            raise InvalidParameter(f"n_arms of {name}", rule, policy.n_arms)
        policy.parameters(horizon=rounds)
    first = whole_number("first_replication", first_replication, least=0, most=MOST_REPLICATIONS - 1)
    count = whole_number("replications", replications, least=1, most=MOST_REPLICATIONS - first)
    number = check_seed(seed)
    marks = checkpoint_rounds(checkpoints, rounds, count * len(named))
    costs = Costs.of(switching_cost)
    chosen = find_backend(backend, workers=workers, scheduler=scheduler)
    tasks = [
        Task(name, policy, environment, rounds, costs, marks, number, first, count) for name, policy in named.items()
    ]
    played: list[Played] = []
    interrupted = False
    with progress_bar(progress, count * len(named)) as advance:

        def done(piece: Played) -> None:
            played.append(piece)
            advance(piece.task.count)

        try:
            chosen.run(tasks, done)
        except KeyboardInterrupt:
            interrupted = True
    provenance: dict[str, Any] = {
        "horizon": rounds,
        "switching_cost": costs.described(),
        "replications": count,
        "first_replication": first,
        "seed": number,
        "checkpoints": list(marks),
        "backend": chosen.name,
        "environment": environment.settings(),
        "policies": {name: _plain(policy.settings()) for name, policy in named.items()},
        "versions": _versions(),
    }
    result = Result(_assembled(list(named), environment, costs, marks, played), provenance)
    if interrupted:
        provenance["interrupted"] = True
        raise Interrupted(result)
    return result


def _named(policies: object) -> dict[str, Policy]:
    if isinstance(policies, Policy):
        policies = [policies]
    if isinstance(policies, Mapping):
        named = {str(name): policy for name, policy in policies.items()}
        given: list[Any] = list(named.values())
    elif isinstance(policies, Sequence) and not isinstance(policies, str):
        given = list(policies)
        named = {getattr(policy, "label", ""): policy for policy in given}
    else:
        raise InvalidParameter("policies", "must be policies such as holdfast.Exp3(8), in a list or by name", policies)
    for policy in given:
        if not isinstance(policy, Policy):
            raise InvalidParameter("policies", "must all be policies such as holdfast.Exp3(8)", policy)
    if not given:
        raise InvalidParameter("policies", "must not be empty", policies)
    if len(named) < len(given):
        labels = [policy.label for policy in given]
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InvalidParameter(
            "policies", 'must have different names; give them by name, {"low": ..., "high": ...}', twice
        )
    return named


def _assembled(
    labels: Sequence[str], environment: Environment, costs: Costs, marks: tuple[int, ...], played: Sequence[Played]
) -> Any:
    """The rows of finished pieces, by policy as given, then replication, then round."""
    excess_of_arms = np.array([environment.excess(mark) for mark in marks])
    least_loss = np.array([np.min(environment.expected(0, mark)) for mark in marks])
    blocks = []
    for piece in sorted(played, key=lambda p: (labels.index(p.task.label), p.task.first)):
        regret = pseudo_regret(piece.excess, excess_of_arms)
        paid = piece.paid if costs.constant is None else costs.constant * piece.switches
        loss = total_loss(regret, least_loss)
        measures = {
            "pseudo_regret": regret,
            "switches": piece.switches,
            "regret_with_switching": regret + paid,
            "total_loss": loss,
            "total_cost": loss + paid,
        }
        blocks.append((piece.task.label, piece.task.first, measures))
    return rows(marks, blocks)


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    return {k: getattr(v, "__qualname__", repr(v)) if callable(v) else v for k, v in settings.items()}


@cache
def _versions() -> dict[str, str]:
    from importlib.metadata import version

    libraries = {name: version(name) for name in ("numpy", "numba", "polars")}
    return {"holdfast": holdfast.__version__, "python": platform.python_version(), **libraries}
