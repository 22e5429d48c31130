"""A page that needs nothing but itself: title, lead, sections and how it was made, in one HTML file.

The look and the behaviour are in `page.css`, `theme.js` and `page.js`, the frame in `page.html`; what goes into a
section comes from `holdfast.report.html_parts`. The plotting library goes along only where a chart needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from holdfast.files import write_whole
from holdfast.report.markup import Html, anchor, element, joined

PLOTTING = "plotly-basic.min.js"
"""The basic build of plotly.js, MIT: lines, points and bars."""


@dataclass(frozen=True)
class Section:
    """A part of the page with a place in its navigation.

    `name` is what links lead to, by default made of the title; `above` a small line over the title.
    """

    title: str
    parts: Sequence[Html]
    name: str = ""
    above: str = ""

    @property
    def anchor(self) -> str:
        """What links lead to."""
        return self.name or anchor(self.title)


def write_page(
    path: str | Path, *, title: str, lead: str = "", opening: Sequence[Html] = (), sections: Sequence[Section] = ()
) -> Path:
    """Write the page to `path`, whole or not at all, and return the path."""
    return write_whole(path, page(title=title, lead=lead, opening=opening, sections=sections).encode())


def page(*, title: str, lead: str = "", opening: Sequence[Html] = (), sections: Sequence[Section] = ()) -> str:
    """The page as text: the lead under its title, the parts it opens with, then the sections.

    Parameters
    ----------
    title
        Its heading.
    lead
        The words under it; `Html` stands there as it is.
    opening
        Parts before the first section.
    sections
        The sections, each with a place in the navigation.
    """
    body = joined(*(_section(section) for section in sections))
    begin = joined(*opening)
    plotting = 'class="chart"' in body or 'class="chart"' in begin
    return Template(_resource("page.html")).substitute(
        title=joined(title),
        css=_resource("page.css"),
        theme=_resource("theme.js"),
        js=_resource("page.js"),
        plotting=f"<script>{_resource(PLOTTING)}</script>" if plotting else "",
        contents=joined(*(element("li", element("a", s.title, href=f"#{s.anchor}")) for s in sections)),
        lead=lead if isinstance(lead, Html) else element("p", lead, class_="lead") if lead else "",
        opening=begin,
        sections=body,
    )


def _section(section: Section) -> Html:
    above = element("p", section.above, class_="above") if section.above else Html("")
    return element("section", above, element("h2", section.title), *section.parts, id=section.anchor)


def _resource(name: str) -> str:
    return files("holdfast.report").joinpath(name).read_text(encoding="utf-8")
