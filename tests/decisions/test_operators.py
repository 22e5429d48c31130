"""Arms that are down or pinned: at once, for every handle, and what is learnt and recorded."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from games import SWITCH, arms_of, learnt, refuse
from test_commands import run

import holdfast as hf

LONG = hf.BlockExp3(arms=["a", "b", "c"], switching_cost=30.0, horizon=1000)


def test_a_pause_and_a_pin_end_by_themselves(place):
    router = place.open(policy=LONG, seed=1)
    arm = router.ask().arm
    router.pause(arm, until=timedelta(minutes=1))
    assert router.ask().arm != arm
    place.clock.now += 60
    assert (router.paused, router.ask().arm) == ({}, arm)
    later = place.clock.now + 5
    router.pause(arm, until=datetime.fromtimestamp(later, UTC))
    assert router.paused == {arm: later}
    other = next(one for one in "abc" if one != arm)
    router.pin(other, until=timedelta(seconds=5))
    assert (router.pinned, router.ask().arm) == (other, other)
    place.clock.now = later
    assert (router.pinned, router.paused, router.ask().arm) == (None, {}, arm)
    pinned = router.history.log.filter(pl.col("by") == "operator")
    assert pinned.select("arm", "status", "probability").rows() == [(other, "forced", 1.0)]
    said = [(change["kind"], change["detail"]) for change in router.history.changes[1:]]
    assert said == [("pause", {"arm": arm, "until": later}), ("pin", {"arm": other, "until": later})]
    wrong = (timedelta(0), datetime(2030, 1, 1), 5, datetime(1970, 1, 2, tzinfo=UTC))
    refuse(("until must be a time to come", lambda until=until: router.pause(arm, until=until)) for until in wrong)


def test_a_block_learns_what_its_replacement_lost_and_totals_name_who_played(place):
    router, whole = place.open(policy=SWITCH, seed=1), place.open("whole", SWITCH, seed=1)
    first = router.ask()
    available = {"a", "b", "c"} - {first.arm}
    second = router.ask(available=available)
    assert second.arm in available
    assert second.block == first.block
    assert second.probability == pytest.approx(2 / 3)  # its own third and that of the arm that is out
    router.tell({first.id: 0.25, second.id: 0.75})
    whole.tell([(d.id, loss) for d, loss in zip(whole.ask(2), (0.25, 0.75), strict=True)])
    assert arms_of(router.ask(40)) == arms_of(whole.ask(40))
    arms = {arm.arm: arm for arm in router.history.totals.arms}
    assert (arms[first.arm].losses, arms[second.arm].losses) == (0.25, 0.75)
    log = router.history.log
    assert log["arm"].to_list()[:2] == [first.arm, second.arm]
    assert log["probability"].to_list()[:2] == [first.probability, second.probability]
    assert router.ask(2, request="x", available=["b"]) == router.ask(2, request="x", available=("b",))


def test_what_cannot_be_paused(place):
    router = place.open(policy=SWITCH, seed=1)
    router.pause("a")
    router.pause("b")
    refuse(
        [
            ("arm must be an arm of the game", lambda: router.pause("d")),
            ("available must be an arm of the game", lambda: router.ask(available=["a", "x"])),
            ("available must be a list", lambda: router.ask(available="a")),
            ("must leave an arm to play: all others are paused", lambda: router.pause("c")),
        ]
    )
    with pytest.raises(hf.OutOfTurn, match="no arm can be played"):
        router.ask(available=["a", "b"])
    assert set(arms_of(router.ask(20))) == {"c"}
    router.pause("a")  # it is
    assert len(router.history.changes) == 2


def test_an_arm_that_is_retired_is_neither_pinned_nor_paused_any_more(place):
    router = place.open(policy=SWITCH, seed=1)
    router.pause("a")
    router.pin("b")
    assert router.ask().arm == "b"
    router.change(retire_arms=["a", "b"])
    assert (router.paused, router.pinned) == ({}, None)
    assert set(arms_of(router.ask(9))) == {"c"}


def test_an_arm_that_is_retired_may_still_be_named_by_callers(place):
    """They list what they can reach, and learn of a change only later."""
    router = place.open(policy=SWITCH, seed=1)
    router.change(retire_arms=["a"])
    assert router.ask(available=["a", "b"]).arm == "b"
    assert router.ask(fallback="a").recorded
    with pytest.raises(hf.NoArmAvailable):
        router.ask(available=["a"])
    refuse([("available must be an arm of the game, 'b', 'c'; got 'x'", lambda: router.ask(available=["a", "x"]))])


def test_until_may_be_written_as_other_times_are(place):
    router = place.open(policy=SWITCH, seed=1)
    router.pause("a", until="10m")
    assert router.paused == {"a": place.clock.now + 600.0}
    refuse(
        [
            ("until must be a time such as .*, or how long: 30s, 10m", lambda: router.pin("b", until="ten minutes")),
            ("until must be a time to come, .* got 600", lambda: router.pin("b", until=600)),
        ]
    )


def test_operators_have_a_shell(folder):
    url = f"sqlite:///{folder}/jobs.db"
    with hf.open(url, "chat", SWITCH, seed=1) as router:
        arm = router.ask().arm
    run("pause", url, "chat", arm, "--until", "10m", "--reason", "down")
    assert f"paused: {arm} until" in run("show", url, "chat")
    assert json.loads(run("ask", url, "chat", "--json"))["arm"] != arm
    run("resume", url, "chat", arm)
    run("pin", url, "chat", "b")
    assert "pinned: b" in run("show", url, "chat")
    assert json.loads(run("ask", url, "chat", "--json"))["arm"] == "b"
    assert json.loads(run("ask", url, "chat", "--available", "a,c", "--json"))["arm"] != "b"
    run("unpin", url, "chat")
    with hf.open(url, "chat") as router:
        assert [change["kind"] for change in router.history.changes] == ["pause", "resume", "pin", "unpin"]
    refuse([("until must be a time such as", lambda: run("pause", url, "chat", arm, "--until", "soon"))])


def test_a_fallback_that_another_process_has_added_is_known(place):
    router, other = place.open(policy=SWITCH, seed=1), place.open()
    router.change(add_arms=["d"])
    assert other.ask(fallback="d").recorded
    router.change(add_arms=["e"])
    refuse([(r"fallback must be .*'e'.*; got 'x'", lambda: other.ask(fallback="x"))])
    assert other.rounds == 1


@pytest.mark.parametrize("key", [None, "x"])
def test_a_long_outage_does_not_make_a_block_grow(place, key):
    long = hf.BlockExp3(arms=["a", "b", "c"], switching_cost=300.0, horizon=10**5)
    router = place.open(policy=long, seed=1)
    first = router.ask(2, key=key)
    router.pause(first[0].arm)
    during = [router.ask(key=key) for _ in range(30)] + router.ask(5, key=key)
    router.resume(first[0].arm)
    given = [*first, *during, router.ask(key=key)]
    assert {d.block for d in given} == {1}
    log = router.history.log.filter(pl.col("block") == 1)
    assert log["arm"].to_list() == arms_of(given)
    assert log["probability"].to_list() == [d.probability for d in given]
    assert given[-1].arm == first[0].arm
    stretches = [json.loads(block.played) for block in router.history.blocks() if block.played]
    if place.kind != "http":  # a server does not show it
        assert stretches == [[[2, 35, "abc".index(during[0].arm), during[0].probability]]]


def test_a_fallback_answers_where_no_arm_is_available(place):
    router = place.open(policy=hf.Exp3(arms=["a", "b"]), seed=1)
    router.pause("a")
    with pytest.raises(hf.NoArmAvailable, match="no arm can be played"):
        router.ask(available=["a"])
    decisions = [router.ask(available=["a"], fallback="a"), asyncio.run(router.aask(available=["a"], fallback="a"))]
    assert [(decision.arm, decision.recorded) for decision in decisions] == [("a", False)] * 2
    with pytest.raises(hf.UnknownDecision, match=r"there was no decision, and ask\(\) answered with its fallback"):
        router.tell(decisions[0].id, 0.5)
    assert router.rounds == 0


def test_a_pause_counts_from_the_games_clock(place):
    """Where that is ahead of the caller's, by less than would be doubted."""
    place.open(policy=SWITCH, seed=1)
    ahead, router = place.open(clock=lambda: place.clock.now + 500.0), place.open()
    ahead.ask()
    router.pause("a", until=timedelta(seconds=60))
    router.pin("b", until=timedelta(seconds=30))
    assert (list(router.paused), router.pinned) == (["a"], "b")
    assert set(arms_of(router.ask(9))) == {"b"}
    over = datetime.fromtimestamp(place.clock.now + 400, UTC)  # by the game's clock
    refuse([("until must be a time to come", lambda: router.pause("c", until=over))])


@pytest.mark.parametrize("ahead_by", [3600.0, 70 * 365 * 86400.0])
def test_a_clock_that_runs_ahead_of_the_others_does_not_move_the_games(place, caplog, ahead_by):
    router = place.open(policy=SWITCH, seed=1, patience=timedelta(minutes=5))
    by = [ahead_by]
    fast = place.open(clock=lambda: place.clock.now + by[0])
    waiting = router.ask(2)
    fast.ask()
    talk = fast.ask(key="x")
    router.pause("a", until=timedelta(minutes=10))
    router.tell(waiting[0].id, 0.5)
    for handle in (router, fast, router, fast):
        place.clock.now += 1.0
        decision = handle.ask()
        assert decision.arm != "a"
        assert place.clock.now - 1.0 <= decision.asked <= place.clock.now
    assert f"is {ahead_by:.0f} s ahead of the others'" in caplog.text.replace(f"{ahead_by + 1:.0f}", f"{ahead_by:.0f}")
    assert [change["kind"] for change in router.history.changes] == ["clock", "pause"]
    assert router.tell(talk.id, 0.5).new
    place.clock.now += 300.0
    router.settle()
    assert router.history.totals.out <= 1  # nothing waits for another century
    place.clock.now += 301.0
    assert "a" not in router.paused
    by[0] = 0.0  # it was set right
    place.clock.now += 1000.0
    assert [fast.ask().asked for _ in range(2)][1] == place.clock.now


def test_an_idle_night_is_no_clock_that_runs_ahead(place):
    one, two = place.open(policy=SWITCH, seed=1), place.open()
    one.ask()
    place.clock.now += 8 * 3600.0
    for handle in (one, two, one):
        assert handle.ask().asked == place.clock.now
        place.clock.now += 1.0
    assert one.history.changes == []


def test_a_long_block_that_changes_hands_again_and_again_ends(place):
    """After 64 stretches of other arms it ends with the rounds it had, and the next one begins: asks stay cheap."""
    policy = hf.BlockExp3(arms=["a", "b", "c"], switching_cost=1000.0, horizon=10**6)
    router = place.open(policy=policy, seed=1, patience="forever")
    given = [router.ask()]
    others = [arm for arm in "abc" if arm != given[0].arm]
    while given[-1].block == 1:
        given.append(router.ask(available=others if len(given) % 2 else None))
    first, second = router.history.blocks()
    assert first.rounds == 128  # 64 rounds of others, and 64 of its own between them
    assert second.rounds > 500
    if place.kind != "http":
        assert len(json.loads(first.played)) == 64
    assert router.history.log["arm"].to_list() == arms_of(given)
    router.tell([(decision.id, 0.25) for decision in given])
    assert router.history.frame["settled"].is_null().to_list() == [False, True]
    assert router.history.totals.losses == 0.25 * 129


def test_a_block_that_is_cut_short_counts_for_what_was_played():
    """With sums of losses that are compared, by its mean for each round that was drawn."""
    policy = hf.BaSE(arms=["a", "b"], horizon=12_000, grid="arithmetic", batches=6)
    once, cut = (hf.open("memory:", "x", policy, seed=1) for _ in range(2))
    first, same = once.ask(), cut.ask()
    once.tell([(decision.id, 0.5) for decision in [first, *once.ask(once.hold)]])
    while cut.hold:
        cut.ask(available=["b" if same.arm == "a" else "a"] if cut.rounds % 2 else None)
    assert cut.rounds < once.rounds
    cut.tell([(decision.id, 0.5) for decision in cut.open_decisions])
    assert learnt(once) == learnt(cut)
