"""What would it have cost? Recorded losses played again, and what hindsight could have saved."""

from holdfast.replays.logged import LoggedData
from holdfast.replays.plans import Plan, best_plan

__all__ = ["LoggedData", "Plan", "best_plan"]
