"""Check a built site: every link inside it leads somewhere, no page loads anything from elsewhere, examples are code.

python scripts/check_site.py build/docs
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADING = {"script": "src", "img": "src", "source": "src", "iframe": "src", "link": "href"}
"""Elements that make a browser fetch something; `link` only where it is not a description."""
NOT_FETCHED = {"canonical", "next", "prev", "search", "index", "author", "license"}
CODE = {"pre", "code", "script"}
"""Elements in which ``>>>`` may stand."""


class Page(HTMLParser):
    """The ids of a page, what it links to, what it loads, and examples that came out as prose."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.prose: list[str] = []
        self._code = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := values.get(name))}
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        elif (address := values.get(LOADING.get(tag, ""))) and values.get("rel") not in NOT_FETCHED:
            self.loaded.append(address)
        self._code += tag in CODE

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in CODE

    def handle_data(self, data: str) -> None:
        if not self._code and data.lstrip().startswith(">>>"):
            self.prose.append(data.strip())


def faults(folder: Path) -> list[str]:
    """A line for each dead link, each thing that is fetched from another place, and each example that is not code."""
    pages = {path.resolve(): Page(path) for path in folder.rglob("*.html")}
    found = []
    for path, page in pages.items():
        where = path.relative_to(folder.resolve())
        found += [f"{where} has an example outside a code block: {text}" for text in page.prose]
        found += [f"{where} loads {address}" for address in page.loaded if urlsplit(address).netloc]
        for address in [*page.links, *page.loaded]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment = unquote(parts.fragment)
            if not target.exists():
                found.append(f"{where} links to {address}, which is not there")
            elif fragment and target in pages and fragment not in pages[target].ids:
                found.append(f"{where} links to {address}, which has no such place")
    return found + [
        f"{sheet.relative_to(folder)} loads from another place"
        for sheet in folder.rglob("*.css")
        if re.search(r"""url\(["']?(https?:)?//""", sheet.read_text(encoding="utf-8"))
    ]


if __name__ == "__main__":
    site = Path(sys.argv[1])
    lines = faults(site)
    print("\n".join(lines) or f"{len(list(site.rglob('*.html')))} pages: every link leads somewhere", file=sys.stderr)
    sys.exit(bool(lines))
