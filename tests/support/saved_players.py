"""Saved players, changed on purpose."""

import json
from collections.abc import Callable
from typing import Any

from holdfast.players.saves import check_sum


def resigned(saved: str, change: Callable[[dict[str, Any]], Any]) -> str:
    """Saved data changed by somebody who also mended the check sum."""
    document = json.loads(saved)
    change(document["player"])
    document["check"] = check_sum(document["player"])
    return json.dumps(document)
