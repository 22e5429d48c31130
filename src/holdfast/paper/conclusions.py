"""What a run shows, as a written summary: numbers and words follow from the tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.numerics.layout import Array
from holdfast.paper.claims import worst_case
from holdfast.paper.figures import FIGURES, POLICIES
from holdfast.paper.findings import PaperFindings
from holdfast.report.charts import HeatMap
from holdfast.text import number, three_digits
from holdfast.verdicts.comparisons import Answer, Less
from holdfast.verdicts.ledger import Verdict, agree, answers

SWITCH, INF, EXP3, _, ARITHMETIC, GEOMETRIC = POLICIES
WHOLE = "regret with switching"


def conclusions(findings: PaperFindings) -> list[str]:
    """At most five sentences, one for each question that the run has tables for."""
    asked = (_costly_switches, _adversary, _against_base, _bound, _growth)
    return [sentence for ask in asked if (sentence := ask(findings))]


def overview(findings: PaperFindings) -> HeatMap | None:
    """Each policy in each table that has all six: its final regret with switching, next to Tsallis-Switch's.

    Colour says by what factor they differ, and is left out where the difference is not decided.
    """
    evidence = findings.evidence
    names = [name for name, result in findings.tables.items() if set(result.policies) >= set(POLICIES)]
    if not names:
        return None
    policies = (*POLICIES, *findings.settings.further)
    finals = {(policy, name): evidence.final(name, policy) for policy in policies for name in names}
    values = np.array([[_decided_ratio(finals[p, n], finals[SWITCH, n]) for n in names] for p in policies])
    shown = [[three_digits(float(finals[p, n].mean())) for n in names] for p in policies]
    return HeatMap(policies, [name.replace(".", ", ") for name in names], values, shown, corner="policy")


def _decided_ratio(own: Array, other: Array) -> float:
    """The ratio of the means; not a number where it is not decided which is lower, or where it would say nothing."""
    means = float(own.mean()), float(other.mean())
    if min(means) <= 0 or _order(own, other) == "open":
        return float("nan")
    return means[0] / means[1]


def _order(own: Array, other: Array) -> str:
    """Whether the mean of `own` is "lower" or "higher" than that of `other`, or "open"."""
    below, above = answers([Less("", own, other), Less("", other, own)])
    return "lower" if below.outcome == "yes" else "higher" if above.outcome == "yes" else "open"


def _times(large: float, small: float) -> str:
    return f"{three_digits(large / small)} times" if small > 0 else "many times"


def _costly_switches(findings: PaperFindings) -> str:
    table = "stochastic-hard"
    if table not in findings.tables:
        return ""
    own, inf, exp3 = (findings.evidence.final(table, policy) for policy in (SWITCH, INF, EXP3))
    means = [three_digits(float(values.mean())) for values in (own, inf, exp3)]
    said = (
        f"Where switches are costly and losses stochastic ({table}), Tsallis-Switch ends with a {WHOLE} of {means[0]}, "
        f"Tsallis-INF with {means[1]} and EXP3 with {means[2]}: "
    )
    order = _order(own, inf)
    if order == "open":
        return f"{said}whether blocks pay is not decided at {len(own)} replications."
    factor = _times(*sorted((float(inf.mean()), float(own.mean())), reverse=True))
    if order == "lower":
        return f"{said}without blocks Tsallis-INF pays {factor} as much."
    return f"{said}blocks do not pay here, Tsallis-Switch pays {factor} as much as Tsallis-INF."


def _adversary(findings: PaperFindings) -> str:
    table = "adversarial"
    if table not in findings.tables:
        return ""
    own, *bases = (findings.evidence.final(table, policy) for policy in (SWITCH, ARITHMETIC, GEOMETRIC))
    orders = {_order(own, base) for base in bases}
    numbers = " and ".join(three_digits(float(base.mean())) for base in bases)
    said = (
        f"Against an adversary that reverses the losses, the two BaSE end with {numbers}, "
        f"Tsallis-Switch with {three_digits(float(own.mean()))}: "
    )
    if orders == {"lower"} and agree(answers(worst_case.linear(findings.evidence))):
        return f"{said}policies that rely on stochastic losses still lose a whole loss per round in the second half."
    if orders == {"lower"}:
        return f"{said}policies that rely on stochastic losses pay more."
    return f"{said}" + ("elimination still wins here." if orders == {"higher"} else "which is lower is not decided.")


def _against_base(findings: PaperFindings) -> str:
    tables = [name for name in FIGURES if name.startswith("stochastic-") and name in findings.tables]
    if not tables:
        return ""
    lower: dict[str, float] = {}
    for name in tables:
        own = findings.evidence.final(name, SWITCH)
        base = min(
            (findings.evidence.final(name, p) for p in (ARITHMETIC, GEOMETRIC)), key=lambda values: values.mean()
        )
        if _order(base, own) == "lower":
            lower[name] = float(base.mean() / own.mean())
    said = "Where losses are stochastic, the better BaSE, which knows the horizon, ends below Tsallis-Switch in "
    if not lower:
        return f"{said}none of {len(tables)} settings."
    shares = ", ".join(f"{100 * share:.0f} % of it in {name}" for name, share in lower.items())
    return f"{said}{len(lower)} of {len(tables)} settings: with {shares}."


def _verdict(findings: PaperFindings, id: str) -> Verdict | None:
    return next((verdict for verdict in findings.verdicts if verdict.id == id), None)


def _bound(findings: PaperFindings) -> str:
    verdict = _verdict(findings, "bound-theorem-1")
    if verdict is None:
        return ""
    most = max(verdict.parts, key=lambda part: part.estimate or 0.0)
    used = f"the mean uses at most {100 * (most.estimate or 0.0):.0f} % of it (figure {most.what.removeprefix('in ')})"
    if verdict.verdict == "holds":
        return f"Theorem 1's bound is respected at every checkpoint of every figure it applies to: {used}."
    return f"Theorem 1's bound is not confirmed everywhere: {used}."


def _growth(findings: PaperFindings) -> str:
    one, several = _verdict(findings, "growth-unique"), _verdict(findings, "growth-ties")
    if one is None:
        return ""
    said = (
        f"Up to T = {number(findings.settings.long_horizon)} the {WHOLE} of Tsallis-Switch grows with an exponent of "
    )
    said += f"{_range(one.parts)} with one best arm, where the paper has 1/3"
    if several is not None:
        said += f", and of {_range(several.parts)} with several, where it promises no more than 2/3"
    return f"{said}."


def _range(parts: Sequence[Answer]) -> str:
    found = sorted(part.estimate for part in parts if part.estimate is not None)
    if not found:
        return "?"
    low, high = f"{found[0]:.2f}", f"{found[-1]:.2f}"
    return low if low == high else f"{low} to {high}"
