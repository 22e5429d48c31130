"""The commands ``holdfast store …``: games in a store, from a shell."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial, wraps
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from holdfast.checks import written_range
from holdfast.command_line import LIST, RANGE, Command, names
from holdfast.decisions import copies, open as open_game, open_many
from holdfast.decisions.options import HELP, METAVAR, options_of, written_time
from holdfast.decisions.requests import Ask
from holdfast.decisions.router import Router
from holdfast.decisions.settings import KEEP, Settings
from holdfast.decisions.stores import LASTING, Address, parse_address, store_at
from holdfast.errors import BadStore, HoldfastError, InvalidParameter, StoreError, printable
from holdfast.policies.policy import Policy
from holdfast.policies.registry import entry_of, make_policy
from holdfast.text import columns, counted

Verb = TypeVar("Verb", bound=Callable[..., Any])

Url = Annotated[str, typer.Argument(help=f"{LASTING}.")]
Name = Annotated[str, typer.Argument(help="The name of the game.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, errors too.")]
SwitchingCost = Annotated[float | None, typer.Option(help="λ, what one switch costs.")]
Allow = Annotated[
    list[str] | None,
    typer.Option(metavar="MODULE:CLASS", help="A user-defined policy that may be imported; may be given again."),
]
ArmName = Annotated[str, typer.Argument(help="The arm's name, or its number from 0 where arms have none.")]
Until = Annotated[str | None, typer.Option(help="When it ends: 2026-03-01T12:00, or how long: 30s, 10m, 2h, 1d.")]
Confidence = Annotated[float, typer.Option(help="The confidence of the interval, which is valid at any time.")]
Reason = Annotated[str | None, typer.Option(help="Why; kept in the history.")]


def add_to(app: typer.Typer) -> None:
    """Make the verbs known to a command."""
    negative_numbers = {"ignore_unknown_options": True}  # -0.5 is a loss, not an option
    verbs = (
        ask,
        tell,
        list_games,
        show,
        decision,
        export,
        compare,
        judge,
        change,
        pause,
        resume,
        pin,
        unpin,
        end,
        observe,
    )
    for verb in (*verbs, settle, compact, backup, restore):
        name = verb.__name__.removesuffix("_games")
        app.command(name, cls=Command, context_settings=negative_numbers if verb is tell else None)(verb)


NOT_OPTIONS = ("n", "switching_cost")
"""Fields of `Ask` that its command has under their names already, the second for a new game."""

IN_A_SHELL: dict[str, tuple[Any, str | None]] = {
    "integer": (int | None, None),
    "number": (float | None, None),
    "string": (str | None, None),
    "arm": (str | None, "ARM"),
    "text": (str | None, None),
    "object": (list[str] | None, "NAME=VALUE"),
    "array": (list[str] | None, LIST),
    "any": (str | None, "JSON"),
}
"""The type of an option and what stands for its value, by how a request writes the field."""


def with_options(*kinds: type) -> Callable[[Verb], Verb]:
    """Give a command an option for each field of a request or setting of a game, instead of its ``**options``."""

    def give(verb: Verb) -> Verb:
        signature = inspect.signature(verb, eval_str=True)
        parameters = {one.name: one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD}
        for name, (field, written) in (one for kind in kinds for one in options_of(kind).items()):
            if name not in NOT_OPTIONS and name not in parameters:
                hint, metavar = IN_A_SHELL[written]
                shown = typer.Option(metavar=field.metadata.get(METAVAR, metavar), help=field.metadata[HELP])
                parameters[name] = inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[hint, shown]
                )
        verb.__signature__ = signature.replace(parameters=[*parameters.values()])  # type: ignore[attr-defined]
        verb.__annotations__ = {one.name: one.annotation for one in parameters.values()}
        return verb

    return give


def on_a_game(verb: Callable[..., tuple[Any, str]]) -> Callable[..., None]:
    """Make a command of a function that gets a router, and returns what to print as JSON and in words."""
    _, *own = inspect.signature(verb, eval_str=True).parameters.values()
    named = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    parameters = [named("url", annotation=Url), named("name", annotation=Name)]
    parameters += [one.replace(kind=one.KEYWORD_ONLY) for one in own]
    parameters += [named("as_json", annotation=AsJson, default=False), named("allow", annotation=Allow, default=None)]

    @wraps(verb)
    def command(url: str, name: str, as_json: bool, allow: list[str] | None, **options: Any) -> None:
        with open_game(_store(url), name, allow=allow or ()) as router:
            content, words = verb(router, **options)
        if as_json or words:
            print(json.dumps(content) if as_json else words)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _given(router: Router, option: str, text: Any) -> Any:
    """Return the value of an option of `Ask` as its field takes it."""
    written = options_of(Ask)[option][1]
    if written == "array":
        return [_arm(router, arm) for arm in names(text)] or None
    if written == "any":
        try:
            found = json.loads(text)
        except ValueError:
            raise InvalidParameter(option, "must be JSON", text) from None
        return {_arm(router, arm): value for arm, value in found.items()} if isinstance(found, dict) else found
    return _arm(router, text) if written == "arm" else text


def _settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a game that were given among the options of a command."""
    parse: dict[str, Callable[[str, Any], Any]] = {"text": _number_or_word, "object": _object}
    kinds = {name: kind for name, (_, kind) in options_of(Settings).items() if options.get(name) is not None}
    return {n: parse[kind](n, options[n]) if kind in parse else options[n] for n, kind in kinds.items()}


@with_options(Ask, Settings)
def ask(
    url: Url,
    name: Name,
    n: Annotated[int | None, typer.Option("-n", help="Several decisions at once.")] = None,
    policy: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Begin the game if there is none: an id, or ID:name=value,name=value."),
    ] = None,
    arms: Annotated[list[str] | None, typer.Option(metavar=LIST, help="The names of a new game's arms.")] = None,
    switching_cost: SwitchingCost = None,
    units: Annotated[
        str | None, typer.Option(metavar=RANGE, help="The lowest and highest loss of one round of a new game; 0,1.")
    ] = None,
    settings: Annotated[
        str, typer.Option(metavar="WHOSE", help="The settings that count if the game has others: store, code, same.")
    ] = "store",
    as_json: AsJson = False,
    allow: Allow = None,
    **options: Any,
) -> None:
    """Ask which arm to play: prints the decision's id and arm."""
    of_policy = {
        "arms": names(arms) or None,
        "switching_cost": switching_cost,
        "units": _units("--units", units),
    }
    asked = {name: options.pop(name) for name in options_of(Ask) if name in options}
    own = _settings(options)
    begun = None
    if policy is not None:
        begun = _policy(policy, of_policy)
    else:
        for parameter, value in {**of_policy, **own}.items():
            if value is not None:
                rule = "is for a new game: begin one with --policy, or change this one with `holdfast store change`"
                raise InvalidParameter(parameter, rule, value)
    url, more = _store(url, new=begun is not None), {**own, "settings": settings}
    with open_game(url, name, begun, allow=allow or (), **more) as router:
        given = {option: _given(router, option, text) for option, text in asked.items() if text is not None}
        decisions = router.ask(1 if n is None else n, **given)
    if as_json:
        answers = [decision._asdict() for decision in decisions]
        print(json.dumps(answers if n is not None else answers[0]))
    else:
        for decision in decisions:
            print(decision.id, printable(decision.arm))


@on_a_game
def tell(
    router: Router,
    id: Annotated[str, typer.Argument(help="The decision's id, as ask printed it.")],
    loss: Annotated[float | None, typer.Argument(help="Its loss.")] = None,
    reward: Annotated[float | None, typer.Option(help="Instead of a loss.")] = None,
    measured: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Instead of a loss, by the game's scale: latency=1.3."),
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Instead of a loss: the highest there is.")] = False,
    error: Annotated[bool, typer.Option("--error", help="Instead of a loss: an error, by the game's scale.")] = False,
    losses: Annotated[
        list[str] | None, typer.Option(metavar="ARM=LOSS", help="Instead of a loss, those of all arms: a=0.2,b=0.7.")
    ] = None,
    in_time: Annotated[
        bool, typer.Option("--in-time", help="Refuse it where its block was settled without it.")
    ] = False,
) -> tuple[Any, str]:
    """Report the loss of a decision; reported twice, it counts once."""
    measures = {key: _numbers("measured", key, text, 1)[0] for key, text in _assigned("measured", measured)}
    every = _losses(router, losses) if losses else None
    said: dict[str, Any] = {"reward": reward, "failed": failed, "error": error, "losses": every, "in_time": in_time}
    receipt = router.tell(id, loss, **said, **measures)
    words = ("told" if receipt.new else "told before", "told late" if receipt.new else "too late to be counted")
    return receipt._asdict(), words[receipt.late]


def list_games(url: Url, as_json: AsJson = False, allow: Allow = None) -> None:
    """List the games of a store."""
    store = store_at(_store(url))
    rows, damaged = [], {}
    for name in store.names():
        try:
            rows.append(row_of(open_game(store, name, allow=allow or ())))
        except HoldfastError as error:
            if isinstance(error, StoreError) and not isinstance(error, BadStore):
                raise
            damaged[name] = str(error)
    store.close()
    if as_json:
        shown = [dict(zip(HEADINGS, row, strict=True)) for row in rows]
        print(json.dumps([*shown, *({"name": name, "error": why} for name, why in damaged.items())]))
    else:
        show_games(rows, damaged, Console())


def show(
    url: Url,
    name: Annotated[list[str], typer.Argument(metavar="NAME...", help="The name of the game, or several.")],
    as_json: AsJson = False,
    allow: Allow = None,
) -> None:
    """Show a game: its cost, arms and blocks; or several games."""
    routers = list(open_many(_store(url), dict.fromkeys(name), allow=allow or ()).values())
    if as_json:
        games = [{"name": r.name, "arm": r.arm, "hold": r.hold, **asdict(r.history.totals)} for r in routers]
        print(json.dumps(games[0] if len(games) == 1 else games))
    elif len(routers) == 1:
        show_game(routers[0], Console())
    else:
        show_together(routers, Console())
    routers[0].close()


@on_a_game
def decision(
    router: Router, id: Annotated[str, typer.Argument(help="The decision's id, as ask printed it.")]
) -> tuple[Any, str]:
    """Follow one decision: who asked, why this arm, what it lost."""
    found = asdict(router.decision(id))
    shown = {what: printable(value) for what, value in found.items() if value is not None}
    shown |= {what: _moment(found[what]) for what in ("asked", "told", "settled") if what in shown}
    shown |= {what: f"{found[what]:.6g}" for what in ("probability", "loss", "counted") if what in shown}
    if "measures" in shown:
        shown["measures"] = json.dumps(found["measures"])
    return found, "\n".join(f"{what:12}{value}" for what, value in shown.items())


@on_a_game
def export(
    router: Router, out: Annotated[Path, typer.Option(help="A file that ends in .csv or .parquet.")]
) -> tuple[Any, str]:
    """Write the log of a game to a file, for `holdfast replay`."""
    router.history.export(out)
    return {"out": str(out)}, ""


@on_a_game
def compare(router: Router, confidence: Confidence = 0.95) -> tuple[Any, str]:
    """Compare the policy with the rule held back: its savings."""
    found = router.history.compare(confidence)
    return found.to_json(), f"the policy {found.words()}"


@on_a_game
def judge(
    router: Router,
    arm: ArmName,
    against: Annotated[str, typer.Option(help="The arm that it is judged against.")],
    confidence: Confidence = 0.95,
) -> tuple[Any, str]:
    """Judge whether an arm is better than another one."""
    found = router.judge(_arm(router, arm), _arm(router, against), confidence)
    return found.to_json(), str(found)


@on_a_game
@with_options(Settings)
def change(
    router: Router,
    switching_cost: SwitchingCost = None,
    add: Annotated[list[str] | None, typer.Option(metavar=LIST, help="New arms.")] = None,
    retire: Annotated[list[str] | None, typer.Option(metavar=LIST, help="Arms that shall not be played again.")] = None,
    reason: Reason = None,
    **options: Any,
) -> tuple[Any, str]:
    """Change the settings of a game, from its next block on."""
    given = _settings(options)
    if switching_cost is None and not (add or retire or given):
        raise typer.BadParameter("give what to change: --switching-cost, --add, --retire, --patience, …")
    router.change(switching_cost=switching_cost, add_arms=names(add), retire_arms=names(retire), reason=reason, **given)
    return {"name": router.name}, "changed"


@on_a_game
def pause(router: Router, arm: ArmName, until: Until = None, reason: Reason = None) -> tuple[Any, str]:
    """Do not hand out an arm, in any process, until it is resumed."""
    router.pause(_arm(router, arm), _end(until), reason)
    return _done(router)


@on_a_game
def resume(router: Router, arm: ArmName, reason: Reason = None) -> tuple[Any, str]:
    """Hand out an arm again that was paused."""
    router.resume(_arm(router, arm), reason)
    return _done(router)


@on_a_game
def pin(router: Router, arm: ArmName, until: Until = None, reason: Reason = None) -> tuple[Any, str]:
    """Hand out this arm only; its rounds are recorded as forced."""
    router.pin(_arm(router, arm), _end(until), reason)
    return _done(router)


@on_a_game
def unpin(router: Router, reason: Reason = None) -> tuple[Any, str]:
    """Leave the choice of arms to the policy again."""
    router.unpin(reason)
    return _done(router)


@on_a_game
def compact(router: Router, keep: Annotated[int, typer.Option(help="Blocks that stay.")] = KEEP) -> tuple[Any, str]:
    """Remove the rows of old blocks; totals and sums of days stay."""
    removed = router.history.compact(keep)
    return {"removed": removed}, f"{counted(removed, 'block')} removed"


@on_a_game
def end(router: Router, key: Annotated[str, typer.Argument(help="The conversation's key.")]) -> tuple[Any, str]:
    """End a conversation, so that it is learnt from."""
    ended = router.end(key)
    return {"ended": ended}, "ended" if ended else "there was none"


@on_a_game
def observe(
    router: Router, losses: Annotated[list[str], typer.Argument(metavar="ARM=LOSS...", help="The loss of each arm.")]
) -> tuple[Any, str]:
    """Report the losses of all arms in a round without a decision."""
    router.observe(_losses(router, losses))
    return _done(router)


@on_a_game
def settle(router: Router) -> tuple[Any, str]:
    """Settle the blocks whose patience has run out."""
    settled = router.settle()
    return {"settled": settled}, f"{counted(settled, 'block')} settled"


def _done(router: Router) -> tuple[Any, str]:
    return {"name": router.name}, "done"


def _losses(router: Router, given: list[str]) -> dict[int | str, float]:
    return {_arm(router, arm): _numbers("losses", arm, text, 1)[0] for arm, text in _assigned("losses", given)}


def _arm(router: Router, text: str) -> int | str:
    """Return an arm by its name, or by its number where arms have none."""
    return int(text) if router.policy.arms is None and text.isdecimal() else text


def _end(text: str | None) -> datetime | timedelta | None:
    """A time without a zone is this machine's."""
    end = None if text is None else written_time("until", text)
    return end.astimezone() if isinstance(end, datetime) and end.tzinfo is None else end


def backup(
    url: Url,
    target: Annotated[Path, typer.Argument(help="The file to write.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a store to a file while it is in use."""
    made = copies.backup(_store(url), target, overwrite=overwrite)
    print(json.dumps({"file": str(made)}) if as_json else f"The copy is {printable(made)}")


def restore(
    source: Annotated[Path, typer.Argument(help="A file that backup wrote.")],
    url: Url,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Replace a store by a copy; the old one is kept beside it."""
    address = parse_address(_store(url, new=True))
    if not yes and address.kind == "sqlite" and Path(address.path).exists():
        if not sys.stdin.isatty():
            rule = f"must be given: {address.shown} holds games, which a copy is to replace"
            raise InvalidParameter("yes", rule, None)
        typer.confirm(f"Replace what {address.shown} holds? It is kept in a file beside it.", abort=True)
    kept = copies.restore(source, url)
    if as_json:
        print(json.dumps({"url": address.shown, "kept": None if kept is None else str(kept)}))
    else:
        print("restored" if kept is None else f"restored; what was there is in {printable(kept)}")


def lasting_store(url: str, outlived: str) -> Address:
    """Return the address of a store, which must outlive the command or the server."""
    address = parse_address(url)
    if address.kind == "memory":
        raise InvalidParameter("url", f"must be a store that outlives the {outlived}: {LASTING}", url)
    return address


def _store(url: str, *, new: bool = False) -> str:
    """The URL, if there is a store; a game may begin in a new one."""
    address = lasting_store(url, "command")
    if address.kind == "sqlite" and not new and not Path(address.path).exists():
        rule = "must be a store that exists; `holdfast store ask` with --policy begins one"
        raise InvalidParameter("url", rule, address.shown)
    return url


def _policy(text: str, settings: dict[str, Any]) -> Policy:
    given = {key: value for key, value in settings.items() if value is not None}
    entry = {key: value for key, value in entry_of(text).items() if key != "name"}
    try:
        return make_policy({**given, **entry})
    except InvalidParameter as error:
        if error.parameter in {**settings, **entry}:
            raise
        rule = f"needs {error.parameter} too, such as {entry['policy']}:{error.parameter}=10000"
        raise InvalidParameter("policy", rule, text) from None


def _units(option: str, text: str | None) -> tuple[float, float] | None:
    return None if text is None else written_range(option, text)


def _object(option: str, given: list[str]) -> dict[str, Any] | list[Any] | Literal[False]:
    """Return a mapping such as ``latency=0.2:8:3,error=1``, several values with colons between them; False for off.

    Values without names, such as ``10,1d``, are a list.
    """
    if given == ["off"]:
        return False
    if (values := names(given)) and not any("=" in one for one in values):
        return [_number_or_word(option, one) for one in values]
    parts = {name: [_number_or_word(option, one) for one in text.split(":")] for name, text in _assigned(option, given)}
    return {name: values if len(values) > 1 else values[0] for name, values in parts.items()}


def _assigned(option: str, given: list[str] | None) -> list[tuple[str, str]]:
    """Names and what is written after their equals sign."""
    pairs = [text.partition("=") for text in names(given)]
    for name, equals, _ in pairs:
        if not equals or not name:
            raise InvalidParameter(option, "must be names with values, such as latency=1.3,price=0.004", given)
    return [(name, text) for name, _, text in pairs]


def _numbers(option: str, name: str, text: str, *counts: int) -> list[float]:
    """Numbers with colons between them."""
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) not in counts:
        shown = "a number" if counts == (1,) else "low:high or low:high:weight"
        raise InvalidParameter(option, f"must have {shown} after {name}=", text)
    return numbers


def _number_or_word(option: str, text: str) -> float | str:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text


# What the commands of a store show on a terminal. Names are escaped where a terminal would obey them.

RECENT = 60
"""Blocks in the chart of a game."""

MARKS, PLAIN_MARKS = "●■▲◆○□△◇", "ABCDEFGH"
"""Signs of the arms in the chart; letters where the terminal has no such signs."""

HEADINGS = ("name", "policy", "rounds", "switches", "out", "missing", "cost")


def row_of(router: Router) -> tuple[Any, ...]:
    """The line of a game, under the headings."""
    totals = router.history.totals
    counts = (totals.rounds, totals.switches, totals.out, totals.missing)
    return router.name, router.policy.label, *counts, totals.cost


def show_games(rows: Sequence[Sequence[Any]], damaged: Mapping[str, str], console: Console) -> None:
    """A line for each game, and why some cannot be shown."""
    cells = [
        (printable(name), printable(label), *(f"{number:,}" for number in numbers), f"{cost:,.6g}")
        for name, label, *numbers, cost in rows
    ]
    console.print(columns(HEADINGS, cells, labels=2))
    for name, why in damaged.items():
        print(f"{printable(name)}: {printable(why)}")


def show_game(router: Router, console: Console) -> None:
    """Print the state of a game: its current arm, its cost, its arms, its last blocks."""
    totals, policy = router.history.totals, router.policy
    stays = f"for {counted(router.hold, 'more round')}" if router.hold else "until the next decision"
    holding = "nothing yet" if router.arm is None else f"{printable(router.arm)} {stays}"
    console.print(Text(f"{printable(router.name)}: {printable(policy.label)}, {policy.n_arms} arms", style="bold"))
    if router.arm is not None or not totals.conversations:
        console.print(f"holding {holding}", markup=False, highlight=False)
    if totals.rounds:
        console.print(printable(router.why), markup=False, highlight=False)
    console.print(
        f"{counted(totals.rounds, 'round')} in {counted(totals.blocks, 'block')}; "
        f"{counted(totals.out, 'open loss', 'open losses')}, {totals.missing:,} missing"
    )
    if totals.overdue:
        late = f"they come {totals.lateness:,.3g} rounds late on average"
        waits = f"{counted(totals.overdue, 'block waits', 'blocks wait')} for losses that are long overdue ({late})"
        console.print(f"warning: {waits}, forever. Give a patience:", style="bold")
        names = shlex.join([router.store.url, router.name])
        console.print(f"holdfast store change {printable(names)} --patience 10m", soft_wrap=True, markup=False)
    paused = [
        printable(arm) + ("" if until == inf else f" until {when(until)}") for arm, until in router.paused.items()
    ]
    if paused:
        console.print(f"paused: {', '.join(paused)}", style="bold", markup=False, highlight=False)
    if router.pinned is not None:
        console.print(f"pinned: {printable(router.pinned)}", style="bold", markup=False, highlight=False)
    share = router.holdback
    if share:
        saving = f": the policy {router.history.compare().words()}" if share < 1.0 else ": a shadow, nothing is learnt"
        console.print(f"holdback: {share:.3g} by the rule{saving}", style="bold", markup=False, highlight=False)
    paid = f"{totals.switching:,.6g} for {totals.switches:,} switches"
    missing = f" + {totals.missing_losses:,.6g} for missing ones" if totals.missing else ""
    console.print(f"cost {totals.cost:,.6g} = losses {totals.losses:,.6g}{missing} + {paid}")
    marks = MARKS if console.encoding.startswith("utf") else PLAIN_MARKS
    cells = []
    for number, arm in enumerate(totals.arms):
        mean = "" if arm.mean is None else f"{arm.mean:.4f}"
        label = f"{printable(arm.arm)}{' (retired)' if arm.retired else ''}"
        counts = (f"{arm.rounds:,}", f"{arm.missing:,}", mean, f"{arm.blocks:,}")
        cells.append((marks[number % len(marks)], label, *counts, when(arm.last_used)))
    console.print(columns(("", "arm", "rounds", "missing", "mean loss", "blocks", "last used"), cells, labels=2))
    blocks = router.history.recent(RECENT)
    if blocks:
        console.print(chart(blocks, len(totals.arms), console.width, marks))


def show_together(routers: Sequence[Router], console: Console) -> None:
    """Several games side by side: a line for each, and the mean loss of each arm in each game, with its rounds."""
    show_games([row_of(router) for router in routers], {}, console)
    cells: dict[int | str, dict[str, str]] = {}
    for router in routers:
        for arm in router.history.totals.arms:
            mean = "" if arm.mean is None else f"{arm.mean:.4f} "
            cells.setdefault(arm.arm, {})[router.name] = f"{mean}({arm.rounds:,})"
    head = ("arm", *(printable(router.name) for router in routers))
    rows = ((printable(arm), *(own.get(router.name, "") for router in routers)) for arm, own in cells.items())
    console.print(columns(head, rows, title="mean loss (rounds)"))


def chart(blocks: Sequence[Any], n_arms: int, width: int, marks: str = MARKS) -> Text:
    """The last blocks, one mark each, by arm from top to bottom: when an arm was held, and when it was left."""
    shown = blocks[-max(1, min(len(blocks), width - 4)) :]
    other = "·" if marks == MARKS else "."
    lines = []
    for arm in range(min(n_arms, 16)):
        mark = marks[arm % len(marks)]
        lines.append(f"{mark} " + "".join(mark if block.arm == arm else other for block in shown))
    first, last = shown[0].number, shown[-1].number
    lines.append(f"  blocks {first} to {last}, oldest on the left")
    return Text("\n".join(lines))


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def when(seconds: float | None) -> str:
    """Return a time as terminals show it."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
