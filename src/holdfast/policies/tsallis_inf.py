"""Tsallis-INF: the algorithm without blocks on which Tsallis-Switch is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from holdfast.checks import real_number
from holdfast.errors import InvalidParameter, nearest
from holdfast.policies import tsallis_kernels as tsallis
from holdfast.policies.protocol import LARGEST, Array, Policy, State

ANNOUNCED = "announced"
ESTIMATORS = ("importance-weighted", "reduced-variance")


@dataclass(frozen=True)
class TsallisInf(Policy):
    """Tsallis-INF (Zimmert and Seldin, JMLR 2021), as generalised by Theorem 2 and Corollary 3 of the paper.

    It chooses anew in each round and knows nothing of switching costs: the baseline to which Tsallis-Switch
    is compared. η_t = 2/(B√t) for losses in [0, B]; the reduced-variance estimator subtracts B/2 where
    p_i ≥ (η_t B)² and doubles the rate.

    `loss_bound` is B, or ``"announced"``: then each round's bound b_t is told by ``ask(loss_bound=b)`` before
    it is played, and η_t = 2/√(Σ b_s²), which Theorem 2 allows.

    >>> player = TsallisInf(3, loss_bound="announced").player(seed=2)
    >>> arm = player.ask(loss_bound=4.0)
    >>> player.tell(3.5)
    """

    id: ClassVar[str] = "tsallis-inf"
    choose: ClassVar[Callable[..., Any]] = staticmethod(tsallis.choose)

    estimator: Literal["importance-weighted", "reduced-variance"] = field(default="importance-weighted", kw_only=True)
    loss_bound: float | Literal["announced"] = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.estimator not in ESTIMATORS:
            rule = f"must be one of {', '.join(map(repr, ESTIMATORS))}{nearest(self.estimator, ESTIMATORS)}"
            raise InvalidParameter("estimator", rule, self.estimator)
        if self.loss_bound != ANNOUNCED:
            if isinstance(self.loss_bound, str):
                raise InvalidParameter("loss_bound", "must be a number above 0 or 'announced'", self.loss_bound)
            self._set("loss_bound", real_number("loss_bound", self.loss_bound, least=1 / LARGEST, most=LARGEST))
        if self.loss_bound != 1.0 and self.loss_range != (0.0, 1.0):
            raise InvalidParameter("loss_bound", "and loss_range cannot both be given", self.loss_bound)

    @property
    def label(self) -> str:
        """``tsallis-inf``, or ``tsallis-inf-rv`` with reduced variance."""
        return self.id if self.estimator == "importance-weighted" else f"{self.id}-rv"

    @property
    def announces(self) -> str | None:  # type: ignore[override]
        """``"loss_bound"`` when the range is announced round by round."""
        return "loss_bound" if self.loss_bound == ANNOUNCED else None

    @property
    def bounds(self) -> tuple[float, float]:
        """Losses in [0, B]."""
        return self.loss_range if isinstance(self.loss_bound, str) or self.loss_bound == 1.0 else (0.0, self.loss_bound)

    @property
    def observe(self) -> Callable[..., Any]:  # type: ignore[override]
        """The kernel of the estimator."""
        return tsallis.observe if self.estimator == "importance-weighted" else tsallis.observe_reduced_variance

    def parameters(self, horizon: float | None = None, blocks: int = 64) -> Array:
        """As the kernels take them."""
        faster = 1.0 if self.estimator == "importance-weighted" else 2.0
        if self.loss_bound == ANNOUNCED:
            return np.array([tsallis.THEOREM_2, 0.0, 1.0, faster, 0.0])
        return np.array([tsallis.COROLLARY_3, 0.0, self.loss_bound, faster, 0.0])

    def probabilities(self, params: Array, state: State) -> Array:
        """p_t of the current round."""
        return tsallis.probabilities(state)
