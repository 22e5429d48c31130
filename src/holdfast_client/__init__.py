"""A light client of `holdfast serve`, built on the standard library alone.

>>> game = open("http://127.0.0.1:8080", "chat", token="hf_…")  # doctest: +SKIP
>>> decision = game.ask()  # doctest: +SKIP
>>> game.tell(decision.id, loss=0.12)  # doctest: +SKIP
Receipt(id='5f0c-1-0-9a', new=True)

A refused request raises `Problem`, with the `status` and the `error` of the server's answer. A request that finds no
server, a busy one or one that restarts is retried for a second, with ``open(…, retry=30.0)`` for thirty; a server
may take 60 seconds to answer (``timeout=``). After that `Unreachable` is raised. Every call may be repeated.
``game.ask(fallback="model-a", deadline=0.2)`` answers in any case, and every verb has an asynchronous form: `aask`.

`Game.change` pauses and pins arms and changes settings; it needs a token with the role admin:

>>> game.change(pause="model-a", until="10m", reason="times out")  # doctest: +SKIP
>>> game.change(resume="model-a")  # doctest: +SKIP
"""

from holdfast_client.connection import Problem, Server, Unreachable
from holdfast_client.game import Decision, Game, Receipt, open

__all__ = ["Decision", "Game", "Problem", "Receipt", "Server", "Unreachable", "open"]
__version__ = "0.5.0"
