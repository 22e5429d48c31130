"""Play and judge what docs/measurements/full_information.md claims about policies with full information.

    python experiments/full_information_claims.py

The certificate and its overhead are judged by exact expectations: the distribution of the arm is known in every round.
The rest is simulated. Only the thresholds are kept in this file, no verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import numpy as np
import typer
from adaptive_claims import lines
from arena import CHANGING, OWN as BANDIT, entries_of, laid_out

from holdfast.bounds import mixture_excess, work_function_cost
from holdfast.checks import whole_number
from holdfast.command_line import Backend, Scheduler, Workers
from holdfast.environments import LossTable
from holdfast.lab.judge import Claim, Computed, Less, Question, judge
from holdfast.lab.plan import Setting
from holdfast.lab.tables import Tables
from holdfast.numerics.hindsight import best_plan
from holdfast.numerics.layout import Array
from holdfast.policies.full_information import WorkFunctionAlone
from holdfast.policies.hedge import AdaptiveHedgeSwitch
from holdfast.simulation import simulate
from holdfast.simulation.backends import Backend as AnyBackend, find_backend
from holdfast.text import three_digits

OWN = "hedge-switch"
OVERHEAD, NO_HARM = 1.5, 1.015
HOSTILE = ("hunt", "alternate", "rotate", "coins", "rare")
TURNS = "turns"
"""The worst simple losses known: arms lose in turn, and at the end one arm alone is good."""
COSTS = (0.0, 0.1, 1.0, 10.0)
ARMS = (2, 8)

Hostile = Callable[[int, Array], Array]


def hostile(kind: str, K: int, rounds: int, seed: int) -> Hostile:
    """Return losses of a kind in `HOSTILE`, or `TURNS`, as a function of the round and the distribution of the arm."""
    draw, arms = np.random.default_rng(seed), np.arange(K)

    def losses(t: int, P: Array) -> Array:
        if kind == "hunt":
            return np.asarray(arms == np.argmax(P), dtype=np.float64)
        if kind == "alternate":
            return np.asarray((t + arms) % 2, dtype=np.float64)
        if kind == "rotate":
            return np.asarray(arms != (t // 7) % K, dtype=np.float64)
        if kind == "coins":
            return np.asarray(draw.random(K) < 0.5, dtype=np.float64)
        if kind == TURNS:
            return np.asarray(arms == t // 2 % K if 5 * rounds > 6 * t else arms != K - 1, dtype=np.float64)
        return np.asarray(draw.random(K) ** 8)

    return losses


class Exact(NamedTuple):
    """Numbers of a game, in expectation over the policy's draws."""

    used: float
    """Largest fraction of the certificate needed in any round."""
    overhead: float
    """Final overhead, in units of √((1 + λ)·L*·ln N)."""
    share: float
    """Final overhead, as a share of 2√((1 + 2λ)·L*·ln N) + (1 + λ)·ln N."""
    proved: float
    """Final overhead, as a share of Theorem H3's bound."""


def exact_game(policy: AdaptiveHedgeSwitch, losses: Hostile, rounds: int) -> Exact:
    """Play `policy`, whose switching cost is one number, and sum its expected cost and its experts' costs."""
    player, lam, N = policy.player(seed=0), float(policy.switching_cost), len(policy.mixed)  # type: ignore[arg-type]
    state = player._game.state
    C, cost, used, before = np.zeros(N), 0.0, 0.0, np.zeros(policy.n_arms)
    for t in range(rounds):
        player.ask()
        P = state.P.copy()
        row = losses(t, P)
        C += row[state.at.astype(np.int64)] + state.paid
        cost += float(P @ row) + lam * float(np.maximum(P - before, 0.0).sum())
        before = P
        player.tell(row)
        used = max(used, (cost - float(C.min())) / player.certificate)
    best = float(C.min())
    excess, ln_N = cost - best, math.log(N)
    usual, most = math.sqrt((1 + lam) * best * ln_N), 2 * math.sqrt((1 + 2 * lam) * best * ln_N) + (1 + lam) * ln_N
    return Exact(used, excess / usual, excess / most, excess / mixture_excess(N, lam, best))


def hostile_games(rounds: int, seed: int) -> dict[str, Exact]:
    """Play games of every kind, λ and number of arms."""
    return {
        f"{kind}, λ = {lam:g}, K = {K}": exact_game(
            AdaptiveHedgeSwitch(K, switching_cost=lam, forecast_rounds=0), hostile(kind, K, rounds, seed), rounds
        )
        for kind in (*HOSTILE, TURNS)
        for lam in COSTS
        for K in ARMS
    }


def work_function_shares(rounds: int, seed: int, backend: str | AnyBackend) -> dict[str, float]:
    """Return the cost of the work function alone in random worlds, as a share of its proved bound."""
    draw, shares = np.random.default_rng(seed), {}
    for K in ARMS:
        for lam in (0.3, 1.0, 3.0):
            walk = np.clip(0.5 + np.cumsum(draw.normal(0, 0.1, (rounds, K)), axis=0) % 0.5, 0, 1)
            policy = WorkFunctionAlone(K, switching_cost=lam)
            result = simulate(
                policy, LossTable(walk), switching_cost=lam, replications=1, backend=backend, progress=False
            )
            cost = float(result.frame["total_cost"][-1]) - lam  # neither counts the first play
            shares[f"λ = {lam:g}, K = {K}"] = cost / work_function_cost(K, lam, best_plan(walk, lam).cost)
    return shares


@dataclass(frozen=True)
class Played:
    """The games behind these claims."""

    tables: Tables = field(default_factory=lambda: Tables({}))
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """Settings of the arena with full information."""
    games: Mapping[str, Exact] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    """Cost of the work function, as a share of its proved bound."""


def play(
    *,
    replications: int = 100,
    horizon: int = 10_000,
    rounds: int = 1000,
    seed: int = 0,
    backend: str | AnyBackend = "threads",
) -> Played:
    """Play everything that these claims need, `rounds` of each exact game."""
    laid, policies = laid_out(horizon), list(entries_of((OWN, BANDIT)).values())
    settings = {name: laid[name] for name in laid if name in CHANGING}
    tables = {
        name: setting.cell(policies, replications=replications, seed=seed).play(backend)
        for name, setting in settings.items()
    }
    return Played(Tables(tables), settings, hostile_games(rounds, seed), work_function_shares(rounds, seed, backend))


# ---- the claims ----


def _most(found: Mapping[str, float], limit: float, unit: str) -> list[Question]:
    """Ask whether the largest of these is at most `limit`."""
    if not found:
        return []
    where = max(found, key=found.__getitem__)
    said = f"at most {three_digits(found[where])}{unit} ({where})"
    return [Computed(f"in {len(found)} games", found[where] <= limit, found[where], said)]


def _overhead(played: Played) -> list[Question]:
    usual = {name: game.overhead for name, game in played.games.items() if not name.startswith(TURNS)}
    return _most(usual, OVERHEAD, "")


def _harm(played: Played) -> list[Question]:
    found: list[Question] = []
    for name, setting in played.settings.items():
        stay = float(setting.environment.expected(0, setting.horizon).min()) + setting.switching_cost
        over = 1.0 + (played.tables.final(name, OWN) - setting.switching_cost) / stay
        found.append(Less(f"in {name}", over, NO_HARM))
    return found


def _claim(id: str, sentence: str, rule: str, questions: Callable[[Played], Sequence[Question]]) -> Claim[Played]:
    return Claim(id, sentence, "docs/measurements/full_information.md", rule, questions)


CLAIMS = (
    _claim(
        "certificate",
        "In no round does it cost more than the best of its experts and its certificate, on average.",
        "the largest share of the certificate that was needed, by exact expectations",
        lambda played: _most({name: game.used for name, game in played.games.items()}, 1.0, " of it"),
    ),
    _claim(
        "overhead",
        f"It costs at most {OVERHEAD:g}·√((1 + λ)·L*·ln N) more than the best expert over losses that hunt the "
        "likeliest arm, alternate, rotate, are coins or rare.",
        "the excess at the end in these units, by exact expectations",
        _overhead,
    ),
    _claim(
        "most-overhead",
        "Where arms lose in turn it is more; 2√((1 + 2λ)·L*·ln N) + (1 + λ)·ln N is the most in all known games.",
        "the excess at the end as a share of this, by exact expectations",
        lambda played: _most({name: game.share for name, game in played.games.items()}, 1.0, " of it"),
    ),
    _claim(
        "theorem-3",
        "Theorem H3 bounds that excess.",
        "the excess at the end as a share of bounds.mixture_excess",
        lambda played: _most({name: game.proved for name, game in played.games.items()}, 1.0, " of it"),
    ),
    _claim(
        "work-function",
        "The work function costs at most (2K − 1 + (K − 1)/λ) best plans in hindsight, plus (K − 1)(2λ + 1).",
        "its cost as a share of bounds.work_function_cost",
        lambda played: _most(played.shares, 1.0, " of it"),
    ),
    _claim(
        "seeing-is-worth-it",
        "It costs less than AdaptiveTsallisSwitch, which sees the loss of its own arm only.",
        "final regret with switching below that of adaptive",
        lambda played: [played.tables.less(f"in {name}", name, OWN, BANDIT) for name in played.settings],
    ),
    _claim(
        "no-harm",
        f"It costs at most {NO_HARM:g} times the best fixed arm.",
        f"losses and switches over those of the best fixed arm below {NO_HARM:g}",
        _harm,
    ),
)


def main(
    replications: Annotated[int, typer.Option(help="Games of each policy in each setting.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same verdicts.")] = 0,
    backend: Backend = "threads",
    scheduler: Scheduler = None,
    workers: Workers = None,
) -> None:
    """Judge our claims about the policy that sees the losses of all arms."""
    runs = whole_number("replications", replications, least=2)
    where = find_backend(backend, workers=workers, scheduler=scheduler)
    print("\n".join(lines(judge(CLAIMS, play(replications=runs, seed=seed, backend=where)))))


if __name__ == "__main__":
    typer.run(main)
