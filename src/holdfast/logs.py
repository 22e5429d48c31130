"""Logs that stay small while the same thing goes wrong again and again."""

from __future__ import annotations

import logging
import time

SECONDS = 1.0
"""Between two warnings of a kind."""


class Sparse(logging.Filter):
    """Lets one warning of a kind pass a second; the next one says how many were left out.

    >>> log = logging.getLogger("doctest.sparse")
    >>> one = log.makeRecord(log.name, logging.WARNING, "", 0, "%s is away", ("the store",), None)
    >>> filter = Sparse()
    >>> filter.filter(one), filter.filter(one)
    (True, False)
    """

    def __init__(self) -> None:
        super().__init__()
        self._passed: dict[str, tuple[float, int]] = {}
        """By text of the message: when one passed, and how many were left out since."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True if a record may pass."""
        if record.levelno < logging.WARNING:
            return True
        kind, now = str(record.msg), time.monotonic()
        at, left_out = self._passed.get(kind, (now - SECONDS, 0))
        if now - at < SECONDS:
            self._passed[kind] = at, left_out + 1
            return False
        if len(self._passed) > 1000:  # texts that are never the same twice
            self._passed.clear()
        self._passed[kind] = now, 0
        if left_out:
            record.msg, record.args = f"{record.getMessage()} (and {left_out:,} more like this)", ()
        return True
