"""Finding tasks. The database narrows down; where its eye is the coarser one, what it found is looked at again here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import asdict

from dibs.errors import Invalid
from dibs.model.ids import dag_of
from dibs.model.views import Page
from dibs.stores.postgres.rows import decode_tasks, filled
from dibs.stores.values import MAX_TEXT_BYTES, Found

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine
    from dibs.stores.postgres.rows import Whole
    from dibs.stores.values import Filter

_CURSOR = "before-"
_FIND = "SELECT whole, ids, rest FROM dibs.find($1, $2, $3, $4)"

MAX_PATTERN_CHARS = 16
"""The database tries a pattern at every letter: a long one, on payloads made for it, would keep it busy for hours."""

_encode = msgspec.json.Encoder().encode


class _Payload(Struct, array_like=True):
    """The payload of a task as it was written."""

    spec: dict[str, Raw]


_decode_payloads = msgspec.json.Decoder(list[_Payload]).decode


async def find(engine: Engine, filter: Filter, limit: int, cursor: str | None) -> Page:
    """What matches, newest first."""
    row = await engine.row(_FIND, _wanted(filter), _number_of(cursor), limit, False)
    assert row is not None
    now = engine.now()
    found = _looked_at_closely(row["whole"], filter)
    return Page(items=[filled(whole, now) for whole in found], cursor=_cursor(row["rest"]))


async def find_ids(engine: Engine, filter: Filter, limit: int, cursor: str | None) -> Found:
    """The same, but only who it is."""
    closely = bool(filter.text or filter.not_text)
    row = await engine.row(_FIND, _wanted(filter), _number_of(cursor), limit, not closely)
    assert row is not None
    ids = [whole.task.id for whole in _looked_at_closely(row["whole"], filter)] if closely else list(row["ids"])
    return Found(ids=ids, cursor=_cursor(row["rest"]))


def _wanted(filter: Filter) -> str:
    """The filter as the function reads it: what it does not ask for is left out."""
    told: dict[str, Any] = {name: value for name, value in asdict(filter).items() if value not in (None, ())}
    if filter.status is not None:
        told["status"] = list(dict.fromkeys(filter.status))
    if filter.dag is not None:
        told["alone"] = alone_in(filter.dag)
    if filter.tag:
        told["written"] = [_encode(tag).decode() for tag in filter.tag]
    if filter.text or filter.not_text:
        told["bytes"] = MAX_TEXT_BYTES
    told.pop("not_text", None)
    if told.pop("text", None):
        likes, capitals, smalls = zip(*(pattern(text.lower()) for text in filter.text), strict=True)
        small = dict(zip("".join(capitals), "".join(smalls), strict=True))
        told |= {"like": likes, "capitals": "".join(small), "smalls": "".join(small.values())}
    return _encode(told).decode()


def alone_in(dag_id: str) -> list[str]:
    """The ids that the one task of a virtual dag may have."""
    rest = dag_id.removeprefix("dag_")
    return [name for name in ("task_" + rest, rest) if dag_of(name) == dag_id]


def pattern(text: str) -> tuple[str, str, str]:
    """A LIKE pattern that fits whatever contains this small text, written as JSON or not; and the letters that the
    database, which knows only ASCII ones, must be told to make small. Of a long text its beginning will do."""
    parts = ["%"]
    small: dict[str, str] = {}
    for letter in text[:MAX_PATTERN_CHARS]:
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


def _cursor(rest: int | None) -> str | None:
    return None if rest is None else f"{_CURSOR}{rest}"


def _looked_at_closely(text: str, filter: Filter) -> list[Whole]:
    """Those that contain the texts, and none of the others: in title, type, payload (unless it is large) or error."""
    found = decode_tasks(text)
    if not (filter.text or filter.not_text):
        return found
    payloads = [bytes(each.spec.get("payload", Raw(b""))).decode() for each in _decode_payloads(text)]

    def contains(whole: Whole, payload: str, wanted: str) -> bool:
        return any(
            wanted in part.lower()
            for part in (whole.task.title, whole.task.type, payload, whole.state.error)
            if part and part != f'{{"ref":"task:{whole.task.id}:payload"}}'
        )

    return [
        whole
        for whole, payload in zip(found, payloads, strict=True)
        if all(contains(whole, payload, wanted.lower()) for wanted in filter.text)
        and not any(contains(whole, payload, wanted.lower()) for wanted in filter.not_text)
    ]
