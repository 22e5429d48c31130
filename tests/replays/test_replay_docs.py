"""The example of docs/replay.md that runs anywhere, as it stands there."""

import re
from pathlib import Path

import pytest

import holdfast as hf

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "replay.md"


def test_the_example_runs_and_says_what_the_page_says(tmp_path, monkeypatch, capsys):
    (example,) = re.findall(r"```python\n(import numpy.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(example, "docs/replay.md", "exec"), names)
    found = names["found"]
    assert isinstance(found, hf.Replay)
    standing = found.standing(2.0)
    assert standing.best_arm == "west"
    starts, arms = found.plans[2.0].runs()
    assert ([found.arms[arm] for arm in arms], starts[1]) == (["east", "west"], 2500)
    assert "\nwest\n2\n" in capsys.readouterr().out
    assert standing.amount("adaptive").high < standing.fixed_cost("west")
    assert standing.ranking()[-1] == "leader-cooldown-10"
    assert abs(standing.costs["leader-cooldown-10"][0] / standing.random_fixed_cost - 1) < 0.05
    assert (tmp_path / "replayed" / "report.html").is_file()


def test_every_picture_is_there_and_small():
    pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", PAGE.read_text(encoding="utf-8"))
    assert pictures
    for name in pictures:
        assert 1_000 < (PAGE.parent / name).stat().st_size < 120_000
