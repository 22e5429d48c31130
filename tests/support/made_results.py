"""Results of simulations, played or made up."""

import polars as pl

import holdfast as hf
from holdfast.numerics.regret import MEASURES
from holdfast.results import SCHEMA, Result

SETTINGS = {"horizon": 100, "switching_cost": 0.5, "replications": 4, "seed": 6, "checkpoints": [10, 50]}
ENVIRONMENT = hf.Bernoulli([0.2, 0.5])


def simulated(*policies: hf.Policy, **changes: object) -> Result:
    """Two policies, four replications."""
    both = [hf.Exp3(2), hf.TsallisSwitch(2, switching_cost=0.5)]
    return hf.simulate(policies or both, ENVIRONMENT, **SETTINGS | changes)


def made(round: int = 9, /, **values: list[float]) -> Result:
    """Policies with these values of every measure at the only round."""
    frames = [
        pl.DataFrame(
            {"policy": name, "replication": range(len(numbers)), "round": round}
            | {measure: [int(x) if measure == "switches" else x for x in numbers] for measure in MEASURES},
            schema=SCHEMA,
        )
        for name, numbers in values.items()
    ]
    return Result(pl.concat(frames))
