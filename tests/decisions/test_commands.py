"""The shell verbs, as a job placer called from cron would use them."""

import json
import time
from datetime import datetime, timedelta

import polars as pl
import pytest
import typer
from commands import command_here
from games import SWITCH, play, refuse
from typer.testing import CliRunner

import holdfast as hf
from holdfast.decisions.cli import add_to

app = typer.Typer()
add_to(app)


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def url(folder) -> str:
    return f"sqlite:///{folder}/jobs.db"


def test_ask_and_tell_from_the_shell(url):
    begin = ("--policy", "tsallis-switch", "--arms", "east,west", "--switching-cost", "0.35")
    id, arm = run("ask", url, "jobs", *begin).split()
    assert arm in ("east", "west")
    assert run("tell", url, "jobs", id, "0.25").strip() == "told"
    assert run("tell", url, "jobs", id, "0.25").strip() == "told before"
    decision = json.loads(run("ask", url, "jobs", "--json"))
    assert set(decision) == {"id", "arm", "probability", "block", "asked"}
    assert json.loads(run("tell", url, "jobs", decision["id"], "0.5", "--json"))["new"] is True
    assert len(json.loads(run("ask", url, "jobs", "-n", "3", "--json"))) == 3
    assert run("ask", url, "jobs", "--request", "r") == run("ask", url, "jobs", "--request", "r")
    refuse([(r"0\.25 is recorded", lambda: run("tell", url, "jobs", id, "0.75"))], hf.AlreadyTold)
    refuse([("begin one with --policy", lambda: run("ask", url, "other", "--arms", "a,b"))])
    spaced = ("--policy", "exp3", "--arms", "east, west")
    assert {run("ask", url, "spaced", *spaced).split(" ", 1)[1].strip("\n") for _ in range(20)} == {"east", "west"}
    refuse([("'jobs'", lambda: run("ask", url, "job"))], hf.UnknownGame)


def test_players_and_one_player_are_shown(url):
    """Every number of the cost, and a mark for each of the last blocks in the line of its arm."""
    with hf.open(url, "chat", SWITCH, seed=1, patience=6, missing=0.25) as router:
        play(router, 40)
        router.ask(9)
        router.ask(9)
        router.settle()
        totals, blocks = router.history.totals, list(router.history.blocks())
    hf.open(url, "new", hf.Exp3(2)).close()
    listed = run("list", url)
    assert "chat" in listed
    assert "tsallis-switch" in listed
    assert json.loads(run("list", url, "--json"))[1] == {
        "name": "new", "policy": "exp3", "rounds": 0, "switches": 0, "out": 0, "missing": 0, "cost": 0.0,
    }  # fmt: skip
    shown = run("show", url, "chat")
    assert totals.missing > 0
    cost = f"cost {totals.cost:,.6g} = losses {totals.losses:,.6g} + {0.25 * totals.missing:,.6g} for missing ones"
    assert f"{cost} + {totals.switching:,.6g} for {totals.switches} switches" in " ".join(shown.split())
    for words in ("holding ", "mean loss", "oldest on the left", f"{totals.out} open losses, {totals.missing} missing"):
        assert words in shown
    for arm, mark in enumerate("●■▲"):
        line = "".join(mark if block.arm == arm else "·" for block in blocks[-60:])
        assert f"{mark} {line}\n" in shown
        own = totals.arms[arm]
        cells = [mark, own.arm, str(own.rounds), str(own.missing), f"{own.mean:.4f}", str(own.blocks)]
        assert cells in [found.split()[:6] for found in shown.splitlines()]
    assert max(map(len, shown.splitlines())) <= 80
    assert json.loads(run("show", url, "chat", "--json"))["rounds"] == 58
    assert "holding nothing yet" in run("show", url, "new")
    with hf.open(url, "new") as router:
        held = router.ask().arm
    assert f"holding {held} until the next decision" in run("show", url, "new")


@pytest.fixture
def far_from_utc(monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_a_time_without_a_zone_is_this_machines(url, far_from_utc):
    hf.open(url, "g", SWITCH, seed=1).close()
    until = (datetime.now() + timedelta(hours=2)).replace(microsecond=0)
    run("pause", url, "g", "a", "--until", until.isoformat())
    run("pause", url, "g", "b", "--until", "2h")
    with hf.open(url, "g") as router:
        assert router.paused["a"] == until.timestamp()
        assert router.paused["b"] == pytest.approx(until.timestamp(), abs=60.0)


def test_the_losses_of_all_arms_are_reported_from_the_shell(url):
    begin = ("--policy", "hedge-switch", "--arms", "a,b", "--switching-cost", "0.3")
    id = run("ask", url, "g", *begin).split()[0]
    assert run("tell", url, "g", id, "--losses", "a=0.25,b=0.5") == "told\n"
    assert run("observe", url, "g", "a=0.125", "b=0.75") == "done\n"
    assert hf.open(url, "g").history.record.select("a", "b").rows() == [(0.25, 0.5), (0.125, 0.75)]


def test_what_was_measured_is_reported_from_the_shell(url):
    begin = ("--policy", "adaptive:switching_cost=0.3", "--arms", "a,b")
    scale = hf.Scale(latency=(0, 10, 3), price=(0, 0.02), error=0.9)
    written = ("--scale", "latency=0:10:3,price=0:0.02,error=0.9")
    first, second, third, fourth = (run("ask", url, "g", *begin, *written).split()[0] for _ in range(4))
    assert run("tell", url, "g", first, "--measured", "latency=1.5,price=0.004") == "told\n"
    assert run("tell", url, "g", second, "--error") == "told\n"
    assert run("tell", url, "g", third, "--reward", "0.75") == "told\n"
    expected = scale.loss(latency=1.5, price=0.004) + 0.9 + 0.25
    assert json.loads(run("show", url, "g", "--json"))["losses"] == pytest.approx(expected)
    run("change", url, "g", "--scale", "latency=0:2")
    assert run("tell", url, "g", fourth, "--measured", "latency=1") == "told\n"
    assert json.loads(run("show", url, "g", "--json"))["losses"] == pytest.approx(expected + 0.5)


def test_an_outcome_that_makes_no_sense_is_refused(url):
    id = run("ask", url, "g", "--policy", "exp3", "--arms", "a,b").split()[0]
    for message, words in (
        ("measured must be names with values", ("--measured", "1.5")),
        ("measured must have a number after latency=", ("--measured", "latency=fast")),
        ("latency needs a scale", ("--measured", "latency=1.5")),
        ("LOSS must be a finite number", ()),
        ("must not be given together", ("0.5", "--error")),
    ):
        refuse([(message, lambda words=words: run("tell", url, "g", id, *words))])
    rule = "must be latency=low:high or latency=low:high:weight"
    refuse([(rule, lambda: run("change", url, "g", "--scale", "latency=3"))])


def test_several_games_are_shown_side_by_side(url):
    routers = hf.open_many(url, {"chat": SWITCH, "search": hf.Exp3(arms=["c", "d"]), "mail": SWITCH})
    for router in routers.values():
        play(router, 20)
    shown = run("show", url, "search", "chat")
    first, second = (line for line in shown.splitlines() if "(" in line and line.split()[0] in ("a", "d"))
    assert first.split()[0] == "d"  # in the order of the names that were given
    assert len(second.split()) in (2, 3)  # an arm of one game only
    for arm in routers["chat"].history.totals.arms:
        assert f"({arm.rounds:,})" in shown
    assert "tsallis-switch" in shown
    assert "mail" not in shown
    assert [game["name"] for game in json.loads(run("show", url, "search", "chat", "--json"))] == ["search", "chat"]
    refuse([("serch", lambda: run("show", url, "chat", "serch"))], hf.UnknownGame)


def test_players_are_listed_beside_one_whose_policy_is_not_found(url):
    class Own(hf.Exp3):
        """Not found by its name, as a class of a module that is not installed."""

    hf.open(url, "chat", SWITCH).close()
    hf.open(url, "own", Own(2)).close()
    listed = run("list", url)
    assert "chat" in listed
    assert "\nown: " in listed
    assert listed.endswith("or give the policy itself, policy=...\n")
    first, second = json.loads(run("list", url, "--json"))
    assert (first["name"], second["name"]) == ("chat", "own")
    assert "Own" in second["error"]


def test_losses_in_units_of_ones_own(url):
    begin = ("--policy", "exp3", "--arms", "a,b", "--units", "0,500")
    (id, _) = run("ask", url, "money", *begin).split()
    assert run("tell", url, "money", id, "420") == "told\n"
    assert json.loads(run("show", url, "money", "--json"))["losses"] == 420.0
    refuse([("begin one with --policy", lambda: run("ask", url, "money", "--units", "0,500"))])
    for wrong in ("500", "a,b", "5,1", "0,inf"):
        refuse([("--units must be two numbers", lambda wrong=wrong: run("ask", url, "other", *begin[:-1], wrong))])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_log_is_exported_as_replay_reads_it(url, folder, suffix):
    with hf.open(url, "chat", hf.Exp3(arms=["a", "b"]), seed=1) as router:
        arms = play(router, 400)
    file = folder / f"log.{suffix}"
    run("export", url, "chat", "--out", str(file))
    log = pl.read_csv(file, try_parse_dates=True) if suffix == "csv" else pl.read_parquet(file)
    of_the_loss = ["time", "arm", "loss", "probability", "block", "single", "status", "conversation"]
    assert log.columns == [*of_the_loss, "by", "id", "request", "key", "asked", "told", "measures"]
    assert log["arm"].to_list() == arms
    assert log["time"].dtype == pl.Datetime("us", "UTC")
    refuse([(r"out must end in \.csv or \.parquet", lambda: run("export", url, "chat", "--out", "log.txt"))])
    words = ("--logged", "--switching-cost", "1", "--index", "time", "--block-column", "block")
    replayed = command_here("replay", str(file), *words)
    assert replayed.returncode == 0, replayed.stderr
    assert "400 rounds in 400 blocks, 2 arms" in replayed.stdout.replace("\n", " ")


def test_old_rows_are_removed_from_the_shell(url):
    with hf.open(url, "jobs", hf.Exp3(arms=["a", "b"]), seed=1) as router:
        router.tell([(decision.id, 0.5) for decision in router.ask(30)])
    assert run("compact", url, "jobs", "--keep", "10").strip() == "20 blocks removed"
    assert json.loads(run("compact", url, "jobs", "--keep", "10", "--json")) == {"removed": 0}
    run("change", url, "jobs", "--keep", "5")
    with hf.open(url, "jobs", keep=5, settings="same") as router:
        assert router.history.totals.rounds == 30


def test_a_canary_from_the_shell(url):
    hf.open(url, "jobs", hf.Exp3(arms=["old", "b"]), seed=1).close()
    run("change", url, "jobs", "--add", "new-1", "--share", "new-1=0.2", "--reason", "a canary")
    with hf.open(url, "jobs") as router:
        assert router.shares == {"new-1": 0.2}
        router.tell([(decision.id, 0.9 if decision.arm == "new-1" else 0.1) for decision in router.ask(800)])
    said = run("judge", url, "jobs", "new-1", "--against", "old").strip()
    assert said.startswith("worse: new-1 loses 0.")
    assert json.loads(run("judge", url, "jobs", "new-1", "--against", "old", "--json"))["verdict"] == "worse"
    run("change", url, "jobs", "--retire", "new-1", "--reason", said)
    run("change", url, "jobs", "--share", "b=0.01:0.5:7d")
    run("change", url, "jobs", "--share", "")
    budget, share = "must be a number of switches and a time", "must be the most that each of some arms may have"
    wrong = ((budget, "--most-switches", "10"), (budget, "--most-switches", "off"), (share, "--share", "b"))
    for rule, *words in wrong:
        refuse([(rule, lambda words=words: run("change", url, "jobs", *words))])
    run("change", url, "jobs", "--most-switches", "switches=9,over=1h")
    run("change", url, "jobs", "--most-switches", "10,1d")
    assert "10 of 10 switches in 1d are left." in " ".join(run("show", url, "jobs").split())
    with hf.open(url, "jobs") as router:
        assert (router.shares, router.switches_left) == ({}, 10)
        assert router.history.changes[1]["reason"] == said
