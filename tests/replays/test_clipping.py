"""Outliers: a note says what they spoil, and policies can hear losses clipped while costs stay as recorded."""

import numpy as np
import polars as pl
import pytest

import holdfast as hf
from holdfast.data.records import read_trace
from holdfast.environments.tables import prefix_sums
from holdfast.replays.games import ClippedTable, clipping_note, expected_game

ROUNDS, CLIP = 400, (0.0, 200.0)
RNG = np.random.default_rng(11)
PRICES = RNG.uniform(25, 150, size=(ROUNDS, 3))
SPIKES = np.where(RNG.random(PRICES.shape) < 0.006, 1500.0, PRICES)
CLIPPED = np.clip(SPIKES, *CLIP)
OWN = ["adaptive", "follow-the-leader:cooldown=10,name=leader"]
OPTIONS = {"switching_cost": 20.0, "replications": 4}


@pytest.fixture(scope="module")
def found():
    return hf.replay(SPIKES, ["hedge-switch", *OWN], clip=CLIP, **OPTIONS)


def test_policies_play_as_on_clipped_losses_and_pay_those_recorded(found):
    by_hand = hf.replay(CLIPPED, ["hedge-switch", *OWN], units=CLIP, **OPTIONS)
    for name in found.policies:
        ours, theirs = found.held[20.0, name], by_hand.held[20.0, name]
        games = found.result.frame.filter(policy=name, stretch="whole", round=ROUNDS)
        same = by_hand.result.frame.filter(policy=name, stretch="whole", round=ROUNDS)
        assert games["switches"].to_list() == pytest.approx(same["switches"].to_list())
        if name != "hedge-switch":  # whose losses are expected ones
            if ours.replication == theirs.replication:
                assert ours.each_round().tolist() == theirs.each_round().tolist()
            paid = SPIKES[np.arange(ROUNDS), ours.each_round()].sum()
            assert games.filter(replication=ours.replication)["total_loss"][0] == pytest.approx(paid)
    standing = found.standing()
    assert list(standing.references.fixed_arms.values()) == pytest.approx(SPIKES.sum(axis=0).tolist())
    assert standing.plan_cost == pytest.approx(hf.best_plan(SPIKES, 20.0).cost)
    assert found.units == CLIP


def test_the_expected_cost_is_of_the_losses_as_recorded():
    policy = hf.AdaptiveHedgeSwitch(3, switching_cost=20.0, units=CLIP)
    heard = expected_game(policy, CLIPPED, [100, ROUNDS])
    both = expected_game(policy, SPIKES, [100, ROUNDS])
    twice = expected_game(policy, 2 * SPIKES - CLIPPED, [100, ROUNDS])
    assert both.arms.tolist() == heard.arms.tolist()
    assert both.paid.tolist() == heard.paid.tolist()
    assert both.losses[-1] > heard.losses[-1]
    assert (both.losses - heard.losses).tolist() == pytest.approx((twice.losses - both.losses).tolist())


def test_a_part_of_a_clipped_table():
    trace = read_trace(SPIKES)
    part = ClippedTable.of(trace, CLIP).part(100, 300)
    assert part.expected(0, 200).tolist() == pytest.approx(SPIKES[100:300].sum(axis=0).tolist())
    heard = part.tables[2]
    assert (heard[200] - heard[0]).tolist() == pytest.approx(CLIPPED[100:300].sum(axis=0).tolist())
    with pytest.raises(hf.InvalidParameter, match="must have a number from 0 to 200"):
        prefix_sums(trace, CLIP)


def test_what_was_clipped_is_said(found):
    count = int((SPIKES > 200).sum())
    assert found.notes == (
        f"Policies hear losses clipped to 0 to 200: {count} of 1,200 lie outside. Costs, fixed arms and plans are of "
        "those as recorded.",
    )


def test_what_lies_at_an_end_is_not_outside():
    said = clipping_note(np.array([0.0, 200.0, 200.1, -0.1, 5.0]), CLIP, rewards=False)
    assert "clipped to 0 to 200: 2 of 5 lie outside" in said


def test_a_few_outliers_are_noticed():
    spoiled = hf.replay(SPIKES, "follow-the-leader", rescale=True, **OPTIONS)
    (note,) = [note for note in spoiled.notes if "learn slowly" in note]
    assert note.startswith("98 % of the losses lie between 2")
    assert "8.3 % of the range from 25" in note
    assert "on the command line --clip=2" in note
    for table in (PRICES, (PRICES > 149.5).astype(float)):  # nothing to clip; nothing but outliers
        assert not any("learn slowly" in note for note in hf.replay(table, OWN[1], rescale=True, **OPTIONS).notes)


def test_rewards_are_clipped_in_their_own_units():
    found = hf.replay(SPIKES, OWN[1], clip=CLIP, rewards=True, **OPTIONS)
    assert found.units == (-200.0, 0.0)
    assert found.notes[-1].startswith("Policies hear rewards clipped to 0 to 200:")
    spoiled = hf.replay(SPIKES, OWN[1], rescale=True, rewards=True, **OPTIONS)
    assert any(note.startswith("98 % of the rewards lie between 2") for note in spoiled.notes)


def test_arms_that_are_not_available_count_the_worst_that_was_recorded():
    holed = SPIKES.copy()
    holed[5, 1] = np.nan
    found = hf.replay(holed, OWN[1], clip=CLIP, missing="unavailable", **OPTIONS)
    worst = np.where(np.isnan(holed), 1500.0, holed).sum(axis=0)
    assert list(found.standing().references.fixed_arms.values()) == pytest.approx(worst.tolist())


def test_forecasts_are_heard_clipped_too():
    far = pl.DataFrame({"issued": [0, 0], "round": [3, 4]} | {str(k): [9e5, 0.0] for k in range(3)})
    near = pl.DataFrame({"issued": [0, 0], "round": [3, 4]} | {str(k): [200.0, 0.0] for k in range(3)})
    one, other = (
        hf.replay(SPIKES, "hedge-switch:forecast_rounds=8", clip=CLIP, forecasts=f, **OPTIONS) for f in (far, near)
    )
    assert one.frame.equals(other.frame)


def test_a_record_of_short_numbers_is_clipped_to_any():
    """0.8 as a short number is more than 0.8."""
    record = RNG.random((40, 3)).astype(np.float32)
    options = {"switching_cost": 0.3, "replications": 2}
    short, long = (
        hf.replay(one, ["adaptive"], clip=(0.1, 0.8), **options) for one in (record, record.astype(np.float64))
    )
    assert short.standing(0.3).costs["adaptive"].tolist() == long.standing(0.3).costs["adaptive"].tolist()
