"""An experiment as its own command."""

from collections.abc import Callable

import typer


def command(main: Callable[..., None]) -> typer.Typer:
    """Return the command that `typer.run` makes of the function."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(main)
    return app
