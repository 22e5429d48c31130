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
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holdfast.decisions.decision import Decision, Ids
from holdfast.decisions.options import Options, with_missing
from holdfast.decisions.records import handed_together, told_together, under
from holdfast.decisions.rows import (
    FIRST_VERSION,
    MOST_TOGETHER,
    Arm,
    BlockRow,
    Gain,
    Head,
    Identity,
    State,
    as_parts,
    parts_of,
)
from holdfast.decisions.stored import blocks_of, state_of, stored_block, stored_game, stored_policy, undamaged
from holdfast.decisions.stores.store import Rows
from holdfast.errors import BadSavedState, BadStore, OutOfTurn
from holdfast.layouts import Array
from holdfast.players.game import Game
from holdfast.players.losses import announced_value, exact_sum, normalised_total
from holdfast.policies.policy import Policy

MOST_DRAWN = 256
"""Blocks begun by one process that it knows without reading them."""


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

    def has_begun(self, game: Game) -> None:
        """This process has just made the game: it need not be read back."""
        self._game, self._version = game, FIRST_VERSION

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
        before = self._loaded(rows)
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

    def ask(
        self,
        rows: Rows,
        n: int,
        now: float,
        told: Mapping[str, float | None],
        request: str,
        *,
        by_block: bool = False,
    ) -> list[Decision]:
        """Up to `n` decisions; fewer only where the policy waits for losses.

        `by_block` keeps the request with each of its blocks, and not with the first alone.
        """
        if any(value is not None for value in told.values()) and self.policy.announces is None:
            announced_value(self.policy, told)
        clock = self.on_time(rows, now)
        before = rows.head
        given: list[Decision] = []
        announced = None
        while len(given) < n:
            head, wanted = rows.head, n - len(given)
            if head.handed < head.rounds:
                blocks, first = [rows.need(BlockRow, head.begun)], head.handed
            elif self.policy.waits_for_losses and head.settled < head.begun:
                break
            else:
                self._settle_due(rows, clock)
                announced = announced or announced_value(self.policy, told)
                blocks, first = self._begin(rows, clock, announced, wanted), 0
            some = self._hand_out(rows, blocks, first, wanted, clock)
            rows.add(*handed_together(head.player, some, first, request, by_block=by_block))
            given += some
        if not given:
            raise OutOfTurn(
                f"{self.policy.label} cannot begin its next block before every loss of the last one is told: "
                "see open_decisions"
            )
        rows.head = rows.head._replace(clock=clock, paid=self._paid(before, rows.head, told))
        return given

    def _begin(
        self, rows: Rows, clock: float, announced: tuple[float, tuple[float, float]], wanted: int
    ) -> list[BlockRow]:
        """New blocks with so many rounds, or fewer where another one must be settled before the next begins."""
        head, (value, bounds) = rows.head, announced
        bound = None if bounds == self.policy.bounds else bounds[1]
        left = min(wanted, 1 if self.policy.waits_for_losses else self.options.until_due(head.asked, head.next_due))
        game = self._loaded(rows)
        drawn = game.begin_some(value, left)
        blocks: list[BlockRow] = []
        for values, (arm, rounds, probability), data in zip(
            drawn, drawn[:, :3].tolist(), blocks_of(game, drawn), strict=True
        ):
            number = head.begun + len(blocks) + 1
            blocks.append(
                BlockRow(head.player, number, self.active[int(arm)], int(rounds), probability, clock, bound, data)
            )
            self._drawn[data] = values
        while len(self._drawn) > MOST_DRAWN:
            del self._drawn[next(iter(self._drawn))]
        rows.add(*blocks)
        rows.head = head._replace(version=head.version + 1)
        return blocks

    def _hand_out(self, rows: Rows, blocks: list[BlockRow], first: int, n: int, clock: float) -> list[Decision]:
        """Rounds of the block that goes on, from `first` on, or of blocks that begin."""
        head = rows.head
        arm, asked, switches, next_due = head.arm, head.asked, head.switches, head.next_due
        given: list[Decision] = []
        for block in blocks:
            rounds = range(first, min(first + n - len(given), block.rounds))
            given += self.decisions(block, rounds, clock)
            asked += len(rounds)
            due = self.options.due(clock, asked) if rounds.stop == block.rounds else None
            if due is not None:
                rows.set(BlockRow, block.number, due=due)
                next_due = due if next_due is None else min(due, next_due)
            switches += block.arm != arm
            arm, first = block.arm, 0
        rows.head = head._replace(
            begun=block.number,
            arm=arm,
            rounds=block.rounds,
            handed=rounds.stop,
            asked=asked,
            switches=switches,
            next_due=next_due,
        )
        return given

    def _paid(self, before: Head, head: Head, told: Mapping[str, float | None]) -> str:
        """What switches cost by now."""
        cost = told.get("switching_cost")
        if cost is None:
            cost = getattr(self.policy, "switching_cost", None)
        new = head.switches - before.switches
        return as_parts(exact_sum([*parts_of(head.paid), *[float(cost)] * new])) if new and cost else head.paid

    def handed_out_before(self, rows: Rows, request: str) -> list[Decision]:
        """What a request got, if it had been heard."""
        return [d for block, rounds, at in under(rows, request) for d in self.decisions(block, rounds, at)]

    def decisions(self, block: BlockRow, rounds: range, at: float) -> list[Decision]:
        """Rounds of a block that were handed out together."""
        name = self.name_of(block.arm)
        id_of, number, probability = self.ids.of, block.number, block.probability
        return [Decision(id_of(number, round), name, probability, number, at) for round in rounds]

    def name_of(self, arm: int) -> int | str:
        """The name of an arm, or its number where arms have none."""
        if not 0 <= arm < len(self._names):
            raise BadStore(f"the store is damaged: player {self.identity.name!r} has no arm {arm}")
        return self._names[arm]

    # ---- settling

    def on_time(self, rows: Rows, now: float) -> float:
        """Settle what is due by now; the time it is then."""
        clock = max(now, rows.head.clock)
        self._settle_due(rows, clock)
        return clock

    def settle_due(self, rows: Rows, now: float) -> int:
        """Settle what is due, and keep the time; the number of blocks."""
        before = rows.head.settled
        clock = self.on_time(rows, now)
        rows.head = rows.head._replace(clock=clock)
        return rows.head.settled - before

    def bounds_of(self, block: BlockRow) -> tuple[float, float]:
        """The range of its losses."""
        return self.policy.bounds if block.bound is None else (0.0, block.bound)

    def _settle_due(self, rows: Rows, clock: float) -> None:
        mark, next_due = self.options.mark(clock, rows.head.asked), rows.head.next_due
        if next_due is not None and mark >= next_due:
            self.settle(rows, [(block, {}) for block in rows.due_blocks(mark)], clock)
            rows.head = rows.head._replace(next_due=rows.earliest_due(), clock=clock)

    def settle(self, rows: Rows, ready: Sequence[tuple[BlockRow, Mapping[int, float]]], clock: float) -> None:
        """Settle blocks, one after the other, each with what was told of it before and, by round, what is new."""
        head, game = rows.head, None
        kept = head.kept
        retired = {arm for arm in {block.arm for block, _ in ready} if rows.need(Arm, arm).retired}
        for place, (block, new) in enumerate(ready, head.settled + 1):
            told = block.told + len(new)
            whole = int(len(new) == block.rounds <= MOST_TOGETHER)
            if whole:
                parts = [new[round] for round in range(block.rounds)]
            else:
                parts = summed(block, new.values())
                rows.add(*told_together(block.player, block.number, new, clock))
            gain = rows.gains.get(block.arm)
            if gain is None:
                gain = rows.gains[block.arm] = Gain()
            if block.arm not in retired:
                pieces, rounds = (parts, told) if told == block.rounds else self._with_missing(rows, block, parts, told)
                if rounds or self.policy.waits_for_losses:  # else all of it was dropped: it did not take place
                    game = game or self._loaded(rows)
                    self._observe(game, block, pieces, rounds)
            gain.add(block, told, parts)
            kept += block.rounds
            total, text = math.fsum(parts), as_parts(parts)
            rows.set(
                BlockRow, block.number, told=told, parts=text, place=place, settled=clock, total=total, whole=whole
            )
        version, settled = head.version + (game is not None), head.settled + len(ready)
        rows.head = head._replace(version=version, settled=settled, kept=kept, clock=clock)
        self._forget(rows)

    def _with_missing(self, rows: Rows, block: BlockRow, parts: list[float], told: int) -> tuple[list[float], int]:
        arm, gain = rows.need(Arm, block.arm), rows.gains[block.arm]
        of_arm = arm.told + gain.told
        usual = math.fsum([*parts_of(arm.parts), *gain.parts]) / of_arm if of_arm else 0.5 * sum(self.bounds_of(block))
        return with_missing(self.options.missing, parts, told, block.rounds, usual)

    def _observe(self, game: Game, block: BlockRow, pieces: list[float], rounds: int) -> None:
        values = self._drawn.pop(block.data, None)
        if values is None:
            values = self.values_of(block)
        values[0] = self.active.index(block.arm)
        total = normalised_total(self.policy, self.bounds_of(block), pieces, float(rounds))
        game.observe(values, total, float(rounds))

    def _forget(self, rows: Rows) -> None:
        """Drop the single losses of the blocks settled first, beyond what is to be remembered."""
        while rows.head.kept > self.options.remember and rows.head.forgotten < rows.head.settled:
            place, kept = rows.head.forgotten + 1, rows.head.kept
            old = rows.settled_at(place)
            if old is not None:
                rows.forget(old.number)
                if old.whole:
                    rows.set(BlockRow, old.number, parts=as_parts(summed(old)), whole=0)
                kept -= old.rounds
            rows.head = rows.head._replace(forgotten=place, kept=kept)

    # ---- state

    def _loaded(self, rows: Rows) -> Game:
        """The game as of `rows.head`, to be changed. Within a transaction it is ahead of the stored one."""
        head = rows.head
        if self._game is None or self._version != head.version:
            self._game = self.stored(rows)
        self._version = head.version + 1  # whoever asks for it changes it, and counts that in `rows.head`
        return self._game

    def values_of(self, block: BlockRow) -> Array:
        """A block as the policy's kernels take it: with the number that its arm has by now, if it is still played."""
        values = stored_block(self.policy, self.identity.name, block)
        if block.arm in self.active:
            values[0] = self.active.index(block.arm)
        return values

    def stored(self, rows: Rows) -> Game:
        """The game as it is in the store."""
        state = rows.get(State)
        if state is None or state.version != rows.head.version:
            raise BadStore(f"player {self.identity.name!r} is damaged: its state is not that of its last block")
        arms_left = len(self.active) < len(self._names)
        return stored_game(self.policy, self.identity.name, state, rows, arms_left=arms_left)

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


def summed(block: BlockRow, new: Iterable[float] = ()) -> list[float]:
    """The losses told of a block, `new` ones too, as parts of their sum."""
    return exact_sum([*parts_of(block.parts), *new])
