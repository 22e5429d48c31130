"""Play what docs/paper shows, and make its figures and tables: python experiments/write_up.py [--longest 1e8]

Everything goes to docs/paper/made, which is not kept in the repository: the games of an arena, and what is drawn from
them. A second run plays only what is missing. The default, T up to 10⁷, takes minutes.
"""

from __future__ import annotations

import argparse
import io
import math
from pathlib import Path
from typing import Any

import polars as pl
from arena import run_arena
from matplotlib.figure import Figure

from holdfast.checks import whole_number
from holdfast.files import write_whole

MADE = Path(__file__).parents[1] / "docs" / "paper" / "made"
POLICIES = {
    "adaptive": "this policy",
    "tsallis-switch": "Tsallis-Switch",
    "amir-anytime": "two phases, doubling",
}
GAMES = {
    "two-arms-far": "$K=2$, means $.5, 1$",
    "two-arms-near": "$K=2$, means $.3, .5$",
    "gap-0.2": "$K=8$, gap $.2$",
    "gap-0.05": "$K=8$, gap $.05$",
    "constrained-0.2": "constrained, gap $.2$",
    "constrained-0.05": "constrained, gap $.05$",
    "gap-0.05-free": "gap $.05$, $\\lambda=0$",
    "tied": "three best arms",
    "tied-constrained": "three best, constrained",
}
DRAWN = 6
SETTINGS = {
    "stochastic-easy": "gap $.2$, $\\lambda=.025$",
    "stochastic-hard": "gap $.05$, $\\lambda=1$",
    "stochastic-free": "gap $.05$, $\\lambda=0$",
    "constrained-easy": "constrained, gap $.2$, $\\lambda=.025$",
    "constrained-hard": "constrained, gap $.05$, $\\lambda=1$",
    "ties-stochastic": "three best arms, gap $.2$, $\\lambda=1$",
    "ties-constrained": "the same, constrained",
}


def rows_of(table: pl.DataFrame, **wanted: Any) -> list[dict[str, Any]]:
    return table.filter(*(pl.col(name) == value for name, value in wanted.items())).to_dicts()


def growth_figure(long: pl.DataFrame) -> bytes:
    """Draw cost over T, both logarithmic, a panel for each game; bars are 95 % intervals."""
    figure = Figure(figsize=(6.9, 3.9))
    axes = figure.subplots(2, 3, sharex=True)
    for axis, game in zip(axes.flat, list(GAMES)[:DRAWN], strict=True):
        for policy, mark in zip(POLICIES, ("o-", "s--", "^-."), strict=True):
            rows = rows_of(long, environment=game, policy=policy)
            T, cost = [row["horizon"] for row in rows], [row["cost"] for row in rows]
            ends = [[row["cost"] - row["cost_low"] for row in rows], [row["cost_high"] - row["cost"] for row in rows]]
            axis.errorbar(T, cost, ends, fmt=mark, markersize=3, linewidth=1, capsize=2, label=POLICIES[policy])
        axis.set(xscale="log", yscale="log")
        axis.set_title(GAMES[game], fontsize=8)
        axis.tick_params(labelsize=7)
    for axis in axes[-1]:
        axis.set_xlabel("$T$", fontsize=8)
    for axis in axes[:, 0]:
        axis.set_ylabel("regret with switching", fontsize=7)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncol=3, fontsize=7, frameon=False)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    out = io.BytesIO()
    figure.savefig(out, format="pdf", metadata={"CreationDate": None})
    return out.getvalue()


def around(value: float, low: float, high: float, digits: int) -> str:
    """Return a value with half the width of its interval, in TeX; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "--"
    return f"${value:,.{digits}f} \\pm {(high - low) / 2:,.{digits}f}$".replace(",", "{,}")


def growth_table(long: pl.DataFrame) -> str:
    """Return the costs at the longest T with intervals, and the exponents of the last decades."""
    last = long.filter(pl.col("horizon") == pl.col("horizon").max())
    lines = []
    for game, words in GAMES.items():
        own, paper = (rows_of(last, environment=game, policy=name)[0] for name in ("adaptive", "tsallis-switch"))
        cells = [words]
        for row in (own, paper):
            cells.append(around(row["cost"], row["cost_low"], row["cost_high"], 0))
            cells.append(around(row["exponent"], row["exponent_low"], row["exponent_high"], 2))
        cells.append(f"${own['cost'] / paper['cost']:.3f}$")
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join(lines) + "\n"


def settings_table(table: pl.DataFrame) -> str:
    """Return the ratios to Tsallis-Switch in the settings of its figures."""
    lines, ratios = [], []
    for name, words in SETTINGS.items():
        row = rows_of(table, environment=name, policy="adaptive")[0]
        paper = rows_of(table, environment=name, policy="tsallis-switch")[0]
        ratios.append(row["to_paper"])
        costs = [around(r["cost"], r["cost_low"], r["cost_high"], 0) for r in (row, paper)]
        ratio = around(row["to_paper"], row["to_paper_low"], row["to_paper_high"], 3)
        lines.append(f"{words} & {costs[0]} & {costs[1]} & {ratio} \\\\")
    lines.append(rf"\midrule mean of the ratios & & & ${sum(ratios) / len(ratios):.3f}$ \\")
    return "\n".join(lines) + "\n"


def numbers(long: pl.DataFrame, replications: int) -> str:
    """Return the numbers the text quotes: the size of the run, the range of exponents and of ratios."""
    last = long.filter(pl.col("horizon") == pl.col("horizon").max(), pl.col("environment").is_in(list(GAMES)[:DRAWN]))
    commands = {
        "longest": f"10^{{{round(math.log10(last['horizon'][0]))}}}",
        "since": f"10^{{{round(math.log10(last['since'][0]))}}}",
        "games": f"{last['replications'][0]}",
        "settinggames": f"{replications}",
    }
    for words, policy in (("own", "adaptive"), ("paper", "tsallis-switch")):
        found = last.filter(pl.col("policy") == policy)["exponent"].drop_nans()
        commands[f"{words}exponents"] = f"{min(found):.2f}\\text{{ to }}{max(found):.2f}"
    own, paper = (
        last.filter(pl.col("policy") == name).sort("environment")["cost"] for name in ("adaptive", "tsallis-switch")
    )
    share = own / paper
    commands["ratios"] = f"{min(share):.3f}\\text{{ to }}{max(share):.3f}"
    return "".join(f"\\newcommand{{\\{name}}}{{\\ensuremath{{{value}}}}}\n" for name, value in commands.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=float, default=1e7, help="the longest T")
    parser.add_argument("--replications", type=int, default=16)
    parser.add_argument("--backend", default="threads")
    given = parser.parse_args()
    arena = run_arena(
        MADE / "arena",
        policies=list(POLICIES),
        environments=[*SETTINGS, "long"],
        replications=given.replications,
        longest=whole_number("longest", given.longest, least=100_000),
        seed=2021,
        backend=given.backend,
        resume=(MADE / "arena").exists(),
        echo=print,
    )
    long = arena.long
    assert long is not None
    files = {
        "growth.pdf": growth_figure(long),
        "growth.tex": growth_table(long).encode(),
        "settings.tex": settings_table(arena.table).encode(),
        "numbers.tex": numbers(long, given.replications).encode(),
    }
    for name, content in files.items():
        print(write_whole(MADE / name, content))


if __name__ == "__main__":
    main()
