"""The commands ``holdfast benchmark run`` and ``rivals``: parse, call one function, print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from holdfast.command_line import Command, Workers
from holdfast.errors import printable
from holdfast.files import write_whole


def run(
    policy: Annotated[
        str,
        typer.Option(
            help="Your policy, module:Class; or one of the package by its name. With parameters: ucb1:cooldown=100."
        ),
    ],
    track: Annotated[str | None, typer.Option(help="own or all; by default that of what the policy sees.")] = None,
    out: Annotated[Path | None, typer.Option(help="A file for the result as JSON: the same on every machine.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A first look: 8 replications instead of 64.")] = False,
    workers: Workers = None,
) -> None:
    """Rank a policy against frozen results of others."""
    from holdfast.benchmark.run import one_line_lists, run_benchmark
    from holdfast.benchmark.tables import lines
    from holdfast.runs.record import document

    standing = run_benchmark(policy, track=track, quick=quick, workers=workers, echo=_echo)
    for line in lines(standing):
        print(line)
    if out is not None:
        write_whole(out, one_line_lists(document(standing.plain())))
        print(f"The result is in {printable(out)}")


def rivals(
    out: Annotated[Path, typer.Option(help="The file to write.")],
    workers: Workers = None,
) -> None:
    """Play the rivals again: the file must be that of the package."""
    from holdfast.benchmark.run import RIVALS, frozen_bytes, play_rivals

    data = play_rivals(workers=workers, echo=_echo)
    write_whole(out, data)
    same = data == frozen_bytes()
    print(f"{printable(out)} is {'the same as' if same else 'NOT the same as'} {RIVALS} of the package")
    if not same:
        raise typer.Exit(1)


def _echo(line: str) -> None:
    print(line, file=sys.stderr)


def add_to(app: typer.Typer) -> None:
    """Put the commands on the group."""
    app.command(cls=Command)(run)
    app.command(cls=Command)(rivals)
