"""The adapters for LiteLLM and OpenFeature beside stand-ins for what they derive from: fast, and on every machine.

`test_litellm.py` and `test_openfeature.py` play with the real ones.
"""

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import holdfast as hf
import holdfast.adapters

START = datetime(2026, 1, 1)
END = START + timedelta(seconds=0.25)


@contextmanager
def beside(adapter: str, **classes: type) -> Iterator[Any]:
    """The adapter, imported with modules that have these classes."""
    with pytest.MonkeyPatch.context() as patch:
        for place, kind in classes.items():
            path = place.replace("__", ".")
            for n in range(1, path.count(".") + 2):
                name = ".".join(path.split(".")[:n])
                patch.setitem(sys.modules, name, ModuleType(name))
            setattr(sys.modules[path], kind.__name__, kind)
        patch.delitem(sys.modules, f"holdfast.adapters.{adapter}", raising=False)
        patch.setattr(holdfast.adapters, adapter, None, raising=False)  # it may be there with the real ones
        found = importlib.import_module(f"holdfast.adapters.{adapter}")
        found.LOG.filters.clear()
        yield found
        del sys.modules[f"holdfast.adapters.{adapter}"]


# ---- LiteLLM


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def adapter() -> Iterator[Any]:
    with beside("litellm", litellm__integrations__custom_logger=type("CustomLogger", (), {})) as found:
        yield found


@pytest.fixture
def made(adapter: Any) -> Any:
    return adapter.HoldfastRouting(scale=hf.Scale(latency=(0, 1)), deadline=60.0, seed=1)


async def held(made: Any, text: str, deployments: str = "ab", **request: Any) -> tuple[list[str], dict[str, Any]]:
    """The deployments that go back, and the request's parameters as its events have them."""
    listed = [{"model_info": {"id": id}} for id in deployments]
    found = await made.async_filter_deployments("chat", listed, [{"role": "user", "content": text}], request)
    return [one["model_info"]["id"] for one in found], {**request, **found[0]}


def totals(made: Any) -> Any:
    return made._games["chat"].result(timeout=60).router.history.totals


@pytest.mark.anyio
async def test_a_conversation_is_held_and_what_it_costs_is_told(adapter: Any, made: Any) -> None:
    arms = []
    for turn in range(3):
        (arm,), params = await held(made, "hello", metadata={"session_id": "s", "turn": turn})
        assert params["metadata"][adapter.MARK]["arm"] == arm
        await made.async_log_success_event({"litellm_params": params}, None, START, END)
        arms.append(arm)
    assert len(set(arms)) == 1
    assert (totals(made).told, totals(made).losses) == (3, 0.75)
    seen = [(await held(made, f"question {number}"))[0] for number in range(20)]
    assert sorted(map(tuple, {tuple(one) for one in seen})) == [("a",), ("b",)]


@pytest.mark.anyio
@pytest.mark.parametrize(("status", "told"), [(500, 1), (429, 1), (None, 1), (400, 0), (413, 0), (422, 0), (499, 0)])
async def test_a_failure_is_the_deployments_unless_the_request_was_wrong(made: Any, status: Any, told: int) -> None:
    _, params = await held(made, "hello")
    failed = {"litellm_params": params, "exception": SimpleNamespace(status_code=status)}
    await made.async_log_failure_event(failed, None, START, END)
    assert (totals(made).told, totals(made).losses) == (told, float(told))


@pytest.mark.anyio
async def test_what_another_has_chosen_or_nobody_measured_is_not_told(made: Any, caplog: Any) -> None:
    (arm,), params = await held(made, "hello")
    other = {"model_info": {"id": "ab".replace(arm, "")}}
    await made.async_log_success_event({"litellm_params": {**params, **other}}, None, START, END)
    await made.async_log_success_event({"litellm_params": {**params, "metadata": {}}}, None, START, END)
    made._games["chat"].result().measures = ("price",)
    await made.async_log_success_event({"litellm_params": params}, None, START, END)
    assert totals(made).told == 0
    assert "price of a request to" in caplog.text


@pytest.mark.anyio
async def test_a_retry_goes_elsewhere_and_a_new_deployment_is_an_arm(made: Any) -> None:
    (first,), _ = await held(made, "hello", litellm_trace_id="t")
    (second,), _ = await held(made, "hello", litellm_trace_id="t", metadata={"attempted_retries": 1})
    assert {first, second} == {"a", "b"}
    (third,), _ = await held(made, "hello", "abc", litellm_trace_id="t", metadata={"attempted_retries": 2})
    assert third == "c"
    assert (await held(made, "more", "a"))[0] == ["a"]  # nothing to choose
    assert totals(made).rounds == 3


@pytest.mark.anyio
async def test_a_store_that_fails_three_times_has_a_rest(adapter: Any, monkeypatch: Any, caplog: Any) -> None:
    now, opened = [100.0], []

    def fails(*given: Any, **options: Any) -> Any:
        opened.append(now[0])
        raise hf.StoreError("it is away")

    monkeypatch.setattr(adapter, "open_game", fails)
    monkeypatch.setattr(adapter, "time", SimpleNamespace(monotonic=lambda: now[0]))
    made = adapter.HoldfastRouting(deadline=60.0)
    for second in (0, 1, 2, 3, 6.9, 7.1):
        now[0] = 100.0 + second
        assert (await held(made, f"at {second}"))[0] == ["a", "b"]  # the request goes on with all of them
    assert opened == [100.0, 101.0, 102.0, 107.1]
    assert caplog.text.count("is routed without Holdfast: it is away") == 4


def test_conversations_are_told_apart(adapter: Any) -> None:
    system, user = {"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"}
    marked = {"role": "user", "content": "hello", "cache_control": {"type": "ephemeral"}}
    parts = {"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}
    bare = {"role": "user", "content": [{"type": "text", "text": "x"}]}
    later = [system, user, {"role": "assistant", "content": "hi"}, {"role": "user", "content": "more"}]
    key, begins = adapter.conversation_of([system, user], {})
    assert begins
    assert adapter.conversation_of([system, marked], {}) == (key, True)
    assert adapter.conversation_of(later, {}) == (key, False)
    assert adapter.conversation_of([parts], {}) == adapter.conversation_of([bare], {})
    assert adapter.conversation_of([user], {})[0] != key
    assert adapter.conversation_of([system], {}) == (None, False)
    for other in ({"user_api_key_hash": "someone"}, {"session_id": "s"}):
        assert adapter.conversation_of([system, user], {"metadata": other})[0] != key
    session = adapter.conversation_of([user], {"metadata": {"session_id": "s"}})
    assert session == adapter.conversation_of(later, {"litellm_session_id": "s"}) == (session[0], False)
    generated = {"session_id": "s", "litellm_session_id_generated": True}
    assert adapter.conversation_of([system, user], {"metadata": generated}) == (key, True)


def test_measures_are_those_that_are_known(adapter: Any) -> None:
    end = START + timedelta(seconds=2)
    usage = {"prompt_tokens": 80, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 60}}
    found = adapter.measured({"response_cost": 0.01, "completion_start_time": START}, {"usage": usage}, START, end)
    assert found == {"latency": 2.0, "first_token": 0.0, "price": 0.01, "price_per_1k": 0.1, "uncached": 0.25}
    older = {"prompt_tokens": 80, "completion_tokens": 0, "cache_read_input_tokens": 80}
    assert adapter.measured({}, {"usage": older}, START, end) == {"latency": 2.0, "uncached": 0.0}
    assert adapter.measured({}, None, START, end) == {"latency": 2.0}
    assert adapter.measured({"response_cost": float("nan")}, None, START, end) == {"latency": 2.0}


def test_a_scale_has_measures_that_are_known(adapter: Any) -> None:
    with pytest.raises(hf.InvalidParameter, match="did you mean 'latency'"):
        adapter.HoldfastRouting(scale=hf.Scale(latencies=(0, 1)))


# ---- OpenFeature


class OFREPProvider:
    """A stand-in whose session keeps what it was sent."""

    def __init__(self, base_url: str, *, headers_factory: Any, timeout: float) -> None:
        self.base_url, self.headers_factory, self.timeout, self.sent = base_url, headers_factory, timeout, []
        self.answers: Any = SimpleNamespace(status_code=200)
        self.session = SimpleNamespace(put=self._put)

    def _put(self, place: str, **given: Any) -> Any:
        self.sent.append((place, json.loads(given["data"]), given["headers"].get("Authorization"), given["timeout"]))
        if isinstance(self.answers, Exception):
            raise self.answers
        return self.answers

    def shutdown(self) -> None:
        self.sent.append("the end")


@pytest.fixture
def openfeature() -> Iterator[Any]:
    provider = {"openfeature__contrib__provider__ofrep": OFREPProvider, "openfeature__hook": type("Hook", (), {})}
    with beside("openfeature", **provider) as found:
        yield found


def tracked(provider: Any, *losses: tuple[str, str | None, Any]) -> None:
    for flag, key, given in losses:
        value = given if isinstance(given, float) else None
        attributes = given if isinstance(given, dict) else None
        provider.track(flag, SimpleNamespace(targeting_key=key), SimpleNamespace(value=value, attributes=attributes))


def test_the_last_decision_of_a_conversation_is_told_its_loss(openfeature: Any, caplog: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(openfeature, "MOST", 2)
    provider = openfeature.HoldfastProvider("http://h/", token=" hf_x\n", timeout=3.0)
    (hook,) = provider.get_provider_hooks()
    for flag, key, decision in (("f", "k", "1"), ("f/g", None, "2"), ("f", "k", "3"), ("f", "x", "4")):
        context = SimpleNamespace(flag_key=flag, evaluation_context=SimpleNamespace(targeting_key=key))
        hook.after(context, SimpleNamespace(flag_metadata={"decision": decision}), None)
    tracked(provider, ("f", "k", 0.5), ("f", "x", {"latency": 2.0}), ("f/g", None, 0.5))  # the oldest is forgotten
    provider.shutdown()
    place = "http://h/v1/games/f/decisions/{}/loss"
    sent = [(place.format(3), {"loss": 0.5}), (place.format(4), {"latency": 2.0})]
    assert provider.sent == [*((*one, "Bearer hf_x", 3.0) for one in sent), "the end"]
    assert "nothing was decided by 'f/g' for None" in caplog.text


def test_a_server_that_does_not_answer_is_left_alone_for_a_while(
    openfeature: Any, caplog: Any, monkeypatch: Any
) -> None:
    now = [100.0]
    monkeypatch.setattr(openfeature, "time", SimpleNamespace(monotonic=lambda: now[0]))
    provider = openfeature.HoldfastProvider("http://h")
    provider._decided["f", "k"] = "a/b"
    provider.answers = OSError("no route")
    for second in (0.0, 4.9, 5.1):
        now[0] = 100.0 + second
        provider._tell("f", "a/b", {"loss": 0.5})
    provider.answers = SimpleNamespace(status_code=422, text="too high")
    now[0] = 200.0
    tracked(provider, ("f", "k", 9.0))
    provider.shutdown()
    assert [place for place, *_ in provider.sent[:-1]] == ["http://h/v1/games/f/decisions/a%2Fb/loss"] * 3
    assert caplog.text.count("nor are those of the next 5 s: no route") == 2
    assert "the loss of 'f' was refused: too high" in caplog.text
