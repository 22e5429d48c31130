"""The command ``holdfast arena``: parse, call one function, print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from holdfast.checks import whole_number, written_range


def arena(
    out: Annotated[Path, typer.Option(help="Where games, tables and the page go.")] = Path("arena"),
    trace: Annotated[
        list[Path] | None, typer.Option(help="A file of losses to play too; may be given several times.")
    ] = None,
    switching_cost: Annotated[
        list[float] | None, typer.Option(help="λ on traces; may be given several times. [default: 0.1, 0.35, 1]")
    ] = None,
    units: Annotated[
        str, typer.Option(metavar="LO,HI", help="Lowest and highest loss of one round of the traces.")
    ] = "0,1",
    index: Annotated[str | None, typer.Option(help="The column of the traces that is no arm, such as time.")] = None,
    policies: Annotated[str | None, typer.Option(help="Their names, with commas; all by default.")] = None,
    environments: Annotated[
        str | None, typer.Option(help="Names, or paper, hard, traces, found, with commas; all by default.")
    ] = None,
    replications: Annotated[int | None, typer.Option(help="Repetitions of each game. [default: 200]")] = None,
    horizon: Annotated[
        float | None, typer.Option(help="T; growth is fitted on T, T/10 and T/100. [default: 1e5]")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same tables.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: a few of both, 8 replications, T = 10,000.")
    ] = False,
    backend: Annotated[str, typer.Option(help="threads, cuda or dask.")] = "threads",
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    workers: Annotated[int | None, typer.Option(help="Threads, or local Dask processes; all cores by default.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Keep games that are on disk already.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Name each finished table.")] = False,
) -> None:
    """Play every policy in every environment: one table, worst cases, a page."""
    from holdfast.evidence.run import run_arena
    from holdfast.evidence.terminal import summary
    from holdfast.evidence.worlds import TRACE_COSTS

    try:
        made = run_arena(
            out,
            traces=trace or (),
            switching_costs=switching_cost or TRACE_COSTS,
            units=written_range("--units", units),
            index=index,
            policies=policies,
            environments=environments,
            replications=replications,
            horizon=None if horizon is None else whole_number("horizon", horizon, least=1),
            seed=seed,
            quick=quick,
            backend=backend,
            scheduler=scheduler,
            workers=workers,
            resume=resume,
            echo=print,
            verbose=verbose,
        )
    except KeyboardInterrupt:
        print("holdfast: interrupted", file=sys.stderr)
        raise typer.Exit(130) from None
    for line in summary(made.findings):
        print(line)
    print(f"The page is {made.page}")


def add_to(app: typer.Typer) -> None:
    """Put the command on the one `holdfast` has."""
    app.command("arena")(arena)
