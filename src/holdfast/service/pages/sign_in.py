"""The page where a token is given, and kept in a cookie."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.report.markup import Html, element
from holdfast.service.access import COOKIE
from holdfast.service.pages.parts import form_of, input_field, page
from holdfast.service.tokens import Token

if TYPE_CHECKING:
    from holdfast.service.app import Service


async def show_login(service: Service, request: Request, client: Token) -> Response:
    """Where a token is asked for."""
    return _login(service.root)


def _login(root: str, wrong: bool = False) -> Response:
    form = element(
        "form",
        element("input", type="text", name="user", value="holdfast", autocomplete="username", hidden=""),
        input_field("token", wide=True, type="password", name="token", required="", autocomplete="current-password"),
        element("button", "Sign in", class_="action"),
        method="post",
        action=f"{root}/login",
        class_="change",
    )
    words = element("p", "That is no valid token.", class_="warning", role="alert") if wrong else Html("")
    return page(root, "Sign in", words, form, status=401 if wrong else 200)


async def login(service: Service, request: Request, client: Token) -> Response:
    """Keep a token in a cookie that scripts cannot read."""
    written = (await form_of(service, request)).get("token", "").strip()
    if service.access.find(written) is None:
        return _login(service.root, wrong=service.access.tokens is not None)
    response = RedirectResponse(f"{service.root}/", 303)
    secure, path = request.url.scheme == "https", service.root or "/"
    response.set_cookie(COOKIE, written, httponly=True, samesite="strict", secure=secure, path=path, max_age=7 * 86400)
    return response


async def logout(service: Service, request: Request, client: Token) -> Response:
    """Forget it."""
    response = RedirectResponse(f"{service.root}/login", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict", path=service.root or "/")
    return response
