"""Ways to damage a file, always the same for the same seed."""

import random
from collections.abc import Iterator


def damaged(data: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """`count` copies of `data`, each damaged at one place."""
    draw = random.Random(seed)
    for i in range(count):
        place = draw.randrange(len(data))
        kind = ("bit", "byte", "zeros", "cut", "doubled", "ended")[i % 6]
        begin, end = data[:place], data[place:]
        made = {
            "bit": begin + bytes([end[0] ^ (1 << draw.randrange(8))]) + end[1:],
            "byte": begin + bytes([(end[0] + draw.randrange(1, 256)) % 256]) + end[1:],
            "zeros": begin + bytes(min(16, len(end))) + end[16:],
            "cut": begin + end[draw.randrange(1, 64) :],
            "doubled": begin + end[:8] + end,
            "ended": begin,
        }[kind]
        if made != data:
            yield f"{kind} at {place} of {len(data)}", made
