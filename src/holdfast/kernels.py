"""The names that a kernel may use: the parts of user-defined policies and environments.

`kernel` marks a function for the compiler. `Scalar`, `PerArm`, `Scratch`, `ScratchPerArm` declare named state, and
`several` of them under one name, `Range` and its kinds what saved numbers may be, `Array` a table. `Kernels`
names two kernels with their state, block and parameters. `next_uniform(streams, g)` is the next number in
[0, 1) of game g; `uniform(stream)` and `normal(stream)` draw from a single stream, ``streams[:, g]``.
`whole_rounds(a)` is ⌈a⌉ that forgives rounding.

`docs/new_policy.md` and `docs/new_environment.md` use nothing else.
"""

from holdfast._numba.compile import COMPILED, kernel
from holdfast.numerics.layout import (
    ArmIndex,
    Array,
    Flag,
    NonNegative,
    PerArm,
    Positive,
    Probability,
    Range,
    Scalar,
    Scratch,
    ScratchPerArm,
    Whole,
    several,
)
from holdfast.numerics.random import next_uniform, normal, uniform
from holdfast.numerics.schedules import whole_rounds
from holdfast.policies.policy import Kernels

__all__ = [
    "COMPILED",
    "ArmIndex",
    "Array",
    "Flag",
    "Kernels",
    "NonNegative",
    "PerArm",
    "Positive",
    "Probability",
    "Range",
    "Scalar",
    "Scratch",
    "ScratchPerArm",
    "Whole",
    "kernel",
    "next_uniform",
    "normal",
    "several",
    "uniform",
    "whole_rounds",
]
