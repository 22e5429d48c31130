"""Measurements: what Holdfast does in a second, next to what others do, as ratios of one run."""

from holdfast.bench.report import report

__all__ = ["report"]
