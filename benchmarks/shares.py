"""What a share costs: a new arm added to a running game, with a share, without one, and not at all.

Two arms that lose 0.4 and 0.5 for 500 rounds; then a third, better (0.25) or worse (0.7), for 2,500 rounds. Of those
the rounds of the new arm, the switches, and the cost of losses and switches. ``python benchmarks/shares.py``
"""

import statistics
from collections.abc import Mapping
from typing import Any

import numpy as np

import holdfast as hf

GAMES, BEFORE, AFTER, COST = 8, 500, 2500, 0.3
OLD = {"a": 0.4, "b": 0.5}
WAYS: Mapping[str, Mapping[str, Any]] = {
    "no new arm": {},
    "without a share": {"add_arms": ["new"]},
    "share 0.05": {"add_arms": ["new"], "share": {"new": 0.05}},
    "ramp 0.01 to 0.5": {"add_arms": ["new"], "share": {"new": (0.01, 0.5, f"{AFTER}s")}},
}


def policies(keyed: bool) -> dict[str, hf.Policy]:
    cost = 0.0 if keyed else COST
    adaptive, tracking = (
        kind(arms=list(OLD), switching_cost=cost) for kind in (hf.AdaptiveTsallisSwitch, hf.TrackingSwitch)
    )
    return {"adaptive": adaptive} if keyed else {"adaptive": adaptive, "tracking": tracking}


def play(
    policy: hf.Policy, change: Mapping[str, Any], new: float, seed: int, keyed: bool
) -> tuple[float, float, float]:
    """Rounds of the new arm, switches, and cost after the change; with `keyed` each round is a conversation."""
    means, now, rng = {**OLD, "new": new}, [1000.0], np.random.default_rng(seed)
    router = hf.open("memory:", f"{seed}", policy, seed=seed, clock=lambda: now[0], patience="forever")
    mine, paid, begun = 0, 0.0, 0
    for t in range(BEFORE + AFTER):
        if t == BEFORE:
            begun = router.switches
            if change:
                router.change(**change)
        now[0] += 1.0
        decision = router.ask(key=str(t)) if keyed else router.ask()
        loss = float(rng.random() < means[str(decision.arm)])
        router.tell(decision.id, loss)
        if keyed:
            router.end(str(t))
        if t >= BEFORE:
            mine += decision.arm == "new"
            paid += loss
    switches = router.switches - begun
    return mine, switches, paid + COST * switches


def main() -> None:
    print("| | new arm | | rounds of it | switches | cost |\n|---|---|---|---|---|---|")
    for keyed in (False, True):
        for label, policy in policies(keyed).items():
            for new in (0.25, 0.7):
                for way, change in WAYS.items():
                    games = [play(policy, change, new, seed, keyed) for seed in range(GAMES)]
                    shown = [
                        f"{statistics.mean(v):.0f} ± {np.std(v) / GAMES**0.5:.0f}" for v in zip(*games, strict=True)
                    ]
                    print(
                        f"| {label}{', conversations' if keyed else ''} | {new} | {way} | {' | '.join(shown)} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
