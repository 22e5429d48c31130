"""Games side by side: the same bits as one by one, on any processor; whose kernels are played, and by which rules."""

import math
import os
import platform
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import holdfast as hf
from holdfast.errors import HoldfastError
from holdfast.kernels import COMPILED, Kernels, kernel
from holdfast.simulation.backends import PIECES_PER_WORKER, split
from holdfast.simulation.costs import Costs, Power
from holdfast.simulation.game import SIDE_BY_SIDE
from holdfast.simulation.tasks import WORTH_ALL_LANES, Task, run_task

pytestmark = pytest.mark.plain


def side_by_side_task(policy: hf.Policy, environment: hf.Environment, horizon: int, costs: Costs, count: int) -> Task:
    marks = (1, horizon // 3, horizon)
    return Task(policy.label, policy, environment, horizon, costs, marks, seed=5, first=3, count=count)


@pytest.mark.parametrize(
    ("policy", "means", "costs"),
    [
        (hf.TsallisSwitch(8, switching_cost=1.0), [0.45] + [0.5] * 7, Costs.of(1.0)),
        (hf.TsallisSwitch(3, switching_cost=900.0), [0.2, 0.5, 1.0], Costs.of(900.0)),  # beyond the binomial tables
        (hf.TsallisSwitch(12, switching_cost=0.5), np.linspace(0.1, 0.9, 12).tolist(), Costs.of(0.5)),  # more means
        (hf.VaryingTsallisSwitch(4), [0.0, 0.3, 1.0, 0.3], Costs.of(Power(0.5))),  # λ_n tabulated further on the way
        (hf.TsallisInf(20), [0.4] + [0.5] * 19, Costs.of(0.0)),
        (hf.TsallisInf(5, estimator="reduced-variance"), [0.2] + [0.6] * 4, Costs.of(0.0)),
        (hf.Exp3(1), [0.5], Costs.of(0.0)),
        (hf.Exp3(6), [0.0] + [1.0] * 5, Costs.of(0.0)),  # weights that vanish
        (hf.BlockExp3(8, switching_cost=2.0, horizon=4000), [0.3] * 8, Costs.of(2.0)),
        (hf.BaSE(4, horizon=4000, order="random"), [0.1, 0.2, 0.3, 0.4], Costs.of(0.1)),
    ],
    ids=lambda value: value.label if isinstance(value, hf.Policy) else None,
)
def test_games_side_by_side_are_the_games_one_by_one(policy, means, costs):
    """A row with idle columns, and the same replications alone: the very same bits at every checkpoint."""
    horizon = 4000 if COMPILED else 60
    environment = hf.Bernoulli(means, shuffled=True)
    count = WORTH_ALL_LANES + 2
    row = side_by_side_task(policy, environment, horizon, costs, count)
    if policy.kernels.side_by_side:
        assert row.lanes() == [(count, SIDE_BY_SIDE)]
    together = run_task(row)
    alone = [run_task(replace(row, first=row.first + i, count=1)) for i in range(count)]
    for measure in ("excess", "switches", "paid"):
        one_by_one = np.concatenate([getattr(one, measure) for one in alone])
        np.testing.assert_array_equal(getattr(together, measure), one_by_one)
    blocks = [one.blocks for one in alone]
    assert together.blocks == sum(blocks)


@kernel
def always_the_last(params, state, announced, streams, block):
    block.arm[0], block.rounds[0], block.probability[0] = state.C.shape[0] - 1, 2.0, 1.0


@kernel
def learn_nothing(params, state, block, totals, rounds):
    pass


EXP3 = hf.Exp3(3).kernels


@pytest.mark.slow
def test_a_policy_with_a_kernel_of_its_own_is_played_by_it():
    """And side by side only where it says so itself."""

    class Forgetful(hf.Exp3):
        kernels = EXP3._replace(observe=learn_nothing)

    class Stubborn(hf.Exp3):
        kernels = EXP3._replace(choose=always_the_last, observe=learn_nothing, side_by_side=False)

    assert hf.Exp3(3).kernels.side_by_side
    assert not Stubborn(3).kernels.side_by_side
    settings = {"switching_cost": 1.0, "replications": 40, "seed": 3}
    result = hf.simulate(Stubborn(3), hf.Bernoulli([0.1, 0.2, 0.4]), horizon=9, **settings)
    assert result.frame.filter(round=9)["pseudo_regret"].to_list() == pytest.approx([9 * (0.4 - 0.1)] * 40)
    assert (result.frame["switches"] == 1).all()
    assert Stubborn(3).player(seed=0).ask() == 2
    world = hf.Bernoulli([0.0, 1.0, 1.0])
    found = [hf.simulate(policy, world, horizon=400, **settings).frame for policy in (hf.Exp3(3), Forgetful(3))]
    learning, forgetful = (frame["pseudo_regret"].max() for frame in found)
    assert learning < forgetful / 2


class Told(NamedTuple):
    arm: float
    rounds: float


@kernel
def choose_as_told(params, state, announced, streams, block):
    block.arm[0], block.rounds[0], block.probability[0] = params.arm, params.rounds, 1.0


@dataclass(frozen=True)
class AsTold(hf.Exp3):
    """A policy whose kernel names whatever it is told to."""

    kernels = Kernels(choose_as_told, learn_nothing, EXP3.state, EXP3.block, params=Told)
    told: tuple[float, float] = (0.0, 1.0)

    def parameters(self):
        return Told(*self.told)


AGAINST_THE_RULES = [(arm, 1.0) for arm in (5.0, 2.0, -1.0, 0.5, math.nan)]
AGAINST_THE_RULES += [(0.0, rounds) for rounds in (0.0, 2.5, -3.0, math.nan, math.inf)]


@pytest.mark.parametrize("told", AGAINST_THE_RULES)
def test_a_kernel_against_the_rules_ends_in_an_error(told):
    """In a simulation and in a player: never an arm that there is not, nor memory that is nobody's."""
    policy = AsTold(2, told=told)
    rule = r"exp3 must choose an arm from 0 to 1 and a whole number of rounds, at"
    with pytest.raises(HoldfastError, match=rule):
        hf.simulate(policy, hf.Bernoulli([0.1, 0.2]), horizon=9, switching_cost=1.0, replications=3)
    with pytest.raises(HoldfastError, match=rule):
        policy.player(seed=1).ask()


ELSEWHERE = """
import hashlib
import holdfast as hf

digest = hashlib.sha256()
for policy in (hf.TsallisSwitch(8, switching_cost=1.0), hf.Exp3(8)):
    result = hf.simulate(policy, hf.Bernoulli.with_gap(8, 0.05), horizon=5000, switching_cost=1.0, replications=33)
    for column in ("pseudo_regret", "switches"):
        digest.update(result.frame[column].to_numpy().tobytes())
print(digest.hexdigest())
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64") or not COMPILED, reason="code of x86-64")
def test_the_same_bits_on_an_older_processor():
    """Compiled for one of 2008: vector registers of two numbers, no fused multiply-add."""
    older = {"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": ""}  # its code is kept apart
    said = []
    for environment in (os.environ, {**os.environ, **older}):
        run = subprocess.run([sys.executable, "-c", ELSEWHERE], env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        said.append(run.stdout)
    assert said[0] == said[1]


@pytest.mark.slow
@given(st.integers(1, 5000), st.integers(1, 40), st.sampled_from([hf.Exp3(2), hf.BaSE(2, horizon=10), hf.Exp3(40_000)]))
def test_every_replication_is_in_one_piece_and_one_row(count, workers, policy):
    environment = hf.Bernoulli([0.5] * policy.n_arms)
    task = replace(side_by_side_task(policy, environment, 10, Costs.of(0.0), count), first=7)
    pieces = list(split(task, workers))
    assert [piece.first for piece in pieces] == list(7 + np.cumsum([0, *(piece.count for piece in pieces[:-1])]))
    assert sum(piece.count for piece in pieces) == count
    assert min(workers, count) <= len(pieces) <= workers * PIECES_PER_WORKER
    for piece in pieces:
        assert sum(n for n, _ in piece.lanes()) == piece.count
        assert {width for _, width in piece.lanes()} <= {1, task.width}
