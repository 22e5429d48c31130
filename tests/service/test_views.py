"""What the page shows of a game, computed without a server."""

import pytest

import holdfast as hf
from holdfast.service.views import DAY, game_line

NOON = 20_000 * DAY + DAY / 2


class Clock:
    now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def line(router, clock):
    return router.executor.read(lambda transaction, setup: game_line(transaction, setup, clock()))


def test_the_cost_of_today_counts_what_the_whole_cost_counts(clock):
    policy = hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=0.3)
    router = hf.open("memory:", "today", policy, seed=1, clock=clock, patience=5, missing=0.75)
    for t in range(60):
        decisions = router.ask(available=["c"] if t % 20 == 7 else None, n=1)
        if t % 3:
            router.tell(decisions[0].id, 0.5)
        if t % 5 == 0:
            talk = router.ask(key=f"visitor {t}")
            router.tell(talk.id, 0.25)
    assert router.history.totals.missing_losses > 0
    assert line(router, clock).today == pytest.approx(router.history.totals.cost)
    clock.now += DAY
    while router.hold:
        router.ask()
    assert line(router, clock).today == 0
    for _ in range(30):
        router.ask()
    assert 5.0 < line(router, clock).today < router.history.totals.cost
