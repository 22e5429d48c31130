"""The drawn figures: written whole, the same bytes each time, any labels."""

import struct

import numpy as np
import polars as pl
import pytest
from holdfast.report.figures import svg
from holdfast.report.summary import KNOWN, curves, dwarfed, number, ordered

from holdfast.report import Row, draw
from holdfast.report.palette import looks

EASY = {"tsallis-switch": (np.sqrt, np.log1p), "exp3": (lambda t: 2 * np.sqrt(t), np.sqrt)}


def test_three_files_of_their_kind(figures, tmp_path):
    paths = draw(figures[1], tmp_path / "new")
    assert [path.name for path in paths] == [f"constrained-hard.{kind}" for kind in ("png", "svg", "pdf")]
    png, svg_text, pdf = (path.read_bytes() for path in paths)
    assert struct.unpack(">II", png[16:24])[0] == 1365
    assert len(png) < 300_000
    assert svg_text.startswith(b"<?xml")
    assert pdf.startswith(b"%PDF")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(path.name for path in paths)


def test_same_figure_same_bytes(figures, tmp_path):
    first = draw(figures[0], tmp_path / "a")
    second = draw(figures[0], tmp_path / "b")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.suffix


def test_one_replication_has_no_band(make_table, make_figure):
    single = make_figure("one", (Row("", make_table(EASY, replications=1), {}),))
    several = make_figure("two", (Row("", make_table(EASY, replications=2), {}),))
    assert b"FillBetween" not in svg(single)
    assert b"FillBetween" in svg(several)


@pytest.mark.parametrize("label", ["a$x$ <b>&", "_hidden", "", "100%"])
def test_any_label(label, make_table, make_figure, tmp_path):
    table = make_table({label: EASY["exp3"], "other": EASY["exp3"]}, replications=2, points=20)
    assert len(draw(make_figure("odd", (Row(label, table, {}),), title=label), tmp_path)) == 3


@pytest.mark.parametrize(
    "growth",
    [lambda t: 0 * t, lambda t: -0.3 * t, lambda t: 1e-3 * t / t],
    ids=["zero", "negative", "small"],
)
def test_any_values(growth, make_table, make_figure, tmp_path):
    table = make_table({**EASY, "other": (growth, growth)}, replications=2, points=20)
    assert len(draw(make_figure("values", (Row("", table, {}),)), tmp_path)) == 3


def test_dwarfed_panels_say_their_scale(figures):
    adversarial = curves(figures[2].rows[0].frame)
    assert dwarfed([adversarial], 0)
    assert not dwarfed([curves(figures[3].rows[0].frame)], 0)
    assert not dwarfed([adversarial[:1]], 0)


def test_a_policy_looks_the_same_everywhere():
    alone, together = looks(["exp3"]), looks([*KNOWN, "mine"])
    assert alone["exp3"] == together["exp3"]
    for part in ("light", "dark", "dash", "marker"):
        assert len({getattr(look, part) for look in together.values()}) == len(together), part


def test_numbers_run_through_one_palette():
    labels = [str(n) for n in range(1, 8)]
    sequence = looks(labels)
    assert len({look.light for look in sequence.values()}) == 7
    assert sequence["1"].light == "#440154"
    assert ordered(["10", "9", "0.5"]) == ["0.5", "9", "10"]


def test_many_series_stay_apart():
    many = looks([f"series {i}" for i in range(40)])
    assert len({(look.light, look.dash) for look in many.values()}) == 40


def test_curves_are_mean_and_sample_deviation():
    frame = pl.DataFrame(
        {
            "policy": ["b", "b", "a", "a"],
            "replication": [0, 1, 0, 1],
            "round": [5, 5, 5, 5],
            "pseudo_regret": [1.0, 3.0, 0.0, 0.0],
            "switches": [2, 4, 1, 1],
            "regret_with_switching": [3.0, 7.0, 1.0, 1.0],
        }
    )
    b, a = curves(frame)
    assert (b.label, a.label, b.replications) == ("b", "a", 2)
    np.testing.assert_allclose(b.mean[:, 0], [2, 3, 5])
    np.testing.assert_allclose(b.sd[:, 0], [2**0.5, 2**0.5, 8**0.5])


def test_thinning_keeps_ends(make_table):
    line = curves(make_table(EASY, points=4000))[0]
    thin = line.thin(even=120, log=80)
    assert thin.rounds.size <= 200 < line.rounds.size
    assert (thin.rounds[0], thin.rounds[-1]) == (line.rounds[0], line.rounds[-1])


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [(12345.6, 0, "12\u202f346"), (-1234.5, 1, "−1\u202f234.5"), (-0.001, 2, "0.00"), (7, 0, "7")],
)
def test_numbers(value, places, text):
    assert number(value, places) == text
