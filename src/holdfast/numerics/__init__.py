"""Numerics that everything else stands on: random streams, sums, schedules, weights, statistics, plans."""
