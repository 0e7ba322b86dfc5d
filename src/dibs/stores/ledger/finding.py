"""Finding tasks: newest first, each looked at by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import Invalid
from dibs.model.views import Page
from dibs.rules import large
from dibs.stores.ledger.snapshots import listed
from dibs.stores.values import MAX_TEXT_BYTES, Found

if TYPE_CHECKING:
    from dibs.rules.query import Range
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import Filter

MAX_LOOKED_AT = 10_000
_CURSOR = "before-"


def find(state: State, filter: Filter, limit: int, cursor: str | None) -> Page:
    """What matches, newest first. The cursor is the number of the last task that was looked at."""
    found, rest = _found(state, filter, limit, cursor)
    return Page(items=[listed(state, record) for record in found], cursor=rest)


def find_ids(state: State, filter: Filter, limit: int, cursor: str | None) -> Found:
    """The same, but only who it is."""
    found, rest = _found(state, filter, limit, cursor)
    return Found(ids=[record.id for record in found], cursor=rest)


def _found(state: State, filter: Filter, limit: int, cursor: str | None) -> tuple[list[Record], str | None]:
    before = _number_of(cursor)
    found: list[Record] = []
    last = before
    searched = 0
    for looked_at, record in enumerate(state.newest_first(before)):
        matches = _matches(record, filter)
        if looked_at >= MAX_LOOKED_AT or searched > MAX_TEXT_BYTES or (matches and len(found) >= limit):
            return found, f"{_CURSOR}{last:.0f}"
        last = record.number
        if filter.text or filter.not_text:
            searched += min(large.size_of(record.payload), large.LARGE_BYTES)
        if matches:
            found.append(record)
    return found, None


def _number_of(cursor: str | None) -> float:
    if cursor is None:
        return float("inf")
    digits = cursor.removeprefix(_CURSOR)
    if digits == cursor or not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise Invalid("This cursor is not from an earlier page.", field="cursor")
    return int(digits)


def _matches(record: Record, filter: Filter) -> bool:
    spec = record.spec
    return (
        spec.project == filter.project
        and (filter.status is None or record.status in filter.status)
        and _is_one_of(spec.type, filter.type, filter.not_type)
        and _is_one_of(record.agent, filter.agent, filter.not_agent)
        and _is_one_of(record.reason, filter.reason, filter.not_reason)
        and (filter.dag is None or record.dag_id == filter.dag)
        and (filter.parent is None or record.parent_id == filter.parent)
        and _is_one_of(spec.user, None if filter.user is None else (filter.user,), filter.not_user)
        and (filter.parked is None or (record.parked_on is not None) == filter.parked)
        and (filter.poison is None or record.poison_pill == filter.poison)
        and (filter.reviewed is None or (record.resolution is not None) == filter.reviewed)
        and _measures(record, filter)
        and all(tag in spec.tags for tag in filter.tag)
        and not any(tag in spec.tags for tag in filter.not_tag)
        and all(contains(record, text.lower()) for text in filter.text)
        and not any(contains(record, text.lower()) for text in filter.not_text)
    )


def _is_one_of(value: str | None, wanted: tuple[str, ...] | None, unwanted: tuple[str, ...]) -> bool:
    return (wanted is None or value in wanted) and value not in unwanted


def _measures(record: Record, filter: Filter) -> bool:
    tokens = (
        None
        if record.tokens_in is None and record.tokens_out is None
        else ((record.tokens_in or 0) + (record.tokens_out or 0))
    )
    return (
        _within(record.cost_usd, filter.cost)
        and _within(record.created_at, filter.created)
        and _within(record.priority, filter.priority)
        and _within(record.attempts, filter.attempts)
        and _within(tokens, filter.tokens)
    )


def _within(value: float | None, wanted: Range | None) -> bool:
    return wanted is None or (value is not None and wanted[0] <= value <= wanted[1])


def contains(record: Record, text: str) -> bool:
    """Title, type, payload (unless it is large) and error are searched, upper and lower case alike."""
    payload = "" if large.size_of(record.payload) > large.LARGE_BYTES else record.payload.decode()
    searched = (record.spec.title, record.spec.type, payload, record.error)
    return any(text in part.lower() for part in searched if part)
