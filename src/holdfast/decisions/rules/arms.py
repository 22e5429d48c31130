"""Which arm plays a round: the block's, or another while that is down; the policy's, or the operator's rule."""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.decisions.codec import block_text, block_values
from holdfast.decisions.models import BY_RULE, Block
from holdfast.decisions.rules.report import View
from holdfast.decisions.settings import Setup


class HandOut(NamedTuple):
    """What is the same for all rounds that one call hands out."""

    clock: float
    request: str
    cost: float | None
    """Of a switch, where it was announced."""
    announced: float
    """What the policy is told when a block begins."""
    bound: float | None
    """The highest loss of blocks that begin, where it was announced."""
    down: frozenset[int]
    """Arms that are not available."""
    rule: int | None
    """The arm that the operator's rule would choose."""
    asked: int
    """Rounds handed out in all when the call is done: from there patience is counted, since none of its rounds can have
    a loss before."""


def who_plays(view: View, block: Block, rule: int, down: frozenset[int]) -> tuple[int, float]:
    """The arm that plays a round of a block, and the probability of that."""
    if block.forced and rule in down:  # what the policy would play rather, if it were its turn
        learner = view.learner().copy()
        learner.begin()
        rule = view.setup.active[learner.next_best(_mask(view.setup, down))]
    if block.forced:
        return rule, 1.0
    return _next_best(view, block, down) if down else (block.arm, block.probability)


def with_stretch(played: str, rounds: range, arm: int, probability: float) -> str:
    """Append rounds to the record of who played a block; the last entry grows where arm and chance are the same."""
    stretches = json.loads(played or "[]")
    if stretches and [sum(stretches[-1][:2]), *stretches[-1][2:]] == [rounds.start, arm, probability]:
        stretches[-1][1] += len(rounds)
    else:
        stretches.append([rounds.start, len(rounds), arm, probability])
    return json.dumps(stretches)


def _mask(setup: Setup, down: frozenset[int]) -> NDArray[np.bool_]:
    return np.array([arm in down for arm in setup.active])


def _next_best(view: View, block: Block, down: frozenset[int]) -> tuple[int, float]:
    """The arm that is played while some are down, and the probability of that: docs/availability.md."""
    setup, learner = view.setup, view.learner()
    learner.block[:] = block_values(setup, block)
    mask = _mask(setup, down)
    best, p = learner.next_best(mask), learner.probabilities()
    instead = setup.active[best]
    played, probability = (instead, float(p[best])) if block.arm in down else (block.arm, block.probability)
    return played, min(probability + float(p[mask].sum()), 1.0) if played == instead else probability


def held_back(view: View, call: HandOut, key: str | None = None) -> Block | None:
    """The next block, where it is the rule's. The policy does not hear of it: its draw is recorded and taken back."""
    setup, number = view.setup, view.head.block + 1
    learner = view.learner()
    if call.rule is None or chance(learner.stream, number) >= setup.settings.holdback:
        return None
    values = learner.copy().begin_some(0.0, 1.0)[0].tolist()
    values[0] = float(setup.active[int(values[0])])
    rounds, data = int(values[1]) if key is None else 0, block_text(setup, values)
    live = int(key is not None)
    return Block(number, key, call.rule, rounds, 1.0, call.clock, None, BY_RULE, data, view.head.asked, live=live)


def chance(stream: NDArray[np.uint64], number: int) -> float:
    """A number from 0 to 1 that decides whose a block is: by the game's seed, and by nothing that was drawn or lost."""
    digest = hashlib.blake2b(stream.astype("<u8").tobytes() + b"%d" % number, digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64
