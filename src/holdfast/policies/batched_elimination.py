"""Batched elimination of Esfandiari et al.: every arm still active is held for a number of rounds that grows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from holdfast.checks import whole_number
from holdfast.policies.elimination import Elimination, EliminationParams
from holdfast.schedules import floor_power


@dataclass(frozen=True)
class BatchedElimination(Elimination):
    """Batched arm elimination (Esfandiari, Karbasi, Mehrabian and Mirrokni, AAAI 2021). It must know the horizon T.

    With q = T^{1/B}, in batch i < B every active arm is held for ⌊q^i⌋ rounds, one after the other; then an arm is
    dropped when its mean loss exceeds the least by √(2 ln(2KTB)/c_i), c_i the rounds each active arm has had. The last
    batch, or one for which too few rounds are left, commits to the best mean. Regret O(T^{1/B} ln T Σ 1/Δ_i) for
    independent losses, with at most KB switches; no guarantee for others.

    A reconstruction: batches and threshold are the paper's as we know them from its abstract and from public code.
    BaSE differs in its batches, which all active arms share, and in its threshold. Past the horizon it stays with its
    arm.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    horizon
        T, the number of rounds that will be played.
    batches
        B; 0 stands for ⌈ln T⌉, with which q is about e and the regret of the best order.

    Examples
    --------
    >>> BatchedElimination(8, horizon=100_000).batches
    12
    """

    id: ClassVar[str] = "batched-elimination"
    order: ClassVar[str] = "index"  # type: ignore[misc]  # BaSE's is a field

    batches: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        batches = whole_number("batches", self.batches, least=0, most=self.horizon)
        self._set("batches", batches or max(1, math.ceil(math.log(self.horizon))))

    @property
    def shares(self) -> tuple[int, ...]:
        """⌊q^i⌋ for i = 1 … B: rounds of each active arm in batch i."""
        return tuple(floor_power(self.horizon, Fraction(i, self.batches)) for i in range(1, self.batches + 1))

    def parameters(self) -> EliminationParams:
        """The shares, in the order of the arms."""
        return EliminationParams(
            horizon=float(self.horizon),
            threshold=2.0 * math.log(2.0 * self.n_arms * self.horizon * self.batches),
            shuffled=0.0,
            one_by_one=0.0,
            grid=np.empty(0),
            shares=np.array(self.shares, dtype=np.float64),
        )
