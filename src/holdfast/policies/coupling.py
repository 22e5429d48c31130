"""Drawing an arm so that it changes as rarely, or as cheaply, as its distribution allows."""

from __future__ import annotations

from typing import Any

from holdfast._numba.compile import kernel


@kernel
def drawn(weights: Any, u: float) -> int:
    """The first arm at which the sum of `weights` exceeds u times their total; at worst the last one that has any."""
    total = 0.0
    for i in range(weights.shape[0]):
        total += weights[i, 0]
    arm, reached, target = 0, 0.0, u * total
    for i in range(weights.shape[0]):
        if weights[i, 0] > 0.0 and reached <= target:
            arm = i
        reached += weights[i, 0]
    return arm


@kernel
def coupled_move(P: Any, before: Any, grown: Any, here: int, u: float) -> int:
    """The arm drawn from P by who stands on `here`, drawn from `before`, with the fewest switches.

    Stay with probability min(1, P(a)/P_before(a)), else go where probability has `grown`. In the first round `here` is
    −1 and `before` all zeros.
    """
    moved = 0.0
    for i in range(P.shape[0]):
        grown[i, 0] = max(P[i, 0] - before[i, 0], 0.0)
        moved += grown[i, 0]
    if here < 0:
        return drawn(P, u)
    stays = P[here, 0] / before[here, 0] if before[here, 0] > 0.0 else 1.0
    if u < stays or moved == 0.0:
        return here
    return drawn(grown, (u - stays) / (1.0 - stays))


@kernel
def lazy_move(params: Any, game: Any, here: int, u: float) -> int:
    """Line 3 with one λ, and what it costs on average."""
    arm, moved = coupled_move(game.P, game.before, game.value, here, u), 0.0
    for i in range(game.P.shape[0]):
        moved += game.value[i, 0]
    game.moving[0] = game.lam[0] * moved if here >= 0 else game.lam[0]
    return arm


@kernel
def flowing_move(params: Any, game: Any, here: int, u: float) -> int:
    """Line 3 with a cost for each pair: probability flows along the paths, and never through an arm that it leaves.

    A path keeps the smaller of its two weights; what others lost flows to what has grown. Then, where probability
    both enters and leaves an arm, what enters goes on at once and what would leave stays: by the triangle inequality
    that costs no more, and with equal costs it is the lazy move.
    """
    P, flow, lost, grown, K = game.P, game.flow, game.value, game.other, game.P.shape[0]
    if here < 0:
        game.moving[0] = 0.0
        return drawn(P, u)
    total = 0.0
    for a in range(K):
        lost[a, 0], grown[a, 0] = 0.0, 0.0
        for b in range(K):
            flow[a * K + b, 0] = 0.0
    for j in range(game.p.shape[0]):
        origin, arm = int(game.was[j, 0]), int(game.at[j, 0])
        kept = min(game.p[j, 0], game.q[j, 0])
        flow[origin * K + arm, 0] += kept
        lost[origin, 0] += game.q[j, 0] - kept
        grown[arm, 0] += game.p[j, 0] - kept
        total += game.p[j, 0] - kept
    for a in range(K):
        for b in range(K):
            flow[a * K + b, 0] += lost[a, 0] * grown[b, 0] / total if total > 0.0 else 0.0
    for b in range(K):
        enters, leaves = 0.0, 0.0
        for a in range(K):
            enters += flow[a * K + b, 0] if a != b else 0.0
            leaves += flow[b * K + a, 0] if a != b else 0.0
        through = min(enters, leaves)
        if through > 0.0:
            for a in range(K):
                share = flow[a * K + b, 0] / enters if a != b else 0.0
                for c in range(K):
                    flow[a * K + c, 0] += share * (through / leaves) * flow[b * K + c, 0] if c != b else 0.0
                flow[a * K + b, 0] -= share * through
            for c in range(K):
                flow[b * K + c, 0] *= 1.0 - through / leaves if c != b else 1.0
            flow[b * K + b, 0] += through
    cost = 0.0
    for a in range(K):
        for b in range(K):
            cost += max(flow[a * K + b, 0], 0.0) * params.costs[a * K + b]
    game.moving[0] = cost
    return drawn(flow[here * K : (here + 1) * K], u)
