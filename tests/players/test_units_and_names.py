"""Units and names of the user's own in a simulation: results are in the units of the table, arms in its order."""

import numpy as np
import polars as pl
import pytest
from online_play import play_online

import holdfast as hf
from holdfast.errors import InvalidParameter

T, K = 300, 3
SHARES = np.random.default_rng(4).integers(0, 65, (T, K)) / 64
RANGES = [(0.0, 8.0), (-2.0, 2.0), (96.0, 128.0)]
"""Powers of two: every sum is exact, so the games are the very same."""


def policies(units, lam):
    made = {
        "switch": hf.TsallisSwitch(K, switching_cost=lam, units=units),
        "varying": hf.VaryingTsallisSwitch(K, units=units),
        "inf": hf.TsallisInf(K, estimator="reduced-variance", units=units),
        "blocks": hf.BlockExp3(K, switching_cost=lam, horizon=T, units=units),
        "base": hf.BaSE(K, horizon=T, units=units),
    }
    return made


@pytest.mark.parametrize("units", RANGES)
@pytest.mark.parametrize("by_block", [None, "a power", "a list"])
def test_results_are_in_the_units_of_the_table(units, by_block):
    """The game of losses in [0, 1], with λ as many times as large, comes out as many times as large."""
    low, unit = units[0], units[1] - units[0]

    def played(units, scale, losses):
        cost = {
            None: 0.25 * scale,
            "a power": hf.Power(0.5, scale=0.25 * scale),
            "a list": [0.25 * scale * (1 + n % 3) for n in range(T)],
        }[by_block]
        table = hf.LossTable(losses, units=units)
        return hf.simulate(policies(units, 0.25 * scale), table, switching_cost=cost, replications=33).frame

    plain, own = played((0.0, 1.0), 1.0, SHARES), played(units, unit, low + unit * SHARES)
    assert own["switches"].equals(plain["switches"])
    assert np.array_equal(own["pseudo_regret"], plain["pseudo_regret"] * unit)
    assert np.allclose(own["regret_with_switching"], plain["regret_with_switching"] * unit, rtol=1e-14, atol=0)
    if not by_block:
        assert np.array_equal(
            own["regret_with_switching"], own["pseudo_regret"] + 0.25 * unit * own["switches"].to_numpy()
        )


@pytest.mark.parametrize("units", RANGES)
def test_a_player_in_own_units_plays_the_simulated_game(units):
    """Regret and switches after every round, against the definition on the table as the user has it."""
    losses = units[0] + (units[1] - units[0]) * SHARES
    table = hf.LossTable(losses, units=units)
    for name, policy in policies(units, 3.0).items():
        result = hf.simulate(
            {policy.label: policy}, table, switching_cost=3.0, replications=1, checkpoints=range(1, T + 1)
        )
        _, blocks = play_online(policy, table, T, lambda n: 3.0, seed=0, replication=0)
        arms = np.concatenate([[arm] * (end - start) for arm, start, end, _ in blocks])
        direct = hf.regret.regret(losses, arms, 3.0)
        for measure in ("pseudo_regret", "switches", "regret_with_switching"):
            assert np.array_equal(result.frame[measure], direct[measure]), name


def test_ranges_must_agree():
    table = hf.LossTable(10 * SHARES, units=(0, 10))
    settings = {"switching_cost": 1.0, "horizon": 5}
    with pytest.raises(InvalidParameter) as caught:
        hf.simulate(hf.Exp3(K), table, **settings)
    assert str(caught.value) == (
        "units of exp3 must be those of the environment: give the policy units=(0, 10); got (0.0, 1.0)"
    )
    with pytest.raises(InvalidParameter, match=r"units=\(0, 1\), or the table units=\(0.0, 10.0\)"):
        hf.simulate(hf.Exp3(K, units=(0, 10)), hf.LossTable(SHARES), **settings)
    with pytest.raises(InvalidParameter, match=r"give the policy units=\(0, 1\); got \(-1.0, 1.0\)"):
        hf.simulate(hf.Exp3(K, units=(-1, 1)), hf.Bernoulli([0.1, 0.2, 0.3]), **settings)
    with pytest.raises(InvalidParameter, match=r"loss_bound of tsallis-inf must be at least 1, which .*; got 0.1"):
        hf.simulate(hf.TsallisInf(K, loss_bound=0.1), hf.Bernoulli([0.1, 0.2, 0.3]), **settings)


FRAME = pl.DataFrame(SHARES, schema=["CISO", "ERCO", "NYISO"])


def test_names_of_arms_must_agree_and_reach_the_result():
    settings = {"switching_cost": 0.5, "replications": 3, "horizon": 100}
    table = hf.LossTable(FRAME)
    plain = hf.simulate(hf.TsallisInf(K), table, **settings)
    assert plain.provenance["arms"] == ["CISO", "ERCO", "NYISO"]
    for arms in (["CISO", "ERCO", "NYISO"], ["NYISO", "CISO", "ERCO"]):
        named = hf.simulate(hf.TsallisInf(arms=arms), table, **settings)
        assert named.frame.equals(plain.frame)
        assert named.provenance["policies"]["tsallis-inf"]["arms"] == ["CISO", "ERCO", "NYISO"]
    with pytest.raises(
        InvalidParameter, match=r"arms of exp3 must be one of 'CISO', 'ERCO', 'NYISO'; got 'NYSO'; did you mean 'NYISO'"
    ):
        hf.simulate(hf.Exp3(arms=["NYSO", "CISO", "ERCO"]), table, **settings)
    nameless = hf.simulate(hf.Exp3(arms=["x", "y", "z"]), hf.LossTable(SHARES), **settings)
    assert "arms" not in nameless.provenance


def test_without_a_horizon_all_rows_are_played():
    result = hf.simulate(hf.Exp3(K), hf.LossTable(SHARES), switching_cost=0.5, replications=2)
    assert result.provenance["horizon"] == T
    assert result.frame.equals(
        hf.simulate(hf.Exp3(K), hf.LossTable(SHARES), horizon=T, switching_cost=0.5, replications=2).frame
    )
    with pytest.raises(InvalidParameter, match="horizon must be given, unless the environment is a loss table"):
        hf.simulate(hf.Exp3(3), hf.Bernoulli([0.1, 0.2, 0.3]), switching_cost=0.5)
    assert hf.Bernoulli([0.5]).rounds is None


def test_two_policies_of_one_name():
    with pytest.raises(InvalidParameter, match=r"policies must have different names; .*; got '1'"):
        hf.simulate({1: hf.Exp3(3), "1": hf.TsallisInf(3)}, hf.LossTable(SHARES), switching_cost=0.5)
