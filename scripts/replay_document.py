"""Make the tables, sentences and pictures of docs/measurements/replay.md from real records.

    python scripts/replay_document.py TRACES

TRACES is the folder with `carbon_us_hourly.parquet` and `llm_mmlupro.parquet`; labels of rounds are under `rounds/`,
forecasts under `forecasts/`.
"""

import sys
import textwrap
from pathlib import Path

import polars as pl

import holdfast as hf
from holdfast.files import write_whole
from holdfast.replays.advice import listed_words
from holdfast.replays.report import cost_by_lambda, running_cost, tradeoff, which_arm
from holdfast.report.drawing import rendered

PAGE = Path(__file__).parents[1] / "docs" / "measurements" / "replay.md"


def table(found: hf.Replay) -> str:
    """The cost of each policy at each λ, beside the best arm and the best plans."""
    lines = ["| λ | policy | cost | losses | switches | over the best arm |", "|---|---|---:|---:|---:|---:|"]
    for lam in found.switching_costs:
        standing, plan = found.standing(lam), found.plans[lam]
        base = standing.best_arm_cost
        for i, name in enumerate(standing.ranking()):
            cost, played = standing.amount(name), standing.played[name]
            half = (cost.high - cost.low) / 2
            shown = f"{cost.mean:,.0f}" + (f" ± {half:,.0f}" if half else "")
            counts = f"{played.losses.mean():,.0f} | {played.switches.mean():,.0f}"
            over = f"{100 * (cost.mean / base - 1):+.1f} %"
            lines.append(f"| {f'{lam:g}' if i == 0 else ''} | `{name}` | {shown} | {counts} | {over} |")
        few = standing.marks["plan_within_5"]
        lines += [
            f"| | best arm, {standing.best_arm} | {base:,.0f} | | 1 | |",
            f"| | best plan | {plan.cost:,.0f} | {plan.losses:,.0f} | {plan.switches:,} "
            f"| {100 * (plan.cost / base - 1):+.1f} % |",
            f"| | best plan, at most 5 switches | {few:,.0f} | | | {100 * (few / base - 1):+.1f} % |",
        ]
    return "\n".join(lines)


def said(found: hf.Replay) -> str:
    """The recommendation, and what seeing all arms and looking ahead is worth at the λ in the middle."""
    middle = found.switching_costs[len(found.switching_costs) // 2]
    worth = [str(one) for one in found.advice_by_cost[middle] if str(one).startswith(("Seeing", "Looking"))]
    items = [f"**{found.recommendation}**", *(f"At λ = {middle:g}: {text}" for text in worth)]
    seeing = [found.standing(lam).ranking("all")[:1] for lam in found.switching_costs]
    if all(seeing):
        items.append(f"Of the way from the best arm to the best plan it comes {listed_words(_ways(found))}.")
    return "\n".join(textwrap.fill(f"- {text}", 120, subsequent_indent="  ") for text in items)


def _ways(found: hf.Replay) -> list[str]:
    """Say how far the cheapest full-information policy comes from the best arm to the best plan, at each λ."""
    ways = []
    for lam in found.switching_costs:
        standing = found.standing(lam)
        base, cost = standing.best_arm_cost, standing.amount(standing.ranking("all")[0]).mean
        ways.append(f"{100 * (base - cost) / (base - standing.plan_cost):.0f} %")
    return ways


def main(traces: Path) -> None:
    """Replay all three, then write the pictures and the page."""
    names = ("rounds/carbon_us_hourly.parquet", "carbon_us_hourly.parquet")
    hours = pl.concat([pl.read_parquet(traces / name) for name in names], how="horizontal")
    carbon = hf.replay(hours, switching_cost=[0.1, 0.35, 1.0], index="utc")
    forecast = hf.replay(
        traces / "forecasts/carbon_us_forecast.parquet",
        switching_cost=[0.1, 0.35, 1.0],
        forecasts=traces / "forecasts/carbon_us_forecast.forecasts.parquet",
        period=24,
    )
    models = hf.replay(traces / "llm_mmlupro.parquet", switching_cost=[0.05, 0.5, 2.0], sees="own")
    charts = {
        "replay-carbon-cost": (cost_by_lambda(carbon), "Cost against λ"),
        "replay-carbon-held": (which_arm(carbon, 0.35), "Which arm was held when, λ = 0.35"),
        "replay-carbon-running": (running_cost(carbon, 0.35), "Cost over time, λ = 0.35"),
        "replay-llm-tradeoff": (tradeoff(models), "Switches and losses"),
    }
    for name, (chart, title) in charts.items():
        write_whole(PAGE.parents[1] / "figures" / f"{name}.png", rendered(chart, ("png",), title=title, dpi=110)["png"])
    text = PAGE.read_text(encoding="utf-8")
    for name, found in (("carbon", carbon), ("forecasts", forecast), ("llm", models)):
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        head, tail = text.split(begin)[0], text.split(end)[1]
        text = "\n".join([head + begin, table(found), "", said(found), "", end + tail])
    write_whole(PAGE, text.encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
