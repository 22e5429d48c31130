"""The policies: one family per file, all behind the protocol of `holdfast.policies.policy`."""

from holdfast.old_names import old_name


def __getattr__(name: str) -> object:
    return old_name(__name__, name)
