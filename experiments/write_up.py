"""Draw the figures and tables of docs/paper from its numbers: python experiments/write_up.py [--play [--longest 1e8]]

The numbers are docs/paper/numbers.csv: what each game cost, a row for each kind of losses, policy and T. With --play
the games are played first (T up to 10⁷: a quarter of an hour). What is drawn goes to docs/paper/made, which is not
kept in the repository.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl
from arena import laid_out
from growth import GAMES as LONG_GAMES, Samples, decades, late, samples_of
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from measures import growth, ratio

import holdfast as hf
from holdfast.checks import whole_number
from holdfast.files import write_whole
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import Estimate, interval, quantile
from holdfast.policies.policy import Policy

PAPER = Path(__file__).parents[1] / "docs" / "paper"
NUMBERS, MADE = PAPER / "numbers.csv", PAPER / "made"
SOURCES = ("paper.tex", "proofs.tex", "references.bib", "numbers.csv")
"""Files that the PDF is made of, by hand or by games: it carries their hash."""

POLICIES = {
    "adaptive": "adaptive",
    "tsallis-switch": "Tsallis-Switch",
    "paused-tsallis": "pause and resume",
    "amir": "two phases, $T$ known (our reconstruction)",
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
ROUNDS, REPLICATIONS = 100_000, 16
TAILS = 200
"""Games of each of the settings, for their quantiles."""
SEED = 2021

Costs = Mapping[tuple[str, str], Samples]
"""Costs of games by losses and policy, and by T."""


# ---- the games ----


def entries(n_arms: int, cost: float, horizon: int) -> dict[str, Policy]:
    """Return the policies by name."""
    return {
        "adaptive": hf.AdaptiveTsallisSwitch(n_arms, switching_cost=cost),
        "tsallis-switch": hf.TsallisSwitch(n_arms, switching_cost=cost),
        "paused-tsallis": hf.PausedTsallis(n_arms, switching_cost=cost),
        "amir": hf.AmirTsallis(n_arms, switching_cost=cost, horizon=horizon),
    }


def played(longest: int) -> Iterator[tuple[str, str, int, Array]]:
    """Play every game, and yield what each of a policy's games cost up to each T."""
    for game in (one for one in LONG_GAMES if one.name in GAMES):
        for horizon in decades(longest):
            world = game.losses(horizon)
            policies = entries(world.n_arms, game.cost, horizon)
            if horizon < longest:  # those without T play once
                policies = {"amir": policies["amir"]}
            found = samples_of(
                hf.simulate(
                    policies,
                    world,
                    horizon=horizon,
                    switching_cost=game.cost,
                    replications=REPLICATIONS,
                    seed=SEED,
                    checkpoints=[T for T in decades(longest) if horizon >= T],
                )
            )
            for policy, by_T in found.items():
                for T, costs in by_T.items():
                    if policy != "amir" or horizon == T:
                        yield game.name, policy, T, costs
        print(game.name, flush=True)
    laid = laid_out(ROUNDS)
    for name in SETTINGS:
        setting = laid[name]
        policies = entries(setting.environment.n_arms, setting.switching_cost, ROUNDS)
        found = samples_of(
            hf.simulate(
                {policy: policies[policy] for policy in ("adaptive", "tsallis-switch")},
                setting.environment,
                horizon=ROUNDS,
                switching_cost=setting.switching_cost,
                replications=TAILS,
                seed=SEED,
                checkpoints=[ROUNDS],
            )
        )
        for policy, by_T in found.items():
            yield name, policy, ROUNDS, by_T[ROUNDS]
        print(name, flush=True)


def play(longest: int) -> None:
    """Play every game, and write NUMBERS."""
    rows = [
        {"losses": name, "policy": policy, "T": T, "costs": " ".join(f"{cost:.7g}" for cost in costs)}
        for name, policy, T, costs in played(longest)
    ]
    write_whole(NUMBERS, pl.DataFrame(rows).sort("losses", "policy", "T").write_csv().encode())


def numbers() -> Costs:
    """Return what NUMBERS says."""
    found: dict[tuple[str, str], dict[int, Array]] = {}
    for row in pl.read_csv(NUMBERS).to_dicts():
        costs = np.array([float(cost) for cost in row["costs"].split()])
        found.setdefault((row["losses"], row["policy"]), {})[int(row["T"])] = costs
    return found


# ---- what is drawn ----


def pdf(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="pdf", metadata={"CreationDate": None})
    return out.getvalue()


def curve(axis: Axes, samples: Samples, mark: str, label: str, scale: float = 1.0) -> None:
    """Draw mean costs over T, over `scale`, with 95 % intervals."""
    T, means = sorted(samples), [interval(samples[T]) for T in sorted(samples)]
    ends = [[(m.mean - m.low) / scale for m in means], [(m.high - m.mean) / scale for m in means]]
    costs = [m.mean / scale for m in means]
    axis.errorbar(T, costs, ends, fmt=mark, markersize=3, linewidth=1, capsize=2, label=label)
    axis.set_xscale("log")
    axis.tick_params(labelsize=7)


def growth_figure(costs: Costs) -> bytes:
    """Draw cost over T, both logarithmic, a panel for each kind of losses."""
    figure = Figure(figsize=(6.9, 3.9))
    axes = figure.subplots(2, 3, sharex=True)
    for axis, game in zip(axes.flat, list(GAMES)[:DRAWN], strict=True):
        for policy, mark in zip(POLICIES, ("o-", "s--", "^-.", "v:"), strict=True):
            curve(axis, costs[game, policy], mark, POLICIES[policy])
        axis.set_yscale("log")
        axis.set_title(GAMES[game], fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("$T$", fontsize=8)
    for axis in axes[:, 0]:
        axis.set_ylabel("regret with switching", fontsize=7)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncol=4, fontsize=7, frameon=False)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    return pdf(figure)


def logarithm_figure(costs: Costs) -> bytes:
    """Draw cost over that at the shortest T, against log T: a logarithm is a straight line. A panel for each policy."""
    figure = Figure(figsize=(6.9, 2.5))
    axes = figure.subplots(1, 3, sharey=True)
    for axis, policy in zip(axes, ("adaptive", "paused-tsallis", "tsallis-switch"), strict=True):
        for game, mark in zip(list(GAMES)[:DRAWN], ("o-", "s-", "^-", "v-", "D--", "x--"), strict=True):
            samples = costs[game, policy]
            curve(axis, samples, mark, GAMES[game], scale=float(samples[min(samples)].mean()))
        axis.set_title(POLICIES[policy], fontsize=8)
        axis.set_xlabel("$T$", fontsize=8)
        axis.set_ylim(0, 18)
    axes[0].set_ylabel("cost over that at $10^4$", fontsize=7)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncol=3, fontsize=7, frameon=False)
    figure.tight_layout(rect=(0, 0.16, 1, 1))
    return pdf(figure)


def around(of: Estimate, digits: int) -> str:
    """Return a value with half the width of its interval, in TeX; a dash where there is none."""
    if not math.isfinite(of.mean):
        return "--"
    return f"${of.mean:,.{digits}f} \\pm {of.half:,.{digits}f}$".replace(",", "{,}")


def whole(value: float) -> str:
    return f"${value:,.0f}$".replace(",", "{,}")


def growth_table(costs: Costs) -> str:
    """Return the costs at the longest T, the exponents of the last decades, and the rivals' costs."""
    lines = []
    for game, words in GAMES.items():
        own, paper = (costs[game, name] for name in ("adaptive", "tsallis-switch"))
        cells, T = [words], max(own)
        for samples in (own, paper):
            cells += [around(interval(samples[T]), 0), around(growth(late(samples)), 2)]
        cells.append(f"${own[T].mean() / paper[T].mean():.3f}$")
        cells += [whole(costs[game, name][T].mean()) for name in ("paused-tsallis", "amir")]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join(lines) + "\n"


def settings_table(costs: Costs) -> str:
    """Return means, medians and 95 % quantiles in the settings of Tsallis-Switch's figures, and the ratios of means."""
    lines, ratios = [], []
    for name, words in SETTINGS.items():
        samples = [costs[name, policy][ROUNDS] for policy in ("adaptive", "tsallis-switch")]
        cells = [words]
        for sample in samples:
            cells += [around(interval(sample), 0), whole(float(np.median(sample))), whole(quantile(sample, 0.95)[0])]
        of = ratio(samples[0], samples[1], bound=0.0)
        ratios.append(of.mean)
        lines.append(" & ".join([*cells, around(of, 3)]) + r" \\")
    lines.append(rf"\midrule mean of the ratios & & & & & & & ${sum(ratios) / len(ratios):.3f}$ \\")
    return "\n".join(lines) + "\n"


def quoted(costs: Costs) -> str:
    """Return the numbers the text quotes: the size of the run, the ranges of exponents and ratios, and the sources."""
    drawn = list(GAMES)[:DRAWN]
    T = max(costs[drawn[0], "adaptive"])
    commands = {
        "longest": f"10^{{{round(math.log10(T))}}}",
        "since": f"10^{{{round(math.log10(min(late(costs[drawn[0], 'adaptive']))))}}}",
        "games": f"{len(costs[drawn[0], 'adaptive'][T])}",
        "settinggames": f"{len(costs[next(iter(SETTINGS)), 'adaptive'][ROUNDS])}",
    }
    for words, policy in (("own", "adaptive"), ("paper", "tsallis-switch"), ("paused", "paused-tsallis")):
        found = [growth(late(costs[game, policy])).mean for game in drawn]
        commands[f"{words}exponents"] = f"{min(found):.2f}\\text{{ to }}{max(found):.2f}"
    share = [costs[game, "adaptive"][T].mean() / costs[game, "tsallis-switch"][T].mean() for game in drawn]
    commands["ratios"] = f"{min(share):.3f}\\text{{ to }}{max(share):.3f}"
    lines = [f"\\newcommand{{\\{name}}}{{\\ensuremath{{{value}}}}}" for name, value in commands.items()]
    return "\n".join([*lines, f"\\newcommand{{\\sources}}{{{sources()}}}"]) + "\n"


def sources() -> str:
    """Return the hash of what the PDF is made of."""
    return hashlib.sha256(b"".join((PAPER / name).read_bytes() for name in SOURCES)).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--play", action="store_true", help="play the games again")
    parser.add_argument("--longest", type=float, default=1e7, help="the longest T")
    given = parser.parse_args()
    if given.play:
        play(whole_number("longest", given.longest, least=1_000_000))
    costs = numbers()
    files = {
        "growth.pdf": growth_figure(costs),
        "logarithm.pdf": logarithm_figure(costs),
        "growth.tex": growth_table(costs).encode(),
        "settings.tex": settings_table(costs).encode(),
        "numbers.tex": quoted(costs).encode(),
    }
    MADE.mkdir(exist_ok=True)
    for name, content in files.items():
        print(write_whole(MADE / name, content))


if __name__ == "__main__":
    main()
