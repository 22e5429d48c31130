"""The paths that `AdaptiveHedgeSwitch` mixes, and what one of your own is made of.

A path is a frozen dataclass derived from `Path` with two kernels, `step` and `learn` (`PathKernels`); `price`,
`cheapest_move` and `first_step` are kernels that it may call. ``docs/visible.md`` has an example.
"""

from holdfast.policies.default_paths import default_paths
from holdfast.policies.forecast_path import GivenForecast
from holdfast.policies.path import Path, PathKernels, cheapest_move, first_step, price
from holdfast.policies.seasonal_paths import FoundSeason, SeasonalPlan
from holdfast.policies.simple_paths import FixedArm, Smoothed, WorkFunction

__all__ = [
    "FixedArm",
    "FoundSeason",
    "GivenForecast",
    "Path",
    "PathKernels",
    "SeasonalPlan",
    "Smoothed",
    "WorkFunction",
    "cheapest_move",
    "default_paths",
    "first_step",
    "price",
]
