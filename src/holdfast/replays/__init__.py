"""What would it have cost? Recorded losses played again, and what hindsight could have saved."""

from holdfast.replays.logged import LoggedData
from holdfast.replays.outcome import Replay
from holdfast.replays.plans import Plan, best_plan
from holdfast.replays.run import replay

__all__ = ["LoggedData", "Plan", "Replay", "best_plan", "replay"]
