"""The commands ``holdfast reproduce``, ``benchmark …`` and ``study …``: parse, call one function, print."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast.checks import whole_number
from holdfast.command_line import LIST, Backend, Command, Scheduler, Workers, given, numbers, policy_names
from holdfast.errors import printable
from holdfast.extras import need
from holdfast.files import write_whole

PLOT = "plot.html"
READ: Mapping[str, Callable[[Any], Any]] = {
    "further": policy_names,
    "horizon": partial(whole_number, "horizon", least=1),
}
"""Options of `reproduce` that are read before they are handed on."""


def add_to(app: typer.Typer, study: typer.Typer, benchmark: typer.Typer) -> None:
    """Put the commands on `holdfast` and its groups."""
    app.command("check", cls=Command)(check)
    app.command("reproduce", cls=_WithFigures)(reproduce)
    study.command("run", cls=Command)(run_study)
    study.command("plot", cls=Command)(plot)
    benchmark.command("run", cls=Command)(run_benchmark)
    benchmark.command("rivals", cls=Command)(rivals)


# ---- your own class ----


def check(
    thing: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:CLASS", help="Your policy or environment; with parameters: module:Class:name=value."
        ),
    ],
) -> None:
    """Try a policy or environment of your own. What is wrong, and where, is one line."""
    from holdfast.simulation.contract import check as run

    print(run(thing))


# ---- the paper ----


def _figures(begun: str) -> list[str]:
    """Return the figures whose name starts with `begun`, for shell completion."""
    from holdfast.lab.paper.plan import FIGURES

    return [name for name in FIGURES if name.startswith(begun)]


def reproduce(
    ctx: typer.Context,
    figures: Annotated[
        list[str] | None, typer.Argument(help="Names of figures; all by default.", autocompletion=_figures)
    ] = None,
    out: Annotated[Path, typer.Option(help="Where figures, tables, ledger and report go.")] = Path("reproduction"),
    replications: Annotated[
        int, typer.Option(help="Repetitions of each game in the figures; verdicts rest on at least 30.")
    ] = 10,
    horizon: Annotated[float, typer.Option(help="T, the number of rounds, e.g. 1e5.")] = 100_000,
    arms: Annotated[int, typer.Option(help="K, the number of arms.")] = 8,
    switching_cost: Annotated[
        float | None, typer.Option(help="λ of every figure with a constant λ above zero; the paper's own by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same tables.")] = 0,
    further: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar=LIST, help="Policies to draw beside the paper's: adaptive, or your own, module:Class."
        ),
    ] = None,
    backend: Backend = "threads",
    scheduler: Scheduler = None,
    workers: Workers = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print every claim in full, and what is played.")] = False,
) -> None:
    """Repeat the paper's experiments and judge its claims."""
    from holdfast.lab.paper import report
    from holdfast.lab.paper.reproduce import reproduce as run

    made = run(**given(ctx, read=READ), echo=print)
    lines = report.ledger(made.verdicts) if verbose else []
    lines += report.summary(len(made.findings.figures), made.verdicts)
    for line in [*lines, *report.changes(made.findings)]:
        print(line)
    print(f"The report is {printable(made.report)}")


class _WithFigures(Command):
    """A command whose help lists the figures, loaded only when the help is shown."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the description, then the figures."""
        from holdfast.lab.paper.plan import FIGURES

        width = max(map(len, FIGURES))
        titles = {name: textwrap.shorten(figure.title, 56, placeholder="…") for name, figure in FIGURES.items()}
        listed = "\n".join(f"  {name:{width}}  {title}" for name, title in titles.items())
        self.help = (
            "Regenerate the experiments of the paper, judge every claim it makes about them, and write a report.\n\n"
            f"\b\nFigures:\n{listed}"
        )
        super().format_help_text(ctx, formatter)


# ---- studies ----


def run_study(
    ctx: typer.Context,
    study: Annotated[Path, typer.Argument(help="A study in TOML.")],
    out: Annotated[Path, typer.Option(help="Where the tables go.")],
    backend: Backend = "threads",
    scheduler: Scheduler = None,
    workers: Workers = None,
    resume: Annotated[bool, typer.Option("--resume", help="Skip what is on disk already.")] = False,
) -> None:
    """Run your own experiment, described in a TOML file."""
    need("polars")
    from holdfast.lab import study as studies

    tables = studies.run_study(**given(ctx), echo=print)
    for cell in tables.plan.cells:
        heading = printable(", ".join(f"{field} = {value}" for field, value in cell.keys.items()))
        print(f"\n{heading}\n{tables[cell.name]!r}" if heading else f"\n{tables[cell.name]!r}")


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
    x_scale: Annotated[str, typer.Option(help="Of the rounds: linear or log.")] = "linear",
    band: Annotated[str, typer.Option(help="sd, mean (its 95 % interval), quantiles (10 to 90 %) or none.")] = "sd",
    size: Annotated[
        str, typer.Option(help="screen; column or page of a paper; icml, neurips, jmlr, …; or inches: 3.5,2.5.")
    ] = "screen",
) -> None:
    """Draw a study: a row of panels for each combination."""
    from holdfast.lab.study import finished_tables
    from holdfast.results import Result

    result = Result.read(study) if study.is_file() else finished_tables(study)
    target = out or (study.with_suffix(".html") if study.is_file() else study / PLOT)
    wanted = {"measures": policy_names(measures)} if measures else {}
    title = study.resolve().stem if size == "screen" else ""  # a paper has captions
    inches: Any = tuple(numbers("size", [size])) if "," in size else size
    made = result.plot(target, scale=scale, x_scale=x_scale, band=band, size=inches, title=title, **wanted)
    print(f"The plot is {printable(made)}")


# ---- the benchmark ----


def run_benchmark(
    ctx: typer.Context,
    policy: Annotated[
        str,
        typer.Option(
            help="Your policy, module:Class; or one of the package by its name. With parameters: ucb1:cooldown=100."
        ),
    ],
    track: Annotated[str | None, typer.Option(help="own or all; by default that of what the policy sees.")] = None,
    out: Annotated[Path | None, typer.Option(help="A file for the result as JSON: the same on every machine.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A first look: 8 replications instead of 64.")] = False,
    workers: Workers = None,
) -> None:
    """Rank a policy against frozen results of others."""
    from holdfast.lab import benchmark
    from holdfast.runs import document

    standing = benchmark.run_benchmark(**given(ctx, ("out",)), echo=_echo)
    for line in standing.lines():
        print(line)
    if out is not None:
        write_whole(out, benchmark.one_line_lists(document(standing.plain())))
        print(f"The result is in {printable(out)}")


def rivals(
    out: Annotated[Path, typer.Option(help="The file to write.")],
    workers: Workers = None,
) -> None:
    """Play the rivals again: the file must be that of the package."""
    from holdfast.lab.benchmark import RIVALS, frozen_bytes, play_rivals

    data = play_rivals(workers=workers, echo=_echo)
    write_whole(out, data)
    same = data == frozen_bytes()
    print(f"{printable(out)} is {'the same as' if same else 'NOT the same as'} {RIVALS} of the package")
    if not same:
        raise typer.Exit(1)


def _echo(line: str) -> None:
    print(line, file=sys.stderr)
