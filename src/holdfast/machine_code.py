"""Machine code on disk: the commands ``holdfast cache`` and ``holdfast warm``, and compiling before the first call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from holdfast._numba import cache as disk
from holdfast.checks import one_of, parameters_of
from holdfast.command_line import LIST, names
from holdfast.extras import installed
from holdfast.policies.policy import Policy
from holdfast.policies.registry import POLICIES, find_policy, make_policy

SIMULATED = ("adaptive", "tsallis-switch", "tsallis-inf", "exp3")
"""The policies whose simulation is compiled by default."""

HORIZON = 100
NEEDED = {"n_arms": 2, "switching_cost": 1.0, "horizon": HORIZON}
"""Any values: they are not part of the code."""


cache = typer.Typer(
    rich_markup_mode=None, invoke_without_command=True, help="Show the folder of machine code and what it holds."
)


def add_to(app: typer.Typer) -> None:
    """Make the commands known to a command."""
    app.add_typer(cache, name="cache")
    app.command()(warm)


@cache.callback()
def show(context: typer.Context) -> None:
    """Show the folder of machine code and what it holds."""
    if context.invoked_subcommand is None:
        _print_folder()


@cache.command()
def clear() -> None:
    """Remove all machine code: the next call of each policy compiles again."""
    removed = disk.clear()
    print(f"removed {len(removed)} files, {_megabytes(removed)} MB, from {disk.folder()}")


def warm(
    policies: Annotated[
        list[str] | None, typer.Option(metavar=LIST, help="Policies that will decide; all by default.")
    ] = None,
    simulated: Annotated[
        list[str] | None,
        typer.Option(metavar=LIST, help="Policies to simulate, '' for none; the main ones by default."),
    ] = None,
) -> None:
    """Compile beforehand, as for the image of a container.

    Run it as the user and on the kind of processor that will play: code of another is not used. NUMBA_CACHE_DIR
    names another folder.
    """
    compile_beforehand(
        None if policies is None else names(policies), None if simulated is None else names(simulated), echo=print
    )
    _print_folder()


def _print_folder() -> None:
    kept = disk.entries()
    print(
        f"folder   {disk.folder()}\nfiles    {len(kept)}\nsize     {_megabytes(kept)} MB of {disk.LIMIT / 1e6:.0f} MB"
    )


def _megabytes(kept: list[disk.Entry]) -> str:
    return f"{sum(entry.size for entry in kept) / 1e6:.1f}"


def compile_beforehand(
    policies: Iterable[str] | None = None,
    simulated: Iterable[str] | None = None,
    *,
    echo: Callable[[str], None] | None = None,
) -> None:
    """Compile online play and simulation of policies, so that the next process finds their machine code on disk.

    Parameters
    ----------
    policies
        Names of policies that will decide; all by default.
    simulated
        Names of policies that will be simulated with `Bernoulli` losses on threads; by default the adaptive one,
        Tsallis-Switch, Tsallis-INF and EXP3, as far as they are among `policies`; none where the extra ``simulate``
        is not installed.
    echo
        Called with a line for each thing that is ready.

    Examples
    --------
    >>> from holdfast.machine_code import compile_beforehand
    >>> compile_beforehand(["exp3"], [], echo=print)
    exp3: ask and tell
    """
    online = [one_of("policies", name, POLICIES) for name in (POLICIES if policies is None else policies)]
    usual = SIMULATED if installed("polars") else ()
    chosen = [name for name in usual if name in online] if simulated is None else simulated
    offline = [one_of("simulated", name, POLICIES) for name in chosen]
    for name in online:
        _play_online(_any(name))
        if echo:
            echo(f"{name}: ask and tell")
    for name in offline:
        _simulate(_any(name))
        if echo:
            echo(f"{name}: simulation")


def _any(name: str) -> Policy:
    kind, _ = find_policy(name)
    known = parameters_of(kind)
    return make_policy({"policy": name} | {key: value for key, value in NEEDED.items() if key in known})


def _play_online(policy: Policy) -> None:
    from holdfast.players import FullInformationPlayer

    player = policy.player(seed=0)
    announced: dict[str, Any] = {} if policy.announces is None else {policy.announces: 1.0}
    player.ask(**announced)
    if isinstance(player, FullInformationPlayer):
        player.tell([0.5] * policy.n_arms)
    else:
        player.tell(0.5 * player.hold, rounds=player.hold)


def _simulate(policy: Policy) -> None:
    from holdfast.environments import Bernoulli
    from holdfast.simulation.game import SIDE_BY_SIDE
    from holdfast.simulation.run import simulate  # needs an extra that games alone do not

    simulate(
        policy,
        Bernoulli.with_gap(policy.n_arms, 0.1),
        horizon=HORIZON,
        switching_cost=1.0,
        replications=SIDE_BY_SIDE + 1,  # several games at a time, and one alone
        workers=1,
        progress=False,
    )
