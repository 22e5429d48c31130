"""Mistakes in environments and policies of one's own: one line that says what is wrong, never a wrong number."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import holdfast as hf
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.kernels import COMPILED, Kernels, kernel, next_uniform

pytestmark = pytest.mark.plain


@kernel
def as_told(tables, arms, start, stop, streams, totals):
    for g in range(totals.shape[0]):
        totals[g] = tables[0][0] * (stop - start)


@kernel
def told_gap(tables, arms, start, stop, gaps):
    for g in range(gaps.shape[0]):
        gaps[g] = tables[0][1] * (stop - start)


@dataclass(frozen=True)
class Own(hf.Environment):
    id: ClassVar[str] = "own"
    total_kernel: ClassVar = staticmethod(as_told)
    gap_kernel: ClassVar = staticmethod(told_gap)

    loss: float = 0.5
    gap: float = 0.0
    n_arms: int = 2
    reference: int = 0

    @property
    def tables(self):
        return (np.array([self.loss, self.gap]),)

    def expected(self, start, stop):
        return np.full(2, 0.5 * (stop - start))

    def excess(self, stop):
        return np.zeros(2)


OWN, POLICY = Own(), hf.Exp3(2)


def play(environment=OWN, policy=POLICY, replications=40):
    return hf.simulate(policy, environment, horizon=20, switching_cost=1.0, replications=replications)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [0.0, 1.0, 1.0 + 1e-8, -1e-8])
def test_a_loss_within_the_range_is_played(loss):
    """And one that is off by what sums are rounded to."""
    assert play(Own(loss)).frame.height == 40 * 20


@pytest.mark.parametrize("replications", [1, 40])  # alone and side by side
@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf, -5.0, 1.001, 1e300])
def test_a_loss_outside_the_range_ends_in_an_error(loss, replications):
    with pytest.raises(HoldfastError, match=r"^Own must lose from 0 to 1 in each round, as a share of its units"):
        play(Own(loss), replications=replications)


def test_a_gap_that_is_no_number_ends_in_an_error():
    with pytest.raises(HoldfastError, match=r"^Own must fill in finite numbers: look at gaps in its gap_kernel$"):
        play(Own(gap=math.nan))


def wrong(name, **members):
    return type(name, (Own,), members)()


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (wrong("WithTables", tables=[np.zeros(2)]), r"tables of WithTables must be a tuple of arrays; got \[array"),
        (
            wrong("WithMeans", expected=lambda *_: np.zeros(3)),
            r"expected of .* 2 finite numbers, .*; got array",
        ),
        (
            wrong("WithExcess", excess=lambda *_: 0.0),
            r"excess of WithExcess .* 2 finite numbers, one per arm; got 0.0",
        ),
        (wrong("WithRange", units=(1, 0)), r"units of WithRange must be two numbers .*; got \(1, 0\)"),
        (wrong("WithRounds", rounds=0), r"rounds of WithRounds must be a whole number from 1 to \d+; got 0"),
        (Own(reference=2), r"reference of Own, an arm, must be a whole number from 0 to 1; got 2"),
        (Own(n_arms="2"), r"n_arms of Own must be a whole number of at least 1; got '2'"),
        (Own(shuffled="no"), r"shuffled must be True or False; got 'no'"),
        (hf.Bernoulli([0.1, 0.2], shuffled="no"), r"shuffled must be True or False; got 'no'"),
    ],
)
def test_what_an_environment_says_of_itself_is_checked_before_the_game(environment, message):
    with pytest.raises(InvalidParameter, match=f"^{message}"):
        play(environment)


EXP3 = hf.Exp3(2).kernels


class Params(NamedTuple):
    rate: float


NO_RATE = Params(0.0)


def policy_of(choose, params=NO_RATE, declared=Params):
    @dataclass(frozen=True)
    class Policy(hf.Policy):
        id: ClassVar[str] = "own"
        kernels: ClassVar[Kernels] = Kernels(choose, EXP3.observe, EXP3.state, EXP3.block, params=declared)

        def parameters(self):
            return params

        def probabilities(self, params, state, block):
            return np.full(2, 0.5)

    return Policy(2)


@pytest.mark.parametrize(
    ("params", "declared"), [([0.1], Params), (hf.Exp3(2).parameters(), Params), (Params(0.1), None)]
)
def test_parameters_that_are_not_as_declared_are_refused(params, declared):
    own = policy_of(EXP3.choose, params, declared)
    rule = r"must be of the NamedTuple that Kernels\(..., params=...\) names, (Params|none) here; got "
    with pytest.raises(InvalidParameter, match=f"^parameters of own {rule}"):
        play(policy=own)
    with pytest.raises(InvalidParameter, match=f"^parameters {rule}"):
        own.player()


def unmarked(params, state, announced, streams, block):
    block.arm[0] = next_uniform(streams, 0)


@kernel
def of_no_name(params, state, announced, streams, block):
    block.arm[0] = state.nosuch[0]


@kernel
def of_no_function(params, state, announced, streams, block):
    block.arm[0] = no_such_function(1.0)  # type: ignore[name-defined]  # noqa: F821


@kernel
def of_text(params, state, announced, streams, block):
    block.arm[0] = "first"


@kernel
def of_four(params, state, streams, block):
    block.arm[0] = 0.0


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="plain Python has errors of its own")
@pytest.mark.parametrize(
    ("choose", "message"),
    [
        (unmarked, r".*'choose'.*is it marked @kernel\?"),
        (of_no_name, r"kernel of_no_name does not compile: .*'nosuch'.*test_own_mistakes.py, line \d+\)"),
        (of_no_function, r"kernel of_no_function does not compile: .*'no_such_function'.*"),
        (of_text, r"kernel of_text does not compile: .*str.*test_own_mistakes.py, line \d+\)"),
        (
            of_four,
            r"kernel of_four must take \(params, state, announced, streams, block\); it takes \(params, state, "
            r"streams, block\) \(.*test_own_mistakes.py, line \d+\)",
        ),
    ],
)
def test_a_kernel_that_does_not_compile_is_named_in_one_line(choose, message):
    policy = policy_of(choose)
    for use in (lambda: policy.player(seed=1).ask(), lambda: play(policy=policy)):
        with pytest.raises(HoldfastError) as refusal:
            use()
        refusal.match(f"^{message}$")
