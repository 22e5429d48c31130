"""What a replay leaves in a folder: its numbers, its pictures and the report.

DIR/report.html         everything, on a page that needs nothing else
DIR/replay.json         all numbers and sentences
DIR/replay.parquet      a row for each λ, stretch and policy
DIR/plans.parquet       the best plans
DIR/pictures/           each picture as PNG and SVG
DIR/files.json          the names and checksums of these files
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.replays.pages import page_of
from holdfast.replays.pictures import rendered_pictures
from holdfast.result_files import parquet_bytes
from holdfast.runs.outputs import Outputs

if TYPE_CHECKING:
    from holdfast.replays.result import Replay


def data_of(replay: Replay, suffix: str) -> bytes:
    """The bytes of one file."""
    if suffix == ".json":
        return replay.json().encode()
    if suffix == ".html":
        return page_of(replay).encode()
    return parquet_bytes(replay.frame)


def write_outputs(replay: Replay, folder: Path) -> None:
    """Write every file into a claimed folder; users' files are left alone."""
    files = {
        "replay.json": data_of(replay, ".json"),
        "replay.parquet": data_of(replay, ".parquet"),
        "plans.parquet": parquet_bytes(replay.plans_frame()),
        **{f"pictures/{name}": data for name, data in rendered_pictures(replay).items()},
        "report.html": data_of(replay, ".html"),
    }
    Outputs(folder, "a replay").write(files)
