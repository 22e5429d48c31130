"""Many independent games in arrays: a decision for each of a million devices in a second."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.checks import cores, whole_number
from holdfast.errors import InvalidParameter, OutOfTurn
from holdfast.layouts import Array
from holdfast.players.fleet_files import read_fleet, write_fleet
from holdfast.players.fleet_kernels import BROKEN, DONE, PARTS, SPILLED, Games, loops, start_streams
from holdfast.players.game import Game, broken_rules, policy_key, reaching
from holdfast.players.losses import announced_value, exact_sum, normalised_total
from holdfast.policies.policy import Policy, packed_parameters
from holdfast.rng import check_seed

MOST_GAMES = 10**9

FEW = 4096
"""Games that one thread plays sooner than a second one is started."""

Ints = NDArray[np.int64]


class Asked(NamedTuple):
    """What `Fleet.ask` returns, one number for each game asked."""

    arms: Ints
    """Arms, from 0; the names are `fleet.policy.arms`."""
    blocks: Ints
    """Numbers of the blocks, from 1."""


class FleetGame(NamedTuple):
    """One game of a fleet by itself."""

    game: Game
    """A copy; its `block` is the current one."""
    left: int
    """Rounds of the block whose losses are not reported yet; 0 between blocks."""
    rounds: int
    switches: int
    losses: Sequence[float]
    """Numbers whose sum is exactly what was lost in the block so far."""


class Fleet:
    """`n` independent games of one policy. Game i is, bit for bit, ``policy.player(seed, replication=i)``.

    Each game is played in turn, as a player is: `ask` names its arm, `tell` the loss of one round.

    Threads may share a fleet: calls wait for one another, also for a `save` to be written. Two threads that ask and
    tell for the *same* game must agree on whose turn it is; `blocks` of `tell` refuses a loss for a block that has
    ended.

    Parameters
    ----------
    policy
        What all of them play.
    n
        How many.
    seed
        As in `Policy.player`.
    workers
        Threads; all cores by default.

    Examples
    --------
    >>> import holdfast as hf
    >>> fleet = hf.Fleet(hf.TsallisSwitch(8, switching_cost=1.0), 1000, seed=7)
    >>> arms, blocks = fleet.ask()
    >>> fleet.tell(np.full(1000, 0.5))
    >>> some = fleet.ask([3, 5])
    >>> fleet.tell([0.25, 0.75], [3, 5], blocks=some.blocks)
    >>> int(fleet.rounds.sum())
    1002
    """

    def __init__(self, policy: Policy, n: int, seed: object = None, *, workers: int | None = None) -> None:
        if not isinstance(policy, Policy):
            raise InvalidParameter("policy", "must be a policy such as holdfast.Exp3(8)", policy)
        if policy.announces == "loss_bound":
            rule = "must have one range of losses for all blocks to play in a fleet"
            raise InvalidParameter("policy", rule, policy)
        if policy.sees == "all":
            raise InvalidParameter("policy", "must see the loss of its own arm alone to play in a fleet", policy)
        n = whole_number("n", n, least=1, most=MOST_GAMES)
        self._set_up(policy, Games.zeros(policy, n), {}, workers)
        start_streams(policy_key(check_seed(seed), policy.label), 0, self._games.streams)

    def _set_up(self, policy: Policy, games: Games, spilled: dict[int, list[float]], workers: int | None) -> None:
        self.policy, self.n = policy, len(games.left)
        self._workers = cores() if workers is None else whole_number("workers", workers, least=1)
        self._ask, self._tell = loops(policy.kernels)
        self._use(policy.parameters())
        self._games, self._spilled = games, spilled
        self._all = np.arange(self.n)
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"<Fleet of {self.n} games of {self.policy.label}: {int(self._games.rounds.sum())} rounds>"

    def __len__(self) -> int:
        return self.n

    @property
    def rounds(self) -> Ints:
        """Rounds whose losses were reported, per game."""
        with self._lock:
            return np.array(self._games.rounds)

    @property
    def switches(self) -> Ints:
        """Changes of arm so far, per game; the first play is one."""
        with self._lock:
            return np.array(self._games.switches)

    @property
    def hold(self) -> Ints:
        """Rounds the current arm is certain to be held from now on, per game; 0 between blocks."""
        with self._lock:
            return np.array(self._games.left)

    @property
    def probability(self) -> Array:
        """The probability with which the arm of the current block was drawn, per game: log it."""
        with self._lock:
            return np.array(self._games.blocks[:, 2])

    @property
    def bytes_per_game(self) -> float:
        """Memory that each game takes."""
        return float(sum(array.nbytes for array in self._games) + self._all.nbytes) / self.n

    def ask(self, indices: ArrayLike | None = None, *, switching_cost: ArrayLike | None = None) -> Asked:
        """The arm to play now in each of these games, or in all, and the number of its block.

        `switching_cost` is announced to policies that want it, one for all or one per game asked.
        """
        chosen = self._chosen(indices)
        announced = self._announced(switching_cost, len(chosen))
        with self._lock:
            return self._asked(chosen, announced)

    def _asked(self, chosen: Ints, announced: Array) -> Asked:
        if len(chosen):
            furthest = int(self._games.begun[chosen].max())
            if furthest >= self._covered:
                self._use(reaching(self.policy, self._params, furthest))
        arms, blocks = np.empty(len(chosen), dtype=np.int64), np.empty(len(chosen), dtype=np.int64)

        def ask_some(first: int, last: int) -> int:
            some = slice(first, last)
            given = announced if len(announced) == 1 else announced[some]
            return int(
                self._ask(self._packed, self._games, self.policy.n_arms, chosen[some], given, arms[some], blocks[some])
            )

        if any(status == BROKEN for status in self._spread(ask_some, len(chosen))):
            raise broken_rules(self.policy.label, self.policy.n_arms)
        return Asked(arms, blocks)

    def tell(self, losses: ArrayLike, indices: ArrayLike | None = None, *, blocks: ArrayLike | None = None) -> None:
        """The loss of one round in each of these games, or in all. After an error nothing has changed.

        Parameters
        ----------
        losses
            One number for each game.
        indices
            The games, all different; all of them by default.
        blocks
            The numbers of their blocks, as `ask` gave them: a loss for a block that has ended is refused.
        """
        chosen = self._chosen(indices)
        values = self._checked(losses, len(chosen))
        with self._lock:
            self._hear(chosen, values, blocks)

    def _hear(self, chosen: Ints, values: Array, blocks: ArrayLike | None) -> None:
        games = self._games
        idle = np.flatnonzero(games.left[chosen] == 0)
        if len(idle):
            raise OutOfTurn(f"game {chosen[idle[0]]} is between blocks: call ask() first")
        if blocks is not None:
            numbers = np.asarray(blocks)
            if numbers.shape != chosen.shape or (numbers != games.begun[chosen]).any():
                raise InvalidParameter("blocks", "must be the current block of each game, as ask gave it", blocks)
        low = self.policy.units[0]
        highest = self.policy.bounds[1] - low

        def tell_some(first: int, last: int) -> int:
            some, mine, j = chosen[first:last], values[first:last], 0
            while True:
                j = self._tell(self._packed, games, self.policy.n_arms, some, mine, low, highest, self.policy.unit, j)
                if j == DONE:
                    return DONE
                self._tell_slowly(int(some[j]), float(mine[j]))
                j += 1

        self._spread(tell_some, len(chosen))

    def _tell_slowly(self, g: int, loss: float) -> None:
        """A loss whose block's sum may need more numbers than an array has for it."""
        games = self._games
        spilled = games.used[g] == SPILLED
        pieces = self._spilled.pop(g) if spilled else games.parts[g, : games.used[g]].tolist()
        pieces = exact_sum([*pieces, loss])
        games.rounds[g] += 1
        games.left[g] -= 1
        if games.left[g] == 0:
            length = float(games.blocks[g, 1])
            total = normalised_total(self.policy, self.policy.bounds, pieces, length)
            game = self.game(g)
            game.observe(games.blocks[g], total, length)
            games.numbers[g], games.vectors[g], games.used[g] = game.numbers, game.vectors, 0
        else:
            self._keep(g, pieces)

    def game(self, i: int) -> Game:
        """A copy of game i, to go on apart."""
        games, game = self._games, Game(self.policy, seed=0)
        game.numbers[:], game.vectors[:], game.block[:] = games.numbers[i], games.vectors[i], games.blocks[i]
        game.stream[:], game.begun = games.streams[i], int(games.begun[i])
        game.use(self._params)
        return game

    def get(self, i: int) -> FleetGame:
        """Game i by itself, to be played elsewhere."""
        with self._lock:
            games = self._games
            spilled = games.used[i] == SPILLED
            losses = self._spilled[i] if spilled else exact_sum(games.parts[i, : games.used[i]].tolist())
            return FleetGame(self.game(i), int(games.left[i]), int(games.rounds[i]), int(games.switches[i]), losses)

    def put(self, i: int, one: FleetGame) -> None:
        """Let game i go on from a game of the same policy that was played elsewhere."""
        losses = exact_sum(one.losses)
        with self._lock:
            games, game = self._games, one.game
            games.numbers[i], games.vectors[i], games.streams[i] = game.numbers, game.vectors, game.stream
            games.blocks[i], games.begun[i] = game.block, game.begun
            games.left[i], games.rounds[i], games.switches[i] = one.left, one.rounds, one.switches
            self._keep(i, losses)

    def _keep(self, g: int, losses: list[float]) -> None:
        """What the block of game g has lost, in the array or apart."""
        games = self._games
        self._spilled.pop(g, None)
        if len(losses) <= PARTS:
            games.parts[g, : len(losses)], games.used[g] = losses[::-1], len(losses)
        else:
            self._spilled[g], games.used[g] = losses, SPILLED

    def probabilities(self, i: int) -> Array:
        """The distribution the current arm of game i was drawn from; between blocks, the next arm's."""
        number = whole_number("i", i, least=0, most=self.n - 1)
        with self._lock:
            game, left = self.game(number), self._games.left[number]
        if not left:
            if self.policy.announces is not None:
                raise OutOfTurn(f"the probabilities of the next block depend on its {self.policy.announces}")
            game.begin()
        return game.probabilities()

    def _use(self, params: Any) -> None:
        """Go on with these parameters."""
        self._params, self._covered = params, self.policy.blocks_covered(params)
        self._packed = packed_parameters(self.policy, params)

    def _chosen(self, indices: ArrayLike | None) -> Ints:
        if indices is None:
            return self._all
        chosen = np.asarray(indices)
        rule = f"must be a list of different whole numbers from 0 to {self.n - 1}"
        if chosen.ndim != 1 or (chosen.dtype.kind not in "iu" and len(chosen)):
            raise InvalidParameter("indices", rule, indices)
        chosen = np.ascontiguousarray(chosen, dtype=np.int64)
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= self.n):
            wrong = chosen[(chosen < 0) | (chosen >= self.n)][0]
            raise InvalidParameter("indices", rule, int(wrong))
        if len(chosen) <= FEW:
            distinct = len(set(chosen.tolist())) == len(chosen)
        else:
            marks = np.zeros(self.n, dtype=bool)
            marks[chosen] = True
            distinct = int(np.count_nonzero(marks)) == len(chosen)
        if not distinct:
            raise InvalidParameter("indices", f"{rule}; one is there twice", indices)
        return chosen

    def _checked(self, losses: ArrayLike, count: int) -> Array:
        values = np.ascontiguousarray(losses, dtype=np.float64) if _numbers(losses) else None
        if values is None or values.shape != (count,):
            raise InvalidParameter("losses", f"must be a list of {count} numbers, one for each game", losses)
        low, high = self.policy.bounds
        outside = np.flatnonzero(~((values >= low) & (values <= high)))
        if len(outside):
            rule = f"must each be from {low:g} to {high:g}; number {outside[0]} is not"
            raise InvalidParameter("losses", rule, float(values[outside[0]]))
        return values

    def _announced(self, switching_cost: ArrayLike | None, count: int) -> Array:
        if switching_cost is None:
            return np.array([announced_value(self.policy, {"switching_cost": None, "loss_bound": None})[0]])
        costs = np.atleast_1d(np.asarray(switching_cost, dtype=np.float64)) if _numbers(switching_cost) else None
        if costs is None or costs.shape not in ((1,), (count,)):
            raise InvalidParameter("switching_cost", f"must be one number, or {count}", switching_cost)
        values = {cost: announced_value(self.policy, {"switching_cost": cost})[0] for cost in np.unique(costs).tolist()}
        return np.array([values[cost] for cost in costs.tolist()])

    def _spread(self, work: Callable[[int, int], int], count: int) -> list[int]:
        """`work` on pieces of 0 … count, on threads where there is enough of it."""
        pieces = max(1, min(self._workers, count // FEW))
        marks = np.linspace(0, count, pieces + 1).astype(int).tolist()
        if pieces == 1:
            return [work(0, count)]
        work(0, 0)  # compile once, before the threads begin
        with ThreadPoolExecutor(pieces) as pool:
            return list(pool.map(lambda piece: work(*piece), pairwise(marks)))

    def save(self, file: str | Path) -> None:
        """Write all games into one file, complete or not at all. Other calls wait until it is written."""
        with self._lock:
            write_fleet(file, self.policy, self._games, self._spilled)

    @classmethod
    def load(
        cls,
        file: str | Path,
        *,
        policy: Policy | None = None,
        workers: int | None = None,
        allow: Iterable[str | type[Policy]] = (),
    ) -> Fleet:
        """Go on with a saved fleet, exactly.

        Parameters
        ----------
        file
            What `save` wrote.
        policy
            The policy; needed where it has functions for a schedule.
        workers
            Threads; all cores by default.
        allow
            User-defined policies that may be imported: classes, ``"module:Class"`` or ``"module"``.
        """
        fleet = cls.__new__(cls)
        fleet._set_up(*read_fleet(file, policy, allow), workers)
        return fleet


def _numbers(values: ArrayLike) -> bool:
    try:
        return np.asanyarray(values).dtype.kind in "fiu" and not np.ma.is_masked(values)
    except (TypeError, ValueError):
        return False
