"""The adapter for LiteLLM with the real one. `make test` runs this file once more in an environment that has it."""

import asyncio
import os
import random
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

import pytest
from pages import ROOT, blocks
from service import InProcess

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would fetch prices from the network
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    litellm = pytest.importorskip("litellm", reason="LiteLLM is not in this environment: scripts/litellm installs it")
    from litellm.proxy.types_utils.utils import get_instance_fn

    from holdfast.adapters import litellm as adapter

import holdfast as hf
from holdfast.adapters.litellm import IN_A_ROW, MARK, HoldfastRouting
from holdfast.logs import Sparse

pytestmark = [pytest.mark.slow, pytest.mark.anyio, pytest.mark.filterwarnings("ignore")]

SCALE = hf.Scale(latency=(0, 1))
START = datetime(2026, 1, 1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    adapter.LOG.filters.clear()  # which leaves out what another test has said
    yield
    litellm.logging_callback_manager._reset_all_callbacks()


def routing(**options: Any) -> HoldfastRouting:
    made = HoldfastRouting(**{"scale": SCALE, "deadline": 60.0, "seed": 1, **options})
    litellm.callbacks = [made]
    return made


def router(deployments: dict[str, Any], **options: Any) -> Any:
    params = {"model": "openai/gpt-4o", "api_key": "none"}
    listed = [
        {"model_name": "chat", "litellm_params": {**params, "mock_response": says}, "model_info": {"id": id}}
        for id, says in deployments.items()
    ]
    return litellm.Router(model_list=listed, retry_after=0, **{"num_retries": 0, "allowed_fails": 1000, **options})


FAILS = "litellm.InternalServerError"
TWO = {"a": "hi", "b": "hi"}


async def turn(chat: Any, text: str = "hello", **options: Any) -> str:
    answered = await chat.acompletion("chat", [{"role": "user", "content": text}], **options)
    return answered._hidden_params["model_id"]


async def told(made: HoldfastRouting, rounds: int) -> hf.Router:
    """The game of `chat`, once so many losses are there."""
    game = made._games["chat"].result(timeout=60).router
    for _ in range(400):
        if game.history.totals.told >= rounds:
            return game
        await asyncio.sleep(0.01)
    raise AssertionError(f"{game.history.totals}")


async def test_it_learns_from_latency_and_failures() -> None:
    made, chat, arms = routing(), router({"up": "hi", "down": FAILS}), []
    for number in range(40):
        try:
            arms.append(await turn(chat, f"question {number}"))
        except litellm.InternalServerError:
            arms.append("down")
    totals = (await told(made, 40)).history.totals
    assert arms[-10:].count("up") >= 9
    by_arm = {one.arm: one for one in totals.arms}
    assert by_arm["down"].mean == 1.0
    assert by_arm["up"].mean < 0.5
    assert by_arm["up"].rounds == arms.count("up")


async def test_a_conversation_stays_and_an_answer_is_one_round() -> None:
    made, chat = routing(), router(TWO)
    shared = {"session_id": "s"}  # callers may use the same metadata again
    arms = {await turn(chat, str(number), metadata=shared) for number in range(8)}
    assert len(arms) == 1
    assert MARK not in shared
    assert (await told(made, 8)).rounds == 8


async def test_streams_are_told_once_they_end() -> None:
    made, chat = routing(scale=hf.Scale(first_token=(0, 1))), router({"a": "hi there", "b": "hi there"})
    stream = await chat.acompletion("chat", [{"role": "user", "content": "go"}], stream=True)
    _ = [part async for part in stream]
    assert (await told(made, 1)).history.totals.told == 1


async def test_a_retry_goes_elsewhere() -> None:
    routing()
    chat = router({"up": "hi", "down": FAILS}, num_retries=1)
    arms = [await turn(chat, str(number), metadata={"session_id": "s"}) for number in range(12)]
    assert arms == ["up"] * 12  # random choices fail one time in four


@pytest.mark.parametrize(
    ("options", "works"),
    [
        ({"url": "http://127.0.0.1:9", "retry": 0.0}, False),
        ({"url": "sqlite:////nowhere/at/all.db"}, False),
        ({"deadline": 1e-9}, False),
        ({"policy": lambda arms: 1 / 0}, False),
        ({"policy": lambda arms: hf.Exp3(arms=["other", "names"])}, True),
    ],
)
async def test_a_store_that_is_away_stops_nothing(options: dict[str, Any], works: bool, caplog: Any) -> None:
    made, chat = routing(**options), router(TWO)
    arms = [await turn(chat, "first")]
    with suppress(Exception):
        await asyncio.wrap_future(made._games["chat"])
    arms += [await turn(chat, f"{number}") for number in range(30)]
    assert set(arms) == {"a", "b"}
    assert len(made._rests) == (0 if works else 1)
    assert caplog.text.count("a request to 'chat' is routed without Holdfast: ") in ((0,) if works else (2, 3))


async def test_nobody_waits_for_a_game_that_is_being_opened(monkeypatch: Any, caplog: Any) -> None:
    opens = threading.Event()
    monkeypatch.setattr(adapter, "open_game", lambda *given, **options: opens.wait(60) and hf.open(*given, **options))
    made, chat = routing(deadline=0.05), router(TWO)
    begun = time.monotonic()
    for number in range(10):
        await turn(chat, f"{number}")
    assert time.monotonic() - begun < 10 * 0.05 + 5.0
    assert caplog.text.count("until its game is open") == 1
    assert made._rests == {}
    opens.set()
    await asyncio.wrap_future(made._games["chat"])
    made._deadline = 60.0
    await turn(chat, "now")
    assert (await told(made, 1)).rounds == 1


async def test_new_deployments_are_added_and_retired_ones_stay_out(tmp_path: Any) -> None:
    made = routing(url=f"sqlite:///{tmp_path}/s.db")
    await turn(router(TWO))
    game = await told(made, 1)
    await turn(router({"a": "hi", "b": "hi", "c": "hi"}), "second")
    assert game.history.changes[-1]["reason"] == "new deployments at LiteLLM"
    game.change(retire_arms=["b", "c"])
    made._games.clear()  # as another process
    chat = router({"a": "hi", "b": "hi", "c": "hi"})
    assert {await turn(chat, f"third {number}") for number in range(10)} == {"a"}
    assert len(game.policy.arms) == 1


async def test_all_paused_is_no_failure() -> None:
    made, chat = routing(), router(TWO)
    await turn(chat)
    game = await told(made, 1)
    game.change(add_arms=["elsewhere"])
    game.pause("a")
    game.pause("b")
    assert {await turn(chat, f"{number}") for number in range(20)} == {"a", "b"}
    assert made._rests == {}


ODD: list[Any] = [None, 0, "text", [], {}, {"role": 3}, [None], [{"role": "user"}]]


@pytest.mark.parametrize("messages", [*ODD, [{"role": "user", "content": {1: object()}}]])
@pytest.mark.parametrize("deployments", [[], [{}], [{}, {"model_info": None}], [{"model_info": {"id": 1}}, 7], "ab"])
async def test_odd_requests_go_on(messages: Any, deployments: Any) -> None:
    made = routing()
    assert await made.async_filter_deployments("chat", deployments, messages, {}) is deployments
    two: Any = [{"model_info": {"id": 1}}, {"model_info": {"id": "b"}}]
    for request in (None, {}, {"metadata": None}, {"metadata": 7}, {"litellm_metadata": {}}):
        assert len(await made.async_filter_deployments("chat", two, messages, request)) in (1, 2)


@pytest.mark.parametrize(
    "mark", [7, {}, {"game": []}, {"game": "x", "decision": 1, "arm": "None"}, {"game": "chat", "arm": "None"}]
)
async def test_odd_events_are_survived(mark: Any) -> None:
    made = routing()
    for params in (None, {}, {"metadata": None}, {"metadata": {MARK: mark}, "model_info": None}):
        await made.async_log_success_event({"litellm_params": params}, object(), START, START)
        await made.async_log_failure_event({"litellm_params": params}, None, None, None)  # type: ignore[arg-type]


class Raises:
    def _raise(self, *given: Any) -> Any:
        raise RuntimeError

    __str__ = __repr__ = __bool__ = __eq__ = __hash__ = __getattr__ = __iter__ = __len__ = _raise  # type: ignore[assignment]


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)
LEAVES: list[Any] = [
    *(None, 0, -1, True, "", "a", "b", "\ud800", "None", float("nan"), float("inf"), -1e308, b"a", START),
    *(ENDLESS, Raises(), object(), (), "x" * 5000),
]
NAMES = [
    *("role", "content", "model_info", "id", "metadata", "litellm_metadata", "session_id", "litellm_session_id"),
    *("litellm_trace_id", "attempted_retries", "previous_models", "user_api_key_hash", MARK, "game", "decision", "arm"),
    *("usage", "prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens", "response_cost"),
    *("completion_start_time", "exception", "status_code", "litellm_params", "cache_control", 7, None),
]


def anything(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random()
    if depth > 3 or kind < 0.45:
        return rng.choice(LEAVES)
    if kind < 0.6:
        return [anything(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(NAMES): anything(rng, depth + 1) for _ in range(rng.randrange(5))}


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_comes_nothing_fails_and_the_store_is_not_left_alone(seed: int) -> None:
    rng = random.Random(seed)
    made = routing(scale=hf.Scale(latency=(0, 1), price=(0, 1)))
    two = [{"model_info": {"id": id}} for id in "ab"]
    await made.async_filter_deployments("chat", two, [], {})
    await told(made, 0)
    held = 0
    for _ in range(500):
        given = [*two, anything(rng)] if rng.random() < 0.8 else anything(rng)
        request: Any = anything(rng) if rng.random() < 0.5 else {rng.choice(NAMES): anything(rng)}
        found = await made.async_filter_deployments("chat", given, anything(rng), request)
        assert found is given or (len(found) == 1 and any(found[0] is one for one in given))
        held += found is not given
        event = anything(rng)
        if type(request) is dict and rng.random() < 0.5:
            params = {**request, "model_info": {"id": rng.choice("ab")}}
            event = {"litellm_params": params, rng.choice(NAMES): anything(rng)}
        for tell in (made.async_log_success_event, made.async_log_failure_event):
            await tell(event, anything(rng), rng.choice([START, *LEAVES]), START)
    assert held > 50
    assert (made._failed["chat"], made._rests) == (0, {})


async def test_a_group_without_a_name_is_left_alone() -> None:
    two = [{"model_info": {"id": id}} for id in "ab"]
    for model in (None, [], {}, 7):
        assert await routing().async_filter_deployments(model, two, [], {}) is two  # type: ignore[arg-type]


async def test_many_odd_requests_are_one_line(caplog: Any) -> None:
    adapter.LOG.addFilter(Sparse())
    odd: Any = {"metadata": 7}
    for _ in range(50):
        await routing().async_filter_deployments("chat", [], [], odd)
    assert caplog.text.count("is routed without Holdfast") in (1, 2)


async def test_a_game_that_another_request_has_dropped_stops_nobody(monkeypatch: Any) -> None:
    made = routing()

    async def slow(*given: Any) -> None:
        made._games.pop("chat", None)  # by another request
        raise TimeoutError

    monkeypatch.setattr(made, "_held", slow)
    two = [{"model_info": {"id": id}} for id in "ab"]
    assert await made.async_filter_deployments("chat", two, [], {}) is two


async def test_an_arm_that_is_pinned_but_not_healthy_stops_nothing() -> None:
    made, chat = routing(), router(TWO)
    await turn(chat)
    game = await told(made, 1)
    game.change(add_arms=["elsewhere"])
    game.pin("elsewhere")
    assert {await turn(chat, f"{number}") for number in range(20)} <= {"a", "b"}
    assert made._rests == {}


async def test_the_server_restarts(tmp_path: Any) -> None:
    """A game that was deleted, and a store that is another one, are met again after a rest."""
    made, chat = routing(url=f"sqlite:///{tmp_path}/s.db"), router(TWO)
    await turn(chat)
    game = await told(made, 1)
    game.store.delete(game.executor.setup.game.id)
    await turn(chat, "while it is gone")
    assert "chat" not in made._games
    await turn(chat, "after it")
    assert (await told(made, 1)).rounds == 1


async def test_a_server_that_is_killed_hangs_and_comes_back(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    with InProcess(url) as server:
        made, chat = routing(url=server.web.url, retry=0.0, deadline=1.0), router(TWO)
        await turn(chat, "first")
        await asyncio.wrap_future(made._games["chat"])
        numbers = iter(range(1000))

        async def some(count: int, at_most: float) -> None:
            """Requests that are all answered, in time."""
            begun = time.monotonic()
            for _ in range(count):
                assert await turn(chat, f"question {next(numbers)}") in ("a", "b")
            assert time.monotonic() - begun < at_most

        async def routed(more: int) -> None:
            with hf.open(url, "chat") as game:
                before = game.history.totals.told
                for _ in range(600):
                    await turn(chat, f"question {next(numbers)}")
                    made._rests.clear()  # that takes seconds
                    if game.history.totals.told >= before + more:
                        return
            raise AssertionError("it does not come back")

        await routed(5)
        server.process.send_signal(signal.SIGSTOP)  # it takes connections, and never answers
        await some(30, IN_A_ROW * 1.0 + 20.0)  # of 30, three wait for their second
        server.process.send_signal(signal.SIGCONT)
        await routed(5)
        server.kill()
        await some(30, 20.0)
    with InProcess(url, port=server.port):
        await routed(5)


async def test_many_conversations_that_begin_alike_are_drawn_one_by_one() -> None:
    made, chat = routing(), router(TWO)
    for _ in range(6):
        await turn(chat, "the same words")
    assert (await told(made, 6)).history.totals.blocks == 6


def test_the_proxy_finds_it(tmp_path: Any) -> None:
    found = get_instance_fn("holdfast.adapters.litellm.routing", str(tmp_path / "config.yaml"))
    assert isinstance(found, HoldfastRouting)
    assert found is adapter.routing
    (tmp_path / "own_routing.py").write_text(
        "from holdfast.adapters.litellm import HoldfastRouting\nrouting = HoldfastRouting('memory:')\n"
    )
    own = get_instance_fn("own_routing.routing", str(tmp_path / "config.yaml"))
    assert type(own).__name__ == "HoldfastRouting"
    assert "own_routing" not in sys.modules


async def test_what_the_page_says_to_copy(tmp_path: Any, monkeypatch: Any) -> None:
    """The five lines of docs/litellm.md, and the callback that its YAML names."""
    monkeypatch.chdir(tmp_path)
    found = dict(blocks(ROOT / "docs/litellm.md"))
    exec(found["python"], {})
    assert await turn(router(TWO)) in "ab"
    (named,) = re.findall(r'callbacks: \["(.*)"\]', found["yaml"])
    assert isinstance(get_instance_fn(named), HoldfastRouting)
