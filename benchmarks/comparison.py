"""Measure the coverage and width of the interval of a comparison with a held-back rule.

    python benchmarks/comparison.py [--deployments 1000] [--lost 0.0005] [--seed 1]

A deployment is 40 days of 150 units, of which a tenth is the rule's (`tests/numerics/test_holdback.py`): levels drift,
the policy learns, costs are known the later the higher they are, and with `--lost` some never come. It is looked at on
every day. Prints the share of deployments in which the truth lies in the interval on all days; and for the last day how
many units count and the width of the interval, next to those of a comparison that ends at the first unit that is open.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from holdfast.decisions import holdout as holdback

sys.path.extend(str(Path(__file__).parents[1] / "tests" / room) for room in ("numerics", "support"))

from test_holdback import DAYS, PER_DAY, PI, as_seen, covered_with_open_units, deployment, with_lost


def last_day(rng: np.random.Generator, lost: float) -> list[float]:
    """Units and width of both."""
    *_, held_back, cost, known = deployment(rng)
    seen = as_seen(cost, with_lost(rng, cost, known, lost), DAYS)
    first = int(np.append(np.isnan(seen), True).argmax())
    found = [holdback.compare(seen[:n], held_back[:n], PI) for n in (len(seen), first)]
    return [value for one in found for value in (one.units, one.high - one.low)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deployments", type=int, default=1000)
    parser.add_argument("--lost", type=float, default=0.0005)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng, days = np.random.default_rng(options.seed), range(1, DAYS + 1)
    covered = sum(covered_with_open_units(rng, days, options.lost) for _ in range(options.deployments))
    ends = np.median([last_day(rng, options.lost) for _ in range(100)], axis=0)
    print(f"{covered} of {options.deployments} deployments of {DAYS * PER_DAY} units are covered on all {DAYS} days")
    print("the last day: {:.0f} units, width {:.3f}; up to the first open {:.0f} units, width {:.3f}".format(*ends))


if __name__ == "__main__":
    main()
