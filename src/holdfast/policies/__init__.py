"""The policies: one family per file, all behind the protocol of `holdfast.policies.policy`."""

from holdfast.policies.elimination import BaSE
from holdfast.policies.exp3 import BlockExp3, Exp3
from holdfast.policies.hold_forever import HoldForever
from holdfast.policies.policy import Policy
from holdfast.policies.registry import POLICIES, make_policy
from holdfast.policies.tsallis_inf import TsallisInf
from holdfast.policies.tsallis_switch import TsallisSwitch, VaryingTsallisSwitch
from holdfast.policies.ucb import FollowTheLeader, Ucb1

__all__ = [
    "POLICIES",
    "BaSE",
    "BlockExp3",
    "Exp3",
    "FollowTheLeader",
    "HoldForever",
    "Policy",
    "TsallisInf",
    "TsallisSwitch",
    "Ucb1",
    "VaryingTsallisSwitch",
    "make_policy",
]
