"""Output of a reproduction: at most forty lines, ids whole, no LaTeX."""

import re

import pytest

from holdfast.lab.judge import Verdict
from holdfast.lab.paper.claims import CLAIMS
from holdfast.lab.paper.report import ledger, summary


def verdicts(kinds: str) -> list[Verdict]:
    """Made-up verdicts on the paper's claims: f, c or h for each."""
    words = {"f": "fails", "c": "conditional", "h": "holds"}
    given = (kinds * len(CLAIMS))[: len(CLAIMS)]
    return [
        Verdict(
            c.id,
            c.sentence,
            c.place,
            f"{c.rule}.",
            "",
            words[k],
            "holds for T^{2/3}" if k == "c" else "",
            30,
            "",
            0.99,
            {},
            (),
        )
        for c, k in zip(CLAIMS, given, strict=True)
    ]


@pytest.mark.parametrize("kinds", ["h", "hhhc", "hhhhhhhhf", "c", "f", "fc"])
@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_the_end_of_a_run(kinds, width):
    given = verdicts(kinds)
    lines = [*summary(10, given, width), "The report is x"]
    assert len(lines) <= 40
    assert not any("{" in line or "^{" in line for line in lines)
    text = "\n".join(lines)
    unclear = [v for v in given if v.verdict != "holds"]
    named = [v for v in unclear if re.search(rf"^[✗◐] {v.id}( |$)", text, re.MULTILINE)]
    assert len(named) == min(len(unclear), 30)
    assert "; 40 claims of the paper: " in lines[0]
    assert lines[1].startswith("7 claims of ours about it: ")
    if width >= 80:
        assert max(map(len, lines)) <= width
    if len(unclear) > 30:
        assert f"and {len(unclear) - 30} more" in text


def test_failing_claims_come_first():
    lines = summary(10, verdicts("chf"), 80)
    signs = [line[0] for line in lines[:-1] if line[:2] in ("✗ ", "◐ ")]
    assert signs == sorted(signs, key="✗◐".index)


@pytest.mark.parametrize("width", [40, 80])
def test_all_of_it(width):
    given = verdicts("hcf")
    lines = ledger(given, width)
    assert "{" not in "\n".join(lines)
    for verdict in given:
        assert any(line[2:].startswith(f"{verdict.id}: {verdict.verdict}") for line in lines)
    assert any("Condition: holds for T^(2/3)" in line for line in lines)
    assert lines[0].startswith("✗")
