"""What a reproduction says on a terminal: the counts and what does not simply hold; all of it when asked."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence

from holdfast.report.html import plain_powers
from holdfast.text import counted
from holdfast.verdicts.ledger import CONFIDENCE, JUDGEMENTS, Verdict, judgements

MOST_CLAIMS = 30
"""Lines for claims without ``--verbose``: with those around them they fit a screen of forty."""


def summary(figures: int, verdicts: Sequence[Verdict], width: int | None = None) -> list[str]:
    """The counts, and a line for each claim that does not simply hold: its sign, its id, and as much as fits."""
    width = width or _width()
    lines = [f"{counted(figures, 'figure')}; {counted(len(verdicts), 'claim')}: {judgements(verdicts)}"]
    shown = [verdict for kind in JUDGEMENTS if kind != "holds" for verdict in verdicts if verdict.verdict == kind]
    if shown:
        lines.append("")
    longest = max((len(verdict.id) for verdict in shown[:MOST_CLAIMS]), default=0)
    roomy = 2 * len(shown) <= MOST_CLAIMS
    for verdict in shown[:MOST_CLAIMS]:
        begin = f"{JUDGEMENTS[verdict.verdict][0]} {verdict.id}"
        if roomy:
            lines += [begin, "  " + _shortened(plain_powers(verdict.claim), width - 2)]
        else:
            begin = f"{begin:{longest + 4}}"
            lines.append((begin + _shortened(plain_powers(verdict.claim), width - len(begin))).rstrip())
    if len(shown) > MOST_CLAIMS:
        lines.append(f"  and {len(shown) - MOST_CLAIMS} more: --verbose names them all")
    if shown:
        lines += ["", "✗ fails; ◐ holds under a condition, or is not decided: the report has the rest"]
    return lines


def ledger(verdicts: Sequence[Verdict], width: int | None = None) -> list[str]:
    """Every claim in full, those to look at first in front."""
    width = min(width or _width(), 120)
    lines = []
    for kind, (sign, _, _) in JUDGEMENTS.items():
        for verdict in (v for v in verdicts if v.verdict == kind):
            runs = counted(verdict.replications, "replication") if verdict.replications else "formulas alone"
            lines.append(f"{sign} {verdict.id}: {kind} ({runs})")
            lines += _wrapped(verdict.claim, width)
            if verdict.condition:
                lines += _wrapped(f"Condition: {verdict.condition}", width)
            lines += ["", *_wrapped(f"{verdict.place}. {verdict.rule}", width), ""]
    lines.append(f"All intervals of a claim hold together with probability {CONFIDENCE:.0%}.")
    return lines


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns


def _wrapped(words: str, width: int) -> list[str]:
    return textwrap.wrap(
        plain_powers(words),
        max(width, 40),
        initial_indent="  ",
        subsequent_indent="  ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def _shortened(words: str, room: int) -> str:
    if len(words) <= room:
        return words
    return words[: room - 1].rsplit(" ", 1)[0] + "…" if room > 10 else ""
