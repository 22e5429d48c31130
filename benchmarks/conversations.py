"""Prompt caches belong to a conversation: one draw per conversation next to other ways, in nine worlds.

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
  policy is a hundredth of its default. Range and `least_noise` were chosen on the seeds 0 to 21, the table is played on
  others.
* **moves**: the same with the rule of `move_cost` (`holdfast.decisions.rules.conversations`), and a conversation that
  was idle for five minutes draws anew (`key_life`). The cost given with each turn is what reading its context anew
  adds, over what the turn costs a standard provider. `--router` plays it through a router, and must come to the same
  bill.
* **each turn**: every turn is drawn anew and learnt from, as a round of its own.
* **after two turns**: the same with `learn_after=2`. **when it ends**: the same without `learn_after`.
* **heard of at once**: the same, if the bill of a conversation were known when it begins: what the delay costs.
* **tracking**: the three ways with `TrackingSwitch` in place of the adaptive policy.
* **stays, knows prices**: each conversation begins with the provider that is the cheapest for those that begin within
  the same hundredth of the time, and stays. Nobody who stays can do much better.
* **never switch**: one provider for all, drawn at random: the mean over providers.
* **cheapest so far**: each turn goes to the provider with the least mean bill so far, after one turn of each.
* **one game**: all turns are rounds of one game, λ = 0.3, 10 or 100. λ = 0.3 is what a switch costs one conversation,
  though one game moves all that are open.

The last columns compare "moves" with "after one turn" and with "each turn", and "after one turn" with the better of
"never switch" and "cheapest so far" (ratios), and with one game of λ = 0.3 (a difference), seed by seed. Intervals are
Student's, of 95 %. `--moves` plays the ways that stay, move and draw each turn alone.

Four worlds are of sessions that go on for long, of a provider that gets worse, and of pauses. The constants of the rule
were chosen on the seeds 0 to 2.
"""

import argparse
import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

import holdfast as hf
from holdfast.decisions.game import Recent
from holdfast.decisions.rules.conversations import cheapest, worth_moving
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


@dataclass
class World:
    """Turns in the order of time, and what they cost with each provider."""

    time: np.ndarray
    conversation: np.ndarray
    turn: np.ndarray
    is_last: np.ndarray
    price: np.ndarray  # of a token, by turn and provider
    beside: np.ndarray  # latency and failures in dollars, by turn and provider
    failed: np.ndarray  # by turn and provider

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


def worse(share: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    price, seconds, failures = (found.copy() for found in steady(share, rng))
    seconds[share > 0.5, 1], failures[share > 0.5, 1] = 8.0, 0.3
    return price, seconds, failures


Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass
class Kind:
    """A kind of world: its shape, how many turns conversations have, and the seconds between two."""

    shape: Shape
    turns: Draw = lambda rng, n: rng.geometric(1 / 8, n)
    gaps: Draw = lambda rng, n: rng.exponential(60.0, n)
    share: float = 1.0
    """Of the number of conversations: where each has more turns there are fewer."""


def long_sessions(rng: np.random.Generator, n: int) -> np.ndarray:
    """Two turns at least, 16 on average, 400 at most: half have up to 7, some last for hours."""
    return np.minimum(np.ceil(8 * (rng.pareto(1.5, n) + 0.25)), 400).astype(int)


def with_pauses(rng: np.random.Generator, n: int) -> np.ndarray:
    """Half a minute, and one time in five half an hour."""
    return np.where(rng.random(n) < 0.2, rng.exponential(1800.0, n), rng.exponential(30.0, n))


WORLDS: dict[str, Kind] = {
    "steady": Kind(steady),
    "nearly alike": Kind(alike),
    "latency drifts": Kind(drifting),
    "outages of the cheapest": Kind(outage),
    "sudden new prices": Kind(new_prices),
    "long sessions": Kind(drifting, long_sessions, lambda rng, n: rng.exponential(15.0, n), share=1 / 3),
    "long sessions, new prices": Kind(new_prices, long_sessions, lambda rng, n: rng.exponential(15.0, n), share=1 / 3),
    "one gets worse": Kind(worse),
    "cold after pauses": Kind(new_prices, gaps=with_pauses, share=1 / 2),
}


def world_of(kind: Kind, conversations: int, seed: int) -> World:
    rng, conversations = np.random.default_rng(seed), round(conversations * kind.share)
    turns = kind.turns(rng, conversations)
    begins = np.sort(rng.uniform(0, conversations, conversations))  # one a second
    conversation = np.repeat(np.arange(conversations), turns)
    turn = np.concatenate([np.arange(n) for n in turns])
    gaps = kind.gaps(rng, len(turn))
    gaps[turn == 0] = 0.0
    within = np.cumsum(gaps)
    first = np.flatnonzero(turn == 0)
    time = begins[conversation] + within - np.repeat(within[first], turns)
    order = np.argsort(time, kind="stable")
    time, conversation, turn = time[order], conversation[order], turn[order]
    price, seconds, failures = kind.shape(np.minimum(time / conversations, 1.0), rng)
    noise = rng.lognormal(-0.125, 0.5, len(time))
    failed = rng.random((len(time), K)) < failures
    beside = SECOND * seconds * noise[:, np.newaxis] + FAILURE * failed
    return World(time, conversation, turn, turn == turns[conversation] - 1, STANDARD * price, beside, failed)


class Bills:
    """The cost of turns, with the caches of every provider."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.caches: dict[tuple[int, int], tuple[float, float]] = {}
        self.total = 0.0

    def pay(self, t: int, arm: int) -> tuple[float, float]:
        """The bill of a turn, and what a standard provider would take that has answered all turns before."""
        world = self.world
        turn, key, now = int(world.turn[t]), (int(world.conversation[t]), arm), float(world.time[t])
        context = context_of(turn)
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
        stayed = context if warm else 0.0  # a pause that empties the cache is nobody's fault
        return bill, STANDARD * (COLD * (context + new - stayed) + WARM * stayed + WRITTEN * ANSWER) + 2 * SECOND


def context_of(turn: int) -> int:
    return 0 if turn == 0 else FIRST + turn * (READ + ANSWER)


def cost_of_move(world: World, t: int) -> float:
    """What a context that is read anew adds to a turn, over the turn of a standard provider; the scale's range is 1."""
    context = context_of(int(world.turn[t]))
    turn = STANDARD * (COLD * READ + WARM * context + WRITTEN * ANSWER) + 2 * SECOND
    return STANDARD * context * (COLD - WARM) / turn


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
    arm: int
    last: float = 0.0
    turns: int = 0  # since it was drawn
    bill: float = 0.0
    standard: float = 0.0


def each_conversation(
    world: World, policy: hf.Policy, seed: int, after: float = math.inf, *, moves: bool = False
) -> float:
    """All conversations, learnt from `after` so many turns; with `moves`, by the rule of conversations."""
    game, bills, open_ones = Game(policy, seed), Bills(world), OrderedDict[int, Open]()
    recent, ended, turns = [Recent() for _ in range(K)], 0, 0
    for t in range(world.turns):
        key, now, fresh = int(world.conversation[t]), float(world.time[t]), False
        while moves and open_ones and now > next(iter(open_ones.values())).last + CACHE_LIFE:
            _, cold = open_ones.popitem(last=False)
            ended, turns = ended + 1, turns + cold.turns
        if key not in open_ones:
            arm, _ = game.begin()
            open_ones[key] = Open(game.block.copy(), arm)
        elif moves:
            one, others = open_ones[key], {*range(K)} - {open_ones[key].arm}
            best = cheapest(recent, others)
            had = max(one.turns, turns / ended if ended else 0.0)
            gain = worth_moving(recent, one.arm, best, had, cost_of_move(world, t))
            if best is not None and (gain or recent[one.arm].fails):
                one.arm, fresh = best, True
        one = open_ones[key]
        open_ones.move_to_end(key)
        bill, standard = bills.pay(t, one.arm)
        failed = bool(world.failed[t, one.arm])
        if failed or not fresh:
            recent[one.arm].hear(loss_of(bill, standard, failed), failed)
        one.bill, one.standard, one.turns, one.last = one.bill + bill, one.standard + standard, one.turns + 1, now
        ends = bool(world.is_last[t])
        if one.turns == after or (ends and one.turns < after):
            game.observe(one.block, loss_of(one.bill, one.standard, failed and one.turns == 1), 1.0)
        if ends:
            del open_ones[key]
            ended, turns = ended + 1, turns + one.turns
    return bills.total


def loss_of(bill: float, standard: float, failed: bool) -> float:
    return 1.0 if failed else SCALE.loss(bill=bill / standard)


def by_router(world: World, policy: hf.Policy, seed: int) -> float:
    """What `each_conversation` pays that learns after one turn and moves, played by a router."""
    now, bills = 0.0, Bills(world)
    options = {"learn_after": 1, "key_life": timedelta(seconds=CACHE_LIFE), "clock": lambda: now}
    with hf.open("memory:", "game", policy, seed=seed, **options) as router:
        for t in range(world.turns):
            now, key = float(world.time[t]), str(world.conversation[t])
            turn = router.ask(key=key, move_cost=cost_of_move(world, t))
            bill, standard = bills.pay(t, turn.arm)
            failed = bool(world.failed[t, turn.arm])
            router.tell(turn.id, **({"failed": True} if failed else {"loss": loss_of(bill, standard, False)}))
            if world.is_last[t]:
                router.end(key)
    return bills.total


def each_turn(world: World, policy: hf.Policy, seed: int) -> float:
    game, bills = Game(policy, seed), Bills(world)
    for t in range(world.turns):
        arm, _ = game.begin()
        game.observe(game.block.copy(), loss_of(*bills.pay(t, arm), bool(world.failed[t, arm])), 1.0)
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
TRACKING = hf.TrackingSwitch(K, switching_cost=0.0)


def three_ways(world: World, seed: int) -> dict[str, float]:
    """Bills of conversations that stay, that move, and that are drawn anew each turn."""
    found = {}
    for policy, name in ((POLICY, ""), (TRACKING, ", tracking")):
        found["after one turn" + name] = each_conversation(world, policy, seed, 1)
        found["moves" + name] = each_conversation(world, policy, seed, 1, moves=True)
        found["each turn" + name] = each_turn(world, policy, seed)
    return found


def other_ways(world: World, stays: np.ndarray, seed: int) -> dict[str, float]:
    found = {"after two turns": each_conversation(world, POLICY, seed, 2)}
    found["when it ends"] = each_conversation(world, POLICY, seed)
    found["heard of at once"] = heard_at_once(POLICY, stays, seed)
    found["stays, knows prices"] = knows_prices(stays[:, :, 0])
    found["never switch"] = float(stays[:, :, 0].sum(axis=1).mean())
    found["cheapest so far"] = cheapest_so_far(world)
    return found | {f"one game, λ = {cost:g}": one_game(world, cost, seed) for cost in LAMBDAS}


def knows_prices(bills: np.ndarray) -> float:
    """The least that one provider takes for the conversations of each hundredth of the time, in all."""
    return sum(float(part.sum(axis=1).min()) for part in np.array_split(bills, 100, axis=1))


def row(name: str, conversations: int, seed: int, only_moves: bool) -> dict[str, float]:
    """Bills over that of the best single provider, and comparisons."""
    world = world_of(WORLDS[name], conversations, seed)
    stays = np.array([held(world, arm) for arm in range(K)])
    best = float(stays[:, :, 0].sum(axis=1).min())
    found = three_ways(world, seed) | ({} if only_moves else other_ways(world, stays, seed))
    way = {name: bill / best for name, bill in found.items()}
    compared = {}
    for policy in ("", ", tracking"):
        for other in ("after one turn", "each turn"):
            compared[f"moves / {other}{policy}"] = way["moves" + policy] / way[other + policy]
    if not only_moves:
        compared["after one turn / better of the two"] = way["after one turn"] / min(
            way["never switch"], way["cheapest so far"]
        )
        for ours in ("after one turn", "moves"):
            compared[f"{ours} − one game"] = way[ours] - way["one game, λ = 0.3"]
    return way | compared


def cell(column: np.ndarray) -> str:
    average, _, high = interval(column)
    return f"{average:.3f} ± {high - average:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--conversations", type=int, default=6000)
    parser.add_argument("--world", choices=list(WORLDS), help="one of them only")
    parser.add_argument("--moves", action="store_true", help="staying, moving and drawing each turn alone")
    parser.add_argument("--router", action="store_true", help="compare the rule with what a router plays, in one game")
    options = parser.parse_args()
    names = list(WORLDS) if options.world is None else [options.world]
    if options.router:
        for name in names:
            world = world_of(WORLDS[name], options.conversations, 100)
            bills = by_router(world, POLICY, 100), each_conversation(world, POLICY, 100, 1, moves=True)
            print(name, *bills, "the same" if bills[0] == bills[1] else "not the same", flush=True)
        return
    for number, name in enumerate(names):
        seeds = range(100, 100 + options.replications)
        rows = [row(name, options.conversations, seed, options.moves) for seed in seeds]
        if number == 0:
            print("| bill / best single provider | " + " | ".join(rows[0]) + " |")
            print("|---" * (len(rows[0]) + 1) + "|")
        cells = (cell(np.array([one[title] for one in rows])) for title in rows[0])
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
