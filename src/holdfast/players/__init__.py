"""Online play: a game in progress, with ask and tell."""

from holdfast.players.player import FullInformationPlayer, Player

__all__ = ["FullInformationPlayer", "Player"]
