"""The tidy table of a simulation with its provenance: summarise, compare, read, write."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

from holdfast.errors import BadSavedState, HoldfastError, InvalidParameter, nearest

SCHEMA = {
    "policy": pl.String,
    "replication": pl.Int64,
    "round": pl.Int64,
    "pseudo_regret": pl.Float64,
    "switches": pl.Int64,
    "cost": pl.Float64,
}
KEYS = ("policy", "replication", "round")
MEASURES = ("pseudo_regret", "switches", "cost")
METADATA_KEY = "holdfast"
FEW_DEGREES = 300


def table(rounds: Sequence[int], blocks: Iterable[tuple[str, int, Any, Any, Any]]) -> pl.DataFrame:
    """One frame of (policy, first replication, pseudo-regret, switches, cost), each a row a replication."""
    frames = [
        pl.DataFrame(
            {
                "policy": pl.Series([policy]).new_from_index(0, regret.size),
                "replication": np.repeat(np.arange(first, first + regret.shape[0]), len(rounds)),
                "round": np.tile(np.array(rounds, dtype=np.int64), regret.shape[0]),
                "pseudo_regret": regret.ravel(),
                "switches": np.asarray(switches, dtype=np.int64).ravel(),
                "cost": cost.ravel(),
            },
            schema=SCHEMA,
        )
        for policy, first, regret, switches, cost in blocks
    ]
    return pl.concat(frames) if frames else pl.DataFrame(schema=SCHEMA)


@dataclass(frozen=True)
class Comparison:
    """The paired difference of two policies, first less second, at one round."""

    first: str
    second: str
    measure: str
    round: int
    difference: float
    """Mean over replications of first − second: negative when the first is better."""
    low: float
    high: float
    """The confidence interval of the mean difference."""
    confidence: float
    replications: int

    @property
    def decided(self) -> bool:
        """Whether the interval leaves out zero."""
        return not self.low <= 0.0 <= self.high

    def __str__(self) -> str:
        return (
            f"{self.first} − {self.second}: {self.measure} {self.difference:+.6g} "
            f"[{self.low:+.6g}, {self.high:+.6g}] at round {self.round} "
            f"({self.confidence:.0%} confidence, {self.replications} replications)"
        )


class Result:
    """What was simulated: `frame` has one row for each policy, replication and checkpoint."""

    def __init__(self, frame: pl.DataFrame, provenance: dict[str, Any] | None = None) -> None:
        self.frame = frame
        self.provenance = provenance or {}

    def __repr__(self) -> str:
        rows = self.final()
        head = f"<Result: {self.frame.height} rows; at the last round, mean ± standard error>"
        width = max((len(name) for name in rows["policy"]), default=0)
        lines = [f"{'policy':{width}s}  runs  {'pseudo-regret':>22s}  {'switches':>22s}  {'with cost':>22s}"]
        for row in rows.iter_rows(named=True):
            cells = [_with_error(row[f"{measure}_mean"], row[f"{measure}_se"]) for measure in MEASURES]
            lines.append(
                f"{row['policy']:{width}s}  {row['replications']:4d}  " + "  ".join(f"{c:>22s}" for c in cells)
            )
        return "\n".join([head, *lines])

    @property
    def policies(self) -> list[str]:
        """The names of the policies, in the order given."""
        return self.frame["policy"].unique(maintain_order=True).to_list()

    def summary(self) -> pl.DataFrame:
        """Mean, standard deviation and standard error of each measure, for each policy and checkpoint.

        The deviation is that of a sample (n − 1); with one replication it is null.
        """
        columns = [
            expression
            for measure in MEASURES
            for expression in (
                pl.col(measure).mean().alias(f"{measure}_mean"),
                pl.col(measure).std().alias(f"{measure}_sd"),
                (pl.col(measure).std() / pl.len().sqrt()).alias(f"{measure}_se"),
            )
        ]
        return self.frame.group_by("policy", "round", maintain_order=True).agg(pl.len().alias("replications"), *columns)

    def final(self) -> pl.DataFrame:
        """The summary at the last round of each policy."""
        return self.summary().filter(pl.col("round") == pl.col("round").max().over("policy"))

    def compare(
        self, first: str, second: str, *, measure: str = "cost", confidence: float = 0.95, round: int | None = None
    ) -> Comparison:
        """The difference of two policies replication by replication, with a Student confidence interval.

        Replications are paired because they share their environment's random numbers.
        """
        for name in (first, second):
            if name not in self.policies:
                rule = f"must be one of {', '.join(map(repr, self.policies))}{nearest(name, self.policies)}"
                raise InvalidParameter("policy", rule, name)
        if measure not in MEASURES:
            rule = f"must be one of {', '.join(map(repr, MEASURES))}{nearest(measure, MEASURES)}"
            raise InvalidParameter("measure", rule, measure)
        if not 0.0 < confidence < 1.0:
            raise InvalidParameter("confidence", "must be between 0 and 1", confidence)
        at = int(self.frame["round"].max()) if round is None else round  # type: ignore[arg-type]
        rows = self.frame.filter(pl.col("round") == at)
        if rows.is_empty():
            recorded = self.frame["round"].unique().sort().to_list()
            shown = ", ".join(map(str, recorded[:5])) + (", …" if len(recorded) > 5 else "")
            raise InvalidParameter("round", f"must be one that was recorded ({shown})", round)
        values = [rows.filter(pl.col("policy") == name).select("replication", measure) for name in (first, second)]
        paired = values[0].join(values[1], on="replication", suffix="_second")
        if paired.height < 2:
            raise InvalidParameter("replications", "must be at least 2 in common to compare policies", paired.height)
        mean, low, high = interval(paired[measure].to_numpy() - paired[f"{measure}_second"].to_numpy(), confidence)
        return Comparison(first, second, measure, at, mean, low, high, confidence, paired.height)

    def write(self, path: str | Path) -> Path:
        """Write the table as parquet with its provenance in the metadata; a reader never sees half a file."""
        target = Path(path)
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            self.frame.write_parquet(part, metadata={METADATA_KEY: json.dumps(self.provenance)})
            with part.open("rb") as written:
                os.fsync(written.fileno())  # the name must not reach the disk before the rows do
            os.replace(part, target)
        except OSError as error:
            raise HoldfastError(f"{target} cannot be written: {error.strerror or error}") from error
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
        return target

    @classmethod
    def read(cls, path: str | Path) -> Result:
        """Read what `write` wrote."""
        try:
            metadata = pl.read_parquet_metadata(path)
            frame = pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise BadSavedState(f"{path} must be a parquet file written by Result.write ({error})") from None
        if METADATA_KEY not in metadata or dict(frame.schema) != SCHEMA:
            raise BadSavedState(f"{path} must be a parquet file written by Result.write; this is another table")
        return cls(frame, json.loads(metadata[METADATA_KEY]))

    @classmethod
    def concat(cls, results: Sequence[Result]) -> Result:
        """One result of several: other policies, or other replications of the same.

        Rows come by policy as first met, then replication, then round, as `simulate` gives them. Pieces of one
        simulation (the same settings, but other replications that follow each other, or other policies of the same
        replications) get the provenance it would have had; otherwise the parts' stand side by side under ``"parts"``.
        """
        if not results:
            raise InvalidParameter("results", "must not be empty", results)
        frame = pl.concat([result.frame for result in results])
        if frame.select(KEYS).is_duplicated().any():
            raise InvalidParameter(
                "results", "must not have the same policy and replication twice", "overlapping parts"
            )
        place = {name: i for i, name in enumerate(frame["policy"].unique(maintain_order=True))}
        order = pl.col("policy").replace_strict(place, return_dtype=pl.Int64)
        frame = frame.sort(order, "replication", "round")
        return cls(frame, joined_provenance([result.provenance for result in results]))


def joined_provenance(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The provenance of the simulation that `parts` are pieces of, or all of them under ``"parts"``."""
    separate = {"parts": list(parts)}
    varying = ("backend", "replications", "first_replication", "policies")
    same = [{name: value for name, value in part.items() if name not in varying} for part in parts]
    if any(name not in part for part in parts for name in varying) or any(part != same[0] for part in same):
        return separate
    if any("interrupted" in part for part in parts):
        return separate
    runs = sorted((part["first_replication"], part["replications"]) for part in parts)
    policies: dict[str, Any] = {name: value for part in parts for name, value in part["policies"].items()}
    if all(part["policies"] == policies for part in parts):
        if any(begin + count != following for (begin, count), (following, _) in pairwise(runs)):
            return separate
    elif runs[0] != runs[-1] or len(policies) < sum(len(part["policies"]) for part in parts):
        return separate
    count = runs[-1][0] + runs[-1][1] - runs[0][0]
    backends = ", ".join(dict.fromkeys(part["backend"] for part in parts))
    changed = {"backend": backends, "replications": count, "first_replication": runs[0][0], "policies": policies}
    return {name: changed.get(name, value) for name, value in parts[0].items()}


def _with_error(mean: float, error: float | None) -> str:
    return f"{mean:,.1f}" if error is None else f"{mean:,.1f} ± {error:,.1f}"


def interval(sample: Any, confidence: float = 0.95) -> tuple[float, float, float]:
    """Mean of a sample of at least two, and Student's confidence interval of it."""
    values = np.asarray(sample, dtype=np.float64)
    mean = float(values.mean())
    half = student_quantile(0.5 + confidence / 2, len(values) - 1) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def student_quantile(probability: float, degrees: int) -> float:
    """The quantile of Student's t above one half.

    By bisection on its distribution function; with many degrees of freedom, where that integrand is too narrow, by
    the Cornish-Fisher expansion around the normal (Abramowitz and Stegun 26.7.5). Good to eight digits.

    >>> round(student_quantile(0.975, 9), 6)
    2.262157
    """
    if degrees > FEW_DEGREES:
        z = NormalDist().inv_cdf(probability)
        terms = (
            z,
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
        )
        return math.fsum(term / degrees**power for power, term in enumerate(terms))
    angle_low, angle_high = 0.0, math.pi / 2
    nodes, weights = np.polynomial.legendre.leggauss(64)
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(math.pi)
    for _ in range(60):  # with t = √ν tan θ the density is scale · cos^{ν−1} θ
        angle = (angle_low + angle_high) / 2
        inside = np.cos(angle / 2 * (nodes + 1)) ** (degrees - 1)
        if 0.5 + scale * angle / 2 * float(weights @ inside) < probability:
            angle_low = angle
        else:
            angle_high = angle
    return math.sqrt(degrees) * math.tan(angle_low)
