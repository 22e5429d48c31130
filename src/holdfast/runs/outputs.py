"""The output files of a run: written to a hidden folder first, then moved into place; users' files stay as they are.

    DIR/files.json          the manifest: every output file with its checksum
    DIR/.holdfast-new/      outputs being written; complete as soon as it has a manifest

A process that is killed while moving leaves complete outputs in the hidden folder, and the next run moves the rest.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import BadSavedState, HoldfastError
from holdfast.files import reason, remove_drafts, sha256, write_whole
from holdfast.runs.record import document

NEW = ".holdfast-new"
MOST_NAMED = 5
"""Files named in an error."""


def nothing(name: str) -> bool:
    """Keep no file of an earlier run."""
    return False


@dataclass(frozen=True)
class Outputs:
    """The output files in a claimed folder.

    Parameters
    ----------
    folder
        Where they are.
    what
        What writes them, for errors: ``"a replay"``.
    manifest
        The name of the manifest.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outputs = Outputs(Path(folder), "a replay")
    ...     outputs.write({"table.csv": b"1,2"})
    ...     _ = Path(folder, "notes.txt").write_text("a user's file")
    ...     sorted(outputs.unchanged())
    ['table.csv']
    """

    folder: Path
    what: str
    manifest: str = "files.json"

    def recover(self) -> None:
        """Finish or remove what a killed process left."""
        remove_drafts(self.folder)
        if (self._new / self.manifest).is_file():
            self._move()
        shutil.rmtree(self._new, ignore_errors=True)

    def unchanged(self) -> set[str]:
        """The output files that are still as they were written; one that a user edited is the user's."""
        return _unchanged(self.folder, self._digests(self.folder))

    def refuse_foreign(self, names: Iterable[str]) -> None:
        """Refuse to continue where one of these files exists and is not ours, or no longer as it was written."""
        known = self.unchanged()
        foreign = [name for name in names if os.path.lexists(self.folder / name) and name not in known]
        # A user's file may have the name of a folder of ours.
        folders = dict.fromkeys(Path(name).parts[0] for name in names if "/" in name)
        foreign += [parent for parent in folders if (self.folder / parent).is_file()]
        if foreign:
            more = f" and {len(foreign) - MOST_NAMED} more" if len(foreign) > MOST_NAMED else ""
            raise HoldfastError(
                f"{self.folder} has files that {self.what} would replace but did not write: "
                f"{', '.join(foreign[:MOST_NAMED])}{more}; move them away, or choose another folder"
            )

    def write(self, files: Mapping[str, bytes]) -> None:
        """Replace the outputs by these files: all of them, or none."""
        self.recover()
        self.refuse_foreign(files)

        def fill(new: Path) -> Iterable[str]:
            for name, data in files.items():
                (new / name).parent.mkdir(exist_ok=True)
                write_whole(new / name, data)
            return files

        self.replace(fill)

    def replace(self, fill: Callable[[Path], Iterable[str]], keep: Callable[[str], bool] = nothing) -> None:
        """Have `fill` write files to a new folder and return their names, then move them into place.

        Earlier outputs that `keep` names stay, unless there is a new one of that name; the others are removed, if they
        are still as they were written.
        """
        old, new = self._digests(self.folder), self._new
        try:
            new.mkdir()
            digests = {name: sha256(new / name) for name in fill(new)}
            digests = {name: digest for name, digest in old.items() if keep(name)} | digests
            for name in digests:
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(new / self.manifest, document(dict(sorted(digests.items()))))
        except OSError as error:
            raise HoldfastError(f"{new} cannot be written: {reason(error)}") from None
        finally:
            if not (new / self.manifest).is_file():
                shutil.rmtree(new, ignore_errors=True)
        self._move()
        shutil.rmtree(new, ignore_errors=True)

    @property
    def _new(self) -> Path:
        return self.folder / NEW

    def _move(self) -> None:
        """Move complete outputs into place: the files, then remove those no longer needed, and the manifest last."""
        old, new = self._digests(self.folder), self._digests(self._new)
        try:
            for name in new:
                if (self._new / name).is_file():
                    (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                    os.replace(self._new / name, self.folder / name)
            for name in _unchanged(self.folder, old) - new.keys():
                (self.folder / name).unlink()
            os.replace(self._new / self.manifest, self.folder / self.manifest)
        except OSError as error:
            raise HoldfastError(
                f"{self.folder} cannot be written: {reason(error)}; the files are in {self._new}"
            ) from None

    def _digests(self, folder: Path) -> dict[str, str]:
        """Names and checksums in the manifest of a folder; none where it has no manifest."""
        file = folder / self.manifest
        try:
            digests = json.loads(file.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise HoldfastError(f"{file} cannot be read: {reason(error)}") from None
        except ValueError:
            digests = None
        if not isinstance(digests, dict) or not all(
            isinstance(digest, str) and _is_below(name) for name, digest in digests.items()
        ):
            raise BadSavedState(
                f"{file} is damaged: it must have names of files in this folder, each with a checksum; choose another "
                "folder, since it is not known which files in this one can be replaced"
            )
        return digests


def _unchanged(folder: Path, digests: Mapping[str, str]) -> set[str]:
    return {name for name, digest in digests.items() if (folder / name).is_file() and sha256(folder / name) == digest}


def _is_below(name: str) -> bool:
    path = Path(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts
