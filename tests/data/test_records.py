"""Records in the shapes people have them: German CSV files, long tables, gaps, doubled times, missing values."""

import numpy as np
import polars as pl
import pytest

import holdfast as hf
from holdfast.data.csv import CsvFormat
from holdfast.data.records import read_records

HOURS = 60
VALUES = np.random.default_rng(2).integers(0, 101, size=(HOURS, 2)) / 100


def german(rows=range(HOURS)):
    lines = ["Stunde;Nord;Süd"]
    for i in rows:
        numbers = ";".join(f"{value:.2f}".replace(".", ",") for value in VALUES[i])
        lines.append(f"{1 + i // 24:02d}.01.2026 {i % 24:02d}:00;{numbers}")
    return lines


def read_as_written(source, separator=",", decimal=".", **options):
    written = {name: options.pop(name) for name in ("thousands", "encoding", "empty") if name in options}
    return read_records(source, form=CsvFormat(separator, decimal, **written), **options)


@pytest.fixture
def read(tmp_path):
    def reading(lines, **options):
        (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return read_as_written(tmp_path / "t.csv", **options)

    return reading


GERMAN = {"index": "Stunde", "separator": ";", "decimal": ","}


def test_a_german_file(read):
    found = read(german(), **GERMAN)
    assert found.trace.arms == ("Nord", "Süd")
    assert found.trace.table.tolist() == VALUES.tolist()
    assert str(found.trace.labels[25]).startswith("2026-01-02T01:00")
    assert found.notes == ()


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"index": "Stunde"}, "not semicolons; save it so, or replay it with separator=';' and decimal=','"),
        ({}, {"index": "Stunde", "thousands": ","}, "not semicolons; save it so, or replay it with separator=';'"),
        ({}, {**GERMAN, "decimal": "."}, "line 2 of t.csv, column 'Nord'; write .* or replay it with decimal=','"),
        (
            {7: "01.01.2026 06:00;k.A.;0,5"},
            GERMAN,
            "in line 8 of t.csv, column 'Nord'; if it stands for a missing value, leave it empty, or replay it with "
            "empty='k.A.' and fill='last'; got 'k.A.'",
        ),
        (
            {7: "01.01.2026 06:00;1.100;0,5"},
            GERMAN,
            "leave out the points between thousands, or replay it with thousands='.'; got '1.100'",
        ),
        (
            {7: "01.01.2026 06:00;1.100,25;0,5"},
            GERMAN,
            "points between thousands, or replay it with thousands='.'; got '1.100,25'",
        ),
        ({7: "01.01.2026 06:00;0.5;0,5"}, GERMAN, "must have a number in line 8 .* got '0.5'"),
        (
            {0: "Stunde;bis;Nord;Süd", 1: "01.01.2026 00:00;01.01.2026 01:00;0,5;0,5"},
            GERMAN,
            r"in line 2 of t.csv, column 'bis'; if the column has no losses, name those that have: arms=\[...\]",
        ),
        ({7: "01.01.2026 06:00;0,5"}, GERMAN, "3 columns in every line, as in the first; line 8 of t.csv has 2"),
        (
            {7: "01.01.2026 06:00;;0,5"},
            GERMAN,
            "line 8 of t.csv, column 'Nord'; it is missing: fill it in, or give fill='last'",
        ),
        ({}, {**GERMAN, "separator": ",,"}, "separator must be one character"),
        ({}, {**GERMAN, "separator": ","}, "decimal must not be what stands between columns"),
        ({}, {**GERMAN, "decimal": "'"}, r"decimal must be \. or ,"),
        ({}, {**GERMAN, "fill": "mean"}, "fill must be one of 'last', 'ignore'"),
        ({}, {**GERMAN, "missing": "0"}, "missing must be one of 'unavailable'|missing must be 'unavailable'"),
    ],
)
def test_mistakes_have_their_line_and_column(read, change, options, message):
    lines = german()
    for line, text in change.items():
        lines[line] = text
    with pytest.raises(hf.InvalidParameter, match=message):
        read(lines, **options)


EXPORT = [
    "Stunde;Süd €/MWh;Nord €/MWh",
    "01.01.2026 00:00;1.342,30;n/v",
    "01.01.2026 01:00;80,25;-1.005",
    "01.01.2026 02:00; 12.345.678,5 ;k.A.",
    "01.01.2026 03:00;1342,5;n/v",
]
AS_WRITTEN = {**GERMAN, "encoding": "cp1252", "thousands": ".", "empty": ["n/v", "k.A."]}


@pytest.fixture
def export(tmp_path):
    (tmp_path / "preise.csv").write_bytes("\r\n".join(EXPORT).encode("cp1252"))
    return tmp_path / "preise.csv"


def test_a_german_export(export):
    found = read_as_written(export, **AS_WRITTEN, missing="unavailable")
    assert found.trace.arms == ("Süd €/MWh", "Nord €/MWh")
    assert found.trace.table[:, 0].tolist() == [1342.3, 80.25, 12345678.5, 1342.5]
    assert found.trace.table[1, 1] == -1005
    assert found.closed.tolist() == [[False, True], [False, False], [False, True], [False, True]]
    assert found.notes[0].startswith("3 values were missing, the first in line 2 of preise.csv (2026-01-01 00:00)")


def test_all_that_is_wrong_with_an_export_is_said_at_once(export):
    with pytest.raises(hf.InvalidParameter) as told:
        read_as_written(export, index="Stunde")
    message = str(told.value)
    for words in (
        "source must be text in UTF-8; save it so, in a spreadsheet as CSV UTF-8, or replay it with encoding='cp1252'",
        "; also semicolons between columns: separator=';' and decimal=','; ",
        "; points between thousands (in line 2 of preise.csv, column 'Süd €/MWh'): thousands=",
        "; a cell is 'n/v' (in line 2 of preise.csv, column 'Nord €/MWh'): if missing, empty='n/v' and fill=",
    ):
        assert words in message
    with pytest.raises(hf.InvalidParameter, match="; it is missing: fill it in, or give fill="):
        read_as_written(export, **AS_WRITTEN)


@pytest.mark.parametrize(
    ("thousands", "cell"), [(",", '"1,342.5"'), ("'", "1'342.5"), (" ", "1 342.5"), (" ", "1\u00a0342.5")]
)
def test_signs_between_thousands(read, thousands, cell):
    assert read(["a,b", f"{cell},1", "2,3"], thousands=thousands).trace.table.tolist() == [[1342.5, 1], [2, 3]]
    with pytest.raises(hf.InvalidParameter, match=f"between thousands, or replay it with thousands={thousands!r}"):
        read(["a,b", f"{cell},1", "2,3"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": "ansi-1252"}, "encoding must be an encoding that Python knows, such as cp1252"),
        ({"encoding": "base64"}, "encoding must be an encoding that Python knows"),
        ({"encoding": "ascii"}, "source must be text in ascii, the encoding that was given"),
        ({"thousands": ","}, "thousands must be ., ' or a space, and not the decimal sign"),
        ({"thousands": "x"}, "thousands must be"),
        ({"empty": [0]}, "empty must be texts that stand for a missing value"),
    ],
)
def test_a_format_that_is_none(export, options, message):
    with pytest.raises(hf.InvalidParameter, match=message):
        read_as_written(export, **{**AS_WRITTEN, **options})


def test_of_each_kind_the_first_mistake_is_named(read):
    with pytest.raises(hf.InvalidParameter) as told:
        read(["x,y", "1,2", "a,2", "b,2", ",2", '"1,5",2', '"2,5",2'])
    assert "line 3 of t.csv, column 'x'; if it stands for a missing value" in str(told.value)
    assert "; also a cell is missing (in line 5 of t.csv, column 'x'); decimal commas (in line 6 of" in str(told.value)
    assert "'b'" not in str(told.value)


def test_a_long_file_is_looked_at_for_a_while(read, monkeypatch):
    """From the first mistake on."""
    monkeypatch.setattr("holdfast.data.csv.MOST_LINES", 3)
    with pytest.raises(hf.InvalidParameter) as told:
        read(["x,y", "1,2", "a,2", "2,2", "2,2", "2,2", "2,2", ",2"])
    assert "; also" not in str(told.value)
    with pytest.raises(hf.InvalidParameter, match=r"line 7 of t\.csv, column 'x'.*got 'a'"):
        read(["x,y", *["1,2"] * 5, "a,2"])


def test_a_loss_outside_the_units_names_both_ways():
    with pytest.raises(hf.InvalidParameter, match=r"give units=\(lowest, highest\), or rescale=True to take them"):
        hf.replay(pl.DataFrame({"a": [0.5, 7.0], "b": [1.0, 2.0]}), "adaptive", switching_cost=1)


def test_a_loss_in_a_late_piece_has_its_own_line(read):
    trace = read(["x,y", *["0.5,0.5"] * 5, "0.5,1.5"]).trace
    with pytest.raises(hf.InvalidParameter, match=r"in line 7 of t.csv, column 'y'.*got 1\.5"):
        list(trace.checked_pieces((0.0, 1.0), rows=4))
    assert [first for first, _ in trace.checked_pieces((0.0, 2.0), rows=4)] == [0, 4]
    assert trace.range() == (0.5, 1.5)


@pytest.mark.parametrize(("kind", "number"), [(pl.Int32, 2**24 + 1), (pl.UInt16, 2**16 - 1), (pl.Float64, 0.1)])
def test_numbers_of_a_frame_keep_every_digit(kind, number):
    frame = pl.DataFrame({"a": [number], "b": [1]}, schema={"a": kind, "b": pl.Int8})
    assert read_records(frame).trace.table.tolist() == [[number, 1]]


def test_tabs(read):
    found = read([line.replace(";", "\t").replace(",", ".") for line in german()], index="Stunde", separator="\\t")
    assert found.trace.table.tolist() == VALUES.tolist()


def test_a_gap_is_refused_filled_or_ignored(read):
    rows = [*range(7), *range(12, HOURS)]
    with pytest.raises(
        hf.InvalidParameter, match=r"a row for each hour; 5 are missing between line 8 \(2026-01-01 06:00\)"
    ):
        read(german(rows), **GERMAN)
    filled = read(german(rows), **GERMAN, fill="last")
    assert filled.trace.table.tolist() == VALUES[[*range(7), *[6] * 5, *range(12, HOURS)]].tolist()
    assert (np.diff(filled.trace.labels) == np.timedelta64(1, "h")).all()
    assert filled.notes == ("missing rows: 5, the first after 2026-01-01 06:00; the row before was repeated",)
    assert len(read(german(rows), **GERMAN, fill="ignore").trace.table) == HOURS - 5


def test_a_doubled_time_is_refused_or_its_last_row_taken(read):
    lines = german()
    lines.insert(8, lines[7].replace(lines[7].split(";")[1], "0,77"))
    with pytest.raises(
        hf.InvalidParameter, match=r"each time once; line 8 and line 9 have the same; .*got '2026-01-01 06:00'"
    ):
        read(lines, **GERMAN)
    filled = read(lines, **GERMAN, fill="last")
    assert len(filled.trace.table) == HOURS
    assert filled.trace.table[6, 0] == 0.77
    assert filled.notes[0].startswith("doubled times: 1, the first 2026-01-01 06:00")


def test_gaps_and_doubled_times_together(read):
    """A clock that is set back in autumn and put forward in spring: each hour once."""
    rows = [*range(10), *range(11, 40), 39, *range(40, HOURS)]
    filled = read(german(rows), **GERMAN, fill="last")
    assert filled.trace.table.tolist() == VALUES[[*range(10), 9, *range(11, HOURS)]].tolist()
    assert len(filled.notes) == 2


def test_times_that_are_not_regular_have_no_gaps(read):
    days = [1, 2, 5, 6, 7, 8, 9, 12, 13, 14]  # no weekends
    assert len(read(["day,a,b", *(f"2026-01-{d:02},0.5,0.25" for d in days)], index="day").trace.table) == 10


def test_the_step_is_the_usual_one_and_not_the_shortest(read):
    times = [*(f"{hour:02}:00" for hour in range(12)), "11:30"]
    assert len(read(["t,a,b", *(f"2026-01-01 {time},0.5,0.25" for time in times)], index="t").trace.table) == 13


@pytest.mark.parametrize("regular", [True, False])
def test_nine_of_ten_equal_steps_are_regular(read, regular):
    rows = ["t,a,b", *(f"2026-01-01 {hour:02}:00,0.5,0.25" for hour in (*range(10 if regular else 9), 20))]
    if not regular:
        assert len(read(rows, index="t").trace.table) == 10
        return
    with pytest.raises(hf.InvalidParameter, match=r"a row for each hour; 10 are missing between line 11 \("):
        read(rows, index="t")


@pytest.mark.parametrize(
    ("text", "label", "kind"),
    [
        ("7", "7", "i"),
        ("7.5", "7.5", "f"),
        ("2026-02-01 03:04", "2026-02-01 03:04", "M"),
        ("01.02.2026 03:04", "2026-02-01 03:04", "M"),
        ("01.02.2026 03:04:05", "2026-02-01 03:04", "M"),
        ("2026-02-01", "2026-02-01 00:00", "M"),
        ("01.02.2026", "2026-02-01 00:00", "M"),
        ("first", "first", "O"),
    ],
)
def test_times_and_names_of_rounds(read, text, label, kind):
    trace = read(["t,a,b", f"{text},0.5,0.25"], index="t").trace
    assert (trace.label(0), trace.labels.dtype.kind) == (label, kind)


def test_numbers_that_are_skipped_or_doubled_are_said(read):
    rows = [f"{number},0.5,0.25" for number in (*range(20), 19, *range(25, 60))]
    found = read(["id,a,b", *rows], index="id")
    assert len(found.trace.table) == 56
    assert found.notes == (
        "numbers of rounds that are doubled: 1, the first 19; the rows were played as they are",
        "numbers of rounds that are missing: 5, the first after 19; the rows were played as they are",
    )


def test_one_row_and_doubled_times_alone(read):
    assert len(read(["t,a,b", "2026-01-01,0.5,0.25"], index="t").trace.table) == 1
    with pytest.raises(hf.InvalidParameter, match="each time once"):
        read(["t,a,b", *["2026-01-01,0.5,0.25"] * 3], index="t")
    assert len(read(["t,a,b", *["2026-01-01,0.5,0.25"] * 3], index="t", fill="last").trace.table) == 1


def test_missing_values_are_filled_or_not_available(read):
    lines = german()
    lines[7] = "01.01.2026 06:00;;0,5"
    lines[8] = "01.01.2026 07:00;;0,5"
    filled = read(lines, **GERMAN, fill="last")
    assert filled.trace.table[6:8, 0].tolist() == [VALUES[5, 0]] * 2
    assert filled.notes == (
        "2 values were missing, the first in line 8 of t.csv (2026-01-01 06:00), column 'Nord': "
        "filled with the last one known",
    )
    shut = read(lines, **GERMAN, missing="unavailable")
    assert np.argwhere(shut.closed).tolist() == [[6, 0], [7, 0]]
    lines[1] = "01.01.2026 00:00;;0,5"
    with pytest.raises(hf.InvalidParameter, match=r"line 2 of t.csv .*there is none before it to fill in"):
        read(lines, **GERMAN, fill="last")


LONG = [
    f"2026-01-{1 + i // 24:02d}T{i % 24:02d}:00,{arm},{VALUES[i, j]}"
    for i in range(HOURS)
    for j, arm in enumerate(("east", "west"))
]
HEAD = "time,region,loss"
BROKEN = LONG[4].rpartition(",")[0] + ",x"


def test_a_long_table_is_the_wide_one(read):
    for lines in (LONG, sorted(LONG, reverse=True)):  # times are put in order
        found = read([HEAD, *lines], long=("time", "region", "loss"), arms=["east", "west"])
        assert found.trace.table.tolist() == VALUES.tolist()
        assert found.index == "time"
    assert read([HEAD, *LONG], long="time,region,loss").trace.arms == ("east", "west")
    frame = pl.DataFrame({"t": [1, 1, 2, 2], "who": ["a", "b"] * 2, "x": [0.1, 0.2, 0.3, 0.4]})
    assert read_as_written(frame, long=("t", "who", "x")).trace.table.tolist() == [[0.1, 0.2], [0.3, 0.4]]


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (LONG, {"index": "time"}, "column 'region'; if each row has .*, replay it with long='time,region,loss'"),
        (LONG, {"long": ("time", "region", "los")}, "did you mean 'loss'"),
        (LONG, {"long": ("time", "region")}, "long must be the names of three columns: time, arm and loss"),
        (LONG, {"long": ("time", "region", "loss"), "index": "time"}, "index must be left out with long="),
        ([*LONG[:4], LONG[3], *LONG[4:]], {"long": "time,region,loss"}, "line 5 and line 6 both have one"),
        ([*LONG[:4], *LONG[5:]], {"long": "time,region,loss"}, "loss for .east. at 2026-01-01 02:00; give fill="),
        ([*LONG[:4], BROKEN, *LONG[5:]], {"long": "time,region,loss"}, "line 6 of t.csv, column 'loss'"),
    ],
)  # fmt: skip
def test_mistakes_in_long_tables(read, lines, options, message):
    with pytest.raises(hf.InvalidParameter, match=message):
        read([HEAD, *lines], **options)


def test_a_long_table_with_holes(read):
    lines = [HEAD, *LONG[:4], *LONG[5:]]
    assert read(lines, long="time,region,loss", fill="last").trace.table[2, 0] == VALUES[1, 0]
    assert np.argwhere(read(lines, long="time,region,loss", missing="unavailable").closed).tolist() == [[2, 0]]


def test_columns_by_name_may_stand_beside_others(read):
    lines = ["id,a,note,b", *(f"r{i},0.{i},hello,0.5" for i in range(1, 9))]
    assert read(lines, arms=["b", "a"]).trace.table[0].tolist() == [0.5, 0.1]
    assert read(lines, index="id", arms=["a", "b"]).trace.labels[0] == "r1"
    with pytest.raises(hf.InvalidParameter, match="arms must be one of 'id', 'a', 'note', 'b'; got 'c'"):
        read(lines, arms=["a", "c"])
    with pytest.raises(hf.InvalidParameter, match="column 'note'; got 'hello'"):
        read(lines, arms=["a", "note"])
