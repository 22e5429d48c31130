"""The command `holdfast`: parse, call one public function, print."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

import holdfast
from holdfast.checks import whole_number
from holdfast.decisions import commands as decision_commands
from holdfast.errors import HoldfastError
from holdfast.evidence import commands as arena_commands
from holdfast.machine_code import commands as machine_code_commands
from holdfast.replays import commands as replay_commands
from holdfast.studies import commands as study_commands

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text: flags without a type, lists as they stand, any width
    context_settings={"help_option_names": ["-h", "--help"]},
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
    """Print every bound of the paper for one case, and which binds."""
    from holdfast.bounds.table import applicable, binding
    from holdfast.report.markup import plain_powers

    rows = applicable(
        n_arms=arms, switching_cost=switching_cost, horizon=horizon, gaps=_gaps(gaps), best_arms=best_arms
    )
    names = [row.name.replace("_", " ").capitalize() for row in rows]
    values = [f"{row.value:,.1f}" if row.value < 1e12 else f"{row.value:.4g}" for row in rows]
    first, second = max(map(len, names)), max(map(len, values))
    print(f"K = {arms}, λ = {switching_cost:g}, T = {horizon:g}, gaps {gaps or 'unknown'}\n")
    print(f"{'bound':{first}}  {'value':>{second}}  here  holds for, formula")
    for row, name, value in zip(rows, names, values, strict=True):
        _wrapped(f"{name:{first}}  {value:>{second}}  {'yes' if row.applies else 'no':4}  ", row.note)
        _wrapped("    ", plain_powers(row.statement))
    best = binding(rows)
    told = f"Of the theorems on Tsallis-Switch {best.name.replace('_', ' ').capitalize()} binds: {best.value:,.1f}."
    print(f"\n{told}")
    trivial = next(row for row in rows if row.kind == "trivial")
    if trivial.value < best.value:
        said = (
            f"At this horizon none says more than {trivial.statement} = {trivial.value:,.1f} does, whatever is played."
        )
        _wrapped("", said)


def _wrapped(begin: str, words: str) -> None:
    """Print `words` after `begin`, and below it where the terminal ends."""
    width = max(shutil.get_terminal_size((80, 24)).columns, len(begin) + 20)
    print(textwrap.fill(words, width, initial_indent=begin, subsequent_indent=" " * len(begin)))


def _gaps(text: str | None) -> float | list[float] | None:
    if text is None:
        return None
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise holdfast.InvalidParameter("--gaps", "must be a number or a comma-separated list of them", text) from None
    return values[0] if len(values) == 1 else values


@app.command()
def claims(
    replications: Annotated[int, typer.Option(help="Games of each policy in each setting.")] = 4000,
    worlds: Annotated[int, typer.Option(help="Random piecewise-constant worlds.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same verdicts.")] = 0,
    backend: Backend = "threads",
    scheduler: Scheduler = None,
    workers: Workers = None,
) -> None:
    """Play what we claim of the adaptive policy, and judge it as the paper's claims are."""
    from holdfast.evidence.adaptive_claims import judged, lines
    from holdfast.simulation.backends import find_backend

    where = find_backend(backend, workers=workers, scheduler=scheduler)
    runs = whole_number("replications", replications, least=2)
    with _interruptible():
        verdicts = judged(replications=runs, worlds=whole_number("worlds", worlds, least=2), seed=seed, backend=where)
    print("\n".join(lines(verdicts)))


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


def _figures(begun: str) -> list[str]:
    """The figures whose name begins so, for the shell's completion."""
    from holdfast.paper.figures import FIGURES

    return [name for name in FIGURES if name.startswith(begun)]


def _reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(help="Names of figures; all by default.", autocompletion=_figures)
    ] = None,
    out: Annotated[Path, typer.Option(help="Where figures, tables, ledger and report go.")] = Path("reproduction"),
    replications: Annotated[
        int, typer.Option(help="Repetitions of each game in the figures; verdicts rest on at least 30.")
    ] = 10,
    horizon: Annotated[float, typer.Option(help="T, the number of rounds; 1e5 will do.")] = 100_000,
    arms: Annotated[int, typer.Option(help="K, the number of arms.")] = 8,
    seed: Annotated[int, typer.Option(help="The same seed gives the same tables.")] = 0,
    further: Annotated[
        list[str] | None,
        typer.Option("--with", help="A policy of our own to draw beside the paper's: adaptive.", metavar="POLICY"),
    ] = None,
    backend: Backend = "threads",
    scheduler: Scheduler = None,
    workers: Workers = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print every claim in full, and what is played.")] = False,
) -> None:
    from holdfast.paper import terminal
    from holdfast.paper.reproduce import reproduce as run

    with _interruptible():
        made = run(
            figures or None,
            out=out,
            replications=replications,
            horizon=whole_number("horizon", horizon, least=1),
            n_arms=arms,
            seed=seed,
            further=further or (),
            backend=backend,
            scheduler=scheduler,
            workers=workers,
            echo=print,
            verbose=verbose,
        )
    lines = terminal.ledger(made.verdicts) if verbose else []
    for line in [*lines, *terminal.summary(len(made.findings.figures), made.verdicts)]:
        print(line)
    print(f"The report is {made.report}")


def _described() -> str:
    """What `reproduce --help` says, with the figures by name."""
    from holdfast.paper.figures import FIGURES

    width = max(map(len, FIGURES))
    listed = "\n".join(f"  {name:{width}}  {_short(figure.title, 56)}" for name, figure in FIGURES.items())
    return (
        "Regenerate the experiments of the paper, judge every claim it makes about them, and write a report.\n\n"
        f"\b\nFigures:\n{listed}"
    )


def _short(text: str, most: int) -> str:
    return textwrap.shorten(text, most, placeholder="…")


class _WithFigures(typer.core.TyperCommand):
    """A command whose help lists the figures; they are loaded when the help is asked for, and not before."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """The description, then the figures."""
        self.help = _described()
        super().format_help_text(ctx, formatter)


app.command("reproduce", cls=_WithFigures, help="Play the paper's experiments again and judge its claims.")(_reproduce)


@app.command(hidden=True)
def bench() -> None:
    """Speed is measured in the repository: make bench."""
    raise HoldfastError("the benchmarks are in the repository, not in the package: run make bench there")


replay_commands.add_to(app)
study_commands.add_to(app)
decision_commands.add_to(app)
arena_commands.add_to(app)
machine_code_commands.add_to(app)

OPTIONS = {"n_arms": "--arms", "switching_cost": "--switching-cost", "best_arms": "--best-arms"} | {
    name: f"--{name}"
    for name in (
        *("horizon", "gaps", "replications", "seed", "backend", "scheduler", "workers"),
        *("policies", "environments", "trace", "units", "index"),
    )
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


class _Patient:
    """Standard output that falls silent when its reader goes (``| head``): what is to be written to disk still is."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """As a stream's."""
        with self._silenced():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """As a stream's."""
        with self._silenced():
            self._stream.flush()

    @contextmanager
    def _silenced(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EINVAL):  # Windows says EINVAL
                raise
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


def main() -> None:
    """Run the command; a user's mistake is one line on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an encoding without λ shows a question mark for it
    sys.stdout = _Patient(sys.stdout)
    try:
        try:
            app()
        except HoldfastError as error:
            print(f"holdfast: {_in_options(error)}", file=sys.stderr)
            sys.exit(2)
        finally:
            sys.stdout.flush()
    except OSError as error:  # standard output on a full disk
        print(f"holdfast: cannot write: {error.strerror or error}", file=sys.stderr)
        os._exit(1)  # what is still in the buffer cannot be written either


if __name__ == "__main__":
    main()
