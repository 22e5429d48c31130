"""Prompt caches belong to a conversation: one draw per conversation next to other ways, in five worlds.

    python benchmarks/conversations.py [--replications 20] [--conversations 6000] [--world steady]

A conversation has 8 turns on average, a minute apart; some 500 are open at a time. Its context begins with 2,000 tokens
and grows by 700 a turn (400 read, 300 written). Reading a token that a provider has in its cache costs 0.1 of its
price, putting one there 1.25, 12.5 times as much (the ratio in Anthropic's public price list); a written token costs 5.
A provider keeps its part of a conversation for five minutes, whoever answers the turns in between. To the price come
0.001 for each second of latency and 0.02 for a turn that fails.

Each way is measured by its bill as a multiple of that of the best single provider, which is known afterwards only:

* **after one turn**: the first turn draws a provider, the others stay; the conversation is learnt from when its first
  turn has been answered (`learn_after=1`), with the block of its own draw (`Game.begin`, `Game.observe`), while the
  others are open. A round is a conversation, λ = 0, and the loss is its bill over that of a standard provider, scaled
  by `hf.Scale(bill=(0.6, 1.6))`. Such a bill varies less than losses of 0 and 1, so `least_noise` of the adaptive
  policy is a hundredth of its default. Range, `least_noise` and the 0.05 of the next way were chosen on the seeds 0 to
  21, the table is played on others.
* **moved once**: the same, but a conversation whose provider the policy has left is drawn again: before a turn, when
  the probability of its provider has fallen below 0.05, it is ended and begun anew, at most once. The new draw is a
  round of its own, with its own probability. The loss of its first turn is the bill over that of a standard provider
  which reads all of the context anew too.
* **after two turns**: the same with `learn_after=2`. **when it ends**: the same without `learn_after`.
* **heard of at once**: the same, if the bill of a conversation were known when it begins: what the delay costs.
* **stays, knows prices**: each conversation begins with the provider that is the cheapest for those that begin within
  the same hundredth of the time, and stays. Nobody who stays can do much better.
* **never switch**: one provider for all, drawn at random: the mean over providers.
* **cheapest so far**: each turn goes to the provider with the least mean bill so far, after one turn of each.
* **one game**: all turns are rounds of one game, λ = 0.3, 10 or 100. λ = 0.3 is what a switch costs one conversation,
  though one game moves all that are open.

The last columns compare "after one turn" and "moved once" with the better of "never switch" and "cheapest so far" (a
ratio), and with one game of λ = 0.3 (a difference), seed by seed. Intervals are Student's, of 95 %.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean

import numpy as np

import holdfast as hf
from holdfast.numerics.statistics import interval
from holdfast.players.game import Game

K = 4
CACHE_LIFE = 300.0
COLD, WARM, WRITTEN = 1.25, 0.1, 5.0
STANDARD = 3e-6  # dollars a token
SECOND, FAILURE = 0.001, 0.02
FIRST, READ, ANSWER = 2000, 400, 300
SCALE = hf.Scale(bill=(0.6, 1.6))
LAMBDAS = (0.3, 10.0, 100.0)
LEFT = 0.05  # a provider with a lower probability is left


@dataclass
class World:
    """Turns in the order of time, and what they cost with each provider."""

    time: np.ndarray
    conversation: np.ndarray
    turn: np.ndarray
    is_last: np.ndarray
    price: np.ndarray  # of a token, by turn and provider
    beside: np.ndarray  # latency and failures in dollars, by turn and provider

    @property
    def turns(self) -> int:
        return len(self.time)


Shape = Callable[[np.ndarray, np.random.Generator], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""From the share of the time that has gone by to prices (1 is standard), seconds and chances of a failure."""


def steady(share: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ones = np.ones((len(share), 1))
    return ones * [1.0, 0.8, 1.3, 0.9], ones * [1.5, 2.0, 1.0, 3.0], ones * [0.01, 0.01, 0.002, 0.02]


def alike(share: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ones = np.ones((len(share), 1))
    return ones * [1.0, 0.97, 1.03, 1.0], ones * [2.0, 2.0, 2.0, 2.2], ones * [0.01] * K


def drifting(share: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    price, _, failures = steady(share, rng)
    waves = np.sin(2 * np.pi * (3 * share[:, np.newaxis] + np.arange(K) / K))
    return price, 2.5 + 1.5 * waves, failures


def outage(share: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    price, seconds, failures = steady(share, rng)
    down = ((share > 0.4) & (share < 0.45)) | ((share > 0.7) & (share < 0.72))
    failures = failures.copy()
    failures[down, 1] = 0.9
    return price, seconds, failures


def new_prices(share: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    price, seconds, failures = steady(share, rng)
    price = price.copy()
    price[share > 0.5, 1] *= 2.0
    price[share > 0.5, 3] *= 0.6
    return price, seconds, failures


WORLDS: dict[str, Shape] = {
    "steady": steady,
    "nearly alike": alike,
    "latency drifts": drifting,
    "outages of the cheapest": outage,
    "sudden new prices": new_prices,
}


def world_of(shape: Shape, conversations: int, seed: int) -> World:
    rng = np.random.default_rng(seed)
    turns = rng.geometric(1 / 8, conversations)
    begins = np.sort(rng.uniform(0, conversations, conversations))  # one a second
    conversation = np.repeat(np.arange(conversations), turns)
    turn = np.concatenate([np.arange(n) for n in turns])
    gaps = rng.exponential(60.0, len(turn))
    gaps[turn == 0] = 0.0
    within = np.cumsum(gaps)
    first = np.flatnonzero(turn == 0)
    time = begins[conversation] + within - np.repeat(within[first], turns)
    order = np.argsort(time, kind="stable")
    time, conversation, turn = time[order], conversation[order], turn[order]
    price, seconds, failures = shape(np.minimum(time / conversations, 1.0), rng)
    noise = rng.lognormal(-0.125, 0.5, len(time))
    failed = rng.random((len(time), K)) < failures
    beside = SECOND * seconds * noise[:, np.newaxis] + FAILURE * failed
    return World(time, conversation, turn, turn == turns[conversation] - 1, STANDARD * price, beside)


class Bills:
    """The cost of turns, with the caches of every provider."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.caches: dict[tuple[int, int], tuple[float, float]] = {}
        self.total = 0.0

    def pay(self, t: int, arm: int, *, moved: bool = False) -> tuple[float, float]:
        """The bill of a turn, and what a standard provider would take that has answered all turns before.

        If the conversation has just `moved`, the standard provider has answered none of them.
        """
        world = self.world
        turn, key, now = int(world.turn[t]), (int(world.conversation[t]), arm), float(world.time[t])
        context = 0 if turn == 0 else FIRST + turn * (READ + ANSWER)
        new = (FIRST if turn == 0 else 0) + READ
        known, until = self.caches.get(key, (0.0, -math.inf))
        warm = known if now <= until else 0.0
        tokens = COLD * (context + new - warm) + WARM * warm + WRITTEN * ANSWER
        bill = float(world.price[t, arm]) * tokens + float(world.beside[t, arm])
        if world.is_last[t]:
            self.caches.pop(key, None)
        else:
            self.caches[key] = context + new + ANSWER, now + CACHE_LIFE
        self.total += bill
        stayed = context if warm and not moved else 0.0  # a pause that empties the cache is nobody's fault
        return bill, STANDARD * (COLD * (context + new - stayed) + WARM * stayed + WRITTEN * ANSWER) + 2 * SECOND


def held(world: World, arm: int) -> np.ndarray:
    """Bill and standard bill of each conversation that stays with a provider."""
    bills, of_each = Bills(world), np.zeros((int(world.conversation.max()) + 1, 2))
    for t in range(world.turns):
        of_each[world.conversation[t]] += bills.pay(t, arm)
    return of_each


def heard_at_once(policy: hf.Policy, stays: np.ndarray, seed: int) -> float:
    """Each conversation by `stays[provider, conversation]`, learnt from before the next one begins."""
    game, total = Game(policy, seed), 0.0
    for number in range(stays.shape[1]):
        arm, _ = game.begin()
        bill, standard = stays[arm, number]
        total += bill
        game.observe(game.block.copy(), SCALE.loss(bill=bill / standard), 1.0)
    return total


@dataclass
class Open:
    """A conversation that goes on."""

    block: np.ndarray  # its arm is the first number
    turns: int = 0  # since it was drawn
    bill: float = 0.0
    standard: float = 0.0
    has_moved: bool = False

    @property
    def arm(self) -> int:
        return int(self.block[0])


def next_probabilities(game: Game) -> np.ndarray:
    """Return the probabilities of the next conversation's arms."""
    ahead = game.copy()
    ahead.begin()
    return ahead.probabilities()


def each_conversation(world: World, policy: hf.Policy, seed: int, after: float = math.inf, left: float = 0.0) -> float:
    """All conversations, learnt from `after` so many turns, moved once when the probability falls below `left`."""
    game, bills = Game(policy, seed), Bills(world)
    open_ones: dict[int, Open] = {}

    def begin(key: int, *, again: bool = False) -> Open:
        game.begin()
        return open_ones.setdefault(key, Open(game.block.copy(), has_moved=again))

    for t in range(world.turns):
        key, moved = int(world.conversation[t]), False
        one = open_ones[key] if world.turn[t] else begin(key)
        if left and not one.has_moved and one.turns >= after and next_probabilities(game)[one.arm] < left:
            before = open_ones.pop(key).arm
            one = begin(key, again=True)
            moved = one.arm != before
        bill, standard = bills.pay(t, one.arm, moved=moved)
        one.bill, one.standard, one.turns = one.bill + bill, one.standard + standard, one.turns + 1
        ends = bool(world.is_last[t])
        if one.turns == after or (ends and one.turns < after):
            game.observe(one.block, SCALE.loss(bill=one.bill / one.standard), 1.0)
        if ends:
            del open_ones[key]
    return bills.total


def cheapest_so_far(world: World) -> float:
    bills, sums, counts = Bills(world), np.zeros(K), np.zeros(K)
    for t in range(world.turns):
        arm = t if t < K else int(np.argmin(sums / counts))
        bill, standard = bills.pay(t, arm)
        sums[arm] += bill / standard
        counts[arm] += 1
    return bills.total


def one_game(world: World, cost: float, seed: int) -> float:
    player, bills = hf.AdaptiveTsallisSwitch(K, switching_cost=cost).player(seed=seed), Bills(world)
    for t in range(world.turns):
        bill, standard = bills.pay(t, player.ask())
        player.tell(SCALE.loss(bill=bill / standard))
    return bills.total


POLICY = hf.AdaptiveTsallisSwitch(K, switching_cost=0.0, constants=hf.Constants(least_noise=0.0005))
WAYS = (
    "after one turn",
    "moved once",
    "after two turns",
    "when it ends",
    "heard of at once",
    "stays, knows prices",
    "never switch",
    "cheapest so far",
    *(f"one game, λ = {cost:g}" for cost in LAMBDAS),
)


def knows_prices(bills: np.ndarray) -> float:
    """The least that one provider takes for the conversations of each hundredth of the time, in all."""
    return sum(float(part.sum(axis=1).min()) for part in np.array_split(bills, 100, axis=1))


def row(shape: Shape, conversations: int, seed: int) -> list[float]:
    """Bills over that of the best single provider, in the order of `WAYS`."""
    world = world_of(shape, conversations, seed)
    stays = np.array([held(world, arm) for arm in range(K)])
    bills = stays[:, :, 0]
    fixed = [float(bill) for bill in bills.sum(axis=1)]
    learnt = [each_conversation(world, POLICY, seed, *rule) for rule in ((1,), (1, LEFT), (2,), (math.inf,))]
    games = [one_game(world, cost, seed) for cost in LAMBDAS]
    others = heard_at_once(POLICY, stays, seed), knows_prices(bills), mean(fixed), cheapest_so_far(world)
    return [bill / min(fixed) for bill in (*learnt, *others, *games)]


def cell(column: np.ndarray) -> str:
    average, _, high = interval(column)
    return f"{average:.3f} ± {high - average:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--conversations", type=int, default=6000)
    parser.add_argument("--world", choices=list(WORLDS), help="one of them only")
    options = parser.parse_args()
    ours = "after one turn", "moved once"
    compared = [f"{way} {to}" for way in ours for to in ("/ better of the two", "− one game")]
    titles = [*WAYS, *compared]
    print("| bill / best single provider | " + " | ".join(titles) + " |")
    print("|---" * (len(titles) + 1) + "|")
    for name, shape in WORLDS.items():
        if options.world not in (None, name):
            continue
        table = np.array([row(shape, options.conversations, seed) for seed in range(100, 100 + options.replications)])
        way = dict(zip(WAYS, table.T, strict=True))
        better, game = np.minimum(way["never switch"], way["cheapest so far"]), way["one game, λ = 0.3"]
        comparisons = [column for name_of in ours for column in (way[name_of] / better, way[name_of] - game)]
        cells = map(cell, (*table.T, *comparisons))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
