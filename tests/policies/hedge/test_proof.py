"""The proof of ``docs/theory/full_information.md`` step by step: each inequality alone, theorems in whole games."""

import math

import numpy as np
import pytest
from hunting import hunting
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

import holdfast as hf
from holdfast import bounds

ROUNDED = 1e-9
weights = arrays(float, 6, elements=st.floats(0.001, 1.0)).map(lambda w: w / w.sum())
costs = arrays(float, 6, elements=st.floats(0.0, 1.0))
rates = st.floats(1e-3, 10.0)


def tv(p: np.ndarray, q: np.ndarray) -> float:
    return float(np.maximum(p - q, 0).sum())


def gibbs(eta: float, C: np.ndarray) -> np.ndarray:
    """Weights exp(−ηC)."""
    w = np.exp(-eta * (C - C.min()))
    return w / w.sum()


def mix_loss(eta: float, p: np.ndarray, c: np.ndarray) -> float:
    """−ln Σ p exp(−ηc)/η."""
    return c.min() - math.log(float(p @ np.exp(-eta * (c - c.min())))) / eta


@given(
    table=arrays(float, (12, 4), elements=st.floats(0.0, 3.0)), steps=arrays(float, 12, elements=st.floats(0.0, 2.0))
)
def test_lemma_1_mix_losses_with_falling_rates(table: np.ndarray, steps: np.ndarray) -> None:
    C, total, eta = np.zeros(4), 0.0, 5.0
    for c, step in zip(table, steps, strict=True):
        total += mix_loss(eta, gibbs(eta, C), c)
        C += c
        assert total <= C.min() + math.log(4) / eta + ROUNDED
        eta /= 1 + step


@given(
    p=weights, q=weights, was=arrays(int, 6, elements=st.integers(0, 3)), at=arrays(int, 6, elements=st.integers(0, 3))
)
def test_lemma_2_arms_move_no_more_than_weights_and_paths(
    p: np.ndarray, q: np.ndarray, was: np.ndarray, at: np.ndarray
) -> None:
    before, after = (np.bincount(arms, w, minlength=4) for arms, w in ((was, q), (at, p)))
    assert tv(after, before) <= tv(p, q) + float(p @ (was != at)) + ROUNDED


@given(p=weights, c=costs, eta=rates, scale=st.floats(0.1, 11.0))
def test_lemmas_3_and_5_and_6_one_round(p: np.ndarray, c: np.ndarray, eta: float, scale: float) -> None:
    """The step of the weights; Bernstein's bound of the mixability gap; the mix loss against the mean."""
    R, c = scale, c * scale
    eta /= R
    mean, M = float(p @ c), mix_loss(eta, p, c)
    gap, spread, variance = mean - M, float(p @ np.abs(c - mean)), float(p @ (c - mean) ** 2)
    stepped = p * np.exp(-eta * (c - M))
    assert tv(stepped, p) <= eta * (0.5 * spread + gap) + ROUNDED
    assert gap * (1 / eta - R / 3) <= 0.5 * variance + ROUNDED / eta
    assert (1 - math.exp(-eta * R)) / (eta * R) * mean - ROUNDED <= M
    lam = max(R - 1, 0.0)
    if R >= 1:
        assert variance + lam * spread <= (1 + 3 * lam) * mean + ROUNDED


@given(C=arrays(float, 6, elements=st.floats(0.0, 500.0)), eta=rates, share=st.floats(0.01, 1.0))
def test_lemma_4_the_step_of_the_rate(C: np.ndarray, eta: float, share: float) -> None:
    moved = tv(gibbs(eta, C), gibbs(share * eta, C))
    assert moved <= math.log(6) * math.log(1 / share) + ROUNDED


def hunted(K: int, lam: float, rounds: int, hunt: str) -> tuple[float, float, float, float, int]:
    """A game against losses that hunt: L*, the cost on average, Δ_T, W = Σ v_t, N."""
    policy = hf.AdaptiveHedgeSwitch(K, switching_cost=lam, forecast_rounds=0)
    player, losses, N = policy.player(seed=2), hunting(hunt, K, 1), len(policy.mixed)
    C, cost, W, before = np.zeros(N), 0.0, 0.0, np.zeros(K)
    for t in range(rounds):
        player.ask()
        state = player._state
        P, p, at, paid = (np.array(x) for x in (state.P, state.p, state.at, state.paid))
        row = losses(t, P)
        c = row[at.astype(int)] + paid
        mean = float(p @ c)
        W += float(p @ (c - mean) ** 2) + lam * float(p @ np.abs(c - mean))
        C += c
        cost += float(P @ row) + lam * tv(P, before)
        before = P
        player.tell(row)
    return C.min(), cost, player.certificate / 2, W, N


@pytest.mark.parametrize("hunt", ["hunt", "coins", "rotate"])
@pytest.mark.parametrize("lam", [0.0, 0.5, 10.0])
def test_theorems_2_and_3_in_whole_games(lam: float, hunt: str) -> None:
    best, cost, delta, W, N = hunted(4, lam, 3000, hunt)
    assert delta <= bounds.mixture_overhead(N, lam, W)
    assert cost - best <= 2 * delta * (1 + 1e-12) <= bounds.mixture_excess(N, lam, best)


def by_the_page(N: int, lam: float, B: float, W: float | None, L: float) -> float:
    """Theorems H2 and H3 for one B, as docs/theory/full_information.md has them; W is None for the third."""
    ln_N = math.log(N)
    x, rho = (1 + lam) * ln_N / B, (1 + 2 * lam) / B
    kappa, m = (1 + rho) * (1 + x / 2) * (1 + x), 1 + 2 * lam + 2 * lam * (1 + rho) * ln_N
    if W is not None:
        return math.sqrt((B + 2 + 4 * lam) ** 2 + kappa * W * ln_N) + m
    q = kappa * (1 + x) * (1 + 3 * lam) * ln_N
    return m + q / 2 + math.sqrt(q**2 / 4 + (B + 2 + 4 * lam) ** 2 + q * (L + m))


@pytest.mark.parametrize("lam", [0.0, 1.0, 10.0])
@pytest.mark.parametrize("amount", [0.0, 30.0, 1e4, 1e9])
def test_bounds_are_the_best_of_the_page(lam: float, amount: float) -> None:
    levels = (1 + lam) * math.log(20) * np.geomspace(1, 1e6, 3000)
    second = min(by_the_page(20, lam, B, amount, 0.0) for B in levels)
    third = min(by_the_page(20, lam, B, None, amount) for B in levels)
    assert second * (1 - 1e-4) <= bounds.mixture_overhead(20, lam, amount) <= 1.02 * second
    assert 2 * third * (1 - 1e-4) <= bounds.mixture_excess(20, lam, amount) <= 2.04 * third


def test_bounds_say_what_the_theorems_say() -> None:
    L = 1e14
    assert bounds.mixture_excess(20, 1.0, L) == pytest.approx(2 * math.sqrt(4 * math.log(20) * L), rel=1e-2)
    assert bounds.mixture_excess(20, 1.0, 1e3, rounds=3) == 6.0
    assert bounds.mixture_overhead(20, 1.0, L) == pytest.approx(math.sqrt(math.log(20) * L), rel=1e-2)
    assert bounds.work_function_cost(3, 2.0, 10.0) == (5 + 1) * 10 + 2 * 5


@given(table=arrays(float, (40, 5), elements=st.floats(0.0, 1.0)), lam=st.floats(0.0, 4.0), level=st.floats(0.05, 20.0))
def test_step_6_what_a_round_adds_to_the_square(table: np.ndarray, lam: float, level: float) -> None:
    """The mixture of fixed arms, written out: after Δ has passed B twice, Δ² grows by no more than step 6 says."""
    ln_N, R = math.log(5), 1 + lam
    C, delta, gap, before = np.zeros(5), max(0.1, level) * R * ln_N, 0.0, np.full(5, 0.2)
    x, rho = R * ln_N / delta, (1 + 2 * lam) / delta
    if x > 1:
        return
    begun, W, grown = delta, 0.0, [0.0]
    for c in table:
        eta = ln_N / delta
        p = gibbs(eta, C)
        mean = float(p @ c)
        gap += lam * tv(p, before) + mean - mix_loss(eta, p, c)
        W += float(p @ (c - mean) ** 2) + lam * float(p @ np.abs(c - mean))
        grown.append(max(delta, gap) - delta)
        C, before, delta = C + c, p, max(delta, gap)
    kappa, m = (1 + rho) * (1 + x / 2) * (1 + x), 1 + 2 * lam + 2 * lam * (1 + rho) * ln_N
    assert max(grown) <= 1 + 2 * lam + ROUNDED
    assert delta**2 <= begun**2 + kappa * W * ln_N + m * (delta - begun) + ROUNDED


def test_step_9_counts_the_cut_of_the_last_round() -> None:
    """Losses are at most K·OPT + (K − 1)λ + m′, m′ counting the cut of the last round; without it that is false."""
    draw, broken = np.random.default_rng(9), 0
    games = [(0.5, np.array([[1.0, 0.0]]))]
    for _ in range(2000):
        K, T = int(draw.integers(2, 5)), int(draw.integers(1, 12))
        games.append((float(draw.choice([0.2, 0.5, 1.0, 3.0])), draw.random((T, K)) ** float(draw.choice([0.2, 1, 5]))))
    for lam, table in games:
        K = table.shape[1]
        w, arm, lost, cuts, moves, moving = np.zeros(K), 0, 0.0, 0, 0, False
        for losses in table:
            if moving:
                arm, moves = int(w.argmin()), moves + 1
            lost += losses[arm]
            w = np.minimum(w + losses, (w + losses).min() + lam)
            moving = bool(w[arm] >= w.min() + lam)
            cuts += moving
        most = K * w.min() + (K - 1) * lam
        assert moves <= cuts <= moves + 1
        assert lost <= most + cuts + ROUNDED
        assert cuts * lam + w.min() <= most + ROUNDED
        broken += lost > most + moves + ROUNDED
    assert broken > 5
