"""A budget of switches: never one too many, whoever asks, in whatever process, after whatever happens."""

import itertools
from datetime import timedelta

import pytest
from games import learnt

import holdfast as hf
from holdfast.decisions.settings import Budget
from holdfast.decisions.status import why

ARMS = ["a", "b", "c"]


def moves_of(log):
    """The times of all switches but the first play, from the log of a game without conversations."""
    found = list(zip(log["arm"].to_list(), log["asked"].to_list(), strict=True))
    return [at.timestamp() for (was, _), (now, at) in itertools.pairwise(found) if was != now]


def play(router, clock, rounds, step=1.0):
    for t in range(router.rounds, router.rounds + rounds):
        clock.now += step
        decision = router.ask()
        router.tell(decision.id, 0.1 if ARMS[t // 12 % 3] == decision.arm else 0.9)


@pytest.mark.parametrize("policy", [hf.Exp3(arms=ARMS), hf.TrackingSwitch(arms=ARMS, switching_cost=0.01)])
def test_there_is_never_one_too_many_within_any_stretch(place, policy):
    one = place.open(policy=policy, seed=3, most_switches=(4, "30s"))
    two = place.open()
    for t in range(300):
        play((one, two)[t % 2], place.clock, 1, step=0.5)
    moves = moves_of(one.history.log)
    assert len(moves) == one.switches - 1
    assert len(moves) > 8
    for n, at in enumerate(moves[4:]):
        assert at - moves[n] >= 30.0 - 1e-5  # the log has microseconds
    one.close()
    play(place.open(), place.clock, 60)  # as after a restart
    moves = moves_of(place.open().history.log)
    assert all(later - earlier >= 30.0 - 1e-5 for earlier, later in zip(moves, moves[4:], strict=False))


def test_probabilities_at_the_limit_and_what_is_learnt():
    """Whatever was drawn the arm in use plays, with probability 1; the block learns what that one lost."""
    now = [1000.0]
    router = hf.open("memory:", "x", hf.Exp3(arms=ARMS), seed=1, clock=lambda: now[0], most_switches=(1, "1d"))
    plain = hf.open("memory:", "y", hf.Exp3(arms=ARMS), seed=1, clock=lambda: now[0])
    while router.switches_left:
        router.tell(router.ask().id, 0.5)
        plain.tell(plain.ask().id, 0.5)
    held = router.arm
    drawn = set()
    for _ in range(50):
        decision, other = router.ask(), plain.ask()
        drawn.add(other.arm)
        assert (decision.arm, decision.probability) == (held, 1.0)
        router.tell(decision.id, 0.7)
        plain.tell(other.id, 0.7)
        assert router.probabilities == pytest.approx(plain.probabilities, rel=0)
    assert len(drawn) > 1
    assert set(router.history.log["arm"].to_list()[-50:]) == {held}
    assert "None of 1 switch in 1d is left: the arm in use stays" in router.executor.read(why)


@pytest.mark.parametrize("policy", [hf.Ucb1(arms=ARMS), hf.FollowTheLeader(arms=ARMS, cooldown=1)])
def test_a_policy_of_averages_hears_of_the_arm_that_played_however_many_are_asked_at_once(policy):
    """The second block of the call takes the last switch: of the others the arm in use is told, not the arm drawn."""
    router = hf.open("memory:", "x", policy, seed=1, most_switches=(1, "1d"))
    decisions = router.ask(8)
    assert [decision.arm for decision in decisions] == ["a", *"b" * 7]
    router.tell([(decision.id, 0.5 if decision.arm == "a" else 0.25) for decision in decisions])
    found = learnt(router)
    assert (found["N"], found["C"]) == ([1.0, 7.0, 0.0], [0.5, 1.75, 0.0])
    assert [block.arm for block in router.history.blocks()] == [0, *[1] * 7]
    frame = router.history.frame
    assert (frame["drawn"][2], frame["drawn_probability"][2]) == ("c", 1.0)
    assert "drew c with probability 1 among 3 arms, when no switch was left, and went to b; " in (
        router.decision(decisions[2].id).why
    )


def test_the_block_that_used_the_last_switch_keeps_its_probability():
    """Had it drawn another arm, that one would be in use: so the arm has the probability of the draw to the end."""
    policy = hf.BlockExp3(arms=ARMS, switching_cost=30.0, horizon=1000)
    router = hf.open("memory:", "x", policy, seed=1, most_switches=(1, "1d"))
    while router.switches_left:
        last = router.ask()
    rounds = [last, *(router.ask() for _ in range(router.hold)), *router.ask(5)]
    assert len({decision.arm for decision in rounds}) == 1
    assert {d.probability for d in rounds if d.block == last.block} == {last.probability}
    assert {d.probability for d in rounds if d.block != last.block} == {1.0}


def test_a_budget_in_numbers():
    """Each switch counts for a minute, which ends with its last moment."""
    budget = Budget(2, 60.0)
    assert [budget.left([10.0, 30.0], clock) for clock in (69.9, 70.0, 89.9, 90.0)] == [0, 1, 1, 2]
    assert (budget.stays([10.0]), budget.stays([5.0, 10.0, 30.0]), budget.kept([5.0, 10.0, 30.0])) == (0, 70, [10, 30])


def test_the_budget_changes_while_the_game_goes_on(place):
    router = place.open(policy=hf.Exp3(arms=ARMS), seed=1)
    play(router, place.clock, 50)
    router.change(most_switches=(3, "1h"), reason="the connection pool")
    assert router.switches_left == 3  # switches count from when it is set
    play(router, place.clock, 50)
    assert router.switches_left == 0
    router.change(most_switches=(5, timedelta(hours=1)))
    assert router.switches_left == 2
    play(router, place.clock, 50)
    assert router.switches_left == 0
    assert "None of 5 switches in 1h is left" in router.why
    router.change(most_switches=(6, "1h"))
    assert "1 of 6 switches in 1h is left." in router.why
    router.change(most_switches=(7, "1h"))
    assert "2 of 7 switches in 1h are left." in router.why
    router.change(most_switches=(2, "1h"))
    assert router.switches_left == 0
    router.change(most_switches=(2, "1s"))
    place.clock.now += 1.0
    assert router.switches_left == 2
    router.change(most_switches=())
    assert router.switches_left is None
    before = router.switches
    play(router, place.clock, 50)
    assert router.switches > before + 5
    details = [change["detail"]["most_switches"] for change in router.history.changes]
    assert details[0] == [None, {"switches": 3, "over": "3600.0s"}]


def test_a_full_information_policy_stays_too():
    policy = hf.AdaptiveHedgeSwitch(arms=ARMS, switching_cost=0.001)
    router = hf.open("memory:", "x", policy, seed=1, most_switches=(2, "1d"))
    for t in range(100):
        decision = router.ask()
        router.tell(decision.id, losses={arm: float((t // 5 + n) % 3 == 0) for n, arm in enumerate(ARMS)})
    assert router.switches == 3
    assert router.switches_left == 0


@pytest.mark.parametrize("given", [(0, "1d"), (10, 5), (10,), "10", (10, "0s"), (5000, "1d")])
def test_a_budget_is_a_number_and_a_time(given):
    with pytest.raises(hf.InvalidParameter, match="most_switches"):
        hf.open("memory:", "x", hf.Exp3(arms=ARMS), most_switches=given)
