"""Tsallis-INF: the algorithm without blocks on which Tsallis-Switch is built."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from holdfast.checks import LARGEST, one_of, real_number
from holdfast.errors import InvalidParameter
from holdfast.policies import tsallis_kernels as tsallis
from holdfast.policies.policy import Announcement, Kernels

ANNOUNCED = "announced"


@dataclass(frozen=True)
class TsallisInf(tsallis.Tsallis):
    """Tsallis-INF (Zimmert and Seldin, JMLR 2021), as generalised by Theorem 2 and Corollary 3 of the paper.

    It chooses anew in each round and knows nothing of switching costs: the baseline to which Tsallis-Switch
    is compared. η_t = 2/(B√t) for losses in [0, B].

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    estimator
        ``"importance-weighted"``: ℓ/p_I for the arm played. ``"reduced-variance"``: the same around B/2 where
        p_i ≥ (η_t B)², with twice the rate.
    loss_bound
        B; or ``"announced"``: then each round's bound b_t is told by ``ask(loss_bound=b)`` before it is played, and
        η_t = 2/√(Σ b_s²), which Theorem 2 allows.

    Examples
    --------
    >>> player = TsallisInf(3, loss_bound="announced").player(seed=2)
    >>> arm = player.ask(loss_bound=4.0)
    >>> player.tell(3.5)
    """

    id: ClassVar[str] = "tsallis-inf"

    estimator: Literal["importance-weighted", "reduced-variance"] = field(default="importance-weighted", kw_only=True)
    loss_bound: float | Literal["announced"] = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("estimator", self.estimator, tsallis.FASTER)
        if self.loss_bound != ANNOUNCED:
            if isinstance(self.loss_bound, str):
                raise InvalidParameter("loss_bound", "must be a number above 0 or 'announced'", self.loss_bound)
            self._set("loss_bound", real_number("loss_bound", self.loss_bound, least=1 / LARGEST, most=LARGEST))
        if self.loss_bound != 1.0 and self.units != (0.0, 1.0):
            raise InvalidParameter("loss_bound", "and units cannot both be given", self.loss_bound)

    @property
    def label(self) -> str:
        """``tsallis-inf``, or ``tsallis-inf-rv`` with reduced variance."""
        return self.id if self.estimator == "importance-weighted" else f"{self.id}-rv"

    @property
    def announces(self) -> Announcement | None:
        """``"loss_bound"`` when the range is announced round by round."""
        return "loss_bound" if self.loss_bound == ANNOUNCED else None

    @property
    def bounds(self) -> tuple[float, float]:
        """Losses in [0, B]."""
        return self.units if isinstance(self.loss_bound, str) or self.loss_bound == 1.0 else (0.0, self.loss_bound)

    @property
    def reduces_variance(self) -> bool:
        """Whether losses are estimated around a baseline."""
        return self.estimator == "reduced-variance"

    @property
    def kernels(self) -> Kernels:
        """Algorithm 1's, one round at a time, with the rate of Corollary 3 or of Theorem 2."""
        schedule = tsallis.THEOREM_2 if self.loss_bound == ANNOUNCED else tsallis.COROLLARY_3
        return tsallis.algorithm_1(schedule, self.estimator)

    def parameters(self) -> tsallis.RateParams | tsallis.BoundParams:
        """The rate's, and B where it is not announced."""
        faster = tsallis.FASTER[self.estimator]
        if isinstance(self.loss_bound, str):
            return tsallis.RateParams(faster)
        return tsallis.BoundParams(faster, self.loss_bound)

    def sums(self, n: float) -> tuple[float, float]:
        """What Σ b_s² may be."""
        return (n * LARGEST**-2, n * LARGEST**2) if isinstance(self.loss_bound, str) else (0.0, 0.0)

    def highest_loss(self, state: Mapping[str, Any], block: Mapping[str, Any] | None) -> float:
        """B; or, where bounds are announced, no less than the last."""
        return math.sqrt(state["sum"]) if isinstance(self.loss_bound, str) else self.loss_bound
