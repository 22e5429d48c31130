"""The site is whole: every page is reached, every name and command has its place, every link and command exists."""

import inspect
import re

import generated_reference as reference
import pytest
import typer
from pages import ROOT, pages

import holdfast
import holdfast_client
from holdfast import errors

DOCS = ROOT / "docs"
MADE_AT_BUILD = ("pictures/", "reference/generated/")
TOCTREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)
DIALECT = ("abreast", "journey", "of one's own", "of ones own", "how-manieth", "detour is told", "what is so already")
PAGES = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in pages()}


def reached(name: str = "index") -> set[str]:
    """The pages under a page, by its tables of contents."""
    page = DOCS / f"{name}.md"
    if name.startswith(MADE_AT_BUILD):
        return {name}
    found = {name}
    for tree in TOCTREE.findall(page.read_text(encoding="utf-8")):
        for line in tree.splitlines():
            if line and not line.startswith(":"):
                found |= reached((page.parent / line).relative_to(DOCS).as_posix())
    return found


def test_every_page_is_reached_from_the_first():
    written = {name[len("docs/") : -len(".md")] for name in PAGES if name.startswith("docs/")}
    assert {name for name in reached() if not name.startswith(MADE_AT_BUILD)} == written


def test_every_page_of_the_reference_is_reached():
    made = {
        f"reference/generated/{name}" for name in [*reference.ROOMS, *reference.MODULES, reference.CLIENT, "commands"]
    }
    assert {name for name in reached() if name.startswith("reference/generated/")} == made
    assert "pictures/index" in reached()


def test_every_public_name_has_one_place():
    text = reference.pages_of_names()
    everything = "\n".join(text.values())
    for name in [*holdfast.__all__, "open"]:
        if inspect.ismodule(getattr(holdfast, name)):
            assert name in text
        else:
            assert len(re.findall(rf"^\.\. auto\w+:: holdfast\.{name}$", everything, re.MULTILINE)) == 1, name


def test_every_error_is_in_the_reference_with_its_exit_code():
    page = reference.pages_of_names()["errors"]
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.HoldfastError):
            assert f"autoexception:: holdfast.{name}\n" in page
    assert "``TooLate``, 5" in page


@pytest.mark.slow
def test_every_command_is_in_the_reference():
    page = reference.page_of_commands()
    assert len(reference.commands()) > 25
    for words, command in reference.commands().items():
        assert f"Usage: {' '.join(words)}" in page
        for parameter in command.params:
            if not getattr(parameter, "hidden", False) and parameter.param_type_name == "option":
                assert parameter.opts[-1] in page


def test_the_page_of_the_command_line_lists_every_command():
    """Each with what it does; those of a group by their last word."""
    listed = re.findall(r"^\| `holdfast (\w+)( …)?` \| (.*) \|$", PAGES["docs/cli.md"], re.MULTILINE)
    shown: set[tuple[str, ...]] = {("holdfast", name) for name, _, _ in listed}
    for name, group, text in listed:
        words = re.findall(r"`([a-z]+)`", text) if group else []
        assert len(words) == len(set(words)), name
        shown |= {("holdfast", name, word) for word in words}
    assert shown == {words for words in reference.commands() if len(words) > 1}


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", PAGES)
def test_every_link_of_a_page_leads_somewhere(name):
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)", PAGES[name]):
        if not (target or anchor) or any(made in target for made in MADE_AT_BUILD):
            continue
        file = (ROOT / name).parent / target if target else ROOT / name
        assert file.exists(), f"links to {target}"
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), f"links to {target}#{anchor}"


def shown_commands(text: str) -> list[str]:
    """Commands in blocks and in the text, each on one line."""
    joined = re.sub(r"\\\n\s*", " ", text)
    lines = re.findall(r"^(?:    )?(?:\w*\$ )?(holdfast [a-z].*)$", joined, re.MULTILINE)
    return [line.split(" #")[0] for line in lines] + re.findall(r"`(holdfast [a-z][^`\n]*)`", joined)


def commands_with_hidden() -> dict[tuple[str, ...], set[str]]:
    """The options of every command, those of earlier names too."""
    found: dict[tuple[str, ...], set[str]] = {}

    def walk(command, words):
        found[words] = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, (*words, name))

    walk(typer.main.get_command(reference.command_line), ())
    return found


KNOWN = commands_with_hidden()


@pytest.mark.parametrize("name", [name for name in PAGES if shown_commands(PAGES[name])])
def test_every_command_that_is_shown_exists_with_its_options(name):
    for line in shown_commands(PAGES[name]):
        words = line.split()[1:]
        if words[0] in ("COMMAND", "…"):
            continue
        command = max((known for known in KNOWN if tuple(words[: len(known)]) == known), key=len)
        assert command, line
        for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", line):
            assert option in KNOWN[command], f"{option} in {line}"


@pytest.mark.parametrize("name", PAGES)
def test_pages_speak_common_english(name):
    text = PAGES[name].lower()
    assert [word for word in DIALECT if word in text] == []


def test_every_picture_of_the_gallery_has_its_code():
    scripts = sorted((DOCS / "gallery").glob("plot_*.py"))
    assert len(scripts) >= 12
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        assert re.match(r'"""\n.+\n=+\n\n.+', text), script.name
        assert re.search(r"^figure\b.* = ", text, re.MULTILINE), script.name
        assert "shared" not in text


def test_the_formats_are_those_that_are_written():
    from holdfast.decisions.stores.sql import SCHEMA_TABLE, TABLES
    from holdfast.players import fleet as fleet_files, saves as document
    from holdfast.results import SCHEMA as COLUMNS

    text = PAGES["docs/reference/formats.md"]
    for kind in (document, fleet_files):
        assert f'`"{kind.FORMAT}"`, version {kind.VERSION}' in text
    assert [
        name for name in [*TABLES.values(), "holdfast_states", SCHEMA_TABLE, *COLUMNS] if f"`{name}`" not in text
    ] == []


def test_paths_of_the_repository_are_known_to_be_links():
    from linked_paths import SOURCE, pages_by_file, path_of

    assert path_of("deploy/examples/") == "deploy/examples"
    assert path_of("stores/sql.py") == "src/holdfast/decisions/stores/sql.py"
    assert path_of("tests/conftest.py::folder") == "tests/conftest.py"
    assert [path_of(text) for text in ("build/docs", "../x", "and/or", "runs/", "README.md")] == [None] * 5
    assert pages_by_file()["benchmarks/README.md"] == "benchmarks"
    assert pages_by_file()["CONTRIBUTING.md"] == "contributing"
    assert f"replacement = ']({SOURCE}/'" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_a_link_says_the_title_of_a_page_not_its_file(name):
    links = re.findall(r"\[`?([\w/]+\.md)`?\]\([^)]*\)", PAGES[name])
    assert [text for text in links if text.lower() == text] == []


def test_the_readme_fits_two_screens():
    text = PAGES["README.md"]
    assert len(text.splitlines()) <= 100
    assert len(re.findall(r"!\[", text)) == 1
    assert "best *fixed* option" in text
    assert all(word in text for word in ("Chromium", "PostgreSQL", "PgBouncer"))


def test_a_built_site_with_faults_is_found_out(tmp_path):
    from check_site import faults

    (tmp_path / "a.html").write_text('<p id="here"><a href="b.html#there">x</a><a href="#here">y</a><img src="c.png">')
    (tmp_path / "b.html").write_text('<script src="https://cdn.example/x.js"></script>')
    (tmp_path / "d.css").write_text("@import url('//fonts.example/f.css')")
    (tmp_path / "e.html").write_text("<pre>&gt;&gt;&gt; 1<br></pre><code>&gt;&gt;&gt;</code><b>&gt;&gt;&gt; 2</b>")
    assert sorted(faults(tmp_path)) == [
        "a.html links to b.html#there, which has no such place",
        "a.html links to c.png, which is not there",
        "b.html loads https://cdn.example/x.js",
        "d.css loads from another place",
        "e.html has an example outside a code block: >>> 2",
    ]


def test_the_page_of_the_client_has_all_its_names():
    assert sorted(reference.CLIENT_NAMES) == sorted(holdfast_client.__all__)
    assert ".. autoexception:: holdfast_client.Problem" in reference.page_of_client()
