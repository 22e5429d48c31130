"""Shared parts of the commands: lists, common options, and errors in terms of options.

A list is written with commas, or its option is repeated: ``--switching-cost 0.1,1`` or ``--switching-cost 0.1
--switching-cost 1``. A name that has a comma stands in double quotes: ``--arms '"a,b",c'``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast import errors
from holdfast.errors import Advice, Changes, Form, HoldfastError, InvalidParameter, Set, Words, printable

Backend = Annotated[str, typer.Option(help="threads, cuda or dask.")]
Scheduler = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")]
Workers = Annotated[int | None, typer.Option(help="Threads, or local Dask processes; all cores by default.")]

LIST = "A,B"
"""Placeholder of a list in help."""
RANGE = errors.RANGE.shell
OUTSIDE_QUOTES, OUTSIDE_BRACKETS = re.compile(r',(?=(?:[^"]*"[^"]*")*[^"]*$)'), re.compile(r",(?![^\[]*\])")
"""Commas that separate names, and policies with parameters such as ``[1, 2]``."""

PARAMETERS = {
    "n_arms": "arms",
    "arms": "columns",
    "losses": "record",
    "source": "record",
    "log": "record",
    "traces": "record",
    "switching_costs": "switching_cost",
    "change_switching_cost": "switching_cost",
    "add_arms": "add",
    "retire_arms": "retire",
    "path": "out",
    "file": "out",
}
"""Library parameters that commands call otherwise."""


def names(given: Iterable[str] | None) -> list[str]:
    """Return the names in a list given to a command.

    >>> names(["east, west", '"a,b"'])
    ['east', 'west', 'a,b']
    """
    cells = [cell.strip() for text in given or () for cell in OUTSIDE_QUOTES.split(text)]
    return [re.sub('^"(.*)"$', r"\1", cell, flags=re.DOTALL) for cell in cells if cell]


def policy_names(given: Iterable[str] | None) -> list[str]:
    """Like `names`, for policies, which may have parameters after a colon.

    >>> policy_names(["exp3,tsallis-inf:loss_bound=2.0,estimator=reduced-variance", "ucb1"])
    ['exp3', 'tsallis-inf:loss_bound=2.0,estimator=reduced-variance', 'ucb1']
    """
    found: list[str] = []
    for text in given or ():
        for number, part in enumerate(OUTSIDE_BRACKETS.split(text)):
            if number and "=" in part and ":" not in part.partition("=")[0]:
                found[-1] += f",{part}"
            elif part.strip():
                found.append(part.strip())
    return found


def numbers(option: str, given: Iterable[str] | None) -> list[float]:
    """Return the numbers in a list given to a command.

    >>> numbers("--switching-cost", ["0.1,1", "2"])
    [0.1, 1.0, 2.0]
    """
    words = names(given)
    try:
        return [float(word) for word in words]
    except ValueError:
        raise InvalidParameter(option, "must be numbers with commas, such as 0.1,1", ",".join(words)) from None


def given(
    ctx: typer.Context, left_out: Iterable[str] = (), *, read: Mapping[str, Callable[[Any], Any]] | None = None
) -> dict[str, Any]:
    """Return a command's options by the library's parameter names, without those that are None or empty.

    Parameters
    ----------
    ctx
        The call; each option is declared once, in the signature of its command.
    left_out
        Options that the function called does not take.
    read
        For an option the function that makes its value of what was written.
    """
    called = {option: name for name, option in PARAMETERS.items() if option in ("arms", "columns")}
    wanted = {name: value for name, value in ctx.params.items() if value not in (None, [], ()) and name not in left_out}
    return {called.get(name, name): (read or {}).get(name, lambda same: same)(value) for name, value in wanted.items()}


class Command(typer.core.TyperCommand):
    """A command whose errors name its options, not parameters in Python."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except InvalidParameter as error:
            options = Options(ctx.command.params, ctx.params)
            rule = error.rule.worded(options.worded) if isinstance(error.rule, Words) else error.rule
            raise InvalidParameter(options.named(error.parameter) or error.parameter, rule, error.value) from None
        except HoldfastError as error:
            error.args = (error.worded(Options(ctx.command.params, ctx.params).worded), *error.args[1:])
            raise


class Options:
    """The options of a command, by the library's parameter names."""

    def __init__(self, params: Iterable[Any], given: Mapping[str, Any]) -> None:
        self._names = {p.name: p.opts[0] if p.opts[0][0] == "-" else (p.metavar or p.name).upper() for p in params}
        if isinstance(given.get("record"), Path):  # users know their file by its name
            self._names["record"] = printable(given["record"].name)

    def named(self, parameter: str) -> str | None:
        """Return the option of a parameter; None if the command has none."""
        return self._names.get(parameter if parameter in self._names else PARAMETERS.get(parameter, parameter))

    def worded(self, advice: Advice) -> str:
        """Word one piece of advice as an option or a command; if there is none, as in Python."""
        match advice:
            case Form():
                return advice.shell or advice.text
            case Set(value=value) if option := self.named(advice.name):
                shown = value.shell or value.text if isinstance(value, Form) else shlex.quote(str(value))
                return f"{advice.verb}{option}" + ("" if value is True or value is ... else f" {shown}")
            case Changes():
                return _change_command(advice.differences) or str(advice)
            case _:
                return str(advice)


def _change_command(differences: Mapping[str, tuple[Any, Any]]) -> str:
    """Build the `holdfast store change` command that would apply the given settings, if there is one."""
    options = []
    for name, (was, given) in differences.items():
        if name in ("switching_cost", "patience", "missing", "remember"):
            options.append(f"--{name.replace('_', '-')} {given}")
        elif name == "arms" and isinstance(was, list) and isinstance(given, list):
            added, retired = [a for a in given if a not in was], [a for a in was if a not in given]
            options += [f"--add {','.join(added)}"] * bool(added) + [f"--retire {','.join(retired)}"] * bool(retired)
    return f"holdfast store change URL NAME {' '.join(options)}" if options else ""
