"""Views of a game: read at one moment, in a bounded number of rows."""

from __future__ import annotations

import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from holdfast import bounds
from holdfast.bounds.table import proved_cost
from holdfast.decisions.game import Setup, assigned, chosen_by, moves_of, players_of
from holdfast.decisions.history import Totals, changes_of, totals_of
from holdfast.decisions.models import BY_RULE, Block, HandedOut, Head, undamaged
from holdfast.decisions.settings import SETTINGS
from holdfast.decisions.status import certificate_of, paused, pinned, probabilities_of, shares, switches_left, why
from holdfast.decisions.stores.sql import Transaction, select
from holdfast.errors import OutOfTurn
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import student_quantile
from holdfast.players.saves import described
from holdfast.policies.hedge import AdaptiveHedgeSwitch
from holdfast.policies.policy import Policy
from holdfast.service.messages import (
    ArmLine,
    BlockView,
    ChangeView,
    GameLine,
    GameView,
    Hold,
    MoveView,
    Paused,
    ShareNow,
)
from holdfast.text import finite, number

# ---- arms as they are now: what they lost lately beside all their life, and which of them need a look

LATEST = 1000
"""Latest losses of a game, by which its arms are compared with what they were."""
IN_A_DAY = 5000
"""Most losses that are read for the means of an hour and a day."""
HOUR, DAY = 3600.0, 86400.0

LEAST, FEW = 10, 50
"""Fewest losses of an arm that say something, and how many of its latest are compared with those before."""
DEVIATIONS, SHARE = 3.0, 0.1
"""Standard deviations, and part of the range of losses, by which an arm must have become worse."""


class Heard(NamedTuple):
    """One of the latest losses. What was measured is read of the last `LATEST` only."""

    arm: int
    loss: float
    at: float
    measures: dict[str, Any]

    @property
    def failed(self) -> bool:
        """True if a failure was reported."""
        return bool(self.measures.get("failed") or self.measures.get("error"))


class Mean(NamedTuple):
    """The mean of some losses, and how many they are."""

    n: int
    value: float | None

    @classmethod
    def of(cls, losses: Sequence[float]) -> Mean:
        return cls(len(losses), math.fsum(losses) / len(losses) if losses else None)


class Recent(NamedTuple):
    """Recent losses of one arm."""

    hour: Mean
    day: Mean
    latest: Mean
    """Those of the game's last `LATEST` losses that are this arm's."""
    failures: int
    """Failures among `latest`."""
    measures: dict[str, float]
    """Means of what was measured among `latest`."""


def heard_lately(transaction: Transaction, limit: int) -> list[Heard]:
    """Return the latest losses by block and round, the last one first."""
    columns, order = "block, round, loss, at, measures", "ORDER BY block DESC, round DESC LIMIT ?"
    query = f"SELECT {columns} FROM holdfast_losses WHERE game = ? {order}"
    losses = transaction.fetch(query, transaction.game, limit)
    if not losses:
        return []
    query = "SELECT number, arm, probability, played FROM holdfast_blocks WHERE game = ? AND number BETWEEN ? AND ?"
    last: dict[int, int] = {block: round for block, round, *_ in reversed(losses)}  # the latest round of each block
    by: dict[int, Any] = {}
    for block, arm, probability, played in transaction.fetch(query, transaction.game, losses[-1][0], losses[0][0]):
        row = Block(block, None, arm, 0, probability, 0.0, None, 0, "", played=played)
        by[block] = [player for player, _ in players_of(row, last[block] + 1)] if played and block in last else arm
    found = []
    with undamaged("the latest losses"):
        for n, (block, round, loss, at, measures) in enumerate(losses):
            arm = by[block] if isinstance(by[block], int) else by[block][round]
            found.append(Heard(arm, float(loss), float(at), json.loads(measures) if measures and n < LATEST else {}))
    return found


def recent_of(heard: Sequence[Heard], n_arms: int, now: float) -> list[Recent]:
    """Return the recent losses of each arm."""
    by_arm: dict[int, list[Heard]] = defaultdict(list)
    latest: dict[int, list[Heard]] = defaultdict(list)
    for i, one in enumerate(heard):
        by_arm[one.arm].append(one)
        if i < LATEST:
            latest[one.arm].append(one)
    found = []
    for arm in range(n_arms):
        measured: dict[str, list[float]] = defaultdict(list)
        for one in latest[arm]:
            for name, value in one.measures.items():
                if isinstance(value, float | int) and not isinstance(value, bool):
                    measured[name].append(value)
        found.append(
            Recent(
                Mean.of([one.loss for one in by_arm[arm] if one.at > now - HOUR]),
                Mean.of([one.loss for one in by_arm[arm] if one.at > now - DAY]),
                Mean.of([one.loss for one in latest[arm]]),
                sum(one.failed for one in latest[arm]),
                {name: math.fsum(values) / len(values) for name, values in measured.items()},
            )
        )
    return found


def warnings_of(setup: Setup, totals: Totals, heard: Sequence[Heard], now: float) -> list[str]:
    """Return a warning for each arm that has become worse, and one for those that were not looked at for long."""
    found, unseen = [], []
    low, high = setup.bounds
    for i, arm in enumerate(totals.arms):
        if arm.retired:
            continue
        lately = [one.loss for one in heard[:LATEST] if one.arm == i and one.at > now - DAY][:FEW]
        before = arm.told - len(lately)
        if len(lately) >= LEAST and before >= LEAST and high > low:
            usual = min(max((arm.losses - math.fsum(lately)) / before, low), high)
            mean = math.fsum(lately) / len(lately)
            spread = math.sqrt((usual - low) * (high - usual) / len(lately))  # at most, within the range of losses
            if mean > usual + max(DEVIATIONS * spread, SHARE * (high - low)):
                words = f"{mean:.3g} on average in its last {len(lately)} losses, and {usual:.3g} before"
                found.append(f"{arm.arm} is worse than it was: {words}")
        paused = any(one == i and until > now for one, until in setup.paused)
        age = math.inf if arm.last_used is None else now - arm.last_used
        if totals.rounds >= LATEST and age > DAY and not paused and not totals.conversations:
            unseen.append((age, arm))
    if unseen:
        age, longest = max(unseen, key=lambda pair: pair[0])
        long = "ever" if age == math.inf else f"for {age / DAY:.3g} days"
        many = f"{len(unseen)} arms were not played for a day or longer, {longest.arm} not {long}"
        found.append(many if len(unseen) > 1 else f"{longest.arm} was not played {long}")
    return found


# ---- the course of a whole game, for its page: sums over stretches of blocks, which are read once and then kept
#
# A stretch is a power of two of blocks, such that a game has at most `POINTS` of them. One whose blocks are all
# settled no longer changes. So a look reads what was added since the last one. The first look at a long game
# would take too long: each look reads from the end backwards, stops after `SECONDS`, and the next one continues.

POINTS = 1024
"""Most stretches of a game."""
SECONDS = 0.1
"""Seconds that one look may read: calls on a SQLite file wait meanwhile."""
ROWS = 1 << 12
"""Blocks that one query sums up."""
CHUNK = 400
"""Blocks that one query looks up by number."""
KNOWN = 10_000
"""Rounds for which the losses of all arms are compared."""
BOUND_POINTS = 32

ROUNDS, LOSS, SWITCHES, RULE_ROUNDS, RULE_LOSS, RULE_SWITCHES, OPEN, BY_ARM = range(8)
"""Places in the sums of a stretch: it is open while blocks of it are, or are to come. Then three for each arm: rounds,
losses known, their sum."""

ADDED_UP = """
SELECT (number - 1) / {size}, arm, SUM(rounds), SUM(loss), SUM(CASE WHEN before = arm THEN 0 ELSE 1 END),
    SUM(by_rule * known), SUM(by_rule * loss), SUM(waits),
    SUM(CASE WHEN played = '' THEN known ELSE 0 END), SUM(CASE WHEN played = '' THEN loss ELSE 0.0 END)
FROM (SELECT number, arm, rounds, played,
    (SELECT arm FROM holdfast_blocks AS a WHERE a.game = b.game AND a.number = b.number - 1) AS before,
    CASE WHEN settled_order IS NULL THEN 0 WHEN stand_in IS NULL THEN told ELSE rounds END AS known,
    COALESCE(total, 0.0) + COALESCE(stand_in, 0.0) * (rounds - told) AS loss,
    CASE WHEN forced = 2 THEN 1 ELSE 0 END AS by_rule, CASE WHEN settled_order IS NULL THEN 1 ELSE 0 END AS waits
    FROM holdfast_blocks AS b WHERE game = ? AND number > ? AND number <= ? AND rounds > 0) AS blocks
GROUP BY 1, 2
"""


class Stretches(NamedTuple):
    size: int
    """Blocks in each."""
    first: int
    """Number of stretches before them."""
    sums: Array

    def of(self, number: int) -> int:
        """Return the stretch that a block is in."""
        return (number - 1) // self.size - self.first

    def ends(self, last: int) -> Array:
        """Return their last blocks; `last` is that of the game."""
        return np.minimum((self.first + 1 + np.arange(len(self.sums))) * self.size, last)


@dataclass
class Lines:
    """A game over its rounds, at the ends of stretches."""

    rounds: list[int]
    """Rounds handed out by then."""
    times: list[float]
    """When the last block of each stretch began."""
    held: Array
    """Rounds of each arm's blocks, per stretch."""
    sample: list[tuple[int, float] | None]
    """Arm and probability of each stretch's last block, if the policy drew it."""
    every: int
    """Blocks per stretch."""
    whole: bool
    """True if everything is read."""
    cost: list[float]
    """Cost paid, with each switch at its average cost."""
    fixed: list[list[float | None]]
    """Cost of each fixed arm: exact under full information, else estimated by its mean."""
    plan: list[float | None] | None
    """Best plan in hindsight, under full information."""
    known_from: int | None
    """Round after which the losses of all arms are known."""
    rule: list[float | None] | None
    """Estimated cost of the operator's rule throughout, by the mean of its blocks."""
    bound: list[float | None] | None
    """Proved bound on the mean cost of such games, if the best arm's line is right."""
    proved: str
    """Name of the theorem."""


class Course:
    """The sums of one game, shared by several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._arms = 0
        self._size = 1
        self._sums: dict[int, Array] = {}

    def look(self, transaction: Transaction, setup: Setup, totals: Totals) -> Lines | None:
        """Return the lines over what was read so far; none before the first block."""
        with self._lock:
            if self._arms != len(setup.names):
                self._arms, self._size = len(setup.names), 1
                self._sums.clear()
            while transaction.head.block > POINTS * self._size:
                self._double()
            end = math.ceil(transaction.head.block / self._size)
            self._read(transaction, setup, end)
            first = next((i + 1 for i in range(end - 1, -1, -1) if i not in self._sums), 0)
            sums = [self._sums[i] for i in range(first, end)]
            return _lines(transaction, setup, totals, Stretches(self._size, first, np.array(sums))) if sums else None

    def _double(self) -> None:
        """Double the blocks per stretch; one with an unknown half is read again."""
        self._size *= 2
        known, self._sums = self._sums, {}
        for i, sums in known.items():
            if i % 2 == 0 and i + 1 in known:
                self._sums[i // 2] = sums + known[i + 1]

    def _read(self, transaction: Transaction, setup: Setup, stretches: int) -> None:
        """Read first what was never read, then what may have changed; the latest first."""
        until, size, latest = time.monotonic() + SECONDS, self._size, range(stretches - 1, -1, -1)
        unknown = [i for i in latest if i not in self._sums]
        changed = [i for i in latest if i in self._sums and self._sums[i][OPEN]]
        for first, end in (*_runs(unknown, size), *_runs(changed, size)):
            found = np.zeros((end - first, BY_ARM + 3 * self._arms))
            found[-1, OPEN] += end * size > transaction.head.block
            for stretch, arm, *values in transaction.fetch(
                ADDED_UP.format(size=size), transaction.game, first * size, end * size
            ):
                rounds, loss, switches, rule_rounds, rule_loss, waits, told, lost = map(float, values)
                at = found[stretch - first]
                at[:RULE_SWITCHES] += rounds, loss, switches, rule_rounds, rule_loss
                at[OPEN] += waits
                at[BY_ARM + 3 * arm : BY_ARM + 3 * arm + 3] += rounds, told, lost
            if setup.settings.holdback:
                for number, count in _switches_of_rule(transaction, first * size, end * size):
                    found[(number - 1) // size - first, RULE_SWITCHES] += count
            self._sums |= zip(range(first, end), found, strict=True)
            if time.monotonic() > until:
                return


def _runs(stretches: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """Group neighbours, as far as one query may go: the first, and the one after the last."""
    most = max(ROWS // size, 1)
    for _, run in groupby(enumerate(stretches), key=lambda pair: pair[0] + pair[1]):  # they go down by one
        together = [stretch for _, stretch in run]
        for i in range(0, len(together), most):
            yield together[i : i + most][-1], together[i] + 1


def _switches_of_rule(transaction: Transaction, after: int, last: int) -> Iterator[tuple[int, int]]:
    """Return the rule's blocks in which it switched, and how often."""
    wanted = (*Block._fields[:4], "played")
    where = "WHERE game = ? AND number > ? AND number <= ? AND forced = ? AND played <> ''"
    query = f"SELECT {', '.join(wanted)} FROM holdfast_blocks {where}"
    for block_number, key, arm, rounds, played in transaction.fetch(query, transaction.game, after, last, BY_RULE):
        block = Block(block_number, key, arm, rounds, 1.0, 0.0, None, BY_RULE, "", played=played)
        yield block_number, sum(a != b for (a, _), (b, _) in pairwise(players_of(block, rounds)))


def _lines(transaction: Transaction, setup: Setup, totals: Totals, stretches: Stretches) -> Lines:
    """Return the lines, with the losses of unsettled blocks."""
    head, sums = transaction.head, stretches.sums
    for block in transaction.blocks("open"):
        if (place := stretches.of(block.number)) < 0:
            continue
        at, loss = sums[place], math.fsum(block.losses)
        at[LOSS] += loss
        if block.forced == BY_RULE:
            at[RULE_ROUNDS] += block.told
            at[RULE_LOSS] += loss
        if not block.played:
            at[BY_ARM + 3 * block.arm + 1] += block.told
            at[BY_ARM + 3 * block.arm + 2] += loss
        if block.number == head.current:
            at[ROUNDS] -= head.rounds - head.handed
            at[BY_ARM + 3 * block.arm] -= head.rounds - head.handed
    held = sums[:, BY_ARM::3]
    so_far = sums.cumsum(axis=0)
    whole = stretches.first == 0 and not head.removed
    if not whole:
        so_far += _before(totals, so_far[-1])
    rounds = so_far[:, ROUNDS]
    price = math.fsum(head.paid) / max(so_far[-1, SWITCHES], 1.0)
    cost = so_far[:, LOSS] + price * so_far[:, SWITCHES]
    told, lost = so_far[:, BY_ARM + 1 :: 3], so_far[:, BY_ARM + 2 :: 3]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = lost / told * rounds[:, None]
        own = getattr(setup.policy, "switching_cost", 0.0)
        switching = own if isinstance(own, float) else 0.0
        ruled = (so_far[:, RULE_LOSS] + switching * so_far[:, RULE_SWITCHES]) / so_far[:, RULE_ROUNDS] * rounds
    fixed, plan, known_from = _known_lines(transaction, setup, stretches, cost)
    bound, statement = None, ""
    changed = transaction.fetch("SELECT id FROM holdfast_changes WHERE game = ? LIMIT 1", transaction.game)
    limited = setup.settings.holdback or setup.settings.share is not None or setup.settings.most_switches is not None
    as_proved = whole and not (totals.missing or limited or changed)
    if as_proved and (not setup.policy.full_information or (known_from == 0 and head.asked == head.block)):
        bound, statement = _bound(setup, rounds, means.T if fixed is None else fixed)
    times, sample = _ends(transaction, stretches.ends(head.block).tolist())
    return Lines(
        rounds=rounds.astype(int).tolist(),
        times=times,
        held=held,
        sample=sample,
        every=stretches.size,
        whole=stretches.first == 0,
        cost=cost.tolist(),
        fixed=finite((means.T if fixed is None else fixed).tolist()),
        plan=None if plan is None else finite(plan.tolist()),
        known_from=None if known_from is None else int(rounds[known_from - 1]) if known_from else 0,
        rule=finite(ruled.tolist()) if setup.settings.holdback else None,
        bound=None if bound is None else finite(bound.tolist()),
        proved=statement,
    )


def _before(totals: Totals, summed: Array) -> Array:
    """Return the part of the totals that belongs to blocks removed before they were read."""
    found = np.zeros_like(summed)
    found[ROUNDS] = totals.rounds
    found[LOSS] = totals.losses + totals.missing_losses
    found[SWITCHES] = totals.switches
    for arm, one in enumerate(totals.arms):
        lost = one.losses + one.missing_losses
        found[BY_ARM + 3 * arm :][:3] = one.rounds, lost / one.mean if one.mean else one.told, lost
    there = found > 0.0  # nothing is known of the rule's
    found[there] = np.maximum(found - summed, 0.0)[there]
    return found


def _ends(transaction: Transaction, numbers: list[int]) -> tuple[list[float], list[tuple[int, float] | None]]:
    """Return when some blocks began, and the arm and probability of those that the policy drew.

    A block whose row is gone began as the one before.
    """
    found: dict[int, tuple[float, int, int, float]] = {}
    for first in range(0, len(numbers), CHUNK):
        some = numbers[first : first + CHUNK]
        where = f"WHERE game = ? AND number IN ({', '.join('?' * len(some))})"
        query = f"SELECT number, began, forced, arm, probability FROM holdfast_blocks {where}"
        found |= {number: tuple(values) for number, *values in transaction.fetch(query, transaction.game, *some)}
    times: list[float] = []
    drawn: list[tuple[int, float] | None] = []
    for one in numbers:
        began, forced, arm, probability = found.get(one, (None, 1, 0, 0.0))
        if began is None:
            began = times[-1] if times else min((began for began, *_ in found.values()), default=0.0)
        times.append(began)
        drawn.append(None if forced else (arm, probability))
    return times, drawn


def _known_lines(
    transaction: Transaction, setup: Setup, stretches: Stretches, cost: Array
) -> tuple[Array, Array, int] | tuple[None, None, None]:
    """Return the lines of fixed arms and of the best plan, and after which stretch the losses of all arms are known."""
    price, last = getattr(setup.policy, "switching_cost", None), transaction.head.block
    if not setup.policy.full_information or not isinstance(price, float):
        return None, None, None
    after = max(last - KNOWN, stretches.first * stretches.size)
    query = "SELECT number FROM holdfast_blocks WHERE game = ? AND number > ? AND rounds > 0 ORDER BY number"
    numbers = [number for (number,) in transaction.fetch(query, transaction.game, after)]
    seen = {one.block: json.loads(one.losses) for one in transaction.seen(after + 1, last)}
    rows = [[seen.get(number, {}).get(str(arm)) for arm in setup.active] for number in numbers]
    waiting = bool(rows) and None in rows[-1]
    if waiting:
        del rows[-1], numbers[-1]
    after = next((n for n, row in zip(reversed(numbers), reversed(rows), strict=True) if None in row), after)
    whole = stretches.first == 0 and not transaction.head.removed
    before = max(stretches.of(after) + 1, 0 if whole else 1)
    rows = [row for number, row in zip(numbers, rows, strict=True) if stretches.of(number) >= before]
    numbers = numbers[len(numbers) - len(rows) :]
    if not rows:
        return None, None, None
    from holdfast.numerics.hindsight import best_plan  # a kernel that other games do not need

    start = cost[before - 1] if before else price  # the first play is a switch
    table = np.array(rows)
    chosen = best_plan(table, price).arms
    planned = table[np.arange(len(table)), chosen] + price * (np.diff(chosen, prepend=chosen[0]) != 0)
    place = np.searchsorted(numbers, stretches.ends(last), side="right") - 1
    if waiting:
        place[-1] = -1

    def line(values: Array) -> Array:
        return np.where(place >= 0, start + np.cumsum(values)[place], np.nan)

    fixed = np.full((len(setup.names), len(cost)), np.nan)
    for i, arm in enumerate(setup.active):
        fixed[arm] = line(table[:, i])
    return fixed, line(planned), before


def _bound(setup: Setup, rounds: Array, fixed: Array) -> tuple[Array | None, str]:
    """Return the best arm's cost plus the proved mean excess of the policy, at some points of the line."""
    found = proved(setup.policy)
    if found is None:
        return None, ""
    statement, excess = found
    line = np.full(len(rounds), np.nan)
    for i in np.unique(np.linspace(0, len(rounds) - 1, BOUND_POINTS).astype(int)):
        best = np.nanmin(fixed[:, i], initial=np.inf)
        if rounds[i] and math.isfinite(best):
            line[i] = best + excess(int(rounds[i]), float(best))
    return line, statement


def proved(policy: Policy) -> tuple[str, Callable[[int, float], float]] | None:
    """Return a theorem about the policy, and its bound on the mean excess cost over the best arm.

    The bound takes the number of rounds and the best arm's cost. It is about losses that all come before the next
    block begins, and settings that do not change.
    """
    cost, unit = getattr(policy, "switching_cost", 0.0), policy.unit
    if not isinstance(cost, float):
        return None
    if isinstance(policy, AdaptiveHedgeSwitch):
        if policy.experts is not None:  # which may be other ones than to stay with an arm
            return None
        return "Theorem H3 of docs/theory/full_information.md", partial(_excess_of_mixture, policy, cost)
    if proved_cost(policy, cost) is None:
        return None
    normalised: dict[str, Any] = {"units": (0.0, 1.0), **({"switching_cost": cost / unit} if cost else {})}
    found = proved_cost(replace(policy, **normalised), cost / unit)
    return None if found is None else (found.statement, lambda T, best: unit * found.value(horizon=T))


def _excess_of_mixture(policy: AdaptiveHedgeSwitch, cost: float, rounds: int, best: float) -> float:
    unit, losses = policy.unit, max(best - policy.units[0] * rounds, 0.0)
    return unit * bounds.mixture_excess(len(policy.mixed), cost / unit, losses / unit, rounds=rounds)


RECENT = 2000
"""Blocks used for intervals."""

MOST_TODAY = 20_000
"""Most blocks of one day summed up for the list."""

MOST_LISTED = 100
"""Arms in a line of the list and in the metrics."""

CHANGES = 5
"""Changes on the page of a game."""

SILENT = 3600.0
"""Seconds without any loss, while some are pending, after which a game is marked."""


def game_view(transaction: Transaction, setup: Setup, now: float) -> GameView:
    """Return a game: its policy, settings and status."""
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
        **{name: value for name, value in setup.settings.plain().items() if name in SETTINGS},
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
        shares=[ShareNow(arm, share) for arm, share in shares(transaction, setup, now).items()],
        switches_left=switches_left(transaction, setup, now),
        certificate=certificate_of(transaction, setup) if setup.policy.full_information else None,
    )


def _paused(transaction: Transaction, setup: Setup, now: float) -> list[Paused]:
    found = paused(transaction, setup, now)
    return [Paused(arm, None if until == math.inf else until) for arm, until in found.items()]


def _arm(head: Head, setup: Setup) -> int | str | None:
    return None if head.arm < 0 else setup.name_of(head.last_arm if head.clock < head.stays else head.arm)


def hold(transaction: Transaction, setup: Setup, now: float) -> Hold:
    """Return the arm held, and for how long."""
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
    """Return the contents of an event."""
    head, held = transaction.head, hold(transaction, setup, now)
    return {
        "revision": head.revision,
        "rounds": head.asked,
        "switches": head.switches,
        **{name: getattr(held, name) for name in ("arm", "hold", "block", "conversations", "why")},
        "paused": _paused(transaction, setup, now),
        "pinned": pinned(transaction, setup, now),
    }


def block_view(block: Block, setup: Setup) -> BlockView:
    """Return one block: its columns of the same names, and what is written otherwise."""
    same = {name: value for name, value in block._asdict().items() if name in BlockView.__struct_fields__}
    other = {
        "arm": setup.name_of(block.arm),
        "settled": block.settled_at,
        "by": chosen_by(block),
        "moves": [MoveView(move.round, setup.name_of(move.arm), move.reason) for move in moves_of(block)],
    }
    return BlockView(**{**same, **other})


def game_line(transaction: Transaction, setup: Setup, now: float) -> GameLine:
    """Return a game's line in the list, with warnings."""
    head, totals = transaction.head, totals_of(transaction, setup)
    blocks = transaction.blocks("latest", 50)
    heard = heard_lately(transaction, LATEST)
    since = None
    for block in blocks:
        if assigned(block)[0] != head.arm:
            break
        since = block.began
    last = max((loss.at for loss in heard), default=None)
    return GameLine(
        name=setup.game.name,
        label=setup.policy.label,
        arm=_arm(head, setup),
        conversations=totals.conversations,
        moves=totals.moves,
        since=since,
        rounds=totals.rounds,
        switches=totals.switches,
        switches_left=switches_left(transaction, setup, now),
        out=totals.out,
        missing=totals.missing,
        cost=totals.cost,
        today=cost_since(transaction, now - now % DAY, totals.switching / max(totals.switches, 1)),
        late=head.late,
        last_loss=last,
        warnings=[
            *_warnings(now, totals, [loss.loss for loss in heard[:300]], last),
            *warnings_of(setup, totals, heard, max(now, head.clock)),
        ],
        arms=arm_lines(transaction, setup, totals, recent_of(heard, len(setup.names), now), now),
    )


def arm_lines(
    transaction: Transaction, setup: Setup, totals: Totals, recent: Sequence[Recent], now: float
) -> list[ArmLine]:
    """Return the arms in play as they are now."""
    head, down = transaction.head, paused(transaction, setup, now)
    try:
        drawn = dict(zip(setup.active, probabilities_of(transaction, setup).tolist(), strict=True))
    except OutOfTurn:
        drawn = {}
    pin, caps = pinned(transaction, setup, now), shares(transaction, setup, now)
    return [
        ArmLine(
            arm=setup.names[i],
            rounds=totals.arms[i].rounds,
            told=totals.arms[i].told,
            missing=totals.arms[i].missing,
            mean=totals.arms[i].mean,
            recent=recent[i].latest.value,
            failures=recent[i].failures,
            probability=drawn.get(i),
            share=caps.get(setup.names[i]),
            held=head.last_arm == i,
            paused=setup.names[i] in down,
            pinned=setup.names[i] == pin,
        )
        for i in setup.active[:MOST_LISTED]
    ]


def cost_since(transaction: Transaction, moment: float, price: float) -> float | None:
    """Return the cost of blocks begun since a moment, `price` per switch; None if there are too many.

    See `Totals.cost`, substitutes for missing losses count too.
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
    """Contents of a game's page, as of one moment."""

    now: float
    view: GameView
    totals: Totals
    intervals: list[tuple[float, float] | None]
    """Interval of the mean loss of each arm."""
    lines: Lines | None
    recent: list[Recent]
    """Recent losses of each arm."""
    waits: list[float]
    """Delays in seconds of the last losses after their decisions, sorted."""
    why: str
    changes: list[ChangeView]
    """Latest changes, newest first."""


def dashboard(course: Course, transaction: Transaction, setup: Setup, now: float) -> Board:
    """Return the contents of a game's page."""
    totals = totals_of(transaction, setup)
    blocks = transaction.blocks("latest", RECENT)[::-1]
    changes = changes_of(transaction, transaction.number_of_change(CHANGES))
    return Board(
        now=max(transaction.head.clock, now),
        view=game_view(transaction, setup, now),
        totals=totals,
        intervals=_intervals(setup, totals, blocks),
        lines=course.look(transaction, setup, totals),
        recent=recent_of(heard_lately(transaction, IN_A_DAY), len(setup.names), max(transaction.head.clock, now)),
        waits=_waits(transaction, blocks),
        why=why(transaction, setup, now),
        changes=[ChangeView(**change) for _, change in reversed(changes)],
    )


def _intervals(setup: Setup, totals: Totals, blocks: list[Block]) -> list[tuple[float, float] | None]:
    """Return 95 % intervals of each arm's mean loss, from its recent blocks, within the range of losses."""
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
    for values in transaction.fetch(select(HandedOut) + where, transaction.game, first, last):
        asked[values[0]].append((values[1], values[3]))
    waits = []
    for loss in transaction.losses(first, last)[-20000:]:
        starts = [at for start, at in asked[loss.block] if start <= loss.round]
        if starts:
            waits.append(max(loss.at - starts[-1], 0.0))
    return sorted(waits)
