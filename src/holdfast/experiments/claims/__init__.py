"""The claims: each checkable sentence of the paper's experiments and theorems, in the order of the paper.

The words that a sentence leaves open are thresholds here, the same wherever they are used.
"""

from holdfast.experiments.claims import constrained, stochastic, theorems, worst_case

CLAIMS = (*theorems.CLAIMS, *stochastic.CLAIMS, *constrained.CLAIMS, *worst_case.CLAIMS)
"""Every claim, by its place in the paper."""

__all__ = ["CLAIMS"]
