"""Simulation: the same bits however it is spread, the same games as online play, exact at any length."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from every_policy import CASES, EVERY, varying_cost
from online_play import play_online
from statistics_of_samples import SEED

import holdfast as hf
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.simulation.game import SIDE_BY_SIDE, possible
from holdfast.simulation.run import checkpoint_rounds

ROUNDS = 400


def environments(K: int, rounds: int = ROUNDS) -> dict[str, hf.Environment]:
    """One of each kind for K arms, with losses of different sizes for all arms where the kind allows."""
    means = [round(0.1 + 0.8 * ((3 * i + 1) % (K + 2)) / (K + 2), 3) for i in range(K)]
    return {
        "bernoulli": hf.Bernoulli(means),
        "shuffled": hf.Bernoulli(means, shuffled=True),
        "constrained": hf.ConstrainedBernoulli(K, 0.2),
        "reversal": hf.Reversal(max(K, 2), rounds),
        "table": hf.LossTable(np.random.default_rng(K).integers(0, 256, (rounds, K)) / 256),
    }


ONLINE = [*(name for name in CASES if name not in ("own units", "guarded, told")), "hedge-switch, pairs", "fixed-share"]


@pytest.mark.slow
@pytest.mark.plain
@pytest.mark.parametrize("name", ONLINE)
def test_online_player_plays_the_simulated_game(name):
    """Regret, switches and cost after every single round, of every policy in every environment."""
    policy = EVERY[name].policy
    rounds, replication = 150, 2
    for kind, environment in environments(policy.n_arms, rounds).items():
        if environment.n_arms != policy.n_arms:
            continue  # no reversal of one arm
        marks = {"horizon": rounds, "checkpoints": range(1, rounds + 1)}
        game = {"switching_cost": varying_cost, "replications": 1, "first_replication": replication, "seed": 5}
        result = hf.simulate(policy, environment, **marks, **game).frame
        _, blocks = play_online(policy, environment, rounds, varying_cost, seed=5, replication=replication)
        arms = np.concatenate([[arm] * (end - start) for arm, start, end, _ in blocks])
        expected = np.array([environment.expected(t, t + 1) for t in range(rounds)])
        regret = hf.regret.regret(expected, arms)
        assert np.allclose(result["pseudo_regret"], regret["pseudo_regret"], rtol=0, atol=1e-11), kind
        assert np.array_equal(result["switches"], regret["switches"]), kind
        first_of_block = {start: lam for _, start, _, lam in blocks}
        switched = np.diff(regret["switches"], prepend=0) == 1
        paid = np.cumsum([first_of_block[t] if switched[t] else 0.0 for t in range(rounds)])
        assert np.allclose(result["regret_with_switching"], regret["pseudo_regret"] + paid, rtol=0, atol=1e-11), kind


def some_policies(K: int, horizon: int, lam: float) -> list[hf.Policy]:
    return [
        hf.TsallisSwitch(K, switching_cost=lam),
        hf.VaryingTsallisSwitch(K),
        hf.TsallisInf(K),
        hf.TsallisInf(K, estimator="reduced-variance"),
        hf.Exp3(K),
        hf.BlockExp3(K, switching_cost=lam, horizon=horizon),
        hf.BaSE(K, horizon=horizon, grid="arithmetic"),
        hf.BaSE(K, horizon=horizon, order="random"),
    ]


@pytest.mark.parametrize("kind", ["bernoulli", "shuffled", "constrained", "reversal", "table"])
def test_the_same_bits_for_any_number_of_threads_and_pieces(kind):
    settings = {"horizon": ROUNDS, "switching_cost": 0.7, "seed": 11, "checkpoints": "log"}
    policies, environment = some_policies(4, ROUNDS, 0.7), environments(4)[kind]
    whole = hf.simulate(policies, environment, replications=38, workers=1, **settings)
    for workers in (1, 2, 7):
        threads = hf.Threads(workers, quick=0)  # such short games are played on the calling thread otherwise
        spread = hf.simulate(policies, environment, replications=38, backend=threads, **settings)
        assert spread.frame.equals(whole.frame)
    pieces = [
        hf.simulate(policies, environment, replications=count, first_replication=first, **settings)
        for first, count in ((0, 1), (1, 24), (25, 13))
    ]
    joined = hf.Result.concat(pieces[::-1])
    assert joined.frame.equals(whole.frame)
    assert joined.provenance == whole.provenance
    other = hf.simulate(policies, environment, replications=38, **settings | {"seed": 12})
    assert not other.frame.equals(whole.frame)


@pytest.mark.plain
@pytest.mark.parametrize(
    ("loss", "is_possible"), [(0, 1), (3, 1), (3 + 1e-7, 1), (3.1, 0), (-1e-7, 1), (-0.1, 0), (np.nan, 0)]
)
def test_a_block_of_three_rounds_loses_from_0_to_3_in_every_game(loss, is_possible):
    assert possible(np.array([1.5, loss]), 1000.0, 1003.0) == is_possible


@pytest.mark.plain
def test_a_policy_or_a_replication_more_changes_no_other():
    settings = {"horizon": 200, "switching_cost": 1.0, "seed": 4}
    environment = hf.Bernoulli([0.2, 0.5, 0.6])
    few = hf.simulate([hf.Exp3(3)], environment, replications=3, **settings).frame
    three = [hf.TsallisSwitch(3, switching_cost=1.0), hf.Exp3(3), hf.TsallisInf(3)]
    more = hf.simulate(three, environment, replications=5, **settings)
    assert more.frame.filter((pl.col("policy") == "exp3") & (pl.col("replication") < 3)).equals(few)
    by_name = hf.simulate({"low": hf.Exp3(3), "exp3": hf.Exp3(3)}, environment, replications=3, **settings).frame
    assert by_name.filter(policy="exp3").equals(few)
    assert by_name.filter(policy="low")["switches"].to_list() != few["switches"].to_list()


@pytest.mark.plain
def test_checkpoints():
    assert checkpoint_rounds(None, 1000)[:2] == (10, 20)
    assert len(checkpoint_rounds(None, 1000, games=10**6)) == 10
    assert checkpoint_rounds(None, 1000, games=10**9) == (1000,)
    assert checkpoint_rounds("linear", 10**6) == tuple(range(10**4, 10**6 + 1, 10**4))
    log = checkpoint_rounds("log", 10**12)
    assert len(log) > 90
    assert log[-1] == 10**12
    assert np.diff(np.log(log[40:])).std() < 1e-6
    assert checkpoint_rounds({"spacing": "log", "count": 3}, 1000) == (10, 100, 1000)
    assert checkpoint_rounds([500, 2, 2], 1000) == (2, 500, 1000)
    assert checkpoint_rounds(np.array([7]), 7) == (7,)
    assert checkpoint_rounds([], 7) == (7,)
    assert checkpoint_rounds(50, 3) == (1, 2, 3)
    for horizon in range(1, 60):  # as many or more than there are rounds: all of them
        for count in (horizon - 1 or 1, horizon, horizon + 1, 3 * horizon, 7 * horizon, 10**9):
            every = sorted({max(1, round(horizon * k / count)) for k in range(1, min(count, 500) + 1)} | {horizon})
            assert count == 10**9 or checkpoint_rounds(count, horizon) == tuple(every)
        assert checkpoint_rounds(10**9, horizon) == tuple(range(1, horizon + 1))
        assert checkpoint_rounds({"spacing": "log", "count": 10**9}, horizon) == tuple(range(1, horizon + 1))
    with pytest.raises(InvalidParameter, match="checkpoints must be at most 10000000; got 1000000000"):
        checkpoint_rounds(10**9, 10**9)
    for wrong in ("logg", 0, [0], [8], {"spacing": "cubic"}, {"counts": 3}, 2.5):
        with pytest.raises(InvalidParameter, match="checkpoints"):
            checkpoint_rounds(wrong, 7)


def test_other_checkpoints_see_the_same_game():
    settings = {"horizon": ROUNDS, "switching_cost": 2.0, "replications": 4, "seed": 2}
    for environment in environments(4).values():
        policies = some_policies(4, ROUNDS, 2.0)
        every = hf.simulate(policies, environment, checkpoints=range(1, ROUNDS + 1), **settings).frame
        for wanted in ("log", 7, [1, 50], None):
            result = hf.simulate(policies, environment, checkpoints=wanted, **settings)
            rounds = result.provenance["checkpoints"]
            assert rounds[-1] == ROUNDS
            same = every.filter(pl.col("round").is_in(rounds))
            assert result.frame.equals(same)


def test_regret_on_a_table_is_the_direct_computation():
    """Several policies on one fixed sequence of losses, against R_t from the definition, at every round."""
    losses = np.random.default_rng(3).integers(0, 1024, (ROUNDS, 3)) / 1024
    losses[:150, 0] /= 4
    losses[150:, 1] /= 8  # another arm becomes best
    table = hf.LossTable(losses)
    for policy in some_policies(3, ROUNDS, 0.5):
        lam = lambda n: 0.5  # noqa: E731
        _, blocks = play_online(policy, table, ROUNDS, lam, seed=1, replication=0)
        arms = np.concatenate([[arm] * (end - start) for arm, start, end, _ in blocks])
        direct = hf.regret.regret(losses, arms, 0.5)
        game = {"horizon": ROUNDS, "switching_cost": 0.5, "replications": 1, "seed": 1}
        result = hf.simulate(policy, table, checkpoints=range(1, ROUNDS + 1), **game).frame
        assert np.array_equal(result["pseudo_regret"], direct["pseudo_regret"])  # 1024ths: every sum is exact
        assert np.array_equal(result["regret_with_switching"], direct["regret_with_switching"])


def test_varying_schedule_loses_at_constant_cost():
    """Theorem 4's schedule at a constant λ on a hard instance (errata, point 19): its cost is higher, decidedly."""
    policies = [hf.VaryingTsallisSwitch(8), hf.TsallisSwitch(8, switching_cost=1.0)]
    game = {"horizon": 100_000, "switching_cost": 1.0, "replications": 40, "seed": SEED, "checkpoints": 1}
    result = hf.simulate(policies, hf.Bernoulli.with_gap(8, 0.05), **game)
    comparison = result.compare("tsallis-switch-varying", "tsallis-switch", confidence=1 - 1e-6)
    assert comparison.low > 0


@pytest.mark.plain
def test_mistakes_are_answered_with_parameter_rule_and_value():
    policy, environment = hf.Exp3(3), hf.Bernoulli([0.1, 0.2, 0.3])

    def refused(match, error=InvalidParameter, policies=policy, environment=environment, **settings):
        with pytest.raises(error, match=match):
            hf.simulate(policies, environment, **{"horizon": 10, "switching_cost": 1.0} | settings)

    refused(r"n_arms of exp3 must be 3, as many as the environment has; got 4", policies=hf.Exp3(4))
    refused(r"horizon must not exceed the 2 rounds of the table; got 10", environment=hf.LossTable([[0, 1, 1]] * 2))
    refused(r"backend must be one of .*'dask'; got 'thread'; did you mean 'threads'\?", backend="thread")
    refused(r"scheduler is only for the backend 'dask'; got 'tcp://here:1'", scheduler="tcp://here:1")
    refused(r"policies must have different names; .*; got 'exp3'", policies=[hf.Exp3(3), hf.Exp3(3)])
    refused(r"policies must not be empty", policies=[])
    refused(r"policies must be policies such as holdfast\.Exp3\(8\), in a list or by name; got 3", policies=3)
    refused(r"policies must all be policies such as holdfast.Exp3\(8\); got 'exp3'", policies=["exp3"])
    refused(r"environment must be an environment such as .*LossTable", environment=[0.1, 0.2])
    refused(r"horizon must be a whole number from 1 to \d+; got 0", horizon=0)
    refused(r"horizon must be a whole number from 1 to \d+; got 1e\+16", horizon=1e16)
    refused(r"replications must be a whole number from 1 to \d+; got 0", replications=0)
    refused(r"first_replication must be a whole number from 0 to \d+; got -1", first_replication=-1)
    refused(r"replications must be a whole number from 1 to 1; got 2", first_replication=2**32 - 1, replications=2)
    refused(r"seed must be a whole number, a numpy Generator or None; got 'x'", seed="x")
    refused(r"workers must be a whole number of at least 1; got 0", workers=0)
    lists = hf.TsallisSwitch(3, block_lengths=[2, 2], learning_rates=[1.0, 0.5])
    refused(r"must cover the horizon of 10 rounds; they end after 4 rounds; got '2 blocks'", policies=lists)
    assert issubclass(InvalidParameter, HoldfastError)


def test_progress_is_quiet_when_not_a_terminal(capfd, monkeypatch):
    settings = {"horizon": 10, "switching_cost": 1.0}
    hf.simulate(hf.Exp3(2), hf.Bernoulli([0.1, 0.2]), **settings)
    assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich: as on a terminal
    hf.simulate(hf.Exp3(2), hf.Bernoulli([0.1, 0.2]), progress=True, **settings)
    out, err = capfd.readouterr()
    assert out == ""
    assert "replications" in err


ENDLESS = """
import holdfast as hf

settings = dict(switching_cost=1.0, seed=3, checkpoints=[10])
policy, losses = hf.TsallisInf(4), hf.Bernoulli([0.1, 0.2, 0.3, 0.4])
for replications in (1, 64):
    hf.simulate(policy, losses, horizon=20, replications=replications, **settings)  # compiled
for replications in (1, 64):
    print("begun", flush=True)
    try:
        hf.simulate(policy, losses, horizon=10**13, replications=replications, **settings)
    except hf.Interrupted as stopped:
        print("kept", stopped.result.frame.height, flush=True)
"""


@pytest.mark.slow
def test_interrupt_ends_games_that_would_take_days():
    command = [sys.executable, "-c", ENDLESS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        for _ in range(2):
            assert process.stdout.readline() == "begun\n"
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "kept 0\n"
        assert process.wait(timeout=120) == 0


@pytest.mark.parametrize("quick", [0, 10**9])
def test_an_error_in_a_game_comes_back_from_its_thread(quick):
    settings = {"horizon": 9, "switching_cost": [1.0, 2.0], "replications": 50, "backend": hf.Threads(quick=quick)}
    with pytest.raises(InvalidParameter, match="switching_cost must have an entry for every block played"):
        hf.simulate(hf.Exp3(2), hf.Bernoulli([0.1, 0.2]), **settings)


INTERRUPTED = """
import time
import holdfast as hf
from holdfast.simulation.backends import Threads

class Loud(Threads):
    def run(self, tasks, done):
        def told(piece):
            done(piece)
            print("finished", flush=True)
        super().run(tasks, told)

settings = dict(horizon=10**6, switching_cost=1.0, seed=3, checkpoints=[10])
try:
    hf.simulate(hf.Exp3(4), hf.Bernoulli([0.1, 0.2, 0.3, 0.4]), replications=640, backend=Loud(2), **settings)
except hf.Interrupted as stopped:
    ended = time.time()
    kept = stopped.result
    again = hf.simulate(hf.Exp3(4), hf.Bernoulli([0.1, 0.2, 0.3, 0.4]), replications=1,
        first_replication=kept.frame["replication"][0], **settings)
    assert again.frame.equals(kept.frame.head(2)), (again.frame, kept.frame)
    assert kept.provenance["interrupted"]
    print("kept", kept.frame["replication"].n_unique(), "at", ended)
"""


@pytest.mark.slow
def test_interrupt_keeps_what_is_finished():
    """Ctrl-C in another process: it ends at once, with the pieces (a row of games each) that were finished."""
    command = [sys.executable, "-c", INTERRUPTED]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout.readline() == "finished\n"
    began = time.time()
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    *_, count, _, ended = said.split()
    kept = int(count)
    assert float(ended) - began < 5
    assert SIDE_BY_SIDE <= kept <= 640 / 2
    assert kept % SIDE_BY_SIDE == 0
