"""The paths that are mixed where none are named, and paths by their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.checks import class_at, made, one_of
from holdfast.errors import InvalidParameter
from holdfast.policies.forecast_path import GivenForecast
from holdfast.policies.path import HORIZON, Path
from holdfast.policies.seasonal_paths import FoundSeason, SeasonalPlan
from holdfast.policies.simple_paths import FixedArm, Smoothed, WorkFunction

PATHS: Mapping[str, type[Path]] = {
    kind.id: kind for kind in (FixedArm, WorkFunction, Smoothed, SeasonalPlan, FoundSeason, GivenForecast)
}
"""Each path id with its class."""

WORK = ((1.0, 0.0), (4.0, 0.0), (16.0, 0.0), (1.0, 16.0))
MEANS = ((1.0, HORIZON), (0.3, HORIZON), (0.1, 4 * HORIZON), (0.02, HORIZON))
SEASON_WEIGHTS = (1.0, 0.15)


def default_paths(n_arms: int, periods: Sequence[int] | None = None, forecast_rounds: int = 48) -> tuple[Path, ...]:
    """Every fixed arm, work functions, plans on smoothed and seasonal losses and on given forecasts.

    Parameters
    ----------
    n_arms
        The number of arms K.
    periods
        Rounds after which losses repeat, such as 24 for hours; none, if it is empty. Without it a period is looked for.
    forecast_rounds
        The most rounds of a given forecast that are looked at; 0 where none are given.

    Examples
    --------
    >>> [path.id for path in default_paths(2, forecast_rounds=0)][:4]
    ['fixed-arm', 'fixed-arm', 'work-function', 'work-function']
    """
    paths: list[Path] = [FixedArm(arm) for arm in range(n_arms)]
    paths += [WorkFunction(scale, least) for scale, least in WORK]
    paths += [Smoothed(weight, horizon) for weight, horizon in MEANS]
    if periods is None:
        paths.append(FoundSeason())
    else:
        paths += [SeasonalPlan(period, weight) for period in periods for weight in SEASON_WEIGHTS]
    return (*paths, *([GivenForecast(forecast_rounds)] if forecast_rounds else []))


def made_path(given: object) -> Path:
    """A path, or one from its settings by name: ``{"path": "work-function", "scale": 2}``."""
    if isinstance(given, Path):
        return given
    if not isinstance(given, Mapping):
        raise InvalidParameter("paths", "must be paths such as holdfast.paths.WorkFunction(2)", given)
    values = dict(given)
    name = values.pop("path", None)
    if isinstance(name, str) and ":" in name:
        return made(class_at("path", name, Path), name, values)  # type: ignore[type-abstract]  # only compared with
    return made(PATHS[one_of("path", name, PATHS)], str(name), values)
