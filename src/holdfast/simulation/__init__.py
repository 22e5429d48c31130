"""Simulation: one game of one replication, and ways to spread replications."""

from holdfast.simulation.backends import Backend, Threads
from holdfast.simulation.costs import Power
from holdfast.simulation.delays import Delay
from holdfast.simulation.run import Interrupted, simulate

__all__ = ["Backend", "Delay", "Interrupted", "Power", "Threads", "simulate"]
