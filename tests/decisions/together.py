"""Several processes that decide in one game, and whether it came out exactly."""

import math
import multiprocessing
import os
from collections.abc import Callable
from typing import Any

import holdfast as hf

FORK = multiprocessing.get_context("fork")
SOON = 60.0
"""Seconds; a process that is well answers and ends sooner."""


class Child:
    """A fork that does some work."""

    def __init__(self, work: Callable[..., object]) -> None:
        self._answers, theirs = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=lambda: theirs.send(work()), daemon=True)
        self.process.start()
        theirs.close()

    def answer(self, seconds: float = SOON) -> Any:
        """What came of the work; the process must have ended well."""
        assert self._answers.poll(seconds)
        answer = self._answers.recv()
        self.end()
        return answer

    def end(self, code: int = 0) -> None:
        self.process.join(SOON)
        assert self.process.exitcode == code


def in_child(work: Callable[[], object]) -> Any:
    return Child(work).answer()


def decide(url: str, rounds: int, mixed: bool) -> list[tuple[str, float]]:
    """A worker: its ids and losses, one by one and several at once; with `mixed`, conversations in between."""
    done: list[tuple[str, float]] = []
    with hf.open(url, "game") as router:
        while len(done) < rounds:
            turn = len(done)
            key = f"{os.getpid()} {turn // 50}" if mixed and turn % 5 == 0 else None
            decisions = router.ask(min(rounds - turn, 1 + turn % 3), key=key, rule="ab"[turn % 2])
            if key and turn % 15 == 0:
                router.end(key)
            told = [(d.id, (7 * d.block + len(done)) % 10 / 10) for d in decisions]
            if len(told) == 1:
                router.tell(*told[0])
            else:
                router.tell(told)
            done += told
    return done


def together(url: str, processes: int, rounds: int, meanwhile=lambda: None, mixed=False) -> list[tuple[str, float]]:
    """The work of all workers."""
    workers = [Child(lambda: decide(url, rounds, mixed)) for _ in range(processes)]
    meanwhile()
    return [one for worker in workers for one in worker.answer(SOON + rounds)]


def all_exact(url: str, done: list[tuple[str, float]], rounds: int) -> None:
    """Exactly so many rounds, every id unique, every total exact."""
    assert len(done) == rounds
    assert len({id for id, _ in done}) == rounds
    with hf.open(url, "game") as router:
        totals = router.history.totals
        assert (totals.rounds, totals.told, totals.out) == (rounds, rounds, 0)
        assert totals.losses == math.fsum(loss for _, loss in done)
        by_block: dict[int, list[float]] = {}
        for id, loss in done:
            by_block.setdefault(int(id.split("-")[1]), []).append(loss)
        for block, told, total in router.history.frame.select("block", "told", "total").rows():
            assert told == len(by_block[block])
            assert total == math.fsum(by_block[block])
