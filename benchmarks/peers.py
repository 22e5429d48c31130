"""Time public bandit libraries on one small game, each in its fastest configuration.

Run inside the peers' own environment, which does not hold holdfast:

    python3.11 -m venv .venv-peers
    .venv-peers/bin/pip install -r benchmarks/requirements-peers.txt
    .venv-peers/bin/python benchmarks/peers.py [--rounds N] [--seconds S]

One JSON object per line on standard output; what the libraries themselves print goes to standard error.
The game has 8 Bernoulli arms (means 0.45, then 0.5 seven times).  `rounds` is the length of one game,
`batch` how many games one call plays, `seconds` the median time of one call; the rates count every round
of every game.  Everything runs in one thread.  `interface` is one of

    public           the library's documented way to play a whole game, reward draws included
    compiled loop    the compiled inner loop alone, without Python-side set-up or result building
    online           one select and one update through the public interface, rewards drawn beforehand
    compiled online  the same two calls on the compiled policy object itself

A game that would take longer than ten times `--seconds` is skipped; if even the shortest one would, it is
shortened to fit, and `rounds` says so.

scipy is pinned to 1.14.1, the only release that serves both sides: SMPyBandits imports
`scipy.special.btdtri`, which is gone in 1.15, and river needs at least 1.14.1.
"""

import argparse
import contextlib
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import metadata

import numpy as np

MEANS = (0.45, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5)
ARMS = len(MEANS)
SEED = 20240501
REWARD_SEED = SEED + 1  # river draws from random.Random too: the same seed would tie rewards to choices
DEFAULT_ROUNDS = (100_000, 1_000_000, 10_000_000)
REPETITIONS = 5
WARM_UP_ROUNDS = 1_000
LONGEST_REPETITION = 10  # times --seconds

# EXP3 policies in one pymab experiment: they share the environment's draws and its recorded arrays.
# A batch of 16 is about 5% slower through the public interface, one of 64 less than 2% faster.
PYMAB_BATCH = 32


@dataclass(frozen=True)
class Case:
    """One figure to measure; `prepare(rounds)` does what is not timed and returns the timed call."""

    library: str
    what: str
    interface: str
    prepare: Callable[[int], Callable[[], object]]
    batch: int = 1


def exp3_gamma(rounds: int) -> float:
    """Exploration of EXP3 tuned to the horizon (Auer et al. 2002); it does not affect the speed."""
    return min(1.0, math.sqrt(ARMS * math.log(ARMS) / ((math.e - 1) * rounds)))


def uniform_draws(rounds: int) -> Iterator[float]:
    """Yield the uniform variates behind the Bernoulli rewards."""
    draw = random.Random(REWARD_SEED).random
    return (draw() for _ in range(rounds))


def whole_game(play: Callable[[int, Iterator[float]], None], rounds: int) -> Callable[[], object]:
    """Time the play together with its reward draws."""
    return lambda: play(rounds, uniform_draws(rounds))


def select_and_update(play: Callable[[int, list[float]], None], rounds: int) -> Callable[[], object]:
    """Time the play alone, on draws made beforehand."""
    draws = list(uniform_draws(rounds))
    return lambda: play(rounds, draws)


def pymab_cases() -> list[Case]:
    """Cases of pymab, whose wheels carry its Rust engine as `pymab._pymab` (no extra to ask for).

    What makes it fast: backend="rust", one engine call per batch, and common reward draws for the batch.
    Most of the public run is spent checking the result arrays, element by element, in Python.
    """
    from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig, _pymab
    from pymab.policies import EXP3Policy

    def policies(rounds: int, batch: int) -> dict:
        gamma = exp3_gamma(rounds)
        return {f"exp3-{index}": EXP3Policy(n_arms=ARMS, gamma=gamma) for index in range(batch)}

    def experiment(batch: int, rounds: int) -> Callable[[], object]:
        def run() -> object:
            return Experiment(
                environment=BanditEnvironment(means=np.array(MEANS), reward_model=BernoulliReward()),
                policies=policies(rounds, batch),
                config=ExperimentConfig(
                    horizon=rounds, n_replicates=1, seed=SEED, reward_coupling="common", backend="rust"
                ),
            ).run()

        return run

    def engine(batch: int, rounds: int) -> Callable[[], object]:
        environment = _pymab._NativeEnvironment.create(
            json.dumps(
                {
                    "kind": "classic",
                    "means": MEANS,
                    "reward": {"kind": "bernoulli"},
                    "dynamics": {"kind": "stationary"},
                }
            )
        )
        handles = [(name, policy._native_handle) for name, policy in policies(rounds, batch).items()]
        # Arguments: horizon, replicates, seed, reward coupling, whether to record contexts.
        return partial(_pymab._NativeExperiment.run, environment, handles, rounds, 1, SEED, "common", False)

    def online(rounds: int, draws: list[float]) -> None:
        policy = EXP3Policy(n_arms=ARMS, gamma=exp3_gamma(rounds))
        rng = np.random.default_rng(SEED)
        for draw in draws:
            arm = policy.select_action(rng=rng)
            policy.update(action=arm, reward=1.0 if draw < MEANS[arm] else 0.0)

    def online_handle(rounds: int, draws: list[float]) -> None:
        handle = EXP3Policy(n_arms=ARMS, gamma=exp3_gamma(rounds))._native_handle
        for seed, draw in enumerate(draws):  # the handle takes one seed for each choice
            arm = handle.select_action(seed)
            handle.update(arm, 1.0 if draw < MEANS[arm] else 0.0)

    return [
        Case("pymab", "exp3", "public", partial(experiment, 1)),
        Case("pymab", "exp3", "public", partial(experiment, PYMAB_BATCH), PYMAB_BATCH),
        Case("pymab", "exp3", "compiled loop", partial(engine, 1)),
        Case("pymab", "exp3", "compiled loop", partial(engine, PYMAB_BATCH), PYMAB_BATCH),
        Case("pymab", "exp3", "online", partial(select_and_update, online)),
        Case("pymab", "exp3", "compiled online", partial(select_and_update, online_handle)),
    ]


def river_cases() -> list[Case]:
    """Cases of river, played by the pull-update loop of its documentation.

    What makes it fast: that loop on plain draws and a list of arms; `bandit.evaluate`, which yields a
    dictionary for every round, is about a quarter slower.  river never rescales the weights of EXP3, which
    overflow after about 11,000 / gamma rounds; with the tuned gamma that is beyond the games played here.
    """
    from river import bandit

    arms = list(range(ARMS))

    def play(rounds: int, draws: Iterator[float] | list[float]) -> None:
        policy = bandit.Exp3(gamma=exp3_gamma(rounds), seed=SEED)
        for draw in draws:
            arm = policy.pull(arms)
            policy.update(arm, 1.0 if draw < MEANS[arm] else 0.0)

    return [
        Case("river", "exp3", "public", partial(whole_game, play)),
        Case("river", "exp3", "online", partial(select_and_update, play)),
    ]


def mabwiser_cases() -> list[Case]:
    """Cases of MABWiser, which has neither EXP3 nor Tsallis-INF: UCB1 stands in, faster than its Softmax.

    Its simulator replays logged decisions and so does not play this game; the documented way to learn
    online is `predict` and `partial_fit`, one round at a time (a larger batch would delay the feedback).
    """
    from mabwiser.mab import MAB, LearningPolicy

    arms = list(range(ARMS))

    def play(rounds: int, draws: Iterator[float] | list[float]) -> None:
        bandit = MAB(arms, LearningPolicy.UCB1(alpha=1.0), seed=SEED)
        bandit.fit(arms, [1.0] * ARMS)  # predict needs a first fit
        for draw in draws:
            arm = bandit.predict()
            bandit.partial_fit([arm], [1.0 if draw < MEANS[arm] else 0.0])

    return [
        Case("mabwiser", "ucb", "public", partial(whole_game, play)),
        Case("mabwiser", "ucb", "online", partial(select_and_update, play)),
    ]


def smpybandits_cases() -> list[Case]:
    """Cases of SMPyBandits, the one peer with Tsallis-INF, played by its Evaluator.

    What makes it fast: cache_rewards draws all rewards at once, n_jobs=1 avoids joblib, and without tqdm
    there is no progress bar.  Its Tsallis-INF calls a scalar minimiser of scipy in every round.
    """
    from SMPyBandits.Arms import Bernoulli
    from SMPyBandits.Environment import Evaluator
    from SMPyBandits.Policies import Exp3, TsallisInf

    def parameters(policy: type, rounds: int) -> dict[str, float]:
        return {"gamma": exp3_gamma(rounds)} if policy is Exp3 else {}

    def evaluator(policy: type, rounds: int) -> Callable[[], object]:
        configuration = {
            "horizon": rounds,
            "repetitions": 1,
            "n_jobs": 1,
            "verbosity": 0,
            "cache_rewards": True,
            "environment": [{"arm_type": Bernoulli, "params": list(MEANS)}],
            "policies": [{"archtype": policy, "params": parameters(policy, rounds)}],
        }
        return lambda: Evaluator(configuration).startAllEnv()

    def online(policy_class: type, rounds: int, draws: list[float]) -> None:
        policy = policy_class(ARMS, **parameters(policy_class, rounds))
        policy.startGame()
        for draw in draws:
            arm = policy.choice()
            policy.getReward(arm, 1.0 if draw < MEANS[arm] else 0.0)

    return [
        Case("SMPyBandits", "exp3", "public", partial(evaluator, Exp3)),
        Case("SMPyBandits", "exp3", "online", partial(select_and_update, partial(online, Exp3))),
        Case("SMPyBandits", "tsallis-inf", "public", partial(evaluator, TsallisInf)),
        Case("SMPyBandits", "tsallis-inf", "online", partial(select_and_update, partial(online, TsallisInf))),
    ]


ADAPTERS = {
    "pymab": pymab_cases,
    "river": river_cases,
    "mabwiser": mabwiser_cases,
    "SMPyBandits": smpybandits_cases,
}


def seconds_of(call: Callable[[], object], times: int = 1) -> float:
    """Return the mean time of one call over `times` calls."""
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def seconds_per_round(case: Case) -> float:
    """Warm the case up with one short game and time a second one."""
    call = case.prepare(WARM_UP_ROUNDS)
    call()
    return seconds_of(call) / WARM_UP_ROUNDS


def affordable_rounds(wanted: tuple[int, ...], round_seconds: float, seconds: float) -> list[int]:
    """Keep the games short enough to repeat; failing all, one game of about `seconds`."""
    longest = LONGEST_REPETITION * seconds
    affordable = [rounds for rounds in wanted if rounds * round_seconds <= longest]
    return affordable or [max(1, int(seconds / round_seconds))]


def measure(case: Case, rounds: int, seconds: float, round_seconds: float) -> dict[str, object]:
    """Return the record of one case at one length: the median of several repetitions."""
    call = case.prepare(rounds)
    times = max(1, round(seconds / (rounds * round_seconds)))
    median = statistics.median(seconds_of(call, times) for _ in range(REPETITIONS))
    played = rounds * case.batch
    return {
        "library": case.library,
        "version": metadata.version(case.library),
        "what": case.what,
        "interface": case.interface,
        "arms": ARMS,
        "batch": case.batch,
        "rounds": rounds,
        "seconds": round(median, 6),
        "rounds_per_second": round(played / median),
        "microseconds_per_step": round(median / played * 1e6, 4),
    }


def records(wanted: tuple[int, ...], seconds: float) -> Iterator[dict[str, object]]:
    """Yield one record per figure, or one per library that cannot be imported."""
    for library, adapter in ADAPTERS.items():
        try:
            with contextlib.redirect_stdout(sys.stderr):
                cases = adapter()
        except Exception as error:
            reason = f"left out: {library}: {type(error).__name__}: {error}"
            yield {"library": library, "left_out": reason}
            continue
        for case in cases:
            with contextlib.redirect_stdout(sys.stderr):
                round_seconds = seconds_per_round(case)
            for rounds in affordable_rounds(wanted, round_seconds, seconds):
                with contextlib.redirect_stdout(sys.stderr):
                    record = measure(case, rounds, seconds, round_seconds)
                yield record


def main() -> None:
    """Print every record as one line of JSON."""
    parser = argparse.ArgumentParser(description="Time public bandit libraries on one small game.")
    parser.add_argument("--rounds", type=int, help="length of a game (default: 1e5, 1e6 and 1e7)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one repetition")
    arguments = parser.parse_args()
    wanted = (arguments.rounds,) if arguments.rounds else DEFAULT_ROUNDS
    for record in records(wanted, arguments.seconds):
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
