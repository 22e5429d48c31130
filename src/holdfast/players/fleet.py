"""Many independent games in arrays: a decision for each of a million devices in a second."""

from __future__ import annotations

import hashlib
import json
import math
import threading
import zipfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._numba.compile import composed, kernel
from holdfast.checks import cores, whole_number
from holdfast.errors import BadSavedState, InvalidParameter, OutOfTurn
from holdfast.files import whole_file
from holdfast.numerics.layout import Array, Layout
from holdfast.numerics.random import STATE_SIZE, check_seed, start_stream
from holdfast.numerics.schedules import LONGEST
from holdfast.numerics.sums import add_exactly, exact_sum, rounded_sum
from holdfast.players.game import Game, broken_rules, keeps_rules, least_probability, one_game, policy_key, reaching
from holdfast.players.saves import described, policy_of
from holdfast.policies.policy import (
    Kernel,
    Kernels,
    Policy,
    announced_value,
    must_be,
    normalised_total,
    packed_parameters,
)

# The loops over the games of a fleet: the kernels of single games, game after game, without the interpreter.
#
# All numbers of a game lie together in memory. Losses of a block are added up exactly in a few numbers; where these may
# not suffice, which takes losses over sixty decades, the loop stops at that game and the caller continues it in
# plain Python.

PARTS = 5
"""Numbers in which a block's losses are summed exactly."""

SPILLED = 100
"""Value of `used` where those do not suffice; the losses are then kept separately."""

DONE, BROKEN = -1, -2
"""Return codes of a loop: all games are done, or a kernel gave an invalid block."""


class Games(NamedTuple):
    """The arrays of a fleet, one row per game."""

    numbers: Any
    vectors: Any
    streams: Any
    blocks: Any
    parts: Any
    """Parts of the exact sum of the block's reported losses."""
    used: Any
    """Numbers of `parts` in use."""
    left: Any
    """Rounds of the block whose losses are not reported yet."""
    begun: Any
    rounds: Any
    switches: Any

    @classmethod
    def zeros(cls, policy: Policy, n: int) -> Self:
        """Return `n` games that have not begun."""
        state, block = policy.state_layout, policy.kernels.block_layout
        counts = {name: np.zeros(n, dtype=np.int64) for name in ("left", "begun", "rounds", "switches")}
        return cls(
            numbers=np.zeros((n, state.n_numbers)),
            vectors=np.zeros((n, state.vector_rows(policy.n_arms))),
            streams=np.zeros((n, STATE_SIZE), dtype=np.uint64),
            blocks=np.zeros((n, block.n_numbers)),
            parts=np.zeros((n, PARTS)),
            used=np.zeros(n, dtype=np.uint8),
            **counts,
        )


@kernel
def start_streams(key: Any, first: int, streams: Any) -> None:
    """Return the random stream of each game."""
    for g in range(streams.shape[0]):
        start_stream(key, first + g, streams[g])


@composed
def loops(kernels: Kernels) -> tuple[Kernel, Kernel]:
    """Return ``ask_all`` and ``tell_all`` for a policy's kernels."""
    choose, _, observe = one_game(kernels)

    @kernel
    def ask_all(
        params: Any, games: Any, K: int, least: float, chosen: Any, announced: Any, arms: Any, numbers: Any
    ) -> int:
        """Write arm and block number of each chosen game; a game between blocks begins one."""
        for j in range(chosen.shape[0]):
            g = chosen[j]
            block = games.blocks[g]
            if games.left[g] == 0:
                before = block[0]
                choose(
                    params,
                    games.numbers[g],
                    games.vectors[g],
                    K,
                    announced[j % announced.shape[0]],
                    games.streams[g],
                    block,
                )
                if not keeps_rules(block, K, least):
                    return BROKEN
                if games.begun[g] == 0 or block[0] != before:
                    games.switches[g] += 1
                games.begun[g] += 1
                games.left[g] = int(block[1])
            arms[j] = int(block[0])
            numbers[j] = games.begun[g]
        return DONE

    @kernel
    def tell_all(
        params: Any, games: Any, K: int, chosen: Any, losses: Any, low: float, highest: float, unit: float, first: int
    ) -> int:
        """Add one round's loss to each chosen game from `first` on, and observe blocks that end.

        Return the position of a game whose sum may need more numbers, or DONE.
        """
        for j in range(first, chosen.shape[0]):
            g = chosen[j]
            parts, block = games.parts[g], games.blocks[g]
            used = games.used[g]
            last = games.left[g] == 1
            if used + 1 + int(last and low != 0.0) > PARTS:  # also where `used` is SPILLED
                return j
            used = add_exactly(parts, used, losses[j])
            games.rounds[g] += 1
            games.left[g] -= 1
            if last:
                length = block[1]
                if low != 0.0:
                    used = add_exactly(parts, used, -low * length)
                total = min(max(rounded_sum(parts, used), 0.0), highest * length) / unit
                used = 0
                observe(params, games.numbers[g], games.vectors[g], K, block, total, length)
            games.used[g] = used
        return DONE

    return ask_all, tell_all


# A fleet in one file: an uncompressed archive of arrays (`numpy.savez`), each number of state and block by name.
#
# The header, `about`, is read first: format, version, policy and number of games say which arrays there must be and how
# large. Only then is anything else read, so that a small file cannot claim much memory.

FORMAT = "holdfast.fleet"
VERSION = 1

COUNTS = ("left", "begun", "rounds", "switches", "used")

Arrays = dict[str, NDArray[Any]]


def write_fleet(file: str | Path, policy: Policy, games: Games, spilled: dict[int, list[float]]) -> None:
    """Write all games by name into a new file, which then replaces the old one."""
    arrays = _arrays(policy, games)
    about = {
        **described(policy),
        "format": FORMAT,
        "version": VERSION,
        "n": len(games.left),
        "spilled": {str(g): losses for g, losses in spilled.items()},
    }
    check = _header_digest(about)
    for name in sorted(arrays):
        _add(check, name, arrays[name])
    text = json.dumps({**about, "check": check.hexdigest()})
    with whole_file(file) as out:
        np.savez(out, about=np.array(text), **arrays)  # type: ignore[arg-type]  # names are not its options


def _arrays(policy: Policy, games: Games) -> Arrays:
    """Return views of all saved arrays, by name."""
    kernels, K = policy.kernels, policy.n_arms
    arrays: Arrays = {"streams": games.streams, "parts": games.parts}
    arrays |= {name: getattr(games, name) for name in COUNTS}
    state = _by_name(policy.state_layout, games.numbers, games.vectors, K)
    block = _by_name(kernels.block_layout, games.blocks, games.vectors[:, :0], K)
    named = {"state": state, "block": block}
    return arrays | {f"{what}/{name}": array for what, found in named.items() for name, array in found.items()}


def _by_name(layout: Layout, numbers: Any, vectors: Any, K: int) -> Arrays:
    """Return a view of each saved number of a state or a block."""
    found = {}
    for (name, kind), rows in zip(layout.kinds.items(), layout.places(K), strict=True):
        if kind.saved:
            alone = not kind.per_arm and kind.several is None
            found[name] = (vectors if kind.in_vectors else numbers)[:, rows.start if alone else rows]
    return found


def _header_digest(about: dict[str, Any]) -> Any:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode())


def _add(digest: Any, name: str, array: NDArray[Any]) -> None:
    digest.update(name.encode())
    digest.update(np.ascontiguousarray(array).data)


def read_fleet(
    file: str | Path, policy: Policy | None, allow: Iterable[str | type[Policy]]
) -> tuple[Policy, Games, dict[int, list[float]]]:
    """Read policy, games and the sums that need more numbers from a fleet's file."""
    try:
        content = open(file, "rb")  # noqa: SIM115  # closed below; only opening it may be the user's mistake
    except (OSError, ValueError) as error:
        raise InvalidParameter("file", f"must be a file that can be read ({error})", str(file)) from None
    with content:
        try:
            with zipfile.ZipFile(content) as archive:
                return _read(archive, content.seek(0, 2), policy, allow)
        except (BadSavedState, InvalidParameter):
            raise
        except Exception as error:  # a damaged archive can end in any
            raise BadSavedState(f"{file} is not a saved fleet, or is damaged: {error!r}") from None


def _read(
    archive: zipfile.ZipFile, size: int, policy: Policy | None, allow: Iterable[str | type[Policy]]
) -> tuple[Policy, Games, dict[int, list[float]]]:
    entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
    stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries.values())
    must_be(stored and sum(entry.file_size for entry in entries.values()) <= size, "it must not be compressed")
    about = json.loads(str(_array(archive, entries.pop("about"))))
    version = about["version"]
    if about["format"] != FORMAT or version != VERSION:
        raise BadSavedState(f"a saved fleet must be {FORMAT} of version {VERSION}; got {version!r}")
    check = about.pop("check")
    digest = _header_digest(about)
    policy = policy_of(about, policy, allow)
    n = about["n"]
    one = _arrays(policy, Games.zeros(policy, 1))
    must_be(set(one) == set(entries), f"it must have {', '.join(sorted(one))}")
    for name, place in one.items():
        shape, kind = (n, *place.shape[1:]), place.dtype
        found = _header(archive, entries[name])
        must_be(found == (shape, kind), f"{name} must have the shape {shape} and the type {kind}")
    games = Games.zeros(policy, n)
    places = _arrays(policy, games)
    for name in sorted(places):
        places[name][...] = _array(archive, entries[name])
        _add(digest, name, places[name])
    must_be(digest.hexdigest() == check, "its contents do not match its check sum")
    spilled = {int(g): [float(loss) for loss in losses] for g, losses in about["spilled"].items()}
    _check(policy, games, spilled)
    return policy, games, spilled


def _header(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type of an array, which must be as large as it claims."""
    with archive.open(entry) as source:
        must_be(np.lib.format.read_magic(source) == (1, 0), f"{entry.filename} must be an array")
        shape, by_columns, kind = np.lib.format.read_array_header_1_0(source)
        fits = not by_columns and source.tell() + math.prod(shape) * kind.itemsize == entry.file_size
        must_be(fits or kind.hasobject, f"{entry.filename} must be as large as it says")
        return shape, kind


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    _header(archive, entry)
    with archive.open(entry) as source:
        return np.asarray(np.lib.format.read_array(source, allow_pickle=False))


def _check(policy: Policy, games: Games, spilled: dict[int, list[float]]) -> None:
    """Raise an error for numbers that no fleet can have reached."""
    K, n, block_layout = policy.n_arms, len(games.left), policy.kernels.block_layout
    arms, rounds = games.blocks[:, 0], games.blocks[:, 1]
    apart = np.zeros(n, dtype=bool)
    apart[list(spilled)] = True
    rules = {
        "numbers must be finite": np.isfinite(games.numbers).all() and np.isfinite(games.vectors).all(),
        "blocks must be finite": np.isfinite(games.blocks).all() and np.isfinite(games.parts).all(),
        f"arms must be from 0 to {K - 1}": ((arms >= 0) & (arms < K) & (arms == np.floor(arms))).all(),
        "rounds must be whole": ((rounds >= 0) & (rounds <= LONGEST) & (rounds == np.floor(rounds))).all(),
        "left must be rounds of the block": ((games.left >= 0) & (games.left <= rounds)).all(),
        "a block in play must have begun": ((games.left == 0) | (games.begun > 0)).all(),
        "streams must not be 0": games.streams.any(axis=1).all(),
        "sums must be in their places": ((games.used <= PARTS) | ((games.used == SPILLED) & apart)).all(),
        "counts must not be negative": min(games.begun.min(), games.rounds.min(), games.switches.min()) >= 0,
    }
    for rule, holds in rules.items():
        must_be(bool(holds), rule)
    state = _by_name(policy.state_layout, games.numbers, games.vectors, K)
    block = _by_name(block_layout, games.blocks, games.vectors[:, :0], K)
    for what, layout, values, holds in (
        ("state", policy.state_layout, state, games.begun > 0),
        ("block", block_layout, block, games.left > 0),
    ):
        broken = layout.broken_rule({name: numbers[holds] for name, numbers in values.items()}, K)
        must_be(broken is None, f"{what}: {broken}")


MOST_GAMES = 10**9

FEW = 4096
"""Games that one thread plays sooner than a second one starts."""

Ints = NDArray[np.int64]


class Asked(NamedTuple):
    """The answer of `Fleet.ask`, one number for each game asked."""

    arms: Ints
    """Arms, from 0; the names are `fleet.policy.arms`."""
    blocks: Ints
    """Block numbers, from 1."""


class FleetGame(NamedTuple):
    """One game of a fleet."""

    game: Game
    """A copy of the game; its `block` is the current one."""
    left: int
    """Rounds of the block whose losses are not reported yet; 0 between blocks."""
    rounds: int
    switches: int
    losses: Sequence[float]
    """Numbers whose exact sum is the block's loss so far."""


class Fleet:
    """`n` independent games of one policy. Game i is, bit for bit, ``policy.player(seed, replication=i)``.

    Each game is played in turn, as a player is: `ask` names its arm, `tell` the loss of one round.

    Threads may share a fleet: calls wait for one another, and for a `save` to be written. Two threads that ask and
    tell for the *same* game must agree on whose turn it is; `blocks` of `tell` refuses a loss for a block that has
    ended.

    Parameters
    ----------
    policy
        The policy of all games.
    n
        The number of games.
    seed
        See `Policy.player`.
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
        if policy.announces == "rule":
            raise InvalidParameter(
                "policy", "must not follow a rule that ask(rule=...) tells to play in a fleet", policy
            )
        if policy.full_information:
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
        """Changes of arm so far, including the first play, per game."""
        with self._lock:
            return np.array(self._games.switches)

    @property
    def hold(self) -> Ints:
        """Rounds for which the current arm is certain to be held, per game; 0 between blocks."""
        with self._lock:
            return np.array(self._games.left)

    @property
    def probability(self) -> Array:
        """Probability with which the current block's arm was drawn, per game: log it."""
        with self._lock:
            return np.array(self._games.blocks[:, 2])

    @property
    def bytes_per_game(self) -> float:
        """Memory used per game."""
        return float(sum(array.nbytes for array in self._games) + self._all.nbytes) / self.n

    def ask(self, indices: ArrayLike | None = None, *, switching_cost: ArrayLike | None = None) -> Asked:
        """Return the arm to play in each of these games, or in all, and its block's number.

        `switching_cost` is announced to policies that need it: one for all, or one per game asked.
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

        K, least = self.policy.n_arms, least_probability(self.policy)

        def ask_some(first: int, last: int) -> int:
            some = slice(first, last)
            given = announced if len(announced) == 1 else announced[some]
            return int(self._ask(self._packed, self._games, K, least, chosen[some], given, arms[some], blocks[some]))

        if any(status == BROKEN for status in self._spread(ask_some, len(chosen))):
            raise broken_rules(self.policy.label, K)
        return Asked(arms, blocks)

    def tell(self, losses: ArrayLike, indices: ArrayLike | None = None, *, blocks: ArrayLike | None = None) -> None:
        """Report the loss of one round in each of these games, or in all. After an error nothing has changed.

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
        """Add a loss to a sum that may need more numbers than the array has."""
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
        """Return an independent copy of game i."""
        games, game = self._games, Game(self.policy, seed=0)
        game.numbers[:], game.vectors[:], game.block[:] = games.numbers[i], games.vectors[i], games.blocks[i]
        game.stream[:], game.begun = games.streams[i], int(games.begun[i])
        game.use(self._params)
        return game

    def get(self, i: int) -> FleetGame:
        """Return game i, to be played elsewhere."""
        with self._lock:
            games = self._games
            spilled = games.used[i] == SPILLED
            losses = self._spilled[i] if spilled else exact_sum(games.parts[i, : games.used[i]].tolist())
            return FleetGame(self.game(i), int(games.left[i]), int(games.rounds[i]), int(games.switches[i]), losses)

    def put(self, i: int, one: FleetGame) -> None:
        """Continue game i from a game of the same policy that was played elsewhere."""
        losses = exact_sum(one.losses)
        with self._lock:
            games, game = self._games, one.game
            games.numbers[i], games.vectors[i], games.streams[i] = game.numbers, game.vectors, game.stream
            games.blocks[i], games.begun[i] = game.block, game.begun
            games.left[i], games.rounds[i], games.switches[i] = one.left, one.rounds, one.switches
            self._keep(i, losses)

    def _keep(self, g: int, losses: list[float]) -> None:
        """Store the losses of game g's block, in the array or separately."""
        games = self._games
        self._spilled.pop(g, None)
        if len(losses) <= PARTS:
            games.parts[g, : len(losses)], games.used[g] = losses[::-1], len(losses)
        else:
            self._spilled[g], games.used[g] = losses, SPILLED

    def probabilities(self, i: int) -> Array:
        """Return the distribution of game i's current arm; between blocks, of the next one."""
        number = whole_number("i", i, least=0, most=self.n - 1)
        with self._lock:
            game, left = self.game(number), self._games.left[number]
        if not left:
            if self.policy.announces is not None:
                raise OutOfTurn(f"the probabilities of the next block depend on its {self.policy.announces}")
            game.begin()
        return game.probabilities()

    def _use(self, params: Any) -> None:
        """Continue with these parameters."""
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
        """Run `work` on pieces of 0 … count, on threads if there is enough of it."""
        pieces = max(1, min(self._workers, count // FEW))
        marks = np.linspace(0, count, pieces + 1).astype(int).tolist()
        if pieces == 1:
            return [work(0, count)]
        work(0, 0)  # compile once, before the threads begin
        with ThreadPoolExecutor(pieces) as pool:
            return list(pool.map(lambda piece: work(*piece), pairwise(marks)))

    def save(self, file: str | Path) -> None:
        """Write all games into one file, atomically. Other calls wait until it is written."""
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
        """Continue a saved fleet exactly.

        Parameters
        ----------
        file
            A file written by `save`.
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
