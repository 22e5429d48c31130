"""Missing losses are shown everywhere: in the log, in totals, and in estimates of replay."""

import numpy as np
import pytest
from games import SWITCH
from places import Place
from statistics_of_samples import assert_at_least

import holdfast as hf
from holdfast.decisions.stores import store_at
from holdfast.replays.logged import read_log

COLUMNS = {"arm": "arm", "loss": "loss", "probability": "probability", "block": "block", "time": "time"}
ARMS = ["a", "b", "c"]
SLOW = hf.TsallisSwitch(arms=ARMS, block_lengths=lambda n: 1 + n % 3, learning_rates=lambda n: 0.02)
"""So that no arm is drawn too seldom to say anything of it."""

LOST = {
    "none": (0.0, 0.0, 0.0),
    "two fifths": (0.4, 0.4, 0.4),
    "of one arm": (0.4, 0.0, 0.0),
}


def played(place, name, lost, seed, rounds=300, at_once=1, **options):
    """A game in which some losses never come, and what each arm would have cost in it."""
    chance = np.random.default_rng(seed)
    losses = (chance.random((rounds, 3)) < (0.2, 0.4, 0.3)).astype(float)
    gone = chance.random((rounds, 3)) < lost
    router = place.open(name, SLOW, seed=seed, **options)
    for first in range(0, rounds, at_once):
        told = []
        for t, decision in enumerate(router.ask(at_once), first):
            arm = ARMS.index(decision.arm)
            if not gone[t, arm]:
                told.append((decision.id, losses[t, arm]))
        router.tell(told)
    return router, np.where(gone, 1.0, losses).sum(axis=0)


GAMES = 110


@pytest.mark.slow
@pytest.mark.parametrize("lost", LOST)
def test_the_log_estimates_what_arms_cost_though_losses_are_missing(lost):
    """95 % intervals, of one arm in each game so that they are independent, hold the truth in 90 % at least.

    They are those of a large sample; these have 200 rounds.
    """
    place, held = Place("memory", store_at("memory:")), 0
    for seed in range(GAMES):
        router, truth = played(place, f"game {seed}", LOST[lost], seed, 200, at_once=20, patience=60, missing=1.0)
        router.ask(80)  # of these no loss comes
        router.settle()
        (log, _), arm = read_log(router.history.log, COLUMNS), seed % 3
        assert 200 <= log.rounds <= 280
        found = log.of_arm(arm).doubly_robust
        held += found.low <= truth[arm] + log.rounds - 200 <= found.high
    assert_at_least(held, GAMES, 0.9, sees=0.3)


def test_an_arm_that_times_out_is_shown_with_what_counted(place):
    router, _ = played(place, "game", LOST["of one arm"], 1, rounds=300, patience=5, missing=1.0)
    router.ask(10)
    router.settle()
    totals, log = router.history.totals, router.history.log
    arm = totals.arms[0]
    assert arm.missing > 0
    assert arm.mean == (arm.losses + arm.missing) / (arm.told + arm.missing) > 0.3
    assert totals.missing == sum(one.missing for one in totals.arms)
    assert totals.missing_losses == totals.missing
    assert totals.cost == totals.losses + totals.missing_losses + totals.switching
    assert len(log) == totals.rounds
    assert log["loss"].sum() == pytest.approx(totals.losses + totals.missing_losses)
    counts = dict(log["status"].value_counts().rows())
    assert (counts["told"], counts["missing"], counts["open"]) == (totals.told, totals.missing, totals.out)
    router.change(remember=0)
    for _ in range(9):
        router.tell(router.ask().id, 0.5)
    totals, forgotten = router.history.totals, router.history.log
    assert not forgotten["single"].all()
    counts = dict(forgotten["status"].value_counts().rows())
    assert (counts["told"], counts["missing"]) == (totals.told, totals.missing)
    assert forgotten["loss"].sum() == pytest.approx(totals.losses + totals.missing_losses)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_log_whose_missing_rounds_are_unknown_is_refused(place, folder, suffix):
    router, _ = played(place, "game", LOST["two fifths"], 1, rounds=300, patience=5, missing="drop")
    router.ask(10)
    router.settle()
    file = folder / f"log.{suffix}"
    router.history.export(file)
    with pytest.raises(hf.InvalidParameter, match=r"must say what \d+ missing losses count as: .*give missing=LOSS"):
        read_log(file, COLUMNS)
    assert 300 <= read_log(file, COLUMNS, missing=1.0)[0].rounds <= 310
    open_game, _ = played(place, "open", LOST["two fifths"], 1, rounds=300, patience="forever")
    with pytest.raises(hf.InvalidParameter, match="come after one that is still open"):
        read_log(open_game.history.log, COLUMNS)


def test_the_log_of_a_game_with_outages_and_pins_is_one_that_replay_reads(place):
    router = place.open("game", SLOW, seed=1)
    for t in range(300):
        if t == 100:
            router.pin("c")
        elif t == 120:
            router.unpin()
        decision = router.ask(available=["b", "c"] if t % 10 < 3 else None)
        router.tell(decision.id, ARMS.index(decision.arm) / 2)
    log, _ = read_log(router.history.log, COLUMNS)
    assert log.rounds == 280
    found = log.of_arm("b").doubly_robust
    assert found.low <= 140 <= found.high


@pytest.mark.parametrize("scale", [None, hf.Scale(latency=(0.0, 8.0), error=0.25)])
@pytest.mark.parametrize("policy", [hf.Exp3(2), hf.TsallisSwitch(2, switching_cost=40.0, units=(-64.0, 64.0))])
def test_what_failed_has_the_highest_loss_in_every_game(place, policy, scale):
    if scale is not None and policy.units != (0.0, 1.0):
        scale = None
    router = place.open(policy=policy, seed=1, **({} if scale is None else {"scale": scale}))
    first, second = router.ask(2)
    router.tell(first.id, failed=True)
    router.tell({second.id: {"failed": True}})
    assert router.history.totals.losses == 2 * policy.units[1]
    for wrong in ({"failed": True, "loss": 0.5}, {"failed": "yes"}):
        with pytest.raises(hf.InvalidParameter):
            router.tell(first.id, **wrong)


def test_silence_is_a_failure_by_default(place):
    router = place.open(policy=SWITCH, seed=1, patience=2)
    for _ in range(9):
        router.ask()
    totals = router.history.totals
    assert totals.missing_losses == totals.missing > 0
