"""Policies by name: the package's own by their id, user-defined ones by ``"module:Class"``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from holdfast.checks import class_at, is_own, made, one_of
from holdfast.errors import InvalidParameter, Set, Words
from holdfast.policies.policy import RECONSTRUCTION, Policy

POLICIES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "adaptive": ("adaptive:AdaptiveTsallisSwitch", {}),
    "tracking": ("tracking:TrackingSwitch", {}),
    "guarded": ("guarded:Guarded", {}),
    "hedge-switch": ("hedge:AdaptiveHedgeSwitch", {}),
    "tsallis-switch": ("tsallis:TsallisSwitch", {}),
    "tsallis-switch-varying": ("tsallis:VaryingTsallisSwitch", {}),
    "tsallis-inf": ("tsallis:TsallisInf", {}),
    "exp3": ("exp3:Exp3", {}),
    "exp3-blocks": ("exp3:BlockExp3", {}),
    "base-arithmetic": ("elimination:BaSE", {"grid": "arithmetic"}),
    "base-geometric": ("elimination:BaSE", {"grid": "geometric"}),
    "base-minimax": ("elimination:BaSE", {"grid": "minimax"}),
    "ucb1": ("averages:Ucb1", {}),
    "follow-the-leader": ("averages:FollowTheLeader", {}),
    "thompson": ("averages:ThompsonSampling", {}),
    "ucb2": ("averages:Ucb2", {}),
    "ts2": ("averages:BatchedThompson", {}),
    "batched-elimination": ("elimination:BatchedElimination", {}),
    "lazy-exp3": ("rivals:LazyExp3", {}),
    "amir": ("rivals:AmirTsallis", {}),
    "amir-anytime": ("rivals:AnytimeAmirTsallis", {}),
    "paused-tsallis": ("paused:PausedTsallis", {}),
    "spb-blocks": ("rivals:StabilityPenaltyBiasMatching", {}),
    "spm": ("rivals:StabilityPenaltyMatching", {}),
    "ewma": ("hand_written:Ewma", {}),
    "fail-over": ("hand_written:FailOver", {}),
    "threshold-cooldown": ("hand_written:ThresholdCooldown", {}),
    "hold-forever": ("averages:HoldForever", {}),
    "lazy-hedge": ("full_information:LazyHedge", {}),
    "shrinking-dartboard": ("full_information:ShrinkingDartboard", {}),
    "lazy-leader": ("full_information:FollowLazyLeader", {}),
    "random-walk": ("full_information:RandomWalkPerturbation", {}),
    "work-function": ("full_information:WorkFunctionAlone", {}),
    "fixed-share": ("full_information:FixedShare", {}),
    "threshold": ("full_information:Threshold", {}),
    "forecast-plan": ("full_information:ForecastPlan", {}),
}
"""Module, class and preset options of each policy id; modules are loaded at first use."""


def find_policy(name: object) -> tuple[type[Policy], Mapping[str, Any]]:
    """Return the class with this id, or named by ``"module:Class"``, and the preset options of the name."""
    if is_own(name):
        return class_at("policy", name, Policy), {}  # type: ignore[type-abstract]  # only compared with
    where, implied = POLICIES[one_of("policy", name, POLICIES)]
    module, _, kind = where.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), kind), implied


def allowed_policy(name: object, allow: Iterable[str | type[Policy]] = ()) -> tuple[type[Policy], Mapping[str, Any]]:
    """Like `find_policy`, for a name from a file or a store: a user-defined class is imported only if in `allow`.

    Parameters
    ----------
    name
        The policy's id, or ``"module:Class"``.
    allow
        User-defined policies that may be used: classes, ``"module:Class"``, or ``"module"`` for all of a module.

    Examples
    --------
    >>> allowed_policy("exp3")[0].__name__
    'Exp3'
    >>> allowed_policy("os:system")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.InvalidParameter: policy must be one of Holdfast's own, or allowed: allow=['os:system'] ...
    """
    if not is_own(name):
        return find_policy(name)
    if isinstance(allow, str):
        raise InvalidParameter("allow", "must be a list of classes or names", allow)
    for given in allow:
        if isinstance(given, type) and issubclass(given, Policy) and f"{given.__module__}:{given.__qualname__}" == name:
            return given, {}
        if given in (name, name.partition(":")[0]):
            return find_policy(name)
    module = name.partition(":")[0]
    allow_it = Set("allow", [name], verb="")
    rule = Words("must be one of Holdfast's own, or allowed: ", allow_it, f" imports the module {module}")
    raise InvalidParameter("policy", rule, name)


def make_policy(settings: Mapping[str, Any], allow: Iterable[str | type[Policy]] | None = None) -> Policy:
    """Return the policy described by `settings`: its name under ``"policy"``, and its parameters by name.

    With `allow`, a user-defined policy must be listed, as in `allowed_policy`; by default any may be imported,
    for settings written by the caller.

    >>> make_policy({"policy": "base-minimax", "n_arms": 3, "horizon": 100}).grid
    'minimax'
    """
    if not isinstance(settings, Mapping):
        raise InvalidParameter("settings", 'must be a mapping such as {"policy": "exp3", "n_arms": 8}', settings)
    values = dict(settings)
    name = values.pop("policy", None)
    kind, implied = find_policy(name) if allow is None else allowed_policy(name, allow)
    if isinstance(rule := values.get("rule"), Mapping):  # of a guard: a policy too
        values["rule"] = make_policy(rule, allow)
    return made(kind, str(name), {**values, **implied})


def entry_of(text: str, parameter: str = "policies") -> dict[str, Any]:
    """Parse a policy written on one line: ``ID``, or ``ID:name=value,name=value``; ID may be ``module:Class``.

    Values are TOML; a word needs no quotes. Unless a ``name`` is given, the text itself is the name, with what its
    readers must know.
    `parameter` names the text in errors.

    >>> entry_of("tsallis-inf:estimator=reduced-variance,loss_bound=2.0")["estimator"]
    'reduced-variance'
    """
    head, *rest = text.split(":")
    if rest and "=" not in rest[0] and head not in POLICIES:  # module:Class
        head = f"{head}:{rest.pop(0)}"
    entry: dict[str, Any] = {"policy": head}
    for part in filter(None, re.split(r",(?![^\[]*\]|[^{]*\})", ":".join(rest))):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            rule = f"must be an id, or an id with parameters: {head}:name=value,name=value"
            raise InvalidParameter(parameter, rule, text)
        entry[name.strip()] = _value(value.strip())
    name = text + RECONSTRUCTION * (head in POLICIES and find_policy(head)[0].reconstructed)
    return entry if [*entry] == ["policy"] and name == text else {"name": name, **entry}


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
