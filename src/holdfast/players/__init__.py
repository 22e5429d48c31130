"""Online play: one game in progress, two verbs."""

from holdfast.players.player import AllLossesPlayer, Player

__all__ = ["AllLossesPlayer", "Player"]
