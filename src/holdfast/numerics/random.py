"""Random streams: uniform and binomial numbers from a state the caller owns.

One seed is split *by name*: the stream of replication ``r`` of ``"policy/exp3"`` depends on the seed, that
name and ``r``, and on nothing else that is played. So adding a policy changes no other's numbers, and an
environment and a policy given the same seed share nothing.

The generator is xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM
TOMS 2021). A state of 256 bits filled by hashing makes an overlap of two streams unthinkable: 2⁴⁰ streams of
2⁵⁰ numbers meet with probability below 2⁻¹²⁰.
"""

from __future__ import annotations

import hashlib
import math
import operator
import secrets
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._numba.compile import COMPILED, kernel
from holdfast.checks import whole_number
from holdfast.errors import InvalidParameter

STATE_SIZE = 4
"""Words of 64 bits in the state of a stream."""

LAST_REPLICATION = 2**32 - 1
"""Largest replication number; each has a stream of its own."""

_U = np.uint64
_GOLDEN = _U(0x9E3779B97F4A7C15)
_MIX_1 = _U(0xBF58476D1CE4E5B9)
_MIX_2 = _U(0x94D049BB133111EB)
_S11, _S17, _S19, _S23, _S27, _S30, _S31, _S41, _S45 = (_U(s) for s in (11, 17, 19, 23, 27, 30, 31, 41, 45))
BITS = 53
"""Bits of a uniform number."""
_TO_UNIT = 2.0**-BITS

PRODUCT = 24.0
"""Distance from the mode up to which a ratio of binomial probabilities is multiplied out."""


def check_seed(seed: object) -> int:
    """Return `seed` as a whole number: an int, a NumPy generator (which is advanced), or None for a fresh one."""
    if seed is None:
        return secrets.randbits(63)
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    try:
        if isinstance(seed, (bool, np.bool_)):
            raise TypeError
        number = operator.index(seed)  # type: ignore[arg-type]  # a TypeError is what we ask for
    except TypeError:
        raise InvalidParameter("seed", "must be a whole number, a numpy Generator or None", seed) from None
    if number < 0:
        raise InvalidParameter("seed", "must not be negative", seed)
    return number


def stream_key(seed: int, name: str) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return the 256-bit key of the family of streams called `name` under `seed`."""
    digest = hashlib.blake2b(f"holdfast/1/{seed}/{name}".encode(), digest_size=8 * STATE_SIZE).digest()
    return np.frombuffer(digest, dtype="<u8").astype(np.uint64)


def start(key: Any, replication: int, state: Any) -> None:
    """Put `state` at the start of stream number `replication` of the family `key`: each word of the key is mixed in by
    a bijection of 64 bits that leaves no trace of its argument (the finaliser of SplitMix64).
    """
    z = _U(replication)
    for i in range(STATE_SIZE):
        z = z + _GOLDEN ^ key[i]
        z = (z ^ (z >> _S30)) * _MIX_1
        z = (z ^ (z >> _S27)) * _MIX_2
        z = z ^ (z >> _S31)
        state[i] = z ^ key[STATE_SIZE - 1 - i]


start_stream = kernel(start)
"""The kernel of `start`."""


def started(key: Any, replication: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return the state of stream number `replication` of the family `key` at its start, without compiling."""
    state = np.zeros(STATE_SIZE, dtype=np.uint64)
    with np.errstate(over="ignore"):  # unsigned integers wrap
        start(key, replication, state)
    return state


@kernel
def _stepped(s0: Any, s1: Any, s2: Any, s3: Any) -> tuple[Any, Any, Any, Any, float]:
    """Return the state after one step, and the step's number in [0, 1), a multiple of 2⁻⁵³."""
    total = s0 + s3
    result = ((total << _S23) | (total >> _S41)) + s0
    s2 ^= s0
    s3 ^= s1
    return s0 ^ s3, s1 ^ s2, s2 ^ (s1 << _S17), (s3 << _S45) | (s3 >> _S19), float(result >> _S11) * _TO_UNIT


@kernel
def uniform(state: Any) -> float:
    """Return the next number in [0, 1), a multiple of 2⁻⁵³."""
    state[0], state[1], state[2], state[3], u = _stepped(state[0], state[1], state[2], state[3])
    return u


@kernel
def next_uniform(streams: Any, g: int) -> float:
    """Return the next number of column `g` of `streams`."""
    streams[0, g], streams[1, g], streams[2, g], streams[3, g], u = _stepped(
        streams[0, g], streams[1, g], streams[2, g], streams[3, g]
    )
    return u


@kernel
def _factorial_tail(k: float) -> float:
    """Return ln k! − [(k + ½) ln(k + 1) − (k + 1) + ½ ln 2π]."""
    z = k + 1.0
    if k < 10.0:
        return math.lgamma(z) - ((k + 0.5) * math.log(z) - z + 0.91893853320467274178)
    inverse = 1.0 / z
    square = inverse * inverse
    return inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0)))


@kernel
def _binomial_by_inversion(n: float, p: float, state: Any) -> float:
    """Draw by walking up the distribution function: np + 1 steps on average, used where np < 10."""
    q = 1.0 - p
    odds = p / q
    most = min(n, 110.0)  # P(X > 110) < 10⁻⁷⁰ where np < 10; without it a sliver of u would walk through all n
    none = math.exp(n * math.log1p(-p))  # P(0) = qⁿ
    while True:
        u = uniform(state)
        k, mass = 0.0, none
        while u > mass and k <= most:
            u -= mass
            k += 1.0
            mass *= odds * (n - k + 1.0) / k
        if k <= most:  # else rounding left a sliver beyond the last value: draw again
            return k


@kernel
def _ratio_to_mode(k: float, m: float, n: float, p: float) -> float:
    """Return ln P(k)/P(m), with log1p of small quotients.

    So its error stays near 10⁻¹⁰ even at n = 10¹², where differences of log-factorials would have lost it.
    """
    j = k - m
    return (
        j * math.log(p / (1.0 - p) * (n - k + 1.0) / (k + 1.0))
        - (m + 0.5) * math.log1p(j / (m + 1.0))
        - (n - m + 0.5) * math.log1p(-j / (n - m + 1.0))
        + _factorial_tail(m)
        - _factorial_tail(k)
        + _factorial_tail(n - m)
        - _factorial_tail(n - k)
    )


@kernel
def _factors_between(low: float, high: float, n: float, p: float) -> tuple[float, float]:
    """Return P(high)/P(low) as numerator and denominator: Π (n − i + 1)p and Π i(1 − p), both over np."""
    scale = 1.0 / (n * p)
    up, down = scale * p, scale * (1.0 - p)
    above, below, i = 1.0, 1.0, low
    while i < high:
        above *= (n - i) * up
        i += 1.0
        below *= i * down
    return above, below


@kernel
def _exp_below(x: float) -> float:
    """Return a number just below exp(x) for x ≤ 0: the third Taylor sum at x/8, a lower bound, to the 8th power."""
    y = 0.125 * x
    z = max(1.0 + y * (1.0 + y * (0.5 + y * (1.0 / 6.0))), 0.0)
    z *= z
    z *= z
    return z * z


@kernel
def _exp_above(x: float) -> float:
    """Return a number just above exp(x) for x ≤ 0: the fourth Taylor sum at x/8, an upper bound, to the 8th power."""
    y = 0.125 * x
    z = 1.0 + y * (1.0 + y * (0.5 + y * (1.0 / 6.0 + y * (1.0 / 24.0))))
    z *= z
    z *= z
    return z * z


@kernel
def _binomial_by_rejection(n: float, p: float, state: Any) -> float:
    """Draw by Hörmann's transformed rejection BTRS (J. Stat. Comput. Simul. 46, 1993) for p ≤ ½, np ≥ 10.

    Three draws in four end at the first `return`. Near the mode m the ratio P(k)/P(m) is a short product; farther
    out most are decided by its bounds exp(t ± ρ) in BTPE (Kachitvichyanukul and Schmeiser, CACM 31, 1988).
    """
    variance = n * p * (1.0 - p)
    spread = math.sqrt(variance)
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre = n * p + 0.5
    while True:
        u = uniform(state) - 0.5
        v = uniform(state)
        us = 0.5 - abs(u)
        k = math.floor((2.0 * a / us + b) * u + centre) * 1.0
        if (us >= 0.07) & (v * b <= 0.92 * b - 4.2):
            return k
        if us <= 0.0 or k < 0.0 or k > n:
            continue
        v *= (2.83 * b + 5.1) * spread * us * us
        hat = b * (a + b * us * us)  # accept where v ≤ hat · P(k)/P(m)
        m = math.floor((n + 1.0) * p) * 1.0
        j = abs(k - m)
        if j <= PRODUCT:
            above, below = _factors_between(min(k, m), max(k, m), n, p)
            if (v * below <= hat * above) if k > m else (v * above <= hat * below):
                return k
            continue
        if j < 0.5 * variance - 1.0:
            part = j / variance
            t = -0.5 * j * part
            rho = part * ((part * (1.0 / 3.0) + 0.625 / variance) * j + (1.0 / 6.0) / variance + 0.5)
            if v <= hat * _exp_below(t - rho):
                return k
            if t + rho <= 0.0 and v >= hat * _exp_above(t + rho):
                continue
        if v <= hat * math.exp(_ratio_to_mode(k, m, n, p)):
            return k


@kernel
def binomial(n: float, p: float, state: Any) -> float:
    """Draw the successes in `n` trials of probability `p`, exactly distributed, in O(1)."""
    if p <= 0.0 or n <= 0.0:
        return 0.0
    if p >= 1.0:
        return n
    if n == 1.0:
        return 1.0 if uniform(state) < p else 0.0
    small = min(p, 1.0 - p)
    if n * small < 10.0:
        k = _binomial_by_inversion(n, small, state)
    else:
        k = _binomial_by_rejection(n, small, state)
    return k if p <= 0.5 else n - k


class Stream:
    """A stream as an object: the family `name` under `seed`, number `replication`.

    Parameters
    ----------
    seed
        The seed.
    name
        The family of streams.
    replication
        Which of the family, from 0.

    Examples
    --------
    >>> Stream(7, "demo").uniform() == Stream(7, "demo").uniform()
    True
    """

    def __init__(self, seed: object, name: str, replication: int = 0) -> None:
        number = whole_number("replication", replication, least=0, most=LAST_REPLICATION)
        self.state = started(stream_key(check_seed(seed), name), number)

    def uniform(self) -> float:
        """Return the next number in [0, 1)."""
        return uniform(self.state)


# Random numbers of distributions other than the uniform: normal, gamma and beta, from a state the caller owns.
#
# All three are rejection methods: exact up to the rounding of doubles, without tables.


@kernel
def normal(state: Any) -> float:
    """Draw with mean 0 and variance 1 by Marsaglia's polar method (SIAM Review 6, 1964), one number of each pair."""
    while True:
        x = 2.0 * uniform(state) - 1.0
        y = 2.0 * uniform(state) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@kernel
def gamma(shape: float, state: Any) -> float:
    """Draw with scale 1 and a `shape` of at least 1 by Marsaglia and Tsang's method (ACM TOMS 26, 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(state)
        root = 1.0 + c * x
        if root > 0.0:
            v = root * root * root
            u = 1.0 - uniform(state)  # in (0, 1]: its logarithm is finite
            if u < 1.0 - 0.0331 * x * x * x * x or math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
                return d * v


@kernel
def beta(a: float, b: float, state: Any) -> float:
    """Draw the share of the first of two gammas; `a` and `b` are at least 1."""
    x = gamma(a, state)
    return x / (x + gamma(b, state))


# Losses keyed by game, arm and round: the same whatever is played and in whatever blocks.

_HALF, _QUARTER, _SIXTEENTH = (_U(s) for s in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F))
_BYTES, _NONE, _ALL = _U(0x0101010101010101), _U(0), _U(0xFFFFFFFFFFFFFFFF)
_S1, _S2, _S4, _S56, _S63 = (_U(s) for s in (1, 2, 4, 56, 63))
_FEW = 7


@kernel
def mixed(z: Any) -> Any:
    """Return the bijection of 64 bits that ends SplitMix64."""
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@kernel
def ones(z: Any) -> int:
    """Count the bits of a word that are 1."""
    z = z - ((z >> _S1) & _HALF)
    z = (z & _QUARTER) + ((z >> _S2) & _QUARTER)
    z = (z + (z >> _S4)) & _SIXTEENTH
    return int((z * _BYTES) >> _S56)


@kernel
def keyed(streams: Any, g: int, arm: int, count: int) -> Any:
    """Return the word of game g that belongs to an arm and a count, by the start of its stream."""
    z = mixed(streams[0, g] + _U(count) * _GOLDEN)
    return mixed((z ^ streams[1, g]) + _U(arm) * _MIX_1)


@kernel
def start_keyed(streams: Any, g: int, arm: int, t: int) -> None:
    """Put the second stream of game g, below the first, at the start of that of an arm and a round."""
    z = keyed(streams, g, arm, t)
    for i in range(STATE_SIZE):
        z = z + _GOLDEN
        streams[STATE_SIZE + i, g] = mixed(z)


@kernel
def keyed_losses(streams: Any, g: int, arm: int, p: float, start: int, stop: int) -> float:
    """Count the rounds of [start, stop) in which the arm loses 1, each with probability p.

    64 rounds share words, one bit each: the first word has the first bits of their uniform numbers, the next one the
    second. Few words decide whether each number is below p; where p is ½, one does.
    """
    threshold = _U(math.ceil(p * 2.0**BITS))
    found, t = 0, start
    while t < stop:
        group = t >> 6
        last = min(stop, (group + 1) << 6)
        undecided = (_ALL << (_U(t) & _S63)) & (_ALL >> (_S63 - (_U(last - 1) & _S63)))
        below = undecided if threshold >> _U(BITS) != _NONE else _NONE  # p = 1
        undecided = undecided & ~below
        z, rest, words = keyed(streams, g, arm, group), threshold << _U(64 - BITS), 0
        while words < _FEW or (undecided != _NONE and rest != _NONE):  # mostly the few: no branch to mispredict
            z = z + _GOLDEN
            word, bit = mixed(z), _NONE - (rest >> _S63)
            below = below | (undecided & ~word & bit)
            undecided = undecided & ~(word ^ bit)
            rest = rest << _S1
            words += 1
        found += ones(below)
        t = last
    return float(found)


# Binomial draws from precomputed alias tables: no rejection, hence no mispredicted branch.
#
# A game draws millions of block totals from few distributions: a handful of means, and block lengths that change
# slowly. Two lookups in a table of some 200 entries (Walker's alias method, in Vose's form, IEEE TSE 17, 1991) take a
# fifth of the time of a rejection on a CPU, and on a GPU no thread waits for another's rejections.

MOST_TRIALS = 1023
"""Largest number of trials with a table."""

MOST_MEANS = 8
"""Different means of one environment that get tables, about 2 MB and a millisecond or two each."""

CERTAIN, TABLED, NEITHER = range(3)
"""Ways to draw the losses of a phase: all its means are 0 or 1; all others have tables; or neither."""

UNIT = 2.0**BITS
"""Unit of shares, which are whole numbers of 2⁻⁵³, like uniform numbers."""

ALIAS_BITS, FIRST_BITS, SIZE_BITS = 10, 10, 11
"""Packing: a column is one number, its share and then its alias; a row is one, its start, its size and its first value.
So a draw waits for memory twice, not five times.
"""

SPREADS = 8.5
"""Half width of a table in standard deviations (and a few values more); the rest is below 2⁻⁵³."""


@kernel
def _first_and_last(n: int, p: float) -> tuple[int, int]:
    """Return the first and last value that the table of `n` trials covers."""
    reach = SPREADS * math.sqrt(n * p * (1.0 - p)) + 4.0 + 12.0 * abs(1.0 - 2.0 * p)
    return max(0, int(n * p - reach)), min(n, int(n * p + reach) + 1)


@kernel
def _row(packed: int) -> tuple[int, int, int]:
    """Return the start of a row among the columns, its size, and its first value."""
    begin = packed >> (SIZE_BITS + FIRST_BITS)
    size = (packed >> FIRST_BITS) & ((1 << SIZE_BITS) - 1)
    return begin, size, packed & ((1 << FIRST_BITS) - 1)


@kernel
def _fill(p: float, rows: Any, mass: Any, order: Any, columns: Any) -> None:
    """Fill the alias tables of all numbers of trials; `mass` and `order` are scratch.

    Masses come from ratios of neighbours outward from the mode. Columns of less than average mass are topped up, one
    after the other, from those of more.
    """
    odds = p / (1.0 - p)
    full = (1 << BITS) - 1  # and the alias of a full column is itself
    for n in range(len(rows)):
        begin, size, first = _row(rows[n])
        mode = min(max(int((n + 1) * p) - first, 0), size - 1)
        mass[mode] = total = 1.0
        for i in range(mode + 1, size):
            k = first + i
            mass[i] = mass[i - 1] * (odds * (n - k + 1) / k)
            total += mass[i]
        for i in range(mode - 1, -1, -1):
            k = first + i
            mass[i] = mass[i + 1] * ((k + 1) / (odds * (n - k)))
            total += mass[i]
        light, heavy = 0, size  # stacks at both ends of `order`
        for i in range(size):
            mass[i] *= size / total
            columns[begin + i] = full << ALIAS_BITS | i
            if mass[i] < 1.0:
                order[light] = i
                light += 1
            else:
                heavy -= 1
                order[heavy] = i
        while light > 0 and heavy < size:
            light -= 1
            poor, rich = order[light], order[heavy]
            columns[begin + poor] = int(mass[poor] * UNIT) << ALIAS_BITS | rich
            mass[rich] -= 1.0 - mass[poor]
            if mass[rich] < 1.0:
                heavy += 1
                order[light] = rich
                light += 1


@kernel
def _lay_out(p: float, begin: int, rows: Any) -> int:
    """Write the start, size and first value of the row of each number of trials; return where the last one ends."""
    for n in range(rows.shape[0]):
        first, last = _first_and_last(n, p)
        size = last - first + 1
        rows[n] = (begin << SIZE_BITS | size) << FIRST_BITS | first
        begin += size
    return begin


@lru_cache(maxsize=64)
def _tables_of(means: tuple[float, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns for these means, computed once per process."""
    rows = np.zeros((max(len(means), 1), MOST_TRIALS + 1), dtype=np.int64)
    end = 0
    for kind, p in enumerate(means):
        end = _lay_out(p, end, rows[kind])
    columns = np.zeros(max(end, 1), dtype=np.int64)
    for kind, p in enumerate(means):
        arrays = rows[kind], np.zeros(MOST_TRIALS + 1), np.zeros(MOST_TRIALS + 1, dtype=np.int64)
        # Without the compiler lists are four times as fast.
        row, mass, order = (array if COMPILED else array.tolist() for array in arrays)
        _fill(p, row, mass, order, columns)
    return rows, columns


def binomial_tables(means: NDArray[np.float64]) -> tuple[NDArray[np.int64], ...]:
    """Return how the arms of each phase are drawn; the table of each mean (−1: none); the tables' rows and columns.

    Row n of a table has, for each relevant value of n trials, a column with its own share and the owner of the rest.
    """
    inner = [float(p) for p in np.unique(means) if 0.0 < p < 1.0][:MOST_MEANS]
    kinds = np.full(means.shape, -1, dtype=np.int64)
    for kind, p in enumerate(inner):
        kinds[means == p] = kind
    certain = (means == 0.0) | (means == 1.0)
    ways = np.where(certain.all(axis=1), CERTAIN, np.where((certain | (kinds >= 0)).all(axis=1), TABLED, NEITHER))
    return ways, kinds, *_tables_of(tuple(inner))


@kernel
def binomial_from_table(rows: Any, columns: Any, kind: int, n: int, u: float) -> float:
    """Return the value of the column in which `u` in [0, 1) falls, or its alias if the rest of `u` exceeds its share.

    In integers: the sign of a difference, as a mask, chooses without a branch that could be mispredicted.
    """
    begin, size, first = _row(rows[kind, n])
    spread = int(u * UNIT) * size
    column = spread >> BITS
    packed = columns[begin + column]
    own = ((spread & ((1 << BITS) - 1)) - (packed >> ALIAS_BITS)) >> 63  # all ones if the value is the column's own
    other = packed & ((1 << ALIAS_BITS) - 1)
    return float(first + (other ^ ((other ^ column) & own)))
