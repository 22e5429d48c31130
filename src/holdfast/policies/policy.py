"""The protocol of a policy: a frozen description, and two kernels that play it in blocks.

    choose(params, state, announced, streams, block)   begin a block: fill in its arm, rounds and probability
    observe(params, state, block, totals, rounds)      what that block lost over `rounds` rounds

`params` are the policy's parameters, `state` is the game, `block` the block in play: all by name
(`holdfast.numerics.layout`). State and block are owned by the caller; parameters are never changed. `announced` is
what the policy is told at the start of a block (Theorem 4's λ_n, Theorem 2's b_t), `streams` the random streams it
draws from.

**A block is a value.** All that `observe` needs of the draw is in the block, not in the state: so a block may be
stored, sent elsewhere and observed late, after others have begun, and in any order. A policy that cannot continue
without a loss says so (`waits_for_losses`). `rounds` is fewer than the block has only if losses never came.

Every array has one column per game. A policy whose blocks have the same lengths in every game may be played *side by
side*: its kernels are then handed several columns at once, and the common ``block.rounds`` is that of column 0. All
others are handed one column, here as in online play and on a GPU.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._numba.compile import takes
from holdfast.checks import (
    LARGEST,
    check_fields,
    checked_costs,
    different_names,
    number_range,
    one_of,
    real_number,
    settings_of,
    whole,
    whole_number,
)
from holdfast.errors import NAMES, RANGE, BadSavedState, Call, HoldfastError, InvalidParameter, Set, Words
from holdfast.numerics.layout import (
    ArmIndex,
    Array,
    Flag,
    Layout,
    NonNegative,
    ParamsLayout,
    PerArm,
    Probability,
    Range,
    Scalar,
    Whole,
    layout_of,
    params_layout_of,
)
from holdfast.numerics.schedules import LONGEST

if TYPE_CHECKING:
    from holdfast.players.player import FullInformationPlayer, Player

RAREST = 1e-20
"""Lower bound on the probability of an arm drawn by a 53-bit uniform, but for the first arm at a uniform of 0."""

RECONSTRUCTION = " (our reconstruction)"
"""End of the label of a policy whose paper was not all at hand; the names of its random streams omit it."""

NOT_KNOWN = 0.0
"""Probability in a block where the policy does not know it."""

MOST_ARMS = 10**7

HIGHEST_COST = 1e12
"""Largest λ in units of one round's range.

A first block then has 10¹² rounds, and the few hundred blocks that follow fit into the 2⁵³ rounds that can be counted.
"""

Mask = NDArray[np.bool_]

Kernel = Callable[..., Any]
"""A function for Numba. Its arguments are arrays on a CPU or a GPU, or plain NumPy's: no type says that."""

Announcement = Literal["switching_cost", "loss_bound", "rule"]
"""An announcement that a policy may need at the start of each block."""

ANNOUNCED = "announced"
"""In place of a parameter that is announced with each block."""

BLOCK_RANGES = {"arm": ArmIndex, "rounds": Range(1.0, Whole.most, whole=True), "probability": Range(0.0, 1.0 + 1e-9)}
"""Leading fields of every policy's block; a probability of 0 means unknown."""


class Kernels(NamedTuple):
    """All that is needed to play a policy, apart from its parameters."""

    choose: Kernel
    observe: Kernel
    state: type
    """NamedTuple of what a game keeps."""
    block: type
    """NamedTuple starting with `arm`, `rounds` and `probability`, then what `observe` needs back."""
    side_by_side: bool = False
    """True if games can be played together, as their blocks have equal lengths."""
    params: type | None = None
    """NamedTuple returned by `Policy.parameters`; None for a policy without parameters."""
    full_information: bool = False
    """True if `observe` gets the losses of all arms, ``totals[i, g]``; else those of the arm in play."""

    @property
    def state_layout(self) -> Layout:
        """Layout of the state."""
        return layout_of(self.state)

    @property
    def block_layout(self) -> Layout:
        """Layout of a block."""
        return _block_layout(self.block)

    @property
    def params_layout(self) -> ParamsLayout:
        """Layout of the parameters."""
        return params_layout_of(self.params)


class PlainBlock(NamedTuple):
    """A block with only the fields that every block has."""

    arm: Scalar
    rounds: Scalar
    probability: Scalar


class FullInformationState(NamedTuple):
    """State fields of every policy with full information (see `holdfast.numerics.layout.extended`)."""

    known: Annotated[PerArm, Probability]  # the losses of the last round
    age: Annotated[PerArm, NonNegative]  # rounds since they were told
    shut: Annotated[PerArm, Flag]  # 1 if an arm is unavailable in this round


@cache
def _block_layout(block: Any) -> Layout:
    layout = layout_of(block)
    plain = all(kind.saved and not kind.per_arm for kind in layout.kinds.values())
    if tuple(layout.kinds)[:3] != tuple(BLOCK_RANGES) or not plain:
        raise TypeError(f"{block.__name__} must begin with arm, rounds and probability, and have Scalars only")
    return replace(layout, ranges={**BLOCK_RANGES, **layout.ranges})


@dataclass(frozen=True)
class Policy(ABC):
    """A strategy: parameters only. `player()` begins a game; `holdfast.simulate` plays many."""

    n_arms: int = 0
    """The number of arms K. Leave it out if `arms` names them."""

    id: ClassVar[str]
    """Name in tables and on the command line."""
    waits_for_losses: ClassVar[bool] = False
    """True if the next block can begin only when all losses of this one are known.

    It then hears of every block, even one whose losses were all dropped: of no rounds and no loss.
    """

    remembers_order: ClassVar[bool] = False
    """True if what a late loss changes depends on the blocks begun since, as where the latest loss counts most."""

    draws_in_steps: ClassVar[bool] = False
    """True if `probabilities` is given what was drawn before the arm, as the choice of a rule that is followed."""

    deterministic: ClassVar[bool] = False
    """True if it draws nothing: the same losses give the same game, whatever the seed."""

    knows_probabilities: ClassVar[bool] = True
    """False if it does not know its distribution; its blocks then have probability 0."""

    reconstructed: ClassVar[bool] = False
    """True if the paper's text was not at hand: tables, legends and pages say so, unless the user names it."""

    arms: Sequence[str] | None = field(default=None, kw_only=True)
    """Names of the arms, which `ask` then returns."""
    units: tuple[float, float] = field(default=(0.0, 1.0), kw_only=True)
    """Lowest and highest loss of one round; `switching_cost` uses the same units."""

    def __post_init__(self) -> None:
        if self.arms is not None:
            self._set("arms", different_names("arms", self.arms, least=1))
        if self.arms is not None and self.n_arms in (0, len(self.arms)):
            self._set("n_arms", len(self.arms))
        elif self.arms is not None:
            raise InvalidParameter(
                "n_arms",
                f"must be the number of names in arms, {len(self.arms)}, or be left out",
                self.n_arms,
            )
        if self.arms is None and isinstance(self.n_arms, (list, tuple)):
            raise InvalidParameter("n_arms", Words("must be a number; for names, ", Set("arms", NAMES)), self.n_arms)
        if self.arms is None and (self.n_arms is None or self.n_arms == 0):
            named = Set("arms", NAMES, verb="")
            rule = Words(f"must be given, from 1 to {MOST_ARMS}, or the arms by name: ", named)
            raise InvalidParameter("n_arms", rule, self.n_arms)
        self._set("n_arms", whole_number("n_arms", self.n_arms, least=1, most=MOST_ARMS))
        self._set("units", number_range("units", self.units))
        check_fields(self)

    def _set(self, name: str, value: object) -> None:
        """Set a checked field of this frozen object, while it is being made."""
        object.__setattr__(self, name, value)

    @property
    def label(self) -> str:
        """Name in a table when no other is given."""
        return self.id + RECONSTRUCTION * self.reconstructed

    @property
    @abstractmethod
    def kernels(self) -> Kernels:
        """The kernels that play it."""

    @property
    def state_layout(self) -> Layout:
        """Layout of a game's state."""
        return self.kernels.state_layout

    @property
    def announces(self) -> Announcement | None:
        """Announcement needed at the start of each block, if any."""
        return None

    @property
    def rule_of(self) -> Callable[[Sequence[tuple[Any, float]]], Any] | None:
        """The user's function that chooses the arm from the rounds told so far, if it follows one."""
        return None

    @property
    def has_guard(self) -> bool:
        """True if a guard leads it (`holdfast.Guarded`): `guard_of(state)` then says where that stands."""
        return False

    @property
    def full_information(self) -> bool:
        """True if it is told the losses of all arms, not only of the arm in play."""
        return self.kernels.full_information

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of one round's loss, as it is told."""
        return self.units

    @property
    def unit(self) -> float:
        """Width of `units`: one normalised loss in the user's units."""
        return self.units[1] - self.units[0]

    def checked_cost(self, value: object) -> float:
        """Return the switching cost in `units`, or raise an error."""
        return real_number("switching_cost", value, least=0, most=HIGHEST_COST * self.unit)

    def one_cost(self, value: object) -> float:
        """Like `checked_cost`, but reduce a cost matrix to its largest entry, with a warning."""
        if isinstance(value, str) or not isinstance(value, (Sequence, np.ndarray)):
            return self.checked_cost(value)
        table, _ = checked_costs(value, self.n_arms, HIGHEST_COST * self.unit)
        largest = max(map(max, table))
        message = f"{self.label} knows one switching_cost for all pairs of arms: the largest of the table, {largest:g}"
        warnings.warn(message, UserWarning, stacklevel=5)
        return largest

    def parameters(self) -> Any:
        """Return the kernels' `params`: a value of the NamedTuple `kernels.params`."""
        return np.empty(0)

    def parameters_reaching(self, *, block: int = 1, horizon: float = 1.0) -> Any:
        """Like `parameters`, with a tabulated schedule that reaches this block and this many rounds."""
        return self.parameters()

    def blocks_covered(self, params: Any) -> float:
        """Return the number of blocks `params` covers: all, unless a schedule is tabulated."""
        return math.inf

    @abstractmethod
    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        """Return the distribution that the arm of `block` was drawn from, `state` being as the draw left it.

        Parameters
        ----------
        params
            What `parameters` returned.
        state, block
            The game and its block, by name: arrays of one column.
        """

    def next_best(self, params: Any, state: Any, block: Any, out: Mask) -> int:
        """Return the arm to play instead of the block's: the likeliest available; if unknown, the first.

        Parameters
        ----------
        params, state, block
            See `probabilities`.
        out
            True for each unavailable arm; at least one is available.
        """
        p = self.probabilities(params, state, block) if self.knows_probabilities else np.zeros(self.n_arms)
        return int(np.where(out, -1.0, p).argmax())

    def given(self, state: Any, block: Any, arm: int, probability: float) -> bool:
        """Let a block just drawn be that of `arm`, which has it with this probability; return False if it cannot.

        Then it remains its own arm's, and learns what that one's stand-in lost.

        Parameters
        ----------
        state, block
            See `probabilities`.
        arm
            The arm that plays it: the block's, or another.
        probability
            With which the arm plays it, by this policy's draw and by a limit on that.
        """
        return False

    def correct(self, params: Any, state: Any, block: Any, was: float, now: float, rounds: float) -> bool:
        """Let the total `now` of a block stand where `was` was observed; return False if that cannot be undone.

        Parameters
        ----------
        params, state, block
            See `probabilities`.
        was, now
            Totals, in normalised units.
        rounds
            Rounds of the block beyond those observed.
        """
        return False

    def carried_over(self, state: Mapping[str, Any], kept: Sequence[int | None]) -> dict[str, Any]:
        """Return the state with which this policy continues a game of one with other settings.

        `kept` has the former number of each arm, None for a new one. If only settings other than the arms
        have changed, the state stays as it is, unless a policy overrides this. Whether arms can come and go, and what a
        new one starts with, is up to each policy.
        """
        layout = self.state_layout
        rows = {name: per_arm for name, (_, per_arm, _) in zip(layout.names, layout.extents, strict=True) if per_arm}
        before = [len(state[name]) // rows[name] for name in layout.saved_kinds if name in rows]
        if list(kept) != list(range(max([self.n_arms, *before]))):
            rule = f"cannot be added to a game of {self.label}, nor retired"
            raise InvalidParameter("arms", rule, None if self.arms is None else list(self.arms))
        return dict(state)

    def player(
        self,
        seed: object = None,
        *,
        replication: int = 0,
        units: tuple[float, float] | None = None,
    ) -> Player:
        """Begin a game.

        Parameters
        ----------
        seed
            The same seed and replication play the same arms, as in `simulate`. None: an unpredictable
            seed.
        replication
            Index of the game among those of this seed, from 0.
        units
            The lowest and the highest loss of a round, in place of the policy's own.
        """
        from holdfast.players.player import Player  # the one import that points up: a convenience for users

        policy = self if units is None else replace(self, units=units)
        return Player(policy, seed=seed, replication=replication)

    def settings(self) -> dict[str, Any]:
        """Return the parameters as plain values, enough to recreate this policy."""
        return settings_of(self, "policy")


@dataclass(frozen=True)
class WithSwitchingCost(Policy):
    """A policy that knows the switching cost."""

    switching_cost: float = field(kw_only=True)
    """λ: cost of one switch, in `units`. A table of costs is reduced to its largest entry."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("switching_cost", self.one_cost(self.switching_cost))

    @property
    def lam(self) -> float:
        """λ in normalised units, as the kernels take it."""
        return self.switching_cost / self.unit


@dataclass(frozen=True)
class WithHorizon(Policy):
    """A policy that must know the number of rounds."""

    horizon: int = field(kw_only=True, metadata=whole(least=1, most=int(LONGEST)))
    """T, the number of rounds."""


@dataclass(frozen=True)
class WithoutProbabilities(Policy):
    """A policy that does not know its distribution; its blocks have the probability `NOT_KNOWN`."""

    knows_probabilities = False

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        """Raise an error: they are not known."""
        raise HoldfastError(f"{self.label} does not know the probabilities of its arms")


class Undrawn(Policy):
    """A policy that names its arm without a draw, and learns what the arm that was played has lost."""

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        """Return 1 for the block's arm."""
        p = np.zeros(self.n_arms)
        p[int(block.arm[0])] = 1.0
        return p

    def given(self, state: Any, block: Any, arm: int, probability: float) -> bool:
        """Return True: what is learnt is of the arm that played."""
        block.arm[0], block.probability[0] = arm, probability
        return True


@dataclass(frozen=True)
class FullInformation(Policy):
    """A policy that is told the losses of all arms."""

    waits_for_losses = True

    if TYPE_CHECKING:

        def player(self, *args: Any, **named: Any) -> FullInformationPlayer:
            """Begin a game of a player that is told all losses."""


def packed_parameters(policy: Policy, params: Any) -> Array:
    """Return `params` as the array that compiled kernels take. Raise an error if a user-defined policy's differ."""
    wanted = policy.kernels.params
    has_none = wanted is None and isinstance(params, np.ndarray) and not params.size
    if not has_none and (wanted is None or not isinstance(params, wanted)):
        rule = "must be of the NamedTuple that Kernels(..., params=...) names"
        raise InvalidParameter("parameters", f"{rule}, {wanted.__name__ if wanted else 'none'} here", params)
    return policy.kernels.params_layout.packed(params)


def check_arguments(kernels: Kernels) -> None:
    """Refuse user-defined kernels that take other arguments."""
    takes(kernels.choose, "params", "state", "announced", "streams", "block")
    takes(kernels.observe, "params", "state", "block", "totals", "rounds")


def rearranged(
    layout: Layout, state: Mapping[str, Any], kept: Sequence[int | None], new: Mapping[str, float]
) -> dict[str, Any]:
    """Return a state by name with other arms: those of `kept`, and `new` numbers for the others."""
    return {
        name: [new[name] if arm is None else values[arm] for arm in kept] if layout.kinds[name].per_arm else values
        for name, values in state.items()
    }


def must_be(holds: bool, what: str) -> None:
    """Raise an error about saved numbers unless `holds`."""
    if not holds:
        raise BadSavedState(f"saved player data is damaged: {what}")


# Losses in the user's units: announcements, arms by name, and normalisation for the kernels.


def announced_value(policy: Policy, given: Mapping[str, Any]) -> tuple[float, tuple[float, float]]:
    """Return the announcement for a block in normalised units, and the range of the block's losses."""
    wanted = policy.announces
    for name, value in given.items():
        if value is not None and name != wanted:
            raise InvalidParameter(name, f"is not announced to {policy.label}", value)
    if wanted is None:
        return 0.0, policy.bounds
    value = given.get(wanted)
    if value is None:
        raise InvalidParameter(wanted, Words("must be announced when a block begins: ", Call("ask", wanted)), None)
    if wanted == "rule":
        return float(number_of(policy, value, wanted)), policy.bounds
    if wanted == "loss_bound":
        bound = real_number("loss_bound", value, least=1 / LARGEST, most=LARGEST)
        return bound, (0.0, bound)
    return policy.checked_cost(value) / policy.unit, policy.bounds


def number_of(policy: Policy, arm: object, parameter: str = "arm") -> int:
    """Return the number of an arm, given as `parameter`."""
    if policy.arms is None:
        return whole_number(parameter, arm, least=0, most=policy.n_arms - 1)
    return policy.arms.index(one_of(parameter, arm, policy.arms))


def name_of(policy: Policy, arm: int) -> int | str:
    """Return the name of an arm; its number where arms have no names."""
    return arm if policy.arms is None else policy.arms[arm]


def normalised_total(policy: Policy, bounds: tuple[float, float], pieces: Sequence[float], rounds: float) -> float:
    """Return the sum of `pieces`, lost over `rounds` rounds, as the kernels take it; rounded once."""
    low = policy.units[0]
    highest = bounds[1] - low
    total = math.fsum([*pieces, -low * rounds]) if low else math.fsum(pieces)
    return min(max(total, 0.0), highest * rounds) / policy.unit


def outside_range(name: str, bounds: tuple[float, float], count: int, value: object) -> InvalidParameter:
    """Return the error for a loss, or a sum of losses, outside its range."""
    low, high = bounds
    of = "one round" if count == 1 else f"{count} rounds"
    hint = ("; ", Set("units", RANGE), " to use your own units") if (low, high) == (0.0, 1.0) else ()
    rule = Words(f"of {of} must be from {count * low:g} to {count * high:g}", *hint)
    return InvalidParameter(name, rule, value)
