"""An arena: it goes on, what it refuses, what it says on a terminal and in Markdown, and its page in a real browser."""

import json
import re
from dataclasses import replace

import arena
import polars as pl
import pytest
import typer
from arena import run_arena
from arena_report import conclusions, summary
from chromium import pdf_pages
from documents import BEGIN, END, arena_tables, refresh
from search_worlds import FOUND
from study_files import Counting, Killed
from typer.testing import CliRunner

import holdfast as hf

pytestmark = pytest.mark.slow


def document(made):
    return (made.out / "arena.json").read_bytes()


SMALL = {
    "policies": ["adaptive"],
    "environments": ["stochastic-easy", "drifting-costly"],
    "replications": 3,
    "horizon": 1000,
    "progress": False,
}


def test_resume_plays_only_what_is_missing_and_ends_alike(tmp_path):
    with pytest.raises(Killed):
        run_arena(tmp_path / "out", backend=Counting(2), **SMALL)
    assert not (tmp_path / "out" / "arena.json").exists()
    with pytest.raises(hf.HoldfastError, match="--resume to go on"):
        run_arena(tmp_path / "out", **SMALL)
    again = run_arena(tmp_path / "out", resume=True, **SMALL)
    assert again.tables.found > 0
    assert again.tables.found + again.tables.played == 2 * 3
    whole = run_arena(tmp_path / "whole", **SMALL)
    assert again.table.equals(whole.table)
    assert document(again) == document(whole)
    more = run_arena(tmp_path / "out", resume=True, **(SMALL | {"replications": 5}))
    assert (more.tables.found, more.tables.played) == (6, 4)
    fresh = run_arena(tmp_path / "fresh", **(SMALL | {"replications": 5}))
    assert more.table.equals(fresh.table)


def test_an_arena_grows_by_environments_and_traces(tmp_path, trace):
    run_arena(tmp_path / "out", **SMALL)
    larger = SMALL | {"environments": ["stochastic-easy", "hard", "traces"]}
    larger |= {"traces": [trace], "switching_costs": [2.0], "units": (0, 500), "index": "time"}
    more = run_arena(tmp_path / "out", resume=True, **larger)
    assert more.tables.found == 2 * 3
    assert more.tables.played >= 10 * 3
    whole = run_arena(tmp_path / "whole", **larger)
    assert document(more) == document(whole)
    with pytest.raises(hf.HoldfastError, match=r"environments has \[.*there only; give another --out"):
        run_arena(tmp_path / "out", resume=True, **SMALL)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policies": ["adaptiv"]}, "policies must be of .*did you mean 'adaptive'"),
        ({"environments": "drifting"}, "environments must be of .*drifting-c"),
        ({"environments": ["traces"]}, "environments must be some; traces are given with --trace"),
        ({"replications": 1}, "replications must be .*2.*; got 1"),
        ({"traces": ["nowhere.csv"]}, "trace .*nowhere.csv"),
    ],
)
def test_refusals_leave_nothing_behind(tmp_path, change, said):
    with pytest.raises(hf.HoldfastError, match=f"(?s){said}"):
        run_arena(tmp_path / "out", **(SMALL | change))
    assert not (tmp_path / "out").exists()


def test_the_summary_fits_a_screen(made):
    lines = summary(made)
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("base-geometric† ") for line in lines)
    assert f"4 policies in {5 + len(FOUND)} environments, 6 replications" in lines[0]
    worst = pl.concat([made.worst] * 10)
    long = summary(replace(made, worst=worst))
    assert len(long) <= 40
    assert "and 10 more in the page" in long


def test_the_command(tmp_path):
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(arena.main)
    options = ["--policies", "adaptive", "--environments", "adversarial", "--replications", "2", "--horizon", "1e3"]
    run = CliRunner().invoke(app, ["--out", str(tmp_path / "out"), *options])
    assert run.exit_code == 0, run.output
    lines = run.output.splitlines()
    assert lines[-1] == f"The page is {tmp_path / 'out' / 'arena.html'}"
    assert len(lines) <= 40
    files = {"arena.html", "arena.json", "arena.parquet", "files.json", "games"}
    assert {file.name for file in (tmp_path / "out").iterdir()} == files
    for wrong in (["--units", "1"], ["--horizon", "1.5"], ["--policies", "nobody"]):
        refused = CliRunner().invoke(app, ["--out", str(tmp_path / "none"), *wrong])
        assert isinstance(refused.exception, hf.HoldfastError)
        assert not (tmp_path / "none").exists()


# ---- the tables in Markdown


def tables_of(made):
    return arena_tables(json.loads((made.out / "arena.json").read_text(encoding="utf-8")))


def test_tables_are_those_of_the_run(made):
    told = tables_of(made)
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
    refresh(page, tables_of(made))
    once = page.read_text()
    assert once.startswith("# Words\n")
    assert once.endswith(f"{END}\n\nMore.\n")
    assert "Yesterday" not in once
    refresh(page, tables_of(made))
    assert page.read_text() == once
    page.write_text("no marks")
    with pytest.raises(hf.HoldfastError, match="must have the marks"):
        refresh(page, tables_of(made))


# ---- the page: as text, and in a real browser, wide, on a phone, dark and on paper


@pytest.fixture(scope="module")
def page(made):
    return (made.out / "arena.html").read_text(encoding="utf-8")


def test_what_it_says_follows_from_the_table(made):
    said = conclusions(made)
    first = next(row for row in made.worst.to_dicts() if not row["knows_horizon"])
    assert len(said) == 5
    assert f"{first['policy']} has the smallest worst ratio to the best: {first['to_best']:.2f}" in said[0]
    own = [row for row in made.table.to_dicts() if row["policy"] == "adaptive" and row["group"] != "found"]
    worse = sum(row["above_paper_low"] > 0 for row in own)
    assert f"more costly than tsallis-switch in {worse} of {len(own)} environments" in said[2]


def test_every_environment_and_policy_is_there(made, page):
    for world in made.settings:
        assert f"{world.name}: K = {world.environment.n_arms}" in page
    for policy in made.policies:
        assert made.marked(policy) in page
    places = [page.index(f'<section id="{name}">') for name in ("worst", "paper", "hard", "traces", "found", "growth")]
    assert places == sorted(places)
    assert (made.out / "arena.html").stat().st_size < 5_000_000


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1440])
def test_every_panel_is_drawn_and_nothing_sticks_out(made, browser, width, dark):
    browser.open((made.out / "arena.html"), width=width, dark=dark)
    for group in ("paper", "hard", "traces", "found"):
        assert len(browser.panels(f"#{group}", "1")) == len(made.group(group))
    assert browser.run("return document.documentElement.scrollWidth") <= width
    cells = browser.run(
        "return [...document.querySelectorAll('#hard .heat')].map(heat => heat.querySelectorAll('td').length)"
    )
    assert cells == [4 * 2] * 3
    inks = browser.run("return getComputedStyle(document.querySelector('.heat td')).color")
    assert inks != browser.run("return getComputedStyle(document.querySelector('.heat td')).backgroundColor")


def test_paper_has_what_is_folded(made, browser):
    browser.open(made.out / "arena.html")
    assert len(browser.all("#numbers details")) == len(made.settings)
    assert not browser.all("#numbers details table")[0].is_displayed()
    assert pdf_pages(browser.printed()) > 5
