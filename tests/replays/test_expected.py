"""Expected cost of a mixture of experts, against a player round by round: with forecasts, closed arms, pair costs."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from statistics_of_samples import assert_mean

import holdfast as hf
from holdfast.data.records import read_trace
from holdfast.experts import FixedArm, Smoothed, WorkFunction
from holdfast.replays.games import Forecasts, expected_game, read_forecasts

RNG = np.random.default_rng(11)
ROUNDS, ARMS, LAM = 300, 3, 2.0
HOURS = np.arange(ROUNDS)
# In units from 2 to 12, with days of 12 rounds and an arm that gets worse.
DAY = HOURS / 12 * 2 * np.pi
MEANS = np.column_stack([0.4 + 0.3 * np.sin(DAY), 0.5 - 0.2 * np.cos(DAY), 0.45 + HOURS / 900])
LOSSES = 2 + 10 * np.clip(MEANS + 0.1 * RNG.standard_normal((ROUNDS, ARMS)), 0, 1)
CLOSED = RNG.random((ROUNDS, ARMS)) < 0.2
CLOSED[CLOSED.all(axis=1)] = False


def by_hand(player, losses, lam, *, closed=None, forecast=None):
    """Expected losses and switches from the distributions that a player shows, as a user would add them up."""
    lost = moved = 0.0
    before = np.zeros(losses.shape[1])
    for t, row in enumerate(losses):
        given = {}
        if closed is not None:
            given["available"] = (~closed[t]).tolist()
        if forecast is not None:
            given["forecast"] = forecast(t)
        player.ask(**given)
        now = player.probabilities.copy()
        lost += now @ row
        moved += np.maximum(now - before, 0).sum()
        before = now
        player.tell(np.where(closed[t], np.nan, row).tolist() if closed is not None else row.tolist())
    return lost, moved


def policy(**settings):
    return hf.AdaptiveHedgeSwitch(ARMS, switching_cost=LAM, units=(2, 12), **settings)


def test_without_more():
    game = expected_game(policy(forecast_rounds=0), LOSSES, [1, 77, ROUNDS])
    for number, stop in enumerate((1, 77, ROUNDS)):
        lost, moved = by_hand(policy(forecast_rounds=0).player(seed=1), LOSSES[:stop], LAM)
        assert game.losses[number] == pytest.approx(lost, rel=1e-12)
        assert game.switches[number] == pytest.approx(moved, rel=1e-9)
        assert game.paid[number] == pytest.approx(LAM * moved, rel=1e-9)


def test_the_arms_are_those_of_a_player_of_that_seed():
    game = expected_game(policy(forecast_rounds=0), LOSSES, [ROUNDS], seed=5)
    player = policy(forecast_rounds=0).player(seed=5)
    arms = []
    for row in LOSSES:
        arms.append(player.ask())
        player.tell(row.tolist())
    assert game.arms.tolist() == arms


def test_arms_that_are_not_available():
    filled = np.where(CLOSED, 12.0, LOSSES)
    game = expected_game(policy(forecast_rounds=0), filled, [ROUNDS], closed=CLOSED)
    lost, moved = by_hand(policy(forecast_rounds=0).player(seed=1), filled, LAM, closed=CLOSED)
    assert (game.losses[-1], game.switches[-1]) == pytest.approx((lost, moved), rel=1e-9)
    assert not CLOSED[np.arange(ROUNDS), game.arms].any()


@pytest.fixture(scope="module")
def forecasts():
    """Issued every ten rounds for the next 30, with errors; the newest counts."""
    issued = [(t, r) for t in range(0, ROUNDS, 10) for r in range(t, t + 30)]
    future = np.concatenate([LOSSES, LOSSES])
    table = np.array([future[r] for _, r in issued]) + RNG.standard_normal((len(issued), ARMS))
    return Forecasts.of([t for t, _ in issued], [r for _, r in issued], table)


def test_forecasts(forecasts):
    game = expected_game(policy(), LOSSES, [ROUNDS], forecasts=forecasts)

    def forecast(t):
        last = 10 * (t // 10)
        rows = [
            i
            for i, (at, r) in enumerate(zip(forecasts.known_at, forecasts.rounds, strict=True))
            if at == last and r >= t
        ]
        return forecasts.losses[rows]

    lost, moved = by_hand(policy().player(seed=1), LOSSES, LAM, forecast=forecast)
    assert (game.losses[-1], game.switches[-1]) == pytest.approx((lost, moved), rel=1e-9)
    assert lost + LAM * moved < sum(by_hand(policy(forecast_rounds=0).player(), LOSSES, LAM))  # they are good ones


def test_a_forecast_is_not_known_before_it_is_issued(forecasts):
    """Nothing that is issued later changes anything before."""
    half = Forecasts.of(
        forecasts.known_at, forecasts.rounds, np.where(forecasts.known_at[:, None] >= 150, 7.0, forecasts.losses)
    )
    marks = [150, ROUNDS]
    one, other = (expected_game(policy(), LOSSES, marks, forecasts=given) for given in (forecasts, half))
    assert one.losses[0] == other.losses[0]
    assert one.losses[1] != other.losses[1]


def test_a_part_of_a_record_knows_the_forecasts_that_were_issued_before(forecasts):
    part = forecasts.part(105, 205)
    assert part.known_at.min() == 0
    assert part.rounds.min() == 0
    newest = {}
    for at, r, row in zip(forecasts.known_at, forecasts.rounds, forecasts.losses, strict=True):
        if at <= 105 and r >= 105:
            newest[r - 105] = row
    known = {r: row for at, r, row in zip(part.known_at, part.rounds, part.losses, strict=True) if at == 0}
    assert known.keys() == newest.keys()
    assert all((known[r] == newest[r]).all() for r in known)


def test_some_of_the_paths_only():
    whole = policy(forecast_rounds=0)
    only = [i for i, expert in enumerate(whole.mixed) if isinstance(expert, (FixedArm, WorkFunction))]
    fewer = policy(
        experts=[expert for expert in whole.mixed if isinstance(expert, (FixedArm, WorkFunction))], forecast_rounds=0
    )
    masked = expected_game(whole, LOSSES, [ROUNDS], only=only)
    alone = expected_game(fewer, LOSSES, [ROUNDS])
    assert masked.losses[-1] == pytest.approx(alone.losses[-1], rel=1e-12)
    assert masked.paid[-1] == pytest.approx(alone.paid[-1], rel=1e-9)
    assert any(isinstance(expert, Smoothed) for expert in whole.mixed)


def test_a_cost_for_each_pair_is_paid_on_average():
    """Exact, against the mean of 400 games: a difference of 2 in about 1,700 would be seen."""
    pairs = [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
    experts = [*(FixedArm(arm) for arm in range(ARMS)), WorkFunction(1.0)]  # few kinds compile in less time
    rival = hf.AdaptiveHedgeSwitch(ARMS, switching_cost=pairs, units=(2, 12), experts=experts, forecast_rounds=0)
    game = expected_game(rival, LOSSES[:100], [100])
    costs = []
    for replication in range(400):
        player = rival.player(seed=3, replication=replication)
        arms = []
        for row in LOSSES[:100]:
            arms.append(player.ask())
            player.tell(row.tolist())
        paid = sum(pairs[a][b] for a, b in pairwise(arms))
        costs.append(LOSSES[np.arange(100), arms].sum() + paid)
    assert_mean(costs, game.losses[-1] + game.paid[-1], sees=6.0)


# ---- reading them ----

TIMES = pl.datetime_range(pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 1, 9), interval="1h", eager=True)
RECORD = pl.DataFrame({"hour": TIMES, "a": [0.5] * 10, "b": [0.25] * 10})


def table(issued, rounds, a=None):
    return pl.DataFrame({"issued": issued, "round": rounds, "b": [0.1] * len(issued), "a": a or [0.9] * len(issued)})


def test_rounds_by_number_and_by_time_are_the_same():
    trace = read_trace(RECORD, index="hour")
    numbers = read_forecasts(table([0, 0, 3, 3], [0, 1, 4, 3]), trace)
    times = read_forecasts(table([TIMES[i] for i in (0, 0, 3, 3)], [TIMES[i] for i in (0, 1, 4, 3)]), trace)
    for found in (numbers, times):
        assert found.known_at.tolist() == [0, 0, 3, 3]
        assert found.rounds.tolist() == [0, 1, 4, 3]
        assert found.losses[0].tolist() == [0.9, 0.1]  # in the order of the record
    earned = read_forecasts(table([0], [0]), trace, negative=True)
    assert earned.losses.tolist() == [[-0.9, -0.1]]
    between = TIMES[2] + (TIMES[3] - TIMES[2]) / 2
    assert read_forecasts(table([between] * 2, [TIMES[3], TIMES[5]]), trace).known_at.tolist() == [3, 3]


def test_what_is_over_when_it_is_issued_and_what_is_after_the_record_is_left_out():
    trace = read_trace(RECORD, index="hour")
    assert read_forecasts(table([3, 3], [2, 3]), trace).rounds.tolist() == [3]
    late = TIMES[9] + (TIMES[9] - TIMES[8])
    assert read_forecasts(table([TIMES[8]] * 2, [TIMES[9], late]), trace).rounds.tolist() == [9]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (table([0], [0]).drop("a"), "must have the columns issued, round and one for each arm; there is no 'a'"),
        (table([0, None], [0, 1]), "must have a value in row 2, column 'issued'"),
        (table([0, 0], [0, 1], [0.5, None]), "must have a finite number in row 2, column 'a'"),
        (table([100], [100]), r"must be about the rounds 0 to 9 of the record"),
        (table(["x"], ["y"]), "must have in column 'issued' the numbers of rounds, from 0, or times"),
    ],
)
def test_forecasts_that_cannot_be_read(frame, message):
    with pytest.raises(hf.InvalidParameter, match=f"^forecasts {message}"):
        read_forecasts(frame, read_trace(RECORD, index="hour"))
