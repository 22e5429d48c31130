"""Players, fleets and games in stores: arms, probabilities and totals for a seed."""

import hashlib
import math
import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frozen_policies import ARMS, available, forecasts, policies, table, variants

import holdfast as hf

pytestmark = pytest.mark.plain

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
ROUNDS = 200
LOSSES = table(ROUNDS).tolist()
EVERY = policies(0.3, ROUNDS) | variants(ROUNDS)
COMPILED = ("adaptive", "tsallis-switch", "exp3", "ucb1", "hedge-switch, few experts")
"""Few enough to be compiled in a test."""
PLAYED = [name for name in EVERY if PLAIN or name in COMPILED]
OWN = [name for name in PLAYED if not EVERY[name].full_information]
NAMES = ["east", "north", "west"]
COUNTS = ("rounds", "told", "missing", "out", "blocks", "switches", "conversations")
SUMS = ("losses", "missing_losses", "switching", "cost")

Frozen = Callable[[str, Any], None]


def digest(values: Iterable[float]) -> str:
    """A short name for exactly these numbers."""
    return hashlib.blake2b(np.array(list(values), dtype="<f8").tobytes(), digest_size=8).hexdigest()


def announced(policy: hf.Policy, n: int) -> dict[str, float]:
    """Return the announcement that `ask` needs when block n begins."""
    return {} if policy.announces is None else {policy.announces: (0.0, 2.5, 0.4)[n % 3]}


# ---- players ----


def loss_of(policy: hf.Policy, t: int, arm: int) -> Any:
    """Return the loss of the arm, or the losses of all."""
    return LOSSES[t] if policy.full_information else LOSSES[t][arm]


def played(player: hf.Player, rounds: Iterable[int]) -> tuple[str, list[float]]:
    """The arms of these rounds, and the probabilities they were drawn with, where they are known."""
    arms, chances, blocks = "", [], 0
    for t in rounds:
        given = {} if player.hold else announced(player.policy, blocks)
        blocks += not player.hold
        arm = player.ask(**given)
        arms += str(arm)
        if player.policy.knows_probabilities:
            chances += [player.probability, *player.probabilities]
        player.tell(loss_of(player.policy, t, arm))
    return arms, chances


@pytest.mark.parametrize("name", PLAYED)
def test_players(name: str, frozen: Frozen) -> None:
    player = EVERY[name].player(seed=7, replication=2)
    arms, chances = played(player, range(ROUNDS // 2))
    saved = hf.Player.load(player.save())
    later = played(player, range(ROUNDS // 2, ROUNDS))
    if EVERY[name].announces is None:
        assert played(saved, range(ROUNDS // 2, ROUNDS)) == later
    frozen("players", {name: [arms + later[0], digest(chances + later[1]), player.switches]})


@pytest.mark.parametrize("name", ["adaptive", "tsallis-switch"])
def test_players_told_in_pieces_in_own_units_with_closed_arms(name: str, frozen: Frozen) -> None:
    kind = type(EVERY[name])
    player = kind(arms=NAMES, switching_cost=40.0, units=(-64.0, 64.0)).player(seed=9)
    seen = []
    for t in range(ROUNDS):
        closed = available(ROUNDS)[t]
        arm = player.ask(available=[NAMES[i] for i in range(ARMS) if closed[i]] if t % 3 == 0 else None)
        rounds = min(player.hold, 1 + t % 4)
        if t % 5:
            player.tell(rounds * (128 * LOSSES[t][NAMES.index(arm)] - 64), rounds)
        else:
            player.tell(reward=64 - 128 * LOSSES[t][NAMES.index(arm)], arm=arm)
        seen += [NAMES.index(arm), player.rounds]
    frozen("pieces", {name: [digest(seen), player.rounds, player.switches, digest(player.probabilities)]})


def test_full_information(frozen: Frozen) -> None:
    names = ["hedge-switch, few experts", *(["hedge-switch", "forecast-plan, given", "threshold"] if PLAIN else [])]
    ahead, found = forecasts(ROUNDS), {}
    for name in names:
        player: Any = EVERY[name].player(seed=5)
        arms = ""
        for t in range(ROUNDS):
            shut = available(ROUNDS)[t] if t % 2 else None
            forecast = ahead.get(t) if name != "threshold" else None
            arms += str(player.ask(forecast=forecast, available=shut))
            player.tell(LOSSES[t])
        certified = player.certificate.hex() if name.startswith("hedge") else None
        found[name] = [arms, player.switches, certified, digest(player.probabilities)]
    frozen("full information", found)


def test_losses_that_are_not_known(frozen: Frozen) -> None:
    player: Any = EVERY["hedge-switch, stale"].player(seed=5)
    arms = ""
    for t in range(60):
        arms += str(player.ask())
        known = {arm: loss for arm, loss in enumerate(LOSSES[t]) if (t + arm) % 4}
        player.tell(LOSSES[t] if t == 0 else known if t % 2 else [*LOSSES[t][:2], math.nan])
    frozen("stale", [arms, player.certificate.hex()])


# ---- fleets ----


@pytest.mark.parametrize("name", [name for name in OWN if EVERY[name].announces != "loss_bound"])
def test_fleets(name: str, frozen: Frozen, tmp_path: Path) -> None:
    policy = EVERY[name]
    fleet = hf.Fleet(policy, 4, seed=7)
    seen: list[float] = []
    for t in range(ROUNDS // 2):
        some = [0, 2] if t % 3 == 0 else None
        cost = {} if policy.announces is None else {"switching_cost": 0.4}
        asked = fleet.ask(some, **cost)
        fleet.tell([LOSSES[t][arm] for arm in asked.arms], some, blocks=asked.blocks)
        seen += [*asked.arms, *asked.blocks]
        if t == 40:
            fleet.save(tmp_path / "fleet.npz")
            fleet = hf.Fleet.load(tmp_path / "fleet.npz")
    frozen("fleets", {name: [digest(seen), fleet.rounds.tolist(), fleet.switches.tolist(), digest(fleet.probability)]})


# ---- stores ----


class Clock:
    """A minute later at each call."""

    now = 1.7e9

    def __call__(self) -> float:
        self.now += 60.0
        return self.now


@pytest.fixture(params=["memory:", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory:" if request.param == "memory:" else f"sqlite:///{tmp_path}/games.db"


def told(router: hf.Router, decisions: Iterable[hf.Decision], t: int = 0) -> list[tuple[str, float]]:
    """Ids and losses of decisions."""
    return [(d.id, LOSSES[(t + i) % ROUNDS][NAMES.index(str(d.arm))]) for i, d in enumerate(decisions)]


def summary(router: hf.Router, decisions: Iterable[hf.Decision]) -> dict[str, Any]:
    """Return the decisions that were handed out, and the history's record of them."""
    given = list(decisions)
    totals, frame, log = router.history.totals, router.history.frame, router.history.log
    counted = ("rounds", "probability", "told", "missing", "late", "missing_loss", "total")
    numbers = [math.nan if value is None else value for name in counted for value in frame[name].to_list()]
    logged = [math.nan if value is None else value for name in ("loss", "probability") for value in log[name]]
    return {
        "arms": "".join(str(d.arm)[0] for d in given),
        "drawn": digest(value for d in given for value in (d.probability, d.block)),
        "counts": [getattr(totals, name) for name in COUNTS],
        "sums": [getattr(totals, name).hex() for name in SUMS],
        "by arm": [[arm.rounds, arm.told, arm.missing, arm.losses.hex(), arm.blocks] for arm in totals.arms],
        "blocks": digest(numbers),
        "log": [digest(logged), dict(sorted((s, log["status"].to_list().count(s)) for s in set(log["status"])))],
        "by": dict(sorted((by, frame["by"].to_list().count(by)) for by in set(frame["by"]))),
        "switches": router.switches,
        "hold": router.hold,
    }


def adaptive(**options: Any) -> hf.Policy:
    return hf.AdaptiveTsallisSwitch(**{"arms": NAMES, "switching_cost": 0.3, **options})


@pytest.mark.parametrize("name", OWN)
def test_a_game_in_a_store(name: str, frozen: Frozen) -> None:
    policy = EVERY[name]
    router = hf.open("memory:", name, policy, seed=11, clock=Clock())
    arms, chances, blocks = "", [], 0
    for t in range(60):
        decision = router.ask(**({} if policy.announces is None else announced(policy, blocks)))
        blocks = decision.block
        arms += str(decision.arm)
        chances.append(decision.probability)
        router.tell(decision.id, LOSSES[t][int(decision.arm)])
    frozen("stores", {name: [arms, digest(chances), router.history.totals.cost.hex(), router.switches]})


def test_in_turn(store: str, frozen: Frozen) -> None:
    router = hf.open(store, "g", adaptive(), seed=1, clock=Clock())
    given = []
    for t in range(150):
        given.append(router.ask())
        assert router.tell(told(router, given[-1:], t))[0].new
        if t % 10 == 0:
            assert not router.tell(told(router, given[-1:], t))[0].new
            router = hf.open(store, "g", clock=Clock()) if store != "memory:" else router
    frozen("in turn", summary(router, given) | {"probabilities": digest(router.probabilities)})


def test_full_information_in_a_store(store: str, frozen: Frozen) -> None:
    few = variants(ROUNDS)["hedge-switch, few experts"]
    ahead = forecasts(ROUNDS)
    router = hf.open(store, "g", few, seed=7, clock=Clock())
    given, begun = [], datetime(2026, 1, 1, tzinfo=UTC)
    for t in range(100):
        if t % 4 == 3:
            router.observe(LOSSES[t], at=begun + timedelta(hours=t))
            continue
        given.append(router.ask(forecast=ahead.get(t), available=[0, 2] if t % 7 == 6 else None))
        router.tell(given[-1].id, losses=LOSSES[t])
    record = router.history.record
    found = {"certificate": router.certificate.hex(), "record": digest(record[["0", "1", "2"]].to_numpy().ravel())}
    frozen("all losses", summary(router, given) | found)


def test_from_a_fleet_to_a_store_and_back(frozen: Frozen, tmp_path: Path) -> None:
    fleet = hf.Fleet(adaptive(), 3, seed=8)
    for t in range(50):
        fleet.tell([LOSSES[t][arm] for arm in fleet.ask().arms])
    url = f"sqlite:///{tmp_path}/fleet.db"
    hf.fleet_to_store(fleet, url, lambda i: f"fleet {i}")
    router = hf.open(url, "fleet 1")
    given = []
    for t in range(50):
        given.append(router.ask())
        router.tell(told(router, given[-1:], t))
    again = hf.fleet_from_store(url, [f"fleet {i}" for i in range(3)])
    arms = again.ask().arms.tolist()
    frozen(
        "fleet and store", summary(router, given) | {"fleet": [again.rounds.tolist(), again.switches.tolist(), arms]}
    )
