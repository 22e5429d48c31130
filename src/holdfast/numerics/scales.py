"""Scales that turn measurements (latency, price, errors) into a loss between 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from holdfast.checks import number_range, real_number
from holdfast.errors import TRUTH, Form, InvalidParameter, Set, Words, nearest

RESERVED = ("arm", "clip", "deadline", "error", "failed", "id", "in_time", "loss", "losses", "reward", "rounds")
"""Names that a measure cannot have, because `tell` uses them."""


@dataclass(frozen=True, init=False)
class Scale:
    """Rule that turns measurements into a loss: declared once, stored with a game.

    A measurement at `low` adds nothing, one at `high` adds its whole weight; in between it is linear, and outside it is
    clipped. Weights are divided by their sum, so that a loss lies between 0 and 1. An error has a loss of its own.

    Parameters
    ----------
    error
        The loss of a round that failed, whatever else was measured.
    measures
        For each measure by name ``(low, high)`` or ``(low, high, weight)``, in the units in which it is measured; the
        weight is 1 if not given. Lower is better.

    Examples
    --------
    >>> scale = Scale(latency=(0.2, 8.0, 3), price=(0, 0.02, 1), error=1.0)
    >>> round(scale.loss(latency=1.3, price=0.004), 4)
    0.1558
    >>> scale.loss(error=True)
    1.0
    >>> scale.difference(price=0.004)  # what a switch costs that makes one request 0.004 more expensive: λ
    0.05
    """

    measures: Mapping[str, tuple[float, float, float]]
    """Lowest value, highest value and share of the loss for each measure; shares sum to 1."""
    error: float

    def __init__(self, /, *, error: float = 1.0, **measures: Sequence[float]) -> None:
        object.__setattr__(self, "error", real_number("error", error, least=0, most=1))
        if not measures:
            rule = "must be given by name, such as latency=(0.2, 8.0) in seconds"
            raise InvalidParameter("measures", rule, None)
        found = {name: _checked(name, value) for name, value in measures.items()}
        whole = math.fsum(weight for _, _, weight in found.values())
        shares = {name: (low, high, weight / whole) for name, (low, high, weight) in found.items()}
        object.__setattr__(self, "measures", MappingProxyType(shares))

    def __hash__(self) -> int:
        return hash((self.error, frozenset(self.measures.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return Scale.from_settings, (self.settings(),)

    def __repr__(self) -> str:
        parts = [f"{name}=({low:g}, {high:g}, {share:g})" for name, (low, high, share) in self.measures.items()]
        return f"Scale({', '.join(parts)}, error={self.error:g})"

    def loss(self, /, *, error: bool = False, **values: float) -> float:
        """Return the loss of a round: every measure must be given, unless it is an error."""
        if not isinstance(error, (bool, np.bool_)):
            raise InvalidParameter("error", Words("must be ", TRUTH), error)
        numbers = self._numbers(values)
        if error:
            return self.error
        for name in self.measures:
            if name not in numbers:
                raise InvalidParameter(name, Words("must be given, or ", Set("error", True, verb="")), None)
        parts = (self._part(name, value, 0.0, 1.0) for name, value in numbers.items())
        return min(math.fsum(parts), 1.0)

    def difference(self, /, **values: float) -> float:
        """Convert extra latency, price, … caused by a switch into a switching cost λ, without clipping.

        >>> Scale(latency=(0, 10), price=(0, 0.02)).difference(latency=2.0, price=0.004)
        0.2
        """
        numbers = self._numbers(values)
        return math.fsum(self._part(name, self.measures[name][0] + value) for name, value in numbers.items())

    def clipped(self, /, **values: float) -> tuple[str, ...]:
        """Return the measures whose value lies outside its range: to count them, and to verify units."""
        ends = ((name, value, self.measures[name]) for name, value in self._numbers(values).items())
        return tuple(name for name, value, (low, high, _) in ends if not low <= value <= high)

    @classmethod
    def from_records(
        cls,
        *,
        quantiles: tuple[float, float] = (0.01, 0.99),
        weights: Mapping[str, float] | None = None,
        error: float = 1.0,
        **records: Sequence[float],
    ) -> Scale:
        """Return a scale whose ranges are quantiles of old records, so that outliers do not flatten the others.

        Parameters
        ----------
        quantiles
            Which ones: with (0.01, 0.99) one record in a hundred is clipped at each end.
        weights
            By measure; 1 if not given.
        error
            The loss of a round that failed.
        records
            For each measure the values that were seen, of all arms together.

        Examples
        --------
        >>> Scale.from_records(latency=range(101), price=range(0, 1010, 10), quantiles=(0, 0.9))
        Scale(latency=(0, 90, 0.5), price=(0, 900, 0.5), error=1)
        """
        given = dict(weights or {})
        for name in given:
            if name not in records:
                raise InvalidParameter("weights", f"must be of measures that are given{nearest(name, records)}", name)
        low, high = number_range("quantiles", quantiles)
        if not 0.0 <= low < high <= 1.0:
            raise InvalidParameter("quantiles", "must be from 0 to 1, the first smaller", quantiles)
        measures = {}
        for name, values in records.items():
            seen = np.asarray(values, dtype=np.float64)
            if seen.ndim != 1 or len(seen) == 0 or not np.isfinite(seen).all():
                raise InvalidParameter(name, "must be finite numbers that were measured, at least one", values)
            ends = np.quantile(seen, [low, high], method="inverted_cdf").tolist()
            if ends[0] == ends[1]:
                rule = "must differ between the two quantiles: give (low, high) to Scale instead"
                raise InvalidParameter(name, rule, ends[0])
            measures[name] = (*ends, given.get(name, 1.0))
        return cls(error=error, **measures)

    def settings(self) -> dict[str, Any]:
        """Return the scale as plain values for JSON; `from_settings` restores it."""
        return {"error": self.error, "measures": {name: list(parts) for name, parts in self.measures.items()}}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Scale:
        """Return the scale that these settings describe."""
        if not isinstance(settings, Mapping) or settings.keys() != {"error", "measures"}:
            raise InvalidParameter("settings", "must be what Scale.settings() returned", settings)
        if not isinstance(settings["measures"], Mapping):
            raise InvalidParameter("measures", "must be ranges by name", settings["measures"])
        scale = cls(error=settings["error"], **settings["measures"])
        # Shares are stored as they are: dividing by their sum again could change them in the last digit.
        exact = {name: (low, high, settings["measures"][name][2]) for name, (low, high, _) in scale.measures.items()}
        object.__setattr__(scale, "measures", MappingProxyType(exact))
        return scale

    def _part(self, name: str, value: float, least: float = -math.inf, most: float = math.inf) -> float:
        low, high, share = self.measures[name]
        return share * min(max((value - low) / (high - low), least), most)

    def _numbers(self, values: Mapping[str, object]) -> dict[str, float]:
        """Return finite numbers by the name of a measure."""
        for name, value in values.items():
            if name not in self.measures:
                known = ", ".join(map(repr, self.measures))
                rule = f"is not a measure of this scale, which has {known}{nearest(name, self.measures)}"
                raise InvalidParameter(name, rule, value)
        return {name: real_number(name, value) for name, value in values.items()}


def _checked(name: str, value: object) -> tuple[float, float, float]:
    if name in RESERVED:
        raise InvalidParameter(name, f"is not a name for a measure: {', '.join(RESERVED)} mean something else", value)
    if not isinstance(value, (tuple, list)) or len(value) not in (2, 3):
        written = "[low, high] or [low, high, weight]", f"{name}=low:high or {name}=low:high:weight"
        raise InvalidParameter(name, Words("must be ", Form("(low, high) or (low, high, weight)", *written)), value)
    low, high = number_range(name, tuple(value[:2]))
    return low, high, real_number(f"weight of {name}", value[2], above=0) if len(value) == 3 else 1.0
