"""Tasks that `claim.lua` handed out, as claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.claim import Claim
from dibs.model.instants import from_micros, seconds
from dibs.model.status import Status
from dibs.model.task import Task
from dibs.rules import priority
from dibs.stores.ledger.snapshots import claim_of
from dibs.stores.ledger.state import State
from dibs.stores.redis import layout
from dibs.stores.redis.tables import as_dict

if TYPE_CHECKING:
    from datetime import datetime

    from dibs.stores.values import ClaimRequest, LaneKey

_FRESH = 12
"""How many values a task has that was never touched since it was added."""

_task = msgspec.json.Decoder(Task)


class Handing:
    """One claim of an agent, for which the server answered at `now`."""

    def __init__(self, request: ClaimRequest, now: int, lanes: dict[int, LaneKey], models: dict[int, str]) -> None:
        self._request = request
        self._now = now
        self._lanes = lanes
        self._models = models
        self._state = State(lambda: now)
        self._at = from_micros(now)
        self._ends_at = from_micros(now + seconds(request.lease_s))
        self._instants: dict[bytes, datetime] = {}

    def claim(self, values: list[Any]) -> Claim:
        """A task as the script showed it."""
        if len(values) == _FRESH:
            return self._fresh(values)
        return claim_of(self._state, layout.task_record(as_dict(values), self._lanes.__getitem__))

    def _fresh(self, values: list[Any]) -> Claim:
        spec, payload, dag_id, rank, created_at, ready_at, points, timeout_s, expects, depth, fence, lane = values
        number = int(lane)
        task = _task.decode(b'{"payload":%b,%b' % (payload, spec[1:]))
        task.dag_id = dag_id.decode()
        task.status = Status.RUNNING if self._request.start else Status.CLAIMED
        task.effective_priority = priority.effective(float(rank), self._lanes[number].boost, self._now)
        task.fence = int(fence)
        task.agent = self._request.agent
        task.lease_expires_at = self._ends_at
        task.created_at = self._instant(created_at)
        task.ready_at = self._instant(ready_at)
        task.claimed_at = task.updated_at = self._at
        if self._request.start:
            task.started_at = self._at
        if points is not None:
            task.priority = float(points)
        if expects is not None:
            task.expects = msgspec.json.decode(expects)
        if depth is not None:
            task.depth = int(depth)
        return Claim(
            task=task,
            fence=task.fence,
            agent=self._request.agent,
            model=self._models[number] or None,
            lease_s=self._request.lease_s,
            lease_expires_at=self._ends_at,
            timeout_s=None if timeout_s is None else float(timeout_s),
        )

    def _instant(self, micros: bytes) -> datetime:
        found = self._instants.get(micros)
        if found is None:
            found = self._instants[micros] = from_micros(int(micros))
        return found
