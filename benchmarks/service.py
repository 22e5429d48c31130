"""Decisions over HTTP, as ratios to an empty handler of the same server on the same machine.

    python benchmarks/service.py [--seconds 4] [--connections 64] [--folder DIR] [--postgresql] [--pin]

The server and the clients are one process each; give them a core each. `--folder` is where the store lies: a disk,
because memory has nothing to wait for. `--postgresql` begins a private server there instead of a file. "CPU" compares
the processor time that the server spent on a request, which other programs on the machine hardly change. `--pin` holds
the server on the last core, and the clients off it (Linux).
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from holdfast.service.access import TokenFile

SLICES = 7


class Connection(asyncio.Protocol):
    """Sends one request after the other, and notes how long each took."""

    def __init__(self, request: bytes, until: float, taken: list[float], done: asyncio.Future) -> None:
        self.request, self.until, self.taken, self.done = request, until, taken, done
        self.data = b""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        self.sent = time.perf_counter()
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.data += data
        head, end, body = self.data.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        if len(body) < length:
            return
        assert head.startswith(b"HTTP/1.1 200"), self.data
        self.data = b""
        now = time.perf_counter()
        self.taken.append(now - self.sent)
        if now < self.until:
            self.send()
        else:
            self.transport.close()
            self.done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed the connection"))


def request(method: str, path: str, token: str | None, body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", f"content-length: {len(body)}"]
    lines += ["content-type: application/json"] * bool(body) + [f"authorization: Bearer {token}"] * bool(token)
    return "\r\n".join([*lines, "", ""]).encode() + body


def spent(process: int) -> float:
    """Processor seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(port: int, sent: bytes, connections: int, seconds: float) -> tuple[float, float, float]:
    """Requests a second, the median and the 99th percentile of their times."""

    async def play() -> tuple[list[float], float]:
        loop, taken = asyncio.get_running_loop(), []
        begun = time.perf_counter()
        waiting = [loop.create_future() for _ in range(connections)]
        for done in waiting:
            await loop.create_connection(
                lambda done=done: Connection(sent, begun + seconds, taken, done), "127.0.0.1", port
            )
        await asyncio.gather(*waiting)
        return taken, time.perf_counter() - begun

    taken, length = asyncio.run(play())
    taken.sort()
    return len(taken) / length, taken[len(taken) // 2], taken[int(0.99 * len(taken))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=7.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--pin", action="store_true")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0)) if options.pin else []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, ExitStack() as stack:
        urls = [f"sqlite:///{folder}/{number}.db" for number in range(2)]
        if options.postgresql:
            sys.path.append(str(Path(__file__).parents[1] / "tests" / "decisions"))
            from places import fresh_schema
            from postgres_server import PrivateServer

            database = stack.enter_context(PrivateServer())
            urls = [fresh_schema(database) for _ in urls]
        token = TokenFile(f"{folder}/tokens").make("admin")
        for url, named, shown in zip(urls, ("without tokens", "with tokens"), (None, token), strict=True):
            command = [sys.executable, "-m", "holdfast", "serve", url, "--port", "0"]
            command += ["--tokens", f"{folder}/tokens"] if shown else []
            server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            if options.pin:  # before it begins any threads
                os.sched_setaffinity(server.pid, cores[-1:])
                os.sched_setaffinity(0, cores[:-1])
            try:
                port = int(server.stdout.readline().rsplit(":", 1)[1])
                print(named)
                play(port, server.pid, shown, options)
            finally:
                server.terminate()
                server.wait()


def play(port: int, process: int, token: str | None, options: argparse.Namespace) -> None:
    import http.client

    web = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
    made = '{"policy": "exp3-blocks", "switching_cost": 1000, "parameters": {"n_arms": 8, "horizon": 1000000}}'
    web.request("PUT", "/v1/games/long", made, headers)
    assert web.getresponse().read()
    ask = "/v1/games/long/decisions"
    kinds = {
        "an empty handler": (request("GET", "/healthz", token), 1),
        "a durable decision": (request("POST", ask, token), 1),
        "64 durable decisions": (request("POST", ask, token, b'{"n": 64}'), 64),
    }
    connections, seconds = options.connections, options.seconds
    for sent, _ in kinds.values():
        measured(port, sent, connections, seconds / 8)
    found: dict[str, list[tuple[float, float, float, float]]] = {what: [] for what in kinds}
    for _ in range(SLICES):  # in turn, so that what else the machine does hits all of them alike
        for what, (sent, _) in kinds.items():
            before = spent(process)
            rate, middle, slow = measured(port, sent, connections, seconds / SLICES)
            found[what].append((rate, middle, slow, (spent(process) - before) / (rate * seconds / SLICES)))
    first = next(iter(found.values()))
    for what, (_, each) in kinds.items():
        rate, middle, slow, _ = (median(values) for values in zip(*found[what], strict=True))
        ratio = median(one[0] / other[0] for one, other in zip(found[what], first, strict=True))
        cpu = sum(other[3] for other in first) / sum(one[3] for one in found[what])
        print(
            f"  {what:22s} {rate:8,.0f} requests/s  {rate * each:9,.0f} decisions/s  {ratio:5.2f} of the empty handler"
            f"  (CPU {cpu:.2f})   p50 {middle * 1e3:6.2f} ms  p99 {slow * 1e3:6.2f} ms ({slow / middle:.1f} x)"
        )


if __name__ == "__main__":
    main()
