"""One row per block, and totals that never depend on rows."""

from itertools import pairwise

import polars as pl
import pytest
from games import SWITCH, arms_of, loss_of, play, stored_asks
from polars.testing import assert_frame_equal

import holdfast as hf
from holdfast.decisions import history


def test_one_row_per_block(place):
    router = place.open(policy=SWITCH, seed=1)
    place.clock.now = 1_772_532_000.000001  # times are rounded to the nearest microsecond
    decisions = router.ask(5)
    place.clock.now += 60
    router.tell([(d.id, 0.1) for d in decisions[:3]])
    frame = router.history.frame
    assert frame.columns == [
        "block", "began", "arm", "rounds", "probability", "by", "drawn", "drawn_probability",
        "told", "missing", "late", "missing_loss", "total", "settled", "moves",
    ]  # fmt: skip
    first, second, third = frame.rows(named=True)
    assert (first["rounds"], first["told"], first["missing"], first["total"]) == (2, 2, 0, 0.2)
    assert (first["settled"] - first["began"]).total_seconds() == 60
    assert first["began"].isoformat() == "2026-03-03T10:00:00.000001+00:00"
    numbered = place.open("numbered", hf.Exp3(2), seed=1)
    numbered.ask()
    shown = numbered.history
    assert shown.frame["arm"].dtype == shown.log["arm"].dtype == shown.days["arm"].dtype == pl.Int64
    assert (second["told"], second["missing"], second["settled"]) == (1, None, None)
    assert (third["rounds"], third["told"]) == (3, 0)
    assert [d.probability for d in decisions[::2]] == frame["probability"].to_list()


def test_totals_and_history_are_shown_in_a_few_lines():
    policy = hf.TsallisSwitch(arms=["a\n", *(f"arm {i}" for i in range(11))], switching_cost=0.5)
    router = hf.open("memory:", "chat", policy, seed=1, missing=0.25)
    assert repr(router.history) == "<History of 'chat': totals, frame, log, changes, compare(), export(file)>"
    assert repr(router.history.totals).startswith(
        "<Totals: 0 rounds (0 told, 0 out, 0 missing), 0 blocks, 0 switches, cost 0: losses 0>\n  a\\n: 0 rounds\n"
    )
    first, _ = router.ask(2)
    router.tell(first.id, 0.125)
    first_line, *arms, last_line = repr(router.history.totals).splitlines()
    assert first_line.startswith("<Totals: 2 rounds (1 told, 1 out, 0 missing), ")
    assert len(arms) == 10
    assert last_line == "  and 2 arms more"
    assert len(repr(router.history.totals)) < 500


def test_old_rows_can_be_compacted_without_losing_totals(place):
    router, twin = (place.open(name, SWITCH, seed=1, patience="forever") for name in ("chat", "twin"))
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
    assert router.tell(old.id, 0.5) == (old.id, False, True)  # nobody knows any more whether it counted
    with pytest.raises(hf.Forgotten, match="was compacted"):
        router.tell(old.id, 0.5, in_time=True)
    twin.tell(twin.open_decisions[0].id, 0.5)
    assert arms_of(router.ask(100)) == arms_of(twin.ask(100))
    with pytest.raises(hf.InvalidParameter, match="keep must be a whole number"):
        router.history.compact(keep=-1)


def test_names_creating_and_deleting(place):
    store = place.store()
    assert store.names() == []
    for name in ("b", "a"):
        place.open(name, SWITCH)
    assert store.names() == ["a", "b"]
    game = store.find("a")
    router = place.open("a")
    play(router, 10)
    store.delete(game.id)
    assert store.names() == ["b"]
    assert store.find("a") is None
    with pytest.raises(hf.BadStore, match="is gone from the store"):
        router.ask()
    place.open("another", SWITCH)
    with pytest.raises(hf.BadStore, match="is gone from the store"):
        router.ask()


def test_old_blocks_become_sums_all_the_time(place):
    """Rows stop growing; totals and what is played are those of a game that keeps everything."""
    settings = {"policy": hf.Exp3(arms=["a", "b", "c"]), "seed": 1, "missing": 0.25, "patience": 40}
    router, twin = place.open("short", keep=30, remember=10, **settings), place.open("long", **settings)
    for t in range(400):
        one, two = router.ask(), twin.ask()
        assert one.arm == two.arm
        if t % 11:
            assert router.tell(one.id, loss_of(t, one.arm)).new
            twin.tell(two.id, loss_of(t, two.arm))
    assert router.history.totals == twin.history.totals
    assert len(router.history.frame) <= 30 + 64 + 40 < len(twin.history.frame)
    assert router.history.days.equals(twin.history.days)
    with router.store.transaction(1, writing=False) as stored:
        assert stored.head.gone >= stored.head.removed > 200


@pytest.mark.slow
def test_rows_do_not_grow_with_rounds(place):
    """Beyond what is remembered, only blocks are kept."""
    router = place.open(policy=hf.BlockExp3(2, switching_cost=30.0, horizon=1000), seed=1, remember=200)
    play(router, 1000)
    kept = len(stored_asks(router)) + len(stored_asks(router, "losses"))
    assert len(list(router.history.blocks())) < 20
    assert kept <= 2 * 300


def test_the_sums_of_days_are_those_of_the_rounds(place):
    """From midnight on, also with other arms that stood in, and with losses that came when their block was settled."""
    router, lost = place.open(policy=SWITCH, seed=1, missing=0.25, patience=9), []
    place.clock.now = 12 * 86400.0
    for t in range(150):
        decision = router.ask(available=["b", "c"] if t % 20 == 3 else None)
        if t % 7:
            router.tell(decision.id, loss_of(t, decision.arm))
        else:
            lost.append(decision.id)
        place.clock.now += 8640.0
    days, totals = router.history.days, router.history.totals
    assert days["day"].n_unique() > 10
    kept = days.filter(pl.col("rounds") > 0).drop("missing_losses", "switches")
    assert_frame_equal(kept, sums_of(router, "day", "arm"), check_row_order=False, abs_tol=1e-12)
    assert days["missing_losses"].sum() == pytest.approx(totals.missing_losses)
    moves = [now for was, now in pairwise([None, *router.history.log["arm"]]) if was != now]
    found = dict(days.group_by("arm").agg(pl.col("switches").sum()).rows())
    assert found == {arm: moves.count(arm) for arm in "abc"}
    assert [receipt.late for receipt in router.tell([(id, 0.75) for id in lost[:-2]])] == [True] * (len(lost) - 2)
    after = router.history.days.group_by("arm").agg(pl.col("told", "losses", "squares").sum())
    whole = sums_of(router, "arm").select("arm", "told", "losses", "squares")
    assert_frame_equal(after, whole, check_row_order=False, abs_tol=1e-12)


def sums_of(router, *by):
    """Sums over the rounds of settled blocks, each on the day of the settlement."""
    blocks = router.history.frame.filter(pl.col("settled").is_not_null())
    log = router.history.log.join(blocks.select("block", pl.col("settled").dt.date().alias("day")), on="block")
    is_told = pl.col("status") != "missing"
    seen, counts = pl.when(is_told).then(pl.col("loss")), {"blocks": pl.col("block").n_unique(), "rounds": pl.len()}
    counts |= {"told": is_told.sum(), "missing": (~is_told).sum()}
    whole = [one.cast(pl.Int64).alias(name) for name, one in counts.items()]
    return log.group_by(by).agg(*whole, seen.sum().alias("losses"), (seen**2).sum().alias("squares"))


def test_what_was_removed_gives_back_its_room(folder):
    router = hf.open(f"sqlite:///{folder}/g.db", "g", hf.Exp3(arms=["a", "b"]), seed=1)
    for _ in range(40):
        router.tell([(decision.id, 0.5) for decision in router.ask(100)])
    router.history.compact(keep=4000)
    before = (folder / "g.db").stat().st_size
    assert router.history.compact(keep=100) == 3900
    assert (folder / "g.db").stat().st_size < 0.2 * before


def test_rows_of_the_log_are_made_when_decisions_no_longer_wait(place, monkeypatch):
    router, made = place.open(policy=SWITCH, seed=1), history._rows_of
    router.tell(router.ask().id, 0.5)

    def meanwhile(*given):
        router.ask()  # refused within a transaction
        yield from made(*given)

    monkeypatch.setattr(history, "_rows_of", meanwhile)
    assert router.history.log["loss"].to_list() == [0.5]
    assert router.history.totals.rounds == 2
