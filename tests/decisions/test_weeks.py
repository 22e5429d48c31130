"""Weeks of operation with every feature at once, by chance: what users see must agree with what the workers saw."""

import asyncio
import collections
import math
import random
from datetime import timedelta

import pytest
from places import Clock

import holdfast as hf
from holdfast.decisions.stores import store_at

HOUR = timedelta(hours=1)
POLICIES = [
    hf.AdaptiveTsallisSwitch(arms=["a", "b", "c"], switching_cost=0.3),
    hf.AdaptiveTsallisSwitch(arms=["a", "b", "c"], switching_cost=0.0),
    hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=1.0),
    hf.TsallisInf(arms=["a", "b", "c"]),
]


class Operators:
    """Two processes on one game. What they were answered is kept, and nothing else."""

    def __init__(self, seed):
        self.chance, self.clock = random.Random(seed), Clock()
        pick, store = self.chance.choice, store_at("memory:")
        settings = {"holdback": pick([0.0, 0.2, 0.5]), "patience": pick(["auto", 2 * HOUR, 40, "forever"])}
        settings |= {"missing": pick(["mean", 1.0, "drop"]), "learn_after": pick([None, 1, 3])}
        settings |= {"move_cost": pick([None, 0.2, 2.0])}
        settings |= {"remember": pick([0, 100, 10**5]), "key_life": HOUR, "clock": self.clock}
        first = hf.open(store, "game", pick(POLICIES), seed=seed, **settings)
        self.routers = [first, hf.open(store, "game", clock=self.clock)]
        self.arms, self.retired = ["a", "b", "c"], set()
        self.paused: dict[str, float] = {}
        self.pin: tuple[str | None, float] = (None, -math.inf)
        self.given, self.told, self.waiting, self.compacted = {}, {}, [], False

    def step(self):
        self.clock.now += self.chance.expovariate(1 / 600)
        self.paused = {arm: until for arm, until in self.paused.items() if until > self.clock.now}
        self.router = self.chance.choice(self.routers)
        actions = {self.ask: 55, self.tell: 30, self.end: 4, self.pause: 2, self.resume: 2, self.pinned: 2}
        actions |= {self.change: 3, self.compact: 0.3, self.look: 1}
        self.chance.choices(list(actions), list(actions.values()))[0]()

    def ask(self):
        chance, arms = self.chance, self.arms
        available = chance.sample(arms, chance.randint(1, len(arms))) if chance.random() < 0.1 else None
        options = {"available": available, "rule": chance.choice(arms), "request": f"{chance.getrandbits(60)}"}
        options |= {"key": f"{chance.randrange(20)}"} if chance.random() < 0.5 else {}
        options |= {"fallback": chance.choice(arms), "deadline": 20.0} if chance.random() < 0.1 else {}
        n, out = chance.choice([1, 1, 4]), {*self.paused} | ({*arms} - {*available} if available else set())
        if len(out) == len(arms):
            with pytest.raises(hf.OutOfTurn, match="no arm can be played"):
                self.router.ask(n, **options)
            return
        if chance.random() < 0.05:
            asyncio.run(self.cancelled(n, options))  # made or not: the same request gets the same
        decisions = self.router.ask(n, **options)
        for decision in decisions:
            assert decision.recorded
            assert decision.id not in self.given
            assert decision.arm in {*arms} - out
            if self.pin[1] > self.clock.now and self.pin[0] not in out:
                assert (decision.arm, decision.probability) == (self.pin[0], 1.0)
            self.given[decision.id] = decision.arm
            if chance.random() < 0.9:
                self.waiting.append((self.clock.now + chance.expovariate(1 / 3600), decision.id))

    async def cancelled(self, n, options):
        task = asyncio.ensure_future(self.router.aask(n, **options))
        await asyncio.sleep(self.chance.choice([0.0, 0.0005]))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def tell(self):
        due = sorted(one for one in self.waiting if one[0] <= self.clock.now)[:5]
        self.waiting = [one for one in self.waiting if one not in due]
        for _, id in due:
            loss = {"a": 0.3, "b": 0.5}.get(self.given[id], 0.7) + 0.3 * self.chance.random()
            if self.router.tell(id, loss).new:  # else it is so late that nobody knows
                self.told[id] = loss

    def end(self):
        self.router.end(f"{self.chance.randrange(20)}")

    def pause(self):
        arm, hours = self.chance.choice(self.arms), self.chance.choice([None, 1, 20])
        if len({*self.paused, arm}) < len(self.arms):
            self.router.pause(arm, None if hours is None else hours * HOUR, "an incident")
            self.paused[arm] = math.inf if hours is None else self.clock.now + 3600 * hours

    def resume(self):
        for arm in list(self.paused)[:1]:
            self.router.resume(arm)
            del self.paused[arm]

    def pinned(self):
        self.pin = (None, -math.inf)
        if self.chance.random() < 0.5:
            self.router.unpin()
        else:
            self.pin = (self.chance.choice(self.arms), self.clock.now + 3600 * 5)
            self.router.pin(self.pin[0], 5 * HOUR)

    def change(self):
        pick, free = self.chance.choice, [arm for arm in self.arms if arm not in self.paused]
        kind = pick(["add", "retire", "settings", "holdback"])
        if kind == "add" and len(self.arms) < 5:
            name = pick([*self.retired, f"new {len(self.given)}"])
            self.router.change(add_arms=[name])
            self.arms.append(name)
            self.retired.discard(name)
        elif kind == "retire" and len(free) > 2:
            name = pick(free)
            self.router.change(retire_arms=[name], reason="too dear")
            self.arms.remove(name)
            self.retired.add(name)
            self.pin = (None, -math.inf) if self.pin[0] == name else self.pin
        elif kind == "settings":
            self.router.change(patience=pick(["auto", HOUR, 30]), missing=pick(["mean", 1.0]), learn_after=pick([1, 4]))
        elif kind == "holdback":
            self.router.change(holdback=pick([0.0, 0.3]))

    def compact(self):
        self.router.history.compact(keep=self.chance.choice([0, 200]))
        self.compacted = True

    def look(self):
        totals, history = self.router.history.totals, self.router.history
        assert totals.rounds == len(self.given) == totals.told + totals.missing + totals.out
        assert (totals.told, totals.losses) == (len(self.told), math.fsum(self.told.values()))
        assert len(self.router.open_decisions) == totals.out
        by_arm, losses = collections.Counter(self.given.values()), collections.defaultdict(list)
        for id, loss in self.told.items():
            losses[self.given[id]].append(loss)
        for arm in totals.arms:
            assert (arm.rounds, arm.told) == (by_arm[arm.arm], len(losses[arm.arm]))
            assert arm.losses == math.fsum(losses[arm.arm])
        assert sum(arm.missing for arm in totals.arms) == totals.missing
        assert self.compacted or collections.Counter(history.log["arm"]) == by_arm
        if 0.0 < self.router.holdback < 1.0:
            saving = history.compare()
            assert saving.units == 0 or saving.low <= saving.difference <= saving.high
        assert set(self.router.paused) == set(self.paused)
        assert self.router.pinned == (self.pin[0] if self.pin[1] > self.clock.now else None)


@pytest.mark.parametrize("seed", range(6))
def test_weeks_of_operation_add_up(seed):
    operators = Operators(seed)
    for _ in range(600):
        operators.step()
    operators.look()
