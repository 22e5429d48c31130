"""A fleet in one file: an uncompressed archive of arrays (`numpy.savez`), each number of state and block by name.

The header, `about`, is read first: format, version, policy and number of games say which arrays there must be and how
large. Only then is anything else read, so that a small file cannot claim much memory.
"""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import BadSavedState, InvalidParameter
from holdfast.files import whole_file
from holdfast.layouts import Layout
from holdfast.players.document import described, policy_of
from holdfast.players.fleet_kernels import PARTS, SPILLED, Games
from holdfast.policies.policy import Policy, must_be
from holdfast.schedules import LONGEST

FORMAT = "holdfast.fleet"
VERSION = 1

CHECKED_ONE_BY_ONE = 100_000
"""Games up to which each is checked as a saved player is; beyond, only the ranges of single numbers."""

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
    """Views of what is saved, by name."""
    kernels, K = policy.kernels, policy.n_arms
    arrays: Arrays = {"streams": games.streams, "parts": games.parts}
    arrays |= {name: getattr(games, name) for name in COUNTS}
    state = _by_name(policy.state_layout, games.numbers, games.vectors, K)
    block = _by_name(kernels.block_layout, games.blocks, games.vectors[:, :0], K)
    named = {"state": state, "block": block}
    return arrays | {f"{what}/{name}": array for what, found in named.items() for name, array in found.items()}


def _by_name(layout: Layout, numbers: Any, vectors: Any, K: int) -> Arrays:
    """A view of each saved number of a state or a block."""
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
    """Policy, games and the sums that need more numbers, from a fleet's file."""
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
    """Shape and type of an array, which must be as large as it says."""
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
    """An error for numbers that no fleet can have reached."""
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
    for i in range(n if n <= CHECKED_ONE_BY_ONE else 0):
        one = {name: values[i].tolist() for name, values in state.items()}
        in_play = {name: values[i].item() for name, values in block.items()} if games.left[i] else None
        policy.check_saved(one, in_play)
