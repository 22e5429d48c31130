"""OpenFeature: the official OFREP provider, whose `track` tells the loss of what was decided.

    api.set_provider(HoldfastProvider("http://127.0.0.1:8080", token="hf_…"))

A game of `holdfast serve` is a flag. Whatever goes wrong here, an evaluation has its default, and `track` returns.
"""

from __future__ import annotations

import json
import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import quote

from holdfast.errors import MissingExtra
from holdfast.logs import Sparse

try:
    from openfeature.contrib.provider.ofrep import OFREPProvider
    from openfeature.hook import Hook
except ModuleNotFoundError as error:
    raise MissingExtra(f"this adapter needs {error.name}: pip install 'holdfast[openfeature]'") from None

LOG = logging.getLogger(__name__)
LOG.addFilter(Sparse())  # odd requests, or a store that is away, may be many a second

MOST = 10_000
"""Flags and targeting keys whose last decision is remembered, and losses that may wait to be told."""
REST = 5.0
"""Seconds for which nothing is told to a server that has not answered, so that losses do not pile up."""


class HoldfastProvider(OFREPProvider):
    """A provider for OpenFeature's Python SDK. ``client.track(game, context, details)`` reports a loss.

    It is the loss of the last decision of this game for the context's targeting key. ``details.value`` is the loss;
    without it the attributes are what was measured, by the game's scale, or ``error``.

    Parameters
    ----------
    base_url
        Address of a `holdfast serve`.
    token
        What `holdfast token make --role decide` printed.
    timeout
        Seconds for a request.
    """

    def __init__(self, base_url: str, *, token: str | None = None, timeout: float = 5.0) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token.strip()}"}
        super().__init__(base_url, headers_factory=lambda: headers, timeout=timeout)
        self._decided: OrderedDict[tuple[str, str | None], str] = OrderedDict()
        self._telling = ThreadPoolExecutor(1, "holdfast-track")
        self._room, self._rests = BoundedSemaphore(MOST), 0.0

    def get_provider_hooks(self) -> list[Any]:
        """Return the hook that remembers decisions."""
        return [_Remember(self._decided)]

    def track(
        self, tracking_event_name: str, evaluation_context: Any = None, tracking_event_details: Any = None
    ) -> None:
        """Report a loss, in a thread."""
        try:
            key = getattr(evaluation_context, "targeting_key", None)
            id = self._decided.get((tracking_event_name, key))
            if id is None:
                LOG.warning("nothing was decided by %r for %r: its loss is not told", tracking_event_name, key)
                return
            value = getattr(tracking_event_details, "value", None)
            attributes = dict(getattr(tracking_event_details, "attributes", None) or {})
            outcome = attributes if value is None else {"loss": value}
            if not self._room.acquire(blocking=False):
                LOG.warning("the loss of %r was not told: %d wait already", tracking_event_name, MOST)
                return
            telling = self._telling.submit(self._tell, tracking_event_name, id, outcome)
            telling.add_done_callback(lambda done: self._room.release())
        except Exception as error:
            LOG.warning("a loss was not told: %s", error)

    def _tell(self, game: str, id: str, outcome: Mapping[str, Any]) -> None:
        if time.monotonic() < self._rests:
            return
        place = f"{self.base_url.rstrip('/')}/v1/games/{quote(game, safe='')}/decisions/{quote(id, safe='')}/loss"
        try:
            body = json.dumps(outcome)
            headers = {**(self.headers_factory() if self.headers_factory else {}), "Content-Type": "application/json"}
            said = self.session.put(place, data=body, headers=headers, timeout=self.timeout)
            if said.status_code >= 400:
                LOG.warning("the loss of %r was refused: %s", game, said.text[:500])
        except OSError as error:  # as what `requests` raises is
            self._rests = time.monotonic() + REST
            LOG.warning("the loss of %r was not told, nor are those of the next %g s: %s", game, REST, error)
        except Exception as error:
            LOG.warning("the loss of %r was not told: %s", game, error)

    def shutdown(self) -> None:
        """Report the losses that are still queued."""
        self._telling.shutdown(wait=True)
        super().shutdown()


class _Remember(Hook):
    """Remembers the last decision of each flag and targeting key."""

    def __init__(self, decided: OrderedDict[tuple[str, str | None], str]) -> None:
        self._decided = decided

    def after(self, hook_context: Any, details: Any, hints: Any) -> None:
        """Remember the decision that an evaluation has made."""
        id = (details.flag_metadata or {}).get("decision")
        if isinstance(id, str):
            place = hook_context.flag_key, hook_context.evaluation_context.targeting_key
            self._decided.pop(place, None)
            self._decided[place] = id  # the last: other threads drop the first
            while len(self._decided) > MOST:
                self._decided.popitem(last=False)
