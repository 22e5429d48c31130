"""A kernel may do with a row of its state or block all that it may do with an array, with the same result."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import holdfast as hf
from holdfast.kernels import Kernels, PerArm, Scalar, ScratchPerArm, kernel

pytestmark = pytest.mark.plain

K = 5


class Tried(NamedTuple):
    values: PerArm
    found: PerArm
    count: Scalar  # type: ignore[assignment]  # also a method of tuples
    spare: ScratchPerArm


class Plain(NamedTuple):
    arm: Scalar
    rounds: Scalar
    probability: Scalar


@kernel
def fill(values: Any) -> None:
    """Some numbers, written in every way an element can be."""
    for i in range(values.shape[0]):
        values[i, 0] = (7 * i + 3) % 5  # a whole number into a place of real ones
    values[-1, 0] += 0.5
    values[np.uint64(1), -1] -= 0.25
    for row in values[2:4]:
        row[0] *= 2.0
    values[0][0] = 8


@kernel
def elements(values: Any, found: Any) -> None:
    found[0, 0] = values[-2, 0]
    found[1, 0] = values[1][0]
    found[2, 0] = values[np.int32(2), np.int8(-1)]
    found[3, 0] = values[:, 0][3]
    found[4, 0] = values[1:, 0][-1]


@kernel
def sums(values: Any, found: Any) -> None:
    found[0, 0] = values.sum()
    found[1, 0] = np.argmin(values[:, 0])
    found[2, 0] = max(values[0, 0], values[1][0])
    found[3, 0] = values.size + 10 * len(values) + 100 * values.ndim
    total = 0.0
    for row in values:
        for number in row:
            total += number * number
    found[4, 0] = total


@kernel
def scalars(count: Any, values: Any, found: Any) -> None:
    count[0] = 3
    count[-1] += 0.5
    found[0, 0] = count[0]
    found[1, 0] = count.shape[0] + 10 * count.size
    count[:] = 7.0
    found[2, 0] = count[np.uint8(0)]
    kept = count if values[0, 0] > 0 else values[:, 0]
    found[3, 0] = kept[0]
    found[4, 0] = len(count)


@kernel
def parts(values: Any, found: Any) -> None:
    """A name that is rows on one way and a part of them on the other."""
    z = values
    while z.shape[0] > 2:
        z = z[1:]
    found[0, 0] = z[0, 0]
    y = values
    if values[0, 0] > 0.0:
        y = values[3:]
    found[1, 0] = y[0, 0]
    x = found[2]
    if values[0, 0] > 0.0:
        x = values[4]
    found[2, 0] = x[0]
    strided = values[::2]
    found[3, 0], found[4, 0] = strided[1, 0], strided.shape[0]


@kernel
def observe(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Nothing is learnt."""


def chooser(tried: str) -> Any:
    trial = {"elements": elements, "sums": sums, "parts": parts}.get(tried)

    if trial is None:

        @kernel
        def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
            fill(state.values)
            scalars(state.count, state.values, state.found)
            block.arm[0], block.rounds[0], block.probability[0] = 0, 1, 1

    else:

        @kernel
        def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
            fill(state.values)
            trial(state.values, state.found)
            state.spare[:] = 1.0
            block.arm[0], block.rounds[0], block.probability[0] = 0, 1, 1

    return choose


@dataclass(frozen=True)
class Trial(hf.Policy):
    id: ClassVar[str] = "trial"
    tried: str = "sums"

    @property
    def kernels(self):
        return Kernels(chooser(self.tried), observe, Tried, Plain)

    def probabilities(self, params, state, block):
        return np.array([*state.values[:], *state.found[:]])


VALUES = [8.0, -0.25, 4.0, 8.0, 1.5]
FOUND = {
    "elements": [8.0, -0.25, 4.0, 8.0, 1.5],
    "sums": [sum(VALUES), 1.0, 8.0, 5 + 50 + 200, sum(v * v for v in VALUES)],
    "parts": [8.0, 8.0, 1.5, 4.0, 3.0],
    "scalars": [3.5, 11.0, 7.0, 7.0, 1.0],
}


@pytest.mark.slow
@pytest.mark.parametrize("tried", FOUND)
def test_a_row_is_an_array(tried):
    player = Trial(K, tried=tried).player(seed=1)
    player.ask()
    seen = player.probabilities
    assert seen.tolist() == VALUES + FOUND[tried]
