"""The examples of docs/replay.md that run anywhere, as they stand there."""

import re
import textwrap
from pathlib import Path

import pytest
from commands import command_here

import holdfast as hf

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "replay.md"


def test_the_examples_run_and_say_what_the_page_says(tmp_path, monkeypatch, capsys):
    text = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names = {}
    for example in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(example, "docs/replay.md", "exec"), names)
    found = names["found"]
    assert isinstance(found, hf.Replay)
    standing = found.standing(2.0)
    assert standing.best_arm == "west"
    starts, arms = found.plans[2.0].runs()
    assert ([found.arms[arm] for arm in arms], starts[1]) == (["east", "west"], 2500)
    printed = capsys.readouterr().out
    assert "\nwest\n2\n" in printed
    for comment in re.findall(r"^ *print\([^\n]*\)  # ([^\n]{30,})$", text, re.MULTILINE):
        for words in filter(None, (part.strip() for part in comment.split("..."))):
            assert words in printed
    assert standing.amount("adaptive").high < standing.fixed_cost("west")
    assert standing.ranking()[-1] == "leader-cooldown-10"
    assert abs(standing.costs["leader-cooldown-10"][0] / standing.random_fixed_cost - 1) < 0.05
    assert (tmp_path / "replayed" / "report.html").is_file()
    run = command_here(*["replay", "losses.csv", "--index", "hour", "--switching-cost", "0.5,2", "--replications", "3"])
    assert run.returncode == 0, run.stderr
    assert "What to do: Use hedge-switch, because" in run.stdout
    for name in ("costs", "forecasts"):  # the files that the page shows
        (shown,) = re.findall(rf"`{name}.csv` has a row for each [^\n]*:\n\n((?:    [^\n]*\n)+)", text)
        Path(f"{name}.csv").write_text(textwrap.dedent(shown), encoding="utf-8")
    commands = re.findall(r"^    holdfast (replay losses.csv [^\n]*(?:costs|forecasts).csv)$", text, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        run = command_here(*command.split(), "--replications", "3")
        assert run.returncode == 0, run.stderr
        assert "What to do: Use hedge-" in run.stdout


def test_every_picture_is_there_and_small():
    page = PAGE.parent / "measurements" / "replay.md"
    pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", page.read_text(encoding="utf-8"))
    assert pictures
    for name in pictures:
        assert 1_000 < (page.parent / name).stat().st_size < 120_000
