"""The service: every endpoint and page on scripted games, a game played over HTTP, its log, and refusals."""

import json
import logging
import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from scripted_games import Clock, Script
from service import InThread
from shown import answer, lines_of_page, shown

import holdfast as hf
from holdfast.service.access import MOST_LIFETIME, TokenFile

SEEN = (
    "scale, drop, time, breaker",
    "holdback, conversations",
    "ramp, operators",
    "few switches, tracking",
    "all losses",
    "units, mean, rounds, little kept",
)
GAME = {"policy": "tsallis-switch", "arms": ["a", "b", "c"], "switching_cost": 1.5, "seed": 1}
READ: tuple[str, ...] = (
    "",
    "/hold",
    "/summary",
    "/blocks?limit=3",
    "/blocks?cursor=5&limit=2",
    "/changes?limit=2",
    "/decisions?limit=3",
)
READ += ("/compare", "/compare?confidence=0.5", "/judge?arm=a&against=b", "/replay?switching_cost=0.5")
READ += ("/export?format=jsonl&what=days", "/export?what=record", "/export?format=jsonl")
PAGES = ("", "/compare", "/judge?arm=a&against=b", "/changes")

REFUSED: list[tuple[str, str, Any]] = [
    ("GET", "/v1/games/nobody", None),
    ("GET", "/v1/nothing", None),
    ("PATCH", "/v1/games", None),
    ("GET", "/v1/games?limit=1001", None),
    ("GET", "/v1/games?limit=ten", None),
    *(
        ("PUT", "/v1/games/new", {**GAME, **more})
        for more in (
            {"policy": "tsalis-switch"},
            {"arms": ["a"]},
            {"arms": ["a", "a"]},
            {"arms": [f"{i}" for i in range(1001)]},
            {"switching_cost": -1},
            {"units": [1, 0]},
            {"units": [1]},
            {"patience": "soon"},
            {"patience": 0},
            {"missing": 2},
            {"keep": 0},
            {"remember": -1},
            {"holdback": 1.5},
            {"breaker": {"failure": 1}},
            {"share": {"z": 0.5}},
            {"share": {"a": 0.5}, "most_switches": [2, "1d"]},
            {"scale": {"latency": [2, 1]}},
            {"scale": 3},
            {"seed": -1},
            {"parameters": {"horizon": 5}},
            {"key_life": "0s"},
            {"learn_after": 0},
            {"move_cost": -1},
            {"colour": 1},
            {"most_switches": [0, "1d"]},
            {"settings": "mine"},
            {"arms": "abc"},
            {"missing": "median"},
        )
    ),
    ("PUT", "/v1/games/g", {**GAME, "switching_cost": 9.0, "settings": "same"}),
    ("PUT", "/v1/games/g", {**GAME, "policy": "exp3", "switching_cost": None}),
    *(
        ("PATCH", "/v1/games/g", body)
        for body in (
            {"pause": "z"},
            {"pause": "a", "pin": "b"},
            {"until": "1m"},
            {"unpin": 1},
            {"unpin": True},
            {"pin": "a", "until": "x"},
            {"retire_arms": ["a", "b"]},
            {"add_arms": ["a"]},
            {"switching_cost": -2},
            {"wanted": {"switching_cost": 7.0}},
            {"add_arms": ["d"], "resume": "a"},
            {"reason": "\n"},
        )
    ),
    *(
        ("POST", "/v1/games/g/decisions", body)
        for body in (
            {"n": 0},
            {"n": 1.5},
            {"n": 10**9},
            {"available": []},
            {"available": ["z"]},
            {"key": ""},
            {"rule": "z"},
            {"m": 1},
            {"switching_cost": 1},
            {"loss_bound": 2},
            {"forecast": [[1]]},
            {"key_life": "1m"},
            {"move_cost": 1},
            b"{",
            b"[]",
            {"key": "k", "move_cost": -1},
            {"fallback": "a"},
        )
    ),
    *(
        ("PUT", "/v1/games/g/decisions/ID/loss", body)
        for body in (
            {"loss": 1.5},
            {"loss": "x"},
            {},
            {"loss": 0.1, "reward": 0.2},
            {"latency": 3},
            {"error": True},
            {"losses": [1, 2]},
            {"failed": False},
            {"loss": 0.25},
            {"loss": 0.5},
            {"loss": 0.25, "in_time": True},
        )
    ),
    ("PUT", "/v1/games/g/decisions/1-1-1/loss", {"loss": 0.5}),
    ("GET", "/v1/games/g/decisions/1-1-1", None),
    ("POST", "/v1/games/g/losses", {"losses": [{"id": "ID", "loss": 0.75}, {"id": "x", "loss": 0}]}),
    ("POST", "/v1/games/g/observations", {"losses": [0.1, 0.2, 0.3]}),
    ("POST", "/v1/games/g/compact", {"keep": -1}),
    ("GET", "/v1/games/g/blocks?cursor=-1", None),
    ("GET", "/v1/games/g/compare?confidence=1", None),
    ("GET", "/v1/games/g/judge?arm=a&against=a", None),
    ("GET", "/v1/games/g/judge?arm=z&against=a", None),
    ("GET", "/v1/games/g/export?format=xls", None),
    ("GET", "/v1/games/g/replay?switching_cost=x", None),
    ("DELETE", "/v1/games/g", None),
    ("DELETE", "/v1/games/g?confirm=h", None),
    ("POST", "/ofrep/v1/evaluate/flags/nobody", {}),
    ("POST", "/ofrep/v1/evaluate/flags/g", {"context": {"targetingKey": 3}}),
    ("GET", "/games/nobody", None),
    ("GET", "/games/g/judge?arm=z&against=a", None),
    ("GET", "/assets/none.css", None),
]
"""Requests that are refused, or change nothing."""


def lines_of(answer, path=""):
    """Status and content, as lines; without what a version and a process have of their own."""
    kind = answer.headers.get("content-type", "")
    yield f"== {path} {answer.status} {kind}"
    text = answer.body.decode() if "parquet" not in kind else ""
    text = text.replace(hf.__version__, "VERSION")
    if "html" in kind:
        yield from lines_of_page(text)
    elif "json" in kind and "jsonl" not in kind:
        for name, value in sorted(json.loads(text).items()) if text.startswith("{") else [("", json.loads(text))]:
            yield from [f"{name}:", *map(shown, value)] if isinstance(value, list) else [f"{name}: {shown(value)}"]
    else:
        yield from map(shown, text.splitlines())


@pytest.fixture
def clock():
    return Clock()


def test_what_a_server_shows(net, tokens, clock, folder):
    url = f"sqlite:///{folder}/games.db"
    given = {}
    for name in SEEN:
        script = Script(name, url, clock, rounds=150)
        given[name] = [[*script.lines()], script.given[-1].id, script.given[len(script.given) // 2].id][1:]
        script.router.close()
    with InThread(url, clock=clock) as web:
        for name in SEEN:
            path, page = f"/v1/games/{quote(name)}", f"/games/{quote(name)}"
            paths = [path + what for what in READ] + [page + what for what in PAGES]
            paths += [f"{path}/decisions/{id}" for id in given[name]]
            paths += [f"{page}/decision?id={id}" for id in given[name]]
            lines = [line for one in paths for line in lines_of(web("GET", one), shown(one))]
            net(name, [line for n, line in enumerate(lines) if not line.startswith('{"time"') or n % 5 == 0])
        together = ("/v1/games?limit=3", "/", "/metrics", "/healthz", "/readyz", "/login")
        lines = [line for one in together for line in lines_of(web("GET", one), one)]
        net("all games", [line for line in lines if not re.match(r"holdfast_(request|commit|.*_created)", line)])


def test_a_game_over_http(net, tokens, clock, folder, caplog):
    caplog.set_level(logging.INFO)
    path, lines = "/v1/games/g", []
    with InThread(f"sqlite:///{folder}/games.db", clock=clock) as web:

        def call(method, what="", body=None, **headers):
            clock.now += 7.0
            found = web(method, path + what, body, **headers)
            lines.extend(lines_of(found, f"{method} {shown(what)} {shown(body)}"))
            return found.json if found.body else None

        call("PUT", "", {**GAME, "patience": 4, "breaker": {"failures": 2, "within": 3}, "holdback": 0.2})
        call("PUT", "", GAME)
        call("PUT", "", {**GAME, "switching_cost": 2.0})
        ids = [
            one["id"] for one in call("POST", "/decisions", {"n": 9, "rule": "c"}, Idempotency_Key="first")["decisions"]
        ]
        call("POST", "/decisions", {"n": 9, "rule": "c"}, Idempotency_Key="first")
        call("POST", "/decisions", {"n": 8}, Idempotency_Key="first")
        for n, id in enumerate(ids[:4]):
            call(
                "PUT",
                f"/decisions/{id}/loss",
                [{"loss": 0.25}, {"failed": True}, {"reward": 0.25}, {"failed": True}][n],
            )
        call("POST", "/losses", {"losses": [{"id": id, "loss": n / 9} for n, id in enumerate(ids[2:7])]})
        talk = call("POST", "/decisions", {"key": "talk", "n": 2})["decisions"]
        call("POST", "/keys/talk/end")
        call("POST", "/losses", {"losses": [{"id": one["id"], "loss": 0.5} for one in talk]})
        call("PATCH", "", {"pause": "a", "until": "5m", "reason": "slow"})
        call("POST", "/decisions", {"n": 3, "available": ["b", "c"]})
        call("PATCH", "", {"pin": "b"})
        call("POST", "/decisions", {})
        call("PATCH", "", {"unpin": True})
        call("PATCH", "", {"switching_cost": 0.5, "add_arms": ["d"], "patience": "1m", "reason": "cheaper"})
        clock.now += 300.0
        call("POST", "/settle")
        call("GET", "/hold")
        call("POST", "/compact", {"keep": 2})
        lines += lines_of(web("POST", "/ofrep/v1/evaluate/flags/g", {"context": {"targetingKey": "user"}}), "flag")
        lines += lines_of(web("POST", "/ofrep/v1/evaluate/flags", {"context": {"targetingKey": "user"}}), "flags")
        lines += lines_of(web("GET", "/metrics"), "metrics")
        lines += lines_of(web("GET", "/games/g"), "page")
        call("DELETE", "?confirm=g")
        call("GET")
    said = [f"{one.levelname} {one.getMessage()}" for one in caplog.records if one.name[:16] != "holdfast.service"]
    said = [line for line in said if '"did"' in line or "WARNING" in line]
    lines = [
        line for line in lines if not re.match(r"holdfast_(request_seconds_(bucket|sum|created)|.*_created)", line)
    ]
    net("a game", [*lines, "== log", *map(shown, said)])


def test_refusals(net, tokens, clock, folder):
    with InThread(f"sqlite:///{folder}/games.db", clock=clock) as web:
        web("PUT", "/v1/games/g", GAME)
        id = web("POST", "/v1/games/g/decisions", {}).json["decisions"][0]["id"]
        lines = []
        for method, path, body in REFUSED:
            sent = json.loads(json.dumps(body).replace('"ID"', f'"{id}"')) if isinstance(body, dict) else body
            found = web(method, path.replace("ID", id), sent)
            said = lines_of(found, f"{method} {path} {str(body)[:120]}")
            lines += [line[:700] for line in said if not line.startswith(("type", "title", "status", "rule", "known"))]
        lines += lines_of(web("GET", "/v1/games"), "what was refused")
    net("refusals", lines)


def test_tokens(net, tokens, clock, folder):
    file = TokenFile(Path(folder / "tokens.json"))
    lines: list[str] = []
    with InThread(f"sqlite:///{folder}/games.db", file.path, clock=clock) as web:
        shown_once = {
            role: file.make(role, games) for role, games in (("read", ["g"]), ("decide", ["g"]), ("admin", None))
        }
        for role in ("admin", "decide", "read", "nobody"):
            header = {"authorization": f"Bearer {shown_once.get(role, 'hf_none')}"}
            for method, path, body in (
                ("PUT", "/v1/games/g", GAME),
                ("PUT", "/v1/games/h", GAME),
                ("POST", "/v1/games/g/decisions", {}),
                ("GET", "/v1/games", None),
                ("GET", "/metrics", None),
                ("PATCH", "/v1/games/g", {"switching_cost": 0.5}),
                ("DELETE", "/v1/games/g", None),
                ("GET", "/v1/games/h/hold", None),
                ("GET", "/", None),
            ):
                lines += [*lines_of(web(method, path, body, **header), f"{role} {method} {path}")][:1]
    for lifetime in (timedelta(0), MOST_LIFETIME, MOST_LIFETIME + timedelta(seconds=1)):
        said = answer(lambda x=lifetime: file.make("read", lifetime=x))
        lines.append(f"{lifetime} {said if said.startswith('Invalid') else 'made'}")
    net("tokens", lines)
