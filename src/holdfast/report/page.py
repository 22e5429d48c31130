"""The report: one HTML page that needs nothing but itself.

The page's text, look and behaviour are in `page.html`, `figure.html`, `page.css` and `page.js`; here they are
filled. Everything that comes from outside goes through `html.escape`, or into JSON without a `<`.
"""

import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from plotly.offline import get_plotlyjs

from holdfast.report.content import VERDICTS, Figure, Verdict
from holdfast.report.figures import svg
from holdfast.report.files import write_whole
from holdfast.report.palette import Look, looks
from holdfast.report.summary import MEASURE_LABELS, Curve, curves, decimals, dwarfed, number, ordered

_SIGNS = {"holds": "✓", "conditional": "◐", "fails": "✗"}
_ANSWERS = {"yes": "✓", "no": "✗", "open": "?"}
_COUNTED = {
    "holds": ("holds", "hold"),
    "conditional": ("is conditional", "are conditional"),
    "fails": ("fails", "fail"),
}


def write_report(
    figures: Sequence[Figure], verdicts: Sequence[Verdict], provenance: Mapping[str, str], path: Path
) -> Path:
    """Write the page to `path`, whole or not at all, and return the path."""
    rows = [[curves(row.frame) for row in figure.rows] for figure in figures]
    text = _fill(
        "page.html",
        css=_resource("page.css"),
        js=_resource("page.js"),
        plotly=get_plotlyjs(),
        contents="\n".join(
            f'    <li><a href="#{_anchor(figure.name)}">{escape(figure.title)}</a></li>' for figure in figures
        ),
        summary=_summary(verdicts),
        filters=_filters(verdicts),
        ledger="\n".join(_ledger_row(verdict, figures) for verdict in verdicts),
        figures="\n".join(
            _figure(index, figure, lines, [v for v in verdicts if v.figure == figure.name])
            for index, (figure, lines) in enumerate(zip(figures, rows, strict=True))
        ),
        provenance=_pairs(provenance),
        # A label with "</script>" in it must not end the script.
        curves=json.dumps([_data(lines) for lines in rows], separators=(",", ":")).replace("<", "\\u003c"),
    )
    return write_whole(path, text.encode())


def _resource(name: str) -> str:
    return files("holdfast.report").joinpath(name).read_text(encoding="utf-8")


def _fill(name: str, **values: str) -> str:
    return Template(_resource(name)).substitute(values)


def _anchor(name: str) -> str:
    return "figure-" + re.sub(r"[^\w-]+", "-", name)


def _claim_anchor(verdict: Verdict) -> str:
    return "claim-" + re.sub(r"[^\w-]+", "-", verdict.id)


# ---- the ledger ----


def _verdict(verdict: str, text: str) -> str:
    return (
        f'<span class="verdict" data-verdict="{verdict}">'
        f'<span class="sign" aria-hidden="true">{_SIGNS[verdict]}</span>{text}</span>'
    )


def _summary(verdicts: Sequence[Verdict]) -> str:
    count = Counter(verdict.verdict for verdict in verdicts)
    parts = [_verdict(kind, f"{count[kind]} {_COUNTED[kind][count[kind] != 1]}") for kind in VERDICTS if count[kind]]
    return f"{len(verdicts)} claim{'' if len(verdicts) == 1 else 's'} {' '.join(parts)}"


def _filters(verdicts: Sequence[Verdict]) -> str:
    count = Counter(verdict.verdict for verdict in verdicts)
    buttons = [f'<button type="button" data-show="all" aria-pressed="true">all {len(verdicts)}</button>']
    buttons += [
        f'<button type="button" data-show="{kind}" aria-pressed="false">{_SIGNS[kind]} {kind} {count[kind]}</button>'
        for kind in VERDICTS
    ]
    return "".join(buttons)


def _ledger_row(verdict: Verdict, figures: Sequence[Figure]) -> str:
    place = escape(verdict.place)
    if verdict.figure in {figure.name for figure in figures}:
        place += f'<span class="to-figure"> · <a href="#{_anchor(verdict.figure)}">figure</a></span>'
    condition = (
        f'<span class="condition"><b>Condition:</b> {_text(verdict.condition)}</span>' if verdict.condition else ""
    )
    times = f"{number(verdict.replications)} replication{'' if verdict.replications == 1 else 's'}"
    if verdict.replications == 0:
        times = "computed from the formulas"
    return (
        f'    <tr id="{_claim_anchor(verdict)}" data-verdict="{verdict.verdict}">'
        f"<td>{_verdict(verdict.verdict, verdict.verdict)}</td>"
        f"<td>{_text(verdict.claim)}{condition}"
        f'<span class="note"><span class="id">{escape(verdict.id)}</span> · {place}</span></td>'
        f'<td>{_text(verdict.measurement)}<span class="note">{times}</span>{_parts(verdict)}</td></tr>'
    )


def _parts(verdict: Verdict) -> str:
    """The single measurements, folded away where they are many."""
    if not verdict.parts:
        return ""
    items = "".join(
        f'<li><span class="sign">{_ANSWERS.get(outcome, "")}</span>{_text(shown)}</li>'
        for outcome, shown in verdict.parts
    )
    few = " open" if len(verdict.parts) <= 2 else ""
    what = "one measurement" if len(verdict.parts) == 1 else f"{len(verdict.parts)} measurements"
    return f'<details class="parts"{few}><summary>{what}</summary><ul>{items}</ul></details>'


def _text(words: str) -> str:
    """Escaped, with T^{2/3} as a power."""
    return re.sub(r"\^\{([^{}]*)\}", r"<sup>\1</sup>", escape(words))


# ---- one figure ----


def _figure(index: int, figure: Figure, rows: list[tuple[Curve, ...]], verdicts: list[Verdict]) -> str:
    paragraphs = [part for part in figure.see.split("\n\n") if part.strip()]
    return _fill(
        "figure.html",
        anchor=_anchor(figure.name),
        index=str(index),
        place=escape(figure.place),
        title=escape(figure.title),
        see="\n".join(f'  <p class="see">{escape(part)}</p>' for part in paragraphs),
        series_label=escape(figure.series_label),
        legend="\n".join(
            f'      <button type="button" class="key" aria-pressed="true" data-series="{i}">'
            f"{_swatch(look)}{escape(label)}</button>"
            for i, (label, look) in enumerate(_looks(rows).items())
        ),
        rows="\n".join(_panels(i, row.label) for i, row in enumerate(figure.rows)),
        svg=b64encode(svg(figure)).decode(),
        finals="\n".join(_finals(figure, i, lines) for i, lines in enumerate(rows)),
        settings=_pairs(figure.settings),
        bounds="\n".join(_bounds(figure, i) for i in range(len(rows))),
        claims=_judged(verdicts),
        rerun=escape(figure.rerun),
    )


def _looks(rows: list[tuple[Curve, ...]]) -> dict[str, Look]:
    return looks(ordered(list(dict.fromkeys(line.label for lines in rows for line in lines))))


def _swatch(look: Look) -> str:
    dash = " ".join(f"{length:g}" for length in look.dash)
    return (
        f'<svg class="swatch" style="--on-light:{look.light};--on-dark:{look.dark}" width="34" height="12" '
        f'viewBox="-17 -6 34 12" aria-hidden="true"><path d="M-17 0H17" stroke="currentColor" stroke-width="2" '
        f'stroke-dasharray="{dash}"/><path d="{look.marker.path}" fill="currentColor"/></svg>'
    )


def _panels(row: int, label: str) -> str:
    heading = f"<h3>{escape(label)}</h3>" if label else ""
    panels = "".join(
        f'<figure class="panel"><figcaption>{measure} <span class="scale"></span></figcaption>'
        f'<div class="plot" data-row="{row}" data-measure="{i}"></div></figure>'
        for i, measure in enumerate(MEASURE_LABELS)
    )
    return f'  <div class="row">{heading}<div class="panels">{panels}</div></div>'


def _pairs(pairs: Mapping[str, str]) -> str:
    return "\n".join(f"    <dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in pairs.items())


def _in_row(figure: Figure, row: int) -> str:
    label = figure.rows[row].label
    return f", {escape(label)}" if label else ""


def _bounds(figure: Figure, row: int) -> str:
    bounds = figure.rows[row].bounds
    if not bounds:
        return ""
    pairs = _pairs({name: number(value, decimals([value])) for name, value in bounds.items()})
    return f'<h3>Bounds at the horizon{_in_row(figure, row)}</h3>\n<dl class="pairs bounds">\n{pairs}\n</dl>'


def _finals(figure: Figure, row: int, lines: tuple[Curve, ...]) -> str:
    if not lines:
        return ""
    means = [[float(line.mean[m, -1]) for line in lines] for m in range(len(MEASURE_LABELS))]
    places = [decimals(column) for column in means]

    def cell(line: Curve, m: int) -> str:
        mean, sd = float(line.mean[m, -1]), float(line.sd[m, -1])
        best = len(lines) > 1 and mean == min(means[m])
        mark = ' class="best"' if best else ""
        around = "" if sd != sd else f"± {number(sd, places[m])}"
        return f'<td{mark}>{number(mean, places[m])}</td><td class="sd">{around}</td>'

    body = "\n".join(
        f'<tr><th scope="row">{escape(line.label)}</th>{"".join(cell(line, m) for m in range(len(means)))}</tr>'
        for line in lines
    )
    columns = "".join(f'<th scope="colgroup" colspan="2">{label}</th>' for label in MEASURE_LABELS)
    times = lines[0].replications
    what = f"mean ± standard deviation of {number(times)} replications" if times > 1 else "one replication"
    return (
        f"<h3>Final values{_in_row(figure, row)}</h3>\n"
        f'<p class="caption">Round {number(max(int(line.rounds[-1]) for line in lines))}, {what}; ★ lowest</p>\n'
        f'<div class="box"><table>\n'
        f'<thead><tr><th scope="col">{escape(figure.series_label)}</th>{columns}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _judged(verdicts: list[Verdict]) -> str:
    if not verdicts:
        return ""
    items = "\n".join(
        f"<li>{_verdict(verdict.verdict, verdict.verdict)}"
        f'<a href="#{_claim_anchor(verdict)}">{_text(verdict.claim)}</a></li>'
        for verdict in verdicts
    )
    return f'<h3>Claims judged by it</h3>\n<ul class="judged">\n{items}\n</ul>'


# ---- the curves, for the script ----


def _data(rows: list[tuple[Curve, ...]]) -> dict[str, object]:
    look = _looks(rows)
    series = {label: i for i, label in enumerate(look)}
    return {
        "series": [
            {
                "label": label,
                "light": style.light,
                "dark": style.dark,
                # Dash lengths are in widths of the line, which is two pixels wide.
                "dash": ",".join(f"{2 * length:g}px" for length in style.dash) or "solid",
                "symbol": style.marker.plotly,
            }
            for label, style in look.items()
        ],
        # A log axis has no place for a curve that ends below zero: never choose one unasked then.
        "log": [
            dwarfed(rows, m) and all(line.mean[m, -1] > 0 for lines in rows for line in lines)
            for m in range(len(MEASURE_LABELS))
        ],
        "rows": [[_curve(series[line.label], line.thin(even=120, log=80)) for line in lines] for lines in rows],
    }


def _curve(series: int, line: Curve) -> dict[str, object]:
    return {
        "series": series,
        "round": line.rounds.tolist(),
        "mean": [[_short(value) for value in values] for values in line.mean.tolist()],
        "sd": [[_short(value) for value in values] for values in line.sd.tolist()],
    }


def _short(value: float) -> float | None:
    """Six digits, more than any screen shows; nothing for a deviation that is not there."""
    return None if value != value else float(f"{value:.6g}")
