"""A threshold rule: move when another arm was cheaper by a share of the switching cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from holdfast.checks import whole
from holdfast.policies.hedge_switch import OfPaths
from holdfast.policies.path import HORIZON, Path
from holdfast.policies.simple_paths import Smoothed


@dataclass(frozen=True)
class Threshold(OfPaths):
    """Move to the arm that was cheapest in the last round if it was cheaper by more than λ/m.

    What people write by hand: it supposes that differences last for m rounds. Ours, without a source. The path
    `holdfast.paths.Smoothed` with weight 1 and horizon m, played alone.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, or a table with a cost for each pair of arms, in `units`; or ``"announced"``.
    rounds
        m, the rounds in which a switch is to pay.
    stale
        For how many rounds the last known loss stands for one that is not given.

    Examples
    --------
    >>> player = Threshold(2, switching_cost=0.5, rounds=10).player(seed=1)
    >>> arm = player.ask()
    >>> player.tell([0.3, 0.2])
    >>> player.ask()
    1
    """

    id: ClassVar[str] = "threshold"
    deterministic: ClassVar[bool] = True

    rounds: int = field(default=HORIZON, kw_only=True, metadata=whole(least=1, most=10**9))

    @property
    def mixed(self) -> tuple[Path, ...]:
        """The one path."""
        return (Smoothed(1.0, self.rounds),)
