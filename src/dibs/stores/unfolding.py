"""Events as stores keep them: one row for each commit, its events folded into groups.

A group is `[types, at, agent, reason, items]`. An item is a task's id, if its dag is virtual; else
`[task_id, dag_id]`; with data `[task_id, dag_id, data]`; `[null, null]` if it is about an agent alone. Every item has
each of the types, in order. Groups are unfolded when they are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.model.event import Event
from dibs.model.ids import dag_of
from dibs.model.instants import from_micros

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


def unfold(rows: Iterable[tuple[int, int, list[Any]]], after: int, limit: int) -> list[Event]:
    """Events with seq > after, at most `limit`, from rows (last_seq, count, groups) in order."""
    events: list[Event] = []
    for last_seq, count, groups in rows:
        seq = last_seq - count
        for types, at, agent, reason, items in groups:
            if seq + len(types) * len(items) <= after:
                seq += len(types) * len(items)
                continue
            instant = from_micros(at)
            for item in items:
                for type in types:
                    seq += 1
                    if seq <= after:
                        continue
                    if len(events) >= limit:
                        return events
                    events.append(_event(seq, type, instant, agent, reason, item))
    return events


def _event(seq: int, type: str, at: datetime, agent: str | None, reason: str | None, item: Any) -> Event:
    if isinstance(item, str):
        return Event(seq=seq, type=type, at=at, task_id=item, dag_id=dag_of(item), agent=agent, reason=reason)
    dag_id = item[1] or (None if item[0] is None else dag_of(item[0]))
    event = Event(seq=seq, type=type, at=at, task_id=item[0], dag_id=dag_id, agent=agent, reason=reason)
    if len(item) > 2:
        event.data = item[2]
    return event
