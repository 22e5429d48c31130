"""The tables of a run in Markdown."""

import json
import re

import pytest
from documents import BEGIN, END, arena_tables, refresh

import holdfast as hf

pytestmark = pytest.mark.slow


def test_tables_are_those_of_the_run(made):
    told = arena_tables(json.loads((made.out / "arena.json").read_text(encoding="utf-8")))
    first = made.worst.to_dicts()[0]
    row = next(line for line in told.splitlines() if line.startswith(f"| {made.marked(first['policy'])} |"))
    assert row.split(" | ")[1].startswith(f"{first['to_best']:.2f} ± ")
    assert row.split(" | ")[2] == first["to_best_in"]
    tables = re.findall(r"(?:^\|.*\n)+", told, flags=re.M)
    assert [len(table.splitlines()) - 2 for table in tables] == [4] * 6
    assert "found-adaptive-1" in tables[4]


def test_a_page_is_refreshed_between_its_marks(made, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Words\n\n{BEGIN}\nYesterday.\n{END}\n\nMore.\n")
    refresh(page, arena_tables(json.loads((made.out / "arena.json").read_text(encoding="utf-8"))))
    once = page.read_text()
    assert once.startswith("# Words\n")
    assert once.endswith(f"{END}\n\nMore.\n")
    assert "Yesterday" not in once
    refresh(page, arena_tables(json.loads((made.out / "arena.json").read_text(encoding="utf-8"))))
    assert page.read_text() == once
    page.write_text("no marks")
    with pytest.raises(hf.HoldfastError, match="must have the marks"):
        refresh(page, arena_tables(json.loads((made.out / "arena.json").read_text(encoding="utf-8"))))
