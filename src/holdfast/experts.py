"""The experts that `AdaptiveHedgeSwitch` mixes, and what one of your own is made of.

An expert is a frozen dataclass derived from `Expert` with two kernels, `step` and `learn` (`ExpertKernels`); `price`,
`cheapest_move` and `first_step` are kernels that it may call. ``docs/full_information.md`` has an example.
"""

from holdfast.policies.experts import (
    Expert,
    ExpertKernels,
    FixedArm,
    FoundSeason,
    GivenForecast,
    SeasonalPlan,
    Smoothed,
    WorkFunction,
    cheapest_move,
    default_experts,
    first_step,
    price,
)

__all__ = [
    "Expert",
    "ExpertKernels",
    "FixedArm",
    "FoundSeason",
    "GivenForecast",
    "SeasonalPlan",
    "Smoothed",
    "WorkFunction",
    "cheapest_move",
    "default_experts",
    "first_step",
    "price",
]
