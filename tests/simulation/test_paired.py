"""Paired games: every policy meets the same losses, of the same distribution as other games."""

from dataclasses import replace

import naive_pairs
import numpy as np
import pytest

import holdfast as hf
from holdfast.kernels import COMPILED
from holdfast.numerics.random import started, stream_key
from holdfast.simulation.costs import Costs
from holdfast.simulation.game import compose_by_round
from holdfast.simulation.tasks import WORTH_ALL_LANES, Task, run_task

pytestmark = pytest.mark.plain


class ByRound(hf.Bernoulli):
    """An environment without a kernel for paired games."""

    paired_kernel = None


BY_ROUND = ByRound([0.2, 0.5, 0.7])


def streams(replication=3, seed=7):
    """The two streams of an environment in a game, the second not begun."""
    return np.concatenate([started(stream_key(seed, "environment"), replication), np.zeros(4, np.uint64)]).reshape(
        -1, 1
    )


def drawn(world, total, arm, start, stop, given):
    found = np.zeros(1)
    total(world.tables, np.array([float(arm)]), float(start), float(stop), given, found)
    return found[0]


@pytest.mark.parametrize("p", [0.0, 0.5, 0.45, 0.1, 2.0**-53, 1.0 - 2.0**-53, 1.0])
def test_a_block_counts_the_losses_of_its_rounds(p):
    """Whatever the rounds are cut into; and the stream stays where it is."""
    world, given = hf.Bernoulli([0.25, p]), streams()
    key = int(given[0, 0]), int(given[1, 0])
    losses = [naive_pairs.loss(key, 1, p, t) for t in range(200)]
    for start, stop in [(0, 1), (0, 64), (63, 65), (5, 28), (64, 192), (10, 200), (7, 7)]:
        assert drawn(world, world.paired_kernel, 1, start, stop, given) == sum(losses[start:stop])
    assert np.array_equal(given, streams())


def test_an_environment_without_a_kernel_of_its_own_draws_each_round_by_itself():
    world, given = BY_ROUND, streams()
    total = compose_by_round(world.total_kernel)
    rounds = [drawn(world, total, 1, t, t + 1, given) for t in range(40)]
    assert 0 < sum(rounds) < 40
    assert drawn(world, total, 1, 3, 31, given) == sum(rounds[3:31])
    assert np.array_equal(given[:4], streams()[:4])


@pytest.mark.slow
@pytest.mark.parametrize("world", [hf.Bernoulli([0.2, 0.5, 0.5], shuffled=True), BY_ROUND], ids=["own", "by round"])
def test_paired_games_are_the_same_side_by_side_and_alone(world):
    horizon = 400 if COMPILED else 40
    task = Task("exp3", hf.Exp3(3), world, horizon, Costs.of(0.5), (7, horizon), 5, 2, WORTH_ALL_LANES + 2, paired=True)
    together = run_task(task)
    for i in (0, 5, task.count - 1):
        alone = run_task(replace(task, first=task.first + i, count=1))
        assert np.array_equal(alone.excess[0], together.excess[i])
        assert np.array_equal(alone.switches[0], together.switches[i])
    unpaired = run_task(replace(task, paired=False))
    assert not np.array_equal(unpaired.excess, together.excess)


def test_policies_that_do_the_same_meet_the_same_losses_whatever_their_blocks():
    """UCB1 that looks every round, and the same behind another name: unpaired they share a stream too."""
    policies = {"a": hf.Ucb1(3, cooldown=5), "b": hf.Ucb1(3, cooldown=5)}
    how = {"horizon": 60, "switching_cost": 0.1, "replications": 3, "progress": False, "paired": True}
    result = hf.simulate(policies, hf.Bernoulli([0.2, 0.5, 0.5]), **how)
    frames = [result.frame.filter(result.frame["policy"] == name).drop("policy") for name in policies]
    assert frames[0].equals(frames[1])
    assert result.provenance["paired"] is True


def test_worlds_that_draw_their_path_are_not_paired():
    with pytest.raises(hf.InvalidParameter, match=r"paired cannot be True where each game draws a path"):
        hf.simulate(hf.Exp3(2), hf.RandomChanges(2), horizon=9, switching_cost=0, paired=True)
    with pytest.raises(hf.InvalidParameter, match=r"paired must be True or False; got 'yes'"):
        hf.simulate(hf.Exp3(2), hf.Bernoulli([0.1, 0.2]), horizon=9, switching_cost=0, paired="yes")
