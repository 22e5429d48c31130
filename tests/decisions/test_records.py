"""Single decisions are known one by one, however few rows are kept of them."""

import math
import random

import pytest
from games import SWITCH, loss_of

import holdfast as hf
from holdfast.decisions.records import losses_of
from holdfast.decisions.rows import BlockRow, parts_of

LONG = hf.BlockExp3(2, switching_cost=30.0, horizon=1000)


def kept(router):
    """Rows of asks, rows of tells, and numbers in the rows of blocks."""
    with router.store.look(1) as rows:
        blocks = rows.blocks(0, 10**6)
        asks = sum(len(rows.asks_of(block.number)) for block in blocks)
        tells = sum(len(rows.tells_of(block.number)) for block in blocks)
        return asks, tells, sum(len(parts_of(block.parts)) for block in blocks)


def test_blocks_that_begin_together_are_handed_out_by_one_row(place):
    router = place.open(policy=SWITCH, seed=1)
    assert len({d.block for d in router.ask(60)}) > 10
    assert kept(router)[0] == 1
    router.ask(60)
    assert kept(router)[0] <= 3  # a block went on, and others began


@pytest.mark.parametrize("seed", range(3))
def test_blocks_told_in_one_call_know_their_losses(place, seed):
    """In whatever order they were told, zeros too."""
    router = place.open(policy=SWITCH, seed=1)
    given = router.ask(60)
    losses = {d.id: 0.0 if t % 7 == 0 else loss_of(t, d.arm) for t, d in enumerate(given)}
    told = list(losses.items())
    random.Random(seed).shuffle(told)
    router.tell(told)
    last = [d for d in given if d.block == given[-1].block]
    assert kept(router)[1] <= len(last)  # the last block may not be complete
    assert router.history.log["loss"].to_list() == list(losses.values())
    again = place.open()
    assert not any(receipt.new for receipt in again.tell(told))
    for id, loss in told:
        assert not again.tell(id, loss).new
        with pytest.raises(hf.AlreadyTold, match=f"{loss} is recorded; got 0.875"):
            again.tell(id, 0.875)
    assert router.history.totals == again.history.totals


def test_of_a_block_told_in_one_call_only_the_sum_is_kept_in_the_end(place):
    router, twin = place.open(policy=LONG, seed=1, remember=60), place.open("twin", LONG, seed=1)
    for _ in range(6):
        given, others = router.ask(40), twin.ask(40)
        router.tell([(d.id, 0.125 + t / 64) for t, d in enumerate(given)])
        twin.tell([(d.id, 0.125 + t / 64) for t, d in enumerate(others)])
    with router.store.look(1) as rows:
        for block in rows.blocks(0, 100):
            if block.place is not None and block.place <= rows.head.forgotten:
                assert len(parts_of(block.parts)) == 1
                assert losses_of(rows, block) == {}
        assert rows.head.forgotten > 0
    assert router.history.totals == twin.history.totals
    assert router.history.frame.drop("began", "settled").equals(twin.history.frame.drop("began", "settled"))


def test_a_long_block_told_in_one_call_keeps_its_losses_apart(place):
    """Every read of a block's row would read them all."""
    policy = hf.BlockExp3(2, switching_cost=1000.0, horizon=10_000)
    router = place.open(policy=policy, seed=1)
    rounds = router.ask().block and router.hold + 1
    assert rounds > 100
    out = [*router.open_decisions, *router.ask(rounds - 1)]
    router.tell([(d.id, (t % 100) / 128) for t, d in enumerate(out)])
    asks, tells, numbers = kept(router)
    assert (asks, numbers) == (2, 1)
    assert tells == -(-rounds // 100)
    with pytest.raises(hf.AlreadyTold, match=f"{99 / 128} is recorded"):
        router.tell(out[99].id, 0.5)


def test_a_decision_is_known_with_the_time_it_was_handed_out(place):
    """Of blocks that began with a call, or went on with it; also when what began the call is forgotten."""
    router = place.open(policy=SWITCH, seed=1, remember=0)
    given = []
    for n in (1, 3, 2, 9, 1, 1, 5, 30):
        place.clock.now += 10
        given += router.ask(n)
    assert len({d.asked for d in given}) == 8
    assert router.open_decisions == given
    while given:
        block = given[0].block
        assert router.open_decisions == given
        router.tell([(d.id, 0.5) for d in given if d.block == block])
        given = [d for d in given if d.block != block]
        if given and given[0].block == router.history.totals.blocks:
            break  # the last block is not handed out whole
    assert router.open_decisions == given


def test_a_request_gets_its_decisions_of_many_blocks_again(place):
    router = place.open(policy=SWITCH, seed=1)
    router.ask(2)
    place.clock.now += 10
    given = router.ask(30, request="mine")
    place.clock.now += 10
    others = router.ask(30, request="other")
    assert router.ask(30, request="mine") == given
    assert place.open().ask(30, request="other") == others
    assert router.rounds == 62


def test_a_request_is_forgotten_with_its_blocks_even_within_its_call(place):
    """Blocks run out of patience, and are forgotten, while the call that began them goes on."""
    policy = hf.TsallisSwitch(arms=["a", "b"], switching_cost=2.0)
    router = place.open(policy=policy, seed=1, patience=1, remember=0)
    router.ask(1)
    router.ask(100, request="mine")
    for _ in range(20):
        router.ask(100)
    begun = router.history.totals.blocks
    again = router.ask(100, request="mine")
    assert len(again) == 100
    assert again[0].block >= begun
    with router.store.look(1) as rows:
        forgotten = [b.number for b in rows.blocks(0, 10**6) if (b.place or math.inf) <= rows.head.forgotten]
        assert not any(rows.asks_of(number) for number in forgotten)


def test_a_request_is_known_for_as_long_as_any_of_its_blocks(place):
    router = place.open(policy=SWITCH, seed=1, remember=0)
    given = router.ask(10, request="mine")
    router.tell([(d.id, 0.5) for d in given if d.block == 1])
    assert router.ask(10, request="mine") == [d for d in given if d.block > 1]
    router.tell([(d.id, 0.5) for d in given if d.block == 3])
    router.history.compact(0)
    assert router.ask(10, request="mine") == [d for d in given if d.block in (2, 4)]


@pytest.mark.parametrize("parts", ["[]", "[0.5, 0.25, 0.125, 0.1, 0.1, 0.1, 0.1, 0.1]"])
def test_losses_that_are_not_there_are_not_made_up(place, parts):
    router = place.open(policy=SWITCH, seed=1)
    given = router.ask(20)
    router.tell([(d.id, 0.5) for d in given])
    with router.store.change(1) as rows:
        rows.set(BlockRow, 2, parts=parts)
    second = next(d for d in given if d.block == 2)
    with pytest.raises(hf.BadStore, match="the losses of block 2 are missing"):
        place.open().tell(second.id, 0.5)
