"""Games in a store whose calls are drawn from a seed: settings alone and together, refusals and accidents too."""

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from frozen_policies import table as losses_of
from shown import answer, answers, shown, table

import holdfast as hf

ARMS = ["a", "b", "c"]
SCALE = hf.Scale(latency=(0.2, 8.0, 3), price=(0.0, 0.02), error=0.9)
OTHER_SCALE = hf.Scale(latency=(1.0, 5.0), error=0.4)
BREAKER = hf.Breaker(failures=2, within=4, pause="5s", most="1m", level=0.85)
LOSSES = losses_of(400).tolist()
FEW = (hf.experts.FixedArm(0), hf.experts.FixedArm(2), hf.experts.WorkFunction(1.0), hf.experts.Smoothed(0.5, 8))


def switch(**more: Any) -> hf.Policy:
    return hf.TsallisSwitch(**{"arms": ARMS, "switching_cost": 1.5, **more})


def adaptive(**more: Any) -> hf.Policy:
    return hf.AdaptiveTsallisSwitch(**{"arms": ARMS, "switching_cost": 0.3, **more})


def tracking(**more: Any) -> hf.Policy:
    return hf.TrackingSwitch(**{"arms": ARMS, "switching_cost": 0.2, **more})


def hedge(**more: Any) -> hf.Policy:
    return hf.AdaptiveHedgeSwitch(**{"arms": ARMS, "switching_cost": 0.3, "experts": FEW, "forecast_rounds": 3, **more})


GAMES: dict[str, tuple[Callable[[], hf.Policy], dict[str, Any], dict[str, Any]]] = {
    "units, mean, rounds, little kept": (
        lambda: switch(units=(10.0, 20.0), switching_cost=15.0),
        {"patience": 5, "missing": "mean", "remember": 12, "keep": 8},
        {"change": [{"switching_cost": 4.0}, {"patience": "auto", "keep": 9}], "leap": 30_000.0},
    ),
    "scale, drop, time, breaker": (
        adaptive,
        {"patience": "60s", "missing": "drop", "scale": SCALE, "breaker": BREAKER, "keep": 30},
        {"change": [{"breaker": {"failures": 1, "within": 3, "pause": "20s"}}, {"scale": OTHER_SCALE}], "fails": 0.3},
    ),
    "holdback, conversations": (
        lambda: switch(estimator="reduced-variance", switching_cost=0.0),
        {"holdback": 0.3, "key_life": "30s", "learn_after": 2},
        {"keys": True, "rule": True, "change": [{"holdback": 0.6, "missing": "mean"}]},
    ),
    "holdback": (
        lambda: adaptive(units=(-3.0, 0.5)),
        {"holdback": 0.4, "patience": 20, "missing": -1.25},
        {"rule": True, "operators": True, "change": [{"switching_cost": 0.5}]},
    ),
    "moves, breaker, arms": (
        lambda: adaptive(units=(-3.0, 0.5), switching_cost=0.0),
        {
            "move_cost": 0.05,
            "key_life": "20s",
            "missing": 0.25,
            "breaker": hf.Breaker(failures=2, within=5, pause="3s", level=0.2),
        },
        {"keys": True, "fails": 0.3, "change": [{"add_arms": ["d"], "retire_arms": ["b"]}, {"add_arms": ["b"]}]},
    ),
    "ramp, operators": (
        lambda: hf.TsallisInf(arms=ARMS),
        {"share": {"a": (0.05, 0.9, "200s"), "b": 0.3}, "patience": "forever"},
        {"operators": True, "judge": True, "change": [{"share": {"c": 0.2}, "add_arms": ["e"]}, {"share": {}}]},
    ),
    "few switches, tracking": (
        tracking,
        {"most_switches": (2, "30s"), "patience": "forever", "missing": 0.5},
        {"operators": True, "change": [{"most_switches": (1, "1m")}, {"switching_cost": 0.5}]},
    ),
    "announced": (
        lambda: adaptive(units=(10.0, 20.0), switching_cost="announced"),
        {"patience": 3, "missing": 12.5},
        {"announced": True, "change": [{"patience": "40s"}]},
    ),
    "a policy that waits": (
        lambda: hf.BaSE(arms=ARMS, horizon=300, units=(0.0, 2.0)),
        {"patience": "30s", "missing": "mean"},
        {"fallback": "c", "change": [{"missing": "drop"}, {"switching_cost": 1.0}]},
    ),
    "shadow": (adaptive, {"shadow": True, "patience": "0.25s"}, {"rule": True, "pace": 0.05, "change": []}),
    "own rule, guarded": (
        lambda: hf.Guarded(arms=ARMS, switching_cost=0.4),
        {"patience": "20s", "missing": "mean"},
        {"rule": True, "operators": True, "change": [{"retire_arms": ["c"]}]},
    ),
    "all losses": (
        hedge,
        {"patience": "30s", "scale": SCALE},
        {"all": True, "operators": True, "change": [{"switching_cost": 0.6}]},
    ),
    "all losses, some stale, shadow": (
        lambda: hedge(stale=3, forecast_rounds=0, units=(10.0, 20.0)),
        {"shadow": True, "patience": "40s"},
        {"all": True, "rule": True, "change": []},
    ),
    "averages, nothing remembered": (
        lambda: hf.FollowTheLeader(arms=ARMS, cooldown=2),
        {"remember": 0, "keep": 1, "patience": "0.5s", "missing": "highest"},
        {"pace": 0.2, "keys": True, "change": [{"remember": 4, "keep": 3}], "leap": 50_000.0},
    ),
}


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Script:
    """One game: its calls and what they answer, as lines."""

    def __init__(self, name: str, store: Any, clock: Clock, rounds: int = 60) -> None:
        self.name, self.clock = name, clock
        policy, self.options, self.knobs = GAMES[name]
        self.rng = random.Random(name)
        self.router = hf.open(store, name, policy(), seed=len(name), clock=clock, **self.options)
        self.low, self.high = self.router.policy.bounds
        self.given: list[Any] = []
        self.out: list[Any] = []
        self.rounds = rounds

    def lines(self) -> Iterator[str]:
        changes = list(self.knobs["change"])
        for t in range(self.rounds):
            self.clock.now += self.knobs.get("pace", 1.0) * self.rng.choice([0.0, 0.5, 1.0, 4.0])
            if self.rng.random() < 0.04:
                self.clock.now += self.rng.choice([-5.0, 300.0, self.knobs.get("leap", 1000.0)])
            if changes and t % (self.rounds // 3) == self.rounds // 3 - 1:
                wanted = changes.pop(0)
                yield f"{t} change {shown(wanted)}: {self.made(self.router.change, reason=f'in {t}', **wanted)}"
            yield f"{t} at {self.clock.now - 1e6:g}: {self.step(t)}"
            if t % 6 == 5:
                yield f"{t} why: {self.router.why}"
        yield from self.summary()

    def made(self, call: Callable[..., Any], *given: Any, **options: Any) -> str:
        return answer(lambda: call(*given, **options))

    def step(self, t: int) -> str:
        what = self.rng.random()
        if what < 0.5 or not self.given:
            return self.ask(t)
        if what < 0.84:
            return self.tell(t)
        if what < 0.88 and self.knobs.get("keys"):
            key = f"k{self.rng.randrange(3)}"
            return f"end {key} {self.made(self.router.end, key)}"
        if what < 0.95 and self.knobs.get("operators"):
            verb = self.rng.choice(["pause", "pause", "resume", "pin", "unpin"])
            given = [] if verb == "unpin" else [self.rng.choice(ARMS)]
            until = {"until": timedelta(seconds=self.rng.choice([2, 20]))} if verb in ("pause", "pin") else {}
            return f"{verb} {given} {until} {self.made(getattr(self.router, verb), *given, reason='why not', **until)}"
        if what < 0.97 and self.knobs.get("all"):
            at = datetime.fromtimestamp(self.clock.now - 1.0, UTC)
            return f"observe {self.made(self.router.observe, self.every(t), at=at, request=f'seen {t // 3}')}"
        return f"settle {self.made(self.router.settle)}"

    def ask(self, t: int) -> str:
        rng, options = self.rng, dict[str, Any]()
        if self.knobs.get("keys") and rng.random() < 0.6:
            options["key"] = f"k{rng.randrange(3)}"
            if self.options.get("move_cost") and rng.random() < 0.3:
                options |= {"move_cost": rng.choice([0.0, 2.0]), "key_life": "2s"}
        if self.knobs.get("rule") and rng.random() < 0.85:
            options["rule"] = ARMS[(t // 10 + rng.randrange(2)) % 3]
        if self.knobs.get("announced"):
            options["switching_cost"] = rng.choice([0.0, 0.5, 4.0])
        if rng.random() < 0.12:
            options["available"] = [arm for arm in ARMS if arm != rng.choice(ARMS)]
        if rng.random() < 0.12:
            options["request"] = f"call {t // 8}"
        if self.knobs.get("fallback") and rng.random() < 0.5:
            options["fallback"] = self.knobs["fallback"]
        if self.knobs.get("all") and rng.random() < 0.3:
            options["forecast"] = LOSSES[t % 400 : t % 400 + 3]
        n = rng.choice([None, None, 1, 2, 3, 7])
        try:
            found = self.router.ask(n, **options)
        except hf.HoldfastError as error:
            return shown(f"ask {n} {options} {type(error).__name__}: {error}")
        some = found if isinstance(found, list) else [found]
        self.given += some
        self.out += [one for one in some if rng.random() < 0.85]
        return f"ask {n} {shown(options)} {shown(found)}"

    def tell(self, t: int) -> str:
        """Some of those that are out; at times one again, or another loss for it."""
        some = [
            self.out.pop(self.rng.randrange(len(self.out))) for _ in range(min(self.rng.randrange(6), len(self.out)))
        ]
        if self.rng.random() < 0.25:
            some.append(self.rng.choice(self.given))
        if len(some) == 1:
            said = self.outcome(t, some[0])
            given = said if isinstance(said, dict) else {"loss": said}
            given |= {"in_time": True} if self.rng.random() < 0.1 else {}
            return f"tell {shown(some[0].id)} {shown(given)} {self.made(self.router.tell, some[0].id, **given)}"
        reports = {one.id: self.outcome(t, one) for one in some}
        return f"tell {shown({shown(id): said for id, said in reports.items()})} {self.made(self.router.tell, reports)}"

    def outcome(self, t: int, decision: Any) -> Any:
        rng, arm, scaled = self.rng, "abcde".index(str(decision.arm)), self.router.scale is not None
        if self.knobs.get("all"):
            return {"losses": self.every(t)}
        share = LOSSES[t % 400][arm % 3] if arm else 0.25 * LOSSES[t % 400][0]
        fails = rng.random() < self.knobs.get("fails", 0.05) * (1 + (arm == t // 20 % 3))
        if scaled and rng.random() < 0.95:
            measures = {"latency": 10.0 * share} | ({} if self.router.scale == OTHER_SCALE else {"price": 0.03 * share})
            return {"error": True} if fails else measures
        loss, kind = self.low + (self.high - self.low) * share, rng.randrange(9)
        if kind == 0:
            return {"reward": loss}
        if kind == 1:
            return {"loss": self.high + share, "clip": True}
        return {"failed": True} if fails else self.high + 1.0 if kind == 2 and t % 5 == 0 else loss

    def every(self, t: int) -> Any:
        """The losses of all arms, of some of them unknown where that may be."""
        if self.router.scale is not None:
            return {arm: {"latency": 9.0 * x, "price": 0.01} for arm, x in zip(ARMS, LOSSES[t % 400], strict=True)}
        known = {arm: self.low + (self.high - self.low) * x for arm, x in zip(ARMS, LOSSES[t % 400], strict=True)}
        return known if t % 3 else {"a": known["a"], "b": known["b"]}

    def summary(self) -> Iterator[str]:
        """All that a router shows, and each row of its tables."""
        router, history = self.router, self.router.history
        status: tuple[str, ...] = (
            "rounds",
            "switches",
            "hold",
            "arm",
            "probabilities",
            "certificate",
            "shares",
            "switches_left",
        )
        status += ("paused", "pinned", "guard", "holdback", "scale", "open_decisions")
        yield from answers({name: lambda name=name: getattr(router, name) for name in status})
        yield from answers({"totals": lambda: history.totals, "shown": lambda: repr(history.totals)})
        for level in (0.95, 0.6):
            yield f"compare {level}: {answer(lambda level=level: history.compare(level))}"
            yield f"  {answer(lambda level=level: history.compare(level).words())}"
        for arm, against in (("a", "b"), ("c", "a")) if self.knobs.get("judge") else ():
            yield f"judge {arm}: {answer(lambda arm=arm, against=against: router.judge(arm, against, 0.9))}"
            yield f"  {answer(lambda arm=arm, against=against: str(router.judge(arm, against)))}"
        yield from (f"change {shown(one)}" for one in history.changes)
        for name in ("frame", "log", "days", "record"):
            yield f"== {name}"
            try:
                yield from table(getattr(history, name))
            except hf.HoldfastError as error:
                yield shown(str(error))
        yield "== decisions"
        yield from (f"{answer(lambda id=one.id: router.decision(id))}" for one in self.given[::5])
        yield "== rows"
        with router.store.transaction(router.executor.setup.game.id, writing=False) as stored:
            for name in ("games", "heads", "states", "blocks", "seen", "days"):
                key = "id" if name == "games" else "game"
                found = stored.fetch(f"SELECT * FROM holdfast_{name} WHERE {key} = {stored.game}")
                some = sorted(found, key=repr)[:: 4 if name == "blocks" else 1]
                yield from (f"{name} {shown(row)}" for row in some)
