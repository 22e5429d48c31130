"""Cases that the tests of bounds draw from."""

import hypothesis.strategies as st

from holdfast.numerics import schedules

CLOSE = 1e-12
EASY = {"switching_cost": 0.025, "gaps": 0.2}
HARD = {"switching_cost": 1.0, "gaps": 0.05}

arms = st.integers(2, 60)
costs = st.one_of(st.just(0.0), st.floats(1e-4, 50.0))
horizons = st.integers(1, 10**12)
short = st.integers(1, 3000)


@st.composite
def arms_and_gaps(draw):
    K = draw(arms)
    gap = st.floats(1e-4, 1.0)
    return K, draw(st.one_of(gap, st.lists(gap, min_size=K - 1, max_size=K - 1)))


def gap_list(gaps, K):
    return gaps if isinstance(gaps, list) else [gaps] * (K - 1)


def corollary_3_rates(T, B=1.0):
    return [schedules.corollary_3_rate(t, B) for t in range(1, T + 1)]
