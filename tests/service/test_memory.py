"""The server's memory does not grow with requests: objects and labels are counted, whatever is asked for."""

import asyncio
import gc
import json
import random
from typing import Any
from urllib.parse import unquote

import pytest
import service_fuzz
from service import GAME

from holdfast.service.app import make_app

JSON = {"content-type": "application/json"}


async def request(app, method, path, body=b"", headers=JSON):
    """The answer of the application, without a server around it."""
    raw, _, query = path.partition("?")
    sent, found = [{"type": "http.request", "body": body or b""}], {"body": b""}
    scope = {
        "type": "http", "method": method, "path": unquote(raw, errors="replace"), "raw_path": raw.encode(),
        "query_string": query.encode(), "scheme": "http", "root_path": "", "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 80), "headers": [
            (b"host", b"127.0.0.1"), (b"content-length", b"%d" % len(body or b"")),
            *((name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()),
        ],
    }  # fmt: skip

    async def receive():
        return sent.pop()

    async def send(message):
        found["status"] = message.get("status", found.get("status"))
        found["body"] += message.get("body", b"")

    await app(scope, receive, send)
    return found["status"], found["body"]


def grown(url, one, requests):
    """Objects and lines of metrics there are more after so many requests, the same number having gone before."""

    async def play():
        app: Any = make_app(url)
        inner = app._app
        async with inner.router.lifespan_context(inner):
            await request(app, "PUT", "/v1/games/fuzzed", json.dumps(GAME).encode())
            await request(app, "GET", "/metrics")  # which counts itself
            counts = []
            for part in range(2):
                for number in range(requests):
                    await one(app, part * requests + number)
                gc.collect()
                (_, text) = await request(app, "GET", "/metrics")
                counts.append((len(gc.get_objects()), text.count(b"\n")))
            return [after - before for before, after in zip(*counts, strict=True)]

    return asyncio.run(play())


async def ask_and_tell(app, number):
    _, found = await request(app, "POST", "/v1/games/fuzzed/decisions", b"{}", {**JSON, "idempotency-key": f"{number}"})
    place = f"/v1/games/fuzzed/decisions/{json.loads(found)['decisions'][0]['id']}/loss"
    assert (await request(app, "PUT", place, b'{"loss": 0.5}'))[0] == 200


async def new_names(app, number):
    for path in (f"games/game-{number}", f"{number}", f"games/fuzzed/decisions/{number}/loss"):
        assert (await request(app, "GET", f"/v1/{path}"))[0] in (404, 405)
    assert (await request(app, f"METHOD{number}", "/v1/games"))[0] == 405


@pytest.mark.slow
@pytest.mark.parametrize("one", [ask_and_tell, new_names], ids=lambda one: one.__name__)
def test_requests_leave_nothing_behind(folder, one):
    objects, labels = grown(f"sqlite:///{folder}/games.db", one, 300)
    assert objects < 150
    assert labels == 0


@pytest.mark.slow
def test_random_requests_leave_nothing_behind(folder):
    """Send 1,500 random requests; the first ones import modules, and meet new statuses."""
    chance = random.Random(3)

    async def one(app, number):
        method, path, body, headers = service_fuzz.request(chance, [f"a-{number}-0-b"])
        await request(app, method, path.replace("/export", "/blocks"), body, headers)

    objects, labels = grown(f"sqlite:///{folder}/games.db", one, 750)
    assert objects < 750
    assert labels < 100
