"""Errors of refused commands, in words and in JSON, with their exit codes and without secrets."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import command_here, holdfast_command

import holdfast as hf
from holdfast import errors
from holdfast.cli import app
from holdfast.decisions import executor
from holdfast.errors import error_to_json

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
MARK = "hunter2"
BEGIN = ("--policy", "tsallis-switch", "--arms", "east,west", "--switching-cost", "0.35", "--units", "-1,1")


@pytest.fixture
def url(tmp_path) -> str:
    return f"sqlite:///{tmp_path}/games.db"


@pytest.fixture
def asked(url) -> list[str]:
    """The id and the arm of the first decision of the game 'jobs'."""
    return command_here("store", "ask", url, "jobs", *BEGIN).stdout.split()


def refused(*words: str) -> tuple[int, str, dict]:
    """Exit code, line and JSON of a command that is refused, which must tell the same thing twice."""
    plain, told = command_here(*words), command_here(*words, "--json")
    assert plain.returncode == told.returncode != 0
    assert plain.stdout == told.stdout == ""
    assert plain.stderr.count("\n") == told.stderr.count("\n") == 1
    content = json.loads(told.stderr)
    assert plain.stderr == f"holdfast: {content['message']}\n"
    assert content["exit_code"] == plain.returncode
    return plain.returncode, content["message"], content


def test_refusals_by_kind(url, asked):
    id, _ = asked
    store = ("store", "tell", url, "jobs")
    assert command_here(*store, id, "-0.5").stdout == "told\n"
    assert json.loads(command_here(*store, id, "-0.5", "--json").stdout) == {"id": id, "new": False, "late": False}
    code, _, content = refused(*store, id, "-0.25")
    assert (code, content["error"], content["recorded"], content["loss"]) == (4, "AlreadyTold", -0.5, -0.25)
    code, _, content = refused(*store, "x-1-0-y", "0.5")
    assert (code, content["error"], content["id"]) == (3, "UnknownDecision", "x-1-0-y")
    code, message, content = refused(*store, command_here("store", "ask", url, "jobs").stdout.split()[0], "7")
    assert (code, content["error"], content["parameter"]) == (2, "InvalidParameter", "LOSS")
    assert message.startswith("LOSS of one round must be from -1 to 1")
    code, _, content = refused("store", "show", url, "job")
    assert (code, content["error"], content["known"]) == (3, "UnknownGame", ["jobs"])
    changed = ("store", "ask", url, "jobs", *BEGIN[:3], "east,north", "--switching-cost", "0.5", "--settings", "same")
    code, message, content = refused(*changed)
    assert (code, content["error"]) == (4, "OtherSettings")
    assert "holdfast store change URL NAME --switching-cost 0.5 --add north --retire west" in message.replace(
        "--add north --retire west --switching-cost 0.5", "--switching-cost 0.5 --add north --retire west"
    )


def test_a_loss_after_its_time_and_a_call_out_of_turn(url):
    begin = ("--policy", "exp3", "--arms", "a,b", "--patience", "1")
    first = command_here("store", "ask", url, "late", *begin).stdout.split()[0]
    for _ in range(3):
        command_here("store", "ask", url, "late")
    code, _, content = refused("store", "tell", url, "late", first, "0.5", "--in-time")
    assert (code, content["error"]) == (5, "TooLate")
    waits = ("--policy", "base-minimax:horizon=90", "--arms", "a,b", "-n", "90")
    assert command_here("store", "ask", url, "turns", *waits).returncode == 0
    code, _, content = refused("store", "ask", url, "turns")
    assert (code, content["error"]) == (6, "OutOfTurn")


def test_stores_that_cannot_be_used(tmp_path, url):
    code, message, _ = refused("store", "list", url)
    assert code == 2
    assert message.startswith("URL must be a store that exists")
    assert list(tmp_path.iterdir()) == []
    for verb in (("show", url, "g"), ("tell", url, "g", "id", "1"), ("ask", url, "g"), ("settle", url, "g")):
        assert refused("store", *verb)[0] == 2
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "foreign.db").write_bytes(b"this is no database, whatever its name may say" * 100)
    assert refused("store", "list", f"sqlite:///{tmp_path}/foreign.db")[0] == 8
    code, _, content = refused("store", "ask", f"sqlite:///{tmp_path}/none/g.db", "g", *BEGIN)
    assert (code, content["error"]) == (7, "StoreError")
    assert refused("store", "ask", "memory:", "g", *BEGIN)[0] == 2


def test_usage(url, asked):
    wrong = (("tell", url), ("nope",), ("list", url, "--nope"), ("list", url, "more"), ("ask", url, "g", "-n", "x"))
    for words in (*wrong, ("change", url, "jobs")):
        code, message, _ = refused("store", *words)
        assert code == 2
        assert re.search(r"\(see holdfast store( \w+)? --help\)$", message)


def test_hints_lead_somewhere(url, asked):
    code, message, _ = refused("store", "ask", url, "jobs", "--switching-cost", "0.5")
    assert code == 2
    assert message.startswith("--switching-cost is for a new game: begin one with --policy, or change this one with")
    assert command_here("store", "change", url, "jobs", "--switching-cost", "0.5").stdout == "changed\n"
    assert command_here("store", "change", url, "jobs", "--add", "north,south", "--retire", "west").returncode == 0
    now = ("--policy", "tsallis-switch", "--arms", "east,north,south", "--switching-cost", "0.5", "--units", "-1,1")
    assert command_here("store", "ask", url, "jobs", *now).returncode == 0
    code, message, _ = refused("store", "ask", url, "other", "--policy", "base-minimax", "--arms", "a,b")
    assert message.startswith("--policy needs horizon too, such as base-minimax:horizon=10000")
    assert command_here("store", "ask", url, "o", "--policy", "base-minimax:horizon=90", "--arms", "a,b").stdout
    told = command_here("reproduce", "--with", "uvb1")
    assert told.stderr.startswith("holdfast: policy must be one of 'adaptive'")
    assert told.stderr.endswith("got 'uvb1'; did you mean 'ucb1'?\n")
    code, message, _ = refused("store", "ask", url, "o", "--policy", "exp3", "--arms", "a,b", "--patience", "soon")
    assert message.startswith("--patience must be rounds, such as 50, a time, such as 30s")


def test_every_error_has_an_exit_code_and_the_document_lists_them():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, hf.HoldfastError)]
    text = DOCS.read_text()
    for kind in kinds:
        (row,) = [line for line in text.splitlines() if line.startswith("|") and f"`{kind.__name__}`" in line]
        assert row.startswith(f"| {kind.exit_code} |"), kind


def test_errors_within_errors_are_json():
    told = errors.AlreadyTold("a-1", recorded=0.25, loss=0.5)
    content = error_to_json(errors.SomeRefused(2, [told]))
    assert content["told"] == 2
    assert content["refused"][0]["error"] == "AlreadyTold"
    assert json.dumps(content)


def test_one_damaged_game_does_not_hide_the_others(tmp_path, url, asked):
    command_here("store", "ask", url, "worse", *BEGIN)
    with sqlite3.connect(tmp_path / "games.db") as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            if {"name", "policy"} <= set(columns):
                database.execute(f"UPDATE {table} SET policy = '{{' WHERE name = 'worse'")
    database.close()
    listed = command_here("store", "list", url)
    assert listed.returncode == 0, listed.stderr
    assert "jobs" in listed.stdout
    assert "\nworse: " in listed.stdout
    first, second = json.loads(command_here("store", "list", url, "--json").stdout)
    assert (first["name"], first["rounds"], second["name"], list(second)) == ("jobs", 1, "worse", ["name", "error"])


def test_backup_and_restore(tmp_path, url, asked):
    copy = tmp_path / "copy.db"
    assert command_here("store", "backup", url, str(copy)).stdout == f"The copy is {copy}\n"
    for _ in range(3):
        command_here("store", "ask", url, "jobs")
    assert json.loads(command_here("store", "restore", str(copy), url, "--yes", "--json").stdout)["url"] == url
    assert json.loads(command_here("store", "show", url, "jobs", "--json").stdout)["rounds"] == 1
    code, message, _ = refused("store", "restore", str(tmp_path / "none"), url, "--yes")
    assert code == 2
    assert message.startswith("SOURCE must be a file")
    assert refused("store", "backup", f"sqlite:///{tmp_path}/none.db", str(copy))[0] == 2


# ---- names that a terminal would obey, and terminals that lack signs ----


def test_names_reach_the_terminal_escaped(tmp_path, url):
    arms = "\x1b[31mred,two\nlines,\u202eback"
    begin = ("--policy", "exp3", "--arms", arms)
    shown = [command_here("store", "ask", url, "g", *begin).stdout for _ in range(20)]
    shown += [command_here("store", verb, url, *name).stdout for verb, name in (("show", ["g"]), ("list", []))]
    (tmp_path / "t.csv").write_text('"\x1b[31mred","b\nc"\n' + "0.5,0.25\n" * 20)
    shown.append(
        command_here(
            *("replay", str(tmp_path / "t.csv"), "--switching-cost", "1", "--policies", "exp3", "--replications", "2")
        ).stdout
    )
    text = "".join(shown)
    assert {r"\x1b[31mred", r"two\nlines", r"\u202eback"} <= {line.partition(" ")[2] for line in text.split("\n")}
    assert r"\x1b[31mred" in shown[-1]
    assert all(sign.isprintable() or sign == "\n" for sign in text)
    assert all(sign.isprintable() or sign == "\n" for sign in command_here("store", "show", url, "\x1b[2J").stderr)
    exact = json.loads(command_here("store", "ask", url, "g", "--json").stdout)
    assert exact["arm"] in arms.split(",")


@pytest.mark.slow
def test_arms_in_an_ascii_locale(url):
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    asked = holdfast_command("store", "ask", url, "g", "--policy", "exp3", "--arms", "Köln,Kön", env=ascii_only)
    assert asked.stdout.split()[1] in (r"K\xf6ln", r"K\xf6n")
    shown = holdfast_command("store", "show", url, "g", env=ascii_only)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert r"K\xf6ln" in shown.stdout
    assert "\nA " in shown.stdout
    assert shown.stdout.isascii()
    assert "?" not in shown.stdout


# ---- output that cannot be written, and Ctrl-C ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("closed", "words", "code", "said"),
    [
        (">&-", ("ask", "g", *BEGIN), 1, "holdfast: standard output is closed; nothing was done\n"),
        ("2>&-", ("list",), 2, ""),  # an error is no output
    ],
)
def test_a_closed_stream_is_noticed_before_anything_is_done(tmp_path, url, closed, words, code, said):
    verb, *rest = words
    command = [
        "/bin/sh",
        "-c",
        f'exec "$@" {closed}',
        "sh",
        sys.executable,
        "-m",
        "holdfast",
        "store",
        verb,
        url,
        *rest,
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (run.returncode, run.stdout, run.stderr) == (code, "", said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_ctrl_c_ends_a_command_that_waits_for_a_lock(tmp_path, url, asked):
    file = tmp_path / "games.db"
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = subprocess.Popen(
        [sys.executable, "-m", "holdfast", "store", "ask", url, "jobs"], stderr=subprocess.PIPE, text=True
    )
    try:
        open_files = Path(f"/proc/{waiting.pid}/fd")
        while waiting.poll() is None and not any(os.path.realpath(fd) == str(file) for fd in open_files.iterdir()):
            time.sleep(0.05)
        time.sleep(1.0)  # by now it waits for the lock
        begun = time.monotonic()
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(timeout=30) == 130
        assert time.monotonic() - begun < 20  # SQLite waits for 60 seconds
        assert waiting.stderr.read() == "holdfast: interrupted\n"
    finally:
        waiting.kill()
        waiting.wait(timeout=120)
        waiting.stderr.close()
        other.close()


# ---- secrets ----

ADDRESSES = (
    f"postgresql://me:{MARK}@127.0.0.1:1/db?connect_timeout=1",
    f"postgresql://127.0.0.1:1/db?password={MARK}&connect_timeout=1",
    f"postgresql+psycopg://me:{MARK}@h/db",
    f"postgresql://me:a/{MARK}@h/db",
    f"host=h password={MARK}",
)


def all_commands() -> list[tuple[str, ...]]:
    """Every command below `holdfast`, hidden ones too."""
    import typer

    group = typer.main.get_group(app)
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        found += [(name, inner) for inner in getattr(command, "commands", {})] or [(name,)]
    return found


@pytest.mark.parametrize("words", all_commands(), ids=" ".join)
def test_an_address_is_in_no_output(words, tmp_path, monkeypatch):
    """Wherever a URL is put by mistake: first, second, third, or as the value of an option."""
    monkeypatch.chdir(tmp_path)
    for address in (ADDRESSES[2], ADDRESSES[4]):
        for place in (
            (address, "--json"),
            ("sqlite:///x.db", address),
            ("sqlite:///x.db", "name", address, "0.5", "--json"),
            (f"--seed={address}",),
        ):
            run = command_here(*words, *place)
            assert run.returncode != 0
            assert MARK not in run.stdout + run.stderr


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_store_that_is_not_there_keeps_its_password_to_itself(address, monkeypatch):
    monkeypatch.setattr(executor, "WAIT", 40.0)  # longer than a command tries: there is no second attempt
    for words in (("ask", address, "g", *BEGIN), ("list", address)):
        for json_too in ((), ("--json",)):
            run = command_here("store", *words, *json_too)
            assert run.returncode == (7 if "connect_timeout" in address else 2)
            assert MARK not in run.stdout + run.stderr
