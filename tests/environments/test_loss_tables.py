"""Tables of losses: sums of their rows, the same from every source, in any units, with names of arms and rounds.

And tables with forecasts and available arms: simulations play as online players that are asked with them.
"""

import gzip
import math
import os
import pickle
import subprocess
import sys
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from statistics_of_samples import SEED

import holdfast as hf
from holdfast import InvalidParameter, LossTable, Stream
from holdfast.data.records import read_trace
from holdfast.environments import make_environment
from holdfast.environments.tables import prefix_sums
from holdfast.experts import FixedArm, GivenForecast

tables = st.integers(1, 40).flatmap(
    lambda T: st.integers(1, 5).flatmap(
        lambda k: st.lists(st.lists(st.integers(0, 8), min_size=k, max_size=k), min_size=T, max_size=T)
    )
)
units = st.sampled_from([(0.0, 1.0), (-3.0, 5.0), (0.0, 8.0), (100.0, 116.0)])


@pytest.mark.plain
@given(tables, units, st.data())
def test_table_totals_are_the_sums_of_its_rows(eighths, units, data):
    """In the table's own units, and what policies are told as shares of them."""
    low, unit = units[0], units[1] - units[0]
    losses = low + np.array(eighths) / 8 * unit
    table = LossTable(losses, units=units)
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(losses))] * 2)))
    direct = losses[start:stop].sum(axis=0)
    assert table.expected(start, stop).tolist() == direct.tolist()
    stream = Stream(1, "table")
    told, gap = np.zeros(1), np.zeros(1)
    for arm in range(losses.shape[1]):
        assert table.draw(arm, start, stop, stream) == direct[arm]
        place = np.array([float(arm)])
        table.total_kernel(table.tables, place, float(start), float(stop), stream.state.reshape(-1, 1), told)
        assert told[0] == np.array(eighths)[start:stop, arm].sum() / 8
        table.gap_kernel(table.tables, place, float(start), float(stop), gap)
        assert gap[0] == direct[arm] - direct[table.reference]
    assert table.reference == losses.sum(axis=0).argmin()
    assert (table.excess(stop) == losses[:stop].sum(axis=0) - losses[:stop, table.reference].sum()).all()
    assert (table.rounds, table.n_arms) == losses.shape
    assert isinstance(table.rounds, int)


LOSSES = np.repeat([[0.0, 1.0], [0.5, 0.25]], 150, axis=0)
FRAME = pl.DataFrame(LOSSES, schema=["east", "west"])
TIMES = pl.datetime_range(
    pl.datetime(2024, 1, 1), interval="1h", eager=True, closed="left", end=pl.datetime(2024, 1, 13, 12)
)


def in_files(folder, frame):
    frame.write_parquet(folder / "t.parquet")
    frame.write_csv(folder / "t.CSV")
    (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.CSV").read_bytes()))
    (folder / "bom.csv").write_bytes(
        b"\xef\xbb\xbf" + (folder / "t.CSV").read_bytes().replace(b"\n", b"\r\n") + b"\r\n"
    )
    for suffix in ("arrow", "feather", "ipc"):
        frame.write_ipc(folder / f"t.{suffix}")
    return [folder / name for name in ("t.parquet", "t.CSV", "t.csv.gz", "bom.csv", "t.arrow", "t.feather", "t.ipc")]


def test_every_kind_of_file_is_the_table_it_holds(tmp_path):
    """Also with whole numbers for the first rows, from which a reader might guess the type."""
    (tmp_path / "whole.csv").write_text("east,west\n" + "".join(f"{a:g},{b:g}\n" for a, b in LOSSES))
    for file in [*in_files(tmp_path, FRAME), tmp_path / "whole.csv"]:
        for path in (file, str(file)):
            table = LossTable(path)
            assert (table.sums == LossTable(LOSSES).sums).all(), file
            assert table.arms == ("east", "west")
            assert table.labels is None
            assert table.settings()["source"] == str(file)
            again = make_environment(table.settings())
            assert isinstance(again, LossTable)
            assert (again.sums == table.sums).all()
            assert again.settings() == table.settings()


def test_a_column_of_times_labels_the_rounds_and_is_no_arm(tmp_path):
    frame = FRAME.with_columns(TIMES.alias("time"))
    for file in in_files(tmp_path, frame):
        table = LossTable(file, index="time")
        assert table.arms == ("east", "west")
        assert (table.sums == LossTable(LOSSES).sums).all()
        assert (table.labels == TIMES.to_numpy()).all(), file
        assert make_environment(table.settings()).settings() == table.settings()
    assert (LossTable(frame, index="time").labels == TIMES.to_numpy()).all()


def test_labels_may_be_numbers_dates_or_text(tmp_path):
    file = tmp_path / "t.csv"
    for cells, labels in {
        ("3", "3", "10"): [3, 3, 10],
        ("0.5", "1", "1.5"): [0.5, 1.0, 1.5],
        ("2024-01-31", "2024-02-01", "2024-02-01"): ["2024-01-31", "2024-02-01", "2024-02-01"],
        ("question 9", "question 10", "a"): ["question 9", "question 10", "a"],
    }.items():
        file.write_text("".join(f"{row},0,1\n" for row in ("id", *cells)).replace("id,0,1", "id,a,b"))
        found = LossTable(file, index="id").labels.tolist()
        assert [str(label)[:10] if "-" in str(label) else label for label in found] == labels


def test_frames_of_every_make_are_the_table_they_hold():
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    arrow = pyarrow.table({"east": LOSSES[:, 0], "west": LOSSES[:, 1]})
    frame = pandas.DataFrame(LOSSES, columns=["east", "west"])
    by_time = frame.set_index(pandas.DatetimeIndex(TIMES.to_numpy(), name="time"))
    timed = ((by_time, "time"), (by_time.reset_index(), "time"))
    for source, index in ((FRAME, None), (arrow, None), (frame, None), *timed):
        table = LossTable(source, index=index)
        assert (table.sums == LossTable(LOSSES).sums).all()
        assert table.arms == ("east", "west")
        assert table.settings()["source"] == "300 x 2 table"
        if index:
            assert (table.labels == TIMES.to_numpy()).all()
    aware = frame.set_index(pandas.DatetimeIndex(TIMES.to_numpy(), name="time").tz_localize("Europe/Berlin"))
    dates = frame.assign(time=[TIMES[0].date()] * 299 + [TIMES[0].date().replace(year=1990)])
    for backwards in (aware[::-1], aware[::-1].reset_index(), dates):
        with pytest.raises(InvalidParameter, match="index column 'time' that does not run backwards"):
            LossTable(backwards, index="time")
    in_berlin = TIMES.dt.replace_time_zone("Europe/Berlin").dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    assert (LossTable(aware, index="time").labels == in_berlin.to_numpy()).all()
    words = frame.assign(time=[1, "a"] * 150)
    assert LossTable(words, index="time").labels.tolist() == ["1", "a"] * 150
    with pytest.raises(InvalidParameter, match="'time' is one of String"):
        LossTable(words)
    assert (LossTable(frame.astype(object)).sums == LossTable(LOSSES).sums).all()
    hole = frame.copy()
    hole.iloc[7, 1] = None
    missing = r"a number from 0 to 1 in row 8, column 'west'; it is missing: fill it in"
    with pytest.raises(InvalidParameter, match=missing):
        LossTable(hole)
    with pytest.raises(InvalidParameter, match=r"must not have two columns of one name.*got 'a'"):
        LossTable(pandas.DataFrame(LOSSES, columns=["a", "a"]))


def test_a_mapped_file_is_the_table_it_holds(tmp_path):
    losses = np.random.default_rng(SEED).random((1000, 3)).astype(np.float32)
    np.save(tmp_path / "losses.npy", losses)
    mapped = LossTable(tmp_path / "losses.npy", arms=["x", "y", "z"])
    assert (mapped.sums == LossTable(losses).sums).all()
    assert mapped.arms == ("x", "y", "z")
    assert isinstance(read_trace(tmp_path / "losses.npy").table.base, np.memmap)


@pytest.mark.plain
def test_arms_name_the_columns_of_an_array_or_choose_those_of_a_table():
    assert LossTable(LOSSES).arms is None
    assert LossTable(LOSSES, arms=["a", "b"]).arms == ("a", "b")
    chosen = LossTable(FRAME.with_columns(north=0.75), arms=["north", "east"])
    assert chosen.arms == ("north", "east")
    assert chosen.expected(0, 300).tolist() == [225.0, 75.0]
    for arms, message in {
        ("a",): r"arms must be 2 names, one per column; got \['a'\]",
        ("a", "a"): "arms must be a list of different names",
        ("a", ""): "arms must be a list of different names, each a non-empty string",
        ("a", 2): "arms must be a list of different names, each a non-empty string",
        "ab": "arms must be a list of different names.*; got 'ab'",
        3: "arms must be a list of different names.*; got 3",
    }.items():
        with pytest.raises(InvalidParameter, match=message):
            LossTable(LOSSES, arms=arms)
    with pytest.raises(InvalidParameter, match=r"arms must be one of 'east', 'west'; got 'eats'; did you mean 'east'"):
        LossTable(FRAME, arms=["eats", "west"])


@pytest.mark.plain
def test_a_table_can_be_replaced_and_pickled():
    for table in (LossTable(LOSSES), LossTable(FRAME, units=(-1, 2))):
        shuffled = replace(table, shuffled=True)
        assert shuffled.shuffled
        assert shuffled.sums is table.sums
        assert shuffled.settings() == table.settings() | {"shuffled": True}
        there = pickle.loads(pickle.dumps(table))
        assert (there.sums == table.sums).all()
        assert there.settings() == table.settings()
    with pytest.raises(InvalidParameter, match="units cannot be changed once a table is read"):
        replace(LossTable(LOSSES), units=(0, 2))


@pytest.mark.plain
def test_a_large_table_is_summed_in_pieces_and_kept_in_a_file():
    losses = np.random.default_rng(SEED).integers(0, 9, (1000, 3)) / 8
    pieces = prefix_sums(read_trace(losses), rows=64, in_memory=0)
    assert (pieces == LossTable(losses).sums).all()
    assert isinstance(pieces.base, np.memmap)


@pytest.mark.plain
def test_whole_numbers_and_truths_make_tables_that_do_not_follow_their_array():
    losses = np.array([[0.0, 1.0], [0.5, 0.25]])
    table = LossTable(losses)
    assert losses.tolist() == [[0.0, 1.0], [0.5, 0.25]]
    losses[:] = 0
    assert table.expected(0, 2).tolist() == [0.5, 1.25]
    assert LossTable([[0, 1], [1, 1]]).expected(0, 2).tolist() == [1.0, 2.0]
    assert LossTable([[False, True]]).expected(0, 1).tolist() == [0.0, 1.0]
    assert LossTable(pl.DataFrame({"a": [True, False], "b": [0, 1]})).expected(0, 2).tolist() == [1.0, 1.0]


@pytest.mark.plain
@pytest.mark.parametrize("value", [-0.1, 1.5, math.nan, math.inf, -math.inf])
def test_a_bad_value_in_a_table_is_found_and_named(value):
    losses = np.full((100, 3), 0.5)
    losses[70, 2] = value
    with pytest.raises(InvalidParameter, match=r"^source must have a number from 0 to 1 in row 70, column 2 \(counted"):
        LossTable(losses)
    with pytest.raises(InvalidParameter, match=r"in row 70, column 2"):
        prefix_sums(read_trace(losses), rows=4)


@pytest.mark.plain
def test_losses_outside_the_units_are_named():
    outside = r"from 0 to 1 in .*; give units=\(lowest, highest\) for losses in units of"
    with pytest.raises(InvalidParameter, match=outside):
        LossTable([[0.5, 12.0]])
    with pytest.raises(InvalidParameter, match=r"from 0 to 10 in row 0, column 1 \(counted from 0\); got 12.0$"):
        LossTable([[0.5, 12.0]], units=(0, 10))
    for wrong in ((1, 0), (0, 0), (0, math.inf), 3, "ab", (0, 1, 2), (0, "x"), None, (0, 1e308), (0, 1e-300)):
        with pytest.raises(
            InvalidParameter, match=r"^units must be two numbers \(lowest, highest\), the first .*smaller"
        ):
            LossTable([[0.5]], units=wrong)


@pytest.mark.plain
def test_masked_entries_are_missing():
    masked = np.ma.masked_array([[0.5, 0.25], [0.5, 0.5]], mask=[[False, False], [True, False]])
    with pytest.raises(InvalidParameter, match=r"must have a number in row 1, column 0 .*; got 'a masked entry'"):
        LossTable(masked)
    assert LossTable(np.ma.masked_array([[0.5, 0.25]])).expected(0, 1).tolist() == [0.5, 0.25]


NO_TABLES = [(), [], [[]], [0.5, 0.5], [[[0.5]]], [["a", "b"]], [[None, 0.5]], [[0.1, 0.2], [0.3]], 0.5, [[0.5 + 1j]]]


@pytest.mark.plain
@pytest.mark.parametrize("source", [*NO_TABLES, "no.npy"], ids=repr)
def test_what_is_no_table_is_refused(source):
    with pytest.raises(InvalidParameter, match="source must be"):
        LossTable(source)
    with pytest.raises(InvalidParameter, match="source must be a polars DataFrame; collect a LazyFrame first"):
        LossTable(FRAME.lazy())


@pytest.mark.plain
def test_rounds_past_the_end_of_a_table_are_refused():
    table = LossTable([[0.5], [0.25]])
    with pytest.raises(InvalidParameter, match="stop"):
        table.draw(0, 0, 3, Stream(1, "a"))
    for start, stop in ((0, 3), (0, -1), (2, 1)):
        with pytest.raises(InvalidParameter, match=r"start|stop"):
            table.expected(start, stop)


FULL = """
import sys
import numpy as np
from holdfast.environments.tables import prefix_sums
from holdfast.data.records import read_trace
from holdfast.errors import HoldfastError
try:
    prefix_sums(read_trace(np.zeros((20_000, 8))), in_memory=0)
except HoldfastError as error:
    sys.exit(str(error))
"""


@pytest.mark.slow
def test_a_full_temporary_disk_is_an_error_and_not_the_end_of_the_process(small_disk):
    environment = {**os.environ, "TMPDIR": str(small_disk)}
    run = subprocess.run([sys.executable, "-c", FULL], env=environment, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.strip().endswith("cannot be used: No space left on device")


def test_a_part_is_the_table_of_its_rows():
    losses = np.random.default_rng(3).integers(0, 9, size=(40, 3)) / 8
    frame = pl.DataFrame(losses, schema=["a", "b", "c"]).with_row_index("round")
    part, own = LossTable(frame, index="round").part(13, 29), LossTable(losses[13:29])
    assert part.rounds == 16
    assert part.labels.tolist() == list(range(13, 29))
    assert part.reference == own.reference
    assert part.expected(2, 11).tolist() == own.expected(2, 11).tolist()
    assert part.excess(9).tolist() == own.excess(9).tolist()
    with pytest.raises(InvalidParameter, match="stop must be above start, 4; got 4"):
        LossTable(losses).part(4, 4)


def test_tables_with_other_losses_are_not_equal():
    """A table is equal to itself alone: its losses are not compared."""
    one, other = LossTable([[0.0, 1.0]] * 3), LossTable([[1.0, 0.0]] * 3)
    assert one != other
    assert one == one
    assert len({one, other}) == 2


# ---- forecasts and available arms

K, T = 3, 120
DRAW = np.random.default_rng(8)
TABLE = 100 * DRAW.integers(0, 9, (T, K)) / 8 - 20
FORECASTS = {t: TABLE[t : t + 9] + DRAW.normal(0, 10, TABLE[t : t + 9].shape) for t in range(0, T, 7)}
AVAILABLE = DRAW.random((T, K)) < 0.7
AVAILABLE[np.arange(T), DRAW.integers(K, size=T)] = True
CENTS = {"units": (-20.0, 80.0)}


def known_ahead(**known: object) -> hf.ForecastTable:
    return hf.ForecastTable(hf.LossTable(TABLE, **CENTS), **known)


@pytest.mark.plain
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("closing", [False, True])
@pytest.mark.parametrize(
    "policy",
    [
        hf.ForecastPlan(K, switching_cost=30.0, forecast_rounds=6, **CENTS),
        hf.RandomWalkPerturbation(K, **CENTS),
        hf.ShrinkingDartboard(K, switching_cost=30.0, horizon=T, **CENTS),
        hf.AdaptiveHedgeSwitch(
            K, switching_cost=30.0, experts=[FixedArm(1), FixedArm(2), GivenForecast(6)], forecast_rounds=6, **CENTS
        ),
    ],
    ids=lambda policy: policy.id,
)
def test_simulations_play_as_players_that_are_asked_with_them(policy, closing, shuffled):
    environment = known_ahead(forecasts=FORECASTS, shuffled=shuffled, **({"available": AVAILABLE} if closing else {}))
    result = hf.simulate(policy, environment, switching_cost=30.0, replications=3, seed=2, progress=False)
    last = result.frame.filter((result.frame["replication"] == 2) & (result.frame["round"] == T))
    stream = hf.Stream(2, "environment", 2)
    shift = int(stream.uniform() * K) if shuffled else 0
    order = [(i + shift) % K for i in range(K)]
    player, loss = policy.player(seed=2, replication=2), 0.0
    for t in range(T):
        ask = {"available": AVAILABLE[t][order].tolist()} if closing else {}
        if t in FORECASTS and policy.id in ("forecast-plan", "hedge-switch"):
            ask["forecast"] = FORECASTS[t][:, order]
        arm = player.ask(**ask)
        assert not closing or AVAILABLE[t][order][arm]
        loss += TABLE[t][order][arm]
        player.tell(TABLE[t][order].tolist())
    assert last["total_loss"].item() == pytest.approx(loss)
    assert last["switches"].item() == player.switches > 2


@pytest.mark.plain
def test_a_table_without_either_is_the_plain_table():
    policy = hf.RandomWalkPerturbation(K, **CENTS)
    plain = hf.simulate(policy, known_ahead().table, switching_cost=30.0, replications=1, progress=False)
    known = hf.simulate(policy, known_ahead(), switching_cost=30.0, replications=1, progress=False)
    assert known.frame.equals(plain.frame)
    assert known.provenance["environment"]["forecasts"] == 0


@pytest.mark.plain
def test_a_policy_that_sees_its_own_loss_plays_without_forecasts_and_not_with_closed_arms():
    bandit = hf.Exp3(K, **CENTS)
    plain = hf.simulate(bandit, known_ahead().table, switching_cost=30.0, replications=2, progress=False)
    known = hf.simulate(bandit, known_ahead(forecasts=FORECASTS), switching_cost=30.0, replications=2, progress=False)
    assert known.frame.equals(plain.frame)
    with pytest.raises(hf.InvalidParameter, match="must be one that sees the losses of all arms"):
        hf.simulate(bandit, known_ahead(available=AVAILABLE), switching_cost=30.0)


@pytest.mark.plain
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"forecasts": {T: TABLE[:2]}}, "round of a forecast"),
        ({"forecasts": {0: TABLE[0]}}, "forecast of round 0 must be rows of 3 finite numbers"),
        ({"forecasts": {0: [[1.0, np.nan, 0.0]]}}, "finite"),
        ({"available": AVAILABLE[1:]}, "120 rows of 3 True and False"),
        ({"available": np.zeros((T, K), dtype=bool)}, "at least one True"),
    ],
)
def test_what_does_not_fit_is_refused(known, said):
    with pytest.raises(hf.InvalidParameter, match=said):
        known_ahead(**known)
    with pytest.raises(hf.InvalidParameter, match="must be a LossTable"):
        hf.ForecastTable(TABLE)
