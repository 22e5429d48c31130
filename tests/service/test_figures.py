"""Every number on a page, in the metrics and in the log, recomputed from the rows of the store."""

import json
import math
import re
import sqlite3
import time
from collections import Counter, defaultdict
from itertools import count, pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from places import Clock
from scipy import stats
from service import InThread, Web, ask

import holdfast as hf
from holdfast.service import game_page
from holdfast.service.access import TokenFile
from holdfast.service.messages import GameLine
from holdfast.service.metrics import Metrics
from holdfast.service.pages import moment, utc
from holdfast.text import five_digits, number, with_interval

SCALE = hf.Scale(latency=(0.2, 8.0, 3), price=(0.0, 0.02, 1), error=1.0)
NOW = 1_800_000_000.0
DAY = 86400.0
ARMS = ["east", "west", "north"]


@pytest.fixture
def clock():
    found = Clock()
    found.now = NOW - 3 * DAY
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Three days of a game with measures, failures, stand-ins, conversations and missing losses; and its server."""
    folder, clock = tmp_path_factory.mktemp("figures"), Clock()
    clock.now = NOW - 3 * DAY
    url = f"sqlite:///{folder}/games.db"
    policy = hf.TsallisSwitch(arms=ARMS, switching_cost=0.5)
    with hf.open(url, "g", policy, seed=5, scale=SCALE, patience=40, missing=0.75, clock=clock) as router:
        for t in range(600):
            clock.now += 3 * DAY / 600
            key = f"talk {t % 7}" if t % 5 == 0 else None
            (decision,) = router.ask(1, key=key, available=["west", "north"] if t % 11 == 0 else None)
            if t % 13 == 0:
                continue  # never told
            bad = decision.arm == "north" and t > 300
            outcome = {"error": True} if bad else {"latency": 0.2 + t % 10 / 5, "price": t % 3 / 100}
            router.tell(decision.id, **outcome)
        router.pause("north", reason="fails")
    clock.now += 90.0
    with InThread(url, clock=clock) as web:
        connection = sqlite3.connect(f"{folder}/games.db")
        connection.row_factory = sqlite3.Row
        yield web, connection, clock
        connection.close()


def rounds_of(connection):
    """Each round handed out, from the rows alone: its arm, its loss, when that came, and what was measured."""
    handed = connection.execute("SELECT current, handed FROM holdfast_heads").fetchone()
    losses = {(row["block"], row["round"]): row for row in connection.execute("SELECT * FROM holdfast_losses")}
    for block in connection.execute("SELECT * FROM holdfast_blocks ORDER BY number"):
        rounds = handed["handed"] if block["number"] == handed["current"] else block["rounds"]
        by = [block["arm"]] * rounds
        for first, length, arm, _ in json.loads(block["played"] or "[]"):
            by[first : first + length] = [arm] * length
        for n in range(rounds):
            loss = losses.get((block["number"], n))
            counted = loss["loss"] if loss else block["stand_in"]
            yield by[n], counted, loss, block


def expected(connection, now):
    names = [one[0] for one in json.loads(connection.execute("SELECT arms FROM holdfast_games").fetchone()[0])]
    found = {name: defaultdict(list) for name in names}
    heard = []
    for arm, counted, loss, block in rounds_of(connection):
        mine = found[names[arm]]
        mine["rounds"].append(1)
        mine["began"].append(block["began"])
        if counted is not None and (loss or block["settled_order"] is not None):
            mine["counted"].append(counted)
        if loss:
            heard.append((block["number"], loss["round"], names[arm], loss))
        elif block["settled_order"] is not None:
            mine["missing"].append(1)
    heard.sort(key=lambda one: one[:2], reverse=True)
    for place, (_, _, name, loss) in enumerate(heard):
        measures = json.loads(loss["measures"])
        mine = found[name]
        mine["told"].append(loss["loss"])
        if loss["at"] > now - 3600:
            mine["hour"].append(loss["loss"])
        if loss["at"] > now - DAY:
            mine["day"].append(loss["loss"])
        if place < 1000:
            mine["latest"].append(loss["loss"])
            mine["failures"] += [1] * bool(measures.get("error"))
            for name_of in ("latency", "price"):
                mine[name_of] += [measures[name_of]] if name_of in measures else []
    return found


def mean(values):
    return math.fsum(values) / len(values)


def turns_of(connection):
    """Arm and block of each round in the order of the asks, without conversations, which pay for no switch."""
    players, turns = defaultdict(list), []
    for arm, _, _, block in rounds_of(connection):
        players[block["number"]].append((arm, block))
    for one in connection.execute("SELECT * FROM holdfast_asks ORDER BY at"):
        turns += players[one["block"]][one["first"] : one["first"] + one["rounds"]]
    return [turn for turn in turns if turn[1]["key"] is None]


def game_figures(connection, since=0.0):
    """Counts and costs of the blocks begun since a moment."""
    rows = [row for row in rounds_of(connection) if row[3]["began"] >= since]
    turns = [(None, None), *turns_of(connection)]
    switches = sum(a != b for (a, _), (b, block) in pairwise(turns) if block["began"] >= since)
    settled = [counted for _, counted, loss, block in rows if loss or block["settled_order"] is not None]
    return {
        "rounds": len(rows),
        "switches": switches,
        "switching": 0.5 * switches,
        "cost": math.fsum([*settled, 0.5 * switches]),
        "missing": sum(not loss and block["settled_order"] is not None for _, _, loss, block in rows),
        "out": sum(not loss and block["settled_order"] is None for _, _, loss, block in rows),
        "late": sum(loss["late"] for _, _, loss, _ in rows if loss),
        "moves": 0,
    }


def test_the_metrics_are_the_rows(played):
    web, connection, clock = played
    text = web("GET", "/metrics").body.decode()
    found = {
        name: float(value)
        for name, value in (line.rsplit(" ", 1) for line in text.splitlines())
        if name.startswith(("holdfast_arm", "holdfast_game"))
    }
    last, block = turns_of(connection)[-1]
    chances = {name: found.pop(f'holdfast_arm_probability{{arm="{name}",game="g"}}') for name in ARMS}
    assert sum(chances.values()) == pytest.approx(1.0)
    assert chances[ARMS[block["arm"]]] == pytest.approx(block["probability"], rel=1e-12)
    wanted = {}
    for arm, (name, mine) in enumerate(expected(connection, clock.now).items()):
        said = {
            "rounds": len(mine["rounds"]),
            "told": len(mine["told"]),
            "missing": len(mine["missing"]),
            "mean": mean(mine["counted"]),
            "recent": mean(mine["latest"]),
            "failures": len(mine["failures"]),
            "held": float(arm == last),
            "paused": float(name == "north"),
            "pinned": 0.0,
        }
        wanted |= {f'holdfast_arm_{kind}{{arm="{name}",game="g"}}': value for kind, value in said.items()}
    game = game_figures(connection)
    del game["switching"]
    latest = connection.execute("SELECT MAX(at) FROM holdfast_losses").fetchone()[0]
    game["last_loss_age_seconds"] = clock.now - latest
    wanted |= {f'holdfast_game_{kind}{{game="g"}}': value for kind, value in game.items()}
    assert found == pytest.approx(wanted, rel=1e-12)


def interval_of(connection, name):
    """That of a ratio of block totals, among blocks that have a loss, around the mean of what counted."""
    rows = connection.execute("SELECT losses, told, arm FROM holdfast_blocks WHERE told > 0").fetchall()
    mine = [
        (math.fsum(json.loads(losses)), told) for losses, told, arm in rows if ("east", "west", "north")[arm] == name
    ]
    totals, counts = np.array(mine).T
    off = totals - totals.sum() / counts.sum() * counts
    n = len(off)
    half = stats.t.ppf(0.975, n - 1) * math.sqrt((off**2).sum() * n / (n - 1)) / counts.sum()
    counted = mean(expected(connection, NOW)[name]["counted"])
    return max(counted - half, 0.0), min(counted + half, 1.0)


def rows_of_table(page, name):
    """Head and cells by their labels, of each row of a table."""
    table = re.search(f'id="{name}".*?</table>', page, re.DOTALL)[0]  # type: ignore[index]
    for row in re.findall(r"<tr><th scope=\"row\">.*?</tr>", table, re.DOTALL):
        head = re.sub(r"<[^>]*>", "", re.search(r"<th scope=\"row\">(.*?)</th>", row, re.DOTALL)[1])  # type: ignore[index]
        yield head, dict(re.findall(r'<td[^>]*data-label="([^"]*)"[^>]*><span>(.*?)</span></td>', row, re.DOTALL))


def test_the_page_is_the_rows(played):
    web, connection, clock = played
    page = web("GET", "/games/g").body.decode()
    figures = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", page))
    rows, game = expected(connection, clock.now), game_figures(connection)
    talks = connection.execute("SELECT COUNT(*) FROM holdfast_blocks WHERE live = 1").fetchone()[0]
    _, block = turns_of(connection)[-1]
    today = game_figures(connection, since=clock.now - clock.now % DAY)
    handed = connection.execute("SELECT SUM(rounds) FROM holdfast_asks WHERE block = ?", (block["number"],)).fetchone()
    assert figures == {
        "arm held": ARMS[block["arm"]],
        "certain for": f"{block['rounds'] - handed[0]} rounds",
        "conversations open": number(talks),
        "rounds": number(game["rounds"]),
        "switches": number(game["switches"]),
        "cost": five_digits(game["cost"]),
        "of it for switches": five_digits(game["switching"]),
        "cost today (UTC)": five_digits(today["cost"]),
        "losses waited for": number(game["out"]),
        "losses missing": number(game["missing"]),
    }
    chances = {}
    for name, cells in rows_of_table(page, "arms"):
        mine = rows[name]
        chance = float(re.search(r"[0-9.]+$", cells["drawn with"])[0])  # type: ignore[index]
        chances[name] = chance
        assert cells["last begun"] == moment(max(mine["began"]), clock.now)
        assert cells["rounds"] == number(len(mine["rounds"]))
        assert cells["losses"] == number(len(mine["told"]))
        assert cells["mean loss (95 %)"] == with_interval(mean(mine["counted"]), interval_of(connection, name))
        for label, kind in (("last hour", "hour"), ("last day", "day"), ("last 1,000", "latest")):
            values = mine[kind]
            assert cells[label] == (f"{mean(values):.4g} ({number(len(values))})" if values else "–")
        assert cells["failed"] == number(len(mine["failures"]))
        for measure in ("latency", "price"):
            assert cells[measure] == (f"{mean(mine[measure]):.4g}" if mine[measure] else "–")
    assert chances[ARMS[block["arm"]]] == float(f"{block['probability']:.3f}")
    assert sum(chances.values()) == pytest.approx(1.0, abs=0.002)
    ((_, listed),) = rows_of_table(web("GET", "/").body.decode(), "games")
    del listed["since"]  # tests/service/test_views.py has it
    assert listed == {
        "arm held": ARMS[block["arm"]],
        "rounds": number(game["rounds"]),
        "switches": number(game["switches"]),
        "cost": five_digits(game["cost"]),
        "today": five_digits(today["cost"]),
        "waiting": number(game["out"]),
        "missing": number(game["missing"]),
        "last loss": moment(connection.execute("SELECT MAX(at) FROM holdfast_losses").fetchone()[0], clock.now),
    }


def test_the_log_is_the_rows(played):
    web, connection, _ = played
    with hf.open(web.url, "g") as router:
        log = router.history.log.rows(named=True)
    rows = list(rounds_of(connection))
    asks = list(connection.execute("SELECT * FROM holdfast_asks"))
    asked = {(ask["block"], ask["first"] + n): ask for ask in asks for n in range(ask["rounds"])}
    assert len(log) == len(rows) == len(asked)
    game, places = connection.execute("SELECT uid FROM holdfast_games").fetchone()[0], defaultdict(count)
    for line, (arm, counted, loss, block) in zip(log, rows, strict=True):
        place = next(places[block["number"]])
        chances = [block["probability"]] * block["rounds"]
        for first, length, _, chance in json.loads(block["played"] or "[]"):
            chances[first : first + length] = [chance] * length
        ask, settled = asked[block["number"], place], block["settled_order"] is not None
        uid, number_, round_, _ = line.pop("id").split("-")
        assert (uid, int(number_), int(round_)) == (game, block["number"], place)
        measures = line.pop("measures")
        assert (measures and json.loads(measures)) == (json.loads(loss["measures"]) if loss else None)
        for name, at in (("time", block["began"]), ("asked", ask["at"]), ("told", loss and loss["at"])):
            assert (line[name] and line[name].timestamp()) == (at and pytest.approx(at, abs=1e-6))
            del line[name]
        assert line == {
            "arm": ARMS[arm],
            "loss": loss["loss"] if loss else counted if settled else None,
            "probability": chances[place],
            "block": block["number"],
            "single": True,
            "status": ("late" if loss["late"] else "told") if loss else "missing" if settled else "open",
            "conversation": block["key"] is not None,
            "by": "policy",
            "request": ask["request"],
            "key": block["key"],
        }


def test_an_arm_that_fails_now_and_one_that_nobody_looks_at_are_pointed_out(tmp_path, clock):
    url = f"sqlite:///{tmp_path}/games.db"
    policy = hf.AdaptiveTsallisSwitch(arms=["a", "b"], switching_cost=0.3)
    with InThread(url, clock=clock) as web, hf.open(url, "g", policy, seed=1, clock=clock) as router:
        for t in range(1200):
            clock.now += 600.0
            arm = router.ask()
            router.tell(arm.id, (0.2 if arm.arm == "a" else 0.9) + t % 2 / 20)
        before = web("GET", "/v1/games").json["games"][0]["warnings"]
        assert not [words for words in before if "worse" in words]
        assert [words for words in before if re.fullmatch(r"b was not played for [0-9.]+ days", words)]
        for _ in range(20):
            clock.now += 60.0
            arm = router.ask(available=["a"])
            router.tell(arm.id, 1.0)
        (line,) = web("GET", "/v1/games").json["games"]
        (worse,) = [words for words in line["warnings"] if "worse" in words]
        assert worse.startswith("a is worse than it was: ")
        assert worse in web("GET", "/games/g").body.decode()


def form(web, path, **fields):
    body = "&".join(f"{name}={value}" for name, value in fields.items()).encode()
    return web("POST", path, body, content_type="application/x-www-form-urlencoded")


def test_arms_are_added_and_retired_and_decisions_followed_on_the_page(web, game):
    page = f"/games/{game.rpartition('/')[2]}"
    looked = form(web, f"{page}/change", add="d", reason="a+new+model")
    assert "Add d to " in looked.body.decode()
    assert web("GET", game).json["arms"] == ["a", "b", "c"]
    assert form(web, f"{page}/change", add="d", reason="a+new+model", confirmed="yes").status == 303
    assert "Retire a in " in form(web, f"{page}/change", retire="a", reason="old").body.decode()
    assert form(web, f"{page}/change", retire="a", reason="old", confirmed="yes").status == 303
    assert web("GET", game).json["arms"] == ["b", "c", "d"]
    assert form(web, f"{page}/change", retire="nobody", reason="old", confirmed="yes").status == 422
    (decision,) = web("POST", f"{game}/decisions", {}, idempotency_key="order 7").json["decisions"]
    web("PUT", f"{game}/decisions/{decision['id']}/loss", {"loss": 0.125})
    shown = web("GET", f"{page}/decision?id={decision['id']}").body.decode()
    _, block, place, _ = decision["id"].split("-")
    for words in ("order 7", "told, 0.125", f"<dd>{block}, round {int(place) + 1} of it</dd>"):
        assert words in shown
    assert web("GET", f"{game}/decisions/{decision['id']}").json["why"] in shown
    assert web("GET", f"{page}/decision?id=nonsense").status == 404
    chart = web("GET", f"{page}?axis=time").body.decode()
    assert "time (UTC)" in chart
    assert "Show rounds" in chart
    assert "Show time" in web("GET", page).body.decode()


def test_arms_are_paused_and_pinned_on_the_page(web, game):
    name = game.rpartition("/")[2]
    for fields, question, stands in (
        ({"act": "pause", "arm": "b", "until": "2h"}, f"Pause b of {name} for 2h?", (["b"], None)),
        ({"act": "resume", "arm": "b", "until": "2h"}, f"Resume b of {name}?", ([], None)),  # which needs no end
        ({"act": "pin", "arm": "c", "until": ""}, f"Pin c of {name}?", ([], "c")),
        ({"act": "unpin", "arm": "a", "until": "2h"}, f"Unpin {name}?", ([], None)),
    ):
        before = web("GET", game).json["revision"]
        looked = form(web, f"/games/{name}/change", **fields, reason="why")
        assert (looked.status, f"<h1>{question}</h1>" in looked.body.decode()) == (200, True)
        assert web("GET", game).json["revision"] == before
        assert form(web, f"/games/{name}/change", **fields, reason="why", confirmed="yes").status == 303
        view = web("GET", game).json
        assert ([one["arm"] for one in view["paused"]], view["pinned"]) == stands


def test_blocks_are_the_rows(played):
    web, connection, _ = played
    shown = web("GET", "/v1/games/g/blocks?limit=1000").json["blocks"]
    rows = [dict(row) for row in connection.execute("SELECT * FROM holdfast_blocks ORDER BY number")]
    same = ("number", "key", "rounds", "probability", "began", "bound", "told", "late", "due", "stand_in", "forced")
    for one, row in zip(shown, rows, strict=True):
        assert {name: one[name] for name in same} == {name: row[name] for name in same}
        assert (one["arm"], one["losses"]) == (ARMS[row["arm"]], json.loads(row["losses"]))
        assert (one["settled"] is None) == (row["settled_order"] is None)


def test_what_happened_is_counted(tmp_path):
    game = {"policy": "tsallis-switch", "arms": ["a", "b"], "switching_cost": 50.0, "seed": 1}
    with InThread(f"sqlite:///{tmp_path}/games.db") as web:
        web("PUT", "/v1/games/counted", game)
        (decision,) = web("POST", "/v1/games/counted/decisions", {}).json["decisions"]
        other = "b" if decision["arm"] == "a" else "a"
        web("POST", "/v1/games/counted/decisions", {"n": 2, "available": [other]})
        told = [{"id": "unrecorded-1", "loss": 0.5}, {"id": "nonsense", "loss": 0.5}, {"id": decision["id"], "loss": 7}]
        web("POST", "/v1/games/counted/losses", {"losses": told})
        text = web("GET", "/metrics").body.decode()
    for line in ("replaced_rounds_total", "refused_losses_total"):
        assert f'holdfast_{line}{{game="counted"}} 2.0' in text
    assert 'holdfast_fallback_losses_total{game="counted"} 1.0' in text
    assert 'holdfast_request_seconds_count{method="POST",route="/v1/games/{name}/decisions",status="200"} 2.0' in text
    assert "holdfast_waiting_calls 0.0" in text
    ahead = Metrics().text([GameLine("g", last_loss=NOW + 5.0)], NOW)  # by the clock of another machine
    assert b'holdfast_game_last_loss_age_seconds{game="g"} 0.0' in ahead


def test_who_sees_one_game_sees_its_counts_only(tmp_path):
    tokens = TokenFile(tmp_path / "tokens.json")
    admin, mine = tokens.make("admin"), tokens.make("read", ['say "hi"\\'])
    with InThread(f"sqlite:///{tmp_path}/games.db", tokens.path) as web:
        for name in ("say%20%22hi%22%5C", "secret"):
            sent = Web(web.port, admin)
            assert sent("PUT", f"/v1/games/{name}", {"policy": "exp3", "parameters": {"n_arms": 2}}).status == 201
            sent("PUT", f"/v1/games/{name}/decisions/nonsense/loss", {"loss": 0.5})
        text = Web(web.port, mine)("GET", "/metrics").body.decode()
    assert "secret" not in text
    assert r'holdfast_refused_losses_total{game="say \"hi\"\\"} 1.0' in text


def points_of(page, chart):
    """The points of each line of a chart, by its label."""
    data = json.loads(re.search(f'<script[^>]*id="{chart}"[^>]*>(.*?)</script>', page)[1])  # type: ignore[index]
    lists, labels = data["x"]["lists"], [one["label"] for one in data["series"]]
    lines = data["rows"][0][0]["lines"]
    return {labels[line["series"]]: list(zip(lists[line["x"]], line["y"], strict=True)) for line in lines}


def test_shares_budgets_and_moves_are_shown(tmp_path, clock):
    url, policy = f"sqlite:///{tmp_path}/games.db", hf.TsallisInf(arms=["a", "b", "c"])
    share = {"c": (0.01, 0.25, "10s")}
    with (
        InThread(url, clock=clock) as web,
        hf.open(url, "capped", policy, seed=1, clock=clock, share=share) as capped,
        hf.open(url, "budget", policy, seed=1, clock=clock, most_switches=(20, "1d"), move_cost=0.5) as budget,
    ):
        first, *_ = capped.ask(3)
        talk = budget.ask(key="x").arm
        budget.ask(key="x", available=[arm for arm in "abc" if arm != talk])
        budget.ask(9)
        clock.now += 5.0
        capped.tell(first.id, 0.5)
        followed = web("GET", f"/games/capped/decision?id={first.id}").body.decode()
        for term, at in (("asked for", clock.now - 5.0), ("reported", clock.now)):
            assert f"<dt>{term}</dt><dd>{utc(at)} UTC</dd>" in followed
        left = budget.switches_left
        assert 0 < left < 20
        said = web("GET", "/metrics").body.decode().splitlines()
        for figure in (f'game_switches_left{{game="budget"}} {left}.0', 'game_moves{game="budget"} 1.0'):
            assert f"holdfast_{figure}" in said
        shares = [line for line in said if line.startswith("holdfast_arm_share")]
        assert shares == ['holdfast_arm_share{arm="c",game="capped"} 0.05']  # half of the way, as factors go
        assert "c: drawn at most</dt><dd>5\u00a0%" in web("GET", "/games/capped").body.decode()
        page = web("GET", "/games/budget").body.decode()
        assert f"switches left</dt><dd>{left} of 20 switches in 1d" in page
        assert "conversations moved</dt><dd>1 time<" in page


def test_comparisons_judgements_and_estimates_are_shown_as_they_are_computed(tmp_path):
    url, policy = f"sqlite:///{tmp_path}/games.db", hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=0.0)
    with (
        InThread(url) as web,
        hf.open(url, "ruled", policy, seed=1, holdback=0.3) as ruled,
        hf.open(url, "capped", policy, seed=1, share={"c": 0.25}) as capped,
    ):
        losses = {"a": 0.9, "b": 0.3, "c": 0.5}
        ruled.tell([(one.id, losses[str(one.arm)]) for one in ruled.ask(200, rule="a")[7:]])
        told, waiting = capped.ask(193), capped.ask(7)
        capped.tell([(one.id, losses[str(one.arm)]) for one in told])
        saved = web("GET", "/v1/games/ruled/compare").json
        judged = web("GET", "/v1/games/capped/judge?arm=c&against=a").json
        pages = [
            web("GET", f"/games/{path}").body.decode() for path in ("ruled/compare", "capped/judge?arm=c&against=a")
        ]
        shown = [[(name, int(*cells.values())) for name, cells in rows_of_table(page, "units")] for page in pages]
        held = saved["held_back"]
        assert 0 < held < saved["units"] - held
        assert 0 < judged["of_arm"] != judged["of_against"]
        words, open_ = "not all told yet", sum(one.arm != "b" for one in waiting)
        assert shown == [
            [("by the policy", saved["units"] - held), ("by your rule", held), (words, 7)],
            [("c", judged["of_arm"]), ("a", judged["of_against"]), (words, open_)],
        ]
        assert f"of {judged['units']} blocks or conversations" in pages[1]
        for share, linked in ((0.3, True), (1.0, False)):  # a shadow has nothing to compare
            ruled.change(holdback=share)
            assert ("/games/ruled/compare" in web("GET", "/games/ruled").body.decode()) is linked
        for words in (f"The policy: {saved['words']}.", judged["words"][1:]):
            assert words.replace(" %", "\u00a0%") in "".join(pages)
        link = '<a href="/games/capped/judge?arm=c&amp;against=a">Is c better than a?</a>'
        assert link in web("GET", "/games/capped").body.decode()
        looked = form(web, "/games/capped/change", cost="0.5", reason="why").body.decode()
        replayed = web("GET", "/v1/games/capped/replay?switching_cost=0.5").json
        wanted = {
            row["policy"]: f"{five_digits(row['cost'])} ± {five_digits(row['cost_high'] - row['cost'])}"
            for row in replayed["rows"]
            if row.get("estimator") == "doubly_robust" and row["policy"].startswith("only")
        }
        assert len(wanted) == 3
        assert {name: cells.popitem()[1] for name, cells in rows_of_table(looked, "estimates")} == wanted
        assert f"{replayed['rounds']} rounds in the log cost {five_digits(replayed['paid'])} at this λ" in looked


def test_a_line_of_the_list_is_as_of_now(tmp_path, clock, monkeypatch):
    """What was refused is counted together; and a warning comes with time, though nothing was asked or told."""
    with InThread(f"sqlite:///{tmp_path}/games.db", clock=clock) as web:
        web("PUT", "/v1/games/g", {"policy": "exp3", "arms": ["a", "b"]})
        told, *waiting = ask(web, "/v1/games/g", 60)
        web("POST", "/v1/games/g/losses", {"losses": [{"id": one["id"], "loss": 0.5} for one in [told, *waiting[:39]]]})
        alike = "the last 40 losses are all 0.5"
        assert web("GET", "/v1/games").json["games"][0]["warnings"] == [alike]
        clock.now += 3700.0
        assert web("GET", "/v1/games").json["games"][0]["warnings"] == ["no losses for more than an hour", alike]
        for loss in (7.0, 8.0, "x"):
            web("PUT", f"/v1/games/g/decisions/{waiting[-1]['id']}/loss", {"loss": loss})
        refused = web("GET", "/v1/games").json["games"][0]["warnings"][-1]
        assert refused.startswith("3 losses were refused lately, the last one because loss must be ")
        assert refused in web("GET", "/games/g").body.decode().replace("&#x27;", "'")
        for later, shown in ((3590.0, True), (3610.0, False)):
            then = SimpleNamespace(
                monotonic=lambda later=later: time.monotonic() + later, perf_counter=time.perf_counter
            )
            monkeypatch.setattr("holdfast.service.app.time", then)
            assert (refused in web("GET", "/v1/games").json["games"][0]["warnings"]) == shown
        for name in "abcd":
            web("PUT", f"/v1/games/{name}", {"policy": "exp3", "arms": ["a", "b"]})
        monkeypatch.setattr("holdfast.service.pages.MOST_LISTED", 2)
        assert "and 3 more" in web("GET", "/").body.decode()


def test_thirty_arms_and_a_bound_leave_the_charts_readable(tmp_path):
    """Seven arms in the charts, each in its own colour, all in the tables; a bound that would flatten them ends."""
    url = f"sqlite:///{tmp_path}/games.db"
    policy = hf.AdaptiveTsallisSwitch(arms=[f"arm {i:02}" for i in range(30)], switching_cost=0.3)
    with hf.open(url, "wide", policy, seed=1) as router:
        router.tell([(decision.id, int(str(decision.arm)[4:]) / 30) for decision in router.ask(400)])
    with InThread(url) as web:
        page = web("GET", "/games/wide").body.decode()
        blocks = web("GET", "/v1/games/wide/blocks?limit=1000").json["blocks"]
        means = dict(
            re.findall(r'holdfast_arm_mean{arm="(arm \d+)",game="wide"} (.*)', web("GET", "/metrics").body.decode())
        )
    lengths = [block["rounds"] for block in blocks]
    lengths[-1] -= sum(lengths) - 400  # what was not handed out
    ends = np.cumsum(lengths).tolist()
    drawn = points_of(page, "drawn-numbers")
    played = Counter({f"arm {i:02}": 0 for i in range(30)})
    for block, length in zip(blocks, lengths, strict=True):
        played[block["arm"]] += length
    assert set(drawn) == {arm for arm, _ in sorted(played.items(), key=lambda pair: (-pair[1], pair[0]))[:7]}
    for arm, points in drawn.items():
        mine = [
            (x, pytest.approx(one["probability"], rel=1e-5))
            for x, one in zip(ends, blocks, strict=True)
            if one["arm"] == arm
        ]
        assert points == mine
    for name, points in points_of(page, "cost-numbers").items():
        if name.startswith("only"):
            assert points[-1] == (400, pytest.approx(400 * float(means[name.removeprefix("only ")]), rel=1e-5))
    assert page.count("The 7 arms played most, of 30.") == 3
    assert "The 23 arms played less" in page
    assert len(set(re.findall(r"only (arm [0-9]{2})", page))) == 7
    rows = re.findall(r'<th scope="row">.*?(arm [0-9]{2})', page, re.DOTALL)
    assert len(set(rows)) == 30
    styles = set(re.findall(r"patch s([0-9])", page[: page.index("arms played less")]))
    assert len(styles) == 7
    lines = SimpleNamespace(cost=[1.0, 2.0], fixed=[[0.5, 1.0], [None, 3.0]], bound=[3.3, 3.0])
    assert game_page._within_sight(lines) == [3.3, 3.0]
    lines.bound = [0.0, 1.0, 3.4, 10.0]
    assert game_page._within_sight(lines) == [0.0, 1.0, None, None]
    lines.bound = [5.0, 10.0]
    assert game_page._within_sight(lines) is None
