"""A page for each policy: its docstring, pseudo-code and when not to use it (policies.toml), costs (policies.csv)."""

from __future__ import annotations

import csv
import inspect
import tomllib
from pathlib import Path
from typing import Any

from holdfast.policies.policy import FullInformation, Policy
from holdfast.policies.registry import POLICIES, find_policy

Costs = dict[tuple[str, str], tuple[float, float]]
"""Mean cost and standard error by policy and setting."""

REFERENCE = Path(__file__).parents[1] / "reference"
SETTINGS = {
    "stochastic-easy": "one arm better by 0.2, λ = 0.025",
    "stochastic-hard": "one arm better by 0.05, λ = 1",
    "adversarial": "an adversary that reverses the losses, λ = 1",
    "changing": "means drawn anew once in 1,000 rounds, λ = 1: above the best plan",
}
BESIDE = ("adaptive", "tracking")
"""Policies whose costs stand beside those of each."""


def classes() -> dict[type[Policy], list[str]]:
    """Return the policies of the registry with their ids."""
    found: dict[type[Policy], list[str]] = {}
    for name in POLICIES:
        found.setdefault(find_policy(name)[0], []).append(name)
    return found


def written() -> dict[str, dict[str, Any]]:
    """Return what is written for each class, by its first id."""
    return tomllib.loads((REFERENCE / "policies.toml").read_text(encoding="utf-8"))


def measured() -> Costs:
    """Return what experiments/policies.py measured."""
    with (REFERENCE / "policies.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {(row["policy"], row["setting"]): (float(row["mean"]), float(row["error"])) for row in rows}


def policy_pages() -> dict[str, str]:
    """Return the page of each policy by its name."""
    texts, costs = written(), measured()
    return {f"policy-{ids[0]}": _page(kind, ids, texts[ids[0]], costs) for kind, ids in classes().items()}


def knobs_of(kind: type[Policy]) -> set[str]:
    """Return the parameters of a class."""
    return set(inspect.signature(kind).parameters)


def first_sentence(kind: type[Policy]) -> str:
    """Return the first line of a docstring."""
    return inspect.cleandoc(kind.__doc__ or "").splitlines()[0]


def index_of_policies() -> str:
    """Return a table of all policies, each with its first sentence and a link to its page."""
    texts, rows = written(), []
    for kind, ids in classes().items():
        link = f":doc:`{texts[ids[0]]['title']} <policy-{ids[0]}>`"
        sees = "all losses" if issubclass(kind, FullInformation) else "its own loss"
        names = ", ".join(f"``{name}``" for name in ids)
        rows.append("   " + ", ".join(map(_cell, (names, link, sees, first_sentence(kind)))))
    listed = "\n".join(f"   policy-{ids[0]}" for ids in classes().values())
    return (
        "A page for each: what it does and what is known of it, pseudo-code, knobs, costs, and when not to use it. "
        "To choose one, see :doc:`/which_policy`.\n\n"
        ".. csv-table::\n   :header: id, policy, sees, in a sentence\n   :widths: 16, 22, 12, 50\n\n"
        + "\n".join(rows)
        + f"\n\n.. toctree::\n   :hidden:\n\n{listed}\n\n"
    )


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _page(kind: type[Policy], ids: list[str], text: dict[str, Any], costs: Costs) -> str:
    title = text["title"]
    own = [
        name
        for name in vars(kind)
        if not (name.startswith("_") or name == "id" or hasattr(Policy, name) or name in knobs_of(kind))
    ]
    shown = f"   :members: {', '.join(own)}\n" if own else ""
    steps = "\n".join(f"   {line}".rstrip() for line in text["steps"].strip().splitlines())
    see = ", ".join(f":doc:`/{page}`" for page in text.get("see", ()))
    parts = [
        f"{title}\n{'=' * len(title)}\n",
        f".. autoclass:: holdfast.{kind.__name__}\n{shown}",
        f"{_heading('Pseudo-code')}.. code-block:: text\n\n{steps}\n",
        f"{_heading('Measured')}{_table(ids, text.get('measured', {}), costs)}",
        f"{_heading('When not to use it')}{prose(text['avoid'])}\n",
        f"More: {see}.\n" if see else "",
    ]
    return "\n".join(parts)


def prose(text: str) -> str:
    """Return words as reStructuredText: |B| is a number, not a substitution."""
    return text.replace("|", r"\|")


def _heading(title: str) -> str:
    return f"{title}\n{'-' * len(title)}\n\n"


def _table(ids: list[str], knobs: dict[str, Any], costs: Costs) -> str:
    columns = [*ids, *(name for name in BESIDE if name not in ids)]
    rows = [
        ", ".join([_cell(words), *(_cell(_cost(*costs[name, setting])) for name in columns)])
        for setting, words in SETTINGS.items()
    ]
    given = ", ".join(f"``{name}={value!r}``" for name, value in knobs.items())
    played = f" Played with {given}." if given else ""
    return (
        f'.. csv-table::\n   :header: "K = 8, T = 100,000", {", ".join(columns)}\n\n'
        + "\n".join(f"   {row}" for row in rows)
        + "\n\nMean regret with switching of 50 games ± standard error; in the last row, cost above the best plan in "
        f"hindsight. Less is better; below zero it beats the best fixed arm.{played} "
        "``python experiments/policies.py`` plays all.\n\n"
    )


def _cost(mean: float, error: float) -> str:
    return f"{mean:,.0f}\u00a0±\u00a0{error:,.0f}".replace("-", "−")
