"""Tasks that `claim.lua` handed out, as claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.claim import Claim
from dibs.model.ids import dag_of
from dibs.model.instants import from_micros, seconds
from dibs.model.status import Status
from dibs.model.task import Task
from dibs.rules import priority
from dibs.stores.redis import short

if TYPE_CHECKING:
    from datetime import datetime

    from dibs.stores.values import ClaimRequest, LaneKey

_task = msgspec.json.Decoder(Task)


class Handing:
    """One claim of an agent, for which the server answered at `now`."""

    def __init__(self, request: ClaimRequest, now: int, lanes: dict[int, LaneKey], models: dict[int, str]) -> None:
        self._request = request
        self._now = now
        self._lanes = lanes
        self._models = models
        self._at = from_micros(now)
        self._ends_at = from_micros(now + seconds(request.lease_s))
        self._instants: dict[int, datetime] = {}

    def claim(self, values: list[Any]) -> Claim:
        """A task as the script showed it."""
        new, spec, payload, also, fence = values
        added = short.new_of(new)
        number = int(added.lane)
        task = _task.decode(b'{"payload":%b,%b' % (payload, spec[1:]))
        task.dag_id = dag_of(task.id)
        task.status = Status.RUNNING if self._request.start else Status.CLAIMED
        task.effective_priority = priority.effective(float(added.rank), self._lanes[number].boost, self._now)
        task.fence = int(fence)
        task.agent = self._request.agent
        task.lease_expires_at = self._ends_at
        task.created_at = task.ready_at = self._instant(added.at)
        task.claimed_at = task.updated_at = self._at
        if self._request.start:
            task.started_at = self._at
        timeout_s = None
        if also is not None:
            known = short.also_of(also)
            task.priority = float(known.get(b"priority", task.priority))
            task.depth = int(known.get(b"depth", task.depth))
            if b"expects" in known:
                task.expects = msgspec.json.decode(known[b"expects"])
            if b"timeout_s" in known:
                timeout_s = float(known[b"timeout_s"])
        return Claim(
            task=task,
            fence=task.fence,
            agent=self._request.agent,
            model=self._models[number] or None,
            lease_s=self._request.lease_s,
            lease_expires_at=self._ends_at,
            timeout_s=timeout_s,
        )

    def _instant(self, micros: int) -> datetime:
        found = self._instants.get(micros)
        if found is None:
            found = self._instants[micros] = from_micros(micros)
        return found
