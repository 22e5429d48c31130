"""What is proved of `AdaptiveTsallisSwitch`: Theorems A to D of ``docs/adaptive.md``, for K ≥ 2 arms.

The constants have the names and defaults of the policy's own keywords. Its other keywords do not enter, but for
`longest_length`, which must be at most ½.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.bounds import inputs
from holdfast.bounds.fixed import blocks
from holdfast.bounds.inputs import Gaps
from holdfast.bounds.varying import COUNTABLE, Costs, theorem_4_blocks
from holdfast.checks import real_number


@dataclass(frozen=True)
class Guarantee:
    """The constants that the theorems speak of: a, θ, κ_W, κ_O, ν.

    Parameters
    ----------
    longest_step_down
        a.
    calm
        θ.
    floor_budget
        κ_W.
    cap_budget
        κ_O.
    least_noise
        ν.
    """

    longest_step_down: float = 1.0
    calm: float = 1.0
    floor_budget: float = 3.0
    cap_budget: float = 0.5
    least_noise: float = 0.05

    def __post_init__(self) -> None:
        real_number("longest_step_down", self.longest_step_down, above=0, most=1.9)
        for name in ("calm", "floor_budget", "cap_budget", "least_noise"):
            real_number(name, getattr(self, name), least=0)

    @property
    def f(self) -> float:
        """By how much a step down may lengthen the stability term (Lemma 3)."""
        return 1 / (1 - self.longest_step_down / 2)

    @property
    def sigma(self) -> float:
        """A block of b rounds adds at most σb to the regret by its stability (Lemma 4)."""
        half = self.longest_step_down / 2
        return 1 + max(1.0, half / (1 - half))

    def C(self, K: int) -> float:
        """E[what V gains in a block of the paper's length b] ≤ C b²."""
        return self.f + self.sigma**2 / (4 * K) + self.least_noise

    def long_block(self, K: int, paid: float, longest: float) -> float:
        """K times what the last block longer than the paper's adds to V, `longest` being K times a block's length.

        Parameters
        ----------
        K
            The number of arms.
        paid
            What switches have cost.
        longest
            K times the longest block.
        """
        if paid < 4 * math.sqrt(K):
            return 0.0
        grown = self.sigma / 2 * paid / math.sqrt(K) * math.hypot(self.calm * paid, math.sqrt(longest))
        return grown + (self.sigma * paid) ** 2 / (16 * K) + self.least_noise / 2 * math.sqrt(K) * paid

    def total(self, K: int, paid: float, root_KT: float, KU: float, KE: float) -> float:
        """Theorem A with E V ≤ U, no block longer than E, and at most `paid` for switches.

        Parameters
        ----------
        K
            The number of arms.
        paid
            What switches have cost.
        root_KT
            √(KT).
        KU
            K times a bound on V.
        KE
            K times the longest block.
        """
        ledgers = (1 + self.floor_budget + self.cap_budget) * paid + self.cap_budget * root_KT
        return ledgers + 2 * math.sqrt(KU) + 2 * (1 - 1 / math.sqrt(K)) * math.sqrt(KU + KE)


DEFAULT = Guarantee()


def adaptive(*, n_arms: int, switching_cost: float, horizon: float, constants: Guarantee = DEFAULT) -> float:
    """Theorem B, any losses: what AdaptiveTsallisSwitch loses and pays in T rounds.

    With Λ = λN, N the paper's number of blocks: (1 + κ_W + κ_O)Λ + κ_O√(KT) + 2√(KU) + 2(1 − 1/√K)√(KU + KE), U and E
    as in ``docs/adaptive.md``. At most 2.73 times Theorem 1's bound, and less than it at λ = 0.

    Parameters
    ----------
    n_arms
        K, the number of arms.
    switching_cost
        λ, what one switch costs.
    horizon
        T, the number of rounds.
    constants
        The policy's constants; those it has by default.

    >>> round(adaptive(n_arms=8, switching_cost=1.0, horizon=100_000))
    48357
    """
    K, lam, T = inputs.arms(n_arms, least=2), inputs.cost(switching_cost), float(inputs.rounds(horizon))
    N = blocks(n_arms=K, switching_cost=lam, horizon=T)
    paid = lam * N
    KU = (constants.calm * paid) ** 2 + constants.C(K) * (1.061 * (paid + 0.65 * lam) + math.sqrt(K * N)) ** 2
    KU += constants.long_block(K, paid, math.sqrt(K) * paid / 2)
    KE = max(1.5 * lam * math.sqrt(K * N) + K, math.sqrt(K) * paid / 2)
    return min(constants.total(K, paid, math.sqrt(K * T), KU, KE), T + paid)


def adaptive_certificate(
    *, n_arms: int, paid: float, V: float, V_most: float, W: float | Iterable[float], cut: float
) -> float:
    """Theorem A, any losses, from what a game has seen: `paid` + 2√(KV) + 2(√K − 1)√V_most + W + O.

    Its mean over games bounds the mean of regret plus switching cost. V, V_most, W and `cut` (O) are those of a saved
    player between two blocks, `paid` is what its switches have cost, all in units of the range of losses. Of W the
    largest counts, as nobody knows which arm is best.

    Parameters
    ----------
    n_arms
        K, the number of arms.
    paid
        What switches have cost.
    V
        The policy's V.
    V_most
        The policy's V_most.
    W
        The policy's W: one number per arm, or their largest.
    cut
        The policy's `cut`.

    >>> adaptive_certificate(n_arms=4, paid=3.0, V=25.0, V_most=36.0, W=[0.0, 1.5, 0.0, 2.0], cut=1.0)
    38.0
    """
    K = inputs.arms(n_arms, least=2)
    floors = [real_number("W", W, least=0)] if inputs.single(W) else list(inputs.sequence("W", W))
    paid, V, V_most, cut = (
        real_number(name, value, least=0)
        for name, value in (("paid", paid), ("V", V), ("V_most", V_most), ("cut", cut))
    )
    return float(paid + 2 * math.sqrt(K * V) + 2 * (math.sqrt(K) - 1) * math.sqrt(V_most) + max(floors) + cut)


def adaptive_constrained(
    *, n_arms: int, horizon: float, gaps: Gaps, longest_step_up: float = 4.0, constants: Guarantee = DEFAULT
) -> float:
    """Theorem C, λ = 0, fixed gaps and one best arm i*: 2c₀ + D²(1 + ln T) Σ_{i≠i*} 1/Δ_i.

    It says that regret grows with the logarithm of T. D² is 2,900: at any T one can play, Theorem B is smaller. For
    longest_step_down from 1 to 1.5, longest_step_up of at least ½, least_noise up to 0.1.

    Parameters
    ----------
    n_arms
        K, the number of arms.
    horizon
        T, the number of rounds.
    gaps
        Δ_i of the suboptimal arms: a list, or one number for all.
    longest_step_up
        J, the policy's own.
    constants
        The policy's constants; those it has by default.
    """
    K, T = inputs.arms(n_arms, least=2), float(inputs.rounds(horizon))
    real_number("longest_step_down", constants.longest_step_down, least=1, most=1.5)
    real_number("least_noise", constants.least_noise, above=0, most=0.1)
    J, nu = real_number("longest_step_up", longest_step_up, least=0.5), constants.least_noise
    omega = 1 - constants.longest_step_down / 2
    c_1 = 1.131 / omega + 0.56 + 1.667 / J
    D = (2 * c_1 + 1.363 / omega * (constants.f + nu)) / math.sqrt(nu)
    n_1 = math.ceil(4 / nu * ((1 + math.sqrt(K)) / omega) ** 2)
    c_0 = 4 * math.sqrt(K * (constants.C(K) * n_1 + 1)) + constants.cap_budget * math.sqrt(K * n_1)
    return 2 * c_0 + D * D * (1 + math.log(T)) * inputs.inverse_gaps(gaps, K)


def adaptive_varying(*, n_arms: int, costs: Costs, horizon: float, constants: Guarantee = DEFAULT) -> float:
    """Theorem D, any losses, block n costing λ_n if the arm changes, announced before it is drawn.

    As Theorem B, with Λ = λ_1 + … + λ_N over the N blocks of Theorem 4 that cover T. `costs` as in `theorem_4`.

    Parameters
    ----------
    n_arms
        K, the number of arms.
    costs
        λ_n as a function of n = 1, 2, …, as a sequence, or one number for all blocks.
    horizon
        T, the number of rounds.
    constants
        The policy's constants; those it has by default.
    """
    K, T = inputs.arms(n_arms, least=2), inputs.rounds(horizon, COUNTABLE)
    N, paid = theorem_4_blocks(K, costs, T)
    root = math.sqrt(K * N)
    KE = math.sqrt(K) * (paid + root + math.sqrt(K))
    KU = (constants.calm * paid) ** 2 + constants.C(K) * (paid + 2 * root) ** 2 + constants.long_block(K, paid, KE)
    return constants.total(K, paid, math.sqrt(float(K) * T), KU, KE)
