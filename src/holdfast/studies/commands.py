"""The command `holdfast plot`: draw a study, or one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PLOT = "plot.html"


def plot(
    study: Annotated[Path, typer.Argument(help="A folder that `holdfast simulate` filled, or a table of results.")],
    out: Annotated[
        Path | None, typer.Option(help="The file: .html (interactive), .png, .svg or .pdf; plot.html in the folder.")
    ] = None,
    measures: Annotated[
        str | None, typer.Option(help="pseudo_regret, switches, regret_with_switching, total_loss, total_cost; commas.")
    ] = None,
    scale: Annotated[str, typer.Option(help="auto, linear or log.")] = "auto",
) -> None:
    """Draw a study: a row of panels for each combination of its grid."""
    from holdfast.results import Result
    from holdfast.studies.folder import finished_tables

    result = Result.read(study) if study.is_file() else finished_tables(study)
    target = out or (study.with_suffix(".html") if study.is_file() else study / PLOT)
    wanted = {} if measures is None else {"measures": [name.strip() for name in measures.split(",")]}
    print(f"The plot is {result.plot(target, scale=scale, title=study.resolve().stem, **wanted)}")


def add_to(app: typer.Typer) -> None:
    """Put the command on the one `holdfast` has."""
    app.command("plot")(plot)
