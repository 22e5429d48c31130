"""Parameters and state by name: no place has two meanings, several under one name, ranges, wrong declarations."""

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar, NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from every_policy import EVERY
from hypothesis import given

import holdfast as hf
from holdfast.kernels import Array, Kernels, PerArm, Scalar, ScratchPerArm, kernel, several
from holdfast.numerics.layout import ArmIndex, Range, Whole, layout_of, params_layout_of
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


def loss_of(t: int, arm: int) -> float:
    return (3 * t + 5 * arm) % 8 / 8


class RingState(NamedTuple):
    """The last losses: three of all arms, and a number of each arm that the policy says."""

    ring: several(PerArm, "window")  # type: ignore[valid-type]
    n: Scalar
    last: several(Scalar, 3)  # type: ignore[valid-type]
    times: several(Scalar, "window")  # type: ignore[valid-type]
    sums: ScratchPerArm


class RingBlock(NamedTuple):
    arm: Scalar
    rounds: Scalar
    probability: Scalar
    number: Scalar


class RingParams(NamedTuple):
    sizes: Array


@kernel
def choose_by_ring(params, state, announced, streams, block):
    """The arm whose last losses are least, of several the first."""
    K, arm = state.sums.shape[0], 0
    for i in range(K):
        state.sums[i, 0] = 0.0
        for j in range(state.ring.shape[0] // K):
            state.sums[i, 0] += state.ring[j * K + i, 0]
        arm = i if state.sums[i, 0] < state.sums[arm, 0] else arm
    state.n[0] += 1.0
    block.arm[0], block.rounds[0], block.probability[0], block.number[0] = arm, 1.0, 1.0, state.n[0]


@kernel
def observe_in_ring(params, state, block, totals, rounds):
    K, arm, window = state.sums.shape[0], int(block.arm[0]), state.times.shape[0]
    for j in range(window - 1, 0, -1):
        state.ring[j * K + arm, 0] = state.ring[(j - 1) * K + arm, 0]
        state.times[j, 0] = state.times[j - 1, 0]
    state.ring[arm, 0], state.times[0, 0] = totals[0], block.number[0]
    state.last[2, 0], state.last[1, 0], state.last[0, 0] = state.last[1, 0], state.last[0, 0], totals[0]


@dataclass(frozen=True)
class RingPolicy(hf.Policy):
    id: ClassVar[str] = "ring"
    kernels: ClassVar[Kernels] = Kernels(choose_by_ring, observe_in_ring, RingState, RingBlock, params=RingParams)
    window: int = 2

    @property
    def state_layout(self):
        return self.kernels.state_layout.of_size({"window": self.window})

    def parameters(self):
        return RingParams(np.array([self.window]))

    def probabilities(self, params, state, block):
        return np.eye(self.n_arms)[int(block.arm[0])]


def rings_of(window, rounds):
    """The same in plain lists: arms, and the numbers at the end."""
    ring, last, times, arms = [[0.0] * window for _ in range(3)], [0.0] * 3, [0.0] * window, []
    for t in range(rounds):
        arms.append(min(range(3), key=lambda i: sum(ring[i])))
        loss = loss_of(t, arms[-1])
        ring[arms[-1]] = [loss, *ring[arms[-1]][:-1]]
        last, times = [loss, *last[:-1]], [t + 1.0, *times[:-1]]
    by_age = [ring[i][j] for j in range(window) for i in range(3)]
    return arms, {"ring": by_age, "n": float(rounds), "last": last, "times": times}


@pytest.mark.parametrize("window", [1, 2, 5])
def test_several_numbers_under_one_name(window):
    policy = RingPolicy(3, window=window)
    arms, state = rings_of(window, 40)
    player = policy.player(seed=1)
    for t, arm in enumerate(arms):
        assert player.ask() == arm
        player.tell(loss_of(t, arm))
        if t == 20:
            player = hf.Player.load(player.save(), policy=policy)
    assert json.loads(player.save())["player"]["state"] == state


def test_several_numbers_in_a_fleet(tmp_path):
    """Two sizes of one machine code, saved and loaded in the middle."""
    for window in (2, 5):
        policy = RingPolicy(3, window=window)
        arms, state = rings_of(window, 20)
        fleet = hf.Fleet(policy, 4, seed=1)
        for t, arm in enumerate(arms):
            assert fleet.ask().arms.tolist() == [arm] * 4
            fleet.tell(np.full(4, loss_of(t, arm)))
            if t == 10:
                fleet.save(tmp_path / "fleet.npz")
                fleet = hf.Fleet.load(tmp_path / "fleet.npz", policy=policy)
        fleet.save(tmp_path / "fleet.npz")
        with np.load(tmp_path / "fleet.npz") as saved:
            assert {name: saved[f"state/{name}"][2].tolist() for name in state} == state


def test_arms_are_counted_in_several_numbers_for_each():
    """The state of three arms is not that of two."""
    for policy in (RingPolicy(2), RingPolicy(2, window=5)):
        _, state = rings_of(policy.window, 4)
        with pytest.raises(hf.InvalidParameter, match="arms cannot be added to a game of ring, nor retired"):
            policy.carried_over(state, [0, 1])
    assert RingPolicy(3).carried_over(rings_of(2, 4)[1], [0, 1, 2]) == rings_of(2, 4)[1]


def test_a_size_that_nobody_gives_is_named():
    class Forgetful(RingPolicy):
        state_layout = hf.Policy.state_layout

    with pytest.raises(TypeError, match="RingState leaves the size 'window' open: say it in state_layout"):
        Forgetful(3).player()


@pytest.mark.slow
def test_several_numbers_are_simulated_as_they_are_played():
    rounds = 60
    losses = np.array([[loss_of(t, arm) for arm in range(3)] for t in range(rounds)])
    for window in (1, 5):
        arms, _ = rings_of(window, rounds)
        result = hf.simulate(
            RingPolicy(3, window=window), hf.LossTable(losses), switching_cost=1.0, replications=2, seed=4
        )
        switches = 1 + sum(a != b for a, b in pairwise(arms))
        assert result.frame.filter(round=rounds)["switches"].to_list() == [switches] * 2


class Worded(NamedTuple):
    order: str


class Loose(NamedTuple):
    C: PerArm
    n: float


class Backwards(NamedTuple):
    rounds: Scalar
    arm: Scalar
    probability: Scalar


class WithVector(NamedTuple):
    arm: Scalar
    rounds: Scalar
    probability: Scalar
    w: PerArm


@pytest.mark.parametrize(
    ("part", "declared", "rule"),
    [
        *[("state", record, "must be declared as a NamedTuple") for record in (dict, tuple, 7, None)],
        ("state", Loose, "Loose.n must be annotated as Scalar, PerArm, Scratch or ScratchPerArm"),
        *[("block", record, "must begin with arm, rounds and probability") for record in (Backwards, WithVector)],
        ("params", Worded, "Worded.order must be annotated as float or Array; got <class 'str'>"),
    ],
)
def test_what_is_no_declaration_is_refused(part, declared, rule):
    with pytest.raises(TypeError, match=rule):
        getattr(RingPolicy.kernels._replace(**{part: declared}), f"{part}_layout")


def test_a_name_costs_no_memory_that_is_not_declared():
    layout = RingPolicy.kernels.block_layout
    assert (layout.n_numbers, layout.n_vectors) == (4, 0)
