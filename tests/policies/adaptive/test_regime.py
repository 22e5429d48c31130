"""The conditions of docs/theory/adaptive.md on losses and free lines, each with a game that breaks without it."""

import math

import pytest

import holdfast as hf
from holdfast.kernels import COMPILED

GAP = 0.1


def regret_where_losses_react(rounds: int, seed: int) -> float:
    """Return the regret where both arms lose more in the round after arm 0, the better by GAP, was played."""
    player = hf.AdaptiveTsallisSwitch(2, switching_cost=1.0).player(seed=seed)
    before, regret = 1, 0.0
    for _ in range(rounds):
        arm = player.ask()
        player.tell((0.9 if before == 0 else 0.0) + GAP * arm)
        before, regret = arm, regret + GAP * arm
    return regret


@pytest.mark.skipif(not COMPILED, reason="a long game")
def test_a_gap_given_draws_too_allows_linear_regret():
    """E[gap | losses and draws before t] is GAP in every round; the losses of a block react to its own draw."""
    short, long = (regret_where_losses_react(rounds, seed=1) for rounds in (2_000, 20_000))
    assert short > 0.8 * GAP * 2_000
    assert long > 0.9 * GAP * 20_000


def cost(means: list[float], rounds: int) -> float:
    policy = hf.AdaptiveTsallisSwitch(2, switching_cost=1.0)
    played = hf.simulate(policy, hf.Bernoulli(means), horizon=rounds, switching_cost=1.0, replications=16, seed=3)
    return float(played.final()["regret_with_switching_mean"][0])


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="long games")
def test_a_mean_gap_without_the_past_allows_a_tie():
    """A coin tossed once, for a gap of 0.4 or none: the mean gap is 0.2, and the cost grows with a power of T."""
    growth = {}
    for name, worlds in {"coin": [[0.3, 0.7], [0.5, 0.5]], "gap": [[0.3, 0.5]]}.items():
        short, long = (sum(cost(means, T) for means in worlds) / len(worlds) for T in (10**4, 10**6))
        growth[name] = math.log(long / short) / math.log(100)
    assert growth["gap"] < 0.25
    assert growth["coin"] > 0.5


def test_a_free_line_has_its_limit():
    """K = 1000, uncalm: a number above the value before gives blocks that Lemma 7 (ii) excludes, one below does not."""
    K, lam, t = 1000, 1.0, 1e6
    Lam = lam + (lam * K) ** (1 / 3) * t ** (2 / 3)
    R = Lam / math.sqrt(K) * 1.001  # K·V is just above Λ²
    delta, S = 1 - 1 / K, (K - 1) / math.sqrt(K)
    r, usual, least = lam * delta * R / S, 1.5 * math.sqrt(lam * Lam / K), math.sqrt(lam * R / math.sqrt(K))

    def satisfies_lemma_7(free: float) -> bool:
        new = min(free, 1.5 * math.sqrt(r * 64))
        b = max(math.ceil(new), math.ceil(least), 1)
        return K * b <= K + math.sqrt(lam * K) * math.sqrt(9 * Lam / 4 + math.sqrt(K) * R)

    assert (round(usual), round(least), round(12 * math.sqrt(r))) == (15, 10, 120)
    assert satisfies_lemma_7(usual)
    assert satisfies_lemma_7(0.0)
    assert not satisfies_lemma_7(2 * usual)
    assert not satisfies_lemma_7(1e9)
