"""The adaptive policy against its slow twin: any constants, any costs, late losses, fifty digits."""

import itertools
import math
from typing import Any

import mpmath
import naive
import numpy as np
import pytest
from kernel_game import KernelGame
from naive_adaptive import Adaptive
from statistics_of_samples import SEED

import holdfast as hf
from holdfast.kernels import COMPILED

pytestmark = pytest.mark.plain

BLOCKS = 400 if COMPILED else 60

CONSTANTS = {
    "longest_step_down": ("a", (0.25, 1.5)),
    "longest_step_up": ("J", (0.5, 7.0)),
    "floor_budget": ("kappa_W", (0.0, 0.5, 8.0)),
    "cap_budget": ("kappa_O", (0.0, 0.01, 3.0)),
    "least_noise": ("nu", (0.005, 0.5)),
    "memory": ("memory", (2.0, 500.0)),
    "deviations": ("deviations", (0.0, 0.5)),
    "calm_length": ("calm_length", (0.0, 1.0, 3.5)),
    "calm": ("theta", (0.0, 0.25, 4.0)),
    "longest_length": ("longest_length", (0.0, 0.1, 2.0)),
    "spread_weight": ("spread_weight", (0.01, 1.0)),
    "least_spread": ("least_spread", (0.01, 1.0)),
    "switch_weight": ("kappa_Q", (0.01, 5.0)),
    "floor_share": ("floor_share", (0.0, 1.0)),
    "matched_length": ("matched_length", (0.1, 20.0)),
}
"""Each constant by its keyword: its name in the pseudo-code, and values other than the default."""


def losses(rng: np.random.Generator, K: int) -> Any:
    """The loss of an arm over the rounds of block n: levels that jump now and then, with noise and without."""
    levels = rng.choice([0.0, 0.2, 0.5, 0.8, 1.0], (8, K))

    def total(n: int, arm: int, rounds: int) -> float:
        level = float(levels[(n // 50) % 8, arm])
        return float(rng.binomial(rounds, level)) if n % 100 < 50 else level * rounds

    return total


def play_both(game: KernelGame, twin: Adaptive, costs: Any, seed: int, blocks: int = BLOCKS) -> None:
    """The two games side by side: the same arm for the same rounds, and every number of the state."""
    total = losses(np.random.default_rng(seed), twin.K)
    for n in range(1, blocks):
        cost = costs(n)
        u = game.next_uniform()
        arm, rounds = game.choose(cost)
        assert (arm, rounds) == twin.choose(u, cost)
        np.testing.assert_allclose(game.p, twin.p, rtol=1e-6)
        loss = total(n, arm, rounds)
        game.observe(loss, rounds)
        twin.observe(loss, rounds)
        state = game.state
        found = [state.V[0], state.V_most[0], state.cut[0], state.beta[0], state.spread[0], *state.W, *state.level]
        expected = [twin.V, twin.V_bar, twin.O, twin.beta, twin.v, *twin.W, *twin.level]
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def no_cost(n: int) -> None:
    """Nothing is announced."""


def rough_costs(n: int) -> float:
    """λ_n that is sometimes nothing and sometimes large."""
    return (0.0, 0.3, 4.0, 1.1)[n % 4] * (1 + n / 100)


OTHERS = [(keyword, value) for keyword, (_, values) in CONSTANTS.items() for value in values]
GAMES = [(5, lam, {keyword: value}) for keyword, value in OTHERS for lam in (0.3, 2.0)]
GAMES += [(K, lam, {}) for K in (1, 2, 3, 9, 40) for lam in (0.0, 0.02, 0.3, 1.0, 5.0, 30.0)]
GAMES += [(4, None, {}), *((4, None, {keyword: values[0]}) for keyword, (_, values) in CONSTANTS.items())]


@pytest.mark.slow
@pytest.mark.parametrize(("K", "lam", "constants"), GAMES)
def test_any_constant_cost_and_number_of_arms_play_as_the_twin(K, lam, constants):
    """Announced costs, too: where λ is None."""
    policy = hf.AdaptiveTsallisSwitch(K, switching_cost="announced" if lam is None else lam, constants=constants)
    twin = Adaptive(K, lam, **{CONSTANTS[keyword][0]: value for keyword, value in constants.items()})
    play_both(KernelGame(policy, f"{K} {lam} {constants}"), twin, no_cost if lam is not None else rough_costs, seed=K)


class FiftyDigits(Adaptive):
    weights = staticmethod(naive.tsallis_weights_exact)

    def __init__(self, K: int, lam: float | None) -> None:
        super().__init__(K, lam, number=mpmath.mpf)


@pytest.mark.slow
@pytest.mark.parametrize("lam", [0.0, 1.37, None])  # with 1.3, 0.325n is a whole number at n = 40, but for rounding
def test_one_game_to_fifty_digits(lam):
    """C, p, V of whole games: what rounding does to them in 500 blocks stays below 10⁻⁹.

    A loss of an arm with probability p is divided by it, so an error in p grows with the game; it is not let back in.
    """
    with mpmath.workdps(50):
        game = KernelGame(hf.AdaptiveTsallisSwitch(4, switching_cost="announced" if lam is None else lam), "digits")
        twin = FiftyDigits(4, lam)
        total = losses(np.random.default_rng(SEED), 4)
        for n in range(1, 500 if COMPILED else 40):
            cost = rough_costs(n) if lam is None else None
            u = game.next_uniform()
            arm, rounds = game.choose(cost)
            assert (arm, rounds) == twin.choose(u, cost)
            assert max(abs(p / q - 1) for p, q in zip(game.p, twin.p, strict=True)) < 1e-9
            loss = total(n, arm, rounds)
            game.observe(loss, rounds)
            twin.observe(loss, rounds)
            assert abs(game.state.V[0] / twin.V - 1) < 1e-10
            least = min(twin.C)
            spread = max(twin.C) - least + 1
            found = game.state.C - game.state.C.min()
            assert max(abs(c - (d - least)) for c, d in zip(found, twin.C, strict=True)) < 1e-9 * spread
        if COMPILED and lam != 0.0:
            assert sum(twin.W) > 0  # floors were met
            assert twin.O > 0  # and caps


@pytest.mark.slow
def test_one_step_to_fifty_digits():
    """One draw and one loss from the same numbers: 10⁻¹² in p and what V gains."""
    game = KernelGame(hf.AdaptiveTsallisSwitch(6, switching_cost=0.7), "one step")
    total = losses(np.random.default_rng(SEED), 6)
    with mpmath.workdps(50):
        for n in range(1, 300 if COMPILED else 40):
            twin = FiftyDigits(6, 0.7)
            state = game.state
            twin.C, twin.W = ([mpmath.mpf(float(x)) for x in part] for part in (state.C, state.W))
            if n > 1:
                twin.level = [mpmath.mpf(float(x)) for x in state.level]
                names = ("V", "V_bar", "O", "beta", "v", "length", "A", "Q", "rho")
                parts = ("V", "V_most", "cut", "beta", "spread", "length", "clock", "spent", "surprise")
                for name, part in zip(names, parts, strict=True):
                    setattr(twin, name, mpmath.mpf(float(getattr(state, part)[0])))
                twin.n, twin.begun, twin.told = n - 1, int(state.begun[0]), int(state.told[0])
                twin.last.arm, twin.last_rounds = int(state.last_arm[0]), int(state.last_rounds[0])
            u = game.next_uniform()
            arm, rounds = game.choose()
            assert (arm, rounds) == twin.choose(u)
            assert max(abs(p / q - 1) for p, q in zip(game.p, twin.p, strict=True)) < 1e-12
            loss, before = total(n, arm, rounds), float(game.state.V[0])
            game.observe(loss, rounds)
            twin.observe(loss, rounds)
            gain = twin.V - before
            assert abs((game.state.V[0] - before) / gain - 1) < 1e-11 + 1e-15 * before / gain


def test_the_order_of_late_losses_matters_to_levels_alone():
    """Four open blocks in all orders: C, V, W come to the same; the level follows what came last."""
    game = KernelGame(hf.AdaptiveTsallisSwitch(4, switching_cost=1.3), "orders")
    total = losses(np.random.default_rng(SEED), 4)
    for n in range(1, 41):
        arm, rounds = game.choose()
        game.observe(total(n, arm, rounds), rounds)
    kept = []
    for n in range(41, 45):
        arm, rounds = game.choose()
        kept.append((total(n, arm, rounds), rounds, game.kept_block()))
    results, levels = [], set()
    for order in itertools.permutations(kept):
        other = game.copy()
        for loss, rounds, block in order:
            other.observe(loss, rounds, block)
        results.append(np.concatenate([other.state.C, other.state.W, other.state.V, other.state.cut]))
        levels.add(float(other.state.beta[0]))
    for result in results:
        assert result == pytest.approx(results[0], rel=1e-12, abs=1e-9)
    assert len(levels) > 1


@pytest.mark.parametrize("lam", [0.0, 0.05, 1.0, 20.0])
def test_blocks_are_as_long_as_the_proof_needs_and_no_longer(lam):
    """Lemma 7's two lengths, from the weights alone: never shorter than the one, and longer than both only if calm."""
    K = 4
    game = KernelGame(hf.AdaptiveTsallisSwitch(K, switching_cost=lam), "lengths")
    total = losses(np.random.default_rng(SEED), K)
    longer, last = 0, None
    for n in range(1, 600):
        state, V = game.state, float(game.state.V[0])
        arm, rounds = game.choose()
        p, R, clock = np.array(game.p), math.sqrt(state.V_most[0]), float(state.paid[0])
        leader = int(np.argmax(p))
        u, S = 1 - p[leader], np.sqrt(p).sum() - math.sqrt(p[leader])
        q = 1.0 if last is None else 1 - p[last]
        shortest = math.sqrt(lam * R / math.sqrt(K) * max(q, u / min(S, 1)))
        assert rounds >= shortest * (1 - 1e-9)
        assert rounds <= max(math.ceil(max(shortest, 12 * math.sqrt(lam * u * R / S)) * (1 + 1e-9)), 1)
        usual = max(shortest, 1.5 * math.sqrt(lam * clock / K), 1)
        if rounds > math.ceil(usual * (1 + 1e-9)):
            assert math.sqrt(K * V) <= clock * (1 + 1e-12)
            assert rounds <= math.ceil(clock / (2 * math.sqrt(K)) * (1 + 1e-12))
            longer += 1
        last = arm
        game.observe(total(n, arm, rounds), rounds)
    assert (longer > 0) == (lam >= 1)


def test_constants_are_saved_with_a_game():
    policy = hf.AdaptiveTsallisSwitch(3, switching_cost=0.5, constants=hf.Constants(memory=20, calm_length=1))
    assert policy == hf.AdaptiveTsallisSwitch(3, switching_cost=0.5, constants={"memory": 20, "calm_length": 1})
    assert hf.Player.load(policy.player(seed=1).save()).policy == policy
