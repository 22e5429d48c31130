"""The commands ``holdfast cache`` and ``holdfast warm``: parse, call one function, print."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast._numba import cache as disk
from holdfast.command_line import LIST, names

cache = typer.Typer(
    rich_markup_mode=None, invoke_without_command=True, help="Show the folder of machine code and what it holds."
)


def add_to(app: typer.Typer) -> None:
    """Make the commands known to a command."""
    app.add_typer(cache, name="cache")
    app.command()(warm)


@cache.callback()
def show(context: typer.Context) -> None:
    """Show the folder of machine code and what it holds."""
    if context.invoked_subcommand is None:
        _print_folder()


@cache.command()
def clear() -> None:
    """Remove all machine code: the next call of each policy compiles anew."""
    removed = disk.clear()
    print(f"removed {len(removed)} files, {_megabytes(removed)} MB, from {disk.folder()}")


def warm(
    policies: Annotated[
        list[str] | None, typer.Option(metavar=LIST, help="Policies that will decide; all by default.")
    ] = None,
    simulated: Annotated[
        list[str] | None,
        typer.Option(metavar=LIST, help="Policies to simulate, '' for none; the main ones by default."),
    ] = None,
) -> None:
    """Compile beforehand, as for the image of a container.

    Run it as the user and on the kind of processor that will play: code of another is not used. NUMBA_CACHE_DIR
    names another folder.
    """
    from holdfast.machine_code.warm import warm as compile_beforehand

    compile_beforehand(
        None if policies is None else names(policies), None if simulated is None else names(simulated), echo=print
    )
    _print_folder()


def _print_folder() -> None:
    kept = disk.entries()
    print(
        f"folder   {disk.folder()}\nfiles    {len(kept)}\nsize     {_megabytes(kept)} MB of {disk.LIMIT / 1e6:.0f} MB"
    )


def _megabytes(kept: list[disk.Entry]) -> str:
    return f"{sum(entry.size for entry in kept) / 1e6:.1f}"
