"""Random requests to `holdfast serve`: no errors of the server, and each refusal is a problem document.

    python scripts/service_fuzz.py --requests 100000

Paths, queries, headers and bodies are drawn from those of the API, changed at random. The memory of the server is
printed as it goes on.
"""

import argparse
import http.client
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support")]

from service import GAME, InProcess  # noqa: E402

from holdfast.service.api import OPERATIONS  # noqa: E402

FORMS = [one for one in OPERATIONS if "events" not in one.path]
FIELDS = sorted({name for one in FORMS for name in getattr(one.body, "__struct_fields__", ())})
FIELDS += ["loss", "reward", "error", "latency", "id", "self", ""]
NAMES = [
    "fuzzed",
    "fuzzed",
    "..",
    "a/b",
    "\0",
    "x" * 300,
    "<b>",
    "' OR 1=1 --",
    "\x1b[31m",
    "ä😀",
    "%",
    "\r\nX-A: 1",
    " ",
]
QUERIES = [
    "",
    "",
    "limit=3",
    "cursor=-1",
    "cursor=9e9",
    "limit=0",
    "format=csv",
    "format=xml",
    "what=record",
    "a=%ff",
    "&&==",
]
QUERIES += ["switching_cost=nan", "switching_cost=1e308", "confirm=fuzzed2", "after=%00", "limit=" + "9" * 40]
TYPES = ["application/json"] * 6 + [
    "text/plain",
    "application/json; charset=utf-16",
    "",
    "multipart/form-data; boundary=x",
]


def value(chance: random.Random, depth: int = 0) -> Any:
    """Any JSON."""
    kind = chance.randrange(12 if depth < 3 else 9)
    if kind < 3:
        return chance.choice([0, 1, -1, 0.5, 1e308, -0.0, 2**63, 10**30, 3])
    if kind < 6:
        return chance.choice(
            ["", "a", "b", "auto", "10m", "forever", "mean", "exp3", "x" * 300, "\0", "\ud800", *NAMES]
        )
    if kind < 9:
        return chance.choice([None, True, False, float("nan"), float("inf")])
    if kind == 9:
        return [value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {chance.choice(FIELDS): value(chance, depth + 1) for _ in range(chance.randrange(4))}


def body(chance: random.Random) -> bytes | None:
    kind = chance.randrange(10)
    if kind < 7:
        text = json.dumps({chance.choice(FIELDS): value(chance) for _ in range(chance.randrange(5))})
        cut = chance.randrange(len(text)) if chance.random() < 0.1 else len(text)
        return text[:cut].encode(errors="surrogatepass")
    if kind < 9:
        return chance.choice([None, b"", b"[" * 5000, b"null", b'{"losses": [{}]}', b'{"n": 100001}'])
    return chance.randbytes(chance.randrange(60))


def request(chance: random.Random, ids: list[str]) -> tuple[str, str, bytes | None, dict[str, str]]:
    """A method, a path, a body and headers."""
    one = chance.choice(FORMS)
    part = quote(chance.choice(NAMES), safe=chance.choice(["", "%"]))
    path = one.path.replace("{name}", chance.choice(["fuzzed", part])).replace("{key}", part)
    path = path.replace("{id}", chance.choice([*ids, part]))
    if one.method == "DELETE" or "fuzzed2" in path:
        path = "/v1/games/fuzzed2"
    method = (
        one.method if chance.random() < 0.9 else chance.choice(["GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"])
    )
    headers = {"content-type": chance.choice(TYPES)}
    if chance.random() < 0.2:
        headers["idempotency-key"] = chance.choice(["order 1", "x" * 300, "\xff", "ä", ""])
    if chance.random() < 0.05:
        headers[chance.choice(["origin", "sec-fetch-site", "authorization", "accept", "cookie"])] = chance.choice(
            NAMES[:4]
        )
    return method, f"{path}?{chance.choice(QUERIES)}", body(chance), headers


def check(status: int, kind: str, found: bytes, sent: object) -> None:
    """Less than 500, and a problem document where it is refused."""
    assert status < 500 or status == 501, (status, found[:500], sent)
    if status >= 400:
        assert kind == "application/problem+json", (status, kind, found[:500], sent)
        assert json.loads(found)["status"] == status
        assert b"Traceback" not in found
        assert b"site-packages" not in found


def play(port: int, requests: int, seed: int = 1, watch: Any = lambda number: None) -> Counter[int]:
    """Send random requests and count the answers of each status."""
    chance, seen = random.Random(seed), Counter[int]()
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def send(method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        line.request(method, path, body, headers)
        answer = line.getresponse()
        found = answer.read()
        check(answer.status, answer.headers.get("content-type", ""), found, (method, path, body, headers))
        if answer.will_close:
            line.close()
        return answer.status, found

    as_json = {"content-type": "application/json"}
    send("PUT", "/v1/games/fuzzed", json.dumps(GAME).encode(), as_json)
    given = json.loads(send("POST", "/v1/games/fuzzed/decisions", b'{"n": 20}', as_json)[1])
    ids = [one["id"] for one in given["decisions"]]
    for number in range(requests):
        status, _ = send(*request(chance, ids))
        seen[status] += 1
        watch(number)
    assert send("GET", "/readyz", None, {})[0] == 200
    line.close()
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, InProcess(f"sqlite:///{folder}/games.db") as server:
        begun = time.monotonic()

        def watch(number: int) -> None:
            if number % max(options.requests // 10, 1) == 0:
                print(f"{number:8,d} requests, {memory(server.process.pid):6.1f} MiB", flush=True)

        seen = play(server.port, options.requests, options.seed, watch)
        print(f"{options.requests} requests in {time.monotonic() - begun:.0f} s: {dict(sorted(seen.items()))}")


def memory(process: int) -> float:
    """MiB that a process has in memory."""
    fields = Path(f"/proc/{process}/status").read_text().split("VmRSS:")[1].split()
    return int(fields[0]) / 1024


if __name__ == "__main__":
    main()
