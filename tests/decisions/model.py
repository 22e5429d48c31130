"""The rules of decisions, written down once more as simply as possible: everything in lists, nothing forgotten."""

import hashlib
import itertools
import math
from dataclasses import dataclass, field

import numpy as np

import holdfast as hf
from holdfast.players.game import Game


def said_of(receipt: hf.Receipt) -> str:
    """A receipt in the words of `Model.tell`."""
    return {(True, False): "new", (False, False): "repeated", (True, True): "late"}.get(receipt[1:], "repeated late")


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
    since: float = 0.0
    """When it began."""
    whole: float = 0.0
    """When its last round was handed out, or its conversation ended."""
    stand_in: float | None = None
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
        self.auto = auto
        self.late_by = self.late_seconds = 0.0
        self.heard = self.late = 0
        self.key_life = 3600.0
        self.policy, self.seconds, self.rounds_of_patience, self.missing = policy, seconds, rounds, missing
        self.game = Game(policy, seed)
        self.blocks: list[ModelBlock] = []
        self.current: ModelBlock | None = None
        self.played: list[int] = []
        self.paused: dict[int, float] = {}
        self.pin: tuple[int, float] = (0, -math.inf)
        self.asked = 0
        self.clock = self.seen = self.was = -math.inf
        self.leap = 0.0
        self.known: dict[int, list[float]] = {}
        """Losses that counted in settled blocks, by arm."""

    def _counts(self, block: ModelBlock) -> tuple[float, float]:
        """Total and rounds of a block, by what has come and what stands for the rest."""
        told, rounds = list(block.losses.values()), block.rounds
        if block.stand_in is None:
            rounds = len(told)
        else:
            told = [*told, block.stand_in * (rounds - len(told))]
        total, weight = min(max(math.fsum(told), 0.0), float(rounds)), float(rounds)
        if block.key and rounds and not block.forced:
            total, weight = total / rounds * block.values[1], block.values[1]
        return total, weight

    def _settle(self, block: ModelBlock) -> None:
        if len(block.losses) < block.rounds and self.missing != "drop":
            pool = list(block.losses.values()) or self.known.get(block.arm, [])
            mean = math.fsum(pool) / len(pool) if pool else 0.5
            block.stand_in = {"mean": mean, "highest": 1.0}.get(self.missing, self.missing)
        total, weight = self._counts(block)
        rounds = block.rounds if block.stand_in is not None else len(block.losses)
        if not block.forced and not block.learnt and (rounds or self.policy.waits_for_losses):
            self.game.observe(block.values, total, weight)
        for place, loss in block.losses.items():
            self.known.setdefault(block.by[place], []).append(loss)
        block.settled, self.clock = True, self.seen

    def at(self, now: float) -> None:
        """Time goes on: settle what is due, those due first first. It is kept by what settles a block, and by asks."""
        if 600.0 < self.clock - self.was < math.inf:
            self.leap = self.clock - self.was
        if self.leap and self.clock - now > self.leap / 2:
            self._take_back(max(now, self.clock - self.leap))
        self.was, self.seen = self.clock, max(self.clock, now)
        if not self.auto:  # then it is looked at by asks
            self._settle_due()

    def _take_back(self, clock: float) -> None:
        """Somebody's clock had run ahead."""
        self.clock, self.leap = clock, 0.0
        for block in self.blocks:
            block.last = min(block.last, clock)
            if not block.settled and block.due is not None and block.whole > clock:
                self._set_due(block)

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
        mark, last = (self.seen if self.seconds is not None else self.asked), math.inf
        if self.auto:
            waits = 0.0 if self.policy.waits_for_losses else max(50.0, 3.0 * self.late_by, 3.0 * asked)
            mark -= waits if self.heard else math.inf
            last = self.seen - max(60.0, 3.0 * self.late_seconds)
        due = [b for b in self.blocks if not b.settled and b.due is not None and b.due <= mark and b.whole <= last]
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
            pinned = ModelBlock(arm, n, np.zeros(0), n, began=first, since=self.seen, forced=True, by=[arm] * n)
            self.blocks.append(pinned)
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
                self.current.began, self.current.since = self.asked, self.seen
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
        block.whole = self.clock
        if self.seconds is not None:
            block.due = self.clock + self.seconds
        if self.auto:
            block.due = self.asked
        if self.rounds_of_patience is not None:
            block.due = self.asked + self.rounds_of_patience

    def tell(self, number: int, place: int, loss: float) -> str:
        """``new``, ``repeated``, ``other``, ``late`` or ``repeated late``."""
        block = self.blocks[number - 1]
        if place in block.losses:
            if block.losses[place] != loss:
                return "other"
            return "repeated late" if place in block.late else "repeated"
        self.heard += 1
        since = self.asked - block.began
        late = since - place - 1
        seconds = (self.seen - block.since) * (late + 1) / since
        if block.key:
            seconds = self.seen - (block.last if block.live else block.whole)
        self.late_by += (late - self.late_by) / min(self.heard, 1000)
        self.late_seconds = max(self.late_seconds + (seconds - self.late_seconds) / min(self.heard, 1000), 0.0)
        if block.settled:
            self.late += 1
            was, before = self._counts(block), len(block.losses)
            block.late[place] = block.losses[place] = loss
            self.known.setdefault(block.by[place], []).append(loss)
            if not block.forced and not block.learnt:
                self._correct(block, was, self._counts(block), before)
            return "late"
        block.losses[place] = loss
        if len(block.losses) == block.rounds and not block.live:
            self._settle(block)
        elif len(block.losses) == block.rounds >= self.learn_after and not block.forced and not block.learnt:
            mean = math.fsum(block.losses.values()) / block.rounds
            self.game.observe(block.values, mean * block.values[1], block.values[1])
            block.learnt = True
        return "new"

    def _correct(self, block: ModelBlock, was: tuple[float, float], now: tuple[float, float], before: int) -> None:
        """What stood for a loss is taken back, where estimates are sums; that of a block is its total over p."""
        if before == 0 and block.stand_in is None:
            self.game.observe(block.values, *now)
        elif isinstance(self.policy, hf.TsallisSwitch | hf.Exp3):
            self.game.correct(block.values, was[0], now[0], now[1] - was[1])

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
