"""Pages of the reference that are made from the package: public names, errors, commands."""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import typer
from sphinx.application import Sphinx

import holdfast
from holdfast.cli import EXIT_CODES, app as command_line

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
    "bounds": "Bounds",
    "paths": "Paths of AdaptiveHedgeSwitch",
    "regret": "Regret",
    "kernels": "Names for kernels",
    "holdback": "Comparison with a held-back rule",
}
"""Public modules, with a page of their own."""

FURTHER = {
    "decisions": ["holdfast.decisions.history.History", "holdfast.decisions.backup", "holdfast.decisions.restore"],
    "simulation": ["holdfast.statistics.Comparison"],
}
"""What public functions return or guides use, beside the names of the package itself."""


def room_of(name: str) -> str:
    """The page of a public name."""
    module = holdfast._MODULES[name]
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
    """One page for each room and each public module."""
    names = [name for name in [*holdfast.__all__, "open"] if holdfast._MODULES[name] != "holdfast"]
    pages = {}
    for room, (title, _) in ROOMS.items():
        text = titled(title)
        if room == "errors":
            text += tree_of_errors()
        here = sorted((name for name in names if room_of(name) == room), key=str.lower)
        pages[room] = text + "\n".join(
            documented(path) for path in [*(f"holdfast.{name}" for name in here), *FURTHER.get(room, [])]
        )
    for module, title in MODULES.items():
        found = importlib.import_module(f"holdfast.{module}")
        text = titled(title) + f".. automodule:: holdfast.{module}\n\n"
        constants = []
        for name in getattr(found, "__all__", sorted(vars(found))):
            thing = getattr(found, name)
            if name.startswith("_") or inspect.ismodule(thing):
                continue
            if callable(thing) and getattr(thing, "__module__", "").startswith("holdfast"):
                text += documented(f"holdfast.{module}.{name}") + "\n"
            elif hasattr(found, "__all__"):
                constants.append(f"``{name}``")
        pages[module] = text + (f"Also: {', '.join(constants)}.\n" if constants else "")
    return pages


def tree_of_errors() -> str:
    """The tree in the docstring of `holdfast.errors`, and the exit code of each kind."""
    tree = inspect.cleandoc(importlib.import_module("holdfast.errors").__doc__ or "")
    body = "\n".join(f"   {line}".rstrip() for line in tree.splitlines()[1:])
    codes = "\n".join(f"   ``{kind.__name__}``, {code}" for kind, code in EXIT_CODES.items())
    return (
        f"{tree.splitlines()[0]}\n\n.. code-block:: text\n{body}\n\n"
        f"In the shell a command ends with the exit code of the first kind that an error is of "
        f"(:doc:`/cli` has the others):\n\n.. csv-table::\n   :header: error, exit code\n\n{codes}\n\n"
    )


def escaped(text: str) -> str:
    """Help as reStructuredText: stars and underscores mean themselves, backquotes are code."""
    text = re.sub(r"([*_|\\])", r"\\\1", " ".join(text.split()))
    return re.sub(r"`([^`]+)`", lambda code: f"``{code[1]}``".replace("\\", ""), text)


def options(command: Any) -> str:
    """Arguments and options of a command as a definition list."""
    lines = []
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        flag = getattr(parameter, "is_flag", False)
        if parameter.param_type_name == "argument":
            shown = f"{parameter.metavar or parameter.name.upper()}{' …' if parameter.nargs == -1 else ''}"
        else:
            shown = ", ".join([*parameter.opts, *parameter.secondary_opts])
            shown += "" if flag else f" {parameter.metavar or parameter.type.name.upper()}"
        notes = [escaped(parameter.help or "")]
        if parameter.required:
            notes.append("*Required.*")
        elif parameter.default not in (None, False, (), []) and not callable(parameter.default):
            notes.append(f"Default: ``{parameter.default}``.")
        lines.append(f"``{shown}``\n   {' '.join(filter(None, notes)) or '…'}\n")
    return "\n".join(lines)


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
    """The page with every command."""
    text = titled("Every command") + "Values, output and exit codes are described in :doc:`/cli`.\n\n"
    for words, command in commands().items():
        if len(words) > 1:
            text += titled(" ".join(words), "-" if len(words) == 2 else "~")
        text += f"{escaped((command.help or '').split(chr(12))[0])}\n\n{options(command)}\n\n"
    return text


def write_pages(app: Sphinx) -> None:
    """Write what has changed, so that a second build reads only that."""
    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    pages = {**pages_of_names(), "commands": page_of_commands()}
    for name, text in pages.items():
        file = folder / f"{name}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    for file in folder.glob("*.rst"):
        if file.stem not in pages:
            file.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before any is read."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
