"""The command line: what each call prints and its exit code, from the files of one folder."""

import re
import shlex
from pathlib import Path

import pytest
from commands import command_here
from frozen_policies import table
from scripted_games import Clock, Script
from shown import shown

import holdfast as hf

STORE = """
store ask URL jobs --policy tsallis-switch --arms east,west,north --switching-cost 0.35
store ask URL jobs -n 4 --request first --json
store ask URL jobs -n 4 --request first --json
store ask URL jobs -n 2 --request first
store tell URL jobs ID 0.25
store tell URL jobs ID 0.25
store tell URL jobs ID 0.5
store tell URL jobs ID --reward 0.75 --json
store tell URL jobs 1-1-1 0.5
store tell URL jobs ID --failed --in-time
store tell URL jobs ID --measured latency=1
store ask URL jobs --key talk --available east,west
store end URL jobs talk
store end URL jobs talk
store pause URL jobs east --until 10m --reason slow
store ask URL jobs
store pin URL jobs west
store pin URL jobs south
store unpin URL jobs
store resume URL jobs east
store change URL jobs --switching-cost 0.5 --patience 30s --missing mean --add south --reason cheaper
store change URL jobs --patience soon
store change URL jobs --breaker failures=2,within=5,pause=1m --key-life 2h --most-switches 10,1d
store change URL jobs --share south=0.1
store change URL jobs --scale latency=0:4:3 --scale error=1 --remember 10 --keep 1000
store change URL jobs --retire east,west,north
store settle URL jobs
store ask URL job
store ask URL prices --json
store observe URL prices a=0.25 b=0.75 --json
store observe URL prices a=0.25
store list URL
store list URL --json
store show URL jobs
store show URL jobs --json
store show URL "scale, drop, time, breaker"
store show URL "holdback, conversations"
store show URL "few switches, tracking"
store show URL jobs prices
store decision URL jobs ID
store decision URL jobs ID --json
store compare URL jobs
store compare URL "holdback, conversations"
store compare URL "holdback, conversations" --confidence 0.5 --json
store judge URL "ramp, operators" a --against b
store judge URL "ramp, operators" a --against a
store export URL jobs --out log.csv
store export URL jobs --out log.xls
store compact URL jobs --keep 2
store backup URL copy.db
store backup URL copy.db
store list sqlite:///none.db
store list mysql://host/x
store restore none.db URL --yes
""".strip().splitlines()

OTHERS = """
--version
bounds --arms 8 --switching-cost 1 --horizon 1e5
bounds --arms 8 --switching-cost 1 --horizon 1e5 --gaps 0.05
bounds --arms 4 --switching-cost 0 --horizon 1000 --gaps 0.1,0.2 --best-arms 2
bounds --arms 2 --switching-cost 30 --horizon 1e12 --gaps 0.3
bounds --arms 1 --switching-cost 1 --horizon 10
bounds --arms 8 --switching-cost 1 --horizon 0.5
bounds --arms 8 --switching-cost 1 --horizon 1e5 --gaps 0
bounds --arms 8 --switching-cost 1 --horizon 1e5 --gaps 0.1,0.2
bounds --arms 3 --switching-cost 1 --horizon 100 --best-arms 3 --gaps 0.1
replay hours.csv --index time --switching-cost 0.25,1 --policies exp3,hold-forever --replications 3
replay hours.csv --index time --switching-cost 0.25 --policies tsallis-switch --sees own --replications 2 --seed 5
replay hours.csv --index time --switching-cost 0.5 --policies exp3 --rewards --replications 2 --period 24
replay hours.csv --index time --switching-cost 0.5 --policies exp3 --clip 0.2,0.6 --replications 2 --unit kWh
replay hours.csv --index time --columns east,west --switching-cost 9 --units=-3,2 --policies exp3 --replications 2
replay comma.csv --separator ; --decimal , --switching-cost 5 --policies hold-forever --rescale
replay long.csv --long t,arm,loss --fill last --switching-cost 0.2 --policies hold-forever
replay hours.csv --index time --switching-cost pairs.csv --policies hold-forever
replay log.csv --logged --switching-cost 0.3
replay log.csv --logged --switching-cost 0.3 --loss-column cost
replay hours.csv --switching-cost 1
replay hours.csv --index time --switching-cost -1
replay hours.csv --index time --switching-cost 1 --policies exp3:horizon=5
replay hours.csv --index time --switching-cost 1 --policies exp33
replay hours.csv --index time --switching-cost 1 --units 0,0.5
replay hours.csv --index time --switching-cost 1 --units 1,0
replay hours.csv --index time --switching-cost 1 --sees some
replay hours.csv --index time --columns east,south --switching-cost 1
replay comma.csv --switching-cost 1
replay long.csv --long t,arm,loss --switching-cost 0.2
replay gaps.csv --switching-cost 1
replay words.csv --switching-cost 1
replay pairs.csv --switching-cost 1 --seed x
study run study.toml --out out
study run wrong.toml --out out
study run hours.csv --out out
study plot out
reproduce stochastic-esy
reproduce --replications 1 --arms 1
benchmark run --policy ucb
benchmark run --policy ucb1:cooldown=-1
check nothing:here
check exp3:horizon=3
token make none/tokens.json --role king
token list tokens.json
token revoke tokens.json 1234
serve memory: --port 99999
serve sqlite:///x.db --host 0.0.0.0
serve sqlite:///x.db --root-path x
serve sqlite:///x.db --workers 0
steer none.toml
steer steer.toml
steer alone.toml
cache clear nothing
warm --policies exp4
stor
replay
""".strip().splitlines()

STUDY = """
horizon = 40
replications = 2
switching_cost = 1.0
[environment]
kind = "bernoulli"
n_arms = 3
gap = {gap}
[[policies]]
policy = "hold-forever"
"""


def said(words: str, folder: Path) -> list[str]:
    run = command_here(*shlex.split(words))
    lines = [
        f"$ {words} → {run.returncode}",
        *run.stdout.splitlines(),
        *(f"! {one}" for one in run.stderr.splitlines()),
    ]
    return [shown(line.rstrip()).replace(str(folder), "FOLDER").replace(hf.__version__, "VERSION") for line in lines]


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")


def test_store(net, tokens, folder, monkeypatch):
    url, clock = f"sqlite:///{folder}/games.db", Clock()
    monkeypatch.setitem(hf.open.__kwdefaults__, "clock", clock)
    for name in ("scale, drop, time, breaker", "holdback, conversations", "ramp, operators", "few switches, tracking"):
        script = Script(name, url, clock, rounds=120)
        list(script.lines())
        script.router.close()
    jobs = hf.open(url, "jobs", hf.TsallisSwitch(arms=["east", "west", "north"], switching_cost=0.35), seed=3)
    hf.open(url, "prices", hf.AdaptiveHedgeSwitch(arms=["a", "b"], switching_cost=0.3), seed=3)
    id, lines = jobs.ask().id, list[str]()
    for words in STORE:
        clock.now += 3.0
        lines += said(words.replace("URL", url).replace("ID", id), folder)
    jobs.close()
    net("store", [re.sub(r"\d+\.\d [KM]i?B", "SIZE", line) for line in lines])


def test_others(net, folder):
    hours = table(72) * 0.9
    times = [f"2026-03-{1 + t // 24:02} {t % 24:02}:00" for t in range(72)]
    rows = [f"{at},{a:.4f},{b:.4f},{c:.4f}" for at, (a, b, c) in zip(times, hours, strict=True)]
    Path("hours.csv").write_text("\n".join(["time,east,north,west", *rows]) + "\n")
    Path("comma.csv").write_text("a;b\n" + "".join(f"{t % 7},5;{t % 5},25\n" for t in range(30)))
    Path("long.csv").write_text(
        "t,arm,loss\n"
        + "".join(f"{t},{'xy'[i]},{(t + i) % 4 / 4}\n" for t in range(20) for i in (0, 1) if t < 2 or (t + i) % 9)
    )
    Path("pairs.csv").write_text(",east,north,west\neast,0,0.1,0.4\nnorth,0.2,0,0.3\nwest,0.4,0.5,0\n")
    Path("gaps.csv").write_text("a,b\n0.5,0.2\n0.5,\n" * 9)
    Path("words.csv").write_text("a,b\n0.5,0.2\n0.5,low\n" * 9)
    log = [f"{'ab'[t % 3 > 0]},{t % 5 / 5},{0.4 if t % 3 == 0 else 0.6},{t // 2 + 1}" for t in range(60)]
    Path("log.csv").write_text("\n".join(["arm,loss,probability,block", *log]) + "\n")
    Path("study.toml").write_text(STUDY.format(gap=0.1))
    Path("wrong.toml").write_text(STUDY.format(gap=2) + "colour = 1\n")
    Path("steer.toml").write_text('[[game]]\nproxy = "envoy"\nurl = "http://x"\n')
    Path("alone.toml").write_text(
        'proxy = "envoy"\nurl = "http://x"\ngame = "g"\nfile = "f"\nadmin = "a"\ncluster = "c"\n[arms]\na = "1:1"\n'
    )
    net("others", [line for words in OTHERS for line in said(words, folder)])
