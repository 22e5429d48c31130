"""The ledger of what is claimed of the policy that sees all losses: verdicts follow from what was played."""

import numpy as np
import pytest
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app
from holdfast.evidence import visible_claims
from holdfast.evidence.adaptive_claims import lines
from holdfast.evidence.contestants import play
from holdfast.evidence.visible_claims import BANDIT, BOTH, OWN, TURNS, Exact, claims, exact_game, hostile, worlds
from holdfast.verdicts.ledger import Evidence, judge
from holdfast.verdicts.settings import RunSettings

IDS = ["certificate", "overhead", "most-overhead", "theorem-3", "work-function", "seeing-is-worth-it", "no-harm"]


@pytest.mark.slow
def test_every_claim_is_judged(monkeypatch) -> None:
    monkeypatch.setattr(visible_claims, "COSTS", (0.1, 1.0))
    verdicts = visible_claims.judged(replications=4, horizon=1000, rounds=100, seed=1)
    assert [verdict.id for verdict in verdicts] == IDS
    assert [verdict.verdict for verdict in verdicts[:5]] == ["holds"] * 5
    assert len(verdicts[5].parts) == len(worlds(1000)) == 10
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
    where = {name: world for name, world in worlds(1000).items() if name == "seasonal-cheap"}
    table = play(BOTH, where["seasonal-cheap"], replications=10, seed=1)
    bad = claims({"a": Exact(1.01, 1.6, 1.1, 1.1)}, {"b": 1.2}, where)
    assert [v.verdict for v in judge(bad[:5], Evidence({}, RunSettings()))] == ["fails"] * 5
    good = claims({"a": Exact(0.9, 1.4, 0.8, 0.2)}, {"b": 0.2}, where)
    assert [v.verdict for v in judge(good[:5], Evidence({}, RunSettings()))] == ["holds"] * 5
    evidence = Evidence({"seasonal-cheap": table}, RunSettings())
    assert judge([good[5]], evidence)[0].verdict == "holds"
    names = {OWN: BANDIT, BANDIT: OWN}
    swapped = hf.Result(table.frame.with_columns(table.frame["policy"].replace(names)), table.provenance)
    assert judge([good[5]], Evidence({"seasonal-cheap": swapped}, RunSettings()))[0].verdict == "fails"


def test_the_command_refuses_what_is_not_claimed() -> None:
    said = CliRunner().invoke(app, ["claims", "--about", "everything"])
    assert isinstance(said.exception, hf.HoldfastError)
