"""Whole files or none."""

import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> Path:
    """Write `data` beside `path` and move it there, so that no reader meets half a file."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(data)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return path
