"""Handing out tasks: one call, whose arrays become claims."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.claim import Claim
from dibs.model.ids import dag_of, new_id
from dibs.model.instants import from_micros, seconds
from dibs.model.status import Status
from dibs.model.task import Task
from dibs.rules.agents import is_worth_writing
from dibs.rules.budgets import BROKE, broke_for_s
from dibs.rules.providers import slow_down_s
from dibs.stores import agents as standing
from dibs.stores.grouping import in_groups
from dibs.stores.postgres import pausing, reading
from dibs.stores.postgres.registry import Rules
from dibs.stores.values import Claimed, ClaimRequest, Offer

if TYPE_CHECKING:
    from datetime import datetime

    from dibs.stores.postgres.engine import Engine
    from dibs.stores.postgres.lanes import Lanes, Served

RAISED_EVERY_S = 0.1
_REMEMBERED = 1_000
_MANY = 200_000

_CLAIM = "SELECT * FROM dibs.claim({})".format(", ".join(f"${place}" for place in range(1, 23)))  # noqa: S608

_encode = msgspec.json.Encoder().encode
_decode_tasks = msgspec.json.Decoder(list[Task]).decode


class Claiming:
    """Claims of one store: knows when each agent was last written down, and the numbers of the tasks handed out."""

    def __init__(self, engine: Engine, lanes: Lanes) -> None:
        self._engine = engine
        self._lanes = lanes
        self.rules = Rules()
        self._heard: dict[tuple[str, str], tuple[Offer, int]] = {}
        self._raised = monotonic()
        self.numbers: dict[str, int] = {}
        """Tasks by id, so that settling them finds their rows at once. A memory, not a truth: it may be dropped."""

    async def claim(self, request: ClaimRequest) -> Claimed:
        """Up to `limit` ready tasks, best first."""
        # Every claim has an id, so that one whose reply is lost can be asked for again.
        claim_id = request.claim_id or new_id("claim")
        asked = request
        while True:
            while self.rules.version != self._lanes.version:
                await self.rules.refresh(self._engine, self._lanes.version)
            rule = self.rules.of(asked.project, asked.agent)
            request = standing.as_registered(asked, rule)
            served = self._lanes.served_by(request)
            offer = self._offer(request)
            began = monotonic()
            [found] = await self._engine.fetch(
                _CLAIM,
                self._engine.at,
                self._lanes.version,
                request.project,
                request.agent,
                offer,
                served.lanes,
                served.models,
                served.reach.reads(request.limit),
                request.limit,
                request.max_bytes,
                request.lease_s,
                request.start,
                claim_id,
                self._raising(),
                began >= served.look_at,
                self._lanes.changes_at,
                served.trials,
                served.watched,
                _most(rule),
                request.project in self._lanes.budgeted or served.spends,
                served.types,
                served.spends,
            )
            state = found["state"]
            if state == "stale":
                if self._lanes.changes_at is not None and self._lanes.changes_at <= found["at"]:
                    await pausing.tend(self._engine)
                await self._lanes.refresh_for_claims()
                continue
            if offer is not None:
                self._note_heard(request, found["heard"])
            if state == "full":
                return Claimed(reason=standing.DRAINING if rule and rule.draining else standing.FULL)
            if state == "broke":
                return Claimed(reason=BROKE, next_due_in=broke_for_s([found["due_at"]], found["at"]))
            if state == "none":
                if found["looked"]:
                    served.looked(found["due_at"], monotonic() - began)
                return Claimed(
                    next_due_in=_next_due_in(served, found), slow_down=slow_down_s(served.limited_until, found["at"])
                )
            if state == "again":
                held = [] if found["whole"] is None else reading.claims_from(found["whole"], found["at"])
                return Claimed(claims=_in_groups(held, found["groups"]))
            if len(served.lanes) > 1:
                served.reach.took(found["chosen"])
            claims = _claims(request, found)
            if len(self.numbers) > _MANY:
                self.numbers.clear()
            for claim, number in zip(claims, found["ns"], strict=True):
                self.numbers[claim.task.id] = number
            return Claimed(claims=_in_groups(claims, found["groups"]))

    def _raising(self) -> bool:
        """Whether this claim shall raise the floors of its lanes: a busy store does it several times a second."""
        now = monotonic()
        if now - self._raised < RAISED_EVERY_S:
            return False
        self._raised = now
        return True

    def _offer(self, request: ClaimRequest) -> str | None:
        """What to write down about this agent; nothing if that was done a short while ago."""
        offer = Offer(request.capabilities, request.types, request.models)
        known = self._heard.get((request.project, request.agent))
        if known is not None and known[0] == offer and not is_worth_writing(known[1], self._engine.now()):
            return None
        return _encode(offer).decode()

    def forget_agent(self, project: str, agent: str) -> None:
        """Write it down with its next claim."""
        self._heard.pop((project, agent), None)

    def _note_heard(self, request: ClaimRequest, at: int) -> None:
        if len(self._heard) > _REMEMBERED:
            self._heard.clear()
        offer = Offer(request.capabilities, request.types, request.models)
        self._heard[request.project, request.agent] = (offer, at)


def _most(rule: standing.Rule | None) -> int | None:
    """How many tasks an agent with this rule may hold; None: any number."""
    if rule is None:
        return None
    return 0 if rule.draining else rule.registered.max_concurrent


def _in_groups(claims: list[Claim], groups: list[int] | None) -> list[Claim]:
    """Claims, those that were taken together in the group of their first."""
    return claims if groups is None else in_groups(claims, groups)


def _next_due_in(served: Served, found: Any) -> float | None:
    """Seconds until time alone may change that there is nothing; where nobody looked just now, until somebody will."""
    now: int = found["at"]
    dues = [(at - now) / 1_000_000 for at in (served.due_at, served.opens_at) if at is not None]
    if found["looked"]:
        return max(0.0, min(dues)) if dues else None
    look_in = max(0.0, served.look_at - monotonic())
    return min([look_in, *(due_in for due_in in dues if due_in >= 0)])


def _claims(request: ClaimRequest, found: Any) -> list[Claim]:
    """The claims, best first."""
    now = found["at"]
    instant = from_micros(now)
    expires = from_micros(now + seconds(request.lease_s))
    status = Status.RUNNING if request.start else Status.CLAIMED
    started = instant if request.start else None
    instants: dict[int, datetime] = {}
    whole: dict[str, Claim] = {}
    if found["whole"] is not None:
        whole = {claim.task.id: claim for claim in reading.claims_from(found["whole"], now)}
    claims = []
    for task, dag, parent, wanted, worth, created, ready, model, timeout_s in zip(
        _decode_tasks(found["specs"]),
        found["dags"],
        found["parents"],
        found["priorities"],
        found["effectives"],
        found["created"],
        found["ready"],
        found["models"],
        found["timeouts"],
        strict=True,
    ):
        if whole and task.id in whole:
            claims.append(whole[task.id])
            continue
        task.dag_id = dag or dag_of(task.id)
        task.parent_id = parent
        task.priority = wanted
        task.status = status
        task.effective_priority = worth
        task.fence = 1
        task.agent = request.agent
        task.lease_expires_at = expires
        at = instants.get(created)
        if at is None:
            at = instants[created] = from_micros(created)
        task.created_at = at
        if ready != created:
            at = instants.get(ready)
            if at is None:
                at = instants[ready] = from_micros(ready)
        task.ready_at = at
        task.claimed_at = task.updated_at = instant
        task.started_at = started
        claims.append(
            Claim(
                task=task,
                fence=1,
                agent=request.agent,
                model=model,
                lease_s=request.lease_s,
                lease_expires_at=expires,
                timeout_s=timeout_s,
                context=task.context,
            )
        )
    return claims
