"""Which arm plays a round: the block's, or another while that is down; the policy's choice, or the operator's rule."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.decisions.game import Setup, assigned, block_text, block_values, odds_of, player_of
from holdfast.decisions.models import BY_RULE, MOST_COUNT, Block
from holdfast.decisions.rules.breakers import may_be_tried
from holdfast.decisions.rules.report import View
from holdfast.policies.policy import NOT_KNOWN

MOST_STRETCHES = 64
"""Times that a block or a conversation may be handed to other arms; each ask reads and writes them all."""


class HandOut(NamedTuple):
    """Values common to all rounds that one call hands out."""

    clock: float
    request: str
    content: str
    """Digest of the call, if it has an idempotency key."""
    cost: float | None
    """Switching cost, if announced."""
    announced: float
    """Announcement to the policy for blocks that begin."""
    bound: float | None
    """Highest loss of blocks that begin, if announced."""
    down: frozenset[int]
    """Unavailable arms."""
    tripped: frozenset[int]
    """Those of them that only a breaker keeps from being handed out."""
    rule: int | None
    """Arm chosen by the operator's rule."""
    asked: int
    """Rounds handed out in total after this call.

    Patience counts from there, since none of its rounds can have a loss before.
    """


def who_play(view: View, block: Block, rule: int, rounds: range, call: HandOut) -> Iterator[tuple[range, int, float]]:
    """Yield which rounds of a block an arm plays, and its probability. One round tries an arm that has tripped."""
    wanted, probability = (rule, block.probability) if block.forced else assigned(block)
    while rounds:
        tried = wanted in call.tripped and may_be_tried(view, wanted, call.clock)
        part = rounds[:1] if tried else rounds
        arm, p = (wanted, probability) if tried else who_plays(view, block, rule, call)
        yield part, arm, p
        rounds = rounds[len(part) :]


def who_plays(view: View, block: Block, rule: int, call: HandOut) -> tuple[int, float]:
    """Return the arm that plays a round of a block, and its probability."""
    down = call.down
    if block.forced and rule in down:  # what the policy would play instead
        learner = view.learner().copy()
        learner.begin()
        rule = view.setup.active[learner.next_best(no_stand_ins(view.setup, down))]
    if block.forced:
        return rule, 1.0
    return _next_best(view, block, call) if down else assigned(block)


def with_stretch(played: str, rounds: range, arm: int, probability: float) -> str:
    """Append rounds to a block's record of stand-in arms, extending the last entry if arm and probability match."""
    stretches = json.loads(played or "[]")
    if stretches and [sum(stretches[-1][:2]), *stretches[-1][2:]] == [rounds.start, arm, probability]:
        stretches[-1][1] += len(rounds)
    else:
        stretches.append([rounds.start, len(rounds), arm, probability])
    return json.dumps(stretches)


def changes_hands(block: Block) -> bool:
    """Return True if a block was handed to other arms so often that it ends."""
    return block.played.count("[") > MOST_STRETCHES


def with_shares(setup: Setup) -> frozenset[int]:
    """Return the arms that have a share."""
    share = setup.settings.share
    return frozenset() if share is None else frozenset(a for a in setup.active if str(setup.names[a]) in share.by_arm)


def no_stand_ins(setup: Setup, down: frozenset[int] = frozenset()) -> NDArray[np.bool_]:
    """Return the arms that do not stand in for others: those that are down; those with a share, if others are left."""
    out = down | with_shares(setup)
    return np.array([arm in (out if len(out) < len(setup.active) else down) for arm in setup.active])


def _next_best(view: View, block: Block, call: HandOut) -> tuple[int, float]:
    """Return the arm to play while some are down, and its probability: docs/theory/decisions.md."""
    setup, learner, down = view.setup, view.learner(), call.down
    learner.block[:] = block_values(setup, block)
    best = learner.next_best(no_stand_ins(setup, down))
    if not setup.policy.knows_probabilities:
        own = block.arm
        return (setup.active[best] if own in down else own), NOT_KNOWN
    p = learner.probabilities()
    if block.odds:
        odds = odds_of(block)
        p = np.array([odds.get(arm, 0.0) for arm in setup.active])
    (own, probability), instead = assigned(block), setup.active[best]
    played, probability = (instead, float(p[best])) if own in down else (own, probability)
    if played != instead:
        return played, probability
    out = down - {arm for arm in call.tripped if may_be_tried(view, arm, call.clock)}
    gone = np.array([arm in out for arm in setup.active])
    return played, min(probability + float(p[gone].sum()), 1.0)


def can_stay(view: View, call: HandOut) -> bool:
    """Return True if the arm in use can stay, where no switch is left."""
    return view.head.last_arm in view.setup.active and view.head.last_arm not in call.down


def staying(block: Block, round: int, arm: int) -> tuple[int, float]:
    """Return the arm in use, which plays a round since no switch is left, and its probability.

    It plays whatever the block drew, unless it came into use by that draw: then it goes on as it was.
    """
    before = player_of(block, round - 1) if round else None
    return before if before is not None and before[0] == arm else (arm, 1.0)


def with_arm_in_use(view: View, block: Block) -> Block:
    """Return the policy's latest block, which no switch is left for, as that of the arm in use where it can be."""
    given = _given(view, block, view.head.last_arm, 1.0)
    odds = {"drawn": [block.arm, block.probability], "given": {str(view.head.last_arm): 1.0}}
    return block if given is None else given._replace(odds=json.dumps(odds))


def _given(view: View, block: Block, arm: int, probability: float) -> Block | None:
    """Return the policy's latest block as one of `arm`; None if the policy learns only for arms it has drawn."""
    setup, learner = view.setup, view.learner()
    if not learner.give(setup.active.index(arm), probability):
        return None
    return block._replace(arm=arm, probability=probability, data=block_text(setup, learner.block.tolist()))


def given_under_shares(setup: Setup, p: NDArray[np.float64], best: int, clock: float) -> NDArray[np.float64]:
    """Return the probabilities with which arms get a block drawn with `p`; `best` has what exceeds shares."""
    share = setup.settings.share
    return p if share is None else share.given(p, [setup.names[arm] for arm in setup.active], clock, best)


def within_shares(view: View, block: Block) -> Block:
    """Return the policy's latest block, given to another arm where its own was drawn with more than its share.

    Arm i is drawn with p_i and keeps the block with probability min(1, share/p_i), by a coin of its own. Else the next
    best arm without a share has it. What the policy learns of it: docs/theory/decisions.md.
    """
    setup, learner = view.setup, view.learner()
    p, own, best = learner.probabilities(), setup.active.index(block.arm), learner.next_best(no_stand_ins(setup))
    q = given_under_shares(setup, p, best, block.began)
    player = own if chance(learner.stream, block.number, b"share") * p[own] < q[own] else best
    arm, probability = setup.active[player], float(q[player])
    odds = {str(arm): float(one) for arm, one in zip(setup.active, q, strict=True)}
    block = block._replace(odds=json.dumps({"drawn": [block.arm, float(p[own])], "given": odds}))
    if (given_to := _given(view, block, arm, probability)) is not None:
        return given_to
    if player == own:
        return block._replace(probability=probability)
    return block._replace(played=json.dumps([[0, MOST_COUNT, arm, probability]]))


def compared(view: View, call: HandOut) -> tuple[float, float]:
    """Return `share` and `price` of a block that begins; nothing without a holdback: λ may be announced."""
    share = view.setup.settings.holdback
    if not share:
        return 0.0, 0.0
    return (share if call.rule is not None else -share), float(getattr(view.setup.policy, "switching_cost", 0.0))


def held_back(view: View, call: HandOut, key: str | None = None) -> Block | None:
    """Return the next block if it is the rule's. The policy's draw is recorded and undone: it learns nothing."""
    setup, number = view.setup, view.head.block + 1
    learner = view.learner()
    if call.rule is None or chance(learner.stream, number) >= setup.settings.holdback:
        return None
    values = learner.copy().begin_some(0.0, 1.0)[0].tolist()
    values[0] = float(setup.active[int(values[0])])
    rounds, data = int(values[1]) if key is None else 0, block_text(setup, values)
    share, price = compared(view, call)
    block = Block(number, key, call.rule, rounds, 1.0, call.clock, None, BY_RULE, data, view.head.asked)
    return block._replace(live=int(key is not None), share=share, price=price)


def chance(stream: NDArray[np.uint64], number: int, coin: bytes = b"") -> float:
    """Return the number in [0, 1) that assigns a block, from the game's seed alone: no draw or loss affects it."""
    digest = hashlib.blake2b(stream.astype("<u8").tobytes() + b"%d" % number + coin, digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64
