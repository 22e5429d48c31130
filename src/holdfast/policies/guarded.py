"""A guard: any rule is followed, and stays under a proved bound against every fixed arm.

The rule leads. In each round another arm is played instead with a small known probability, so that the losses of every
arm are estimated without bias. When what the game has cost exceeds an arm's estimated losses by more than Theorem 1's
bound, `AdaptiveTsallisSwitch` plays to the end of the epoch; then the rule returns, with a fresh account.

**Looks.** Arm i, not the rule's, is looked at with probability x = z²·v·s/room², at most 1/(2(K − 1)): s rounds of this
account, v the variance of losses around their mean m, or m²/2 if that is more, `room` what is left until arm i's
account passes the limit. So an arm that is clearly worse is looked at ever more rarely, and more often where it becomes
close. Without a look its loss is counted as min(m, x·room/4): then no look carries its account beyond the limit.

**Accounts.** `account` of arm i is what was paid, less the arm's estimated losses. What is expected enters at the draw,
a loss when it comes, with the probability of its own draw. So it may come late; one that never comes counts as was
expected.

``docs/theory/tracking.md`` has Theorem I with its proof.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.errors import InvalidParameter
from holdfast.numerics.layout import (
    ArmIndex,
    Array,
    Flag,
    NonNegative,
    PerArm,
    Positive,
    Probability,
    Range,
    Scalar,
    ScratchPerArm,
    Whole,
    idle,
    joined,
    part_of,
)
from holdfast.numerics.random import next_uniform
from holdfast.numerics.schedules import LONGEST
from holdfast.policies import adaptive
from holdfast.policies.adaptive import AdaptiveTsallisSwitch, two_thirds
from holdfast.policies.policy import ANNOUNCED, Announcement, Kernels, Mask, PlainBlock, Policy, rearranged
from holdfast.text import five_digits

EPOCH = 4.0
"""Each epoch ends this many times as late as the one before."""
CAUTION = 0.5
"""z²: how much smaller than the room the noise of an account is kept."""
STEP = 0.25
"""No look takes more than this of the room."""
MEMORY = 100.0
"""Losses in a baseline."""
LEAST_NOISE = 0.01


Rounds = Range(0.0, 4.0 * LONGEST, whole=True)


class GuardState(NamedTuple):
    """The guard's own part of a game."""

    t: Annotated[Scalar, Rounds]  # rounds begun
    s: Annotated[Scalar, Whole]  # of them under this account
    acting: Annotated[Scalar, Flag]  # whether the guard has taken over,
    end: Annotated[Scalar, NonNegative]  # and the round after which the rule returns
    accounts: Annotated[Scalar, Whole]  # begun
    taken: Annotated[Scalar, Whole]  # times the guard has taken over, the last time
    since: Annotated[Scalar, Rounds]  # in this round,
    against: Annotated[Scalar, ArmIndex]  # because this arm
    excess: Scalar  # would have cost so much less
    looks: Annotated[Scalar, Whole]
    spent: Scalar  # what looks have cost: losses and switches
    last: Annotated[Scalar, Range(0.0, whole=True, arms=0)]  # one more than the arm played last,
    led: Annotated[Scalar, Range(0.0, whole=True, arms=0)]  # and than the rule's last
    highest: Annotated[Scalar, NonNegative]  # λ so far
    order: Annotated[Scalar, NonNegative]  # (λK)^⅓ s^⅔
    noise: Annotated[Scalar, Positive]  # v
    told: Annotated[Scalar, Whole]  # rounds of the rule whose loss is known
    number: Annotated[Scalar, Whole]  # blocks of the rule begun; of the last one
    left: Annotated[Scalar, Whole]  # rounds left,
    heard: Annotated[Scalar, Whole]  # rounds heard of,
    total: Annotated[Scalar, NonNegative]  # and their losses
    account: PerArm
    baseline: Annotated[PerArm, Probability]
    seen: Annotated[PerArm, NonNegative]  # losses in the baseline
    chance: Annotated[PerArm, Probability]  # of each arm in the last draw,
    base: ScratchPerArm  # and its loss as counted without a look


class GuardBlock(NamedTuple):
    """A round that the rule leads, or a block of the guard's own policy."""

    arm: Scalar
    rounds: Scalar
    probability: Scalar
    acting: Annotated[Scalar, Flag]
    look: Annotated[Scalar, Flag]
    ends: Annotated[Scalar, Flag]  # whether it is the last round of the rule's block
    accounts: Annotated[Scalar, Whole]
    number: Annotated[Scalar, Whole]
    baseline: Annotated[Scalar, Probability]  # of its arm
    base: Annotated[Scalar, Probability]
    usual: Annotated[Scalar, Probability]  # the baseline of the rule's arm


class GuardParams(NamedTuple):
    """The guard's own parameters."""

    cost: float  # λ; 0 where it is announced
    varying: float  # 1 where it is announced, else 0


@kernel
def limit(state: Any, K: float) -> float:
    """Theorem 1's bound for s rounds and the highest λ so far."""
    s, lam = state.s[0], state.highest[0]
    state.order[0] = two_thirds(s * math.sqrt(lam * K), state.order[0])
    found: float = 5.25 * state.order[0] + 6.4 * math.sqrt(K * s) + 3.0 * math.sqrt(2.0 * K) + 5.25 * lam + 6.25
    return found


@kernel
def begin_account(state: Any) -> None:
    """Nothing is held against the rule."""
    state.s[0], state.order[0] = 0.0, 0.0
    state.accounts[0] += 1.0
    for i in range(state.account.shape[0]):
        state.account[i, 0] = 0.0


@kernel
def begin_game(state: Any) -> None:
    """Baselines of ½, the noise of a coin."""
    state.noise[0] = 0.25
    for i in range(state.baseline.shape[0]):
        state.baseline[i, 0], state.seen[i, 0] = 0.5, 1.0
    begin_account(state)


@kernel
def judge(state: Any) -> None:
    """Take over if an account has passed the limit, until the end of the epoch; return after it."""
    K, worst = state.account.shape[0], 0
    if state.acting[0] > 0.0:
        if state.t[0] >= state.end[0]:
            state.acting[0] = 0.0
            begin_account(state)
        return
    for i in range(K):
        worst = i if state.account[i, 0] > state.account[worst, 0] else worst
    if state.s[0] > 0.0 and state.account[worst, 0] > limit(state, float(K)):
        state.acting[0], state.since[0] = 1.0, state.t[0]
        state.against[0], state.excess[0] = float(worst), state.account[worst, 0]
        state.taken[0] += 1.0
        end = max(EPOCH * state.end[0], math.ceil(max(state.highest[0], float(K))))
        while end <= state.t[0]:
            end *= EPOCH
        state.end[0] = end


@kernel
def chances(state: Any, arm: int) -> None:
    """The probability of a look at each arm, and of the rule's `arm`."""
    K, rest = state.account.shape[0], 1.0
    top, s = limit(state, float(K)), state.s[0]
    most = 0.5 / (K - 1.0) if K > 1 else 0.0
    for i in range(K):
        if i == arm:
            continue
        room = max(top - state.account[i, 0], 1.0)
        m = state.baseline[i, 0]
        x = min(CAUTION * max(state.noise[0], 0.5 * m * m) * s / (room * room), most)
        state.chance[i, 0], state.base[i, 0] = x, min(m, STEP * x * room)
        rest -= x
    state.chance[arm, 0], state.base[arm, 0] = rest, state.baseline[arm, 0]


@kernel
def draw(state: Any, arm: int, u: float) -> int:
    """Return the arm looked at, or else the rule's."""
    reached = 0.0
    for i in range(state.chance.shape[0]):
        if i != arm:
            reached += state.chance[i, 0]
            if u < reached:
                return i
    return arm


@kernel
def learn(state: Any, block: Any, y: float, rounds: float) -> None:
    """Accounts, noise and the baseline of the block's arm, from its mean loss."""
    arm = int(block.arm[0])
    off = y - block.baseline[0]
    if block.acting[0] == 0.0:
        state.told[0] += 1.0
        state.noise[0] = max(
            state.noise[0] + (off * off - state.noise[0]) / min(state.told[0] + 4.0, 200.0), LEAST_NOISE
        )
        if block.look[0] > 0.0:
            state.spent[0] += y - block.usual[0]
        if block.accounts[0] == state.accounts[0] and state.acting[0] == 0.0:
            for i in range(state.account.shape[0]):
                state.account[i, 0] += off
            state.account[arm, 0] -= (y - block.base[0]) / block.probability[0]
    state.seen[arm, 0] = min(state.seen[arm, 0], MEMORY) + rounds
    state.baseline[arm, 0] += (y - state.baseline[arm, 0]) * rounds / state.seen[arm, 0]


@cache
def guarded_kernels(rule: Kernels, waits: bool = False) -> Kernels:
    """Return the kernels of a guarded rule; one that `waits` for losses hears of every block, if of no rounds."""
    safe = adaptive.KERNELS
    held = idle(rule.block)
    held.__annotations__["arm"] = Annotated[Scalar, ArmIndex]
    state = joined(GuardState, held=held, rule=idle(rule.state), safe=idle(safe.state))
    block = joined(GuardBlock, rule=idle(rule.block), safe=idle(safe.block))
    params = joined(GuardParams, **({} if rule.params is None else {"rule": rule.params}), safe=safe.params)
    rule_params, rule_state, rule_block = (
        part_of(rule.params, "rule"),
        part_of(rule.state, "rule"),
        part_of(rule.block, "rule"),
    )
    safe_params, safe_state, safe_block = (
        part_of(safe.params, "safe"),
        part_of(safe.state, "safe"),
        part_of(safe.block, "safe"),
    )
    lead, rule_hears, safe_plays, safe_hears = rule.choose, rule.observe, safe.choose, safe.observe
    hold, fetch = copied(rule.block, "held", "rule"), copied(rule.block, "rule", "held")
    clear_rule, clear_safe = cleared(rule.block, "rule"), cleared(safe.block, "safe")

    @kernel
    def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
        """The rule's next round, with the guard's looks; or a block of the guard's own policy."""
        lam = announced if params.varying > 0.0 else params.cost
        if state.t[0] == 0.0:
            begin_game(state)
        state.highest[0] = max(state.highest[0], lam)
        judge(state)
        clear_rule(block)
        clear_safe(block)
        block.number[0], block.baseline[0], block.base[0], block.usual[0] = 0.0, 0.0, 0.0, 0.0
        block.acting[0], block.accounts[0], block.look[0], block.ends[0] = state.acting[0], state.accounts[0], 0.0, 1.0
        if state.acting[0] > 0.0:
            own = safe_block(block)
            safe_plays(safe_params(params), safe_state(state), announced, streams, own)
            arm, rounds, p = int(own.arm[0]), own.rounds[0], own.probability[0]
            state.led[0] = arm + 1.0
        else:
            own = rule_block(block)
            if state.left[0] == 0.0:
                lead(rule_params(params), rule_state(state), announced, streams, own)
                if not (0.0 <= own.arm[0] < state.account.shape[0] and own.rounds[0] >= 1.0):
                    block.arm[0], block.rounds[0], block.probability[0] = own.arm[0], own.rounds[0], 0.0
                    return  # the game refuses it
                if own.rounds[0] > 1.0:
                    hold(state, block)
                state.left[0], state.heard[0], state.total[0] = own.rounds[0], 0.0, 0.0
                state.number[0] += 1.0
            else:
                fetch(block, state)
            state.left[0] -= 1.0
            state.s[0] += 1.0
            led, rounds = int(own.arm[0]), 1.0
            chances(state, led)
            arm = draw(state, led, next_uniform(streams, 0))
            p = state.chance[arm, 0]
            block.ends[0] = 1.0 if state.left[0] == 0.0 else 0.0
            block.number[0], block.usual[0] = state.number[0], state.baseline[led, 0]
            block.baseline[0], block.base[0] = state.baseline[arm, 0], state.base[arm, 0]
            paid = lam if state.last[0] != arm + 1.0 else 0.0
            for i in range(state.account.shape[0]):
                state.account[i, 0] += paid + state.baseline[arm, 0] - state.base[i, 0]
            state.spent[0] += paid - (lam if state.led[0] != led + 1.0 else 0.0)
            state.led[0] = led + 1.0
            if arm != led:
                block.look[0] = 1.0
                state.looks[0] += 1.0
        state.last[0] = arm + 1.0
        state.t[0] += rounds
        block.arm[0], block.rounds[0], block.probability[0] = arm, rounds, p

    @kernel
    def observe(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
        """The guard hears of every loss; the rule of its own rounds, a block at a time."""
        if rounds > 0.0:
            learn(state, block, totals[0] / rounds, rounds)
        if block.acting[0] > 0.0:
            own = safe_block(block)
            own.arm[0] = block.arm[0]
            safe_hears(safe_params(params), safe_state(state), own, totals, rounds)
            return
        own = rule_block(block)
        if own.rounds[0] == 1.0:
            own.arm[0] = block.arm[0]  # arms may have been renumbered since
            if block.look[0] == 0.0:
                rule_hears(rule_params(params), rule_state(state), own, totals, rounds)
            elif waits:
                totals[0] = 0.0
                rule_hears(rule_params(params), rule_state(state), own, totals, 0.0)
        elif block.number[0] == state.number[0]:
            if block.look[0] == 0.0:
                state.heard[0] += rounds
                state.total[0] += totals[0]
            own.arm[0] = state.held_arm[0]
            if block.ends[0] > 0.0 and (waits or state.heard[0] > 0.0):
                rounds, totals[0] = state.heard[0], state.total[0]
                rule_hears(rule_params(params), rule_state(state), own, totals, rounds)

    return Kernels(choose, observe, state, block, params=params)


@cache
def cleared(record: Any, part: str) -> Any:
    """Return a kernel that makes a part of a value zero."""
    lines = [f"    whole.{part}_{name}[0] = 0.0" for name in record._fields]
    scope: dict[str, Any] = {"__name__": __name__}
    exec("\n".join(["def clear(whole):", *lines]), scope)
    return kernel(scope["clear"])


@cache
def copied(record: Any, into: str, source: str) -> Any:
    """Return a kernel that copies the part `source` of one value into the part `into` of another."""
    lines = [f"    into.{into}_{name}[0] = source.{source}_{name}[0]" for name in record._fields]
    scope: dict[str, Any] = {"__name__": __name__}
    exec("\n".join(["def copy(into, source):", *lines]), scope)
    return kernel(scope["copy"])


# A rule of the user's own.


class NoState(NamedTuple):
    """Nothing is kept."""


@kernel
def choose_announced(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Play the arm that is announced."""
    block.arm[0], block.rounds[0], block.probability[0] = announced, 1.0, 1.0


@kernel
def observe_nothing(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Learn nothing: whoever announces the arms does."""


OWN_RULE = Kernels(choose_announced, observe_nothing, NoState, PlainBlock)


class Guard(NamedTuple):
    """State of a game's guard, in the units of the losses."""

    acting: bool
    """True if the guard plays, instead of the rule."""
    taken_over: int
    """Times that it has taken over so far."""
    looks: int
    """Rounds in which an arm was played that the rule had not chosen."""
    spent: float
    """Cost of these looks: how much more they cost than the rule's choices, switches included."""
    levels: dict[int | str, float]
    """The mean of each arm's last losses, as far as they were seen."""
    excess: dict[int | str, float]
    """Account of each arm: the cost since the rule leads, less what the arm lost meanwhile, estimated without bias.

    It is right in the mean only: an arm that was hardly looked at counts as having lost little."""
    limit: float
    """Excess beyond which the guard takes over."""
    why: str
    """Summary in words."""


class Guarding(Policy):
    """A policy that follows a rule under a guard."""

    remembers_order: ClassVar[bool] = True
    draws_in_steps: ClassVar[bool] = True

    @property
    @abstractmethod
    def followed(self) -> Policy | None:
        """The rule; None where its choice is announced."""

    @property
    def has_guard(self) -> bool:
        return self.followed is not self

    @property
    @abstractmethod
    def cost(self) -> float | None:
        """λ in `units`; None where it is announced."""

    @cached_property
    def safe(self) -> AdaptiveTsallisSwitch:
        """The policy that plays while the guard acts."""
        cost: Any = "announced" if self.cost is None else self.cost
        return AdaptiveTsallisSwitch(self.n_arms, arms=self.arms, units=self.units, switching_cost=cost)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "safe"}

    @property
    def kernels(self) -> Kernels:
        rule = self.followed
        return guarded_kernels(OWN_RULE) if rule is None else guarded_kernels(rule.kernels, rule.waits_for_losses)

    def parameters(self) -> Any:
        return self._with_guard(() if self.followed is None else self.followed.parameters())

    def _with_guard(self, rule: Any) -> Any:
        own = GuardParams((self.cost or 0.0) / self.unit, float(self.cost is None))
        return self.kernels.params(*own, *rule, *self.safe.parameters())  # type: ignore[misc]

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        if block.acting[0] > 0.0:
            return self.safe.probabilities(*_parts(self.safe, "safe", params, state, block))
        return np.array(state.chance)

    def given(self, state: Any, block: Any, arm: int, probability: float) -> bool:
        """The accounts are right for the arm that has the round, with its probability; so is the rule, if it can."""
        rule = self.followed
        if block.acting[0] > 0.0 or (rule is not None and block.rule_rounds[0] > 1.0):
            return False
        if rule is not None:
            game, draw = _part(rule.kernels.state, "rule", state), _part(rule.kernels.block, "rule", block)
            if not rule.given(game, draw, arm, probability):
                return False
        block.base[0] = state.base[arm]
        block.arm[0], block.probability[0] = arm, probability
        return True

    def next_best(self, params: Any, state: Any, block: Any, out: Mask) -> int:
        if block.acting[0] > 0.0:
            return self.safe.next_best(*_parts(self.safe, "safe", params, state, block), out)
        led = int(state.led[0]) - 1
        if 0 <= led < len(out) and not out[led]:
            return led  # a look that cannot be made
        if self.followed is not None:
            return self.followed.next_best(*_parts(self.followed, "rule", params, state, block), out)
        return int(np.where(out, np.inf, state.baseline).argmin())

    def carried_over(self, state: Mapping[str, Any], kept: Sequence[int | None]) -> dict[str, Any]:
        """Rule and guard go on with what they know of the arms; where those have changed, with a fresh account."""
        inner: dict[str, Policy] = {"safe": self.safe}
        if self.followed is not None:
            inner["rule"] = self.followed
        after: dict[str, Any] = {}
        for name, policy in inner.items():
            fields = policy.kernels.state_layout.names
            part = {field: state[f"{name}_{field}"] for field in fields if f"{name}_{field}" in state}
            after |= {f"{name}_{field}": value for field, value in policy.carried_over(part, kept).items()}
        own = {name: value for name, value in state.items() if name not in after}
        if state["t"] == 0 or list(kept) == list(range(len(state["account"]))):
            new = dict.fromkeys(own, 0.0)
            return rearranged(self.state_layout, own, kept, new) | after if state["t"] == 0 else own | after
        own = rearranged(self.state_layout, own, kept, dict.fromkeys(own, 0.0) | {"baseline": 0.5, "seen": 1.0})
        for name in ("last", "led"):
            own[name] = float(kept.index(own[name] - 1) + 1) if own[name] - 1 in kept else 0.0
        fresh = {"account": [0.0] * len(kept), "s": 0.0, "order": 0.0, "left": 0.0, "held_arm": 0.0, "against": 0.0}
        return own | fresh | {"accounts": own["accounts"] + 1, "number": own["number"] + 1} | after

    def guard_of(self, state: Any) -> Guard:
        """Return where the guard stands in a game with this state."""
        names: Sequence[int | str] = self.arms or range(self.n_arms)
        unit, (low, _) = self.unit, self.units
        begun, acting, s, lam = bool(state.t[0]), bool(state.acting[0]), float(state.s[0]), float(state.highest[0])
        limit = theorem_1(self.n_arms, lam, s) * unit
        excess = dict(zip(names, (state.account * unit).tolist(), strict=True))
        levels = dict(zip(names, (low + unit * state.baseline).tolist(), strict=True)) if begun else {}
        looks, taken = int(state.looks[0]), int(state.taken[0])
        if not begun:
            why = "No round has been played yet."
        elif acting:
            against, end = names[int(state.against[0])], int(state.end[0])
            why = (
                f"The guard plays since round {int(state.since[0]) + 1}: by then the rule had cost about "
                f"{five_digits(float(state.excess[0]) * unit)} more than {against} would have. "
                f"The rule returns after round {end}."
            )
        else:
            worst = max(excess, key=excess.__getitem__)
            why = (
                f"The rule leads. The highest account is that of {worst}, {five_digits(excess[worst])}; "
                f"the guard takes over when one exceeds {five_digits(limit)}."
            )
        return Guard(acting, taken, looks, float(state.spent[0]) * unit, levels, excess, limit, why)


def theorem_1(K: int, lam: float, s: float) -> float:
    """Return the limit of an account after s rounds, as `limit` does."""
    order: float = 5.25 * (lam * K * s * s) ** (1 / 3) + 6.4 * math.sqrt(K * s)
    return order + 3.0 * math.sqrt(2.0 * K) + 5.25 * lam + 6.25


def _parts(policy: Policy, name: str, params: Any, state: Any, block: Any) -> tuple[Any, Any, Any]:
    """Return the views of an inner policy, as `part_of` gives them to kernels."""
    own = policy.kernels
    return _part(own.params, name, params), _part(own.state, name, state), _part(own.block, name, block)


def _part(record: Any, name: str, whole: Any) -> Any:
    return whole if record is None else record(*(getattr(whole, f"{name}_{field}") for field in record._fields))


Rule = Callable[[Sequence[tuple[Any, float]]], Any]
"""A function of the rounds told so far, (arm, loss) each, that names the arm to play."""


@dataclass(frozen=True)
class Guarded(Guarding):
    """Follow any rule, under a proved bound against every fixed arm (Theorem I, ``docs/theory/tracking.md``).

    The rule leads. Rarely, and more often where the rule looks bad, another arm is played for a round, so that the
    losses of all arms are estimated without bias. Where the game has cost more than an arm is estimated to have, by
    more than Theorem 1's bound, `AdaptiveTsallisSwitch` plays to the end of an epoch; then the rule returns.

    Parameters
    ----------
    rule
        One of the policies; or a Python function that is given the rounds told so far, a list of (arm, loss), and
        returns an arm. Without it the rule's choice comes with each ask, ``ask(rule=arm)``: so a rule of your own
        can be followed by a game in a store, or over HTTP, and stays where it is.
    n_arms, arms, units
        As for every policy; those of the rule if it is a policy.
    switching_cost
        λ, what one switch costs in `units`; the rule's, if it is a policy that knows it.

    Examples
    --------
    >>> def cheapest_last(rounds):
    ...     return rounds[-1][0] if rounds and rounds[-1][1] < 0.5 else len(rounds) % 3
    >>> player = Guarded(cheapest_last, n_arms=3, switching_cost=0.5).player(seed=1)
    >>> arm = player.ask()
    >>> player.tell(0.25)
    >>> player.guard.why
    'The rule leads. The highest account is that of 1, 0.7491; the guard takes over when one exceeds 33.32.'
    """

    id: ClassVar[str] = "guarded"

    rule: Policy | Rule | None = None
    n_arms: int = field(default=0, kw_only=True)
    units: Any = field(default=None, kw_only=True)
    switching_cost: float | Literal["announced"] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        rule = self.rule
        if isinstance(rule, Guarding) and rule.followed is not None:
            rule = rule.followed
        elif isinstance(rule, Guarding):
            raise InvalidParameter("rule", "must not be guarded already", rule.label)
        if isinstance(rule, Policy):
            own_units = rule.announces != "loss_bound" and rule.bounds == rule.units
            if rule.full_information or rule.kernels.state_layout.size_names or not own_units:
                must = "must be a policy that sees its own losses alone, in its units"
                raise InvalidParameter("rule", must, rule.label)
            rule = self._fitted(rule)
        elif rule is not None and not callable(rule):
            must = "must be a policy, a function of the rounds so far (in Python only), or left out for ask(rule=...)"
            raise InvalidParameter("rule", must, rule)
        self._set("rule", rule)
        self._set("units", (0.0, 1.0) if self.units is None else self.units)
        super().__post_init__()
        if self.switching_cost == ANNOUNCED and isinstance(rule, Policy) and rule.announces == "switching_cost":
            return
        if self.switching_cost is None or isinstance(self.switching_cost, str):
            also = ", or 'announced' where the rule is a policy that is told it"
            raise InvalidParameter("switching_cost", f"must be a number{also}", self.switching_cost)
        self._set("switching_cost", self.one_cost(self.switching_cost))

    def _fitted(self, rule: Policy) -> Policy:
        """Take from the rule what was not given, and give it what was."""
        if self.n_arms or self.arms is not None:
            rule = replace(rule, n_arms=self.n_arms, arms=self.arms)
        if self.units is not None:
            rule = replace(rule, units=self.units)
        for name in ("n_arms", "arms", "units"):
            self._set(name, getattr(rule, name))
        known = getattr(rule, "switching_cost", None)
        if self.switching_cost is None:
            self._set("switching_cost", known)
        return rule if known in (None, self.switching_cost) else replace(rule, switching_cost=self.switching_cost)  # type: ignore[call-arg]

    @property
    def label(self) -> str:
        """``guarded``, and the rule if it is a policy."""
        return f"{self.id}-{self.rule.label}" if isinstance(self.rule, Policy) else self.id

    @property
    def waits_for_losses(self) -> bool:  # type: ignore[override]  # as its rule does
        """True if the rule does."""
        return isinstance(self.rule, Policy) and self.rule.waits_for_losses

    @property
    def announces(self) -> Announcement | None:
        """The rule's choice, or λ."""
        if not isinstance(self.rule, Policy):
            return "rule"
        return self.rule.announces

    @property
    def rule_of(self) -> Rule | None:
        return None if isinstance(self.rule, Policy) else self.rule

    @property
    def followed(self) -> Policy | None:
        return self.rule if isinstance(self.rule, Policy) else None

    @property
    def cost(self) -> float | None:
        return None if isinstance(self.switching_cost, str) else self.switching_cost

    def parameters_reaching(self, *, block: int = 1, horizon: float = 1.0) -> Any:
        if self.followed is None:
            return self.parameters()
        return self._with_guard(self.followed.parameters_reaching(block=block, horizon=horizon))

    def blocks_covered(self, params: Any) -> float:
        if self.followed is None:
            return math.inf
        return self.followed.blocks_covered(_part(self.followed.kernels.params, "rule", params))

    def settings(self) -> dict[str, Any]:
        rule = {"rule": self.rule.settings()} if isinstance(self.rule, Policy) else {}
        return super().settings() | rule
