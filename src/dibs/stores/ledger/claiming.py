"""Handing out tasks: the best of the lanes an agent may serve, merged without looking at the rest."""

from __future__ import annotations

from heapq import merge
from typing import TYPE_CHECKING

from dibs.model.instants import seconds
from dibs.model.status import Status
from dibs.rules import matching, priority
from dibs.rules.budgets import BROKE, PASSED_OVER
from dibs.rules.coalescing import room_for_members
from dibs.rules.large import size_of
from dibs.rules.providers import slow_down_s
from dibs.rules.rates import cap
from dibs.stores.ledger import breakers, budgets, coalescing, locks, moving, pausing, providers, rates, registry, slots
from dibs.stores.values import Claimed, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.rules.closing import Ways
    from dibs.stores.ledger.order import Order
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import ClaimRequest, LaneKey


def claim(state: State, request: ClaimRequest) -> Claimed:
    """Up to `limit` ready tasks, best first. The same `claim_id` again: what it claimed and still holds."""
    request = registry.hear_claim(state, request)
    if request.claim_id is not None:
        earlier = state.claims.get((request.project, request.claim_id))
        if earlier is not None:
            left = [
                [state.tasks[task_id] for task_id, fence in group if _still_held(state, task_id, fence, request)]
                for group in earlier[1]
            ]
            return Claimed(claims=[coalescing.claim_of_group(state, group) for group in left if group])
    pausing.tend_if_due(state)
    served = [lane for lane in state.lane_ids if may_serve(lane, request)]
    ways = pausing.ways(state, served, request)
    most, reason = registry.room(state, request)
    if reason is None and budgets.is_broke(state, request.project, request.agent):
        reason = BROKE
    groups = [] if reason else _choose(state, request, ways, most)
    for record in (record for group in groups for record in group):
        if record.status is Status.SCHEDULED:
            moving.make_ready(state, record)
        _hand_out(state, record, request)
        breakers.take_probe(state, record)
    if not groups:
        if reason:
            due_in = budgets.broke_for_s(state, request.project, request.agent) if reason == BROKE else None
            return Claimed(reason=reason, next_due_in=due_in)
        slow_down = slow_down_s(ways.limited_until, state.now)
        open = [lane.type for lane in served if state.lane_ids[lane] in ways.lanes]
        opening = rates.opens_at(state, request.project, open)
        return Claimed(next_due_in=_next_due_in(state, ways, opening), slow_down=slow_down)
    if request.claim_id is not None:
        held = [[(record.id, record.fence) for record in group] for group in groups]
        state.claims[request.project, request.claim_id] = (state.now, held)
    return Claimed(claims=[coalescing.claim_of_group(state, group) for group in groups])


def _choose(state: State, request: ClaimRequest, ways: Ways, most: int | None) -> list[list[Record]]:
    """The best tasks that fit into one batch — limit, bytes, and solo tasks and probes alone — each with those that go
    with it; `most`: how many there may be of both. Each has its new fence, under which it holds its locks and its share
    of budgets; what does not get them is parked. Types whose slots are taken contribute nothing more; what the agent
    cannot pay for is passed over."""
    limit = request.limit if most is None else min(request.limit, most)
    open = set(ways.lanes)
    rooms = slots.rooms(state, request.project)
    cap(rooms, rates.left(state, request.project))
    lanes = [lane for lane, number in state.lane_ids.items() if number in open]
    state.will_read(lanes=lanes)
    heads = [_by_effective(state, lane, state.lanes[lane]) for lane in lanes if lane in state.lanes]
    chosen: list[list[Record]] = []
    taken: set[int] = set()
    shut_out: list[tuple[Record, str]] = []
    size = passed_over = 0
    for _, number in merge(*heads):
        if number in taken:
            continue
        record = state.numbered[number]
        type = record.spec.type
        if rooms.get(type) == 0:
            continue
        if not budgets.can_pay(state, record, request.agent):
            passed_over += 1
            if passed_over >= PASSED_OVER:
                break
            continue
        size += size_of(record.payload)
        alone = record.solo or state.lane_ids[record.lane] in ways.trials
        if chosen and (size > request.max_bytes or alone):
            break
        closed = locks.closed(state, record)
        if closed is not None:
            shut_out.append((record, closed))
            size -= size_of(record.payload)
            continue
        record.fence = state.next_fence(record)
        locks.take(state, record)
        budgets.take(state, record, request.agent)
        group = [record]
        if record.spec.coalesce_key is not None and not alone:
            room = room_for_members(taken=len(taken) + 1, most=most)
            room = min(room, rooms.get(type, room + 1) - 1)
            group += coalescing.take_others(state, record, request.agent, taken, room, request.max_bytes - size)
            size += sum(size_of(other.payload) for other in group[1:])
        taken.update(each.number for each in group)
        chosen.append(group)
        if type in rooms:
            rooms[type] -= len(group)
        if alone or len(chosen) >= limit or len(taken) == most:
            break
    for record, closed in shut_out:
        locks.park(state, record, closed)
    rates.take(state, request.project, [record.spec.type for group in chosen for record in group])
    return chosen


def _by_effective(state: State, lane: LaneKey, order: Order) -> Iterator[tuple[float, int]]:
    """A lane's tasks with their effective priority: the order of ranks, made comparable between lanes."""
    return ((priority.effective(rank, lane.boost, state.now), number) for rank, number in order)


def _hand_out(state: State, record: Record, request: ClaimRequest) -> None:
    record.agent = request.agent
    record.model = matching.choose_model(providers.open_models(state, record.lane), request.models)
    record.lease_s = request.lease_s
    record.lease_expires_at = state.now + seconds(request.lease_s)
    record.claimed_at = state.now
    record.started_at = record.timeout_at = record.renewed_at = None
    record.confirmed = record.solo
    record.progress = record.note = None
    record.usage = Usage()
    state.move(record, Status.CLAIMED)
    state.emit("task.claimed", record, agent=request.agent)
    if request.start:
        moving.start(state, record)
    state.file(record)


def may_serve(lane: LaneKey, request: ClaimRequest) -> bool:
    """Whether an agent may take the tasks of a lane."""
    return lane.project == request.project and matching.may_serve(
        type=lane.type,
        assignee=lane.assignee,
        requires=lane.requires,
        models=lane.models,
        agent=request.agent,
        agent_type=request.agent_type,
        capabilities=request.capabilities,
        types=request.types,
        offered_models=request.models,
    )


def _still_held(state: State, task_id: str, fence: int, request: ClaimRequest) -> bool:
    """Whether this very agent still has it: somebody else's claim id is not a way to somebody else's claims."""
    record = state.tasks.get(task_id)
    return record is not None and record.held_under(fence) and record.agent == request.agent


def _next_due_in(state: State, ways: Ways, opening: list[int]) -> float | None:
    """Seconds until a task this agent may serve is due, or is taken from whoever holds it, or a lane of it opens."""
    instants: list[float] = [*opening] if ways.opens_at is None else [ways.opens_at, *opening]
    waited = {*ways.lanes, *ways.watched}
    for order in (state.due, state.leases):
        for at, number in order:
            if state.lane_number(number) in waited:
                instants.append(at)
                break
    return max(0.0, (min(instants) - state.now) / 1_000_000) if instants else None
