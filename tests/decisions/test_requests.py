"""Requests are values: one definition of each option, whichever way a call comes."""

import asyncio
import shutil
import subprocess
import sys
from dataclasses import fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

import holdfast as hf
from holdfast.decisions.cli import NOT_OPTIONS
from holdfast.decisions.options import HELP, LOCAL, given, options_of
from holdfast.decisions.requests import Ask, AskOptions, End, Observe, Settle
from holdfast.decisions.rules import TRANSITIONS
from holdfast.decisions.settings import SETTINGS, SettingOptions, Settings
from holdfast.service.api import document
from holdfast.service.messages import AskBody

FIELDS = [one.name for one in fields(Ask)]
SENT = [one.name for one in fields(Ask) if LOCAL not in one.metadata]
SOURCE = Path(hf.__file__).parent


def test_editors_know_every_option():
    assert ["n", *AskOptions.__annotations__] == FIELDS
    assert [*SettingOptions.__annotations__] == [*SETTINGS, "shadow"]
    every = [one for one, _ in [*options_of(Ask).values(), *options_of(Settings).values()]]
    assert all(one.metadata[HELP].endswith(".") for one in every)


def test_a_router_takes_every_option():
    router = hf.open("memory:", "game", hf.Exp3(arms=["a", "b"]), seed=1)
    assert router.ask(**dict.fromkeys(FIELDS[1:])).recorded
    assert asyncio.run(router.aask(2, **dict.fromkeys(FIELDS[1:])))[1].recorded
    for name in sorted({*FIELDS[1:]} - {"rule"}):  # which nobody looks at without a holdback
        with pytest.raises(hf.HoldfastError, match=name):
            router.ask(**{name: object()})
    for call in (router.ask, router.change, partial(hf.open, "memory:", "other")):
        with pytest.raises(TypeError, match=r"unexpected option 'colour'"):
            call(colour="red")


def test_http_and_the_shell_take_every_option_that_is_sent():
    schema = document()["components"]["schemas"]["Ask"]["properties"]
    assert list(AskBody.__struct_fields__) == SENT
    assert {name: one["description"] for name, one in schema.items()} == {
        name: one.metadata[HELP] for name, (one, _) in options_of(Ask).items()
    }
    command = [sys.executable, "-m", "holdfast", "store", "ask", "--help"]
    text = " ".join(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    for name in SENT:
        assert f"--{name.replace('_', '-')} " in text or name == "n"
        assert name in NOT_OPTIONS or options_of(Ask)[name][0].metadata[HELP] in text


def test_only_what_was_given_is_checked_and_sent():
    assert given(Ask()) == {}
    assert given(Ask(3, key="k", deadline=2.0)) == {"n": 3, "key": "k"}
    assert given(Observe([0.5, 1], at=datetime(2026, 1, 1, tzinfo=UTC))).keys() == {"losses", "at"}
    for wrong, rule in (
        (lambda: Ask(0), "n must be a whole number from 1"),
        (lambda: Ask(available="a"), "available must be a list of arms"),
        (lambda: Ask(key=""), "key must be a name"),
        (lambda: Ask(deadline=0), "deadline must be a finite number above 0"),
        (lambda: Observe(0.5), "losses must be numbers by arm"),
        (lambda: Observe([0.5], at="now"), "at must be a datetime with its zone"),
        (lambda: End(None), "key must be a name"),
    ):
        with pytest.raises(hf.InvalidParameter, match=rule):
            wrong()
    assert Settle() == Settle()


ADDED = {
    "decisions/requests.py": (
        '    fallback: int | str | None = option("The arm',
        '    colour: str | None = option("A colour.", checked_name)\n',
    ),
    "decisions/rules/ask.py": (
        "    clock = view.time()\n    setup, head =",
        '    if request.colour:\n        return InvalidParameter("colour", "has come through", request.colour)\n',
    ),
}
"""An option of ask, and what it does: before which line of which file."""

CALLS = """if True:
    import asyncio, subprocess, sys
    import holdfast as hf, holdfast_client
    from holdfast.service.api import document
    from service import InThread

    url = f"sqlite:///{sys.argv[1]}/games.db"

    def refused(call):
        try:
            call()
        except (hf.InvalidParameter, holdfast_client.Problem) as error:
            assert "colour has come through; got 'red'" in str(error), error
        else:
            raise AssertionError("it has not come through")

    with hf.open(url, "game", hf.Exp3(arms=["a", "b"]), seed=1) as router:
        refused(lambda: router.ask(colour="red"))
        refused(lambda: asyncio.run(router.aask(2, colour="red")))
    assert document()["components"]["schemas"]["Ask"]["properties"]["colour"]["description"] == "A colour."
    with InThread(url) as web:
        refused(lambda: hf.open(web.url, "game").ask(colour="red"))
        refused(lambda: holdfast_client.open(web.url, "game").ask(colour="red"))
    command = [sys.executable, "-m", "holdfast", "store", "ask", url, "game", "--colour", "red"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "--colour has come through; got 'red'" in done.stderr, done.stderr
    print("all of them")
"""


GAME_ADDED = {
    "decisions/settings.py": (
        "    held_since: int = field(",
        '    colour: int | None = option("A colour.", partial(whole_number, least=1))\n',
    ),
}
"""A setting of a game: its field in `Settings`. (Its type in `SettingOptions` is for editors.)"""

GAME_CALLS = """if True:
    import json, subprocess, sys
    import holdfast as hf, holdfast_client
    from holdfast.service.api import document
    from service import InThread

    url, arms = f"sqlite:///{sys.argv[1]}/games.db", ["a", "b"]

    def shell(*words):
        command = [sys.executable, "-m", "holdfast", "store", *words]
        return subprocess.run(command, capture_output=True, text=True)

    def refused(call):
        try:
            call()
        except (hf.InvalidParameter, holdfast_client.Problem) as error:
            assert "colour must be a whole number of at least 1; got 0" in str(error), error
        else:
            raise AssertionError("it was not checked")

    def colour(name="game"):
        with hf.open(url, name) as router:
            return router.executor.setup.settings.colour

    with hf.open(url, "game", hf.Exp3(arms=arms), seed=1, colour=3) as router:
        assert colour() == 3
        router.change(colour=4)
        refused(lambda: router.change(colour=0))
        refused(lambda: hf.open(url, "other", hf.Exp3(arms=arms), colour=0))
        assert [one["detail"] for one in router.history.changes] == [{"colour": [3, 4]}]
    schemas = document()["components"]["schemas"]
    for kind in ("NewGame", "Changes"):
        assert schemas[kind]["properties"]["colour"]["description"] == "A colour."
    assert schemas["GameView"]["properties"]["colour"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    with InThread(url) as web:
        game = hf.open(web.url, "game")
        game.change(colour=5)
        refused(lambda: game.change(colour=0))
        assert colour() == 5
        client = holdfast_client.open(web.url, "new", policy="exp3", arms=arms, colour=6)
        assert colour("new") == 6
        assert client.change(colour=7)["colour"] == client.view()["colour"] == 7
        refused(lambda: client.change(colour=0))
        assert hf.open(web.url, "third", hf.Exp3(arms=arms), colour=8).executor.view["colour"] == 8
    done = shell("ask", url, "fourth", "--policy", "exp3", "--arms", "a,b", "--colour", "9")
    assert colour("fourth") == 9, done.stderr
    assert shell("change", url, "fourth", "--colour", "10").returncode == 0
    assert colour("fourth") == 10
    wrong = shell("change", url, "fourth", "--colour", "0").stderr
    assert "--colour must be a whole number of at least 1; got 0" in wrong
    print("all of them")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("added", "calls"), [(ADDED, CALLS), (GAME_ADDED, GAME_CALLS)], ids=["of ask", "of a game"])
def test_an_option_is_added_where_it_is_declared_and_used_alone(tmp_path, added, calls):
    """Added in a copy of the package, it is there in Python, over HTTP, in the client and in a shell."""
    shutil.copytree(SOURCE, tmp_path / "holdfast")
    shutil.copytree(SOURCE.parent / "holdfast_client", tmp_path / "holdfast_client")
    for file, (before, line) in added.items():
        text = (tmp_path / "holdfast" / file).read_text()
        assert text.count(before) == 1
        (tmp_path / "holdfast" / file).write_text(text.replace(before, line + before))
    path = f"{tmp_path}:{SOURCE.parents[1]}/tests/support"
    command = [sys.executable, "-c", calls, str(tmp_path)]
    environment = {"PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.stdout.strip() == "all of them", done.stderr[-2000:]


def test_every_request_has_a_rule():
    assert all(
        callable(rule) and rule.__doc__ for kind, rule in TRANSITIONS.items() if kind.__module__[:8] == "holdfast"
    )
