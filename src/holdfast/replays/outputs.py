"""What a replay leaves in a folder: its numbers, its pictures and the report.

DIR/report.html         everything, on a page that needs nothing else
DIR/replay.json         all numbers and sentences
DIR/replay.parquet      a row for each λ, stretch and policy
DIR/plans.parquet       the best plans
DIR/pictures/           each picture as PNG and SVG
DIR/files.json          which of the files here are ours
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from holdfast.errors import HoldfastError
from holdfast.files import Manifest, remove_drafts, reported
from holdfast.replays.pages import page_of
from holdfast.replays.pictures import rendered_pictures

if TYPE_CHECKING:
    from holdfast.replays.result import Replay

MANIFEST, PICTURES = "files.json", "pictures"


def data_of(replay: Replay, suffix: str) -> bytes:
    """The bytes of one file."""
    if suffix == ".json":
        return replay.json().encode()
    if suffix == ".html":
        return page_of(replay).encode()
    return _parquet(replay.frame)


def write_outputs(replay: Replay, folder: Path) -> list[Path]:
    """Write every file into a claimed folder, each whole or not at all; a user's own files are left alone."""
    files = {
        "replay.json": data_of(replay, ".json"),
        "replay.parquet": data_of(replay, ".parquet"),
        "plans.parquet": _parquet(replay.plans_frame()),
        **{f"{PICTURES}/{name}": data for name, data in rendered_pictures(replay).items()},
        "report.html": data_of(replay, ".html"),
    }
    manifest = Manifest.read(folder, MANIFEST)
    ours = set(manifest.unchanged())
    strange = [name for name, data in files.items() if folder / name not in ours and _is_other(folder / name, data)]
    if strange:
        raise HoldfastError(
            f"{folder} has files that a replay would replace and that none wrote: {', '.join(strange[:5])}; "
            "move them away, or choose another folder"
        )
    with reported(folder):
        remove_drafts(folder)
        (folder / PICTURES).mkdir(exist_ok=True)
    written = []
    for name, data in files.items():
        written.append(manifest.write(name, data))
        manifest.save(MANIFEST)  # a run that ends here has told what is its own
    return written


def _is_other(file: Path, data: bytes) -> bool:
    """Whether something else is there. What a killed run wrote and had not told of is the same, byte for byte."""
    return os.path.lexists(file) and not (file.is_file() and file.read_bytes() == data)


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
