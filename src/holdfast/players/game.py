"""Core of a game: a policy's state, its random stream, and the two kernels that change them. No validation.

`Player` and every other kind of online play use it, and check the order of calls and the ranges of losses themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from holdfast._numba.compile import composed, kernel
from holdfast._numba.lanes import as_lanes, local_lanes
from holdfast.checks import whole_number
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.numerics.layout import Array, Layout
from holdfast.numerics.random import LAST_REPLICATION, check_seed, started, stream_key
from holdfast.numerics.schedules import LONGEST
from holdfast.policies.policy import (
    NOT_KNOWN,
    RECONSTRUCTION,
    Kernel,
    Kernels,
    Mask,
    Policy,
    check_arguments,
    packed_parameters,
)

BROKEN = -1
OUTSIDE, UNKNOWN = 1, -1
"""Error codes, multiplied by an arm number from 1: loss out of range, or not known."""
MANY = 64
"""Most blocks begun together."""
ROUNDED = 1e-9
"""Largest excess of a probability over 1 that rounded sums may leave."""


def policy_key(seed: int, label: str) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return the key of the streams of policy `label` under `seed`, the same in online play and simulation."""
    return stream_key(seed, f"policy/{label.removesuffix(RECONSTRUCTION)}")


@kernel
def keeps_rules(block: Any, K: int, least: float) -> bool:
    """Return True if a block has a valid arm, length and probability: a user-defined kernel may be wrong."""
    arm, rounds, probability = block[0], block[1], block[2]
    drawn = bool(0.0 <= arm < K and 1.0 <= rounds <= LONGEST and arm == int(arm) and rounds == int(rounds))
    return bool(drawn and least <= probability <= 1.0 + ROUNDED)


def least_probability(policy: Policy) -> float:
    """Return the least probability that a block of the policy may have: above 0, unless it does not know it."""
    return 5e-324 if policy.knows_probabilities else NOT_KNOWN


@composed
def one_game(kernels: Kernels) -> tuple[Kernel, Kernel, Kernel]:
    """Return the kernels over flat arrays, as online play calls them:

    ``choose(params, numbers, vectors, K, announced, stream, block)``, ``choose_some``, the same for several blocks, and
    ``observe(params, numbers, vectors, K, block, total, rounds)``, or, where the losses of all arms are seen,
    ``observe(params, numbers, vectors, K, block, losses, low, unit, stale)``.
    """
    choose, observe, *_ = kernels
    check_arguments(kernels)
    view_state, view_block = kernels.state_layout.view, kernels.block_layout.view
    view_params = kernels.params_layout.view

    @kernel
    def choose_alone(
        params: Any, numbers: Any, vectors: Any, K: int, announced: float, stream: Any, block: Any
    ) -> None:
        rows = as_lanes(vectors, 1)
        named = view_params(params)
        state = view_state(named, as_lanes(numbers, 1), rows, K)
        choose(named, state, announced, as_lanes(stream, 1), view_block(named, as_lanes(block, 1), rows, K))

    @kernel
    def choose_some(
        params: Any,
        numbers: Any,
        vectors: Any,
        K: int,
        announced: float,
        stream: Any,
        blocks: Any,
        wanted: float,
        least: float,
    ) -> int:
        """Begin consecutive blocks until they have the rounds wanted or fill the rows of `blocks`.

        Return how many, or BROKEN.
        """
        count, rounds = 0, 0.0
        while count < blocks.shape[0] and rounds < wanted:
            block = blocks[count]
            choose_alone(params, numbers, vectors, K, announced, stream, block)
            if not keeps_rules(block, K, least):
                return BROKEN
            count += 1
            rounds += block[1]
        return count

    @kernel
    def observe_alone(params: Any, numbers: Any, vectors: Any, K: int, block: Any, total: float, rounds: float) -> None:
        totals = local_lanes(1, 1)
        totals[0, 0] = total
        named, rows = view_params(params), as_lanes(vectors, 1)
        state = view_state(named, as_lanes(numbers, 1), rows, K)
        observe(named, state, view_block(named, as_lanes(block, 1), rows, K), totals[0], rounds)

    @kernel
    def observe_all(
        params: Any, numbers: Any, vectors: Any, K: int, block: Any, losses: Any, low: float, unit: float, stale: float
    ) -> int:
        """Observe the losses of all arms, NaN where unknown. Return 0, or an error before anything has changed."""
        named, rows = view_params(params), as_lanes(vectors, 1)
        state = view_state(named, as_lanes(numbers, 1), rows, K)
        for i in range(K):
            loss = (losses[i] - low) / unit
            if math.isnan(loss):
                if state.shut[i, 0] == 0.0 and (state.n[0] <= 1.0 or state.age[i, 0] >= stale):
                    return UNKNOWN * (i + 1)
            elif not 0.0 <= loss <= 1.0:
                return OUTSIDE * (i + 1)
        for i in range(K):
            loss = (losses[i] - low) / unit
            missing = math.isnan(loss)
            state.age[i, 0] = state.age[i, 0] + 1.0 if missing else 0.0
            if missing:
                loss = 1.0 if state.shut[i, 0] > 0.0 else state.known[i, 0]
            losses[i] = loss
        observe(named, state, view_block(named, as_lanes(block, 1), rows, K), as_lanes(losses, 1), 1.0)
        return 0

    return choose_alone, choose_some, observe_all if kernels.full_information else observe_alone


class Game:
    """The state of one game of `policy` and its stream. Plays as replication `replication` of `simulate`."""

    __slots__ = (
        "K",
        "_choose",
        "_covered",
        "_observe",
        "_packed",
        "_row",
        "begun",
        "block",
        "numbers",
        "params",
        "policy",
        "stream",
        "vectors",
    )

    def __init__(self, policy: Policy, seed: object = None, replication: int = 0) -> None:
        kernels = policy.kernels
        self.policy = policy
        self.K = policy.n_arms
        _, self._choose, self._observe = one_game(kernels)
        self.use(policy.parameters())
        self.numbers = np.zeros(policy.state_layout.n_numbers)
        self.vectors = np.zeros(policy.state_layout.vector_rows(self.K))
        self.block = np.zeros(kernels.block_layout.n_numbers)
        """The latest block, starting with arm, rounds and probability."""
        self._row = self.block.reshape(1, -1)
        self.begun = 0
        """Number of blocks begun."""
        number = whole_number("replication", replication, least=0, most=LAST_REPLICATION)
        self.stream = started(policy_key(check_seed(seed), policy.label), number)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.policy, self.numbers, self.vectors, self.block, self.begun, self.stream

    def __setstate__(self, saved: tuple[Any, ...]) -> None:
        self.__init__(saved[0], 0)  # type: ignore[misc]  # kernels and parameters come from the policy
        _, self.numbers, self.vectors, self.block, self.begun, self.stream = saved
        self._row = self.block.reshape(1, -1)

    @property
    def state_layout(self) -> Layout:
        """Layout of the state's numbers."""
        return self.policy.state_layout

    @property
    def block_layout(self) -> Layout:
        """Layout of a block's numbers."""
        return self.policy.kernels.block_layout

    def begin(self, announced: float = 0.0) -> tuple[int, int]:
        """Begin a block, which then lies in `block`. Return its arm and its rounds."""
        self._begin_in(self._row, announced, 1.0)
        return int(self.block.item(0)), int(self.block.item(1))

    def begin_some(self, announced: float, rounds: float) -> Array:
        """Begin blocks with at least this many rounds together, at most MANY. Return one row for each."""
        blocks = np.zeros((MANY, len(self.block)))
        blocks = blocks[: self._begin_in(blocks, announced, rounds)]
        self.block[:] = blocks[-1]
        return blocks

    def _begin_in(self, blocks: Array, announced: float, rounds: float) -> int:
        if self.begun >= self._covered:
            self.use(reaching(self.policy, self.params, self.begun))
        if len(blocks) > self._covered - self.begun:
            blocks = blocks[: int(self._covered - self.begun)]
        least = least_probability(self.policy)
        game = self._packed, self.numbers, self.vectors, self.K, announced, self.stream
        count = self._choose(*game, blocks, rounds, least)
        if count == BROKEN:
            broken = next(row for row in blocks if not keeps_rules(row, self.K, least))
            raise broken_rules(self.policy.label, self.K, broken)
        self.begun += count
        return int(count)

    def observe(self, block: Array, total: float, rounds: float) -> None:
        """Observe a block's total loss, in normalised units, over this many of its rounds."""
        self._observe(self._packed, self.numbers, self.vectors, self.K, block, total, rounds)

    def correct(self, block: Array, was: float, now: float, rounds: float) -> bool:
        """Put another total in place of one that was observed, with `rounds` more; return False if it cannot."""
        state, named = self.state, self.block_layout.named(block, self.vectors[:0])
        return self.policy.correct(self.params, state, named, was, now, rounds)

    def observe_all(self, losses: Array, low: float, unit: float, stale: float) -> int:
        """Observe the losses of all arms, in the user's units; `losses` is changed. Return 0, or an error code."""
        return int(
            self._observe(self._packed, self.numbers, self.vectors, self.K, self.block, losses, low, unit, stale)
        )

    @property
    def state(self) -> Any:
        """Return the state's numbers by name, as arrays that share its memory."""
        return self.state_layout.named(self.numbers, self.vectors)

    def probabilities(self) -> Array:
        """Return the distribution that the latest block was drawn from."""
        return self.policy.probabilities(self.params, *self._views())

    def _views(self) -> tuple[Any, Any]:
        return self.state, self.block_layout.named(self.block, self.vectors[:0])

    def next_best(self, out: Mask) -> int:
        """Return the arm to play instead of the latest drawn while the arms `out` are unavailable."""
        return self.policy.next_best(self.params, *self._views(), out)

    def give(self, arm: int, probability: float) -> bool:
        """Let the latest block be that of `arm`, as `Policy.given`."""
        return self.policy.given(*self._views(), arm, probability)

    def played_from(self, out: Mask | None) -> Array:
        """Return the distribution of the arm played: the draw's, with the share of `out` arms moved to the next best.

        The policy draws from all arms. While a block's arm is out, the next best is played, and the block learns
        what that one lost: docs/theory/decisions.md says why its estimates stay unbiased.
        """
        p = self.probabilities()
        if out is None:
            return p
        p = p.copy()
        p[self.next_best(out)] += p[out].sum()
        p[out] = 0.0
        return p

    def copy(self) -> Game:
        """Return an independent copy."""
        other = object.__new__(Game)
        for name in self.__slots__:
            value = getattr(self, name)
            shared = name in ("params", "_packed") or not isinstance(value, np.ndarray)
            setattr(other, name, value if shared else value.copy())
        other._row = other.block.reshape(1, -1)
        return other

    def use(self, params: Any) -> None:
        """Continue with these parameters."""
        self.params = params
        self._packed = packed_parameters(self.policy, params)
        self._covered = self.policy.blocks_covered(params)

    def saved_state(self) -> dict[str, Any]:
        """Return the state's numbers by name."""
        return self.state_layout.saved(self.numbers, self.vectors)

    def saved_block(self) -> dict[str, Any]:
        """Return the latest block's numbers by name."""
        return dict(zip(self.block_layout.kinds, self.block.tolist(), strict=True))

    def restore(self, state: Mapping[str, Any], block: Mapping[str, Any] | None, begun: int, stream: Any) -> None:
        """Continue from checked numbers by name."""
        self.state_layout.restore(state, self.numbers, self.vectors)
        if block is not None:
            self.block_layout.restore(block, self.block, self.vectors[:0])
        self.begun = begun
        self.stream[:] = stream


def reaching(policy: Policy, params: Any, begun: int) -> Any:
    """Return parameters that cover one more block after `begun`."""
    covered = policy.blocks_covered(params)
    if begun < covered:
        return params
    params = policy.parameters_reaching(block=max(2 * int(covered), begun + 1))
    if begun >= policy.blocks_covered(params):
        raise InvalidParameter(
            "block_lengths and learning_rates",
            f"must reach block {begun + 1}; give functions of n for an endless game",
            f"{int(covered)} blocks",
        )
    return params


def broken_rules(label: str, n_arms: int, block: Array | None = None) -> HoldfastError:
    """Return the error for a user-defined policy with an invalid kernel, and for its block if that is known."""
    if block is not None and keeps_rules(np.array([*block[:2], 1.0]), n_arms, 0.0):
        return HoldfastError(
            f"{label} must hand out blocks with a probability above 0 and at most 1; got {block[2]:g}: "
            "look at block.probability in its kernel"
        )
    return HoldfastError(
        f"{label} must choose an arm from 0 to {n_arms - 1} and a whole number of rounds, at least 1: "
        "look at block.arm and block.rounds in its kernel"
    )
