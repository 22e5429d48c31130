"""The page of a policy next to the rule that is held back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from holdfast.number_format import number
from holdfast.report.markup import element
from holdfast.service.api import compared
from holdfast.service.pages.parts import as_table, home_of, page
from holdfast.service.tokens import Token

if TYPE_CHECKING:
    from holdfast.service.app import Service


async def show_comparison(service: Service, request: Request, client: Token) -> Response:
    """The policy next to the rule held back."""
    name = request.path_params["name"]
    home = home_of(service, name)
    found = await compared(service, name, 0.95)
    title = f"The policy of {name} next to your rule"
    rows = [
        ["by the policy", number(found.units - found.held_back)],
        ["by your rule", number(found.held_back)],
        ["not all told yet", number(found.open)],
    ]
    parts = [
        element("p", f"The policy: {found.words}.", class_="why"),
        as_table(["", "blocks or conversations"], rows, "units"),
        element("p", "The interval has a level of 95 %, however often one looks.", class_="quiet"),
        element("p", element("a", "Back to the game", href=home)),
    ]
    return page(service.root, title, *parts, crumbs=element("a", name, href=home, class_="crumb"), client=client)
