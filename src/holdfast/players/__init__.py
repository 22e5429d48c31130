"""Online play: one game in progress, two verbs."""

from holdfast.players.player import Player

__all__ = ["Player"]
