"""A marked password, and the secret that signs a game's ids, go through everything: they come out nowhere."""

import gc
import json
import logging
import pickle
import re
import time
import traceback
import warnings
from contextlib import suppress
from urllib.parse import quote

import psycopg
import pytest
from commands import command_here
from games import SWITCH
from places import fresh_database
from postgres_server import PrivateServer

import holdfast as hf
from holdfast.decisions import backup, executor, restore

MARK = "MARKED7f3a"
PASSWORD = f"{MARK} #?/@:&%[]{MARK}"


@pytest.fixture(scope="module")
def guarded(postgres):
    """A server that asks the role `u` for its password."""
    with PrivateServer() as server:
        rules = server.folder / "data" / "pg_hba.conf"
        rules.write_text("host all u 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(psycopg.sql.SQL("CREATE ROLE u LOGIN SUPERUSER PASSWORD {}").format(PASSWORD))
            connection.execute("SELECT pg_reload_conf()")
        yield server


@pytest.fixture
def heard(caplog, capsys):
    """A list for all that can be seen; at the end, with logs, warnings and output, nothing in it is marked."""
    caplog.set_level(logging.DEBUG)
    seen: list[object] = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield seen
        gc.collect()
    seen += [record.getMessage() for record in caplog.records]
    seen += [str(vars(record)) for record in caplog.records]
    seen += [str(warning.message) for warning in warned]
    seen += capsys.readouterr()
    for text in [one.decode("latin1") if isinstance(one, bytes) else str(one) for one in seen]:
        for secret in {MARK, *SECRETS}:
            assert secret not in text, text.replace(secret, "***")


SECRETS: set[str] = set()
"""Secrets that sign the ids of the games begun here."""


def forms(url: str) -> dict[str, str]:
    """One address, with its password in every place."""
    place, password = url.partition("postgres@")[2], quote(PASSWORD, safe="")
    host, _, database = place.partition("/")
    port = host.partition(":")[2]
    return {
        "in front of the host": f"postgresql://u:{password}@{place}",
        "short scheme": f"postgres://u:{password}@{place}",
        "as an option": f"postgresql://u@{place}?password={password}",
        "user as an option too": f"postgresql://{place}?user=u&password={password}&application_name=test",
        "all as options": f"postgresql:///{database}?host=127.0.0.1&port={port}&user=u&password={password}",
        "two passwords": f"postgresql://u:{MARK}@{place}?password={password}&sslmode=disable",
    }


def seen_of(error: BaseException) -> list[object]:
    """All that can be seen of an error: printed, logged or sent to another process."""
    sent = pickle.dumps(error.__reduce__()[1:])  # not `error`: Dask, once imported, adds what `from None` hides
    return [str(error), repr(error), error.args, vars(error), *traceback.format_exception(error), sent]


def refused(heard: list[object], kind: type[Exception], call) -> None:
    with pytest.raises(kind) as raised:
        call()
    heard += seen_of(raised.value)


@pytest.mark.parametrize("form", forms("postgres@x/y"))
def test_every_call_and_refusal(form, guarded, heard, tmp_path):
    url = forms(fresh_database(guarded))[form]
    router = hf.open(url, "game", SWITCH, seed=1, patience=3, timeout=5, retry=0)
    SECRETS.add(router._executor.setup.game.secret)
    decisions = router.ask(8)
    heard += [repr(router), repr(router.store), vars(router), router.policy, router.store.url, decisions]
    heard += [router.tell(decisions[-1].id, 0.5), router.settle(), router.arm, router.hold, router.probabilities]
    router.change(switching_cost=0.25, add_arms=["d"], reason="why")
    history = router.history
    heard += [history, history.totals, history.changes, list(history.blocks()), history.frame, history.log]
    for suffix in ("csv", "parquet"):
        history.export(tmp_path / f"log.{suffix}")
        heard.append((tmp_path / f"log.{suffix}").read_bytes())
    heard += [history.compact(keep=1), router.open_decisions]
    hf.fleet_to_store(hf.Fleet(hf.Exp3(2), 2, seed=1), url, "device {}".format)
    heard.append(hf.fleet_from_store(url, ["device 0"]))
    SECRETS.update(hf.open(url, f"device {i}")._executor.setup.game.secret for i in range(2))
    id = router.ask().id
    router.tell(id, 0.5)
    refused(heard, hf.AlreadyTold, lambda: router.tell(id, 0.25))
    late = router.ask(40)[0].id
    router.ask(40)
    router.ask()
    refused(heard, hf.TooLate, lambda: router.tell(late, 0.5, in_time=True))
    refused(heard, hf.InvalidParameter, lambda: router.tell(id, 7))
    refused(heard, hf.UnknownDecision, lambda: router.tell(id[:-1] + "x", 0.5))
    refused(heard, hf.errors.SomeRefused, lambda: router.tell({id: 7.0, "x": 0.5}))
    refused(heard, hf.UnknownGame, lambda: hf.open(url, "nobody"))
    refused(heard, hf.OtherSettings, lambda: hf.open(url, "game", SWITCH, settings="same"))
    refused(heard, TypeError, lambda: pickle.dumps(router))
    refused(heard, hf.InvalidParameter, lambda: backup(url, tmp_path / "copy"))
    refused(heard, hf.InvalidParameter, lambda: restore(tmp_path / "log.csv", url))
    router.close()


def test_errors_of_the_server(guarded, heard):
    direct = fresh_database(guarded)
    url = forms(direct)["in front of the host"]
    router = hf.open(url, "game", SWITCH, seed=1, timeout=0.3, retry=0)
    with psycopg.connect(direct) as other:
        other.execute("SELECT * FROM holdfast_heads FOR UPDATE")
        refused(heard, hf.StoreError, router.ask)
    for damage in ("UPDATE holdfast_heads SET arm = 99", "DELETE FROM holdfast_states", "DROP TABLE holdfast_asks"):
        with psycopg.connect(direct, autocommit=True) as other:
            other.execute(damage)
        refused(heard, hf.StoreError, lambda: router.ask(9))
    with psycopg.connect(direct, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'u'")
    with suppress(hf.HoldfastError):
        heard.append(repr(router))
    refused(heard, hf.StoreError, lambda: hf.open(url.replace(f":{guarded.port}/", ":1/"), "game", SWITCH, retry=0))


@pytest.mark.parametrize("form", ["in front of the host", "as an option", "user as an option too"])
def test_a_wrong_password_fails_at_once(form, guarded, heard):
    url = forms(fresh_database(guarded))[form].replace(MARK, f"{MARK}x")
    begun = time.monotonic()
    refused(heard, hf.StoreError, lambda: hf.open(url, "game", SWITCH))
    assert "refuses the connection" in str(heard[0])
    assert "password authentication failed" in str(heard[0])
    assert time.monotonic() - begun < 15


@pytest.mark.slow
@pytest.mark.parametrize("form", ["in front of the host", "user as an option too"])
def test_every_command(form, guarded, heard, tmp_path, monkeypatch):
    monkeypatch.setattr(executor, "WAIT", 40.0)  # longer than a command tries: there is no second attempt
    direct = fresh_database(guarded)
    url = forms(direct)[form]
    begin = ("--policy", "tsallis-switch", "--arms", "a,b", "--switching-cost", "0.35", "--patience", "5")

    def shell(*words: str, code: int | None = 0) -> str:
        ran = command_here("store", *words)
        heard.extend([ran.stdout, ran.stderr])
        assert (ran.returncode == 0) is (code == 0), ran.stderr
        return str(ran.stdout)

    id = shell("ask", url, "game", *begin).split()[0]
    with hf.open(direct, "game") as router:
        SECRETS.add(router._executor.setup.game.secret)
    assert json.loads(shell("ask", url, "game", "--json"))["arm"] in ("a", "b")
    shell("tell", url, "game", id, "0.5")
    shell("change", url, "game", "--switching-cost", "0.5")
    shell("settle", url, "game", "--json")
    shell("export", url, "game", "--out", str(tmp_path / "log.csv"))
    heard.append((tmp_path / "log.csv").read_text())
    for json_too in ((), ("--json",)):
        shell("list", url, *json_too)
        shell("show", url, "game", *json_too)
        for words in (
            ("ask", url, "nobody"),
            ("ask", url, "game", *begin, "--units", "0,7"),
            ("tell", url, "game", id, "0.75"),
            ("tell", url, "game", "x", "0.5"),
            ("show", url, "nobody"),
            ("export", url, "game", "--out", str(tmp_path / "log.txt")),
            ("backup", url, str(tmp_path / "copy")),
            ("restore", str(tmp_path / "log.csv"), url),
            ("show", url.replace(MARK, f"{MARK}x"), "game"),
            ("show", re.sub(r":\d+/", ":1/", url, count=1), "game"),
            ("show", url, url),
            (url, url),
        ):
            shell(*words, *json_too, code=None)


@pytest.mark.slow
def test_an_address_where_a_file_is_meant(heard, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    address = f"postgresql://user:{MARK}@host/database.db"
    router = hf.open(f"sqlite:///{tmp_path}/g.db", "game", hf.Exp3(2), seed=1)
    SECRETS.add(router._executor.setup.game.secret)
    refused(heard, hf.InvalidParameter, lambda: router.history.export(address))
    refused(heard, hf.InvalidParameter, lambda: router.history.export(f"postgresql://host/games?password={MARK}&x=1"))
    refused(heard, hf.InvalidParameter, lambda: backup(f"sqlite:///{tmp_path}/g.db", address))
    refused(heard, hf.HoldfastError, lambda: restore(address, f"sqlite:///{tmp_path}/new.db"))
    refused(heard, hf.HoldfastError, lambda: hf.Player.load(address))
    refused(heard, hf.HoldfastError, lambda: hf.Fleet.load(address))
    refused(heard, hf.HoldfastError, lambda: hf.replay(address, switching_cost=1.0))
