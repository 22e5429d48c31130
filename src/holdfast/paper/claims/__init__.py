"""The claims: each checkable sentence of the paper's experiments, and of its theorems.

The words that a sentence leaves open are thresholds here, the same wherever they are used.
"""

from holdfast.paper.claims import constrained, stochastic, theorems, worst_case

CLAIMS = (*stochastic.CLAIMS, *constrained.CLAIMS, *worst_case.CLAIMS, *theorems.CLAIMS)
"""Every claim."""

__all__ = ["CLAIMS"]
