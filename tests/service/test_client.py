"""The light client: what it imports, what it fetches ahead, and how it says what went wrong."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from service import GAME, InThread, free_port

import holdfast as hf
import holdfast_client
from holdfast_client import Problem, Server, Unreachable
from holdfast_client.connection import checked_token

BOTH = ["ask", "tell", "end", "observe", "settle", "change"]
GAME_VERBS = [*BOTH, "tell_all", "view", "summary", "compare", "judge", "export"]
ROUTER_VERBS = [*BOTH, "pause", "resume", "pin", "unpin", "close"]
ROOT = Path(__file__).parents[2]
LONG = {
    "policy": "exp3-blocks",
    "arms": ["a", "b", "c"],
    "switching_cost": 1000.0,
    "parameters": {"horizon": 100_000},
    "seed": 1,
}
"""Blocks of hundreds of rounds."""


@pytest.fixture
def game(web, request):
    with holdfast_client.open(web.url, request.node.name, **GAME) as found:
        yield found


def test_it_needs_nothing_but_the_standard_library():
    code = "import sys; before = set(sys.modules); import holdfast_client; print(*(set(sys.modules) - before))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    roots = {name.partition(".")[0] for name in found} - {"holdfast_client"}
    assert roots <= sys.stdlib_module_names
    described = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text())
    assert "dependencies" not in described["project"]
    assert holdfast_client.__version__ == hf.__version__
    assert (ROOT / "client" / "holdfast_client").resolve() == ROOT / "src" / "holdfast_client"


def test_ask_and_tell(game):
    first, second = game.ask(2)
    assert game.tell(first.id, 0.25) == holdfast_client.Receipt(first.id, True)
    assert game.tell(first.id, loss=0.25).new is False
    assert game.tell(second.id, reward=0.25).new
    with pytest.raises(Problem) as caught:
        game.tell(first.id, 0.5)
    assert (caught.value.status, caught.value.error) == (409, "AlreadyTold")
    assert caught.value.content["recorded"] == 0.25
    third = game.ask(request="order 3")
    assert game.ask(request="order 3") == third
    kept, refused = game.tell_all({third.id: 0.5, "nonsense": {"loss": 0.5}})
    assert kept.new
    assert refused.error == "UnknownDecision"
    assert game.summary()["losses"] == 0.25 + 0.75 + 0.5
    assert game.change(pause="a", until="10m", reason="down")["paused"][0]["arm"] == "a"
    assert game.end("nobody") is False


def test_an_event_loop_goes_on(game):
    async def play():
        decisions = await asyncio.gather(*(game.aask() for _ in range(40)))
        return await asyncio.gather(*(game.atell(d.id, 0.5) for d in decisions))

    receipts = asyncio.run(play())
    assert len({one.id for one in receipts}) == 40
    assert game.summary()["losses"] == 20.0


def test_who_cannot_be_reached():
    with pytest.raises(Unreachable, match="cannot be reached"):
        holdfast_client.open(f"http://127.0.0.1:{free_port()}", "game", retry=0.1)
    with pytest.raises(ValueError, match="url must be the address") as caught:
        holdfast_client.open("http://user:secret@host", "game")
    assert "secret" not in str(caught.value)


@pytest.fixture
def waited(monkeypatch):
    """What the client has slept; nothing else takes time."""
    slept: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: 100.0 + sum(slept), sleep=slept.append)
    monkeypatch.setattr("holdfast_client.connection.time", clock)
    return slept


class Scripted(Server):
    """Answers with these statuses, one after the other, the last one again and again."""

    def __init__(self, *statuses, **options):
        super().__init__("http://127.0.0.1:1/tools/", **options)
        self.statuses, self.asked = list(statuses), []

    def _once(self, method, path, data, seconds, connect):
        self.asked.append((path, seconds, connect))
        self.sent = method, path, data and json.loads(data)
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        if isinstance(status, Exception):
            raise status
        return status, b'{"names": ["a"]}' if status < 400 else b"<html>"


@pytest.mark.parametrize(
    ("statuses", "options", "raised", "waits"),
    [
        ([429, 502, 503, 504, 200], {}, None, [0.05, 0.1, 0.2, 0.4]),
        ([ConnectionResetError("cut"), TimeoutError(), 200], {}, None, [0.05, 0.1]),
        ([404, 200], {}, Problem, []),
        ([500, 200], {}, Problem, []),
        ([503], {}, Unreachable, [0.05, 0.1, 0.2, 0.4]),  # 0.8 more would be beyond a second
        ([503], {"retry": 0.0}, Unreachable, []),
        ([503], {"retry": 5.0}, Unreachable, [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0]),
    ],
)
def test_what_is_asked_again_and_when(waited, statuses, options, raised, waits):
    server = Scripted(*statuses, **options)
    if raised is None:
        assert server.json("GET", "/v1/games") == {"names": ["a"]}
    else:
        with pytest.raises(raised, match="cannot be reached" if raised is Unreachable else r"status \d+: <html>"):
            server.json("GET", "/v1/games")
    assert waited == pytest.approx(waits)
    assert [path for path, _, _ in server.asked] == ["/tools/v1/games"] * (len(waits) + 1)
    assert {seconds for _, seconds, _ in server.asked} == {60.0}


def test_a_deadline_is_for_all_attempts_together(waited):
    server = Scripted(503)
    with pytest.raises(Unreachable):
        server.call("GET", "/", seconds=0.5)
    assert waited == pytest.approx([0.05, 0.1, 0.2])
    left = pytest.approx([0.5, 0.45, 0.35, 0.15])
    assert [seconds for _, seconds, _ in server.asked] == left == [connect for *_, connect in server.asked]


def test_a_fallback_answers_for_a_server_that_is_away_or_broken(waited):
    for failure in (OSError("no route"), 500, 503):
        game = holdfast_client.Game(Scripted(failure), "game")
        found = game.ask(2, fallback="a")
        assert [(one.arm, one.probability, one.recorded) for one in found] == [("a", 1.0, False)] * 2
        assert found[0].id != found[1].id
        with pytest.raises(Problem if failure == 500 else Unreachable):
            game.ask()
    with pytest.raises(Problem):
        holdfast_client.Game(Scripted(200, 404), "game").ask(fallback="a")  # which is the caller's mistake


def test_what_is_sent_says_all_that_was_given(waited):
    server = Scripted(503, retry=0.0)
    game = holdfast_client.Game(server, "a/b")
    place = "/tools/v1/games/a%2Fb"
    requests = set()
    for call, sent in (
        (
            lambda: game.tell("1-2/3", 0.5, in_time=True),
            ("PUT", "/decisions/1-2%2F3/loss", {"loss": 0.5, "in_time": True}),
        ),
        (lambda: game.tell("1", reward=0.5), ("PUT", "/decisions/1/loss", {"reward": 0.5})),
        (lambda: game.end("k/1"), ("POST", "/keys/k%2F1/end", None)),
        (lambda: game.compact(9), ("POST", "/compact", {"keep": 9})),
        (lambda: game.export("days"), ("GET", "/export?format=parquet&what=days", None)),
        (lambda: game.judge("c d", 7, 0.9), ("GET", "/judge?arm=c+d&against=7&confidence=0.9", None)),
        (lambda: game.ask(2, key="k"), ("POST", "/decisions", {"n": 2, "key": "k"})),
        (lambda: game.observe([0.5, 1], at="noon"), ("POST", "/observations", {"losses": [0.5, 1], "at": "noon"})),
    ):
        with pytest.raises(Unreachable):
            call()
        method, path, body = server.sent
        if sent[1] in ("/decisions", "/observations"):
            requests.add(body.pop("request"))  # so that it may be sent again
        assert (method, path, body) == (sent[0], place + sent[1], sent[2])
    assert len(requests) == 2
    assert all(len(one) == 24 for one in requests)


def test_many_losses_and_long_lists_go_in_parts(monkeypatch):
    sent = []

    def send(method, path="", body=None, seconds=None):
        sent.append((path, body and len(body["losses"])))
        if method == "POST":
            return {"verdicts": [{"new": one["id"] != "5500", "late": False} for one in body["losses"]]}
        return {"blocks": [path], "next": len(sent) if len(sent) < 5 else None}

    game = holdfast_client.Game(Scripted(200), "game")
    monkeypatch.setattr(game, "send", send)
    receipts = game.tell_all((str(number), 0.5) for number in range(5_001 + 1_000))
    assert [one.id for one in receipts if not one.new] == ["5500"]
    assert [one.id for one in receipts] == [str(number) for number in range(6_001)]
    assert sent == [("/losses", 5_000), ("/losses", 1_001)]
    pages = [f"/blocks?limit=1000{cursor}" for cursor in ("", "&cursor=3", "&cursor=4")]
    assert list(game.listed("blocks")) == pages


def test_an_answer_that_does_not_come_is_not_asked_for_on_another_connection():
    """On a connection that was kept: only one that the server has closed meanwhile is replaced."""
    requests = []

    def answer(listening):
        wire, _ = listening.accept()
        with wire:
            while data := wire.recv(65536):
                requests.append(data)
                if len(requests) == 1:
                    wire.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(30)
        thread = threading.Thread(target=answer, args=(listening,))
        thread.start()
        server = Server(f"http://127.0.0.1:{listening.getsockname()[1]}", retry=0.0)
        assert server.json("GET", "/") == {}
        server._timeout, begun = 0.3, time.monotonic()
        with pytest.raises(Unreachable, match="timed out"):
            server.json("GET", "/")
        assert time.monotonic() - begun < 30.0
        server.close()
        thread.join(30)
        assert len(requests) == 2
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody else wants to be let in
            listening.accept()
    assert not thread.is_alive()


def test_an_attempt_to_connect_ends_with_the_retries(waited, monkeypatch):
    given: list[float] = []

    def connect(line):
        given.append(line.timeout)
        raise ZeroDivisionError

    monkeypatch.setattr("http.client.HTTPConnection.connect", connect)
    for retry, longest in ((1.0, 1.0), (30.0, 5.0), (0.0, 0.05)):
        with pytest.raises(ZeroDivisionError):
            Server("http://127.0.0.1:1", retry=retry).call("GET", "/")
        assert given.pop() == pytest.approx(longest)


def test_a_server_that_does_not_answer_is_not_waited_for():
    """Also by two hundred that ask at once, of whom sixteen have a thread."""
    with socket.create_server(("127.0.0.1", 0), backlog=300) as mute:
        game = holdfast_client.Game(Server(f"http://127.0.0.1:{mute.getsockname()[1]}"), "game")
        game._arms = ["a", "b"]

        async def play():
            asked = (game.aask(fallback="b", deadline=0.2) for _ in range(200))
            return await asyncio.wait_for(asyncio.gather(*asked), 10)

        found = asyncio.run(play())
        assert {(one.arm, one.recorded) for one in found} == {("b", False)}
        with pytest.raises(Unreachable, match=r"within 0\.05 s|timed out"):  # whose clock is first
            asyncio.run(game.atell("1-1-1-1", 0.5, deadline=0.05))
        game.close()


def test_a_fallback_is_an_arm_and_is_only_for_what_fails(game):
    with pytest.raises(ValueError, match="fallback must be an arm of the game, 'a', 'b', 'c'; got 'model-a'"):
        game.ask(fallback="model-a")
    game.change(add_arms=["d"])
    assert game.ask(fallback="d").recorded
    with pytest.raises(Problem, match="available"):
        game.ask(fallback="a", available=["nobody"])
    for arm in "bcd":
        game.change(pause=arm)
    down = game.ask(fallback="b", available=["b"])
    assert (down.arm, down.recorded) == ("b", False)
    with pytest.raises(Problem) as caught:
        game.tell(down.id, 0.5)
    assert (caught.value.status, caught.value.error) == (404, "UnknownDecision")


def test_every_verb_has_an_asynchronous_form(game):
    for kind, names in ((holdfast_client.Game, GAME_VERBS), (hf.Router, ROUTER_VERBS)):
        for name in names:
            assert asyncio.iscoroutinefunction(getattr(kind, f"a{name}")), name
            assert getattr(kind, f"a{name}").__doc__.startswith(f"Like `{name}`")

    async def play():
        one = await game.aask(key="x")
        assert [receipt.new for receipt in await game.atell_all({one.id: 0.5})] == [True]
        assert await game.aend("x")
        assert await game.asettle() == 0
        view = await game.achange(pause="a")
        assert view["paused"] == (await game.aview())["paused"] != []
        return await game.asummary()

    assert asyncio.run(play())["told"] == 1


@pytest.mark.parametrize("url", ["memory:", None])
def test_a_router_has_them_too(web, url):
    policy = hf.TsallisInf(arms=["a", "b"])

    async def play(router):
        one = await router.aask(key="x")
        await router.atell(one.id, 0.5)
        assert await router.aend("x")
        assert await router.asettle() == 0
        await router.apause("a", reason="down")
        assert list(router.paused) == ["a"]
        await router.aresume("a")
        await router.apin("b")
        assert (router.pinned, router.paused) == ("b", {})
        await router.aunpin()
        await router.achange(add_arms=["c"], reason="new")
        assert router.policy.arms == ("a", "b", "c")
        with pytest.raises(hf.InvalidParameter):
            await router.aobserve([0.1, 0.2, 0.3])

    with hf.open(url or web.url, "asynchronous", policy, seed=1) as router:
        asyncio.run(play(router))


def requests_for(web, path):
    text = web("GET", "/metrics").body.decode()
    lines = [line for line in text.splitlines() if f'route="{path}"' in line and "seconds_count" in line]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


@pytest.mark.parametrize("open_game", [hf.open, holdfast_client.open])
@pytest.mark.parametrize("token", ["hf_1_se cret", "hf_1_secret\nx: y", "hf_1_secrét", "", 7])
def test_a_token_that_is_none_is_refused_and_not_shown(open_game, token):
    with pytest.raises(ValueError, match=r"^token must be what `holdfast token make` printed") as refused:
        open_game("http://127.0.0.1:1", "x", token=token)
    assert "cr" not in str(refused.value)
    assert "http" not in str(refused.value)


def test_white_space_around_a_token_does_not_matter():
    assert checked_token(" hf_94868fd4_hzVm-x\n") == "hf_94868fd4_hzVm-x"


def test_decisions_of_a_block_are_handed_out_without_requests(tmp_path):
    """Fetched decisions are recorded at once; unused ones stay open, and pauses count from the next fetch on."""
    with InThread(f"sqlite:///{tmp_path}/games.db") as web:
        local = holdfast_client.open(web.url, "game", local=True, **LONG)
        plain = hf.open(web.url, "game")
        first = local.ask()
        assert plain.rounds == 1
        held = [local.ask() for _ in range(100)]
        assert {d.arm for d in held} == {first.arm}
        assert plain.rounds == 1 + 256
        assert requests_for(web, "/v1/games/{name}/decisions") == 2
        local.tell_all([(d.id, 0.5) for d in held])
        assert len(plain.open_decisions) == 1 + 256 - 100
        plain.pause(first.arm)
        assert local.ask().arm == first.arm
        assert local.ask(1, available=["a", "b", "c"])[0].arm != first.arm
        ids = {d.id for d in held} | {local.ask().id for _ in range(400)}
        assert len(ids) == 500
        local.close()
        plain.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_the_other_side_of_a_fork_fetches_its_own(tmp_path):
    with InThread(f"sqlite:///{tmp_path}/games.db") as web:
        game = holdfast_client.open(web.url, "game", local=True, **LONG)
        mine = {game.ask().id for _ in range(5)}
        out, into = os.pipe()
        if not (child := os.fork()):
            os.write(into, " ".join(game.ask().id for _ in range(5)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        theirs = set(os.read(out, 10_000).decode().split())
        os.close(out)
        os.close(into)
        mine |= {game.ask().id for _ in range(5)}
        assert len(mine | theirs) == 15


def test_local_is_refused_where_unused_decisions_would_hold_up_the_game(web):
    waits = {"policy": "base-arithmetic", "parameters": {"n_arms": 2, "horizon": 100, "batches": 10}}
    with pytest.raises(ValueError, match="local must be False"):
        holdfast_client.open(web.url, "waits-for-losses", local=True, **waits)
    with pytest.raises(hf.InvalidParameter, match="local must be False"):
        hf.open(web.url, "waits-for-losses", local=True)
    with pytest.raises(hf.InvalidParameter, match="local is for a server"):
        hf.open("memory:", "chat", hf.Exp3(2), local=True)
