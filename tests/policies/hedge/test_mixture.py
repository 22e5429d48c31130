"""The mixture: weights and rate to 50 digits, exact coupling, the certificate in hostile games, long games."""

import math
from collections.abc import Callable, Iterator

import naive_experts as naive
import numpy as np
import pytest
from hunting import KINDS, Losses, hunting
from long_mixture import check_long_game

import holdfast as hf
from holdfast.experts import FixedArm, WorkFunction
from holdfast.kernels import kernel
from holdfast.policies import hedge as coupling


def rounds_of(
    policy: hf.AdaptiveHedgeSwitch, losses: Losses, T: int
) -> Iterator[tuple[np.ndarray, list[int], np.ndarray, float]]:
    """Each round of a game: P, where the experts stand, the losses, the certificate after it."""
    player = policy.player(seed=3)
    for t in range(T):
        player.ask()
        P, at = player.probabilities.copy(), [int(a) for a in player._state.at]
        row = losses(t, P)
        player.tell(row)
        yield P, at, row, player.certificate


@pytest.mark.slow
@pytest.mark.parametrize("lam", [0.0, 0.35, 10.0])
def test_weights_and_rate_to_fifty_digits(lam: float) -> None:
    for kind in ("rotate", "coins", "rare"):
        policy = hf.AdaptiveHedgeSwitch(4, switching_cost=lam, period=(4, 6))
        game = list(rounds_of(policy, hunting(kind, 4, 1), 150))
        exact = naive.mix([at for _, at, _, _ in game], [row.tolist() for _, _, row, _ in game], lam, lam, lam)
        for (P, _, _, certificate), (P_exact, _, delta, _, _) in zip(game, exact, strict=True):
            assert np.allclose(P, [float(x) for x in P_exact], rtol=0, atol=1e-13)
            assert certificate == pytest.approx(float(2 * delta), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("lam", [0.0, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_certificate_holds_and_the_overhead_is_small(kind: str, lam: float) -> None:
    """Exact expectations: the distribution of the arm is known. Step 1 of the proof, and the measured constant 1.5."""
    for K in (2, 8):
        policy = hf.AdaptiveHedgeSwitch(K, switching_cost=lam, forecast_rounds=0)
        N = len(policy.mixed)
        C, before, was, cost = np.zeros(N), np.zeros(K), None, 0.0
        for P, at, row, certificate in rounds_of(policy, hunting(kind, K, 5), 1500):
            cost += P @ row + lam * np.maximum(P - before, 0).sum()
            C += row[at] + lam * (np.ones(N) if was is None else np.array(at) != np.array(was))
            before, was = P, at
            assert cost <= C.min() + certificate * (1 + 1e-12)
        assert cost - C.min() <= 1.5 * math.sqrt((1 + lam) * C.min() * math.log(N))


@pytest.mark.slow
def test_the_certificate_holds_with_a_cost_per_pair_and_closed_arms() -> None:
    draw, K = np.random.default_rng(2), 5
    points = draw.random(K) * 3
    table = np.abs(points[:, None] - points)
    policy = hf.AdaptiveHedgeSwitch(K, switching_cost=table.tolist(), period=6)
    player, N = policy.player(seed=1), len(policy.mixed)
    C, cost, was, before = np.zeros(N), 0.0, None, None
    for t in range(800):
        available = draw.random(K) < 0.8
        available[draw.integers(K)] = True
        arm = player.ask(available=available.tolist())
        assert available[arm]
        P, at = player.probabilities.copy(), player._state.at.astype(int).copy()
        row = draw.random(K) * (np.arange(K) != (t // 20) % K)
        if before is not None:
            switching = player._state.moving[0]
            cost += switching
            assert switching >= naive.cheapest_coupling(before, P, table.tolist()) - 1e-9
            C += table[was, at]
        cost += P @ row
        C += row[at]
        before, was = P, at
        player.tell(row)
        assert cost <= C.min() + player.certificate
    assert player.switches > 20


def coupled(move: Callable, params: object, game: object, K: int) -> np.ndarray:
    """The share of each next arm for each arm, from evenly spread uniforms."""

    @kernel
    def moves(params, game, arm, u, found):
        for i in range(len(u)):
            found[i] = move(params, game, arm, u[i])

    u, found = (np.arange(200) + 0.5) / 200, np.zeros(200, dtype=np.int64)
    rows = []
    for arm in range(K):
        moves(params, game, arm, u, found)
        rows.append(np.bincount(found, minlength=K) / len(u))
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [False, True])
def test_the_arm_is_drawn_from_the_mixture_and_moves_no_more_than_it_must(pairs: bool) -> None:
    """Σ P_before(a)·Pr(a → b) = P(b); with one λ the chance of a switch is TV(P_before, P)."""
    draw, K, N = np.random.default_rng(4), 3, 5
    points = draw.random(K)
    table = np.abs(points[:, None] - points) + 0.3 * (1 - np.eye(K))
    cost: object = table.tolist() if pairs else 0.7
    policy = hf.AdaptiveHedgeSwitch(
        K, switching_cost=cost, experts=[FixedArm(0), FixedArm(1), *map(WorkFunction, (1, 2, 3))]
    )
    player = policy.player(seed=1)
    for _ in range(12):
        player.ask()
        player.tell(draw.random(K))
    layout, game = policy.state_layout, player._game
    before = player._state.P.copy()
    player.ask()
    P = player.probabilities
    columns = [
        array.reshape(-1, 1) if kind.per_arm or kind.several is not None else array
        for array, kind in zip(layout.named(game.numbers, game.vectors), layout.kinds.values(), strict=True)
    ]
    record = layout.record(*columns)
    move = coupling.flowing_move if pairs else coupling.lazy_move
    rows = coupled(move, policy.parameters(), record, K)
    assert np.allclose(before @ rows, P, atol=0.015)
    switches = float((before[:, None] * rows * (1 - np.eye(K))).sum())
    assert len(policy.mixed) == N
    if pairs:
        assert float((before[:, None] * rows * table).sum()) == pytest.approx(record.moving[0], abs=0.015)
    else:
        assert switches == pytest.approx(np.maximum(P - before, 0).sum(), abs=0.015)


def test_a_table_of_equal_costs_is_one_cost() -> None:
    losses = hunting("rotate slowly", 3, 9)
    one = list(rounds_of(hf.AdaptiveHedgeSwitch(3, switching_cost=0.5), losses, 400))
    losses = hunting("rotate slowly", 3, 9)
    table = (0.5 * (1 - np.eye(3))).tolist()
    many = list(rounds_of(hf.AdaptiveHedgeSwitch(3, switching_cost=table), losses, 400))
    for (P, at, _, first), (Q, there, _, second) in zip(one, many, strict=True):
        assert at == there
        assert np.allclose(P, Q, atol=1e-10)
        assert first == pytest.approx(second, rel=1e-9)


@pytest.mark.slow
def test_a_long_game_does_not_drift() -> None:
    """400,000 rounds; ``python tests/support/long_mixture.py 10000000`` plays more."""
    check_long_game(400_000)
