"""Breakers: an arm that fails too often is handed out to nobody, but for one request that tries it after a while.

What is known of each arm (`Fuse`) is text in the head, which every call reads: so all processes see it at once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holdfast.decisions.game import player_of
from holdfast.decisions.models import Block, ChangeMade, Loss
from holdfast.decisions.settings import Breaker

if TYPE_CHECKING:
    from holdfast.decisions.rules.report import View


from typing import NamedTuple

from holdfast.decisions.models import undamaged


class Fuse(NamedTuple):
    """A breaker's record of one arm."""

    recent: str = ""
    """Its latest losses, oldest first: 1 for a failure, 0 for another. It begins with a failure."""
    since: int = 0
    """Rounds that had been asked when it came back; of earlier ones nothing is counted."""
    pause: float = 0.0
    """Length of its pause in seconds; 0 while it is in use."""
    until: float = 0.0
    """End of the pause; while the arm is tried, until when the loss must have come."""
    tried: tuple[int, int] | None = None
    """Block and round of the request that tries it."""
    stays: bool = False
    """True if it fails and stays in use, because no other is left."""

    @property
    def tripped(self) -> bool:
        """True if it is not handed out, but for one request that tries it."""
        return self.pause > 0.0

    def may_be_tried(self, clock: float) -> bool:
        """Return True if its pause is over and no request tries it."""
        return self.tripped and self.tried is None and clock >= self.until

    def heard(self, failed: bool, breaker: Breaker) -> Fuse:
        """Return it after a loss of an arm that is in use."""
        recent = f"{self.recent}{failed:d}"[-breaker.within :].lstrip("0")
        return self._replace(recent=recent, stays=self.stays and recent.count("1") >= breaker.failures)

    def paused(self, at: float, breaker: Breaker) -> Fuse:
        """Return it with a pause from then on: the first one, or one twice as long as the last."""
        pause = breaker.seconds(2.0 * self.pause)
        return Fuse(pause=pause, until=at + pause)


Fuses = dict[int, Fuse]
"""By arm; without those of which nothing is known."""


def fuses_of(text: str) -> Fuses:
    """Read the output of `text_of`."""
    with undamaged("what breakers know"):
        found = {int(arm): Fuse(*parts) for arm, parts in json.loads(text or "{}").items()}
        return {arm: fuse._replace(tried=fuse.tried and (fuse.tried[0], fuse.tried[1])) for arm, fuse in found.items()}


def text_of(fuses: Fuses) -> str:
    """Return the records of the arms as JSON; empty if there are none."""
    known = {arm: fuse for arm, fuse in sorted(fuses.items()) if fuse != Fuse()}
    return json.dumps(known) if known else ""


TRIED = "it was tried, and "


def tripped(view: View, clock: float, down: frozenset[int]) -> frozenset[int]:
    """Return the other arms that are not handed out, because of a breaker; none where that would leave no arm."""
    found = {arm for arm, fuse in _fuses(view, clock).items() if fuse.tripped} - down
    return frozenset(found) if len(found) + len(down) < len(view.setup.active) else frozenset()


def may_be_tried(view: View, arm: int, clock: float) -> bool:
    """Return True if the next request may try an arm."""
    return bool(view.head.breakers) and _fuses(view, clock).get(arm, Fuse()).may_be_tried(clock)


def handed_out(view: View, arm: int, block: int, round: int, clock: float) -> None:
    """Remember a round as the one that tries its arm, if there is to be one."""
    if may_be_tried(view, arm, clock):
        fuses = _fuses(view, clock)
        fuses[arm] = fuse = fuses[arm]._replace(tried=(block, round), until=clock + fuses[arm].pause)
        _keep(view, fuses)
        _note(view, clock, "try", arm, fuse.until, "its pause is over: one request tries it")


def heard(view: View, block: Block, loss: Loss) -> None:
    """Count a loss for the arm that played: as a failure or not, unless it was handed out before the arm came back."""
    setup, clock, fuses = view.setup, loss.at, _fuses(view, loss.at)
    arm, failed = player_of(block, loss.round)[0], _failed(_breaker(view), loss)
    if arm not in setup.active or block.number <= setup.since[arm]:
        return
    fuse = fuses.get(arm, Fuse())
    if fuse.tried == (block.number, loss.round):
        if failed:
            _trip(view, fuses, arm, clock, f"{TRIED}failed")
        else:
            fuses[arm] = Fuse(since=view.head.asked)
            _note(view, clock, "reset", arm, None, f"{TRIED}did not fail")
    elif not fuse.tripped and block.first + loss.round >= fuse.since:
        fuses[arm] = fuse = fuse.heard(failed, _breaker(view))
        if failed and fuse.recent.count("1") >= _breaker(view).failures:
            _fails(view, fuses, arm, clock)
    _keep(view, fuses)


def forget(view: View, arms: set[int]) -> bool:
    """Begin anew with arms that an operator resumes or retires. Return True if one of them was paused."""
    fuses, since = fuses_of(view.head.breakers), view.head.asked
    gone = {arm: fuses.pop(arm) for arm in arms & fuses.keys()}
    _keep(view, fuses | {arm: Fuse(since=since) for arm in gone.keys() & {*view.setup.active}})
    return any(fuse.tripped for fuse in gone.values())


def take_back(view: View, clock: float) -> None:
    """Bring pauses forward that began by a clock which ran ahead."""
    fuses = fuses_of(view.head.breakers)
    _keep(view, {a: f._replace(until=min(f.until, clock + f.pause)) for a, f in fuses.items()})


def _fails(view: View, fuses: Fuses, arm: int, clock: float) -> None:
    """Pause an arm that fails too often, if another is left."""
    setup, fuse = view.setup, fuses[arm]
    why = f"{fuse.recent.count('1')} of its last {len(fuse.recent)} losses were failures"
    down = {one for one, until in setup.paused if until > clock} | {one for one, f in fuses.items() if f.tripped}
    if {*setup.active} - down - {arm}:
        _trip(view, fuses, arm, clock, why)
    elif not fuse.stays:
        fuses[arm] = fuse._replace(stays=True)
        _note(view, clock, "stay", arm, None, f"{why}, and no other arm is left")


def _trip(view: View, fuses: Fuses, arm: int, at: float, why: str) -> None:
    fuses[arm] = fuses[arm].paused(at, _breaker(view))
    _note(view, max(at, view.clock), "trip", arm, fuses[arm].until, why)


def _failed(breaker: Breaker, loss: Loss) -> bool:
    told = json.loads(loss.measures) if loss.measures else {}
    return "failed" in told or "error" in told or (breaker.level is not None and loss.loss >= breaker.level)


def _breaker(view: View) -> Breaker:
    found = view.setup.settings.breaker
    return Breaker() if found is None else found


def _fuses(view: View, clock: float) -> Fuses:
    """Return the record of each arm. Pause again an arm that was tried and whose loss has not arrived in time."""
    fuses = fuses_of(view.head.breakers)
    for arm, fuse in fuses.items():
        if fuse.tried is not None and clock >= fuse.until:
            _trip(view, fuses, arm, fuse.until, f"{TRIED}no loss came in time")
            _keep(view, fuses)
    return fuses


def _keep(view: View, fuses: Fuses) -> None:
    text = text_of(fuses)
    if text != view.head.breakers:
        view.head = view.head._replace(breakers=text)


def _note(view: View, clock: float, kind: str, arm: int, until: float | None, why: str) -> None:
    detail = json.dumps({"arm": view.setup.names[arm], "until": until})
    view.events.changes.append(ChangeMade(clock, kind, detail, why))
