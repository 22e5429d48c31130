"""TrackingSwitch in plain, slow Python, written from the words of its module; it shares nothing with `src/`."""

import copy
import math
from dataclasses import dataclass


@dataclass
class Arm:
    """What is believed of one arm."""

    x: float = 0.5  # its level, known from
    n: float = 0.0  # so many losses
    p: float = 1.0  # the probability that it has jumped since,
    z: float = 0.5  # to this level, known from
    m: float = 1.0  # so many losses,
    e: float = 0.0  # with these log-odds from the losses alone
    mean: float = 0.5
    count: int = 0
    pile: float = 0.0
    age: int = 0
    offset: float = 0.0
    seen: float = 0.0  # rounds from which the offset is known


@dataclass
class Look:
    """A visit of one arm, from the moment it is moved to."""

    arm: int
    hold: float
    is_look: bool = True
    stay: int = 0
    losses: tuple[float, ...] = ()
    was: float = 0.0
    beside: float = 0.0
    spread: float = 0.0
    compare: bool = False


def clip(value: float, low: float, high: float) -> float:
    return max(low, min(high, value))


def bell(d: float, sd: float) -> float:
    """E max(Y, 0), Y ~ N(−d, sd²), by the formula that the policy uses for the normal tail."""
    u = abs(d / sd)
    tail = 0.0 if u >= 12 else 0.39894228 * sd * math.exp(-u * u / 2) / (1 + 0.9 * u + u * u)
    return tail + max(-d, 0.0)


class Tracking:
    """λ is `lam`, or announced where that is None."""

    def __init__(self, K: int, lam: float | None, notice: int | None = None) -> None:
        self.K, self.lam, self.notice = K, lam, notice
        self.arms = [Arm() for _ in range(K)]
        self.visit: Look | None = None
        self.memory = self.memory_before = 100.0
        self.score, self.short, self.long = 0.0, 0.5, 0.5
        self.jumps, self.exposure, self.vg, self.sized = 1.0, 1000.0, 0.02, 0.0
        self.phi, self.told = 1.0, 0
        self.common, self.log_odds, self.doubt = 0.5, 0.0, 0.0
        self.p = [1 / K] * K
        self.last: tuple[Look, int, int] | None = None

    @property
    def together(self) -> float:
        return 1 / (1 + math.exp(3 - self.log_odds))

    def weight_of_common(self, arm: Arm) -> float:
        return self.together * (1 - self.doubt) if arm.seen > 0 else 0.0

    def loss_variance(self, x: float, n: float) -> float:
        shrunk = (x * n + 1) / (n + 2)
        return self.phi * max(shrunk * (1 - shrunk), 0.01)

    def hypothesis(self, arm: Arm, mean: float) -> None:
        arm.z, arm.e = mean, 0.0
        arm.m = min(self.phi * max(mean * (1 - mean), 0.01) / self.vg, 5.0)

    def choose(self, uniform: float, announced: float | None = None) -> tuple[int, int]:
        lam = self.lam if announced is None else announced
        assert lam is not None
        b = max(2, math.ceil(lam))
        first = self.visit is None
        if self.visit is None:
            self.visit = Look(int(uniform * self.K), b, is_look=False)
        visit = self.visit
        here = self.arms[visit.arm]
        level = (1 - here.p) * here.x + here.p * here.z
        known = here.n * (1 - here.p) + here.m * here.p
        spread = self.loss_variance(level, known) / max(known, 1)
        common = self.common
        if not visit.is_look or (len(visit.losses) >= b and here.seen > 0):
            common = level - here.offset
        s = min((1 + (self.jumps - 1) * (1 - self.together)) / self.exposure, 0.3)
        wanted: list[tuple[float, int, float]] = []
        for j, arm in enumerate(self.arms):
            if j == visit.arm:
                continue
            w, n, beside = self.weight_of_common(arm), max(arm.n, 1), arm.offset + common
            x = clip((1 - w) * arm.x + w * beside, 0, 1)
            fresh = (1 - w) * arm.mean + w * beside
            r = self.loss_variance(x, n)
            expected = (1 - arm.p) * x + arm.p * fresh
            gap = max(expected - level, 0)
            telling = min(n * (1 - arm.p), 4 * r / (gap * gap + 1e-9))
            value = arm.p * max(bell(fresh - level, math.sqrt(self.vg)), 0.02)
            if arm.p < 1:
                sd = math.sqrt(r / n * (b + telling) / (b + telling + n) + spread)
                value += (1 - arm.p) * ((1 - w) * bell(arm.x - level, sd) + w * bell(beside - level, sd))
            arm.pile += min(value, level)
            excess = arm.pile - 3 * lam - 6 * (telling + 1.5) * gap
            if self.notice is not None and arm.age >= self.notice:
                excess = max(excess, 1e-9)
            clearly_worse = level - expected > 2 * math.sqrt(spread)
            may_leave = visit.stay >= visit.hold or (visit.stay >= b and clearly_worse)
            under_way = here.e > 1 and here.z < expected and (visit.stay < visit.hold + 25 or here.m < 25)
            if may_leave and not under_way and excess > 0:
                wanted.append((excess, -j, b + (telling if gap > 0 else 0)))
            arm.p += s * (1 - arm.p)
            arm.age += 1
            if arm.n > 1:
                arm.n /= 1 + arm.n / (2 * self.memory * self.memory)
        if visit.is_look and visit.stay and (wanted or visit.stay >= min(visit.hold, 100)):
            self.end_of_look(visit)
        if not visit.is_look:
            self.common = common
        if wanted:
            _, minus_j, hold = max(wanted)
            self.visit = visit = self.moved_to(-minus_j, hold, spread, b)
        visit.stay += 1
        self.last = (visit, visit.stay, b)
        self.p = [1 / self.K] * self.K if first else [float(i == visit.arm) for i in range(self.K)]
        return visit.arm, 1

    def moved_to(self, j: int, hold: float, spread: float, b: int) -> Look:
        arm = self.arms[j]
        w, beside = self.weight_of_common(arm), arm.offset + self.common
        compare = arm.seen > 0 and arm.n >= b
        look = Look(j, hold, was=arm.x, beside=beside, spread=spread, compare=compare)
        arm.x = clip((1 - w) * arm.x + w * beside, 0, 1)
        self.hypothesis(arm, clip((1 - w) * arm.mean + w * beside, 0, 1))
        self.short = self.long = arm.x
        self.exposure += 0.3 * min(arm.age, self.exposure / self.jumps)
        arm.pile, arm.age = 0.0, 0
        return look

    def end_of_look(self, look: Look) -> None:
        look.is_look = False
        heard = len(look.losses)
        if not heard:
            return
        arm, f = self.arms[look.arm], sum(look.losses) / heard
        self.doubt = 0.0
        if look.compare:
            v = self.phi * max(f * (1 - f), 0.05) / heard + 0.005 + look.spread
            self.log_odds *= 1 - 0.1 * min((look.was - look.beside) ** 2 / (2 * v), 1)
            self.log_odds += clip(((f - look.was) ** 2 - (f - look.beside) ** 2) / (2 * v), -3, 3)
        arm.offset += (f - self.common - arm.offset) * heard / (arm.seen + heard)
        arm.seen = min(arm.seen + heard, 500)

    def block(self) -> tuple[Look, int, int] | None:
        return self.last

    def observe(self, loss: float, rounds: float, block: tuple[Look, int, int] | None = None) -> None:
        played = block or self.last
        assert played is not None
        visit, stay, b = played
        in_use = visit is self.visit
        arm, y = self.arms[visit.arm], loss / rounds
        before = copy.copy(arm)
        s = min(self.jumps / self.exposure, 0.3)
        self.told += 1
        if in_use:
            visit.losses += (y,)
        was, now = (arm.x * arm.n + 0.25) / (arm.n + 0.5), (arm.z * arm.m + 0.25) / (arm.m + 0.5)
        odds = clip(self.fit(y, now) - self.fit(y, was), -3, 3) if arm.n > 0 else 0.0
        arm.e = max(arm.e + odds, 0)
        arm.p = arm.p / (arm.p + (1 - arm.p) * math.exp(-odds))
        believed_level = now if arm.p >= 0.5 else was
        worth = 1 - (1 - 2 * believed_level) ** 2  # 1 at a half, 0 at 0 and 1
        mu = clip(believed_level, 0.01, 0.99)
        self.phi += worth * (min((y - mu) ** 2 / (mu * (1 - mu)), 4) - self.phi) / min(self.told + 9, 300)
        self.phi = max(self.phi, 0.01)
        arm.m = before.m + 1
        arm.z = before.z + (y - before.z) / arm.m
        C = self.memory
        arm.n = min(before.n + 1, 3 * C)
        arm.x = before.x + (y - before.x) / min(arm.n, C)
        if in_use:
            self.learn_memory(y, was, arm.n, scored=not visit.is_look)
        arm.count += 1
        arm.mean += (y - arm.mean) / (arm.count + 2)
        self.exposure += 1
        arm.p += s * (1 - arm.p)
        evidence = arm.e
        believed = arm.p > 0.9
        refuted = not believed and stay >= b and (evidence == 0 or (arm.m > 100 and evidence < 2))
        if believed:
            if evidence > 3:
                self.jump(arm, (arm.z - arm.x) ** 2, others_too=in_use)
            arm.x, arm.n = arm.z, arm.m
            if in_use:
                self.memory, self.score, self.short, self.long = self.memory_before, 0.0, arm.z, arm.z
        if in_use and evidence == 0:
            self.memory_before = self.memory
        if believed or refuted:
            arm.p = s
            self.hypothesis(arm, arm.mean)
            arm.m += 1
            arm.z += (y - arm.z) / arm.m

    def fit(self, y: float, mu: float) -> float:
        mu = clip(mu, 0.01, 0.99)
        return max((y * math.log(mu) + (1 - y) * math.log(1 - mu)) / self.phi, -50)

    def learn_memory(self, y: float, was: float, n: float, *, scored: bool) -> None:
        C = self.memory
        self.score += 0.2 / C
        if scored:
            r = self.phi * max(was * (1 - was), 0.02)
            self.score += clip(((y - self.short) ** 2 - (y - self.long) ** 2) / (2 * r), -0.5, 0.5)
        self.short += (y - self.short) / min(n, C / 3)
        self.long += (y - self.long) / min(n, 3 * C)
        if abs(self.score) > 1:
            self.memory = clip(C * 1.3 if self.score > 0 else C / 1.3, 4, 1e7)
            self.score = 0.0

    def jump(self, arm: Arm, square: float, *, others_too: bool) -> None:
        own = 1 - self.together
        self.jumps += 1
        self.vg += own * (clip(square, 0.0004, 0.25) - self.vg) / min(self.sized + 5, 50)
        self.sized += own
        if others_too:
            assert self.visit is not None
            if self.visit.is_look:
                self.end_of_look(self.visit)
            self.doubt = 0.3
            for other in self.arms:
                if other is not arm:
                    other.p += own * (1 - other.p) / 2
