"""Output in notebooks: pictures without magic commands, and small tables; run by the kernel of Jupyter."""

import base64
import re
import warnings

import pytest

import holdfast as hf
from holdfast.report.html import MOST_ROWS, view

CELLS = {
    "start": "import holdfast as hf\npolicy = hf.Exp3(arms=['<b>east</b>', 'west'])",
    "player": "player = policy.player(seed=1)\nplayer.ask()\nplayer",
    "router": "router = hf.open('memory:', 'chat', policy, seed=1)\nrouter.tell(router.ask().id, loss=0.25)\nrouter",
    "plan": "hf.best_plan([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], switching_cost=0.5)",
    "result": "result = hf.simulate([hf.Exp3(2), hf.HoldForever(2)], hf.Bernoulli([0.3, 0.5]), horizon=50,"
    " switching_cost=0.1, replications=4)\nresult",
    "final": "result.final()",
    "plot": "result.plot(measures='switches', size='column')",
    "replay": "hf.replay([[0.1, 0.9], [0.2, 0.8]] * 20, switching_cost=0.1, policies=['exp3'], replications=4)",
}


@pytest.fixture(scope="module")
def shown() -> dict[str, dict[str, str]]:
    """Return the output of each cell, by the kind of data."""
    from nbclient import NotebookClient  # a second to import, and only these tests need it
    from nbformat.v4 import new_code_cell, new_notebook

    notebook = new_notebook(cells=[new_code_cell(code) for code in CELLS.values()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Jupyter's own
        NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    outputs = {}
    for name, cell in zip(CELLS, notebook.cells, strict=True):
        found = [output for output in cell.outputs if output.output_type == "execute_result"]
        outputs[name] = dict(found[-1].data) if found else {}
    return outputs


@pytest.mark.slow
def test_a_plot_is_a_picture_without_magic(shown) -> None:
    data = base64.b64decode(shown["plot"]["image/png"])
    assert data.startswith(b"\x89PNG")
    assert int.from_bytes(data[16:20]) == 650  # 3.25 inches at 200 dots


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "cells"),
    {
        "player": ["probability", "west", "0.500 "],
        "router": ["Router 'chat' of exp3", "mean loss", "0.25"],
        "plan": ["2 switches", "from round", "2"],
        "result": ["Result: ", "exp3", "hold-forever", "regret with switching"],
        "final": ["exp3", "hold-forever", "total cost"],
        "replay": ["40 rounds of 2 arms", "λ = 0.1", "best plan"],
    }.items(),
)
def test_what_is_shown_of_each(shown, cell: str, cells: list[str]) -> None:
    html = shown[cell]["text/html"]
    words = re.sub(r"<[^>]*>", "|", html).replace("&#x27;", "'")
    assert [text for text in cells if text not in words] == []
    assert html.count("<table>") == 1


@pytest.mark.slow
def test_names_of_arms_are_escaped(shown) -> None:
    for cell in ("player", "router"):
        assert "&lt;b&gt;east&lt;/b&gt;" in shown[cell]["text/html"]
        assert "<b>" not in shown[cell]["text/html"]


def test_a_long_table_says_how_much_is_left_out() -> None:
    html = view("many", ["arm", "rounds"], [[str(i), "1"] for i in range(MOST_ROWS + 3)])
    assert html.count("<tr>") == MOST_ROWS + 1
    assert "… and 3 more" in html


def test_a_player_that_does_not_know_its_probabilities_is_shown_without() -> None:
    for policy in (hf.ThompsonSampling(2), hf.VaryingTsallisSwitch(2)):
        assert "<table>" not in policy.player(seed=1)._repr_html_()
