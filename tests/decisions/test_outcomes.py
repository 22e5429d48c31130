"""Reports in place of a loss: measures by a scale, errors, rewards."""

import json

import pytest
from games import SWITCH, refuse
from places import edit

import holdfast as hf
from holdfast.decisions.stores.sqlite import SqliteStore

SCALE = hf.Scale(latency=(0.2, 8.0, 3), price=(0, 0.02, 1), error=0.9)


def told(router):
    return router.history.log["loss"].drop_nulls().to_list()


def test_measures_become_the_loss_that_the_scale_gives(place):
    router = place.open(policy=SWITCH, seed=1, scale=SCALE)
    first, second, third = router.ask(3)
    assert router.tell(first.id, latency=1.3, price=0.004).new
    assert not router.tell(first.id, latency=1.3, price=0.004).new
    assert not router.tell(first.id, SCALE.loss(latency=1.3, price=0.004)).new
    router.tell(second.id, error=True)
    router.tell(third.id, loss=0.25)
    (fourth,) = router.ask(1)
    router.tell(fourth.id, reward=0.75)
    assert told(router) == [SCALE.loss(latency=1.3, price=0.004), 0.9, 0.25, 0.25]


def test_several_at_once(place):
    router = place.open(policy=SWITCH, seed=1, scale=SCALE)
    ids = [d.id for d in router.ask(6)]
    with pytest.raises(hf.SomeRefused) as caught:
        router.tell(
            {
                ids[0]: {"latency": 1.3, "price": 0.004},
                ids[1]: {"latency": 1.3},
                ids[2]: {"error": True},
                ids[3]: {"reward": 1.0},
                ids[4]: 0.5,
                ids[5]: {"size": 3},
            }
        )
    assert [str(error).split(";")[0] for error in caught.value.refused] == [
        "price must be given, or error=True",
        "size is not a measure of this scale, which has 'latency', 'price'",
    ]
    assert sorted(told(router)) == sorted([SCALE.loss(latency=1.3, price=0.004), 0.9, 0.0, 0.5])


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ({"loss": 0.5, "reward": 0.5}, "loss, reward must not be given together"),
        ({"loss": 0.5, "error": True}, "loss, measures must not be given together"),
        ({"reward": 0.5, "latency": 1.0}, "reward, measures must not be given together"),
        ({"reward": 1.5}, "reward of one round must be from 0 to 1"),
        ({"error": 1}, "error must be True or False"),
        ({"failed": "yes"}, "failed must be True or False"),
        ({"failed": True, "loss": 0.5}, "loss, failed must not be given together"),
        ({"latency": "slow", "price": 0.1}, "latency must be a finite number"),
        ({}, "loss must be"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(place, outcome, message):
    router = place.open(policy=SWITCH, seed=1, scale=SCALE)
    decision = router.ask()
    with pytest.raises(hf.InvalidParameter, match=message):
        router.tell(decision.id, **outcome)
    with pytest.raises(hf.SomeRefused, match=message):
        router.tell({decision.id: outcome})
    assert [d.id for d in router.open_decisions] == [decision.id]


def test_without_a_scale_only_losses_and_rewards_are_known(place):
    """In units of its own; with `clip` a reward beyond either end is brought into its range."""
    router = place.open(policy=hf.TsallisSwitch(2, switching_cost=40.0, units=(-10.0, 50.0)), seed=1)
    decision = router.ask()
    refuse(
        [
            ("latency needs a scale: open the game with scale=", lambda: router.tell(decision.id, latency=1.3)),
            (r"los needs a scale.*did you mean 'loss'", lambda: router.tell(decision.id, los=0.3)),
            ("must be a finite number, unless reward, failed", lambda: router.tell(decision.id, failed=False)),
            (r"as ask.. gave it: its `.id`", lambda: router.tell(decision, loss=0.3)),
            ("error needs a scale", lambda: router.tell(decision.id, error=True)),
        ]
    )
    with pytest.raises(TypeError, match="unexpected option 'availabel'; did you mean 'available'"):
        router.ask(availabel=["a"])
    others = router.ask(5)
    router.tell(decision.id, reward=45.0)
    router.tell(others[0].id, failed=True)
    router.tell(others[4].id, loss=-35.0, clip=True)
    rewards = (70.0, -35.0, 15.0)
    router.tell([(d.id, {"reward": reward, "clip": True}) for d, reward in zip(others[1:4], rewards, strict=True)])
    assert told(router) == [-5.0, 50.0, -10.0, 50.0, 25.0, -10.0]
    reported = [measures and json.loads(measures) for measures in router.history.log["measures"]]
    assert reported == [{"reward": 45.0}, {"failed": True}, *({"reward": reward} for reward in rewards), None]


def test_the_bound_that_was_announced_mirrors_a_reward_and_stands_for_a_loss_that_never_comes(place):
    router = place.open(policy=hf.TsallisInf(2, loss_bound="announced"), seed=1)
    decision = router.ask(loss_bound=0.25)
    with pytest.raises(hf.InvalidParameter, match=r"reward of one round must be from 0 to 0\.25"):
        router.tell(decision.id, reward=0.5)
    router.tell(decision.id, reward=0.125)
    assert told(router) == [0.125]
    router.ask(loss_bound=0.5)
    router.change(patience="1s")
    place.clock.now += 2.0
    router.settle()
    assert router.history.totals.missing_losses == 0.5


def test_a_scale_is_kept_with_the_game_and_another_one_is_refused(place):
    place.open(policy=SWITCH, seed=1, scale=SCALE)
    router = place.open()
    router.tell(router.ask().id, latency=0.2, price=0.02)
    assert told(router) == [0.25]
    assert place.open(scale=SCALE).rounds == 1
    other = hf.Scale(latency=(0.2, 9.0, 3), price=(0, 0.02, 1), error=0.9)
    message = r"scale is 'Scale\(latency=\(0\.2, 8, .*given 'Scale\(latency=\(0\.2, 9.*router\.change\(scale="
    with pytest.raises(hf.OtherSettings, match=message):
        place.open(scale=other, settings="same")


def test_a_scale_that_was_changed_counts_for_all_processes_at_once(place):
    place.open(policy=SWITCH, seed=1)
    router, other = place.open(), place.open()
    first, second = other.ask(2)
    router.change(scale=SCALE, reason="seconds from now on")
    assert other.tell(first.id, error=True).new
    router.change(scale=hf.Scale(latency=(0.0, 1.0), error=0.5))
    assert other.tell(second.id, error=True).new
    assert told(router) == [0.9, 0.5]
    change = router.history.changes[0]
    assert change["reason"] == "seconds from now on"
    assert change["detail"] == {"scale": [None, SCALE.settings()]}


def test_a_scale_must_be_one_and_losses_from_0_to_1(place):
    with pytest.raises(hf.InvalidParameter, match=r"scale must be a holdfast\.Scale"):
        place.open(policy=SWITCH, scale=7)
    assert place.open("by name", policy=SWITCH, scale={"latency": (0, 1)}).scale == hf.Scale(latency=(0, 1))
    with pytest.raises(hf.InvalidParameter, match="scale gives losses from 0 to 1"):
        place.open(policy=hf.TsallisSwitch(3, switching_cost=40.0, units=(-64.0, 64.0)), scale=SCALE)


def test_a_damaged_scale_is_said_to_be_damage(folder):
    url = f"sqlite:///{folder}/g.db"
    hf.open(url, "game", SWITCH, scale=SCALE).close()
    edit(url, "UPDATE holdfast_games SET settings = replace(settings, '8.0', '-8.0')")
    with pytest.raises(hf.BadStore, match="the settings of game 'game' cannot be read"):
        hf.open(SqliteStore(url), "game")
