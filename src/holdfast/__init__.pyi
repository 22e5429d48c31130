"""The public names, each with its module. `holdfast/__init__.py` reads them here and loads each at its first use."""

from holdfast import bounds as bounds, paths as paths, regret as regret
from holdfast.decisions import (
    Decision as Decision,
    Receipt as Receipt,
    Router as Router,
    open as open,
    open_many as open_many,
)
from holdfast.environments import (
    Bernoulli as Bernoulli,
    ChangingBest as ChangingBest,
    ConstrainedBernoulli as ConstrainedBernoulli,
    Corrupted as Corrupted,
    Drifting as Drifting,
    Environment as Environment,
    ForecastTable as ForecastTable,
    Found as Found,
    JumpingLevels as JumpingLevels,
    LossTable as LossTable,
    MultiScaleWalk as MultiScaleWalk,
    PiecewiseConstant as PiecewiseConstant,
    Reversal as Reversal,
    Seasonal as Seasonal,
    UnseenTurn as UnseenTurn,
)
from holdfast.errors import (
    AlreadyTold as AlreadyTold,
    BackendLost as BackendLost,
    BadSavedState as BadSavedState,
    BadStore as BadStore,
    DecisionError as DecisionError,
    Forgotten as Forgotten,
    HoldfastError as HoldfastError,
    InvalidParameter as InvalidParameter,
    MissingExtra as MissingExtra,
    NoArmAvailable as NoArmAvailable,
    NotAllowed as NotAllowed,
    OtherSettings as OtherSettings,
    OutOfTurn as OutOfTurn,
    SomeRefused as SomeRefused,
    StoreError as StoreError,
    TooLate as TooLate,
    UnknownDecision as UnknownDecision,
    UnknownGame as UnknownGame,
)
from holdfast.players import AllLossesPlayer as AllLossesPlayer, Player as Player
from holdfast.policies.adaptive import AdaptiveTsallisSwitch as AdaptiveTsallisSwitch
from holdfast.policies.amir import AmirTsallis as AmirTsallis, AnytimeAmirTsallis as AnytimeAmirTsallis
from holdfast.policies.batched_elimination import BatchedElimination as BatchedElimination
from holdfast.policies.elimination import BaSE as BaSE
from holdfast.policies.exp3 import BlockExp3 as BlockExp3, Exp3 as Exp3
from holdfast.policies.fixed_share import FixedShare as FixedShare
from holdfast.policies.forecast_plan import ForecastPlan as ForecastPlan
from holdfast.policies.hedge_switch import AdaptiveHedgeSwitch as AdaptiveHedgeSwitch
from holdfast.policies.hold_forever import HoldForever as HoldForever
from holdfast.policies.lazy_exp3 import LazyExp3 as LazyExp3
from holdfast.policies.lazy_hedge import LazyHedge as LazyHedge
from holdfast.policies.lazy_leader import FollowLazyLeader as FollowLazyLeader
from holdfast.policies.policy import Policy as Policy
from holdfast.policies.random_walk import RandomWalkPerturbation as RandomWalkPerturbation
from holdfast.policies.shrinking_dartboard import ShrinkingDartboard as ShrinkingDartboard
from holdfast.policies.spb import StabilityPenaltyBiasMatching as StabilityPenaltyBiasMatching
from holdfast.policies.spm import StabilityPenaltyMatching as StabilityPenaltyMatching
from holdfast.policies.thompson import ThompsonSampling as ThompsonSampling
from holdfast.policies.threshold import Threshold as Threshold
from holdfast.policies.ts2 import BatchedThompson as BatchedThompson
from holdfast.policies.tsallis_inf import TsallisInf as TsallisInf
from holdfast.policies.tsallis_switch import (
    TsallisSwitch as TsallisSwitch,
    VaryingTsallisSwitch as VaryingTsallisSwitch,
)
from holdfast.policies.ucb import FollowTheLeader as FollowTheLeader, Ucb1 as Ucb1
from holdfast.policies.ucb2 import Ucb2 as Ucb2
from holdfast.policies.work_function import WorkFunctionAlone as WorkFunctionAlone
from holdfast.replays.off_policy import LoggedData as LoggedData
from holdfast.replays.plans import Plan as Plan, best_plan as best_plan
from holdfast.replays.result import Replay as Replay
from holdfast.replays.run import replay as replay
from holdfast.results import Result as Result
from holdfast.rng import Stream as Stream
from holdfast.scales import Scale as Scale
from holdfast.simplex import tsallis_weights as tsallis_weights
from holdfast.simulation import Interrupted as Interrupted, Power as Power, Threads as Threads, simulate as simulate

__version__: str
__all__: list[str]
from holdfast.decisions import fleet_from_store as fleet_from_store, fleet_to_store as fleet_to_store
from holdfast.players.fleet import Fleet as Fleet
