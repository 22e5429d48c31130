"""The numbers of a seed never change: hashes of tables, bit for bit."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import every_policy
import numpy as np
import pytest

import holdfast as hf
from holdfast.lab.paper.plan import PaperSettings, chosen, first_replications, paper_plan, rows_of
from holdfast.lab.tables import play

HORIZON, REPLICATIONS = 3000, 45
"""A row of 32 games side by side, ten that are worth another, and some left over."""


def table_hash(frame: Any) -> str:
    """Return a hash of the games played."""
    digest = hashlib.sha256("\n".join(frame["policy"].to_list()).encode())
    for name in ("replication", "round", "pseudo_regret", "switches", "regret_with_switching"):
        digest.update(np.ascontiguousarray(frame[name].to_numpy()).tobytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class World:
    """An environment for a policy of so many arms."""

    make: Callable[[int], hf.Environment]
    options: dict[str, Any] = field(default_factory=lambda: {"switching_cost": 0.7})


WORLDS = {
    "bernoulli": World(lambda K: hf.Bernoulli([0.45, *(0.5 + 0.01 * i for i in range(K - 1))])),
    "shuffled ties": World(lambda K: hf.Bernoulli.with_gap(K, 0.2, best_arms=min(2, K), shuffled=True)),
    "constrained": World(lambda K: hf.ConstrainedBernoulli(K, 0.1), {"switching_cost": hf.Power(0.3, scale=0.5)}),
    "table": World(lambda K: hf.LossTable([[((7 * t + 3 * i) % 11) / 11 for i in range(K)] for t in range(HORIZON)])),
}


def played(policy: hf.Policy, world: World) -> str:
    result = hf.simulate(
        {"it": policy},
        world.make(policy.n_arms),
        horizon=HORIZON,
        replications=REPLICATIONS,
        seed=11,
        checkpoints=[7, 100, 1501, HORIZON],
        **world.options,
    )
    return table_hash(result.frame)


PLAYABLE = {
    name: case.policy
    for name, case in every_policy.CASES.items()
    if case.policy.units == (0.0, 1.0)
    and "announced" not in name
    and "arms" not in name
    and not callable(getattr(case.policy, "block_lengths", None))
}


OF_0_2_0 = {
    ("tsallis-switch", "bernoulli"): "b315a724628d8fdd",
    ("tsallis-switch", "shuffled ties"): "c720d649309a1584",
    ("tsallis-switch", "constrained"): "42c2f125eae127df",
    ("tsallis-switch", "table"): "3b8bb474cd8dab74",
    ("tsallis-switch, no cost", "bernoulli"): "b7cda052e61e115d",
    ("tsallis-switch, no cost", "shuffled ties"): "839d96b0d98cedeb",
    ("tsallis-switch, no cost", "constrained"): "ccdf67cc4e043853",
    ("tsallis-switch, no cost", "table"): "8fb3d794d9702cbb",
    ("tsallis-switch, high cost", "bernoulli"): "2b0a0f9e04c1999c",
    ("tsallis-switch, high cost", "shuffled ties"): "2cfed5d2fd527e64",
    ("tsallis-switch, high cost", "constrained"): "ee5e7ef37fe43f7e",
    ("tsallis-switch, high cost", "table"): "21557fd2a5e86ecd",
    ("tsallis-switch, lists", "bernoulli"): "26a55938e1661f8f",
    ("tsallis-switch, lists", "shuffled ties"): "7357c7401361e38c",
    ("tsallis-switch, lists", "constrained"): "a7680c680bf468b7",
    ("tsallis-switch, lists", "table"): "030435d6527ba832",
    ("tsallis-switch, varying", "bernoulli"): "9b5f3f7ab10b1491",
    ("tsallis-switch, varying", "shuffled ties"): "c9a55b9d6f389c95",
    ("tsallis-switch, varying", "constrained"): "e63562b10c9d9875",
    ("tsallis-switch, varying", "table"): "3a4a74c865f362d7",
    ("tsallis-inf", "bernoulli"): "4807bba4101d5673",
    ("tsallis-inf", "shuffled ties"): "8828ecb56980f4aa",
    ("tsallis-inf", "constrained"): "66cce895b7dc1c81",
    ("tsallis-inf", "table"): "7fa710d556993797",
    ("tsallis-inf, reduced variance", "bernoulli"): "4aa9e97996100bf5",
    ("tsallis-inf, reduced variance", "shuffled ties"): "2b0e4d9a7749a464",
    ("tsallis-inf, reduced variance", "constrained"): "21e28b701f320000",
    ("tsallis-inf, reduced variance", "table"): "d2db81faf36631b2",
    ("tsallis-inf, range", "bernoulli"): "9a7a0fa7d5dc74cb",
    ("tsallis-inf, range", "shuffled ties"): "ed135ac984a39880",
    ("tsallis-inf, range", "constrained"): "5769176c5f88b4c7",
    ("tsallis-inf, range", "table"): "abece21bd120b350",
    ("tsallis-inf, range, reduced variance", "bernoulli"): "d8665cdfd8790d9e",
    ("tsallis-inf, range, reduced variance", "shuffled ties"): "1e757bce433a3569",
    ("tsallis-inf, range, reduced variance", "constrained"): "bf320507618a5f2b",
    ("tsallis-inf, range, reduced variance", "table"): "309c4a1af79e084a",
    ("exp3", "bernoulli"): "27e53548110cd0d4",
    ("exp3", "shuffled ties"): "cc041c06e1f1770a",
    ("exp3", "constrained"): "b12ff13355fccb83",
    ("exp3", "table"): "eb8eab126d0034b5",
    ("exp3-blocks", "bernoulli"): "16f5e4cf62002ecc",
    ("exp3-blocks", "shuffled ties"): "5ab3948042d98513",
    ("exp3-blocks", "constrained"): "4e9f6db40fa43b27",
    ("exp3-blocks", "table"): "806dee3a9e2bec7c",
    ("base-arithmetic", "bernoulli"): "36ad69bfea765266",
    ("base-arithmetic", "shuffled ties"): "f87aa22f435083ea",
    ("base-arithmetic", "constrained"): "1bac525c1dde4cd1",
    ("base-arithmetic", "table"): "bfccc909f384500b",
    ("base-geometric", "bernoulli"): "7a500c9101d26320",
    ("base-geometric", "shuffled ties"): "2b4892c4374c64cc",
    ("base-geometric", "constrained"): "88f2b5822c6b0970",
    ("base-geometric", "table"): "8978451ef9a75247",
    ("base-minimax", "bernoulli"): "e8dbd2bc1534e638",
    ("base-minimax", "shuffled ties"): "8b50a8656ac5ed5a",
    ("base-minimax", "constrained"): "31e20514b4a5f09a",
    ("base-minimax", "table"): "57f0cf916c33c2f0",
    ("base, round-robin", "bernoulli"): "a45aba1d713f4c1a",
    ("base, round-robin", "shuffled ties"): "dfd222766c6439c6",
    ("base, round-robin", "constrained"): "517d11ec6328f666",
    ("base, round-robin", "table"): "34f3e3393345bac2",
    ("base, random order", "bernoulli"): "07f1378b1cecbb69",
    ("base, random order", "shuffled ties"): "b61965fc6037ff99",
    ("base, random order", "constrained"): "5a7558be747da41d",
    ("base, random order", "table"): "18b26915fc9aa93b",
    ("one arm", "bernoulli"): "8d6cf3f5ac5bacba",
    ("one arm", "shuffled ties"): "8d6cf3f5ac5bacba",
    ("one arm", "constrained"): "bc57c0b44a0c22a3",
    ("one arm", "table"): "8d6cf3f5ac5bacba",
}


@pytest.mark.parametrize(("name", "world"), OF_0_2_0, ids=lambda value: value)
def test_simulated_tables_are_those_of_0_2_0(name, world):
    assert played(PLAYABLE[name], WORLDS[world]) == OF_0_2_0[name, world]


REPRODUCED_BY_0_2_0 = {
    "adversarial": "d8220af484bf0021",
    "arms.exp3-blocks": "2a3eb9c21f3bdbb1",
    "arms": "e0af617766ee34f9",
    "arms.tsallis-inf": "553cea813afc240d",
    "constrained-easy": "9d0a6dc7c5fbd864",
    "constrained-easy.shuffled": "3ecba07fea3e3348",
    "constrained-hard": "cec87946c94a97e4",
    "constrained-hard.shuffled": "8867d464d641277f",
    "ledger/adversarial": "dcde595e33c54d5c",
    "ledger/arms.exp3-blocks": "ef2e9848bd82b0ce",
    "ledger/arms": "12c003b1add1229c",
    "ledger/arms.tsallis-inf": "94951f6441716b6b",
    "ledger/constant-cost": "fd803de6e2a0a1dd",
    "ledger/constrained-easy": "6f07f00a61c6c173",
    "ledger/constrained-easy.shuffled": "7f6df531e22d4a31",
    "ledger/constrained-hard": "948798a84570edff",
    "ledger/constrained-hard.shuffled": "49e1ae6ade33bc62",
    "ledger/free-ties": "88ca485be5d778a0",
    "ledger/geometric-batches": "d062a4226614c12c",
    "ledger/long-adversarial": "5e4a22a545e8a5f2",
    "ledger/long-base": "74147f880152bb4c",
    "ledger/long-ties-constrained": "f7f66f5f0a805b9d",
    "ledger/long-ties-stochastic": "79d6ea168f75f3b7",
    "ledger/long-varying-cost": "d835585caa549932",
    "ledger/stochastic-easy": "42f41371b308dde2",
    "ledger/stochastic-free": "01b44c7f97bef4d1",
    "ledger/stochastic-hard": "c928c48627a7df68",
    "ledger/ties-constrained": "52c33b266581681d",
    "ledger/ties-stochastic": "55663f623ef4be4b",
    "ledger/varying-cost.constrained": "caff6bd3edf61f37",
    "ledger/varying-cost": "912f6cdb41baa56d",
    "stochastic-easy": "6fbc007300716d8c",
    "stochastic-free": "39bf5b8598fbe41c",
    "stochastic-hard": "e1f82fdb5021214d",
    "ties-constrained": "8d56b0e35d7f77a1",
    "ties-stochastic": "1bf9163e020bbc3d",
    "varying-cost.constrained": "e311d2d821c24c97",
    "varying-cost": "49d875b8973f0de3",
}
"""Every table of ``holdfast reproduce --horizon 2000 --arms 4 --replications 3 --seed 11``."""


def test_reproduced_tables_are_those_of_0_2_0() -> None:
    settings = PaperSettings(replications=3, horizon=2000, n_arms=4, seed=11)
    tables = play(paper_plan(chosen(None), settings))
    found = {
        str(Path(name).with_suffix("")): table_hash(first_replications(tables[row.table], count).frame)
        for row in rows_of(chosen(None))
        for name, count in row.files(settings).items()
    }
    assert found == REPRODUCED_BY_0_2_0
