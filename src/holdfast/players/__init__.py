"""Online play: one game in progress, two verbs."""

from holdfast.players.all_losses import AllLossesPlayer
from holdfast.players.player import Player

__all__ = ["AllLossesPlayer", "Player"]
