"""Policies that see the losses of all arms, in a store: they play as their player does in memory."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from games import refuse
from places import Place
from test_commands import run

import holdfast as hf
from holdfast.errors import AlreadyTold, InvalidParameter, OutOfTurn, SomeRefused

ARMS = ["north", "south", "west"]
LOSSES = np.random.default_rng(5).random((60, 3)).round(3).tolist()
POLICY = hf.AdaptiveHedgeSwitch(arms=ARMS, switching_cost=0.3)
TABLE = [[0.0, 0.01, 0.04], [0.02, 0.0, 0.03], [0.04, 0.05, 0.0]]


def by_name(losses: list[float]) -> dict[str, float]:
    return dict(zip(ARMS, losses, strict=True))


def both(place: Place, policy: hf.Policy = POLICY, **options):
    """A game in a store and its player in memory."""
    return place.open("green", policy, seed=3, **options), policy.player(seed=3)


def same(router, player, losses, **told):
    """A round of both, which choose the same arm and see the same losses."""
    decision = router.ask()
    assert decision.arm == player.ask(**told)
    router.tell(decision.id, losses=losses)
    player.tell(losses=losses)
    return decision


def test_a_game_in_a_store_is_that_of_a_player(place: Place):
    _, player = both(place)
    for n, losses in enumerate(LOSSES):
        router = place.open("green", POLICY if n % 2 else None)  # as another process would
        forecast = LOSSES[n : n + 3] if n % 5 == 0 else None
        available = [arm for arm in ARMS if arm != ARMS[n % 3]] if n % 7 == 0 else None
        if n % 4 == 3:
            player.ask()
            player.tell(losses=losses)
            router.observe(by_name(losses))
            continue
        decision = router.ask(forecast=forecast, available=available)
        assert decision.arm == player.ask(forecast=forecast, available=available)
        assert decision.probability == pytest.approx(player.probabilities[ARMS.index(decision.arm)], abs=1e-15)
        player.tell(losses=losses)
        told = by_name(losses) if n % 2 else losses
        assert router.tell(decision.id, losses=told).new
        assert not router.tell(decision.id, losses=told).new
    router = place.open("green")
    assert router.certificate == player.certificate
    assert router.rounds == router.history.totals.told == 45
    record = router.history.record
    assert record.columns == ["time", *ARMS]
    assert record.select(ARMS).rows() == [tuple(losses) for losses in LOSSES]


def test_a_cost_for_each_pair_is_paid(place: Place):
    router = place.open("pairs", hf.AdaptiveHedgeSwitch(arms=ARMS, switching_cost=TABLE), seed=1)
    paid, last = 0.0, None
    for n in range(60):
        decision = router.ask()
        router.tell(decision.id, losses=[0.1 if arm == n // 6 % 3 else 0.9 for arm in range(3)])
        paid += 0.0 if last is None else TABLE[ARMS.index(last)][ARMS.index(decision.arm)]
        last = decision.arm
    assert router.switches > 3
    assert router.history.totals.switching == pytest.approx(paid, abs=1e-12)


def test_another_switching_cost_is_as_if_it_were_announced(place: Place):
    router = place.open("dearer", POLICY, seed=3)
    player = hf.AdaptiveHedgeSwitch(arms=ARMS, switching_cost="announced").player(seed=3)
    for n, losses in enumerate(LOSSES):
        if n == 30:
            router.change(switching_cost=0.05)
        same(router, player, losses, switching_cost=0.3 if n < 30 else 0.05)
    assert router.certificate == player.certificate
    rule = "arms cannot be added to a game of hedge-switch, nor retired"
    refuse([(rule, lambda: router.change(retire_arms=["west"]))])


def test_other_losses_of_arms_that_were_not_played_are_noticed_in_the_same_call(place: Place):
    router = place.open("twice", POLICY, seed=3)
    decision = router.ask()
    others = [0.9 if arm != decision.arm else loss for arm, loss in zip(ARMS, LOSSES[0], strict=True)]
    with pytest.raises(SomeRefused, match="was told before"):
        router.tell([(decision.id, {"losses": LOSSES[0]}), (decision.id, {"losses": others})])
    assert not router.tell(decision.id, losses=LOSSES[0]).new
    with pytest.raises(AlreadyTold, match=r"0\.9"):
        router.tell(decision.id, losses=others)


def test_what_is_refused_changes_nothing(place: Place):
    router, again = (place.open(name, POLICY, seed=3) for name in ("green", "other"))
    rule = "loss of 'west' must be given in the first round"
    refuse([(rule, lambda: router.observe({"north": 0.1, "south": 0.2}))])
    decision = router.ask()
    refuse([("waits for its losses", lambda: router.observe(LOSSES[0]))], OutOfTurn)
    refuse([("cannot begin its next block", router.ask)], OutOfTurn)
    rest: dict[int | str, float] = {arm: 0.5 for arm in ARMS if arm != decision.arm}
    for said, given in (
        ("must have that of the arm that was played", {"losses": rest}),
        (f"loss of '{decision.arm}' of one round must be from 0 to 1", {"losses": {**rest, decision.arm: 1.5}}),
        ("did you mean 'north'", {"losses": {**rest, "nroth": 0.1}}),
        ("must be 3 numbers", {"losses": [0.1]}),
        ("must not be given together", {"losses": LOSSES[0], "reward": 0.5}),
        ("must be those of all arms", {"loss": 0.5}),
    ):
        refuse([(said, lambda given=given: router.tell(decision.id, **given))])
    assert router.open_decisions == [decision]
    assert router.tell(decision.id, losses=LOSSES[0]).new
    refuse([("forecast must be a table", lambda: router.ask(forecast=[[0.1]]))])
    first = again.ask()
    again.tell(first.id, losses=LOSSES[0])
    assert (first.arm, again.ask().arm) == (decision.arm, router.ask().arm)


def test_policies_that_draw_keep_their_own_loss_of_all(place: Place):
    router, other = (place.open(name, hf.Exp3(arms=ARMS), seed=3) for name in ("chat", "twin"))
    for losses in LOSSES[:20]:
        decision, twin = router.ask(), other.ask()
        assert decision.arm == twin.arm
        router.tell(decision.id, losses=losses)
        other.tell(twin.id, by_name(losses)[str(twin.arm)])
    assert router.history.totals.losses == other.history.totals.losses
    assert router.history.record.select(ARMS).rows() == [tuple(losses) for losses in LOSSES[:20]]
    refuse(
        [
            ("learns from the arms that it draws", lambda: router.observe(LOSSES[0])),
            ("forecast must be left out", lambda: router.ask(forecast=LOSSES[:2])),
        ]
    )
    refuse([("no certificate", lambda: router.certificate)], OutOfTurn)


@pytest.mark.parametrize(("low", "width"), [(0.0, 1.0), (10.0, 20.0)])
def test_losses_that_never_come_are_the_last_known_ones(low: float, width: float, place: Place):
    """At first the middle of the range."""
    policy = replace(POLICY, units=(low, low + width), switching_cost=0.3 * width)
    router, player = both(place, policy, patience=timedelta(seconds=10))
    known, instead = [low + width / 2] * 3, []
    for n, losses in enumerate(low + width * np.array(LOSSES[:20])):
        decision = router.ask()
        assert decision.arm == player.ask()
        if n % 3 == 0:
            place.clock.now += 11.0
            assert router.settle() == 1
            instead.append(known[ARMS.index(str(decision.arm))])
        else:
            known = losses.tolist()
            router.tell(decision.id, losses=known)
        player.tell(losses=known)
    totals = router.history.totals
    assert (totals.missing, totals.missing_losses) == (7, pytest.approx(sum(instead)))


def test_one_report_that_never_comes_stops_nothing(place: Place):
    """By default: time passes, the last known losses stand in, the history says so, the report may still come."""
    router, player = both(place)
    same(router, player, LOSSES[0])
    lost = router.ask()
    place.clock.now += 59.9
    refuse([("cannot begin its next block", router.ask)], OutOfTurn)
    assert router.ask(fallback="west")[1:3] == ("west", 1.0)
    place.clock.now += 0.1
    decision = router.ask()
    player.ask()
    player.tell(losses=LOSSES[0])
    assert decision.arm == player.ask()
    row = router.history.frame.row(1, named=True)
    assert (row["missing"], row["missing_loss"]) == (1, LOSSES[0][ARMS.index(str(lost.arm))])
    assert router.tell(lost.id, losses=LOSSES[1]).late
    assert router.history.totals.missing == 0


def test_a_scale_and_clip_serve_the_losses_of_all_arms(place: Place):
    scale = hf.Scale(price=(0.0, 200.0))
    router, twin = place.open("spot", POLICY, seed=3, scale=scale), place.open("twin", POLICY, seed=3)
    for row in [20.0, 50.0, 900.0], [30.0, -5.0, 100.0]:
        router.tell(router.ask().id, losses={arm: {"price": price} for arm, price in zip(ARMS, row, strict=True)})
        twin.tell(twin.ask().id, losses=[price / 200 for price in row], clip=True)
        router.observe([{"price": price} for price in row])
        twin.observe([price / 200 for price in row], clip=True)
        assert router.history.record.drop("time").row(-1) == tuple(min(max(p / 200, 0.0), 1.0) for p in row)
    assert router.history.record.equals(twin.history.record)
    refuse(
        [
            ("loss of 'west' of one round must be", lambda: twin.observe([0.1, 0.2, 4.5])),
            ("losses must be one outcome for each arm", lambda: twin.observe([0.1, 0.2, {"losses": [0.1]}])),
        ]
    )


def test_what_failed_has_the_highest_loss_though_others_are_not_known(place: Place):
    router, _ = both(place)
    first = router.ask()
    router.tell(first.id, losses=LOSSES[0])
    assert router.tell(router.ask().id, failed=True).new
    assert router.history.log["loss"].to_list() == [LOSSES[0][ARMS.index(str(first.arm))], 1.0]
    assert router.ask().block == 3


def test_paused_arms_are_planned_around(place: Place):
    router, player = both(place)
    router.pause("north")
    for losses in LOSSES[:10]:
        same(router, player, losses, available=["south", "west"])
    router.resume("north")
    router.pin("west")
    for forced, losses in zip(router.ask(5), LOSSES[10:], strict=False):
        assert forced.arm == "west"
        router.tell(forced.id, losses=losses)  # whoever decided, all losses are seen
        player.ask()
        player.tell(losses=losses)
    router.unpin()
    assert router.ask().arm == player.ask()


def test_it_learns_while_a_rule_decides(place: Place):
    router, player = both(place, shadow=True)
    for losses in LOSSES:
        decision = router.ask(rule="west")
        assert decision.arm == "west"
        router.tell(decision.id, losses=losses)
        player.ask()
        player.tell(losses=losses)
    assert router.certificate == player.certificate
    if place.kind != "http":  # what the policy would have drawn stays with the store
        assert router.history.frame["drawn"].to_list()[-1] in ARMS


def test_when_it_was_seen_is_kept_as_long_as_the_losses(place: Place):
    router, _ = both(place, remember=10)
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    router.observe(LOSSES[0], at=at)
    assert router.history.record["time"][0] == at
    rule = "with its zone"
    refuse([(rule, lambda: router.observe(LOSSES[0], at=datetime(2026, 3, 1, 12)))])
    for losses in LOSSES:
        router.tell(router.ask().id, losses=losses)
    kept = router.history.record.select(ARMS).rows()
    assert 10 <= len(kept) < 20
    assert kept == [tuple(losses) for losses in LOSSES[-len(kept) :]]


def test_a_forecast_by_arm_is_one_in_rows(place):
    """One number for each arm, or a list; by name, in any order."""
    policy = hf.AdaptiveHedgeSwitch(
        arms=["a", "b"], switching_cost=0.3, experts=[hf.experts.GivenForecast(2)], forecast_rounds=2
    )
    forms = ([[0.9, 0.1], [0.8, 0.2]], {"b": [0.1, 0.2], "a": [0.9, 0.8]}), ([[0.9, 0.1]], {"b": 0.1, "a": 0.9})
    for n, (rows, by_arm) in enumerate(forms):
        one, two = (place.open(f"{kind} {n}", policy, seed=1) for kind in ("rows", "arms"))
        for t in range(20):
            first, second = one.ask(forecast=rows), two.ask(forecast=by_arm)
            assert (first.arm, first.probability) == (second.arm, second.probability)
            for router, decision in ((one, first), (two, second)):
                router.tell(decision.id, losses=[0.9 - t % 3 / 10, 0.1])
    with pytest.raises(InvalidParameter, match="forecast must have a loss, or a list of them, for each of the 2 arms"):
        one.tell(one.ask(forecast={"a": 0.5}).id, losses=[0.5, 0.5])


def test_a_forecast_is_given_in_a_shell(folder):
    url = f"sqlite:///{folder}/g.db"
    policy = hf.AdaptiveHedgeSwitch(2, switching_cost=0.3, experts=[hf.experts.GivenForecast(2)], forecast_rounds=2)
    by_name = {name: hf.open(url, name, policy, seed=1) for name in ("shell", "python")}
    for forecast, text in (({0: 0.9, 1: 0.1}, '{"0": 0.9, "1": 0.1}'), ([[0.2, 0.9]], "[[0.2, 0.9]]")):
        asked = by_name["python"].ask(forecast=forecast)
        assert run("ask", url, "shell", "--forecast", text).split()[1] == str(asked.arm)
        for router in by_name.values():
            (decision,) = router.open_decisions
            router.tell(decision.id, losses=[0.5, 0.4])
