"""Results in print: 80 columns of a terminal, Markdown, LaTeX."""

import polars as pl
import pytest
from made_results import made

import holdfast as hf
from holdfast.numerics.regret import MEASURES
from holdfast.results import SCHEMA, Result
from holdfast.text import with_error


def test_a_result_in_print():
    result = made(**{"tsallis-switch": [1.0, 3.0], "exp3": [10.0, 20.0]})
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
    result = made(**values)
    for text in (repr(result), str(result.final())):
        assert all(len(line) <= 80 for line in text.splitlines())
        for words in MEASURES.values():
            assert words in text
    assert len(repr(result).splitlines()) < 2 + 5 * (len(values) + 2)


def test_what_differs_between_policies_is_a_column():
    result = Result.concat([made(a=[1.0, 2.0]), made(30, b=[1.0])])
    first, head, *_ = repr(result).splitlines()
    assert first == "<Result: 3 rows; at the last round, mean ± standard error>"
    assert head.split()[:3] == ["policy", "round", "replications"]


def test_the_last_round_is_still_a_table():
    assert repr(Result(pl.DataFrame(schema=SCHEMA))) == "<Result without rows>"
    final = made(a=[1.0, 3.0]).final()
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
    result = made(**{"a_b|c": [1000.0, 3000.0], "exp3": [10.0, 20.0]})
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
            r"\toprule",
            r"policy & pseudo-regret \\",
            r"\midrule",
            r"a\_b|c & $2{,}000 \pm 1{,}000$ \\",
            r"exp3 & $15.00 \pm 5.00$ \\",
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )
    assert result.table("latex").count(" & ") == 3 * 5
    assert result.table().count("|") == 4 * 7 + 1


def test_signs_of_latex_in_names_are_escaped():
    shown = made(**{r"\ ~ ^ & % $ # _ { } λ Δ – −": [1.0, 2.0]}).table("latex", measures=["switches"]).splitlines()[4]
    assert shown.partition(" & $")[0] == (
        r"\textbackslash{} \textasciitilde{} \textasciicircum{} \& \% \$ \# \_ \{ \} $\lambda$ $\Delta$ -- $-$"
    )


def test_tables_refuse_what_they_cannot_show():
    result = made(exp3=[10.0, 20.0])
    with pytest.raises(hf.InvalidParameter, match=r"format must be one of 'markdown', 'latex'; got 'html'"):
        result.table("html")
    with pytest.raises(hf.InvalidParameter, match=r"measures must be one of .*; got 'cost'"):
        result.table(measures=["cost"])
    for wrong in ("total_cost", [], 3):
        with pytest.raises(hf.InvalidParameter, match=r"measures must be a list of some of 'pseudo_regret'"):
            result.table(measures=wrong)


def grid_result():
    """Two policies in two cells of a grid, four replications."""
    frames = []
    for cost, gain in ((0.1, 0.0), (1.0, 5.0)):
        part = made(a=[10.0, 12.0, 14.0, 9.0], b=[x + gain for x in (10.5, 11.0, 15.0, 9.5)]).frame
        frames.append(part.select(pl.lit(cost).alias("switching_cost"), pl.all()))
    return Result(pl.concat(frames))


def test_policies_are_compared_over_a_grid_with_holms_correction():
    result = grid_result()
    found = result.compare_all("a", measure="pseudo_regret")
    assert found["switching_cost"].to_list() == [0.1, 1.0]
    assert found["difference"].to_list() == pytest.approx([0.25, 5.25])
    one = Result(result.frame.filter(pl.col("switching_cost") == 1.0)).compare("b", "a", measure="pseudo_regret")
    assert found.row(1, named=True)["p"] == one.p
    assert found["p_holm"].to_list() == [max(found["p"][0], 2 * found["p"][1]), 2 * found["p"][1]]
    assert str(found).splitlines() == [
        "pseudo-regret, less that of a; 95% intervals",
        "λ    policy  difference     low   high      p  p (Holm)",
        "0.1  b           0.2500  −1.128  1.628  0.604     0.604",  # 0.25 ± 3.182·0.8660/√4
        "1    b            5.250   3.872  6.628  0.001     0.002",
    ]
    assert found.table("latex").splitlines()[2:6] == [
        r"$\lambda$ & policy & difference & low & high & p & p (Holm) \\",
        r"\midrule",
        r"0.1 & b & $0.2500$ & $-1.128$ & $1.628$ & $0.604$ & $0.604$ \\",
        r"1 & b & $\mathbf{5.250}$ & $\mathbf{3.872}$ & $\mathbf{6.628}$ & $0.001$ & $0.002$ \\",
    ]
    assert "**5.250**" in found.table()
    assert "less that of a; 95" in found._repr_html_()
    assert found.select("p").columns == ["p"]  # a polars table all the same
    wider = result.compare_all("a", measure="pseudo_regret", confidence=0.99)
    assert wider["high"][1] - wider["difference"][1] == pytest.approx(5.840909 * 0.8660254 / 2, rel=1e-6)
    assert str(wider).startswith("pseudo-regret, less that of a; 99% intervals")
    with pytest.raises(hf.InvalidParameter, match="must have another policy beside it"):
        made(a=[1.0, 2.0]).compare_all("a")
    assert "(99.9% confidence" in str(made(a=[1.0, 2.0], b=[2.0, 4.0]).compare("a", "b", confidence=0.999))


def test_what_holds_alone_but_not_among_several_is_not_in_bold():
    """Differences of 2, 3 and 4: t = 3√3, p = 0.035, and twice that beside another comparison."""
    result = made(a=[1.0, 1.0, 1.0], b=[3.0, 4.0, 5.0], c=[0.0, 1.0, 2.0])
    found = result.compare_all("a", measure="pseudo_regret")
    assert found["p"][0] == pytest.approx(0.035098718645984794)
    assert found["p_holm"][0] == pytest.approx(2 * 0.035098718645984794)
    assert "**" not in found.table()
    alone = Result(result.frame.filter(pl.col("policy") != "c")).compare_all("a", measure="pseudo_regret")
    assert "| b | **3.000** |" in alone.table()


def test_a_wide_table_has_a_column_for_each_policy_and_the_best_in_bold():
    shown = grid_result().table("latex", measures=["pseudo_regret"], wide=True, best=True)
    assert shown.splitlines()[2:6] == [
        r"$\lambda$ & a & b \\",
        r"\midrule",
        r"0.1 & $\mathbf{11.25 \pm 1.11}$ & $11.50 \pm 1.21$ \\",
        r"1 & $\mathbf{11.25 \pm 1.11}$ & $16.50 \pm 1.21$ \\",
    ]
    plain = grid_result().table(measures=["pseudo_regret"], best=True, spread="none").splitlines()
    assert plain[0] == "| λ | policy | pseudo-regret |"
    assert plain[2:4] == ["| 0.1 | a | **11.25** |", "| 0.1 | b | 11.50 |"]
    assert "± 3.53" in grid_result().table(measures=["pseudo_regret"], spread="interval")
    result = grid_result()
    holed = Result(result.frame.filter((pl.col("policy") == "a") | (pl.col("switching_cost") == 1.0)))
    assert holed.table(measures=["pseudo_regret"], wide=True).splitlines()[2:] == [
        "| 0.1 | 11.25 ± 1.11 | – |",
        "| 1 | 11.25 ± 1.11 | 16.50 ± 1.21 |",
    ]


def test_a_folder_is_read_as_one_result(tmp_path):
    result = grid_result()
    for i, cost in enumerate((0.1, 1.0)):
        Result(result.frame.filter(pl.col("switching_cost") == cost)).write(tmp_path / f"cell-{i}.parquet")
    assert Result.read(tmp_path).frame.equals(result.frame)


def test_pandas_has_the_same_rows():
    pytest.importorskip("pandas")
    result = grid_result()
    assert result.to_pandas().to_dict("list") == result.frame.to_dict(as_series=False)
