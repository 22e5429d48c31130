"""Online play: one game in progress, two verbs."""

from holdfast.players.player import FullInformationPlayer, Player

__all__ = ["FullInformationPlayer", "Player"]
