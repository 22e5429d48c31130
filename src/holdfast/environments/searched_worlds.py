"""Worst worlds found by search, kept by name in ``searched_worlds.json`` beside this file.

Each has the arms, rounds and switching cost of its search, the starts and means of its phases, and whether they have
noise.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from typing import Any, ClassVar

import numpy as np

from holdfast.checks import one_of
from holdfast.environments.phases import Phased
from holdfast.layouts import Array


@cache
def found_worlds() -> dict[str, dict[str, Any]]:
    """What is kept of each world, by its name."""
    text = resources.files("holdfast.environments").joinpath("searched_worlds.json").read_text(encoding="utf-8")
    worlds: dict[str, dict[str, Any]] = json.loads(text)
    return worlds


@dataclass(frozen=True)
class Found(Phased):
    """A world that a search found to be bad for a policy, by its name.

    `horizon` and `switching_cost` are those of the search: measure it with them, and with fresh seeds.

    Parameters
    ----------
    name
        One of `found_worlds()`.

    Examples
    --------
    >>> Found("adaptive-1").n_arms
    2
    """

    id: ClassVar[str] = "found"

    name: str = ""
    noise: bool = field(init=False)

    def __post_init__(self) -> None:
        one_of("name", self.name, found_worlds())
        self._set("noise", found_worlds()[self.name]["noise"])
        super().__post_init__()

    @property
    def horizon(self) -> int:
        """T of the search."""
        return int(found_worlds()[self.name]["horizon"])

    @property
    def switching_cost(self) -> float:
        """λ of the search."""
        return float(found_worlds()[self.name]["switching_cost"])

    @cached_property
    def layout(self) -> tuple[Array, Array]:
        """As the search found it."""
        world = found_worlds()[self.name]
        return np.array(world["starts"], dtype=np.float64), np.array(world["means"], dtype=np.float64)
