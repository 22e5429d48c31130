"""Results in print: 80 columns of a terminal, Markdown, LaTeX."""

import polars as pl
import pytest

import holdfast as hf
from holdfast.results import MEASURES, SCHEMA, Result
from holdfast.text import with_error


def made(values: dict[str, list[float]], round: int = 9) -> Result:
    """Policies with these values of every measure at the only round."""
    frames = [
        pl.DataFrame(
            {"policy": name, "replication": range(len(numbers)), "round": round}
            | {measure: [int(x) if measure == "switches" else x for x in numbers] for measure in MEASURES},
            schema=SCHEMA,
        )
        for name, numbers in values.items()
    ]
    return Result(pl.concat(frames))


def test_a_result_in_print():
    result = made({"tsallis-switch": [1.0, 3.0], "exp3": [10.0, 20.0]})
    assert repr(result) == "\n".join(
        [
            "<Result: 4 rows, 2 replications; at round 9, mean ± standard error>",
            "policy          pseudo-regret       switches  regret with switching",
            "tsallis-switch  2.000 ± 1.000  2.000 ± 1.000          2.000 ± 1.000",
            "exp3             15.00 ± 5.00   15.00 ± 5.00           15.00 ± 5.00",
            "",
            "policy             total loss     total cost",
            "tsallis-switch  2.000 ± 1.000  2.000 ± 1.000",
            "exp3             15.00 ± 5.00   15.00 ± 5.00",
        ]
    )
    assert str(result.final()) == repr(result).partition("\n")[2]


@pytest.mark.parametrize(
    "values",
    [
        {"a": [1e15, 3e15], "tsallis-switch-varying": [1.0, 2.0]},
        {"a name that is much longer than any terminal would like it to be, really": [1e9, 2.5e9], "exp3": [1.0, 2.0]},
        {"東京" * 12: [1e9, 2.5e9], "two\nlines": [1.0]},
        {"exp3": [0.0]},
    ],
)
def test_every_measure_is_shown_in_80_columns(values):
    result = made(values)
    for text in (repr(result), str(result.final())):
        assert all(len(line) <= 80 for line in text.splitlines())
        for words in MEASURES.values():
            assert words in text
    assert len(repr(result).splitlines()) < 2 + 5 * (len(values) + 2)


def test_what_differs_between_policies_is_a_column():
    result = Result.concat([made({"a": [1.0, 2.0]}), made({"b": [1.0]}, round=30)])
    first, head, *_ = repr(result).splitlines()
    assert first == "<Result: 3 rows; at the last round, mean ± standard error>"
    assert head.split()[:3] == ["policy", "round", "replications"]


def test_no_rows():
    assert repr(Result(pl.DataFrame(schema=SCHEMA))) == "<Result without rows>"


def test_the_last_round_is_still_a_table():
    final = made({"a": [1.0, 3.0]}).final()
    assert final["total_cost_mean"].to_list() == [2.0]
    assert final.filter(pl.col("policy") == "a").height == 1


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (0.0, 0.0, "0.000 ± 0.000"),
        (-12345.678, 1.2, "−12,346 ± 1"),
        (999.96, 0.04, "1,000.0 ± 0.0"),
        (3.2e-9, 1e-9, "0.000000 ± 0.000000"),
        (5e15, 2e14, "5e+15 ± 2e+14"),
        (float("nan"), None, "nan"),
        (float("inf"), float("nan"), "inf ± nan"),
        (None, None, "–"),
        (12.0, None, "12.00"),
    ],
)
def test_numbers(mean, error, text):
    assert with_error(mean, error) == text


def test_a_table_for_a_paper():
    result = made({"a_b|c": [1000.0, 3000.0], "exp3": [10.0, 20.0]})
    assert result.table(measures=["pseudo_regret", "total_cost"]) == "\n".join(
        [
            "| policy | pseudo-regret | total cost |",
            "| --- | ---: | ---: |",
            r"| a_b\|c | 2,000 ± 1,000 | 2,000 ± 1,000 |",
            "| exp3 | 15.00 ± 5.00 | 15.00 ± 5.00 |",
        ]
    )
    assert result.table(format="latex", measures=["pseudo_regret"]) == "\n".join(
        [
            r"\begin{tabular}{lr}",
            r"\hline",
            r"policy & pseudo-regret \\",
            r"\hline",
            r"a\_b|c & $2{,}000 \pm 1{,}000$ \\",
            r"exp3 & $15.00 \pm 5.00$ \\",
            r"\hline",
            r"\end{tabular}",
        ]
    )
    assert result.table("latex").count(" & ") == 3 * 5
    assert result.table().count("|") == 4 * 7 + 1


def test_tables_refuse_what_they_cannot_show():
    result = made({"exp3": [10.0, 20.0]})
    with pytest.raises(hf.InvalidParameter, match=r"format must be one of 'markdown', 'latex'; got 'html'"):
        result.table("html")
    with pytest.raises(hf.InvalidParameter, match=r"measures must be one of .*; got 'cost'"):
        result.table(measures=["cost"])
    for wrong in ("total_cost", [], 3):
        with pytest.raises(hf.InvalidParameter, match=r"measures must be a list of some of 'pseudo_regret'"):
            result.table(measures=wrong)
