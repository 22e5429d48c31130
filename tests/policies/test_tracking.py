"""TrackingSwitch: how soon it follows a change, what it costs where nothing changes, and losses that come late."""

from typing import Any

import naive_tracking
import numpy as np
import pytest
from kernel_game import KernelGame

import holdfast as hf
from holdfast.kernels import COMPILED
from holdfast.players.game import Game

LAM = 0.3
LEVELS = (0.25, 0.4, 0.55)
GAMES = 20

needs_machine_code = pytest.mark.skipif(not COMPILED, reason="long games")


def noisy(means: np.ndarray, seed: int) -> np.ndarray:
    """Losses around means, with noise 0.1."""
    return np.clip(means + 0.1 * np.random.default_rng(seed).standard_normal(means.shape), 0.0, 1.0)


def steady_then(arm: int, level: float, after: int, steady: int = 5000) -> np.ndarray:
    """Means of three arms, one of which goes to another level."""
    means = np.tile(LEVELS, (steady + after, 1))
    means[steady:, arm] = level
    return means


def play(policy: hf.Policy, losses: np.ndarray, seed: int = 0) -> np.ndarray:
    """The arms, each loss being known before the next round."""
    game, arms = Game(policy, seed=seed), np.empty(len(losses), dtype=int)
    for t, row in enumerate(losses):
        arms[t], rounds = game.begin()
        assert rounds == 1
        game.observe(game.block, float(row[arms[t]]), 1.0)
    return arms


@needs_machine_code
def test_an_arm_that_becomes_worse_is_left_soon():
    policy, left = hf.TrackingSwitch(3, switching_cost=LAM), []
    for seed in range(GAMES):
        arms = play(policy, noisy(steady_then(0, 0.85, 400), seed), seed)
        assert np.mean(arms[4000:5000] == 0) > 0.9
        left.append(int(np.argmax(arms[5000:] != 0)) if (arms[5000:] != 0).any() else 400)
        assert np.mean(arms[5100:] == 0) < 0.1
    assert np.median(left) <= 60


@needs_machine_code
def test_notice_says_how_soon_a_better_arm_is_found():
    policy, found = hf.TrackingSwitch(3, switching_cost=LAM, notice=60), []
    for seed in range(GAMES):
        after = play(policy, noisy(steady_then(2, 0.05, 400), seed), seed)[5000:]
        often = np.convolve(after == 2, np.ones(20), "valid") >= 16
        found.append(int(np.argmax(often)) if often.any() else 400)
    assert max(found) <= 150


@needs_machine_code
def test_it_holds_where_nothing_changes():
    policy = hf.TrackingSwitch(3, switching_cost=LAM)
    for seed in range(GAMES):
        arms = play(policy, noisy(np.tile(LEVELS, (5000, 1)), seed), seed)
        assert np.count_nonzero(np.diff(arms)) <= 60
        assert np.mean(arms == 0) > 0.95


@needs_machine_code
@pytest.mark.parametrize(
    ("gap", "cost", "mean", "worst"), [(0.05, 1.0, 1200, 2500), (0.2, 0.025, 260, 600)], ids=["hard", "easy"]
)
def test_common_jumps_do_not_hold_it_on_a_worse_arm(gap, cost, mean, worst):
    """A rule that takes them for jumps of the arm looked at costs 1,579 and 333 in the mean, up to 5,500 in a game."""
    rule = hf.TrackingSwitch(8, switching_cost=cost, guarded=False)
    world = hf.ConstrainedBernoulli(8, gap)
    result = hf.simulate(
        [rule], world, horizon=100_000, switching_cost=cost, replications=64, seed=2, checkpoints=1, progress=False
    )
    costs = result.frame["regret_with_switching"]
    assert costs.mean() < mean
    assert costs.max() < worst


@pytest.mark.plain
def test_nothing_is_looked_for_while_nothing_is_lost():
    losses = np.tile([0.0, 0.2, 0.6], (4000, 1))
    for seed in range(2):
        for least, looked_at in ((0.0, {0}), (0.05, {0, 1, 2})):
            rule = hf.TrackingSwitch(3, switching_cost=0.01, guarded=False)
            assert set(play(rule, np.maximum(losses, least), seed)[200:]) == looked_at


@pytest.mark.plain
def test_the_first_arm_is_drawn_and_no_other():
    policy, first = hf.TrackingSwitch(3, switching_cost=LAM, guarded=False), set()
    for seed in range(20):
        player = policy.player(seed=seed)
        first.add(player.ask())
        assert player.probability == pytest.approx(1 / 3)
        assert player.probabilities == pytest.approx([1 / 3] * 3)
        player.tell(0.5)
        player.ask()
        assert player.probability == 1.0
    assert first == {0, 1, 2}


@pytest.mark.plain
@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_late_and_missing_losses_against_the_naive_twin(lost):
    """Up to thirty rounds open, told in any order, some never: level, doubt and everything else as the twin's."""
    rng = np.random.default_rng(7)
    game, twin = KernelGame(hf.TrackingSwitch(4, switching_cost=LAM, guarded=False)), naive_tracking.Tracking(4, LAM)
    waiting: list[Any] = []
    for t in range(3000 if COMPILED else 800):
        arm, rounds = game.choose()
        first = (arm + 0.5) / 4
        assert (arm, rounds) == twin.choose(first)
        loss = float(rng.random() < 0.2 + 0.15 * ((arm + t // 500) % 4))
        if rng.random() >= lost:
            waiting.append((loss, game.kept_block(), twin.block()))
        while waiting and (len(waiting) > 30 or rng.random() < 0.3):
            loss, block, other = waiting.pop(int(rng.integers(len(waiting))))
            game.observe(loss, 1, block)
            twin.observe(loss, 1, other)
        assert game.state.level == pytest.approx([known.x for known in twin.arms], abs=1e-9)
        assert game.state.changed == pytest.approx([known.p for known in twin.arms], abs=1e-9)
        assert game.state.pile == pytest.approx([known.pile for known in twin.arms], rel=1e-9, abs=1e-9)
        assert game.state.memory[0] == pytest.approx(twin.memory)


def late(losses: np.ndarray, delay: int, seed: int) -> tuple[np.ndarray, Any]:
    """The arms when each loss comes `delay` rounds late, and the game."""
    game = Game(hf.TrackingSwitch(3, switching_cost=LAM), seed=seed)
    arms, waiting = [], []
    for row in losses:
        arm, _ = game.begin()
        arms.append(arm)
        waiting.append((game.block.copy(), float(row[arm])))
        if len(waiting) > delay:
            block, loss = waiting.pop(0)
            game.observe(block, loss, 1.0)
    return np.array(arms), game


@needs_machine_code
def test_losses_that_come_fifty_rounds_late_delay_but_do_not_mislead():
    left = []
    for seed in range(GAMES):
        arms, _ = late(noisy(steady_then(0, 0.85, 600), seed), 50, seed)
        assert np.mean(arms[4000:5000] == 0) > 0.9
        left.append(int(np.argmax(arms[5000:] != 0)))
        assert np.mean(arms[5300:] == 0) < 0.2
    assert 50 <= np.median(left) <= 110


@pytest.mark.plain
def test_a_loss_of_an_arm_that_was_left_moves_its_level_alone():
    game = KernelGame(hf.TrackingSwitch(2, switching_cost=0.0, guarded=False))
    kept, n = [], 0
    while len({int(block[0]) for block in kept}) < 2:
        game.choose()
        kept.append(game.kept_block())
        n += 1
        assert n < 1000
    left, now = int(kept[0][0]), int(kept[-1][0])
    before = game.game.saved_state()
    game.observe(0.9, 1, kept[0])
    after = game.game.saved_state()
    assert after["level"][left] > before["level"][left]
    assert after["level"][now] == before["level"][now]
    for name in ("arm", "visit", "stay", "heard", "seen", "memory", "score", "short", "long", "pile"):
        assert after[name] == before[name], name


@pytest.mark.plain
def test_arms_come_and_go():
    router = hf.open("memory:", "g", hf.TrackingSwitch(arms=["a", "b", "c"], switching_cost=0.1), seed=1)
    cost = {"a": 0.2, "b": 0.5, "c": 0.7, "d": 0.1}
    seen: list[str] = []

    def rounds(count: int) -> None:
        for _ in range(count):
            decision = router.ask()
            seen.append(str(decision.arm))
            router.tell(decision.id, cost[str(decision.arm)])

    rounds(200)
    assert seen[-50:].count("a") > 40
    router.change(add_arms=["d"], reason="new")
    rounds(200)
    assert seen[-50:].count("d") > 40
    while seen[-1] != "d":
        rounds(1)
    router.change(retire_arms=["d"], reason="gone")
    rounds(50)
    assert seen[-50] == "a"
    assert seen[-50:].count("a") > 40


@pytest.mark.plain
def test_where_the_arm_in_use_is_gone_the_best_of_the_others_begins_a_visit():
    """Of what was under way before nothing is left."""
    policy = hf.TrackingSwitch(3, switching_cost=0.1, guarded=False)
    game = Game(policy, seed=1)
    for _ in range(100):
        arm, _ = game.begin()
        game.observe(game.block, (0.1, 0.6, 0.4)[arm], 1.0)
    under_way = {name: [3.0, 4.0, 5.0] for name in ("evidence", "pile", "age", "fresh")}
    known = {"level": [0.1, 0.6, 0.4], "changed": [0.0] * 3, "looking": 1.0, "seen": 2.0}
    state = {**game.saved_state(), **under_way, **known}
    assert state["arm"] == 0.0
    after = policy.carried_over(state, [1, 2])
    assert (after["arm"], after["visit"]) == (1.0, state["visit"] + 1)
    assert [after[name] for name in under_way] == [[4.0, 0.0]] * 3 + [[4.0, 1.0]]
    assert [after[name] for name in ("stay", "heard", "seen", "hold", "looking")] == [0.0] * 5
    assert after["anew"][1] == after["mean"][1]
    assert after["short"] == after["long"] == after["level"][1]


@pytest.mark.plain
def test_an_arm_that_is_not_available_is_replaced_by_the_best_of_the_others():
    player = hf.TrackingSwitch(3, switching_cost=0.1).player(seed=1)
    for _ in range(200):
        player.tell((0.2, 0.5, 0.8)[player.ask()])
    assert player.ask(available=[1, 2]) == 1


@pytest.mark.plain
@pytest.mark.parametrize("notice", [0, -3, 2.5, "often", True])
def test_notice_is_a_number_of_rounds(notice):
    with pytest.raises(hf.InvalidParameter, match="notice"):
        hf.TrackingSwitch(3, switching_cost=0.1, notice=notice)


@pytest.mark.plain
def test_a_cost_is_a_number_or_announced():
    with pytest.raises(hf.InvalidParameter, match="switching_cost"):
        hf.TrackingSwitch(3, switching_cost="told")
