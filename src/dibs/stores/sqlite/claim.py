"""Handing out tasks: a merge over the heads of the lanes an agent may serve, then one update, then one read.

The number of statements does not depend on how many tasks are claimed, nor their cost on how many wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dibs.model.claim import Claim
from dibs.model.ids import dag_of
from dibs.model.instants import from_micros, seconds
from dibs.model.status import Status
from dibs.model.task import Task
from dibs.rules import priority
from dibs.rules.agents import is_worth_writing
from dibs.stores import agents as standing
from dibs.stores.sqlite import lanes as lane_numbers
from dibs.stores.sqlite import reading, registry, rows
from dibs.stores.sqlite.dags import Dags
from dibs.stores.sqlite.jobs import UNKNOWN
from dibs.stores.sqlite.rows import decode, encode
from dibs.stores.sqlite.statements import sql
from dibs.stores.values import Claimed, ClaimRequest, Offer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.jobs import Unknown
    from dibs.stores.sqlite.lanes import Lanes

_REMEMBERED = 1_000
_MORE = 500  # How many further tasks are read at a time, when locks shut others out.

_LAST_HEARD = "SELECT offer, heard_at FROM agents WHERE project = ? AND id = ? AND offline_at IS NULL"
_EARLIER = """
SELECT held FROM claims WHERE project = ? AND claim_id = ?
"""

_REMEMBER = "INSERT INTO claims (project, claim_id, at, held) VALUES (?, ?, ?, ?)"

LOCKS = 4
"""Where a candidate says which locks it needs; None for most. One that goes with others says so with an empty list."""

_ALONE = 2
"""The length of what is remembered of a task that was taken by itself: its number and fence. Else its group follows."""

SHORT = 3
"""The length of a state that says only which task it is."""

_decode_tasks = msgspec.json.Decoder(list[Task]).decode


class Taken(Struct):
    """What a claim took, as text; it becomes `Claim`s after the commit, when nobody waits for the lock any more."""

    request: ClaimRequest
    now: int
    numbers: list[int]
    specs: str
    states: list[list[Any]]
    full: list[Claim]
    groups: list[int] | None = None
    """To which group each belongs; None: each to its own."""


class Claiming:
    """Claims of one store: knows when each agent was last written down."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self.rules = registry.Rules()
        self._heard: dict[tuple[str, str], tuple[Offer, int]] = {}
        self._idle: set[tuple[str, str]] = set()

    # Without a transaction

    def glance(self, tx: Transaction, request: ClaimRequest) -> Claimed | Taken | Unknown:
        """Answer an idle claim without taking the lock. Busy claims do not pay for looking twice."""
        if (request.project, request.agent) not in self._idle:
            return UNKNOWN
        if request.claim_id is not None and tx.row(_EARLIER, (request.project, request.claim_id)):
            return UNKNOWN
        request, candidates, reason = self._look(tx, request, 1)
        if self._lanes.is_left:
            return UNKNOWN
        if candidates or self._lanes.is_due(tx.now) or not self._was_heard(tx, request):
            return UNKNOWN
        return self._nothing(tx, request, reason)

    # In a transaction

    def claim(self, tx: Transaction, request: ClaimRequest) -> Claimed | Taken:
        """Up to `limit` ready tasks, best first."""
        earlier = None
        if request.claim_id is not None:
            earlier = tx.row(_EARLIER, (request.project, request.claim_id))
        asked = request
        request, candidates, reason = self._look(tx, asked, asked.limit)
        if self._lanes.is_due(tx.now):
            from dibs.stores.sqlite import pausing

            pausing.tend(tx, self._lanes)
            request, candidates, reason = self._look(tx, asked, asked.limit)
        if self._lanes.is_left:
            from dibs.stores.sqlite.left import refuse

            refuse(tx)
        self._hear(tx, request)
        if earlier is not None:
            return _still_held(tx, decode(earlier[0]), request.agent)
        budgeted = bool(candidates) and (request.project in self._lanes.budgeted or self._lanes.spends(request))
        if budgeted or self._limits(request, candidates) or any(each[LOCKS] is not None for each in candidates):
            return self._claim_with_locks(tx, request, candidates)
        return self._hand_out(tx, request, _fitting(candidates, request), reason)

    def _claim_with_locks(self, tx: Transaction, request: ClaimRequest, candidates: list[list[Any]]) -> Claimed | Taken:
        """As `claim`, where some may not get their locks, room in a budget, or a slot of their type; then the next best
        are looked at. And where some bring others with them."""
        from dibs.stores.sqlite.admission import Admission

        rule = self.rules.of(tx, self._lanes.version, request.project, request.agent)
        most = None if rule is None else registry.left(tx, request, rule)
        admission = Admission(tx, request, self._lanes.keys, self._rooms(tx, request), most)
        asked = request.limit
        while not admission.is_full_after(candidates) and len(candidates) == asked:
            asked = len(admission.seen) + _MORE
            candidates = self._read(tx, request, asked, admission.rooms)
        admission.make_ready()
        groups = admission.groups if admission.some_go_together else None
        answer = self._hand_out(tx, request, admission.chosen, groups=groups)
        if self._lanes.rates_in(request.project):
            from dibs.stores.sqlite import rates

            rates.take(tx, request.project, [self._lanes.keys[lane].type for _, lane, *_ in admission.chosen])
        admission.finish()
        return answer

    def _hand_out(
        self,
        tx: Transaction,
        request: ClaimRequest,
        chosen: list[list[Any]],
        reason: str | None = None,
        groups: list[int] | None = None,
    ) -> Claimed | Taken:
        self._note_idle(request, idle=not chosen)
        if not chosen:
            return self._nothing(tx, request, reason)
        taken = self._take(tx, request, chosen, groups)
        if chosen[0][1] in self._trials(request):
            from dibs.stores.sqlite import breakers

            breakers.take_probe(tx, self._lanes, chosen[0][0])
        return taken

    def _nothing(self, tx: Transaction, request: ClaimRequest, reason: str | None) -> Claimed:
        if reason:
            return Claimed(reason=reason, next_due_in=_broke_for_s(tx, request, reason))
        return Claimed(next_due_in=self._next_due_in(tx, request), slow_down=self._slow_down(tx, request))

    def _trials(self, request: ClaimRequest) -> Sequence[int]:
        """The lanes whose breaker waits for a probe."""
        ways = self._lanes.ways(request)
        return () if ways is None else ways.trials

    def _look(
        self, tx: Transaction, request: ClaimRequest, limit: int
    ) -> tuple[ClaimRequest, list[list[Any]], str | None]:
        """The request with what its agent is registered with and has room for, the best tasks, and why there are none
        whatever waits."""
        while True:
            asked, most = request, limit
            rule = self.rules.of(tx, self._lanes.version, request.project, request.agent)
            spends = self._lanes.spends(request)
            if rule is not None or spends:
                version = tx.row(lane_numbers.VERSION)[0]
                if version != self._lanes.version:
                    self._lanes.refresh(tx, version)
                    continue
            if rule is not None:
                asked = standing.as_registered(request, rule)
                most, reason = registry.room(tx, request, rule, limit)
                if reason is not None:
                    return asked, [], reason
            if spends:
                from dibs.rules.budgets import BROKE
                from dibs.stores.sqlite.budgets import is_broke

                if is_broke(tx, request.project, request.agent):
                    return asked, [], BROKE
            candidates = self._candidates(tx, asked, most)
            if candidates is not None:
                return asked if most == limit else replace(asked, limit=most), candidates, None

    def _limits(self, request: ClaimRequest, candidates: list[list[Any]]) -> bool:
        """Whether some of these are of a type that has slots or a rate."""
        slots, rates = self._lanes.slots_in(request.project), self._lanes.rates_in(request.project)
        if not slots and not rates:
            return False
        types = {self._lanes.keys[lane].type for _, lane, *_ in candidates}
        return any(type in slots or type in rates for type in types)

    def _rooms(self, tx: Transaction, request: ClaimRequest) -> dict[str, int]:
        """How many more tasks of each type that has slots or a rate may be handed out."""
        found: dict[str, int] = {}
        slots = self._lanes.slots_in(request.project)
        if slots:
            from dibs.stores.sqlite.typeslots import rooms

            found = rooms(tx, request.project, slots)
        if self._lanes.rates_in(request.project):
            from dibs.rules.rates import cap
            from dibs.stores.sqlite.rates import left

            cap(found, left(tx, request.project))
        return found

    def _read(self, tx: Transaction, request: ClaimRequest, limit: int, rooms: dict[str, int]) -> list[list[Any]]:
        """As `_candidates`, again if the lanes had changed."""
        while (candidates := self._candidates(tx, request, limit, rooms)) is None:
            pass
        return candidates

    def _candidates(
        self, tx: Transaction, request: ClaimRequest, limit: int, rooms: dict[str, int] | None = None
    ) -> list[list[Any]] | None:
        """The best tasks as [n, lane, solo, bytes, locks], but for types without room; None: the lanes had changed, and
        were read again. `rooms`: if they were counted before."""
        minutes = priority.minutes(tx.now)
        keys = self._lanes.keys
        served = self._lanes.served_by(request)
        if self._lanes.slots_in(request.project) or self._lanes.rates_in(request.project):
            rooms = self._rooms(tx, request) if rooms is None else rooms
            served = [id for id in served if rooms.get(keys[id].type) != 0]
        heads = [(id, keys[id].boost * minutes) for id in served]
        version, found = tx.row(sql("claim"), (encode(heads).decode(), limit))
        if version != self._lanes.version:
            self._lanes.refresh(tx, version)
            return None
        candidates: list[list[Any]] = decode(found)
        trials = self._trials(request)
        for candidate in candidates if trials else ():
            # A probe is handed out alone.
            candidate[2] |= candidate[1] in trials
        return candidates

    def _take(self, tx: Transaction, request: ClaimRequest, chosen: list[list[Any]], groups: list[int] | None) -> Taken:
        numbers = encode([candidate[0] for candidate in chosen]).decode()
        models = {str(lane): self._lanes.model(lane, request) for lane in {candidate[1] for candidate in chosen}}
        tx.run(
            sql("claim_take"),
            {
                "status": "running" if request.start else "claimed",
                "agent": request.agent,
                "models": encode(models).decode(),
                "lease_s": request.lease_s,
                "lease_expires_at": tx.now + seconds(request.lease_s),
                "now": tx.now,
                "started_at": tx.now if request.start else None,
                "numbers": numbers,
            },
        )
        specs, states = tx.row(sql("claim_read"), (numbers,))
        taken = Taken(request, tx.now, [candidate[0] for candidate in chosen], specs, decode(states), [], groups)
        rest = [state[0] for state in taken.states if len(state) == SHORT]
        found = rows.load_numbers(tx, rest) if rest else []
        taken.full = reading.claims_of(tx, found)
        self._announce(tx, taken)
        if request.claim_id is not None:
            fences = {row.n: row.fence for row in found}
            held: list[tuple[int, ...]] = [(number, fences.get(number, 1)) for number in taken.numbers]
            if groups is not None:
                held = [(*each, group) for each, group in zip(held, groups, strict=True)]
            tx.run(_REMEMBER, (request.project, request.claim_id, tx.now, encode(held).decode()))
        return taken

    def _announce(self, tx: Transaction, taken: Taken) -> None:
        """The events of what was taken; dags that it starts."""
        items: dict[int, Any] = {}
        dags: dict[str, None] = {}
        for state in taken.states:
            number, id, dag = state[:SHORT]
            if dag is None:
                items[number] = id
            else:
                items[number] = [id, dag]
                dags[dag] = None
        start = taken.request.start
        types = ("task.claimed", "task.started") if start else ("task.claimed",)
        tx.outbox.add(types, tx.now, [items[number] for number in taken.numbers], taken.request.agent)
        if dags and start:
            started = Dags(tx)
            for dag in dags:
                started.note_started(dag)
            started.follow()

    # Agents

    def _note_idle(self, request: ClaimRequest, *, idle: bool) -> None:
        """Remember whose last claim found nothing: only they look before they ask for the lock."""
        if not idle:
            self._idle.discard((request.project, request.agent))
            return
        if len(self._idle) > _REMEMBERED:
            self._idle.clear()
        self._idle.add((request.project, request.agent))

    def _was_heard(self, tx: Transaction, request: ClaimRequest) -> bool:
        """Whether this agent, with this offer, was written down a short while ago."""
        offer = Offer(request.capabilities, request.types, request.models)
        name = (request.project, request.agent)
        known = self._heard.get(name)
        if known is None:
            found = tx.row(_LAST_HEARD, name)
            if found is None:
                return False
            if len(self._heard) > _REMEMBERED:
                self._heard.clear()
            known = self._heard[name] = (msgspec.json.decode(found[0], type=Offer), found[1])
        return known[0] == offer and not is_worth_writing(known[1], tx.now)

    def _hear(self, tx: Transaction, request: ClaimRequest) -> None:
        if self._was_heard(tx, request):
            return
        offer = Offer(request.capabilities, request.types, request.models)
        registry.hear(tx, request.project, request.agent, offer)
        # Read again at the next claim: this transaction may still fail.
        self.forget_agent((request.project, request.agent))

    def forget_agent(self, name: tuple[str, str]) -> None:
        """Read again when it was last heard of."""
        self._heard.pop(name, None)

    def _next_due_in(self, tx: Transaction, request: ClaimRequest) -> float | None:
        """Seconds until a task this agent may serve is due, or is taken from whoever holds it, or a lane opens."""
        waited, opens_at = self._lanes.served_by(request), None
        ways = self._lanes.ways(request)
        if ways is not None:
            waited, opens_at = waited + ways.watched, ways.opens_at
        [due_at] = tx.row(sql("next_due"), (encode(waited).decode(),))
        due_at = min((at for at in (due_at, opens_at) if at is not None), default=None)
        if self._lanes.rates_in(request.project):
            from dibs.stores.sqlite import rates

            types = [self._lanes.keys[lane].type for lane in self._lanes.served_by(request)]
            opening = rates.opens_at(tx, request.project, types)
            due_at = min([*opening, *([] if due_at is None else [due_at])], default=None)
        return None if due_at is None else max(0.0, (due_at - tx.now) / 1_000_000)

    def _slow_down(self, tx: Transaction, request: ClaimRequest) -> float | None:
        """Half of the time until a rate limit keeps nothing back; None: none does."""
        ways = self._lanes.ways(request)
        if ways is None or ways.limited_until is None:
            return None
        from dibs.rules.providers import slow_down_s

        return slow_down_s(ways.limited_until, tx.now)


def _fitting(candidates: list[list[Any]], request: ClaimRequest) -> list[list[Any]]:
    """Those that fit into one batch: bytes, and solo tasks alone."""
    size = 0
    for place, (_, _, solo, count, _) in enumerate(candidates):
        size += count
        if place and (size > request.max_bytes or solo):
            return candidates[:place]
        if solo:
            return candidates[:1]
    return candidates


def _still_held(tx: Transaction, held: list[list[int]], agent: str) -> Claimed:
    """What was claimed before under the same id, without what this very agent holds no longer."""
    fences = {each[0]: each[1] for each in held}
    found = {row.n: row for row in rows.load_numbers(tx, fences)}
    kept = [row for n, row in found.items() if row.held and row.fence == fences[n] and row.agent == agent]
    claims = reading.claims_of(tx, kept)
    if held and len(held[0]) > _ALONE:
        from dibs.stores.grouping import in_groups

        groups = {each[0]: each[2] for each in held}
        claims = in_groups(claims, [groups[row.n] for row in kept])
    return Claimed(claims=claims)


def claims_from(taken: Claimed | Taken) -> Claimed:
    """The claims, best first."""
    if isinstance(taken, Claimed):
        return taken
    request, now = taken.request, taken.now
    instant = from_micros(now)
    expires = from_micros(now + seconds(request.lease_s))
    status = Status.RUNNING if request.start else Status.CLAIMED
    claims: dict[int, Claim] = {}
    full = {claim.task.id: claim for claim in taken.full}
    for state, task in zip(taken.states, _decode_tasks(taken.specs), strict=True):
        if len(state) == SHORT:
            claims[state[0]] = full[task.id]
            continue
        number, _, dag, wanted, rank, boost, created_at, ready_at, parent, model, timeout_s = state
        task.dag_id = dag or dag_of(task.id)
        task.parent_id = parent
        task.priority = wanted
        task.status = status
        task.effective_priority = priority.effective(rank, boost, now)
        task.fence = 1
        task.agent = request.agent
        task.lease_expires_at = expires
        task.created_at = from_micros(created_at)
        task.ready_at = from_micros(ready_at)
        task.claimed_at = task.updated_at = instant
        if request.start:
            task.started_at = instant
        claims[number] = Claim(
            task=task,
            fence=1,
            agent=request.agent,
            model=model,
            lease_s=request.lease_s,
            lease_expires_at=expires,
            timeout_s=timeout_s,
            context=task.context,
        )
    found = [claims[number] for number in taken.numbers]
    if taken.groups is not None:
        from dibs.stores.grouping import in_groups

        found = in_groups(found, taken.groups)
    return Claimed(claims=found)


def _broke_for_s(tx: Transaction, request: ClaimRequest, reason: str) -> float | None:
    """How long an agent gets nothing whose budget is used up."""
    from dibs.rules.budgets import BROKE
    from dibs.stores.sqlite.budgets import broke_for_s

    return broke_for_s(tx, request.project, request.agent) if reason == BROKE else None
