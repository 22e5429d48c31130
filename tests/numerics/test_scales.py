"""From latency, price and errors to a loss."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

import holdfast as hf

SCALE = hf.Scale(latency=(0.2, 8.0, 2.0), price=(0, 0.02, 1.0), error=0.9)


def naive(latency, price):
    parts = []
    for value, low, high, weight in ((latency, 0.2, 8.0, 2.0), (price, 0.0, 0.02, 1.0)):
        value = low if value < low else high if value > high else value
        parts.append(weight * (value - low) / (high - low))
    return sum(parts) / 3.0


@given(st.floats(-1e6, 1e6), st.floats(-1e3, 1e3))
def test_a_loss_is_the_weighted_mean_of_clipped_parts(latency, price):
    loss = SCALE.loss(latency=latency, price=price)
    assert loss == pytest.approx(naive(latency, price), abs=1e-12)
    assert 0.0 <= loss <= 1.0


@pytest.mark.parametrize(
    ("measured", "loss"),
    [
        ({"latency": 0.2, "price": 0.0}, 0.0),
        ({"latency": 8.0, "price": 0.02}, 1.0),
        ({"latency": 1e9, "price": 1e9}, 1.0),
        ({"latency": -1e9, "price": 0.02}, pytest.approx(1 / 3)),
        ({"error": True}, 0.9),
        ({"error": True, "latency": 30.0}, 0.9),
        ({"error": False, "latency": 0.2, "price": 0.0}, 0.0),
    ],
)
def test_a_loss_at_the_ends_and_of_an_error_whatever_was_measured(measured, loss):
    assert SCALE.loss(**measured) == loss


@given(st.floats(0.3, 3.0), st.floats(0.0, 0.009), st.floats(0.0, 4.0), st.floats(0.0, 0.01))
def test_a_difference_is_the_difference_of_two_losses_inside_the_range(latency, price, slower, dearer):
    before, after = SCALE.loss(latency=latency, price=price), SCALE.loss(latency=latency + slower, price=price + dearer)
    assert SCALE.difference(latency=slower, price=dearer) == pytest.approx(after - before, abs=1e-12)


def test_what_is_clipped_can_be_counted():
    assert SCALE.clipped(latency=1300.0, price=0.004) == ("latency",)  # milliseconds where seconds were declared
    assert SCALE.clipped(latency=0.1, price=-0.004) == ("latency", "price")
    assert SCALE.clipped(latency=0.2, price=0.02) == ()


def test_it_is_a_value_that_json_carries():
    again = hf.Scale.from_settings(json.loads(json.dumps(SCALE.settings())))
    assert again == SCALE
    assert hash(again) == hash(SCALE)
    assert again.loss(latency=1.3, price=0.004) == SCALE.loss(latency=1.3, price=0.004)
    assert pickle.loads(pickle.dumps(SCALE)) == SCALE
    assert hf.Scale(latency=(0.2, 8.0)) != SCALE
    with pytest.raises(AttributeError):
        SCALE.error = 0.5  # type: ignore[misc]
    with pytest.raises(TypeError):
        SCALE.measures["latency"] = (0, 1, 1)  # type: ignore[index]


def test_shares_of_sevenths_survive_many_round_trips():
    again = scale = hf.Scale(a=(0, 1, 0.1), b=(0, 1, 0.2), c=(0, 1, 0.4))
    for _ in range(20):
        again = hf.Scale.from_settings(json.loads(json.dumps(again.settings())))
    assert again == scale


def test_a_loss_is_never_more_than_one():
    scale = hf.Scale(a=(0, 1, 3.8), b=(0, 1, 4.4))
    assert math.fsum(share for *_, share in scale.measures.values()) > 1.0  # shares are rounded
    assert scale.loss(a=1.0, b=1.0) == 1.0


def test_ranges_from_records_clip_the_share_that_they_say():
    rng = np.random.default_rng(1)
    latency = rng.lognormal(size=10_000)
    scale = hf.Scale.from_records(latency=latency, price=latency**2, weights={"price": 3}, quantiles=(0.01, 0.95))
    clipped = [scale.clipped(latency=value) for value in latency]
    assert sum("latency" in names for names in clipped) == pytest.approx(600, abs=2)
    assert scale.measures["price"][2] == 0.75
    few = hf.Scale.from_records(latency=[5.0, 1.0, 2.0, 30.0], quantiles=(0.3, 0.9))  # the ⌈share·n⌉-th smallest
    assert few.measures["latency"][:2] == (2.0, 30.0)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: hf.Scale(), "must be given by name"),
        (lambda: hf.Scale(latency=8.0), r"must be \(low, high\)"),
        (lambda: hf.Scale(latency=(8.0, 0.2)), "the first smaller"),
        (lambda: hf.Scale(latency=(0.2, math.nan)), "lowest, highest"),
        (lambda: hf.Scale(latency=(0.2, 8.0, 0.0)), "weight of latency"),
        (lambda: hf.Scale(loss=(0, 1)), "is not a name for a measure"),
        (lambda: hf.Scale(latency=(0, 1), error=2.0), "error must be"),
        (lambda: SCALE.loss(latency=1.3), "price must be given, or error=True"),
        (lambda: SCALE.loss(latency=math.nan, price=0.0), "latency must be a finite number"),
        (lambda: SCALE.loss(latency="1.3 s", price=0.0), "latency must be a finite number"),
        (lambda: SCALE.loss(latncy=1.3, price=0.0), "did you mean 'latency'"),
        (lambda: SCALE.loss(error=1, latency=1.3, price=0.0), "error must be True or False"),
        (lambda: hf.Scale.from_settings({"error": 1.0}), "Scale.settings"),
        (lambda: hf.Scale.from_settings({"error": 1.0, "measures": [1]}), "by name"),
        (lambda: hf.Scale.from_records(latency=[1.0, 1.0]), "must differ"),
        (lambda: hf.Scale.from_records(latency=[]), "at least one"),
        (lambda: hf.Scale.from_records(latency=[1, 2], weights={"latncy": 2}), "did you mean 'latency'"),
        (lambda: hf.Scale.from_records(latency=[1, 2], quantiles=(1, 99)), "from 0 to 1"),
    ],
)
def test_mistakes_are_named(make, says):
    with pytest.raises(hf.InvalidParameter, match=says):
        make()
