"""Workers that ask and tell in every way there is, and mischief while they do; `checker` says whether the rules held.

Each worker writes a line into its journal when a call has returned: what it was acknowledged, and when.
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from checker import Checker, Lost, check, check_journal, must, watch
from model import said_of
from postgres_server import binaries
from together import FORK

import holdfast as hf
from holdfast.decisions import backup, restore
from holdfast.decisions.stores import store_at

MOST_HELD = 40
"""Decisions that a thread keeps for later."""


@dataclass(frozen=True)
class Trial:
    """An attack: the games, their players, and the mischief meanwhile."""

    policy: hf.Policy
    patience: timedelta | int | str = "forever"
    missing: str | float = "mean"
    remember: int = 10**6
    holdback: float = 0.0
    keys: int = 0
    """Conversations that rounds may belong to; some go on for the whole game."""
    learn_after: int | None = None
    move_cost: float | None = None
    """Of conversations; some rounds fail then."""
    share: Mapping[Any, Any] | None = None
    """Shares at first; they are changed while the game goes on."""
    most_switches: tuple[int, str] | None = None
    breaker: hf.Breaker | None = None
    scale: hf.Scale | None = None
    """``SCALE``, by which outcomes are weighed."""
    processes: int = 2
    threads: int = 2
    mischief: Sequence[str] = ("kill",)
    """Names of methods of `Attack`."""
    every: float = 0.5
    """Seconds between two, on average."""


SETTINGS = (
    *("patience", "missing", "remember", "holdback", "learn_after", "move_cost", "share", "most_switches", "breaker"),
    "scale",
)
"""Those of a game that a trial has."""

SCALE = hf.Scale(latency=(2.0, 10.0))
"""Its losses are exact for latencies in 1024ths."""

# ---- workers


def loss_of(id: str, bounds: tuple[float, float]) -> float:
    """A loss that the id alone decides, so that a repeated report is the same."""
    low, high = bounds
    return low + (high - low) * (int(hashlib.sha256(id.encode()).hexdigest()[:8], 16) % 1000) / 1000


def outcome_of(id: str, trial: Trial) -> tuple[dict[str, Any], float]:
    """What is reported of a decision, and the loss that it comes to: with a scale, latencies also beyond its ends."""
    loss = loss_of(id, trial.policy.bounds)
    if trial.move_cost is not None and int(hashlib.sha256(id.encode()).hexdigest()[8:16], 16) % 3 == 0:
        return {"failed": True}, trial.policy.bounds[1]
    if trial.scale is None:
        return {"loss": loss}, loss
    latency = 1.0 + round(1024 * loss) / 1024 * 10.0
    return {"latency": latency}, min(max((latency - 2.0) / 8.0, 0.0), 1.0)


class Worker:
    """One process: threads that share a router."""

    def __init__(self, url: str, trial: Trial, journal: str, seed: int, until: float) -> None:
        self.url, self.trial, self.seed, self.until = url, trial, seed, until
        self.book = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.router = self.opened()

    def opened(self) -> hf.Router:
        return hf.open(self.url, "game")

    def run(self) -> None:
        threads = [threading.Thread(target=self.play, args=(number,)) for number in range(self.trial.threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.router.close()

    def note(self, what: str, begin: float, **details: Any) -> None:
        line = {"what": what, "begin": begin, "end": time.monotonic(), "pid": os.getpid(), **details}
        os.write(self.book, f"{json.dumps(line)}\n".encode())

    def play(self, number: int) -> None:
        chance = random.Random(f"{self.seed} {number}")
        held: list[str] = []
        while time.monotonic() < self.until:
            begin = time.monotonic()
            try:
                self.turn(chance, held, begin)
            except hf.OutOfTurn:
                held += [decision.id for decision in self.router.open_decisions][:MOST_HELD]
                time.sleep(0.002)
            except hf.InvalidParameter as error:
                if error.parameter not in ("rule", "request"):  # retired a moment ago, or forgotten in part
                    raise
            except hf.StoreError as error:  # somebody restored the store: the checker knows whether that is so
                self.note("refused", begin, error=f"{type(error).__name__}: {error}")
                self.router, held = self.opened(), []
            except Exception as error:
                self.note("error", begin, error=f"{type(error).__name__}: {error}")
                raise

    def turn(self, chance: random.Random, held: list[str], begin: float) -> None:
        if chance.random() < 0.55 and len(held) < MOST_HELD:
            self.ask(chance, held, begin)
        elif held:
            chance.shuffle(held)
            self.tell(chance, held, begin)
        else:
            self.router.settle()

    def ask(self, chance: random.Random, held: list[str], begin: float) -> None:
        n, request = chance.choice([1, 1, 1, 2, 3, 7]), f"r{chance.getrandbits(60):x}"
        keyed = self.trial.keys and chance.random() < 0.3
        arms = self.router.policy.arms or range(self.router.policy.n_arms)
        if keyed and chance.random() < 0.3:
            self.router.end(f"conversation {chance.randrange(self.trial.keys)}")
        key, rule = f"conversation {chance.randrange(self.trial.keys)}" if keyed else None, chance.choice(arms)
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            decisions = self.router.ask(n, request=request, key=key, rule=rule)
            self.note("asked", begin, request=request, decisions=decisions)
            begin = time.monotonic()
        held += [decision.id for decision in decisions if chance.random() < 0.9]  # others never hear of it

    def tell(self, chance: random.Random, held: list[str], begin: float) -> None:
        if chance.random() < 0.3:
            some, held[:] = held[:5], held[5:]
            outcomes = {id: outcome_of(id, self.trial) for id in some}
            receipts: list[hf.Receipt] = []
            try:
                receipts = self.router.tell({id: outcome for id, (outcome, _) in outcomes.items()})
            except hf.errors.SomeRefused as error:
                for reason in error.refused:
                    id = str(getattr(reason, "id", ""))
                    self.refusal(reason, begin, id, outcomes[id][1])
            for receipt in receipts:
                self.note(said_of(receipt), begin, id=receipt.id, loss=outcomes[receipt.id][1])
            return
        id = held.pop() if chance.random() < 0.7 else held[-1]
        outcome, loss = outcome_of(id, self.trial)
        if chance.random() > 0.95:
            loss = self.trial.policy.bounds[0] + 0.12345
            outcome = {"loss": loss}
        try:
            receipt = self.router.tell(id, **outcome)
        except hf.HoldfastError as reason:
            self.refusal(reason, begin, id, loss)
        else:
            self.note(said_of(receipt), begin, id=id, loss=loss)

    def refusal(self, reason: Exception, begin: float, id: str, loss: float) -> None:
        words = {hf.AlreadyTold: "other", hf.UnknownDecision: "gone"}
        if type(reason) not in words:
            raise reason
        self.note(words[type(reason)], begin, id=id, loss=loss)


def work(url: str, trial: Trial, journal: str, seed: int, until: float) -> None:
    Worker(url, trial, journal, seed, until).run()


# ---- mischief


@dataclass
class Attack:
    """Workers on one game, and what is done to it meanwhile."""

    url: str
    trial: Trial
    folder: Path
    seed: int
    until: float
    restores: list[Lost] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)
    """Number of times each kind of mischief was done."""
    copy: tuple[Path, tuple[float, float]] | None = None
    closed: tuple[float, float] = (0.0, 0.0)
    """Between when the closed file was copied."""
    started: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.workers: list[Any] = []
        with closing(store_at(self.url)) as store:
            store.create([])
        watch(self.url)
        trial = self.trial
        settings = {name: getattr(trial, name) for name in SETTINGS}
        if trial.holdback == 1.0:
            settings["move_cost"] = None
        hf.open(self.url, "game", trial.policy, seed=self.seed, **settings).close()

    def start(self) -> None:
        for number in range(len(self.workers), self.trial.processes):
            self.started += 1
            journal = str(self.folder / f"journal{number}")
            values = (self.url, self.trial, journal, self.seed + 1000 * self.started, self.until)
            worker = FORK.Process(target=work, args=values)
            worker.start()
            self.workers.append(worker)

    def stop(self, how: Callable[[Any], None] = lambda worker: worker.kill()) -> None:
        for worker in self.workers:
            how(worker)
            worker.join()
            worker.close()
        self.workers = []

    def run(self) -> Checker:
        """Play, and check what it came to."""
        self.start()
        while (left := self.until - time.monotonic()) > 0:
            time.sleep(min(self.chance.expovariate(1 / self.trial.every), left))
            if self.trial.mischief and time.monotonic() < self.until:
                what = self.chance.choice(list(self.trial.mischief))
                getattr(self, what)()
                self.done[what] = self.done.get(what, 0) + 1
                self.start()
        for worker in self.workers:
            worker.join()
            must(worker.exitcode == 0, f"a worker ended with {worker.exitcode}")
        self.stop(lambda worker: None)
        return self.checked()

    def checked(self) -> Checker:
        checker = check(self.url)
        calls = self.calls()
        refused = [call for call in calls if call["what"] in ("refused", "gone")]
        must(bool(self.restores) or not refused, f"a call was refused: {refused[:2]}")
        check_journal(checker, calls, self.restores)
        return checker

    def calls(self) -> list[dict[str, Any]]:
        """Read the calls that workers were acknowledged. A worker that was killed may have left a part of a line."""
        found = []
        for line in [line for file in self.folder.glob("journal*") for line in file.read_text().splitlines()]:
            with suppress(ValueError):
                found.append(json.loads(line))
        return found

    # ---- kinds of mischief

    def kill(self) -> None:
        worker = self.workers.pop(self.chance.randrange(len(self.workers)))
        worker.kill()
        worker.join()
        worker.close()

    def rest(self) -> None:
        time.sleep(0.2)

    def operate(self) -> None:
        """Pause an arm or pin one, for a moment or until somebody takes it back."""
        with hf.open(self.url, "game") as router:
            arms = list(router.policy.arms or range(router.policy.n_arms))
            until = self.chance.choice([None, timedelta(seconds=self.chance.uniform(0.01, 0.3))])
            paused = list(router.paused)
            if len(paused) < len(arms) - 1 and self.chance.random() < 0.5:
                router.pause(self.chance.choice([arm for arm in arms if arm not in paused]), until, "an attack")
            elif paused:
                router.resume(paused[0])
            elif router.pinned is None:
                router.pin(self.chance.choice(arms), until or timedelta(seconds=0.1))
            else:
                router.unpin()

    def change(self) -> None:
        """Another λ, patience or memory, another arm, or one less; other shares."""
        with hf.open(self.url, "game") as router:
            policy, ways = router.policy, []
            if self.trial.patience != "forever":
                waits = policy.waits_for_losses
                patience: timedelta | int = timedelta(seconds=self.chance.uniform(0.02, 0.3))
                if not waits and self.chance.random() < 0.5:
                    patience = self.chance.randint(1, 60)
                ways += [{"patience": patience}, {"missing": self.chance.choice(["mean", sum(policy.bounds) / 2])}]
            if hasattr(policy, "switching_cost"):
                cost = round(policy.switching_cost * self.chance.choice([0.5, 0.8, 1.25, 2.0]), 6)  # as one writes it
                ways.append({"switching_cost": max(cost, 0.01)})
            if self.trial.remember < 10**6:
                ways += [{"remember": self.chance.randint(0, 400)}, {"keep": self.chance.randint(1, 400)}]
            if policy.arms is not None and not isinstance(policy, (hf.AdaptiveTsallisSwitch, hf.BaSE)):
                ways.append({"add_arms": [f"n{self.chance.getrandbits(40):x}"]})
                free = [arm for arm in policy.arms if arm not in router.shares]  # one must be left
                if len(policy.arms) > 2:
                    some = [arm for arm in policy.arms if free != [arm]]
                    ways.append({"retire_arms": [self.chance.choice(some)]})
            if self.trial.share is not None:
                some = self.chance.sample(list(policy.arms or range(policy.n_arms)), 1)
                last = round(self.chance.uniform(0.01, 0.5), 3)
                ways += [{"share": dict.fromkeys(some, last)}, {"share": dict.fromkeys(some, (0.01, last, "2s"))}]
                ways.append({"share": {}})
            if self.trial.most_switches is not None:
                ways += [{"most_switches": (self.chance.randint(1, 8), "0.4s")}, {"most_switches": ()}]
            if self.trial.breaker is not None:
                other = replace(self.trial.breaker, within=self.chance.randint(4, 12), pause="0.05s")
                ways += [{"breaker": self.chance.choice([other, self.trial.breaker])}, {"breaker": False}]
            if self.trial.move_cost is not None and self.trial.holdback < 1.0:
                ways.append({"move_cost": round(self.chance.uniform(0.0, 2.0), 3)})
            if 0.0 < self.trial.holdback < 1.0:
                ways.append({"holdback": self.chance.choice([0.0, 0.1, 0.5])})
            if ways:
                router.change(**self.chance.choice(ways))

    def deploy(self) -> None:
        """A worker begins with the λ and the patience of its code: the store's count, or now and then its own."""
        whose: Any = self.chance.choice(["store", "store", "code"])
        with hf.open(self.url, "game") as router:
            policy = router.policy
        if hasattr(policy, "switching_cost"):
            policy = replace(policy, switching_cost=getattr(self.trial.policy, "switching_cost"))  # noqa: B009
        with suppress(hf.OtherSettings, hf.InvalidParameter):  # arms have come or gone meanwhile
            hf.open(self.url, "game", policy, patience=self.trial.patience, settings=whose).close()

    def compact(self) -> None:
        with hf.open(self.url, "game") as router:
            router.history.compact(keep=self.chance.randint(0, 200))

    def save(self) -> None:
        """Back up while workers go on."""
        begin = time.monotonic()
        if self.url.startswith("sqlite"):
            made = backup(self.url, self.folder / "copy.db", overwrite=True)
        else:
            made = self.folder / "copy.dump"
            self._server("pg_dump", "--format=custom", f"--file={made}")
        self.copy = made, (begin, time.monotonic())

    def put_back(self) -> None:
        """Restore the last backup while workers go on."""
        if self.copy is None:
            return self.save()
        made, copied = self.copy
        begin = time.monotonic()
        if self.url.startswith("sqlite"):
            kept = restore(made, self.url)
            if kept is not None:
                kept.unlink()
        else:
            self._server("pg_restore", "--clean", "--if-exists", "--single-transaction", str(made))
        self.restores.append(Lost(copied, (begin, time.monotonic())))
        return None

    def copy_closed(self) -> None:
        """End all workers, and copy the file; or put back the copy that was made so."""
        file, kept = Path(self.url.removeprefix("sqlite:///")), self.folder / "closed.db"
        self.stop()
        store_at(self.url).names()  # whoever opens and closes it last moves the log into the file
        store_at(self.url).close()
        begin = time.monotonic()
        must(not Path(f"{file}-wal").exists(), "a closed store has a log")
        if kept.exists():
            shutil.copy(kept, file)
            self.restores.append(Lost(self.closed, (begin, time.monotonic())))
            kept.unlink()
        else:
            shutil.copy(file, kept)
            self.closed = (begin, time.monotonic())

    def _server(self, program: str, *options: str) -> None:
        """One of PostgreSQL's programs; again where it was in a deadlock with workers."""
        folder = binaries()
        must(folder is not None, "no PostgreSQL here")
        for _ in range(20):
            ran = subprocess.run([folder / program, f"--dbname={self.url}", *options], capture_output=True, check=False)
            if ran.returncode == 0:
                return
        must(False, f"{program}: {ran.stderr.decode()}")


def attack(url: str, trial: Trial, folder: Path, seconds: float, seed: int, asks: int = 0) -> tuple[Checker, Attack]:
    """Attack one game for a time, and again until it has this many asks: a busy machine gets few into the time."""
    warm = hf.open("memory:", "warm", trial.policy)  # compiled before workers begin
    warm.tell([(decision.id, trial.policy.bounds[0]) for decision in warm.ask(9)])
    attacked = Attack(url, trial, folder, seed, time.monotonic() + seconds)
    checker = attacked.run()
    while checker.asked < asks:
        attacked.until = time.monotonic() + seconds
        checker = attacked.run()
    return checker, attacked
