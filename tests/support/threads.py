"""Threads that all end, and whose errors are the test's."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Return the answers of `work(0)`, `work(1)`, …, each in a thread of its own."""
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(work, range(count)))
