"""Fold the sections of some pages whose title is that of a proof: statements are read first."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

PAGES = ("theory/adaptive", "theory/tracking", "theory/full_information", "theory/decisions", "paused", "safety")
PROOF = re.compile(r"^(\d+\. )?(The )?[Pp]roof$")


class FoldedProofs(SphinxPostTransform):
    """Put all of such a section but its title into a `<details>` element."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Fold the outermost sections of proofs."""
        if self.env.current_document.docname not in PAGES:
            return
        for section in list(self.document.findall(nodes.section)):
            title = section[0]
            if isinstance(title, nodes.title) and PROOF.match(title.astext()):
                opened = nodes.raw("", '<details class="proof"><summary>Show the proof</summary>', format="html")
                closed = nodes.raw("", "</details>", format="html")
                section[:] = [title, opened, *section[1:], closed]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform."""
    app.add_post_transform(FoldedProofs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
