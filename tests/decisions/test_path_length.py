"""The code that a call passes is short enough to be read in one sitting."""

import sys
from pathlib import Path

import pytest

import holdfast as hf

ROOT = str(Path(hf.__file__).parent)
LONG = hf.BlockExp3(3, switching_cost=1000.0, horizon=10**6)
SHORT = hf.Exp3(3)  # a block for each round


NOT_COUNTED = (
    *("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"),  # a line of the function around them
    *("<locals>.choose", "<locals>.observe", "<locals>.view"),  # compiled
)


def passed(work) -> set[tuple[str, str]]:
    """Files and functions of ours that a call runs through; compiled kernels are not seen."""
    found = set()

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT):
            found.add((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize(
    ("policy", "verb", "functions", "files"),
    [(LONG, "ask", 31, 9), (LONG, "tell", 34, 8), (SHORT, "ask", 51, 12)],
    ids=["ask inside a block", "tell inside a block", "ask that begins a block"],
)
def test_a_call_passes_few_functions(folder, policy, verb, functions, files):
    with hf.open(f"sqlite:///{folder}/g.db", "game", policy, seed=1) as router:
        for decision in router.ask(5):
            router.tell(decision.id, 0.5)
        decision = router.ask()
        found = passed(router.ask if verb == "ask" else lambda: router.tell(decision.id, 0.5))
    found = {(file, name) for file, name in found if not any(part in name for part in NOT_COUNTED)}
    assert len(found) <= functions, sorted(found)
    assert len({file for file, _ in found}) <= files, sorted(found)
