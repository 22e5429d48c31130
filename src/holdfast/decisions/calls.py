"""Calls on a game as values: several can wait, and be made in one transaction, each with an answer or refusal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from holdfast.decisions.changes import Wish, change
from holdfast.decisions.core import Answers, Report, View, ask, compact, expire, tell
from holdfast.decisions.models import Decision
from holdfast.errors import HoldfastError


class Call(Protocol):
    """One call. `again` says that it may have been made before, when a connection was lost."""

    @property
    def rounds(self) -> Sequence[tuple[int, int]]:
        """Blocks and rounds that it is about."""

    def apply(self, view: View, again: bool) -> Any:
        """Change the game; the answer, or an error for a refusal that changed nothing."""


class AskCall(NamedTuple):
    """Ask for decisions."""

    n: int
    now: float
    announced: Mapping[str, float | None]
    request: str
    repeatable: bool
    """Whether the caller named the request, so that others may have made it."""
    rounds: Sequence[tuple[int, int]] = ()

    def apply(self, view: View, again: bool) -> list[Decision] | HoldfastError:
        """Hand out rounds."""
        return ask(view, self.n, self.now, self.announced, self.request, known=again or self.repeatable)


class TellCall(NamedTuple):
    """Report losses."""

    reports: Sequence[Report]
    now: float

    @property
    def rounds(self) -> Sequence[tuple[int, int]]:
        """Those whose losses are reported."""
        return [report[1:3] for report in self.reports]

    def apply(self, view: View, again: bool) -> Answers:
        """Record losses."""
        return tell(view, self.reports, self.now)


class SettleCall(NamedTuple):
    """Settle what is due."""

    now: float
    rounds: Sequence[tuple[int, int]] = ()

    def apply(self, view: View, again: bool) -> int:
        """Settle blocks."""
        return expire(view, self.now)


class ChangeCall(NamedTuple):
    """Continue with other settings."""

    wish: Wish
    now: float
    rounds: Sequence[tuple[int, int]] = ()

    def apply(self, view: View, again: bool) -> HoldfastError | None:
        """Change settings."""
        return change(view, self.wish, self.now)


class CompactCall(NamedTuple):
    """Remove old blocks."""

    keep: int
    most: int
    rounds: Sequence[tuple[int, int]] = ()

    def apply(self, view: View, again: bool) -> int:
        """Remove blocks."""
        return compact(view, self.keep, self.most)
