"""Pause and resume against the adaptive policy and its own bound: the table of docs/paused.md. About three minutes."""

import sys

import holdfast as hf

LONGEST = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8
ROUNDS = [10**k for k in range(4, 20) if 10**k <= LONGEST]

for n_arms, gap in ((2, 0.5), (8, 0.2)):
    print(f"K = {n_arms}, gap {gap}, λ = 1: " + " ".join(f"{T:>12,}" for T in ROUNDS))
    for kind in (hf.PausedTsallis, hf.AdaptiveTsallisSwitch):
        played = hf.simulate(
            kind(n_arms, switching_cost=1.0),
            hf.Bernoulli.with_gap(n_arms, gap),
            horizon=LONGEST,
            switching_cost=1.0,
            replications=8,
            seed=5,
            checkpoints=ROUNDS,
        ).summary()
        pairs = zip(played["regret_with_switching_mean"], played["regret_with_switching_se"], strict=True)
        print(f"{kind.__name__:22} " + " ".join(f"{mean:8,.0f} ± {se:,.0f}" for mean, se in pairs))
    case = {"n_arms": n_arms, "switching_cost": 1.0, "gaps": gap}
    print(f"{'Theorem E':22} " + " ".join(f"{hf.bounds.paused_constrained(**case, horizon=T):12,.0f}" for T in ROUNDS))
