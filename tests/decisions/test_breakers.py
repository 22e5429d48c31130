"""Breakers: a failing arm is paused for everybody, tried again by one request, and never the last one."""

from datetime import UTC, datetime, timedelta

import pytest
from games import refuse
from service import InThread
from test_commands import run

import holdfast as hf
import holdfast_client
from holdfast.decisions.rules.breakers import fuses_of

ARMS = ["a", "b", "c"]
LONG = hf.BlockExp3(arms=ARMS, switching_cost=30.0, horizon=1000)
SHORT = hf.Exp3(arms=ARMS)
BREAKER = hf.Breaker(failures=3, within=5, pause="10s", most="25s")


def arms_of(decisions):
    return {decision.arm for decision in decisions}


def fail(router, n, arm):
    """The arm fails n times, whatever the policy would play."""
    for _ in range(n):
        router.tell(router.ask(available=[arm]).id, failed=True)


def changes(router):
    return [(c["kind"], c["detail"]["arm"]) for c in router.history.changes]


def test_an_arm_that_fails_is_paused_for_everybody_and_tried_by_one_request(place):
    one, two, now = place.open(policy=LONG, seed=1, breaker=BREAKER), place.open(), place.clock.now
    first = one.ask(8)
    arm = first[0].arm
    for decision, failed in zip(first, (1, 0, 0, 0, 1, 1), strict=False):  # the first leaves the window of five
        one.tell(decision.id, **({"failed": True} if failed else {"loss": 0.1}))
        assert one.paused == {}
    two.tell(first[6].id, failed=True)
    assert one.paused == two.paused == {arm: now + 10}
    assert arm not in arms_of([*one.ask(4), *two.ask(4)])
    one.tell(first[7].id, 0.0)  # it was handed out before: tells nothing
    assert arm not in arms_of(one.ask(2))
    place.clock.now += 10
    tried = two.ask(5)
    assert [d.arm == arm for d in tried] == [True, False, False, False, False]
    assert arm not in arms_of([*one.ask(3), *two.ask(3)])
    assert tried[0].probability == pytest.approx(1 / 3)  # that of its draw: it stands in for nobody
    assert tried[1].probability == pytest.approx(2 / 3)  # its own, and that of the arm which is tried
    one.tell(tried[0].id, 0.3)
    assert arms_of([*one.ask(3), *two.ask(3)]) == {arm}
    assert changes(one) == [("trip", arm), ("try", arm), ("reset", arm)]
    assert [c["reason"] for c in one.history.changes] == [
        "3 of its last 3 losses were failures",
        "its pause is over: one request tries it",
        "it was tried, and did not fail",
    ]


def test_an_operators_pause_and_a_breakers_are_over_when_both_are(place):
    router, now = place.open(policy=SHORT, seed=1, breaker=BREAKER), place.clock.now
    fail(router, 3, "a")
    fail(router, 3, "b")
    assert router.paused == {"a": now + 10, "b": now + 10}
    router.pause("a", until=timedelta(seconds=60))
    assert (
        f"a failed too often: it is paused until {datetime.fromtimestamp(now + 10, UTC):%Y-%m-%d %H:%M:%S}"
        in router.why
    )
    router.resume("b")
    router.pause("c", until=timedelta(seconds=5))
    assert router.paused == {"a": now + 60, "c": now + 5}
    place.clock.now += 5
    assert router.paused == {"a": now + 60}
    place.clock.now += 5
    assert "a failed too often: its pause is over, and the next request for it tries it." in router.why


def test_the_last_arm_stays_in_use_and_says_so(place):
    router = place.open(policy=LONG, seed=1, breaker=BREAKER)
    first = router.ask().arm
    fail(router, 3, first)
    second = router.ask().arm
    fail(router, 3, second)
    (third,) = {*ARMS} - {first, second}
    fail(router, 7, third)
    assert arms_of(router.ask(5)) == {third}
    assert changes(router) == [("trip", first), ("trip", second), ("stay", third)]
    assert router.history.changes[-1]["reason"] == "3 of its last 3 losses were failures, and no other arm is left"
    place.clock.now += 10
    while (tried := router.ask()).arm == third:
        pass
    router.tell(tried.id, 0.0)  # one is back
    fail(router, 1, third)
    assert third in router.paused


def test_a_failure_is_a_report_of_one_or_a_loss_from_a_level_on(place):
    scale = hf.Scale(latency=(0, 10), error=0.2)
    router = place.open(policy=SHORT, seed=1, scale=scale, breaker=hf.Breaker(failures=3, level=0.9))
    for outcome in ({"error": True}, {"failed": True}, {"latency": 8.9}, {"loss": 0.5}):
        router.tell(router.ask(available=["a"]).id, **outcome)
        assert router.paused == {}
    router.tell(router.ask(available=["a"]).id, latency=9.0)
    assert "a" in router.paused


def test_changed_live_retired_and_resumed(place):
    router = place.open(policy=SHORT, seed=1)
    fail(router, 9, "a")
    assert router.paused == {}
    router.change(breaker=BREAKER)
    fail(router, 2, "a")
    router.change(breaker=hf.Breaker(failures=2, pause="40s"))
    fail(router, 1, "a")
    assert router.paused == {"a": place.clock.now + 40}
    router.change(breaker={"failures": 2, "pause": "5s", "most": "6s"})
    place.clock.now += 40
    router.tell(router.ask(available=["a"]).id, 1.0)  # that was a trial, and no failure
    assert router.paused == {}
    fail(router, 2, "a")
    fail(router, 2, "b")
    assert set(router.paused) == {"a", "b"}
    router.resume("a", reason="mended")
    assert set(router.paused) == {"b"}
    assert router.history.changes[-1]["reason"] == "mended"
    router.change(retire_arms=["b"])
    assert router.paused == {}
    router.change(add_arms=["b"])
    fail(router, 1, "b")
    assert router.paused == {}  # it begins anew
    fail(router, 1, "b")
    assert set(router.paused) == {"b"}
    router.change(breaker=False)
    assert router.paused == {}
    fail(router, 9, "a")
    assert router.paused == {}


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": []}', '{"0": ["", 0, 1, 2, [1], 0]}'])
def test_a_damaged_store_is_no_crash(text):
    with pytest.raises(hf.BadStore, match="what breakers know cannot be read"):
        fuses_of(text)


UNIFORM = hf.Scale(latency=(0, 1), error=0.0)
"""Failures that lose nothing, so that Exp3 goes on drawing evenly."""


@pytest.mark.parametrize("case", ["paused", "may be tried", "tried", "one of each"])
def test_probabilities_are_those_of_the_draws_that_lead_to_the_arm(case):
    """By enumeration: of three draws, each as likely, so many lead to the arm that is played."""
    led: dict[int, tuple[int | str, float]] = {}
    for seed in range(60):
        clock = [1000.0]
        router = hf.open("memory:", "g", SHORT, seed=seed, scale=UNIFORM, breaker=BREAKER, clock=lambda: clock[0])  # noqa: B023
        for arm in "ba" if case == "one of each" else "a":
            clock[0] += 5
            for _ in range(3):
                router.tell(router.ask(available=[arm]).id, error=True)
        if case != "paused":
            clock[0] += 5 if case == "one of each" else 10
        if case == "tried":
            router.ask(available=["a"])
        (decision,) = router.ask(1)
        drawn = router.history.recent(1)[0].arm
        led[drawn] = decision.arm, decision.probability
    assert len(led) == 3
    played = [arm for arm, _ in led.values()]
    for name, probability in led.values():
        assert probability == pytest.approx(played.count(name) / 3)
    assert ("a" in played) == (case == "may be tried")
    assert "b" in played


def test_what_makes_no_sense_is_refused_by_name():
    router, shadow = hf.open("memory:", "g", SHORT, seed=1), hf.open("memory:", "g", SHORT, shadow=True)
    hedge, level = hf.AdaptiveHedgeSwitch(arms=ARMS, switching_cost=1.0), hf.Breaker(level=1.5)
    refuse(
        [
            ("failures must be at most within, 5", lambda: hf.Breaker(failures=9, within=5)),
            ("pause must not be longer than most", lambda: hf.Breaker(pause="1h")),
            ("pause must be a timedelta", lambda: hf.Breaker(pause=3)),
            ("breaker must be a holdfast.Breaker or False", lambda: router.change(breaker=True)),
            ("failure is not a parameter of a breaker.*failures", lambda: router.change(breaker={"failure": 3})),
            ("breaker must have a level above 0 and at most 1", lambda: router.change(breaker=level)),
            ("a level above 0", lambda: router.change(breaker=hf.Breaker(level=0.0))),
            ("breaker is not for a shadow", lambda: router.change(breaker=BREAKER, shadow=True)),
            ("breaker is not for a shadow", lambda: shadow.change(breaker=BREAKER)),
            ("breaker is not for hedge-switch", lambda: hf.open("memory:", "g", hedge, breaker=BREAKER)),
        ]
    )
    router.change(breaker=hf.Breaker(level=1.0))


@pytest.mark.slow
def test_a_server_its_client_its_page_and_the_shell_have_breakers(folder):
    url = f"sqlite:///{folder}/games.db"
    with InThread(url) as web:
        game = holdfast_client.open(
            web.url, "g", policy="exp3", arms=ARMS, breaker={"failures": 2, "pause": "1h", "most": "1h"}
        )
        assert game.view()["breaker"] == hf.Breaker(failures=2, pause="1h", most="1h").settings()
        for _ in range(2):
            game.tell(game.ask(available=["b"]).id, failed=True)
        assert [one["arm"] for one in game.view()["paused"]] == ["b"]
        remote = hf.open(web.url, "g")
        assert set(remote.paused) == {"b"}
        assert changes(remote) == [("trip", "b")]
        assert "b" not in arms_of(remote.ask(20))
        page = web("GET", "/games/g").body.decode()
        assert "b failed too often: it is paused until" in page
        assert "trip b until" in page
        assert 'holdfast_arm_paused{arm="b",game="g"} 1.0' in web("GET", "/metrics").body.decode()
        assert "b failed too often: it is paused until" in remote.why
        remote.resume("b")
        assert remote.paused == {}
    assert "b" in run("show", url, "g")
    run("change", url, "g", "--breaker", "failures=1,pause=2h,most=1d")
    with hf.open(url, "g") as router:
        fail(router, 1, "a")
    shown = " ".join(run("show", url, "g").split())
    assert "paused: a until" in shown
    assert "a failed too often: it is paused until" in shown
    run("change", url, "g", "--breaker", "off")
    assert "paused" not in run("show", url, "g")
