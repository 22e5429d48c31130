"""The command `holdfast replay`: a table of losses, or a log of play, from a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast.checks import written_range
from holdfast.errors import InvalidParameter

SEVERAL: dict[str, Callable[[str], bool]] = {
    "--switching-cost": lambda word: _is_number(word),
    "--policies": lambda word: not _is_table(word),
}
"""Options that take several values, and what a value of theirs looks like: the file may follow them."""


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _is_table(word: str) -> bool:
    from holdfast.data.traces import SUFFIXES

    return word.lower().endswith(SUFFIXES)


def spread(words: Sequence[str]) -> list[str]:
    """``--option a b c`` as ``--option a --option b --option c``, which the parser of options understands.

    >>> spread(["t.csv", "--switching-cost", "0.1", "1", "--logged"])
    ['t.csv', '--switching-cost', '0.1', '--switching-cost', '1', '--logged']
    """
    spread_, option = [], ""
    taken = 0
    for word in words:
        if word in SEVERAL:
            option, taken = word, 0
            continue
        if option and (taken == 0 or (not word.startswith("-") and SEVERAL[option](word))):
            spread_ += [option, word]
            taken += 1
            continue
        option = ""
        spread_.append(word)
    return spread_ if not option or taken else [*spread_, option]


class Several(typer.core.TyperCommand):
    """A command some of whose options take several values after each other."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """With each value under its own option."""
        return super().parse_args(ctx, spread(args))


def replay(
    trace: Annotated[
        Path,
        typer.Argument(help="Losses, a row per round and a column per arm: .csv, .csv.gz, .parquet, .arrow, .npy."),
    ],
    switching_cost: Annotated[
        list[float], typer.Option(help="λ, what one switch costs, in the units of the losses; one or several.")
    ],
    policies: Annotated[
        list[str] | None,
        typer.Option(help="Ids, also ID:name=value,name=value; four well-chosen ones by default."),
    ] = None,
    replications: Annotated[int, typer.Option(help="Games of each policy at each λ.")] = 100,
    units: Annotated[
        str | None, typer.Option(metavar="LO,HI", help="What one round can lose at least and at most; 0,1 by default.")
    ] = None,
    rescale: Annotated[bool, typer.Option("--rescale", help="Take the units from the losses themselves.")] = False,
    index: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column with the times of the rounds.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    out: Annotated[Path | None, typer.Option(help="A folder for report, pictures and tables.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Skip what is in the folder already.")] = False,
    backend: Annotated[str, typer.Option(help="threads, cuda or dask.")] = "threads",
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    workers: Annotated[int | None, typer.Option(help="Threads, or local Dask processes; all by default.")] = None,
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
) -> None:
    """What would it have cost? Play policies on recorded losses, beside the best arm and the best plan."""
    from holdfast.replays.log_file import evaluate_log
    from holdfast.replays.run import replay as run

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
        try:
            found = evaluate_log(trace, columns, switching_cost)
        except InvalidParameter as error:
            raise _in_words_of_the_command(error) from None
        print(found)
        if out is not None:
            print(f"\nThe report is {found.write(out) / 'report.html'}")
        return
    try:
        made = run(
            trace,
            policies or None,
            switching_cost=switching_cost,
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
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except InvalidParameter as error:
        raise _in_words_of_the_command(error) from None
    print(made)
    if out is not None:
        print(f"\nThe report is {out / 'report.html'}")


def _in_words_of_the_command(error: InvalidParameter) -> InvalidParameter:
    """What to give is said in options, not in Python."""
    rule = error.rule.replace(
        "give units=(lowest, highest) for losses in units of your own",
        "give --units LO,HI for losses in units of your own, or --rescale",
    )
    for option in ("index", "resume"):
        rule = rule.replace(f"give {option}=", f"give --{option} ")
    parameter = {
        "losses": "TRACE",
        "source": "TRACE",
        "log": "TRACE",
        "units": "--units",
        "index": "--index",
        "rescale": "--rescale",
    }.get(error.parameter, error.parameter)
    return InvalidParameter(parameter, rule, error.value)


def add_to(app: typer.Typer) -> None:
    """Put the command on the one `holdfast` has."""
    app.command("replay", cls=Several)(replay)
