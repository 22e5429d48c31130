"""What a call costs: what it reads does not grow with the game, and the code it passes is read in one sitting."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf

# ---- in steps of SQLite's machine


def steps_of(router: hf.Router, call: Any) -> int:
    connection: Any = vars(router.store)["_connection"]
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    connection.set_progress_handler(step, 1)
    call(router)
    connection.set_progress_handler(None, 1)
    return steps


def ask_and_tell(router: hf.Router) -> None:
    router.tell(router.ask().id, 0.5)


def talk(router: hf.Router) -> None:
    router.tell(router.ask(key=f"{router.rounds}").id, 0.5)


def repeat_and_look(router: hf.Router) -> None:
    decision = router.ask(request=f"at {router.rounds}")
    router.tell(decision.id, 0.5)
    assert router.ask(request=f"at {router.rounds - 1}") == decision
    router.history.totals  # noqa: B018  # it reads open blocks


def grow_older(router: hf.Router) -> None:
    """Every seventh block is left open."""
    for _ in range(2000):
        decision = router.ask()
        if decision.block % 7:
            router.tell(decision.id, 0.5)


def begin_conversations(router: hf.Router) -> None:
    for key in range(1000):
        router.ask(key=f"another {key}")


@pytest.mark.parametrize(
    ("call", "grow", "options"),
    [
        (ask_and_tell, lambda router: router.ask(3000), {"patience": 5000}),
        (talk, begin_conversations, {}),
        pytest.param(repeat_and_look, grow_older, {"remember": 50, "patience": 20}, marks=pytest.mark.slow),
    ],
    ids=["open blocks", "open conversations", "rounds"],
)
def test_a_call_reads_as_much_in_a_long_game_as_in_a_short_one(folder, call, grow, options):
    router = hf.open(f"sqlite:///{folder}/g.db", "game", hf.Exp3(3), seed=1, **options)
    for _ in range(60):
        call(router)
    few = max(steps_of(router, call) for _ in range(10))
    grow(router)
    assert max(steps_of(router, call) for _ in range(10)) < 1.5 * few


# ---- in functions and files

ROOT = str(Path(hf.__file__).parent)
LONG = hf.BlockExp3(3, switching_cost=1000.0, horizon=10**6)
SHORT = hf.Exp3(3)  # a block for each round


NOT_COUNTED = (
    *("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>"),  # a line of the function around them
    *("<locals>.choose", "<locals>.observe", "<locals>.view"),  # compiled
)


@contextmanager
def passing() -> Iterator[set[tuple[str, str]]]:
    """Files and functions of ours that are run through meanwhile; compiled kernels are not seen."""
    found = set()

    def note(frame, event, _):
        code = frame.f_code
        if (
            event == "call"
            and code.co_filename.startswith(ROOT)
            and not any(n in code.co_qualname for n in NOT_COUNTED)
        ):
            found.add((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def check(found: set[tuple[str, str]], functions: int, files: int) -> None:
    assert len(found) <= functions, sorted(found)
    assert len({file for file, _ in found}) <= files, sorted(found)


@pytest.mark.parametrize(
    ("policy", "verb", "functions", "files"),
    [(LONG, "ask", 21, 6), (LONG, "tell", 24, 7), (SHORT, "ask", 39, 9)],
    ids=["ask inside a block", "tell inside a block", "ask that begins a block"],
)
def test_a_call_passes_few_functions(folder, policy, verb, functions, files):
    with hf.open(f"sqlite:///{folder}/g.db", "game", policy, seed=1) as router:
        for decision in router.ask(5):
            router.tell(decision.id, 0.5)
        decision = router.ask()
        with passing() as found:
            router.ask() if verb == "ask" else router.tell(decision.id, 0.5)
    check(found, functions, files)


def test_a_request_for_a_decision_passes_few_functions(folder):
    """From the application's door, inside a block."""
    from holdfast.service.app import make_app

    url, path = f"sqlite:///{folder}/g.db", "/v1/games/game/decisions"
    with hf.open(url, "game", LONG, seed=1) as router:
        router.ask()
    scope = {"type": "http", "method": "POST", "path": path, "http_version": "1.1", "query_string": b""}
    headers = {"host": "127.0.0.1", "content-type": "application/json", "content-length": "2"}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in headers.items()]
    app, sent = make_app(url), []

    async def receive():
        return {"type": "http.request", "body": b"{}"}

    async def send(message):
        sent.append(message)

    async def ask_twice():
        await app(dict(scope), receive, send)
        found.clear()  # the first one has opened the game, and begun the threads
        await app(dict(scope), receive, send)

    with passing() as found:
        asyncio.run(ask_twice())
    assert [message["status"] for message in sent if "status" in message] == [200, 200]
    check(found, 58, 15)
