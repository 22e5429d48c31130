"""Memory of `holdfast serve`, and of the browser that shows its page, over a long time.

    python scripts/service_memory.py page --minutes 60              (a game with 10⁶ blocks, watched while it is played)
    python scripts/service_memory.py requests --requests 1000000    (asks, losses and reads, with a token)

Both print what is in memory as they go on, and then the largest, the first, the last and the slope of its second half.
`page` needs Chromium; it reads memory each minute. `requests` reads it every 10,000 requests.
"""

import argparse
import asyncio
import json
import random
import re
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "benchmarks")]

from chromium import Browser  # noqa: E402
from long_game import lengthen  # noqa: E402
from service import InProcess, Web  # noqa: E402

import holdfast as hf  # noqa: E402
from holdfast.service.access import TokenFile  # noqa: E402

MIB = 1 << 20


def memory(process: int) -> dict[str, float]:
    """MiB that a process has in memory: all, with its share only of what others use too, and without files."""
    found = dict(re.findall(r"^(\w+): +(\d+) kB$", Path(f"/proc/{process}/smaps_rollup").read_text(), re.MULTILINE))
    kinds = {"RSS": "Rss", "PSS": "Pss", "allocated": "Anonymous"}
    return {name: int(found[kind]) / 1024 for name, kind in kinds.items()}


def renderers(driver: int) -> list[int]:
    """The processes that show pages, of all that a browser's driver has begun."""
    parents, found = {}, {driver}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
        except OSError:  # gone
            continue
    while new := {process for process, parent in parents.items() if parent in found} - found:
        found |= new
    return [one for one in found if b"--type=renderer" in Path(f"/proc/{one}/cmdline").read_bytes()]


class Rows:
    """Measurements, each at a time or after a number of requests."""

    def __init__(self, unit: str, per: float) -> None:
        self.unit, self.per = unit, per
        self.at: list[float] = []
        self.values: dict[str, list[float]] = {}

    def add(self, at: float, values: dict[str, float]) -> None:
        self.at.append(at)
        for name, value in values.items():
            self.values.setdefault(name, []).append(value)
        print(f"{at:9,.0f} {self.unit}  " + "  ".join(f"{k} {v:,.1f}" for k, v in values.items()), flush=True)

    def summary(self) -> None:
        half = len(self.at) // 2
        for name, found in self.values.items():
            slope = np.polyfit(self.at[half:], found[half:], 1)[0] * self.per
            print(
                f"{name}: largest {max(found):,.1f}, first {found[0]:,.1f}, last {found[-1]:,.1f}, "
                f"second half {slope:+,.2f} per {self.per:,.0f} {self.unit}"
            )


# ---- the page


def watch_page(minutes: float, blocks: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file, policy = Path(folder) / "games.db", hf.AdaptiveTsallisSwitch(arms=["a", "b", "c"], switching_cost=0.3)
        with hf.open(f"sqlite:///{file}", "long", policy, seed=3, patience=1000) as router:
            for _ in range(40):
                router.tell([(decision.id, 0.5) for decision in router.ask(router.hold or 1)])
        lengthen(file, blocks)
        with InProcess(f"sqlite:///{file}") as server:
            browser = Browser(Path(folder) / "profile")
            try:
                show_and_play(browser, server, minutes)
            finally:
                browser.close()


def show_and_play(browser: Browser, server: InProcess, minutes: float) -> None:
    """A decision every 0.3 s, and most losses within some seconds, while the page is open."""
    driver, web, chance = browser.driver, server.web, random.Random(1)
    driver.get("about:blank")
    driver.execute_cdp_cmd("Performance.enable", {})
    driver.get(f"{web.url}/games/long")
    paint = "return performance.getEntriesByType('paint').map((one) => one.startTime).at(-1)"
    browser.until(lambda: browser.run(paint), "nothing is painted")
    browser.until(lambda: len(browser.all(".chart canvas")) == 2, "the charts are not drawn")
    browser.until(lambda: not browser.all("[data-again]"), "the charts are not whole")
    print(f"painted after {browser.run(paint):.0f} ms, whole {browser.run('return performance.now()'):.0f} ms")
    rows, begun, minute = Rows("min", 60.0), time.monotonic(), 0
    waiting: deque[str] = deque()
    while minute <= minutes:
        (decision,) = web("POST", "/v1/games/long/decisions", {}).json["decisions"]
        waiting.append(decision["id"])
        while len(waiting) > chance.randrange(10):
            id = waiting.popleft()
            if chance.random() < 0.99:
                assert web("PUT", f"/v1/games/long/decisions/{id}/loss", {"loss": chance.random()}).status == 200
        if time.monotonic() - begun >= 60.0 * minute:
            found = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
            counts = {one["name"]: one["value"] for one in found}
            shown = [memory(one) for one in renderers(driver.service.process.pid)]
            page = max(shown, key=lambda one: one["PSS"])
            rows.add(minute, {
                "heap": counts["JSHeapUsedSize"] / MIB, "heap with free": counts["JSHeapTotalSize"] / MIB,
                "page RSS": page["RSS"], "page PSS": page["PSS"], "server RSS": memory(server.process.pid)["RSS"],
                "elements": counts["Nodes"], "listeners": counts["JSEventListeners"],
            })  # fmt: skip
            minute += 1
        time.sleep(0.3)
    rounds = web("GET", "/v1/games/long/summary").json["rounds"]
    text = "return document.querySelector('#standing').textContent"
    browser.until(lambda: f"{rounds:,}" in browser.run(text), "the page does not follow any more")
    assert browser.run("return document.getElementById('live-state').textContent") == "live"
    print("complaints of the browser:", browser.complaints())
    rows.summary()


# ---- requests


GAMES = [f"game-{number}" for number in range(5)]
READS = (
    ["hold"] * 10 + ["summary"] * 10 + ["blocks?limit=20", "decisions?limit=20", "changes", "", "decisions/1-2-3/loss"]
)


class Clients:
    """Connections that ask, tell and read, until so many requests are made."""

    def __init__(self, server: InProcess, token: str, requests: int, every: int) -> None:
        self.server, self.token, self.left, self.every = server, token, requests, every
        self.made, self.chance, self.rows = 0, random.Random(1), Rows("requests", 1e6)
        self.open: deque[tuple[str, str]] = deque()
        self.statuses: dict[int, int] = {}

    def next(self) -> tuple[str, str, dict[str, Any] | None]:
        """A method, a path and a body."""
        chance, kind, name = self.chance, self.chance.random(), self.chance.choice(GAMES)
        if kind < 0.002:
            return "GET", chance.choice(["/", f"/games/{name}", "/metrics", "/v1/games", "/openapi.json"]), None
        if kind < 0.0025:
            act = {chance.choice(["pause", "resume"]): "a", "reason": "a trial"}
            return "PATCH", f"/v1/games/{name}", act
        if kind < 0.1:
            return "GET", f"/v1/games/{name}/{chance.choice(READS)}".rstrip("/"), None
        if kind < 0.55 and self.open:
            name, id = self.open.popleft() if chance.random() < 0.99 else chance.choice(self.open)
            return "PUT", f"/v1/games/{name}/decisions/{id}/loss", {"loss": chance.random()}
        body: dict[str, Any] = {"n": chance.choice([1, 1, 1, 3]), "request": f"{chance.getrandbits(64):x}"}
        if chance.random() < 0.05:
            body["key"] = f"{chance.getrandbits(32):x}"
        return "POST", f"/v1/games/{name}/decisions", body

    async def client(self) -> None:
        while self.left > 0:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port, limit=1 << 22)
            for _ in range(self.chance.randrange(1, 2000)):
                if self.left <= 0:
                    break
                self.left -= 1
                await self.one(reader, writer)
            writer.close()

    async def one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, path, content = self.next()
        body = b"" if content is None else json.dumps(content).encode()
        head = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", f"content-length: {len(body)}"]
        head += ["content-type: application/json", f"authorization: Bearer {self.token}", "", ""]
        writer.write("\r\n".join(head).encode() + body)
        answered = await reader.readuntil(b"\r\n\r\n")
        length = int(answered.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        found = await reader.readexactly(length)
        status = int(answered[9:12])
        self.statuses[status] = self.statuses.get(status, 0) + 1
        assert status < 500, (method, path, content, found)
        if method == "POST" and status == 200:
            self.open.extend((path.split("/")[3], one["id"]) for one in json.loads(found)["decisions"])
            while len(self.open) > 500:
                self.open.popleft()  # never reported
        self.made += 1
        if self.made % self.every == 0:
            self.rows.add(self.made, memory(self.server.process.pid))

    async def play(self, connections: int) -> None:
        await asyncio.gather(*(self.client() for _ in range(connections)))


def send_requests(url: str, folder: str, requests: int, connections: int) -> None:
    token = TokenFile(f"{folder}/tokens").make("admin")
    with InProcess(url, "--tokens", f"{folder}/tokens") as server:
        web = Web(server.port, token)
        for name in GAMES:
            game = {
                "policy": "adaptive",
                "arms": ["a", "b", "c"],
                "switching_cost": 0.3,
                "patience": 200,
                "key_life": "1m",
            }
            assert web("PUT", f"/v1/games/{name}", game).status == 201
        clients, begun = Clients(server, token, requests, min(10_000, max(requests // 10, 1))), time.monotonic()
        asyncio.run(clients.play(connections))
        print(
            f"{clients.made:,} requests in {time.monotonic() - begun:.0f} s: {dict(sorted(clients.statuses.items()))}"
        )
        clients.rows.summary()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    page = kinds.add_parser("page")
    page.add_argument("--minutes", type=float, default=60.0)
    page.add_argument("--blocks", type=int, default=10**6)
    many = kinds.add_parser("requests")
    many.add_argument("--requests", type=int, default=10**6)
    many.add_argument("--connections", type=int, default=8)
    many.add_argument("--folder", type=Path, help="Where the store lies.")
    options = parser.parse_args()
    if options.kind == "page":
        watch_page(options.minutes, options.blocks)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        send_requests(f"sqlite:///{folder}/games.db", folder, options.requests, options.connections)


if __name__ == "__main__":
    main()
