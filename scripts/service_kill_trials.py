"""Kill `holdfast serve` at random moments under clients that try again: each acknowledged call is there exactly once.

    python scripts/service_kill_trials.py --trials 1000
    python scripts/service_kill_trials.py --trials 1000 --postgresql     (a private server, started and stopped here)

Clients ask and tell through `hf.open("http://…")` and note what was acknowledged. The server is killed with SIGKILL and
started again at the same port. In the end the store is counted by SQL and compared with the notes.
"""

import argparse
import math
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "decisions")]

from service import InProcess, free_port, opened  # noqa: E402

import holdfast as hf  # noqa: E402

CLIENTS = 4


def loss_of(id: str) -> float:
    """A loss that the id alone decides."""
    _, block, place, _ = id.split("-")
    return ((7 * int(block) + 3 * int(place)) % 11) / 11


class Notes:
    """What was acknowledged."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.told: set[str] = set()
        self.failures: list[BaseException] = []
        self.stop = threading.Event()

    def client(self, server: InProcess, seed: int) -> None:
        """Ask and tell until it is enough; calls that are interrupted by a kill are tried again by the router."""
        chance = random.Random(seed)
        try:
            with opened(server.web, seed=11, retry=600.0, remember=10**9) as router:
                while not self.stop.is_set():
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


def check(url: str, notes: Notes) -> tuple[int, int]:
    """The store against the notes, counted by SQL; the rounds and the losses."""
    assert not notes.failures, notes.failures
    with hf.open(url, "game") as router:
        totals = router.history.totals
        with router.store.transaction(1, writing=False) as stored:
            handed = sum(n for (n,) in stored.fetch("SELECT rounds FROM holdfast_asks WHERE game = 1"))
            losses = stored.fetch("SELECT block, round, loss FROM holdfast_losses WHERE game = 1")
    known = {(block, round): loss for block, round, loss in losses}
    assert len(notes.asked) == len(set(notes.asked)), "a decision was handed out twice"
    assert len(notes.asked) == handed == totals.rounds, (len(notes.asked), handed, totals.rounds)
    places = {tuple(map(int, id.split("-")[1:3])): loss_of(id) for id in notes.told}
    assert known == places, "losses in the store are not those acknowledged"
    assert totals.told == len(losses) == len(notes.told)
    assert totals.losses == math.fsum(places.values())
    return totals.rounds, totals.told


def play(url: str, trials: int, seed: int = 1) -> tuple[int, int]:
    """Kill the server so many times, then stop and count."""
    chance, port, notes = random.Random(seed), free_port(), Notes()
    server = InProcess(url, port=port)
    threads = [threading.Thread(target=notes.client, args=(server, i)) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for trial in range(trials):
        time.sleep(chance.uniform(0.05, 1.5))
        server.kill()
        server = InProcess(url, port=port)
        if trial % 50 == 49:
            print(f"{trial + 1} kills: {len(notes.asked)} decisions, {len(notes.told)} losses acknowledged", flush=True)
    time.sleep(0.3)
    notes.stop.set()
    for thread in threads:
        thread.join(600)
    server.stop()
    return check(url, notes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgresql", action="store_true")
    options = parser.parse_args()
    if options.postgresql:
        from places import fresh_schema
        from postgres_server import PrivateServer

        with PrivateServer() as database:
            rounds, told = play(fresh_schema(database), options.trials, options.seed)
    else:
        with tempfile.TemporaryDirectory() as folder:
            rounds, told = play(f"sqlite:///{folder}/games.db", options.trials, options.seed)
    print(f"{options.trials} kills, {rounds} decisions, {told} losses: each exactly once")


if __name__ == "__main__":
    main()
