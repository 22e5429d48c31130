"""The arena: every policy of the package in every setting, its worst cases, and how its cost grows.

    python experiments/arena.py                          # all of it: 200 replications, T = 100,000
    python experiments/arena.py --quick                  # a first look
    python experiments/arena.py --sees all               # policies that see the losses of all arms
    python experiments/arena.py --trace prices.csv --units 0,500 --index time

It writes

    DIR/games/        the games: a table for each setting and horizon, resumable as any study's
    DIR/long/         the same for the long games that growth is measured in
    DIR/arena.parquet one row for each setting and policy
    DIR/arena.json    the same with worst cases and settings
    DIR/arena.html    the page
    DIR/files.json    the names and checksums of these files

Policies with full information play separately from bandit policies, which see only the loss of their own arm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import growth
import polars as pl
import typer
from measures import FLOOR, PAPER, knows_horizon, over_best_arm, tabulated, worst_cases, worst_ratios
from search_worlds import FOUND

import holdfast
from holdfast.checks import check_fields, is_own, one_of, real_number, whole, whole_number, written_range
from holdfast.command_line import LIST, RANGE, Backend, Scheduler, Workers, names, numbers, policy_names
from holdfast.environments import LossTable, PiecewiseConstant
from holdfast.environments.environment import UNIT_RANGE
from holdfast.errors import InvalidParameter, nearest, printable
from holdfast.files import claimed, sha256
from holdfast.lab.plan import HARD_CASES, Cell, Plan, Setting, hard_setting, paper_settings
from holdfast.lab.tables import Tables, costs_of, play_in
from holdfast.numerics.layout import Array
from holdfast.numerics.random import check_seed
from holdfast.policies.registry import POLICIES
from holdfast.results import parquet_bytes
from holdfast.runs import Outputs, document
from holdfast.text import counted, number

GAMES, TABLE, DOCUMENT, PAGE = "games", "arena.parquet", "arena.json", "arena.html"
Sees = Literal["own", "all"]
"""Feedback of the policies: the loss of their own arm, or the losses of all arms."""

CHECKPOINTS = 10
"""Rounds recorded of each game: enough for a curve, few enough for small files."""
LEAST_HORIZON = 1000
"""Rounds of the shortest game: the hard cases are laid out over a hundred steps."""
SHORTER = (100, 10)
"""Growth is fitted on horizons this many times shorter, and the horizon itself."""
KNOWS_T = "†"
"""The mark of policies that know T."""


# ---- settings ----

GROUPS: Mapping[str, str] = {
    "paper": "the paper's settings",
    "hard": "hard cases",
    "traces": "traces",
    "found": "worlds found by search",
}
"""Groups of settings; worlds found by search are separate in every summary."""

HARD_COSTS: Mapping[str, float] = {"cheap": 0.05, "costly": 1.0}
"""λ of the hard cases, by the suffix of their names."""

TRACE_COSTS = (0.1, 0.35, 1.0)
"""λ on traces unless others are given, in the units of their losses."""

NOT_IN_THE_ARENA = ("arms-4", "arms-8", "arms-16")

QUICK_SETTINGS = (
    *("stochastic-easy", "stochastic-hard", "adversarial", "corrupted-costly", "drifting-costly"),
    *("changing-best-cheap", "changing-best-costly", "unseen-turn-costly"),
)
"""Settings of a first look, a few of each kind."""

CHANGING = (
    "stochastic-easy",
    "adversarial",
    *(f"{case}-{word}" for case in ("drifting", "seasonal", "changing-best", "jumping-levels") for word in HARD_COSTS),
)
"""Default settings with full information: few, because blocks of one round take long."""


def laid_out(horizon: int) -> dict[str, Setting]:
    """Return the settings that can be laid out over any horizon; traces and found worlds cannot."""
    paper = [setting for name, setting in paper_settings(horizon).items() if name not in NOT_IN_THE_ARENA]
    hard = [
        hard_setting(case, horizon, cost, name=f"{case}-{word}")
        for case in HARD_CASES
        for word, cost in HARD_COSTS.items()
    ]
    return {setting.name: setting for setting in (*paper, *hard)}


def searched_settings() -> dict[str, Setting]:
    """Return the worlds found by search, with the costs and rounds they were found with."""
    settings = {}
    for name, found in FOUND.items():
        world = PiecewiseConstant(found["starts"], found["means"], noise=found["noise"])
        settings[f"found-{name}"] = Setting(f"found-{name}", "found", world, found["switching_cost"], found["horizon"])
    return settings


def trace_settings(
    files: Iterable[str | Path],
    costs: Sequence[float] = TRACE_COSTS,
    *,
    units: tuple[float, float] = UNIT_RANGE,
    index: str | None = None,
) -> list[Setting]:
    """Return each file of losses with each of these costs; all rounds are played."""
    settings: list[Setting] = []
    prices = [real_number("switching_costs", cost, least=0) for cost in costs]
    for given in files:
        file = Path(given)
        try:
            table = LossTable(file, units=units, index=index)
        except InvalidParameter as error:
            parameter = "trace" if error.parameter == "source" else error.parameter
            where = "" if file.name in f"{error.rule} {error.value}" else f" (in {file.name})"
            raise InvalidParameter(parameter, f"{error.rule}{where}", error.value) from None
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", file.name.partition(".")[0]).strip("-.") or "trace"
        source = {"source": file.name, "sha256": sha256(file)}
        settings += [Setting(f"{stem}-{cost:g}", "traces", table, cost, table.rounds, source) for cost in prices]
    for name in (setting.name for setting in settings):
        if sum(setting.name == name for setting in settings) > 1:
            raise InvalidParameter("trace", "must have different names and costs", name)
    return settings


def chosen_settings(
    horizon: int, traces: Sequence[Setting] = (), given: object = None, *, quick: bool = False
) -> tuple[list[Setting], bool]:
    """Return the settings by name or group, in catalogue order, and whether the long games are among them.

    Without names: all of them, or a few if `quick`, and every trace.
    """
    everything = [*laid_out(horizon).values(), *traces, *searched_settings().values()]
    if given is None:
        return [s for s in everything if not quick or s.name in QUICK_SETTINGS or s.group in ("traces", "found")], True
    rule = f"must be a list of names, or of {', '.join(GROUPS)}"
    asked = _name_list("environments", given, rule)
    wanted = _name_list("environments", [name for name in asked if name != growth.LONG], rule)
    known = [*GROUPS, growth.LONG, *(setting.name for setting in everything)]
    for name in wanted:
        if name not in known:
            rule = f"must be of {', '.join(known)}{nearest(str(name), known)}"
            raise InvalidParameter("environments", rule, name)
    chosen = [setting for setting in everything if setting.name in wanted or setting.group in wanted]
    if not chosen:
        raise InvalidParameter("environments", "must be some; traces are given with --trace", wanted)
    return chosen, growth.LONG in asked


def _name_list(parameter: str, given: object, rule: str) -> Sequence[str]:
    """Return names given as a list, or as text with commas."""
    if isinstance(given, str):
        given = [name.strip() for name in given.split(",") if name.strip()]
    if not isinstance(given, Sequence) or not given:
        raise InvalidParameter(parameter, rule, given)
    return given


# ---- policies ----

SEE_ALL = (
    *("hedge-switch", "lazy-hedge", "fixed-share", "shrinking-dartboard", "lazy-leader", "random-walk"),
    *("work-function", "threshold"),
)
FULL_INFORMATION: Mapping[str, Mapping[str, Any]] = {
    **{name: {"policy": name} for name in SEE_ALL},
    "seasonal-plan-24": {"policy": "forecast-plan", "period": 24},
}
"""Policies with full information."""

OWN_LOSS_ONLY: Mapping[str, Mapping[str, Any]] = {
    **{name: {"policy": name} for name in POLICIES if name not in (*SEE_ALL, "forecast-plan")},
    "tsallis-switch-rv": {"policy": "tsallis-switch", "estimator": "reduced-variance"},
    "tsallis-inf-rv": {"policy": "tsallis-inf", "estimator": "reduced-variance"},
    "ucb1-cooldown-100": {"policy": "ucb1", "cooldown": 100},
    "ucb1-threshold-0.1": {"policy": "ucb1", "threshold": 0.1},
    "thompson-cooldown-100": {"policy": "thompson", "cooldown": 100},
}
"""Bandit policies: the paper's with both estimators, and with practitioners' cooldowns and thresholds."""

OWN = "adaptive"
"""The policy this project proposes; it also plays under full information, as a reference."""

QUICK_POLICIES = (
    *("adaptive", "tracking", "tsallis-switch", "tsallis-switch-rv", "tsallis-inf", "exp3-blocks", "base-geometric"),
    *("ucb1", "ucb1-cooldown-100", "ewma", "fail-over", "threshold-cooldown"),
)
"""Policies of a first look: the compiler takes seconds for each."""


def chosen_policies(given: object = None, *, quick: bool = False, sees: Sees = "own") -> tuple[str, ...]:
    """Return the policies to play: all, a few, or these, user-defined ones as ``"module:Class"``, and the paper's."""
    always = (OWN, PAPER) if sees == "all" else (PAPER,)
    known = (*always, *FULL_INFORMATION) if sees == "all" else tuple(OWN_LOSS_ONLY)
    if given is None:
        return QUICK_POLICIES if quick and sees == "own" else known
    asked = _name_list("policies", given, f"must be a list of names; there are {', '.join(known)}")
    for name in asked:
        if name not in known and not is_own(name):
            rule = f"must be of {', '.join(known)}, or your own module:Class{nearest(str(name), known)}"
            raise InvalidParameter("policies", rule, name)
    return tuple(dict.fromkeys([*asked, *always]))


def entries_of(policies: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Return the entries of these policies, as a study file has them."""
    known = {**OWN_LOSS_ONLY, **FULL_INFORMATION}
    return {name: {"policy": name} if is_own(name) else {**known[name], "name": name} for name in policies}


# ---- playing ----


@dataclass(frozen=True)
class Size:
    """Size of an arena."""

    replications: int = field(default=200, metadata=whole(least=2, most=10**6))
    horizon: int = field(default=100_000, metadata=whole(least=LEAST_HORIZON, most=10**9))
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "seed", check_seed(self.seed))

    @property
    def shorter(self) -> tuple[int, ...]:
        """The horizons below the full one that growth is fitted on."""
        return tuple(T for times in SHORTER if (T := self.horizon // times) >= LEAST_HORIZON)


def arena_plan(settings: Sequence[Setting], policies: Sequence[str], size: Size) -> Plan:
    """Return the games: full horizons first."""
    shorter = [laid_out(T).values() for T in reversed(size.shorter)]
    wanted = {setting.name for setting in settings}
    played = [*settings, *(setting for all_of_T in shorter for setting in all_of_T if setting.name in wanted)]
    entries = list(entries_of(policies).values())

    def cell(setting: Setting) -> Cell:
        return setting.cell(
            entries,
            checkpoints=CHECKPOINTS,
            replications=size.replications,
            seed=size.seed,
            name=f"{setting.name},T={setting.horizon}",
            columns={
                "environment": setting.name,
                "group": setting.group,
                "lambda": setting.switching_cost,
                "T": setting.horizon,
            },
        )

    written: dict[str, Any] = {
        "name": "arena",
        "replications": size.replications,
        "horizon": size.horizon,
        "seed": size.seed,
        "checkpoints": CHECKPOINTS,
        "policies": list(policies),
        "environments": [setting.name for setting in settings],
    }
    return Plan("arena", tuple(map(cell, played)), written)


@dataclass(frozen=True)
class Arena:
    """Games and results of an arena: all that page and summary are made of."""

    size: Size
    settings: tuple[Setting, ...]
    policies: Mapping[str, bool]
    """True for each policy that knows T."""
    table: pl.DataFrame
    """One row for each setting and policy (`measures.tabulated`)."""
    worst: pl.DataFrame
    """One row for each policy (`measures.worst_cases`)."""
    floors: Mapping[str, Mapping[float, float]]
    """The worst ratio of each policy with other floors."""
    curves: Mapping[str, pl.DataFrame]
    """Means by round, for each setting."""
    over_best_arm: pl.DataFrame | None
    """Costs over the best fixed arm's, under full information."""
    long: pl.DataFrame | None
    """One row for each long game, policy and T (`growth.long_table`), if played."""
    backend: str
    tables: Tables
    out: Path

    def marked(self, policy: str) -> str:
        """Return a policy's name, marked if it knows T."""
        return policy + KNOWS_T if self.policies[policy] else policy

    def value(self, setting: str, policy: str, column: str) -> float:
        """Return one number of the table."""
        found = self.table.filter(pl.col("environment") == setting, pl.col("policy") == policy)
        return float(found[column][0])

    def group(self, name: str) -> list[Setting]:
        """Return the settings of one group."""
        return [setting for setting in self.settings if setting.group == name]

    def how_much(self) -> str:
        """Describe how much was played."""
        return (
            f"{counted(len(self.policies), 'policy', 'policies')} in {counted(len(self.settings), 'environment')}, "
            f"{counted(self.size.replications, 'replication')}, T = {number(self.size.horizon)}"
        )

    def plain(self) -> dict[str, Any]:
        """Return the arena as JSON."""
        seen = self.over_best_arm
        return {
            "format": "holdfast.arena",
            "version": 1,
            "holdfast": holdfast.__version__,
            "replications": self.size.replications,
            "horizon": self.size.horizon,
            "shorter_horizons": list(self.size.shorter),
            "seed": self.size.seed,
            "confidence": 0.95,
            "floor": FLOOR,
            "policies": [{"policy": name, "knows_horizon": knows} for name, knows in self.policies.items()],
            "worst_cases": self.worst.to_dicts(),
            "worst_ratios_by_floor": {
                name: {f"{floor:g}": value for floor, value in row.items()} for name, row in self.floors.items()
            },
            "table": self.table.to_dicts(),
            **({} if seen is None else {"full_information": seen.to_dicts()}),
            "long_games": [] if self.long is None else self.long.to_dicts(),
        }


def run_arena(
    out: str | Path = "arena",
    *,
    traces: Sequence[str | Path] = (),
    switching_costs: Sequence[float] = TRACE_COSTS,
    units: tuple[float, float] = UNIT_RANGE,
    index: str | None = None,
    policies: object = None,
    environments: object = None,
    replications: int | None = None,
    horizon: int | None = None,
    longest: int | None = None,
    seed: int = 0,
    quick: bool = False,
    sees: Sees = "own",
    verbose: bool = False,
    **how: Any,
) -> Arena:
    """Play every policy in every setting and write table, document and page to the folder `out`.

    Parameters
    ----------
    out
        The folder.
    traces, switching_costs, units, index
        Files of losses, each played with each of these costs; `units` and `index` are those of `LossTable`.
    policies, environments
        Names; all unless given. The long games are played where none are given, or ``"long"`` is among them.
    replications, horizon, seed
        As in `simulate`; 200 and 100,000 unless given, or 8 and 10,000 for a first look.
    longest
        The longest T of the long games, from 10⁴ to 10⁹; 10⁶ unless given.
    quick
        A first look at a few policies and settings.
    sees
        ``"all"`` plays the policies that see the losses of all arms instead, where the best arm changes, with 20
        replications of 10,000 rounds, and compares costs with that of the best fixed arm.
    verbose
        Name each finished table.
    **how
        As in `holdfast.lab.tables.play_in`: ``backend``, ``workers``, ``resume``, ``echo``, …
    """
    from arena_report import page_of

    usual = (8, 10_000) if quick else (20, 10_000) if one_of("sees", sees, ("own", "all")) == "all" else (200, 100_000)
    if sees == "all" and not quick and environments is None:
        environments = [*CHANGING, *(["traces"] if traces else [])]
    size = Size(usual[0] if replications is None else replications, usual[1] if horizon is None else horizon, seed)
    given = trace_settings(traces, switching_costs, units=units, index=index)
    settings, with_long_games = chosen_settings(size.horizon, given, environments, quick=quick)
    chosen = chosen_policies(policies, quick=quick, sees=sees)
    plan = arena_plan(settings, chosen, size)
    place = Path(out)
    with claimed(place, "playing an arena"):
        Outputs(place, "an arena").refuse_foreign((TABLE, DOCUMENT, PAGE))
    how["finished"] = None if verbose else lambda line: None
    long = None
    if with_long_games and sees == "own":
        most = longest or (growth.QUICK if quick else growth.DEFAULT)
        long = growth.long_plan(entries_of(chosen), size.replications, size.seed, most)
    tables = play_in(place / GAMES, plan, **how)
    grown = None if long is None else growth.long_table(play_in(place / growth.LONG, long, **how))
    arena = found(tables, settings, size, grown, sees=sees, out=place)
    with claimed(place, "writing an arena"):
        Outputs(place, "an arena").write(
            {
                TABLE: parquet_bytes(arena.table),
                DOCUMENT: document(arena.plain()),
                PAGE: page_of(arena).encode(),
            }
        )
    return arena


def found(
    tables: Tables,
    settings: Sequence[Setting],
    size: Size,
    long: pl.DataFrame | None,
    *,
    sees: Sees,
    out: Path,
) -> Arena:
    """Compute an arena from its games."""
    costs: dict[tuple[str, int], dict[str, Array]] = {}
    switches, curves = {}, {}
    for cell in tables.plan.cells:
        name, result = str(cell.keys["environment"]), tables[cell.name]
        costs[name, cell.horizon] = costs_of(result)
        if name not in curves:  # full horizons come first
            final = result.final()
            switches[name] = dict(zip(final["policy"], final["switches_mean"], strict=True))
            curves[name] = result.summary()
            backend = result.provenance["backend"]
    made = tables.plan.cells[0].policies
    table = tabulated(settings, costs, switches, made)
    return Arena(
        size=size,
        settings=tuple(settings),
        policies={name: knows_horizon(policy) for name, policy in made.items()},
        table=table,
        worst=worst_cases(table),
        floors=worst_ratios(settings, costs),
        curves=curves,
        over_best_arm=over_best_arm(settings, costs, switches) if sees == "all" else None,
        long=long,
        backend=backend,
        tables=tables,
        out=out,
    )


def main(
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
    """Play every policy in every setting: worst cases, a page."""
    from arena_report import summary

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
        verbose=verbose,
        backend=backend,
        scheduler=scheduler,
        workers=workers,
        resume=resume,
        echo=print,
    )
    for line in summary(made):
        print(line)
    print(f"The page is {printable(out / PAGE)}")


if __name__ == "__main__":
    typer.run(main)
