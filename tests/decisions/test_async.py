"""Decisions from an event loop: it goes on meanwhile, and a call that is cancelled leaves nothing half done."""

import asyncio
import threading
import time

import pytest
from games import SWITCH, arms_of, snapshot
from test_failures import busy, transactions

import holdfast as hf


def test_the_same_decisions_as_without_a_loop(place):
    router, twin = place.open(policy=SWITCH, seed=1), place.open("twin", SWITCH, seed=1)

    async def play():
        arms = []
        for t in range(30):
            decision = await router.aask()
            assert (await router.atell(decision.id, t / 30)).new
            arms.append(decision.arm)
        more = await router.aask(4, request="four")
        assert await router.aask(4, request="four") == more
        receipts = await router.atell({d.id: 0.5 for d in more})
        assert [receipt.new for receipt in receipts] == [True] * 4
        await router.aclose()
        return [*arms, *arms_of(more)]

    arms = []
    for t in range(30):
        arms.append(twin.ask())
        twin.tell(arms[-1].id, t / 30)
    more = twin.ask(4)
    twin.tell([(d.id, 0.5) for d in more])
    assert asyncio.run(play()) == arms_of([*arms, *more])
    assert router.history.totals == twin.history.totals


@pytest.mark.slow
def test_calls_that_wait_at_the_same_time_share_transactions(place, monkeypatch):
    router = place.open(policy=SWITCH, seed=1)
    sizes = transactions(router, monkeypatch)

    async def play():
        given = await asyncio.gather(*(router.aask() for _ in range(100)))
        await asyncio.gather(*(router.atell(d.id, 0.5) for d in given))
        return given

    given = asyncio.run(play())
    assert len({d.id for d in given}) == router.rounds == router.history.totals.told == 100
    assert sum(sizes) == 200
    assert len(sizes) <= 20


def test_the_loop_goes_on_while_the_store_is_busy(place):
    router = place.open(policy=SWITCH, seed=1)
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    async def play():
        ticking = asyncio.create_task(tick())
        with busy(router):
            asking = asyncio.create_task(router.aask())
            while ticks < 10:
                await asyncio.sleep(0.01)
            assert not asking.done()
        decision = await asking
        ticking.cancel()
        return decision

    assert asyncio.run(play()).recorded
    assert ticks >= 10


def test_a_cancelled_ask_that_was_not_begun_is_not_made(place):
    router = place.open(policy=SWITCH, seed=1)

    async def play():
        with busy(router):
            tasks = [asyncio.create_task(router.aask()) for _ in range(10)]
            await asyncio.sleep(0.05)
            for task in tasks[:7]:
                task.cancel()
            await asyncio.sleep(0.05)
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = asyncio.run(play())
    assert [isinstance(answer, asyncio.CancelledError) for answer in found] == [True] * 7 + [False] * 3
    assert router.rounds == 3
    assert {d.id for d in router.open_decisions} == {d.id for d in found[7:]}


def test_a_cancelled_ask_that_was_being_written_is_found_again(place, monkeypatch):
    router = place.open(policy=SWITCH, seed=1)
    committing, go = threading.Event(), threading.Event()
    whole = router._executor._transact

    def slow(batch, deadline):
        answers = whole(batch, deadline)
        committing.set()  # it is in the store; the answer is on its way
        assert go.wait(30)
        return answers

    async def play():
        monkeypatch.setattr(router._executor, "_transact", slow)
        task = asyncio.create_task(router.aask(request="mine"))
        await asyncio.to_thread(committing.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        monkeypatch.setattr(router._executor, "_transact", whole)
        assert router.rounds == 1
        again = await router.aask(request="mine")
        await router.atell(again.id, 0.5)
        return again

    assert asyncio.run(play()).block == 1
    assert (router.rounds, router.history.totals.told) == (1, 1)


def test_cancelled_at_any_moment_the_game_stays_whole(lasting_place):
    router = lasting_place.open(policy=SWITCH, seed=1, patience="forever")

    async def one(i):
        decision = await router.aask()
        await router.atell(decision.id, (i % 10) / 10)
        return decision

    async def play():
        kept = []
        for i in range(60):
            tasks = [asyncio.create_task(one(i)) for _ in range(4)]
            await asyncio.sleep(0.0004 * (i % 12))
            for task in tasks[::2]:
                task.cancel()
            kept += [a for a in await asyncio.gather(*tasks, return_exceptions=True) if isinstance(a, hf.Decision)]
        return kept

    kept = asyncio.run(play())
    totals = router.history.totals
    assert len(kept) >= 120
    assert len({d.id for d in kept}) == len(kept)
    assert len(kept) <= totals.told <= totals.rounds <= 240
    assert totals.told + totals.out == totals.rounds
    assert snapshot(router) == snapshot(lasting_place.open())
    router.tell([(d.id, 0.5) for d in router.open_decisions])
    assert router.history.totals.out == 0


def test_a_loop_that_ends_leaves_the_router_usable(place):
    router = place.open(policy=SWITCH, seed=1)

    async def leave():
        with busy(router):
            asyncio.create_task(router.aask())  # noqa: RUF006 (cancelled when the loop ends)
            await asyncio.sleep(0.02)

    asyncio.run(leave())
    assert asyncio.run(router.aask()).recorded
    assert router.ask().recorded


def test_deadlines_and_fallbacks(place):
    router = place.open(policy=SWITCH, seed=1)

    async def play():
        with busy(router):
            begun = time.monotonic()
            given = await asyncio.gather(*(router.aask(fallback="c", deadline=0.05) for _ in range(20)))
            assert time.monotonic() - begun < 20  # and not for ever
            with pytest.raises(hf.StoreError, match=r"within 0\.01 s"):
                await router.aask(deadline=0.01)
        return given

    assert [(d.arm, d.recorded) for d in asyncio.run(play())] == [("c", False)] * 20
    assert router.rounds == 0


def test_refusals_are_raised(place):
    router = place.open(policy=SWITCH, seed=1)

    async def play():
        async with router:
            decision = await router.aask()
            with pytest.raises(hf.InvalidParameter, match="loss of one round must be"):
                await router.atell(decision.id, 7.0)
            with pytest.raises(hf.SomeRefused):
                await router.atell([(decision.id, 0.5), ("x", 0.5)])

    asyncio.run(play())
    assert router.history.totals.told == 1
