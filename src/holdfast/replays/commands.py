"""The command `holdfast replay`: a table of losses, or a log of play, from a file."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast.checks import written_range
from holdfast.command_line import LIST, RANGE, Backend, Command, Scheduler, Workers, given, names, numbers, policy_names
from holdfast.errors import InvalidParameter, printable

TABLES = (".csv", ".parquet", ".arrow")


def replay(
    ctx: typer.Context,
    record: Annotated[
        Path,
        typer.Argument(help="Losses, a row per round and a column per arm: .csv, .csv.gz, .parquet, .arrow, .npy."),
    ],
    switching_cost: Annotated[
        list[str],
        typer.Option(
            metavar="A,B",
            help="λ, what one switch costs, in the units of the losses; or a file with a row and a column per arm.",
        ),
    ],
    sees: Annotated[
        str, typer.Option(help='"own" if you see only what the option you use costs, "all" if you see every one.')
    ] = "all",
    forecasts: Annotated[
        Path | None, typer.Option(help="What was forecast: a file with the columns issued, round and one per arm.")
    ] = None,
    period: Annotated[
        list[str] | None, typer.Option(metavar=LIST, help="Rounds after which losses repeat, such as 24 for hours.")
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option(metavar=LIST, help="Ids, also ID:name=value,name=value; a well-chosen set by default."),
    ] = None,
    replications: Annotated[int, typer.Option(help="Games of each policy at each λ.")] = 100,
    units: Annotated[
        str | None, typer.Option(metavar=RANGE, help="What one round can lose at least and at most; 0,1 by default.")
    ] = None,
    unit: Annotated[str, typer.Option(metavar="NAME", help="What losses are counted in, for tables and axes.")] = "",
    rescale: Annotated[bool, typer.Option("--rescale", help="Take the units from the losses themselves.")] = False,
    clip: Annotated[
        str | None,
        typer.Option(metavar=RANGE, help="Policies hear losses clipped to this; costs are of the losses as recorded."),
    ] = None,
    rewards: Annotated[bool, typer.Option("--rewards", help="The numbers are rewards: more is better.")] = False,
    index: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column with the times of the rounds.")
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option(metavar=LIST, help="The columns of losses to take; all by default.")
    ] = None,
    long: Annotated[
        str | None,
        typer.Option(metavar="TIME,ARM,LOSS", help="Three columns, where each row has the loss of one arm."),
    ] = None,
    separator: Annotated[str, typer.Option(help="What stands between the columns of a CSV file.")] = ",",
    decimal: Annotated[str, typer.Option(help="The decimal sign of a CSV file: . or ,")] = ".",
    thousands: Annotated[
        str | None, typer.Option(help="What stands between thousands in a CSV file, as in 1.342,30: .")
    ] = None,
    encoding: Annotated[str, typer.Option(help="Of a CSV file, such as cp1252 or utf-16.")] = "utf-8",
    empty: Annotated[
        list[str] | None, typer.Option(metavar=LIST, help="Texts in a CSV file that mean a missing value: n/v,k.A.")
    ] = None,
    fill: Annotated[
        str | None,
        typer.Option(help="last: fill gaps with the last value known; ignore: play the rows as they are."),
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
        str | None,
        typer.Option(
            help='"unavailable": an arm without a value is not available. With --logged, what a missing loss counts as.'
        ),
    ] = None,
) -> None:
    """Replay recorded losses, and say what to do."""
    from holdfast.replays.run import replay as run

    if logged:
        return _evaluate(ctx)
    options = {"switching_cost": _costs(switching_cost, decimal), **given(ctx, OF_LOGS, read=READ)}
    made = run(record, echo=lambda line: print(line, file=sys.stderr), **options)
    print(made)
    if out is not None:
        print(f"\nThe report is {printable(out / 'report.html')}")


READ: Mapping[str, Callable[[Any], Any]] = {
    "policies": policy_names,
    "period": lambda given: [int(each) for each in numbers("--period", given)],
    "units": partial(written_range, "--units"),
    "clip": partial(written_range, "--clip"),
    "columns": names,
    "long": lambda given: names([given]),
    "empty": names,
}
"""Options that are read before they are handed on."""

OF_LOGS = ("record", "switching_cost", "logged", "arm_column", "loss_column", "probability_column", "block_column")
"""Parameters that `replay` does not take, or takes in another form."""

FOR_LOGS = (*OF_LOGS, "index", "missing", "separator", "decimal", "thousands", "encoding", "empty", "out")


def _evaluate(ctx: typer.Context) -> None:
    """Estimate fixed arms from a log of play."""
    from holdfast.data.csv import CsvFormat
    from holdfast.replays.logged import evaluate_log

    defaults = {one.name: one.default for one in ctx.command.params}
    for name, value in ctx.params.items():
        if name not in FOR_LOGS and value not in (defaults[name], None, [], ()):
            rule = "is not for --logged: a log has one arm per round, and only fixed arms can be evaluated from it"
            raise InvalidParameter(f"--{name.replace('_', '-')}", rule, value)
    options = ctx.params
    columns = {name: options[f"{name}_column"] for name in ("arm", "loss", "probability", "block")}
    written = {name: options[name] for name in ("separator", "decimal", "thousands", "encoding")}
    form = CsvFormat(**written, empty=names(options["empty"]))
    worth = None if options["missing"] is None else numbers("--missing", [options["missing"]])[0]
    costs = _numbers(options["switching_cost"], options["decimal"])
    found = evaluate_log(options["record"], {**columns, "time": options["index"]}, costs, worth, form)
    print(found)
    if options["out"] is not None:
        print(f"\nThe report is {printable(found.write(options['out']) / 'report.html')}")


def _costs(given: list[str], decimal: str) -> Any:
    """Return numbers, or the path of a table."""
    only = Path(given[0])
    return only if len(given) == 1 and only.suffix in TABLES else _numbers(given, decimal)


def _numbers(given: list[str], decimal: str) -> list[float]:
    """Return the values of λ. With decimal commas, 0,5 may mean 0.5, but would give λ = 0 and λ = 5."""
    for text in given:
        if decimal == "," and re.fullmatch(r"\s*\d+,\d+\s*", text):
            first, second = names([text])
            rule = f"may mean one λ or two with --decimal ,: for one write {first}.{second}, for two --switching-cost "
            raise InvalidParameter("--switching-cost", f"{rule}{first} --switching-cost {second}", text)
    return numbers("--switching-cost", given)


def add_to(app: typer.Typer) -> None:
    """Add the command to `holdfast`."""
    app.command("replay", cls=Command)(replay)
