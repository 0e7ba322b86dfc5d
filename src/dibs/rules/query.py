"""The words in which people look for tasks, and what they mean: `status:running type:code cost>0.5 age>1h timeout`.

A query is terms between blanks, all of which must hold:

- `key:value`: `status`, `type`, `agent` and `reason` take several values, of which one must fit
  (`status:ready,running`, or the key again); `tag` may be repeated, and all of them must be there; `dag`, `parent` and
  `user` take one; `parked`, `poison` and `reviewed` take yes or no;
- `key>value`, also `>=`, `<`, `<=`, `=`: `cost` (USD), `age` (since it was added: 90s, 5m, 2h, 1d), `priority`,
  `attempts`, `tokens` (in and out). What nobody knows is neither more nor less than anything;
- any other word, or several in quotes, must be in title, type, payload or error.

A minus in front turns a term around. A value or a text with blanks, quotes, or one of `: < > =` stands in quotes, in
which `\\` takes the next character as it is. A query that cannot be read is refused with the place of the first fault
and what is allowed there.
"""

from __future__ import annotations

from math import inf, nextafter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dibs.errors import Invalid
from dibs.model.instants import seconds
from dibs.model.status import Status
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Range = tuple[float, float]
"""From and to, both included."""

MAX_CHARS = 2_000
MAX_TERMS = 50

SEVERAL: dict[str, str] = {
    "status": "where it is in its life",
    "type": "what kind of work",
    "agent": "who holds it, or held it last",
    "reason": "why it failed",
}
"""Keys that take several values, one of which must fit."""
ONE: dict[str, str] = {
    "dag": "the tasks of one dag",
    "parent": "what a task spawned",
    "user": "for whom",
}
FLAGS: dict[str, str] = {
    "parked": "it waits at a lock or a budget",
    "poison": "it took its agents down",
    "reviewed": "somebody decided about this dead letter",
}
KEYS: dict[str, str] = {**SEVERAL, "tag": "it has this tag", **ONE, **FLAGS}
"""Everything that is written with a colon."""
MEASURES: dict[str, str] = {
    "cost": "USD spent so far",
    "age": "how long ago it was added: 90s, 5m, 2h, 1d",
    "priority": "0 (now) to 100 (whenever)",
    "attempts": "how often it was tried",
    "tokens": "in and out",
}
"""Everything that is compared."""
OPERATORS = (">=", "<=", ">", "<", "=")
_EXAMPLES = {"cost": "cost>0.5", "age": "age>1h", "priority": "priority<20", "attempts": "attempts>1"}
_TURNED = str.maketrans("<>", "><")
_SPECIAL = frozenset(':<>="')
MOST_SHOWN = 12


class Conditions(Struct, kw_only=True, frozen=True):
    """What a query asks for; None, or nothing, does not filter. `created` is in micros, `cost` in USD."""

    status: tuple[str, ...] | None = None
    type: tuple[str, ...] | None = None
    agent: tuple[str, ...] | None = None
    reason: tuple[str, ...] | None = None
    tag: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    dag: str | None = None
    parent: str | None = None
    user: str | None = None
    parked: bool | None = None
    poison: bool | None = None
    reviewed: bool | None = None
    cost: Range | None = None
    created: Range | None = None
    priority: Range | None = None
    attempts: Range | None = None
    tokens: Range | None = None
    not_type: tuple[str, ...] = ()
    not_agent: tuple[str, ...] = ()
    not_reason: tuple[str, ...] = ()
    not_tag: tuple[str, ...] = ()
    not_text: tuple[str, ...] = ()
    not_user: tuple[str, ...] = ()


class Term(Struct, frozen=True):
    """One term as it was written: where it begins, and where its value does. `operator` is ":", one of the
    comparisons, or "" for a text. `values` are the value's parts between commas; a quoted one is whole."""

    at: int
    value_at: int
    negated: bool
    key: str
    operator: str
    values: tuple[str, ...]


class Completion(Struct, kw_only=True, frozen=True):
    """What may stand in the place of the characters from `start` to `end`."""

    start: int
    end: int
    insert: str
    about: str | None = None


def parse(text: str, now: int) -> Conditions:
    """What the query asks for, as of now. Invalid, field `query`."""
    if len(text) > MAX_CHARS:
        raise Invalid(f"A query has at most {MAX_CHARS:,} characters, not {len(text):,}.", field="query")
    found = Conditions()
    for count, term in enumerate(terms(text), 1):
        if count > MAX_TERMS:
            raise _fault(term.at, f"a query has at most {MAX_TERMS} terms")
        if term.operator == "":
            found = _with_text(found, term)
        elif term.operator == ":":
            found = _with_value(found, term)
        else:
            found = _with_range(found, term, now)
    if found.parked and found.status is None:
        found = replace(found, status=(Status.READY.value,))
    return found


def terms(text: str) -> Iterator[Term]:
    """The terms, one by one; a key is not looked at yet."""
    at, end = 0, len(text)
    while at < end:
        if text[at].isspace():
            at += 1
            continue
        start = at
        negated = text[at] == "-" and at + 1 < end and not text[at + 1].isspace()
        at += negated
        key_at = at
        while at < end and not text[at].isspace() and text[at] not in _SPECIAL:
            at += 1
        key, operator = text[key_at:at], ""
        if at < end and text[at] in ":<>=":
            operator = next(each for each in (":", *OPERATORS) if text.startswith(each, at))
            _check_key(key, operator, key_at)
            at += len(operator)
        elif key:
            if at < end and text[at] == '"':
                raise _fault(at, "put a blank before the quote, or the whole term in quotes")
            yield Term(start, key_at, negated, "", "", (key,))
            continue
        value_at = at
        values, at = _quoted(text, at) if at < end and text[at] == '"' else _bare(text, at, key)
        if not all(values):
            raise _fault(value_at, f"write a value after {key}{operator}" if key else "there is nothing in the quotes")
        yield Term(start, value_at, negated, key if operator else "", operator, values)


def quoted(value: str) -> str:
    """A value as it must stand in a query."""
    plain = value and value[0] != "-" and not any(each.isspace() or each in _SPECIAL or each in ",\\" for each in value)
    if plain:
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def complete(text: str, at: int, words: Mapping[str, Sequence[str]]) -> list[Completion]:
    """What whoever has written so far may mean, with the cursor at this place: keys, or values of a key, of which those
    that are not fixed are in `words`. Inside quotes, or after a text with no such key, there is nothing to say."""
    start = _term_before(text, at)
    if start is None:
        return []
    written = text[start:at]
    minus = "-" if written.startswith("-") else ""
    key, colon, value = written.removeprefix("-").partition(":")
    if not colon:
        return _keys(start, at, minus, key)
    if key not in KEYS:
        return []
    known: Sequence[str] = words.get(key, ())
    if key == "status":
        known = [status.value for status in Status]
    elif key in FLAGS:
        known = ("yes", "no")
    begun = value.rpartition(",")[2] if key in SEVERAL else value
    place = at - len(begun)
    fitting = [each for each in known if each.lower().startswith(begun.lower().removeprefix('"'))]
    return [Completion(start=place, end=at, insert=quoted(each)) for each in fitting[:MOST_SHOWN]]


def open_key(text: str, at: int) -> str | None:
    """The key whose value is being written there; None where it is none: whoever completes that needs no values."""
    start = _term_before(text, at)
    key, colon, _ = ("", "", "") if start is None else text[start:at].removeprefix("-").partition(":")
    return key if colon and key in KEYS else None


def _term_before(text: str, at: int) -> int | None:
    """Where the term begins that is being written; None inside quotes."""
    start, inside = 0, False
    for place, letter in enumerate(text[:at]):
        if letter == '"':
            inside = not inside
        elif letter.isspace() and not inside:
            start = place + 1
    begins_quoted = inside and text[start:at].count('"') == 1 and text[start:at].partition('"')[0].endswith(":")
    return start if not inside or begins_quoted else None


def _keys(start: int, at: int, minus: str, begun: str) -> list[Completion]:
    found = [(f"{key}:", about) for key, about in KEYS.items() if not (minus and key in FLAGS)]
    if not minus:
        found += [(f"{key}>", f"{about}, as in {_EXAMPLES.get(key, key + '>1000')}") for key, about in MEASURES.items()]
    return [
        Completion(start=start, end=at, insert=minus + key, about=about)
        for key, about in found
        if key.startswith(begun)
    ]


def _fault(at: int, what: str) -> Invalid:
    return Invalid(f"The query cannot be read at character {at + 1}: {what}.", field="query")


def _check_key(key: str, operator: str, at: int) -> None:
    allowed = KEYS if operator == ":" else MEASURES
    if key in allowed:
        return
    if key in KEYS:
        raise _fault(at, f"write {key}:value; only {', '.join(MEASURES)} are compared")
    if key in MEASURES:
        raise _fault(at, f"compare {key} with >, >=, <, <= or =, as in {_EXAMPLES.get(key, key + '>1000')}")
    raise _fault(
        at,
        f"there is no key {key!r:.40}; there are {', '.join(f'{each}:' for each in KEYS)} and "
        f"{', '.join(f'{each}>' for each in MEASURES)}; a text with one of : < > = goes in quotes",
    )


def _quoted(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """The value in quotes that begins here, and where it is over."""
    letters: list[str] = []
    place = at + 1
    while place < len(text) and text[place] != '"':
        if text[place] == "\\" and place + 1 < len(text):
            place += 1
        letters.append(text[place])
        place += 1
    if place == len(text):
        raise _fault(at, "the quote that opens here is not closed")
    if place + 1 < len(text) and not text[place + 1].isspace():
        raise _fault(place + 1, "put a blank after the closing quote")
    return ("".join(letters).strip(),), place + 1


def _bare(text: str, at: int, key: str) -> tuple[tuple[str, ...], int]:
    """The value without quotes that begins here, and where it is over."""
    end = at
    while end < len(text) and not text[end].isspace():
        end += 1
    value = text[at:end]
    return tuple(value.split(",")) if key in SEVERAL else (value,), end


def _with_text(found: Conditions, term: Term) -> Conditions:
    name = "not_text" if term.negated else "text"
    return replace(found, **{name: (*getattr(found, name), *term.values)})


def _with_value(found: Conditions, term: Term) -> Conditions:
    key = term.key
    if key == "status":
        return _with_status(found, term)
    if key in FLAGS:
        [word] = term.values
        if word not in ("yes", "no"):
            raise _fault(term.value_at, f"{key} is yes or no, not {word!r:.40}")
        return replace(found, **{key: (word == "yes") is not term.negated})
    if term.negated:
        if key in ("dag", "parent"):
            raise _fault(term.at, f"{key} cannot be turned around; leave out the minus")
        name = f"not_{key}"
        return replace(found, **{name: (*getattr(found, name), *term.values)})
    if key in ONE:
        if getattr(found, key) is not None:
            raise _fault(term.at, f"{key} can be given once")
        return replace(found, **{key: term.values[0]})
    return replace(found, **{key: (*(getattr(found, key) or ()), *term.values)})


def _with_status(found: Conditions, term: Term) -> Conditions:
    for word in term.values:
        if word not in set(Status):
            raise _fault(term.value_at, f"there is no status {word!r:.40}; there are {', '.join(Status)}")
    if not term.negated:
        return replace(found, status=(*(found.status or ()), *term.values))
    left = tuple(word.value for word in Status) if found.status is None else found.status
    return replace(found, status=tuple(word for word in left if word not in term.values))


def _with_range(found: Conditions, term: Term, now: int) -> Conditions:
    key, operator = term.key, term.operator
    if term.negated:
        raise _fault(term.at, f"turn the comparison around instead, as in {_EXAMPLES.get(key, key + '>1000')}")
    name, value = key, _measure(term)
    if key == "age":
        # The older, the earlier it was added; in whole micros.
        name, value = "created", now - value
        operator = operator.translate(_TURNED)
        wanted = _range(operator, value, value + 1, value - 1)
    else:
        wanted = _range(operator, value, nextafter(value, inf), nextafter(value, -inf))
    low, high = getattr(found, name) or (-inf, inf)
    return replace(found, **{name: (max(low, wanted[0]), min(high, wanted[1]))})


def _measure(term: Term) -> float:
    [value] = term.values
    if term.key == "age":
        try:
            return seconds(validation.duration_s(value, "age"))
        except Invalid as error:
            raise _fault(term.value_at, error.message.rstrip(".")) from None
    try:
        number = float(value)
    except ValueError:
        number = inf
    if not abs(number) < inf:
        raise _fault(term.value_at, f"{term.key} is compared with a number, not {value!r:.40}")
    return number


def _range(operator: str, value: float, above: float, below: float) -> Range:
    """Both ends included: `above` and `below` are the next values to it."""
    return {">": (above, inf), ">=": (value, inf), "<": (-inf, below), "<=": (-inf, value), "=": (value, value)}[
        operator
    ]
