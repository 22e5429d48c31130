"""The rules of decisions, written down once more as simply as possible: everything in lists, nothing forgotten."""

import hashlib
import itertools
import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

import holdfast as hf
from holdfast.decisions.options import checked_duration
from holdfast.players.game import Game


def said_of(receipt: hf.Receipt) -> str:
    """A receipt in the words of `Model.tell`."""
    return {(True, False): "new", (False, False): "repeated", (True, True): "late"}.get(receipt[1:], "repeated late")


@dataclass(eq=False)
class ModelBlock:
    number: int
    arm: int
    """Counted among all arms that ever were."""
    rounds: int
    values: np.ndarray
    """The policy's draw; also where the rule plays instead."""
    share: float = 0.0
    """Of the holdback it began under; negative without a rule."""
    price: float = 0.0
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
    moves: list[tuple[int, int, str]] | None = None
    """First round, arm and reason of each move; None for a conversation that cannot move."""
    expires: float = 0.0
    due: float | None = None
    began: int = 0
    since: float = 0.0
    """When it began."""
    whole: float = 0.0
    """When its last round was handed out, or its conversation ended."""
    stand_in: float | None = None
    settled: bool = False
    given: int | None = None
    """The arm that has it in place of its own, which was drawn with more than its share."""

    @property
    def player(self) -> int:
        return self.arm if self.given is None else self.given


@dataclass
class Tripped:
    """An arm that a breaker keeps out."""

    pause: float
    until: float
    tried: tuple[int, int] | None = None
    """Block and round of the one request that tries it."""


@dataclass
class Model:
    """A game of `policy`, with losses in its units."""

    policy: hf.Policy
    seed: int
    patience: float | int | str
    """Seconds, rounds, ``auto`` or ``forever``."""
    missing: object
    _: KW_ONLY
    holdback: float = 0.0
    learn_after: float | None = None
    key_life: float = 3600.0
    move_cost: float | None = None
    breaker: hf.Breaker | None = None
    share: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    most_switches: tuple[int, float] | None = None

    began: float = -math.inf
    """When ramps began: first and last share, and seconds between."""
    heard_of: dict[int, list[tuple[float, bool]]] = field(default_factory=dict)
    """Losses of turns by arm, and whether they failed, in conversations that may move."""
    ended: list[int] = field(default_factory=list)
    """Turns of those that have ended."""
    failed: dict[int, list[bool]] = field(default_factory=dict)
    """Of each arm, every loss since it came back: whether it was a failure."""
    back: dict[int, int] = field(default_factory=dict)
    """Rounds asked when it came back."""
    tripped: dict[int, Tripped] = field(default_factory=dict)
    known: dict[int, list[float]] = field(default_factory=dict)
    """Losses that counted in settled blocks, by arm."""
    late_by: float = 0.0
    late_seconds: float = 0.0
    heard: int = 0
    late: int = 0
    announced: float | None = None
    blocks: list[ModelBlock] = field(default_factory=list)
    current: ModelBlock | None = None
    played: list[int] = field(default_factory=list)
    paid: list[float] = field(default_factory=list)
    switched: list[float] = field(default_factory=list)
    paused: dict[int, float] = field(default_factory=dict)
    pin: tuple[int, float] = (0, -math.inf)
    asked: int = 0
    clock: float = -math.inf
    seen: float = -math.inf
    was: float = -math.inf
    leap: float = 0.0

    def __post_init__(self) -> None:
        self.game = Game(self.policy, self.seed)
        self.active = list(range(self.policy.n_arms))
        """The policy's arm i is `active[i]`."""
        self.since = dict.fromkeys(self.active, 0)
        """After which block an arm came (back)."""

    @property
    def auto(self) -> bool:
        return self.patience == "auto"

    def _hears(self, block: ModelBlock) -> bool:
        """Whether the policy learns from a block when that is settled."""
        there = block.arm in self.active and block.number > self.since[block.arm]
        return there and not block.forced and not block.learnt

    def _draw(self, block: ModelBlock) -> np.ndarray:
        """What the policy drew, with the place that its arm has now."""
        values = block.values.copy()
        values[0] = self.active.index(block.arm)
        return values

    def _normalised(self, losses: list[float], rounds: int) -> float:
        low, high = self.policy.bounds
        return min(max(math.fsum([*losses, -low * rounds]), 0.0), (high - low) * rounds) / (high - low)

    def _counts(self, block: ModelBlock) -> tuple[float, float]:
        """Total and rounds of a block, by what has come and what stands for the rest."""
        told, rounds = list(block.losses.values()), block.rounds
        if block.stand_in is None:
            rounds = len(told)
        else:
            told = [*told, block.stand_in * (rounds - len(told))]
        total, weight = self._normalised(told, rounds), float(rounds)
        if block.key and rounds and not block.forced:
            total, weight = total / rounds * block.values[1], block.values[1]
        return total, weight

    def _settle(self, block: ModelBlock) -> None:
        if len(block.losses) < block.rounds and self.missing != "drop":
            pool = list(block.losses.values()) or self.known.get(block.player, [])
            low, high = self.policy.bounds
            mean = math.fsum(pool) / len(pool) if pool else (low + high) / 2
            block.stand_in = {"mean": mean, "highest": high}.get(self.missing, self.missing)
        total, weight = self._counts(block)
        rounds = block.rounds if block.stand_in is not None else len(block.losses)
        if self._hears(block) and (rounds or self.policy.waits_for_losses):
            self.game.observe(self._draw(block), total, weight)
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
        for one in self.tripped.values():
            one.until = min(one.until, clock + one.pause)
        self.switched = [min(at, clock) for at in self.switched]
        for block in self.blocks:
            block.expires -= max(block.last - clock, 0.0)
            block.last = min(block.last, clock)
            if not block.settled and block.whole > clock:
                if block.due is None:
                    block.whole = clock
                else:
                    self._set_due(block)

    def expire(self, now: float) -> None:
        """Settle what is due, and keep the time in any case."""
        self.at(now)
        self._settle_due()
        self._end_idle()
        self.clock = self.seen

    def _end_idle(self) -> None:
        for block in sorted((b for b in self.blocks if b.live), key=lambda b: b.expires):
            if self.seen > block.expires:
                self._end(block)

    def _end(self, block: ModelBlock) -> None:
        if block.moves is not None:
            self.ended.append(block.rounds)
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

    def _begin(self, rule: int | None) -> ModelBlock:
        """The next block: the policy's, or the rule's, of which the policy does not hear."""
        number, unit = len(self.blocks) + 1, self.policy.bounds[1] - self.policy.bounds[0]
        text = self.game.stream.astype("<u8").tobytes() + str(number).encode()
        chance = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") / 2**64
        held = rule is not None and chance < self.holdback
        game = self.game.copy() if held else self.game
        drawn, rounds = game.begin((self.announced or 0.0) / unit)
        share = self.holdback if rule is not None else -self.holdback
        price = getattr(self.policy, "switching_cost", 0.0) if share else 0.0
        arm = rule if held and rule is not None else self.active[drawn]
        block = ModelBlock(number, arm, rounds, game.block.copy(), share, price, forced=held)
        if self.share and not held:
            self._keep_to_shares(block)
        return block

    def _keep_to_shares(self, block: ModelBlock) -> None:
        p = dict(zip(self.active, self.game.probabilities().tolist(), strict=True))
        q = {arm: min(p[arm], self._cap(arm)) for arm in self.active}
        text = self.game.stream.astype("<u8").tobytes() + str(block.number).encode() + b"share"
        coin = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") / 2**64
        best = self._best(self.game, {*self.share})
        to = block.arm if block.arm not in self.share or coin * p[block.arm] < q[block.arm] else best
        self._give(block, to, q[to] + (sum(p.values()) - sum(q.values()) if to == best else 0.0))

    def _cap(self, arm: int) -> float:
        if arm not in self.share:
            return 1.0
        first, last, over = self.share[arm]
        passed = min(max((self.seen - self.began) / over, 0.0), 1.0) if over else 1.0
        return last if passed == 1.0 else first ** (1 - passed) * last**passed

    def _best(self, game: Game, down: set[int]) -> int:
        """The arm that stands in for the latest drawn."""
        return self.active[game.next_best(np.array([arm in down for arm in self.active]))]

    def _give(self, block: ModelBlock, arm: int, probability: float) -> None:
        """The block is that of another arm: to a policy of levels too, which learns what that one loses."""
        if self.game.give(self.active.index(arm), probability):
            block.arm, block.values = arm, self.game.block.copy()
        elif arm != block.arm:
            block.given = arm

    def _mean(self, arm: int) -> float:
        """Mean of the latest losses of an arm: the twentieth and each later one moves it by a twentieth."""
        mean = 0.0
        for count, (loss, _) in enumerate(self.heard_of[arm], 1):
            mean += (loss - mean) / min(count, 20)
        return mean

    def _fails(self, arm: int) -> bool:
        last = [failed for _, failed in self.heard_of.get(arm, [])[-5:]]
        return last == [True] * 5

    def _leaves(self, block: ModelBlock, down: set[int], cost: float) -> tuple[int, str] | None:
        """Where a conversation goes, and why, if it leaves its arm."""
        assert block.moves is not None
        home = block.moves[-1][1] if block.moves else block.player
        others = [arm for arm in self.active if arm not in down and arm != home]
        well = [arm for arm in others if not self._fails(arm)]
        known = [arm for arm in well if arm not in self.share and len(self.heard_of.get(arm, [])) >= 5]
        best = min(known, key=self._mean) if known else None
        if home in down or home not in self.active:
            return best if best is not None else self._next(block, down | {home}), "down"
        if self._fails(home) and well:
            return best if best is not None else self._next(block, {*self.active} - {*well}), "failing"
        if best is None or len(self.heard_of.get(home, [])) < 5:
            return None
        turns = min(max(block.rounds, sum(self.ended) / len(self.ended) if self.ended else 0.0), 30.0)
        return (best, "gain") if turns * (self._mean(home) - self._mean(best)) > cost else None

    def _move(self, block: ModelBlock, down: set[int], cost: float) -> None:
        if block.moves is None:
            block.moves = []
        found = self._leaves(block, down, cost) if block.rounds else None
        if found is None:
            return
        if self._hears(block):
            if block.losses:
                self._learn(block)
            block.learnt = True
        block.moves.append((block.rounds, *found))

    def _go_on(
        self, key: str, n: int, down: set[int], out: set[int], rule: int | None, cost: float | None, life: float | None
    ) -> list[tuple[int, int, int]]:
        live = [b for b in self.blocks if b.live and b.key == key]
        for block in [b for b in live if {b.arm, b.player} - set(self.active) or b.number <= self.since[b.arm]]:
            self._end(block)
            live.remove(block)
        if not live:
            block = self._begin(rule)
            block.rounds, block.key, block.live = 0, key, True
            block.since = self.seen
            live = [block]
            self.blocks += live
        (block,) = live
        block.began, self.clock = self.asked - block.rounds, self.seen
        cost = self.move_cost if cost is None else cost
        if cost is not None and not block.forced:
            self._move(block, down | out, cost)
        home = block.moves[-1][1] if block.moves else block.player
        stays = home != block.player and home in self.active and home not in down | out
        for place in range(block.rounds, block.rounds + n):
            hand = self._hand(home, block.number, place) if stays else None
            block.by.append(self._plays(block, down, out, block.arm, place) if hand is None else hand)
        block.expires = self.seen + (self.key_life if life is None else life)
        block.rounds = block.handed = block.rounds + n
        block.last, self.asked = self.seen, self.asked + n
        return [(block.by[r], block.number, r) for r in range(block.rounds - n, block.rounds)]

    def _settle_due(self, asked: int = 0) -> None:
        mark, last = (self.seen if isinstance(self.patience, float) else self.asked), math.inf
        if self.auto:
            waits = 0.0 if self.policy.waits_for_losses else max(50.0, 3.0 * self.late_by, 3.0 * asked)
            mark -= waits if self.heard else math.inf
            last = self.seen - max(60.0, 3.0 * self.late_seconds)
        due = [b for b in self.blocks if not b.settled and b.due is not None and b.due <= mark and b.whole <= last]
        for block in sorted(due, key=lambda b: b.due or 0.0):
            self._settle(block)

    def _pause(self, arm: int, since: float) -> None:
        """A breaker keeps an arm out: as long as it says, or twice as long as the last time."""
        assert self.breaker is not None
        first, most = (checked_duration("", x) for x in (self.breaker.pause, self.breaker.most))
        last = self.tripped[arm].pause if arm in self.tripped else 0.0
        pause = min(max(2 * last, first.total_seconds()), most.total_seconds())
        self.tripped[arm] = Tripped(pause, since + pause)

    def _give_up_trials(self) -> None:
        for arm, one in list(self.tripped.items()):
            if one.tried is not None and self.seen >= one.until:
                self._pause(arm, one.until)

    def _tries(self, arm: int) -> bool:
        """Whether the next round of an arm tries it."""
        one = self.tripped.get(arm)
        return one is not None and one.tried is None and self.seen >= one.until

    def _hand(self, arm: int, number: int, place: int) -> int:
        if self._tries(arm):
            self.tripped[arm].tried, self.tripped[arm].until = (number, place), self.seen + self.tripped[arm].pause
        return arm

    def _hear(self, block: ModelBlock, place: int, failed: bool) -> None:
        """A loss of an arm: it trips it, is that of its trial, or says nothing, since it is of before."""
        if self.breaker is None:
            return
        self._give_up_trials()
        arm = block.by[place]
        if arm not in self.active or block.number <= self.since[arm]:
            return
        if arm in self.tripped:
            if self.tripped[arm].tried != (block.number, place):
                return
            if failed:
                self._pause(arm, self.seen)
            else:
                self.come_back(arm)
        elif block.began + place >= self.back.get(arm, 0):
            heard = self.failed.setdefault(arm, [])
            heard.append(failed)
            down = {one for one, until in self.paused.items() if until > self.seen} | {*self.tripped, arm}
            if failed and sum(heard[-self.breaker.within :]) >= self.breaker.failures and {*self.active} - down:
                self._pause(arm, self.seen)

    def come_back(self, arm: int) -> None:
        """Begin anew with an arm, if anything was known."""
        within = 0 if self.breaker is None else self.breaker.within
        if arm in self.tripped or arm in self.back or any(self.failed.get(arm, [])[-within:]):
            self.failed[arm], self.back[arm] = [], self.asked
        self.tripped.pop(arm, None)

    def _plays(self, block: ModelBlock, down: set[int], out: set[int], rule: int | None, place: int) -> int:
        """`out` is of a breaker: one round may try an arm of these."""
        wanted = rule if block.forced and rule is not None else block.player
        if wanted not in down | out or (wanted in out and self._tries(wanted)):
            return self._hand(wanted, block.number, place)
        return self._hand(self._next(block, down | out), block.number, place)

    def _next(self, block: ModelBlock, down: set[int]) -> int:
        """The arm of a block, or the most likely other one while that is down."""
        if not block.forced and block.player not in down:
            return block.player
        if set(self.active) - down - set(self.share):
            down = down | set(self.share)
        game = self.game.copy()
        if block.forced:
            game.begin()
        else:
            game.block[:] = self._draw(block)
        return self._best(game, down)

    def ask(
        self,
        n: int,
        available: set[int] | None = None,
        key: str | None = None,
        rule: int | None = 0,
        announced: float | None = None,
        move_cost: float | None = None,
        key_life: float | None = None,
    ) -> list[tuple[int, int, int]]:
        """Arm, block and round of each decision."""
        self.announced = announced
        given: list[tuple[int, int, int]] = []
        whole: list[ModelBlock] = []
        down = {arm for arm, until in self.paused.items() if until > self.seen}
        down |= set() if available is None else set(self.active) - available
        if len(down) == len(self.active):
            return []
        self._give_up_trials()
        out = {*self.tripped} - down
        out = out if len(out | down) < len(self.active) else set()
        self._settle_due(n)
        self._end_idle()
        if self.pin[1] > self.seen and self.pin[0] not in down:
            arm, first = self.pin[0], self.asked
            self.clock, self.asked = self.seen, self.asked + n
            pinned = ModelBlock(len(self.blocks) + 1, arm, n, np.zeros(0), handed=n, began=first, since=self.seen)
            pinned.forced, pinned.by = True, [arm] * n
            self.blocks.append(pinned)
            self._hand(arm, pinned.number, 0)
            for _ in range(n):
                self._play(arm)
            self._set_due(pinned)
            return [(arm, pinned.number, place) for place in range(n)]
        if key is not None:
            return self._go_on(key, n, down, out, rule, move_cost, key_life)
        while len(given) < n:
            if self.current is None or self.current.handed == self.current.rounds:
                if self.policy.waits_for_losses and self.current is not None and not self.current.settled:
                    break
                self.current = self._begin(rule)
                if not self.current.forced and self._must_stay(down | out):
                    self._give(self.current, self.played[-1], 1.0)
                    self.current.given = None  # it stays as long as no switch is left
                self.current.began, self.current.since = self.asked, self.seen
                self.blocks.append(self.current)
            block = self.current
            if self._must_stay(down | out):
                arm = self.played[-1]
            else:
                arm = self._plays(block, down, out, rule, block.handed)
            block.by.append(arm)
            self._play(arm)
            given.append((arm, block.number, block.handed))
            self.clock = self.seen
            block.handed += 1
            self.asked += 1
            if block.handed == block.rounds:
                whole.append(block)
        for block in whole:  # patience begins when the call is done
            self._set_due(block)
        return given

    def _must_stay(self, down: set[int]) -> bool:
        if self.most_switches is None or not self.played:
            return False
        if self.played[-1] in down or self.played[-1] not in self.active:
            return False
        most, over = self.most_switches
        return sum(at + over > self.seen for at in self.switched) >= most

    def _play(self, arm: int) -> None:
        """Play a round outside conversations; a change of arm is paid, by a table of pairs from the second arm on."""
        last = self.played[-1] if self.played else None
        cost = self.announced if self.announced is not None else getattr(self.policy, "switching_cost", 0.0)
        if isinstance(cost, tuple):
            cost = 0.0 if last is None else cost[self.active.index(last)][self.active.index(arm)]
        if arm != last:
            self.paid.append(cost)
            self.switched += [] if last is None else [self.seen]
        self.played.append(arm)

    def change(self, now: float, policy: hf.Policy, active: list[int]) -> None:
        """Another λ or other arms; the arms in play are `active` afterwards."""
        self.expire(now)
        block, gone = self.current, set(self.active) - set(active)
        if block is not None and {block.arm, block.player} & gone and block.handed < block.rounds:
            block.rounds = block.handed
            self._set_due(block)
            out = block.arm if block.arm in gone else block.player
            self.active[self.active.index(out)] = -1
            if len(block.losses) == block.rounds:
                self._settle(block)
            self.active[self.active.index(-1)] = out
        kept = [self.active.index(arm) if arm in self.active else None for arm in active]
        learner = Game(policy, 0)
        numbers = policy.carried_over(self.game.saved_state(), kept)
        learner.restore(numbers, None, self.game.begun, self.game.stream)
        for arm in set(active) - set(self.active):
            self.heard_of.pop(arm, None)  # one that comes back begins anew
        self.since |= {arm: len(self.blocks) if arm in self.since else 0 for arm in set(active) - set(self.active)}
        self.policy, self.game, self.active = policy, learner, active
        self.paused = {arm: until for arm, until in self.paused.items() if arm in active}
        self.share = {arm: share for arm, share in self.share.items() if arm in active}
        for arm in gone:
            for known in (self.tripped, self.failed, self.back):
                known.pop(arm, None)
        self.pin = self.pin if self.pin[0] in active else (0, -math.inf)

    def change_patience(self, now: float, patience: float | int | str) -> None:
        """Open blocks that are handed out wait anew."""
        self.expire(now)
        self.patience = patience
        for block in self.blocks:
            if not block.settled and not block.live and (block.key or block.handed == block.rounds):
                self._set_due(block)

    def _set_due(self, block: ModelBlock) -> None:
        block.whole, block.due = self.clock, None
        if isinstance(self.patience, float):
            block.due = self.clock + self.patience
        elif self.patience != "forever":
            block.due = self.asked + (0 if isinstance(self.patience, str) else self.patience)

    def tell(self, number: int, place: int, loss: float, failed: bool = False) -> str:
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
        level = None if self.breaker is None else self.breaker.level
        self._hear(block, place, failed or (level is not None and loss >= level))
        if block.settled:
            self.late += 1
            was, before = self._counts(block), len(block.losses)
            block.late[place] = block.losses[place] = loss
            self.known.setdefault(block.by[place], []).append(loss)
            if self._hears(block):
                self._correct(block, was, self._counts(block), before)
            return "late"
        block.losses[place] = loss
        if block.moves is not None and (failed or place not in [first for first, _, _ in block.moves]):
            self.heard_of.setdefault(block.by[place], []).append((loss, failed))
        if len(block.losses) == block.rounds and not block.live:
            self._settle(block)
        elif len(block.losses) == block.rounds >= (self.learn_after or math.inf) and self._hears(block):
            self._learn(block)
            block.learnt = True
        return "new"

    def _learn(self, block: ModelBlock) -> None:
        """The policy hears of a conversation that goes on, by the mean of what it has lost."""
        mean = self._normalised(list(block.losses.values()), len(block.losses)) / len(block.losses)
        self.game.observe(self._draw(block), mean * block.values[1], block.values[1])

    def _correct(self, block: ModelBlock, was: tuple[float, float], now: tuple[float, float], before: int) -> None:
        """What stood for a loss is taken back, where estimates are sums; that of a block is its total over p."""
        if before == 0 and block.stand_in is None:
            self.game.observe(self._draw(block), *now)
        else:
            self.game.correct(self._draw(block), was[0], now[0], now[1] - was[1])

    @property
    def switches(self) -> int:
        arms = [None, *self.played]
        return sum(a != b for a, b in itertools.pairwise(arms))

    @property
    def out(self) -> list[tuple[int, int]]:
        """Decisions that are out."""
        left = [block for block in self.blocks if not block.settled]
        return [(block.number, place) for block in left for place in range(block.handed) if place not in block.losses]
