"""Metrics for Prometheus at /metrics: requests and commits of this server, and the status of each game."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from holdfast.service.messages import GameLine

LATENCIES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
GAME = re.compile(rb'game="(?:[^"\\]|\\.)*"')
"""The label of a game in a line of counts."""
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Folder in which the processes of one server add up their counts."""


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Histogram(
            "holdfast_request_seconds",
            "Requests by route and status.",
            ["method", "route", "status"],
            buckets=LATENCIES,
            registry=self.registry,
        )
        self._commits = Counter("holdfast_commits", "Transactions that wrote calls.", registry=self.registry)
        self._calls = Counter("holdfast_committed_calls", "Calls in these transactions.", registry=self.registry)
        self._happened = {
            name: Counter(f"holdfast_{name}", words, ["game"], registry=self.registry)
            for name, words in (
                ("refused_losses", "Losses that were refused."),
                ("fallback_losses", "Losses of decisions that were not recorded: their ask had fallen back."),
                ("replaced_rounds", "Rounds in which the drawn arm was down, so that the next best one played."),
            )
        }
        self.waiting = Gauge(
            "holdfast_waiting_calls", "Calls that wait.", registry=self.registry, multiprocess_mode="livesum"
        )

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(method, route, str(status)).observe(seconds)

    def count(self, what: str, game: str, n: int = 1) -> None:
        """Count ``refused_losses``, ``fallback_losses`` or ``replaced_rounds`` of a game."""
        if n:
            self._happened[what].labels(game).inc(n)

    def commit(self, calls: int) -> None:
        """Count a transaction and its calls."""
        self._commits.inc()
        self._calls.inc(calls)

    def text(self, games: Iterable[GameLine], now: float) -> bytes:
        """Return all metrics in Prometheus' format."""
        own, standing, seen = self.registry, CollectorRegistry(), list(games)
        for game in seen:
            for counter in self._happened.values():
                counter.labels(game.name)  # from 0 on: an increase needs a beginning
        if FOLDER in os.environ:
            own = CollectorRegistry()
            MultiProcessCollector(own)  # type: ignore[no-untyped-call]
        standing.register(_LiveGames(seen, now))
        counts = generate_latest(own).splitlines(keepends=True)
        shown = {_labelled(game.name) for game in seen}
        mine = (line for line in counts if (found := GAME.search(line)) is None or found[0] in shown)
        return b"".join(mine) + generate_latest(standing)


def _labelled(name: str) -> bytes:
    """Return the label of a game as Prometheus' format writes it."""
    escaped = name.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return f'game="{escaped}"'.encode()


class _LiveGames:
    """Collects the status of games from the store."""

    def __init__(self, games: list[GameLine], now: float) -> None:
        self._games, self._now = games, now

    def collect(self) -> Iterator[Metric]:
        """Yield one gauge for each figure of a game."""
        games = [((game.name,), game) for game in self._games]
        arms = [((game.name, str(arm.arm)), arm) for game in self._games for arm in game.arms]
        for name, what in (
            ("rounds", "Rounds handed out."),
            ("switches", "Changes of arm."),
            ("moves", "Moves of conversations to another arm."),
            ("switches_left", "Switches left of its budget."),
            ("cost", "Losses reported and what switches cost."),
            ("out", "Losses that may still come."),
            ("missing", "Losses that did not come in time."),
            ("late", "Losses that came after their block was settled, and count."),
        ):
            yield _gauge(f"game_{name}", what, [(of, getattr(game, name)) for of, game in games])
        ages = [(of, max(self._now - game.last_loss, 0.0)) for of, game in games if game.last_loss is not None]
        yield _gauge("game_last_loss_age_seconds", "Since the last loss.", ages)
        for name, what in (
            ("rounds", "Rounds played."),
            ("told", "Losses reported."),
            ("missing", "Losses that did not come in time."),
            ("mean", "Mean of the losses that counted."),
            ("recent", "The same among the last 1,000 losses of the game."),
            ("failures", "Failures among the last 1,000 losses of the game."),
            ("probability", "Probability with which it is drawn."),
            ("share", "The most that it may be drawn now."),
            ("held", "1 for the arm handed out last."),
            ("paused", "1 while it is paused."),
            ("pinned", "1 while it is pinned."),
        ):
            yield _gauge(f"arm_{name}", what, [(of, getattr(arm, name)) for of, arm in arms])


def _gauge(name: str, what: str, values: Iterable[tuple[Sequence[str], float | None]]) -> Metric:
    """Return a figure of some games, or of their arms, where it is known."""
    gauge = GaugeMetricFamily(f"holdfast_{name}", what, labels=["game", "arm"][: 2 if name.startswith("arm_") else 1])
    for of, value in values:
        if value is not None:
            gauge.add_metric(of, float(value))
    return gauge
