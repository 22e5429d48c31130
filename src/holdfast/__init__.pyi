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
from holdfast.policies import (
    AdaptiveHedgeSwitch as AdaptiveHedgeSwitch,
    AdaptiveTsallisSwitch as AdaptiveTsallisSwitch,
    AmirTsallis as AmirTsallis,
    AnytimeAmirTsallis as AnytimeAmirTsallis,
    BaSE as BaSE,
    BatchedElimination as BatchedElimination,
    BatchedThompson as BatchedThompson,
    BlockExp3 as BlockExp3,
    Exp3 as Exp3,
    FixedShare as FixedShare,
    FollowLazyLeader as FollowLazyLeader,
    FollowTheLeader as FollowTheLeader,
    ForecastPlan as ForecastPlan,
    HoldForever as HoldForever,
    LazyExp3 as LazyExp3,
    LazyHedge as LazyHedge,
    Policy as Policy,
    RandomWalkPerturbation as RandomWalkPerturbation,
    ShrinkingDartboard as ShrinkingDartboard,
    StabilityPenaltyBiasMatching as StabilityPenaltyBiasMatching,
    StabilityPenaltyMatching as StabilityPenaltyMatching,
    ThompsonSampling as ThompsonSampling,
    Threshold as Threshold,
    TsallisInf as TsallisInf,
    TsallisSwitch as TsallisSwitch,
    Ucb1 as Ucb1,
    Ucb2 as Ucb2,
    VaryingTsallisSwitch as VaryingTsallisSwitch,
    WorkFunctionAlone as WorkFunctionAlone,
)
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
