"""A part of the traffic by the operator's rule: who gets what, what is learnt, and what the comparison says."""

import json
import math
from datetime import date

import numpy as np
import pytest
from games import POLICIES, SWITCH, refuse
from statistics_of_samples import SEED, assert_at_least, assert_mean
from test_commands import run

import holdfast as hf
from holdfast.decisions import holdout as holdback

EACH = hf.TsallisInf(arms=["a", "b", "c"])


def whose(router):
    """For each block whether it is the rule's."""
    return [block.forced == 2 for block in router.history.blocks()]


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "base"])
def test_what_the_policy_would_draw_is_recorded_with_its_probability(name):
    """In a shadow nothing is learnt: each block is what the policy would begin with."""
    policy = POLICIES[name]
    router, first = hf.open("memory:", "x", policy, seed=4, shadow=True), hf.open("memory:", "x", policy, seed=4).ask()
    rule = (policy.arms or range(policy.n_arms))[1]
    for decision in router.ask(30, rule=rule):
        router.tell(decision.id, policy.bounds[0])
        assert (decision.arm, decision.probability) == (rule, 1.0)
    frame = router.history.frame
    assert (set(frame["by"]), set(router.history.log["status"])) == ({"rule"}, {"rule"})
    assert set(zip(frame["drawn"], frame["drawn_probability"], strict=True)) == {(first.arm, first.probability)}
    router.change(shadow=False)
    while router.hold:
        router.ask()
    assert (router.ask().arm, router.holdback) == (first.arm, 0.0)


def test_what_cannot_be_held_back():
    base, told = hf.BaSE(2, horizon=60), hf.AdaptiveTsallisSwitch(2, switching_cost="announced")
    for policy, options, says in (
        (SWITCH, {"holdback": 1.5}, "holdback must be"),
        (SWITCH, {"holdback": "a"}, "holdback must be"),
        (SWITCH, {"shadow": 1}, "shadow must be True or False"),
        (SWITCH, {"shadow": True, "holdback": 0.1}, "shadow must be True or False, and is not given along"),
        (base, {"holdback": 0.1}, "is not for base.*waits for the losses"),
        (told, {"holdback": 0.1}, "is told its switching_cost"),
    ):
        refuse([(says, lambda policy=policy, options=options: hf.open("memory:", "x", policy, **options))])


def test_a_rule_that_is_not_there_is_refused_and_one_that_is_not_needed_ignored():
    router = hf.open("memory:", "x", SWITCH, holdback=0.1)
    refuse([("rule must be an arm of the game, 'a', 'b', 'c'; got 'd'", lambda: router.ask(rule="d"))])
    assert router.rounds == 0
    router.change(holdback=0.0, reason="done")
    assert router.ask(rule="d").block == 1
    assert [change["detail"] for change in router.history.changes] == [{"holdback": [0.1, 0.0]}]
    with pytest.raises(hf.OtherSettings, match="holdback"):
        hf.open(router.store, "x", SWITCH, holdback=0.2, settings="same")


# ---- the comparison


MEANS = {"a": 0.7, "b": 0.4, "c": 0.8}


def play(router, rng, rounds, keys=False):
    """The rule would choose "a". Returns what the policy and the rule lost, per round."""
    for t in range(rounds):
        key = f"{t}" if keys else None
        decision = router.ask(rule="a", key=key)
        router.tell(decision.id, float(rng.random() < MEANS[decision.arm]))
        if key:
            router.end(key)


@pytest.mark.slow
@pytest.mark.parametrize("keys", [False, True], ids=["blocks", "conversations"])
def test_it_says_what_is_saved_and_since_when(keys):
    now = 1_772_532_000.0  # 3 March 2026
    router = hf.open("memory:", "x", EACH, seed=1, holdback=0.3, clock=lambda: now)
    assert router.history.compare().words() == "too early to say, after 0 units"
    play(router, np.random.default_rng(SEED), 2000, keys)
    saving = router.history.compare()
    assert (saving.units, saving.since) == (2000, date(2026, 3, 3))
    assert saving.share_low > 0.1
    assert 0.25 < saving.share < 0.45
    assert saving.words().startswith("saves ")
    assert saving.words().endswith("), since 3 March")
    costs = [block.total for block in router.history.blocks()]
    assert saving.difference == holdback.compare(costs, np.array(whose(router)), 0.3).difference


def test_it_begins_again_with_another_scale_and_counts_open_blocks_by_what_they_can_cost(place):
    router = place.open(policy=SWITCH, seed=1, holdback=0.5)
    router.tell([(d.id, 0.5) for d in router.ask(20, rule="a")])
    place.clock.now += 86400.0
    router.tell([(d.id, 0.5) for d in router.ask(20, rule="a")])
    before = router.history.compare().units
    assert router.history.compare().since == date(1970, 1, 12)
    blocks = list(router.history.blocks())
    assert len(blocks) - 1 <= before <= len(blocks)  # the last one may be open
    router.change(patience=50)
    assert router.history.compare().units == before
    router.change(scale=hf.Scale(latency=(0.0, 1.0)))
    assert router.history.compare().units == 0
    decisions = router.ask(200, rule="a")
    open_one = decisions[180].block
    for decision in decisions:
        if decision.block != open_one:
            router.tell(decision.id, 0.5)
    found = router.history.compare()
    assert found.units > 20
    assert found.open == 1
    shadow = place.open("shadow", SWITCH, seed=1, shadow=True)
    shadow.ask(rule="a")
    with pytest.raises(hf.InvalidParameter, match="holdback must be between 0 and 1 to compare"):
        shadow.history.compare()


@pytest.mark.slow
def test_a_loss_that_never_comes_and_a_conversation_that_never_ends_stop_nothing():
    routers = [hf.open("memory:", f"{n}", EACH, seed=1, holdback=0.3, patience="forever") for n in (0, 1)]
    for lost, router in enumerate(routers):
        for decision in [*router.ask(2, rule="a"), router.ask(key="for ever", rule="a")][: 3 * (1 - lost)]:
            router.tell(decision.id, 0.5)
        router.end("for ever" if not lost else "another")
        play(router, np.random.default_rng(SEED), 2000)
    whole, found = (router.history.compare() for router in routers)
    assert (whole.units, whole.open, found.units, found.open) == (2003, 0, 2003, 3)
    assert found.high - found.low < 1.1 * (whole.high - whole.low)
    assert found.share_low > 0.1


def test_what_compaction_leaves_of_old_blocks_is_no_fair_sample(place):
    """Blocks that are open stay when the others go; the late ones may be the bad ones."""
    router, other = place.open(policy=EACH, seed=1, holdback=0.5, patience="forever"), place.open()
    given = router.ask(60, rule="a")
    late = given[5:60:10]
    router.tell([(d.id, 0.1) for d in given if d not in late])
    assert router.history.compact(keep=20) == 36
    router.tell([(d.id, 1.0) for d in late])
    assert (router.history.compare().units, other.history.compare().units) == (20, 20)


DAYS, PER_DAY, DEPLOYMENTS = 4, 120, 88


def truth_of(router, lost, units):
    """Return the extra cost of the policy's blocks over the rule's, per round: both are known here."""
    gaps, rounds, last = 0.0, 0, None
    for block in router.history.recent(10**6)[:units]:
        arm, by_arm = int(json.loads(block.data)["arm"]), np.sum(lost[block.number], axis=0)
        gaps += by_arm[arm] - by_arm[0] + (0.5 if last not in (None, arm) else 0.0)
        rounds += block.rounds
        last = last if block.forced else arm
    return gaps / rounds if rounds else 0.0


def deployment(seed):
    """Tell whether the interval holds every day while losses drift and bad ones are late; and the last error."""
    rng = np.random.default_rng([SEED, seed])
    policy = hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=0.5)
    router = hf.open("memory:", "x", policy, seed=seed, holdback=0.25, patience="forever")
    late, lost, holds = [], {}, []
    for day in range(DAYS):
        level = 0.5 + 0.3 * math.sin(day + seed) - np.array([0.0, 0.04 * day, -0.1])
        for decision in router.ask(PER_DAY, rule="a"):
            losses = (rng.random(3) < level).astype(float)
            lost.setdefault(decision.block, []).append(losses)
            own = losses["abc".index(decision.arm)]
            late.append((day + rng.exponential(0.2 + own), decision.id, own))
        now = day + 1 if day + 1 < DAYS else math.inf
        router.tell([(id, loss) for known, id, loss in late if known <= now])
        late = [one for one in late if one[0] > now]
        saving = router.history.compare()
        true = truth_of(router, lost, saving.units)
        holds.append(saving.low <= true <= saving.high)
    return all(holds), saving.difference - true


@pytest.mark.slow
def test_the_interval_holds_the_truth_and_the_estimate_has_no_bias():
    """The blocks are those that a store handed out, with their lengths and the policy's own switches."""
    holds, errors = zip(*map(deployment, range(DEPLOYMENTS)), strict=True)
    assert_at_least(sum(holds), DEPLOYMENTS, 0.95, sees=0.3)
    assert_mean(errors, 0.0, sees=0.07)


def test_operators_have_a_shell_for_it(folder):
    url = f"sqlite:///{folder}/jobs.db"
    begun = ["ask", url, "chat", "--policy", "tsallis-inf", "--arms", "a,b", "--holdback", "0.5", "--rule", "b"]
    id = run(*begun).split()[0]
    run("tell", url, "chat", id, "0.5")
    assert "holdback: 0.5 by the rule: the policy too early to say" in run("show", url, "chat")
    assert "the policy too early to say, after 1 units" in run("compare", url, "chat")
    found = json.loads(run("compare", url, "chat", "--confidence", "0.8", "--json"))
    with hf.open(url, "chat") as router:
        assert holdback.Saving.from_json(found) == router.history.compare(0.8)
    run("change", url, "chat", "--holdback", "1")
    assert json.loads(run("ask", url, "chat", "--rule", "b", "--json"))["arm"] == "b"
    assert "a shadow, nothing is learnt" in run("show", url, "chat")
    run("ask", url, "chat")


def test_a_request_of_which_a_part_is_forgotten_is_refused(place):
    router = place.open(policy=SWITCH, seed=1, remember=0)
    given = router.ask(12, request="x")
    router.tell([(d.id, 0.5) for d in given[:4]])
    with pytest.raises(hf.InvalidParameter, match=r"request must be made again while .*: of 12 there are"):
        router.ask(12, request="x")


def test_a_router_can_be_shown_while_its_store_is_down(folder):
    router = hf.open(f"sqlite:///{folder}/x.db", "x", SWITCH)
    (folder / "x.db").rename(folder / "y.db")
    assert "'x' of tsallis-switch" in repr(router)
