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
from games import refuse

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
    refuse(
        [
            ("n must be a whole number from 1", lambda: Ask(0)),
            ("available must be a list of arms", lambda: Ask(available="a")),
            ("key must be a name", lambda: Ask(key="")),
            ("deadline must be a finite number above 0", lambda: Ask(deadline=0)),
            ("losses must be numbers by arm", lambda: Observe(0.5)),
            ("at must be a datetime with its zone", lambda: Observe([0.5], at="now")),
            ("key must be a name", lambda: End(None)),
        ]
    )
    assert Settle() == Settle()


ADDED = {
    "decisions/requests.py": (
        '    fallback: int | str | None = option("The arm',
        '    colour: str | None = option("A colour.", checked_name)\n',
    ),
    "decisions/rules/ask.py": (
        "    clock = view.clock\n    setup, head =",
        '    if request.colour:\n        return InvalidParameter("colour", "has come through", request.colour)\n',
    ),
    "decisions/settings.py": (
        "    held_since: int = field(",
        '    shade: int | None = option("A shade.", partial(whole_number, least=1))\n',
    ),
}
"""An option of ask, and what it does; a setting of a game in `Settings`: before which line of which file."""

CALLS = """if True:
    import asyncio, json, subprocess, sys
    import holdfast as hf, holdfast_client
    from holdfast.service.api import document
    from service import InThread

    url, arms = f"sqlite:///{sys.argv[1]}/games.db", ["a", "b"]
    COME, LEAST = "colour has come through; got 'red'", "shade must be a whole number of at least 1; got 0"

    def shell(*words):
        command = [sys.executable, "-m", "holdfast", "store", *words]
        return subprocess.run(command, capture_output=True, text=True)

    def refused(call, rule):
        try:
            call()
        except (hf.InvalidParameter, holdfast_client.Problem) as error:
            assert rule in str(error), error
        else:
            raise AssertionError(f"not refused: {rule}")

    def shade(name="game"):
        with hf.open(url, name) as router:
            return router.executor.setup.settings.shade

    with hf.open(url, "game", hf.Exp3(arms=arms), seed=1, shade=3) as router:
        refused(lambda: router.ask(colour="red"), COME)
        refused(lambda: asyncio.run(router.aask(2, colour="red")), COME)
        assert shade() == 3
        router.change(shade=4)
        refused(lambda: router.change(shade=0), LEAST)
        refused(lambda: hf.open(url, "other", hf.Exp3(arms=arms), shade=0), LEAST)
        assert [one["detail"] for one in router.history.changes] == [{"shade": [3, 4]}]
    schemas = document()["components"]["schemas"]
    assert schemas["Ask"]["properties"]["colour"]["description"] == "A colour."
    for kind in ("NewGame", "Changes"):
        assert schemas[kind]["properties"]["shade"]["description"] == "A shade."
    assert schemas["GameView"]["properties"]["shade"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    with InThread(url) as web:
        game = hf.open(web.url, "game")
        refused(lambda: game.ask(colour="red"), COME)
        game.change(shade=5)
        refused(lambda: game.change(shade=0), LEAST)
        assert shade() == 5
        client = holdfast_client.open(web.url, "new", policy="exp3", arms=arms, shade=6)
        refused(lambda: client.ask(colour="red"), COME)
        assert shade("new") == 6
        assert client.change(shade=7)["shade"] == client.view()["shade"] == 7
        refused(lambda: client.change(shade=0), LEAST)
        assert hf.open(web.url, "third", hf.Exp3(arms=arms), shade=8).executor.view["shade"] == 8
    done = shell("ask", url, "fourth", "--policy", "exp3", "--arms", "a,b", "--shade", "9")
    assert shade("fourth") == 9, done.stderr
    assert shell("change", url, "fourth", "--shade", "10").returncode == 0
    assert shade("fourth") == 10
    assert f"--{LEAST}" in shell("change", url, "fourth", "--shade", "0").stderr
    assert f"--{COME}" in shell("ask", url, "game", "--colour", "red").stderr
    print("all of them")
"""


@pytest.mark.slow
def test_an_option_is_added_where_it_is_declared_and_used_alone(tmp_path):
    """Added in a copy of the package, it is there in Python, over HTTP, in the client and in a shell."""
    shutil.copytree(SOURCE, tmp_path / "holdfast")
    shutil.copytree(SOURCE.parent / "holdfast_client", tmp_path / "holdfast_client")
    for file, (before, line) in ADDED.items():
        text = (tmp_path / "holdfast" / file).read_text()
        assert text.count(before) == 1
        (tmp_path / "holdfast" / file).write_text(text.replace(before, line + before))
    path = f"{tmp_path}:{SOURCE.parents[1]}/tests/support"
    command = [sys.executable, "-c", CALLS, str(tmp_path)]
    environment = {"PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300)
    assert done.stdout.strip() == "all of them", done.stderr[-2000:]


def test_every_request_has_a_rule():
    assert all(
        callable(rule) and rule.__doc__ for kind, rule in TRANSITIONS.items() if kind.__module__[:8] == "holdfast"
    )
