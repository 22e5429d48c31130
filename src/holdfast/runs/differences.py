"""How the records of two runs differ, in words: each changed field once."""

from __future__ import annotations

import json
from typing import Any

MOST_DIFFERENCES = 20
"""Fields named in one error."""
LONG = 60
"""Longer values are shortened, and only the differing part of a longer list is shown."""
ABSENT = object()


def has_grown(there: dict[str, Any], here: dict[str, Any]) -> bool:
    """Whether `here` is the study of the record `there` with more cells, or more replications in some, and no less."""
    fixed = [{name: record[name] for name in record if name not in ("written", "cells")} for record in (there, here)]
    old, new = there["cells"], here["cells"]
    if fixed[0] != fixed[1] or not old.keys() <= new.keys() or old == new:
        return False
    return all(
        old[name]["replications"] <= new[name]["replications"]
        and old[name] | {"replications": new[name]["replications"]} == new[name]
        for name in old
    )


def differences(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """Fields of the user's settings that differ; if none does, settings of the cells, such as a table's checksum."""
    if {**there, "written": None} == {**here, "written": None}:
        return []
    found = [_said(name, there[name], here[name]) for name in ("holdfast", "numbers") if there[name] != here[name]]
    if there["study"] != here["study"]:
        found.append(_said("name", there["study"], here["study"]))
    old, new = (_flat(record["written"]) for record in (there, here))
    changed = [_said(name, old.get(name, ABSENT), new.get(name, ABSENT)) for name in {**old, **new} if name != "name"]
    found += [said for said in changed if said]
    if not found:
        found = _of_cells(there["cells"], here["cells"])
    more = len(found) - MOST_DIFFERENCES
    return found[:MOST_DIFFERENCES] + ([f"and {more} more"] if more > 0 else [])


def _of_cells(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """Fields that differ though the settings are the same: an edited loss table, changed user code."""
    found: dict[str, str] = {}
    for name in [name for name in there if name in here]:
        old, new = _flat(there[name]), _flat(here[name])
        for key in {**old, **new}:
            said = _said(key, old.get(key, ABSENT), new.get(key, ABSENT))
            if said:
                found.setdefault(key, said)
    return list(found.values())


def _flat(settings: dict[str, Any], under: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict) and value:
            flat |= _flat(value, f"{under}{key}.")
        else:
            flat[f"{under}{key}"] = value
    return flat


def _said(name: str, there: Any, here: Any) -> str:
    if there is ABSENT:
        return f"{name} is not set there and {_short(here)} here"
    if here is ABSENT:
        return f"{name} is {_short(there)} there and not set here"
    if isinstance(there, list) and isinstance(here, list) and max(len(json.dumps(there)), len(json.dumps(here))) > LONG:
        places = (("there", there, here), ("here", here, there))
        only = [(place, [one for one in ours if one not in theirs]) for place, ours, theirs in places]
        if parts := [f"has {_short(ones)} {place} only" for place, ones in only if ones]:
            return f"{name} {' and '.join(parts)}"
    return "" if there == here else f"{name} is {_short(there)} there and {_short(here)} here"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONG else f"{text[: LONG - 10]}…"
