"""The command `holdfast replay`: a table of losses, or a log of play, from a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from holdfast.checks import written_range
from holdfast.command_line import LIST, RANGE, Backend, Command, Scheduler, Workers, numbers, policy_names
from holdfast.errors import InvalidParameter, printable


def replay(
    trace: Annotated[
        Path,
        typer.Argument(help="Losses, a row per round and a column per arm: .csv, .csv.gz, .parquet, .arrow, .npy."),
    ],
    switching_cost: Annotated[
        list[str], typer.Option(metavar=LIST, help="λ, what one switch costs, in the units of the losses.")
    ],
    policies: Annotated[
        list[str] | None,
        typer.Option(metavar=LIST, help="Ids, also ID:name=value,name=value; four well-chosen ones by default."),
    ] = None,
    replications: Annotated[int, typer.Option(help="Games of each policy at each λ.")] = 100,
    units: Annotated[
        str | None, typer.Option(metavar=RANGE, help="What one round can lose at least and at most; 0,1 by default.")
    ] = None,
    rescale: Annotated[bool, typer.Option("--rescale", help="Take the units from the losses themselves.")] = False,
    index: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column with the times of the rounds.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    out: Annotated[Path | None, typer.Option(help="A folder for report, pictures and tables.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Skip what is in the folder already.")] = False,
    backend: Backend = "threads",
    scheduler: Scheduler = None,
    workers: Workers = None,
    logged: Annotated[
        bool, typer.Option("--logged", help="The file is a log of play: a row per round with arm, loss, probability.")
    ] = False,
    arm_column: Annotated[str, typer.Option(help="With --logged, the column of the arm played.")] = "arm",
    loss_column: Annotated[str, typer.Option(help="With --logged, the column of its loss.")] = "loss",
    probability_column: Annotated[
        str, typer.Option(help="With --logged, the column of the probability it was drawn with.")
    ] = "probability",
    block_column: Annotated[
        str | None, typer.Option(help='With --logged, the column of the block; "rounds" where each round was drawn.')
    ] = None,
    missing: Annotated[
        float | None, typer.Option(help="With --logged, what a missing loss counts as, instead of what counted.")
    ] = None,
) -> None:
    """What would it have cost? Play policies on recorded losses."""
    from holdfast.replays.log_file import evaluate_log
    from holdfast.replays.run import replay as run

    costs = numbers("--switching-cost", switching_cost)
    if logged:
        columns = {
            "arm": arm_column,
            "loss": loss_column,
            "probability": probability_column,
            "block": block_column,
            "time": index,
        }
        if policies or rescale or units:
            rule = "is not for --logged: a log has one arm per round, and only fixed arms can be evaluated from it"
            which = "--policies" if policies else "--rescale" if rescale else "--units"
            raise InvalidParameter(which, rule, policies or units or rescale)
        found = evaluate_log(trace, columns, costs, missing)
        print(found)
        if out is not None:
            print(f"\nThe report is {printable(found.write(out) / 'report.html')}")
        return
    made = run(
        trace,
        policy_names(policies) if policies else None,
        switching_cost=costs,
        replications=replications,
        units=None if units is None else written_range("--units", units),
        rescale=rescale,
        index=index,
        seed=seed,
        out=out,
        resume=resume,
        backend=backend,
        scheduler=scheduler,
        workers=workers,
        echo=lambda line: print(line, file=sys.stderr),
    )
    print(made)
    if out is not None:
        print(f"\nThe report is {printable(out / 'report.html')}")


def add_to(app: typer.Typer) -> None:
    """Put the command on the one `holdfast` has."""
    app.command("replay", cls=Command)(replay)
