"""The state of a game, inside a transaction: arms that are paused or pinned, probabilities, open decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, cast

import numpy as np

from holdfast.decisions.breaker import fuses_of
from holdfast.decisions.codec import block_values
from holdfast.decisions.executor import stored_state
from holdfast.decisions.models import Block, Decision, HandedOut, Loss
from holdfast.decisions.rules.arms import given_under_shares, no_stand_ins
from holdfast.decisions.settings import Setup, odds_of
from holdfast.decisions.stores.sql import Transaction
from holdfast.errors import OutOfTurn
from holdfast.numerics.layout import Array

if TYPE_CHECKING:
    from holdfast.policies.guarded import Guard, Guarding


def paused(transaction: Transaction, setup: Setup, now: float = -inf) -> dict[int | str, float]:
    """Return `Router.paused` inside a transaction, as of the latest time seen."""
    clock, found = max(transaction.head.clock, now), dict(setup.paused)
    for arm, fuse in fuses_of(transaction.head.breakers).items():
        if fuse.tripped:
            found[arm] = max(found.get(arm, 0.0), fuse.until)
    return {setup.names[arm]: until for arm, until in sorted(found.items()) if until > clock}


def pinned(transaction: Transaction, setup: Setup, now: float = -inf) -> int | str | None:
    """Return `Router.pinned` inside a transaction, as of the latest time seen."""
    pin = setup.pin
    return None if pin is None or pin[1] <= max(transaction.head.clock, now) else setup.names[pin[0]]


def shares(transaction: Transaction, setup: Setup, now: float = -inf) -> dict[int | str, float]:
    """Return `Router.shares` inside a transaction, as of the latest time seen."""
    share, clock = setup.settings.share, max(transaction.head.clock, now)
    if share is None:
        return {}
    known = {setup.names[arm]: share.by_arm.get(str(setup.names[arm])) for arm in setup.active}
    return {name: ramp.at(clock) for name, ramp in known.items() if ramp is not None}


def switches_left(transaction: Transaction, setup: Setup, now: float = -inf) -> int | None:
    """Return `Router.switches_left` inside a transaction, as of the latest time seen."""
    budget = setup.settings.most_switches
    if budget is None:
        return None
    return budget.left(stored_state(setup, transaction).switched, max(transaction.head.clock, now))


def guard_of(transaction: Transaction, setup: Setup) -> Guard:
    """Return `Router.guard` inside a transaction."""
    if not setup.policy.has_guard:
        raise OutOfTurn(f"{setup.policy.label} has no guard: use holdfast.Guarded")
    return cast("Guarding", setup.policy).guard_of(stored_state(setup, transaction).learner.state)


def certificate_of(transaction: Transaction, setup: Setup) -> float:
    """Return `Router.certificate` inside a transaction."""
    policy = setup.policy
    if not policy.full_information:
        raise OutOfTurn(f"{policy.label} has no certificate: it does not see the losses of all arms")
    state = stored_state(setup, transaction).learner.state
    return float(policy.certificate(state))  # type: ignore[attr-defined]  # such policies have one


def probabilities_of(transaction: Transaction, setup: Setup) -> Array:
    """Return `Router.probabilities` inside a transaction."""
    head, learner = transaction.head, stored_state(setup, transaction).learner
    current = transaction.blocks("number", head.current)
    waiting = setup.policy.waits_for_losses and any(block.settled_order is None for block in current)
    if current and not current[0].forced and (head.handed < head.rounds or waiting):
        if current[0].odds:
            odds = odds_of(current[0])
            return np.array([odds.get(arm, 0.0) for arm in setup.active])
        learner.block[:] = block_values(setup, current[0])
        return learner.probabilities()
    return next_probabilities(transaction, setup)


def next_probabilities(transaction: Transaction, setup: Setup) -> Array:
    """Return the distribution of the next block or conversation, by what is known now."""
    if setup.policy.announces is not None:
        raise OutOfTurn(f"the probabilities of the next block depend on its {setup.policy.announces}")
    if not setup.policy.knows_probabilities:
        raise OutOfTurn(f"{setup.policy.label} does not know the probabilities of its arms")
    learner = stored_state(setup, transaction).learner
    learner.begin()
    p = learner.probabilities()
    if setup.settings.share is None:
        return p
    return given_under_shares(setup, p, learner.next_best(no_stand_ins(setup)), transaction.head.clock)


FIRST = 0, -1
"""Position before the first round of the first block."""


def open_decisions_of(
    transaction: Transaction, setup: Setup, after: tuple[int, int] = FIRST, limit: int | None = None
) -> list[Decision]:
    """Return at most `limit` open decisions after this block and round, inside a transaction."""
    found: list[Decision] = []
    blocks = [block for block in transaction.blocks("open") if block.number >= after[0]]
    together = len(blocks) if limit is None else limit
    while blocks and (limit is None or len(found) < limit):
        some, blocks = blocks[:together], blocks[together:]
        found += _open_of_blocks(transaction, setup, some, after)
    return found[:limit]


def _open_of_blocks(
    transaction: Transaction, setup: Setup, some: list[Block], after: tuple[int, int]
) -> Iterator[Decision]:
    blocks = {block.number: block for block in some}
    told = transaction.of_open_blocks(Loss, some[0].number, some[-1].number)
    known = {(loss.block, loss.round) for loss in told}
    counts = Counter(loss.block for loss in told)
    for handed in transaction.of_open_blocks(HandedOut, some[0].number, some[-1].number):
        block = blocks[handed.block]
        elsewhere = block.told - counts[handed.block]  # a fleet may have played it up to this round
        rounds = range(handed.first, handed.first + handed.rounds)
        given = setup.decisions(block, rounds, handed.at)
        for round, decision in zip(rounds, given, strict=True):
            place = block.number, round
            if round >= elsewhere and place not in known and place > after:
                yield decision
