"""The command ``holdfast arena``: parse, call one function, print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holdfast.checks import one_of, whole_number, written_range
from holdfast.command_line import LIST, RANGE, Backend, Command, Scheduler, Workers, names, numbers, policy_names
from holdfast.errors import printable


def arena(
    out: Annotated[Path, typer.Option(help="Where games, tables and the page go.")] = Path("arena"),
    trace: Annotated[list[str] | None, typer.Option(metavar=LIST, help="Files of losses to play too.")] = None,
    switching_cost: Annotated[
        list[str] | None, typer.Option(metavar=LIST, help="λ on traces. [default: 0.1,0.35,1]")
    ] = None,
    units: Annotated[
        str, typer.Option(metavar=RANGE, help="Lowest and highest loss of one round of the traces.")
    ] = "0,1",
    index: Annotated[str | None, typer.Option(help="The column of the traces that is no arm, such as time.")] = None,
    policies: Annotated[list[str] | None, typer.Option(metavar=LIST, help="Their names; all by default.")] = None,
    environments: Annotated[
        list[str] | None, typer.Option(metavar=LIST, help="Names, or paper, hard, traces, found, long; all by default.")
    ] = None,
    replications: Annotated[int | None, typer.Option(help="Repetitions of each game. [default: 200]")] = None,
    horizon: Annotated[
        float | None, typer.Option(help="T; growth is fitted on T, T/10 and T/100. [default: 1e5]")
    ] = None,
    longest: Annotated[
        float | None, typer.Option(help="Longest T of the long games, up to 1e9: growth. [default: 1e6]")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same tables.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: a few of both, 8 replications, T = 10,000.")
    ] = False,
    sees: Annotated[str, typer.Option(help="Whose losses the policies see: own (their arm's), or all.")] = "own",
    backend: Backend = "threads",
    scheduler: Scheduler = None,
    workers: Workers = None,
    resume: Annotated[bool, typer.Option("--resume", help="Keep games that are on disk already.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Name each finished table.")] = False,
) -> None:
    """Play every policy in every environment: worst cases, a page."""
    from holdfast.evidence.run import run_arena
    from holdfast.evidence.terminal import summary
    from holdfast.evidence.worlds import TRACE_COSTS

    made = run_arena(
        out,
        traces=names(trace),
        switching_costs=numbers("--switching-cost", switching_cost) or TRACE_COSTS,
        units=written_range("--units", units),
        index=index,
        policies=policy_names(policies) if policies else None,
        environments=names(environments) if environments else None,
        replications=replications,
        horizon=None if horizon is None else whole_number("horizon", horizon, least=1),
        longest=None if longest is None else whole_number("longest", longest, least=1),
        seed=seed,
        quick=quick,
        sees=one_of("sees", sees, ("own", "all")),  # type: ignore[arg-type]  # one of these two
        backend=backend,
        scheduler=scheduler,
        workers=workers,
        resume=resume,
        echo=print,
        verbose=verbose,
    )
    for line in summary(made.findings):
        print(line)
    print(f"The page is {printable(made.page)}")


def add_to(app: typer.Typer) -> None:
    """Put the command on the one `holdfast` has."""
    app.command("arena", cls=Command)(arena)
