"""The paper's guarantees, one function per statement, and the known results they are read against.

R_T is the pseudo-regret, S_T the number of switches (the first play is one), λ the cost of a switch, K the
number of arms, T the horizon, Δ_i the gap of arm i. An upper bound on R_T + λS_T comes in two kinds: for any
losses (adversarial), and for losses whose gaps Δ_i stay fixed with one best arm (``*_constrained``).

>>> round(theorem_1(n_arms=8, switching_cost=1.0, horizon=100_000))
28369
>>> binding(applicable(n_arms=8, switching_cost=1.0, horizon=100_000, gaps=0.05)).name
'theorem_1'

A bound is a formula and may be larger than T + λ, which no arm costs when held throughout: then it says nothing, and
`applicable` says so. `smallest` is the one of use.

Where the paper's constants are wrong, ``constants="corrected"`` is the default and ``constants="printed"`` gives
the paper's own; `docs/errata.md` lists every such place.
"""

from __future__ import annotations

from holdfast.bounds.own import (
    adaptive,
    adaptive_certificate,
    adaptive_constrained,
    adaptive_varying,
    guarded,
    mixture_excess,
    mixture_overhead,
    paused,
    paused_constrained,
    safe_cost,
    safe_cost_with_ties,
    work_function_cost,
)
from holdfast.bounds.paper import (
    Exponents,
    blocks,
    corollary_3,
    corollary_3_constrained,
    corollary_5,
    corollary_5_exponents,
    exp3,
    lemma_6,
    lemma_7,
    lemma_8,
    lemma_9,
    lower_bound,
    theorem_1,
    theorem_1_constrained,
    theorem_2,
    theorem_2_constrained,
    theorem_4,
    theorem_4_constrained,
    tsallis_inf,
    tsallis_inf_constrained,
)
from holdfast.bounds.table import Bound, applicable, binding, smallest

__all__ = [
    "Bound",
    "Exponents",
    "adaptive",
    "adaptive_certificate",
    "adaptive_constrained",
    "adaptive_varying",
    "applicable",
    "binding",
    "blocks",
    "corollary_3",
    "corollary_3_constrained",
    "corollary_5",
    "corollary_5_exponents",
    "exp3",
    "guarded",
    "lemma_6",
    "lemma_7",
    "lemma_8",
    "lemma_9",
    "lower_bound",
    "mixture_excess",
    "mixture_overhead",
    "paused",
    "paused_constrained",
    "safe_cost",
    "safe_cost_with_ties",
    "smallest",
    "theorem_1",
    "theorem_1_constrained",
    "theorem_2",
    "theorem_2_constrained",
    "theorem_4",
    "theorem_4_constrained",
    "tsallis_inf",
    "tsallis_inf_constrained",
    "work_function_cost",
]
