"""Finding tasks: one index yields the newest candidates, the other conditions are looked at row by row.

Candidates come a portion at a time, and at most `MAX_LOOKED_AT` of them: a page may be short. Whatever a row of `tasks`
says is decided by SQLite; what is in texts, here.
"""

from __future__ import annotations

from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from dibs.errors import Invalid
from dibs.model.ids import dag_of
from dibs.model.views import Page
from dibs.rules import large
from dibs.stores.sqlite import rows
from dibs.stores.sqlite.reading import listed
from dibs.stores.sqlite.rows import Row, encode
from dibs.stores.values import MAX_TEXT_BYTES, Found

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dibs.rules.query import Range
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.values import Filter

MAX_LOOKED_AT = 10_000
MAX_READY = 100_000
"""So many ready tasks are put into the order of their numbers; the index of ready tasks has another."""
SLACK_US = 300_000_000
"""Tasks are numbered as they are added, but clocks are set back now and then."""
_PORTIONS = (200, 800, 3_000, 6_000)
_TEXT_PORTIONS = (200,) * (MAX_LOOKED_AT // 200)

_CURSOR = "before-"
_READY = """
SELECT n FROM tasks INDEXED BY task_ready WHERE status = 'ready' AND parked_on IS NULL
UNION ALL
SELECT n FROM tasks INDEXED BY task_parked WHERE parked_on IS NOT NULL
LIMIT ?
"""
_FITTING = "SELECT t.n FROM json_each(?) j CROSS JOIN tasks t ON t.n = j.value "
_NEXT = "SELECT n, created_at FROM tasks WHERE n >= ? ORDER BY n LIMIT 1"
_TEXTS = """
SELECT t.n, CASE WHEN t.bytes > ? THEN NULL ELSE s.spec END, t.error
FROM json_each(?) j CROSS JOIN tasks t ON t.n = j.value CROSS JOIN specs s ON s.n = t.n
"""


class _Payload(Struct):
    payload: Raw = Raw(b"null")


_decode_payload = msgspec.json.Decoder(_Payload).decode


def find(tx: Transaction, filter: Filter, limit: int, cursor: str | None) -> Page:
    """What matches, newest first."""
    numbers, rest = _found(tx, filter, limit, cursor)
    return Page(items=listed(tx, rows.load_numbers(tx, numbers)), cursor=rest)


def find_ids(tx: Transaction, filter: Filter, limit: int, cursor: str | None) -> Found:
    """The same, but only who it is."""
    numbers, rest = _found(tx, filter, limit, cursor)
    wanted = "SELECT t.id FROM json_each(?) j CROSS JOIN tasks t ON t.n = j.value"
    return Found(ids=[row[0] for row in tx.connection.execute(wanted, (encode(numbers).decode(),))], cursor=rest)


def _found(tx: Transaction, filter: Filter, limit: int, cursor: str | None) -> tuple[list[int], str | None]:
    """The numbers of what matches, and where to go on."""
    conditions, parameters = _conditions(filter)
    fitting = f"{_FITTING}{conditions}"
    window = islice(_window(tx, filter, _number_of(cursor)), MAX_LOOKED_AT)
    found: list[int] = []
    looked_at = last = size = 0
    for portion in _TEXT_PORTIONS if filter.text or filter.not_text else _PORTIONS:
        numbers = list(islice(window, portion))
        if not numbers:
            break
        looked_at, last = looked_at + len(numbers), numbers[-1]
        kept = [row[0] for row in tx.connection.execute(fitting, (encode(numbers).decode(), *parameters))]
        fit, searched = _with_texts(tx, kept, filter)
        found, size = found + fit, size + searched
        if len(found) > limit:
            return found[:limit], f"{_CURSOR}{found[limit - 1]}"
        if size > MAX_TEXT_BYTES:
            return found, f"{_CURSOR}{last}"
    return found, f"{_CURSOR}{last}" if looked_at == MAX_LOOKED_AT else None


def _number_of(cursor: str | None) -> int:
    if cursor is None:
        return 2**62
    digits = cursor.removeprefix(_CURSOR)
    if digits == cursor or not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise Invalid("This cursor is not from an earlier page.", field="cursor")
    return int(digits)


def _window(tx: Transaction, filter: Filter, before: int) -> Iterator[int]:
    """Numbers of tasks, greatest first, as one index yields them."""
    lowest = 0
    if filter.created is not None:
        lowest = _first_since(tx, filter.created[0] - SLACK_US)
        before = min(before, _first_since(tx, filter.created[1] + SLACK_US + 1))
    tail = f" AND n < ? AND n >= ? ORDER BY n DESC LIMIT {MAX_LOOKED_AT}"
    sources: list[Iterable[int]] = []
    # The values are bound; the clauses are those below.
    for where, parameters in _clauses(tx, filter, before, lowest, sources):
        select = f"SELECT n FROM tasks {where}{tail}"  # noqa: S608
        sources.append(row[0] for row in tx.connection.execute(select, (*parameters, before, lowest)))
    return merge(*sources, reverse=True)


def _clauses(
    tx: Transaction, filter: Filter, before: int, lowest: int, sources: list[Iterable[int]]
) -> list[tuple[str, tuple[Any, ...]]]:
    """What each index is asked for; ready tasks, which are not in the order of their numbers, go into `sources`."""
    project = filter.project
    if filter.dag is not None:
        alone = [name for name in ("task_" + filter.dag[4:], filter.dag[4:]) if dag_of(name) == filter.dag]
        return [("WHERE dag = ?", (filter.dag,)), *(("WHERE id = ? AND dag IS NULL", (name,)) for name in alone)]
    if filter.parent is not None:
        return [("WHERE parent = ?", (filter.parent,))]
    if filter.user is not None:
        return [("WHERE project = ? AND user = ?", (project, filter.user))]
    if filter.parked:
        return [("INDEXED BY task_parked WHERE project = ? AND parked_on IS NOT NULL", (project,))]
    types, names = _one_of("type", filter.type, filter.not_type)
    if filter.status is not None:
        if "ready" in filter.status:
            ready = [row[0] for row in tx.connection.execute(_READY, (MAX_READY + 1,))]
            if len(ready) > MAX_READY:
                # With so many, some are among the newest.
                return [("WHERE true", ())]
            sources.append(sorted((number for number in ready if lowest <= number < before), reverse=True))
        # The type is in that index, too: however far the next of it is, no row is read on the way.
        where = f"INDEXED BY task_status WHERE project = ? AND status = ? AND status <> 'ready'{types}"
        return [(where, (project, str(each), *names)) for each in dict.fromkeys(filter.status) if each != "ready"]
    if filter.type is not None:
        return [("WHERE project = ? AND type = ?", (project, type)) for type in dict.fromkeys(filter.type)]
    return [("WHERE true", ())]


def _first_since(tx: Transaction, at: float) -> int:
    """The smallest number whose task was added then or later; past all of them if there is none."""
    low, high = 0, (tx.row("SELECT max(n) FROM tasks")[0] or 0) + 1
    while low < high:
        middle = (low + high) // 2
        number, created_at = tx.row(_NEXT, (middle,)) or (high, at)
        if created_at >= at:
            high = middle
        else:
            low = number + 1
    return low


def _conditions(filter: Filter) -> tuple[str, list[Any]]:
    """What a row of `tasks`, and the tags in its specification, must say."""
    parts: list[str] = [" WHERE t.project = ?"]
    values: list[Any] = [filter.project]

    def add(part: tuple[str, Sequence[Any]]) -> None:
        parts.append(part[0])
        values.extend(part[1])

    add(_one_of("t.status", filter.status, ()))
    add(_one_of("t.type", filter.type, filter.not_type))
    add(_one_of("t.agent", filter.agent, filter.not_agent))
    add(_one_of("t.reason", filter.reason, filter.not_reason))
    add(_one_of("t.user", None if filter.user is None else (filter.user,), filter.not_user))
    add(_one_of("t.parent", None if filter.parent is None else (filter.parent,), ()))
    if filter.parked is not None:
        parts.append(f" AND t.parked_on IS {'NOT ' if filter.parked else ''}NULL")
    if filter.reviewed is not None:
        parts.append(f" AND t.resolution IS {'NOT ' if filter.reviewed else ''}NULL")
    if filter.poison is not None:
        add((" AND t.poison_pill = ?", (int(filter.poison),)))
    add(_within("t.cost_usd", filter.cost))
    add(_within("t.created_at", filter.created))
    add(_within("t.priority", filter.priority))
    add(_within("t.attempts", filter.attempts))
    if filter.tokens is not None:
        parts.append(" AND (t.tokens_in IS NOT NULL OR t.tokens_out IS NOT NULL)")
        add(_within("coalesce(t.tokens_in, 0) + coalesce(t.tokens_out, 0)", filter.tokens))
    joined = ""
    if filter.tag or filter.not_tag:
        joined = " CROSS JOIN specs s ON s.n = t.n"
        # A specification is taken apart only if it contains the tag somewhere.
        has = "(instr(s.spec, ?) AND EXISTS (SELECT 1 FROM json_each(s.spec, '$.tags') WHERE value = ?))"
        for tag in filter.tag:
            add((f" AND {has}", (encode(tag).decode(), tag)))
        for tag in filter.not_tag:
            add((f" AND NOT {has}", (encode(tag).decode(), tag)))
    return joined + "".join(parts), values


def _one_of(column: str, wanted: Sequence[str] | None, unwanted: Sequence[str]) -> tuple[str, Sequence[str]]:
    part = "" if wanted is None else f" AND {column} IN ({', '.join('?' * len(wanted))})"
    if unwanted:
        part += f" AND ({column} IS NULL OR {column} NOT IN ({', '.join('?' * len(unwanted))}))"
    return part, [str(each) for each in (*(wanted or ()), *unwanted)]


def _within(value: str, wanted: Range | None) -> tuple[str, Sequence[float]]:
    return ("", ()) if wanted is None else (f" AND {value} BETWEEN ? AND ?", wanted)


def _with_texts(tx: Transaction, numbers: list[int], filter: Filter) -> tuple[list[int], int]:
    """Those that contain the texts that are wanted and none of the others; and how much was searched for them."""
    if not numbers or not (filter.text or filter.not_text):
        return numbers, 0
    # What is nowhere in the whole specification is in no part of it; the few that are left are taken apart.
    needles = [_written(text) for text in filter.text]
    seen, size = [], 0
    for number, spec, error in tx.connection.execute(_TEXTS, (large.LARGE_BYTES, encode(numbers).decode())):
        hay = f"{spec}\n{error or ''}".lower()
        size += len(hay)
        if spec is None or all(any(way in hay for way in ways) for ways in needles):
            seen.append(number)
    return [row.n for row in with_words(tx, rows.load_numbers(tx, seen), filter)], size


def _written(text: str) -> tuple[str, str]:
    """A text as it stands in a payload or an error, and in a title, which is JSON here."""
    return text.lower(), encode(text).decode()[1:-1].lower()


def with_words(tx: Transaction, found: list[Row], filter: Filter) -> list[Row]:
    """Those that have the tags and contain the texts: in title, type, payload (unless it is large) or error."""
    if not (filter.tag or filter.text or filter.not_text):
        return found
    tasks = rows.load_listed(tx, found)
    found = [row for row in found if all(tag in tasks[row.n].tags for tag in filter.tag)]
    if not (filter.text or filter.not_text):
        return found
    small = [row.n for row in found if row.bytes <= large.LARGE_BYTES]
    specs: dict[int, str] = dict(
        tx.connection.execute(
            "SELECT n, spec FROM specs WHERE n IN (SELECT value FROM json_each(?))", (encode(small).decode(),)
        )
    )

    def contains(row: Row, text: str) -> bool:
        payload = bytes(_decode_payload(specs[row.n]).payload).decode() if row.n in specs else ""
        return any(text in part.lower() for part in (tasks[row.n].title, row.type, payload, row.error) if part)

    return [
        row
        for row in found
        if all(contains(row, text.lower()) for text in filter.text)
        and not any(contains(row, text.lower()) for text in filter.not_text)
    ]
