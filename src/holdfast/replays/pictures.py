"""The pictures of a replay, as charts for `holdfast.report`: paper and page draw the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.extras import pl
from holdfast.replays.cost_table import exact
from holdfast.replays.games import WHOLE
from holdfast.report.charts import ChartRow, Line, LineChart, Panel, Ribbon, one_panel
from holdfast.report.drawing import rendered
from holdfast.statistics import student_quantile

if TYPE_CHECKING:
    from holdfast.replays.result import Replay

PLAN = "best plan"
MOST_COLOURS = 7
"""Arms of a ribbon that have a colour each; of more, those held least share one."""
OTHERS = "other arms"
MOST_TICKS = 3


def rendered_pictures(replay: Replay) -> dict[str, bytes]:
    """Every picture as the bytes of files: name with suffix -> data."""
    charts: dict[str, tuple[LineChart | Ribbon, str]] = {
        "cost": (cost_by_lambda(replay), "Cost against λ"),
        "tradeoff": (tradeoff(replay), "Switches and losses"),
    }
    for lam in replay.switching_costs:
        at = replay.standing(lam).at.removeprefix("at ")
        charts[f"running-{exact(lam)}"] = running_cost(replay, lam), f"Cost over time, {at}"
        charts[f"held-{exact(lam)}"] = which_arm(replay, lam), f"Which arm was held when, {at}"
    return {
        f"{name}.{kind}": data
        for name, (chart, title) in charts.items()
        for kind, data in rendered(chart, ("png", "svg"), title=title, dpi=110).items()
    }


def best_arm_label(replay: Replay) -> str:
    """What staying with the best arm is called in a legend."""
    return f"only {replay.standing().best_arm}"


def drawn_policies(replay: Replay) -> list[str]:
    """Policies that learn something. One that does not costs so much that the others could not be told apart."""
    played = replay.standing().played
    return [name for name in replay.policies if played[name].sees != "nothing"] or list(replay.policies)


def costs_in(replay: Replay, words: str) -> str:
    """The label of an axis of costs."""
    return f"{words}, {replay.unit}" if replay.unit else words


def cost_by_lambda(replay: Replay) -> LineChart:
    """Total cost against λ, and by how much it is above the best fixed arm."""
    costs = np.array(sorted(replay.switching_costs))
    standings = [replay.standing(lam) for lam in costs]
    base = np.array([standing.best_arm_cost for standing in standings])
    joined = len(costs) > 1

    def lines(relative: bool) -> tuple[Line, ...]:
        def scaled(values: Any) -> NDArray[np.float64]:
            return _above(np.array(values), base) if relative else np.array(values)

        of_policies = []
        for name in drawn_policies(replay):
            amounts = [standing.amount(name) for standing in standings]
            mean, low, high = (scaled([getattr(a, end) for a in amounts]) for end in ("mean", "low", "high"))
            of_policies.append(Line(name, costs, mean, low, high, joined=joined))
        marks = {
            PLAN: [standing.plan_cost for standing in standings],
            best_arm_label(replay): base.tolist(),
        }
        return (*of_policies, *(Line(name, costs, scaled(values), joined=joined) for name, values in marks.items()))

    relative = "above the best fixed arm, %" if (base > 0).all() else "above the best fixed arm"
    panels = (
        Panel(costs_in(replay, "total cost"), lines(False), "linear", from_zero=False),
        Panel(relative, lines(True), "linear"),
    )
    return LineChart((ChartRow("", panels),), "", "λ, the cost of a switch")


def _above(values: NDArray[np.float64], base: NDArray[np.float64]) -> NDArray[np.float64]:
    return 100.0 * (values / base - 1.0) if (base > 0).all() else values - base


def running_cost(replay: Replay, lam: float) -> LineChart:
    """Cost up to each round, and by how much it is above that of the best fixed arm."""
    x, x_label = _time(replay, replay.running.rounds)
    running = replay.running
    arm = replay.standing(lam).best_arm
    base = running.arm_losses[arm] + replay.standing(lam).first_play
    plan = running.plan_losses[lam] + running.plan_paid[lam]
    games = replay.result.frame.filter(pl.col("switching_cost") == lam, pl.col("stretch") == WHOLE)
    quantile = student_quantile(0.5 + replay.confidence / 2, replay.replications - 1)
    lines: tuple[list[Line], list[Line]] = [], []
    lesses = np.zeros_like(base), base
    for name in drawn_policies(replay):
        table = (
            games.filter(pl.col("policy") == name)
            .group_by("round")
            .agg(pl.col("total_cost").mean().alias("mean"), pl.col("total_cost").std().alias("sd"))
            .sort("round")
        )
        mean = table["mean"].to_numpy()
        half = quantile * table["sd"].fill_null(0.0).to_numpy() / np.sqrt(replay.replications)
        for place, less in zip(lines, lesses, strict=True):
            place.append(Line(name, x, mean - less, mean - half - less, mean + half - less))
    for place, less in zip(lines, lesses, strict=True):
        place += [Line(PLAN, x, plan - less), Line(best_arm_label(replay), x, base - less)]
    panels = (
        Panel(costs_in(replay, "cost so far"), tuple(lines[0]), "linear"),
        Panel(costs_in(replay, f"cost so far above staying with {arm}"), tuple(lines[1]), "linear"),
    )
    return LineChart((ChartRow("", panels),), "", x_label)


def tradeoff(replay: Replay) -> LineChart:
    """Switches against losses: each policy at each λ, and the least losses that so many switches can buy."""
    counts = np.arange(1, len(replay.least_losses) + 1)
    free = sorted((plan.switches, plan.losses) for plan in replay.plans.values())
    beyond = [(count, loss) for count, loss in dict(free).items() if count > counts[-1]]
    x = np.concatenate([counts, [count for count, _ in beyond]]).astype(np.float64)
    y = np.concatenate([replay.least_losses, [loss for _, loss in beyond]])
    lines = []
    for name in replay.policies:
        played = [replay.standing(lam).played[name] for lam in replay.switching_costs]
        switches, losses = ([float(getattr(one, what).mean()) for one in played] for what in ("switches", "losses"))
        lines.append(Line(name, switches, losses, joined=False))
    lines.append(Line(PLAN, x, y))
    panel = Panel(costs_in(replay, "total loss"), tuple(lines), "linear", from_zero=False)
    return one_panel(panel, x_label="switches", x_scale="log")


def which_arm(replay: Replay, lam: float) -> Ribbon:
    """Which arm was held when: the best plan on top, then each policy's game in the middle by cost."""
    held = {PLAN: replay.plans[lam].arms}
    held |= {name: replay.held[lam, name].each_round() for name in replay.policies}
    ticks = np.linspace(0, replay.rounds - 1, min(MOST_TICKS, replay.rounds)).astype(int)
    arms, numbers = _coloured(replay, held)
    shown = {name: numbers[band] for name, band in held.items()}
    labels = [replay.label(int(at)) for at in ticks]
    if len({label.partition(" ")[0] for label in labels}) == len(labels):
        labels = [label.partition(" ")[0] for label in labels] if _dated(replay) else labels
    return Ribbon(arms, shown, tuple(labels))


def _dated(replay: Replay) -> bool:
    return replay.labels is not None and replay.labels.dtype.kind == "M"


def _coloured(replay: Replay, held: dict[str, Any]) -> tuple[list[str], NDArray[np.int64]]:
    """The arms that have a colour, and for each arm which of them it is shown as."""
    K = len(replay.arms)
    if K <= MOST_COLOURS:
        return list(replay.arms), np.arange(K)
    rounds = sum(np.bincount(band, minlength=K) for band in held.values())
    first = sorted(np.argsort(-rounds, kind="stable")[: MOST_COLOURS - 1].tolist())
    numbers = np.full(K, len(first))
    numbers[first] = np.arange(len(first))
    return [*(replay.arms[i] for i in first), OTHERS], numbers


def _time(replay: Replay, rounds: NDArray[np.int64]) -> tuple[NDArray[Any], str]:
    """The user's own time of these rounds where it has an order, or else their numbers."""
    if replay.labels is not None and replay.labels.dtype.kind in "Mfiu":
        return replay.labels[rounds - 1], str(replay.index)
    if replay.labels is not None:
        return rounds, f"round, {replay.label(0)} to {replay.label(-1)}"
    return rounds, "round"
