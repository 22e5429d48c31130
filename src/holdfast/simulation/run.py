"""`simulate`: policies against an environment, many replications, one tidy table."""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import holdfast
from holdfast.checks import code_of, import_from, is_own, one_of, parameters_of, whole_number
from holdfast.environments import Environment
from holdfast.environments.changing import ChangingEnvironment
from holdfast.environments.environment import LAST_ROUND, UNIT_RANGE
from holdfast.errors import TRUTH, BackendLost, HoldfastError, InvalidParameter, Words, nearest, parameter_named
from holdfast.numerics.hindsight import plan_costs
from holdfast.numerics.layout import Array
from holdfast.numerics.random import check_seed
from holdfast.numerics.regret import ON_REQUEST, pseudo_regret, total_loss
from holdfast.policies.policy import Policy, packed_parameters
from holdfast.policies.registry import POLICIES, find_policy, make_policy
from holdfast.results import Result, rows
from holdfast.simulation.backends import Backend, find_backend
from holdfast.simulation.costs import Costs, SwitchingCost
from holdfast.simulation.delays import Delay
from holdfast.simulation.tasks import Played, Task

# Rounds at which a simulation records: evenly spaced, evenly spaced in the logarithm, or as given.

DEFAULT_COUNT = 100
MOST_ROWS = 10**7
"""Rows of a result above which default checkpoints are reduced."""

SPACINGS = ("linear", "log")

Checkpoints = int | str | Sequence[int] | Mapping[str, Any]


def checkpoint_rounds(checkpoints: Checkpoints | None, horizon: int, games: int = 1) -> tuple[int, ...]:
    """Return rounds in ascending order that end with the horizon.

    `checkpoints` is a number of evenly spaced rounds, ``"linear"`` or ``"log"`` (100 of them), a mapping such as
    ``{"spacing": "log", "count": 200}``, or the rounds themselves. With None, 100 evenly spaced ones, or fewer
    where `games` games would fill more than ten million rows.

    >>> checkpoint_rounds(4, 100)
    (25, 50, 75, 100)
    >>> checkpoint_rounds([10, 3], 100)
    (3, 10, 100)
    """
    if checkpoints is None:
        checkpoints = max(1, min(DEFAULT_COUNT, MOST_ROWS // max(games, 1)))
    if isinstance(checkpoints, str):
        checkpoints = {"spacing": checkpoints}
    if isinstance(checkpoints, Mapping):
        unknown = [name for name in checkpoints if name not in ("spacing", "count")]
        if unknown:
            raise InvalidParameter("checkpoints", "takes 'spacing' and 'count' only", unknown[0])
        return _spaced(checkpoints.get("spacing", "linear"), checkpoints.get("count", DEFAULT_COUNT), horizon)
    if isinstance(checkpoints, (Sequence, np.ndarray)):
        rounds = {whole_number(f"checkpoints[{i}]", c, least=1, most=horizon) for i, c in enumerate(checkpoints)}
        return tuple(sorted(rounds | {horizon}))
    return _spaced("linear", checkpoints, horizon)


def _spaced(spacing: object, count: object, horizon: int) -> tuple[int, ...]:
    if spacing not in SPACINGS:
        rule = f"must be 'linear', 'log', how many, or a list of rounds{nearest(spacing, SPACINGS)}"
        raise InvalidParameter("checkpoints", rule, spacing)
    points = whole_number("checkpoints", count, least=1)
    dense = horizon * (math.log(horizon) if spacing == "log" else 1.0)  # two neighbours are then at most a round apart
    if min(points, horizon) > MOST_ROWS:
        raise InvalidParameter("checkpoints", f"must be at most {MOST_ROWS}", count)
    if points > max(dense, horizon):
        return tuple(range(1, horizon + 1))
    steps = np.arange(1, points + 1) / points
    rounds = horizon**steps if spacing == "log" else horizon * steps
    return tuple(sorted({max(1, min(horizon, round(r))) for r in rounds.tolist()} | {horizon}))


# A progress bar on standard error, quiet when that is not a terminal.


@contextmanager
def progress_bar(wanted: bool | None, total: int, what: str = "replications") -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number newly finished. With `wanted` None, a bar on terminals only."""
    if not shows_progress(wanted):
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda count: progress.advance(task, count)


def shows_progress(wanted: bool | None) -> bool:
    """Tell whether a bar is shown: as asked for, or on a terminal."""
    return sys.stderr.isatty() if wanted is None else wanted


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
    horizon: int | None = None,
    switching_cost: SwitchingCost,
    replications: int = 10,
    first_replication: int = 0,
    seed: object = 0,
    checkpoints: Checkpoints | None = None,
    paired: bool = False,
    delay: Delay | None = None,
    record: Sequence[str] = (),
    backend: str | Backend | Executor = "threads",
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool | None = None,
) -> Result:
    """Play each policy `replications` times against `environment` and record regret and switches.

    The numbers of a policy depend on `seed`, its name and the replication only: neither on the number of workers nor on
    the other policies. A GPU gives other numbers of the same distribution. Ctrl-C raises `Interrupted`, and a lost
    cluster `BackendLost`; both have the finished replications as `result`.

    Parameters
    ----------
    policies
        One policy, several, or a mapping from names to policies. Without a mapping the name is the policy's `label`.
    environment
        The source of losses. Its `units` must be those of the policies.
    horizon
        The number of rounds; with a loss table it may be left out, and all its rounds are played.
    switching_cost
        λ, in the units of the environment's losses; or one λ_n per block as a list, a function of n, or
        `Power(alpha)`; or a table with a row of costs for each arm to leave and a column for each arm to go to, where
        the first play is free. A policy that sees all losses and is announced λ plays blocks of one round: λ_n is then
        the cost of round n.
    replications, first_replication
        Games of each policy, and the number of the first. A long run can be played in pieces:
        `Result.concat` joins them to what one call would have given.
    seed
        A whole number.
    checkpoints
        The rounds to record at: how many, ``"linear"``, ``"log"``, or the rounds. The horizon is always one of them.
    paired
        True if every policy meets the very same losses: those of a replication, arm and round, whatever is played.
        Otherwise policies share a random stream, which is faster in long blocks; either way losses have the same
        distribution. It makes realised losses comparable one by one; means of regret are hardly surer
        (``docs/for_a_paper.md``).
    delay
        A `Delay`, if losses come late or never: fixed, random, by arm, lost. Policies then play on in the meantime, and
        learn from a block when all of it is known; those that wait for losses are refused. Regret is counted as always.
    record
        Measures beside those of every result, which take time. ``"dynamic"`` is dynamic regret, the cost above that of
        the cheapest plan, which knows the means of all rounds and pays λ for each switch, a constant. ``"realised"`` is
        realised regret, the losses drawn less those of the arm with the least of them; it needs ``paired=True``.
        ``"pulls"`` and ``"switch_times"`` are lists: how often each arm was played, and the rounds of the switches
        since the checkpoint before. All but the first keep the arms of up to 32 games in each thread, four bytes a
        round.
    backend, workers, scheduler
        ``"threads"``, ``"dask"``, ``"cuda"``, a `Backend` or any `concurrent.futures.Executor`; the number of workers;
        the address of a Dask scheduler.
    progress
        Show a progress bar; by default on a terminal only.

    Examples
    --------
    >>> result = simulate([holdfast.Exp3(2)], holdfast.Bernoulli([0.3, 0.5]), horizon=100, switching_cost=0.1)
    >>> result.frame.columns
    ['policy', 'replication', 'round', 'pseudo_regret', 'switches', 'regret_with_switching', 'total_loss', 'total_cost']
    """
    if not isinstance(environment, Environment):
        rule = "must be an environment such as holdfast.Bernoulli, or holdfast.LossTable for an array of losses"
        raise InvalidParameter("environment", rule, environment)
    environment.check_itself()
    rounds = checked_horizon(horizon, environment)
    named = _named(policies)
    for name, policy in named.items():
        try:
            named[name] = fitted(policy, environment, rounds)
        except InvalidParameter as error:
            raise InvalidParameter(f"{error.parameter} of {name}", error.rule, error.value) from None
    first = whole_number("first_replication", first_replication, least=0, most=MOST_REPLICATIONS - 1)
    count = whole_number("replications", replications, least=1, most=MOST_REPLICATIONS - first)
    number = check_seed(seed)
    marks = checkpoint_rounds(checkpoints, rounds, count * len(named))
    costs = Costs.of(switching_cost, blocks=rounds)
    _check_pairs(costs, environment, named)
    shares = replace(costs, unit=environment.unit)  # as shares of the range, like the losses
    shares.table()  # a wrong function is found before anything is played
    asked = checked_record(record)
    if not isinstance(paired, bool):
        raise InvalidParameter("paired", Words("must be ", TRUTH), paired)
    if paired and isinstance(environment, ChangingEnvironment):
        rule = "cannot be True where each game draws a path: all policies meet the same one in a replication"
        raise InvalidParameter("paired", rule, paired)
    if "dynamic" in asked and costs.constant is None:
        rule = "must be one number to record the dynamic regret"
        raise InvalidParameter("switching_cost", rule, costs.described())
    if "realised" in asked and not paired:
        rule = "must be True to record the realised regret: other games draw the losses of the arms in play alone"
        raise InvalidParameter("paired", rule, paired)
    _check_delay(delay, environment, named)
    means = Means.of(environment, marks)  # and so are wrong means
    chosen = find_backend(backend, workers=workers, scheduler=scheduler)
    tasks = [
        Task(name, policy, environment, rounds, shares, marks, number, first, count, asked, paired, delay)
        for name, policy in named.items()
    ]
    played: list[Played] = []
    stopped: BaseException | None = None
    with progress_bar(progress, count * len(named)) as advance:

        def done(piece: Played) -> None:
            played.append(piece)
            advance(piece.task.count)

        try:
            chosen.run(tasks, done)
        except (KeyboardInterrupt, BackendLost) as error:
            stopped = error
    provenance: dict[str, Any] = {
        "horizon": rounds,
        "switching_cost": costs.described(),
        "replications": count,
        "first_replication": first,
        "seed": number,
        "checkpoints": list(marks),
        **({"record": list(asked)} if asked else {}),
        **({"paired": True} if paired else {}),
        **({"delay": delay.settings()} if delay is not None else {}),
        "backend": chosen.name,
        **({} if environment.arms is None else {"arms": list(environment.arms)}),
        "environment": environment.settings(),
        "policies": {name: _plain(policy.settings()) for name, policy in named.items()},
        "versions": _versions(),
    }
    result = Result(_assembled(list(named), environment, means, costs, marks, asked, played), provenance)
    if stopped is None:
        return result
    provenance["interrupted"] = True
    if isinstance(stopped, BackendLost):
        stopped.result = result
        raise stopped
    raise Interrupted(result)


def checked_horizon(horizon: object, environment: Environment) -> int:
    """Return the number of rounds to play: as asked for, or all that the environment has."""
    if horizon is None:
        if environment.rounds is None:
            raise InvalidParameter("horizon", "must be given, unless the environment is a loss table", None)
        return environment.rounds
    rounds = whole_number("horizon", horizon, least=1, most=LAST_ROUND)
    if environment.rounds is not None and rounds > environment.rounds:
        raise InvalidParameter("horizon", f"must not exceed the {environment.rounds} rounds of the table", horizon)
    return rounds


def checked_record(record: object, known: Iterable[str] = ON_REQUEST) -> tuple[str, ...]:
    """Return the measures to be recorded beside those of every result, in the order of the table."""
    if isinstance(record, str) or not isinstance(record, Sequence):
        raise InvalidParameter("record", f"must be a list of some of {', '.join(map(repr, known))}", record)
    for i, name in enumerate(record):
        one_of(f"record[{i}]", name, tuple(known))
    return tuple(name for name in known if name in record)


def fitted(policy: Policy, environment: Environment, horizon: int, *, functions: bool = False) -> Policy:
    """Return the policy with its arms in the environment's order; raise if it cannot play there.

    A rule that is a function can play only where games are played in Python (`functions`).
    """
    if policy.n_arms != environment.n_arms:
        rule = f"must be {environment.n_arms}, as many as the environment has"
        raise InvalidParameter("n_arms", rule, policy.n_arms)
    if policy.units != environment.units:
        low, high = environment.units
        rule = f"must be those of the environment: give the policy units=({low:g}, {high:g})"
        if environment.units == UNIT_RANGE and environment.rounds is not None:
            rule += f", or the table units={policy.units}"
        raise InvalidParameter("units", rule, policy.units)
    if policy.bounds[1] < environment.units[1]:
        rule = f"must be at least {environment.units[1]:g}, which a round of the environment may lose"
        raise InvalidParameter("loss_bound", rule, policy.bounds[1])
    if policy.announces == "rule" and not (functions and policy.rule_of is not None):
        rule = (
            "must be a policy here: a function is followed in Python only, by a player and by holdfast.replay, and one "
            "that ask(rule=...) tells by a player, in a store and over HTTP"
        )
        raise InvalidParameter("rule", rule, policy.rule_of)
    if environment.closes_arms and not policy.full_information:
        rule = "must be one that sees the losses of all arms, because some arms are not always available"
        raise InvalidParameter("policy", rule, policy.label)
    if policy.arms is not None and environment.arms is not None and policy.arms != environment.arms:
        for arm in policy.arms:
            one_of("arms", arm, environment.arms)
        policy = replace(policy, arms=tuple(environment.arms))
    packed_parameters(policy, policy.parameters_reaching(horizon=horizon))
    return policy


def _check_pairs(costs: Costs, environment: Environment, policies: Mapping[str, Policy]) -> None:
    """Raise if a table of costs does not fit."""
    if costs.pairs is None:
        return
    if len(costs.pairs) != environment.n_arms:
        rule = f"must have a row and a column for each of the {environment.n_arms} arms"
        raise InvalidParameter("switching_cost", rule, f"{len(costs.pairs)} rows")
    for name, policy in policies.items():
        if policy.announces == "switching_cost":
            rule = f"must be one for each block, not a table: it is announced to {name}"
            raise InvalidParameter("switching_cost", rule, f"{len(costs.pairs)} rows")


def _check_delay(delay: object, environment: Environment, policies: Mapping[str, Policy]) -> None:
    """Raise if a delay does not fit, or a policy cannot play on without a loss."""
    if delay is None:
        return
    if not isinstance(delay, Delay):
        raise InvalidParameter("delay", "must be a holdfast.Delay", delay)
    if delay.n_arms not in (None, environment.n_arms):
        rule = f"must have a number for each of the {environment.n_arms} arms in its lists"
        raise InvalidParameter("delay", rule, delay.n_arms)
    for name, policy in policies.items():
        if policy.waits_for_losses or policy.full_information:
            rule = f"must be None for {name}, which begins a block only when the losses of the last are known"
            raise InvalidParameter("delay", rule, delay)


def _named(policies: object) -> dict[str, Policy]:
    if isinstance(policies, Policy):
        policies = [policies]
    if isinstance(policies, Mapping):
        pairs = [(str(name), policy) for name, policy in policies.items()]
    elif isinstance(policies, Sequence) and not isinstance(policies, str):
        pairs = [(policy.label if isinstance(policy, Policy) else "", policy) for policy in policies]
    else:
        raise InvalidParameter("policies", "must be policies such as holdfast.Exp3(8), in a list or by name", policies)
    if not pairs:
        raise InvalidParameter("policies", "must not be empty", policies)
    named: dict[str, Policy] = {}
    for name, policy in pairs:
        if not isinstance(policy, Policy):
            raise InvalidParameter("policies", "must all be policies such as holdfast.Exp3(8)", policy)
        if name in named:
            rule = 'must have different names; give them by name, {"low": ..., "high": ...}'
            raise InvalidParameter("policies", rule, name)
        named[name] = policy
    return named


class Means(NamedTuple):
    """Expectations at each checkpoint that regret and losses are measured from."""

    excess: Array
    """Excess of each arm over the reference, or over 0, in each game, where the environment draws its path there."""
    least_loss: Array
    """Expected loss of the best arm."""

    @classmethod
    def of(cls, environment: Environment, marks: Sequence[int]) -> Means | None:
        """Compute them; raise unless a user-defined environment gives a finite number for each arm.

        None if the environment draws its path in each game.
        """
        if isinstance(environment, ChangingEnvironment):
            return None

        def checked(name: str, rows: list[Any]) -> Array:
            same = {np.shape(row) for row in rows} == {(environment.n_arms,)}
            if same and np.isfinite(table := np.array(rows)).all():
                return table
            rule = f"must be {environment.n_arms} finite numbers, one per arm"
            raise InvalidParameter(f"{name} of {type(environment).__name__}", rule, rows[-1])

        expected = checked("expected", [environment.expected(0, mark) for mark in marks])
        return cls(checked("excess", [environment.excess(mark) for mark in marks]), expected.min(axis=1))


def _assembled(
    labels: Sequence[str],
    environment: Environment,
    known: Means | None,
    costs: Costs,
    marks: tuple[int, ...],
    record: tuple[str, ...],
    played: Sequence[Played],
) -> Any:
    """Return the rows of finished pieces, by policy as given, then replication, then round."""
    ordered = sorted(played, key=lambda piece: (labels.index(piece.task.label), piece.task.first))
    plans = None
    if "dynamic" in record and known is not None and costs.constant is not None:
        ends = pairwise((0, *marks))
        plans = plan_costs((environment.means_between(*piece) for piece in ends), costs.constant)

    def measures(piece: Played) -> dict[str, Any]:
        means = known or Means(piece.means, piece.means.min(axis=2))
        regret = pseudo_regret(piece.excess, means.excess)
        if not np.all(np.isfinite(regret)):
            rule = "must fill in finite numbers: look at gaps in its gap_kernel"
            raise HoldfastError(f"{type(environment).__name__} {rule}")
        paid = piece.paid * environment.unit if costs.constant is None else costs.constant * piece.switches
        loss = total_loss(regret, means.least_loss)
        return {
            "pseudo_regret": regret,
            "switches": piece.switches,
            "regret_with_switching": regret + paid,
            "total_loss": loss,
            "total_cost": loss + paid,
            "dynamic": loss + paid - (piece.plans if plans is None else plans) if "dynamic" in record else None,
            **{name: found * environment.unit if name == "realised" else found for name, found in piece.traces.items()},
        }

    pieces = [(piece.task.label, piece.task.first, len(piece.switches)) for piece in ordered]
    return rows(marks, pieces, map(measures, ordered), record)


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    return {k: getattr(v, "__qualname__", repr(v)) if callable(v) else v for k, v in settings.items()}


@cache
def _versions() -> dict[str, str]:
    from importlib.metadata import version

    libraries = {name: version(name) for name in ("numpy", "numba", "polars")}
    return {"holdfast": holdfast.__version__, "python": platform.python_version(), **libraries}


# Policies as users describe them: an id or ``"module:Class"``, parameters by name, and the game's own for the rest.


class Described(NamedTuple):
    """A policy and its name in results."""

    name: str
    policy: Policy
    code: dict[str, str]
    """Module of a user-defined policy, with the checksum of its source."""


def described_policy(
    place: str, entry: Any, environment: Environment, horizon: int, costs: Costs, folder: Path = Path()
) -> Described:
    """Make the policy that the table `entry` describes for a game.

    Parameters
    ----------
    place
        The name of the entry in errors.
    entry
        A table with the policy's id, or ``"module:Class"``, under ``policy``, parameters by name, and perhaps a
        ``name``.
    environment, horizon, costs
        The game: its arms, T, λ and units are the policy's unless given.
    folder
        Folder searched for users' modules, after everything installed.
    """
    if not isinstance(entry, dict):
        raise InvalidParameter(place, "must be a policy's id, or a table with it under policy", entry)
    given = dict(entry)
    label = given.pop("name", None)
    if label is not None and (not isinstance(label, str) or not label):
        raise InvalidParameter(f"{place}.name", "must be a text that is not empty", label)
    if "policy" not in given:
        raise HoldfastError(f"{place}.policy must be given: one of {', '.join(map(repr, POLICIES))}")
    name = given["policy"]
    import_from(folder)
    with parameter_named(lambda _: f"{place}.policy"):
        kind, _ = find_policy(name)
    game: dict[str, Any] = {
        "n_arms": environment.n_arms,
        "horizon": horizon,
        "switching_cost": costs.constant,
        "units": environment.units,
    }
    if "arms" in given:
        del game["n_arms"]
    for parameter, value in game.items():
        if parameter in given or parameter not in parameters_of(kind):
            continue
        if value is None:
            raise HoldfastError(f"{place}.{parameter} must be given, because the study's is a sequence")
        given[parameter] = value
    with parameter_named(lambda parameter: f"{place}.{parameter}"):
        policy = fitted(make_policy(given), environment, horizon)
    return Described(label or policy.label, policy, code_of(kind) if is_own(name) else {})


def described_policies(
    entries: Iterable[Any], environment: Environment, horizon: int, costs: Costs, folder: Path = Path()
) -> tuple[dict[str, Policy], dict[str, str]]:
    """Make the policies that tables describe, by name; and the checksums of the modules of user-defined ones.

    Parameters
    ----------
    entries, environment, horizon, costs, folder
        See `described_policy`.
    """
    made: dict[str, Policy] = {}
    code: dict[str, str] = {}
    for i, entry in enumerate(entries):
        place = f"policies[{i}]"
        label, policy, own = described_policy(place, entry, environment, horizon, costs, folder)
        if label in made:
            raise InvalidParameter(f"{place}.name", "must differ from those of the policies before it", label)
        made[label] = policy
        code |= own
    return made, code
