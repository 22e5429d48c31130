"""Settings of the arena in tests."""

POLICIES = ("adaptive", "tsallis-switch", "base-geometric", "ucb1-cooldown-100")
ENVIRONMENTS = ("stochastic-hard", "adversarial", "changing-best-cheap", "multi-scale-walk-costly", "traces", "found")
REPLICATIONS, HORIZON, SEED = 6, 10_000, 3
UNITS, COST = (0.0, 500.0), 100.0
