"""A progress bar on standard error, quiet when that is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(wanted: bool | None, total: int, what: str = "replications") -> Iterator[Callable[[int], None]]:
    """Gives a function to call with how many more are finished. With `wanted` None, a bar on a terminal only."""
    if not shows_progress(wanted):
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda count: progress.advance(task, count)


def shows_progress(wanted: bool | None) -> bool:
    """Whether a bar is shown: as asked for, or on a terminal."""
    return sys.stderr.isatty() if wanted is None else wanted
