"""Matplotlib, which the extra ``report`` brings: loaded at first use, and missed in words."""

from __future__ import annotations

from holdfast.errors import MissingExtra


def need_matplotlib() -> None:
    """Refuse to go on where matplotlib is not installed; called before work that would be lost."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtra("drawing needs matplotlib: pip install 'holdfast[report]'") from None
