"""Fixed share: exponential weights that can follow a change of the best arm, drawn lazily."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from holdfast._numba.compile import kernel
from holdfast.checks import whole_number
from holdfast.policies.lazy_hedge import RateParams, WeightsGame, WithWeights, choose
from holdfast.policies.policy import Kernels, PlainBlock


@kernel
def observe(params: Any, game: Any, block: Any, losses: Any, rounds: float) -> None:
    """w ← w·exp(−ηℓ), of which the share α is spread evenly."""
    w, K, total = game.w, game.w.shape[0], 0.0
    for i in range(K):
        game.known[i, 0], game.shut[i, 0] = losses[i, 0], 0.0
        w[i, 0] = (w[i, 0] if game.n[0] > 1.0 else 1.0 / K) * math.exp(-params.eta * losses[i, 0])
        total += w[i, 0]
    for i in range(K):
        w[i, 0] = (1.0 - params.share) * w[i, 0] / total + params.share / K


@dataclass(frozen=True)
class FixedShare(WithWeights):
    """Fixed share (Herbster and Warmuth, Machine Learning 32, 1998), drawn so that the arm changes as rarely as it can.

    Weights are multiplied by exp(−ηℓ_i), and a share α of them is spread evenly over the arms in each round, so that a
    new best arm is found again. For m changes in T rounds α = m/(T − 1) and η = √(8((m + 1) ln K + (T − 1)H(α))/T) with
    the binary entropy H (Cesa-Bianchi and Lugosi 2006, Corollary 5.1); here T is multiplied by 1 + 2λ in η, as in
    `LazyHedge`.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, in `units`.
    horizon
        T, the number of rounds.
    shifts
        m, how often the best arm is expected to change; less than T.

    Examples
    --------
    >>> player = FixedShare(2, switching_cost=1.0, horizon=1000, shifts=5).player(seed=0)
    >>> arm = player.ask()
    >>> player.tell(losses=[0.2, 0.7])
    >>> bool(player.probabilities[0] > player.probabilities[1])
    True
    """

    id: ClassVar[str] = "fixed-share"
    kernels = Kernels(choose, observe, WeightsGame, PlainBlock, params=RateParams, sees="all")

    shifts: int = field(default=10, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("horizon", whole_number("horizon", self.horizon, least=3))
        self._set("shifts", whole_number("shifts", self.shifts, least=1, most=self.horizon - 2))

    def parameters(self) -> RateParams:
        """Rate and share."""
        m, T = self.shifts, self.horizon
        share = m / (T - 1)
        entropy = -share * math.log(share) - (1.0 - share) * math.log1p(-share)
        exponent = (m + 1) * math.log(self.n_arms) + (T - 1) * entropy
        return RateParams(math.sqrt(8.0 * exponent / ((1.0 + 2.0 * self.lam) * T)), share)
