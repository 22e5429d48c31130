"""Paths of the repository in the text of a page, such as `deploy/nginx.conf`, are links: to a page, or to the source.

The address of the source is that of ``[project.urls]`` in ``pyproject.toml``, and stands nowhere else.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a test reads this module where Sphinx is not installed
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
SOURCE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]
FOLDERS = ("", "src/", "src/holdfast/", "src/holdfast/decisions/")
"""From where paths are written; folders only from the first two, since rooms have names such as ``runs/``."""
FILES = ("CITATION.cff", "LICENSE", "Makefile", "constraints.txt", "noxfile.py", "pyproject.toml")
"""What is named without a folder."""
WRITTEN = ("benchmarks", "client", "conda", "deploy", "docs", "scripts", "src", "tests")
"""Folders of the repository; what a build makes is beside them."""
INCLUDED = re.compile(r"```\{include\} \.\./(\S+)\n")


def pages_by_file() -> dict[str, str]:
    """The page of each Markdown file of the repository that has one."""
    pages = {}
    for file in sorted((ROOT / "docs").rglob("*.md")):
        included = INCLUDED.match(file.read_text(encoding="utf-8"))
        name = file.relative_to(ROOT).as_posix()
        pages[included[1] if included else name] = name.removeprefix("docs/").removesuffix(".md")
    return pages


def path_of(text: str) -> str | None:
    """The path from the root of the repository that a text is, if there is such a file or folder.

    >>> path_of("deploy/nginx.conf"), path_of("tests/conftest.py::folder"), path_of("and/or")
    ('deploy/nginx.conf', 'tests/conftest.py', None)
    """
    name = text.partition("::")[0]
    if name in FILES:
        return name
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)*/?", name) or "/" not in name or ".." in name:
        return None
    for folder in FOLDERS:
        path = ROOT / folder / name
        if path.relative_to(ROOT).parts[0] not in WRITTEN:
            continue
        if path.is_file() or (path.is_dir() and folder in FOLDERS[:2]):
            return f"{folder}{name}".rstrip("/")
    return None


def link_paths(app: Sphinx, doctree: Any, docname: str) -> None:
    """Make a link of each path in the text of a page."""
    from docutils import nodes  # type: ignore[import-untyped]

    pages = pages_by_file()
    for literal in list(doctree.findall(nodes.literal)):
        above = literal.parent
        while above is not None and not isinstance(above, (nodes.reference, nodes.title)):
            above = above.parent
        path = path_of(literal.astext())
        if above is not None or path is None or path == "docs":
            continue
        page = pages.get(path)
        if page == docname:
            continue
        address = f"{SOURCE}/{path}" if page is None else app.builder.get_relative_uri(docname, page)
        link = nodes.reference("", "", refuri=address, internal=page is not None)
        literal.replace_self(link)
        link += literal


def setup(app: Sphinx) -> dict[str, bool]:
    """Do it when a page is written."""
    app.connect("doctree-resolved", link_paths)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
