"""The public names, each with its module. `holdfast/__init__.py` reads them here and loads each at its first use."""

from holdfast import bounds as bounds
from holdfast import regret as regret
from holdfast.decisions import Decision as Decision
from holdfast.decisions import Receipt as Receipt
from holdfast.decisions import Router as Router
from holdfast.decisions import open as open
from holdfast.environments import (
    Bernoulli as Bernoulli,
)
from holdfast.environments import (
    ChangingBest as ChangingBest,
)
from holdfast.environments import (
    ConstrainedBernoulli as ConstrainedBernoulli,
)
from holdfast.environments import (
    Corrupted as Corrupted,
)
from holdfast.environments import (
    Drifting as Drifting,
)
from holdfast.environments import (
    Environment as Environment,
)
from holdfast.environments import (
    Found as Found,
)
from holdfast.environments import (
    JumpingLevels as JumpingLevels,
)
from holdfast.environments import (
    LossTable as LossTable,
)
from holdfast.environments import (
    MultiScaleWalk as MultiScaleWalk,
)
from holdfast.environments import (
    PiecewiseConstant as PiecewiseConstant,
)
from holdfast.environments import (
    Reversal as Reversal,
)
from holdfast.environments import (
    Seasonal as Seasonal,
)
from holdfast.environments import (
    UnseenTurn as UnseenTurn,
)
from holdfast.errors import (
    AlreadyTold as AlreadyTold,
)
from holdfast.errors import (
    BackendLost as BackendLost,
)
from holdfast.errors import (
    BadSavedState as BadSavedState,
)
from holdfast.errors import (
    BadStore as BadStore,
)
from holdfast.errors import (
    DecisionError as DecisionError,
)
from holdfast.errors import (
    Forgotten as Forgotten,
)
from holdfast.errors import (
    HoldfastError as HoldfastError,
)
from holdfast.errors import (
    InvalidParameter as InvalidParameter,
)
from holdfast.errors import (
    MissingExtra as MissingExtra,
)
from holdfast.errors import (
    OtherSettings as OtherSettings,
)
from holdfast.errors import (
    OutOfTurn as OutOfTurn,
)
from holdfast.errors import (
    SomeRefused as SomeRefused,
)
from holdfast.errors import (
    StoreError as StoreError,
)
from holdfast.errors import (
    TooLate as TooLate,
)
from holdfast.errors import (
    UnknownDecision as UnknownDecision,
)
from holdfast.errors import (
    UnknownPlayer as UnknownPlayer,
)
from holdfast.players import Player as Player
from holdfast.policies import (
    AdaptiveTsallisSwitch as AdaptiveTsallisSwitch,
)
from holdfast.policies import (
    AmirTsallis as AmirTsallis,
)
from holdfast.policies import (
    AnytimeAmirTsallis as AnytimeAmirTsallis,
)
from holdfast.policies import (
    BaSE as BaSE,
)
from holdfast.policies import (
    BatchedElimination as BatchedElimination,
)
from holdfast.policies import (
    BatchedThompson as BatchedThompson,
)
from holdfast.policies import (
    BlockExp3 as BlockExp3,
)
from holdfast.policies import (
    Exp3 as Exp3,
)
from holdfast.policies import (
    FollowTheLeader as FollowTheLeader,
)
from holdfast.policies import (
    HoldForever as HoldForever,
)
from holdfast.policies import (
    LazyExp3 as LazyExp3,
)
from holdfast.policies import (
    Policy as Policy,
)
from holdfast.policies import (
    StabilityPenaltyMatching as StabilityPenaltyMatching,
)
from holdfast.policies import (
    ThompsonSampling as ThompsonSampling,
)
from holdfast.policies import (
    TsallisInf as TsallisInf,
)
from holdfast.policies import (
    TsallisSwitch as TsallisSwitch,
)
from holdfast.policies import (
    Ucb1 as Ucb1,
)
from holdfast.policies import (
    Ucb2 as Ucb2,
)
from holdfast.policies import (
    VaryingTsallisSwitch as VaryingTsallisSwitch,
)
from holdfast.replays.off_policy import LoggedData as LoggedData
from holdfast.replays.plans import Plan as Plan
from holdfast.replays.plans import best_plan as best_plan
from holdfast.replays.result import Replay as Replay
from holdfast.replays.run import replay as replay
from holdfast.results import Result as Result
from holdfast.rng import Stream as Stream
from holdfast.simplex import tsallis_weights as tsallis_weights
from holdfast.simulation import Interrupted as Interrupted
from holdfast.simulation import Power as Power
from holdfast.simulation import Threads as Threads
from holdfast.simulation import simulate as simulate

__version__: str
__all__: list[str]
from holdfast.players.fleet import Fleet as Fleet
from holdfast.decisions import fleet_from_store as fleet_from_store
from holdfast.decisions import fleet_to_store as fleet_to_store
