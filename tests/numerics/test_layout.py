"""Ranges of saved numbers: what is inside, just outside, and what is said."""

import math

import numpy as np
import pytest

from holdfast.numerics.layout import ArmIndex, NonNegative, Positive, Probability, Range, Whole


@pytest.mark.parametrize(
    ("allowed", "inside", "outside", "rule"),
    [
        (NonNegative, [0.0, 1e300], [-5e-324], "must be at least 0"),
        (Positive, [5e-324], [0.0, -1.0], "must be more than 0"),
        (Probability, [0.0, 1.0], [-1e-16, math.nextafter(1.0, 2.0)], "must be at least 0, be at most 1"),
        (Whole, [0.0, 2.0**53], [0.5, -1.0, 2.0**53 + 2], "must be whole, be at least 0, be at most 9.0072e+15"),
        (ArmIndex, [0.0, 3.0], [4.0, 1.5, -1.0], "must be whole, be at least 0, be at most 3"),
        (Range(most=2.0), [-1e300, 2.0], [2.5], "must be at most 2"),
    ],
)
def test_a_number_is_inside_its_range_or_the_rule_is_said(allowed, inside, outside, rule):
    """Of one game or of many; that an arm exists is known where their number is."""
    assert allowed.broken_by(np.array(inside), 4) is None
    for value in (*outside, math.nan):
        assert allowed.broken_by(value, 4) == allowed.broken_by([*inside, value], 4) == rule
    assert ArmIndex.broken_by(4.0, 0) is None
