"""What an arena teaches, in sentences that are computed from its tables."""

from __future__ import annotations

from typing import Any

from holdfast.evidence.contestants import PAPER
from holdfast.evidence.findings import ArenaFindings
from holdfast.extras import pl
from holdfast.text import counted, number, three_digits

OWN = "adaptive"
"""The policy that this project proposes; what is said of it names what speaks against it too."""


def conclusions(findings: ArenaFindings) -> list[str]:
    """One sentence for each question that was played."""
    asked = (_least_worst, _against_paper, _safety, _tails, _found, _growth)
    return [sentence for ask in asked if (sentence := ask(findings))]


def _row(findings: ArenaFindings, policy: str) -> dict[str, Any] | None:
    rows = findings.worst.filter(pl.col("policy") == policy).to_dicts()
    return rows[0] if rows else None


def _least_worst(findings: ArenaFindings) -> str:
    rows = [row for row in findings.worst.to_dicts() if row["to_best"] is not None]
    blind = [row for row in rows if not row["knows_horizon"]]
    if not blind:
        return ""
    first = blind[0]
    said = (
        f"Of the policies that do not know T, {first['policy']} has the smallest worst ratio to the best: "
        f"{three_digits(first['to_best'])} in {first['to_best_in']}"
    )
    if len(blind) > 1:
        second = blind[1]
        said += f"; then {second['policy']} with {three_digits(second['to_best'])} in {second['to_best_in']}"
    return f"{said}."


def _against_paper(findings: ArenaFindings) -> str:
    row = _row(findings, OWN)
    if row is None or row["mean_to_paper"] is None:
        return ""
    paper = findings.table.filter(pl.col("policy") == OWN, pl.col("group") == "paper").sort("to_paper")
    return (
        f"Over the paper's settings {OWN} costs on average {three_digits(row['mean_to_paper'])} of what {PAPER} does, "
        f"from {three_digits(paper['to_paper'][0])} ({paper['environment'][0]}) to "
        f"{three_digits(paper['to_paper'][-1])} ({paper['environment'][-1]})."
    )


def _safety(findings: ArenaFindings) -> str:
    row = _row(findings, OWN)
    if row is None or row["above_paper"] is None:
        return ""
    own = findings.table.filter(pl.col("policy") == OWN, pl.col("group") != "found")
    worse = int((own["above_paper_low"] > 0).sum())
    said = f"{OWN} is decidedly more costly than {PAPER} in {worse} of {counted(own.height, 'environment')}"
    if row["above_paper"] <= 0:
        return f"{said}."
    return f"{said}; at most by {100 * row['above_paper']:.1f} % of Theorem 1's bound, in {row['above_paper_in']}."


def _tails(findings: ArenaFindings) -> str:
    own, paper = (
        findings.table.filter(pl.col("policy") == policy, pl.col("group") == "paper").sort("environment")
        for policy in (OWN, PAPER)
    )
    if own.is_empty() or paper.is_empty():
        return ""
    above = own.filter(own["q99"] > paper["q99"])["environment"].to_list()
    said = f"Its 99th percentile is above {PAPER}'s in {len(above)} of {counted(own.height, 'setting')} of the paper"
    return f"{said}: {', '.join(above)}." if above else f"{said}."


def _found(findings: ArenaFindings) -> str:
    row, paper = _row(findings, OWN), _row(findings, PAPER)
    if row is None or paper is None or row["found_share"] is None:
        return ""
    return (
        f"In worlds that a search made against {OWN} it costs at most {100 * row['found_share']:.1f} % of Theorem 1's "
        f"bound, {PAPER} in the same worlds at most {100 * paper['found_share']:.1f} %."
    )


def _growth(findings: ArenaFindings) -> str:
    long = findings.long
    if long is None or OWN not in findings.policies:
        return ""
    last = long.filter(pl.col("horizon") == pl.col("horizon").max(), pl.col("kind") != "adversarial")
    own, paper = (last.filter(pl.col("policy") == policy).drop_nans("exponent") for policy in (OWN, PAPER))
    if own.is_empty() or paper.is_empty():
        return ""
    said = [
        f"from {min(rows['exponent']):.2f} to {max(rows['exponent']):.2f} for {name}"
        for name, rows in ((OWN, own), (PAPER, paper))
    ]
    return (
        f"In stochastic, constrained and tied games of up to {number(last['horizon'][0])} rounds cost grows with "
        f"exponents of T {' and '.join(said)}."
    )
