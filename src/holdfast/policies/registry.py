"""Policies by name: the package's own by their id, anyone's by ``"module:Class"``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.checks import class_at, made, one_of
from holdfast.errors import InvalidParameter
from holdfast.policies.adaptive import AdaptiveTsallisSwitch
from holdfast.policies.amir import AmirTsallis, AnytimeAmirTsallis
from holdfast.policies.batched_elimination import BatchedElimination
from holdfast.policies.elimination import BaSE
from holdfast.policies.exp3 import BlockExp3, Exp3
from holdfast.policies.hedge_switch import AdaptiveHedgeSwitch
from holdfast.policies.hold_forever import HoldForever
from holdfast.policies.lazy_exp3 import LazyExp3
from holdfast.policies.policy import Policy
from holdfast.policies.spm import StabilityPenaltyMatching
from holdfast.policies.thompson import ThompsonSampling
from holdfast.policies.ts2 import BatchedThompson
from holdfast.policies.tsallis_inf import TsallisInf
from holdfast.policies.tsallis_switch import TsallisSwitch, VaryingTsallisSwitch
from holdfast.policies.ucb import FollowTheLeader, Ucb1
from holdfast.policies.ucb2 import Ucb2

POLICIES: Mapping[str, tuple[type[Policy], Mapping[str, Any]]] = {
    "adaptive": (AdaptiveTsallisSwitch, {}),
    "hedge-switch": (AdaptiveHedgeSwitch, {}),
    "tsallis-switch": (TsallisSwitch, {}),
    "tsallis-switch-varying": (VaryingTsallisSwitch, {}),
    "tsallis-inf": (TsallisInf, {}),
    "exp3": (Exp3, {}),
    "exp3-blocks": (BlockExp3, {}),
    "base-arithmetic": (BaSE, {"grid": "arithmetic"}),
    "base-geometric": (BaSE, {"grid": "geometric"}),
    "base-minimax": (BaSE, {"grid": "minimax"}),
    "ucb1": (Ucb1, {}),
    "follow-the-leader": (FollowTheLeader, {}),
    "thompson": (ThompsonSampling, {}),
    "ucb2": (Ucb2, {}),
    "ts2": (BatchedThompson, {}),
    "batched-elimination": (BatchedElimination, {}),
    "lazy-exp3": (LazyExp3, {}),
    "amir": (AmirTsallis, {}),
    "amir-anytime": (AnytimeAmirTsallis, {}),
    "spm": (StabilityPenaltyMatching, {}),
    "hold-forever": (HoldForever, {}),
}
"""Each policy id with the class that plays it and the options it stands for."""


def find_policy(name: object) -> tuple[type[Policy], Mapping[str, Any]]:
    """The class with this id, or the one that ``"module:Class"`` names, and the options the name stands for."""
    if isinstance(name, str) and ":" in name:
        return class_at("policy", name, Policy), {}  # type: ignore[type-abstract]  # only compared with
    return POLICIES[one_of("policy", name, POLICIES)]


def make_policy(settings: Mapping[str, Any]) -> Policy:
    """The policy that `settings` describes: its name under ``"policy"``, and its parameters by name.

    >>> make_policy({"policy": "base-minimax", "n_arms": 3, "horizon": 100}).grid
    'minimax'
    """
    if not isinstance(settings, Mapping):
        raise InvalidParameter("settings", 'must be a mapping such as {"policy": "exp3", "n_arms": 8}', settings)
    values = dict(settings)
    name = values.pop("policy", None)
    kind, implied = find_policy(name)
    return made(kind, str(name), {**values, **implied})
