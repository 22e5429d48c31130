"""What one call reads does not grow with the game: counted in steps of SQLite's machine."""

from typing import Any

import pytest

import holdfast as hf


def steps_of(router: hf.Router, call: Any) -> int:
    connection: Any = vars(router.store)["_connection"]
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    connection.set_progress_handler(step, 1)
    call(router)
    connection.set_progress_handler(None, 1)
    return steps


def ask_and_tell(router: hf.Router) -> None:
    router.tell(router.ask().id, 0.5)


def talk(router: hf.Router) -> None:
    router.tell(router.ask(key=f"{router.rounds}").id, 0.5)


def repeat_and_look(router: hf.Router) -> None:
    decision = router.ask(request=f"at {router.rounds}")
    router.tell(decision.id, 0.5)
    assert router.ask(request=f"at {router.rounds - 1}") == decision
    router.history.totals  # noqa: B018  # it reads open blocks


def grow_older(router: hf.Router) -> None:
    """Every seventh block is left open."""
    for _ in range(2000):
        decision = router.ask()
        if decision.block % 7:
            router.tell(decision.id, 0.5)


def begin_conversations(router: hf.Router) -> None:
    for key in range(1000):
        router.ask(key=f"another {key}")


@pytest.mark.parametrize(
    ("call", "grow", "options"),
    [
        (ask_and_tell, lambda router: router.ask(3000), {"patience": 5000}),
        (talk, begin_conversations, {}),
        pytest.param(repeat_and_look, grow_older, {"remember": 50, "patience": 20}, marks=pytest.mark.slow),
    ],
    ids=["open blocks", "open conversations", "rounds"],
)
def test_a_call_reads_as_much_in_a_long_game_as_in_a_short_one(folder, call, grow, options):
    router = hf.open(f"sqlite:///{folder}/g.db", "game", hf.Exp3(3), seed=1, **options)
    for _ in range(60):
        call(router)
    few = max(steps_of(router, call) for _ in range(10))
    grow(router)
    assert max(steps_of(router, call) for _ in range(10)) < 1.5 * few
