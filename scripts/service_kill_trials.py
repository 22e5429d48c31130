"""Trouble for `holdfast serve` under clients that try again: each acknowledged call is there exactly once.

    python scripts/service_kill_trials.py --trials 1000                           (SIGKILL of the server)
    python scripts/service_kill_trials.py --trials 1000 --store postgresql --servers 2
    python scripts/service_kill_trials.py --trials 1000 --store postgresql --kill database
    python scripts/service_kill_trials.py --trials 1000 --kill nobody --proxy    (delays, cuts and doubles requests)

With --mixed, clients also change settings, pause arms and are deployed with another λ. Clients ask and tell through
`hf.open("http://…")` and note what was acknowledged. Who is killed is started again at the same port; PostgreSQL is a
private server, started and stopped here. In the end the store is counted by SQL and compared with the notes.
"""

import argparse
import contextlib
import http.client
import math
import random
import sys
import tempfile
import threading
import time
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "decisions")]

from postgres_server import PrivateServer  # noqa: E402
from service import InProcess, Web, free_port, opened  # noqa: E402

import holdfast as hf  # noqa: E402

CLIENTS = 4

RETRY = 900.0
"""Seconds for which a client goes on: on a busy machine a server may be killed many times before it answers."""


def loss_of(id: str) -> float:
    """A loss that the id alone decides."""
    _, block, place, _ = id.split("-")
    return ((7 * int(block) + 3 * int(place)) % 11) / 11


class Notes:
    """The calls that were acknowledged."""

    def __init__(self, mixed: bool) -> None:
        self.mixed = mixed
        self.asked: list[str] = []
        self.told: set[str] = set()
        self.failures: list[BaseException] = []
        self.stop = threading.Event()

    def client(self, web: Web, seed: int) -> None:
        """Ask and tell until it is enough; calls that are interrupted by a kill are tried again by the router."""
        chance = random.Random(seed)
        try:
            with opened(web, patience="forever", seed=11, retry=RETRY, remember=10**9) as router:
                while not self.stop.is_set():
                    if self.mixed and chance.random() < 0.1:
                        operate(web, router, chance)
                    decisions = router.ask(chance.choice([1, 1, 2, 5]))
                    self.asked += [decision.id for decision in decisions]
                    if chance.random() < 0.5:
                        router.tell([(d.id, loss_of(d.id)) for d in decisions])
                        self.told |= {d.id for d in decisions}
                    elif chance.random() < 0.7:
                        router.tell(decisions[0].id, loss_of(decisions[0].id))
                        self.told.add(decisions[0].id)
        except BaseException as failure:
            self.failures.append(failure)


def operate(web: Web, router: hf.Router, chance: random.Random) -> None:
    """Another patience, a pause, or a deploy with a λ of its own. A change is made once, however often it is sent."""
    what = chance.random()
    if what < 0.3:
        router.change(patience=chance.choice(["auto", "forever", 200]), reason="a guess")
    elif what < 0.6:
        router.pause(chance.choice("ab"), until=timedelta(milliseconds=20))
    else:
        policy = replace(router.policy, switching_cost=chance.choice([0.5, 1.5, 4.0]))
        hf.open(web.url, "game", policy, retry=RETRY, settings=chance.choice(["store", "code"])).close()


def check(url: str, notes: Notes) -> tuple[int, int]:
    """The store against the notes, counted by SQL; the rounds and the losses."""
    assert not notes.failures, notes.failures
    with hf.open(url, "game") as router:
        totals = router.history.totals
        game = router.executor.setup.game.id  # not 1, if whoever created it first was killed
        with router.store.transaction(game, writing=False) as stored:
            handed = sum(n for (n,) in stored.fetch("SELECT rounds FROM holdfast_asks WHERE game = ?", game))
            losses = stored.fetch("SELECT block, round, loss FROM holdfast_losses WHERE game = ?", game)
    known = {(block, round): loss for block, round, loss in losses}
    assert len(notes.asked) == len(set(notes.asked)), "a decision was handed out twice"
    assert len(notes.asked) == handed == totals.rounds, (len(notes.asked), handed, totals.rounds)
    places = {tuple(map(int, id.split("-")[1:3])): loss_of(id) for id in notes.told}
    assert known == places, "losses in the store are not those acknowledged"
    assert totals.told == len(losses) == len(notes.told)
    assert totals.losses == math.fsum(places.values())
    return totals.rounds, totals.told


class RoughProxy(ThreadingHTTPServer):
    """Passes requests on to a port: some late, some twice, some never; some answers are lost."""

    daemon_threads = True

    def __init__(self, target: int, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), Rough)
        self.target, self.chance = target, random.Random(seed)
        self.done = dict.fromkeys(("passed on", "late", "doubled", "cut before", "cut after"), 0)

    def handle_error(self, request: object, client_address: object) -> None:
        """The client has gone: it comes again."""


class Rough(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RoughProxy

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        chance, done = self.server.chance, self.server.done
        if chance.random() < 0.05:
            done["cut before"] += 1
            self.close_connection = True
            return
        if chance.random() < 0.2:
            done["late"] += 1
            time.sleep(chance.uniform(0.0, 0.1))
        if chance.random() < 0.1:  # the copy may arrive before, during or after the request itself
            done["doubled"] += 1
            threading.Timer(chance.choice([0.0, 0.0, 0.05, 0.3]), self.copy, (body,)).start()
        try:
            status, found = self.send_on(body)
        except (OSError, http.client.HTTPException):
            self.close_connection = True
            return
        if chance.random() < 0.05:
            done["cut after"] += 1
            self.close_connection = True
            return
        done["passed on"] += 1
        self.send_response(status)
        self.send_header("content-length", str(len(found)))
        self.end_headers()
        self.wfile.write(found)

    do_GET = do_POST = do_PUT = answer  # noqa: N815  # the names that http.server wants

    def send_on(self, body: bytes) -> tuple[int, bytes]:
        line = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=60)
        try:
            line.request(self.command, self.path, body, {"content-type": "application/json"})
            found = line.getresponse()
            return found.status, found.read()
        finally:
            line.close()

    def copy(self, body: bytes) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.send_on(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""


def play(
    url: str, trials: int, seed: int = 1, *, kill: str = "server", servers: int = 1, proxy: bool = False,
    mixed: bool = False, database: PrivateServer | None = None,
) -> tuple[int, int]:  # fmt: skip
    """Make trouble so many times, then stop and count."""
    chance, ports, notes = random.Random(seed), [free_port() for _ in range(servers)], Notes(mixed)
    running = [InProcess(url, port=port) for port in ports]
    proxies = [RoughProxy(port, seed + port) for port in ports] if proxy else []
    for one in proxies:
        threading.Thread(target=one.serve_forever, daemon=True).start()
    webs = [Web(one.server_address[1]) for one in proxies] or [one.web for one in running]
    threads = [threading.Thread(target=notes.client, args=(webs[i % servers], i)) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for trial in range(trials):
        before, latest = len(notes.asked), time.monotonic() + 20.0
        time.sleep(chance.uniform(0.05, 0.6))
        while trial % 2 and len(notes.asked) == before and time.monotonic() < latest:
            time.sleep(0.02)  # on a busy machine nothing would ever be acknowledged between two kills
        if kill == "server":
            victim = trial % servers
            running[victim].kill()
            running[victim] = InProcess(url, port=ports[victim])
        elif kill == "database":
            database.kill()
            database.start()
        if trial % 50 == 49:
            print(f"{trial + 1} times: {len(notes.asked)} decisions, {len(notes.told)} losses acknowledged", flush=True)
    time.sleep(0.3)
    notes.stop.set()
    for thread in threads:
        thread.join(120)
    time.sleep(0.5 if proxy else 0.0)  # copies that are late
    for one in proxies:
        print("the proxy:", ", ".join(f"{count} {what}" for what, count in one.done.items()))
        one.shutdown()
        one.server_close()
    for server in running:
        server.stop()
    return check(url, notes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--kill", choices=["server", "database", "nobody"], default="server")
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--proxy", action="store_true")
    parser.add_argument("--mixed", action="store_true", help="with what operators and deploys do")
    options = parser.parse_args()
    how = {"kill": options.kill, "servers": options.servers, "proxy": options.proxy, "mixed": options.mixed}
    if options.store == "postgresql":
        from places import fresh_schema

        with PrivateServer() as database:
            url = fresh_schema(database)
            rounds, told = play(url, options.trials, options.seed, database=database, **how)
    else:
        with tempfile.TemporaryDirectory() as folder:
            rounds, told = play(f"sqlite:///{folder}/games.db", options.trials, options.seed, **how)
    print(f"{options.trials} times, {rounds} decisions, {told} losses: each exactly once")


if __name__ == "__main__":
    main()
