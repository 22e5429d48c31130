"""The report as text: everything in it, everything escaped, written whole."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from holdfast.report import Row, Verdict, write_report

ODD = "<script>alert(1)</script> & \"quotes\" 'too' $dollar"
EASY = {"tsallis-switch": (np.sqrt, np.log1p), "exp3": (lambda t: 2 * np.sqrt(t), np.sqrt)}


class Outline(HTMLParser):
    """Ids, links, tags, and whether every element closes."""

    VOID = frozenset({"meta", "link", "img", "path", "br"})

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources, self.tags, self.open = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        self.sources += [given["src"]] if "src" in given else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def text(figures, verdicts, provenance, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert write_report(figures, verdicts, provenance, path) == path
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]
    return path.read_text(encoding="utf-8")


def without_plotly(text):
    return re.sub(r"<script>/\*\*.*?</script>", "", text, flags=re.DOTALL)


def test_well_formed_with_links_that_lead_somewhere(text):
    outline = Outline(text)
    assert outline.open == []
    assert len(set(outline.ids)) == len(outline.ids)
    inner = [link[1:] for link in outline.links if link.startswith("#")]
    assert set(inner) <= set(outline.ids)
    assert len(inner) > 20


def test_nothing_from_outside(text):
    outline = Outline(text)
    assert all(link.startswith(("#", "data:")) for link in outline.links)
    assert all(source.startswith("data:image/svg+xml;base64,") for source in outline.sources)
    assert "default-src 'none'" in text


def test_holds_what_was_given(text, figures, verdicts, provenance):
    rest = without_plotly(text)
    for figure in figures:
        assert f"<h2>{figure.title}</h2>" in rest
        assert figure.rerun in rest
    for verdict in verdicts:
        assert verdict.id in rest
    for key, value in provenance.items():
        assert f"<dt>{key}</dt><dd>{value}</dd>" in rest
    assert "16 hold" in rest
    assert "2 are conditional" in rest
    assert "2 fail<" in rest
    assert "28\u202f369" in rest
    assert text.count("plotly.js v") == 1


def test_the_lowest_is_marked(make_table, make_figure, tmp_path):
    figure = make_figure("f", (Row("", make_table(EASY, replications=3), {}),))
    text = write_report([figure], [], {}, tmp_path / "r.html").read_text(encoding="utf-8")
    body = text[text.index('<div class="finals">') : text.index('<div class="aside">')]
    rows = {row.split("<")[0]: row for row in body.split('<th scope="row">')[1:]}
    assert rows["tsallis-switch"].count('class="best"') == 3
    assert "best" not in rows["exp3"]
    assert "± " in rows["exp3"]


def test_one_replication_has_no_deviation(make_table, make_figure, tmp_path):
    figure = make_figure("f", (Row("", make_table(EASY, replications=1), {}),))
    text = write_report([figure], [], {}, tmp_path / "r.html").read_text(encoding="utf-8")
    body = text[text.index('<div class="finals">') : text.index('<div class="aside">')]
    assert "±" not in body
    assert "one replication" in body
    assert "NaN" not in without_plotly(text)


def test_specials_are_escaped_everywhere(make_table, make_figure, tmp_path):
    table = make_table({ODD: EASY["exp3"], "exp3": EASY["exp3"]}, replications=2, points=20)
    texts = dict.fromkeys(["title", "place", "see", "series_label", "rerun"], ODD)
    figure = make_figure(ODD, (Row(ODD, table, {ODD: 3.5}),), settings={ODD: ODD}, **texts)
    verdict = Verdict(ODD, ODD, ODD, ODD, "conditional", ODD, 1, ODD)
    path = write_report([figure], [verdict], {ODD: ODD}, tmp_path / "r.html")
    text = path.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert text.lower().count("</script>") == 3
    assert Outline(text).tags.count("script") == 3
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quotes&quot;" in text


def test_no_log_axis_unasked_below_zero(make_table, make_figure, tmp_path):
    far = {"a": (lambda t: 100 * t, np.sqrt), "b": (lambda t: t, np.sqrt), "c": (np.sqrt, np.sqrt)}
    below = {**far, "c": (lambda t: -np.sqrt(t), lambda t: 3 * np.sqrt(t))}
    figures = [make_figure(f"f{i}", (Row("", make_table(g, points=20), {}),)) for i, g in enumerate((far, below))]
    text = write_report(figures, [], {}, tmp_path / "r.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="curves">(.*?)</script>', text)[1])
    assert [figure["log"] for figure in data] == [[True, False, True], [False, False, True]]


def test_an_empty_report_is_a_page(tmp_path):
    text = write_report([], [], {}, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "0 claims" in text


def test_nothing_half_written(figures, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("before")
    with pytest.raises(AttributeError):
        write_report([figures[0], None], [], {}, path)
    assert path.read_text() == "before"
    with pytest.raises(OSError, match="none"):
        write_report([], [], {}, tmp_path / "none" / "report.html")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_verdict_is_one_of_three():
    with pytest.raises(ValueError, match=r"'claim-9' must be one of .* got 'maybe'"):
        Verdict("claim-9", "", "", "", "maybe", "", 1, "")
