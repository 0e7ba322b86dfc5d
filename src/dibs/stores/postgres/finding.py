"""Finding tasks. The database narrows down; where its eye is the coarser one, what it found is looked at again here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, Struct

from dibs.errors import Invalid
from dibs.model.ids import dag_of
from dibs.model.views import Page
from dibs.stores.postgres.rows import decode_tasks, filled

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine
    from dibs.stores.postgres.rows import Whole
    from dibs.stores.values import Filter

_CURSOR = "before-"
_FIND = "SELECT whole, rest FROM dibs.find($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"

_encode = msgspec.json.Encoder().encode


class _Payload(Struct, array_like=True):
    """The payload of a task as it was written."""

    spec: dict[str, Raw]


_decode_payloads = msgspec.json.Decoder(list[_Payload]).decode


async def find(engine: Engine, filter: Filter, limit: int, cursor: str | None) -> Page:
    """What matches, newest first. The database looks at so many tasks in one go; it goes on until some match."""
    like = capitals = smalls = None
    if filter.text is not None:
        like, capitals, smalls = pattern(filter.text.lower())
    rest: int | None = _number_of(cursor)
    found: list[Whole] = []
    while rest is not None and not found:
        row = await engine.row(
            _FIND,
            filter.project,
            None if filter.status is None else [str(status) for status in dict.fromkeys(filter.status)],
            filter.type,
            None if filter.tag is None else _encode(filter.tag).decode(),
            filter.dag,
            [] if filter.dag is None else alone_in(filter.dag),
            filter.agent,
            filter.user,
            like,
            capitals,
            smalls,
            rest,
            limit,
        )
        assert row is not None
        found, rest = _looked_at_closely(row["whole"], filter), row["rest"]
    now = engine.now()
    return Page(
        items=[filled(whole, now) for whole in found],
        cursor=None if rest is None else f"{_CURSOR}{rest}",
    )


def alone_in(dag_id: str) -> list[str]:
    """The ids that the one task of a virtual dag may have."""
    rest = dag_id.removeprefix("dag_")
    return [name for name in ("task_" + rest, rest) if dag_of(name) == dag_id]


def pattern(text: str) -> tuple[str, str, str]:
    """A LIKE pattern that fits whatever contains this small text, written as JSON or not; and the letters that the
    database, which knows only ASCII ones, must be told to make small."""
    parts = ["%"]
    small: dict[str, str] = {}
    for letter in text:
        if letter in '"\\' or not letter.isprintable():
            # Escaped in JSON, one way or another.
            parts.append("%")
        elif letter in "%_":
            parts.append("\\" + letter)
        elif letter in "ςσ":
            # Which of the two a capital becomes depends on where it stands.
            parts.append("σ")
            small |= {"Σ": "σ", "ς": "σ"}
        else:
            parts.append(letter)
            if not letter.isascii():
                small |= {each: letter for each in (letter.upper(), letter.title()) if each.lower() == letter != each}
    parts.append("%")
    return "".join(parts), "".join(small), "".join(small.values())


def _number_of(cursor: str | None) -> int:
    if cursor is None:
        return 2**62
    digits = cursor.removeprefix(_CURSOR)
    if digits == cursor or not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise Invalid("This cursor is not from an earlier page.", field="cursor")
    return int(digits)


def _looked_at_closely(text: str, filter: Filter) -> list[Whole]:
    """Those that have the tag, and contain the text: in title, type, payload (unless it is large) or error."""
    found = decode_tasks(text)
    if filter.text is not None:
        wanted = filter.text.lower()
        payloads = [bytes(each.spec.get("payload", Raw(b""))).decode() for each in _decode_payloads(text)]
        found = [
            whole
            for whole, payload in zip(found, payloads, strict=True)
            if any(
                wanted in part.lower()
                for part in (whole.task.title, whole.task.type, payload, whole.state.error)
                if part and part != f'{{"ref":"task:{whole.task.id}:payload"}}'
            )
        ]
    if filter.tag is not None:
        found = [whole for whole in found if filter.tag in whole.task.tags]
    return found
