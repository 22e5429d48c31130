"""HTML that is safe by construction: whatever is not `Html` already is escaped when it is put into an element."""

from __future__ import annotations

import re
from html import escape

VOID = frozenset({"br", "img", "input", "path", "rect"})
"""Elements without contents; those of SVG must be closed."""


class Html(str):
    """Text that is HTML; made by `element`, `raised` and the functions of `holdfast.report.html_parts` alone."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str | int | None) -> Html:
    """An element with its children. Attributes: ``class_`` for class, ``data_row`` for data-row; None leaves one out.

    >>> element("p", "a < b", element("b", "c"), class_="note", data_row=1)
    '<p class="note" data-row="1">a &lt; b<b>c</b></p>'
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in VOID:
        return Html(f"<{tag}{named}/>")
    return Html(f"<{tag}{named}>{joined(*children)}</{tag}>")


def joined(*children: str, between: str = "") -> Html:
    """Children one after the other, escaped unless they are HTML."""
    return Html(between.join(child if isinstance(child, Html) else _kept_together(escape(child)) for child in children))


def _kept_together(text: str) -> str:
    """With spaces that do not break between a number and its per cent sign."""
    return re.sub(r"(?<=\d) (?=%)", "\u00a0", text)


def raised(text: str) -> Html:
    """Text with its powers raised.

    >>> raised("at most T^{2/3} & K^{1/3}")
    'at most T<sup>2/3</sup> &amp; K<sup>1/3</sup>'
    """
    return Html(re.sub(r"\^\{([^{}]*)\}", r"<sup>\1</sup>", escape(text)))


def plain_powers(text: str) -> str:
    """The same for a terminal, which raises nothing.

    >>> plain_powers("K^{1/3}(T/λ)^{2/3} and 10^{7.3}")
    'K^(1/3)·(T/λ)^(2/3) and 10^7.3'
    """

    def power(found: re.Match[str]) -> str:
        inner, following = found.groups()
        written = inner if re.fullmatch(r"[\w.]+", inner) else f"({inner})"
        return f"^{written}" + ("·" if following == "(" else " " if following else "")

    return re.sub(r"_\{([^{}]*)\}", r"_(\1)", re.sub(r"\^\{([^{}]*)\}(?=([\w(]?))", power, text))


def anchor(text: str) -> str:
    """A name that a link can lead to.

    >>> anchor("Stochastic losses, small gap")
    'stochastic-losses-small-gap'
    """
    return re.sub(r"[^\w-]+", "-", text).strip("-").lower() or "part"
