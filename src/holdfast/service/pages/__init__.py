"""The page: games in a list, and one game with its ribbon, costs, arms and changes. In the design of our reports.

All of it is HTML that needs no script, but for two charts. What is marked `data-live` is taken anew by the script when
the game has changed.
"""

from __future__ import annotations

from http import HTTPStatus

from starlette.responses import RedirectResponse, Response

from holdfast.errors import HoldfastError
from holdfast.report.markup import element
from holdfast.service.operations import Operation
from holdfast.service.pages.changes import change, show_changes
from holdfast.service.pages.comparison import show_comparison
from holdfast.service.pages.game import show_game
from holdfast.service.pages.game_list import show_list
from holdfast.service.pages.parts import asset, page
from holdfast.service.pages.sign_in import login, logout, show_login
from holdfast.service.problems import status_of, words_of


def error_page(root: str, error: HoldfastError) -> Response:
    """An error on a page."""
    status = status_of(error)
    if status == 401:
        return RedirectResponse(f"{root}/login", 303)
    title = HTTPStatus(status).phrase
    back = element("p", element("a", "All games", href=f"{root}/"))
    return page(root, title, element("p", words_of(error)), back, status=status)


OPERATIONS = [
    Operation("GET", "/", show_list, "read", page=True),
    Operation("GET", "/games/{name}", show_game, "read", page=True),
    Operation("GET", "/games/{name}/compare", show_comparison, "read", page=True),
    Operation("GET", "/games/{name}/changes", show_changes, "read", page=True),
    Operation("POST", "/games/{name}/change", change, "admin", page=True),
    Operation("GET", "/login", show_login, None, page=True),
    Operation("POST", "/login", login, None, page=True),
    Operation("POST", "/logout", logout, None, page=True),
    Operation("GET", "/assets/{file}", asset, None),
]
