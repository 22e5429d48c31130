"""Kill a process that asks and tells, at random moments, again and again: nothing acknowledged may be lost or doubled.

    python scripts/kill_trials.py sqlite --trials 1000
    python scripts/kill_trials.py postgresql --trials 1000     (a private server, started and stopped here)

A worker asks, writes the id into a journal, tells a loss, writes that down too, and is killed with SIGKILL. The journal
has what was acknowledged; the one call in flight may or may not have happened. Every fifty kills the store is compared
with the journal, and at the end the whole game with one that was never interrupted and heard the same in the same
order.

With --mixed, a fifth of the blocks is a rule's, some rounds are conversations, arms are paused and pinned, settings and
arms are changed, each worker is deployed with a λ of its own, and losses that a killed worker did not report are given
up by a patience, or by the one that follows the lateness seen.
"""

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path

import holdfast as hf

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "decisions"))

POLICY = {"arms": ["a", "b", "c"], "switching_cost": 1.5}
SEED = 11
COSTS = (0.5, 1.5, 4.0)
FORK = multiprocessing.get_context("fork")
"""Workers that begin at once: everything is compiled before."""


def loss_of(id: str) -> float:
    """A loss that the id alone decides, so that a repeated tell is the same."""
    _, block, place, _ = id.split("-")
    return ((7 * int(block) + 3 * int(place)) % 11) / 11


def work(url: str, journal: str, ready: Connection) -> None:
    """Ask and tell until killed. A third of the losses come late, told from what is out."""
    router = hf.open(url, "game", hf.TsallisSwitch(**POLICY), seed=SEED, remember=10**9, patience="forever")
    chance = random.Random(os.getpid())
    with open(journal, "a", buffering=1) as book:
        ready.send(True)
        while True:
            decisions = router.ask(chance.choice([1, 1, 1, 2, 5]))
            book.writelines(f"asked {decision.id}\n" for decision in decisions)
            for decision in decisions:
                if chance.random() < 0.7:
                    router.tell(decision.id, loss_of(decision.id))
                    book.write(f"told {decision.id}\n")
            if chance.random() < 0.2:
                out = [(d.id, loss_of(d.id)) for d in router.open_decisions]
                router.tell(out)
                book.writelines(f"told {id}\n" for id, _ in out)


def work_mixed(url: str, journal: str, ready: Connection) -> None:
    """Ask and tell in every way there is until killed. Each worker is a deploy, with a λ that may be another."""
    chance = random.Random(os.getpid())
    with hf.open(url, "game", hf.TsallisSwitch(**POLICY), seed=SEED, remember=10**9, holdback=0.2) as router:
        policy = replace(router.policy, switching_cost=chance.choice(COSTS))
    ready.send(True)
    with suppress(hf.OtherSettings):  # another deploy was quicker
        router = hf.open(url, "game", policy, settings=chance.choice(["store", "code"]))
    with open(journal, "a", buffering=1) as book:
        while True:
            soon = timedelta(seconds=chance.uniform(0.001, 0.02))
            what = chance.random()
            if what < 0.05:
                router.pause(chance.choice("ab"), until=soon)
            elif what < 0.1:
                router.pin(chance.choice("abc"), until=soon)
            elif what < 0.15:
                router.end(f"conversation {chance.randrange(20)}")
            elif what < 0.2:
                change(router, chance)
            key = f"conversation {chance.randrange(20)}" if chance.random() < 0.4 else None
            decisions = router.ask(chance.choice([1, 1, 2, 5]), key=key, rule=chance.choice("ac"))
            book.writelines(f"asked {decision.id}\n" for decision in decisions)
            for decision in decisions:
                if chance.random() < 0.8:
                    late = router.tell(decision.id, loss_of(decision.id)).late
                    book.write(f"{'late' if late else 'told'} {decision.id}\n")


def change(router: hf.Router, chance: random.Random) -> None:
    """Another λ, patience or stand-in, or an arm more or less."""
    more = "retire_arms" if "d" in (router.policy.arms or ()) else "add_arms"
    with suppress(hf.InvalidParameter):  # another worker has just done it
        router.change(
            **chance.choice(
                [
                    {"switching_cost": chance.choice(COSTS)},
                    {"patience": chance.choice(["auto", timedelta(seconds=0.5), 200])},
                    {"missing": chance.choice(["highest", "mean", "drop", 0.3])},
                    {more: ["d"]},
                ]
            )
        )


def check(url: str, journal: Path) -> tuple[int, int]:
    """Every acknowledged ask and tell is there, once; returns rounds and losses."""
    with hf.open(url, "game") as router:
        lines = [line.split() for line in journal.read_text().splitlines()]
        asked = [id for kind, id in lines if kind == "asked"]
        told = {id for kind, id in lines if kind == "told"}
        assert len(asked) == len(set(asked)), "an id was handed out twice"
        out = {decision.id for decision in router.open_decisions}
        assert not told & out, "an acknowledged loss is gone"
        totals = router.history.totals
        handed = totals.told + totals.out + totals.missing
        assert totals.rounds == handed, "rounds do not add up"
        with router.store.transaction(1, writing=False) as stored:
            known = {(loss.block, loss.round): loss.loss for loss in stored.losses(0, 10**9)}
            handed_out = sum(rounds for (rounds,) in stored.fetch("SELECT rounds FROM holdfast_asks WHERE game = 1"))
        places = {tuple(map(int, id.split("-")[1:3])) for id in asked}
        missing = [id for id in told if known.get(tuple(map(int, id.split("-")[1:3]))) != loss_of(id)]
        assert not missing, f"acknowledged losses are not recorded: {missing[:3]}"
        assert len(places) <= handed_out == totals.rounds, "an acknowledged ask is gone"
        assert len(known) == totals.told
        return totals.rounds, totals.told


def replayed(url: str) -> None:
    """The game as one that was never interrupted: the same asks and tells in the same order, in memory."""
    with hf.open(url, "game") as router:
        blocks = list(router.history.blocks())
    order = sorted((b.settled_order, b.number) for b in blocks if b.settled_order is not None)
    begun = [(b.number, b.arm, b.rounds, b.probability) for b in blocks]
    settled = {b.number: b for b in blocks if b.settled_order is not None}
    before = {b.number: b.settled_at for b in blocks}
    # A block is begun after some blocks were settled: replay by the stored times, ties by what must have come first.
    twin = hf.open("memory:", "twin", hf.TsallisSwitch(**POLICY), seed=SEED, patience="forever")
    places = [number for _, number in order]
    decisions: dict[int, list[hf.Decision]] = {}
    began = {b.number: b.began for b in blocks}
    done = 0
    for number, arm, rounds, probability in begun:
        while done < len(places) and before[places[done]] <= began[number] and places[done] < number:
            twin.tell([(d.id, loss_of(d.id)) for d in decisions[places[done]]])
            done += 1
        decisions[number] = twin.ask(rounds)
        first = decisions[number][0]
        assert {d.block for d in decisions[number]} == {number}
        assert POLICY["arms"].index(first.arm) == arm, f"block {number} has another arm"
        assert first.probability == probability, f"block {number} has another probability"
    for number in places[done:]:
        twin.tell([(d.id, loss_of(d.id)) for d in decisions[number]])
    frame = twin.history.frame
    totals = dict(zip(frame["block"], frame["total"], strict=True))
    for number, block in settled.items():
        assert totals[number] == block.total


def trials(url: str, count: int, folder: Path, longest: float, mixed: bool) -> tuple[int, int]:
    """Kill `count` workers; returns rounds and losses at the end."""
    warm = hf.open("memory:", "warm", hf.TsallisSwitch(**POLICY))
    warm.tell([(d.id, 0.5) for d in warm.ask(9)])
    journal = folder / "journal"
    journal.touch()
    chance = random.Random(count)
    rounds = told = 0
    for number in range(count):
        ready, tell_ready = FORK.Pipe(duplex=False)
        worker = FORK.Process(target=work_mixed if mixed else work, args=(url, str(journal), tell_ready))
        worker.start()
        tell_ready.close()
        ready.recv()
        ready.close()
        time.sleep(chance.uniform(0.0, longest))
        worker.kill()
        worker.join()
        worker.close()
        if number % 50 == 49 or number == count - 1:
            rounds, told = check(url, journal)
    return rounds, told


def main() -> None:
    """Run the trials and print what they came to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", choices=["sqlite", "postgresql"])
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--longest", type=float, default=0.06, help="seconds a worker lives at most after it has begun")
    parser.add_argument("--folder", help="where the files lie; memory by default")
    parser.add_argument("--mixed", action="store_true", help="with all that operators and deploys do")
    options = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=options.folder or memory) as name:
        folder = Path(name)
        if options.store == "sqlite":
            url, server = f"sqlite:///{folder}/games.db", None
        else:
            from postgres_server import PrivateServer

            server = PrivateServer().start()
            url = server.url
        try:
            begun = time.monotonic()
            rounds, told = trials(url, options.trials, folder, options.longest, options.mixed)
            if options.mixed:
                with hf.open(url, "game") as router:
                    counts = dict(router.history.frame["by"].value_counts().iter_rows())
                    counts |= {"changes": len(router.history.changes), "missing": router.history.totals.missing}
            else:
                replayed(url)
                counts = {}
            seconds = time.monotonic() - begun
        finally:
            if server is not None:
                server.stop()
    result = {
        "store": options.store,
        "trials": options.trials,
        "rounds": rounds,
        "told": told,
        **counts,
        "seconds": round(seconds),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
