"""A guarded rule against its naive twin; what it does to bad rules, and to late and missing losses."""

import json
import pickle
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import naive_adaptive
import naive_guarded
import naive_tracking
import numpy as np
import pytest
from kernel_game import KernelGame, stream_of

import holdfast as hf
from holdfast.bounds import own
from holdfast.decisions.status import why
from holdfast.kernels import COMPILED, Kernels, Scalar, kernel
from holdfast.numerics.random import uniform
from holdfast.players.saves import check_sum
from holdfast.policies.policy import PlainBlock, Policy

needs_machine_code = pytest.mark.skipif(not COMPILED, reason="long games")


def two_uniforms(game: KernelGame) -> tuple[float, float]:
    """The next two numbers of its stream."""
    stream = game.game.stream.copy()
    return uniform(stream), uniform(stream)


def twins(K: int, lam: float | None, rule: str) -> tuple[KernelGame, naive_guarded.Guarded]:
    """A guarded rule and its naive twin."""
    cost: Any = "announced" if lam is None else lam
    policy: Policy
    other: Any
    if rule == "told":
        policy, other = hf.Guarded(n_arms=K, switching_cost=cost), naive_guarded.Announced()
    else:
        policy, other = hf.TrackingSwitch(K, switching_cost=cost), naive_tracking.Tracking(K, lam)
    return KernelGame(policy), naive_guarded.Guarded(K, lam, other, naive_adaptive.Adaptive(K, lam))


def choose_alike(game: KernelGame, twin: naive_guarded.Guarded, announced: float | None, drawn_first: bool) -> Any:
    """The same arm for the same rounds, drawn with the same probabilities."""
    first, second = two_uniforms(game)
    found = game.choose(announced)
    mine = twin.choose(first, second if drawn_first else first, announced)
    assert found == mine
    assert game.p == pytest.approx(twin.p, rel=1e-6)
    assert game.block.probability[0] == pytest.approx(twin.p[found[0]], rel=1e-6)
    return found


def assert_alike(game: KernelGame, twin: naive_guarded.Guarded) -> None:
    """All that the guard knows."""
    state = game.state
    assert state.baseline == pytest.approx(twin.means, abs=1e-9)
    assert (state.looks[0], state.taken[0], bool(state.acting[0])) == (twin.looks, twin.taken, twin.account is None)
    if twin.account is not None:
        assert state.account == pytest.approx(twin.account.excess, rel=1e-6, abs=1e-6)


@pytest.mark.slow
@pytest.mark.plain
@pytest.mark.parametrize(
    ("rule", "K", "lam"), [("told", 2, 0.0), ("told", 3, 0.4), ("tracking", 4, 0.3), ("tracking", 3, None)]
)
def test_it_plays_the_naive_arms(rule, K, lam):
    """Single rounds in order, taken over and given back where the rule that is told plays the worst arm."""
    game, twin = twins(K, lam, rule)
    rng = np.random.default_rng(5)
    t = n = 0
    while t < (3000 if rule == "told" else 1000):
        begun, n = twin.t > 0, n + 1
        announced = 0.0 if rule == "told" else None if lam is not None else (0.0, 2.5, 0.4)[n % 3]
        arm, rounds = choose_alike(game, twin, announced, rule == "tracking" and not begun)
        loss = float((rng.random(rounds) < (0.95 if arm == 0 else 0.1 + 0.1 * arm)).sum())
        game.observe(loss, rounds)
        twin.observe(loss, rounds)
        assert_alike(game, twin)
        t += rounds
    assert twin.looks > 0 or rule == "tracking"
    assert twin.taken >= (rule == "told")


@pytest.mark.slow
@pytest.mark.plain
@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_late_and_missing_losses_against_the_naive_twin(lost):
    """Up to twenty rounds open, told in any order, some never."""
    game, twin = twins(3, 0.4, "told")
    rng = np.random.default_rng(7)
    waiting: list[Any] = []
    for _ in range(1500 if COMPILED else 800):
        arm, rounds = choose_alike(game, twin, float(rng.integers(3)), False)
        loss = float((rng.random(rounds) < 0.2 + 0.2 * arm).sum())
        if rng.random() >= lost:
            waiting.append((loss, rounds, game.kept_block(), twin.block()))
        while waiting and (len(waiting) > 20 or rng.random() < 0.3):
            loss, rounds, block, other = waiting.pop(int(rng.integers(len(waiting))))
            game.observe(loss, rounds, block)
            twin.observe(loss, rounds, other)
        assert_alike(game, twin)


def limit(K: int, lam: float, s: float) -> float:
    """Theorem 1's bound."""
    return hf.bounds.theorem_1(n_arms=K, switching_cost=lam, horizon=max(s, 1)) if s else 0.0


def after_some_rounds(K: int, lam: float, rounds: int, seed: int) -> KernelGame:
    """A game with the rule that is told, begun with random losses."""
    game, rng = KernelGame(hf.Guarded(n_arms=K, switching_cost=lam), seed=seed), np.random.default_rng(seed)
    for _ in range(rounds):
        arm, _ = game.choose(float(rng.integers(K)))
        game.observe(float(rng.random() < 0.2 + 0.6 * arm / K), 1)
    return game


@pytest.mark.plain
@pytest.mark.parametrize("seed", range(20))
def test_lemma_I1_accounts_are_unbiased_and_no_step_leaves_the_limit_far_behind(seed):
    """All arms that may be drawn, each with its probability: exact means; and the highest account after a step."""
    rng = np.random.default_rng(seed)
    K, lam = int(rng.integers(2, 6)), float(rng.choice([0.0, 0.3, 2.0]))
    game = after_some_rounds(K, lam, int(rng.integers(1, 60)), seed)
    s = float(game.state.s[0])
    game.state.account[:] = limit(K, lam, s) - rng.choice([0.001, 0.5, 3.0, 50.0, 500.0], K)
    rule, before, last = float(rng.integers(K)), game.state.account.copy(), int(game.state.last[0]) - 1
    for losses in (rng.random(K), np.zeros(K), np.ones(K), (rng.random(K) < 0.5).astype(float)):
        ahead = game.copy()
        ahead.choose(rule)
        assert ahead.state.acting[0] == 0.0
        mean, paid = np.zeros(K), 0.0
        for arm in range(K):
            other = drawn(game, ahead, arm, rule)
            other.observe(losses[arm], 1)
            mean += ahead.p[arm] * (other.state.account - before)
            paid += ahead.p[arm] * (losses[arm] + lam * (arm != last))
            assert other.state.account.max() <= limit(K, lam, s + 1) + lam + 1 + 1e-9
        assert mean == pytest.approx(paid - losses, abs=1e-9)
        assert ahead.p.sum() == pytest.approx(1.0)
        assert ahead.p[int(rule)] >= 0.5


def drawn(game: KernelGame, ahead: KernelGame, arm: int, rule: float) -> KernelGame:
    """A copy of the game in which `arm` is drawn: looks lie first, in order, then the rule's arm."""
    K, p = game.policy.n_arms, ahead.p
    order = [i for i in range(K) if i != int(rule)] + [int(rule)]
    below = sum(p[i] for i in order[: order.index(arm)])
    other = game.copy()
    found, _ = other.choose(rule, stream_of(below + 0.5 * float(p[arm])))
    assert found == arm
    return other


@pytest.mark.plain
@pytest.mark.parametrize("seed", range(4))
def test_lemma_I2_optional_stopping(seed):
    """All games of five rounds from a state near the limit: until the guard takes over, or to the end, the mean of an
    account's growth is the mean of what was paid above that arm."""
    K, lam, T = 3, 0.3, 5
    start = after_some_rounds(K, lam, 40, seed)
    rng = np.random.default_rng(seed)
    losses, told = rng.random((T, K)), rng.integers(K, size=T)
    start.state.s[0] = 50_000.0
    start.state.account[:] = limit(K, lam, float(start.state.s[0])) - np.array([0.2, 1.5, 30.0])
    grown, above, stopped = np.zeros(K), np.zeros(K), 0.0

    def play(game: KernelGame, t: int, chance: float, paid: np.ndarray) -> None:
        nonlocal grown, above, stopped
        over = t == T
        if not over:
            ahead = game.copy()
            ahead.choose(float(told[t]))
            over = bool(ahead.state.acting[0])
            stopped += chance * over
        if over:
            grown += chance * (game.state.account - start.state.account)
            above += chance * paid
            return
        for arm in range(K):
            other, last = drawn(game, ahead, arm, float(told[t])), int(game.state.last[0]) - 1
            other.observe(losses[t, arm], 1)
            p = chance * float(ahead.p[arm])
            play(other, t + 1, p, paid + losses[t, arm] + lam * (arm != last) - losses[t])

    play(start, 0, 1.0, np.zeros(K))
    assert grown == pytest.approx(above, abs=1e-9)
    assert stopped > 0.0


@pytest.mark.plain
def test_lemma_I3_phases_that_end_in_different_epochs():
    """Σ s^α over phases is at most G(α)T^α; some come close."""
    rng, closest = np.random.default_rng(1), {2 / 3: 0.0, 1 / 2: 0.0}
    for trial in range(3000):
        ends = [4.0**k for k in range(int(rng.integers(1, 9)))]
        taken = [end for end in ends if rng.random() < 0.8 or trial % 2]
        begun = [0.0, *taken]
        T = begun[-1] * (1 + rng.random()) if taken else 1.0
        for power in closest:
            most = sum((b - a) ** power for a, b in zip(begun, [*taken, T], strict=True))
            share = most / (own._phases(power) * T**power)
            closest[power] = max(closest[power], share)
    assert all(0.98 < share <= 1.0 for share in closest.values())


class Turns(NamedTuple):
    """A rule that plays each arm in turn, or the first for ever."""

    n: Scalar


@kernel
def take_turns(params, state, announced, streams, block):
    state.n[0] += 1.0
    block.arm[0], block.rounds[0], block.probability[0] = state.n[0] % params.every, 1.0, 1.0


class Every(NamedTuple):
    every: float


@kernel
def learn_nothing(params, state, block, totals, rounds):
    state.n[0] += 0.0


@dataclass(frozen=True)
class BadRule(Policy):
    """Switches every round, or plays the first arm."""

    turns: bool = True
    id: ClassVar[str] = "bad-rule"
    kernels: ClassVar[Kernels] = Kernels(take_turns, learn_nothing, Turns, PlainBlock, params=Every)

    def parameters(self) -> Every:
        return Every(float(self.n_arms if self.turns else 1))

    def probabilities(self, params: Any, state: Any, block: Any) -> Any:
        return np.eye(self.n_arms)[int(block.arm[0])]


@pytest.mark.plain
def test_epochs_grow_fourfold_though_the_announced_cost_rises():
    game, ends = KernelGame(hf.TrackingSwitch(2, switching_cost="announced")), [0.0]
    for _ in range(4):
        game.choose(ends[-1] + 5.0)
        assert not game.state.acting[0]
        game.state.account[:] = 1e9
        game.choose(ends[-1] + 5.0)
        assert game.state.acting[0]
        assert game.state.end[0] >= max(4.0 * ends[-1], ends[-1] + 5.0)
        ends.append(float(game.state.end[0]))
        game.state.t[0] = ends[-1]


def close_to_the_limit(policy: hf.Guarded, rounds: int) -> KernelGame:
    """A game in which the second of two arms is looked at if the next uniform is below ½."""
    game = KernelGame(policy)
    for _ in range(rounds):
        game.choose(0.0, stream_of(0.9))
        game.observe(0.5, 1)
    game.state.s[0] = 1000.0
    game.state.account[1] = limit(2, 0.0, 1000.0) - 1.0
    return game


@pytest.mark.plain
def test_a_rule_that_waits_hears_of_a_look_as_of_no_rounds():
    """Else BaSE would play beyond its batch."""
    game = close_to_the_limit(hf.Guarded(hf.BaSE(2, horizon=9, batches=3, order="round-robin"), switching_cost=0.0), 1)
    game.state.rule_share[0] = game.state.rule_turn[0] = 1.0
    game.state.account[:] = limit(2, 0.0, 1000.0) - 1.0
    assert game.choose(0.0, stream_of(0.25))[0] == 0
    assert game.state.looks[0] == 1
    game.observe(0.5, 1)
    assert game.state.rule_turn[0] == -1.0
    assert game.state.rule_played[0] == 1.0


@pytest.mark.plain
def test_a_look_that_cannot_be_made_is_the_rules_round():
    player = hf.Guarded(n_arms=3, switching_cost=0.0).player(seed=1)
    for arm, loss in ((0, 0.5), (1, 0.0), (2, 1.0)) * 20:
        player.ask(rule=arm)
        player.tell(loss)
    looks = player.guard.looks
    while player.guard.looks == looks:
        player.tell(0.5) if player.hold else None
        drawn = player.ask(rule=0)
    assert drawn != 0
    assert player.ask(available=[i for i in range(3) if i != drawn]) == 0
    assert player.probability == pytest.approx(1.0, abs=0.1)


@kernel
def leave_the_arms(params, state, announced, streams, block):
    block.arm[0], block.rounds[0], block.probability[0] = state.n[0] * params.every, 1.0, 1.0
    state.n[0] = 1.0


@dataclass(frozen=True)
class BrokenRule(BadRule):
    """Names an arm that there is not, in its second round."""

    kernels: ClassVar[Kernels] = Kernels(leave_the_arms, learn_nothing, Turns, PlainBlock, params=Every)


@pytest.mark.plain
def test_a_broken_rule_is_refused_and_writes_nowhere():
    game = close_to_the_limit(hf.Guarded(BrokenRule(2), switching_cost=0.0), 1)
    before = game.state.chance.copy(), game.state.base.copy()
    with pytest.raises(hf.HoldfastError, match="must choose an arm from 0 to 1"):
        game.choose(0.0, stream_of(0.25))
    assert np.array_equal((game.state.chance, game.state.base), before)


@pytest.mark.plain
def test_a_player_survives_a_trip_to_another_process():
    for policy in (
        hf.TrackingSwitch(3, switching_cost=0.3),
        hf.Guarded(hf.BlockExp3(3, horizon=9, switching_cost=1.0)),
    ):
        player = policy.player(seed=1)
        player.ask()
        again = pickle.loads(pickle.dumps(player))
        for one in (player, again):
            one.tell(0.25)
            one.ask()
        assert again.save() == player.save()


@needs_machine_code
@pytest.mark.slow
def test_theorem_I_is_not_exceeded_by_bad_rules():
    """Independent losses and levels that turn against the rule: the mean cost of a few games, far below the bound."""
    K, T = 4, 100_000
    turning = hf.PiecewiseConstant([0, 3000, 20_000, 60_000], [[0.1, 0.5, 0.5, 0.5], [1.0, 0.0, 0.5, 0.5]] * 2)
    for lam in (0.0, 1.0):
        for turns in (True, False):
            policy = hf.Guarded(BadRule(K, turns=turns), switching_cost=lam)
            for world in (hf.Bernoulli([0.9, 0.3, 0.5, 0.5]), hf.Bernoulli([0.6, 0.4, 0.6, 0.6]), turning):
                played = hf.simulate(policy, world, horizon=T, switching_cost=lam, replications=4, seed=3)
                cost = float(played.final()["regret_with_switching_mean"][0])
                assert cost < hf.bounds.guarded(n_arms=K, switching_cost=lam, horizon=T)
                assert cost < 1.5 * hf.bounds.theorem_1(n_arms=K, switching_cost=lam, horizon=T)


@pytest.mark.plain
def test_a_function_of_the_rounds_so_far():
    def rule(rounds):
        if len(rounds) < 3:
            return ["a", "b", "c"][len(rounds)]
        return min("abc", key=lambda arm: np.mean([loss for name, loss in rounds if name == arm]))

    policy = hf.Guarded(rule, arms=["a", "b", "c"], switching_cost=0.1)
    player, arms = policy.player(seed=1), []
    for _ in range(60):
        arms.append(player.ask())
        player.tell({"a": 0.5, "b": 0.2, "c": 0.9}[arms[-1]])
    assert arms[:3] == ["a", "b", "c"]
    assert arms.count("b") >= 55
    with pytest.raises(hf.InvalidParameter, match="rule must be one of 'a', 'b', 'c'; got None"):
        hf.Guarded(lambda rounds: None, arms=["a", "b", "c"], switching_cost=0.1).player().ask()
    with pytest.raises(hf.BadSavedState, match="rule"):
        hf.Player.load(player.save())
    again = hf.Player.load(player.save(), policy=policy)
    assert again.ask() == player.ask() == "b"
    with pytest.raises(hf.InvalidParameter, match="must be a policy here"):
        hf.simulate(policy, hf.Bernoulli([0.5, 0.5, 0.5]), horizon=10, switching_cost=0.1)


@pytest.mark.plain
def test_a_rule_that_is_told_with_each_ask():
    player = hf.Guarded(arms=["a", "b"], switching_cost=0.1).player(seed=1)
    with pytest.raises(hf.InvalidParameter, match="rule must be announced"):
        player.ask()
    with pytest.raises(hf.InvalidParameter, match="rule must be one of"):
        player.ask(rule="c")
    assert player.ask(rule="b") == "b"
    player.tell(0.5)
    with pytest.raises(hf.InvalidParameter, match="rule is not announced"):
        hf.TrackingSwitch(2, switching_cost=0.1).player().ask(rule=1)


@pytest.mark.plain
def test_a_player_says_where_its_guard_stands():
    player = hf.Guarded(arms=["a", "b"], switching_cost=0.0, units=(0.0, 10.0)).player(seed=1)
    assert player.guard.why == "No round has been played yet."
    player.tell(2.0 if player.ask(rule="a") == "a" else 0.0)
    assert player.guard.why.startswith("The rule leads. The highest account is that of b, 1.9853; ")
    while not player.guard.acting:
        player.ask(rule="a")
        player.tell(10.0 if player.ask(rule="a") == "a" else 0.0)
        assert player.rounds < 1000
    assert player.guard.taken_over == 0 or player.guard.why.startswith("The guard plays since round")
    assert player.guard.excess["b"] > player.guard.excess["a"]
    assert player.guard.levels["a"] > 9.0
    with pytest.raises(AttributeError, match="has no guard"):
        _ = hf.TsallisSwitch(2, switching_cost=0.1).player().guard
    with pytest.raises(AttributeError, match="has no guard"):
        _ = hf.TrackingSwitch(2, switching_cost=0.1, guarded=False).player().guard


@pytest.mark.plain
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"rule": "fast", "n_arms": 2, "switching_cost": 1.0}, "rule"),
        ({"n_arms": 2}, "switching_cost"),
        ({"n_arms": 2, "switching_cost": "announced"}, "switching_cost"),
        ({"rule": hf.AdaptiveHedgeSwitch(2, switching_cost=1.0)}, "rule"),
        ({"rule": hf.TsallisInf(2, loss_bound="announced"), "switching_cost": 1.0}, "rule"),
        ({"rule": hf.Guarded(n_arms=2, switching_cost=1.0)}, "rule"),
        ({"switching_cost": 1.0}, "n_arms"),
    ],
)
def test_what_is_not_a_rule_is_refused(options, named):
    with pytest.raises(hf.InvalidParameter, match=f"^{named}"):
        hf.Guarded(**options)


@pytest.mark.plain
def test_the_closed_form_of_theorem_I():
    for K in (2, 3, 8, 100, 10**4):
        for lam in (0.0, 0.01, 0.3, 1.0, 10.0, 1e3, 1e6):
            for T in (1, 2, 10, 100, 10**4, 10**6, 10**9, 10**12):
                proved = hf.bounds.guarded(n_arms=K, switching_cost=lam, horizon=T)
                order = (lam * K) ** (1 / 3) * T ** (2 / 3)
                assert proved <= 28.6 * (order + lam) + 27 * (K * T) ** 0.5 + 10.8 * K**0.5 + 7.25
                assert proved <= 4.4 * hf.bounds.theorem_1(n_arms=K, switching_cost=lam, horizon=T)
                assert proved > hf.bounds.theorem_1(n_arms=K, switching_cost=lam, horizon=T)


@pytest.mark.plain
def test_in_a_store_the_rule_comes_with_each_ask():
    router = hf.open("memory:", "g", hf.Guarded(arms=["a", "b"], switching_cost=0.0), seed=1)
    with pytest.raises(hf.InvalidParameter, match="rule must be announced"):
        router.ask()
    with pytest.raises(hf.InvalidParameter, match="rule must be one of"):
        router.ask(rule="c")
    assert router.ask(rule="a").arm == "a"
    with pytest.raises(hf.OutOfTurn, match="has no guard"):
        _ = hf.open("memory:", "t", hf.TsallisSwitch(2, switching_cost=0.1)).guard
    chosen = ["policy"]
    for _ in range(300):
        decision = router.ask(rule="a")
        chosen.append("guard" if router.guard.acting else "look" if decision.arm == "b" else "policy")
        router.tell(decision.id, float(decision.arm == "a"))
        if chosen[-1] == "look":
            said = (
                f"Block {decision.block} is a look of the guard at b, drawn with probability {decision.probability:.3g}"
            )
            assert router.executor.read(why).startswith(said)
            assert (router.decision(decision.id).by, router.decision(decision.id).why[: len(said)]) == ("look", said)
    assert router.guard.acting
    assert router.guard.why.startswith("The guard plays since round")
    assert router.executor.read(why).startswith(
        f"Block {decision.block} is the guard's, which has taken over: it drew b with"
    )
    frame, log = router.history.frame, router.history.log
    assert log["by"].to_list() == chosen
    assert [by for by, rounds in frame["by", "rounds"].iter_rows() for _ in range(rounds)][: len(chosen)] == chosen
    assert router.guard.looks == chosen.count("look") > 0
    assert {decision.arm for decision in (router.ask(rule="a") for _ in range(5))} == {"b"}


@pytest.mark.plain
@pytest.mark.parametrize("arm", [-1, 0.5, 2, 10**6])
def test_a_saved_game_cannot_name_an_arm_that_there_is_not(arm):
    player = hf.Guarded(hf.TsallisSwitch(2, switching_cost=4.0)).player(seed=1)
    player.ask()
    document = json.loads(player.save())
    content = document["player"]
    content["state"]["held_arm"] = arm
    document["check"] = check_sum(content)
    with pytest.raises(hf.BadSavedState, match="held_arm"):
        hf.Player.load(json.dumps(document))


@pytest.mark.plain
def test_arms_retire_inside_a_block_of_the_rule():
    policy = hf.Guarded(hf.AdaptiveTsallisSwitch(arms=["a", "b", "c"], switching_cost=9.0))
    router = hf.open("memory:", "g", policy, seed=1)
    open_ones = [router.ask() for _ in range(30)]
    router.change(retire_arms=[open_ones[-1].arm], reason="gone")
    for decision in open_ones:
        router.tell(decision.id, 0.5)
    for _ in range(30):
        decision = router.ask()
        assert decision.arm != open_ones[-1].arm
        router.tell(decision.id, 0.4)


@pytest.mark.plain
def test_a_store_keeps_no_function():
    policy = hf.Guarded(lambda rounds: "a", arms=["a", "b"], switching_cost=0.0)
    with pytest.raises(hf.InvalidParameter, match="policy must not follow a function"):
        hf.open("memory:", "g", policy)


@pytest.mark.plain
def test_a_fleet_follows_no_rule_that_is_told():
    with pytest.raises(hf.InvalidParameter, match="policy must not follow a rule"):
        hf.Fleet(hf.Guarded(n_arms=2, switching_cost=0.1), 10, seed=1)
