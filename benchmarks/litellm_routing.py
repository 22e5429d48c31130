"""LiteLLM's ways to choose a deployment next to Holdfast's, on the five worlds of `conversations.py`.

    .venv-litellm/bin/python benchmarks/litellm_routing.py [--replications 10] [--conversations 2000] [--world steady]

The requests are made up; what chooses is the real code of both: `HoldfastRouting` is asked and told through its hooks,
and of LiteLLM `LowestLatencyLoggingHandler` and `pick_best` of its adaptive router. A turn, its caches and its bill are
as in `conversations.py`. A deployment of which more than half of the requests of the last minute failed, of five at
least, is left out for five seconds, as LiteLLM does; all ways have that.

* **shuffle**: `simple-shuffle`, LiteLLM's default: each turn anywhere. **shuffle, sessions**: with `session_affinity`
* **lowest latency**: `latency-based-routing`, each turn; **lowest latency, sessions**: with `session_affinity`
* **lowest cost**: `cost-based-routing`: the deployment that is the cheapest by the list of prices, which is that of the
  beginning
* **adaptive router**: Thompson sampling of each turn, with the weights of its defaults, prices by the list, and a turn
  that fails for a turn of bad quality
* **holdfast**: `HoldfastRouting` with a scale whose loss is the bill of a turn: 0 at 0.008 $, 1 at 0.028 $, a second of
  latency being 0.001 $; all else by default. It was chosen on seeds 0 to 2, the table is played on others.

Figures are multiples of the bill of the best single provider, which is known afterwards only, the share of turns that
found a warm cache, and changes of the deployment inside conversations, for each of them. Intervals are Student's, of
95 %.
"""

import argparse
import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from conversations import FAILURE, SECOND, WORLDS, Bills, K, World, held, world_of
from litellm import ModelResponse, Usage
from litellm.caching.dual_cache import DualCache
from litellm.router_strategy.adaptive_router.bandit import BanditCell, apply_delta, pick_best
from litellm.router_strategy.lowest_latency import LowestLatencyLoggingHandler

import holdfast as hf
from holdfast.adapters.litellm import MARK, HoldfastRouting
from holdfast.numerics.statistics import interval

SCALE = hf.Scale(price=(0.008, 0.02, 12), latency=(0, 8, 8))
DEPLOYMENTS = [{"model_name": "chat", "litellm_params": {}, "model_info": {"id": str(arm)}} for arm in range(K)]
LIST_PRICES = [1.0, 0.8, 1.3, 0.9]
BEGAN = datetime(2026, 1, 1)


class Cooldowns:
    """Leaves out for five seconds what fails."""

    def __init__(self) -> None:
        self.seen: list[deque[tuple[float, bool]]] = [deque() for _ in range(K)]
        self.until = [0.0] * K

    def healthy(self, now: float) -> list[dict[str, Any]]:
        return [DEPLOYMENTS[arm] for arm in range(K) if self.until[arm] <= now] or DEPLOYMENTS

    def saw(self, now: float, arm: int, failed: bool) -> None:
        seen = self.seen[arm]
        seen.append((now, failed))
        while seen[0][0] < now - 60.0:
            seen.popleft()
        if len(seen) >= 5 and sum(one for _, one in seen) > len(seen) / 2:
            self.until[arm] = now + 5.0


def id_of(deployment: dict[str, Any]) -> int:
    return int(deployment["model_info"]["id"])


class Shuffle:
    def __init__(self, world: World, seed: int) -> None:
        self.world, self.rng = world, random.Random(seed)

    async def choose(self, t: int, healthy: list[dict[str, Any]]) -> int:
        return id_of(self.rng.choice(healthy))

    async def tell(self, t: int, arm: int, price: float, latency: float, failed: bool) -> None:
        pass


class LowestCost(Shuffle):
    async def choose(self, t: int, healthy: list[dict[str, Any]]) -> int:
        return min(map(id_of, healthy), key=LIST_PRICES.__getitem__)


class LowestLatency(Shuffle):
    def __init__(self, world: World, seed: int) -> None:
        super().__init__(world, seed)
        random.seed(seed)  # it draws from the module
        self.handler = LowestLatencyLoggingHandler(DualCache())

    async def choose(self, t: int, healthy: list[dict[str, Any]]) -> int:
        found = await self.handler.async_get_available_deployments("chat", healthy, request_kwargs={"metadata": {}})
        return id_of(found)

    async def tell(self, t: int, arm: int, price: float, latency: float, failed: bool) -> None:
        if failed:
            return  # it counts timeouts only
        params = {"metadata": {"model_group": "chat"}, "model_info": {"id": str(arm)}}
        response = ModelResponse(usage=Usage(prompt_tokens=1000, completion_tokens=300, total_tokens=1300))
        end = BEGAN + timedelta(seconds=latency)
        await self.handler.async_log_success_event({"litellm_params": params}, response, BEGAN, end)


class AdaptiveRouter(Shuffle):
    def __init__(self, world: World, seed: int) -> None:
        super().__init__(world, seed)
        self.cells = {str(arm): BanditCell(5.0, 5.0) for arm in range(K)}

    async def choose(self, t: int, healthy: list[dict[str, Any]]) -> int:
        cells = {str(id_of(one)): self.cells[str(id_of(one))] for one in healthy}
        return int(pick_best(cells, {one: LIST_PRICES[int(one)] for one in cells}, rng=self.rng))

    async def tell(self, t: int, arm: int, price: float, latency: float, failed: bool) -> None:
        self.cells[str(arm)] = apply_delta(self.cells[str(arm)], float(not failed), float(failed))


class Holdfast(Shuffle):
    def __init__(self, world: World, seed: int) -> None:
        super().__init__(world, seed)
        self.now = 0.0
        self.routing = HoldfastRouting("memory:", scale=SCALE, deadline=60.0, clock=lambda: 1.7e9 + self.now, seed=seed)
        self.requests: dict[int, dict[str, Any]] = {}

    async def choose(self, t: int, healthy: list[dict[str, Any]]) -> int:
        self.now = float(self.world.time[t])
        request = {"metadata": {"session_id": f"{int(self.world.conversation[t])}"}, "litellm_trace_id": str(t)}
        (found,) = await self.routing.async_filter_deployments("chat", healthy, [], request)
        self.requests[t] = request
        return id_of(found)

    async def tell(self, t: int, arm: int, price: float, latency: float, failed: bool) -> None:
        params = {"metadata": self.requests.pop(t)["metadata"], "model_info": {"id": str(arm)}}
        assert params["metadata"][MARK]["arm"] == str(arm)
        kwargs = {"litellm_params": params, "response_cost": price}
        if failed:
            await self.routing.async_log_failure_event(kwargs, None, BEGAN, BEGAN)
        else:
            await self.routing.async_log_success_event(kwargs, None, BEGAN, BEGAN + timedelta(seconds=latency))


WAYS: dict[str, tuple[Callable[[World, int], Shuffle], bool]] = {
    "shuffle": (Shuffle, False),
    "shuffle, sessions": (Shuffle, True),
    "lowest latency": (LowestLatency, False),
    "lowest latency, sessions": (LowestLatency, True),
    "lowest cost": (LowestCost, False),
    "adaptive router": (AdaptiveRouter, False),
    "holdfast": (Holdfast, False),
}


async def played(world: World, way: Shuffle, sessions: bool) -> tuple[float, float, float]:
    """The bill, the share of warm turns, and switches inside conversations for each of them."""
    bills, cooldowns, stays = Bills(world), Cooldowns(), {}
    at: dict[int, int] = {}
    warm = later = moves = 0
    for t in range(world.turns):
        key, now = int(world.conversation[t]), float(world.time[t])
        healthy = cooldowns.healthy(now)
        arm = stays.get(key) if sessions else None
        if arm is None or DEPLOYMENTS[arm] not in healthy:
            arm = await way.choose(t, healthy)
        stays[key] = arm
        known, until = bills.caches.get((key, arm), (0.0, -1.0))
        if world.turn[t]:
            later += 1
            warm += known > 0 and now <= until
            moves += at[key] != arm
        at[key] = arm
        before = bills.total
        bills.pay(t, arm)
        beside = float(world.beside[t, arm])
        failed = beside >= FAILURE
        latency = (beside - FAILURE * failed) / SECOND
        cooldowns.saw(now, arm, failed)
        await way.tell(t, arm, bills.total - before - beside, latency, failed)
    return bills.total, warm / later, moves / (int(world.conversation.max()) + 1)


def cell(column: np.ndarray) -> str:
    average, _, high = interval(column)
    return f"{average:.3f} ± {high - average:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=10)
    parser.add_argument("--conversations", type=int, default=2000)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--world", choices=list(WORLDS), help="one of them only")
    options = parser.parse_args()
    logging.getLogger("holdfast").setLevel(logging.ERROR)
    print("| world | way | bill / best single | warm turns | switches a conversation | holdfast's bill / its |")
    print("|---|---|---|---|---|---|")
    for name, shape in WORLDS.items():
        if options.world not in (None, name):
            continue
        rows: dict[str, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
        for seed in range(options.first_seed, options.first_seed + options.replications):
            world = world_of(shape, options.conversations, seed)
            best = min(float(held(world, arm)[:, 0].sum()) for arm in range(K))
            for way, (make, sessions) in WAYS.items():
                bill, warm, moves = asyncio.run(played(world, make(world, seed), sessions))
                rows[way].append((bill / best, warm, moves))
        table = {way: np.array(found) for way, found in rows.items()}
        for way, found in table.items():
            cells = [cell(column) for column in found.T]
            print(
                f"| {name} | {way} | {' | '.join(cells)} | {cell(table['holdfast'][:, 0] / found[:, 0])} |", flush=True
            )


if __name__ == "__main__":
    main()
