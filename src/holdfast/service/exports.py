"""Work that reads whole games: exports, replays, comparisons. A few at a time, beside decisions.

A log is read in small parts, each in a transaction of its own, and written as its client takes it. Between parts a
thread rests for as long as the last one took, so that decisions have at least half of the machine.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from holdfast.decisions.history import History
from holdfast.extras import pl
from holdfast.service.operations import Refused

T = TypeVar("T")

LOG = logging.getLogger("holdfast.service")

MOST_AT_ONCE = 2
"""Exports, replays and comparisons of one process at the same time."""
PIECE = 1 << 16
"""Bytes of a file that are sent at once."""
LOG_COLUMNS = ("time", "arm", "loss", "probability", "block", "single", "status", "conversation")
"""Columns of the log that estimates need."""


class Slow:
    """A few long calls at a time; more are refused."""

    stalled = 60.0
    """Seconds after which an export is given up whose client takes nothing."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE, "holdfast-slow")
        self._busy = 0

    def begin(self) -> None:
        """Take a place; refuse if there is none."""
        if self._busy >= MOST_AT_ONCE:
            raise Refused(503, f"{MOST_AT_ONCE} exports or replays are being made; try again when one has ended")
        self._busy += 1

    def end(self) -> None:
        """Give the place back."""
        self._busy -= 1

    async def thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run `work` in one of these threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run `work` as one of the few."""
        self.begin()
        try:
            return await self.thread(work, *arguments)
        finally:
            self.end()

    def close(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(cancel_futures=True)


class Export(StreamingResponse):
    """An answer in parts, made in a thread as its client takes them. It gives its place back when it ends."""

    def __init__(self, slow: Slow, parts: Iterator[bytes], **options: Any) -> None:
        super().__init__(self._made(parts), **options)
        self._slow = slow

    async def _made(self, parts: Iterator[bytes]) -> AsyncIterator[bytes]:
        while (part := await self._slow.thread(next, parts, None)) is not None:
            yield part

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Any) -> None:
            async with asyncio.timeout(self._slow.stalled):
                await send(message)

        try:
            await super().__call__(scope, receive, send_in_time)
        except TimeoutError:
            LOG.warning("an export was given up: its client took nothing of it for %g s", self._slow.stalled)
        finally:
            self._slow.end()


def gently(parts: Iterable[T]) -> Iterator[T]:
    """Yield parts, and rest after each for as long as it took to make."""
    begun = time.monotonic()
    for part in parts:
        taken = time.monotonic() - begun
        yield part
        time.sleep(min(taken, 1.0))
        begun = time.monotonic()


def whole_log(history: History) -> pl.DataFrame:
    """Return the columns of the log that estimates need."""
    return pl.concat([part.select(LOG_COLUMNS) for part in gently(history.log_parts())])


def exported(history: History, what: str, kind: str) -> Iterator[bytes]:
    """Yield the bytes of an export."""
    from holdfast.results import csv_of

    parts = gently(history.log_parts() if what == "log" else [getattr(history, what)])
    if kind == "parquet":
        with tempfile.TemporaryDirectory(prefix="holdfast-export-") as folder:
            for n, part in enumerate(parts):  # a file each: the whole is never in memory
                part.write_ipc(Path(folder) / f"{n:09}.arrow")
                yield b""
            pl.scan_ipc(Path(folder) / "*.arrow").sink_parquet(Path(folder) / "whole.parquet")
            with open(Path(folder) / "whole.parquet", "rb") as file:
                while some := file.read(PIECE):
                    yield some
        return
    for n, part in enumerate(parts):
        if kind == "csv":
            yield csv_of(part, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ", include_header=n == 0)
        else:
            yield part.write_ndjson().encode()
