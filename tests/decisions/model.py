"""The rules of decisions, written down once more as simply as possible: everything in lists, nothing forgotten."""

import hashlib
import itertools
import math
from dataclasses import dataclass, field

import numpy as np

import holdfast as hf
from holdfast.players.game import Game


@dataclass(eq=False)
class ModelBlock:
    arm: int
    rounds: int
    values: np.ndarray
    handed: int = 0
    losses: dict[int, float] = field(default_factory=dict)
    late: dict[int, float] = field(default_factory=dict)
    forced: bool = False
    key: str | None = None
    live: bool = False
    learnt: bool = False
    last: float = 0.0
    by: list[int] = field(default_factory=list)
    """Which arm played each round."""
    due: float | None = None
    began: int = 0
    settled: bool = False


class Model:
    """A game of `policy` with losses in [0, 1]."""

    def __init__(
        self,
        policy: hf.Policy,
        seed: int,
        seconds: float | None,
        rounds: int | None,
        missing: object,
        *,
        auto: bool = False,
        holdback: float = 0.0,
        learn_after: int | None = None,
    ) -> None:
        self.holdback = holdback
        self.learn_after = math.inf if learn_after is None else learn_after
        self.auto = auto and not policy.waits_for_losses
        self.late_by = 0.0
        self.heard = 0
        self.key_life = 3600.0
        self.policy, self.seconds, self.rounds_of_patience, self.missing = policy, seconds, rounds, missing
        self.game = Game(policy, seed)
        self.blocks: list[ModelBlock] = []
        self.current: ModelBlock | None = None
        self.played: list[int] = []
        self.paused: dict[int, float] = {}
        self.pin: tuple[int, float] = (0, -math.inf)
        self.asked = 0
        self.clock = self.seen = -math.inf
        self.known: dict[int, list[float]] = {}
        """Losses that counted in settled blocks, by arm."""

    def _settle(self, block: ModelBlock) -> None:
        told, rounds = list(block.losses.values()), block.rounds
        left = rounds - len(told)
        if left and self.missing == "drop":
            rounds = len(told)
        elif left:
            earlier = self.known.get(block.arm, [])
            pool = told or earlier
            mean = math.fsum(pool) / len(pool) if pool else 0.5
            told = [*told, (mean if self.missing == "mean" else self.missing) * left]
        total, weight = min(max(math.fsum(told), 0.0), float(rounds)), float(rounds)
        if block.key and rounds and not block.forced:
            total, weight = total / rounds * block.values[1], block.values[1]
        if not block.forced and not block.learnt and (rounds or self.policy.waits_for_losses):
            self.game.observe(block.values, total, weight)
        for place, loss in block.losses.items():
            self.known.setdefault(block.by[place], []).append(loss)
        block.settled, self.clock = True, self.seen

    def at(self, now: float) -> None:
        """Time goes on: settle what is due, those due first first. It is kept by what settles a block, and by asks."""
        self.seen = max(self.clock, now)
        if not self.auto:  # then it is looked at by asks
            self._settle_due()

    def expire(self, now: float) -> None:
        """Settle what is due, and keep the time in any case."""
        self.at(now)
        self._settle_due()
        self._end_idle()
        self.clock = self.seen

    def _end_idle(self) -> None:
        for block in sorted((b for b in self.blocks if b.live), key=lambda b: b.last):
            if self.seen - block.last > self.key_life:
                self._end(block)

    def _end(self, block: ModelBlock) -> None:
        block.live, self.clock = False, self.seen
        self._set_due(block)
        if len(block.losses) == block.rounds:
            self._settle(block)

    def end(self, key: str, now: float) -> bool:
        self.expire(now)
        live = [b for b in self.blocks if b.live and b.key == key]
        for block in live:
            self._end(block)
        return bool(live)

    def _begin(self, rule: int) -> ModelBlock:
        """The next block: the policy's, or the rule's, of which the policy does not hear."""
        text = self.game.stream.astype("<u8").tobytes() + str(len(self.blocks) + 1).encode()
        chance = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") / 2**64
        if chance < self.holdback:
            _, rounds = self.game.copy().begin()
            return ModelBlock(rule, rounds, np.zeros(0), forced=True)
        arm, rounds = self.game.begin()
        return ModelBlock(arm, rounds, self.game.block.copy())

    def _go_on(self, key: str, n: int, down: set[int], rule: int) -> list[tuple[int, int, int]]:
        live = [b for b in self.blocks if b.live and b.key == key]
        if not live:
            block = self._begin(rule)
            block.rounds, block.key, block.live = 0, key, True
            live = [block]
            self.blocks += live
        (block,) = live
        block.began, self.clock = self.asked - block.rounds, self.seen
        block.by += [self._plays(block, down, block.arm)] * n
        block.rounds, block.handed, block.last, self.asked = (
            block.rounds + n,
            block.rounds + n,
            self.seen,
            self.asked + n,
        )
        return [(block.by[r], self.blocks.index(block) + 1, r) for r in range(block.rounds - n, block.rounds)]

    def _settle_due(self, asked: int = 0) -> None:
        mark = self.seen if self.seconds is not None else self.asked
        if self.auto:
            mark -= max(50.0, 3.0 * self.late_by, 3.0 * asked) if self.heard else math.inf
        due = [b for b in self.blocks if not b.settled and b.due is not None and b.due <= mark]
        for block in sorted(due, key=lambda b: b.due or 0.0):
            self._settle(block)

    def _plays(self, block: ModelBlock, down: set[int], rule: int) -> int:
        wanted = rule if block.forced else block.arm
        if wanted not in down:
            return wanted
        game = self.game.copy()
        if block.forced:
            game.begin()
        else:
            game.block[:] = block.values
        p = [-1.0 if arm in down else chance for arm, chance in enumerate(game.probabilities())]
        return p.index(max(p))

    def ask(
        self, n: int, available: set[int] | None = None, key: str | None = None, rule: int = 0
    ) -> list[tuple[int, int, int]]:
        """Arm, block and round of each decision."""
        given: list[tuple[int, int, int]] = []
        whole: list[ModelBlock] = []
        down = {arm for arm, until in self.paused.items() if until > self.seen}
        down |= set() if available is None else set(range(self.policy.n_arms)) - available
        if len(down) == self.policy.n_arms:
            return []
        self._settle_due(n)
        self._end_idle()
        if self.pin[1] > self.seen and self.pin[0] not in down:
            arm, first = self.pin[0], self.asked
            self.clock, self.asked = self.seen, self.asked + n
            self.blocks.append(ModelBlock(arm, n, np.zeros(0), n, began=first, forced=True, by=[arm] * n))
            self.played += [arm] * n
            self._set_due(self.blocks[-1])
            return [(arm, len(self.blocks), place) for place in range(n)]
        if key is not None:
            return self._go_on(key, n, down, rule)
        while len(given) < n:
            if self.current is None or self.current.handed == self.current.rounds:
                if self.policy.waits_for_losses and self.current is not None and not self.current.settled:
                    break
                self.current = self._begin(rule)
                self.current.began = self.asked
                self.blocks.append(self.current)
            block = self.current
            arm = self._plays(block, down, rule)
            block.by.append(arm)
            self.played.append(arm)
            given.append((arm, self.blocks.index(block) + 1, block.handed))
            self.clock = self.seen
            block.handed += 1
            self.asked += 1
            if block.handed == block.rounds:
                whole.append(block)
        for block in whole:  # patience begins when the call is done
            self._set_due(block)
        return given

    def _set_due(self, block: ModelBlock) -> None:
        if self.seconds is not None:
            block.due = self.clock + self.seconds
        if self.auto:
            block.due = self.asked
        if self.rounds_of_patience is not None:
            block.due = self.asked + self.rounds_of_patience

    def tell(self, number: int, place: int, loss: float) -> str:
        """``new``, ``repeated``, ``other`` or ``late``."""
        block = self.blocks[number - 1]
        for recorded, answer in ((block.losses, "repeated"), (block.late, "late")):
            if place in recorded:
                return answer if recorded[place] == loss else "other"
        self.heard += 1
        late = self.asked - block.began - place - 1
        self.late_by += (late - self.late_by) / min(self.heard, 1000)
        if block.settled:
            block.late[place] = loss
            return "late"
        block.losses[place] = loss
        if len(block.losses) == block.rounds and not block.live:
            self._settle(block)
        elif len(block.losses) == block.rounds >= self.learn_after and not block.forced and not block.learnt:
            mean = math.fsum(block.losses.values()) / block.rounds
            self.game.observe(block.values, mean * block.values[1], block.values[1])
            block.learnt = True
        return "new"

    @property
    def switches(self) -> int:
        arms = [None, *self.played]
        return sum(a != b for a, b in itertools.pairwise(arms))

    @property
    def out(self) -> list[tuple[int, int]]:
        """Decisions that are out."""
        return [
            (number, place)
            for number, block in enumerate(self.blocks, 1)
            if not block.settled
            for place in range(block.handed)
            if place not in block.losses
        ]
