"""Documents of earlier versions, brought up to the next: one function per version.

Version 2 (Holdfast 0.3.0) called `units` `loss_range`. Version 1 (0.1.0 and 0.2.0) kept a policy's state as 16 numbered
places, `x`, and two numbers per arm, `C` and `w`; which place held what is written down here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from holdfast.simplex import refine

BLOCK, ARM, ROUNDS = 0, 1, 2


def from_version_1(content: Mapping[str, Any]) -> dict[str, Any]:
    """Names for numbered places; what `observe` needs of an open block moves from the state into the block."""
    settings, x = content["policy"], content["x"]
    family = next((named for prefix, named in _FAMILIES.items() if settings["policy"].startswith(prefix)), None)
    if family is None:
        raise KeyError(f"{settings['policy']} is not a policy of version 1")
    is_open = content["left"] > 0
    state, block = family(settings, x, content["C"], content["w"], is_open)
    kept = ("policy", "functions", "stream", "bounds", "left", "pieces", "rounds", "switches")
    return {
        **{name: content[name] for name in kept},
        "state": {"n": x[BLOCK], **state},
        "block": {"arm": x[ARM], "rounds": x[ROUNDS], **block} if is_open else None,
        "begun": int(x[BLOCK]),
        "last_arm": int(x[ARM]) if x[BLOCK] else None,
    }


Named = tuple[dict[str, Any], dict[str, Any]]


def _tsallis(settings: Any, x: Any, C: Any, w: Any, is_open: bool) -> Named:
    rho, s, step, least, S3, S4, rest2, rest3, rest4, moved, total, bound = x[3:15]
    state = {"C": C, "least": least, "s": s, "sum": total, "S3": S3, "S4": S4, "rest2": rest2, "rest3": rest3}
    state |= {"rest4": rest4, "moved": 0.0 if is_open else moved, "fresh": float(is_open), "w": w, "step": step}
    if not is_open:
        return state, {}
    arm = int(x[ARM])
    v = refine(w[arm], step)
    y = (C[arm] - least) + s
    block = {"probability": min(v * v / rho, 1.0), "n": x[BLOCK], "rho": rho, "y": y, "v": v}
    if settings.get("estimator") != "reduced-variance":
        return state, {**block, "baseline": 0.0, "before": 0.0}
    threshold = 2.0 * bound * rho * (1.0 - 1e-14)  # baselines are now added at the draw
    baselines = [0.5 * bound if refine(weight, step) >= threshold else 0.0 for weight in w]
    state["C"] = [c + b for c, b in zip(C, baselines, strict=True)]
    return state, {**block, "baseline": baselines[arm], "before": C[arm]}


def _exp3(settings: Any, x: Any, C: Any, w: Any, is_open: bool) -> Named:
    least, total = x[3:5]
    weight = w[int(x[ARM])]
    block = {"probability": weight / total, "weight": weight, "total": total} if is_open else {}
    return {"C": C, "least": least, "w": w}, block


def _elimination(settings: Any, x: Any, C: Any, w: Any, is_open: bool) -> Named:
    names = ("batch", "active", "share", "turn", "pulls", "played")
    return {"C": C, "order": w, **dict(zip(names, x[3:9], strict=True))}, {"probability": 1.0}


_FAMILIES: dict[str, Callable[[Any, Any, Any, Any, bool], Named]] = {
    "tsallis": _tsallis,
    "exp3": _exp3,
    "base": _elimination,
}


def from_version_2(content: Mapping[str, Any]) -> dict[str, Any]:
    """Another name for the units of a policy; an adaptive policy keeps the rule it was saved with."""
    policy = dict(content["policy"])
    if "loss_range" in policy:
        policy["units"] = policy.pop("loss_range")
    if policy["policy"] == "adaptive" or "undecided" in content.get("state", ()):
        policy["growth"] = "0.3"
    return {**content, "policy": policy}


UPGRADES: tuple[Callable[[Mapping[str, Any]], dict[str, Any]], ...] = (from_version_1, from_version_2)
"""From version 1 to 2, from 2 to 3, …"""
