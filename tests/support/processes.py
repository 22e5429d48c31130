"""Python in a process of its own, with machine code of its own."""

import os
import subprocess
import sys
from pathlib import Path

import holdfast

SOURCE = str(Path(holdfast.__file__).parents[1])


def python(code: str, *arguments: str, cache: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `code` with this package, keeping what it compiles in the folder `cache`."""
    own = {**os.environ, "PYTHONPATH": SOURCE, "NUMBA_CACHE_DIR": str(cache), **environment}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=own, capture_output=True, text=True, timeout=500)
