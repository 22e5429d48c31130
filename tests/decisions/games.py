"""Games that the tests of decisions play."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

import holdfast as hf
from holdfast.decisions.executor import stored_state
from holdfast.decisions.requests import Request
from holdfast.decisions.rules import TRANSITIONS, View, arms, ask, change, conversations, report


@dataclass(frozen=True)
class Work(Request):
    """A request that does what a test wants, in the middle of a transaction."""

    do: Callable[[View], Any]


TRANSITIONS[Work] = lambda view, request: request.do(view)


def replace_in_rules(monkeypatch: pytest.MonkeyPatch, name: str, new: object) -> None:
    """Put something else in the place of a name, in every module of the rules that has it."""
    for module in (arms, ask, change, conversations, report):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, new)


SWITCH = hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=1.5)
"""Blocks of 2, 2, 3, 3, … rounds: `hf.AdaptiveTsallisSwitch` or any other can be put here."""

POLICIES = {
    "adaptive": hf.AdaptiveTsallisSwitch(3, switching_cost=1.5),
    "tsallis-switch": SWITCH,
    "reduced variance": hf.TsallisSwitch(4, switching_cost=0.7, estimator="reduced-variance"),
    "tsallis-inf": hf.TsallisInf(3),
    "exp3": hf.Exp3(3),
    "exp3-blocks": hf.BlockExp3(3, switching_cost=0.5, horizon=500),
    "base": hf.BaSE(3, horizon=500, order="random"),
    "own units": hf.TsallisSwitch(3, switching_cost=40.0, units=(-64.0, 64.0)),
}


def loss_of(t: int, arm: object, policy: hf.Policy = SWITCH) -> float:
    """A loss with an ugly binary fraction, in the policy's units."""
    number = policy.arms.index(arm) if policy.arms else int(arm)
    low, high = policy.bounds
    return low + (high - low) * (((7 * t + 3 * number) % 10) / 10)


def play(router: hf.Router, rounds: int, start: int = 0) -> list[object]:
    """Ask and tell at once; the arms."""
    arms: list[object] = []
    for t in range(start, start + rounds):
        decision = router.ask()
        router.tell(decision.id, loss_of(t, decision.arm, router.policy))
        arms.append(decision.arm)
    return arms


def refuse(cases: Iterable[tuple[str, Callable[..., object]]], kind: type[Exception] = hf.InvalidParameter) -> None:
    """Each call is refused by its rule."""
    for rule, call in cases:
        with pytest.raises(kind, match=rule):
            call()


def learnt(router: hf.Router) -> dict[str, Any]:
    """What the policy has learnt, as it is saved."""
    return router.executor.read(lambda stored, setup: stored_state(setup, stored)).learner.saved_state()


def snapshot(router: hf.Router) -> object:
    """All that may not change when something is refused."""
    return router.history.totals, router.open_decisions, router.history.frame.rows(), router.probabilities.tolist()


def arms_of(decisions: Iterable[hf.Decision]) -> list[object]:
    return [decision.arm for decision in decisions]


def stored_asks(router: hf.Router, table: str = "asks") -> list[int]:
    """The block of each stored row of asks, or of losses."""
    with router.store.transaction(1, writing=False) as stored:
        return [block for (block,) in stored.fetch(f"SELECT block FROM holdfast_{table} WHERE game = 1 ORDER BY block")]
