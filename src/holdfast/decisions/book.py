"""The rules of a game that lasts: what an ask and a tell change. No clock and no file of its own.

* A decision is one round of a block. `ask` hands out the rounds of the current block; when all are handed out, the next
  block begins with what is known then, unless the policy waits for losses.
* `tell` settles a decision once. A block is settled, and observed by the policy, when all its decisions are; or, with a
  patience, when that has run out since its last round was handed out: then with what stands for the missing losses.
* Blocks that are due are settled before anything else happens, those due first first. Time never runs back: it is
  the latest that an ask saw, or whatever settled a block.

So a game is a function of its seed and of the order of asks and tells (and of their times, where patience is a time),
whoever makes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from holdfast.decisions.decision import Decision, Ids
from holdfast.decisions.options import Options, with_missing
from holdfast.decisions.rows import (
    Arm,
    Ask,
    BlockRow,
    Gain,
    Head,
    Identity,
    Recorded,
    RoundLoss,
    State,
    Tell,
    as_parts,
    parts_of,
    recorded,
    told_together,
)
from holdfast.decisions.stored import block_of, state_of, stored_block, stored_game, stored_policy, undamaged
from holdfast.decisions.stores.store import Rows, Wanted
from holdfast.errors import (
    AlreadyTold,
    BadSavedState,
    BadStore,
    Forgotten,
    HoldfastError,
    OutOfTurn,
    TooLate,
    UnknownDecision,
)
from holdfast.players.game import Game
from holdfast.players.losses import announced_value, exact_sum, normalised_total, outside_range
from holdfast.policies.policy import Policy

MOST_DRAWN = 256
"""Blocks begun by one process that it knows without reading them."""

NOT_HANDED_OUT = "is of a round that this store has not handed out: was it restored from a copy?"


class Receipt(NamedTuple):
    """What a told loss came to."""

    id: str
    new: bool
    """False when it had been told before."""


Told = tuple[str, int, float]
"""A loss that somebody tells: id, round of its block, loss."""


class Book:
    """One game as one process knows it; it loads what others have changed."""

    def __init__(self, identity: Identity, arms: list[Arm], policy: Policy | None = None) -> None:
        self._given = policy
        self._game: Game | None = None
        self._version = -1
        self._drawn: dict[str, Any] = {}  # blocks begun here, by their text in the store: they need not be read back
        self._read(identity, arms)

    def _read(self, identity: Identity, arms: list[Arm]) -> None:
        self.identity = identity
        self.ids = Ids(identity.uid, identity.secret)
        with undamaged(f"the settings of player {identity.name!r}", BadSavedState):  # that names a policy to give
            self.options = Options.from_json(identity.options)
            self.policy = stored_policy(identity.policy, self._given)
        self._names = [arm.arm if arm.name is None else arm.name for arm in arms]
        self.active = [arm.arm for arm in arms if not arm.retired]

    def follow(self, rows: Rows) -> None:
        """Take over settings that somebody changed."""
        if rows.head.edition != self.identity.edition:
            identity = rows.get(Identity)
            if identity is None or identity.uid != self.identity.uid:  # another may have got its number
                raise BadStore(f"player {self.identity.name!r} is gone from the store")
            self.lose_track()
            self._read(identity, rows.arms())

    def turn_to(self, rows: Rows, identity: Identity, policy: Policy, kept: list[int | None]) -> None:
        """Go on with another policy: its arm i is arm kept[i] of the one before, or new."""
        before = self._loaded(rows, rows.head)
        state = policy.carried_over(before.saved_state(), kept)
        after = Game(policy, seed=0)
        after.restore(state, None, rows.head.begun, before.stream)
        self._given = policy if self._given is not None else None
        self._read(identity, rows.arms())
        self._game = after
        rows.head = rows.head._replace(version=rows.head.version + 1)

    def lose_track(self) -> None:
        """A transaction did not happen: what this process knows, settings too, may be ahead of the store."""
        self._game, self._version = None, -1
        self.identity = self.identity._replace(edition=-1)

    # ---- ask

    def ask(self, rows: Rows, n: int, now: float, told: Mapping[str, float | None], request: str) -> list[Decision]:
        """Up to `n` decisions; fewer only where the policy waits for losses."""
        head = rows.head
        clock = max(now, head.clock)
        if any(value is not None for value in told.values()) and self.policy.announces is None:
            announced_value(self.policy, told)
        head = before = self._settle_due(rows, head, clock)
        given: list[Decision] = []
        announced = None
        while len(given) < n:
            if head.handed < head.rounds:
                block = rows.need(BlockRow, head.begun)
            elif self.policy.waits_for_losses and head.settled < head.begun:
                break
            else:
                head = self._settle_due(rows, head, clock)
                announced = announced or announced_value(self.policy, told)
                block = self._begin(rows, head, clock, announced)
            head = self._hand_out(rows, head, block, n - len(given), clock, request, given)
        if not given:
            raise OutOfTurn(
                f"{self.policy.label} cannot begin its next block before every loss of the last one is told: "
                "see open_decisions"
            )
        rows.head = head._replace(clock=clock, paid=self._paid(before, head, told))
        return given

    def _hand_out(
        self, rows: Rows, head: Head, block: BlockRow, n: int, clock: float, request: str, given: list[Decision]
    ) -> Head:
        """Rounds of a block that goes on, or that begins."""
        begins = block.number > head.begun
        first = 0 if begins else head.handed
        count = min(n, block.rounds - first)
        ask = Ask(head.player, block.number, first, count, clock, request)
        rows.add(ask)
        given += self.decisions(block, ask)
        asked, next_due = head.asked + count, head.next_due
        due = self.options.due(clock, asked) if first + count == block.rounds else None
        if due is not None:
            rows.set(BlockRow, block.number, due=due)
            next_due = due if next_due is None else min(due, next_due)
        return head._replace(
            version=head.version + begins,
            begun=block.number,
            arm=block.arm,
            rounds=block.rounds,
            handed=first + count,
            asked=asked,
            switches=head.switches + (block.arm != head.arm),
            next_due=next_due,
        )

    def _paid(self, before: Head, head: Head, told: Mapping[str, float | None]) -> str:
        """What switches cost by now."""
        cost = told.get("switching_cost")
        if cost is None:
            cost = getattr(self.policy, "switching_cost", None)
        new = head.switches - before.switches
        return as_parts(exact_sum([*parts_of(head.paid), *[float(cost)] * new])) if new and cost else head.paid

    def handed_out_before(self, rows: Rows, request: str) -> list[Decision]:
        """What a request got, if it had been heard."""
        given: list[Decision] = []
        for ask in rows.asks_under(request):
            block = rows.need(BlockRow, ask.block)
            given += self.decisions(block, ask)
        return given

    def decisions(self, block: BlockRow, ask: Ask) -> list[Decision]:
        """What one ask handed out of a block."""
        ids = self.ids.of(block.number, range(ask.first, ask.first + ask.rounds))
        name = self.name_of(block.arm)
        return [Decision(id, name, block.probability, block.number, ask.at) for id in ids]

    def name_of(self, arm: int) -> int | str:
        """The name of an arm, or its number where arms have none."""
        if not 0 <= arm < len(self._names):
            raise BadStore(f"the store is damaged: player {self.identity.name!r} has no arm {arm}")
        return self._names[arm]

    def _begin(self, rows: Rows, head: Head, clock: float, announced: tuple[float, tuple[float, float]]) -> BlockRow:
        value, bounds = announced
        game = self._loaded(rows, head)
        drawn, rounds = game.begin(value)
        arm, data = self.active[drawn], block_of(game)
        if len(self._drawn) >= MOST_DRAWN:
            self._drawn.clear()
        self._drawn[data] = game.block.copy()
        block = BlockRow(
            player=head.player,
            number=head.begun + 1,
            arm=arm,
            rounds=rounds,
            probability=game.block.item(2),
            began=clock,
            bound=None if bounds == self.policy.bounds else bounds[1],
            data=data,
        )
        rows.add(block)
        return block

    # ---- tell

    def tell(
        self, rows: Rows, runs: Sequence[tuple[int, Sequence[Told]]], wanted: Wanted, now: float
    ) -> list[Receipt | HoldfastError]:
        """Take losses in this order, runs of them with the number of their block; for each a receipt, or why not.

        `wanted` are the rounds of each block.
        """
        clock = max(now, rows.head.clock)
        rows.head = self._settle_due(rows, rows.head, clock)
        known: dict[int, dict[int, Recorded]] = {}
        answers: list[Receipt | HoldfastError] = []
        for number, losses in runs:
            block = rows.get(BlockRow, number) if number <= rows.head.begun else None
            if block is not None:
                if number not in known:
                    told = block.told or block.late
                    known[number] = recorded(rows.tells_at(number, wanted[number])) if told else {}
                answers += self._tell_block(rows, block, losses, known[number], clock)
            elif number <= rows.head.begun:
                answers += [Forgotten(id, "the row of its block was compacted") for id, _, _ in losses]
            else:
                answers += [UnknownDecision(id, NOT_HANDED_OUT) for id, _, _ in losses]
        return answers

    def _tell_block(
        self, rows: Rows, block: BlockRow, losses: Sequence[Told], known: dict[int, Recorded], clock: float
    ) -> Iterator[Receipt | HoldfastError]:
        """Losses of one block, one after the other; what they add to its row is written once.

        `known` is what was recorded of it, and grows.
        """
        low, high = self._bounds(block)
        handed = rows.head.handed if block.number == rows.head.begun else block.rounds
        left, is_open = block.rounds - block.told, block.place is None
        new: list[RoundLoss] = []
        for count, (id, round, loss) in enumerate(losses, start=1):
            if not (is_open and low <= loss <= high and round < handed and round not in known):
                yield self._repeated_or_refused(rows, block.number, handed, (id, round, loss), known, clock)
                continue
            known[round] = (loss, 0)
            new.append((round, loss))
            yield Receipt(id, True)
            if len(new) == left:
                rows.head = self._settle(rows, rows.head, block, clock, new)
                if count < len(losses):
                    block = rows.need(BlockRow, block.number)
                    yield from self._tell_block(rows, block, losses[count:], known, clock)
                return
        if new:
            rows.add(*told_together(block.player, block.number, new, clock))
            rows.replace(block, told=block.told + len(new), parts=as_parts(_with(block, new)))

    def _repeated_or_refused(
        self, rows: Rows, number: int, handed: int, told: Told, known: dict[int, Recorded], clock: float
    ) -> Receipt | HoldfastError:
        """The answer to a loss that does not count."""
        id, round, loss = told
        block = rows.need(BlockRow, number)
        low, high = self._bounds(block)
        before = known.get(round)
        if round >= handed:
            return UnknownDecision(id, NOT_HANDED_OUT)
        if not low <= loss <= high:
            return outside_range("loss", (low, high), 1, loss)
        if block.place is not None and block.place <= rows.head.forgotten:
            return Forgotten(id, "its block is settled, and single losses are remembered for a while only")
        if before is not None and before[0] != loss:
            return AlreadyTold(id, before[0], loss)
        if before is not None and not before[1]:
            return Receipt(id, False)
        if before is None:
            known[round] = (loss, 1)
            rows.add(Tell(block.player, number, round, loss, clock, late=1))
            rows.set(BlockRow, number, late=block.late + 1)
        assert block.settled is not None
        return TooLate(id, loss, block.settled, f"block {number} was settled without it")

    def _bounds(self, block: BlockRow) -> tuple[float, float]:
        return self.policy.bounds if block.bound is None else (0.0, block.bound)

    # ---- settling

    def settle_due(self, rows: Rows, now: float) -> int:
        """Settle what is due; the number of blocks."""
        head = rows.head
        clock = max(now, head.clock)
        rows.head = self._settle_due(rows, head, clock)._replace(clock=clock)
        return rows.head.settled - head.settled

    def settle_now(self, rows: Rows, block: BlockRow, clock: float) -> None:
        """Settle a block with what is known."""
        rows.head = self._settle(rows, rows.head, block, clock)

    def _settle_due(self, rows: Rows, head: Head, clock: float) -> Head:
        mark = self.options.mark(clock, head.asked)
        if head.next_due is None or mark < head.next_due:
            return head
        for block in rows.due_blocks(mark):
            head = self._settle(rows, head, block, clock)
        return head._replace(next_due=rows.earliest_due(), clock=clock)

    def _settle(self, rows: Rows, head: Head, block: BlockRow, clock: float, new: Sequence[RoundLoss] = ()) -> Head:
        """Settle a block with what was told of it before and `new`."""
        if new:
            rows.add(*told_together(block.player, block.number, new, clock))
        parts, told = _with(block, new), block.told + len(new)
        version, place = head.version, head.settled + 1
        gain = rows.gains.get(block.arm)
        if gain is None:
            gain = rows.gains[block.arm] = Gain()
        if not rows.need(Arm, block.arm).retired:
            pieces, rounds = (parts, told) if told == block.rounds else self._with_missing(rows, block, parts, told)
            if rounds or self.policy.waits_for_losses:  # else all of it was dropped: it did not take place
                self._observe(rows, head, block, pieces, rounds)
                version += 1
        gain.add(block, told, parts)
        rows.set(
            BlockRow, block.number, told=told, parts=as_parts(parts), place=place, settled=clock, total=math.fsum(parts)
        )
        kept = head.kept + block.rounds
        return self._forget(rows, head._replace(version=version, settled=place, kept=kept, clock=clock))

    def _with_missing(self, rows: Rows, block: BlockRow, parts: list[float], told: int) -> tuple[list[float], int]:
        arm, gain = rows.need(Arm, block.arm), rows.gains[block.arm]
        of_arm = arm.told + gain.told
        usual = math.fsum([*parts_of(arm.parts), *gain.parts]) / of_arm if of_arm else 0.5 * sum(self._bounds(block))
        return with_missing(self.options.missing, parts, told, block.rounds, usual)

    def _observe(self, rows: Rows, head: Head, block: BlockRow, pieces: list[float], rounds: int) -> None:
        game, bounds = self._loaded(rows, head), self._bounds(block)
        values = self._drawn.pop(block.data, None)
        if values is None:
            values = stored_block(self.policy, self.identity.name, block)
        values[0] = self.active.index(block.arm)
        game.observe(values, normalised_total(self.policy, bounds, pieces, float(rounds)), float(rounds))

    def _forget(self, rows: Rows, head: Head) -> Head:
        """Drop the single losses of the blocks settled first, beyond what is to be remembered."""
        while head.kept > self.options.remember and head.forgotten < head.settled:
            old = rows.settled_at(head.forgotten + 1)
            head = head._replace(forgotten=head.forgotten + 1)
            if old is not None:
                rows.forget(old.number)
                head = head._replace(kept=head.kept - old.rounds)
        return head

    # ---- state

    def _loaded(self, rows: Rows, head: Head) -> Game:
        """The game as of `head`. Within a transaction it is ahead of the stored one."""
        if self._game is not None and self._version == head.version:
            self._version += 1  # whoever asks for it changes it, and counts that in `head`
            return self._game
        state = rows.get(State)
        if state is None or state.version != head.version:
            raise BadStore(f"player {self.identity.name!r} is damaged: its state is not that of its last block")
        self._game = stored_game(self.policy, self.identity.name, state, rows)
        self._version = head.version + 1
        return self._game

    def save(self, rows: Rows) -> None:
        """Write what arms gained, the state if it was changed, and the head: the last thing in a transaction."""
        for number, gain in rows.gains.items():
            rows.set(Arm, number, **gain.to(rows.need(Arm, number)))
        before, head = rows.stored_head, rows.head
        if head.version != before.version:
            assert self._game is not None
            rows.set(State, version=head.version, data=state_of(self._game))
        pairs = zip(head._fields, before, head, strict=True)
        changes = {name: new for name, old, new in pairs if new != old}
        if changes:
            rows.replace(before, **changes)


def _with(block: BlockRow, new: Sequence[RoundLoss]) -> list[float]:
    """The losses told of a block, `new` ones too, as parts of their sum."""
    return exact_sum(parts_of(block.parts) + [loss for _, loss in new])
