"""Figures and the HTML page, from result tables; knows nothing of simulation."""

from holdfast.report.content import Figure, Row, Verdict
from holdfast.report.figures import draw
from holdfast.report.page import write_report

__all__ = ["Figure", "Row", "Verdict", "draw", "write_report"]
