"""Estimates from logged data: exact expectations, how often intervals hold the truth, what is refused."""

import itertools
import math
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import holdfast as hf
from holdfast.replays.logged import _known_rounds, evaluate_log
from holdfast.text import five_digits

TABLE = np.array([[0.9, 0.1, 0.4], [0.2, 0.7, 0.6], [0.3, 0.8, 0.0], [1.0, 0.5, 0.1], [0.6, 0.0, 0.9]])
LENGTHS = (1, 2, 1, 1)
ROUNDS = np.split(np.arange(5), np.cumsum(LENGTHS)[:-1])


def chances_after(history):
    """A policy that learns: arms that lost less are likelier. `history` has (arm, loss) for each block."""
    lost = np.ones(3)
    for arm, loss in history:
        lost[arm] += 3 * loss
    return (1 / lost) / (1 / lost).sum()


@cache
def every_log():
    """All logs of four blocks with the probability of each."""
    logs = []
    for arms in itertools.product(range(3), repeat=len(LENGTHS)):
        history, drawn = [], []
        for arm, rounds in zip(arms, ROUNDS, strict=True):
            drawn.append(chances_after(history)[arm])
            history.append((arm, TABLE[rounds, arm].sum()))
        played, q = np.repeat(arms, LENGTHS), np.repeat(drawn, LENGTHS)
        log = hf.LoggedData(
            played,
            TABLE[np.arange(5), played],
            q,
            blocks=np.repeat(np.arange(4), LENGTHS),
            n_arms=3,
            fewest_blocks=0,
        )
        logs.append((math.prod(drawn), log))
    return logs


PLAN = [2, 0, 1, 1, 1]
MIXTURE = [0.5, 0.25, 0.25]
POLICIES = {
    "arm": (lambda log: log.of_arm(1), TABLE[:, 1].sum(), 1.0),
    "mixture": (lambda log: log.of_mixture(MIXTURE), (TABLE @ MIXTURE).sum(), 1 + 4 * (1 - 0.375)),
    "hold": (lambda log: log.of_random_hold(), TABLE.mean(axis=1).sum(), 1.0),
    "weighted hold": (lambda log: log.of_random_hold(MIXTURE), (TABLE @ MIXTURE).sum(), 1.0),
    "plan": (lambda log: log.of_plan(PLAN), TABLE[np.arange(5), PLAN].sum(), 3.0),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("estimator", ["inverse_propensity", "doubly_robust"])
def test_unbiased_over_all_logs(name, estimator):
    """Exact expectation over all sequences of arms, although the log's own probabilities follow its losses."""
    of_policy, truth, switches = POLICIES[name]
    assert math.fsum(chance for chance, _ in every_log()) == pytest.approx(1.0)
    found = [(chance, of_policy(log)) for chance, log in every_log()]
    mean = math.fsum(chance * getattr(evaluation, estimator).losses for chance, evaluation in found)
    assert mean == pytest.approx(truth, rel=1e-12)
    assert all(evaluation.switches == pytest.approx(switches) for _, evaluation in found)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("estimator", ["inverse_propensity", "doubly_robust"])
def test_the_squared_standard_error_is_at_least_the_variance_on_average(name, estimator):
    of_policy, truth, _ = POLICIES[name]
    found = [(chance, getattr(of_policy(log), estimator)) for chance, log in every_log()]
    variance = math.fsum(chance * (estimate.losses - truth) ** 2 for chance, estimate in found)
    assert math.fsum(chance * estimate.standard_error**2 for chance, estimate in found) >= variance - 1e-12


def slow_estimates(arms, losses, q, blocks, shares, confidence):
    """The three estimates with their intervals as in their formulas, round by round; `shares` has π_t(i)."""
    T, K = shares.shape
    weights = [shares[t, arms[t]] / q[t] for t in range(T)]
    lost, weight, predicted, corrected = np.zeros((4, len(set(blocks))))
    for t, block in enumerate(blocks):
        before = [s for s in range(T) if blocks[s] < block]
        of_all = sum(losses[s] for s in before) / max(len(before), 1)
        m = []
        for arm in range(K):
            own = [losses[s] for s in before if arms[s] == arm]
            m.append((sum(own) + of_all) / (len(own) + 1))
        lost[block] += weights[t] * losses[t]
        weight[block] += weights[t]
        predicted[block] += sum(shares[t, i] * m[i] for i in range(K))
        corrected[block] += weights[t] * (losses[t] - m[arms[t]])
    mean = lost.sum() / weight.sum()
    for value, errors in (
        (lost.sum(), lost - predicted),
        (T * mean, T / weight.sum() * (lost - weight * mean)),
        (predicted.sum() + corrected.sum(), corrected),
    ):
        degrees = max(1, round((errors**2).sum() ** 2 / (errors**4).sum()))
        half = stats.t.ppf((1 + confidence) / 2, degrees) * math.sqrt((errors**2).sum())
        yield value, value - half, value + half


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_estimates_and_intervals_are_those_of_the_formulas(confidence):
    rng = np.random.default_rng(4)
    blocks = np.repeat(np.arange(60), rng.integers(1, 5, 60))
    T = len(blocks)
    arms, q = rng.integers(4, size=60)[blocks], rng.uniform(0.1, 0.5, 60)[blocks]
    losses, plan = rng.random(T) * 40 - 7, rng.integers(4, size=T)
    mixture = np.array([0.1, 0.2, 0.3, 0.4])
    log = hf.LoggedData(arms, losses, q, blocks=blocks, n_arms=4, fewest_blocks=0, confidence=confidence)
    for found, shares in (
        (log.of_plan(plan), np.eye(4)[plan]),
        (log.of_mixture(mixture), np.tile(mixture, (T, 1))),
    ):
        expected = slow_estimates(arms, losses, q, blocks, shares, confidence)
        for one, values in zip(
            (found.inverse_propensity, found.self_normalised, found.doubly_robust), expected, strict=True
        ):
            assert (one.losses, one.low, one.high) == pytest.approx(values, rel=1e-9)
        assert found.blocks == 60
        assert found.rounds == T


def test_rounds_of_a_block_are_one_observation():
    """A log in which each draw is written ten times has the interval of the draws, not of the rows."""
    rng = np.random.default_rng(9)
    arms, losses, ids = rng.integers(2, size=400), rng.random(400), np.arange(400)
    once = hf.LoggedData(arms, losses, np.full(400, 0.5), blocks=ids)
    tenfold = hf.LoggedData(arms.repeat(10), losses.repeat(10), np.full(4000, 0.5), blocks=ids.repeat(10))
    one, ten = once.of_arm(0), tenfold.of_arm(0)
    assert ten.effective_blocks == pytest.approx(one.effective_blocks)
    assert ten.self_normalised.standard_error == pytest.approx(10 * one.self_normalised.standard_error)
    with pytest.raises(
        hf.InvalidParameter, match="must be those the arms were drawn with"
    ):  # too many draws of one arm
        hf.LoggedData(arms.repeat(10), losses.repeat(10), np.full(4000, 0.5), blocks="rounds").of_arm(0)


def test_without_ids_rounds_of_one_arm_and_probability_are_a_block():
    log = hf.LoggedData([0, 0, 0, 1, 1, 0], np.zeros(6), [0.5, 0.5, 0.4, 0.4, 0.4, 0.4])
    assert log.starts.tolist() == [0, 2, 3, 5]
    assert (log.rounds, log.switches, log.n_arms) == (6, 3, 2)
    assert repr(log) == "<LoggedData: 6 rounds in 4 blocks, 2 arms>"


def test_names_and_costs():
    arms = ["b", "a"] * 50
    log = hf.LoggedData(arms, [2.0, 1.0] * 50, [0.5] * 100, blocks="rounds", arm_names=["a", "b", "c"])
    assert log.arms.tolist()[:2] == [1, 0]
    found = log.of_arm("a")
    assert found.self_normalised.losses == pytest.approx(100.0)
    cost = found.cost(3.0, "self_normalised")
    assert (cost.losses, cost.low, cost.high) == pytest.approx(
        (103.0, found.self_normalised.low + 3.0, found.self_normalised.high + 3.0)
    )
    with pytest.raises(hf.InvalidParameter, match=r"estimator must be one of .*did you mean 'doubly_robust'"):
        found.cost(3.0, "doubly-robust")
    with pytest.raises(hf.InvalidParameter, match="arm must be one of 'a', 'b', 'c'"):
        log.of_arm("d")


def test_an_arm_that_was_hardly_drawn_is_refused():
    arms = np.zeros(500, dtype=np.int64)
    arms[::100] = 1
    q = np.where(arms == 1, 0.01, 0.99)
    log = hf.LoggedData(arms, np.ones(500), q, blocks="rounds")
    with pytest.raises(
        hf.InvalidParameter, match=r"too small for this policy: .* worth 5.0 blocks .* smallest prob.*0.01"
    ):
        log.of_arm(1)
    assert log.of_arm(0).effective_blocks == pytest.approx(495.0)


def test_probabilities_that_do_not_fit_the_draws_are_refused():
    """Every arm played was drawn with certainty: nothing is known of the policies that play half of each."""
    arms = np.arange(1000) % 2
    log = hf.LoggedData(arms, np.ones(1000), np.ones(1000), blocks="rounds")
    with pytest.raises(hf.InvalidParameter, match=r"add up to about 1000, .*player.probability.*got 'a sum of 500'"):
        log.of_arm(0)


@pytest.mark.parametrize(("played", "fits"), [(579, True), (580, False), (421, True), (420, False)])
def test_probabilities_fit_within_five_standard_errors(played, fits):
    """Of 1,000 tosses of a coin each weight is 0 or 2, one off its mean: five errors are 158.1."""
    middle = np.random.default_rng(1).permutation(np.repeat([0, 1], [played - 2, 1000 - played]))
    arms = np.array([0, *middle, 0])
    log = hf.LoggedData(arms, np.ones(1000), np.full(1000, 0.5), blocks="rounds")
    if fits:
        assert log.of_arm(0).effective_blocks == played
    else:
        with pytest.raises(
            hf.InvalidParameter, match=rf"add up to about 1000, the rounds, ± 31.62 .*a sum of {2 * played}"
        ):
            log.of_arm(0)


@pytest.mark.parametrize(
    ("statuses", "blocks", "missing", "kept"),
    [
        (["told", "late", "missing", "told"], [1, 1, 2, 3], None, [(0, 1.0), (1, 2.0), (2, 3.0), (3, 4.0)]),
        (["told", "late", "missing", "told"], [1, 1, 2, 3], 9.0, [(0, 1.0), (1, 2.0), (2, 9.0), (3, 4.0)]),
        (["told", "forced", "rule", "moved"], [1, 2, 3, 4], None, [(0, 1.0)]),
        (["told", "told", "told", "open"], [1, 2, 2, 2], None, None),  # its block begins before the half of the log
        (["told", "told", "told", "open"], [1, 2, 3, 3], None, [(0, 1.0), (1, 2.0)]),
        (["told", "told", "told", "open"], None, None, [(0, 1.0), (1, 2.0), (2, 3.0)]),
        (["told", "told", "open", "told"], [1, 2, 3, 4], None, [(0, 1.0), (1, 2.0)]),
        (["told", "open", "told", "told"], [1, 2, 3, 4], None, None),
    ],
)
def test_rounds_of_a_log_that_count(statuses, blocks, missing, kept):
    """Drawn by the policy, and with a loss that is final."""
    read: dict[str, Any] = {"status": np.array(statuses), "loss": np.arange(1.0, 5.0), "arm": np.arange(4)}
    read["block"] = None if blocks is None else np.array(blocks)
    if kept is None:
        with pytest.raises(hf.InvalidParameter, match="must have losses that are final"):
            _known_rounds(read, missing)
    else:
        found = _known_rounds(read, missing)
        assert list(zip(found["arm"], found["loss"], strict=True)) == kept


def test_the_table_of_a_log_is_what_was_estimated():
    rng = np.random.default_rng(8)
    arms = rng.integers(2, size=500)
    frame = pl.DataFrame({"a": np.array(["east", "west"])[arms], "l": rng.random(500) + arms, "p": np.full(500, 0.5)})
    found = evaluate_log(frame, {"arm": "a", "loss": "l", "probability": "p", "block": "rounds"}, [0.0, 2.5])
    for lam in (0.0, 2.5):
        head, *rows, played = found._table(lam)
        assert head == [f"λ = {lam:g}", "doubly robust", "self-normalised", "inverse propensity", "sample"]
        assert [row[0] for row in rows] == ["only east", "only west", "a random arm", "a draw each round"]
        for name, *cells, sample in rows:
            one: Any = found.found[name]
            costs = [one.cost(lam, kind) for kind in ("doubly_robust", "self_normalised", "inverse_propensity")]
            assert cells == [f"{five_digits(cost.losses)} ± {five_digits(cost.high - cost.losses)}" for cost in costs]
            assert sample == f"{one.effective_blocks:.0f}"
        switches = 1 + (arms[1:] != arms[:-1]).sum()
        assert played[1] == five_digits(frame["l"].sum() + lam * switches)
        assert all(cell in str(found) for row in rows for cell in row)
    (first, *_) = [row for row in found.rows() if row["policy"] == "only west" and row["switching_cost"] == 2.5]
    cost = found.found["only west"].cost(2.5, first["estimator"])
    assert [first[name] for name in ("cost", "cost_low", "cost_high")] == [cost.losses, cost.low, cost.high]


@pytest.mark.plain
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probabilities": None}, r"probabilities must be given for every round: log player.probability"),
        ({"probabilities": [0.5, None, 0.5]}, r"probabilities at row 1 must be given for every round: log player.prob"),
        ({"probabilities": [0.5, math.nan, 0.5]}, r"probabilities at row 1 must be given for every round"),
        (
            {"probabilities": [0.5, 0.5, 0.0]},
            r"probabilities at row 2 must be above 0 and at most 1.*player.probability",
        ),
        ({"probabilities": [0.5, 0.5, 1.5]}, r"probabilities at row 2 must be above 0 and at most 1"),
        ({"probabilities": [0.5, 0.5]}, r"probabilities must be a finite number for each round, 3 of them"),
        ({"losses": [1.0, math.inf, 0.0]}, r"losses at row 1 must be a finite number; got inf"),
        ({"losses": []}, r"losses must be a finite number for each round"),
        ({"losses": np.ma.masked_array([1.0, 2.0, 3.0], mask=[1, 0, 0])}, r"none masked"),
        ({"arms": [0, 1]}, r"arms must be an arm for each of 3 rounds"),
        ({"arms": [0, 1, -1]}, r"arms at row 2 must be a number from 0 to 1; got -1"),
        ({"arms": [0, 1, 5], "n_arms": 3}, r"arms at row 2 must be a number from 0 to 2; got 5"),
        ({"arms": ["a", "b", ""]}, r"arms at row 2 must be the name of an arm"),
        ({"arms": ["a", "b", "NYSIO"], "arm_names": ["a", "b", "NYISO"]}, r"arms at row 2 .* did you mean 'NYISO'"),
        ({"arm_names": ["a", "a"]}, r"arm_names must be a list of different names, .*; got \['a', 'a'\]"),
        ({"arm_names": "ab"}, r"arm_names must be a list of different names, .*; got 'ab'"),
        ({"blocks": "runs"}, r"blocks must be an id for each round, or \"rounds\"; got 'runs'"),
        ({"blocks": [1, 1, 2]}, r"blocks at row 1 must change where the arm or its probability changes"),
        ({"blocks": [1, 2, 1]}, r"blocks must not come back"),
        ({"blocks": [1.0, 2.0, 3.0]}, r"blocks must be an id for each of 3 rounds"),
        ({"confidence": 1.0}, r"confidence must be between 0 and 1"),
    ],
)
def test_what_is_wrong_in_a_log_is_named(change, message):
    good = {"arms": [0, 1, 0], "losses": [0.1, 0.2, 0.3], "probabilities": [0.5, 0.5, 0.5]}
    with pytest.raises(hf.InvalidParameter, match=message):
        hf.LoggedData(**(good | change))


@pytest.mark.plain
@pytest.mark.parametrize(
    ("of_policy", "message"),
    [
        (lambda log: log.of_arm(2), "arm must be a whole number from 0 to 1"),
        (lambda log: log.of_mixture([0.5, 0.6]), "probabilities must be 2 numbers, none negative, that add up to 1"),
        (lambda log: log.of_mixture(["x", "y"]), "probabilities must be 2 numbers, none negative, that add up to 1"),
        (lambda log: log.of_random_hold([1.0]), "probabilities must be 2 numbers"),
        (lambda log: log.of_plan([0, 1]), "arms must be an arm number from 0 to 1 for each of 3 rounds"),
        (lambda log: log.of_plan([0, 1, 2]), "arms must be an arm number from 0 to 1"),
    ],
)
def test_what_is_wrong_in_a_policy_is_named(of_policy, message):
    with pytest.raises(hf.InvalidParameter, match=message):
        of_policy(hf.LoggedData([0, 1, 0], [0.1, 0.2, 0.3], [0.5, 0.5, 0.5]))


@pytest.mark.parametrize("estimator", ["inverse_propensity", "doubly_robust"])
def test_arms_that_were_down_do_not_bias_what_is_said_of_others(estimator):
    """Two blocks of two rounds, arm 0 down in the second round of each, arm 1 played instead: all draws, added up."""
    losses, first = np.array([[0.2, 0.9], [0.5, 0.7], [0.1, 0.4], [0.8, 0.3]]), 0.3
    expected = 0.0
    for one, two in itertools.product(range(2), repeat=2):
        second = 0.6 if one == 0 else 0.2  # it learns
        chance = (first if one == 0 else 1 - first) * (second if two == 0 else 1 - second)
        arms = [one, 1, two, 1]
        q = [first if one == 0 else 1 - first, 1.0, second if two == 0 else 1 - second, 1.0]
        log = hf.LoggedData(
            arms, losses[range(4), arms], q, blocks=[1, 1, 2, 2], n_arms=2, fewest_blocks=0, replaced=True
        )
        expected += chance * getattr(log.of_arm(1), estimator).losses
    assert expected == pytest.approx(losses[:, 1].sum())


def test_an_arm_that_was_added_is_named_with_its_rounds():
    """400 rounds of two arms, then 600 of three: the third can be evaluated from round 401 on."""
    rng = np.random.default_rng(6)
    arms = np.concatenate([rng.integers(0, 2, 400), rng.integers(0, 3, 600)])
    chances = np.repeat([1 / 2, 1 / 3], [400, 600])
    losses = rng.random(1000)
    log = hf.LoggedData(arms, losses, chances, blocks="rounds", arm_names=["a", "b", "c"])
    assert log.of_arm("a").rounds == 1000
    with pytest.raises(
        hf.InvalidParameter, match=r"^arms of this policy were played in rounds 40\d to (999|1000) of 1000"
    ):
        log.of_arm("c")
    later = hf.LoggedData(arms[400:], losses[400:], chances[400:], blocks="rounds", arm_names=["a", "b", "c"])
    assert later.of_arm("c").rounds == 600


@pytest.mark.parametrize("times", [[1, 2, 2, 3], [1, 3, 2, 4]])
def test_time_does_not_run_backwards(times):
    frame = pl.DataFrame({"arm": [0, 1, 0, 1], "loss": [0.5] * 4, "probability": [0.5] * 4, "when": times})
    columns = {"arm": "arm", "loss": "loss", "probability": "probability", "block": "rounds", "time": "when"}
    backwards = times != sorted(times)
    error, words = (
        hf.HoldfastError,
        "'when' that does not run backwards; got 'row 3'" if backwards else "nothing can be",
    )
    with pytest.raises(error, match=words):
        evaluate_log(frame, columns, [0.0])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_between_conversations_there_is_no_switch(tmp_path, suffix):
    policy = hf.AdaptiveTsallisSwitch(arms=["east", "west"], switching_cost=0.0)
    with hf.open("memory:", "chat", policy, seed=3) as chat:
        for number in range(120):
            turn = chat.ask(key=f"c{number}")
            chat.tell(turn.id, 0.2 if turn.arm == "east" else 0.3)
            chat.end(f"c{number}")
        assert chat.history.log["conversation"].all()
        chat.history.export(tmp_path / f"log{suffix}")
    columns = {"arm": "arm", "loss": "loss", "probability": "probability", "block": "block", "time": "time"}
    found = evaluate_log(tmp_path / f"log{suffix}", columns, [0.3, 1.0])
    assert found.switching_costs == (0.0,)
    assert found.log.switches > 1
    assert found.logged_cost(0.0) == pytest.approx(found.log.losses.sum())
    assert found.plain()["notes"] == ["A log of conversations: there is no switch between two of them, so λ = 0."]
    assert "* A log of conversations: there is no switch between two of them" in str(found)
    found.write(tmp_path / "out")
    assert "A log of conversations" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert evaluate_log(tmp_path / f"log{suffix}", columns, [0.0]).notes == ()
