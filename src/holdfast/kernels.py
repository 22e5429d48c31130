"""What a policy or an environment of one's own is made of: the names a kernel may use.

`kernel` marks a function for the compiler. `Scalar`, `PerArm`, `Scratch` and `ScratchPerArm` declare named state,
`several` of them share a name;
`Kernels` ties two kernels to the state and the block they speak of. `uniform_abreast(streams, g)` is the next number in
[0, 1) of game g; `uniform(stream)` that of a single stream. `whole_rounds(a)` is ⌈a⌉ that forgives rounding.

`docs/new_policy.md` and `docs/new_environment.md` use nothing else.
"""

from holdfast._numba.compile import COMPILED, kernel
from holdfast.layouts import PerArm, Scalar, Scratch, ScratchPerArm, several
from holdfast.policies.policy import Kernels
from holdfast.rng import uniform, uniform_abreast
from holdfast.schedules import whole_rounds

__all__ = [
    "COMPILED",
    "Kernels",
    "PerArm",
    "Scalar",
    "Scratch",
    "ScratchPerArm",
    "kernel",
    "several",
    "uniform",
    "uniform_abreast",
    "whole_rounds",
]
