"""The command `holdfast`: parse, call one public function, print; `docs/cli.md` has its exit codes."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import holdfast
from holdfast import machine_code
from holdfast.adapters.proxies import steer
from holdfast.checks import whole_number, written_range
from holdfast.command_line import LIST, RANGE, Backend, Command, Scheduler, Workers, given, names, numbers, policy_names
from holdfast.decisions import cli as store_commands
from holdfast.decisions.stores import NotShown, parse_address
from holdfast.doctor import doctor
from holdfast.errors import HoldfastError, InvalidParameter, error_to_json, printable
from holdfast.extras import need
from holdfast.files import write_whole
from holdfast.service import commands as service_commands

PLAIN: dict[str, Any] = {
    "no_args_is_help": True,
    "rich_markup_mode": None,  # plain text: flags without a type, lists as they stand, any width
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(
    pretty_exceptions_enable=False,
    help="Repeatedly pick one of several options when switching has a cost: make decisions that a store keeps, "
    "replay recorded losses, simulate, and check the theory.",
    **PLAIN,
)
study = typer.Typer(help="Run and draw your own experiments.", **PLAIN)
token = typer.Typer(help="Make, list and revoke tokens of `holdfast serve`.", **PLAIN)
benchmark = typer.Typer(help="Rank a policy on a fixed suite of settings.", **PLAIN)
store = typer.Typer(help="Make decisions: ask which option to use, tell what it cost.", **PLAIN)

UsageError: type[Any] = typer.BadParameter.__bases__[0]  # Typer has its own copy of click, and older versions do not

UNWRITTEN, USAGE, INTERRUPTED = 1, 2, 130


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


# ---- bounds ----


def bounds(
    arms: Annotated[int, typer.Option(help="K, the number of arms.")],
    switching_cost: Annotated[float, typer.Option(help="λ, what one switch costs.")],
    horizon: Annotated[float, typer.Option(help="T, the number of rounds, e.g. 1e6.")],
    gaps: Annotated[
        list[str] | None, typer.Option(metavar=LIST, help="Gaps of the suboptimal arms: one for all, or a list.")
    ] = None,
    best_arms: Annotated[int, typer.Option(help="Arms that share the best mean.")] = 1,
) -> None:
    """Print every bound for one case, and which binds."""
    from holdfast.bounds.table import applicable, binding, smallest
    from holdfast.report.html import plain_powers

    values = numbers("--gaps", gaps)
    rows = applicable(
        n_arms=arms,
        switching_cost=switching_cost,
        horizon=horizon,
        gaps=None if gaps is None else values[0] if len(values) == 1 else values,
        best_arms=best_arms,
    )
    names = [_title(row.name) for row in rows]
    shown = [f"{row.value:,.1f}" if row.value < 1e12 else f"{row.value:.4g}" for row in rows]
    first, second = max(map(len, names)), max(map(len, shown))
    known = "unknown" if gaps is None else ",".join(f"{gap:g}" for gap in values)
    print(f"K = {arms}, λ = {switching_cost:g}, T = {horizon:g}, gaps {known}\n")
    print(f"{'bound':{first}}  {'value':>{second}}  holds for, formula")
    for row, name, value in zip(rows, names, shown, strict=True):
        other = row.note.startswith("holds for ")  # of another policy
        holds = row.note.removeprefix("holds for ") if row.applies or other else f"not here: {row.note}"
        above = "; above T + λ: says nothing" if row.says_nothing else ""
        _wrapped(f"{name:{first}}  {value:>{second}}  ", holds + above)
        _wrapped("    ", plain_powers(row.statement))
    best = binding(rows)
    print(f"\nOf the theorems on Tsallis-Switch {_title(best.name)} binds: {best.value:,.1f}.")
    trivial = next(row for row in rows if row.kind == "trivial")
    if trivial.value < best.value:
        _wrapped(
            "",
            f"At this horizon none says more than {trivial.statement} = {trivial.value:,.1f} does, whatever is played.",
        )
    least = smallest(rows)
    nothing = ", which says nothing: it is above T + λ" if least.says_nothing else ""
    name, policy = _title(least.name), least.note.removeprefix("holds for ")
    _wrapped(
        "", f"Of all bounds on regret and switches {name} is the smallest ({policy}): {least.value:,.1f}{nothing}."
    )


def _title(name: str) -> str:
    """Return the name of a bound in words: `tsallis_inf` is Tsallis-INF."""
    words = name.replace("_", " ").capitalize()
    return words.replace("Tsallis inf", "Tsallis-INF").replace("Exp3", "EXP3")


def _wrapped(begin: str, words: str) -> None:
    """Print `words` after `begin`, and below it where the terminal ends."""
    width = max(shutil.get_terminal_size((80, 24)).columns, len(begin) + 20)
    print(textwrap.fill(words, width, initial_indent=begin, subsequent_indent=" " * len(begin)))


# ---- a table of losses, or a log of play, from a file ----

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
        Path | None, typer.Option(help="Forecasts: a file with the columns issued, round and one per arm.")
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
        str | None, typer.Option(metavar=RANGE, help="The least and the most that one round can lose; 0,1 by default.")
    ] = None,
    unit: Annotated[str, typer.Option(metavar="NAME", help="The unit of losses, for tables and axes.")] = "",
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
    separator: Annotated[str, typer.Option(help="The separator of columns in a CSV file.")] = ",",
    decimal: Annotated[str, typer.Option(help="The decimal sign of a CSV file: . or ,")] = ".",
    thousands: Annotated[
        str | None, typer.Option(help="The separator of thousands in a CSV file; in 1.342,30 it is the point.")
    ] = None,
    encoding: Annotated[str, typer.Option(help="The encoding of a CSV file, such as cp1252 or utf-16.")] = "utf-8",
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
    options = {"switching_cost": _costs(switching_cost, decimal), **given(ctx, OF_LOGS, read=READ_BY_REPLAY)}
    made = run(record, echo=lambda line: print(line, file=sys.stderr), **options)
    print(made)
    if out is not None:
        print(f"\nThe report is {printable(out / 'report.html')}")


READ_BY_REPLAY: Mapping[str, Callable[[Any], Any]] = {
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


PLOT = "plot.html"
READ_BY_REPRODUCE: Mapping[str, Callable[[Any], Any]] = {
    "further": policy_names,
    "horizon": partial(whole_number, "horizon", least=1),
}
"""Options of `reproduce` that are read before they are handed on."""


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
    out: Annotated[Path, typer.Option(help="Folder for figures, tables, ledger and report.")] = Path("reproduction"),
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

    made = run(**given(ctx, read=READ_BY_REPRODUCE), echo=print)
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
    out: Annotated[Path, typer.Option(help="The folder for the tables.")],
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
    x_scale: Annotated[str, typer.Option(help="The scale of the rounds: linear or log.")] = "linear",
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


# ---- where each command is found ----

app.add_typer(store, name="store")
store_commands.add_to(store)
service_commands.add_to(app, token)
app.add_typer(token, name="token")
app.command(cls=Command)(replay)
app.add_typer(study, name="study")
app.add_typer(benchmark, name="benchmark")
machine_code.add_to(app)
app.command(cls=Command)(check)
app.command(cls=_WithFigures)(reproduce)
study.command("run", cls=Command)(run_study)
study.command(cls=Command)(plot)
benchmark.command("run", cls=Command)(run_benchmark)
benchmark.command(cls=Command)(rivals)
app.command(cls=Command)(bounds)
app.command(cls=Command)(doctor)
app.command(cls=Command)(steer)


# ---- running one ----


class PipeSafeStdout:
    """Standard output that ignores a closed pipe (``| head``): what is to be written to disk still is."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, unless the pipe is closed."""
        with self._silenced():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, unless the pipe is closed."""
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
    """Run the command; a mistake is one line on standard error, or one JSON object, and an exit code."""
    if sys.stderr is None:  # closed: what is said there must not reach standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # until the process ends
    if sys.stdout is None:
        sys.exit(_say(UNWRITTEN, HoldfastError("standard output is closed; nothing was done")))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an encoding without λ shows \u03bb
    sys.stdout = PipeSafeStdout(sys.stdout)
    try:
        try:
            code = app(prog_name="holdfast", standalone_mode=False)
        finally:
            sys.stdout.flush()
    except HoldfastError as error:
        code = _say(error.exit_code, error)
    except UsageError as error:
        code = _say_usage(error)
    except typer.Abort:
        code = INTERRUPTED
    except OSError as error:  # standard output on a full disk
        _say(
            UNWRITTEN, HoldfastError(f"cannot write its output: {error.strerror or error}; what the command did stands")
        )
        os._exit(UNWRITTEN)  # what is still in the buffer cannot be written either
    if code == INTERRUPTED:
        print("holdfast: interrupted", file=sys.stderr)
    sys.exit(code or 0)


def _say(code: int, error: HoldfastError) -> int:
    if "--json" in sys.argv:
        print(_without_secrets(json.dumps({**error_to_json(error), "exit_code": code})), file=sys.stderr)
    else:
        print(f"holdfast: {printable(' '.join(_without_secrets(str(error)).splitlines()))}", file=sys.stderr)
    return code


def _say_usage(error: Any) -> int:
    text, where = error.format_message(), error.ctx
    if "\n" in text:  # the help, where a group is given no command
        print(text, file=sys.stderr)
        return USAGE
    if "unexpected extra argument" in text:
        text = f"{text.rstrip('.')}; a list is written with commas"
    see = f" (see {where.command_path} --help)" if where is not None else ""
    return _say(USAGE, HoldfastError(f"{text.rstrip('.')}{see}"))


def _without_secrets(text: str) -> str:
    """Remove addresses that were given where none belongs, such as a URL for a name."""
    for word in sys.argv[1:]:
        if "://" in word or "password" in word.lower():
            try:
                shown = parse_address(word).shown
            except InvalidParameter:
                shown = repr(NotShown())
            for form in (word, repr(word)[1:-1], json.dumps(word)[1:-1], str(Path(word))):
                text = text.replace(form, shown)
    return text


if __name__ == "__main__":
    main()
