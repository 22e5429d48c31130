"""The policies: one family per file, all behind the protocol of `holdfast.policies.policy`."""

from typing import Any

from holdfast.old_names import old_name


def __getattr__(name: str) -> Any:
    return old_name(__name__, name)
