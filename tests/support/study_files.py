"""Study files that tests begin from, and a backend that counts."""

from holdfast.simulation.backends import Threads

PLAIN = """
horizon = 300
replications = 5
seed = 3
switching_cost = 1.5
checkpoints = [10, 100]
policies = ["tsallis-switch", "exp3"]
[environment]
kind = "bernoulli"
n_arms = 3
gap = 0.2
"""

GRID = """
name = "regions"
horizon = 400
replications = 7
switching_cost = 1.0
checkpoints = "log"
[environment]
kind = "bernoulli"
n_arms = 4
gap = 0.1
[[policies]]
policy = "tsallis-switch"
[[policies]]
policy = "tsallis-inf"
estimator = "reduced-variance"
name = "rv"
[[policies]]
policy = "exp3-blocks"
[grid]
switching_cost = [0.1, 2]
environment.gap = [0.05, 0.3]
"""

SEEDS = """
horizon = 50
replications = 3
switching_cost = 0.1
checkpoints = [10]
policies = ["exp3"]
[environment]
kind = "bernoulli"
n_arms = 2
gap = 0.1
[grid]
seed = [1, 2]
"""


def table_study(path: str) -> str:
    """The plain study on a table of losses."""
    return PLAIN.replace('kind = "bernoulli"\nn_arms = 3\ngap = 0.2', f'kind = "loss-table"\npath = "{path}"')


class Killed(Exception):
    pass


class Counting(Threads):
    """Threads that remember what they were asked to play, and fail at the `stop`-th time."""

    def __init__(self, stop: int = -1) -> None:
        super().__init__(workers=2)
        self.played: list[tuple[int, int]] = []
        self.stop = stop

    def run(self, tasks, done):
        tasks = list(tasks)
        self.played.append((tasks[0].first, tasks[0].count))
        if len(self.played) == self.stop:
            raise Killed
        super().run(tasks, done)
