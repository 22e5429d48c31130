"""Names that have changed since 0.3.0. Each works for one more release, with a DeprecationWarning."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

POLICIES = """
    AdaptiveHedgeSwitch AdaptiveTsallisSwitch AmirTsallis AnytimeAmirTsallis BaSE BatchedElimination
    BatchedThompson BlockExp3 Exp3 FixedShare FollowLazyLeader FollowTheLeader ForecastPlan HoldForever LazyExp3
    LazyHedge Policy RandomWalkPerturbation ShrinkingDartboard StabilityPenaltyBiasMatching
    StabilityPenaltyMatching ThompsonSampling Threshold TsallisInf TsallisSwitch Ucb1 Ucb2 VaryingTsallisSwitch
    WorkFunctionAlone
"""
NAMES = {
    "holdfast.UnknownPlayer": "holdfast.UnknownGame",
    "holdfast.decisions.Fleet": "holdfast.Fleet",
    "holdfast.errors.UnknownPlayer": "holdfast.errors.UnknownGame",
    "holdfast.kernels.uniform_abreast": "holdfast.kernels.next_uniform",
    "holdfast.policies.make_policy": "holdfast.policies.registry.make_policy",
    **{f"holdfast.policies.{name}": f"holdfast.{name}" for name in POLICIES.split()},
}
MODULES = {
    "holdfast.adaptive_claims": "holdfast.evidence.adaptive_claims",
    "holdfast.arena": "holdfast.evidence",
    "holdfast.arena.run": "holdfast.evidence.run",
    "holdfast.environments.traces": "holdfast.data.traces",
    "holdfast.replays.logged": "holdfast.replays.off_policy",
    "holdfast.replays.outcome": "holdfast.replays.result",
}


def old_name(module: str, name: str) -> Any:
    """The value of a name that has changed, or an AttributeError: how a module's ``__getattr__`` ends."""
    old = f"{module}.{name}"
    if old not in NAMES:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warnings.warn(f"{old} is now {NAMES[old]}", DeprecationWarning, stacklevel=3)
    home, _, new = NAMES[old].rpartition(".")
    return getattr(import_module(home), new)


class MovedModules:
    """A finder, asked only where Python itself finds nothing, and the loader of the modules that have moved."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """One of `MODULES`, or nothing."""
        return ModuleSpec(fullname, self, is_package=True) if fullname in MODULES else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """As Python makes it."""

    def exec_module(self, module: ModuleType) -> None:
        """Let `module` have the names of the new one."""
        new = import_module(MODULES[module.__name__])
        warnings.warn(f"{module.__name__} is now {new.__name__}", DeprecationWarning, stacklevel=2)
        module.__dict__["__getattr__"] = lambda name: getattr(new, name)
