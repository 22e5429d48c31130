"""The page of all games."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from holdfast.number_format import counted, number
from holdfast.report.markup import Html, element, joined
from holdfast.service.messages import GameLine
from holdfast.service.pages.parts import arm_shown, as_table, cost_shown, count_shown, home_of, moment, page
from holdfast.service.tokens import Token

if TYPE_CHECKING:
    from holdfast.service.app import Service

MOST_LISTED = 1000


async def show_list(service: Service, request: Request, client: Token) -> Response:
    """All games."""
    names = [name for name in await service.games.names() if client.sees(name)]
    lines = [await service.line(name) for name in names[:MOST_LISTED]]
    now = time.time()
    if not lines:
        words = "No game has begun yet. A PUT to /v1/games/NAME begins one; docs/service.md shows how."
        return page(service.root, "Games", element("p", words, class_="empty"), client=client)
    heads = ["game", "arm held", "since", "rounds", "switches", "cost", "today", "waiting", "missing", "last loss"]
    listing = as_table(heads, [_row(line, now, home_of(service, line.name)) for line in lines], "games", numeric=2)
    left = len(names) - len(lines)
    more = element("p", f"and {number(left)} more", class_="quiet") if left else Html("")
    shown = element("div", listing, more, data_every="5")
    return page(service.root, "Games", shown, client=client)


def _row(line: GameLine, now: float, home: str) -> list[str]:
    warnings = [element("div", words, class_="warning note") for words in line.warnings]
    link = element("a", line.name, href=home)
    label = element("span", line.label, class_="note")
    return [
        joined(link, label, *warnings),
        counted(line.conversations, "conversation") if line.arm is None and line.conversations else arm_shown(line.arm),
        moment(line.since, now),
        count_shown(line.rounds),
        count_shown(line.switches),
        cost_shown(line.cost),
        cost_shown(line.today),
        count_shown(line.out),
        count_shown(line.missing),
        moment(line.last_loss, now),
    ]
