"""What a call of a conversation costs while many are open, next to a call of a game without any.

    python benchmarks/open_keys.py [--keys 100000] [--url sqlite:////dev/shm/keys.db]

Prints microseconds of ask and tell (the least of five means over 200 calls), and their ratio.
"""

import argparse
import tempfile
import time
from collections.abc import Callable

import holdfast as hf

EACH = hf.TsallisInf(arms=["a", "b", "c", "d"])


def least(work: Callable[[int], None], calls: int = 200, times: int = 5) -> float:
    found = []
    for turn in range(times):
        begun = time.perf_counter()
        for number in range(calls):
            work(turn * calls + number)
        found.append((time.perf_counter() - begun) / calls)
    return 1e6 * min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--url")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = options.url or f"sqlite:///{folder}/keys.db"
        plain, keyed = hf.open(url, "plain", EACH, seed=1), hf.open(url, "keyed", EACH, seed=1)
        for number in range(options.keys):
            keyed.ask(key=f"conversation {number}")

        def game(_: int) -> None:
            plain.tell(plain.ask().id, 0.5)

        def conversation(number: int) -> None:
            key = f"conversation {number * 7919 % options.keys}"
            keyed.tell(keyed.ask(key=key).id, 0.5)

        alone, among = least(game), least(conversation)
        print(f"{options.keys:,} open: game {alone:.0f} µs, conversation {among:.0f} µs, ratio {among / alone:.2f}")


if __name__ == "__main__":
    main()
