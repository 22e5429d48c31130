"""A light client of `holdfast serve`: the standard library alone.

>>> game = open("http://127.0.0.1:8080", "chat", token="hf_…")  # doctest: +SKIP
>>> decision = game.ask()  # doctest: +SKIP
>>> game.tell(decision.id, loss=0.12)  # doctest: +SKIP
Receipt(id='5f0c-1-0-9a', new=True)
"""

from holdfast_client.connection import Problem, Server, Unreachable
from holdfast_client.game import Decision, Game, Receipt, open

__all__ = ["Decision", "Game", "Problem", "Receipt", "Server", "Unreachable", "open"]
__version__ = "0.4.0"
