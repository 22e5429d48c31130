"""The contract of every store: asking, telling, repeating, refusing, waiting."""

import json
import random
from dataclasses import replace
from datetime import timedelta

import pytest
from games import POLICIES, SWITCH, loss_of, refuse, snapshot

import holdfast as hf
from holdfast.decisions.models import FORMAT
from holdfast.errors import error_from_json, error_to_json


@pytest.mark.parametrize("name", POLICIES)
def test_told_at_once_a_router_plays_as_a_player_does(place, name):
    policy = POLICIES[name]
    router, player = place.open(policy=policy, seed=5), policy.player(seed=5)
    for t in range(120):
        decision = router.ask()
        assert (decision.arm, decision.probability) == (player.ask(), player.probability)
        assert router.probabilities.tolist() == player.probabilities.tolist() or router.hold == 0
        loss = loss_of(t, decision.arm, policy)
        router.tell(decision.id, loss)
        player.tell(loss)
    assert (router.rounds, router.switches, router.hold) == (player.rounds, player.switches, player.hold)
    assert router.probabilities.tolist() == player.probabilities.tolist()


def test_what_is_announced_with_a_block_is_announced_with_ask(place):
    router, player = place.open("costs", hf.VaryingTsallisSwitch(3), seed=2), hf.VaryingTsallisSwitch(3).player(seed=2)
    paid = 0.0
    for t in range(60):
        before, cost = router.switches, 0.25 * (t % 5)
        decision = router.ask(switching_cost=cost)
        assert decision.arm == player.ask(switching_cost=cost)
        paid += cost * (router.switches - before)
        router.tell(decision.id, 0.5)
        player.tell(0.5)
    assert router.history.totals.switching == paid
    ranges = place.open("ranges", hf.TsallisInf(3, loss_bound="announced"), seed=2)
    decision = ranges.ask(loss_bound=4.0)
    refuse(
        [
            ("switching_cost must be announced", lambda: router.ask(router.hold + 1)),
            ("must be from 0 to 4", lambda: ranges.tell(decision.id, 4.5)),
        ]
    )
    ranges.tell(decision.id, 3.5)


def test_another_loss_is_an_error_that_says_what_was_recorded(place):
    router = place.open(policy=SWITCH, seed=1)
    decision = router.ask()
    router.tell(decision.id, 0.25)
    before = snapshot(router)
    with pytest.raises(hf.AlreadyTold, match=r"0\.25 is recorded; got 0\.5") as caught:
        router.tell(decision.id, 0.5)
    assert (caught.value.recorded, caught.value.loss) == (0.25, 0.5)
    assert snapshot(router) == before


def test_what_cannot_be_is_refused_and_changes_nothing(place):
    router, other = place.open(policy=SWITCH, seed=1), place.open("other", SWITCH, seed=1)
    decision, foreign = router.ask(), other.ask()
    before = snapshot(router), snapshot(other)
    uid, block, number, signature = decision.id.split("-")
    never, must = "never handed out", "must be the id of a decision"
    for id, message in [
        (foreign.id, "another game's"),
        (f"{uid}-{block}-{number}-{foreign.id.split('-')[3]}", never),
        (f"{uid}-{block}-1-{signature}", never),
        (f"{uid}-{'9' * 5000}-0-{signature}", never),
        (f"{uid}-0{block}-{number}-{signature}", never),
        ("nonsense", must),
        (f"{uid}-x-0-{signature}", must),
        (f"{uid}-{block}-²-{signature}", must),
        (f"{decision.id}-", must),
        ("\ud800-1-0-2", must),
        ("", must),
    ]:
        refuse([(message, lambda id=id: router.tell(id, 0.5))], hf.UnknownDecision)
    refuse([(f"id {must}", lambda: router.tell(7, 0.5)), ("pairs of ids and losses", lambda: router.tell(3))])
    out, finite = "loss of one round must be from 0 to 1", "loss must be a finite number"
    for rule, losses in ((out, (1.5, -0.1)), (finite, (float("nan"), "0.5", True, None))):
        refuse((rule, lambda loss=loss: router.tell(decision.id, loss)) for loss in losses)
    refuse(("n must be a whole number", lambda n=n: router.ask(n)) for n in (0, -1, 1.5, "2", 10**9))
    for name in ("", "r" * 201, "\0", "\ud800", "two\nlines", 7):
        refuse([("request must be a name of 1 to 200 printable", lambda name=name: router.ask(request=name))])
    assert (snapshot(router), snapshot(other)) == before
    assert router.ask(request="r" * 200).block == 1


def test_several_losses_at_once_are_each_judged_by_themselves(place):
    router = place.open(policy=SWITCH, seed=1)
    a, b, c = router.ask(3)
    assert [receipt.new for receipt in router.tell({a.id: 0.1, b.id: 0.2})] == [True, True]
    said = r"3 of 5 losses were refused: loss of decision .* \(and 2 more\)"
    with pytest.raises(hf.SomeRefused, match=said) as caught:
        router.tell([(a.id, 0.9), (b.id, 0.2), (c.id, 0.3), ("what", 0.1), (c.id, 7)])
    assert [type(error) for error in caught.value.refused] == [hf.AlreadyTold, hf.UnknownDecision, hf.InvalidParameter]
    assert router.history.totals.told == 3
    assert router.tell([]) == []


@pytest.mark.parametrize("seed", range(6))
def test_losses_in_one_call_are_judged_as_one_by_one(place, seed):
    """In any order, again, with other losses, out of range, after patience has run out and single losses are gone."""
    settings = {"policy": SWITCH, "seed": 1, "patience": 25, "missing": 0.25, "remember": 12}
    together, single = place.open("together", **settings), place.open("single", **settings)
    chance = random.Random(seed)
    out: list[tuple[hf.Decision, hf.Decision]] = []
    for t in range(12):
        out += zip(together.ask(9), single.ask(9), strict=True)
        told = [(*chance.choice(out[-30:]), chance.choice([0.1, 0.1, 0.1, 0.3, 7.0])) for _ in range(12)]
        if t % 3 == 2:  # and some in the order they were handed out
            told = [(*pair, 0.1) for pair in out[-9:]] + told
        try:
            answers = [receipt[1:] for receipt in together.tell([(d.id, loss) for d, _, loss in told])]
        except hf.SomeRefused as some:
            answers = [type(error) for error in some.refused]
        alone = []
        for _, d, loss in told:
            try:
                alone.append(single.tell(d.id, loss)[1:])
            except hf.HoldfastError as error:
                alone.append(type(error))
        assert answers == ([answer for answer in alone if not isinstance(answer, tuple)] or alone)
        assert together.history.totals == single.history.totals
        frames = [router.history.frame.drop("began", "settled") for router in (together, single)]
        assert frames[0].equals(frames[1])
        assert together.probabilities.tolist() == single.probabilities.tolist()


def test_a_policy_that_waits_for_losses_hands_out_no_block_before_they_are_in(place):
    router = place.open(policy=hf.BaSE(2, horizon=100, grid="arithmetic", batches=10), seed=1)
    first = router.ask(50)
    assert [d.block for d in first] == [1] * 5
    before = snapshot(router)
    with pytest.raises(hf.OutOfTurn, match="before every loss of the last one is told: see open_decisions"):
        router.ask()
    assert snapshot(router) == before
    router.tell([(d.id, 0.5) for d in first])
    assert router.ask().block == 2
    rule = "patience must be a time: base-geometric waits"
    refuse([(rule, lambda: place.open("rounds", hf.BaSE(2, horizon=100), patience=10))])


def test_a_request_made_again_gets_the_same_decisions(place):
    router = place.open(policy=SWITCH, seed=1)
    decisions = router.ask(5, request="r-1")
    assert router.ask(5, request="r-1") == place.open().ask(5, request="r-1") == decisions
    assert router.rounds == 5
    assert router.ask(1, request="r-2")[0].id not in {d.id for d in decisions}


def test_a_key_belongs_to_one_kind_of_call_with_one_content(place):
    """An observation under the key of an ask is recorded; another call of the same kind is refused, not answered."""
    router = place.open(policy=hf.AdaptiveHedgeSwitch(arms=["a", "b"], switching_cost=0.3), seed=1)
    decision = router.ask(request="k", available=["a", "b"])
    router.tell(decision.id, losses=[0.1, 0.2])
    for _ in range(2):  # the second changes nothing
        router.observe([0.3, 0.4], request="k")
        assert router.ask(request="k", available=["b", "a"]) == decision
    assert router.history.record["a"].to_list() == [0.1, 0.3]
    for other in (
        lambda: router.observe([0.3, 0.5], request="k"),
        lambda: router.ask(request="k"),
        lambda: router.ask(2, request="k", available=["a", "b"]),
        lambda: place.open().ask(request="k", available=["b"]),
    ):
        with pytest.raises(hf.OtherRequest, match="request must be a new idempotency key") as caught:
            other()
        assert (caught.value.request, caught.value.status) == ("k", 409)
    assert (router.rounds, router.history.record.height) == (1, 2)


def test_decisions_and_receipts_are_plain_values(place):
    router = place.open(policy=SWITCH, seed=1)
    decision = router.ask()
    assert hf.Decision(**json.loads(json.dumps(decision._asdict()))) == decision
    told = json.loads(json.dumps(router.tell(decision.id, 0.1)._asdict()))
    assert told == {"id": decision.id, "new": True, "late": False}


def test_errors_carry_over_a_wire_as_they_are(place):
    router = place.open(policy=SWITCH, seed=1, patience=2)
    decision = router.ask()
    router.tell(decision.id, 0.1)
    lost = router.ask()
    router.ask(30)
    errors: list[hf.HoldfastError] = [hf.OutOfTurn("not now"), hf.StoreError("no disk")]
    for refused in (
        lambda: router.tell(decision.id, 0.2),
        lambda: router.tell(lost.id, 0.2, in_time=True),
        lambda: router.tell("x", 0.2),
        lambda: router.tell(decision.id, 2.0),
        lambda: router.tell([("x", 0.2), (decision.id, 0.2)]),
        lambda: place.open("nobody"),
        lambda: place.open(policy=hf.Exp3(2)),
        lambda: place.open(policy=replace(SWITCH, switching_cost=9.0), settings="same"),
    ):
        with pytest.raises(hf.HoldfastError) as caught:
            refused()
        errors.append(caught.value)
    for error in errors:
        back = error_from_json(json.loads(json.dumps(error_to_json(error))))
        assert (type(back), str(back)) == (type(error), str(error))


def test_settings_that_make_no_sense_are_refused(place):
    for setting, rule, values in (
        ("patience", "", (2.5, 0, -1, "soon", "0h", timedelta(0), timedelta(seconds=-1), timedelta.max)),
        ("patience", " a time above 0 and of at most 36500 days", (timedelta.max,)),
        ("missing", "", ("median", 1.5, None.__class__, -0.5)),
        ("learn_after", " a whole number", (0, -1, 1.5, "two")),
        ("key_life", " a timedelta", (5,)),
    ):
        for value in values:
            given = {setting: value}
            refuse([(f"{setting} must be{rule}", lambda given=given: place.open("new", SWITCH, **given))])
    for name in ("", "x" * 201, "a\nb", 5):
        refuse([("name must be a name", lambda name=name: place.open(name, SWITCH))])
    with pytest.raises(hf.UnknownGame, match="it has none"):
        place.open("new")
    assert place.open("x" * 200, SWITCH, patience="1.5d").name == "x" * 200
    assert place.open("x" * 200, patience=timedelta(hours=36), settings="same").rounds == 0


def test_a_process_that_runs_while_the_store_is_converted_writes_nothing_more(place):
    """As a newer version will do it: the number in the store and in each game, in one transaction."""
    router = place.open(policy=SWITCH, seed=1)
    decision = router.ask()
    with router.store.transaction(1, writing=True) as transaction:
        transaction.write("UPDATE holdfast_schema SET version = ?", [(FORMAT + 1,)])
        transaction.write("UPDATE holdfast_heads SET format = ?", [(FORMAT + 1,)])
    with_a_fallback = router.ask(fallback="b")
    assert (with_a_fallback.arm, with_a_fallback.recorded) == ("b", False)
    calls = [
        router.ask,
        router.settle,
        lambda: router.tell(decision.id, 0.5),
        lambda: router.change(patience=7),
        lambda: router.pause("a"),
        lambda: router.history.totals,
    ]
    for call in calls:
        with pytest.raises(hf.BadStore, match="another Holdfast has taken the store over, schema 2"):
            call()
    if place.kind != "memory":
        with pytest.raises(hf.BadStore, match="another Holdfast wrote this one, schema 2"):
            place.open(policy=SWITCH)
    with router.store.transaction(0, writing=True) as transaction:
        assert transaction.fetch("SELECT COUNT(*) FROM holdfast_losses") == [(0,)]
        assert transaction.fetch("SELECT asked, revision FROM holdfast_heads") == [(1, 2)]
        transaction.write("UPDATE holdfast_schema SET version = ?", [(1,)])
        transaction.write("UPDATE holdfast_heads SET format = ?", [(1,)])
    assert router.tell(decision.id, 0.5).new
