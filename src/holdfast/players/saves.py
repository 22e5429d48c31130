"""A saved game: a JSON document with named numbers, a version and a check sum; every number is checked on the way in.

    {"format": "holdfast.player", "version": 1, "check": "…", "player": {
        "policy": {…}, "functions": […],            what is played
        "state": {"n": 7, "C": […], …},             the policy's own numbers by name
        "block": {"arm": 1, "rounds": 3, …} | null, the block in play
        "begun": 7, "stream": […],                  blocks begun, the random stream
        "bounds": […], "left": 2, "pieces": […], "rounds": 19, "switches": 4,
        "out": [0],                                 arms that were not available at the last ask, if any
        "history": [[1, 0.25], …]}}                 arm and loss of each round, where the rule is a function of them

The check sum detects damage, not tampering: anyone who edits a document can sign it again. So nothing here is
trusted because it is signed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.checks import real_number
from holdfast.errors import BadSavedState, Words
from holdfast.numerics.layout import Layout
from holdfast.policies.policy import Policy, must_be
from holdfast.policies.registry import allowed_policy, find_policy, make_policy

FORMAT = "holdfast.player"
VERSION = 1


def sealed(content: Mapping[str, Any]) -> str:
    """Return the document of a game."""
    return json.dumps({"format": FORMAT, "version": VERSION, "check": check_sum(content), "player": content})


def check_sum(content: Mapping[str, Any]) -> str:
    """Return the check sum that detects a damaged document."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def opened(data: object) -> dict[str, Any]:
    """Return the content of a document, after every check that needs no policy."""
    if not isinstance(data, (str, bytes)):
        raise BadSavedState(f"saved player data must be the text that save() returned; got {type(data).__name__}")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadSavedState(f"saved player data must be JSON; it is damaged or cut short ({error})") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise BadSavedState(f"saved player data must have the format {FORMAT!r}; this is something else")
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise BadSavedState(
            f"saved player data must be of version {VERSION}; another Holdfast wrote this: got version {version!r}"
        )
    content = document.get("player")
    if not isinstance(content, dict) or document.get("check") != check_sum(content):
        raise BadSavedState("saved player data is damaged: its contents do not match its check sum")
    return content


def described(policy: Policy) -> dict[str, Any]:
    """Return a policy as a document has it: its settings, with the names of functions kept separately."""
    settings = policy.settings()
    functions = sorted(name for name, value in settings.items() if callable(value))
    return {"policy": {k: v for k, v in settings.items() if k not in functions}, "functions": functions}


def policy_of(content: Mapping[str, Any], policy: Policy | None, allow: Iterable[str | type[Policy]] = ()) -> Policy:
    """Return the policy of a document; `policy` itself if it matches, so that nothing is imported."""
    saved, functions = content["policy"], content["functions"]
    if policy is None and functions:
        raise BadSavedState(
            f"this game's policy has functions for {' and '.join(functions)}, which cannot be saved: "
            "give the same policy, Player.load(data, policy=...) or holdfast.open(url, name, policy)"
        )
    if policy is None:
        try:
            allowed_policy(saved["policy"], allow)
        except ValueError as error:
            raise BadSavedState(
                Words("this game's ", error.args[0], "; or give the policy itself, policy=...")
            ) from None
        policy = make_policy(saved, allow)
    if not isinstance(policy, Policy):
        raise BadSavedState(f"policy must be a policy such as holdfast.Exp3(8); got {policy!r}")
    given = json.loads(json.dumps(described(policy)["policy"]))
    own = find_policy(given["policy"])[0] is type(policy) if ":" not in given["policy"] else True
    if saved != given or not own:
        raise BadSavedState(f"this game was played by {saved}, not by {given}")
    return policy


def named_numbers(values: Any, layout: Layout, n_arms: int, what: str) -> dict[str, Any]:
    """Return finite numbers for exactly the saved names of `layout`, each in its range.

    Before its first block a game's state is all zeros, whatever the ranges. With `n_arms` 0 the number of arms is not
    known.
    """
    names = layout.saved_kinds
    must_be(isinstance(values, dict) and values.keys() == names.keys(), f"{what} must have {', '.join(names)}")
    checked: dict[str, Any] = {}
    for (name, kind), rows in zip(layout.kinds.items(), layout.places(n_arms), strict=True):
        if not kind.saved:
            continue
        if not kind.per_arm and kind.several is None:
            checked[name] = real_number(name, values[name])
            continue
        size = rows.stop - rows.start
        needed = "a number per arm" if size == n_arms else f"{size} numbers"
        must_be(isinstance(values[name], list) and len(values[name]) == size, f"{name} must have {needed}")
        checked[name] = [real_number(name, value) for value in values[name]]
    if any(any(numbers) if isinstance(numbers, list) else numbers for numbers in checked.values()):
        rule = layout.broken_rule(checked, n_arms)
        must_be(rule is None, f"{what}: {rule}")
    return checked
