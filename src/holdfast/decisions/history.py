"""The history of a game: one row per block, running totals, changes of settings, and the log that `replay` reads."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.decisions import holdout
from holdfast.decisions.executor import Executor, stored_state
from holdfast.decisions.game import (
    ArmSums,
    Part,
    Setup,
    assigned,
    block_numbers,
    chosen_by,
    moves_of,
    odds_of,
    parts_of,
    players_of,
)
from holdfast.decisions.models import BY_RULE, MOST_COUNT, MOST_TIME, PINNED, Block, HandedOut, Head, Loss, undamaged
from holdfast.decisions.requests import Compact
from holdfast.decisions.rules.report import long_wait
from holdfast.decisions.stores.sql import Transaction, row_of, select
from holdfast.errors import BadStore, InvalidParameter, printable
from holdfast.extras import pl
from holdfast.files import whole_file
from holdfast.text import counted

AT_ONCE = 1000
"""Blocks read or removed in one transaction."""

SUFFIXES = (".csv", ".parquet")

MOST_ROUNDS = 5000
"""Rounds read in one transaction for the log: others wait meanwhile."""

LOG = {
    "time": "Float64",
    "arm": "String",
    "loss": "Float64",
    "probability": "Float64",
    "block": "Int64",
    "single": "Boolean",
    "status": "String",
    "conversation": "Boolean",
    "by": "String",
    "id": "String",
    "request": "String",
    "key": "String",
    "asked": "Float64",
    "told": "Float64",
    "measures": "String",
}
"""Columns of the log with their types in Polars; arms may be numbers."""

MOST_ARMS = 10
"""Arms shown in the repr of totals."""

Place = tuple[int, int]
"""A block and a round of it."""
FIRST: Place = (1, 0)

Round = tuple[float | None, str]
"""The loss that counted for a round, and its status."""


@dataclass(frozen=True)
class ArmTotals:
    """Totals of one arm so far, including open blocks."""

    arm: int | str
    retired: bool
    blocks: int
    rounds: int
    told: int
    missing: int
    """Rounds of settled blocks whose losses have not arrived."""
    losses: float
    """Sum of the losses that arrived."""
    missing_losses: float
    """Sum of what was counted for the missing losses."""
    mean: float | None
    """Mean of all losses that counted; None before the first."""
    last_used: float | None
    """Start time of its latest block."""


@dataclass(frozen=True, repr=False)
class Totals:
    """Totals of a game so far. `cost` is the losses that counted plus the cost of the switches."""

    rounds: int
    told: int
    missing: int
    """Rounds of settled blocks whose losses have not arrived."""
    out: int
    """Rounds handed out whose blocks wait for their losses."""
    late: int
    """Losses that arrived after their block was settled; they count among `told`."""
    lateness: float
    """Mean lateness of about the last 1,000 losses, in rounds."""
    delay: float
    """The same in seconds."""
    overdue: int
    """Open blocks that wait without limit, and longer than ``patience="auto"`` would."""
    blocks: int
    switches: int
    losses: float
    """Sum of the losses that arrived."""
    missing_losses: float
    """Sum of what was counted for missing losses; dropped rounds count nothing."""
    switching: float
    cost: float
    arms: tuple[ArmTotals, ...]
    conversations: int = 0
    """Open conversations."""
    moves: int = 0
    """Moves of conversations to another arm (`move_cost`)."""

    def __repr__(self) -> str:
        parts = {"losses": self.losses, "missing": self.missing_losses, "switching": self.switching}
        cost = " + ".join(f"{name} {value:.6g}" for name, value in parts.items() if value or name == "losses")
        rounds = f"{counted(self.rounds, 'round')} ({self.told} told, {self.out} out, {self.missing} missing)"
        blocks = f"{counted(self.blocks, 'block')}, {counted(self.switches, 'switch', 'switches')}"
        head = f"<Totals: {rounds}, {blocks}, cost {self.cost:.6g}: {cost}>"
        lines = [
            f"  {printable(arm.arm)}: {counted(arm.rounds, 'round')}"
            + ("" if arm.mean is None else f", mean loss {arm.mean:.4g}")
            + (", retired" if arm.retired else "")
            for arm in self.arms[:MOST_ARMS]
        ]
        more = [f"  and {counted(len(self.arms) - MOST_ARMS, 'arm')} more"] if len(self.arms) > MOST_ARMS else []
        return "\n".join([head, *lines, *more])


class History:
    """Blocks and totals of one game.

    >>> import holdfast as hf
    >>> router = hf.open("memory:", "chat", hf.Exp3(arms=["a", "b"]), seed=1)
    >>> router.tell(router.ask().id, 0.5).new
    True
    >>> router.history.totals.losses
    0.5
    >>> router.history
    <History of 'chat': totals, frame, log, changes, compare(), export(file)>
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def __repr__(self) -> str:
        name = self._executor.setup.game.name  # nothing is read: a store may be down
        return f"<History of {name!r}: totals, frame, log, changes, compare(), export(file)>"

    @property
    def totals(self) -> Totals:
        """Running totals, independent of compaction."""
        return self._executor.read(totals_of)

    @property
    def changes(self) -> list[dict[str, Any]]:
        """Changes of settings in order, with time, kind, detail and reason."""
        return [change for _, change in self._executor.read(lambda transaction, _: changes_of(transaction))]

    def blocks(self) -> Iterator[Block]:
        """Return all blocks that have not been compacted, in order."""
        last = 0
        while found := self._executor.read(partial(_blocks_after, last)):
            yield from found
            last = found[-1].number

    def recent(self, limit: int) -> list[Block]:
        """Return the last blocks."""
        return self._executor.read(lambda transaction, _: transaction.blocks("latest", limit))[::-1]

    @property
    def frame(self) -> pl.DataFrame:
        """One row per block. `by` is who chose its arm, `drawn` what the policy would play.

        It is the ``policy``, the ``operator``, or their ``rule``; where a guard leads, also a ``look`` of the guard, or
        the ``guard`` that has taken over.
        """
        return frame_of(((block, chosen_by(block)) for block in self.blocks()), self._executor.setup.names)

    @property
    def log(self) -> pl.DataFrame:
        """One row per round handed out: time, arm, loss, probability, block, single, status, conversation, and more.

        `time` is when its block began, so that it never runs backwards; `asked` and `told` are the times of the ask and
        of the loss. `id`, `request` and `key` name the decision, the call that asked and the conversation; `measures`
        is what was reported instead of a loss, as JSON. What is no longer kept one by one is null.

        `loss` is what counted. `status` says why: ``told``; ``late`` (it came after its block was settled);
        ``missing``, where it is the substitute, or null where the round was dropped; ``open`` while the loss
        may still come; ``forced`` where an operator chose the arm, ``rule`` where the operator's rule did; `by` says
        who chose it, as in `frame`. `arm` is the one played, `probability` that of playing it. Where single losses are
        no longer stored, each round of the block has its mean, and `single` is false. `conversation` is true where the
        round has a key: between two of those there is no switch.
        """
        return pl.concat(self.log_parts())

    def log_parts(self) -> Iterator[pl.DataFrame]:
        """Yield the log in parts, in order. The first is empty."""
        setup = self._executor.setup
        schema = {column: getattr(pl, kind) for column, kind in LOG.items()}
        schema["arm"] = pl.Int64 if setup.policy.arms is None else pl.String
        place: Place | None = FIRST
        rows: list[tuple[Any, ...]] = []
        while True:
            part = pl.DataFrame(rows, schema=schema, orient="row")
            yield _with_times(part, "time", "asked", "told")
            if place is None:
                return
            made, place = self._executor.read(partial(_rows_after, place))
            rows = list(made)

    @property
    def record(self) -> pl.DataFrame:
        """The reported losses of all arms, a row per round and a column per arm, as `replay` reads it.

        Rounds whose losses are no longer kept one by one (`remember`) are left out.
        """
        names = self._executor.setup.names
        found = self._executor.read(lambda transaction, _: transaction.seen(0, transaction.head.block))
        with undamaged("the losses of all arms"):
            rows = [{int(arm): float(loss) for arm, loss in json.loads(seen.losses).items()} for seen in found]
            columns = {str(name): [row.get(arm) for row in rows] for arm, name in enumerate(names)}
        schema = {"time": pl.Float64, **dict.fromkeys(columns, pl.Float64)}
        return _with_times(pl.DataFrame({"time": [seen.at for seen in found], **columns}, schema=schema), "time")

    def export(self, out: str | Path) -> None:
        """Write `log` as CSV or parquet, atomically: readers see the old file or the new one.

        In CSV, an arm name that a spreadsheet would take for a formula gets an apostrophe in front.
        """
        from holdfast.results import csv_of

        path = Path(out)
        if path.suffix not in SUFFIXES:
            raise InvalidParameter("out", f"must end in {' or '.join(SUFFIXES)}", str(out))
        log = self.log
        with whole_file(path) as file:
            if path.suffix == ".csv":
                file.write(csv_of(log, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ"))
            else:
                log.write_parquet(file)

    def compare(self, confidence: float = 0.95) -> holdout.Saving:
        """Compare the policy with the operator's rule: the saving, with an interval valid at any time.

        ``print(router.history.compare().words())`` says ``saves 7 % (2 to 12), since 3 March``. A unit is a block, in
        which every round counts, or a conversation, of which the mean counts. It is about the rows that are there,
        since the scale was changed last; each unit counts with the switching cost and the share that it began with. A
        unit that is open counts with all that its loss can be, so that a loss that never comes makes the interval a
        little wider and stops nothing. Units without a rule are left out, and counted.
        """
        setup, gone = self._executor.read(_setup_and_gone)
        share, (low, high) = setup.settings.holdback, setup.bounds
        every = list(_units(self.blocks(), setup, max(setup.settings.held_since, gone)))
        units = [unit for unit in every if 0.0 < unit.share < 1.0]
        if not units and not 0.0 < share < 1.0:
            rule = "must be between 0 and 1 to compare: a part by the rule, a part by the policy"
            raise InvalidParameter("holdback", rule, share)
        _, held, sizes, costs, shares, prices = zip(*units, strict=True) if units else ((), (), (), (), share, 0.0)
        found = holdout.compare(
            costs,
            np.array(held, dtype=np.bool_),
            shares,
            weights=sizes,
            bounds=(low, high + np.asarray(prices)),
            confidence=confidence,
        )
        without = sum(unit.share < 0.0 for unit in every)
        return replace(found, since=_since(units), without_rule=without)

    def judge(self, arm: int | str, against: int | str, confidence: float = 0.95) -> holdout.Judgement:
        """Return whether an arm is better than another, as `Router.judge`.

        Parameters
        ----------
        arm, against, confidence
            See `Router.judge`.
        """
        setup, gone = self._executor.read(_setup_and_gone)
        one, other = (_arm_judged(setup, what, name) for what, name in (("arm", arm), ("against", against)))
        if one == other:
            raise InvalidParameter("against", "must be another arm", against)
        since = max(setup.settings.held_since, gone, setup.since[one], setup.since[other])
        units = [u for u in _judged(self.blocks(), setup, since, (one, other)) if min(u.chances) > 0.0]
        costs, given = [unit.cost for unit in units], np.array([unit.side for unit in units], dtype=np.int64)
        chances, sizes = [unit.chances for unit in units], [unit.size for unit in units]
        found = holdout.judge(costs, given, chances, weights=sizes, bounds=setup.bounds, confidence=confidence)
        counts, waiting = [int((given == side).sum()) for side in (0, 1)], sum(math.isnan(cost) for cost in costs)
        said = arm, against, len(units), counts[0], counts[1]
        return holdout.Judgement(*said, *found, confidence=confidence, since=_since(units), open=waiting)

    def compact(self, keep: int) -> int:
        """Remove the rows of settled blocks except the last `keep`, and give back their room. Return how many.

        Totals and the sums of days stay. The setting `keep` does this all the time.
        """
        request, removed = Compact(keep, AT_ONCE), 0
        while some := self._executor.execute(request):
            removed += some
        self._executor.store.shrink()
        return removed

    @property
    def days(self) -> pl.DataFrame:
        """Sums of each arm on each day (UTC) on which a block was settled, however old, and of the day that goes on.

        Columns: day, arm, blocks, rounds, told, missing, losses, missing_losses, squares (of the losses), switches to
        it. What comes late counts on the day on which it came.
        """
        names = self._executor.setup.names
        stored, now = self._executor.read(_days)
        rows: list[dict[str, Any]] = []
        before: list[dict[str, Any]] = []
        for day, sums in [*stored, now]:
            for arm, one in enumerate(sums):
                was = before[arm] if arm < len(before) else dict.fromkeys(one, 0)
                own = {name: one[name] - was[name] for name in one}
                if any(own.values()):
                    rows.append({"day": date.fromordinal(EPOCH + day), "arm": names[arm], **own})
            before = sums
        arm_type = pl.String if isinstance(names[0], str) else pl.Int64
        whole = dict.fromkeys(("blocks", "rounds", "told", "missing", "switches"), pl.Int64)
        types = {name: whole.get(name, pl.Float64) for name in DAILY}
        return pl.DataFrame(rows, schema={"day": pl.Date, "arm": arm_type, **types})


EPOCH = date(1970, 1, 1).toordinal()

DAILY = ("blocks", "rounds", "told", "missing", "losses", "missing_losses", "squares", "switches")


def _days(transaction: Transaction, setup: Setup) -> tuple[list[tuple[int, list[Any]]], tuple[int, list[Any]]]:
    """Return all sums of each arm at the end of each day, and those of the day that goes on."""
    state = stored_state(setup, transaction)
    with undamaged("the sums of a day"):
        stored = [(one.day, [_daily(ArmSums(**sums)) for sums in json.loads(one.sums)]) for one in transaction.days()]
    return stored, (state.day, [_daily(sums) for sums in state.arms])


def _daily(sums: ArmSums) -> dict[str, float]:
    losses, stood_in = math.fsum(sums.losses), math.fsum(sums.stood_in)
    missing = sums.rounds - sums.told
    values = (sums.blocks, sums.rounds, sums.told, missing, losses, stood_in, sums.squares, sums.switches)
    return dict(zip(DAILY, values, strict=True))


class Unit(NamedTuple):
    """A block or a conversation as it is compared."""

    began: float
    held: bool
    """True if the rule had it."""
    size: float
    """Its rounds."""
    cost: float
    """Cost of one; NaN if that is not final."""
    share: float
    price: float


def _units(blocks: Iterable[Block], setup: Setup, since: int) -> Iterator[Unit]:
    """Return each unit since the scale was changed, those without a rule too.

    A switch counts for the policy when its arm is not that of its block before, for the rule when it changes inside a
    block: never one between the two, which neither would pay alone.
    """
    last = None
    for block in blocks:
        if block.number <= since or block.forced == PINNED or not block.share:
            continue
        loss = _mean_loss(block, setup)
        if block.key is not None:
            yield Unit(block.began, block.forced == BY_RULE, 1.0, loss, block.share, block.price)
            continue
        by = [arm for arm, _ in players_of(block, block.rounds)]
        size = float(block_numbers(setup, block)["rounds"])  # fewer are played, where it was cut short
        switches = sum(a != b for a, b in pairwise(by)) / max(block.rounds, 1)
        if block.forced != BY_RULE and by:
            switches, last = switches + (last is not None and last != by[0]) / size, by[-1]
        cost = loss + block.price * switches
        yield Unit(block.began, block.forced == BY_RULE, size, cost, block.share, block.price)


class Judged(NamedTuple):
    """A block or a conversation as two arms are judged by it."""

    began: float
    side: int
    """0 if it was given to the one arm, 1 if to the other, else −1."""
    size: float
    cost: float
    """Mean loss; NaN if that is not final, 0 where neither arm had it."""
    chances: tuple[float, float]


def _judged(blocks: Iterable[Block], setup: Setup, since: int, arms: tuple[int, int]) -> Iterator[Judged]:
    """Return each unit begun under shares since the scale was changed and the arms were added.

    It counts for the arm that it was given to, whoever stood in for that while it was down.
    """
    for block in blocks:
        if block.number <= since or not block.odds:
            continue
        odds, own = odds_of(block), assigned(block)[0]
        chances = odds.get(arms[0], 0.0), odds.get(arms[1], 0.0)
        side = arms.index(own) if own in arms else -1
        size = 1.0 if block.key is not None else float(block_numbers(setup, block)["rounds"])
        yield Judged(block.began, side, size, _mean_loss(block, setup) if side >= 0 else 0.0, chances)


def _since(units: Sequence[Unit] | Sequence[Judged]) -> date | None:
    return datetime.fromtimestamp(units[0].began, UTC).date() if units else None


def _arm_judged(setup: Setup, parameter: str, name: int | str) -> int:
    if name not in setup.names:
        known = ", ".join(map(repr, setup.names))
        raise InvalidParameter(parameter, f"must be an arm that the game has, or had: {known}", name)
    return setup.names.index(name)


def _mean_loss(block: Block, setup: Setup) -> float:
    """Return the mean loss that counts in a block; NaN where it is not final."""
    if block.settled_order is None:
        return math.nan
    missing = block.rounds - block.told if block.stand_in is not None else 0
    counted = block.told + missing
    total = math.fsum([*block.losses, missing * (block.stand_in or 0.0)])
    return total / counted if counted else 0.5 * sum(setup.bounds)


def frame_of(blocks: Iterable[tuple[Block, str | None]], names: Sequence[int | str]) -> pl.DataFrame:
    """Return one row per block, each given with who chose its arm; `names` are those of all arms."""

    def name_of(block: Block) -> int | str:
        if block.arm >= len(names):
            raise BadStore(f"the store is damaged: block {block.number} has arm {block.arm} of {len(names)}")
        return names[block.arm]

    rows = [
        {
            "block": b.number,
            "began": b.began,
            "arm": name_of(b),
            "rounds": b.rounds,
            "probability": b.probability,
            "by": by,
            **_draw(b, names),
            "told": b.told,
            "missing": None if b.settled_at is None else b.rounds - b.told,
            "late": b.late,
            "missing_loss": b.stand_in,
            "total": math.fsum(b.losses),
            "settled": b.settled_at,
            "moves": named_moves(b, names),
        }
        for b, by in blocks
    ]
    arm = pl.String if isinstance(names[0], str) else pl.Int64
    schema = {"block": pl.Int64, "began": pl.Float64, "arm": arm, "rounds": pl.Int64, "probability": pl.Float64}
    schema |= {"by": pl.String, "drawn": arm, "drawn_probability": pl.Float64}
    schema |= {"told": pl.Int64, "missing": pl.Int64, "late": pl.Int64, "missing_loss": pl.Float64}
    schema |= {"total": pl.Float64, "settled": pl.Float64, "moves": pl.String}
    return _with_times(pl.DataFrame(rows, schema=schema), "began", "settled")


def named_moves(block: Block, names: Sequence[int | str]) -> str | None:
    """Return the moves of a conversation as JSON; None without one."""
    named = [{**move._asdict(), "arm": names[move.arm]} for move in moves_of(block)]
    return json.dumps(named) if named else None


def _draw(block: Block, names: Sequence[int | str]) -> dict[str, Any]:
    """Return the policy's draw for a block, played or not; None if an operator chose."""
    arm, probability = block.arm, block.probability
    with undamaged(f"block {block.number}"):
        if block.odds:
            arm, probability = json.loads(block.odds)["drawn"]
        if block.forced == BY_RULE and block.data:  # a server does not send it
            drawn = json.loads(block.data)
            arm, probability = int(drawn["arm"]), drawn["probability"]
        elif block.forced:
            return {}
        return {"drawn": names[arm], "drawn_probability": probability}


def _setup_and_gone(transaction: Transaction, setup: Setup) -> tuple[Setup, int]:
    return setup, transaction.head.gone


def _blocks_after(last: int, transaction: Transaction, _: Setup) -> list[Block]:
    return transaction.blocks("after", last, AT_ONCE)


def _rows_after(place: Place, transaction: Transaction, setup: Setup) -> tuple[Iterator[tuple[Any, ...]], Place | None]:
    """Return some rows of the log from a block and round on, and where the next ones begin.

    The rows are made when the transaction has ended: decisions wait for it.
    """
    number, start = place
    head, blocks = transaction.head, transaction.blocks("after", number - 1, AT_ONCE)
    handed = {b.number: head.handed if b.number == head.current else b.rounds for b in blocks}
    rows: list[Iterator[tuple[Any, ...]]] = []
    some, left = [], MOST_ROUNDS
    for block in blocks:
        first = start if block.number == number else 0
        stop = min(handed[block.number], first + left)
        some.append((block, first, stop))
        left -= stop - first
        if not left:
            break
    if some:
        asks, losses = _stored(transaction, some)
        for block, first, stop in some:
            known, stored = losses[block.number], len(losses[block.number])
            if (first, stop) != (0, handed[block.number]):
                count = "SELECT COUNT(*) FROM holdfast_losses WHERE game = ? AND block = ?"
                stored = transaction.fetch(count, transaction.game, block.number)[0][0]
            single = stored == block.told
            rows.append(_rows_of(setup, block, range(first, stop), asks[block.number], known, single))
        block, _, stop = some[-1]
        if stop < handed[block.number]:
            return chain.from_iterable(rows), (block.number, stop)
    more = len(some) < len(blocks) or len(blocks) == AT_ONCE
    return chain.from_iterable(rows), (some[-1][0].number + 1, 0) if more else None


def _stored(
    transaction: Transaction, some: Sequence[tuple[Block, int, int]]
) -> tuple[dict[int, list[HandedOut]], dict[int, dict[int, Loss]]]:
    """Return the asks and the losses of these rounds, by block."""
    first, last = some[0], some[-1]
    asks: dict[int, list[HandedOut]] = {block.number: [] for block, *_ in some}
    losses: dict[int, dict[int, Loss]] = {block.number: {} for block, *_ in some}
    where = "WHERE game = ? AND block BETWEEN ? AND ? AND (block > ? OR {0} > ?) AND (block < ? OR {1} < ?)"
    limits = (transaction.game, first[0].number, last[0].number, first[0].number, first[1] - 1, last[0].number, last[2])
    for values in transaction.fetch(select(HandedOut) + where.format("first + rounds - 1", "first"), *limits):
        ask: HandedOut = row_of(HandedOut, values)
        if ask.block not in asks or abs(ask.at) >= MOST_TIME:
            raise BadStore(f"the store is damaged: an ask of block {ask.block} has no such block, or no time")
        asks[ask.block].append(ask)
    for values in transaction.fetch(select(Loss) + where.format("round", "round"), *limits):
        loss: Loss = row_of(Loss, values)
        if loss.block not in losses or abs(loss.at) >= MOST_TIME:
            raise BadStore(f"the store is damaged: a loss of block {loss.block} has no such block, or no time")
        losses[loss.block][loss.round] = loss
    return asks, losses


def _rows_of(
    setup: Setup, block: Block, rounds: range, asks: list[HandedOut], known: dict[int, Loss], single: bool
) -> Iterator[tuple[Any, ...]]:
    """Return the rows of some rounds of a block, in the order of `LOG`."""
    if len(known) > block.told:
        raise BadStore(f"the store is damaged: block {block.number} has more losses than were told")
    mean = math.fsum(block.losses) / block.told if block.told else None
    without: Round = (block.stand_in, "open" if block.settled_order is None else "missing")
    arm, probability, by = setup.name_of(block.arm), block.probability, chosen_by(block)
    players = players_of(block, rounds.stop) if block.played else []
    moved = next((move.round for move in moves_of(block)), rounds.stop)
    place = sorted(asks, key=lambda ask: ask.first)
    ask, following = None, 0
    for n in rounds:
        while following < len(place) and place[following].first <= n:
            ask, following = place[following], following + 1
        loss = known.get(n)
        if single:
            counted_, status = without if loss is None else (loss.loss, "late" if loss.late else "told")
        elif n < block.told:
            counted_, status = mean, "told" if n < block.told - block.late else "late"
        else:
            counted_, status = without
        if block.forced:
            status = "rule" if block.forced == BY_RULE else "forced"
        if n >= moved:
            status = "moved"
        if players:
            arm, probability = setup.name_of(players[n][0]), players[n][1]
        yield (
            block.began,
            arm,
            counted_,
            probability,
            block.number,
            single,
            status,
            block.key is not None,
            by,
            setup.ids.id_of(block.number, n),
            None if ask is None else ask.request,
            block.key,
            None if ask is None else ask.at,
            None if loss is None else loss.at,
            (loss.measures or None) if loss is not None else None,
        )


def changes_of(transaction: Transaction, after: int = 0, limit: int = MOST_COUNT) -> list[tuple[int, dict[str, Any]]]:
    """Return the changes of settings after a number, each with its own, inside a transaction."""
    with undamaged("a change of settings"):
        return [
            (number, {**change._asdict(), "detail": json.loads(change.detail)})
            for number, change in transaction.changes(after, limit)
        ]


def totals_of(transaction: Transaction, setup: Setup) -> Totals:
    """Return the running totals, inside a transaction."""
    head, unsettled = transaction.head, transaction.blocks("open")
    state = stored_state(setup, transaction)
    sums = state.arms
    by_arm: dict[int, list[tuple[Part, Block]]] = {arm: [] for arm in range(len(setup.names))}
    handed = {b.number: head.handed if b.number == head.current else b.rounds for b in unsettled}
    for block in unsettled:
        setup.name_of(block.arm)
        parts = parts_of(block, handed[block.number], partial(transaction.losses, block.number, block.number))
        for arm, part in parts.items():
            by_arm[arm].append((part, block))
    known: list[ArmSums | Block] = [*sums, *unsettled]
    pieces = [part for one in known for part in one.losses]
    stood_in = [part for arm in sums for part in arm.stood_in]
    return Totals(
        rounds=head.asked,
        told=sum(one.told for one in known),
        missing=sum(arm.rounds - arm.told for arm in sums),
        out=sum(handed[block.number] - block.told for block in unsettled),
        late=head.late,
        lateness=head.lateness,
        delay=head.delay,
        overdue=sum(_is_overdue(block, head) for block in unsettled),
        blocks=head.block,
        switches=head.switches,
        losses=math.fsum(pieces),
        missing_losses=math.fsum(stood_in),
        switching=math.fsum(head.paid),
        cost=math.fsum([*pieces, *stood_in, *head.paid]),
        arms=tuple(_arm_totals(setup, arm, sums[arm], by_arm[arm]) for arm in by_arm),
        conversations=sum(block.live for block in unsettled),
        moves=state.moves,
    )


def _is_overdue(block: Block, head: Head) -> bool:
    """Return True if the block waits without limit; an open conversation or unfinished block does not wait yet."""
    goes_on = block.live or (block.number == head.current and head.handed < head.rounds)
    return block.due is None and not goes_on and head.asked - block.first - block.rounds >= long_wait(head)


def _arm_totals(setup: Setup, arm: int, sums: ArmSums, unsettled: list[tuple[Part, Block]]) -> ArmTotals:
    told = sums.told + sum(part.told for part, _ in unsettled)
    known: list[ArmSums | Part] = [sums, *(part for part, _ in unsettled)]
    losses = [part for one in known for part in one.losses]
    missing = sums.rounds - sums.told
    counted = told + missing - sums.dropped
    return ArmTotals(
        arm=setup.name_of(arm),
        retired=arm not in setup.active,
        blocks=sums.blocks + len(unsettled),
        rounds=sums.rounds + sum(part.rounds for part, _ in unsettled),
        told=told,
        missing=missing,
        losses=math.fsum(losses),
        missing_losses=math.fsum(sums.stood_in),
        mean=math.fsum([*losses, *sums.stood_in]) / counted if counted else None,
        last_used=max(
            (at for at in (sums.last_used, *(b.began for _, b in unsettled)) if at is not None), default=None
        ),
    )


def _with_times(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Convert seconds since 1970 to UTC times in whole microseconds."""
    micro = [(pl.col(name) * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us", "UTC")) for name in columns]
    return frame.with_columns(micro)
