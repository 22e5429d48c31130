"""Losses keyed by replication, arm and round, in whole numbers: one bit of one word after the other."""

from fractions import Fraction

WORD = 2**64
GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mixed(z: int) -> int:
    """The finaliser of SplitMix64."""
    z = (z ^ z >> 30) * FIRST % WORD
    z = (z ^ z >> 27) * SECOND % WORD
    return z ^ z >> 31


def loss(key: tuple[int, int], arm: int, p: float, t: int) -> int:
    """The loss of an arm in round t: 1 if a number of 53 bits, bit t mod 64 of as many words, is below p."""
    z = mixed((mixed((key[0] + t // 64 * GOLDEN) % WORD) ^ key[1]) + arm * FIRST & WORD - 1)
    number = Fraction(0)
    for place in range(1, 54):
        z = (z + GOLDEN) % WORD
        number += Fraction(mixed(z) >> t % 64 & 1, 2**place)
    return int(number < Fraction(p))
