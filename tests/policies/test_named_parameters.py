"""Parameters by name: no place has two meanings, and a further setting changes no game."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from every_policy import EVERY
from hypothesis import given
from saved_players import resigned

import holdfast as hf
from holdfast.kernels import Kernels, kernel
from holdfast.numerics.layout import ArmIndex, Array, PerArm, Range, Scalar, Whole, layout_of, params_layout_of
from holdfast.policies.policy import packed_parameters

pytestmark = pytest.mark.plain


class Mixed(NamedTuple):
    first: float
    lengths: Array
    second: float
    rates: Array
    third: float


VIEW = params_layout_of(Mixed).view


@kernel
def read(packed, numbers, lengths, rates):
    params = VIEW(packed)
    numbers[0], numbers[1], numbers[2] = params.first, params.second, params.third
    for i in range(lengths.shape[0]):
        lengths[i] = params.lengths[i]
    for i in range(rates.shape[0]):
        rates[i] = params.rates[i]
    return params.lengths.shape[0], params.rates.shape[0]


@given(*[st.lists(st.floats(-10, 10), max_size=5)] * 2, *[st.floats(-10, 10)] * 3)
def test_a_kernel_reads_numbers_and_tables_by_name(lengths, rates, first, second, third):
    packed = params_layout_of(Mixed).packed(Mixed(first, np.array(lengths), second, np.array(rates), third))
    found = np.zeros(3), np.zeros(len(lengths)), np.zeros(len(rates))
    assert read(packed, *found) == (len(lengths), len(rates))
    assert [array.tolist() for array in found] == [[first, second, third], lengths, rates]


def test_every_policy_has_what_its_kernels_name():
    for case in EVERY.values():
        params, named = case.policy.parameters(), case.policy.kernels.params
        assert type(params) is (named or np.ndarray)
        assert len(packed_parameters(case.policy, params)) >= len(params)
        assert named or len(params) == 0


def test_a_parameter_that_is_no_number_and_no_table_is_refused():
    class Worded(NamedTuple):
        order: str

    with pytest.raises(TypeError, match=r"Worded.order must be annotated as float or Array; got <class 'str'>"):
        params_layout_of(Worded)


class Kept(NamedTuple):
    n: Annotated[Scalar, Whole]
    order: Annotated[PerArm, ArmIndex]
    share: Annotated[Scalar, Range(above=0.0, most=2.0)]
    free: Scalar


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({}, None),
        ({"free": -1e300}, None),
        ({"n": 0.5}, "n must be whole, be at least 0, be at most 9.0072e+15"),
        ({"n": -1.0}, "n must be whole, be at least 0, be at most 9.0072e+15"),
        ({"order": [0.0, 3.0, 1.0]}, "order must be whole, be at least 0, be at most 2"),
        ({"share": 0.0}, "share must be more than 0, be at most 2"),
        ({"share": 2.5}, "share must be more than 0, be at most 2"),
    ],
)
def test_ranges_stand_where_the_state_is_declared(change, rule):
    values = {"n": 3.0, "order": [0.0, 2.0, 1.0], "share": 2.0, "free": 0.0} | change
    layout = layout_of(Kept)
    assert layout.broken_rule(values, 3) == rule
    many = {name: np.array([value, value]) for name, value in values.items()}
    assert layout.broken_rule(many, 3) == rule, "and of many games at once"


@kernel
def choose(params, state, announced, streams, block):
    state.n[0] += 1.0
    block.arm[0], block.rounds[0], block.probability[0] = state.n[0] % params.period, 1.0, 1.0


@kernel
def observe(params, state, block, totals, rounds):
    state.share[0] = 1.0


class Turns(NamedTuple):
    period: float


class TurnsBlock(NamedTuple):
    arm: Scalar
    rounds: Scalar
    probability: Scalar


@dataclass(frozen=True)
class TakesTurns(hf.Policy):
    """A user-defined policy with ranges of its own and no rule beyond them."""

    id: ClassVar[str] = "turns"
    kernels: ClassVar[Kernels] = Kernels(choose, observe, Kept, TurnsBlock, params=Turns)

    def parameters(self):
        return Turns(float(self.n_arms))

    def probabilities(self, params, state, block):
        return np.eye(self.n_arms)[int(block.arm[0])]


@pytest.mark.parametrize(("name", "value"), [("share", 3.0), ("n", 1.5), ("order", [0.0, 7.0]), ("share", -1.0)])
def test_a_saved_number_out_of_its_range_is_refused(name, value):
    player = TakesTurns(2).player(seed=1)
    player.ask()
    player.tell(0.5)
    saved = player.save()
    assert hf.Player.load(saved, policy=TakesTurns(2)).save() == saved
    with pytest.raises(hf.BadSavedState, match=f"state: {name} must be"):
        hf.Player.load(resigned(saved, lambda content: content["state"].update({name: value})), policy=TakesTurns(2))
