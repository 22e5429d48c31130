"""river, coba and Gymnasium with the real ones, and the export for obp."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import ROOT, blocks

import holdfast as hf
from holdfast.adapters import loss_of
from holdfast.adapters.obp import bandit_feedback

pytestmark = pytest.mark.filterwarnings("ignore")

WHY = "make .venv/.partners installs it"
POLICY = hf.AdaptiveTsallisSwitch(3, switching_cost=0.5)
WORLD = hf.Bernoulli([0.7, 0.3, 0.7])


def adapter(name: str) -> Any:
    """A fixture that gives the adapter, where its partner is installed."""
    return pytest.fixture(lambda: pytest.importorskip(f"holdfast.adapters.{name}", reason=WHY, exc_type=ImportError))


gym, river, coba = adapter("gymnasium"), adapter("river"), adapter("coba")


@pytest.mark.slow
def test_gymnasium_checks_the_environment(gym: Any) -> None:
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*spec.*")
        check_env(gym.HoldfastEnv(WORLD, 1.0, 50), skip_render_check=True)
        check_env(gym.HoldfastEnv(hf.LossTable([[-2.0, 3.0]] * 9, units=(-2, 3)), 1.0, 9), skip_render_check=True)


@pytest.mark.slow
def test_a_reward_has_the_loss_and_the_switch(gym: Any) -> None:
    env = gym.HoldfastEnv(hf.LossTable([[0.1, 0.6], [0.2, 0.7], [0.3, 0.8]]), 2.0, 3)
    assert env.reset(seed=1)[0].tolist() == [0, 0, 0]
    steps = [env.step(arm) for arm in (0, 1, 1)]
    assert [step[1] for step in steps] == pytest.approx([-0.1, -2.7, -0.8])
    assert [step[4]["switched"] for step in steps] == [False, True, False]
    assert [step[2:4] for step in steps] == [(False, False), (False, False), (False, True)]
    assert steps[1][0].tolist() == pytest.approx([0, 1, 0.7])
    for wrong in (2, -1, 0.5, "a", None):
        with pytest.raises(hf.InvalidParameter, match="action"):
            env.step(wrong)


@pytest.mark.slow
def test_a_seed_gives_the_same_losses(gym: Any) -> None:
    env = gym.HoldfastEnv(WORLD, 1.0, 100)

    def play(seed: int) -> list[float]:
        env.reset(seed=seed)
        return [env.step(t % 3)[1] for t in range(100)]

    assert play(1) == play(1) != play(2)
    losses = [env.step(1)[4]["loss"] for _ in range(100) if env.reset() or True]
    assert 0.15 < np.mean(losses) < 0.45


@pytest.mark.slow
def test_river_plays_ours_beside_its_own_in_our_arena(river: Any, gym: Any) -> None:
    from river import bandit

    ours = river.HoldfastPolicy(POLICY, rewards=(-1.5, 0.0), seed=1)
    theirs = bandit.EpsilonGreedy(epsilon=0.1, seed=1)
    env = gym.HoldfastEnv(WORLD, 0.5, 600)
    arms: dict[int, list[int]] = {0: [], 1: []}
    for step in bandit.evaluate([ours, theirs], env, n_episodes=1, seed=1):
        arms[step["policy_idx"]].append(step["arm"])
    assert [len(one) for one in arms.values()] == [600, 600]
    moves = {number: sum(np.diff(one) != 0) for number, one in arms.items()}
    assert moves[0] < moves[1]
    assert arms[0][300:].count(1) > 150


@pytest.mark.slow
def test_river_pulls_what_there_is_and_survives_odd_calls(river: Any) -> None:
    policy = river.HoldfastPolicy(POLICY, seed=1, burn_in=1).clone()
    assert [policy.pull(["a", "b", "c"]) for _ in range(1)] == ["a"]
    for arm in "abc":
        policy.update(arm, 0.5)  # the burn-in
    first = policy.pull(["a", "b", "c"])
    assert policy.pull(["a", "b", "c"]) == first  # no reward came
    policy.update("c" if first != "c" else "a", 1.0)  # of another arm
    policy.update(first, 7.0)  # outside, so it is clipped
    policy.update(first, 1.0)  # twice
    assert policy._player.rounds == 1
    assert {policy.pull(["a", "b"]) for _ in range(5)} <= {"a", "b"}
    policy.burn_in = 0
    for wrong in ([], ["z"], ["a", "b", "c", "d"]):
        with pytest.raises(hf.InvalidParameter, match="arm_ids must be among"):
            policy.pull(wrong)
    with pytest.raises(hf.InvalidParameter, match="must have the 2 arms"):
        river.HoldfastPolicy(POLICY).pull(["a", "b"])
    for policy in (hf.AdaptiveHedgeSwitch(2, switching_cost=1.0), "exp3"):
        with pytest.raises(hf.InvalidParameter, match="bandit feedback"):
            river.HoldfastPolicy(policy)


@pytest.mark.slow
def test_rivers_policies_play_in_our_worlds(river: Any) -> None:
    from river import bandit

    from holdfast.adapters.objects import play

    given = bandit.EpsilonGreedy(epsilon=0.1, seed=1)
    options: dict[str, Any] = {"horizon": 400, "switching_cost": 0.5, "replications": 5, "checkpoints": 1}
    frame = play({"greedy": river.theirs(given, 3), "same": river.theirs(given, 3)}, WORLD, **options).frame
    assert not given._rewards  # it was cloned
    greedy, same = (frame.filter(frame["policy"] == name).drop("policy") for name in ("greedy", "same"))
    assert greedy.equals(same)
    assert greedy["switches"].n_unique() > 1  # seeds differ by game
    assert 0 < greedy["pseudo_regret"].mean() < 80  # it learns: by chance it would be 107


def test_losses_are_the_rewards_turned_round() -> None:
    wide = hf.Exp3(2, units=(10, 30))
    assert [loss_of(reward, (-1, 1), wide) for reward in (-1, 0, 1, 5, -5)] == [30, 20, 10, 10, 30]


@pytest.mark.slow
def test_coba_plays_it_in_an_experiment(coba: Any) -> None:
    import coba as library

    learner = coba.HoldfastLearner(hf.AdaptiveTsallisSwitch(3, switching_cost=0.5), rewards=(0, 1), seed=1)
    worlds = library.Environments.from_linear_synthetic(
        400, n_actions=3, n_context_features=0, n_action_features=0, seed=2
    )
    result = library.Experiment(worlds, [learner, library.RandomLearner()]).run(quiet=True)
    assert len(result.interactions) == 800
    assert result.learners["family"][0] == "holdfast adaptive"


@pytest.mark.slow
def test_coba_learns_from_its_own_predictions_only(coba: Any) -> None:
    learner = coba.HoldfastLearner(hf.Exp3(arms=["x", "y"]), seed=1)
    learner.learn(None, 3, 1.0, 0.5)  # before anything was predicted
    action, probability = learner.predict(None, [3, 4])
    assert probability == learner.score(None, [3, 4], action) == 0.5
    learner.learn(None, 7 - action, 1.0, 0.5)
    assert learner._player.rounds == 0
    learner.learn(None, action, 1.0, 0.5)
    learner.learn(None, action, 1.0, 0.5)
    assert learner._player.rounds == 1
    assert learner.switches == 1
    with pytest.raises(hf.InvalidParameter, match="must have the 3 arms"):
        coba.HoldfastLearner(hf.Exp3(2)).predict(None, [1, 2, 3])
    assert coba.HoldfastLearner(hf.ThompsonSampling(2)).predict(None, [1, 2])[1] > 0


def test_the_export_for_obp_has_a_row_for_each_block() -> None:
    policy = hf.TsallisSwitch(arms=["a", "b"], switching_cost=4.0, units=(0, 10))
    with hf.open("memory:", "game", policy, seed=1, patience=1, missing=2.5) as router:
        while router.ask() and router.hold:
            continue  # a block without a loss, which counts as what is missing
        for t in range(60):
            router.tell(router.ask().id, float(t % 5))
        router.pin("a")
        router.tell(router.ask().id, 9.0)
        found = bandit_feedback(router)
        blocks_played = [block for block in router.history.blocks() if not block.forced]
        log = router.history.log
    assert found["n_rounds"] == len(blocks_played) == len(found["action"])
    assert found["n_actions"] == 2
    assert found["pscore"].tolist() == [block.probability for block in blocks_played]
    assert found["action"].tolist() == [block.arm for block in blocks_played]
    first = log.filter(log["block"] == blocks_played[0].number)["loss"].mean()
    assert found["reward"][0] == pytest.approx(1 - first / 10) == 0.75
    assert found["context"].shape == (len(blocks_played), 1)


@pytest.mark.slow
def test_what_the_page_says_to_copy(river: Any, coba: Any, gym: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for language, code in blocks(ROOT / "docs/research_tools.md"):
        if language == "python":
            exec(code, names)
    assert names["feedback"]["n_rounds"] > 0


def test_the_versions_of_the_page_are_those_installed() -> None:
    page, pinned = ((ROOT / name).read_text() for name in ("docs/research_tools.md", "constraints.txt"))
    for name in ("river", "coba", "gymnasium"):
        (line,) = [line for line in pinned.splitlines() if line.startswith(f"{name}==")]
        assert line.replace("==", " ").casefold() in page.casefold()
