"""What a game looks like from outside: read at one moment, in a bounded number of rows."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from holdfast.decisions.history import Totals, changes_of, totals_of
from holdfast.decisions.models import Ask, Block, Head
from holdfast.decisions.router import certificate_of, paused, pinned, probabilities_of
from holdfast.decisions.setup import Setup, players_of
from holdfast.decisions.stores.sql import Transaction, select
from holdfast.decisions.why import why
from holdfast.errors import OutOfTurn
from holdfast.number_format import number
from holdfast.players.document import described
from holdfast.service.course import Course, Lines
from holdfast.service.messages import BlockView, ChangeView, GameLine, GameView, Hold, Paused
from holdfast.statistics import student_quantile

RECENT = 2000
"""Blocks that intervals are made of."""

DAY = 86400.0
MOST_TODAY = 20_000
"""Blocks of one day that are added up for the list."""

CHANGES = 5
"""Changes on the page of a game."""

SILENT = 3600.0
"""Seconds without any loss, while some are out, after which a game is marked."""


def game_view(transaction: Transaction, setup: Setup, now: float) -> GameView:
    """A game: what it plays and where it stands."""
    head = transaction.head
    try:
        probabilities = probabilities_of(transaction, setup).tolist()
    except OutOfTurn:
        probabilities = None
    content = described(setup.policy)["policy"]
    return GameView(
        name=setup.game.name,
        policy=content,
        label=setup.policy.label,
        arms=[setup.names[arm] for arm in setup.active],
        names=list(setup.names),
        patience=setup.settings.written,
        missing=setup.settings.missing,
        remember=setup.settings.remember,
        scale=None if setup.settings.scale is None else setup.settings.scale.settings(),
        key_life=setup.settings.key_life,
        learn_after=setup.settings.learn_after,
        holdback=setup.settings.holdback,
        waits_for_losses=setup.policy.waits_for_losses,
        created=setup.game.created,
        revision=head.revision,
        rounds=head.asked,
        switches=head.switches,
        arm=_arm(head, setup),
        hold=head.rounds - head.handed,
        probabilities=probabilities,
        paused=_paused(transaction, setup, now),
        pinned=pinned(transaction, setup, now),
        certificate=certificate_of(transaction, setup) if setup.policy.sees == "all" else None,
    )


def _paused(transaction: Transaction, setup: Setup, now: float) -> list[Paused]:
    found = paused(transaction, setup, now)
    return [Paused(arm, None if until == math.inf else until) for arm, until in found.items()]


def _arm(head: Head, setup: Setup) -> int | str | None:
    return None if head.arm < 0 else setup.name_of(head.arm)


def hold(transaction: Transaction, setup: Setup, now: float) -> Hold:
    """The arm held, and for how long."""
    head = transaction.head
    begun = head.arm >= 0
    return Hold(
        arm=_arm(head, setup),
        hold=head.rounds - head.handed,
        block=head.current,
        probability=head.probability if begun else None,
        conversations=transaction.live(),
        why=why(transaction, setup, now),
    )


def standing(transaction: Transaction, setup: Setup, now: float) -> dict[str, Any]:
    """What an event carries."""
    head, held = transaction.head, hold(transaction, setup, now)
    return {
        "revision": head.revision,
        "rounds": head.asked,
        "switches": head.switches,
        "arm": held.arm,
        "hold": held.hold,
        "block": held.block,
        "conversations": held.conversations,
        "why": held.why,
        "paused": _paused(transaction, setup, now),
        "pinned": pinned(transaction, setup, now),
    }


def block_view(block: Block, setup: Setup) -> BlockView:
    """One block."""
    return BlockView(
        number=block.number,
        key=block.key,
        arm=setup.name_of(block.arm),
        rounds=block.rounds,
        probability=block.probability,
        began=block.began,
        bound=block.bound,
        told=block.told,
        late=block.late,
        due=block.due,
        settled=block.settled_at,
        losses=list(block.losses),
        stand_in=block.stand_in,
        forced=block.forced,
    )


def game_line(transaction: Transaction, setup: Setup, now: float) -> GameLine:
    """A game in the list, with what looks wrong."""
    head, totals = transaction.head, totals_of(transaction, setup)
    blocks = transaction.blocks("latest", 50)
    losses = transaction.losses(blocks[-1].number, blocks[0].number) if blocks else []
    since = None
    for block in blocks:
        if block.arm != head.arm:
            break
        since = block.began
    last = max((loss.at for loss in losses), default=None)
    return GameLine(
        name=setup.game.name,
        label=setup.policy.label,
        arm=_arm(head, setup),
        conversations=totals.conversations,
        since=since,
        rounds=totals.rounds,
        switches=totals.switches,
        out=totals.out,
        missing=totals.missing,
        cost=totals.cost,
        today=cost_since(transaction, now - now % DAY, totals.switching / max(totals.switches, 1)),
        last_loss=last,
        warnings=_warnings(now, totals, [loss.loss for loss in losses], last),
    )


def cost_since(transaction: Transaction, moment: float, price: float) -> float | None:
    """What the blocks begun since a moment have cost, `price` a switch; None where there are too many of them.

    As in `Totals.cost`, what stood for a missing loss counts too.
    """
    head = transaction.head
    before, last = head.removed, head.block
    while before < last:  # the last block that began before it
        middle = (before + last) // 2
        found = transaction.blocks("after", middle, 1)
        if found and found[0].began < moment:
            before = found[0].number
        else:
            last = middle
    if head.block - before > MOST_TODAY:
        return None
    wanted = (*Block._fields[:4], "played", "total", "COALESCE(stand_in, 0.0) * (rounds - told)")
    query = f"SELECT {', '.join(wanted)} FROM holdfast_blocks WHERE game = ? AND number >= ? ORDER BY number"
    last_arm, switches, costs = -1, 0, []
    for number_, key, arm, rounds, played, total, stood_in in transaction.fetch(query, transaction.game, before):
        block = Block(number_, key, arm, rounds, 0.0, 0.0, None, 0, "", played=played)
        handed = head.handed if block.number == head.current else block.rounds
        by = [player for player, _ in players_of(block, handed)] if played else [arm] * min(handed, 1)
        if block.number > before or before == head.removed:
            costs += [] if total is None else [total, stood_in]
            switches += 0 if block.key is not None else sum(a != b for a, b in pairwise([last_arm, *by]))
        last_arm = by[-1] if by and block.key is None else last_arm  # conversations pay for no switch
    unsettled = [part for block in transaction.blocks("open") if block.number > before for part in block.losses]
    return math.fsum([*costs, *unsettled, price * switches])


def _warnings(now: float, totals: Totals, losses: list[float], last: float | None) -> list[str]:
    found = []
    if totals.out and now - (last or 0.0) > SILENT and totals.told:
        found.append("no losses for more than an hour")
    if totals.rounds >= 20 and not totals.told:
        found.append("no loss was ever reported")
    if len(losses) >= 20 and len(set(losses)) == 1:
        found.append(f"the last {len(losses)} losses are all {losses[0]:g}")
    settled = totals.told + totals.missing
    if totals.missing > 0.2 * settled:
        found.append(f"{totals.missing / settled:.0%} of the losses did not come in time")
    played = [arm.arm for arm in totals.arms if arm.rounds]
    active = [arm for arm in totals.arms if not arm.retired]
    if totals.rounds >= 200 and len(played) == 1 and len(active) > 1:
        found.append(f"only {played[0]} was ever played, in {number(totals.rounds)} rounds")
    if totals.out > 10_000:
        found.append(f"{number(totals.out)} losses are out")
    return found


@dataclass(frozen=True)
class Board:
    """All that the page of a game shows, as it is at one moment."""

    now: float
    view: GameView
    totals: Totals
    intervals: list[tuple[float, float] | None]
    """Of the mean loss of each arm."""
    lines: Lines | None
    waits: list[float]
    """How long after their decisions the last losses came, in seconds, sorted."""
    why: str
    changes: list[ChangeView]
    """The last ones, the latest first."""


def dashboard(course: Course, transaction: Transaction, setup: Setup, now: float) -> Board:
    """What the page of a game shows."""
    totals = totals_of(transaction, setup)
    blocks = transaction.blocks("latest", RECENT)[::-1]
    changes = changes_of(transaction, transaction.number_of_change(CHANGES))
    return Board(
        now=max(transaction.head.clock, now),
        view=game_view(transaction, setup, now),
        totals=totals,
        intervals=_intervals(setup, totals, blocks),
        lines=course.look(transaction, setup, totals),
        waits=_waits(transaction, blocks),
        why=why(transaction, setup, now),
        changes=[ChangeView(**change) for _, change in reversed(changes)],
    )


def _intervals(setup: Setup, totals: Totals, blocks: list[Block]) -> list[tuple[float, float] | None]:
    """Of each arm's mean loss: 95 %, made of its recent blocks, within the range of losses."""
    ends = [setup.bounds_of(block) for block in blocks] or [setup.bounds]
    lowest, highest = min(low for low, _ in ends), max(high for _, high in ends)
    by_arm: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for block in blocks:
        if block.told:
            by_arm[block.arm].append((math.fsum(block.losses), block.told))
    intervals: list[tuple[float, float] | None] = []
    for number_, arm in enumerate(totals.arms):
        found = by_arm[number_]
        told, n = sum(count for _, count in found), len(found)
        if n < 2 or arm.mean is None:
            intervals.append(None)
            continue
        mean = math.fsum(total for total, _ in found) / told
        spread = math.fsum((total - mean * count) ** 2 for total, count in found) * n / (n - 1)
        half = student_quantile(0.975, n - 1) * math.sqrt(spread) / told
        intervals.append((max(arm.mean - half, lowest), min(arm.mean + half, highest)))
    return intervals


def _waits(transaction: Transaction, blocks: list[Block]) -> list[float]:
    if not blocks:
        return []
    first, last = max(blocks[0].number, blocks[-1].number - 500), blocks[-1].number
    where = "WHERE game = ? AND block BETWEEN ? AND ? ORDER BY block, first LIMIT 20000"
    asked: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for values in transaction.fetch(select(Ask) + where, transaction.game, first, last):
        asked[values[0]].append((values[1], values[3]))
    waits = []
    for loss in transaction.losses(first, last)[-20000:]:
        starts = [at for start, at in asked[loss.block] if start <= loss.round]
        if starts:
            waits.append(max(loss.at - starts[-1], 0.0))
    return sorted(waits)
