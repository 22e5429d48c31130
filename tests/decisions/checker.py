"""An independent check of a game in a store: everything it came to is computed again from a log that SQL triggers keep.

`watch` makes the triggers; they write each row that changes into tables beside the store's own, in the order in which
it happened. `check` reads that log and computes again: probabilities and block lengths by the naive solver of
`tests/oracles`, which block was due when, what stood for missing losses, every count and sum, exactly. It shares no
code with the rules. A transaction writes its rows at its end, so the order of draws and settlements within one is
sought: there must be one that explains every probability and settles each block before the first draw after it was due.

`check_journal` compares the log with what workers wrote down when their calls returned.
"""

import copy
import json
import math
import sqlite3
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, combinations, groupby, pairwise, product
from types import SimpleNamespace as Row
from typing import Any, NamedTuple

import naive
import naive_adaptive
import numpy as np
import psycopg
from naive_saving import Unit, saving_of
from psycopg.rows import dict_row

import holdfast as hf
from holdfast.decisions.stores import parse_address

TABLES = ("games", "blocks", "asks", "losses", "heads")
CLOSE = 1e-10
"""Relative tolerance between a probability and the naive solver's."""


def availability(game: Row, what: str) -> list[tuple[int, float | None]]:
    """Arms that are paused, or pinned, with until when."""
    return [(arm, end) for arm, end in json.loads(game.availability).get(what, [])]


class Violation(Exception):
    """The contents of the store cannot have come about by the rules."""


def must(holds: bool, what: str) -> None:
    if not holds:
        raise Violation(what)


# ---- the log


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """A connection to the database of a store, beside the store's own; rows are dictionaries."""
    address = parse_address(url)
    if address.kind == "postgresql":
        with psycopg.connect(**address.conninfo, row_factory=dict_row) as connection:
            yield connection
        return
    with closing(sqlite3.connect(address.path, timeout=60)) as connection:
        connection.row_factory = lambda cursor, row: dict(zip([d[0] for d in cursor.description], row, strict=True))
        with connection:
            yield connection


def watch(url: str) -> None:
    """Make tables and triggers that log every change from now on; the store must have its tables and no game yet."""
    with connected(url) as connection:
        server = isinstance(connection, psycopg.Connection)
        if server:
            connection.execute("CREATE SEQUENCE checker_order")
        else:
            connection.execute("CREATE TABLE checker_order (n INTEGER)")
            connection.execute("INSERT INTO checker_order VALUES (0)")
        for table in TABLES:
            connection.execute(
                f"CREATE TABLE checker_{table} AS SELECT {'0::bigint' if server else 0} AS seq, "
                f"{'null::text' if server else 'null'} AS op, x.* FROM holdfast_{table} x WHERE 1 = 0"
            )
            for op in ("INSERT", "UPDATE", "DELETE"):
                row = "OLD" if op == "DELETE" else "NEW"
                for statement in _trigger(connection, server, table, op, row):
                    connection.execute(statement)


def _trigger(connection: Any, server: bool, table: str, op: str, row: str) -> list[str]:
    name = f"checker_{table}_{op}"
    if server:
        body = f"INSERT INTO checker_{table} SELECT nextval('checker_order'), '{op}', {row}.*; RETURN NULL;"
        return [
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$",
            f"CREATE TRIGGER {name} AFTER {op} ON holdfast_{table} FOR EACH ROW EXECUTE FUNCTION {name}()",
        ]
    columns = [found["name"] for found in connection.execute(f"PRAGMA table_info(holdfast_{table})")]
    values = ", ".join(f"{row}.{column}" for column in columns)
    return [
        f"CREATE TRIGGER {name} AFTER {op} ON holdfast_{table} BEGIN UPDATE checker_order SET n = n + 1; "
        f"INSERT INTO checker_{table} SELECT n, '{op}', {values} FROM checker_order; END"
    ]


@dataclass
class Step:
    """One transaction on a game: rows by what happened to them; `head` is the last that it wrote."""

    head: Row
    rows: dict[tuple[str, str], list[Row]]

    def get(self, table: str, op: str) -> list[Row]:
        return self.rows.get((table, op), [])


def settings_of(game: Row) -> tuple[str, ...]:
    """Return the settings that a change, a pause or a pin changes."""
    return game.policy, game.arms, game.settings, game.availability


class Fuse(NamedTuple):
    """What a breaker knows of an arm, as the head has it."""

    recent: str = ""
    since: int = 0
    pause: float = 0.0
    until: float = 0.0
    tried: tuple[int, int] | None = None
    stays: bool = False


Known = tuple[tuple[int, Fuse], ...]
"""What a breaker knows of the arms that it knows of."""


def _plain(known: dict[int, Fuse]) -> Known:
    return tuple(sorted((arm, fuse) for arm, fuse in known.items() if fuse != Fuse()))


def _tripped(fuse: Fuse, rule: Any, at: float) -> Fuse:
    length = min(max(2 * fuse.pause, seconds_of(rule["pause"])), seconds_of(rule["most"]))
    return Fuse(pause=length, until=at + length)


def _given_up(known: dict[int, Fuse], rule: Any, at: float) -> dict[int, Fuse]:
    """Return what is known once trials are over of which no loss has come in time."""
    over = {arm: fuse for arm, fuse in known.items() if fuse.tried is not None and at >= fuse.until}
    return known | {arm: _tripped(fuse, rule, fuse.until) for arm, fuse in over.items()}


def seconds_of(text: str) -> float:
    return float(text.removesuffix("s"))


NOT_SET = dict.fromkeys(("scale", "learn_after", "move_cost", "breaker", "share", "most_switches"))
"""Settings that a row has only where they are set."""


def settings_from(text: str) -> Row:
    """Return the settings in a game's row, and its patience as a time or in rounds."""
    settings = Row(**{**NOT_SET, **json.loads(text)})
    patience = settings.patience
    timed = isinstance(patience, str) and patience.endswith("s")
    settings.seconds = float(patience[:-1]) if timed else None
    settings.rounds, settings.forever = patience if isinstance(patience, int) else None, patience == "forever"
    return settings


def steps_of(url: str, name: str) -> tuple[Row, list[Step]]:
    """The game as it began, and each transaction on it since, in order."""
    with connected(url) as connection:
        logged = [
            (found.pop("seq"), table, found.pop("op"), Row(**found))
            for table in TABLES
            for found in connection.execute(f"SELECT * FROM checker_{table}").fetchall()
        ]
    logged.sort(key=lambda event: event[0])
    begun = next(row for _, table, op, row in logged if (table, op) == ("games", "INSERT") and row.name == name)
    steps, rows, settings = [], defaultdict(list), settings_of(begun)
    for _, table, op, row in logged:
        if (row.id if table == "games" else row.game) != begun.id or (op == "INSERT" and table in ("games", "heads")):
            continue
        if table == "games":
            if settings_of(row) == settings:  # restored: versions that nobody knows
                continue
            settings = settings_of(row)
        if table == "heads":
            steps.append(Step(row, dict(rows)))
            rows.clear()
        else:
            rows[table, op].append(row)
    must(not rows, "rows changed without the head of their game")
    return begun, steps


# ---- the policy, by the naive solver


class Chosen:
    """Stands for the uniform number with which `naive.draw` draws this arm."""

    def __init__(self, arm: int) -> None:
        self.left = arm

    def __lt__(self, cumulative: float) -> bool:
        self.left -= 1
        return self.left < 0


def oracle_of(settings: dict[str, Any]) -> Any:
    low, high = settings["units"]
    K, cost = settings["n_arms"], settings.get("switching_cost", 0.0) / (high - low)
    short = {"importance-weighted": "iw", "reduced-variance": "rv"}.get(settings.get("estimator", ""), "iw")
    if settings["policy"] == "adaptive":
        return naive_adaptive.Adaptive(K, cost)
    if settings["policy"] == "tsallis-switch":
        return naive.TsallisSwitch(K, cost, short)
    if settings["policy"] == "tsallis-inf":
        return naive.TsallisInf(K, short)
    if settings["policy"] == "exp3":
        return naive.Exp3(K)
    if settings["policy"] == "exp3-blocks":
        return naive.BlockExp3(K, cost, settings["horizon"])
    return naive.BaSE(
        K, settings["horizon"], settings["grid"], settings["gamma"], settings["batches"], settings["order"]
    )


class Twin:
    """The policy of a game, played by the naive solver, which hears what was drawn and says how likely that was."""

    def __init__(self, settings: dict[str, Any], active: Sequence[int]) -> None:
        self.settings, self.active, self.oracle = settings, list(active), oracle_of(settings)
        self.drawn: dict[int, Any] = {}

    @property
    def waits(self) -> bool:
        return isinstance(self.oracle, naive.BaSE)

    def begin(self, number: int, arm: int) -> tuple[float, int]:
        """Probability and length of a block of this arm."""
        if arm not in self.active:
            raise Violation(f"block {number} has arm {arm}, which is retired")
        place = self.active.index(arm)
        if not self.waits:
            _, length = self.oracle.choose(Chosen(place))
            self.drawn[number] = self.oracle.block()
            return self.oracle.p[place], length
        self.oracle.choose(lambda: 1 - 1e-9)  # begins a batch that is due, unshuffled: the store's draws shuffle it
        plan, j = self.oracle.plan, self.oracle.j
        ahead = range(j, len(plan)) if self.oracle.order == "random" else [j]
        drawn = next((i for i in ahead if plan[i][0] == place), None)
        if drawn is None:
            return 0.0, 0
        plan[j], plan[drawn] = plan[drawn], plan[j]
        _, length = self.oracle.choose(None)
        return self.oracle.p[place], length

    def copy(self) -> "Twin":
        """One that may go another way."""
        other = copy.copy(self)
        other.oracle, other.drawn = copy.deepcopy(self.oracle), dict(self.drawn)  # its blocks do not change
        return other

    def learnt(self) -> tuple[float, ...]:
        """Return the numbers of the policy, to nine digits: another order may have come to the same."""
        parts = [np.ravel(value) for _, value in sorted(vars(self.oracle).items())]
        numbers = np.concatenate([part.astype(float) for part in parts if part.dtype.kind in "bif"])
        return tuple(float(f"{number:.9g}") for number in numbers)

    def agree(self, number: int, arm: int, probability: float) -> None:
        """Go on with the store's probability: estimates divide by it, and rounding errors would grow and grow."""
        if not self.waits:
            self.drawn[number].p[self.active.index(arm)] = probability

    def observe(self, number: int, arm: int, total: float, rounds: int) -> None:
        """The loss of a block, in the policy's own units; one of a retired arm is not heard of."""
        drawn = self.drawn.get(number)
        if arm not in self.active or (rounds == 0 and not self.waits):
            return
        low, high = self.settings["units"]
        scaled = min(max((total - low * rounds) / (high - low), 0.0), float(rounds))
        if self.waits:
            self.oracle.observe(scaled, rounds)
        elif isinstance(self.oracle, naive_adaptive.Adaptive):
            self.oracle.observe(scaled, rounds, drawn)
        else:
            place = self.active.index(arm)  # it may have had another place when it was drawn
            self.oracle.observe(scaled, rounds, naive.Block(place, {place: drawn.p[drawn.arm]}, drawn.baseline))

    def correct(self, number: int, arm: int, was: tuple[float, int], now: tuple[float, int]) -> None:
        """A late loss: another total of a block in place of the one that was heard, both in the policy's own units."""
        if arm not in self.active or self.waits:
            return
        if not was[1]:  # all of it was dropped
            return self.observe(number, arm, *now)
        (low, high), drawn = self.settings["units"], self.drawn[number]
        scaled = [min(max((total - low * rounds) / (high - low), 0.0), float(rounds)) for total, rounds in (was, now)]
        if isinstance(self.oracle, naive_adaptive.Adaptive):
            self.oracle.correct(*scaled, drawn)
        else:
            self.oracle.C[self.active.index(arm)] += (scaled[1] - scaled[0]) / drawn.p[drawn.arm]
        return None

    def change(self, settings: dict[str, Any], active: Sequence[int]) -> None:
        """Other settings: estimates stay, a new arm has the lowest."""
        after = oracle_of(settings)
        for name in vars(after).keys() & {"lam", "B"}:
            setattr(self.oracle, name, getattr(after, name))
        if list(active) != self.active:
            must(isinstance(self.oracle, naive.Algorithm1), "arms of this policy cannot change here")
            known = dict(zip(self.active, self.oracle.C, strict=True))
            self.oracle.C = [known.get(arm, min(known.values())) for arm in active]
            self.oracle.K = len(active)
        self.settings, self.active = settings, list(active)


# ---- the game


@dataclass
class Seen:
    """A block as it must be."""

    number: int
    arm: int
    rounds: int
    probability: float
    began: float
    forced: int = 0
    key: str | None = None
    share: float = 0.0
    """Of the holdback that it began under; negative without a rule."""
    price: float = 0.0
    draw: dict[str, float] = field(default_factory=dict)
    """The policy's draw: its arm, rounds and probability."""
    live: bool = False
    played: str = ""
    moves: list[list[Any]] | None = None
    """First round, arm and reason of each; None for a conversation that cannot move."""
    handed: int = 0
    losses: dict[int, float] = field(default_factory=dict)
    late: dict[int, float] = field(default_factory=dict)
    sum: Fraction = Fraction(0)
    stand_in: float | None = None
    whole: float = 0.0
    """When its last round was handed out, or its conversation ended."""
    due: float | None = None
    order: int | None = None
    learnt: int = 0
    stored: set[str] = field(default_factory=lambda: {"asks", "losses", "block"})

    @property
    def cut(self) -> bool:
        """True if it has changed hands so often that it ended."""
        return len(json.loads(self.played or "[]")) >= 64

    def home(self, moves: int) -> int:
        """Return the arm of a conversation after so many moves."""
        return self.moves[moves - 1][1] if self.moves and moves else self.given[0]

    odds: dict[str, Any] | None = None
    """Under shares: what was drawn, and with which probability each arm was given the block."""

    @property
    def given(self) -> tuple[int, float]:
        """The arm that has the block, and its probability."""
        stretches = json.loads(self.played or "[]")
        return tuple(stretches[0][2:]) if stretches and stretches[0][1] == 2**53 else (self.arm, self.probability)

    def by(self) -> list[tuple[int, float]]:
        """Return the arm of each round handed out, and its probability."""
        found = [(self.arm, self.probability)] * self.handed
        for first, count, arm, probability in json.loads(self.played or "[]"):
            found[first : first + count] = [(arm, probability)] * len(found[first : first + count])
        return found

    def missing(self) -> list[int]:
        """Return the rounds whose losses did not come until it was settled, or at all."""
        return [] if self.order is None else [round for round in range(self.rounds) if round not in self.losses]

    def counts(self) -> tuple[float, int]:
        """The total that counts and its rounds, as the policy hears them."""
        told, rounds = list(self.losses.values()), self.rounds
        if len(told) < rounds and self.stand_in is None:
            rounds = len(told)
        elif len(told) < rounds:
            told.append((rounds - len(told)) * (self.stand_in or 0.0))
        total = math.fsum(told)
        if self.key is not None and rounds and not self.forced:  # the mean, for each round that the policy drew
            return total / rounds * self.draw["rounds"], int(self.draw["rounds"])
        return total, rounds


Observed = tuple[Seen, float, int, bool | tuple[float, int]]
"""A block of which the policy hears: its loss, its rounds (-1: it does not), whether it is settled; or of a late loss
what it had heard before.
"""


class Heard(NamedTuple):
    """A settlement, or what was learnt early; and how many late losses of the same transaction may be before it."""

    told: Observed
    least: int
    most: int


def distinct(twins: list[Twin]) -> list[Twin]:
    """Return those that differ."""
    return list({twin.learnt(): twin for twin in twins}.values()) if len(twins) > 1 else twins


class Checker:
    """One game, computed again from its log. `worst` is the largest relative error of a probability."""

    def __init__(self, begun: Row) -> None:
        self.blocks: dict[int, Seen] = {}
        self.asks: dict[tuple[int, int], Row] = {}
        """Each ask that was ever made, by block and first round."""
        self.asked = self.switches = self.settled = self.forgotten = self.removed = self.revision = 0
        self.compared = self.gone = 0
        """Units whose comparison was checked, and the last block whose row was removed."""
        self.arm, self.clock, self.worst = -1, -math.inf, 0.0
        self.switched: list[float] = []
        """When arms were changed, as far back as the budget needs it, but for the first play."""
        self.current = 0
        """The policy's block, or the rule's, whose rounds are handed out; conversations and pins go on beside it."""
        self.heard, self.late, self.lateness, self.delay = 0, 0, 0.0, 0.0
        self.by_rule = self.units = 0
        self.expected = self.variance = 0.0
        """Units that the rule should have on average, and their variance."""
        self.paid = Fraction(0)
        self.known: dict[int, tuple[Fraction, int]] = defaultdict(lambda: (Fraction(0), 0))
        """Sum and number of the losses that counted in settled blocks, by arm."""
        self.open: dict[int, Seen] = {}
        self.by_order: list[Seen] = []
        """Settled blocks in their order."""
        self.turns: dict[int, list[tuple[float, bool]]] = defaultdict(list)
        """Losses in conversations that may move by arm, and whether they failed."""
        self.lengths: list[int] = []
        """Turns of those that have ended."""
        self.moved: Counter[str] = Counter()
        """Moves by their reason."""
        self.missing = self.kept = 0
        self.fuses: dict[int, Fuse] = {}
        """What the breaker knows of each arm."""
        self.firsts: dict[int, int] = {}
        """Rounds asked before the first of each block; of a conversation such that its latest round is right."""
        self.trips = 0
        self.stood_in = Fraction(0)
        """Sum of the losses that counted in place of those that never came."""
        self._set(begun)
        self.twins = [Twin(self.policy, self.active)]
        """One, or several while it is not known in which order a transaction went."""

    @property
    def twin(self) -> Twin:
        return self.twins[0]

    def _set(self, game: Row) -> None:
        self.policy = json.loads(game.policy)["policy"]
        self.settings = settings_from(game.settings)
        self.arms = json.loads(game.arms)
        self.active = [number for number, (_, retired, _) in enumerate(self.arms) if not retired]
        self.paused = {arm: math.inf if end is None else end for arm, end in availability(game, "paused")}
        self.pin = {arm: math.inf if end is None else end for arm, end in availability(game, "pin")}

    def _due(self, clock: float, asked: int) -> float | None:
        if self.settings.seconds is not None:
            return clock + self.settings.seconds
        return None if self.settings.forever else float(asked + (self.settings.rounds or 0))

    @property
    def _auto(self) -> bool:
        return self.settings.seconds is None and self.settings.rounds is None and not self.settings.forever

    # ---- one transaction

    def step(self, step: Step) -> None:
        """Check one transaction, and go on from it."""
        changed = step.get("games", "UPDATE")
        self.pin_changed = bool(changed)
        head, before, known = step.head, self.asked, (self.heard, self.lateness, self.delay)
        in_rounds = self.open.values() if self.settings.rounds else ()
        due_first = [b.number for b in in_rounds if b.due is not None and b.due <= before]
        fuses = {int(arm): Fuse(*parts) for arm, parts in json.loads(head.breakers or "{}").items()}
        self.fuses_now = {arm: one._replace(tried=one.tried and tuple(one.tried)) for arm, one in fuses.items()}
        begun = [self._begun(row) for row in step.get("blocks", "INSERT")]
        rows = {row.number: row for row in step.get("blocks", "INSERT") + step.get("blocks", "UPDATE")}
        before_moves = {number: len(self.blocks[number].moves or []) for number in rows}
        for row in rows.values():
            self.blocks[row.number].played = row.played
            self.blocks[row.number].moves = json.loads(row.moves) if row.moves else None
        shortened = self._shortened(rows, changed)
        at_begin, ended = self._hand_out(step, begun)
        self._check_moves(step, rows, before_moves, bool(changed))
        self._end_conversations(rows, before, head)
        self._check_breaker(step, rows, bool(changed))
        self._record(step, rows)
        early = [self._learnt_early(step, row) for row in rows.values() if row.learnt != self.blocks[row.number].learnt]
        settles = sorted(
            (row for row in rows.values() if row.settled_order is not None and self.blocks[row.number].order is None),
            key=lambda row: row.settled_order,
        )
        self._check_dues(rows, changed, ended, head)
        late_rows = [row for row in step.get("losses", "INSERT") if row.late]
        observed = [self._settle(row, head, row.number in shortened, late_rows) for row in settles]
        losses = enumerate(step.get("losses", "INSERT"))
        corrected = [(place, found) for place, row in losses if row.late for found in self._late(row)]
        only_compacted = step.rows and all(op == "DELETE" for table, op in step.rows if table != "games")
        if not only_compacted and step.rows:
            late = [number for number in due_first if self.blocks[number].order is None]
            must(not late, f"blocks {late} were due at {before} rounds and were not settled")
        if self._auto and step.get("asks", "INSERT"):
            self._check_patience(before, head, known, sum(row.rounds for row in step.get("asks", "INSERT")))
        self._order(begun, observed, early, corrected, at_begin, step.get("losses", "INSERT"))
        remember = self.settings.remember  # what a change settles, it forgets by the settings before it
        if changed:
            scale, since = self.settings.scale, self.settings.held_since
            self._set(changed[-1])
            same, found = self.settings.scale == scale, self.settings.held_since
            begins = found == since if same else len(self.blocks) - len(begun) <= found <= len(self.blocks)
            must(begins, f"the comparison begins after block {found}")
            budget = self.settings.most_switches  # counts those that were counted before, as many as it allows
            self.switched = self.switched[-budget["switches"] :] if budget else []
            for twin in self.twins:
                twin.change(self.policy, self.active)
        self._check_rows(rows)
        self._forget(step, remember)
        self._check_head(head)

    def _begun(self, row: Row) -> Seen:
        must(row.number == len(self.blocks) + 1, f"block {row.number} follows block {len(self.blocks)}")
        rounds = row.rounds if row.key is None else 0
        block = Seen(row.number, row.arm, rounds, row.probability, row.began, row.forced, row.key, row.share, row.price)
        block.draw, block.live = json.loads(row.data), row.key is not None
        block.odds = json.loads(row.odds) if row.odds else None
        if row.forced != 1:
            self.units, self.by_rule = self.units + 1, self.by_rule + (row.forced == 2)
            share = max(row.share, 0.0)
            self.expected, self.variance = self.expected + share, self.variance + share * (1.0 - share)
            must(row.forced == 0 or self.settings.holdback > 0, f"block {row.number} is the rule's, and there is none")
        else:
            must(row.arm in self.pin or bool(self.pin_changed), f"block {row.number} is pinned, and nothing was")
        share = self.settings.holdback if row.forced != 1 else 0.0
        price = (self.policy.get("switching_cost") or 0.0) if share else 0.0
        fits = (abs(row.share), row.price) == (share, price) and (row.share > 0.0 or row.forced != 2)
        must(fits or bool(self.pin_changed), f"block {row.number} has the share {row.share} at the price {row.price}")
        self.blocks[row.number] = self.open[row.number] = block
        must(row.began >= self.clock, f"block {row.number} began before the time that was seen")
        return block

    def _shortened(self, rows: dict[int, Row], changed: list[Row]) -> set[int]:
        """The current block of an arm that is retired ends with the rounds handed out."""
        found = set()
        for row in rows.values():
            block = self.blocks[row.number]
            if block.key is None and row.rounds != block.rounds:
                if block.cut:
                    block.rounds = row.rounds
                    continue
                must(bool(changed) and row.rounds == block.handed, f"block {row.number} has another length")
                must(json.loads(changed[-1].arms)[block.arm][1], f"block {row.number} was cut and its arm not retired")
                block.rounds = row.rounds
                found.add(row.number)
        return found

    def _hand_out(self, step: Step, begun: list[Seen]) -> tuple[dict[int, int], dict[int, tuple[float, int]]]:
        """Rounds asked before the call that began each block; and for the call that handed out a block's last round,
        when that was, and the rounds asked after it.
        """
        at_begin, ended = {}, {}
        asks = step.get("asks", "INSERT")  # in the order in which they were handed out
        before, after = {}, {}
        for row, asked in zip(asks, accumulate((row.rounds for row in asks), initial=self.asked), strict=False):
            before.setdefault(row.request, asked)
            after[row.request] = asked + row.rounds
        for row in asks:
            block = self.blocks[row.block]
            must(row.first == block.handed, f"round {row.first} of block {row.block} was handed out out of turn")
            must(row.at >= self.clock, "time ran back")
            if block.key is None and block.forced != 1 and row.block != self.current:
                current = self.blocks.get(self.current)
                follows = row.block > self.current and (current is None or current.handed == current.rounds)
                must(follows, f"block {row.block} began too early, or is not the current one")
                self.current = row.block
            if row.first == 0:
                at_begin[row.block] = before[row.request]
            block.handed += row.rounds
            block.rounds = block.handed if block.key is not None else block.rounds
            must(block.handed <= block.rounds, f"block {row.block} has more rounds than it should")
            self.asked += row.rounds
            self.asks[row.block, row.first] = row
            self._check_players(block, row, bool(step.get("games", "UPDATE")))
            if block.handed == block.rounds and block.key is None:
                ended[row.block] = (row.at, after[row.request])
        must(set(at_begin) == {block.number for block in begun}, "a block began and nothing of it was handed out")
        return at_begin, ended

    def _check_players(self, block: Seen, row: Row, changed: bool) -> None:
        """Nobody who is paused plays, nobody stands in for an arm that is there, and switches are counted."""
        budget = self.settings.most_switches if block.key is None and block.forced != 1 else None
        players = block.by()
        for place, (arm, probability) in enumerate(players[row.first : row.first + row.rounds], row.first):
            stays, before = False, players[place - 1] if place else (-1, 0.0)
            there = self.paused.get(self.arm, -math.inf) <= row.at and self.arm in self.active
            if budget is not None and there:
                recent = [at for at in self.switched if at + float(budget["over"][:-1]) > row.at]
                stays = len(recent) >= budget["switches"] and not changed
                likely = before[1] if before[0] == self.arm else 1.0
                free = not stays or self._tripped(self.arm)
                must(free or (arm, probability) == (self.arm, likely), f"no switch was left for {vars(row)}")
                stays = stays and arm == self.arm
            must(changed or self.paused.get(arm, -math.inf) <= row.at, f"arm {arm} was paused and played {vars(row)}")
            must(changed or arm in self.active, f"arm {arm} is retired and played {vars(row)}")
            own = block.given[0]
            alone = arm == own or block.forced == 2 or stays
            homes = [home for first, home, _ in block.moves or [] if first <= row.first]
            if homes and arm != own:
                must((arm, probability) == (homes[-1], 1.0), f"arm {arm} played {vars(row)} after a move to {homes}")
                alone = True
            was = self.paused.get(own, -math.inf)
            out = was > row.at or self._tripped(own)
            must(alone or changed or out, f"arm {arm} played block {block.number}, whose arm was there")
            must(0.0 < probability <= 1.0, f"round of block {block.number} has the probability {probability}")
            if block.key is None and arm != self.arm:
                self.switches += 1
                self.paid += Fraction(self.policy.get("switching_cost") or 0.0)
                if self.settings.most_switches is not None and self.arm >= 0:
                    self.switched = [*self.switched, row.at][-self.settings.most_switches["switches"] :]
                self.arm = arm

    def _check_moves(self, step: Step, rows: dict[int, Row], before: dict[int, int], changed: bool) -> None:
        """Conversations moved where the rule says so, at one of the moments of the transaction, and nowhere else."""
        heard, ended = [], []
        for loss in step.get("losses", "INSERT"):
            block = self.blocks.get(loss.block)
            if block is not None and block.moves is not None and not loss.late:
                said = json.loads(loss.measures or "{}")
                failed = "failed" in said or "error" in said
                if failed or loss.round not in {first for first, _, _ in block.moves}:
                    heard.append((block.by()[loss.round][0], loss.loss, failed))
        for row in rows.values():
            block = self.blocks[row.number]
            if block.live and not row.live and block.moves is not None:
                ended.append(row.rounds)
        made = dict(before)
        for ask in step.get("asks", "INSERT"):
            block = self.blocks[ask.block]
            if not block.moves and (block.moves is None or not ask.first):
                continue
            done = made.get(ask.block, 0)
            moves = block.moves[done:]
            move = moves[0][1:] if moves and moves[0][0] == ask.first else None
            made[ask.block] = done + (move is not None)
            if ask.first == 0 or changed:
                continue
            cuts = product(range(len(heard) + 1), range(len(ended) + 1), self._out(ask.at))
            reasons = [self._explains(block, ask, move, done, heard[:k], ended[:j], out) for k, j, out in cuts]
            must(any(reasons), f"conversation {ask.block} moved by {move} at {vars(ask)}, or should have")
            self.moved[move[1] if move else "stayed"] += 1
        wrong = [number for number in rows if made[number] != len(self.blocks[number].moves or [])]
        must(not wrong, f"conversations {wrong} moved without a turn")
        late = [row.number for row in rows.values() if self.blocks[row.number].moves and not row.learnt]
        must(not late, f"conversations {late} moved and were not learnt from before")
        for arm, loss_, failed in heard:
            self.turns[arm].append((loss_, failed))
        self.lengths += ended

    def _out(self, at: float) -> list[set[int]]:
        """Return sets of arms that may have been out: those paused, and those tripped at some moment of the step."""
        paused = {arm for arm in self.active if self.paused.get(arm, -math.inf) > at}
        before, after = ({arm for arm, f in known.items() if f.pause} for known in (self.fuses, self.fuses_now))
        some = sorted((before ^ after) & {*self.active})
        found = [paused | (before & after) | {*few} for n in range(len(some) + 1) for few in combinations(some, n)]
        return [out if out < {*self.active} else paused for out in found]

    def _explains(
        self, block: Seen, ask: Row, move: Any, done: int, heard: list[Any], ended: list[int], down: set[int]
    ) -> bool:
        """Return True if the rule does this with what was heard of by then."""
        turns = {arm: [*self.turns[arm], *((x, f) for a, x, f in heard if a == arm)] for arm in self.active}
        home, lengths = block.home(done), [*self.lengths, *ended]
        fails = {arm for arm in self.active if [f for _, f in turns[arm][-5:]] == [True] * 5}
        others = {*self.active} - down - {home}
        shared = {arm for arm in self.active if str(self.arms[arm][0] or arm) in (self.settings.share or {})}
        known = {arm for arm in others - fails - shared if len(turns[arm]) >= 5}
        mean = {arm: self._recent(turns[arm]) for arm in self.active}
        best = min(known, key=lambda arm: (mean[arm], arm), default=None)
        fits = move is not None and (move[0] == best if best is not None else move[0] in others)
        if home in down or home not in self.active:
            return fits and move is not None and move[1] == "down"
        if home in fails and others - fails:
            return fits and move is not None and move[1] == "failing"
        cost, to_come = self.settings.move_cost, max(ask.first, sum(lengths) / len(lengths) if lengths else 0.0)
        to_come = min(to_come, 30.0)
        gain = best is not None and len(turns[home]) >= 5 and to_come * (mean[home] - mean[best]) > cost
        return (fits and move is not None and move[1] == "gain") if gain else move is None

    @staticmethod
    def _recent(turns: list[tuple[float, bool]]) -> float:
        mean = 0.0
        for count, (loss, _) in enumerate(turns, 1):
            mean += (loss - mean) / min(count, 20)
        return mean

    def _tripped(self, arm: int) -> bool:
        """Return True if a breaker kept an arm out at some moment of the step."""
        return any(known[arm].pause for known in (self.fuses, self.fuses_now) if arm in known)

    def _check_breaker(self, step: Step, rows: dict[int, Row], changed: bool) -> None:
        """What is known of each arm follows from what was, in one of the orders that a step may have had."""
        asks, losses, rule = step.get("asks", "INSERT"), step.get("losses", "INSERT"), self.settings.breaker
        before, self.fuses, firsts = self.fuses, self.fuses_now, dict(self.firsts)
        self.trips += sum(
            bool(fuse.pause) and not before.get(arm, Fuse()).pause for arm, fuse in self.fuses_now.items()
        )
        self.firsts |= {number: row.first for number, row in rows.items()}
        if changed or rule is None:
            must(changed or rule is not None or not self.fuses_now, "there is no breaker, and arms are known to it")
            return
        asked = self.asked - sum(row.rounds for row in asks)
        ways = {0: {_plain(before)}}  # after so many of the losses: what may be known, whatever the order of calls was
        for place in range(len(asks) + 1):
            if place:
                row, block = asks[place - 1], self.blocks[asks[place - 1].block]
                ways = {n: {_plain(one) for one in self._tried(known, rule, row)} for n, known in ways.items()}
                firsts |= {row.block: asked - row.first} if block.key is not None else {}
                asked += row.rounds
            for n, loss in enumerate(losses):
                first = firsts.get(loss.block, self.firsts[loss.block])
                known = {_plain(self._failed(one, rule, loss, first, asked)) for one in ways.get(n, ())}
                ways[n + 1] = ways.get(n + 1, set()) | known
        found = [dict(one) for one in ways[len(losses)]]
        found += [_given_up(one, rule, math.inf) for one in found]  # by an ask that was refused
        resumed = None if asks or losses else Fuse(since=self.asked)
        right = any(
            all(self.fuses_now.get(arm, Fuse()) in (one.get(arm, Fuse()), resumed) for arm in {*one, *self.fuses_now})
            for one in found
        )
        said = [vars(row) for row in asks + losses]
        must(right, f"the breaker has {self.fuses_now}, after {before} not one of {found[:4]}: {said}")

    def _tried(self, ways: Iterable[Known], rule: Any, row: Row) -> Iterator[dict[int, Fuse]]:
        """Yield what is known of arms after rounds that may be handed out: one may try an arm that has tripped."""
        block = self.blocks[row.block]
        for way in ways:
            found, may_be = _given_up(dict(way), rule, row.at), True
            for round, (arm, _) in enumerate(block.by()[row.first : row.first + row.rounds], row.first):
                fuse = found.get(arm, Fuse())
                left = [a for a in self.active if not found.get(a, Fuse()).pause and self.paused.get(a, 0.0) <= row.at]
                if fuse.pause and fuse.tried is None and row.at >= fuse.until:
                    found[arm] = fuse._replace(tried=(row.block, round), until=row.at + fuse.pause)
                else:
                    may_be = may_be and (not fuse.pause or not left or block.forced == 1)
            if may_be:
                yield found

    def _failed(self, way: Known, rule: Any, row: Row, first: int, asked: int) -> dict[int, Fuse]:
        """Return what is known of arms after a loss of a block whose rounds count from `first`."""
        found, block = _given_up(dict(way), rule, row.at), self.blocks[row.block]
        arm, told = block.by()[row.round][0], json.loads(row.measures or "{}")
        failed = bool({"failed", "error"} & told.keys()) or (rule["level"] is not None and row.loss >= rule["level"])
        if arm not in self.active or block.number <= self.arms[arm][2]:
            return found
        fuse = found.get(arm, Fuse())
        if fuse.tried == (row.block, row.round):
            found[arm] = _tripped(fuse, rule, row.at) if failed else Fuse(since=asked)
        elif not fuse.pause and first + row.round >= fuse.since:
            recent = (fuse.recent + "01"[failed])[-rule["within"] :].lstrip("0")
            often = recent.count("1") >= rule["failures"]
            others = [a for a in self.active if a != arm and self.paused.get(a, 0.0) <= row.at]
            trips = failed and often and any(not found.get(a, Fuse()).pause for a in others)
            stays = (fuse.stays or failed) and often
            found[arm] = _tripped(fuse, rule, row.at) if trips else fuse._replace(recent=recent, stays=stays)
        return found

    def _end_conversations(self, rows: dict[int, Row], before: int, head: Row) -> None:
        """When one has ended it becomes due: within this transaction, at which of its moments is not known."""
        for row in rows.values():
            block = self.blocks[row.number]
            must(block.key is None or row.rounds == block.rounds, f"conversation {row.number} has another length")
            if block.live and not row.live:
                block.live = False
                early, late = self._due(self.clock, before), self._due(head.clock, self.asked)
                within = row.due is None if early is None or late is None else early <= (row.due or -math.inf) <= late
                must(within, f"conversation {row.number} is due at {row.due}, not from {early} to {late}")
                must(self.clock <= row.last <= head.clock, f"conversation {row.number} ended at {row.last}")
                block.due, block.whole = row.due, row.last
            must(block.live == bool(row.live), f"conversation {row.number} goes on again")

    def _check_patience(self, before: int, head: Row, known: tuple[int, float, float], asked: int) -> None:
        """With a patience that follows lateness: what waited far longer than that was settled by an ask."""
        wait = max(50.0, 3.0 * max(known[1], head.lateness), 3.0 * asked) * 1.5 + 50.0
        since = self.clock - max(60.0, 3.0 * max(known[2], head.delay)) * 1.5 - 60.0
        open_ones = [b for b in self.open.values() if known[0] and b.due is not None and b.whole < since]
        waiting = [b.number for b in open_ones if self.twin.waits or (b.due or 0.0) + wait < before]
        must(not waiting, f"blocks {waiting} wait, and losses are {head.lateness} rounds late")

    def _record(self, step: Step, rows: dict[int, Row]) -> None:
        for row in step.get("losses", "INSERT"):
            block = self.blocks.get(row.block)
            must(block is not None and row.round < block.handed, f"a loss of a round nobody has: {vars(row)}")
            must(row.round not in block.losses, f"a loss was recorded twice: {vars(row)}")
            must("losses" in block.stored, f"a loss of a forgotten block was recorded: {vars(row)}")
            self.heard += 1
            if row.late:
                self.late += 1
                ends = row.block in rows and rows[row.block].settled_order is not None
                must(block.order is not None or ends, f"a loss is late and its block open: {vars(row)}")
            else:
                must(block.order is None, f"a loss of a settled block counted: {vars(row)}")
                block.losses[row.round] = row.loss
                block.sum += Fraction(row.loss)

    def _late(self, row: Row) -> list[Observed]:
        """A late loss takes the place of what stood for it; what the policy must be told of that, if anything."""
        block, was = self.blocks[row.block], self.blocks[row.block].counts()
        must(row.round not in block.losses, f"a loss was recorded twice: {vars(row)}")
        block.losses[row.round] = block.late[row.round] = row.loss
        block.sum += Fraction(row.loss)
        arm = block.by()[row.round][0]
        of_arm, number = self.known[arm]
        self.known[arm] = of_arm + Fraction(row.loss), number + 1
        self.missing -= 1
        self.stood_in -= Fraction(block.stand_in or 0.0)
        if block.forced or block.learnt or block.number <= self.arms[block.arm][2]:
            return []
        return [(block, *block.counts(), was)]

    def _learnt_early(self, step: Step, row: Row) -> list[tuple[tuple[int, int, float], Observed]]:
        """A conversation learnt from before it ended: when, and from what; asks may have come before or after."""
        block, after = self.blocks[row.number], getattr(self.settings, "learn_after", None)
        fits = block.key is not None and not block.forced and not block.learnt and block.arm in self.active
        must(fits and (after is not None or bool(block.moves)), f"block {row.number} was learnt from before it ended")
        must(self.settled < row.learnt, f"block {row.number} was learnt from before settlement {row.learnt}")
        block.learnt = row.learnt
        found: list[tuple[tuple[int, int, float], Observed]] = []
        if block.moves:  # from what had come when it moved
            asks, losses = step.get("asks", "INSERT"), step.get("losses", "INSERT")
            asked = next(n for n, ask in enumerate(asks) if ask.block == block.number)
            news = {loss.round: n for n, loss in enumerate(losses) if loss.block == block.number}
            late = [n for n, loss in enumerate(losses) if loss.late]
            for place in sorted({0, len(losses), *(n + 1 for n in news.values()), *late, *(n + 1 for n in late)}):
                come = [loss for round, loss in block.losses.items() if news.get(round, -1) < place]
                total = math.fsum(come) / max(len(come), 1) * block.draw["rounds"]
                one = block, total, int(block.draw["rounds"]) if come else -1, False
                found.append(((row.learnt, 0, place - 0.5 + 0.4 * asked / len(asks)), one))
        handed = {block.handed, *(ask.first for ask in step.get("asks", "INSERT") if ask.block == block.number)}
        for rounds in sorted(handed):
            told = [block.losses[round] for round in range(rounds) if round in block.losses]
            if after is not None and rounds >= after and len(told) == rounds:
                mine = [loss.block == block.number and loss.round < rounds for loss in step.get("losses", "INSERT")]
                place = max((place for place, is_mine in enumerate(mine) if is_mine), default=-1)
                total = math.fsum(told) / rounds * block.draw["rounds"]
                found.append(((row.learnt, 0, place), (block, total, int(block.draw["rounds"]), False)))
        must(bool(found), f"block {row.number} was learnt from and its losses were not in")
        return found

    def _check_dues(self, rows: dict[int, Row], changed: list[Row], ended: dict[int, Any], head: Row) -> None:
        for number, (at, asked) in ended.items():
            self.blocks[number].due, self.blocks[number].whole = self._due(at, asked), at
        if changed:
            old = self.settings
            new = settings_from(changed[-1].settings)
            restarted = (old.seconds, old.rounds, old.forever) != (new.seconds, new.rounds, new.forever)
            self.settings = new
            for block in self.open.values():
                settled_now = block.number in rows and rows[block.number].settled_order is not None
                whole = block.handed == block.rounds and not block.live
                if whole and not settled_now and (restarted or block.due is None):
                    block.due, block.whole = self._due(head.clock, self.asked), head.clock
            self.settings = old
        for row in rows.values():
            block = self.blocks[row.number]
            free = block.key is not None or (bool(changed) and row.settled_order is not None)
            must(free or row.due == block.due, f"block {row.number} is due at {row.due}, not at {block.due}")

    def _settle(self, row: Row, head: Row, cut: bool, late_rows: list[Row]) -> Observed:
        """Return the loss and the rounds that the policy must be told of a settled block."""
        block = self.blocks[row.number]
        must(row.settled_order == self.settled + 1, f"block {row.number} was settled out of order")
        must(block.handed == block.rounds and not block.live, f"block {row.number} was settled with rounds left")
        told = list(block.losses.values())
        left = block.rounds - len(told)
        if left:
            rounds = 50.0 * (self._auto and not self.twin.waits)
            mark = row.settled_at if self.settings.seconds is not None else self.asked - rounds
            must(block.due is not None and block.due <= mark, f"block {row.number} was settled before it was due")
            soon = self._auto and row.settled_at < block.whole + 60.0
            must(not soon, f"block {row.number} was given up within a minute")
        must(self.clock <= row.settled_at <= head.clock, f"block {row.number} was settled at a time that was not")
        earlier, count = self.known[block.given[0]]
        late = [one.loss for one in late_rows if self.blocks[one.block].by()[one.round][0] == block.given[0]]
        sums = list(accumulate(map(Fraction, late), initial=earlier))  # how many had come before it is not known
        usuals = [
            float(sums[n]) / (count + n) if count + n else sum(self.policy["units"]) / 2 for n in range(len(sums))
        ]
        usual = row.stand_in if row.stand_in in usuals else usuals[0]
        players = block.by()
        for round, loss in block.losses.items():
            of_arm, number = self.known[players[round][0]]
            self.known[players[round][0]] = of_arm + Fraction(loss), number + 1
        if left and self.settings.missing != "drop":
            mean, highest = math.fsum(told) / len(told) if told else usual, self.policy["units"][1]
            block.stand_in = {"mean": mean, "highest": highest}.get(self.settings.missing, self.settings.missing)
            missing = Counter(arm for round, (arm, _) in enumerate(players) if round not in block.losses)
            self.stood_in += sum(Fraction(count * block.stand_in) for count in missing.values())  # added up by arm
        stand_in = block.stand_in
        must(row.stand_in == stand_in, f"{row.stand_in} counts for a missing loss of block {row.number}: {stand_in}")
        self.settled += 1
        block.order = self.settled
        del self.open[block.number]
        self.by_order.append(block)
        self.kept += block.rounds
        self.missing += left
        total, rounds = block.counts()
        return block, total, -1 if cut or block.forced or block.learnt else rounds, True

    # ---- the order of draws and settlements in a transaction

    def _order(
        self,
        begun: list[Seen],
        settled: list[Observed],
        early: list[list[Any]],
        corrected: list[tuple[int, Observed]],
        at_begin: dict[int, int],
        losses: list[Row],
    ) -> None:
        """Seek the orders that explain all draws: the twins that have heard everything in one of them go on.

        Draws, settlements and late losses are each in order. What was learnt early is among settlements, and its
        place among the losses is known; so is that of a settlement that a loss brought about.
        """
        incomplete = [block for block, *_ in settled if len(block.losses) - len(block.late) < block.rounds]
        for one, two in pairwise(incomplete):
            must((one.due, one.number) < (two.due, two.number), f"block {two.number} was due before {one.number}")
        in_time = {row.block: place for place, row in enumerate(losses) if not row.late}
        late = [place for place, _ in corrected]
        after: list[tuple[Any, Heard]] = []
        for told in settled:
            block = told[0]
            place = in_time.get(block.number, -1)
            by_loss = place >= 0 and block not in incomplete and block.key is None and told[2] >= 0
            own = (n for n, (_, one) in enumerate(corrected) if one[0] is block)
            least = bisect(late, place)
            after.append(((block.order, 1, 0), Heard(told, least, least if by_loss else next(own, len(late)))))
        wrong: list[str] = []
        found: list[Twin] = []
        for way in product(*early):
            learnt = [(when, Heard(told, bisect(late, when[2]), bisect(late, when[2]))) for when, told in way]
            heard = [one for _, one in sorted([*after, *learnt], key=lambda placed: placed[0])]
            twins = [twin.copy() for twin in self.twins] if early else self.twins
            found += self._explained(begun, heard, [one for _, one in corrected], at_begin, twins, wrong)
        numbers = [block.number for block in begun]
        must(bool(found), f"no order of draws and settlements explains blocks {numbers}: {wrong[-3:]}")
        self.twins = distinct(found)

    def _explained(
        self,
        begun: list[Seen],
        heard: list[Heard],
        corrected: list[Observed],
        at_begin: dict[int, int],
        start: list[Twin],
        wrong: list[str],
    ) -> list[Twin]:
        """Return twins that went through all of it, in any order in which each draw is as the store has it."""
        seconds = self.settings.seconds is not None

        def too_early(block: Seen, settled: int) -> list[int]:
            """Return the blocks due before this one began but not settled, or those the policy waits for."""
            if not self.twin.waits and not seconds and self.settings.rounds is None:
                return []
            mark = block.began if seconds else at_begin[block.number]
            later = (one.told[0] for one in heard[settled:] if one.told[3] is True)
            unsettled = [*self.open.values(), *later]
            waited = [b for b in unsettled if self.twin.waits and not b.forced and not block.forced]
            due = [*waited, *(b for b in unsettled if b.due is not None and b.due <= mark)]
            return [b.number for b in due if b.number < block.number]

        end = len(begun), len(heard), len(corrected)
        ways: dict[tuple[int, ...], list[Twin]] = defaultdict(list, {(0, 0, 0): start})
        """Twins after so many draws, so many of what was heard, and so many late losses."""
        for i, j, k in product(*(range(count + 1) for count in end)):
            if (i, j, k) == end:
                break
            most = begun[i].number if i < len(begun) else math.inf  # a block is drawn before it is heard of
            hears = j < len(heard) and heard[j].least <= k <= heard[j].most and heard[j].told[0].number < most
            corrects = k < len(corrected) and corrected[k][0].number < most
            for twin in distinct(ways.pop((i, j, k), [])):
                if i < len(begun):
                    other = twin.copy() if hears or corrects else twin
                    if self._drawn(other, begun[i], too_early(begun[i], j), wrong):
                        ways[i + 1, j, k].append(other)
                if hears:
                    other = twin.copy() if corrects else twin
                    self._observe(other, heard[j].told)
                    ways[i, j + 1, k].append(other)
                if corrects:
                    self._observe(twin, corrected[k])
                    ways[i, j, k + 1].append(twin)
        return ways[end]

    def _observe(self, twin: Twin, observed: Observed) -> None:
        block, total, rounds, before = observed
        if isinstance(before, tuple):
            twin.correct(block.number, block.arm, before, (total, rounds))
        elif rounds >= 0:
            twin.observe(block.number, block.arm, total, rounds)

    def _drawn(self, twin: Twin, block: Seen, overdue: list[int], wrong: list[str]) -> bool:
        if overdue:
            wrong.append(f"blocks {overdue} were to be settled before block {block.number} began")
            return False
        if block.forced == 1:
            return True
        own, arm = twin.copy() if block.forced else twin, int(block.draw["arm"]) if block.forced else block.arm
        p, length = own.begin(block.number, arm)
        probability, rounds = block.draw["probability"], block.draw["rounds"]
        error = abs(p - probability) / p if p else math.inf
        if (
            error > CLOSE
            or length != rounds
            or (block.key is None and not block.forced and length != block.rounds and not block.cut)
        ):
            wrong.append(f"block {block.number} has p = {probability} and {rounds} rounds, not {p}, {length}")
            return False
        if not block.forced and not self._within_shares(own, block, p, wrong):
            return False
        if not block.forced and block.odds is None and block.probability != probability:
            wrong.append(f"block {block.number} has p = {block.probability} and was drawn with {probability}")
            return False
        self.worst = max(self.worst, error)
        if not block.forced:
            twin.agree(block.number, block.arm, probability)
        return True

    def _within_shares(self, twin: Twin, block: Seen, p: float, wrong: list[str]) -> bool:
        """No arm has a block with more than its share, and the most likely of the others has what is left over."""
        if self.pin_changed:  # by which settings it began is not known
            return True
        share = self.settings.share or {}
        if (block.odds is not None) != bool(share):
            wrong.append(f"block {block.number} has odds {block.odds} under shares {share}")
            return False
        if block.odds is None:
            return True
        (drawn, chance), given = block.odds["drawn"], {int(arm): q for arm, q in block.odds["given"].items()}
        caps = {arm: self._share_of(share.get(str(self.arms[arm][0] or arm)), block.began) for arm in self.active}
        own, probability = block.given
        fits = drawn == block.arm and abs(chance - p) <= CLOSE * p and abs(math.fsum(given.values()) - 1.0) < 1e-9
        fits = fits and all(given[arm] <= cap * (1.0 + 1e-12) for arm, cap in caps.items() if cap is not None)
        fits = fits and probability == given[own] and (own == block.arm or caps[block.arm] is not None)
        if not self.twin.waits:
            likely = dict(zip(twin.active, map(float, twin.oracle.p), strict=True))
            free = [arm for arm in self.active if caps[arm] is None]
            best = max(free, key=lambda arm: likely[arm])
            kept = {arm: likely[arm] if cap is None else min(cap, likely[arm]) for arm, cap in caps.items()}
            kept[best] += math.fsum(likely.values()) - math.fsum(kept.values())
            tied = [arm for arm in free if likely[arm] > likely[best] * (1.0 - 1e-9)]
            fits = fits and own in (block.arm, *tied)
            fits = fits and (len(tied) > 1 or all(abs(given[arm] - q) <= 1e-9 for arm, q in kept.items()))
        if not fits:
            wrong.append(f"block {block.number} was given by {block.odds}, {block.played[:60]} under {caps}")
        return fits

    @staticmethod
    def _share_of(share: Any, at: float) -> float | None:
        if not isinstance(share, list):
            return share
        first, last, over, since = share
        passed = min(max((at - since) / float(over[:-1]), 0.0), 1.0)
        return math.exp(math.log(first) * (1.0 - passed) + math.log(last) * passed)

    # ---- sums

    def _check_rows(self, rows: dict[int, Row]) -> None:
        for row in rows.values():
            block = self.blocks[row.number]
            expected = {
                **{"arm": block.arm, "probability": block.probability, "began": block.began, "learnt": block.learnt},
                "told": len(block.losses),
                "late": len(block.late),
                "total": None if block.order is None else math.fsum(block.losses.values()),
                "settled_order": block.order,
            }
            found = {name: getattr(row, name) for name in expected}
            must(found == expected, f"block {row.number} is {found}, not {expected}")
            adds_up = sum(map(Fraction, json.loads(row.losses))) == block.sum
            must(adds_up, f"the losses of block {row.number} do not add up")
            complete = block.order is None and block.handed == block.rounds == len(block.losses)
            must(not complete or block.live, f"block {row.number} has all its losses and is not settled")

    def _forget(self, step: Step, remember: int) -> None:
        """Single losses go in the order of settlement, and only beyond what is remembered; open blocks stay."""
        gone = {row.number for row in step.get("blocks", "DELETE")}
        single = {row.block for table in ("asks", "losses") for row in step.get(table, "DELETE")}
        for number in gone | single:
            must(self.blocks[number].order is not None, f"rows of block {number}, which is open, were deleted")
        forgotten = step.head.forgotten
        must(self.forgotten <= forgotten <= self.settled, "more is forgotten than was settled")
        newly = [b for b in self.by_order[self.forgotten : forgotten] if b.stored and b.number not in gone]
        for block in newly:  # before rows are removed, which leaves fewer
            must(self.kept > remember, f"block {block.number} was forgotten with {self.kept} rounds kept")
            self.kept -= block.rounds
            block.stored = {"block"}
        for number in gone:
            block = self.blocks[number]
            self.kept -= block.rounds if "losses" in block.stored else 0
            block.stored.clear()
            self.removed, self.gone = self.removed + 1, max(self.gone, number)
        self.forgotten = forgotten
        wrong = [n for n in single - gone if "losses" in self.blocks[n].stored]
        must(not wrong, f"losses of blocks {wrong} were deleted and are not said to be")

    def _stays(self) -> float:
        """Until when no switch is left."""
        budget = self.settings.most_switches
        if budget is None or len(self.switched) < budget["switches"]:
            return 0.0
        return self.switched[-budget["switches"]] + float(budget["over"][:-1])

    def _check_head(self, head: Row) -> None:
        current = self.blocks.get(self.current)
        dues = [] if self.settings.forever else [block.due for block in self.open.values() if block.due is not None]
        expected = {
            "block": len(self.blocks),
            "current": self.current,
            "arm": current.given[0] if current else -1,
            "last_arm": self.arm,
            "heard": self.heard,
            "late": self.late,
            "rounds": current.rounds if current else 0,
            "handed": current.handed if current else 0,
            "probability": current.given[1] if current else 0.0,
            "stays": self._stays(),
            "asked": self.asked,
            "switches": self.switches,
            "settled": self.settled,
            "removed": self.removed,
            "kept": self.kept,
        }
        found = {name: getattr(head, name) for name in expected}
        must(found == expected, f"the head is {found}, not {expected}")
        must(sum(map(Fraction, json.loads(head.paid))) == self.paid, "what the switches cost does not add up")
        must(head.revision > self.revision, f"revision {head.revision} follows {self.revision}")
        must(head.clock >= self.clock, "time ran back")
        must(not dues or (head.next_due is not None and head.next_due <= min(dues)), "a due block may be overlooked")
        if self.settings.seconds is not None:
            must(not dues or min(dues) > head.clock, f"a block was due at {min(dues, default=0)} and is not settled")
        self.revision, self.clock, self.lateness, self.delay = head.revision, head.clock, head.lateness, head.delay

    # ---- the end

    def check_totals(self, router: hf.Router) -> None:
        """Check that users see the computed numbers."""
        totals = router.history.totals
        told = [loss for block in self.blocks.values() for loss in block.losses.values()]
        expected = {
            **{"rounds": self.asked, "told": len(told), "missing": self.missing, "switches": self.switches},
            "out": sum(block.handed - len(block.losses) for block in self.open.values()),
            "blocks": len(self.blocks),
            "moves": sum(len(block.moves or []) for block in self.blocks.values()),
            "losses": math.fsum(told),
            "missing_losses": float(self.stood_in),
            "switching": float(self.paid),
            "cost": float(sum(map(Fraction, told)) + self.stood_in + self.paid),
        }
        found = {name: getattr(totals, name) for name in expected}
        must(found == expected, f"the totals are {found}, not {expected}")
        players = {block.number: [played for played, _ in block.by()] for block in self.blocks.values()}
        for number, arm in enumerate(totals.arms):
            mine = [block for block in self.blocks.values() if number in players[block.number]]
            losses = [x for block in mine for r, x in block.losses.items() if players[block.number][r] == number]
            lost = [block for block in mine for r in block.missing() if players[block.number][r] == number]
            instead = [block.stand_in for block in lost if block.stand_in is not None]
            rounds = sum(played.count(number) for played in players.values())
            last = max((block.began for block in mine), default=None)
            counts = (len(mine), rounds, len(losses), math.fsum(losses), len(lost), last)
            seen = (arm.blocks, arm.rounds, arm.told, arm.losses, arm.missing, arm.last_used)
            must(seen == counts, f"arm {arm.arm!r} has {seen}, not {counts}")
            mean = math.fsum([*losses, *instead]) / len([*losses, *instead]) if losses or instead else -1.0
            shown, due = (arm.missing_losses, -1.0 if arm.mean is None else arm.mean), (math.fsum(instead), mean)
            must(near(shown, due, 1e-12), f"arm {arm.arm!r} has {shown}, not {due}")
        off = 6.0 * math.sqrt(self.variance) + 1.0  # a false alarm in 10⁸ games
        must(abs(self.by_rule - self.expected) <= off, f"{self.by_rule} units are the rule's, not {self.expected:.0f}")
        open_now = {tuple(map(int, decision.id.split("-")[1:3])) for decision in router.open_decisions}
        expected_open = {(b.number, r) for b in self.open.values() for r in range(b.handed) if r not in b.losses}
        must(open_now == expected_open, "the open decisions are others")

    def check_comparison(self, router: hf.Router) -> None:
        """Check the policy's saving against the rule, where no unit is open."""
        units, last, (low, high) = [], None, self.policy["units"]
        compared = (b for b in self.blocks.values() if b.number > max(self.gone, self.settings.held_since) and b.share)
        for block in compared:
            counted = [*block.losses.values()]
            counted += [block.stand_in for _ in block.missing() if block.stand_in is not None]
            cost = math.fsum(counted) / len(counted) if counted else (low + high) / 2
            size, arms = (1.0, []) if block.key is not None else (block.draw["rounds"], [arm for arm, _ in block.by()])
            cost += block.price * sum(one != other for one, other in pairwise(arms)) / max(block.rounds, 1)
            if block.key is None and not block.forced and arms:
                cost, last = cost + block.price * (last not in (None, arms[0])) / size, arms[-1]
            if 0.0 < block.share < 1.0:
                units.append(Unit(cost, size, block.share, block.forced == 2, high + block.price - low))
                if block.order is None:
                    return
        if units:
            saving, expected = router.history.compare(), saving_of(units, low)
            counts = len(units), sum(unit.held for unit in units), 0
            must((saving.units, saving.held_back, saving.open) == counts, f"others are compared: {saving}")
            shown = (saving.difference, saving.low, saving.high)
            must(near(shown, expected, 1e-9, 1e-11), f"the comparison says {shown}, not {expected}")
            self.compared = len(units)


def near(shown: Sequence[float], due: Sequence[float], relative: float, absolute: float = 1e-12) -> bool:
    pairs = zip(shown, due, strict=True)
    return all(math.isclose(one, other, rel_tol=relative, abs_tol=absolute) for one, other in pairs)


def check(url: str, name: str = "game") -> Checker:
    """Compute a game again; a `Violation` where it cannot have come about by the rules."""
    begun, steps = steps_of(url, name)
    checker = Checker(begun)
    for step in steps:
        checker.step(step)
    with hf.open(url, name) as router:
        checker.check_totals(router)
        checker.check_comparison(router)
    return checker


# ---- what workers heard


@dataclass(frozen=True)
class Lost:
    """A restore between two moments, of a copy that was made between two earlier ones."""

    copied: tuple[float, float]
    restored: tuple[float, float]

    def keeps(self, call: dict[str, Any]) -> bool:
        """Return True if acknowledged calls must still be there."""
        return bool(call["end"] < self.copied[0] or call["begin"] > self.restored[1])


def check_journal(checker: Checker, calls: list[dict[str, Any]], restores: Sequence[Lost] = ()) -> None:
    """Everything acknowledged is in the store, once, as it was acknowledged; `calls` are lines of the workers."""
    errors = [call for call in calls if call["what"] == "error"]
    must(not errors, f"a call ended in an error: {errors[:2]}")
    kept = [call for call in calls if all(restore.keeps(call) for restore in restores)]
    handed: dict[str, str] = {}
    for call in kept:
        if call["what"] != "asked":
            continue
        for id, arm, probability, number, _ in call["decisions"]:
            _, block, round, _ = id.split("-")
            must(handed.setdefault(id, call["request"]) == call["request"], f"{id} was handed out twice")
            seen = checker.blocks.get(int(block))
            must(seen is not None and int(round) < seen.handed, f"{id} was handed out and is gone")
            played, likely = seen.by()[int(round)]
            must((seen.number, likely) == (number, probability), f"{id} has another probability")
            named = checker.arms[played][0]
            must(arm == (played if named is None else named), f"{id} has another arm")
    by_id = lambda call: call["id"]  # noqa: E731
    told = sorted((call for call in kept if call["what"] in ("new", "repeated", "late")), key=by_id)
    for id, group in groupby(told, by_id):
        answers = list(group)
        _, block, round, _ = id.split("-")
        seen = checker.blocks[int(block)]
        losses = {call["loss"] for call in answers}
        late = any(call["what"] == "late" for call in answers)
        must(not late or int(round) in seen.late, f"{id} came late, and is said to have come in time")
        recorded = seen.losses.get(int(round))
        must({recorded} == losses, f"{id} lost {losses}, and {recorded} is recorded")
        must(sum(call["what"] in ("new", "late") for call in answers) <= 1, f"the loss of {id} counted twice")
