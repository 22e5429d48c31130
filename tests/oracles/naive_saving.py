"""The comparison with a held-back rule, unit by unit, as the head of `decisions/holdout.py` has it."""

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.decisions.holdout import radius


class Unit(NamedTuple):
    cost: float
    size: float
    share: float
    """π, with which it was the rule's."""
    held: bool
    span: float
    """Its highest possible cost less its lowest."""


def saving_of(units: Sequence[Unit], low: float, error: float = 0.05) -> tuple[float, float, float]:
    """Σ D_t/Σ w_t and its interval, which has four fifths of the error; no unit costs less than `low`."""
    total = variance = whole = 0.0
    means = {held: [low + units[0].span / 2, 1.0] for held in (True, False)}
    for cost, size, share, held, _ in units:
        policy, rule = (means[who][0] / means[who][1] for who in (False, True))
        off = (rule - cost) / share if held else (cost - policy) / (1.0 - share)
        total, variance, whole = total + size * (policy - rule + off), variance + (size * off) ** 2, whole + size
        means[held][0] += size * cost
        means[held][1] += size
    spans = [unit.span / min(unit.share, 1.0 - unit.share) for unit in units]
    largest = max(unit.size * span / spans[0] for unit, span in zip(units, spans, strict=True))
    half = float(radius(variance, spans[0], 0.8 * error, largest))
    return total / whole, (total - half) / whole, (total + half) / whole
