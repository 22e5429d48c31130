"""Set formulas as MathML when the site is built: a browser needs no script and no network to show them."""

import re
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

MATHML = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", MATHML)
# Left over where the converter knew no better: a command, a separator of columns.
UNSET = re.compile(r"\\[A-Za-z{}]|<m[io]>&(amp;)?</m[io]>")
OPEN, CLOSE = frozenset("([{⟨⌈⌊"), frozenset(")]}⟩⌉⌋")
BREAKS = frozenset("=≤≥<>≠∈←≈,;:+−·")  # a line may end after these
JOINED = "&#8288;"  # but not between a formula and the comma that follows it
SPACING = {
    "<mi>ln</mi>": '<mo lspace="0.17em" rspace="0.17em">ln</mo>',
    "<mo>&#x0002F;</mo>": '<mo lspace="0" rspace="0">/</mo>',
}


def mathml(node: nodes.Element, display: str) -> str:
    """Return the MathML of a formula; a formula that cannot be set is a warning, and so fails the build."""
    latex = node.astext()
    try:
        markup = convert(latex, display=display)
    except Exception as error:
        markup, reason = "", repr(error)
    else:
        reason = "unknown command" if UNSET.search(markup) else ""
        for plain, spaced in SPACING.items():
            markup = markup.replace(plain, spaced)
    if reason:
        logging.getLogger(__name__).warning("formula not set (%s): %s", reason, latex, location=node)
    return markup


def pieces(markup: str) -> list[str]:
    """Cut the formula of a line where a line may end: browsers do not break one themselves."""
    row = ElementTree.fromstring(markup)[0]
    parts: list[list[ElementTree.Element]] = [[]]
    depth = 0
    for child in row:
        sign = "".join(child.itertext())
        depth += (sign[:1] in OPEN) - (sign[:1] in CLOSE)
        parts[-1].append(child)
        if depth == 0 and sign in BREAKS and len(parts[-1]) > 1:
            parts.append([])
    made = []
    for part in filter(None, parts):
        math = ElementTree.Element(f"{{{MATHML}}}math", display="inline")
        ElementTree.SubElement(math, f"{{{MATHML}}}mrow").extend(part)
        made.append(ElementTree.tostring(math, encoding="unicode"))
    return made


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line."""
    markup = mathml(node, "inline")
    self.body.append("<wbr>".join(pieces(markup)) + JOINED if markup else "")
    raise nodes.SkipNode


def displayed(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on its own, in a box that scrolls if it is wider than the page."""
    self.body.append(f'<div class="formula">{mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
