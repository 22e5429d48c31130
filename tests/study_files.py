"""Study files that tests begin from."""

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


def table_study(path: str) -> str:
    """The plain study on a table of losses."""
    return PLAIN.replace('kind = "bernoulli"\nn_arms = 3\ngap = 0.2', f'kind = "loss-table"\npath = "{path}"')
