"""The policies: one family per file, all behind the protocol of `holdfast.policies.policy`."""

from holdfast.policies.adaptive import AdaptiveTsallisSwitch
from holdfast.policies.elimination import BaSE
from holdfast.policies.exp3 import BlockExp3, Exp3
from holdfast.policies.policy import Policy
from holdfast.policies.registry import POLICIES, make_policy
from holdfast.policies.tsallis_inf import TsallisInf
from holdfast.policies.tsallis_switch import TsallisSwitch, VaryingTsallisSwitch

__all__ = [
    "POLICIES",
    "AdaptiveTsallisSwitch",
    "BaSE",
    "BlockExp3",
    "Exp3",
    "Policy",
    "TsallisInf",
    "TsallisSwitch",
    "VaryingTsallisSwitch",
    "make_policy",
]
