"""The command ``holdfast reproduce``: the paper's experiments again."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast.checks import whole_number
from holdfast.command_line import LIST, Backend, Command, Scheduler, Workers, names
from holdfast.errors import printable


def _figures(begun: str) -> list[str]:
    """The figures whose name begins so, for the shell's completion."""
    from holdfast.paper.figures import FIGURES

    return [name for name in FIGURES if name.startswith(begun)]


def reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(help="Names of figures; all by default.", autocompletion=_figures)
    ] = None,
    out: Annotated[Path, typer.Option(help="Where figures, tables, ledger and report go.")] = Path("reproduction"),
    replications: Annotated[
        int, typer.Option(help="Repetitions of each game in the figures; verdicts rest on at least 30.")
    ] = 10,
    horizon: Annotated[float, typer.Option(help="T, the number of rounds, e.g. 1e5.")] = 100_000,
    arms: Annotated[int, typer.Option(help="K, the number of arms.")] = 8,
    seed: Annotated[int, typer.Option(help="The same seed gives the same tables.")] = 0,
    further: Annotated[
        list[str] | None,
        typer.Option("--with", metavar=LIST, help="Our own policies to draw beside the paper's: adaptive."),
    ] = None,
    backend: Backend = "threads",
    scheduler: Scheduler = None,
    workers: Workers = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print every claim in full, and what is played.")] = False,
) -> None:
    """Repeat the paper's experiments and judge its claims."""
    from holdfast.paper import terminal
    from holdfast.paper.reproduce import reproduce as run

    made = run(
        figures or None,
        out=out,
        replications=replications,
        horizon=whole_number("horizon", horizon, least=1),
        n_arms=arms,
        seed=seed,
        further=names(further),
        backend=backend,
        scheduler=scheduler,
        workers=workers,
        echo=print,
        verbose=verbose,
    )
    lines = terminal.ledger(made.verdicts) if verbose else []
    for line in [*lines, *terminal.summary(len(made.findings.figures), made.verdicts)]:
        print(line)
    print(f"The report is {printable(made.report)}")


def _described() -> str:
    """What `reproduce --help` says, with the figures by name."""
    from holdfast.paper.figures import FIGURES

    width = max(map(len, FIGURES))
    titles = {name: textwrap.shorten(figure.title, 56, placeholder="…") for name, figure in FIGURES.items()}
    listed = "\n".join(f"  {name:{width}}  {title}" for name, title in titles.items())
    return (
        "Regenerate the experiments of the paper, judge every claim it makes about them, and write a report.\n\n"
        f"\b\nFigures:\n{listed}"
    )


class _WithFigures(Command):
    """A command whose help lists the figures; they are loaded when the help is asked for, and not before."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """The description, then the figures."""
        self.help = _described()
        super().format_help_text(ctx, formatter)


def add_to(app: typer.Typer) -> None:
    """Put the command on the one `holdfast` has."""
    app.command("reproduce", cls=_WithFigures)(reproduce)
