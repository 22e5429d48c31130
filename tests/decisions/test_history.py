"""One row per block, totals that never depend on rows, and schemas that move on."""

import json
import math
import re

import pytest
from games import SWITCH, arms_of, play

import holdfast as hf
from holdfast.decisions.book import summed
from holdfast.decisions.records import handed_out, losses_of
from holdfast.decisions.rows import Ask, BlockRow, Tell, as_parts
from holdfast.decisions.stored import numbers_of
from holdfast.decisions.stores.postgresql import PostgresStore
from holdfast.decisions.stores.schema import MIGRATIONS
from holdfast.decisions.stores.sqlite import SqliteStore


def test_one_row_per_block(place):
    router = place.open(policy=SWITCH, seed=1)
    place.clock.now = 1_000_000.0
    decisions = router.ask(5)
    place.clock.now += 60
    router.tell([(d.id, 0.1) for d in decisions[:3]])
    frame = router.history.frame
    assert frame.columns == [
        "block", "began", "arm", "rounds", "probability", "told", "missing", "late", "total", "settled",
    ]  # fmt: skip
    first, second, third = frame.rows(named=True)
    assert (first["rounds"], first["told"], first["missing"], first["total"]) == (2, 2, 0, 0.2)
    assert (first["settled"] - first["began"]).total_seconds() == 60
    assert (second["told"], second["missing"], second["settled"]) == (1, None, None)
    assert (third["rounds"], third["told"]) == (3, 0)
    assert [d.probability for d in decisions[::2]] == frame["probability"].to_list()


def test_totals_are_exact_and_kept_per_arm(place):
    router = place.open(policy=SWITCH, seed=1)
    losses: dict[str, list[float]] = {"a": [], "b": [], "c": []}
    for t in range(100):
        place.clock.now += 1
        decision = router.ask()
        losses[decision.arm].append(t % 10 / 10)
        router.tell(decision.id, t % 10 / 10)
    totals = router.history.totals
    assert totals.losses == math.fsum(loss for arm in losses.values() for loss in arm)
    assert totals.switching == 1.5 * totals.switches
    assert totals.cost == totals.losses + totals.switching
    for arm in totals.arms:
        assert (arm.rounds, arm.losses) == (len(losses[arm.arm]), math.fsum(losses[arm.arm]))
        assert arm.mean == arm.losses / arm.told
    assert max(arm.last_used for arm in totals.arms) <= place.clock.now


def test_old_rows_can_be_compacted_without_losing_totals(place):
    router, twin = place.open(policy=SWITCH, seed=1), place.open("twin", SWITCH, seed=1)
    old = router.ask()
    twin.ask()
    play(router, 300)
    play(twin, 300)
    before = router.history.totals
    rows = len(router.history.frame)
    removed = router.history.compact(keep=10)
    assert removed == rows - len(router.history.frame) > 0
    assert len(router.history.frame) <= 12
    assert router.history.frame["block"][0] == 1  # its loss is still out
    assert router.history.totals == before
    assert router.history.compact(keep=10) == 0
    assert router.tell(old.id, 0.5).new
    router.history.compact(keep=0)
    with pytest.raises(hf.Forgotten, match="was compacted"):
        router.tell(old.id, 0.5)
    twin.tell(twin.open_decisions[0].id, 0.5)
    assert arms_of(router.ask(100)) == arms_of(twin.ask(100))
    with pytest.raises(hf.InvalidParameter, match="keep must be a whole number"):
        router.history.compact(keep=-1)


def test_rows_do_not_grow_with_rounds(place):
    """Beyond what is remembered, only blocks are kept."""
    router = place.open(policy=hf.BlockExp3(2, switching_cost=30.0, horizon=1000), seed=1, remember=200)
    play(router, 1000)
    with router.store.look(1) as rows:
        blocks = rows.blocks(0, 10**6)
        kept = sum(len(rows.tells_of(block.number)) + len(rows.asks_of(block.number)) for block in blocks)
    assert len(blocks) < 20
    assert kept <= 2 * 300


@pytest.mark.parametrize("kind", [SqliteStore, PostgresStore])
def test_an_older_store_is_brought_up_to_date_and_a_newer_one_refused(kind, request, folder):
    from places import fresh_schema

    url = f"sqlite:///{folder}/g.db" if kind is SqliteStore else fresh_schema(request.getfixturevalue("postgres"))
    with hf.open(kind(url), "game", SWITCH, seed=1) as router:
        play(router, 10)
    newer = (*MIGRATIONS, ("ALTER TABLE holdfast_players ADD COLUMN note TEXT",))
    with hf.open(kind(url, newer), "game", SWITCH) as router:
        assert router.rounds == 10
        play(router, 5, 10)
    with pytest.raises(hf.BadStore, match="a newer Holdfast wrote it"):
        hf.open(kind(url), "game")
    broken = (*newer, ("CREATE TABLE half (x BIGINT)", "NONSENSE"))
    with pytest.raises(hf.StoreError):
        hf.open(kind(url, broken), "game")
    with hf.open(kind(url, newer), "game") as router:
        assert router.rounds == 15


def made_older(store, schema):
    """The game as an older schema has it: a row for each loss, and for each block that an ask reached."""
    with store.look(1) as rows:
        blocks = rows.blocks(0, 1000)
        asks = [(b.number, rounds, at) for b in blocks for rounds, at in handed_out(rows, b)]
        tells = [(b, round, loss) for b in blocks for round, (loss, _) in losses_of(rows, b).items()]
        request = rows.asks_of(1)[0].request
    with store._transaction(writing=True) as session:
        session.write("DELETE FROM holdfast_asks")
        session.write("DELETE FROM holdfast_tells")
        session.insert(Ask, [Ask(1, number, r.start, len(r), at, request) for number, r, at in asks])
        session.insert(Tell, [Tell(1, b.number, round, loss, b.began, 0) for b, round, loss in tells])
        layout = SWITCH.kernels.block_layout
        texts = [json.dumps(numbers_of(b.data, layout)) for b in blocks]
        session.update(
            BlockRow,
            ("parts", "data"),
            [(as_parts(summed(b)), text, 1, b.number) for b, text in zip(blocks, texts, strict=True)],
        )
        session.write("ALTER TABLE holdfast_asks RENAME COLUMN handed TO rounds")
        session.write("ALTER TABLE holdfast_blocks DROP COLUMN whole")
        if schema == 1:
            session.write("ALTER TABLE holdfast_tells DROP COLUMN more")
            session.write("ALTER TABLE holdfast_tells RENAME COLUMN first TO round")
            session.write("ALTER TABLE holdfast_heads RENAME COLUMN removed TO compacted")
        session.write("UPDATE holdfast_schema SET version = ?", (schema,))
    store.close()


@pytest.mark.parametrize("schema", [1, 2])
@pytest.mark.parametrize("kind", [SqliteStore, PostgresStore])
def test_a_store_of_an_older_schema_goes_on(kind, schema, request, folder):
    """What was handed out and told is known, and the game is the one it would have been."""
    from places import fresh_schema

    url = f"sqlite:///{folder}/g.db" if kind is SqliteStore else fresh_schema(request.getfixturevalue("postgres"))
    twin = hf.open("memory:", "game", SWITCH, seed=1)
    with hf.open(kind(url), "game", SWITCH, seed=1) as router:
        given, others = router.ask(40, request="first"), twin.ask(40)
        told = [(d.id, number / 31) for number, d in enumerate(given[:30])]
        router.tell(told)
        twin.tell([(other.id, loss) for other, (_, loss) in zip(others, told, strict=False)])
        log = router.history.log
    made_older(kind(url), schema)
    with hf.open(kind(url), "game") as router:
        gone = "SELECT compacted FROM holdfast_heads" if schema == 1 else "SELECT rounds FROM holdfast_asks"
        with pytest.raises(hf.BadStore), router.store._transaction(writing=False) as session:
            session.fetch(gone, ())  # as a process that is still connected would
        assert not any(receipt.new for receipt in router.tell(told))
        with pytest.raises(hf.AlreadyTold, match=re.escape(f"{29 / 31} is recorded; got 0.5")):
            router.tell(given[29].id, 0.5)
        assert router.ask(40, request="first") == given
        assert router.open_decisions == given[30:]
        assert router.history.log.equals(log)
        router.tell([(d.id, 0.25) for d in given[30:]])
        twin.tell([(d.id, 0.25) for d in others[30:]])
        assert play(router, 50) == play(twin, 50)


def test_an_arm_was_last_used_when_its_latest_block_began(place):
    """Whichever of its blocks were settled first, and whichever are still open."""
    router = place.open(policy=SWITCH, seed=1)
    last: dict[object, float] = {}
    out = []
    for count in range(60):
        place.clock.now += 1
        out.append(router.ask())
        if not out[1:] or out[-1].block != out[-2].block:
            last[out[-1].arm] = out[-1].asked
        if count % 3 == 2:
            router.tell(out.pop(0).id, 0.5)
        assert {t.arm: t.last_used for t in router.history.totals.arms if t.last_used is not None} == last
    router.tell([(d.id, 0.5) for d in reversed(out)])
    assert {t.arm: t.last_used for t in router.history.totals.arms if t.last_used is not None} == last


def test_names_creating_and_deleting(place):
    store = place.store()
    assert store.names() == []
    for name in ("b", "a"):
        place.open(name, SWITCH)
    assert store.names() == ["a", "b"]
    identity = store.find("a")
    router = place.open("a")
    play(router, 10)
    store.delete(identity.player)
    assert store.names() == ["b"]
    assert store.find("a") is None
    with pytest.raises(hf.BadStore, match="is gone from the store"):
        router.ask()
    place.open("another", SWITCH)
    with pytest.raises(hf.BadStore, match="is gone from the store"):
        router.ask()


def test_sqlite_reads_no_more_of_a_long_game_than_of_a_short_one(folder):
    """Counted in steps of its machine: with single losses forgotten, requests repeated, blocks left open."""
    router = hf.open(f"sqlite:///{folder}/g.db", "game", hf.Exp3(3), seed=1, remember=50, patience=20)
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    def counted() -> int:
        nonlocal steps
        steps = 0
        router.store._connected().set_progress_handler(step, 1)
        decision = router.ask(request=f"at {router.rounds}")
        router.tell(decision.id, 0.5)
        assert router.ask(request=f"at {router.rounds - 1}") == decision
        router.history.totals  # noqa: B018  # it reads open blocks
        router.store._connected().set_progress_handler(None, 1)
        return steps

    def play_on(rounds: int) -> None:
        for _ in range(rounds):
            decision = router.ask()
            if decision.block % 7:
                router.tell(decision.id, 0.5)

    play_on(200)
    short = max(counted() for _ in range(10))
    play_on(2000)
    assert max(counted() for _ in range(10)) < 1.5 * short


def test_a_change_that_ends_in_an_error_changes_nothing(place):
    router = place.open(policy=SWITCH, seed=1)
    play(router, 5)
    number = place.store().find("chat").player

    def fail():
        with router.store.change(number) as rows:
            head = rows.replace(rows.head, asked=99, switches=50)
            rows.forget(1)
            rows.remove(1)
            assert rows.arms()
            assert head.asked == 99
            raise ZeroDivisionError

    before = router.history.frame.rows(), router.history.totals
    with pytest.raises(ZeroDivisionError):
        fail()
    assert (router.history.frame.rows(), router.history.totals) == before
