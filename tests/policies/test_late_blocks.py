"""A block is a value: it may be kept, and observed late and out of order, while others are open."""

import itertools
from typing import Any

import numpy as np
import pytest
from every_policy import CASES, HORIZON, Case, loss_of
from kernel_game import KernelGame, stream_of
from statistics_of_samples import SEED

import holdfast as hf
from holdfast.kernels import COMPILED
from holdfast.players.game import Game
from holdfast.simulation.contract import blocks_are_values

pytestmark = pytest.mark.plain

LATE = [name for name, case in CASES.items() if not case.policy.waits_for_losses]
ESTIMATING = [name for name in LATE if CASES[name].estimates]
WITH_ORACLE = [name for name in ESTIMATING if CASES[name].oracle]


def differences(C: Any) -> np.ndarray:
    """Return the numbers that p depends on: the state may move all of C by one number."""
    return np.asarray(C) - np.min(C)


def test_elimination_alone_waits_for_losses():
    assert {case.policy.id for case in CASES.values() if case.policy.waits_for_losses} == {
        "base-arithmetic",
        "base-geometric",
        "base-minimax",
        "batched-elimination",
        "guarded",  # of one of these
    }


def begun(game: KernelGame, case: Case, numbers: range) -> list[tuple[float, int, Any]]:
    """What each of these blocks will have lost, its rounds, and the block itself."""
    found = []
    for n in numbers:
        arm, length = game.choose(case.told(n))
        found.append((length * case.highest_loss(n) * loss_of(n, arm), length, game.kept_block()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_ORACLE)
def test_late_losses_against_the_naive_twin(name):
    """Up to five blocks open, each observed whenever chance wants: p and C as the twin's in every block.

    The twin is put back into the game's own C before each draw; what is compared is one step.
    """
    case, rng = CASES[name], np.random.default_rng(SEED)
    game, oracle = KernelGame(case.policy, name), case.oracle()
    waiting: list[Any] = []
    for n in range(1, 300 if COMPILED else 60):
        oracle.C = differences(game.state.C).tolist()
        u = game.next_uniform()
        (block,) = begun(game, case, range(n, n + 1))
        assert (game.block.arm[0], block[1]) == oracle.choose(u, case.told(n))
        assert game.p == pytest.approx(oracle.p, rel=1e-11, abs=0)
        assert float(game.block.probability[0]) == pytest.approx(oracle.p[int(game.block.arm[0])], rel=1e-11)
        waiting.append((block, oracle.block()))
        while waiting and (len(waiting) > 5 or rng.random() < 0.5):
            (loss, rounds, late), twin = waiting.pop(int(rng.integers(len(waiting))))
            game.observe(loss, rounds, late)
            oracle.observe(loss, rounds, twin)
        scale = max(differences(oracle.C).max(), 1.0)
        assert differences(game.state.C) == pytest.approx(differences(oracle.C), rel=1e-9, abs=1e-9 * scale)


@pytest.mark.parametrize("name", [name for name in ESTIMATING if not CASES[name].remembers_order])
def test_any_order_of_observations_comes_to_the_same(name):
    """Four open blocks in all their 24 orders: the same estimates and the same next distribution, up to rounding."""
    case = CASES[name]
    game = KernelGame(case.policy, name)
    for n in range(1, 41):
        game.observe(*begun(game, case, range(n, n + 1))[0])
    results = []
    for order in itertools.permutations(begun(game, case, range(41, 45))):
        other = game.copy()
        for block in order:
            other.observe(*block)
        other.choose(case.told(45))
        results.append((differences(other.state.C), other.p))
    for C, p in results[1:]:
        assert pytest.approx(results[0][0], rel=1e-9, abs=1e-9 * max(results[0][0].max(), 1e-300)) == C
        assert p == pytest.approx(results[0][1], rel=1e-8)


@pytest.mark.parametrize("name", {case.policy.id: name for name, case in CASES.items()}.values())
def test_blocks_that_are_kept_play_as_blocks_in_place(name):
    """Serial play through values that were stored as numbers: the same bits."""
    blocks_are_values(CASES[name].policy, HORIZON // 2 if COMPILED else 100)


def test_a_loss_that_never_comes_does_no_harm():
    """Every third block is lost; the game goes on and still finds the better arm."""
    game = Game(hf.TsallisSwitch(2, switching_cost=0.5), seed=3)
    for n in range(3000):
        arm, _ = game.begin()
        if n % 3:
            game.observe(game.block, (0.2 + 0.5 * arm) * game.block[1], game.block[1])
    assert game.probabilities()[0] > 0.9


def test_part_of_a_block_may_be_observed():
    """`rounds` is fewer than the block's own where some of its losses never came: the estimate is that of the sum."""
    whole, part = (KernelGame(hf.TsallisSwitch(2, switching_cost=3.0)) for _ in range(2))
    for game, rounds in ((whole, 4), (part, 2)):
        _, length = game.choose()
        assert length == 4
        game.observe(1.5, rounds)
    assert whole.state.C.tolist() == part.state.C.tolist()


@pytest.mark.parametrize("fallback", ["tsallis-switch", "adaptive"])
@pytest.mark.parametrize(("paused", "resumed", "counts"), [(0, 0, True), (0, 1, False), (1, 1, False), (1, 0, False)])
def test_a_round_from_before_a_pause_counts_after_it_and_one_of_a_pause_that_is_over_does_not(
    paused, resumed, counts, fallback
):
    game = Game(hf.PausedTsallis(2, switching_cost=1.0, fallback=fallback), seed=3)
    game.begin()
    block, game.state.paused[0] = game.block.copy(), float(paused)
    block[list(game.policy.kernels.block_layout.kinds).index("paused")] = float(paused)
    game.state.phase[0], game.state.paused[0] = 2.0, float(resumed)
    before = game.numbers.tolist(), game.state.C.tolist()
    game.observe(block, 1.0, 1.0)
    assert ((game.numbers.tolist(), game.state.C.tolist()) != before) == counts
    assert game.correct(block, 1.0, 0.25, 0.0) == counts


@pytest.mark.parametrize("policy", [hf.Exp3(2), hf.TsallisInf(2)], ids=lambda policy: policy.id)
def test_the_least_estimate_follows_a_correction(policy):
    """And s with it, so that x = min C − s stays where it is."""
    game = KernelGame(policy)
    C, least, s = game.state.C, game.state.least, getattr(game.state, "s", game.state.least)  # EXP3 has no s
    game.choose(stream=stream_of(0.25))
    C[:] = [0.0, 10.0]
    game.observe(1.0, 1)
    assert least[0] == C[0] > 1.0
    x = least[0] - s[0]
    assert game.game.correct(game.kept_block(), 1.0, 0.25, 0.0)
    assert least[0] == C[0] < 1.0
    assert least[0] - s[0] == pytest.approx(x)


@pytest.mark.parametrize("name", LATE)
def test_a_total_may_be_corrected_after_it_was_observed(name):
    """After others were observed, another total is put in place of one: as if that had come, where estimates are sums.

    The adaptive policy corrects the estimate alone: its ledgers and its level know what they have seen.
    """
    case = CASES[name]
    corrected, twin = (KernelGame(case.policy, name) for _ in range(2))
    for game, total in ((corrected, 1.0), (twin, 0.25)):
        (_, rounds, first), *others = begun(game, case, range(1, 6))
        game.observe(total * rounds, rounds, first)
        for _, lasted, block in others:
            game.observe(0.5 * lasted, lasted, block)
    found = corrected.game.correct(first, float(rounds), 0.25 * rounds, 0.0)
    assert found == (type(case.policy).correct is not hf.Policy.correct)
    if not found:
        return
    assert differences(corrected.state.C) == pytest.approx(differences(twin.state.C), rel=1e-12, abs=1e-12)
    draws = [game.choose(case.told(6)) for game in (corrected, twin)]
    if case.estimates:
        assert draws[0] == draws[1]
        assert corrected.p == pytest.approx(twin.p, rel=1e-11)
    corrected.observe(0.5, draws[0][1])
    assert np.isfinite(corrected.game.numbers).all()
    assert np.isfinite(corrected.game.vectors).all()
