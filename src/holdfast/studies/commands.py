"""The commands ``holdfast study …``: run experiments that a TOML file describes, and draw them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast.command_line import LIST, Backend, Command, Scheduler, Workers, names, numbers
from holdfast.errors import printable
from holdfast.extras import need

PLOT = "plot.html"


def run(
    study: Annotated[Path, typer.Argument(help="A study in TOML.")],
    out: Annotated[Path, typer.Option(help="Where the tables go.")],
    backend: Backend = "threads",
    scheduler: Scheduler = None,
    workers: Workers = None,
    resume: Annotated[bool, typer.Option("--resume", help="Skip what is on disk already.")] = False,
) -> None:
    """Run your own experiment, described in a TOML file."""
    need("polars")
    from holdfast.studies.run import run_study

    done = run_study(study, out, backend=backend, scheduler=scheduler, workers=workers, resume=resume, echo=print)
    for values, result in done.results():
        heading = printable(", ".join(f"{field} = {value}" for field, value in values.items()))
        print(f"\n{heading}\n{result!r}" if heading else f"\n{result!r}")


def plot(
    study: Annotated[Path, typer.Argument(help="A folder that `holdfast study run` filled, or a table of results.")],
    out: Annotated[
        Path | None,
        typer.Option(help="The file: .html (interactive), .png, .svg, .pdf, .pgf; plot.html in the folder."),
    ] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(metavar=LIST, help="pseudo_regret, switches, regret_with_switching, total_loss, total_cost."),
    ] = None,
    scale: Annotated[str, typer.Option(help="auto, linear or log.")] = "auto",
    band: Annotated[str, typer.Option(help="sd, mean (its 95 % interval), quantiles (10 to 90 %) or none.")] = "sd",
    size: Annotated[str, typer.Option(help="screen; of a paper: column or page; or inches: 3.5,2.5.")] = "screen",
) -> None:
    """Draw a study: a row of panels for each combination."""
    from holdfast.results import Result
    from holdfast.studies.folder import finished_tables

    result = Result.read(study) if study.is_file() else finished_tables(study)
    target = out or (study.with_suffix(".html") if study.is_file() else study / PLOT)
    wanted = {"measures": names(measures)} if measures else {}
    title = study.resolve().stem if size == "screen" else ""  # a paper has captions
    inches: Any = tuple(numbers("size", [size])) if "," in size else size
    made = result.plot(target, scale=scale, band=band, size=inches, title=title, **wanted)
    print(f"The plot is {printable(made)}")


def add_to(app: typer.Typer) -> None:
    """Make the commands known to a group."""
    app.command("run", cls=Command)(run)
    app.command("plot", cls=Command)(plot)
