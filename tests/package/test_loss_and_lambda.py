"""The numbers in the guide to losses and λ are those that the code gives."""

import doctest
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "loss_and_lambda.md"


def test_every_example_of_the_guide_is_true():
    failed, tried = doctest.testfile(str(DOCUMENT), module_relative=False)
    assert failed == 0
    assert tried >= 9


def test_its_table_of_a_turn():
    """8,000 tokens of context, 400 new, 300 written, at 0.30, 3.75 and 15 $ a million."""
    warm, cold = (round((8000 * context + 400 * 3.75 + 300 * 15) * 1e-6, 4) for context in (0.30, 3.75))
    assert (warm, cold, round(cold - warm, 4)) == (0.0084, 0.0360, 0.0276)
    text = DOCUMENT.read_text(encoding="utf-8")
    assert f"{warm:.4f} $ |" in text
    assert f"{cold:.4f} $ |" in text
