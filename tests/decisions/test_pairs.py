"""Settings in pairs: any two values of two settings meet in a game that is played against the model, and over HTTP.

A few lines of greedy search make the rows of the table. Each plays a hundred calls by two handles, which are opened
again and crash at times: asks of many rounds, keys, losses that are late, repeated or never come, measures, pauses and
pins, clocks that jump, and a change of settings in between. Every number that users see must be the model's: draws,
receipts, what the policy has learnt, totals, means and the comparison.
"""

import contextlib
import itertools
import json
import math
import random
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np
import pytest
from conftest import place_in
from model import Model, said_of
from naive_saving import Unit, saving_of
from places import KINDS, Clock
from service import InThread

import holdfast as hf
from holdfast.decisions.executor import stored_state
from holdfast.decisions.models import Events

ARMS, REDUCED = ["a", "b", "c"], "reduced-variance"
SCALES = (hf.Scale(latency=(0.2, 8.0, 3), price=(0.0, 0.02), error=0.9), hf.Scale(latency=(1.0, 5.0), error=0.4))

POLICIES = {
    "switch": lambda units: hf.TsallisSwitch(arms=ARMS, units=units, switching_cost=1.5 * (units[1] - units[0])),
    "reduced variance": lambda units: hf.TsallisSwitch(arms=ARMS, units=units, switching_cost=0.0, estimator=REDUCED),
    "exp3": lambda units: hf.Exp3(arms=ARMS, units=units),
    "adaptive": lambda units: hf.AdaptiveTsallisSwitch(arms=ARMS, units=units, switching_cost=0.3),
    "announced": lambda units: hf.AdaptiveTsallisSwitch(arms=ARMS, units=units, switching_cost="announced"),
    "base": lambda units: hf.BaSE(arms=ARMS, units=units, horizon=5000),
    "tracking": lambda units: hf.TrackingSwitch(arms=ARMS, units=units, switching_cost=0.2 * (units[1] - units[0])),
    "averages": lambda units: hf.FollowTheLeader(arms=ARMS, units=units, cooldown=2),
}

SETTINGS: dict[str, tuple[Any, ...]] = {
    "policy": tuple(POLICIES),
    "units": ((0.0, 1.0), (10.0, 20.0), (-3.0, 0.5)),
    "scale": (False, True),
    "patience": ("auto", 5, 60.0, 0.25, "forever"),
    "missing": ("highest", "mean", "drop", 0.3),
    "holdback": (0.0, 0.3, 1.0),
    "keys": (None, 3600.0, 0.5),
    "learn_after": (None, 2),
    "move_cost": (None, 0.05, 2.0),
    "n": (1, 7, 100),
    "remember": (0, 25, 10**6),
    "keep": (1, 10**6),
    "operators": (False, True),
    "breaker": (None, "5s", "40s"),
    "limit": (None, "share", "ramp", "few switches", "one switch"),
    "change": (None, "arms", "cost", "patience", "missing", "scale", "holdback"),
    "pace": (0.05, 1.0, 40.0),
}

LIMITS: dict[str | None, dict[str, Any]] = {
    None: {},
    "share": {"share": {0: (0.2, 0.2, 0.0)}},
    "ramp": {"share": {1: (0.05, 0.9, 40.0)}},
    "few switches": {"most_switches": (2, 10.0)},
    "one switch": {"most_switches": (1, 3600.0)},
}

CANNOT = {
    ("base", "holdback"): (0.3, 1.0),
    ("base", "keys"): (3600.0, 0.5),
    ("base", "move_cost"): (0.05, 2.0),
    ("base", "patience"): (5,),
    ("base", "change"): ("arms", "cost", "holdback"),
    ("announced", "holdback"): (0.3, 1.0),
    ("announced", "change"): ("cost", "holdback"),
    ("exp3", "change"): ("cost",),
    ("averages", "change"): ("arms", "cost"),
}


def may_be(row: dict[str, Any]) -> bool:
    policy, plain = row.get("policy"), row.get("units", (0.0, 1.0)) == (0.0, 1.0)
    scaled = row.get("scale") or row.get("change") == "scale"
    if (row.get("breaker") or row.get("move_cost") or row.get("limit")) and row.get("holdback") == 1.0:
        return False
    return (plain or not scaled) and not any(row.get(name, ()) in CANNOT.get((policy, name), ()) for name in row)


def pairs_of(row: dict[str, Any]) -> set[Any]:
    return set(itertools.combinations(sorted(row.items(), key=lambda one: one[0]), 2))


def covering(settings: dict[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Rows with every pair of values that may be: one begins with a pair that is left, and takes most others."""
    rng, rows = np.random.default_rng(1), []
    every = (
        dict(two)
        for one, other in itertools.combinations(settings, 2)
        for two in itertools.product(((one, v) for v in settings[one]), ((other, v) for v in settings[other]))
    )
    left = set().union(*(pairs_of(two) for two in every if may_be(two)))
    while left:
        row = dict(min(left, key=repr))
        for name in rng.permutation([name for name in settings if name not in row]).tolist():
            ways = [{**row, name: value} for value in settings[name]]
            row = max((way for way in ways if may_be(way)), key=lambda way: len(pairs_of(way) & left))
        rows.append(row)
        left -= pairs_of(row)
    return rows


ROWS = covering(SETTINGS)


def patience_of(value: Any) -> Any:
    return timedelta(seconds=value) if isinstance(value, float) else value


def in_range(share: float, units: tuple[float, float]) -> float:
    return units[0] + share * (units[1] - units[0])


class Crash(Exception):
    """The process ends here."""


def change_and_crash(router: hf.Router) -> None:
    with router.store.transaction(1, writing=True) as transaction:
        transaction.save(transaction.head._replace(asked=10**6, block=10**6), "{}", Events())
        raise Crash


class Play:
    """One row of the table, played with routers and with the model."""

    opened: Callable[..., hf.Router]
    """Opens one more handle; how the game is begun, and opened again."""

    def __init__(self, row: dict[str, Any], clock: Clock, seed: int) -> None:
        self.row, self.clock, self.rng = row, clock, np.random.default_rng(seed)
        self.units, patience = row["units"], row["patience"]
        self.policy = POLICIES[row["policy"]](self.units)
        missing = in_range(row["missing"], self.units) if isinstance(row["missing"], float) else row["missing"]
        self.scale = SCALES[0] if row["scale"] else None
        level, pause, limit = in_range(0.9, self.units), row["breaker"], LIMITS[row["limit"]]
        breaker = hf.Breaker(failures=2, within=4, pause=pause, most="1m", level=level) if pause else None
        both = {"holdback": row["holdback"], "learn_after": row["learn_after"], "move_cost": row["move_cost"]}
        both |= {"missing": missing, "breaker": breaker}
        self.options = {
            **both,
            "patience": patience_of(patience),
            "remember": row["remember"],
            "keep": row["keep"],
            "scale": self.scale,
            "key_life": None if row["keys"] is None else timedelta(seconds=row["keys"]),
        }
        for arm, (first, last, over) in limit.get("share", {}).items():
            self.options["share"] = {ARMS[arm]: (first, last, timedelta(seconds=over)) if over else first}
        if most := limit.get("most_switches"):
            self.options["most_switches"] = (most[0], timedelta(seconds=most[1]))
        self.model = Model(self.policy, seed, patience, key_life=row["keys"] or 3600.0, **both, **limit)
        self.model.began = self.model.clock = self.model.seen = clock.now
        self.accidents = random.Random(seed)
        self.names = list(ARMS)
        self.given: list[tuple[str, int, int]] = []
        self.out: list[int] = []
        """Places in `given` of losses that are to come."""
        self.gone: set[int] = set()
        """Blocks of which a loss was refused, because it is forgotten."""
        self.since = 0
        """The last block before the scale changed."""

    def begin(self, opened: Callable[..., hf.Router]) -> None:
        self.opened = opened
        self.handles = [opened(self.policy, **self.options), opened()]

    @property
    def router(self) -> hf.Router:
        return self.accidents.choice(self.handles)

    def interrupt(self) -> None:
        """A handle is opened again; a process dies before its commit, in an ask or in a transaction of its own."""
        number, dying = self.accidents.randrange(2), False

        def clock() -> float:
            if dying:
                raise Crash
            return self.clock.now

        self.handles[number].close()
        self.handles[number] = self.opened()
        dead, dying = self.opened(clock=clock), True
        with pytest.raises(Crash):
            dead.ask(3)
        with pytest.raises(Crash):
            change_and_crash(dead)

    def play(self, calls: int, crashes: bool = False) -> None:
        for call in range(calls):
            uneven = self.accidents.uniform(0.9, 1.1) if self.model.auto else 1.0  # else a mean wait ties with a wait
            self.clock.now += self.row["pace"] * uneven * float(self.rng.choice([0.0, 1.0, 3.0]))
            if self.accidents.random() < 0.05:
                self.settle()
                self.clock.now += self.accidents.choice([-5.0, -3000.0, 4000.0])
            if crashes and self.accidents.random() < 0.05:
                self.interrupt()
            self.step()
            if call == calls // 3 or call == 2 * calls // 3:
                self.change(second=call > calls // 2)

    def step(self) -> None:
        what = self.rng.random()
        if what < 0.45:
            self.ask()
        elif what < 0.85:
            self.tell()
        elif what < 0.9 and self.row["keys"]:
            key = f"k{self.rng.integers(4)}"
            assert self.router.end(key) == self.model.end(key, self.clock.now)
        elif what < 0.95 and self.row["operators"]:
            self.operate()
        else:
            self.settle()

    def settle(self) -> None:
        self.router.settle()
        self.model.expire(self.clock.now)

    def ask(self) -> None:
        n = int(self.rng.choice([1, self.row["n"]]))
        key = f"k{self.rng.integers(4)}" if self.row["keys"] and self.rng.random() < 0.4 else None
        rule, available, cost = None, None, None
        if self.model.holdback and self.rng.random() < 0.9:
            rule = int(self.rng.choice(self.model.active))
        if self.rng.random() < 0.15:
            available = set(self.model.active) - {int(self.rng.choice(self.model.active))}
        if self.row["policy"] == "announced":
            cost = float(self.rng.choice([0.0, 0.5, 4.0]))
        move, life = None, None
        if key:
            dear = 6.0 * (self.units[1] - self.units[0]) * self.accidents.random()
            move = self.accidents.choice([None, 0.0, dear])
            life = self.accidents.choice([None, None, 3.0 * self.row["pace"], 7200.0])
        options: dict[str, Any] = {"key": key, "switching_cost": cost, "move_cost": move}
        options |= {"key_life": None if life is None else timedelta(seconds=life)}
        options |= {"rule": None if rule is None else self.names[rule]}
        options |= {"available": None if available is None else [self.names[arm] for arm in available]}
        self.model.at(self.clock.now)
        expected = self.model.ask(n, available, key, rule, cost, move, life)
        if not expected:
            with pytest.raises(hf.OutOfTurn):
                self.router.ask(n, **options)
            return
        found = self.router.ask(n, **options)
        assert [(d.arm, d.block) for d in found] == [(self.names[arm], block) for arm, block, _ in expected]
        first = len(self.given)
        self.given += [(d.id, block, place) for d, (_, block, place) in zip(found, expected, strict=True)]
        lost = self.rng.random(n) < 0.1
        self.out += [first + i for i in range(len(found)) if not lost[i]]

    def tell(self, last: bool = False) -> None:
        """Some losses of those that are out, in any order; one of them again, one with another loss."""
        if not self.given:
            return
        mixed = sorted(self.out, key=lambda _: self.rng.random())
        some = mixed if last else mixed[: int(self.rng.integers(1, 2 * self.row["n"] + 1))]
        self.out = [place for place in self.out if place not in set(some)]
        self.model.at(self.clock.now)
        self.report(some)
        if not last:
            again = int(self.rng.integers(len(self.given)))
            self.out = [place for place in self.out if place != again]
            self.report([again])

    def report(self, places: list[int]) -> None:
        reports = [(*self.given[place], *self.outcome(place)) for place in places]
        try:
            answers = [said_of(receipt) for receipt in self.router.tell({one[0]: one[3] for one in reports})]
        except hf.SomeRefused as error:
            answers = ["other"] if [type(one) for one in error.refused] == [hf.AlreadyTold] else []
        for answer, (_, block, place, said, loss) in zip(answers, reports, strict=True):
            failed = isinstance(said, dict) and not {"failed", "error"}.isdisjoint(said)
            mine = self.model.blocks[block - 1]
            if answer == "repeated late" and (place not in mine.late or mine.losses[place] != loss):
                self.is_forgotten(block)
            else:
                assert answer == self.model.tell(block, place, loss, failed)

    def is_forgotten(self, number: int) -> None:
        """A loss that changes nothing is of a block that was settled too long ago, or whose row is gone."""
        block = self.model.blocks[number - 1]
        assert block.settled
        later = [one for one in self.model.blocks if one.settled and one is not block]
        rounds = sum(one.rounds for one in later) + block.rounds
        assert rounds > self.row["remember"] or number <= len(self.model.blocks) - self.row["keep"]
        self.gone.add(number)

    def outcome(self, place: int) -> tuple[Any, float]:
        """What is reported of a round, and its loss. The first arm loses least, and fails for a while."""
        _, block, turn = self.given[place]
        arm = self.model.blocks[block - 1].by[turn]
        share = (1.0, 0.4, 0.7, 0.9)[arm - 3] * ((place * 7 % 11) / 11 if place % 3 else 1.0 / 3.0)
        fails = place % 9 == 6 or (arm == 0 and place // 30 % 3 == 1)
        low, high = self.units
        if self.scale is None:
            loss = in_range(share, self.units)
            if place % 9 == 4:
                return {"reward": low + high - loss}, low + high - (low + high - loss)
            if place % 9 == 5:
                return {"loss": high + share, "clip": True}, high
            return ({"failed": True}, high) if fails else (loss, loss)
        if place % 9 == 4 or fails:
            return {"error": True}, 0.9 if self.scale is SCALES[0] else 0.4
        latency, price = 10.0 * share, 0.03 * (1.0 - share)
        if self.scale is SCALES[0]:
            weighed = [0.75 * (latency - 0.2) / (8.0 - 0.2), 0.25 * price / 0.02]
            loss = sum(min(max(part, 0.0), top) for part, top in zip(weighed, (0.75, 0.25), strict=True))
            expected = self.scale.loss(latency=latency, price=price)
            given = {"latency": latency, "price": price}
        else:
            loss = min(max((latency - 1.0) / 4.0, 0.0), 1.0)
            expected, given = self.scale.loss(latency=latency), {"latency": latency}
        assert expected == pytest.approx(loss, rel=1e-12)
        return given, expected

    def operate(self) -> None:
        kind, arm = str(self.rng.choice(["pause", "resume", "pin", "unpin"])), int(self.rng.choice(self.model.active))
        seconds = float(self.rng.choice([math.inf, 4.0 * self.row["pace"]]))
        self.model.expire(self.clock.now)
        until = {} if math.isinf(seconds) or kind in ("resume", "unpin") else {"until": timedelta(seconds=seconds)}
        end = self.model.clock + seconds
        paused = {one for one, until in self.model.paused.items() if until > self.model.clock}
        self.router.settle()
        if kind == "pause" and paused | {arm} == set(self.model.active):
            with pytest.raises(hf.InvalidParameter, match="must leave an arm"):
                self.router.pause(self.names[arm], **until)
            return
        getattr(self.router, kind)(*([] if kind == "unpin" else [self.names[arm]]), **until)
        if kind == "pause":
            self.model.paused[arm] = end
        elif kind == "resume":
            self.model.paused.pop(arm, None)
            self.model.come_back(arm)
        else:
            self.model.pin = (arm, end if kind == "pin" else -math.inf)

    def change(self, second: bool) -> None:
        now, router = self.clock.now, self.router
        match self.row["change"]:
            case "arms" if second:  # one that was there comes back, as a new one
                router.change(add_arms=["b"])
                self.model.change(now, router.policy, [0, 1, 2, 3])
            case "arms":
                router.change(add_arms=["d"], retire_arms=["b"])
                self.names.append("d")
                self.model.change(now, router.policy, [0, 2, 3])
            case "cost":
                router.change(switching_cost=0.25 + second)
                self.model.change(now, router.policy, self.model.active)
            case "patience":
                others = [one for one in ("auto", 3, 0.5, "forever") if self.row["policy"] != "base" or one != 3]
                wanted = others[(self.given[-1][1] if self.given else 0) % len(others)]
                if patience_of(wanted) != self.options["patience"]:
                    router.change(patience=patience_of(wanted))
                    self.options["patience"] = patience_of(wanted)
                    self.model.change_patience(now, wanted)
            case "missing":
                missing = "mean" if self.model.missing != "mean" else "drop"
                router.change(missing=missing)
                self.model.expire(now)
                self.model.missing = missing
            case "scale":
                self.since = len(self.model.blocks)
                self.scale = SCALES[self.scale is SCALES[0]]
                router.change(scale=self.scale)
                self.model.expire(now)
            case "holdback":
                self.model.holdback = [0.5, 0.2][second]
                router.change(holdback=self.model.holdback)
                self.model.expire(now)

    # ---- what users see

    def check(self) -> None:
        """Every number that a history shows, by the model's lists."""
        model, totals = self.model, self.router.history.totals
        blocks = model.blocks
        told = [loss for block in blocks for loss in block.losses.values()]
        missing = [(b, place) for b in blocks if b.settled for place in range(b.handed) if place not in b.losses]
        stood_in = [b.stand_in for b, _ in missing if b.stand_in is not None]
        counts = (totals.rounds, totals.told, totals.missing, totals.out, totals.late, totals.blocks, totals.switches)
        expected = (model.asked, len(told), len(missing), len(model.out), model.late, len(blocks), model.switches)
        assert counts == expected
        assert totals.conversations == sum(block.live for block in blocks)
        assert totals.moves == sum(len(block.moves or []) for block in blocks)
        sums = (totals.losses, totals.missing_losses, totals.switching, totals.cost)
        expected_sums = (told, stood_in, model.paid, [*told, *stood_in, *model.paid])
        assert sums == pytest.approx(tuple(map(math.fsum, expected_sums)), rel=1e-12, abs=1e-12)
        assert (totals.lateness, totals.delay) == pytest.approx((model.late_by, model.late_seconds), rel=1e-9, abs=1e-6)
        for arm, one in enumerate(totals.arms):
            played = [(b, place) for b in blocks for place in range(b.handed) if b.by[place] == arm]
            own = [b.losses[place] for b, place in played if place in b.losses]
            lost = [b for b, place in missing if b.by[place] == arm]
            instead = [b.stand_in for b in lost if b.stand_in is not None]
            assert (one.arm, one.retired) == (self.names[arm], arm not in model.active)
            assert (one.blocks, one.rounds) == (len({b.number for b, _ in played}), len(played))
            assert (one.told, one.missing) == (len(own), len(lost))
            mean = math.fsum([*own, *instead]) / len([*own, *instead]) if [*own, *instead] else None
            found = (one.losses, one.missing_losses, one.mean or 0.0)
            assert found == pytest.approx((math.fsum(own), math.fsum(instead), mean or 0.0), rel=1e-12, abs=1e-12)
            assert (one.mean is None) == (mean is None)
            assert one.last_used == max((b.since for b, _ in played), default=None)
        for number, settled, moves in self.router.history.frame.select("block", "settled", "moves").rows():
            said = json.loads(moves or "[]")
            shown = [(move["round"], self.names.index(move["arm"]), move["reason"]) for move in said]
            assert (settled is not None, shown) == (blocks[number - 1].settled, blocks[number - 1].moves or [])
        assert [(d.block, int(d.id.split("-")[2])) for d in self.router.open_decisions] == model.out

    def check_comparison(self) -> None:
        """The estimate by its formula, and the interval around it, once everything is settled."""
        self.tell(last=True)
        for key in ("k0", "k1", "k2", "k3"):
            self.router.end(key)
            self.model.end(key, self.clock.now)
        there = {block.number for block in self.router.history.blocks()}
        gone = max(set(range(1, len(self.model.blocks) + 1)) - there, default=0)
        units = [block for block in self.model.blocks if block.number > max(gone, self.since) and block.share]
        compared = [block for block in units if 0.0 < block.share < 1.0]
        if not compared or not all(block.settled for block in units):
            return
        found = self.router.history.compare()
        assert found.without_rule == sum(block.share < 0.0 for block in units)
        costs, last = [], None
        for block in units:
            (low, high), arms = self.units, block.by
            counted = [*block.losses.values()]
            counted += [] if block.stand_in is None else [block.stand_in] * (block.rounds - len(counted))
            cost = math.fsum(counted) / len(counted) if counted else (low + high) / 2
            if block.key is None:
                cost += block.price * sum(a != b for a, b in itertools.pairwise(arms)) / block.handed
                if not block.forced:
                    cost += block.price * (last not in (None, arms[0])) / block.values[1]
                    last = arms[-1]
            if block in compared:
                size = 1.0 if block.key else block.values[1]
                costs.append(Unit(cost, size, block.share, block.forced, high + block.price - low))
        assert (found.units, found.open) == (len(costs), 0)
        assert found.held_back == sum(unit.held for unit in costs)
        expected = saving_of(costs, self.units[0])
        assert (found.difference, found.low, found.high) == pytest.approx(expected, rel=1e-9, abs=1e-11)


def test_every_pair_is_played():
    assert len(ROWS) < 70
    seen = set().union(*map(pairs_of, ROWS))
    for one, other in itertools.combinations(SETTINGS, 2):
        for pair in itertools.product(SETTINGS[one], SETTINGS[other]):
            row = dict(zip((one, other), pair, strict=True))
            assert pairs_of(row) <= seen or not may_be(row)


@pytest.mark.parametrize("kind", [KINDS[0], *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:])])
@pytest.mark.parametrize("number", range(len(ROWS)))
def test_a_game_with_any_two_settings_is_the_models(number, kind, request, folder):
    place = place_in(kind, request, folder)
    play = Play(ROWS[number], place.clock, number)
    play.begin(partial(place.open, "game", seed=number))
    play.play(100 if kind == "memory" else 40, crashes=True)
    for finish in (play.check, play.check_comparison, play.check):  # in between, all that is out comes after all
        learner = play.router.executor.read(lambda stored, setup: stored_state(setup, stored)).learner
        assert learner.saved_state() == play.model.game.saved_state()
        assert learner.stream.tolist() == play.model.game.stream.tolist()
        finish()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server on a file, its clock, and the file."""
    url, clock = f"sqlite:///{tmp_path_factory.mktemp('served')}/games.db", Clock()
    with InThread(url, clock=clock) as web:
        yield web, url, clock


def rows_of(url: str, name: str) -> dict[str, Any]:
    """Sums over the rows of a game, by SQL."""
    with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:

        def one(sql: str) -> Any:
            return connection.execute(f"{sql} = (SELECT id FROM holdfast_games WHERE name = ?)", [name]).fetchone()[0]

        counted = "SELECT SUM(CASE WHEN settled_order IS NULL THEN {} ELSE {} END) FROM holdfast_blocks WHERE game"
        return {
            "rounds": one("SELECT SUM(rounds) FROM holdfast_asks WHERE game"),
            "told": one("SELECT COUNT(*) FROM holdfast_losses WHERE game"),
            "late": one("SELECT SUM(late) FROM holdfast_losses WHERE game"),
            "losses": one("SELECT SUM(loss) FROM holdfast_losses WHERE game"),
            "missing": one(counted.format("0", "rounds - told")),
            "missing_losses": one(counted.format("0.0", "(rounds - told) * COALESCE(stand_in, 0.0)")),
            "blocks": one("SELECT COUNT(*) FROM holdfast_blocks WHERE game"),
            "conversations": one("SELECT SUM(live) FROM holdfast_blocks WHERE game"),
        }


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_over_http_it_is_the_same_and_what_the_rows_say(number, served):
    web, url, clock = served
    row = {**ROWS[number], "n": min(ROWS[number]["n"], 7)}
    play = Play(row, clock, number)
    play.begin(partial(hf.open, web.url, f"{number}", seed=number))
    with play.handles[0], play.handles[1]:
        play.play(30)
        play.check()
        path, model = f"/v1/games/{number}", play.model
        shown, summary = (web("GET", path + what).json for what in ("", "/summary"))
        assert (shown["missing"], shown["holdback"]) == (model.missing, model.holdback)
        assert (shown["rounds"], shown["switches"]) == (model.asked, model.switches)
        assert (shown["arms"], shown["names"]) == ([play.names[arm] for arm in model.active], play.names)
        same = ("remember", "keep", "learn_after")
        assert [shown[name] for name in same] == [row[name] for name in same]
        if row["remember"] == row["keep"] == 10**6:
            rows = {name: found or 0 for name, found in rows_of(url, f"{number}").items()}
            assert {name: summary[name] for name in rows} == pytest.approx(rows, rel=1e-12)
        with hf.open(url, f"{number}", clock=clock) as beside:
            mine, own = play.router.history, beside.history
            frames = [one.frame.drop("drawn", "drawn_probability") for one in (mine, own)]
            assert mine.totals == own.totals
            assert frames[0].equals(frames[1])
            assert mine.log.equals(own.log)
            assert mine.days.equals(own.days)
            assert play.router.open_decisions == beside.open_decisions
            assert (play.router.paused, play.router.pinned) == (beside.paused, beside.pinned)
        assert {web("GET", place).status for place in ("/", f"/games/{number}", "/metrics")} == {200}
        play.check_comparison()
        play.check()
