"""The contract under /v1, request by request."""

import asyncio
import json
import re
import time

import msgspec
import polars as pl
import pytest
import service_schema
from service import GAME, Events, InThread, ask, opened, problem
from threads import at_once

import holdfast as hf
from holdfast.decisions.executor import MOST_TOGETHER
from holdfast.decisions.requests import Ask
from holdfast.service.api import OPERATIONS, document
from holdfast.service.games import Games
from holdfast.service.messages import ObserveBody


def test_a_game_is_begun_once(web, game):
    again = web("PUT", game, GAME)
    assert again.status == 200
    assert again.json["arms"] == ["a", "b", "c"]
    other = problem(web("PUT", game, {**GAME, "switching_cost": 2.0, "settings": "same"}), 409, hf.OtherSettings)
    assert other["differences"] == {"switching_cost": [1.5, 2.0]}
    for whose, cost in (("store", 1.5), ("code", 2.0)):
        found = web("PUT", game, {**GAME, "switching_cost": 2.0, "settings": whose})
        assert (found.status, found.json["policy"]["switching_cost"]) == (200, cost)
    assert web("GET", f"{game}/changes").json["changes"][0]["reason"] == "the settings of the code that opened it"


def test_settings_are_checked_in_the_words_of_the_library(web):
    wrong = problem(web("PUT", "/v1/games/x", {"policy": "exp4", "arms": ["a", "b"]}), 422, hf.InvalidParameter)
    assert "did you mean 'exp3'?" in wrong["detail"]
    foreign = problem(web("PUT", "/v1/games/x", {"policy": "os:system"}), 422, hf.InvalidParameter)
    assert "must be one of Holdfast's own" in foreign["detail"]
    problem(web("PUT", "/v1/games/x", {**GAME, "patience": "soon"}), 422, hf.InvalidParameter)
    problem(web("PUT", "/v1/games/x", {**GAME, "colour": "red"}), 422)
    problem(web("GET", "/v1/games/x"), 404, hf.UnknownGame)


def test_a_name_may_have_any_printable_sign(web):
    for name in ("a%2Fb", "%3Cscript%3E", "..%2F..%2Fetc", "%27%3B%20DROP%20TABLE", "%E2%82%AC%20%C3%A4"):
        assert web("PUT", f"/v1/games/{name}", GAME).status == 201
        assert web("GET", f"/v1/games/{name}/hold").status == 200
    assert web("GET", "/v1/games/a%2Fb").json["name"] == "a/b"
    problem(web("PUT", "/v1/games/%1b%5b31m", GAME), 422, hf.InvalidParameter)
    problem(web("PUT", f"/v1/games/{'x' * 201}", GAME), 422, hf.InvalidParameter)
    problem(web("GET", "/v1/games/%ff"), 400)


def test_decisions_and_their_losses(web, game):
    answer = web("POST", f"{game}/decisions")
    assert answer.status == 200
    assert answer.json["hold"] == 1
    assert "certain to stay for 1 round more" in answer.json["why"]
    (decision,) = answer.json["decisions"]
    assert decision.keys() == {"id", "arm", "probability", "block", "asked"}
    loss = f"{game}/decisions/{decision['id']}/loss"
    assert web("PUT", loss, {"loss": 0.25}).json == {"id": decision["id"], "new": True, "late": False}
    assert web("PUT", loss, {"loss": 0.25}).json == {"id": decision["id"], "new": False, "late": False}
    other = problem(web("PUT", loss, {"loss": 0.5}), 409, hf.AlreadyTold)
    assert (other["recorded"], other["loss"]) == (0.25, 0.5)
    problem(web("PUT", loss, {"loss": 1.5}), 422, hf.InvalidParameter)
    problem(web("PUT", loss, {"loss": "0.5"}), 422, hf.InvalidParameter)
    problem(web("PUT", f"{game}/decisions/nonsense/loss", {"loss": 0.5}), 404, hf.UnknownDecision)
    assert web("GET", f"{game}/hold").json["hold"] == 1
    assert web("GET", f"{game}/summary").json["losses"] == 0.25


def test_a_late_loss_counts_unless_it_was_to_come_in_time(web):
    game = "/v1/games/late"
    web("PUT", game, {**GAME, "patience": 2})
    first, _ = ask(web, game, 2)
    ask(web, game, 20)
    loss = f"{game}/decisions/{first['id']}/loss"
    problem(web("PUT", loss, {"failed": True, "in_time": True}), 410, hf.TooLate)
    assert web("PUT", loss, {"failed": True}).json == {"id": first["id"], "new": True, "late": True}
    verdicts = web("POST", f"{game}/losses", {"losses": [{"id": first["id"], "loss": 1.0}]}).json["verdicts"]
    assert verdicts == [{"status": 200, "new": False, "late": True}]
    assert web("GET", f"{game}/summary").json["late"] == 1


def test_the_same_key_gets_the_same_decisions(web, game):
    first = ask(web, game, 3, idempotency_key="order 17")
    assert ask(web, game, 3, idempotency_key="order 17") == first
    assert ask(web, game, 3, idempotency_key="order 18") != first
    body = {"n": 3, "request": "order 17"}
    assert web("POST", f"{game}/decisions", body).json["decisions"] == first
    assert web("GET", game).json["rounds"] == 6
    problem(web("POST", f"{game}/decisions", {}, idempotency_key="x" * 201), 422, hf.InvalidParameter)


def test_losses_in_a_batch_each_have_a_verdict(web, game):
    one, two, _ = ask(web, game, 3)
    sent = [(one["id"], 0.1), (one["id"], 0.9), ("what", 0.1), (two["id"], 7), (two["id"], 0.2)]
    answer = web("POST", f"{game}/losses", {"losses": [{"id": id, "loss": loss} for id, loss in sent]})
    verdicts = answer.json["verdicts"]
    assert [verdict["status"] for verdict in verdicts] == [200, 409, 404, 422, 200]
    assert verdicts[0]["new"] is True
    assert verdicts[1]["problem"]["error"] == "AlreadyTold"
    assert web("GET", f"{game}/summary").json["told"] == 2
    too_many = {"losses": [{"id": "x", "loss": 0.5}] * 10_001}
    problem(web("POST", f"{game}/losses", too_many), 422)


def test_arms_are_paused_and_pinned(web, game):
    """One PATCH each; `until` is how long, or when."""
    (held,) = ask(web, game)
    view = web("PATCH", game, {"pause": held["arm"], "until": "10m", "reason": "times out"}).json
    (paused,) = view["paused"]
    assert paused["arm"] == held["arm"]
    assert paused["until"] == pytest.approx(time.time() + 600, abs=60)
    assert "is paused" in web("GET", f"{game}/hold").json["why"]
    assert held["arm"] not in {d["arm"] for d in ask(web, game, 30)}
    assert web("PATCH", game, {"resume": held["arm"]}).json["paused"] == []
    assert web("PATCH", game, {"pin": "b", "until": "2199-01-01T00:00:00Z"}).json["pinned"] == "b"
    assert {d["arm"] for d in ask(web, game, 9)} == {"b"}
    assert web("PATCH", game, {"unpin": True, "reason": "over"}).json["pinned"] is None
    kinds = [(one["kind"], one["reason"]) for one in web("GET", f"{game}/changes").json["changes"]]
    assert kinds == [("pause", "times out"), ("resume", None), ("pin", None), ("unpin", "over")]
    for wrong in (
        {"pause": "nobody"},
        {"pause": "a", "resume": "b"},
        {"pause": "a", "switching_cost": 1.0},
        {"pause": "a", "until": "soon"},
        {"pause": "a", "until": "2001-01-01T00:00:00Z"},
        {"pause": "a", "until": "2199-01-01T00:00:00"},
        {"pause": ["a"]},
        {"unpin": "b"},
        {"until": "10m"},
    ):
        problem(web("PATCH", game, wrong), 422, hf.InvalidParameter)


def test_conversations_and_arms_that_are_available(web, game):
    def one(**body):
        return web("POST", f"{game}/decisions", body).json["decisions"][0]

    talk = web("POST", f"{game}/decisions", {"key": "visitor 7"}).json
    first = talk["decisions"][0]
    assert talk["why"] == f"Conversation visitor 7 drew {first['arm']} with probability 0.333; it stays with " + (
        f"{first['arm']} until it ends."
    )
    held = web("GET", f"{game}/hold").json
    assert (held["arm"], held["conversations"]) == (None, 1)
    assert held["why"].startswith("1 conversation drawn, 1 open; the next one draws ")
    page = web("GET", f"/games/{game.rpartition('/')[2]}").body.decode()
    assert "conversations open" in page
    assert "arm held" not in page
    assert {one(key="visitor 7")["block"] for _ in range(5)} == {first["block"]}
    assert web("POST", f"{game}/keys/visitor%207/end").json == {"ended": True}
    assert web("POST", f"{game}/keys/visitor%207/end").json == {"ended": False}
    assert one(key="visitor 7")["block"] > first["block"]
    assert web("POST", f"{game}/decisions", {}).json["hold"] > 0
    assert web("POST", f"{game}/decisions", {"key": "visitor 8"}).json["hold"] == 0  # it is no part of that block
    assert {one(available=["c"])["arm"] for _ in range(5)} == {"c"}
    problem(web("POST", f"{game}/decisions", {"available": ["x"]}), 422, hf.InvalidParameter)
    problem(web("POST", f"{game}/decisions", {"available": "a"}), 422, hf.InvalidParameter)


def test_what_was_measured_becomes_a_loss(web):
    game, scale = "/v1/games/scaled", {"latency": [0.2, 8.0, 3], "price": [0, 0.02], "error": 0.9}
    made = {**GAME, "scale": scale, "key_life": "5m"}
    view = web("PUT", game, made).json
    assert (view["scale"]["measures"]["latency"], view["key_life"]) == ([0.2, 8.0, 0.75], "300.0s")
    assert web("PUT", game, {**made, "scale": view["scale"]}).status == 200
    ids = [d["id"] for d in ask(web, game, 6)]
    sent = [{"latency": 1.3, "price": 0.004}, {"error": True}, {"reward": 0.75}, {"loss": 0.25}]
    for id, body in zip(ids, sent, strict=False):
        assert web("PUT", f"{game}/decisions/{id}/loss", body).json["new"], body
    batch = [{"id": ids[4], "latency": 8.0, "price": 0.02}, {"id": ids[5], "latency": 1.0}]
    verdicts = web("POST", f"{game}/losses", {"losses": batch}).json["verdicts"]
    assert [one["status"] for one in verdicts] == [200, 422]
    expected = hf.Scale(latency=(0.2, 8.0, 3), price=(0, 0.02), error=0.9).loss(latency=1.3, price=0.004)
    assert web("GET", f"{game}/summary").json["losses"] == pytest.approx(expected + 0.9 + 0.25 + 0.25 + 1.0)
    for wrong in ({"size": 3}, {"self": 3.0, "latency": 1.0}, {"latency": "1"}, {"loss": 0.5, "reward": 0.5}, {}):
        problem(web("PUT", f"{game}/decisions/{ids[5]}/loss", wrong), 422, hf.InvalidParameter)
    shares = ({"x": [0, 1, 3]}, {"x": [0, 1]}, {"x": [0, 1, 1], "error": [0, 1, 0]}, {"x": [0, 1, "1"]}, {})
    bad: list[object] = [
        {"latency": 3},
        [],
        {},
        {"measures": [0, 1, 2, 3]},
        *({"error": 1, "measures": one} for one in shares),
    ]
    for one in bad:
        problem(web("PUT", "/v1/games/scaled-wrong", {**GAME, "scale": one}), 422, hf.InvalidParameter)
    assert web("PUT", "/v1/games/odd", {**GAME, "scale": {"self": [0, 1]}}).status == 201


def test_losses_of_all_arms(web):
    game = "/v1/games/all"
    web("PUT", game, {"policy": "hedge-switch", "arms": ["a", "b"], "switching_cost": 0.3, "seed": 1})
    (decision,) = ask(web, game)
    losses = {"losses": {"a": 0.5, "b": 0.25}}
    assert web("PUT", f"{game}/decisions/{decision['id']}/loss", losses).json["new"]
    for _ in range(2):
        assert web("POST", f"{game}/observations", {"losses": [0.75, 0.0]}, idempotency_key="noon").status == 200
    assert web("POST", f"{game}/observations", {"losses": {"a": 0, "b": 1}, "at": "2026-03-01T12:00:00Z"}).status == 200
    record = pl.read_csv(web("GET", f"{game}/export?what=record").body)
    assert record.select("a", "b").rows() == [(0.5, 0.25), (0.75, 0.0), (0.0, 1.0)]
    assert web("GET", game).json["certificate"] is not None
    for wrong in ({"losses": 3}, {"losses": "ab"}, {"losses": [1]}, {"losses": {"c": 1}}, {"losses": [0, "x"]}, {}):
        assert problem(web("POST", f"{game}/observations", wrong), 422)
    problem(web("POST", f"{game}/observations", {"losses": [0, 0], "at": "noon"}), 422, hf.InvalidParameter)
    web("PUT", "/v1/games/own", {"policy": "exp3", "parameters": {"n_arms": 2}})
    problem(web("POST", "/v1/games/own/observations", {"losses": [0, 0]}), 422, hf.InvalidParameter)
    web("PUT", "/v1/games/numbered", {"policy": "hedge-switch", "parameters": {"n_arms": 2, "switching_cost": 0.3}})
    assert web("POST", "/v1/games/numbered/observations", {"losses": {"0": 0.1, "1": 0.2}}).status == 200


def test_a_game_is_deleted_only_by_its_name(web, game):
    name = game.rpartition("/")[2]
    problem(web("DELETE", game), 422, hf.InvalidParameter)
    problem(web("DELETE", f"{game}?confirm=other"), 422, hf.InvalidParameter)
    problem(web("PUT", f"{game}/decisions/{ask(web, game)[0]['id']}/loss", {"loss": 7}), 422, hf.InvalidParameter)
    assert web("DELETE", f"{game}?confirm={name}").status == 204
    problem(web("GET", game), 404, hf.UnknownGame)
    problem(web("POST", f"{game}/decisions"), 404, hf.UnknownGame)
    assert web("PUT", game, GAME).status == 201
    assert len(ask(web, game)) == 1
    assert [one["warnings"] for one in web("GET", "/v1/games").json["games"] if one["name"] == name] == [[]]


def test_a_game_made_anew_elsewhere_is_found(tmp_path):
    """Another worker removed the game that this server had opened, and made one of its name."""
    url = f"sqlite:///{tmp_path}/games.db"
    with InThread(url) as web:
        web("PUT", "/v1/games/g", GAME)
        ask(web, "/v1/games/g", 5)
        router = hf.open(url, "g")
        router.store.delete(router.executor.setup.game.id)
        problem(web("POST", "/v1/games/g/decisions"), 404, hf.UnknownGame)
        hf.open(url, "g", hf.Exp3(arms=["x", "y"]))
        (decision,) = ask(web, "/v1/games/g")
        assert decision["arm"] in ("x", "y")


def paged(web, path, limit, cursor="cursor"):
    """All rows of a list that comes in pages, none of which is too long or needless."""
    name, rows, following = path.rpartition("/")[2], [], ""
    while following is not None:
        page = web("GET", f"{path}?limit={limit}{following and f'&{cursor}='}{following}").json
        assert len(page[name]) == limit or page["next"] is None
        assert page[name] or not rows
        rows += page[name]
        following = page["next"]
    return rows


def test_blocks_and_games_come_in_pages(tmp_path):
    with InThread(f"sqlite:///{tmp_path}/games.db") as web:
        for name in "edcba":
            web("PUT", f"/v1/games/{name}", GAME)
        ask(web, "/v1/games/c", 30)
        for limit in (1, 2, 5, 100):
            assert [one["name"] for one in paged(web, "/v1/games", limit, cursor="after")] == list("abcde")
            numbers = [block["number"] for block in paged(web, "/v1/games/c/blocks", limit)]
            assert numbers == list(range(1, len(numbers) + 1))
            assert len(numbers) > 8
        for wrong in ("x", "-1", "1e9", "9" * 30, "%C2%B2"):
            problem(web("GET", f"/v1/games/c/blocks?cursor={wrong}"), 422, hf.InvalidParameter)


def test_open_decisions_come_in_pages(web, game):
    given = [one["id"] for _ in range(6) for one in ask(web, game, 7)]
    web("POST", f"{game}/losses", {"losses": [{"id": id, "loss": 0.5} for id in given[::3]]})
    still = [id for number, id in enumerate(given) if number % 3]
    for limit in (1, 5, 28, 100):
        assert [one["id"] for one in paged(web, f"{game}/decisions", limit)] == still
    assert web("GET", f"{game}/decisions?limit=0").json == {"decisions": [], "next": None}
    after = web("GET", f"{game}/decisions?cursor={given[9]}").json["decisions"]  # one whose loss is known by now
    assert [one["id"] for one in after] == [id for id in still if given.index(id) > 9]
    problem(web("GET", f"{game}/decisions?cursor=1"), 404, hf.UnknownDecision)
    problem(web("GET", f"{game}/decisions?limit=1001"), 422, hf.InvalidParameter)


def test_changes_come_in_pages(tmp_path):
    """Also over a remote router and on pages; another game's changes are not among them."""
    with InThread(f"sqlite:///{tmp_path}/games.db") as web:
        games = [f"/v1/games/{name}" for name in ("one", "two")]
        for game in games:
            web("PUT", game, GAME)
        for number in range(1, 104):
            for game in games:
                web("PATCH", game, {"switching_cost": number, "reason": f"{game[-3:]} {number}"})
        reasons = [f"one {number}" for number in range(1, 104)]
        for limit in (1, 50, 103, 104):
            assert [one["reason"] for one in paged(web, f"{games[0]}/changes", limit)] == reasons
        assert len(web("GET", f"{games[0]}/changes").json["changes"]) == 100
        problem(web("GET", f"{games[0]}/changes?limit=1001"), 422, hf.InvalidParameter)
        with hf.open(web.url, "one") as router:
            assert [one["reason"] for one in router.history.changes] == reasons
        home = web("GET", "/games/one").body.decode()
        assert [f"one {number}" in home for number in range(98, 104)] == [False] + [True] * 5
        assert "switching_cost: 102.0 → 103.0" in home
        first = web("GET", "/games/one/changes").body.decode()
        assert "one 100<" in first
        assert "one 101<" not in first
        later = web("GET", re.findall(r"/games/one/changes\?cursor=\d+", first)[0]).body.decode()
        assert "one 101<" in later
        assert "one 103<" in later
        assert "?cursor=" not in later


def test_a_pause_ends_before_the_last_year_that_a_page_can_show(web, game):
    problem(web("PATCH", game, {"pause": "a", "until": "3000000d"}), 422, hf.InvalidParameter)
    web("PATCH", game, {"pause": "a", "until": "1000000d"})
    assert b"a is paused until 4764-" in web("GET", "/games/" + game.rsplit("/", 1)[1]).body


def test_a_pause_or_pin_that_is_over_is_not_shown(tmp_path):
    """Though nobody has asked since, so that the store has not seen the time."""
    now = [1_800_000_000.0]
    with InThread(f"sqlite:///{tmp_path}/games.db", clock=lambda: now[0]) as web:
        game = "/v1/games/g"
        web("PUT", game, GAME)
        (held,) = ask(web, game)
        (other, *_) = {"a", "b", "c"} - {held["arm"]}
        with Events(web, game) as events:
            web("PATCH", game, {"pause": held["arm"], "until": "10m"})
            web("PATCH", game, {"pin": other, "until": "20m"})
            shown = web("GET", game).json
            assert [one["arm"] for one in shown["paused"]] == [held["arm"]]
            assert shown["pinned"] == other
            assert "pinned" in web("GET", f"{game}/hold").json["why"]
            assert events.until(lambda one: one["pinned"] == other)["paused"] == shown["paused"]
            revision = shown["revision"]
            now[0] += 601
            assert web("GET", game).json["paused"] == []
            assert web("GET", game).json["pinned"] == other
            assert events.until(lambda one: one["paused"] == [])["revision"] == revision
            now[0] += 600
            assert web("GET", game).json["pinned"] is None
            assert "it is certain to stay" in web("GET", f"{game}/hold").json["why"]
            page = web("GET", "/games/g").body.decode()
            assert "No arm is paused or pinned." in page
            assert "20 min ago" in page  # since its last block began
            assert events.until(lambda one: one["pinned"] is None)["revision"] == revision


def test_replay_says_what_each_arm_would_have_cost(web, game):
    problem(web("GET", f"{game}/replay?switching_cost=x"), 422, hf.InvalidParameter)
    for _ in range(40):
        losses = [{"id": d["id"], "loss": {"a": 0.2, "b": 0.5, "c": 0.6}[d["arm"]]} for d in ask(web, game, 10)]
        web("POST", f"{game}/losses", {"losses": losses})
    found = web("GET", f"{game}/replay?switching_cost=3").json
    assert found["rounds"] == 400
    held = {row["policy"]: row for row in found["rows"] if row.get("estimator") == "doubly_robust"}
    assert held["only a"]["cost_low"] <= 0.2 * 400 + 3 <= held["only a"]["cost_high"]
    totals = web("GET", f"{game}/summary").json
    assert found["paid"] == pytest.approx(totals["losses"] + 3 * totals["switches"])


@pytest.mark.slow
def test_a_group_is_written_though_calls_keep_coming():
    """Gathering waits for a moment without a new call; it must not wait for ever."""

    async def play() -> int:
        games = Games("memory:")
        games.begin("busy", hf.Exp3(2), seed=1)
        game = await games.game("busy")
        asks = [asyncio.ensure_future(game.make(Ask()))]
        while not asks[0].done() and len(asks) < 20 * MOST_TOGETHER:
            asks.append(asyncio.ensure_future(game.make(Ask())))
            await asyncio.sleep(0)
        done = asks[0].done()
        answers = await asyncio.gather(*asks)
        games.close()
        assert done
        return len({answer[0].id for answer in answers}) - len(asks)

    assert asyncio.run(play()) == 0


def test_requests_that_wait_are_written_together(tmp_path):
    with InThread(f"sqlite:///{tmp_path}/games.db") as web:
        router = opened(web, seed=1, patience="forever")

        at_once(16, lambda _: [router.tell(router.ask().id, 0.5) for _ in range(25)])
        counts = dict(line.rsplit(" ", 1) for line in web("GET", "/metrics").body.decode().splitlines())
        router.close()
        calls, commits = float(counts["holdfast_committed_calls_total"]), float(counts["holdfast_commits_total"])
        assert calls == 800
        assert commits < 0.7 * calls
        assert web("GET", "/v1/games/game/summary").json["told"] == 400


# ---- the document


def test_a_wrong_method_is_told_the_right_ones(web, game):
    assert web("DELETE", f"{game}/decisions").headers["allow"] == "GET, HEAD, POST"
    assert web("POST", game).headers["allow"] == "DELETE, GET, HEAD, PATCH, PUT"


def test_the_document_describes_every_operation(web):
    served = web("GET", "/openapi.json").json
    assert served == json.loads(msgspec.json.encode(document()))
    assert served["openapi"].startswith("3.1")
    described = {(method.upper(), path) for path, methods in served["paths"].items() for method in methods}
    assert described == {(one.method, one.path) for one in OPERATIONS}
    text = json.dumps(served)
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in served["components"]["schemas"]


@pytest.mark.slow
def test_requests_made_from_the_document_get_the_answers_that_it_says(folder):
    """About 700 requests by Schemathesis; `scripts/service_schema.py` makes more."""
    pytest.importorskip("schemathesis")
    with InThread(f"sqlite:///{folder}/games.db") as web:
        done = service_schema.check(web, examples=3)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert re.search(r"\b([5-9]\d\d|\d{4,}) generated, ", done.stdout), done.stdout[-500:]


@pytest.mark.parametrize("one", OPERATIONS, ids=lambda one: f"{one.method} {one.path}")
def test_answers_are_of_the_types_that_the_document_says(web, one):
    """Every answer decodes as its type, with no field that the type does not have."""
    if "events" in one.path:
        return
    name = f"typed {one.method} {one.path}".replace("/", "_").replace("{", "").replace("}", "").replace(" ", "_")
    game = f"/v1/games/{name}"
    if one.method != "PUT" or "decisions" in one.path:
        web("PUT", game, GAME)
    losses = (
        [{"id": d["id"], "loss": 0.1 * (i % 9)} for i, d in enumerate(ask(web, game, 60))]
        if one.method != "PUT" or "loss" in one.path
        else []
    )
    if "replay" in one.path:
        web("POST", f"{game}/losses", {"losses": losses})
    web("PATCH", game, {"switching_cost": 1.25, "reason": "test"})
    if "compare" in one.path:
        web("PATCH", game, {"holdback": 0.5})
    if "judge" in one.path:
        web("PATCH", game, {"share": {"a": 0.5}})
        ask(web, game, 60)
    bodies = {"NewGame": GAME, "Changes": {"remember": 5}, "Ask": {"n": 2}, "dict": {"loss": 0.5}, "Evaluate": {}}
    if one.body is ObserveBody:
        return  # for policies that see all losses: tests of its own
    bodies |= {"Losses": {"losses": losses}, "CompactBody": {"keep": 100}}
    body = None if one.body is None else bodies[one.body.__name__]
    query = {"confirm": name, "switching_cost": "0.5", "arm": "a", "against": "b"}
    asked = "&".join(f"{key}={query[key]}" for key, _, required in one.query if required)
    path = one.path.replace("{name}", name).replace("{id}", losses[0]["id"] if losses else "")
    answer = web(one.method, f"{path}?{asked}" if asked else path, body)
    assert answer.status in one.statuses, answer.body
    if isinstance(one.gives, str):
        assert answer.headers["content-type"].startswith(("text/", "application/"))
    elif one.gives is not None:
        typed = msgspec.json.decode(answer.body, type=one.gives)
        assert json.loads(msgspec.json.encode(typed)) == answer.json


def test_the_audit_log_says_what_was_done(web, game, caplog):
    caplog.set_level("INFO", "holdfast.audit")
    for change in ({"pause": "a"}, {"resume": "a"}, {"pin": "a"}, {"unpin": True}, {"switching_cost": 2.0}):
        assert web("PATCH", game, change).status == 200
    assert web("POST", f"{game}/compact", {"keep": 5}).status == 200
    assert web("DELETE", f"{game}?confirm={game.rpartition('/')[2]}").status == 204
    said = [json.loads(record.message)["did"] for record in caplog.records if record.name == "holdfast.audit"]
    assert said == ["paused", "resumed", "pinned", "unpinned", "changed", "compacted", "deleted"]


def test_a_server_has_no_more_arms_than_its_pages_show(web, game):
    many = [f"arm {i}" for i in range(1001)]
    for body in ({**GAME, "arms": many}, {"policy": "exp3", "parameters": {"n_arms": 100_000}}):
        assert "at most 1,000 arms" in problem(web("PUT", "/v1/games/wide", body), 422, hf.InvalidParameter)["detail"]
    problem(web("PATCH", game, {"add_arms": many[:998]}), 422, hf.InvalidParameter)
    assert web("GET", game).json["arms"] == ["a", "b", "c"]


def test_others_have_their_turns_while_many_losses_are_read(web, game, monkeypatch):
    """10,000 refused losses of one call: the event loop goes on in between."""
    turns, sleep = [], asyncio.sleep

    async def counted(seconds):
        turns.append(seconds)
        await sleep(seconds)

    monkeypatch.setattr("holdfast.service.api.asyncio.sleep", counted)
    bad = {"losses": [{"id": "x", "loss": "bad"}] * 10_000}
    verdicts = web("POST", f"{game}/losses", bad).json["verdicts"]
    assert len(verdicts) == 10_000
    assert {verdict["status"] for verdict in verdicts} == {404}
    assert turns.count(0) == 2 * 99
    assert web("GET", "/").status == 200
