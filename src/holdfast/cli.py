"""The command `holdfast`: parse, call one public function, print; `docs/cli.md` has its exit codes."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

import holdfast
from holdfast import machine_code
from holdfast.adapters.proxies import steer
from holdfast.command_line import LIST, Command, numbers
from holdfast.decisions import cli as store_commands
from holdfast.decisions.stores.address import NotShown, parse_address
from holdfast.doctor import doctor
from holdfast.errors import HoldfastError, InvalidParameter, error_to_json, printable
from holdfast.lab import commands as lab_commands
from holdfast.replays import commands as replay_commands
from holdfast.service import commands as service_commands

PLAIN: dict[str, Any] = {
    "no_args_is_help": True,
    "rich_markup_mode": None,  # plain text: flags without a type, lists as they stand, any width
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(
    pretty_exceptions_enable=False,
    help="Repeatedly pick one of several options when switching has a cost: make decisions that a store keeps, "
    "replay recorded losses, simulate, and check the theory.",
    **PLAIN,
)
study = typer.Typer(help="Run and draw your own experiments.", **PLAIN)
token = typer.Typer(help="Make, list and revoke tokens of `holdfast serve`.", **PLAIN)
benchmark = typer.Typer(help="Rank a policy on a fixed suite of settings.", **PLAIN)
store = typer.Typer(help="Make decisions: ask which option to use, tell what it cost.", **PLAIN)

UsageError: type[Any] = typer.BadParameter.__bases__[0]  # Typer has its own copy of click, and older versions do not

UNWRITTEN, USAGE, INTERRUPTED = 1, 2, 130


def _version(wanted: bool) -> None:
    if wanted:
        print(f"holdfast {holdfast.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def bounds(
    arms: Annotated[int, typer.Option(help="K, the number of arms.")],
    switching_cost: Annotated[float, typer.Option(help="λ, what one switch costs.")],
    horizon: Annotated[float, typer.Option(help="T, the number of rounds, e.g. 1e6.")],
    gaps: Annotated[
        list[str] | None, typer.Option(metavar=LIST, help="Gaps of the suboptimal arms: one for all, or a list.")
    ] = None,
    best_arms: Annotated[int, typer.Option(help="Arms that share the best mean.")] = 1,
) -> None:
    """Print every bound for one case, and which binds."""
    from holdfast.bounds.table import applicable, binding, smallest
    from holdfast.report.html import plain_powers

    values = numbers("--gaps", gaps)
    rows = applicable(
        n_arms=arms,
        switching_cost=switching_cost,
        horizon=horizon,
        gaps=None if gaps is None else values[0] if len(values) == 1 else values,
        best_arms=best_arms,
    )
    names = [_title(row.name) for row in rows]
    shown = [f"{row.value:,.1f}" if row.value < 1e12 else f"{row.value:.4g}" for row in rows]
    first, second = max(map(len, names)), max(map(len, shown))
    known = "unknown" if gaps is None else ",".join(f"{gap:g}" for gap in values)
    print(f"K = {arms}, λ = {switching_cost:g}, T = {horizon:g}, gaps {known}\n")
    print(f"{'bound':{first}}  {'value':>{second}}  holds for, formula")
    for row, name, value in zip(rows, names, shown, strict=True):
        other = row.note.startswith("holds for ")  # of another policy
        holds = row.note.removeprefix("holds for ") if row.applies or other else f"not here: {row.note}"
        above = "; above T + λ: says nothing" if row.says_nothing else ""
        _wrapped(f"{name:{first}}  {value:>{second}}  ", holds + above)
        _wrapped("    ", plain_powers(row.statement))
    best = binding(rows)
    print(f"\nOf the theorems on Tsallis-Switch {_title(best.name)} binds: {best.value:,.1f}.")
    trivial = next(row for row in rows if row.kind == "trivial")
    if trivial.value < best.value:
        _wrapped(
            "",
            f"At this horizon none says more than {trivial.statement} = {trivial.value:,.1f} does, whatever is played.",
        )
    least = smallest(rows)
    nothing = ", which says nothing: it is above T + λ" if least.says_nothing else ""
    name, policy = _title(least.name), least.note.removeprefix("holds for ")
    _wrapped(
        "", f"Of all bounds on regret and switches {name} is the smallest ({policy}): {least.value:,.1f}{nothing}."
    )


def _title(name: str) -> str:
    """Return the name of a bound in words: `tsallis_inf` is Tsallis-INF."""
    words = name.replace("_", " ").capitalize()
    return words.replace("Tsallis inf", "Tsallis-INF").replace("Exp3", "EXP3")


def _wrapped(begin: str, words: str) -> None:
    """Print `words` after `begin`, and below it where the terminal ends."""
    width = max(shutil.get_terminal_size((80, 24)).columns, len(begin) + 20)
    print(textwrap.fill(words, width, initial_indent=begin, subsequent_indent=" " * len(begin)))


app.add_typer(store, name="store")
store_commands.add_to(store)
service_commands.add_to(app, token)
app.add_typer(token, name="token")
replay_commands.add_to(app)
app.add_typer(study, name="study")
app.add_typer(benchmark, name="benchmark")
machine_code.add_to(app)
lab_commands.add_to(app, study, benchmark)
app.command(cls=Command)(bounds)
app.command(cls=Command)(doctor)
app.command(cls=Command)(steer)


class PipeSafeStdout:
    """Standard output that ignores a closed pipe (``| head``): what is to be written to disk still is."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, unless the pipe is closed."""
        with self._silenced():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, unless the pipe is closed."""
        with self._silenced():
            self._stream.flush()

    @contextmanager
    def _silenced(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EINVAL):  # Windows says EINVAL
                raise
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


def main() -> None:
    """Run the command; a mistake is one line on standard error, or one JSON object, and an exit code."""
    if sys.stderr is None:  # closed: what is said there must not reach standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # until the process ends
    if sys.stdout is None:
        sys.exit(_say(UNWRITTEN, HoldfastError("standard output is closed; nothing was done")))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an encoding without λ shows \u03bb
    sys.stdout = PipeSafeStdout(sys.stdout)
    try:
        try:
            code = app(prog_name="holdfast", standalone_mode=False)
        finally:
            sys.stdout.flush()
    except HoldfastError as error:
        code = _say(error.exit_code, error)
    except UsageError as error:
        code = _say_usage(error)
    except typer.Abort:
        code = INTERRUPTED
    except OSError as error:  # standard output on a full disk
        _say(
            UNWRITTEN, HoldfastError(f"cannot write its output: {error.strerror or error}; what the command did stands")
        )
        os._exit(UNWRITTEN)  # what is still in the buffer cannot be written either
    if code == INTERRUPTED:
        print("holdfast: interrupted", file=sys.stderr)
    sys.exit(code or 0)


def _say(code: int, error: HoldfastError) -> int:
    if "--json" in sys.argv:
        print(_without_secrets(json.dumps({**error_to_json(error), "exit_code": code})), file=sys.stderr)
    else:
        print(f"holdfast: {printable(' '.join(_without_secrets(str(error)).splitlines()))}", file=sys.stderr)
    return code


def _say_usage(error: Any) -> int:
    text, where = error.format_message(), error.ctx
    if "\n" in text:  # the help, where a group is given no command
        print(text, file=sys.stderr)
        return USAGE
    if "unexpected extra argument" in text:
        text = f"{text.rstrip('.')}; a list is written with commas"
    see = f" (see {where.command_path} --help)" if where is not None else ""
    return _say(USAGE, HoldfastError(f"{text.rstrip('.')}{see}"))


def _without_secrets(text: str) -> str:
    """Without addresses that were given where none belongs, such as a URL for a name."""
    for word in sys.argv[1:]:
        if "://" in word or "password" in word.lower():
            try:
                shown = parse_address(word).shown
            except InvalidParameter:
                shown = repr(NotShown())
            for form in (word, repr(word)[1:-1], json.dumps(word)[1:-1], str(Path(word))):
                text = text.replace(form, shown)
    return text


if __name__ == "__main__":
    main()
