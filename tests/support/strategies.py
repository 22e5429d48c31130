"""Hypothesis strategies: losses, learning rates, costs and ways to play."""

from decimal import Decimal

import hypothesis.strategies as st

seeds = st.integers(0, 2**63 - 1)
"""Seeds of a game."""

unit_losses = st.floats(0.0, 1.0, allow_subnormal=False)
"""The loss of one round."""

learning_rates = st.floats(-9.0, 3.0).map(lambda exponent: 10.0**exponent)
"""η from 1e-9 to 1e3."""


def cumulative_losses(most_arms: int = 40) -> st.SearchStrategy[list[float]]:
    """C: equal, close together, or spread over twenty decades."""
    spread = st.floats(-10.0, 10.0).map(lambda exponent: 10.0**exponent)
    value = st.one_of(st.just(0.0), st.floats(0.0, 10.0, allow_subnormal=False), spread)
    return st.lists(value, min_size=1, max_size=most_arms)


decimal_costs = st.one_of(
    st.sampled_from(["0.025", "0.1", "1", "10", "0.35", "1.5", "0.3"]),
    st.decimals("0.001", "20", places=3).map(str),
)
"""λ as someone would write it: a decimal of three places."""


def pieces(most: int = 60) -> st.SearchStrategy[list[int]]:
    """Draw the numbers of rounds to tell at once."""
    return st.lists(st.integers(1, 7), min_size=1, max_size=most)


@st.composite
def exact_lengths(draw: st.DrawFn) -> tuple[int, int, str]:
    """(n, K, λ) at and next to the blocks where (3λ/2)√(n/K) is a whole number m: n = 4Km²/(9λ²)."""
    lam = draw(decimal_costs)
    K = draw(st.integers(1, 200))
    m = draw(st.integers(1, 3000))
    numerator, denominator = Decimal(lam).as_integer_ratio()
    n = 4 * K * (m * denominator) ** 2 // (9 * numerator**2) + draw(st.integers(-1, 1))
    return max(1, n), K, lam
