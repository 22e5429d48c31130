"""Bodies of requests and answers as msgspec reads and writes them, the source of the OpenAPI document.

Values that the library checks itself are accepted unchecked (`Number`, `Whole`, `Text`), so that a wrong one is
refused in the library's words.
"""

from __future__ import annotations

from dataclasses import MISSING
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_type_hints

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct, field

from holdfast.decisions.holdout import Judgement, Saving
from holdfast.decisions.options import HELP, options_of
from holdfast.decisions.requests import Ask, Observe
from holdfast.decisions.settings import SETTINGS, Settings

Number = Annotated[Any, Meta(extra_json_schema={"type": "number"})]
Whole = Annotated[Any, Meta(extra_json_schema={"type": "integer"})]
Text = Annotated[Any, Meta(extra_json_schema={"type": "string"})]
Array = Annotated[Any, Meta(extra_json_schema={"type": "array"})]
Arm = int | str
Arms = Annotated[Any, Meta(extra_json_schema={"type": "array", "items": {"type": "string"}})]
OneArm = Annotated[Any, Meta(extra_json_schema={"type": ["string", "integer"]})]

MOST_LOSSES = 10_000
"""Most losses in one batch."""


TYPES = {"arm": ["string", "integer"], "text": ["string", "number"], "any": None}
"""JSON names of kinds of fields, where they differ."""


def body_with(kind: type[Any], title: str, *, optional: bool = False) -> Any:
    """Return a body with the options of a request or a game: each with its help, unchecked."""
    made = []
    for name, (one, written) in options_of(kind).items():
        found = TYPES.get(written, written)
        schema = None if found is None else {"type": found}
        hint: Any = Annotated[Any, Meta(description=one.metadata[HELP], extra_json_schema=schema)]
        default = None if optional else one.default
        made.append((name, hint) if default is MISSING else (name, hint, default))
    doc = {"__doc__": (kind.__doc__ or "").split("\n")[0]}
    return defstruct(title, made, forbid_unknown_fields=True, namespace=doc, module=__name__)


AskBody, ObserveBody = body_with(Ask, "Ask"), body_with(Observe, "Observe")

WRITTEN: dict[Any, Any] = {timedelta: str, **{kind: kind for kind in (int, float, str, type(None))}}
"""Types of settings as an answer has them (`Settings.plain`); others are objects."""


def _answered(annotation: Any) -> Any:
    return Union[tuple(WRITTEN.get(one, dict[str, Any]) for one in get_args(annotation) or (annotation,))]  # noqa: UP007


if TYPE_CHECKING:

    class GameSettings(Struct):
        """Settings of a game as a request gives them: made below of the fields of `Settings`."""

    class SettingsView(Struct):
        """Settings of a game as an answer shows them."""

        def __getattr__(self, name: str) -> Any: ...
else:
    hints = get_type_hints(Settings)
    GameSettings = body_with(Settings, "GameSettings", optional=True)
    SettingsView = defstruct("SettingsView", [(name, _answered(hints[name])) for name in SETTINGS], module=__name__)


class NewGame(GameSettings, kw_only=True):
    """A game that is to begin: what it plays and how it waits for losses."""

    policy: Annotated[Text, Meta(description="A policy's id, such as adaptive.")]
    arms: Arms = None
    switching_cost: Number = None
    units: Annotated[Array, Meta(description="The lowest and the highest loss.")] = None
    parameters: Annotated[dict[str, Any], Meta(description="Further parameters of the policy, by name.")] = field(
        default_factory=dict
    )
    seed: Whole = None
    settings: Annotated[Text, Meta(description="Whose count where they differ: store, code (role admin) or same.")] = (
        "store"
    )


class Wanted(NewGame, kw_only=True):
    """A game to open or begin; the policy may be left out."""

    policy: Text = None


class Changes(GameSettings, kw_only=True):
    """Settings that a game is to go on with; or one arm that is paused, resumed or pinned, or the pin is taken back."""

    switching_cost: Number = None
    add_arms: Arms = ()
    retire_arms: Arms = ()
    pause: OneArm = None
    resume: OneArm = None
    pin: OneArm = None
    unpin: Annotated[Any, Meta(extra_json_schema={"type": "boolean"})] = None
    until: Annotated[Text, Meta(description="Of a pause or a pin: 30s, 10m, 2h, 1d, or 2026-03-01T12:00:00Z.")] = None
    reason: Text = None
    wanted: Annotated[
        Wanted | None, Meta(description="What the game must be afterwards; else 409, and nothing is changed.")
    ] = None


class Paused(Struct):
    """An arm that is paused, and until when; null until it is resumed."""

    arm: Arm
    until: float | None


class ShareNow(Struct):
    """The most that an arm may be drawn now."""

    arm: Arm
    share: float


class GameView(SettingsView, kw_only=True):
    """A game: what it plays and where it stands."""

    name: str
    policy: dict[str, Any]
    label: str
    arms: list[Arm]
    names: list[Arm]
    """All arms that ever existed; those not in `arms` are retired."""
    waits_for_losses: bool
    """True if a block begins only when all losses of the last are in."""
    created: float
    revision: int
    rounds: int
    switches: int
    arm: Arm | None
    hold: int
    probabilities: list[float] | None
    """Distribution; None if it depends on what is announced with the next block."""
    paused: list[Paused]
    pinned: Arm | None
    shares: list[ShareNow]
    switches_left: int | None
    """Switches left of `most_switches`; null without such a limit."""
    certificate: float | None
    """Bound on the excess cost over the best expert, under full information."""


class ArmLine(Struct):
    """An arm as it is now."""

    arm: Arm
    rounds: int
    told: int
    missing: int
    mean: float | None
    """Mean of all losses that counted."""
    recent: float | None
    """The same among the game's last 1,000 losses."""
    failures: int
    """Failures reported among these."""
    probability: float | None
    share: float | None
    """The most that it may be drawn now; null without a share."""
    held: bool
    paused: bool
    pinned: bool


class GameLine(Struct):
    """A game in the list."""

    name: str
    label: str = ""
    arm: Arm | None = None
    conversations: int = 0
    """Open conversations, each with an arm of its own."""
    moves: int = 0
    """Moves of conversations to another arm."""
    since: float | None = None
    """Start of the current arm; or earlier, if the last 50 blocks all had it."""
    rounds: int | None = None
    """Rounds. All numbers are null if the game cannot be read; `warnings` say why."""
    switches: int | None = None
    switches_left: int | None = None
    """Switches left of `most_switches`; null without such a limit."""
    out: int | None = None
    missing: int | None = None
    cost: float | None = None
    today: float | None = None
    """Part of `cost` since midnight UTC; null if there are too many blocks."""
    late: int | None = None
    """Losses that came after their block was settled."""
    last_loss: float | None = None
    warnings: list[str] = []
    arms: list[ArmLine] = []
    """Those in play, at most 100."""


class GameList(Struct):
    """Games in the order of their names; `next` is the cursor of the following ones."""

    games: list[GameLine]
    next: str | None


class DecisionView(Struct):
    """One decision."""

    id: str
    arm: Arm
    probability: float
    block: int
    asked: float


class Decided(Struct):
    """Decisions, and how things stand after them."""

    decisions: list[DecisionView]
    hold: int
    """Rounds for which the arm is certain; 0 for a conversation, which keeps it."""
    why: str


class DecisionList(Struct):
    """Decisions in order; `next` is the cursor of the following ones."""

    decisions: list[DecisionView]
    next: str | None


LossIn = dict[str, Any]
"""The loss of a decision, in one of the forms of `LOSS_SCHEMA`."""

LOSS_SCHEMA = {
    "type": "object",
    "description": "A loss; or those of all arms; or a reward; or error: true; or what was measured, by name.",
    "properties": {
        "loss": {"type": "number"},
        "losses": {"type": ["object", "array"]},
        "reward": {"type": "number"},
        "failed": {"type": "boolean", "description": "The highest loss there is."},
        "error": {"type": "boolean"},
        "in_time": {"type": "boolean", "description": "Refuse it where its block was settled without it."},
        "clip": {"type": "boolean", "description": "Bring it into the range of losses."},
    },
    "additionalProperties": {"type": "number"},
}
LossOf = Annotated[
    dict[str, Any],
    Meta(
        extra_json_schema={
            **LOSS_SCHEMA,
            "properties": {"id": {"type": "string"}, **LOSS_SCHEMA["properties"]},
            "required": ["id"],
        }
    ),
]
"""The same, with the id of the decision."""


class Losses(Struct, forbid_unknown_fields=True):
    """The losses of several decisions."""

    losses: Annotated[list[LossOf], Meta(max_length=MOST_LOSSES)]


class ReceiptView(Struct):
    """A loss that is recorded; `new` is false when it changed nothing, `late` true after its block was settled."""

    id: str
    new: bool
    late: bool


class Verdict(Struct, omit_defaults=True):
    """The answer for one loss: 200, `new` and `late`, or another status and the problem."""

    status: int
    new: bool | UnsetType = UNSET
    late: bool | UnsetType = UNSET
    problem: dict[str, Any] | UnsetType = UNSET


class Verdicts(Struct):
    """One verdict for each loss, in order."""

    verdicts: list[Verdict]


class Hold(Struct):
    """The arm held, and for how many rounds it is certain to stay."""

    arm: Arm | None
    hold: int
    block: int
    probability: float | None
    conversations: int
    """Open conversations, each with an arm of its own."""
    why: str


class MoveView(Struct):
    """A conversation leaves its arm."""

    round: int
    """The first at the new arm, from 0."""
    arm: Arm
    reason: str
    """down, failing or gain."""


class BlockView(Struct):
    """One block."""

    number: int
    key: str | None
    """Key of its conversation."""
    arm: Arm
    rounds: int
    probability: float
    """Probability with which the arm was drawn."""
    began: float
    bound: float | None
    told: int
    late: int
    due: float | None
    settled: float | None
    losses: list[float]
    """Numbers that add up exactly to the losses reported in time."""
    stand_in: float | None
    """Substitute for each loss that did not come in time."""
    forced: int
    """1 if an operator chose the arm: it is not learnt from."""
    by: str | None
    """Chooser of the arm: policy, operator or rule; under a guard also look or guard."""
    moves: list[MoveView]


class BlockList(Struct):
    """Blocks in order; `next` is the cursor of the following ones."""

    blocks: list[BlockView]
    next: int | None


class ChangeView(Struct):
    """Settings that were changed."""

    at: float
    kind: str
    detail: Any
    reason: str | None


class ChangeList(Struct):
    """Changes in order; `next` is the cursor of the following ones."""

    changes: list[ChangeView]
    next: int | None


def _finite(kind: type[Any], title: str, **more: type) -> Any:
    """Return the answer that `to_json` of a result makes: its fields, null for a number that is not known yet."""
    written = {float: float | None, date | None: str | None}
    made = [(name, written.get(hint, hint)) for name, hint in get_type_hints(kind).items()]
    doc = {"__doc__": f"{(kind.__doc__ or '').splitlines()[0]} Null where not known yet."}
    return defstruct(title, [*made, *more.items()], namespace=doc, module=__name__)


Comparison = _finite(Saving, "Comparison", words=str)
Judged = _finite(Judgement, "Judged", verdict=str, words=str)


class Ended(Struct):
    """Answer of an `end`: true if there was such a conversation."""

    ended: bool


class Settled(Struct):
    """Blocks that were settled now."""

    settled: int


class CompactBody(Struct, forbid_unknown_fields=True):
    """A compaction: the number of last blocks that stay."""

    keep: Whole


class Removed(Struct):
    """Blocks whose rows were removed."""

    removed: int


class Status(Struct):
    """That it is well."""

    status: str


class Problem(Struct):
    """A problem (RFC 9457), with the library's error."""

    type: str
    title: str
    status: int
    detail: str
    error: str
