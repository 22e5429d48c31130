"""The policies: one family a file, all behind the protocol of `holdfast.policies.protocol`."""

from collections.abc import Mapping
from typing import Any

from holdfast.errors import InvalidParameter, nearest
from holdfast.policies.base import BaSE
from holdfast.policies.exp3 import BlockExp3, Exp3
from holdfast.policies.protocol import Policy
from holdfast.policies.tsallis_inf import TsallisInf
from holdfast.policies.tsallis_switch import TsallisSwitch, VaryingTsallisSwitch

__all__ = ["BaSE", "BlockExp3", "Exp3", "Policy", "TsallisInf", "TsallisSwitch", "VaryingTsallisSwitch"]

POLICIES: Mapping[str, tuple[type[Policy], Mapping[str, Any]]] = {
    "tsallis-switch": (TsallisSwitch, {}),
    "tsallis-switch-varying": (VaryingTsallisSwitch, {}),
    "tsallis-inf": (TsallisInf, {}),
    "exp3": (Exp3, {}),
    "exp3-blocks": (BlockExp3, {}),
    "base-arithmetic": (BaSE, {"grid": "arithmetic"}),
    "base-geometric": (BaSE, {"grid": "geometric"}),
    "base-minimax": (BaSE, {"grid": "minimax"}),
}
"""Each policy id with the class that plays it and the options it stands for."""


def make_policy(settings: Mapping[str, Any]) -> Policy:
    """The policy that `settings` describes: its id under ``"policy"``, and its parameters by name."""
    values = dict(settings)
    name = values.pop("policy", None)
    if name not in POLICIES:
        rule = f"must be one of {', '.join(map(repr, POLICIES))}{nearest(name, POLICIES)}"
        raise InvalidParameter("policy", rule, name)
    kind, implied = POLICIES[name]
    known = kind.__dataclass_fields__
    for parameter in values:
        if parameter not in known:
            raise InvalidParameter(
                parameter, f"is not a parameter of {name}{nearest(parameter, known)}", values[parameter]
            )
    return kind(**{**values, **implied})
