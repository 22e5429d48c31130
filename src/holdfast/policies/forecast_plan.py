"""Planning on a forecast alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from holdfast.checks import whole
from holdfast.errors import InvalidParameter
from holdfast.policies.forecast_path import GivenForecast
from holdfast.policies.hedge_switch import OfPaths
from holdfast.policies.path import LONGEST_PERIOD, Path
from holdfast.policies.seasonal_paths import SeasonalPlan


@dataclass(frozen=True)
class ForecastPlan(OfPaths):
    """Plans on a forecast and trusts it: plays the first step of the cheapest plan, and plans again in the next round.

    Receding-horizon control, as in Lin, Liu, Wierman and Andrew, IGCC 2012. The forecast is the one that
    ``ask(forecast=...)`` gives, corrected by how wrong it just was; or, with `period`, the mean of each phase of it.
    Nothing protects it from a wrong forecast. The path `holdfast.paths.GivenForecast` or `SeasonalPlan`, played alone.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, or a table with a cost for each pair of arms, in `units`; or ``"announced"``.
    period
        Plan on what each phase of so many rounds was like, instead of on given forecasts.
    forecast_rounds
        The most rounds of a given forecast that are looked at. Without forecasts it stays where it is.
    stale
        For how many rounds the last known loss stands for one that is not given.

    Examples
    --------
    >>> player = ForecastPlan(2, switching_cost=0.5).player(seed=1)
    >>> player.ask(forecast=[[0.9, 0.1], [0.8, 0.2]])
    1
    """

    id: ClassVar[str] = "forecast-plan"
    deterministic: ClassVar[bool] = True

    period: int | None = field(default=None, kw_only=True)
    forecast_rounds: int = field(default=48, kw_only=True, metadata=whole(least=0, most=LONGEST_PERIOD))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.period is not None:
            self._set("period", SeasonalPlan(self.period).period)
        elif self.forecast_rounds == 0:
            raise InvalidParameter("forecast_rounds", "must be at least 1, unless a period is given", 0)

    @property
    def forecast_rows(self) -> int:
        """The most rows of a given forecast that are looked at."""
        return self.forecast_rounds if self.period is None else 0

    @property
    def mixed(self) -> tuple[Path, ...]:
        """The one path."""
        return (GivenForecast(self.forecast_rounds) if self.period is None else SeasonalPlan(self.period, 0.15),)
