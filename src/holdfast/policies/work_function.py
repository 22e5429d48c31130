"""The work function algorithm alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from holdfast.checks import real
from holdfast.policies.hedge_switch import OfPaths
from holdfast.policies.path import Path
from holdfast.policies.simple_paths import WorkFunction


@dataclass(frozen=True)
class WorkFunctionAlone(OfPaths):
    """The work function algorithm (Borodin, Linial and Saks, J. ACM 39, 1992), for who sees the losses of all arms.

    Moves when the cheapest plan so far that ends on its arm is as cheap by way of another. At most 2K − 1 times the
    best plan in hindsight where a round's losses are seen before it; here they are seen after it, and (K − 1)/λ is
    added to that (`bounds.work_function_cost`). The path `holdfast.paths.WorkFunction`, played alone.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, or a table with a cost for each pair of arms, in `units`; or ``"announced"``.
    scale
        It plays as if a switch cost `scale` times as much: above 1 it moves later.
    stale
        For how many rounds the last known loss stands for one that is not given.

    Examples
    --------
    >>> player = WorkFunctionAlone(2, switching_cost=0.5).player(seed=1)
    >>> for losses in ([0.9, 0.1], [0.9, 0.1]):
    ...     arm = player.ask()
    ...     player.tell(losses)
    >>> player.ask()
    1
    """

    id: ClassVar[str] = "work-function"
    deterministic: ClassVar[bool] = True

    scale: float = field(default=1.0, kw_only=True, metadata=real(above=0, most=1e9))

    @property
    def mixed(self) -> tuple[Path, ...]:
        """The one path."""
        return (WorkFunction(self.scale),)
