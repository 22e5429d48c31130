"""docs/play.html in a real browser: its policies are the library's, and it can be played with."""

import numpy as np
import pytest
from chromium import Browser
from pages import ROOT

import holdfast as hf

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs/play.html"
IN_BROWSER = """
const [made, uniforms, losses] = arguments, policy = eval(made), found = [];
let t = 0;
for (const u of uniforms) {
  const { arm, rounds, p } = policy.choose(u);
  if (t + rounds > losses.length) break;
  let total = 0;
  for (const end = t + rounds; t < end; t++) total += losses[t][arm];
  policy.observe(total);
  found.push([arm, rounds, p]);
}
return found;
"""


def by_the_library(policy: hf.Policy, seed: int, losses: np.ndarray) -> list[tuple[int, int, float]]:
    player, found, t = policy.player(seed=seed), [], 0
    while True:
        arm = player.ask()
        rounds, p = player.hold, player.probability
        if t + rounds > len(losses):
            return found
        player.tell(float(losses[t : t + rounds, arm].sum()), rounds=rounds)
        t += rounds
        found.append((arm, rounds, p))


@pytest.mark.parametrize(
    ("made", "policy"),
    [
        ("new TsallisInf(4)", hf.TsallisInf(4)),
        *((f"new TsallisSwitch(4, {cost})", hf.TsallisSwitch(4, switching_cost=cost)) for cost in (0.3, 3.0, 100.0)),
        *(
            (f"new Adaptive(4, {cost})", hf.AdaptiveTsallisSwitch(4, switching_cost=cost))
            for cost in (0, 0.1, 1.0, 30.0)
        ),
        ("new Adaptive(2, 3)", hf.AdaptiveTsallisSwitch(2, switching_cost=3.0)),
        *(
            (f"new Tracking({K}, {cost})", hf.TrackingSwitch(K, switching_cost=cost, guarded=False))
            for K, cost in ((4, 0), (4, 0.3), (4, 3.0), (4, 30.0), (2, 1.0))
        ),
    ],
)
def test_its_policies_play_as_the_librarys(browser: Browser, made: str, policy: hf.Policy) -> None:
    browser.look(PAGE)
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        means = rng.uniform(0.2, 0.8, size=(4, policy.n_arms)).repeat(500, axis=0)  # the best arm changes
        losses = (rng.random(means.shape) < means).astype(float)
        stream = hf.Stream(seed, f"policy/{policy.label}")
        wanted = by_the_library(policy, seed, losses)
        uniforms = [stream.uniform() for _ in range(len(wanted) + 1)]
        found = browser.run(IN_BROWSER, made, uniforms, losses.astype(int).tolist())
        assert len(found) == len(wanted) > 10
        for n, (block, other) in enumerate(zip(found, wanted, strict=True)):  # pytest compares long lists for hours
            assert (n, *block[:2]) == (n, *other[:2])
        ours, theirs = [p for *_, p in found], [p for *_, p in wanted]
        assert ours[:500] == pytest.approx(theirs[:500], rel=1e-6)
        assert ours == pytest.approx(theirs, rel=1e-3)  # roundings grow: an estimate is a loss over a probability


def ends(browser: Browser) -> dict[str, list[float]]:
    rows = browser.run(
        "return [...document.querySelectorAll('#ends tr')].map(row => [...row.cells].map(c => c.textContent))"
    )
    return {name: [float(cell.rstrip(" %").replace(",", "")) for cell in cells] for name, *cells in rows}


def move(browser: Browser, **values: float) -> dict[str, list[float]]:
    for name, value in values.items():
        script = "const slider = document.getElementById(arguments[0]); slider.value = arguments[1];"
        browser.run(f"{script} slider.dispatchEvent(new Event('input'))", name, value)
    return ends(browser)


def test_it_is_played_with(browser: Browser) -> None:
    browser.open(PAGE, width=390)
    assert browser.overflow() == 0
    first = ends(browser)
    assert first.keys() == {"Tsallis-INF", "Tsallis-Switch", "adaptive", "tracking"}
    assert move(browser, seed=2) != first
    assert move(browser, seed=1) == first
    free = move(browser, cost=0)
    assert all(cost == pytest.approx(losses, abs=0.1) for cost, losses, *_ in free.values())
    dear = move(browser, cost=6, gap=0.1)
    assert dear["Tsallis-INF"][0] > 3 * dear["Tsallis-Switch"][0] > 3 * dear["adaptive"][0]
    still = move(browser, cost=4, gap=0.4, drift=0)
    moving = move(browser, drift=4)
    assert moving["adaptive"][3] < still["adaptive"][3]
    assert moving["tracking"][0] < moving["adaptive"][0] / 2
    assert moving["tracking"][3] > 80 > moving["adaptive"][3]
    drawn = "const c = document.getElementById(arguments[0]), pen = c.getContext('2d');"
    drawn += "const d = pen.getImageData(0, 0, c.width, c.height).data;"
    for name in ("curves", "ribbon"):
        assert browser.run(f"{drawn} return new Set(d.filter((_, i) => i % 4 === 0)).size", name) > 3
    for width, dark in ((390, False), (1280, True)):
        browser.open(PAGE, width=width, dark=dark)
        assert browser.faults() == []
    assert browser.run("return document.getElementById('curves').getBoundingClientRect().height") == 300
