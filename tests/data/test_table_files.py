"""Files that are no tables of losses: the row, the column, what is wrong and what to do."""

import gzip

import numpy as np
import polars as pl
import pytest

from holdfast import InvalidParameter, LossTable

HEADER = r"must have a header line of arm names before the first round; "

MISTAKES = {
    "numbers first": ("0.5,0.25\n1,0\n", HEADER + r"'0\.5' in its first line is a number; got '0\.5,0\.25'"),
    "a hole first": ("0.5,,1e-3\n1,0,0\n", HEADER + r".*got '0\.5,,1e-3'"),
    "text and numbers first": ("2024-01-01,0.5,0.1\n2024-01-02,1,0\n", HEADER + r"'0\.5' in its first line"),
    "numbers in quotes first": ('"0","1"\n0.5,0.5\n', HEADER + r".*got '0,1'"),
    "nothing": ("", r"must be a \.csv table; its first line is empty"),
    "no rounds": ("a,b\n", r"must be a table of numbers .*; it has no rows: it needs one per round"),
    "one column": ("a\n0.5\n", r"must have at least two columns of losses, one per arm, with commas.*; got 'a'"),
    "text": ("a,b\n1,0\n1,x\n", r"in line 3 of t\.csv, column 'b'; if .*, leave it empty, or replay .*; got 'x'"),
    "text at once": ("t,a,b\nmon,0,1\n", r"in line 2 of t\.csv, column 't'; if .* give index='t'; got 'mon'"),
    "missing": ("a,b\n1,0\n1,\n", r"in line 3 of t\.csv, column 'b'; it is missing: fill it in, or leave out the row"),
    "nan": ("a,b\n1,nan\n", r"a number from 0 to 1 in line 2 of t\.csv, column 'b'; it is missing"),
    "too large": ("a,b\n1,0\n0,1.5\n", r"from 0 to 1 in line 3 of t\.csv, column 'b'; give units=.*; got 1\.5"),
    "a short line": ("a,b\n1,0\n0.5\n", r"must have 2 columns in every line, .*; line 3 of t\.csv has 1; got '0\.5'"),
    "a long line": ("a,b\n1,0,0.5\n", r"must have 2 columns in every line, .*; line 2 of t\.csv has 3; got '1,0,0\.5'"),
    "an empty line": ("a,b\n1,0\n\n0,1\n", r"must not have empty lines between rounds, as line 3 of t\.csv is"),
    "twins": ("a,b,a\n1,0,1\n", r"must not have two columns of one name; columns 1 and 3 have; got 'a'"),
    "semicolons": ("a;b\n0,5;1\n", r"must have commas between columns and points in numbers, not semicolons"),
    "tabs": ("a\tb\n1\t0\n", r"must have commas between columns and points in numbers, not tabs"),
    "decimal commas": ('a,b\n1,0\n"0,5",1\n', r"points in .* line 3 of t\.csv, column 'a'; write 0\.5; got '0,5'"),
    "bare decimal commas": ("a,b\n0,5,0,5\n", r"line 2 of t\.csv has 4; are there decimal commas\? Write 0\.5"),
    "no name": (",a,b\n0,1,0\n", r"must have a name for each column; number 1 has none \(pandas .*: give index=''"),
    "old lines": ("a,b\r1,0\r", r"must have lines that end in "),
    "another code": ("a,b\n1,0\n".encode("utf-16"), r"must be text in UTF-8; .* or replay it with encoding='utf-16'"),
    "another code later": ("a,b\n1,0\n1,é\n".encode("latin1"), r"must be text in UTF-8; .*; also a cell is 'é'"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_in_csv_files_are_named(tmp_path, name):
    content, message = MISTAKES[name]
    (tmp_path / "t.csv").write_bytes(content if isinstance(content, bytes) else str(content).encode())
    with pytest.raises(InvalidParameter, match=f"^source .*{message}"):
        LossTable(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "2024-01-01 03:00,1,0\n2024-01-01 02:00,1,0\n",
            r"does not run backwards, as it does from row 1 to row 2; sort",
        ),
        ("3,1,0\n2,1,0\n", r"does not run backwards.*; got '2 after 3'"),
        ("3,1,0\n,1,0\n", r"must have a value in every row of the index column 't'; row 2 has none"),
    ],
)
def test_a_column_of_times_that_is_none_is_named(tmp_path, content, message):
    (tmp_path / "t.csv").write_text("t,a,b\n" + content)
    with pytest.raises(InvalidParameter, match=message):
        LossTable(tmp_path / "t.csv", index="t")
    with pytest.raises(InvalidParameter, match=r"index must be one of 't', 'a', 'b'; got 'tt'; did you mean 't'"):
        LossTable(tmp_path / "t.csv", index="tt")
    with pytest.raises(InvalidParameter, match="index must be left out: an array has no names of columns"):
        LossTable(np.zeros((2, 2)), index="t")


def test_blank_lines_at_the_end_are_no_rounds(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\r\n1,0\r\n\r\n \r\n")
    assert LossTable(tmp_path / "t.csv").rounds == 1
    (tmp_path / "t.csv").write_text("a,b\n1,0\n,\n")
    with pytest.raises(InvalidParameter, match=r"line 3 of t\.csv, column 'a'; it is missing"):
        LossTable(tmp_path / "t.csv")


@pytest.mark.parametrize("name", ["t.xls", "t", "csv", "t.gz", "t.npz"])
def test_other_files_are_refused(tmp_path, name):
    (tmp_path / name).write_text("a,b\n0,1\n")
    with pytest.raises(InvalidParameter, match=r"^source must end in \.csv, \.csv\.gz, \.parquet, .* or \.npy; got"):
        LossTable(tmp_path / name)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "npy", "csv.gz"])
def test_damaged_files_are_answered_in_one_line(tmp_path, suffix):
    """Every byte of a small file changed, and the file cut anywhere: a table or an InvalidParameter, nothing else."""
    file, frame = tmp_path / f"t.{suffix}", pl.DataFrame({"east": [0.0, 0.5, 1.0], "west": [1.0, 0.25, 0.0]})
    if suffix == "npy":
        np.save(file, frame.to_numpy())
    elif suffix == "csv.gz":
        file.write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        (frame.write_parquet if suffix == "parquet" else frame.write_ipc)(file)
    whole = file.read_bytes()
    refused = 0
    changed = [whole[:i] + bytes([whole[i] ^ 0xFF]) + whole[i + 1 :] for i in range(0, len(whole), 3)]
    for content in [*changed, *(whole[:i] for i in range(0, len(whole), 7))]:
        file.write_bytes(content)
        try:
            LossTable(file)
        except InvalidParameter:
            refused += 1
    assert refused > len(whole) / 7


@pytest.mark.plain
def test_a_file_that_is_no_table_is_refused(tmp_path):
    for name, content in (("text.npy", b"not an array"), ("empty.npy", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidParameter, match=r"source must be the path of a .npy file .*got .*" + name):
            LossTable(tmp_path / name)
    np.save(tmp_path / "pickled.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidParameter, match="source must be"):
        LossTable(tmp_path / "pickled.npy")
    with pytest.raises(InvalidParameter, match=r"source must be a file; there is none; got .*none\.csv"):
        LossTable(tmp_path / "none.csv")
    pl.DataFrame({"t": ["x"], "a": [0.5], "b": [1.0]}).write_parquet(tmp_path / "text.parquet")
    with pytest.raises(
        InvalidParameter, match=r"column of numbers for each arm, .*'t' is one of String \(give index='t'"
    ):
        LossTable(tmp_path / "text.parquet")
    pl.DataFrame({"a": [0.5]}).write_parquet(tmp_path / "one.parquet")
    with pytest.raises(InvalidParameter, match=r"must have at least two columns of losses, one per arm; got"):
        LossTable(tmp_path / "one.parquet")
