"""The paths that `AdaptiveHedgeSwitch` mixes, and what one of your own is made of.

A path is a frozen dataclass derived from `Path` with two kernels, `step` and `learn` (`PathKernels`); `price`,
`cheapest_move` and `first_step` are kernels that it may call. ``docs/visible.md`` has an example.
"""

from holdfast.policies.experts import (
    FixedArm,
    FoundSeason,
    GivenForecast,
    Path,
    PathKernels,
    SeasonalPlan,
    Smoothed,
    WorkFunction,
    cheapest_move,
    default_paths,
    first_step,
    price,
)

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
