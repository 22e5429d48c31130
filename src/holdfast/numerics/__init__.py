"""Numerics shared by all packages: random streams, sums, schedules, weights, statistics, plans."""
