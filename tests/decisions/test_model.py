"""Every store against the model: ask, tell, repeat, late, lose, expire, crash and reopen, two handles."""

import math
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from conftest import place_in
from hypothesis import Phase, settings, strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from model import Model, said_of
from places import KINDS, Place

import holdfast as hf
from holdfast.decisions.models import Events

pytestmark = pytest.mark.slow

GAMES = {
    "tsallis-switch": hf.TsallisSwitch(3, switching_cost=1.5),
    "reduced variance": hf.TsallisSwitch(3, switching_cost=1.0, estimator="reduced-variance"),
    "exp3": hf.Exp3(2),
    "base": hf.BaSE(2, horizon=60, grid="arithmetic", batches=6),
    "tracking": hf.TrackingSwitch(3, switching_cost=0.2),
    "averages": hf.FollowTheLeader(3, cooldown=2),
}


@dataclass(frozen=True)
class Limit:
    given: dict[str, Any] = field(default_factory=dict)
    share: dict[int, tuple[float, float, float]] | None = None
    most_switches: tuple[int, float] | None = None


LIMITS = [
    Limit(),
    Limit({"share": {0: 0.2}}, {0: (0.2, 0.2, 0.0)}),
    Limit({"share": {1: (0.05, 0.9, timedelta(seconds=40))}}, {1: (0.05, 0.9, 40.0)}),
    Limit({"most_switches": (2, "10s")}, None, (2, 10.0)),
    Limit({"most_switches": (1, "1h")}, None, (1, 3600.0)),
]


class Crash(Exception):
    """The process ends here."""


def change_and_crash(router: hf.Router) -> None:
    with router.store.transaction(1, writing=True) as transaction:
        transaction.save(transaction.head._replace(asked=10**6, block=10**6), "{}", Events())
        raise Crash


class Machine(RuleBasedStateMachine):
    """One game in a store, two handles on it, and the model beside it."""

    decisions = Bundle("decisions")

    def make_place(self) -> Place:
        raise NotImplementedError

    @initialize(
        policy=st.sampled_from(sorted(GAMES)),
        seed=st.integers(0, 2**31),
        seconds=st.sampled_from([None, 10.0]),
        rounds=st.sampled_from([None, 5]),
        forever=st.booleans(),
        missing=st.sampled_from(["highest", "mean", "drop", 0.75]),
        remember=st.just(10**6),
        holdback=st.sampled_from([0.0, 0.3, 1.0]),
        learn_after=st.sampled_from([None, 1, 2]),
        breaker=st.sampled_from([None, hf.Breaker(failures=2, within=3, pause="5s", most="12s", level=0.7)]),
        move_cost=st.sampled_from([None, 0.0, 0.5]),
        limit=st.sampled_from(LIMITS),
    )
    def begin(
        self,
        policy,
        seed,
        seconds,
        rounds,
        forever,
        missing,
        remember,
        holdback,
        learn_after,
        breaker,
        move_cost,
        limit,
    ):
        self.policy = GAMES[policy]
        rounds = None if seconds is not None or self.policy.waits_for_losses else rounds
        self.place = self.make_place()
        patience = timedelta(seconds=seconds) if seconds is not None else rounds
        if patience is None:
            patience = "forever" if forever else "auto"
        holdback = 0.0 if self.policy.waits_for_losses else holdback
        options = {"patience": patience, "missing": missing, "remember": remember, "holdback": holdback}
        move_cost = None if self.policy.waits_for_losses or holdback == 1.0 else move_cost
        options |= {"learn_after": learn_after, "move_cost": move_cost}
        breaker, limit = (None, Limit()) if holdback == 1.0 else (breaker, limit)
        options |= {} if breaker is None else {"breaker": breaker}
        options |= limit.given
        self.handles = [self.place.open("game", self.policy, seed=seed, **options), self.place.open("game")]
        self.model = Model(
            self.policy,
            seed,
            seconds,
            rounds,
            missing,
            auto=patience == "auto",
            holdback=holdback,
            learn_after=learn_after,
            breaker=breaker,
            move_cost=move_cost,
            share=limit.share,
            most_switches=limit.most_switches,
        )
        self.model.began = self.place.clock.now
        self.model.clock = self.model.seen = self.place.clock.now  # a game's time begins with it

    def now(self):
        self.model.at(self.place.clock.now)

    @rule(
        target=decisions,
        handle=st.integers(0, 1),
        n=st.sampled_from([1, 2, 5, 9, 40]),
        out=st.sampled_from([None, 0, 1]),
        rule=st.integers(0, 1),
    )
    def ask(self, handle, n, out, rule):
        available = None if out is None else set(range(self.policy.n_arms)) - {out}
        self.now()
        expected = self.model.ask(n, available, rule=rule)
        if not expected:
            with pytest.raises(hf.OutOfTurn):
                self.handles[handle].ask(n, available=available, rule=rule)
            return multiple()
        given = self.handles[handle].ask(n, available=available, rule=rule)
        assert [(d.arm, d.block) for d in given] == [(arm, block) for arm, block, _ in expected]
        return multiple(*((d.id, block, place) for d, (_, block, place) in zip(given, expected, strict=True)))

    @rule(
        target=decisions,
        handle=st.integers(0, 1),
        n=st.integers(1, 3),
        key=st.sampled_from("xyz"),
        rule=st.integers(0, 1),
        out=st.sampled_from([None, 0, 1]),
        cost=st.sampled_from([None, None, 0.0, 0.3]),
        life=st.sampled_from([None, None, 5.0, 7200.0]),
    )
    def talk(self, handle, n, key, rule, out, cost, life):
        self.now()
        available = None if out is None else set(range(self.policy.n_arms)) - {out}
        given = {"available": available, "move_cost": cost, "key_life": life and timedelta(seconds=life)}
        router = self.handles[handle]
        if self.policy.waits_for_losses:
            if not self.model.pin[1] > self.model.seen:
                with pytest.raises(hf.InvalidParameter, match="key is not for base"):
                    router.ask(n, key=key)
                router.settle()
                self.model.expire(self.place.clock.now)
            return multiple()
        expected = self.model.ask(n, available, key, rule, move_cost=cost, key_life=life)
        if not expected:
            with pytest.raises(hf.OutOfTurn):
                router.ask(n, key=key, rule=rule, **given)
            return multiple()
        found = router.ask(n, key=key, rule=rule, **given)
        assert [(d.arm, d.block) for d in found] == [(arm, block) for arm, block, _ in expected]
        return multiple(*((d.id, block, place) for d, (_, block, place) in zip(found, expected, strict=True)))

    @rule(handle=st.integers(0, 1), key=st.sampled_from("xyz"))
    def end(self, handle, key):
        assert self.handles[handle].end(key) == self.model.end(key, self.place.clock.now)

    @rule(handle=st.integers(0, 1), n=st.integers(1, 6), key=st.sampled_from("xyz"), fails=st.booleans())
    def chat(self, handle, n, key, fails):
        """Some turns of a conversation, each told at once."""
        if self.policy.waits_for_losses:
            return
        for turn in range(n):
            self.now()
            expected = self.model.ask(1, key=key, rule=0)
            if not expected:
                return
            decision = self.handles[handle].ask(key=key, rule=0)
            ((arm, block, place),) = expected
            assert (decision.arm, decision.block) == (arm, block)
            loss = {"failed": True} if fails and arm == 0 else 0.125 * (arm + turn % 3)
            self.now()
            said = said_of(self.handles[handle].tell([(decision.id, loss)])[0])
            failed = isinstance(loss, dict)
            assert said == self.model.tell(block, place, 1.0 if failed else loss, failed)

    def answer(self, handle, id, loss):
        try:
            return said_of(self.handles[handle].tell(id, loss))
        except hf.AlreadyTold:
            return "other"

    @rule(handle=st.integers(0, 1), decision=decisions, loss=st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0]))
    def tell(self, handle, decision, loss):
        """New, repeated, another loss or late, as it comes."""
        id, block, place = decision
        self.now()
        assert self.answer(handle, id, loss) == self.model.tell(block, place, loss)

    @rule(handle=st.integers(0, 1), loss=st.floats(0, 1, allow_subnormal=False), last=st.booleans())
    def tell_all_that_is_out(self, handle, loss, last):
        self.expire(handle)
        out = self.handles[handle].open_decisions
        places = self.model.out
        if last:
            out, places = out[::-1], places[::-1]
        self.handles[handle].tell([(d.id, loss) for d in out])
        for place in places:
            assert self.model.tell(*place, loss) == "new"

    @rule(seconds=st.sampled_from([1.0, 9.0, 11.0, 61.0, -5.0, -1000.0, 4000.0]))
    def time_passes(self, seconds):
        self.place.clock.now += seconds

    @rule(handle=st.integers(0, 1))
    def expire(self, handle):
        self.handles[handle].settle()
        self.model.expire(self.place.clock.now)

    @rule(handle=st.integers(0, 1))
    def reopen(self, handle):
        self.handles[handle].close()
        self.handles[handle] = self.place.open("game", self.policy)

    @rule(
        handle=st.integers(0, 1),
        kind=st.sampled_from(["pause", "resume", "pin", "unpin"]),
        arm=st.integers(0, 2),
        seconds=st.sampled_from([None, 10.0]),
    )
    def operate(self, handle, kind, arm, seconds):
        model, router, arm = self.model, self.handles[handle], arm % self.policy.n_arms
        given = (
            {} if kind in ("resume", "unpin") else {"until": None if seconds is None else timedelta(seconds=seconds)}
        )
        model.expire(self.place.clock.now)
        until = math.inf if seconds is None else model.clock + seconds
        paused = {one for one, end in model.paused.items() if end > model.clock}
        if kind == "pause" and len(paused | {arm}) == self.policy.n_arms:
            with pytest.raises(hf.InvalidParameter, match="must leave an arm to play"):
                router.pause(arm, **given)
            router.settle()
            return
        getattr(router, kind)(*([] if kind == "unpin" else [arm]), **given)
        router.settle()
        if kind == "pause":
            model.paused[arm] = until
        elif kind == "resume":
            model.paused.pop(arm, None)
            model.come_back(arm)
        else:
            model.pin = (arm, until if kind == "pin" else -math.inf)

    @rule(handle=st.integers(0, 1), n=st.integers(1, 5))
    def crash_before_the_commit(self, handle, n):
        """Interrupted calls leave no trace."""
        router = self.handles[handle]

        dying = False

        def clock() -> float:
            if dying:
                raise Crash
            return self.place.clock.now

        dead = self.place.open("game", clock=clock)
        dying = True
        with pytest.raises(Crash):
            dead.ask(n)
        with pytest.raises(Crash):
            change_and_crash(router)

    @invariant()
    def agree(self):
        model = self.model
        for router in self.handles:
            assert router.rounds == model.asked
            assert router.switches == model.switches
        totals = router.history.totals
        losses = [loss for block in model.blocks for loss in block.losses.values()]
        assert totals.losses == math.fsum(losses)
        assert (totals.told, totals.late) == (len(losses), model.late)
        assert [(d.block, int(d.id.split("-")[2])) for d in router.open_decisions] == model.out

    def teardown(self):
        for router in getattr(self, "handles", []):
            router.close()


@pytest.mark.parametrize("kind", KINDS)
def test_any_play_is_the_models(kind, request, folder):
    class Here(Machine):
        def make_place(self) -> Place:
            return place_in(kind, request, folder)

    examples = {"memory": 60, "postgresql": 8}.get(kind, 20)
    phases = [Phase.generate, Phase.shrink] if kind == "memory" else [Phase.generate]  # the same plays: shrink once
    run_state_machine_as_test(Here, settings=settings(max_examples=examples, stateful_step_count=30, phases=phases))
