"""The policies: one family per file, all behind the protocol of `holdfast.policies.policy`."""

from holdfast.policies.adaptive import AdaptiveTsallisSwitch
from holdfast.policies.amir import AmirTsallis, AnytimeAmirTsallis
from holdfast.policies.batched_elimination import BatchedElimination
from holdfast.policies.elimination import BaSE
from holdfast.policies.exp3 import BlockExp3, Exp3
from holdfast.policies.fixed_share import FixedShare
from holdfast.policies.forecast_plan import ForecastPlan
from holdfast.policies.hedge_switch import AdaptiveHedgeSwitch
from holdfast.policies.hold_forever import HoldForever
from holdfast.policies.lazy_exp3 import LazyExp3
from holdfast.policies.lazy_hedge import LazyHedge
from holdfast.policies.lazy_leader import FollowLazyLeader
from holdfast.policies.policy import Policy
from holdfast.policies.random_walk import RandomWalkPerturbation
from holdfast.policies.registry import POLICIES, make_policy
from holdfast.policies.shrinking_dartboard import ShrinkingDartboard
from holdfast.policies.spb import StabilityPenaltyBiasMatching
from holdfast.policies.spm import StabilityPenaltyMatching
from holdfast.policies.thompson import ThompsonSampling
from holdfast.policies.threshold import Threshold
from holdfast.policies.ts2 import BatchedThompson
from holdfast.policies.tsallis_inf import TsallisInf
from holdfast.policies.tsallis_switch import TsallisSwitch, VaryingTsallisSwitch
from holdfast.policies.ucb import FollowTheLeader, Ucb1
from holdfast.policies.ucb2 import Ucb2
from holdfast.policies.work_function import WorkFunctionAlone

__all__ = [
    "POLICIES",
    "AdaptiveHedgeSwitch",
    "AdaptiveTsallisSwitch",
    "AmirTsallis",
    "AnytimeAmirTsallis",
    "BaSE",
    "BatchedElimination",
    "BatchedThompson",
    "BlockExp3",
    "Exp3",
    "FixedShare",
    "FollowLazyLeader",
    "FollowTheLeader",
    "ForecastPlan",
    "HoldForever",
    "LazyExp3",
    "LazyHedge",
    "Policy",
    "RandomWalkPerturbation",
    "ShrinkingDartboard",
    "StabilityPenaltyBiasMatching",
    "StabilityPenaltyMatching",
    "ThompsonSampling",
    "Threshold",
    "TsallisInf",
    "TsallisSwitch",
    "Ucb1",
    "Ucb2",
    "VaryingTsallisSwitch",
    "WorkFunctionAlone",
    "make_policy",
]
