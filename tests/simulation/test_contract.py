"""`hf.check` names each of many planted bugs, with its place, and accepts every class of the package."""

import os
import random
import textwrap
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import pytest
from every_policy import EVERY

import holdfast as hf
from holdfast.environments import ENVIRONMENTS, make_environment
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.kernels import COMPILED, Kernels, NonNegative, PerArm, Scalar, Scratch, Whole, kernel, next_uniform
from holdfast.lab.plan import HARD_CASES, paper_settings
from holdfast.policies.registry import POLICIES
from holdfast.simulation import contract

K = 3


class State(NamedTuple):
    losses: Annotated[PerArm, NonNegative]
    rounds: Annotated[PerArm, Whole]
    n: Scalar
    last: Scalar
    scrap: Scratch


class Block(NamedTuple):
    arm: Scalar
    rounds: Scalar
    probability: Scalar


class Params(NamedTuple):
    epsilon: float


@kernel
def choose(params, state, announced, streams, block):
    """Any arm with probability ε, else the one of least mean loss."""
    leader, arms = 0, state.losses.shape[0]
    for i in range(arms):
        if state.losses[i, 0] * (state.rounds[leader, 0] + 1.0) < state.losses[leader, 0] * (state.rounds[i, 0] + 1.0):
            leader = i
    arm = int(next_uniform(streams, 0) * arms) if next_uniform(streams, 0) < params.epsilon else leader
    state.n[0] += 1.0
    state.last[0] = leader
    block.arm[0], block.rounds[0] = arm, 2.0
    block.probability[0] = params.epsilon / arms + (1.0 - params.epsilon if arm == leader else 0.0)


@kernel
def observe(params, state, block, totals, rounds):
    state.losses[int(block.arm[0]), 0] += totals[0]
    state.rounds[int(block.arm[0]), 0] += rounds


@dataclass(frozen=True)
class Right(hf.Policy):
    """Follow the leader in blocks of two, and explore."""

    id: ClassVar[str] = "planted"
    kernels: ClassVar[Kernels] = Kernels(choose, observe, State, Block, params=Params)
    epsilon: float = field(default=0.3, kw_only=True)

    def parameters(self):
        return Params(self.epsilon)

    def probabilities(self, params, state, block):
        p = np.full(self.n_arms, params.epsilon / self.n_arms)
        p[int(state.last[0])] += 1 - params.epsilon
        return p


LOCAL = {"__annotations__": {}, "__module__": __name__, "__qualname__": "made.<locals>.Planted"}
"""Of a class that is made in a function."""


def policy(choose=choose, observe=observe, side_by_side=False, **members):
    """The policy above with something else in a place."""
    kernels = Kernels(choose, observe, State, Block, params=Params, side_by_side=side_by_side)
    made: Any = type("Planted", (Right,), {"kernels": kernels, **LOCAL, **members})
    return dataclass(frozen=True)(made)(K)


def written(arguments, *lines):
    """The kernel `bug` of these lines, which for all that it knows stands in this file."""
    text = f"def bug({arguments}):\n" + textwrap.indent("\n".join(lines), "    ")
    scope: dict[str, Any] = {"np": np, "next_uniform": next_uniform, "__name__": __name__}
    exec(compile(text, __file__, "exec"), scope)
    return kernel(scope["bug"])


def after(*lines):
    """The choice above, and then these lines, as a kernel."""
    then = written("params, state, announced, streams, block", *lines)

    @kernel
    def planted(params, state, announced, streams, block):
        choose(params, state, announced, streams, block)
        then(params, state, announced, streams, block)

    return planted


def heard(*lines):
    """These lines, and then that the arm had so many rounds more, as a kernel."""
    counts = "state.rounds[int(block.arm[0]), 0] += rounds"
    return written("params, state, block, totals, rounds", "arm = int(block.arm[0])", *lines, counts)


CHOICES = {
    "half a round": (r"must choose .* a whole number of rounds", "block.rounds[0] = 1.5 if state.n[0] > 5.0 else 1.0"),
    "an arm that is none": (r"must choose an arm from 0 to 2", "if state.n[0] == 40.0:", "    block.arm[0] = 3.0"),
    "a probability of 1.7": (r"at most 1; got 1.7", "block.probability[0] = 1.7"),
    "a probability of 0": (r"a probability above 0 and at most 1; got 0", "block.probability[0] = 0.0"),
    "another probability in the block": (r"probabilities says .* block.probability is", "block.probability[0] *= 0.5"),
    "draws otherwise": (
        r"probabilities says .*; choose draws it .* of the time",
        "if next_uniform(streams, 0) < 0.5:",
        "    block.arm[0] = 0.0",
        "    state.last[0] = 0.0",
        "    block.probability[0] = 1.0 - params.epsilon + params.epsilon / 3.0",
    ),
    "a state that overflows": (r"state.n infinite or no number by block", "state.n[0] *= 1e30"),
    "scratch that is read": (
        r"reads Scratch that it has not written",
        "if state.n[0] > 3.0 and state.scrap[0] == 1.0:",
        "    block.rounds[0] = 3.0",
        "state.scrap[0] = 1.0",
    ),
    "an index beyond the end": (
        r"IndexError.*test_contract.py, line \d+\)",
        "if state.losses[int(state.n[0]) % 5, 0] > 1e9:",
        "    block.arm[0] = 0.0",
    ),
    "a dict": (r"bug must not make a dict .*line \d+", "held = {0: 1.0}", "block.rounds[0] = held[0]"),
    "a list": (r"bug must not make a list .*line \d+", "held = [announced, 1.0]", "block.rounds[0] = held[1]"),
    "a comprehension": (
        r"must not make a list .*line \d+",
        "block.rounds[0] = max([state.losses[i, 0] * 0.0 + 2.0 for i in range(2)])",
    ),
    "an error": (
        r"bug must not raise an error .*line \d+",
        "if block.rounds[0] > 5.0:",
        "    raise ValueError('too long')",
    ),
    "an error that is caught": (
        r"must not catch an error .*line \d+",
        "try:",
        "    block.rounds[0] = 2.0",
        "except Exception:",
        "    block.rounds[0] = 1.0",
    ),
    "a text": (r"bug must not make a text .*line \d+", "block.rounds[0] = len(f'{int(announced)}')"),
    "an array": (r"a kernel allocates nothing", "p = np.zeros(3)", "block.rounds[0] = 1.0 + p[0]"),
    "another source of chance": (
        r"must draw from the stream it is handed",
        "if np.random.random() < 0.1:",
        "    block.rounds[0] = 1.0",
    ),
}
NEVER_THE_LAST = (
    "if block.arm[0] == 2.0 and state.last[0] != 2.0:",
    "    block.arm[0] = 0.0 if state.last[0] == 1.0 else 1.0",
)
HEARD = {
    "a step by the count": (r"bug .*comes late", "state.losses[arm, 0] += totals[0] / state.n[0]"),  # of blocks begun
    "rewards for losses": (r"state.losses must be at least 0, as declared", "state.losses[arm, 0] -= totals[0]"),
    "a logarithm of 0": (r"state.losses infinite or no number", "state.losses[arm, 0] -= np.log(totals[0] / rounds)"),
    "weights that overflow": (
        r"state.losses infinite or no number",
        "state.losses[arm, 0] = (state.losses[arm, 0] + 1.0) * (1.0 + totals[0])",
    ),
    "the loss of today's leader": (
        r"state.losses .* comes late",
        "leader = 0 if state.losses[0, 0] <= state.losses[1, 0] else 1",
        "state.losses[leader, 0] += totals[0]",
    ),
}
"""The message, and the lines of a kernel."""

HIDDEN = np.zeros(1)


def of_hidden_memory(self, params, state, block):
    HIDDEN[0] += 1.0
    return Right.probabilities(self, params, state, block) * (2.0 if HIDDEN[0] > 30 else 1.0)


def changing_the_state(self, params, state, block):
    state.rounds[0] += 1.0
    return Right.probabilities(self, params, state, block)


@dataclass(frozen=True)
class OfThisProcess(Right):
    """Other numbers on each worker."""

    def parameters(self):
        return Params(0.1 + os.getpid() % 1009 / 2000)


def chances(found):
    return lambda: policy(probabilities=lambda self, params, state, block: found(self, state))


POLICY_BUGS = {
    **{name: (lambda lines=lines: policy(after(*lines)), said) for name, (said, *lines) in CHOICES.items()},
    **{name: (lambda lines=lines: policy(observe=heard(*lines)), said) for name, (said, *lines) in HEARD.items()},
    "an arm that is never drawn": (
        lambda: replace(policy(after(*NEVER_THE_LAST)), epsilon=0.06),
        r"probabilities says 0.02 for arm 2 .*; choose draws it 0 of the time",
    ),
    "a rare arm that is never drawn": (
        lambda: replace(policy(after(*NEVER_THE_LAST)), epsilon=0.003),
        r"probabilities says 0.001 for arm 2 .*; choose draws it 0 of the time",
    ),
    "an argument too few": (
        lambda: policy(written("params, state, streams, block", "block.rounds[0] = 1.0")),
        r"bug must take \(params, state, announced",
    ),
    "one column of many": (lambda: policy(side_by_side=True), r"side by side with other games"),
    "the loss of another arm": (
        lambda: policy(after("state.n[0] = block.arm[0]"), heard("state.losses[int(state.n[0]), 0] += totals[0]")),
        r"comes late.*must be in the block",
    ),
    "called deterministic": (lambda: policy(deterministic=True), r"`deterministic` is True"),
    "called unknown": (lambda: policy(knows_probabilities=False), r"but knows_probabilities is False"),
    "probabilities that sum to 2": (lambda: policy(probabilities=of_hidden_memory), r"sum to 1; .* sum to 2"),
    "an arm too many": (chances(lambda self, state: np.full(K + 1, 0.25)), r"must return 3 numbers; it returns \(4,\)"),
    "a leader alone": (chances(lambda self, state: np.eye(K)[int(state.last[0])]), r"probabilities says"),
    "an error in probabilities": (
        chances(lambda self, state: np.ones(int(state.losses[9]))),
        r"IndexError.*test_contract.py, line \d+\)",
    ),
    "probabilities that change the state": (
        lambda: policy(probabilities=changing_the_state),
        r"probabilities changes the state or the block",
    ),
    "parameters undeclared": (
        lambda: policy(parameters=lambda self: [0.3]),
        r"parameters .* must be of the NamedTuple",
    ),
    "parameters of chance": (
        lambda: policy(parameters=lambda self: Params(random.random())),
        r"parameters returns other numbers",
    ),
    "parameters of the process": (lambda: OfThisProcess(K), r"parameters has other values in another process"),
    "the arm that is out": (
        lambda: policy(next_best=lambda self, params, state, block, out: int(block.arm[0])),
        r"next_best names arm \d, which is not available",
    ),
}


@kernel
def total(tables, arms, start, stop, streams, totals):
    """0 or 1 with the arm's mean, round by round."""
    for g in range(totals.shape[0]):
        totals[g] = 0.0
        for _ in range(int(stop - start)):
            totals[g] += 1.0 if next_uniform(streams, g) < tables[0][int(arms[g])] else 0.0


@kernel
def gap(tables, arms, start, stop, gaps):
    for g in range(gaps.shape[0]):
        gaps[g] = (stop - start) * (tables[0][int(arms[g])] - tables[0][0])


@dataclass(frozen=True)
class World(hf.Environment):
    id: ClassVar[str] = "planted"
    total_kernel: ClassVar = staticmethod(total)
    gap_kernel: ClassVar = staticmethod(gap)
    means: tuple[float, ...] = (0.2, 0.5, 0.7)
    n_arms: int = 3
    reference: int = 0

    @property
    def tables(self):
        return (np.array(self.means),)

    def expected(self, start, stop):
        return (stop - start) * np.array(self.means)

    def excess(self, stop):
        return stop * (np.array(self.means) - self.means[0])


def world(**members):
    """The environment above with something else in a place."""
    kernels = {name: staticmethod(value) if "kernel" in name else value for name, value in members.items()}
    own = {**LOCAL, "__annotations__": {"reference": int} if "reference" in members else {}}
    made: Any = type("PlantedWorld", (World,), {**own, **kernels})
    return dataclass(frozen=True)(made)()


def gaps(*lines):
    """An environment whose `gap_kernel` fills in the gap of each game by these lines."""
    each = ["    " + line for line in lines]
    return world(gap_kernel=written("tables, arms, start, stop, gaps", "for g in range(gaps.shape[0]):", *each))


def totals(*lines):
    """The same of `total_kernel`; `mean` is that of the arm."""
    head = "for g in range(totals.shape[0]):", "    mean = tables[0][int(arms[g])]"
    each = ["    " + line for line in lines]
    return world(total_kernel=written("tables, arms, start, stop, streams, totals", *head, *each))


def by_round(loss):
    """Lines that add up `loss` for each round."""
    return "totals[g] = 0.0", "for _ in range(int(stop - start)):", f"    totals[g] += {loss}"


@kernel
def early(tables, arms, start, stop, streams, totals):
    """As if all were the first rounds: `expected` has another arm 0 from round 900 on."""
    total(tables, arms, 0.0, stop - start, streams, totals)


def later_worse(self, start, stop):
    return World.expected(self, start, stop) + np.array([0.1, 0.1, 0.1]) * (max(stop, 900) - max(start, 900))


ENVIRONMENT_BUGS = {
    "a gap of the wrong sign": (
        lambda: gaps("gaps[g] = (stop - start) * (tables[0][0] - tables[0][int(arms[g])])"),
        r"gap_kernel gives -.* where expected says",
    ),
    "the gap of one round": (
        lambda: gaps("gaps[g] = tables[0][int(arms[g])] - tables[0][0]"),
        r"gap_kernel gives .* where expected says",
    ),
    "the gap of one game": (
        lambda: gaps("gaps[0] = (stop - start) * (tables[0][int(arms[0])] - tables[0][0])"),
        r"fill in every gaps\[g\]",
    ),
    "one draw for a block": (
        lambda: totals("totals[g] = stop - start if next_uniform(streams, g) < mean else 0.0"),
        r"variance .* drawn at once",
    ),
    "a reward": (
        lambda: totals(*by_round("0.0 if next_uniform(streams, g) < mean else 1.0")),
        r"on average for arm 0 in .* where expected says 0.2",
    ),
    "one stream for all": (
        lambda: totals(*by_round("1.0 if next_uniform(streams, 0) < mean else 0.0")),
        r"draw by next_uniform\(streams, g\)",
    ),
    "losses beyond the range": (
        lambda: totals("totals[g] = 10.0 * (stop - start) * mean"),
        r"must fill in losses from 0 to 1",
    ),
    "totals not begun at 0": (lambda: totals("totals[g] += (stop - start) * mean"), r"must fill in losses from 0"),
    "tables that change": (
        lambda: totals("totals[g] = (stop - start) * mean", "tables[0][int(arms[g])] *= 0.999"),
        r"for the same game alone|changes the tables",
    ),
    "means of one round": (
        lambda: world(expected=lambda self, start, stop: np.array(self.means)),
        r"expected does not add up",
    ),
    "the time forgotten": (lambda: world(total_kernel=early, expected=later_worse), r"where expected says"),
    "tables of chance": (
        lambda: world(tables=property(lambda self: (np.array([random.random()] * 3),))),
        r"tables has other numbers each time",
    ),
    "tables of objects": (
        lambda: world(tables=(np.array([None] * 3),)),
        r"tables must be a tuple of arrays of numbers",
    ),
    "a kernel that is a method": (
        lambda: type("Planted", (World,), {"total_kernel": total, **LOCAL})(),
        r"total_kernel must be staticmethod",
    ),
    "an argument too many": (
        lambda: world(gap_kernel=total),
        r"kernel total must take \(tables, arms, start, stop, gaps",
    ),
    "no excess": (lambda: world(excess=lambda self, stop: np.zeros(3)), r"excess must be expected"),
    "a reference that is none": (lambda: world(reference=5), r"reference of PlantedWorld, an arm"),
    "tables in a list": (lambda: world(tables=[np.zeros(3)]), r"tables must be a tuple of arrays"),
}

BUGS = POLICY_BUGS | ENVIRONMENT_BUGS


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="some bugs show only in machine code")
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_named_in_one_line(bug):
    make, message = BUGS[bug]
    with pytest.raises(HoldfastError, match=message) as refusal:
        hf.check(make())
    assert "\n" not in str(refusal.value)


class Answers(NamedTuple):
    mean: PerArm
    n: Scalar


@kernel
def stay(tables, state, t, streams):
    for i in range(state.mean.shape[0]):
        state.mean[i, 0] = state.n[0]


ANSWERS = {
    "state.n[0] += 0.5": r"react_kernel must leave means from 0 to 1; in round 3 they are \[1.5, 1.5, 1.5\]",
    "state.n[0] = 0.1 * state.mean[arm + 1, 0]": r"react_kernel fails: IndexError.*test_contract.py, line \d+\)",
    "state.n[0] += 0.01": r"bug must take \(tables, state, arm, start, stop\); it takes \(tables, state, arm\)",
}


@dataclass(frozen=True)
class Answering(hf.ChangingEnvironment):
    id: ClassVar[str] = "answering"
    state: ClassVar[type] = Answers
    move_kernel: ClassVar[Any] = staticmethod(stay)

    @property
    def tables(self):
        return ()


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="some bugs show only in machine code")
@pytest.mark.parametrize("line", ANSWERS)
def test_a_world_that_answers_wrongly_is_told_so(line):
    react = written("tables, state, arm" + ", start, stop" * ("0.01" not in line), line)
    planted: Any = type("Planted", (Answering,), {"react_kernel": staticmethod(react), **LOCAL})
    with pytest.raises(HoldfastError, match=ANSWERS[line]) as refusal:
        hf.check(dataclass(frozen=True)(planted)(K))
    assert "\n" not in str(refusal.value)


PASSED = {case.policy.id: case.policy for name, case in reversed(EVERY.items()) if "functions" not in name}
"""One of each; schedules given as functions end after a while."""


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSED)
def test_every_policy_keeps_the_contract(name):
    assert str(hf.check(PASSED[name])).startswith(f"{type(PASSED[name]).__name__} keeps the contract: 12")
    assert PASSED.keys() == POLICIES.keys()


DRAWN = ("random-changes", "ornstein-uhlenbeck", "outages", "seasons", "common-jumps", "tiring-arms")
WORLDS = {name: setting.environment for name, setting in paper_settings(2000).items()}
WORLDS |= {name: case(4, 2000, 1.0) for name, case in HARD_CASES.items()}
WORLDS["piecewise-constant"] = hf.PiecewiseConstant([0, 700], [[0.1, 0.5], [0.9, 0.5]])
WORLDS["varying-ranges"] = hf.VaryingRanges([0.3, 0.5], [1.0, 0.1, 0.1])
WORLDS["loss-table"] = hf.LossTable(np.arange(900).reshape(300, 3) % 7 * 10.0, units=(0, 60))
WORLDS |= {name: make_environment({"environment": name, "n_arms": 3}) for name in DRAWN}
WORLDS["markov-chain"] = hf.MarkovChain([[0.1, 0.9], [0.5, 0.2]], [[0.9, 0.1], [0.2, 0.8]])


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_every_environment_keeps_the_contract(name):
    assert len(hf.check(WORLDS[name]).parts) == (4 if name in (*DRAWN, "markov-chain") else 7)
    assert {world.id for world in WORLDS.values()} == ENVIRONMENTS.keys()


@pytest.mark.slow
def test_a_class_is_made_with_what_it_needs_and_a_name_is_found():
    named = ("tsallis-switch", "tsallis-switch:n_arms=3", f"{__name__}:Right", "constrained-bernoulli")
    for thing in (hf.TsallisSwitch, *named):
        assert hf.check(thing).seconds > 0
    with pytest.raises(InvalidParameter, match="check must be given a policy or an environment"):
        hf.check(3)
    unmarked: Any = type(
        "Unmarked", (Right,), {"__annotations__": {"rate": float}, "rate": 0.1, "__module__": __name__}
    )
    with pytest.raises(HoldfastError, match=r"Unmarked must be marked @dataclass\(frozen=True\): rate is no field"):
        hf.check(unmarked)


def test_one_of_each_class_of_ones_own_is_checked_before_a_run(monkeypatch):
    seen = []
    monkeypatch.setattr(contract, "check", seen.append)
    contract.check_own(Right(3), Right(4), hf.Exp3(2), World())
    assert [type(thing) for thing in seen] == [Right, World]


def test_a_module_without_its_class_is_told_what_is_missing():
    with pytest.raises(
        hf.InvalidParameter, match='check must be "module:Class", or the id of a policy or an environment'
    ):
        hf.check("follow")
    with pytest.raises(hf.InvalidParameter, match="did you mean 'adaptive'"):
        hf.check("adaptiv")
