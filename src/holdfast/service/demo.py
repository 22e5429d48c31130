"""The command ``holdfast demo``: a server with three live games and made-up traffic, which leaves nothing behind."""

from __future__ import annotations

import contextlib
import math
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.decisions import Router, open as open_game
from holdfast.errors import HoldfastError
from holdfast.numerics.scales import Scale
from holdfast.policies.adaptive import AdaptiveTsallisSwitch
from holdfast.policies.hedge import AdaptiveHedgeSwitch
from holdfast.policies.tracking import TrackingSwitch
from holdfast.service.server import listening_at, serve

Round = Callable[[random.Random, int], dict[Any, dict[str, Any]]]
"""From a round's number to the outcome that each arm would have."""

BEFORE, TOGETHER = 300, 10
"""Rounds that were played before the demo begins, so many a call."""
PACE = 0.4
"""Seconds from one round to the next."""

PROVIDERS = {"fastly-llm": (0.9, 0.004), "bigcloud": (1.6, 0.006), "frugal-ai": (2.2, 0.003)}
"""Latency in seconds and price in dollars."""
REGIONS = {"eu-north": (270, 20, 11), "eu-west": (310, 170, 12), "us-west": (290, 190, 20), "ap-south": (380, 150, 7)}
"""Mean and swing of g CO₂ for a kWh, and the hour (UTC) at which the sun is the highest there."""


def gateway(rng: random.Random, t: int) -> dict[Any, dict[str, Any]]:
    """Return the cost of a turn at each provider: the best fails for a minute in every four."""
    outcomes: dict[Any, dict[str, Any]] = {}
    for name, (latency, price) in PROVIDERS.items():
        down = name == "fastly-llm" and t % 600 >= 450
        if rng.random() < (0.8 if down else 0.01):
            outcomes[name] = {"error": True}
        else:
            outcomes[name] = {"latency": latency * rng.lognormvariate(-0.08, 0.4), "price": price}
    return outcomes


def regions(rng: random.Random, t: int) -> dict[Any, dict[str, Any]]:
    """Return the carbon of a quarter of an hour in all regions: the sun moves, and weather is slow."""
    losses = {}
    for number, (name, (mean, swing, noon)) in enumerate(REGIONS.items()):
        sun = max(math.cos(2 * math.pi * (t / 96 - noon / 24)), -0.3)
        weather = math.sin(t / 37 + 5 * number) + 0.5 * math.sin(t / 11 + number)
        grams = mean - swing * sun + 0.25 * swing * weather + rng.gauss(0, 8)
        losses[name] = min(max(grams / 800, 0.0), 1.0)
    return {name: {"losses": losses} for name in REGIONS}


def canary(rng: random.Random, t: int) -> dict[Any, dict[str, Any]]:
    """Return whether a request would fail in each version, and how slow it would be: the new one is a little better."""
    outcomes: dict[Any, dict[str, Any]] = {}
    for name, failing, latency in (("stable", 0.03, 0.30), ("canary", 0.02, 0.22)):
        slow = latency * rng.lognormvariate(-0.08, 0.4)
        outcomes[name] = {"error": True} if rng.random() < failing else {"latency": slow}
    return outcomes


def begin(url: str, clock: Callable[[], float]) -> list[tuple[Router, Round, dict[str, Any]]]:
    """Begin the three games. Return the router of each, its rounds, and options of its asks."""
    scale = Scale(latency=(0.2, 6.0, 2), price=(0.002, 0.01))
    options: dict[str, Any] = {"seed": 1, "clock": clock}
    providers = TrackingSwitch(arms=list(PROVIDERS), switching_cost=0.3)
    by_provider = open_game(url, "gateway", providers, scale=scale, **options)
    by_region = open_game(url, "regions", AdaptiveHedgeSwitch(arms=list(REGIONS), switching_cost=0.5), **options)
    versions = AdaptiveTsallisSwitch(arms=["stable", "canary"], switching_cost=1.0)
    by_version = open_game(url, "canary", versions, scale=Scale(latency=(0.0, 1.0)), holdback=0.3, **options)
    return [(by_provider, gateway, {}), (by_region, regions, {}), (by_version, canary, {"rule": "stable"})]


class Traffic(threading.Thread):
    """Plays some rounds as of the last minutes, then one after the other, until it is stopped."""

    def __init__(self, url: str) -> None:
        super().__init__(name="holdfast-demo", daemon=True)
        self._ends = threading.Event()
        self._ago = BEFORE * PACE
        self._games = begin(url, lambda: time.time() - self._ago)
        self._rng = random.Random(1)
        self._play(0, TOGETHER)  # compiles on a new machine, which would keep the store busy for the server

    def run(self) -> None:
        """Play until the end."""
        for t in range(TOGETHER, BEFORE, TOGETHER):
            self._ago = (BEFORE - t) * PACE
            self._play(t, TOGETHER)
            if self._ends.is_set():
                return
        self._ago, t = 0.0, BEFORE
        while not self._ends.wait(PACE):
            self._play(t, 1)
            t += 1

    def _play(self, t: int, n: int) -> None:
        for router, outcomes, options in self._games:
            played = 0
            while played < n:  # who sees all losses wants those of a round before the next one
                decisions = router.ask(n - played, **options)
                told = [(one.id, outcomes(self._rng, t + played + i)[one.arm]) for i, one in enumerate(decisions)]
                router.tell(told)
                played += len(decisions)

    def stop(self) -> None:
        """Play no more, and close the store."""
        self._ends.set()
        if self.is_alive():
            self.join(timeout=10)
        self._games[0][0].close()


def demo(port: int) -> None:
    """Serve a store of the demo with traffic, until SIGTERM or Ctrl-C; then remove it."""
    try:
        listening_at("127.0.0.1", port).close()
    except HoldfastError as error:
        raise HoldfastError(f"{error}; --port 0 takes a free one") from None
    folders = tempfile.TemporaryDirectory(prefix="holdfast-demo-", ignore_cleanup_errors=True)
    with contextlib.suppress(KeyboardInterrupt), folders as folder:
        signal.signal(signal.SIGTERM, _leave)  # else the folder would stay
        url = f"sqlite:///{(Path(folder) / 'demo.db').as_posix()}"
        traffic = Traffic(url)

        def say(address: str) -> None:
            what = f"three games play, a round every {PACE:g} s. Ctrl-C ends it."
            print(f"Open {address} in a browser: {what}", flush=True)
            traffic.start()  # quick rounds, which keep the store busy too

        try:
            serve(url, port=port, say=say)
        finally:
            traffic.stop()


def _leave(number: int, frame: object) -> None:
    raise SystemExit(0)
