"""The folder of a reproduction: written aside, then swapped in; nothing in it is touched that is not ours.

    DIR/reproduction.json   the manifest: every file of the run, with its checksum
    DIR/.holdfast-new/      a run being written; once it has a manifest of its own it is whole, and only has to be moved

A process that is killed while moving leaves a whole run aside, and the next one moves the rest.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from holdfast.errors import BadSavedState, HoldfastError
from holdfast.files import Manifest, reason, remove_drafts

MANIFEST = "reproduction.json"
ASIDE = ".holdfast-new"
MOST_NAMED = 5
"""Files named in an error."""


def ours(folder: Path) -> Manifest:
    """The manifest of the run in a claimed folder, after finishing what a killed process left."""
    remove_drafts(folder)
    aside = folder / ASIDE
    if (aside / MANIFEST).is_file():
        _move(folder, aside)
    shutil.rmtree(aside, ignore_errors=True)
    try:
        return Manifest.read(folder, MANIFEST)
    except BadSavedState as error:
        raise BadSavedState(f"{error}; choose another folder: what is whose in this one is not known") from None


def refuse_strangers(folder: Path, manifest: Manifest, names: Iterable[str]) -> None:
    """Refuse to go on where a file that would be written is there already and is not as we left it."""
    known = set(manifest.unchanged())
    strange = [name for name in names if os.path.lexists(folder / name) and folder / name not in known]
    # A folder of the user's own may have the name of a file of ours, and a file that of our folder.
    strange += [parent for parent in {Path(n).parts[0] for n in names if "/" in n} if (folder / parent).is_file()]
    if strange:
        more = f" and {len(strange) - MOST_NAMED} more" if len(strange) > MOST_NAMED else ""
        raise HoldfastError(
            f"{folder} has files that a reproduction would replace and that none wrote: "
            f"{', '.join(strange[:MOST_NAMED])}{more}; move them away, or choose another folder"
        )


def put(folder: Path, old: Manifest, write: Callable[[Path], Iterable[str]], keep: Callable[[str], bool]) -> Manifest:
    """Have `write` fill a folder aside, then swap its files in; gives the new manifest.

    `write` gives the names of its files. Files of the old run stay where `keep` says so and the new one has none of
    that name; the rest of them are removed, if they are still as we wrote them.
    """
    aside = folder / ASIDE
    try:
        aside.mkdir()
        staged = Manifest(aside)
        for name in write(aside):
            staged.add(name)
        staged.digests = {name: digest for name, digest in old.digests.items() if keep(name)} | staged.digests
        for name in staged.digests:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        staged.save(MANIFEST)
    except OSError as error:
        raise HoldfastError(f"{aside} cannot be written: {reason(error)}") from None
    finally:
        if not (aside / MANIFEST).is_file():
            shutil.rmtree(aside, ignore_errors=True)
    _move(folder, aside)
    shutil.rmtree(aside, ignore_errors=True)
    return Manifest.read(folder, MANIFEST)


def _move(folder: Path, aside: Path) -> None:
    """Move a whole run to its place: its files, then what it does without goes, and the manifest last."""
    old, new = Manifest.read(folder, MANIFEST), Manifest.read(aside, MANIFEST)
    try:
        for name in new.digests:
            if (aside / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(aside / name, folder / name)
        for file in old.unchanged():
            if str(file.relative_to(folder).as_posix()) not in new.digests:
                file.unlink()
        os.replace(aside / MANIFEST, folder / MANIFEST)
    except OSError as error:
        raise HoldfastError(f"{folder} cannot be written: {reason(error)}; the run is whole in {aside}") from None
