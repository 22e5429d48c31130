"""The ledger of what is claimed of the policy that sees all losses: verdicts follow from what was played."""

import full_information_claims
import numpy as np
import pytest
from adaptive_claims import lines
from arena import CHANGING, entries_of, laid_out
from full_information_claims import BANDIT, CLAIMS, OWN, TURNS, Exact, Played, exact_game, hostile, play

import holdfast as hf
from holdfast.lab.judge import judge
from holdfast.lab.tables import Tables

IDS = ["certificate", "overhead", "most-overhead", "theorem-3", "work-function", "seeing-is-worth-it", "no-harm"]


@pytest.mark.slow
def test_every_claim_is_judged(monkeypatch) -> None:
    monkeypatch.setattr(full_information_claims, "COSTS", (0.1, 1.0))
    verdicts = judge(CLAIMS, play(replications=4, horizon=1000, rounds=100, seed=1))
    assert [verdict.id for verdict in verdicts] == IDS
    assert [verdict.verdict for verdict in verdicts[:5]] == ["holds"] * 5
    assert len(verdicts[5].parts) == len(CHANGING) == 10
    assert len(lines(verdicts)) == len(IDS) + sum(len(verdict.parts) for verdict in verdicts)


def test_an_exact_game_is_what_is_added_up_by_hand() -> None:
    """The certificate's use against sums made here, with long games' losses that hunt."""
    policy = hf.AdaptiveHedgeSwitch(3, switching_cost=0.5, forecast_rounds=0)
    game = exact_game(policy, hostile("hunt", 3, 200, 0), 200)
    player, cost, before, used = policy.player(seed=0), 0.0, np.zeros(3), 0.0
    C, was = np.zeros(len(policy.mixed)), None
    for _ in range(200):
        player.ask()
        P, at = player.probabilities, np.array([int(a) for a in player._state.at])
        row = np.eye(3)[np.argmax(P)]
        cost += P @ row + 0.5 * np.abs(P - before).sum() / (1 if was is None else 2)
        C += row[at] + 0.5 * (True if was is None else at != was)
        before, was = P, at
        player.tell(row.tolist())
        used = max(used, (cost - C.min()) / player.certificate)
    assert game.used == pytest.approx(used)
    assert game.overhead == pytest.approx((cost - C.min()) / np.sqrt(1.5 * C.min() * np.log(len(C))))
    root = np.sqrt(2 * C.min() * np.log(len(C)))
    assert game.share == pytest.approx((cost - C.min()) / (2 * root + 1.5 * np.log(len(C))))
    assert 0 < game.proved < 1


def test_arms_that_lose_in_turn_are_dearer_than_other_hostile_losses() -> None:
    """In rounds 0, 1 the first arm loses, then the second, and from 5/6 of the game on all but the last."""
    losses = hostile(TURNS, 3, 12, 0)
    rows = np.array([losses(t, np.zeros(3)) for t in range(12)])
    assert rows[:10].tolist() == np.eye(3)[[0, 0, 1, 1, 2, 2, 0, 0, 1, 1]].tolist()
    assert rows[10:].tolist() == [[1, 1, 0], [1, 1, 0]]
    policy = hf.AdaptiveHedgeSwitch(8, switching_cost=10.0, forecast_rounds=0)
    game = exact_game(policy, hostile(TURNS, 8, 300, 0), 300)
    assert game.overhead > 2
    assert game.share < 1


def test_what_does_not_hold_fails() -> None:
    """Numbers beyond the thresholds, and the two policies in each other's place."""
    setting = laid_out(1000)["seasonal-cheap"]
    bad = Played(games={"a": Exact(1.01, 1.6, 1.1, 1.1)}, shares={"b": 1.2})
    assert [v.verdict for v in judge(CLAIMS, bad)] == ["fails"] * 5
    good = Played(games={"a": Exact(0.9, 1.4, 0.8, 0.2)}, shares={"b": 0.2})
    assert [v.verdict for v in judge(CLAIMS, good)] == ["holds"] * 5
    table = setting.cell(list(entries_of((OWN, BANDIT)).values()), replications=10, seed=1).play()
    names = {OWN: BANDIT, BANDIT: OWN}
    swapped = hf.Result(table.frame.with_columns(table.frame["policy"].replace(names)), table.provenance)
    for result, expected in ((table, "holds"), (swapped, "fails")):
        played = Played(Tables({setting.name: result}), {setting.name: setting})
        assert judge([CLAIMS[5]], played)[0].verdict == expected
