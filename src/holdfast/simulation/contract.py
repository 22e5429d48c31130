"""`check`: the contract that every policy and environment keeps, tried on a user's own in seconds.

Each function below is one part of it. It raises an error that says what is wrong, and where in the user's file; the
tests of the package call the same functions.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import pickle
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from holdfast._numba import lanes
from holdfast._numba.compile import COMPILED, frozen, takes
from holdfast.checks import address_of, class_at, import_from, is_own, made
from holdfast.environments import ENVIRONMENTS, Environment, LossTable, make_environment
from holdfast.environments.changing import ChangingEnvironment
from holdfast.errors import HoldfastError, InvalidParameter, nearest
from holdfast.numerics.layout import Array
from holdfast.numerics.random import Stream
from holdfast.players.game import Game
from holdfast.players.player import Player
from holdfast.policies.exp3 import Exp3
from holdfast.policies.policy import NOT_KNOWN, Policy, packed_parameters
from holdfast.policies.registry import POLICIES, entry_of, find_policy, make_policy
from holdfast.simulation.costs import Costs
from holdfast.simulation.run import Means
from holdfast.simulation.tasks import WORTH_ALL_LANES, Played, Task, run_task

NEEDED: Mapping[str, Any] = {"n_arms": 4, "switching_cost": 0.7, "horizon": 2000, "gap": 0.2}
"""Values for parameters of a class that has no defaults for them."""

ROUNDS = 200
DRAWS, FEWER = 100_000, 2000
"""Draws of one block: an arm of probability 0.00025 that is never drawn is found. Fewer where each draw takes a game,
or its probabilities.
"""
MANY = 20_000
"""Blocks after which a state must still be finite."""
MOST_ROUNDS = 1e12
SEED = 20_210
LATE = 1e-6
"""Largest relative difference that rounding may make to the effect of a late loss."""
CERTAINTY = math.log(1e10)
"""−ln of the probability with which one comparison of random numbers is wrong about a correct class."""

MIXED = "mixed losses"
PATTERNS: Mapping[str, Callable[[int, int], float]] = {
    MIXED: lambda t, arm: ((5 * t + 3 * arm * arm + t // 7) % (9 - arm % 3)) / 8,
    "losses of 0": lambda t, arm: 0.0,
    "losses of 1": lambda t, arm: 1.0,
    "a best arm": lambda t, arm: 0.0 if arm == 0 else 1.0,
}
"""Loss of an arm in each round of a block, by the number of the block."""


class Checked(NamedTuple):
    """Everything that `check` has tried, all of it with success."""

    name: str
    parts: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        return f"{self.name} keeps the contract: {len(self.parts)} checks in {self.seconds:.1f} s"


def check(thing: Any) -> Checked:
    """Try the contract on your own policy or environment; raise an error that names what is wrong, and where.

    Parameters
    ----------
    thing
        A policy or an environment; its class, made with 4 arms, λ = 0.7 and 2,000 rounds where it has no defaults; or
        its name, as in ``holdfast check``: ``"module:Class"``, with parameters ``"module:Class:name=value"``.

    Examples
    --------
    >>> import holdfast as hf
    >>> len(hf.check(hf.Exp3(3)).parts) > 10
    True
    """
    begun = time.perf_counter()
    thing = _made(thing)
    parts: tuple[Callable[[Any], None], ...] = POLICY_PARTS if isinstance(thing, Policy) else ENVIRONMENT_PARTS
    parts = CHANGING_PARTS if isinstance(thing, ChangingEnvironment) else parts
    if not isinstance(thing, (Policy, Environment)):
        raise InvalidParameter("check", "must be given a policy or an environment, its class or its name", thing)
    for part in parts:
        part(thing)
    return Checked(type(thing).__name__, tuple(part.__name__ for part in parts), time.perf_counter() - begun)


def check_own(*things: Any) -> None:
    """Check one of each class that is not the package's own."""
    for thing in {type(thing): thing for thing in things if ":" in address_of(thing)}.values():
        check(thing)


def _made(thing: Any) -> Any:
    """Return an object of a class or of a name."""
    if isinstance(thing, str):
        import_from(Path())
        entry = entry_of(thing, "check")
        named, values = entry.pop("policy"), {key: value for key, value in entry.items() if key != "name"}
        if named in ENVIRONMENTS:
            return make_environment({"environment": named, **_needed(ENVIRONMENTS[named], values), **values})
        if not is_own(named) and named not in POLICIES:
            close = nearest(named, [*POLICIES, *ENVIRONMENTS])
            raise InvalidParameter(
                "check", f'must be "module:Class", or the id of a policy or an environment{close}', named
            )
        kind = class_at("check", named, object) if is_own(named) else find_policy(named)[0]
        if issubclass(kind, Environment):
            return kind.from_settings({**_needed(kind, values), **values})
        if issubclass(kind, Policy):
            return make_policy({"policy": named, **_needed(kind, values), **values})
        return kind
    if isinstance(thing, type) and issubclass(thing, (Policy, Environment)):
        return made(thing, thing.__name__, _needed(thing, {}))
    return thing


def _needed(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of the parameters that a class needs and that are not given."""
    unmarked = [name for name, of in inspect.get_annotations(kind).items() if "ClassVar" not in str(of)]
    if unmarked and "__dataclass_fields__" not in vars(kind):
        rule = f"must be marked @dataclass(frozen=True): {unmarked[0]} is no field otherwise"
        raise HoldfastError(f"{kind.__name__} {rule}{place_of(None, kind)}")
    own = {one.name: one for one in fields(kind) if one.init}
    wanted = {name: value for name, value in NEEDED.items() if name in own and name not in values}
    if "arms" in values:
        wanted.pop("n_arms", None)
    return wanted


# ---- what is wrong, and where ----


def place_of(function: Any, kind: type) -> str:
    """Return file and line of a function, a method, a property or a kernel; of a class that has it from the package."""
    function = getattr(function, "fget", None) or getattr(function, "func", None) or function
    function = inspect.unwrap(getattr(function, "py_func", getattr(function, "__func__", function)))
    code = getattr(function, "__code__", None)
    file, line = (code.co_filename, code.co_firstlineno) if code else ("", 0)
    with suppress(OSError, TypeError):  # a class without a file
        if _inside(file or "<>") and not _inside(inspect.getfile(kind)):
            file, line = inspect.getfile(kind), inspect.getsourcelines(kind)[1]
    return f" ({Path(file).name}, line {line})" if file else ""


def blame(thing: Policy | Environment, part: str, wrong: str) -> NoReturn:
    """Raise the error that `part`, a kernel or an attribute, is wrong."""
    kind = type(thing)
    if isinstance(thing, Policy) and part in ("choose", "observe"):
        function: Any = getattr(thing.kernels, part)
        named = f"kernel {getattr(function, '__name__', part)} of {kind.__name__}"
    else:
        function, named = inspect.getattr_static(kind, part, None), f"{kind.__name__}.{part}"
    raise HoldfastError(f"{named} {wrong}{place_of(function, kind)}")


@contextmanager
def _blamed(thing: Policy | Environment, part: str, doing: str) -> Iterator[None]:
    """Turn an error of the user's code into one line with its place."""
    try:
        yield
    except HoldfastError as error:
        if ", line " in str(error):
            raise
        blame(thing, part, f"{doing}: {error}")
    except Exception as error:
        at = [frame for frame in traceback.extract_tb(error.__traceback__) if not _inside(frame.filename)]
        where = f" ({Path(at[-1].filename).name}, line {at[-1].lineno})" if at else ""
        said = f"{type(error).__name__}: {error}"
        if not where:
            blame(thing, part, f"{doing}: {said}")
        raise HoldfastError(f"{type(thing).__name__}.{part} {doing}: {said}{where}") from error


def _inside(file: str) -> bool:
    """Tell whether a file is a library's: the package, NumPy, or what is generated."""
    packages = (Path(__file__).parents[1], Path(np.__file__).parent)
    return file.startswith("<") or any(package in Path(file).parents for package in packages)


# ---- kernels in plain Python: slow, and exact about where they go wrong ----

SUBSTITUTES = (
    (lanes.as_lanes, lanes._plain_as_lanes),
    (lanes.local_lanes, lanes._plain_local_lanes),
    (lanes.local_words, lanes._plain_local_words),
)
"""Functions that only the compiler understands, and NumPy's own."""


def plain(kernel: Any) -> Any:
    """Return a copy of a kernel, and of those that it calls, which Python runs. Unsigned integers warn as they wrap."""
    return _plain(kernel, {})


def _plain(value: Any, made: dict[Any, Any]) -> Any:
    for compiled, substitute in SUBSTITUTES:
        if value is compiled:
            return substitute
    function = getattr(value, "py_func", None)
    if not isinstance(function, FunctionType):
        return value
    if function not in made:
        names, scope, cells = set(function.__code__.co_names), dict(function.__globals__), function.__closure__ or ()
        closure = tuple(CellType() for _ in cells)
        made[function] = FunctionType(
            function.__code__, scope, function.__name__, function.__defaults__, closure or None
        )
        scope.update({name: _plain(scope[name], made) for name in names & scope.keys()})
        for cell, own in zip(cells, closure, strict=True):
            own.cell_contents = _plain(cell.cell_contents, made)
    return made[function]


# ---- games in which the losses are known ----


def _announced(policy: Policy, n: int) -> float:
    """Return the announcement at the start of block n."""
    if policy.announces == "rule":
        return float(n // 50 % policy.n_arms)
    if policy.announces == "switching_cost":
        return (0.0, 2.5, 0.4, 7.0)[n % 4]
    return (1.0, 4.0, 0.25)[n % 3] if policy.announces == "loss_bound" else 0.0


def _list(numbers: Array) -> str:
    return "[" + ", ".join(f"{x:.4g}" for x in numbers[:8]) + (", …]" if len(numbers) > 8 else "]")


def _loss(policy: Policy, n: int, arm: int, pattern: str = MIXED) -> float:
    """Return the normalised loss of an arm in a round of block n."""
    announced = policy.announces == "loss_bound"
    highest = _announced(policy, n) if announced else (policy.bounds[1] - policy.units[0]) / policy.unit
    return highest * PATTERNS[pattern](n, arm)


def _in_units(policy: Policy, n: int, arms: Iterable[int], pattern: str = MIXED) -> list[float]:
    """Return the losses of these arms in a round of block n, in the policy's units."""
    return [policy.units[0] + policy.unit * _loss(policy, n, arm, pattern) for arm in arms]


def _tell(policy: Policy, game: Game, block: Array, n: int, pattern: str = MIXED) -> None:
    """Let a game observe a block that was its n-th."""
    if policy.full_information:
        game.observe_all(np.array(_in_units(policy, n, range(game.K), pattern)), policy.units[0], policy.unit, 0.0)
    else:
        game.observe(block, block[1] * _loss(policy, n, int(block[0]), pattern), block[1])


def _blocks(policy: Policy, game: Game, count: int, pattern: str = MIXED) -> Iterator[int]:
    """Play up to `count` blocks; yield the number of each, begun and not yet observed."""
    for n in range(1, count + 1):
        with _blamed(policy, "choose", f"fails in block {n} of a game with {pattern}"):
            try:
                game.begin(_announced(policy, n))
            except InvalidParameter as error:
                if error.parameter == "block_lengths and learning_rates":  # a schedule given as lists has ended
                    return
                raise
        yield n
        with _blamed(policy, "observe", f"fails in block {n} of a game with {pattern}"):
            _tell(policy, game, game.block, n, pattern)


def _played(policy: Policy, game: Game, count: int) -> int:
    """Play up to `count` blocks; return how many there were."""
    return sum(1 for _ in _blocks(policy, game, count))


def _beside(policy: Policy, one: Game, other: Game, count: int) -> Iterator[int]:
    """Play two games, block by block."""
    both = zip(_blocks(policy, one, count), _blocks(policy, other, count), strict=False)
    return (n for n, _ in both)


def _game(policy: Policy, *, compiled: bool = True) -> Game:
    """Return a new game, on machine code or in plain Python."""
    with _blamed(policy, "parameters", "cannot be played"):
        game = Game(policy, SEED)
    if not compiled and COMPILED:
        game._choose, game._observe = plain(game._choose), plain(game._observe)
    return game


def _differs(one: Mapping[str, Any], other: Mapping[str, Any], tolerance: float = 0.0) -> str:
    """Return the first name whose numbers differ, or nothing."""
    for name, value in one.items():
        a, b = np.asarray(value, dtype=float), np.asarray(other[name], dtype=float)
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(a - b) <= tolerance * max(np.max(np.abs(a), initial=0.0), np.max(np.abs(b), initial=0.0))
        if not np.all((a == b) | near | (np.isnan(a) & np.isnan(b))):
            return name
    return ""


# ---- policies ----


def compiles(policy: Policy) -> None:
    """Kernels compile, and take and fill in what they must."""
    packed = _game(policy)._packed
    if np.isnan(packed).any():
        blame(policy, "parameters", "returns NaN, which is no number")
    if not all(np.array_equal(packed, _game(policy)._packed) for _ in range(20)):
        blame(policy, "parameters", "returns other numbers each time it is called")
    with np.errstate(all="ignore"):
        _played(policy, _game(policy, compiled=False), 3)  # first: a wrong index harms nobody there
    _played(policy, _game(policy), 3)


def runs_as_plain_python(policy: Policy) -> None:
    """Machine code does what Python does; an index beyond an array's end is found."""
    compiled, interpreted = _game(policy), _game(policy, compiled=False)
    with np.errstate(all="ignore"):
        for n in _beside(policy, interpreted, compiled, 40):
            if name := _differs(compiled.saved_block(), interpreted.saved_block(), 1e-9):
                blame(policy, "choose", f"gives another block.{name} compiled than in plain Python, in block {n}")
            if name := _differs(compiled.saved_state(), interpreted.saved_state(), 1e-9):
                blame(policy, "observe", f"leaves another state.{name} compiled than in plain Python, by block {n}")


def keeps_finite(policy: Policy) -> None:
    """Every number of state and block stays finite and in its declared range, whatever the losses."""
    for pattern in PATTERNS:
        game, rounds = _game(policy), 0.0
        for n in _blocks(policy, game, MANY if COMPILED else ROUNDS, pattern):
            rounds += game.block[1]
            if rounds > MOST_ROUNDS:
                break
            if n > 50 and n & (n - 1):
                continue
            for what, values, layout, part in (
                ("block", game.saved_block(), game.block_layout, "choose"),
                ("state", game.saved_state(), game.state_layout, "observe"),
            ):
                wrong = [name for name, value in values.items() if not np.all(np.isfinite(value))]
                if wrong:
                    blame(policy, part, f"makes {what}.{wrong[0]} infinite or no number by block {n}, with {pattern}")
                arrays = {name: np.asarray(value) for name, value in values.items()}
                rule = layout.broken_rule(arrays, policy.n_arms)
                if rule is not None:
                    blame(policy, part, f"leaves {what}.{rule}, as declared; it is not by block {n}, with {pattern}")


def knows_its_probabilities(policy: Policy) -> None:
    """`probabilities` is a distribution, and the drawn arm's is `block.probability`."""
    for pattern in PATTERNS:
        game = _game(policy)
        for n in _blocks(policy, game, 50, pattern):
            _probabilities(policy, game, n)


def _probabilities(policy: Policy, game: Game, n: int) -> Array | None:
    """Return the distribution of the block in play, or None if the policy does not know it."""
    arm, said = int(game.block[0]), float(game.block[2])
    if not policy.knows_probabilities:
        if said != NOT_KNOWN:
            blame(policy, "choose", f"gives block.probability {said:g}, but knows_probabilities is False")
        return None
    before = [*game.saved_state().values(), *game.saved_block().values()]
    with _blamed(policy, "probabilities", f"fails in block {n}"):
        p: Any = game.probabilities()
    if not all(map(np.array_equal, before, [*game.saved_state().values(), *game.saved_block().values()])):
        blame(policy, "probabilities", "changes the state or the block, whose own arrays it is handed")
    if np.shape(p) != (policy.n_arms,):
        blame(policy, "probabilities", f"must return {policy.n_arms} numbers; it returns {np.shape(p) or p!r}")
    if not np.all(np.isfinite(p)) or np.min(p) < 0 or abs(np.sum(p) - 1) > 1e-9:
        rule = "must return numbers of at least 0 that sum to 1"
        blame(
            policy, "probabilities", f"{rule}; in block {n} they sum to {np.sum(p):.6g}, the least is {np.min(p):.3g}"
        )
    if abs(p[arm] - said) > 1e-9 * max(p[arm], said) + 1e-15:
        rule = f"says {p[arm]:.6g} for the arm of block {n}, where block.probability is {said:.6g}"
        blame(policy, "probabilities", f"{rule}: one of the two is wrong")
    return np.asarray(p)


def draws_from_them(policy: Policy) -> None:
    """Arms are drawn as often as `probabilities` says; the seed of a `deterministic` policy changes nothing."""
    if policy.deterministic:
        one, other = Game(policy, SEED), Game(policy, SEED + 1)
        for n in _beside(policy, one, other, 30):
            if one.block[0] != other.block[0]:
                blame(policy, "choose", f"plays another arm in block {n} of another seed, but `deterministic` is True")
    if not policy.knows_probabilities:
        return
    stream = Stream(SEED, "draws").state
    for n in (1, 4, 30):
        start, p, counts = _game(policy), np.zeros(0), np.zeros(policy.n_arms)
        N = FEWER if policy.full_information or policy.draws_in_steps else DRAWS
        N = N if COMPILED else FEWER // 20
        if _played(policy, start, n - 1) < n - 1 or (policy.full_information and n > 4):
            return
        again = start.copy()
        again.stream = stream
        for i in range(N):
            if policy.full_information:  # p is that of the arm over all draws so far, not given the arm before
                again = Game(policy, SEED, i)
                _played(policy, again, n - 1)
            else:
                again.numbers[:], again.vectors[:], again.begun = start.numbers, start.vectors, start.begun
            arm, _ = again.begin(_announced(policy, n))
            counts[arm] += 1
            if policy.draws_in_steps:  # the mean of what is given the steps before
                p = (p if len(p) else np.zeros(policy.n_arms)) + again.probabilities() / N
            else:
                p = p if len(p) else again.probabilities()
        surprise = [N * _divergence(share, chance) for share, chance in zip(counts / N, p, strict=True)]
        worst = int(np.argmax(surprise))
        if surprise[worst] > CERTAINTY:  # Chernoff's bound, so an arm that is never drawn is found too
            often = f"{counts[worst] / N:.3g} of the time"
            blame(policy, "probabilities", f"says {p[worst]:.3g} for arm {worst} in block {n}; choose draws it {often}")


def _divergence(share: float, chance: float) -> float:
    """Return the Kullback–Leibler divergence of a coin of this chance from one of this share."""
    pairs = ((share, chance), (1 - share, 1 - chance))
    return sum(q * math.log(q / p) if p > 0 else math.inf for q, p in pairs if q > 0)


def repeats_itself(policy: Policy) -> None:
    """The same seed and losses give the same game; kernels change neither parameters nor what they are told."""
    one, other = _game(policy), _game(policy)
    packed = one._packed.copy()
    for n in _beside(policy, one, other, ROUNDS):
        if _differs(one.saved_block(), other.saved_block()) or _differs(one.saved_state(), other.saved_state()):
            blame(policy, "choose", f"plays another game from the same seed: it differs in block {n}")
        if len(packed) == len(one._packed) and not np.array_equal(packed, one._packed):
            blame(policy, "choose", "or observe changes the parameters: keep what changes in the state")
        packed = one._packed.copy()


def blocks_are_values(policy: Policy, blocks: int = ROUNDS) -> None:
    """All that `observe` needs of a draw is in its block or the state: none of it in memory that is not kept."""
    straight, stored = _game(policy), _game(policy)

    def forget() -> None:
        for kind, part in zip(stored.state_layout.kinds.values(), stored.state, strict=True):
            if not kind.saved:
                part[:] = np.nan

    for n in _blocks(policy, straight, blocks):
        forget()
        stored.begin(_announced(policy, n))
        values = stored.block.tolist()
        if _differs(straight.saved_block(), stored.saved_block()):
            blame(policy, "choose", f"reads Scratch that it has not written, by block {n}: declare it as saved")
        forget()
        stored.block[:] = np.nan
        stored.block[0] = values[0]
        after = straight.copy()
        _tell(policy, after, after.block, n)
        if policy.full_information:
            stored.block[:] = values
        _tell(policy, stored, np.array(values), n)
        stored.block[:] = values
        if name := _differs(after.saved_state(), stored.saved_state()):
            blame(policy, "observe", f"reads Scratch that it has not written for state.{name}, in block {n}")


def observes_late(policy: Policy) -> None:
    """A block's change to each arm does not depend on blocks begun since; which arms, not on those observed since."""
    if policy.waits_for_losses or policy.full_information:
        return
    game, kinds = _game(policy), policy.state_layout.saved_kinds
    names = [name for name, kind in kinds.items() if kind.per_arm and kind.several is None]
    for n in _blocks(policy, game, 60):
        block, late, last = game.block.copy(), game.copy(), game.copy()
        for m in (n + 1, n + 2, n + 3):
            with _blamed(policy, "choose", f"fails in block {m}, begun before the loss of block {n} is known"):
                try:
                    late.begin(_announced(policy, m))
                    last.begin(_announced(policy, m))
                except InvalidParameter:
                    return
            _tell(policy, last, last.block.copy(), m)
        found = []
        for one in (game.copy(), late, last):
            before = one.saved_state()
            with _blamed(policy, "observe", f"fails where the loss of block {n} comes after block {n + 3} has begun"):
                _tell(policy, one, block, n)
            after = one.saved_state()
            found.append({name: np.subtract(after[name], before[name]) for name in names})
        for name, then in ((name, then) for name in names for then in (1, 2)):
            at_once, later = (found[i][name] - np.median(found[i][name]) for i in (0, then))
            a, b = at_once, later
            if then == 2 or policy.remembers_order:  # only which arms it changes
                a, b = (np.abs(x) > LATE for x in (at_once, later))
                a[int(block[0])] = b[int(block[0])] = True
            if np.max(np.abs(1.0 * a - b)) > LATE * max(np.max(np.abs(a)), LATE):
                arm, rule = int(block[0]), "what it needs of the draw must be in the block, not in the state"
                blame(
                    policy,
                    "observe",
                    f"adds to state.{name} {_list(later)} where the loss of block {n}, of arm {arm}, comes late, "
                    f"and {_list(at_once)} at once: {rule}",
                )


def continues_from_a_save(policy: Policy) -> None:
    """A saved game continues exactly, and the settings make the same policy."""
    functions = any(callable(value) for value in policy.settings().values())
    given: dict[str, Any] = {"policy": policy} if functions else {"allow": [type(policy)]}
    if not functions:
        with _blamed(policy, "settings", "do not make the policy again"):
            again = make_policy(policy.settings(), [type(policy)])
            for name, value in policy.settings().items():
                if (other := again.settings().get(name)) != value:
                    blame(policy, "settings", f"make another policy: {name} is {value!r}, and then {other!r}")
            if again != policy:
                rule = "is the class marked @dataclass(frozen=True), and does its __post_init__ call super's?"
                blame(policy, "settings", f"make an unequal policy: {rule}")
    straight = policy.player(SEED)
    saved = policy.player(SEED)
    for n in range(1, 61):
        arms = []
        for player in (straight, saved):
            with _blamed(policy, "choose", f"fails in block {n}"):
                try:
                    arms.append(player.ask(**_announcement(policy, n)))
                except InvalidParameter:
                    return
        if arms[0] != arms[1]:
            rule = f"do not say all that the game depends on: after saving and loading, block {n} plays another arm"
            blame(policy, "kernels", rule)
        for player in (straight, saved):
            _tell_player(policy, player, n)
        if n in (1, 2, 5, 20):
            with _blamed(policy, "kernels", f"make a game that cannot be loaded after block {n}"):
                saved = Player.load(saved.save(), **given)
    if straight.save() != saved.save():
        blame(policy, "kernels", "do not say all that the game depends on: a saved and loaded game ends otherwise")


def _announcement(policy: Policy, n: int) -> dict[str, Any]:
    if policy.announces == "rule":
        return {"rule": int(_announced(policy, n))}
    return {} if policy.announces is None else {policy.announces: policy.unit * _announced(policy, n)}


def _tell_player(policy: Policy, player: Player, n: int) -> None:
    """Tell a player its block's losses."""
    if policy.full_information:
        player.tell(_in_units(policy, n, range(policy.n_arms)))  # type: ignore[arg-type]
    else:
        (each,) = _in_units(policy, n, [int(player._game.block[0])])
        player.tell(each * player.hold, rounds=player.hold)


def plays_the_same_everywhere(policy: Policy) -> None:
    """The same game online, alone, side by side, and after pickling."""
    low, horizon = policy.units[0], min(ROUNDS, getattr(policy, "horizon", ROUNDS))
    with _blamed(policy, "parameters_reaching", f"fails for a horizon of {horizon} rounds"):
        try:
            policy.parameters_reaching(horizon=horizon)
        except InvalidParameter:  # a schedule given as lists ends before
            return
    losses = np.random.default_rng(SEED).integers(0, 5, (horizon, policy.n_arms)) / 4
    table = LossTable(low + policy.unit * losses, units=policy.units)
    cost, count = 0.5 * policy.unit, WORTH_ALL_LANES + 2
    costs, marks = replace(Costs.of(cost), unit=policy.unit), tuple(range(1, horizon + 1))
    task = Task(policy.label, policy, table, horizon, costs, marks, SEED, 0, count)

    def played(task: Task, where: str) -> Played:
        with _blamed(policy, "choose", f"fails {where}"):
            found = run_task(task)
            assert found is not None
            return found

    def alike(one: Played, i: int, other: Played) -> bool:
        return all(np.array_equal(getattr(one, what)[i], getattr(other, what)[0]) for what in ("excess", "switches"))

    together = played(task, "in a simulation")
    for i in (0, 1, count - 1):
        if not alike(together, i, played(replace(task, first=i, count=1), "in a simulation")):
            rule = "plays other arms side by side with other games than alone"
            blame(policy, "choose", f"{rule}: use column g of every array, or side_by_side=False")
    online, player = list[int](), policy.player(SEED)
    given: dict[Any, Any] = {"switching_cost": cost, "loss_bound": policy.unit, "rule": 1}
    while len(online) < horizon:
        player.ask(**({} if policy.announces is None else {policy.announces: given[policy.announces]}))
        arm, t, rounds = int(player._game.block[0]), len(online), min(player.hold, horizon - len(online))
        online += [arm] * rounds
        if policy.full_information:
            player.tell([low + policy.unit * loss for loss in losses[t]])  # type: ignore[arg-type]
        else:
            player.tell(rounds * low + policy.unit * float(losses[t : t + rounds, arm].sum()), rounds=rounds)
    moves = np.cumsum(np.diff(online, prepend=-1) != 0)
    lost = policy.unit * np.cumsum(losses[np.arange(horizon), online] - losses[:, table.reference])
    differ = (together.switches[0] != moves) | (abs(together.excess[0] - lost) > 1e-9 * horizon * policy.unit)
    if differ.any():
        t = int(np.argmax(differ))
        blame(policy, "choose", f"plays arm {online[t]} in round {t} online, and another one in a simulation")
    if (again := _pickled(policy)) is not None:
        there = played(replace(task, policy=again, count=1), "after pickling, as executors do")
        if again != policy or not alike(together, 0, there):
            blame(policy, "settings", "are lost in pickling, by which executors send a policy: keep them in its fields")


def _pickled(thing: Any) -> Any:
    """Return a copy by way of pickle, as workers get it; None for a class that only this process knows."""
    if "<locals>" in type(thing).__qualname__ or type(thing).__module__ == "__main__":
        return None
    with _blamed(thing, "settings", "cannot be pickled, by which executors send it"):
        return pickle.loads(pickle.dumps(thing))


def finds_another_arm(policy: Policy) -> None:
    """While the block's arm is not available, `next_best` names one that is."""
    game = _game(policy)
    if policy.n_arms == 1 or policy.full_information:
        return
    for n in _blocks(policy, game, 10):
        out = np.zeros(policy.n_arms, dtype=bool)
        out[int(game.block[0])] = out[(int(game.block[0]) + n) % policy.n_arms] = True
        if out.all():
            out[(int(game.block[0]) + 1) % policy.n_arms] = False
        with _blamed(policy, "next_best", f"fails in block {n}"):
            arm = game.next_best(out)
        if not 0 <= arm < policy.n_arms or out[arm]:
            blame(policy, "next_best", f"names arm {arm}, which is not available, in block {n}")


ELSEWHERE = """
import json, pickle, sys, threading
sys.path[:] = json.loads(sys.argv[1])
thing = pickle.load(sys.stdin.buffer)
from holdfast.simulation.contract import read_by_kernels
thread = threading.Thread(target=lambda: print("", json.dumps(read_by_kernels(thing)), sep="\\n"))
thread.start()
"""


def is_the_same_elsewhere(thing: Policy | Environment) -> None:
    """What its kernels read is the same in another process and thread, as executors play it."""
    if ":" not in address_of(thing) or _pickled(thing) is None:
        return
    command = [sys.executable, "-c", ELSEWHERE, json.dumps(sys.path)]
    done = subprocess.run(command, input=pickle.dumps(thing), capture_output=True, check=False)
    if done.returncode or not done.stdout:
        said = (done.stderr.decode(errors="replace").strip() or "no answer").splitlines()[-1]
        blame(thing, "settings", f"cannot be read in another process, as on executors: {said}")
    there = json.loads(done.stdout.splitlines()[-1])
    for part, here in read_by_kernels(thing).items():
        if there[part] != here:
            rule = "make it of nothing but the fields and constants"
            blame(thing, part, f"has other values in another process or thread, as on executors: {rule}")


def read_by_kernels(thing: Policy | Environment) -> dict[str, str]:
    """Return a hash of what each kernel reads, and of what all of them are handed, by the name of the part."""
    if isinstance(thing, Policy):
        handed = {"parameters": [packed_parameters(thing, thing.parameters())]}
        kernels = {"choose": thing.kernels.choose, "observe": thing.kernels.observe}
    else:
        handed, kernels = {"tables": [*thing.tables]}, {part: getattr(thing, part) for part in kernels_of(thing)}
    hashes = {
        part: hashlib.sha256(b"".join(map(np.ndarray.tobytes, arrays))).hexdigest() for part, arrays in handed.items()
    }
    return hashes | {part: frozen(kernel) for part, kernel in kernels.items()}


POLICY_PARTS: tuple[Callable[[Policy], None], ...] = (
    compiles,
    runs_as_plain_python,
    keeps_finite,
    knows_its_probabilities,
    draws_from_them,
    repeats_itself,
    blocks_are_values,
    observes_late,
    continues_from_a_save,
    plays_the_same_everywhere,
    finds_another_arm,
    is_the_same_elsewhere,
)


# ---- environments ----

GAMES = 256
"""Games whose losses are drawn together."""

HANDED = {
    "total_kernel": ("tables", "arms", "start", "stop", "streams", "totals"),
    "gap_kernel": ("tables", "arms", "start", "stop", "gaps"),
    "move_kernel": ("tables", "state", "t", "streams"),
    "react_kernel": ("tables", "state", "arm", "start", "stop"),
}
"""Arguments of the kernels of an environment."""


def kernels_of(environment: Environment) -> list[str]:
    """Return the names of the kernels that an environment has or must have."""
    if not isinstance(environment, ChangingEnvironment):
        return ["total_kernel", "gap_kernel"]
    return ["move_kernel", *["react_kernel"] * (environment.react_kernel is not None)]


def _last(environment: Environment) -> int:
    """Return the number of rounds to try."""
    return int(environment.rounds or getattr(environment, "horizon", 0) or NEEDED["horizon"])


def _stretches(environment: Environment) -> list[tuple[int, int]]:
    """Return stretches of rounds [start, stop) to try."""
    last = _last(environment)
    rounds = [
        (0, 1),
        (0, 2),
        (1, 2),
        (3, 10),
        (2, 40),
        (last // 2, last // 2 + 7),
        (last - 9, last),
        (0, min(last, 300)),
    ]
    return [(start, stop) for start, stop in rounds if 0 <= start < stop <= last]


def _arms(environment: Environment) -> range:
    """Return the arms to try: all of a few, the first of many, and the reference."""
    return range(min(environment.n_arms, 8))


def says_what_it_is(environment: Environment) -> None:
    """Its kernels and its properties can be played: arms, reference, units, tables."""
    name = type(environment).__name__
    for part in kernels_of(environment):
        if not isinstance(inspect.getattr_static(environment, part, None), staticmethod):
            blame(environment, part, "must be staticmethod(...) of a kernel")
        kernel = getattr(environment, part)
        takes(kernel, *HANDED[part])
        frozen(kernel)
    with _blamed(environment, "n_arms", "cannot be read"):
        environment.check_itself()
    with _blamed(environment, "tables", "cannot be made"):
        tables, again = environment.tables, environment.tables
    if not (isinstance(tables, tuple) and all(isinstance(t, np.ndarray) and t.dtype.kind in "biuf" for t in tables)):
        blame(environment, "tables", f"must be a tuple of arrays of numbers; {name} has {tables!r:.80}")
    if not all(map(_same, tables, again)):
        blame(environment, "tables", "has other numbers each time it is read")


def _same(one: Array, other: Array) -> bool:
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def expects_what_adds_up(environment: Environment) -> None:
    """`expected` is a finite loss per arm within the units that adds up; `excess` is what exceeds the reference's."""
    last, K, (low, high) = _last(environment), environment.n_arms, environment.units
    with _blamed(environment, "expected", "fails"):
        Means.of(environment, (1, last))
        for start, stop in _stretches(environment):
            found, middle = np.asarray(environment.expected(start, stop)), (start + stop) // 2
            parts = np.asarray(environment.expected(start, middle)) + environment.expected(middle, stop)
            slack, rounds = 1e-6 * environment.unit * (stop - start), stop - start
            if found.shape != (K,) or np.min(found) < low * rounds - slack or np.max(found) > high * rounds + slack:
                rule = f"must be {K} losses from {low:g} to {high:g} per round"
                blame(environment, "expected", f"{rule}; for [{start}, {stop}) it is {_list(found.ravel())}")
            if np.max(np.abs(found - parts)) > slack:
                where = f"[{start}, {stop}) is not that of [{start}, {middle}) and [{middle}, {stop}) together"
                blame(environment, "expected", f"does not add up: that of {where}")
    with _blamed(environment, "excess", "fails"):
        for stop in (1, last):
            expected, excess = np.asarray(environment.expected(0, stop)), np.asarray(environment.excess(stop))
            if excess[environment.reference] != 0:
                blame(environment, "excess", f"must be exactly 0 for the reference arm {environment.reference}")
            wanted = expected - expected[environment.reference]
            if np.max(np.abs(excess - wanted)) > 1e-6 * environment.unit * stop:
                rule = f"must be expected(0, {stop}) less the reference arm's, {_list(wanted)}"
                blame(environment, "excess", f"{rule}; it is {_list(excess)}")


def _gaps(environment: Environment, arms: Any, start: int, stop: int) -> Array:
    """Return the gap of each game, which plays its arm."""
    gaps = np.full(len(arms), np.nan)
    with _blamed(environment, "gap_kernel", f"fails for [{start}, {stop})"):
        environment.gap_kernel(environment.tables, np.array(arms, dtype=float), float(start), float(stop), gaps)
    return gaps


def measures_gaps(environment: Environment) -> None:
    """`gap` is the expected loss less the reference arm's, for each of several games; that of the reference is 0."""
    reference, arms = environment.reference, list(_arms(environment))
    for start, stop in _stretches(environment):
        expected = np.asarray(environment.expected(start, stop))
        found, slack = _gaps(environment, arms, start, stop), 1e-6 * environment.unit * (stop - start)
        for i, arm in enumerate(arms):
            where, alone = f"for arm {arm} in [{start}, {stop})", _gaps(environment, [arm], start, stop)[0]
            if not np.isfinite(found[i]) or alone != found[i]:
                rule = f"gives {alone:g} {where}, and {found[i]:g} among {len(arms)} games"
                blame(environment, "gap_kernel", f"{rule}: fill in every gaps[g]")
            wanted = expected[arm] - expected[reference]
            if abs(found[i] - wanted) > slack:
                blame(environment, "gap_kernel", f"gives {found[i]:g} {where}, where expected says {wanted:g}")
        if _gaps(environment, [reference], start, stop)[0] != 0:
            blame(environment, "gap_kernel", f"must be exactly 0 for the reference arm {reference}")


def _totals(
    environment: Environment, arms: Any, start: int, stop: int, streams: Any, tables: Any = None, total: Any = None
) -> Array:
    """Draw the loss of each game's arm, in shares of the range; the streams move on."""
    totals, tables = np.full(len(arms), np.nan), environment.tables if tables is None else tables
    total = environment.total_kernel if total is None else total
    with _blamed(environment, "total_kernel", f"fails for [{start}, {stop})"), np.errstate(all="ignore"):
        total(tables, np.array(arms, dtype=float), float(start), float(stop), streams, totals)
    return totals


def _streams(name: str, count: int) -> Any:
    """Return the states of some streams, one column each."""
    return np.stack([Stream(SEED, name, i).state for i in range(count)], axis=1)


def draws_losses(environment: Environment) -> None:
    """A total is a possible loss, drawn from its game's stream alone, and the same in plain Python."""
    K, tables = environment.n_arms, environment.tables
    before = [table.copy() for table in tables]
    interpreted = plain(environment.total_kernel)
    for start, stop in _stretches(environment):
        arms = [i % K for i in range(16)]
        streams = _streams("totals", 16)
        begun = streams.copy()
        slowly = _totals(environment, arms, start, stop, begun.copy(), total=interpreted)
        found, rounds = _totals(environment, arms, start, stop, streams, tables), stop - start
        if not all(map(_same, tables, before)):
            blame(environment, "total_kernel", "changes the tables, which all games share")
        if not np.all((found >= -1e-6) & (found <= rounds + 1e-6)):
            rule = f"must fill in losses from 0 to {rounds}, as shares of the range, for [{start}, {stop})"
            blame(environment, "total_kernel", f"{rule}; it gives {_list(found)}")
        for i in (0, 1, 7):
            own = np.ascontiguousarray(begun[:, i : i + 1])
            alone = _totals(environment, arms[i : i + 1], start, stop, own)[0]
            if alone != found[i] or not np.array_equal(own[:, 0], streams[:, i]):
                rule = (
                    f"gives {found[i]:g} for a game of 16, and {alone:g} for the same game alone, in [{start}, {stop})"
                )
                blame(
                    environment,
                    "total_kernel",
                    f"{rule}: draw by next_uniform(streams, g), and keep nothing between calls",
                )
        if np.max(np.abs(slowly - found)) > 1e-9 * rounds:
            blame(
                environment, "total_kernel", f"gives other losses compiled than in plain Python, in [{start}, {stop})"
            )


def draws_what_is_expected(environment: Environment) -> None:
    """Totals have the mean of `expected`, and the same mean and spread drawn at once or in parts."""
    (low, _), unit = environment.units, environment.unit
    at_once, parted, N = _streams("at once", GAMES), _streams("in parts", GAMES), GAMES * (64 if COMPILED else 1)
    means = [environment.expected(t, t + 1) for t in range(min(_last(environment), 1000))]
    changes = (t for t in range(1, len(means)) if not np.allclose(means[t], means[t - 1]))
    around = [(t, t + 1) for change in [*changes][:1] for t in (change - 1, change)]
    for start, stop in [*_stretches(environment)[:-1], *around]:
        rounds, middle = stop - start, (start + stop) // 2
        for arm in list(_arms(environment))[:3]:
            arms = [arm] * GAMES
            one = np.concatenate([_totals(environment, arms, start, stop, at_once) for _ in range(N // GAMES)])
            parts = [
                _totals(environment, arms, start, middle, parted) + _totals(environment, arms, middle, stop, parted)
                for _ in range(N // GAMES)
            ]
            two, where = np.concatenate(parts), f"for arm {arm} in [{start}, {stop})"
            wanted = (float(environment.expected(start, stop)[arm]) - low * rounds) / unit
            if abs(one.mean() - wanted) > _allowed(one, rounds):
                shares = " (in shares of the range)" * (environment.units != (0.0, 1.0))
                rule = f"gives {one.mean():.4g} on average {where}, where expected says {wanted:.4g}{shares}"
                blame(environment, "total_kernel", rule)
            squares = (one - wanted) ** 2, (two - wanted) ** 2
            for what, a, b in (("mean", one, two), ("variance", *squares)):
                if rounds > 1 and abs(a.mean() - b.mean()) > _allowed(a, rounds) + _allowed(b, rounds):
                    rule = f"has the {what} {a.mean():.4g} drawn at once, and {b.mean():.4g} drawn in two parts"
                    blame(environment, "total_kernel", f"{rule}, {where}: its rounds must not depend on blocks")


def _allowed(sample: Array, most: float) -> float:
    """Return by how much the mean of a sample of numbers from 0 to `most`, or to its largest, may be off."""
    N, most = len(sample), max(most, float(np.max(np.abs(sample))))
    return math.sqrt(2 * float(sample.var()) * CERTAINTY / N) + 3 * most * CERTAINTY / N


def is_played(environment: Environment) -> None:
    """Games against it give the same numbers alone, side by side, and after pickling; its settings make it again."""
    name, K, horizon = type(environment).__name__, environment.n_arms, min(_last(environment), ROUNDS)
    policy = Exp3(K, units=environment.units)
    task = Task("exp3", policy, environment, horizon, Costs.of(0.0), (1, horizon), SEED, 0, WORTH_ALL_LANES + 2)
    if environment.closes_arms:
        return
    part = "move_kernel" if isinstance(environment, ChangingEnvironment) else "total_kernel"
    with _blamed(environment, part, "fails in a simulation"):
        together = run_task(task)
        assert together is not None
        for i in (0, 1, task.count - 1):
            alone = run_task(replace(task, first=i, count=1))
            assert alone is not None
            if not np.array_equal(alone.excess[0], together.excess[i]):
                rule = "it draws elsewhere than in its stream, or changes the tables"
                blame(environment, part, f"gives a game other numbers side by side than alone: {rule}")
    if (again := _pickled(environment)) is not None:
        there = run_task(replace(task, environment=again, count=1))
        assert there is not None
        if not np.array_equal(there.excess[0], together.excess[0]):
            blame(environment, "settings", f"of {name} are lost in pickling, by which executors send it")
    settings = environment.settings()
    with _blamed(environment, "settings", "do not make the environment again"):
        if (
            ":" in address_of(environment)
            and type(environment)
            .from_settings({key: value for key, value in settings.items() if key != "environment"})
            .settings()
            != settings
        ):
            blame(environment, "settings", "make another environment: is the class marked @dataclass(frozen=True)?")


def draws_a_path(environment: ChangingEnvironment) -> None:
    """The path drawn in each game has means from 0 to 1, and is the same again, and in plain Python."""
    rounds, K = min(_last(environment), ROUNDS), environment.n_arms
    _draws_alike(environment, "move_kernel", rounds, None)
    if environment.react_kernel is not None:
        _draws_alike(environment, "react_kernel", rounds, [(t // 5 + t) % K for t in range(rounds)])


def _draws_alike(environment: ChangingEnvironment, part: str, rounds: int, played: list[int] | None) -> None:
    """Blame `part` where the path is not as it must be."""
    interpreted = plain(getattr(environment, part))
    with _blamed(environment, part, "fails"), np.errstate(all="ignore"):
        object.__setattr__(environment, part, interpreted)
        try:
            slowly = environment.path(rounds, seed=SEED, played=played)
        finally:
            object.__delattr__(environment, part)
        path = environment.path(rounds, seed=SEED, played=played)
        again = environment.path(rounds, seed=SEED, played=played)
    if not np.all((path >= 0) & (path <= 1)):
        t = int(np.argmin(np.all((path >= 0) & (path <= 1), axis=1)))
        blame(environment, part, f"must leave means from 0 to 1; in round {t} they are {_list(path[t])}")
    if not np.array_equal(path, again):
        blame(environment, part, "gives another path from the same seed: keep what changes in the state")
    if np.max(np.abs(path - slowly)) > 1e-9:
        blame(environment, part, "gives another path compiled than in plain Python")


CHANGING_PARTS: tuple[Callable[[ChangingEnvironment], None], ...] = (
    says_what_it_is,
    draws_a_path,
    is_played,
    is_the_same_elsewhere,
)
"""Checks of an environment that draws a new path in each game."""

ENVIRONMENT_PARTS: tuple[Callable[[Environment], None], ...] = (
    says_what_it_is,
    expects_what_adds_up,
    measures_gaps,
    draws_losses,
    draws_what_is_expected,
    is_played,
    is_the_same_elsewhere,
)
