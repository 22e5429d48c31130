"""Pages of the reference that are made from the package: public names, errors, commands."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from policy_pages import classes, index_of_policies, policy_pages
from typer.testing import CliRunner

import holdfast
from holdfast import errors
from holdfast.cli import app as command_line
from holdfast.errors import HoldfastError

if TYPE_CHECKING:  # a test reads this module where Sphinx is not installed
    from sphinx.application import Sphinx

ROOMS = {
    "policies": ("Policies", ["holdfast.policies"]),
    "players": ("Players and fleets", ["holdfast.players", "holdfast.players.fleet"]),
    "decisions": ("Decisions in a store", ["holdfast.decisions"]),
    "environments": ("Environments", ["holdfast.environments"]),
    "simulation": ("Simulation and results", ["holdfast.simulation", "holdfast.results"]),
    "replays": ("Replays", ["holdfast.replays"]),
    "errors": ("Errors", ["holdfast.errors"]),
    "others": ("Scales, streams, weights", []),
}
"""Page, title and modules of the public names; a name of any other module is on the last page."""

MODULES = {
    "bounds": ("holdfast.bounds", "Bounds"),
    "experts": ("holdfast.experts", "Experts of AdaptiveHedgeSwitch"),
    "regret": ("holdfast.numerics.regret", "Regret"),
    "kernels": ("holdfast.kernels", "Names for kernels"),
    "holdout": ("holdfast.decisions.holdout", "Comparison with a held-back rule"),
}
"""Public modules, with a page of their own."""

CLIENT = "client"
"""The page of `holdfast_client`, a package of its own."""

CLIENT_NAMES = ("open", "Game", "Decision", "Receipt", "Server", "Problem", "Unreachable")
"""In the order in which one meets them."""

FURTHER = {
    "decisions": [
        "holdfast.decisions.requests.Ask",
        "holdfast.decisions.settings.Settings",
        "holdfast.decisions.history.History",
        "holdfast.decisions.backup",
        "holdfast.decisions.restore",
    ],
    "simulation": ["holdfast.numerics.statistics.Comparison", "holdfast.results.Comparisons"],
}
"""What public functions return or guides use, beside the names of the package itself."""


def room_of(name: str) -> str:
    """The page of a public name."""
    module = getattr(holdfast, name).__module__
    for room, (_, modules) in ROOMS.items():
        if any(module == known or module.startswith(f"{known}.") for known in modules):
            return room
    return "others"


def documented(path: str) -> str:
    """The autodoc directive for a class or a function."""
    module, _, name = path.rpartition(".")
    thing = getattr(importlib.import_module(module), name)
    if not inspect.isclass(thing):
        return f".. autofunction:: {path}\n"
    if issubclass(thing, BaseException):
        return f".. autoexception:: {path}\n   :show-inheritance:\n"
    return f".. autoclass:: {path}\n   :members:\n"


def titled(title: str, mark: str = "=") -> str:
    """A heading in reStructuredText."""
    return f"{title}\n{mark * len(title)}\n\n"


def pages_of_names() -> dict[str, str]:
    """One page for each policy, each room and each public module."""
    names = [name for name in [*holdfast.__all__, "open"] if not inspect.ismodule(getattr(holdfast, name))]
    pages = policy_pages()
    for room, (title, _) in ROOMS.items():
        text = titled(title)
        if room == "errors":
            text += tree_of_errors()
        if room == "policies":
            text += index_of_policies()
        own = {kind.__name__ for kind in classes()}
        here = sorted((name for name in names if room_of(name) == room and name not in own), key=str.lower)
        pages[room] = text + "\n".join(
            documented(path) for path in [*(f"holdfast.{name}" for name in here), *FURTHER.get(room, [])]
        )
    for page, (module, title) in MODULES.items():
        found = importlib.import_module(module)
        listed = hasattr(found, "__all__")
        text, constants = titled(title) + f".. automodule:: {module}\n\n", []
        for name in found.__all__ if listed else sorted(vars(found)):
            thing = getattr(found, name)
            home = getattr(thing, "__module__", None) or ""
            if (
                callable(thing)
                and not name.startswith("_")
                and home.startswith("holdfast" if listed else found.__name__)
            ):
                text += documented(f"{module}.{name}") + "\n"
            elif listed:
                constants.append(f"``{name}``")
        pages[page] = text + (f"Also: {', '.join(constants)}.\n" if constants else "")
    return pages


def page_of_client() -> str:
    """All public names of the light client."""
    text = titled("The light client") + ".. automodule:: holdfast_client\n\n"
    return text + "\n".join(documented(f"holdfast_client.{name}") for name in CLIENT_NAMES)


def tree_of_errors() -> str:
    """The tree in the docstring of `holdfast.errors`, and the exit code of each kind."""
    tree = inspect.cleandoc(errors.__doc__ or "")
    body = "\n".join(f"   {line}".rstrip() for line in tree.splitlines()[1:])
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, HoldfastError)]
    codes = "\n".join(f"   ``{kind.__name__}``, {kind.exit_code}" for kind in kinds)
    return (
        f"{tree.splitlines()[0]}\n\n.. code-block:: text\n{body}\n\n"
        f"In the shell a command ends with the exit code of its kind "
        f"(:doc:`/cli` has the others):\n\n.. csv-table::\n   :header: error, exit code\n\n{codes}\n\n"
    )


def commands() -> dict[tuple[str, ...], Any]:
    """Every command that is not hidden, by the words that call it; groups too."""
    found: dict[tuple[str, ...], Any] = {}

    def walk(command: Any, words: tuple[str, ...]) -> None:
        found[words] = command
        for name, inner in getattr(command, "commands", {}).items():
            if not inner.hidden:
                walk(inner, (*words, name))

    walk(typer.main.get_command(command_line), ("holdfast",))
    return found


def page_of_commands() -> str:
    """What each command says with ``--help``."""
    text = titled("Every command") + "Values, output and exit codes are described in :doc:`/cli`.\n\n"
    for words in commands():
        if len(words) > 1:
            text += titled(" ".join(words), "-" if len(words) == 2 else "~")
        shown = CliRunner().invoke(command_line, [*words[1:], "--help"], prog_name="holdfast", env={"COLUMNS": "90"})
        body = "\n".join(f"   {line}".rstrip() for line in shown.stdout.splitlines())
        text += f".. code-block:: text\n\n{body}\n\n"
    return text


def write_pages(app: Sphinx) -> None:
    """Write what has changed, so that a second build reads only that."""
    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    pages = {**pages_of_names(), CLIENT: page_of_client(), "commands": page_of_commands()}
    for name, text in pages.items():
        file = folder / f"{name}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    for file in folder.glob("*.rst"):
        if file.stem not in pages:
            file.unlink()


def without_substitutions(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """In docstrings |B| is a number, not reStructuredText."""
    lines[:] = [
        line if line.lstrip().startswith((">>>", "...")) else re.sub(r"\|(?=\S)", r"\\|", line) for line in lines
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before any is read."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", without_substitutions, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
