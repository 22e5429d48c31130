"""Changes of a game: asked for on its page, shown first, then made; and the list of those that were made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.checks import one_of
from holdfast.errors import HoldfastError
from holdfast.number_format import counted, five_digits, number
from holdfast.report.markup import Html, element, joined
from holdfast.service import views
from holdfast.service.api import change_game, changes_on_page, replayed
from holdfast.service.messages import Changes, ChangeView, GameView
from holdfast.service.pages.parts import as_table, form_of, home_of, input_field, page, seconds_shown, until_utc, utc
from holdfast.service.problems import Refused
from holdfast.service.tokens import Token

if TYPE_CHECKING:
    from holdfast.service.app import Service

ACTS = {
    "pause": "It is not handed out meanwhile: the most likely other arm is, also in the middle of a block.",
    "resume": "It is handed out again from now on.",
    "pin": "Only this arm is handed out meanwhile. These rounds are not learnt from.",
    "unpin": "The policy chooses again from now on.",
}
"""What an operator may do with an arm, and what it means."""


def change_cost(view: GameView, client: Token, home: str) -> Html:
    """λ, and the form that changes it."""
    cost = view.policy.get("switching_cost")
    if not isinstance(cost, float | int):
        return element("p", f"{view.label} has no single switching cost.")
    words = element("p", f"λ is {cost:g}. Another one counts from the next block on; what was learnt stays.")
    if client.role != "admin":
        return joined(words, _needs_admin())
    field = input_field("new λ", type="number", name="cost", min="0", step="any", required="", value=f"{cost:g}")
    return joined(words, _change_form(home, "Look at the change", field))


def change_arms(view: GameView, client: Token, home: str) -> Html:
    """Arms that are paused or pinned, and the form that changes it."""
    now = [f"{one.arm} is paused{until_utc(one.until)}." for one in view.paused]
    now += [] if view.pinned is None else [f"{view.pinned} is pinned."]
    words = element("p", " ".join(now) or "No arm is paused or pinned.", id="stands", data_live="yes")
    if client.role != "admin":
        return joined(words, _needs_admin())
    acts = element("select", *(element("option", act, value=act) for act in ACTS), name="act")
    arms = element("select", *(element("option", str(arm), value=str(arm)) for arm in view.arms), name="arm")
    until = input_field(
        "for how long", type="text", name="until", placeholder="10m, 2h, 1d", size=8, autocomplete="off"
    )
    fields = (element("label", "do", acts), element("label", "arm", arms), until)
    return joined(words, _change_form(home, "Look at the change", *fields))


def _change_form(home: str, button: str, *fields: Html) -> Html:
    reason = input_field("why", wide=True, type="text", name="reason", required="", maxlength=150, autocomplete="off")
    asked = element("button", button, class_="action")
    return element("form", *fields, reason, asked, method="post", action=f"{home}/change", class_="change")


def _needs_admin() -> Html:
    return element("p", "Changing it needs a token with the role admin.", class_="quiet")


async def change(service: Service, request: Request, client: Token) -> Response:
    """Show what a change means; make it when it is confirmed."""
    name, form = request.path_params["name"], await form_of(service, request)
    home = home_of(service, name)
    reason = form.get("reason", "").strip()
    if not reason:
        raise Refused(422, "a change needs a reason")
    view = await service.see(name, views.game_view)
    wanted = _cost_wanted(form) if "cost" in form else _act_wanted(form, view)
    if form.get("confirmed") == "yes":
        await change_game(service, client, name, Changes(**wanted, reason=reason))
        return RedirectResponse(home, 303)
    if "cost" in form:
        was, cost = view.policy.get("switching_cost"), wanted["switching_cost"]
        if not isinstance(was, float | int):
            raise Refused(422, f"{view.label} has no single switching cost")
        title = f"Change λ of {name} from {was:g} to {cost:g}?"
        meaning, button = element("p", "All processes follow from their next block on."), "Change λ"
        meaning = joined(meaning, await _estimated(service, name, cost))
    else:
        act, until = form["act"], f" for {wanted['until']}" if "until" in wanted else ""
        title = f"Unpin {name}?" if act == "unpin" else f"{act.capitalize()} {wanted[act]} of {name}{until}?"
        meaning, button = element("p", f"{ACTS[act]} All processes follow at once."), act.capitalize()
    hidden = {**form, "confirmed": "yes"}
    form_shown = element(
        "form",
        *(element("input", type="hidden", name=key, value=value) for key, value in hidden.items()),
        element("button", button, class_="action", autofocus=""),
        element("a", "Leave it as it is", href=home),
        method="post",
        action=f"{home}/change",
        class_="change",
    )
    words = element("p", f"Reason: {reason}.")
    crumbs = element("a", name, href=home, class_="crumb")
    return page(service.root, title, words, meaning, form_shown, crumbs=crumbs, client=client)


def _cost_wanted(form: dict[str, str]) -> dict[str, Any]:
    try:
        return {"switching_cost": float(form["cost"])}
    except ValueError:
        raise Refused(422, "λ must be a number") from None


def _act_wanted(form: dict[str, str], view: GameView) -> dict[str, Any]:
    act = one_of("act", form.get("act", ""), ACTS)
    if act == "unpin":
        return {"unpin": True}
    arms = {str(arm): arm for arm in view.arms}
    arm, until = arms[one_of("arm", form.get("arm", ""), arms)], form.get("until", "").strip()
    return {act: arm, **({"until": until} if until and act != "resume" else {})}


async def _estimated(service: Service, name: str, cost: float) -> Html:
    """What each arm would have cost at this λ, where the log can tell."""
    try:
        found = await replayed(service, name, cost)
    except HoldfastError as error:
        return element("p", f"The log cannot tell yet what each arm would have cost: {error}", class_="quiet")
    rows = []
    for row in found["rows"]:
        if row.get("estimator") == "doubly_robust" and row["policy"].startswith("only "):
            half = (row["cost_high"] - row["cost_low"]) / 2
            rows.append([row["policy"], f"{five_digits(row['cost'])} ± {five_digits(half)}"])
    paid = element("p", f"The {number(found['rounds'])} rounds in the log cost {five_digits(found['paid'])} at this λ.")
    return joined(paid, as_table(["had one arm been held", "estimated cost ± 95 %"], rows, "estimates"))


def last_changes(changes: list[ChangeView], home: str) -> Html:
    """The last changes, on the page of the game."""
    if not changes:
        return element("p", "Nothing was changed yet.", class_="empty", id="changes", data_live="yes")
    every = element("p", element("a", "All changes", href=f"{home}/changes"))
    return element("div", _table_of_changes(changes), every, id="changes", data_live="yes")


async def show_changes(service: Service, request: Request, client: Token) -> Response:
    """All changes, in order, in pages."""
    name = request.path_params["name"]
    home = home_of(service, name)
    found = await changes_on_page(service, request)
    title = f"Changes of {name}"
    table = _table_of_changes(found.changes) if found.changes else element("p", "There are no more.", class_="empty")
    later = f"{home}/changes?cursor={found.next}&limit={len(found.changes)}"
    more = Html("") if found.next is None else element("p", element("a", "Later ones", href=later))
    back = element("p", element("a", "Back to the game", href=home))
    crumbs = element("a", name, href=home, class_="crumb")
    return page(service.root, title, table, more, back, crumbs=crumbs, client=client)


def _table_of_changes(changes: list[ChangeView]) -> Html:
    rows = [[utc(one.at), _changed(one), one.reason or "–"] for one in changes]
    return as_table(["when (UTC)", "what", "why"], rows, "table-of-changes", numeric=3)


def _changed(change: ChangeView) -> str:
    """What was changed, in words."""
    if change.kind != "settings":
        arm = "" if change.detail["arm"] is None else f" {change.detail['arm']}"
        return f"{change.kind}{arm}{until_utc(change.detail['until'])}"
    return "; ".join(f"{name}: {_value(name, was)} → {_value(name, now)}" for name, (was, now) in change.detail.items())


def _value(name: str, value: Any) -> str:
    if name == "key_life" or (name == "patience" and isinstance(value, str) and value[-1] == "s"):
        return seconds_shown(float(str(value).removesuffix("s")))
    if name == "patience" and isinstance(value, int):
        return counted(value, "round")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
