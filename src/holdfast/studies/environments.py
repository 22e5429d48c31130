"""The environment of a study file: one small model for each kind, and tables of losses from files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from holdfast.checks import one_of, real_number, whole_number
from holdfast.environments import Bernoulli, ConstrainedBernoulli, Environment, LossTable, Reversal
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.files import sha256
from holdfast.studies.own import check_names, code_of, fields_of, find_own, is_own, make_own
from holdfast.studies.validation import validated

Count = Annotated[int, BeforeValidator(lambda v: whole_number("", v, least=1))]


def _probability(value: Any) -> float:
    number = real_number("", value, least=0)
    if number > 1:
        raise InvalidParameter("", "must be from 0 to 1", value)
    return number


Probability = Annotated[float, BeforeValidator(_probability)]


class Kind(BaseModel, ABC):
    """What every kind of environment has."""

    model_config = ConfigDict(strict=True, extra="forbid")

    kind: str
    shuffled: bool = False
    """Rotate the arms by a random number of places in each replication."""

    @abstractmethod
    def make(self, horizon: int | None, folder: Path) -> tuple[Environment, dict[str, Any]]:
        """The environment, and the file it came from, if any."""


class BernoulliKind(Kind):
    """`mean_losses`, or `n_arms` with a `gap`."""

    mean_losses: list[Any] | None = None
    n_arms: Count | None = None
    gap: Probability | None = None
    best_arms: Count = 1
    mean: Probability = 0.5

    def make(self, horizon: int | None, folder: Path) -> tuple[Environment, dict[str, Any]]:
        """One phase."""
        if (self.mean_losses is None) == (self.gap is None):
            raise HoldfastError("environment must have either mean_losses, or n_arms and gap")
        if self.mean_losses is not None:
            for name in ("n_arms", "best_arms", "mean"):
                if name in self.model_fields_set:
                    raise InvalidParameter(name, "cannot be given with mean_losses", getattr(self, name))
            return Bernoulli(tuple(self.mean_losses), shuffled=self.shuffled), {}
        if self.gap is None or self.n_arms is None:
            raise HoldfastError("environment.n_arms must be given with environment.gap")
        if self.gap > self.mean:
            raise InvalidParameter("gap", f"must not exceed the mean loss of the other arms, {self.mean:g}", self.gap)
        made = Bernoulli.with_gap(
            self.n_arms, self.gap, best_arms=self.best_arms, mean=self.mean, shuffled=self.shuffled
        )
        return made, {}


class ConstrainedKind(Kind):
    """The paper's stochastically constrained adversary."""

    n_arms: Count
    gap: Probability
    best_arms: Count = 1
    growth: Annotated[float, BeforeValidator(lambda v: real_number("", v, above=1))] = 1.6
    phases: Literal["index", "spacing"] = "index"

    def make(self, horizon: int | None, folder: Path) -> tuple[Environment, dict[str, Any]]:
        """Phases that grow."""
        made = ConstrainedBernoulli(
            self.n_arms,
            self.gap,
            best_arms=self.best_arms,
            growth=self.growth,
            phases=self.phases,
            shuffled=self.shuffled,
        )
        return made, {}


class ReversalKind(Kind):
    """The paper's deterministic adversary, for the study's horizon unless another is given."""

    n_arms: Annotated[int, BeforeValidator(lambda v: whole_number("", v, least=2))]
    horizon: Count | None = None

    def make(self, horizon: int | None, folder: Path) -> tuple[Environment, dict[str, Any]]:
        """Two phases."""
        rounds = self.horizon or horizon
        if rounds is None:
            raise HoldfastError("horizon must be given, unless the environment is a loss table")
        return Reversal(self.n_arms, rounds, shuffled=self.shuffled), {}


class LossTableKind(Kind):
    """A file of losses: one row per round, one column per arm. `path` is relative to the study file."""

    path: str

    def make(self, horizon: int | None, folder: Path) -> tuple[Environment, dict[str, Any]]:
        """Read as `LossTable` reads a file."""
        file = folder / self.path
        try:
            table = LossTable(file, shuffled=self.shuffled)
        except InvalidParameter as error:
            parameter = "path" if error.parameter == "source" else error.parameter
            if error.value == str(file):
                raise InvalidParameter(parameter, error.rule, error.value) from None
            raise InvalidParameter(parameter, f"{error.rule} (in {self.path})", error.value) from None
        return table, {"source": self.path, "sha256": sha256(file)}


KINDS: dict[str, type[Kind]] = {
    "bernoulli": BernoulliKind,
    "constrained-bernoulli": ConstrainedKind,
    "reversal": ReversalKind,
    "loss-table": LossTableKind,
}


def make_environment(
    given: dict[str, Any], horizon: int | None, folder: Path, made: dict[str, Any]
) -> tuple[Environment, dict[str, Any]]:
    """The environment that a study's table describes, and the file or code it came from.

    `made` remembers those already made, for the next cell.
    """
    kind = given.get("kind")
    if kind is None:
        raise HoldfastError(f"environment.kind must be given: one of {', '.join(map(repr, KINDS))}")
    own = is_own(kind)
    if not own:
        one_of("environment.kind", kind, KINDS)
    key = repr((given, horizon if own or kind == "reversal" else None))
    if key not in made:
        what = f"an environment of kind {kind!r}"
        fields = None if own else validated(KINDS[kind], given, what, under="environment.")
        try:
            made[key] = fields.make(horizon, folder) if fields else _own(given, horizon, folder)
        except InvalidParameter as error:
            raise InvalidParameter(f"environment.{error.parameter}", error.rule, error.value) from None
    environment, source = made[key]
    return environment, dict(source)


def _own(given: dict[str, Any], horizon: int | None, folder: Path) -> tuple[Environment, dict[str, Any]]:
    """A class of the user's; its horizon is the study's unless given."""
    values = {name: value for name, value in given.items() if name != "kind"}
    kind = find_own("kind", given["kind"], Environment, folder)  # type: ignore[type-abstract]  # looked up, not made
    check_names(kind, given["kind"], values)
    if horizon is not None and "horizon" in fields_of(kind):
        values.setdefault("horizon", horizon)
    return make_own(kind, given["kind"], values), {"code": code_of(kind)}
