"""The public names, each with its module. `holdfast/__init__.py` reads them here and loads each at its first use."""

from holdfast import bounds as bounds, experts as experts
from holdfast.decisions import (
    Decision as Decision,
    Receipt as Receipt,
    Router as Router,
    open as open,
    open_many as open_many,
)
from holdfast.decisions.settings import Breaker as Breaker
from holdfast.environments import (
    Bernoulli as Bernoulli,
    ChangingBest as ChangingBest,
    ChangingEnvironment as ChangingEnvironment,
    CommonJumps as CommonJumps,
    ConstrainedBernoulli as ConstrainedBernoulli,
    Corrupted as Corrupted,
    Drifting as Drifting,
    Environment as Environment,
    ForecastTable as ForecastTable,
    JumpingLevels as JumpingLevels,
    LossTable as LossTable,
    MarkovChain as MarkovChain,
    MultiScaleWalk as MultiScaleWalk,
    OrnsteinUhlenbeck as OrnsteinUhlenbeck,
    Outages as Outages,
    PiecewiseConstant as PiecewiseConstant,
    RandomChanges as RandomChanges,
    Reversal as Reversal,
    Seasonal as Seasonal,
    Seasons as Seasons,
    TiringArms as TiringArms,
    UnseenTurn as UnseenTurn,
    VaryingRanges as VaryingRanges,
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
    OtherRequest as OtherRequest,
    OtherSettings as OtherSettings,
    OutOfTurn as OutOfTurn,
    SomeRefused as SomeRefused,
    StoreError as StoreError,
    TooLate as TooLate,
    UnknownDecision as UnknownDecision,
    UnknownGame as UnknownGame,
)
from holdfast.numerics import regret as regret
from holdfast.numerics.hindsight import Plan as Plan, best_plan as best_plan
from holdfast.numerics.random import Stream as Stream
from holdfast.numerics.scales import Scale as Scale
from holdfast.numerics.simplex import tsallis_weights as tsallis_weights
from holdfast.players import FullInformationPlayer as FullInformationPlayer, Player as Player
from holdfast.policies.adaptive import AdaptiveTsallisSwitch as AdaptiveTsallisSwitch, Constants as Constants
from holdfast.policies.averages import (
    BatchedThompson as BatchedThompson,
    FollowTheLeader as FollowTheLeader,
    HoldForever as HoldForever,
    ThompsonSampling as ThompsonSampling,
    Ucb1 as Ucb1,
    Ucb2 as Ucb2,
)
from holdfast.policies.elimination import BaSE as BaSE, BatchedElimination as BatchedElimination
from holdfast.policies.exp3 import BlockExp3 as BlockExp3, Exp3 as Exp3
from holdfast.policies.full_information import (
    FixedShare as FixedShare,
    FollowLazyLeader as FollowLazyLeader,
    ForecastPlan as ForecastPlan,
    LazyHedge as LazyHedge,
    RandomWalkPerturbation as RandomWalkPerturbation,
    ShrinkingDartboard as ShrinkingDartboard,
    Threshold as Threshold,
    WorkFunctionAlone as WorkFunctionAlone,
)
from holdfast.policies.guarded import Guard as Guard, Guarded as Guarded
from holdfast.policies.hand_written import (
    Ewma as Ewma,
    FailOver as FailOver,
    ThresholdCooldown as ThresholdCooldown,
)
from holdfast.policies.hedge import AdaptiveHedgeSwitch as AdaptiveHedgeSwitch
from holdfast.policies.paused import PausedTsallis as PausedTsallis
from holdfast.policies.policy import Policy as Policy
from holdfast.policies.rivals import (
    AmirTsallis as AmirTsallis,
    AnytimeAmirTsallis as AnytimeAmirTsallis,
    LazyExp3 as LazyExp3,
    StabilityPenaltyBiasMatching as StabilityPenaltyBiasMatching,
    StabilityPenaltyMatching as StabilityPenaltyMatching,
)
from holdfast.policies.tracking import TrackingSwitch as TrackingSwitch
from holdfast.policies.tsallis import (
    TsallisInf as TsallisInf,
    TsallisSwitch as TsallisSwitch,
    VaryingTsallisSwitch as VaryingTsallisSwitch,
)
from holdfast.replays.logged import LoggedData as LoggedData
from holdfast.replays.run import Replay as Replay, replay as replay
from holdfast.results import Result as Result
from holdfast.simulation import (
    Delay as Delay,
    Interrupted as Interrupted,
    Power as Power,
    Threads as Threads,
    simulate as simulate,
)
from holdfast.simulation.contract import Checked as Checked, check as check

__version__: str
__all__: list[str]
from holdfast.decisions import fleet_from_store as fleet_from_store, fleet_to_store as fleet_to_store
from holdfast.players.fleet import Fleet as Fleet
