"""Follow a changing world: leave an arm that has become worse, look at the others as often as pays, else hold.

The policy sees the losses of the arm in use and needs no horizon. It keeps a picture of every arm; one rule moves it.

**Levels with memory.** An arm has a `level`, the mean of its last losses, known as well as from `weight` of them, and a
`mean` of all its losses. How many losses are worth remembering (`memory`, C) is learnt from the arm in use: two shadows
of its level, with a third and with three times the memory, predict each loss, and C moves towards the better one. The
level of an arm that is not in use fades: 1/weight grows by 1/(2C²) a round.

**Doubt.** Beside the level stands the hypothesis that the arm has jumped since: to `anew`, near its mean, known from
`fresh` losses. `changed` is its probability, by Bayes' rule with each loss; it also grows by s a round, s being the
jumps seen so far per round (`jumps`/`exposure`). At 0.9 the jump is believed, and the level begins again from `anew`.
An arm that is not in use is doubted more with each round, for no other reason than time.

**The pile.** Each round adds to the `pile` of another arm what is expected to be lost by not being on it: the mean of
max(gain, 0), both levels being known as well as they are, or the other having jumped; but never more than the arm in
use loses, since no loss is below 0. When the pile exceeds what a look costs (switches, and rounds on an arm that is
worse), the arm is looked at, and its pile begins at 0. When the arm used becomes worse, the piles of the others grow by
its excess each round, so it is left at once. An arm that was much worse has a pile that grows slowly, and is looked at
rarely. Either way, what is lost by not knowing stays in proportion to what looking costs. The longer nothing jumps, the
smaller s and the rarer the looks.

**Looks.** A look is held long enough to see something: at least ⌈λ⌉ and 2 rounds, and as many more as tell the arm from
the one in use. It ends before that as soon as the arm, as well as it is known, is clearly worse. No arm is left while
there is fresh evidence that it has become better. To stay or to go back is no decision of its own: it is the same rule,
seen from the arm that is now in use.

**Levels that move together.** An arm also has an `offset` from the common level, which is that of the arm in use less
its offset; in a look, once it has heard enough. Each look asks which predicted better: the arm's own level, or its
offset beside the arm left. The log-odds, `together`, say how far levels are moved together when the arm in use jumps.
After a jump they are held in `doubt` until one look has been made. A jump that is seen in a look ends it: if all levels
have moved, what the arm loses from then on says nothing of its offset.

**Notice.** With `notice`, an arm not seen for that many rounds is looked at even if its pile does not pay for it.

**Noise.** How much losses vary beside a coin's is learnt from the arm in use, the less, the nearer its level is to 0
or 1: an arm that loses nothing for long does not vary, but that says little of the others.

Time moves in `choose`, losses move in `observe`, each by the arm and visit of its own block. So rounds may be handed
out before earlier losses are known. A loss that comes late still moves the level and the doubt of its arm, also if that
has been left. C, its shadows and the look learn from the visit that goes on alone.

It is guarded by default (`holdfast.policies.guarded`). ``docs/measurements/tracking.md`` has the measurements,
``docs/theory/tracking.md`` the theorem.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import flag, whole_number
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
    Whole,
)
from holdfast.numerics.random import next_uniform
from holdfast.numerics.schedules import LONGEST
from holdfast.policies.guarded import Guarding
from holdfast.policies.policy import ANNOUNCED, Announcement, Kernels, Mask, rearranged

FIRST_MEMORY, FIRST_EXPOSURE, FIRST_JUMP = 100.0, 1000.0, 0.02
"""Before anything is known: C, the rounds in which one jump is supposed, and the variance of a jump."""
SHORTEST_MEMORY, LONGEST_MEMORY, MEMORY_STEP = 4.0, 1e7, 1.3
"""C stays between these, and moves by this factor when one shadow has predicted better by a log-odds of 1."""
MEMORY_DRIFT = 0.2
"""In favour of the longer memory, per C rounds: in a still world the two shadows predict alike."""
SHADOWS = 3.0
"""The shadows remember C divided and multiplied by this; the weight of a level is at most C multiplied by it."""
MOST_JUMPS = 0.3
"""s is at most this."""
SURE, EVIDENCE = 0.9, 3.0
"""A jump is believed at this probability, and counted if the losses themselves gave these log-odds."""
SWITCH_PRICE, LOOK_PRICE = 3.0, 6.0
"""Factor on the price of a look: its switches in λ, and the losses of its rounds."""
LEAST_GAIN = 0.02
"""An arm that has jumped is supposed to gain this much at least: none is given up while the arm in use loses that."""
TELLING = 4.0
"""A look needs so many variances of a loss over the squared gap."""
UNDER_WAY = 25.0
"""Evidence under way prolongs a visit for so many rounds of it, or of the evidence."""
SHARED_EVIDENCE = 3.0
"""The log-odds against levels that move together, before the first look."""
DOUBT_AFTER_A_JUMP = 0.3
"""Share by which levels move together after a jump, until a look has said whether it was common."""


class TrackingState(NamedTuple):
    """A game."""

    t: Annotated[Scalar, Whole]  # rounds begun
    told: Annotated[Scalar, Whole]  # losses known
    arm: Annotated[Scalar, ArmIndex]  # the arm in use
    visit: Annotated[Scalar, Whole]  # moves made
    stay: Annotated[Scalar, Whole]  # rounds of this visit,
    heard: Annotated[Scalar, Whole]  # how many of their losses are known,
    seen: Annotated[Scalar, NonNegative]  # and their sum, in a look
    hold: Annotated[Scalar, NonNegative]  # rounds for which the visit is held
    looking: Annotated[Scalar, Flag]
    memory: Annotated[Scalar, Positive]  # C
    kept: Annotated[Scalar, Positive]  # C before the evidence for a jump that is under way
    score: Scalar  # of the longer shadow over the shorter
    short: Annotated[Scalar, Probability]
    long: Annotated[Scalar, Probability]
    jumps: Annotated[Scalar, Positive]  # s = jumps/exposure
    exposure: Annotated[Scalar, Positive]
    jump: Annotated[Scalar, Positive]  # the variance of a jump,
    sized: Annotated[Scalar, NonNegative]  # from so many
    noise: Annotated[Scalar, Positive]  # the variance of losses in units of a coin's of their mean
    common: Scalar  # the common level
    together: Scalar  # the log-odds that levels move together
    doubt: Annotated[Scalar, Probability]  # of the common level
    compare: Annotated[Scalar, Flag]  # whether this look can tell
    was: Annotated[Scalar, Probability]  # the level of the arm before it,
    beside: Scalar  # where it is if levels move together,
    spread: Annotated[Scalar, NonNegative]  # and the variance of the level it is beside
    level: Annotated[PerArm, Probability]
    weight: Annotated[PerArm, NonNegative]
    changed: Annotated[PerArm, Probability]
    anew: Annotated[PerArm, Probability]
    fresh: Annotated[PerArm, NonNegative]
    evidence: Annotated[PerArm, NonNegative]  # log-odds of a jump, from the losses alone
    mean: Annotated[PerArm, Probability]
    rounds: Annotated[PerArm, Whole]  # losses in the mean
    pile: Annotated[PerArm, NonNegative]
    age: Annotated[PerArm, Whole]  # rounds since it was in use
    offset: Annotated[PerArm, Range(-1e3, 1e3)]
    offset_weight: Annotated[PerArm, NonNegative]


class TrackingBlock(NamedTuple):
    """A round."""

    arm: Scalar
    rounds: Scalar
    probability: Scalar
    visit: Annotated[Scalar, Whole]
    stay: Annotated[Scalar, Whole]  # rounds of the visit, this one included
    least: Annotated[Scalar, Whole]  # rounds for which every visit is held


class TrackingParams(NamedTuple):
    """Parameters that the kernels read."""

    lam: float  # λ; 0 where it is announced
    varying: float  # 1 where it is announced, else 0
    notice: float  # 0 for none


@kernel
def expected_gain(worse: float, sd: float) -> float:
    """E max(Y, 0) for Y normal with mean −`worse`, within 3 %: the gain of an arm that is worse, known up to sd."""
    u = abs(worse) / sd
    tail = sd * 0.39894228 * math.exp(-0.5 * u * u) / (1.0 + 0.9 * u + u * u) if u < 12.0 else 0.0
    return tail - worse if worse < 0.0 else tail


@kernel
def log_likelihood(loss: float, mean: float, noise: float) -> float:
    """Return the log-likelihood of a loss in [0, 1]: a coin's, with the dispersion that was seen."""
    mean = min(max(mean, 0.01), 0.99)
    return max((loss * math.log(mean) + (1.0 - loss) * math.log(1.0 - mean)) / noise, -50.0)


@kernel
def variance(level: float, weight: float, noise: float) -> float:
    """Return the variance of a loss; two losses of ½ keep a level of 0 or 1 from a few losses from looking certain."""
    level = (level * weight + 1.0) / (weight + 2.0)
    return noise * max(level * (1.0 - level), 0.01)


@kernel
def sharing(state: Any) -> float:
    """The probability that levels move together."""
    return 1.0 / (1.0 + math.exp(SHARED_EVIDENCE - state.together[0]))


@kernel
def suppose_a_jump(state: Any, arm: int, mean: float) -> None:
    """Begin the hypothesis that `arm` has jumped: near `mean`, worth at most 5 losses."""
    state.anew[arm, 0], state.evidence[arm, 0] = mean, 0.0
    state.fresh[arm, 0] = min(state.noise[0] * max(mean * (1.0 - mean), 0.01) / state.jump[0], 5.0)


@kernel
def begin_game(state: Any) -> None:
    """Nothing is known: every arm may be anything."""
    state.memory[0] = state.kept[0] = FIRST_MEMORY
    state.jumps[0], state.exposure[0], state.jump[0] = 1.0, FIRST_EXPOSURE, FIRST_JUMP
    state.noise[0], state.common[0], state.short[0], state.long[0] = 1.0, 0.5, 0.5, 0.5
    for i in range(state.level.shape[0]):
        state.level[i, 0], state.mean[i, 0], state.changed[i, 0] = 0.5, 0.5, 1.0
        state.anew[i, 0], state.fresh[i, 0] = 0.5, 1.0


@kernel
def end_look(state: Any) -> None:
    """Was the arm where it had been, or where it had been beside the arm left?"""
    state.looking[0] = 0.0
    heard = state.heard[0]
    if heard == 0.0:
        return
    state.doubt[0] = 0.0
    arm, found = int(state.arm[0]), state.seen[0] / heard
    if state.compare[0] > 0.0:
        was, beside = state.was[0], state.beside[0]
        v = state.noise[0] * max(found * (1.0 - found), 0.05) / heard + 0.005 + state.spread[0]
        state.together[0] *= 1.0 - 0.1 * min((was - beside) ** 2 / (2.0 * v), 1.0)
        state.together[0] += min(max(((found - was) ** 2 - (found - beside) ** 2) / (2.0 * v), -3.0), 3.0)
    weight = state.offset_weight[arm, 0] + heard
    state.offset[arm, 0] += (found - state.common[0] - state.offset[arm, 0]) * heard / weight
    state.offset_weight[arm, 0] = min(weight, 500.0)


@kernel
def begin_look(state: Any, arm: int, hold: float, spread: float, least: float) -> None:
    """Move to `arm`, its level moved with the others as far as levels move together."""
    seen_before = state.offset_weight[arm, 0] > 0.0
    shared = sharing(state) * (1.0 - state.doubt[0]) if seen_before else 0.0
    beside = state.offset[arm, 0] + state.common[0]
    state.was[0], state.beside[0], state.spread[0] = state.level[arm, 0], beside, spread
    state.compare[0] = 1.0 if seen_before and state.weight[arm, 0] >= least else 0.0
    state.level[arm, 0] = min(max((1.0 - shared) * state.level[arm, 0] + shared * beside, 0.0), 1.0)
    suppose_a_jump(state, arm, min(max((1.0 - shared) * state.mean[arm, 0] + shared * beside, 0.0), 1.0))
    state.short[0] = state.long[0] = state.level[arm, 0]
    state.exposure[0] += 0.3 * min(state.age[arm, 0], state.exposure[0] / state.jumps[0])
    state.pile[arm, 0], state.age[arm, 0] = 0.0, 0.0
    state.arm[0], state.looking[0], state.hold[0] = float(arm), 1.0, hold
    state.visit[0] += 1.0
    state.stay[0], state.heard[0], state.seen[0] = 0.0, 0.0, 0.0


@kernel
def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """The arm whose pile exceeds the price of a look by most, if any does; piles, doubt and fading grow by a round."""
    K, lam = state.level.shape[0], announced if params.varying > 0.0 else params.lam
    least = max(2.0, math.ceil(lam))
    block.probability[0] = 1.0
    if state.t[0] == 0.0:
        begin_game(state)
        state.arm[0], state.hold[0] = float(int(next_uniform(streams, 0) * K)), least
        block.probability[0] = 1.0 / K
    state.t[0] += 1.0
    c, shared, stay = int(state.arm[0]), sharing(state), state.stay[0]
    s_own = min((1.0 + (state.jumps[0] - 1.0) * (1.0 - shared)) / state.exposure[0], MOST_JUMPS)
    level = (1.0 - state.changed[c, 0]) * state.level[c, 0] + state.changed[c, 0] * state.anew[c, 0]
    known = state.weight[c, 0] * (1.0 - state.changed[c, 0]) + state.fresh[c, 0] * state.changed[c, 0]
    spread = variance(level, known, state.noise[0]) / max(known, 1.0)
    common = state.common[0]
    if state.looking[0] == 0.0 or (state.heard[0] >= least and state.offset_weight[c, 0] > 0.0):
        common = level - state.offset[c, 0]
    best, most, hold, sd_jump = -1, 0.0, least, math.sqrt(state.jump[0])
    for j in range(K):
        if j == c:
            continue
        n, p, beside = max(state.weight[j, 0], 1.0), state.changed[j, 0], state.offset[j, 0] + common
        w = shared * (1.0 - state.doubt[0]) if state.offset_weight[j, 0] > 0.0 else 0.0
        as_it_was = min(max((1.0 - w) * state.level[j, 0] + w * beside, 0.0), 1.0)
        anew = (1.0 - w) * state.mean[j, 0] + w * beside
        r = variance(as_it_was, n, state.noise[0])
        expected = (1.0 - p) * as_it_was + p * anew
        worse = max(expected - level, 0.0)
        telling = min(n * (1.0 - p), TELLING * r / (worse * worse + 1e-9))  # rounds beyond the least
        value = p * max(expected_gain(anew - level, sd_jump), LEAST_GAIN)
        if p < 1.0:
            sd = math.sqrt(r / n * (least + telling) / (least + telling + n) + spread)
            own, moved = expected_gain(state.level[j, 0] - level, sd), expected_gain(beside - level, sd)
            value += (1.0 - p) * ((1.0 - w) * own + w * moved)
        state.pile[j, 0] += min(value, level)  # no loss is below 0
        excess = state.pile[j, 0] - SWITCH_PRICE * lam - LOOK_PRICE * (telling + 1.5) * worse
        if params.notice > 0.0 and state.age[j, 0] >= params.notice:
            excess = max(excess, 1e-9)
        free = stay >= state.hold[0] or (stay >= least and level - expected > 2.0 * math.sqrt(spread))
        under_way = min(stay - state.hold[0], state.fresh[c, 0]) < UNDER_WAY
        if under_way and state.evidence[c, 0] > 1.0 and state.anew[c, 0] < expected:
            free = False
        if free and excess > most:
            best, most, hold = j, excess, least + (telling if worse > 0.0 else 0.0)
        state.changed[j, 0] += s_own * (1.0 - p)
        state.age[j, 0] += 1.0
        if state.weight[j, 0] > 1.0:
            state.weight[j, 0] /= 1.0 + 0.5 * state.weight[j, 0] / (state.memory[0] * state.memory[0])
    if state.looking[0] > 0.0 and stay > 0.0 and (best >= 0 or stay >= min(state.hold[0], 100.0)):
        end_look(state)
    if state.looking[0] == 0.0:
        state.common[0] = common
    if best >= 0:
        begin_look(state, best, hold, spread, least)
    state.stay[0] += 1.0
    block.arm[0], block.rounds[0] = state.arm[0], 1.0
    block.visit[0], block.stay[0], block.least[0] = state.visit[0], state.stay[0], least


@kernel
def learn_memory(state: Any, loss: float, was: float, n: float) -> None:
    """Which shadow of the arm in use predicts its losses better? Its weight is `n`, its level was `was`."""
    C = state.memory[0]
    state.score[0] += MEMORY_DRIFT / C
    if state.looking[0] == 0.0:
        r = state.noise[0] * max(was * (1.0 - was), 0.02)
        better = ((loss - state.short[0]) ** 2 - (loss - state.long[0]) ** 2) / (2.0 * r)
        state.score[0] += min(max(better, -0.5), 0.5)
    state.short[0] += (loss - state.short[0]) / min(n, C / SHADOWS)
    state.long[0] += (loss - state.long[0]) / min(n, C * SHADOWS)
    if abs(state.score[0]) > 1.0:
        longer = state.score[0] > 0.0
        state.memory[0] = min(C * MEMORY_STEP, LONGEST_MEMORY) if longer else max(C / MEMORY_STEP, SHORTEST_MEMORY)
        state.score[0] = 0.0


@kernel
def count_jump(state: Any, arm: int, in_use: bool) -> None:
    """A jump that the losses themselves show; if the arm is in use, the others may have jumped too, or all together."""
    own, size = 1.0 - sharing(state), state.anew[arm, 0] - state.level[arm, 0]
    state.jumps[0] += 1.0
    state.jump[0] += own * (min(max(size * size, 0.0004), 0.25) - state.jump[0]) / min(state.sized[0] + 5.0, 50.0)
    state.sized[0] += own
    if in_use:
        if state.looking[0] > 0.0:
            end_look(state)
        state.doubt[0] = DOUBT_AFTER_A_JUMP
        for j in range(state.level.shape[0]):
            if j != arm:
                state.changed[j, 0] += 0.5 * own * (1.0 - state.changed[j, 0])


@kernel
def observe(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Level, doubt and mean of the block's arm; C, shadows and the look where its visit goes on."""
    c, y, least = int(block.arm[0]), totals[0] / rounds, block.least[0]
    here = block.visit[0] == state.visit[0]
    s, noise, n = min(state.jumps[0] / state.exposure[0], MOST_JUMPS), state.noise[0], state.weight[c, 0]
    state.told[0] += 1.0
    if here:
        state.heard[0] += 1.0
        state.seen[0] += y if state.looking[0] > 0.0 else 0.0
    was = (state.level[c, 0] * n + 0.25) / (n + 0.5)
    now = (state.anew[c, 0] * state.fresh[c, 0] + 0.25) / (state.fresh[c, 0] + 0.5)
    odds = 0.0
    if n > 0.0:
        odds = min(max(log_likelihood(y, now, noise) - log_likelihood(y, was, noise), -3.0), 3.0)
    state.evidence[c, 0] = max(state.evidence[c, 0] + odds, 0.0)
    state.changed[c, 0] /= state.changed[c, 0] + (1.0 - state.changed[c, 0]) * math.exp(-odds)
    mean = was if state.changed[c, 0] < 0.5 else now
    room = 4.0 * mean * (1.0 - mean)  # near 0 and 1 all losses are alike, and say nothing of the noise elsewhere
    mean = min(max(mean, 0.01), 0.99)
    ratio = min((y - mean) ** 2 / (mean * (1.0 - mean)), 4.0)
    state.noise[0] = max(noise + room * (ratio - noise) / min(state.told[0] + 9.0, 300.0), 0.01)
    state.fresh[c, 0] += 1.0
    state.anew[c, 0] += (y - state.anew[c, 0]) / state.fresh[c, 0]
    C = state.memory[0]
    state.weight[c, 0] = n = min(n + 1.0, SHADOWS * C)
    state.level[c, 0] += (y - state.level[c, 0]) / min(n, C)
    if here:
        learn_memory(state, y, was, n)
    state.rounds[c, 0] += 1.0
    state.mean[c, 0] += (y - state.mean[c, 0]) / (state.rounds[c, 0] + 2.0)
    state.exposure[0] += 1.0
    state.changed[c, 0] += s * (1.0 - state.changed[c, 0])
    evidence, again = state.evidence[c, 0], False
    if state.changed[c, 0] > SURE:
        if evidence > EVIDENCE:
            count_jump(state, c, here)
        state.level[c, 0], state.weight[c, 0] = state.anew[c, 0], state.fresh[c, 0]
        if here:
            state.memory[0], state.score[0] = state.kept[0], 0.0
            state.short[0] = state.long[0] = state.anew[c, 0]
        again = True
    elif block.stay[0] >= least and (evidence == 0.0 or (state.fresh[c, 0] > 100.0 and evidence < 2.0)):
        again = True
    if here and evidence == 0.0:
        state.kept[0] = state.memory[0]
    if again:
        state.changed[c, 0] = s
        suppose_a_jump(state, c, state.mean[c, 0])
        state.fresh[c, 0] += 1.0
        state.anew[c, 0] += (y - state.anew[c, 0]) / state.fresh[c, 0]


KERNELS = Kernels(choose, observe, TrackingState, TrackingBlock, params=TrackingParams)


@dataclass(frozen=True)
class TrackingSwitch(Guarding):
    """Follow options that change: leave one that has become worse within tens of rounds. No horizon, no tuning.

    It doubts what it has not seen for long, looks at other arms when what may be missed exceeds what a look costs, and
    holds where nothing changes. In the changing worlds measured, its cost above the best plan was about half of
    `AdaptiveTsallisSwitch`'s; in some still worlds it costs more. A guard keeps its cost against every fixed arm under
    the bound of Theorem I (``docs/theory/tracking.md``).

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, what one switch costs in `units`; or ``"announced"``: then each round's λ is told by
        ``ask(switching_cost=...)``.
    notice
        Look at every arm at least once in about so many rounds, whether it seems to pay or not. By default looks
        follow how often the world has changed so far.
    guarded
        False for the rule alone, which has no proved bound.

    Examples
    --------
    >>> player = TrackingSwitch(n_arms=3, switching_cost=0.5).player(seed=1)
    >>> arm = player.ask()
    >>> player.tell(0.25)
    """

    id: ClassVar[str] = "tracking"
    remembers_order: ClassVar[bool] = True

    switching_cost: float | Literal["announced"] = field(kw_only=True)
    notice: int | None = field(default=None, kw_only=True)
    guarded: bool = field(default=True, kw_only=True, metadata=flag())

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.switching_cost, str):
            if self.switching_cost != ANNOUNCED:
                raise InvalidParameter("switching_cost", "must be a number or 'announced'", self.switching_cost)
        else:
            self._set("switching_cost", self.one_cost(self.switching_cost))
        if self.notice is not None:
            self._set("notice", whole_number("notice", self.notice, least=1, most=int(LONGEST)))

    @property
    def announces(self) -> Announcement | None:
        """λ, where the cost is announced."""
        return "switching_cost" if self.switching_cost == ANNOUNCED else None

    @property
    def kernels(self) -> Kernels:
        """One game at a time."""
        return super().kernels if self.guarded else KERNELS

    @property
    def followed(self) -> TrackingSwitch:
        """The rule alone."""
        return replace(self, guarded=False) if self.guarded else self

    @property
    def cost(self) -> float | None:
        return None if isinstance(self.switching_cost, str) else self.switching_cost

    def parameters(self) -> Any:
        """λ and notice, and what the guard reads."""
        if self.guarded:
            return super().parameters()
        notice = float(self.notice or 0)
        if isinstance(self.switching_cost, str):
            return TrackingParams(0.0, 1.0, notice)
        return TrackingParams(self.switching_cost / self.unit, 0.0, notice)

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        """The first arm is drawn from all alike; later ones are not drawn but for the guard's looks."""
        if self.guarded:
            return super().probabilities(params, state, block)
        if state.t[0] == 1.0:
            return np.full(self.n_arms, 1.0 / self.n_arms)
        p = np.zeros(self.n_arms)
        p[int(block.arm[0])] = 1.0
        return p

    def given(self, state: Any, block: Any, arm: int, probability: float) -> bool:
        """Return True: levels are of the arm that played; one that is not in use has no part in the visit."""
        if self.guarded:
            return super().given(state, block, arm, probability)
        if arm != block.arm[0]:
            block.visit[0] = LONGEST
        block.arm[0], block.probability[0] = arm, probability
        return True

    def next_best(self, params: Any, state: Any, block: Any, out: Mask) -> int:
        """The arm of the least expected loss among the others."""
        if self.guarded:
            return super().next_best(params, state, block, out)
        return int(np.where(out, np.inf, _expected(state.level, state.changed, state.mean)).argmin())

    def carried_over(self, state: Mapping[str, Any], kept: Sequence[int | None]) -> dict[str, Any]:
        """Keep what is known of the arms; a new one may be anything. If the arm in use is gone, the best is next."""
        if self.guarded:
            return super().carried_over(state, kept)
        begun = state["t"] > 0
        new = dict.fromkeys(state, 0.0)
        if begun:
            new |= {"level": 0.5, "mean": 0.5, "anew": 0.5, "fresh": 1.0, "changed": 1.0}
        after = rearranged(self.kernels.state_layout, state, kept, new)
        if not begun:
            return after
        if state["arm"] in kept:
            return {**after, "arm": float(kept.index(state["arm"]))}
        arm = int(_expected(*(np.array(after[name]) for name in ("level", "changed", "mean"))).argmin())
        after["pile"][arm], after["age"][arm], after["evidence"][arm] = 0.0, 0.0, 0.0
        after["anew"][arm], after["fresh"][arm] = after["mean"][arm], 1.0
        gone = dict.fromkeys(("stay", "heard", "seen", "hold", "looking"), 0.0)
        level = after["level"][arm]
        return {**after, **gone, "arm": float(arm), "visit": state["visit"] + 1, "short": level, "long": level}


def _expected(level: Array, changed: Array, mean: Array) -> Array:
    return (1.0 - changed) * level + changed * mean
