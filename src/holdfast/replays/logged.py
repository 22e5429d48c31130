"""Logs of play and off-policy estimates from them: one row per round with arm, loss and probability."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import holdfast
from holdfast.checks import array_of, different_names, one_of, real_number, whole_number
from holdfast.data.csv import PLAIN, CsvFormat
from holdfast.data.records import read_frame
from holdfast.errors import Form, HoldfastError, InvalidParameter, Set, Words, nearest, parameter_named, printable
from holdfast.extras import pl
from holdfast.files import claimed
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import student_quantile
from holdfast.replays.advice import exact
from holdfast.replays.report import WIDTH, filled, table_of
from holdfast.report.html import Column, Section, page, paragraph, table
from holdfast.results import parquet_bytes
from holdfast.runs import Outputs, document
from holdfast.text import five_digits, level, number

# The columns of a log of decisions: one row per round with the arm, its loss and the probability it was drawn with.

STATUSES = ("told", "late", "missing", "open", "forced", "rule", "moved")
"""States of a round's loss; ``forced``: an operator chose the arm, ``rule``: the rule held back.

``moved``: its conversation had left the arm that was drawn.
"""

WHAT_TO_LOG = "log player.probability with every round, as it is after player.ask()"


def read_log_columns(source: Any, columns: Mapping[str, str | None], form: CsvFormat = PLAIN) -> dict[str, Any]:
    """Read the columns ``arm``, ``loss`` and ``probability`` as arrays; ``block`` may be one too, ``"rounds"`` or None.

    A column ``time``, if there is one, must not run backwards. A column ``status`` as `Router.history.export` writes it
    is read too, if there is one; then a loss may be NaN, where it is unknown. ``conversations`` is True where all
    rounds are of conversations.
    """
    block, time = columns.get("block"), columns.get("time")
    loss, numbers = str(columns["loss"]), [str(columns["loss"]), str(columns["probability"])]
    frame = read_frame(source, numbers=numbers[1:], form=form)
    status = _status(frame)
    if status is None or loss not in frame.columns or not frame[loss].dtype.is_numeric():
        frame = read_frame(source, numbers=numbers, form=form)
    else:
        frame = frame.with_columns(
            pl.when(frame["status"] != "told").then(pl.col(loss).fill_null(math.nan)).otherwise(loss)
        )
    for name in [columns["arm"], *numbers, *(name for name in (block, time) if name and name != "rounds")]:
        if name not in frame.columns:
            what = f"; {WHAT_TO_LOG}" if name == columns["probability"] else ""
            known = ", ".join(map(repr, frame.columns))
            rule = f"must have a column {name!r} among its columns {known}{what}{nearest(name, frame.columns)}"
            raise InvalidParameter("log", rule, str(source))
    if time and not (frame[time].is_sorted() or frame[time].dtype == pl.String):
        row = int((frame[time] < frame[time].shift(1)).fill_null(False).arg_max() or 0)
        raise InvalidParameter("log", f"must have a column {time!r} that does not run backwards", f"row {row + 1}")
    read = {name: _array(frame, columns[name]) for name in ("arm", "loss", "probability")}
    read["status"] = status
    read["conversations"] = status is not None and _conversations(frame)
    return read | {"block": block if block is None or block == "rounds" else _array(frame, block)}


def _status(frame: pl.DataFrame) -> Any:
    """Return the status column, if it was written by Holdfast."""
    if "status" not in frame.columns or not set(frame["status"].unique().to_list()) <= set(STATUSES):
        return None
    return frame["status"].to_numpy()


def _conversations(frame: pl.DataFrame) -> bool:
    """Tell whether a log of ours is of conversations only; in a CSV file the column is text."""
    if "conversation" not in frame.columns:
        return False
    return set(frame["conversation"].cast(pl.String).unique().to_list()) == {"true"}


def _array(frame: pl.DataFrame, name: str | None) -> Any:
    column = frame[str(name)]
    if column.null_count():
        row = int(column.is_null().arg_max() or 0)
        what = f"; {WHAT_TO_LOG}" if column.dtype.is_float() else ""
        raise InvalidParameter("log", f"must have a value in row {row + 1}, column {name!r}{what}", None)
    return column.to_numpy()


# Off-policy evaluation: the loss of another policy, from a log of the arms that were played.
#
# A log has one row for each round: the arm played, its loss, and the probability q with which the arm was drawn. Any
# policy whose probabilities π_t(i) do not depend on what it observes has the expected losses Σ_t Σ_i π_t(i) ℓ_{t,i},
# and each of three estimators recovers them from the arms played alone, with the weight w_t = π_t(I_t)/q_t for round t:
#
#     inverse propensity    Σ_t w_t ℓ_t                                           unbiased
#     self-normalised       T Σ_t w_t ℓ_t / Σ_t w_t                               biased a little, often less spread
#     doubly robust         Σ_t [ Σ_i π_t(i) m_t(i) + w_t (ℓ_t − m_t(I_t)) ]      unbiased
#
# m_t(i) is the mean loss of arm i in the blocks before, drawn by one round's weight towards that of all arms. It uses
# the past only, which keeps the third unbiased although the log was drawn by a policy that learns. (Horvitz and
# Thompson 1952; Swaminathan and Joachims 2015; Dudík, Langford and Li 2011.)
#
# **The unit is the block.** Holdfast draws one arm for all rounds of a block, so these rounds are one observation,
# however many they are. With X_b what block b adds to an estimate and c_b what the past predicts for it, the errors are
# martingale differences, and Σ_b (X_b − c_b)² is on average at least the variance of their sum, whatever the losses do
# over time. Intervals are made from it, with Student's quantile at (Σ e²)²/Σ e⁴ degrees of freedom for errors e: few
# when a few blocks carry the estimate (after Satterthwaite 1946). They are about the mean over draws of arms, with the
# losses as they were. Measured on 1,600 logs of Tsallis-Switch over drifting losses (T = 20,000, K = 4, λ = 0.35 and
# 2), 95 % intervals held the truth in 94.5 to 97 % of the cases for the last two estimators, for the arm drawn least as
# for the others; in 93 to 96 % for the first, which nothing corrects when a heavy weight did not come.

MOST_DEVIATIONS = 5.0
"""Standard errors by which the weights may deviate from their known mean, T."""


@dataclass(frozen=True)
class Estimate:
    """Expected losses over all rounds, with their interval."""

    losses: float
    low: float
    high: float
    standard_error: float


@dataclass(frozen=True)
class Evaluation:
    """Estimated loss of one policy, by three estimators."""

    inverse_propensity: Estimate
    self_normalised: Estimate
    doubly_robust: Estimate
    switches: float
    """Expected switches, known exactly; the first play is one."""
    effective_blocks: float
    """(Σ W_b)² / Σ W_b², with W_b the weight of block b: effective sample size in blocks."""
    blocks: int
    rounds: int
    confidence: float

    def cost(self, switching_cost: float, estimator: str = "doubly_robust") -> Estimate:
        """Return losses plus λ for each switch."""
        known = ("inverse_propensity", "self_normalised", "doubly_robust")
        found: Estimate = getattr(self, one_of("estimator", estimator, known))
        added = real_number("switching_cost", switching_cost, least=0) * self.switches
        return Estimate(found.losses + added, found.low + added, found.high + added, found.standard_error)


class LoggedData:
    """A log of play, one row for each round, from which other policies are evaluated.

    Parameters
    ----------
    arms
        The arm played in each round: numbers from 0, or names.
    losses
        Its loss, in any units.
    probabilities
        The probability with which it was drawn: `player.probability`.
    blocks
        Which rounds were drawn together: an id for each round, or ``"rounds"`` if each round was drawn separately. Left
        out, rounds that follow each other with the same arm and the same probability are taken as one block, which is
        right for logs of Holdfast and at worst makes intervals too wide.
    arm_names, n_arms
        All arms, when some were never played: their names, or their number.
    confidence
        Confidence of the intervals.
    replaced
        Whether arms may change inside a block, since the one that was drawn was not available for some of its rounds;
        then the probability is that of the arm played (docs/availability.md).
    fewest_blocks
        Effective blocks below which an estimate is refused. (A higher limit is not safer: it lets pass those logs in
        which a seldom drawn arm happened not to come late, when it weighs most.)

    Notes
    -----
    A policy is refused when its estimate would rest on fewer than 10 effective blocks, or when the weights miss their
    known mean, the number of rounds, by more than 5 standard errors: then the probabilities are not those the arms were
    drawn with, or an arm of the policy could not be drawn at all.

    Examples
    --------
    >>> arms = np.arange(1000) % 2  # as if drawn by a fair coin
    >>> log = LoggedData(arms, 0.2 + 0.5 * arms, np.full(1000, 0.5), blocks="rounds")
    >>> found = log.of_arm(0)
    >>> round(found.doubly_robust.losses, 1), found.effective_blocks, round(found.cost(10.0).losses, 1)
    (200.0, 500.0, 210.0)
    """

    def __init__(
        self,
        arms: ArrayLike,
        losses: ArrayLike,
        probabilities: ArrayLike,
        *,
        blocks: ArrayLike | None = None,
        arm_names: Sequence[str] | None = None,
        n_arms: int | None = None,
        confidence: float = 0.95,
        fewest_blocks: float = 10.0,
        replaced: bool = False,
    ) -> None:
        self.losses = _column("losses", losses)
        self.arms, self.arm_names = _numbered(arms, arm_names, n_arms, len(self.losses))
        self.probabilities = _checked_probabilities(probabilities, len(self.losses))
        self.starts = _starts(blocks, self.arms, self.probabilities, replaced)
        """The first round of each block, from 0."""
        self.confidence = real_number("confidence", confidence, above=0.0)
        if self.confidence >= 1.0:
            raise InvalidParameter("confidence", "must be between 0 and 1", confidence)
        self.fewest_blocks = real_number("fewest_blocks", fewest_blocks, least=0)

    def __repr__(self) -> str:
        return f"<LoggedData: {self.rounds} rounds in {len(self.starts)} blocks, {self.n_arms} arms>"

    @property
    def rounds(self) -> int:
        """T, the rows of the log."""
        return len(self.losses)

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return len(self.arm_names)

    @property
    def switches(self) -> int:
        """Changes of arm in the log; the first play is one."""
        return 1 + int(np.count_nonzero(self.arms[1:] != self.arms[:-1]))

    def of_arm(self, arm: int | str) -> Evaluation:
        """Evaluate staying with one arm, given by number or name."""
        if isinstance(arm, str):
            arm = self.arm_names.index(one_of("arm", arm, self.arm_names))
        shares = np.zeros(self.n_arms)
        shares[whole_number("arm", arm, least=0, most=self.n_arms - 1)] = 1.0
        return self._constant(shares, switches=1.0)

    def of_mixture(self, probabilities: ArrayLike) -> Evaluation:
        """Evaluate drawing an arm in every round with these probabilities."""
        shares = self._shares(probabilities)
        stays = math.fsum(shares**2)
        return self._constant(shares, switches=1.0 + (self.rounds - 1) * (1.0 - stays))

    def of_random_hold(self, probabilities: ArrayLike | None = None) -> Evaluation:
        """Evaluate drawing one arm before the first round, uniformly or with these probabilities, and holding it.

        The interval is that of the mean over the draw; it does not include the variation between arms.
        """
        uniform = np.full(self.n_arms, 1.0 / self.n_arms)
        return self._constant(uniform if probabilities is None else self._shares(probabilities), switches=1.0)

    def of_plan(self, arms: ArrayLike) -> Evaluation:
        """Evaluate holding these arms, one per round, whatever happens: `best_plan(...).arms`, a timetable, a pin."""
        plan = np.asarray(arms)
        rule = f"must be an arm number from 0 to {self.n_arms - 1} for each of {self.rounds} rounds"
        if plan.shape != self.arms.shape or plan.dtype.kind not in "iu" or plan.min() < 0 or plan.max() >= self.n_arms:
            raise InvalidParameter("arms", rule, arms)
        switches = 1.0 + np.count_nonzero(plan[1:] != plan[:-1])
        rounds_of = (np.add.reduceat(plan == arm, self.starts, dtype=np.float64) for arm in range(self.n_arms))
        return self._evaluate((plan == self.arms).astype(np.float64), rounds_of, switches)

    def _constant(self, shares: Array, switches: float) -> Evaluation:
        """Evaluate a policy with the same probabilities in every round."""
        lengths = self._lengths().astype(np.float64)
        return self._evaluate(shares[self.arms], (share * lengths for share in shares), switches)

    def _shares(self, probabilities: ArrayLike) -> Array:
        rule = f"must be {self.n_arms} numbers, none negative, that add up to 1"
        shares = array_of("probabilities", probabilities, rule)
        if shares.shape != (self.n_arms,) or not (shares >= 0).all() or not math.isclose(math.fsum(shares), 1.0):
            raise InvalidParameter("probabilities", rule, probabilities)
        return shares

    def _lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts, append=self.rounds)

    def _evaluate(self, chances: Array, rounds_of: Iterator[Array], switches: float) -> Evaluation:
        """Evaluate from `chances` π_t(I_t); `rounds_of` yields, arm by arm, Σ π_t(i) over the rounds of each block."""
        T = self.rounds
        weights = chances / self.probabilities  # w_t
        W = np.add.reduceat(weights, self.starts)
        X = np.add.reduceat(weights * self.losses, self.starts)
        effective = self._effective_blocks(W)
        predicted, of_played = self._predictions(rounds_of)
        corrections = X - np.add.reduceat(weights * of_played, self.starts)
        total = math.fsum(W)
        mean = math.fsum(X) / (total or math.nan)

        def estimate(value: float, errors: Array) -> Estimate:
            if not math.isfinite(value):  # nothing of this policy was played
                return Estimate(math.nan, math.nan, math.nan, math.nan)
            largest = float(np.abs(errors).max()) or 1.0
            squares = (errors / largest) ** 2
            spread = largest * math.sqrt(math.fsum(squares))
            degrees = max(1, round(math.fsum(squares) ** 2 / (math.fsum(squares**2) or 1.0)))
            half = student_quantile(0.5 + self.confidence / 2, degrees) * spread
            return Estimate(value, value - half, value + half, spread)

        return Evaluation(
            inverse_propensity=estimate(math.fsum(X), X - predicted),
            self_normalised=estimate(T * mean, T / (total or math.nan) * (X - W * mean)),
            doubly_robust=estimate(math.fsum(predicted) + math.fsum(corrections), corrections),
            switches=float(switches),
            effective_blocks=effective,
            blocks=len(self.starts),
            rounds=T,
            confidence=self.confidence,
        )

    def _effective_blocks(self, W: Array) -> float:
        """Return (Σ W_b)² / Σ W_b²; raise if that is too few blocks, or if the weights are implausible."""
        total, squares = math.fsum(W), math.fsum(W**2)
        effective = total**2 / squares if squares else 0.0
        smallest = float(self.probabilities.min())
        if effective < self.fewest_blocks:
            raise InvalidParameter(
                "probabilities",
                f"are too small for this policy: its arms were drawn so seldom that the log is worth {effective:.1f} "
                f"blocks to it, and an estimate needs {self.fewest_blocks:g}; log more rounds from now on, or play "
                "with a policy that draws these arms more often",
                f"a smallest probability of {smallest:g}",
            )
        spread = math.sqrt(math.fsum((W - self._lengths()) ** 2))
        if abs(total - self.rounds) > MOST_DEVIATIONS * spread + 1e-9 * self.rounds:
            played = np.flatnonzero(np.repeat(W, self._lengths()))
            first, stop = int(played[0]), int(played[-1]) + 1
            if stop - first < self.rounds and abs(total - (stop - first)) <= MOST_DEVIATIONS * spread:
                rule = (
                    f"of this policy were played in rounds {first + 1} to {stop} of {self.rounds} only: they may have "
                    "been added or retired; evaluate the log of those rounds alone"
                )
                raise InvalidParameter("arms", rule, f"a sum of weights of {total:.6g}")
            raise InvalidParameter(
                "probabilities",
                "must be those the arms were drawn with, and above 0 for every arm of this policy; the weights must "
                f"add up to about {self.rounds}, the rounds, ± {spread:.4g} ({WHAT_TO_LOG})",
                f"a sum of {total:.6g}",
            )
        return effective

    def _predictions(self, rounds_of: Iterator[Array]) -> tuple[Array, Array]:
        """Predict from earlier blocks the policy's loss in each block, and m of the arm played in each round."""
        lengths = self._lengths().astype(np.float64)
        totals = np.add.reduceat(self.losses, self.starts)
        block_of = np.repeat(np.arange(len(lengths)), self._lengths())
        of_all = _before(totals) / np.maximum(_before(lengths), 1.0)
        predicted, of_played = np.zeros(len(lengths)), np.zeros(self.rounds)
        for arm, rounds in enumerate(rounds_of):
            held = self.arms == arm
            lost, count = (np.add.reduceat(values, self.starts) for values in (self.losses * held, 1.0 * held))
            m = (_before(lost) + of_all) / (_before(count) + 1.0)
            predicted += rounds * m
            of_played[held] = m[block_of[held]]
        return predicted, of_played


def _before(values: Array) -> Array:
    """Return, for each position, the sum of the values before it."""
    return np.concatenate([[0.0], np.cumsum(values)[:-1]])


def _column(parameter: str, values: ArrayLike, length: int | None = None) -> Array:
    """Return `values` as finite floats, one for each round."""
    rule = "must be a finite number for each round" + ("" if length is None else f", {length} of them")
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidParameter(parameter, f"{rule}, none masked", "a masked array")
    array = np.asarray(values)
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "fiub" or length not in (None, len(array)):
        raise InvalidParameter(parameter, rule, f"shape {array.shape} of {array.dtype}")
    column = array.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(column))
    if len(wrong):
        raise InvalidParameter(f"{parameter} at row {wrong[0]}", "must be a finite number", float(column[wrong[0]]))
    return column


def _checked_probabilities(values: ArrayLike, length: int) -> Array:
    """Return probabilities above 0 and at most 1; raise with advice on logging if they are missing."""
    missing = f"must be given for every round: {WHAT_TO_LOG}"
    if values is None:
        raise InvalidParameter("probabilities", missing, values)
    array = np.asarray(values)
    if array.dtype.kind == "O" and any(value is None for value in array.ravel()):
        row = next(row for row, value in enumerate(array.ravel()) if value is None)
        raise InvalidParameter(f"probabilities at row {row}", missing, None)
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise InvalidParameter(f"probabilities at row {int(np.argmax(np.isnan(array)))}", missing, math.nan)
    column = _column("probabilities", values, length)
    wrong = np.flatnonzero(~((column > 0.0) & (column <= 1.0)))
    if len(wrong):
        rule = f"must be above 0 and at most 1, the probability of the arm that was played: {WHAT_TO_LOG}"
        raise InvalidParameter(f"probabilities at row {wrong[0]}", rule, float(column[wrong[0]]))
    return column


def _numbered(
    arms: ArrayLike, names: Sequence[str] | None, n_arms: int | None, length: int
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return arms as numbers, and all names."""
    names = None if names is None else different_names("arm_names", names)
    played = np.asarray(arms)
    if played.shape != (length,) or played.dtype.kind not in "iuUOT":
        rule = f"must be an arm for each of {length} rounds: its number from 0, or its name"
        raise InvalidParameter("arms", rule, f"shape {played.shape} of {played.dtype}")
    if played.dtype.kind in "iu":
        most = int(played.max()) + 1 if names is None and n_arms is None else len(names or ()) or n_arms
        count = whole_number("n_arms", most, least=1)
        if played.min() < 0 or played.max() >= count:
            row = int(np.argmax((played < 0) | (played >= count)))
            raise InvalidParameter(f"arms at row {row}", f"must be a number from 0 to {count - 1}", int(played[row]))
        return played.astype(np.int64), tuple(names or map(str, range(count)))
    for row, name in enumerate(played):
        if not isinstance(name, str) or not name:
            raise InvalidParameter(f"arms at row {row}", "must be the name of an arm", name)
    known = tuple(sorted(set(played.tolist()))) if names is None else tuple(names)
    place = {name: number for number, name in enumerate(known)}
    for row, name in enumerate(played):
        if name not in place:
            raise InvalidParameter(f"arms at row {row}", f"must be one of arm_names{nearest(name, known)}", name)
    return np.array([place[name] for name in played], dtype=np.int64), known


def _starts(blocks: ArrayLike | None, arms: NDArray[np.int64], chances: Array, replaced: bool) -> NDArray[np.int64]:
    """Return the first round of each block."""
    same = (arms[1:] == arms[:-1]) & (chances[1:] == chances[:-1])
    if blocks is None:
        return np.concatenate([[0], np.flatnonzero(~same) + 1])
    if isinstance(blocks, str):
        if blocks != "rounds":
            raise InvalidParameter("blocks", 'must be an id for each round, or "rounds"', blocks)
        return np.arange(len(arms))
    ids: NDArray[Any] = np.asarray(blocks)
    if ids.shape != arms.shape or ids.dtype.kind not in "iuUOT":
        rule = f'must be an id for each of {len(arms)} rounds, or "rounds"'
        raise InvalidParameter("blocks", rule, f"shape {ids.shape} of {ids.dtype}")
    follows = ids[1:] == ids[:-1]
    wrong = np.flatnonzero(follows & ~same)
    if len(wrong) and not replaced:
        rule = "must change where the arm or its probability changes: a block is one draw"
        raise InvalidParameter(f"blocks at row {wrong[0] + 1}", rule, ids[wrong[0] + 1])
    starts = np.concatenate([[0], np.flatnonzero(~follows) + 1])
    if len(set(ids[starts].tolist())) < len(starts):
        raise InvalidParameter("blocks", "must not come back once they have ended", blocks)
    return starts


ESTIMATORS = {
    "doubly_robust": "doubly robust",
    "self_normalised": "self-normalised",
    "inverse_propensity": "inverse propensity",
}
RANDOM = "a random arm"
EACH_ROUND = "a draw each round"
NO_SWITCHES = "A log of conversations: there is no switch between two of them, so λ = 0."


def read_log(
    source: Any, columns: Mapping[str, str | None], missing: float | None = None, form: CsvFormat = PLAIN
) -> tuple[LoggedData, bool]:
    """Read the log in a file or data frame; return it and whether it is of conversations only.

    Parameters
    ----------
    source
        The file or data frame.
    columns
        Names those of ``arm``, ``loss``, ``probability`` and, if there is one, ``block`` (or ``"rounds"``: every round
        was drawn separately) and ``time``, which must not run backwards.
    missing
        Value of a loss that did not arrive in time, instead of the one that counted in the game.
    form
        Format of a CSV file.

    Notes
    -----
    If a log records the fate of each loss (`status`), rounds that an operator chose are left out, and so are all
    from the first block on whose losses may still come: the late ones may be the expensive ones.
    """
    read = read_log_columns(source, columns, form)
    has_status = read["status"] is not None
    if has_status:
        read |= _known_rounds(read, missing)
    elif missing is not None:
        raise InvalidParameter("missing", "is for logs with a column 'status', which this one has not", missing)
    with parameter_named(lambda parameter: f"log: {parameter}"):
        log = LoggedData(read["arm"], read["loss"], read["probability"], blocks=read["block"], replaced=has_status)
    return log, read["conversations"]


def _known_rounds(read: dict[str, Any], missing: float | None) -> dict[str, Any]:
    """Return the columns of rounds with a final loss and a drawn arm, with the loss that counted."""
    status, losses = read["status"], np.array(read["loss"], dtype=np.float64)
    absent = status == "missing"
    if missing is not None:
        losses[absent] = real_number("missing", missing)
    unknown = np.flatnonzero(absent & np.isnan(losses))
    if len(unknown):
        rule = f"must say what {len(unknown)} missing losses count as: nothing did, since missing was 'drop'"
        raise InvalidParameter("log", Words(f"{rule}; ", Set("missing", Form("LOSS", "LOSS"))), f"row {unknown[0] + 1}")
    final = len(losses)
    if (status == "open").any():
        first = int((status == "open").argmax())
        block = read["block"]
        final = first if block is None or isinstance(block, str) else int((block == block[first]).argmax())
        if final < len(losses) / 2:
            rule = "must have losses that are final: those of most rounds come after one that is still open"
            rule += "; settle what will not come with a patience: router.change(patience='auto')"
            raise InvalidParameter("log", rule, f"row {first + 1} of {len(losses)}")
    kept = np.flatnonzero(~np.isin(status[:final], ("forced", "rule", "moved")))
    return {name: column[kept] for name, column in {**read, "loss": losses}.items() if isinstance(column, np.ndarray)}


@dataclass(frozen=True, repr=False)
class LogEvaluation:
    """Estimated cost of holding each arm, as far as the log can tell. It prints as a table."""

    log: LoggedData
    source: str
    switching_costs: tuple[float, ...]
    found: Mapping[str, Evaluation | str]
    """Evaluation by policy, or the reason why there is none."""
    notes: tuple[str, ...] = ()
    """Assumptions made."""

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each policy, estimator and λ; only the reason where estimation was refused."""
        rows: list[dict[str, Any]] = []
        for name, found in self.found.items():
            if isinstance(found, str):
                rows.append({"policy": name, "refused": found})
                continue
            for estimator in ESTIMATORS:
                for lam in self.switching_costs:
                    cost = found.cost(lam, estimator)
                    row = {"policy": name, "estimator": estimator, "switching_cost": lam, "cost": cost.losses}
                    row |= {"cost_low": cost.low, "cost_high": cost.high, "standard_error": cost.standard_error}
                    row |= {"switches": found.switches, "effective_blocks": found.effective_blocks, "refused": None}
                    rows.append(row)
        return rows

    def logged_cost(self, switching_cost: float) -> float:
        """Return the cost really paid while the log was written."""
        return float(self.log.losses.sum()) + switching_cost * self.log.switches

    def plain(self) -> dict[str, Any]:
        """Return the evaluation as plain values."""
        return {
            "holdfast": holdfast.__version__,
            "log": self.source,
            "rounds": self.log.rounds,
            "blocks": len(self.log.starts),
            "arms": list(self.log.arm_names),
            "confidence": self.log.confidence,
            "logged_losses": float(self.log.losses.sum()),
            "logged_switches": self.log.switches,
            "notes": list(self.notes),
            "rows": self.rows(),
        }

    def write(self, out: str | Path) -> Path:
        """Write ``log.json``, ``log.parquet`` and ``report.html`` to a folder."""
        with claimed(out, "replaying") as folder:
            files = {
                "log.json": document(self.plain()),
                "log.parquet": parquet_bytes(pl.DataFrame(self.rows(), infer_schema_length=None)),
                "report.html": self._page().encode(),
            }
            Outputs(folder, "a replay").write(files)
        return Path(out)

    def _table(self, lam: float) -> list[list[str]]:
        rows = [[f"λ = {lam:g}", *ESTIMATORS.values(), "sample"]]
        for name, found in self.found.items():
            if isinstance(found, str):
                rows.append([name, "refused", "", "", ""])
                continue
            costs = [found.cost(lam, estimator) for estimator in ESTIMATORS]
            cells = [f"{five_digits(cost.losses)} ± {five_digits((cost.high - cost.low) / 2)}" for cost in costs]
            rows.append([name, *cells, number(found.effective_blocks)])
        return [*rows, ["what was played", five_digits(self.logged_cost(lam)), "", "", ""]]

    def _head(self) -> str:
        return (
            f"{self.source}: {number(self.log.rounds)} rounds in {number(len(self.log.starts))} blocks, "
            f"{self.log.n_arms} arms. Cost of holding an arm, ± half of the {level(self.log.confidence)} interval; "
            "sample: effective sample size (blocks)."
        )

    def _refusals(self) -> list[str]:
        return [f"{name}: {found}" for name, found in self.found.items() if isinstance(found, str)]

    def __repr__(self) -> str:
        parts = [textwrap.fill(printable(self._head()), WIDTH)]
        parts += [table_of(self._table(lam)) for lam in self.switching_costs]
        lines = [*(f"* {note}" for note in self.notes), *self._refusals()]
        return "\n\n".join([*parts, *(filled([line]) for line in lines)])

    def _page(self) -> str:
        sections = []
        for lam in self.switching_costs:
            head, *rows = self._table(lam)
            columns = [Column("policy"), *(Column(name, numeric=True) for name in head[1:])]
            sections.append(Section(f"λ = {lam:g}", [table(columns, rows)], name=f"lambda-{exact(lam)}"))
        if self._refusals():
            sections.append(Section("Refused", [paragraph(line) for line in self._refusals()], name="refused"))
        opening = [paragraph(note, class_="caption") for note in self.notes]
        return page(title="What would each arm have cost?", lead=self._head(), opening=opening, sections=sections)


def evaluate_log(
    source: Any,
    columns: Mapping[str, str | None],
    switching_costs: Sequence[float],
    missing: float | None = None,
    form: CsvFormat = PLAIN,
) -> LogEvaluation:
    """Evaluate holding each arm, holding a random one, and drawing uniformly; refuse if the log cannot tell.

    A log of conversations has no λ but 0. The other parameters are those of `read_log`.
    """
    costs = tuple(real_number("switching_cost", cost, least=0) for cost in switching_costs)
    log, conversations = read_log(source, columns, missing, form)
    notes: tuple[str, ...] = ()
    if conversations and any(costs):
        costs, notes = (0.0,), (NO_SWITCHES,)
    asked: dict[str, Any] = {f"only {arm}": lambda arm=arm: log.of_arm(arm) for arm in log.arm_names}
    asked |= {RANDOM: log.of_random_hold, EACH_ROUND: lambda: log.of_mixture([1.0 / log.n_arms] * log.n_arms)}
    found: dict[str, Evaluation | str] = {}
    for name, evaluate in asked.items():
        try:
            found[name] = evaluate()
        except InvalidParameter as error:
            found[name] = str(error)
    if all(isinstance(one, str) for one in found.values()):
        raise HoldfastError(f"nothing can be estimated from this log: {next(iter(found.values()))}")
    return LogEvaluation(log, str(source) if isinstance(source, (str, Path)) else "log", costs, found, notes)
