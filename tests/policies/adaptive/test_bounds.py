"""Theorems A to D as functions: against the page, against Theorem 1, and against what the policy does."""

import json
import math

import hypothesis.strategies as st
import naive_adaptive_bounds as page
import naive_bounds
import pytest
from hypothesis import given
from typer.testing import CliRunner

import holdfast as hf
from holdfast import bounds
from holdfast.cli import app

CLOSE = 1e-12

arms = st.integers(2, 1000)
costs = st.one_of(st.just(0.0), st.floats(1e-4, 1e4))
horizons = st.integers(1, 10**12)
constants = st.builds(
    bounds.Guarantee,
    longest_step_down=st.floats(0.1, 1.9),
    calm=st.floats(0, 3),
    floor_budget=st.floats(0, 9),
    cap_budget=st.floats(0, 3),
    least_noise=st.floats(0, 0.25),
)


def of_the_page(given: bounds.Guarantee) -> dict[str, float]:
    """The constants by the page's names."""
    a, theta = given.longest_step_down, given.calm
    return {"a": a, "theta": theta, "kappa_W": given.floor_budget, "kappa_O": given.cap_budget, "nu": given.least_noise}


@given(arms, costs, horizons, constants)
def test_theorem_B_agrees_with_the_page(K, lam, T, chosen):
    case = {"n_arms": K, "switching_cost": lam, "horizon": T}
    assert bounds.adaptive(**case) == pytest.approx(page.theorem_B(K, lam, T), rel=CLOSE)
    expected = page.theorem_B(K, lam, T, **of_the_page(chosen))
    assert bounds.adaptive(**case, constants=chosen) == pytest.approx(expected, rel=CLOSE)


@given(st.integers(2, 60), st.integers(1, 10**12), st.floats(1e-3, 1.0), st.floats(1.0, 1.5), st.floats(0.5, 9.0))
def test_theorem_C_agrees_with_the_page(K, T, gap, a, J):
    chosen = bounds.Guarantee(longest_step_down=a)
    found = bounds.adaptive_constrained(n_arms=K, horizon=T, gaps=gap, longest_step_up=J, constants=chosen)
    assert found == pytest.approx(page.theorem_C(K, T, [gap] * (K - 1), a=a, J=J), rel=CLOSE)


@given(st.integers(2, 30), st.integers(1, 3000), st.sampled_from([0.0, 0.3, 2.0]), st.floats(0, 1), constants)
def test_theorem_D_agrees_with_the_page(K, T, scale, alpha, chosen):
    lams = naive_bounds.theorem_4_schedule(T, K, lambda n: scale * n**alpha)[0]
    found = bounds.adaptive_varying(n_arms=K, costs=lambda n: scale * n**alpha, horizon=T, constants=chosen)
    assert found == pytest.approx(page.theorem_D(K, lams, T, **of_the_page(chosen)), rel=CLOSE)


def test_theorem_B_is_at_most_2_73_times_theorem_1_for_every_number_of_arms():
    """The closed form of the corollary for K = 2 to 20,000, and a bound on it for all beyond."""
    quotients = [page.ratio_to_theorem_1(K) for K in range(2, 20_001)] + [page.ratio_to_theorem_1(20_001, beyond=True)]
    assert 2.7 < max(q for q, _ in quotients) <= 2.73
    assert max(q for _, q in quotients) <= 0.98
    for case, at_most in (({"theta": 2.0}, 3.40), ({"kappa_W": 4.0}, 2.92), ({"a": 1.5}, 3.23)):
        assert max(page.ratio_to_theorem_1(K, **case)[0] for K in range(2, 20_001)) <= at_most
        assert page.ratio_to_theorem_1(20_001, **case, beyond=True)[0] <= at_most


def test_theorem_B_on_a_grid_is_at_most_2_24_times_theorem_1():
    largest = 0.0
    for K in (2, 3, 5, 8, 64, 1000, 10**5):
        for exponent in range(13):
            for lam in (0.0, *(10 ** (e / 2) for e in range(-10, 13))):
                case = {"n_arms": K, "switching_cost": lam, "horizon": 10**exponent}
                ratio = bounds.adaptive(**case) / bounds.theorem_1(**case)
                assert lam > 0 or ratio <= 1
                largest = max(largest, ratio)
    assert 2.2 < largest <= 2.24


@pytest.mark.parametrize(("lam", "ratio"), [(0.0, 0.83), (0.025, 1.36), (0.1, 1.47), (1.0, 1.70), (10.0, 1.88)])
def test_the_ratios_that_the_page_prints(lam, ratio):
    case = {"n_arms": 8, "switching_cost": lam, "horizon": 1e5}
    assert bounds.adaptive(**case) / bounds.theorem_1(**case) == pytest.approx(ratio, abs=0.005)


def test_theorem_D_is_of_the_size_of_theorem_4():
    """0.86 to 1.6 times it, for K = 8 and ten thousand blocks."""
    for total in (0.0, 100.0, 1e3, 1e4, 1e5, 1e7):
        root = math.sqrt(8e4)
        T = (math.sqrt(2) * root + 0.354 * total) ** 2 / 8
        ratio = page.theorem_D(8, [total / 1e4] * 10_000, T) / (7 * total + 12 * root + 2)
        assert 0.86 <= ratio <= 1.6


def test_theorem_C_is_of_no_use_at_a_practical_horizon():
    case = {"n_arms": 8, "horizon": 1e9}
    assert bounds.adaptive_constrained(**case, gaps=0.1) > bounds.adaptive(**case, switching_cost=0.0) / 2
    slow = [bounds.adaptive_constrained(n_arms=8, horizon=T, gaps=0.1) for T in (1e3, 1e6, 1e9)]
    assert slow[2] - slow[1] == pytest.approx(slow[1] - slow[0])


def test_the_certificate_of_a_saved_game_exceeds_what_it_lost():
    """One game: regret and switching cost are far below what its own V, W and O certify."""
    policy = hf.AdaptiveTsallisSwitch(3, switching_cost=0.5)
    player = policy.player(seed=5)
    lost = [0.0, 0.0, 0.0]
    played = 0.0
    for t in range(3000):
        arm = player.ask()
        losses = [float((t * (7 + i)) % 10 < 4 + i) for i in range(3)]
        played += losses[arm]
        lost = [a + b for a, b in zip(lost, losses, strict=True)]
        player.tell(losses[arm])
    while player.hold:
        player.tell(0.0)
    state = json.loads(player.save())["player"]["state"]
    certified = bounds.adaptive_certificate(
        n_arms=3, paid=0.5 * player.switches, **{name: state[name] for name in ("V", "V_most", "W", "cut")}
    )
    assert 0 < played - min(lost) + 0.5 * player.switches < certified
    assert certified < bounds.adaptive(n_arms=3, switching_cost=0.5, horizon=player.rounds)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bounds.adaptive(n_arms=1, switching_cost=1, horizon=9), "n_arms must be .*got 1"),
        (lambda: bounds.Guarantee(longest_step_down=2.0), "longest_step_down must be .*1.9.*got 2.0"),
        (lambda: bounds.Guarantee(calm=-1.0), "calm must be .*got -1.0"),
        (
            lambda: bounds.adaptive_constrained(
                n_arms=3, horizon=9, gaps=0.1, constants=bounds.Guarantee(longest_step_down=0.5)
            ),
            "longest_step_down must be .*got 0.5",
        ),
        (
            lambda: bounds.adaptive_certificate(n_arms=3, paid=0, V=-1.0, V_most=1, W=0, cut=0),
            "V must be .*not negative.*got -1.0",
        ),
        (
            lambda: bounds.adaptive_certificate(n_arms=3, paid=0, V=1.0, V_most=1, W=[0, -1], cut=0),
            "W must be .*none negative",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(hf.InvalidParameter, match=message):
        make()


def test_the_command_shows_them():
    options = "--arms 8 --switching-cost 0 --horizon 1e5 --gaps 0.1"
    said = CliRunner().invoke(app, ["bounds", *options.split()])
    assert said.exit_code == 0
    assert "\nAdaptive  " in said.output
    assert "\nAdaptive constrained  " in said.output
