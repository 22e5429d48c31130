"""A game whose losses come late, round by round, in plain Python from the words of `Delay`'s docstring."""

from collections.abc import Callable, Sequence
from typing import Any


def played(
    game: Any,
    losses: Sequence[Sequence[float]],
    delays: Sequence[tuple[int, int, float]],
    u: Callable[[], float],
    drop: bool,
    announced: float = 0.0,
) -> list[int]:
    """Return the arm of each round. `u` gives the next uniform number in [0, 1), two for each round.

    A block is a list of letters, one for each round: (the round in which it arrives, its loss or None).
    """
    arms: list[int] = []
    waiting: list[tuple[Any, list[tuple[int, float | None]]]] = []
    while len(arms) < len(losses):
        now = len(arms)
        complete = [one for one in waiting if all(at <= now for at, _ in one[1])]
        for block, letters in sorted(complete, key=lambda one: max(at for at, _ in one[1])):
            came = [loss for _, loss in letters if loss is not None]
            if not drop:
                came += [1.0] * (len(letters) - len(came))
            if came:
                game.observe(block, sum(came), float(len(came)))
        waiting = [one for one in waiting if all(one is not other for other in complete)]
        arm, rounds = game.begin(announced)
        letters = []
        for t in range(now, min(now + int(rounds), len(losses))):
            least, most, lost = delays[arm]
            is_lost, late = u() < lost, least + int(u() * (most - least + 1))
            letters.append((t + 1 + most, None) if is_lost else (t + 1 + late, losses[t][arm]))
            arms.append(arm)
        waiting.append((game.block.copy(), letters))
    return arms
