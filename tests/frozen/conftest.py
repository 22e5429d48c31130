"""Numbers of version 0.4.0, bit for bit, in JSON files beside the tests.

    FREEZE=1 python -m pytest tests/frozen

writes them anew (once with NUMBA_DISABLE_JIT=1, once without). A new policy only adds its own. If a number that was
there changes, that is a change of behaviour: the same seed gives other numbers than before. Say so in CHANGELOG.md.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FREEZE = os.environ.get("FREEZE") == "1"


@pytest.fixture
def frozen(request: pytest.FixtureRequest) -> Callable[[str, Any], None]:
    """A function that compares a value, as JSON has it, with the one frozen by this name."""
    file = Path(request.path).parent / f"{request.path.stem.removeprefix('test_')}.json"

    def check(name: str, value: Any) -> None:
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        found = json.loads(json.dumps(value))
        if FREEZE:
            known[name] = {**known[name], **found} if isinstance(known.get(name), dict) else found
            file.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n", encoding="utf-8")
            return
        expected = known[name]
        if isinstance(found, dict):
            missing = sorted(found.keys() - expected.keys())
            assert not missing
            assert found == {key: expected[key] for key in found}
        else:
            assert found == expected

    return check
