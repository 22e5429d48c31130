"""The command `holdfast`: parse, call one public function, print."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import holdfast
from holdfast.checks import whole_number
from holdfast.errors import HoldfastError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Bandits with switching costs: simulate, reproduce the paper, evaluate its bounds.",
)

Backend = Annotated[str, typer.Option(help="threads, cuda or dask.")]
Scheduler = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")]
Workers = Annotated[int | None, typer.Option(help="Threads, or local Dask processes; all cores by default.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"holdfast {holdfast.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def bounds(
    arms: Annotated[int, typer.Option(help="K, the number of arms.")],
    switching_cost: Annotated[float, typer.Option(help="λ, what one switch costs.")],
    horizon: Annotated[float, typer.Option(help="T, the number of rounds; 1e6 will do.")],
    gaps: Annotated[
        str | None, typer.Option(help="Gaps of the suboptimal arms: one for all, or a comma-separated list.")
    ] = None,
    best_arms: Annotated[int, typer.Option(help="Arms that share the best mean.")] = 1,
) -> None:
    """Print every bound of the paper for one case side by side, and say which one binds."""
    from holdfast.bounds.table import applicable, binding

    rows = applicable(
        n_arms=arms, switching_cost=switching_cost, horizon=horizon, gaps=_gaps(gaps), best_arms=best_arms
    )
    table = Table(title=f"K = {arms}, λ = {switching_cost:g}, T = {horizon:g}, gaps {gaps or 'unknown'}")
    for heading in ("bound", "value", "here", "holds for", "formula"):
        table.add_column(heading, justify="right" if heading == "value" else "left", overflow="fold")
    for row in rows:
        name = row.name.replace("_", " ").capitalize()
        table.add_row(name, f"{row.value:,.1f}", "yes" if row.applies else "no", row.note, row.statement)
    Console().print(table)
    best = binding(rows)
    print(f"Of the theorems on Tsallis-Switch {best.name.replace('_', ' ').capitalize()} binds: {best.value:,.1f}.")
    trivial = next(row for row in rows if row.kind == "trivial")
    if trivial.value < best.value:
        print(
            f"At this horizon none says more than {trivial.statement} = {trivial.value:,.1f} does, whatever is played."
        )


def _gaps(text: str | None) -> float | list[float] | None:
    if text is None:
        return None
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise holdfast.InvalidParameter("--gaps", "must be a number or a comma-separated list of them", text) from None
    return values[0] if len(values) == 1 else values


@app.command()
def simulate(
    study: Annotated[Path, typer.Argument(help="A study in TOML.")],
    out: Annotated[Path, typer.Option(help="Where the tables go.")],
    backend: Backend = "threads",
    scheduler: Scheduler = None,
    workers: Workers = None,
    resume: Annotated[bool, typer.Option("--resume", help="Skip what is on disk already.")] = False,
) -> None:
    """Run your own experiment, described in a TOML file."""
    from holdfast.studies.run import run_study

    with _interruptible():
        run = run_study(study, out, backend=backend, scheduler=scheduler, workers=workers, resume=resume, echo=print)
    for values, result in run.results():
        heading = ", ".join(f"{field} = {value}" for field, value in values.items())
        print(f"\n{heading}\n{result!r}" if heading else f"\n{result!r}")


@app.command()
def reproduce(
    figures: Annotated[list[str] | None, typer.Argument(help="Names of figures; all of them by default.")] = None,
    out: Annotated[Path, typer.Option(help="Where figures, tables, ledger and report go.")] = Path("reproduction"),
    replications: Annotated[
        int, typer.Option(help="Repetitions of each game in the figures; verdicts rest on at least 30.")
    ] = 10,
    horizon: Annotated[float, typer.Option(help="T, the number of rounds; 1e5 will do.")] = 100_000,
    arms: Annotated[int, typer.Option(help="K, the number of arms.")] = 8,
    seed: Annotated[int, typer.Option(help="The same seed gives the same tables.")] = 0,
    backend: Backend = "threads",
    scheduler: Scheduler = None,
    workers: Workers = None,
) -> None:
    """Regenerate every experiment of the paper, judge every claim it makes about them, and write a report."""
    from holdfast.report.reproduction import ledger_table
    from holdfast.report.reproduction import reproduce as run

    with _interruptible():
        made = run(
            figures or None,
            out=out,
            replications=replications,
            horizon=whole_number("horizon", horizon, least=1),
            n_arms=arms,
            seed=seed,
            backend=backend,
            scheduler=scheduler,
            workers=workers,
            echo=print,
        )
    Console().print(ledger_table(made.verdicts))
    print(f"The report is {made.report}")


@app.command()
def bench(
    peers: Annotated[
        Path | None, typer.Option(help="Python of an environment with the public libraries (make bench-peers).")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter games: for a look, not for a record.")] = False,
) -> None:
    """Measure speed side by side in one run, and print ratios."""
    from holdfast.bench import report

    report(peers=peers, quick=quick)


OPTIONS = {"n_arms": "--arms", "switching_cost": "--switching-cost", "best_arms": "--best-arms"} | {
    name: f"--{name}" for name in ("horizon", "gaps", "replications", "seed", "backend", "scheduler", "workers")
}


def _in_options(error: HoldfastError) -> str:
    """The message with the option's name for the parameter's; a study's file has the names it shows."""
    text = str(error)
    if isinstance(error, holdfast.InvalidParameter) and not text.endswith(".toml)"):
        text = text.replace(error.parameter, OPTIONS.get(error.parameter, error.parameter), 1)
    return text


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends with the exit code shells expect."""
    try:
        yield
    except KeyboardInterrupt:
        print("holdfast: interrupted", file=sys.stderr)
        raise typer.Exit(130) from None


def main() -> None:
    """Run the command; a user's mistake is one line on standard error and exit code 2."""
    try:
        app()
    except HoldfastError as error:
        print(f"holdfast: {_in_options(error)}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
