"""Long games and searches for a machine with many cores: how cost grows with T, and the worst worlds at small λ.

    python experiments/long_runs.py --part growth  --out DIR    # T up to 10⁸: costs, exponents, ratios
    python experiments/long_runs.py --part billion --out DIR    # T = 10⁹ in the same games
    python experiments/long_runs.py --part search  --out DIR    # evolutionary searches, one for each core

Each part prints a line and writes DIR/PART.json as soon as a game, or all searches, are finished, the most important
first: a run that is killed keeps what it has. All cores are used. Growth takes about 3 minutes on 16 cores, a billion
rounds about 6, of which the game with free switches, the last, takes most; the searches take as long as `--seconds`
says, and a minute more. Polars is not needed: no table is made.
"""

import argparse
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.util import find_spec
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

if find_spec("polars") is None:
    sys.modules["polars"] = MagicMock()  # some modules name its types when they are imported

import numpy as np
from adaptive_claims import ratios
from arena import OWN
from growth import GAMES, LongGame, decades, late
from measures import growth
from search_worlds import FINAL, PAPER, Candidate, Where, costs_of, search

import holdfast as hf
from holdfast.checks import cores
from holdfast.numerics.statistics import interval
from holdfast.policies.policy import Policy

ORDER = (
    "two-arms-far",
    "two-arms-near",
    "gap-0.05",
    "gap-0.2",
    "constrained-0.05",
    "constrained-0.2",
    "tied",
    "tied-constrained",
    "gap-0.05-free",
)
"""Games, the most important first."""


def both(game: LongGame, n_arms: int) -> dict[str, Policy]:
    """Return the adaptive policy and the paper's."""
    kinds = {OWN: hf.AdaptiveTsallisSwitch, PAPER: hf.TsallisSwitch}
    return {name: kind(n_arms, switching_cost=game.cost) for name, kind in kinds.items()}


def played(
    game: LongGame, horizon: int, replications: int, first: int, seed: int, backend: str
) -> dict[str, dict[int, np.ndarray]]:
    """Return the costs of both policies by T, from 10⁴ on."""
    world, marks = game.losses(horizon), decades(horizon)
    found = costs_of(
        both(game, world.n_arms), world, game.cost, replications, seed, marks, first=first, backend=backend
    )
    return {name: dict(zip(marks, costs.T, strict=True)) for name, costs in found.items()}


def described(game: LongGame, samples: dict[str, dict[int, np.ndarray]]) -> dict[str, object]:
    """Return costs, ratios and exponents with their 95 % intervals, and every game's cost."""
    own, other = samples[OWN], samples[PAPER]
    return {
        "cost": {name: {T: interval(x) for T, x in by_T.items()} for name, by_T in samples.items()},
        "ratio": {T: interval(ratios(own[T], other[T])) for T in own},
        "exponent": {name: growth(late(by_T)) for name, by_T in samples.items()},
        "limits": {"exponent": game.exponent, "ratio": game.ratio},
        "games": {T: len(x) for T, x in own.items()},
        "samples": {name: {T: x.tolist() for T, x in by_T.items()} for name, by_T in samples.items()},
    }


def line(name: str, found: dict[str, Any], T: int, seconds: float) -> str:
    """Summarise one game in a line."""

    def around(estimate: tuple[float, float, float], form: str) -> str:
        return f"{estimate[0]:{form}} ± {(estimate[2] - estimate[1]) / 2:{form}}"

    cost, exponent = found["cost"], found["exponent"]
    return (
        f"{name:17s} T = {T:.0e}, {found['games'][T]} games: {around(cost[OWN][T], '.0f')} against "
        f"{around(cost[PAPER][T], '.0f')}, ratio {around(found['ratio'][T], '.4f')} "
        f"(limit {found['limits']['ratio']}); exponent {around(exponent[OWN], '.3f')} (limit "
        f"{found['limits']['exponent']}) against {around(exponent[PAPER], '.3f')}; {seconds:.0f} s"
    )


def grow(out: Path, longest: int, games: int, more: int, seed: int, backend: str) -> None:
    """Play every game up to `longest`, and `more` games of a tenth of it."""
    results = {}
    for game in sorted((game for game in GAMES if game.name in ORDER), key=lambda game: ORDER.index(game.name)):
        begun = time.monotonic()
        samples = played(game, longest, games, 0, seed, backend)
        if more > games:
            for name, by_T in played(game, longest // 10, more - games, games, seed, backend).items():
                samples[name] |= {T: np.concatenate((samples[name][T], x)) for T, x in by_T.items()}
        results[game.name] = described(game, samples)
        print(line(game.name, results[game.name], longest, time.monotonic() - begun), flush=True)
        written(out, {"seed": seed, "longest": longest, "backend": backend, "cores": cores(), "games": results})


def one_search(core: int, arms: int, cost: float, horizon: int, seed: int, seconds: float) -> dict[str, object]:
    """Return the worst world of one search on one core, measured again with fresh seeds."""
    os.sched_setaffinity(0, {core})
    world, tried = search(OWN, seconds, seed, Where(horizon, arms, cost), [])
    shares = {name: interval(world.shares(name, FINAL, 2**32 + seed)) for name in (OWN, PAPER)}
    made = {"n_arms": arms, "switching_cost": cost, "horizon": horizon, "noise": world.noise, "seed": seed}
    return made | {"tried": tried, "shares": shares, "starts": world.starts, "means": world.means}


def searched(out: Path, settings: list[tuple[int, float, int]], seconds: float, seed: int) -> None:
    """Run searches in parallel, as many of each setting as there are cores for."""
    each = max(1, cores() // len(settings))
    results: list[dict[str, Any]] = []
    for name, replications in product((OWN, PAPER), (1, 64)):  # compiled once, for all
        Candidate(1000, 1.0, (0,), ((0.2, 0.8),), noise=True).shares(name, replications, 0)
    places = sorted(os.sched_getaffinity(0))
    with ProcessPoolExecutor(len(places), mp_context=get_context("fork")) as pool:
        jobs = [
            pool.submit(one_search, places[number % len(places)], *setting, seed + number, seconds)
            for number, setting in enumerate(settings * each)
        ]
        for job in as_completed(jobs):
            results.append(job.result())
            written(out, {"seconds": seconds, "searches": results})
    for arms, cost, horizon in settings:
        found = [r for r in results if (r["n_arms"], r["switching_cost"], r["horizon"]) == (arms, cost, horizon)]
        worst = max(found, key=lambda result: result["shares"][OWN][0])
        own, other = (worst["shares"][name] for name in (OWN, PAPER))
        print(
            f"K = {arms}, λ = {cost:g}, T = {horizon}: {100 * own[0]:.1f} % ± {50 * (own[2] - own[1]):.1f} of Theorem "
            f"1 ({PAPER} {100 * other[0]:.1f}); {len(found)} searches, {sum(r['tried'] for r in found)} worlds, "
            f"seed {worst['seed']}",
            flush=True,
        )


def written(out: Path, results: dict[str, object]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(results, default=list) + "\n")


def numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["growth", "billion", "search"], required=True)
    parser.add_argument("--out", type=Path, default=Path("long_runs"), help="where PART.json goes")
    parser.add_argument("--longest", type=float, help="T of growth (1e8) and billion (1e9)")
    parser.add_argument("--games", type=int, help="games of that length: 64, of a billion rounds 16")
    parser.add_argument("--more", type=int, default=256, help="games of a tenth of it, growth only")
    parser.add_argument("--seed", type=int, default=20_261_116)
    parser.add_argument("--backend", choices=["threads", "cuda"], default="threads", help="of growth and billion")
    parser.add_argument("--arms", type=numbers, default=[2, 8], help="K of the searches")
    parser.add_argument("--costs", type=numbers, default=[0.01, 0.1], help="λ of the searches")
    parser.add_argument("--horizon", type=float, default=1e5, help="T of the searches")
    parser.add_argument("--seconds", type=float, default=300.0, help="of each search")
    given = parser.parse_args()
    out = given.out / f"{given.part}.json"
    if given.part == "search":
        settings = [(int(K), cost, int(given.horizon)) for cost, K in product(given.costs, given.arms)]
        searched(out, settings, given.seconds, given.seed)
    else:
        billion = given.part == "billion"
        longest = int(given.longest or (10**9 if billion else 10**8))
        grow(
            out,
            longest,
            given.games or (16 if billion else 64),
            0 if billion else given.more,
            given.seed,
            given.backend,
        )


if __name__ == "__main__":
    main()
