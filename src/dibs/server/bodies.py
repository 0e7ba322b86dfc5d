"""Reading what a request says, strictly: one JSON document in UTF-8, no name twice, nothing that is not JSON.

Two readers of the same bytes must not understand different things by them: a name that is given twice, a second
document behind the first or a number that JSON does not have is refused, not chosen from.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, get_args, get_origin
from urllib.parse import parse_qsl, unquote

from msgspec import DecodeError
from msgspec.json import Decoder, Encoder

from dibs.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from dibs.wire.verbs import Verb

_decode = Decoder().decode
_encode = Encoder().encode
MAX_QUERY_CHARS = 16_000
MAX_DIGITS = 4_000
IN_PATH = "the_"
"""What the names in a path begin with, for the framework."""


def read_json(raw: bytes, max_depth: int) -> Any:
    """The one JSON value in these bytes. Raises Invalid, code `not_json`."""
    try:
        value = _decode(raw)
    except (DecodeError, ValueError) as error:
        raise _not_json(f"The body is not JSON: {str(error)[:200]}.") from None
    except RecursionError:
        raise _not_json("The body is nested too deeply.") from None
    if raw.count(b"[") + raw.count(b"{") > max_depth and not _is_shallow(value, max_depth):
        raise _not_json(f"The body is nested more than {max_depth} levels deep; flatten it.")
    # Fast and sound: a name that was dropped takes its colon with it, and only \u can bring one from nowhere.
    if raw.count(b":") != _encode(value).count(b":") or b"\\u" in raw:
        _refuse_twice(raw)
    return value


def _is_shallow(value: Any, max_depth: int) -> bool:
    """Whether nothing is nested deeper than this, looking level by level."""
    level = [value]
    for _ in range(max_depth):
        level = [
            child
            for each in level
            if isinstance(each, (dict, list))
            for child in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return True
    return not any(isinstance(each, (dict, list)) for each in level)


def _refuse_twice(raw: bytes) -> None:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise Invalid(f"{twice[:80]!r} is given twice; say it once.", code="not_json", field=twice[:200])
        return found

    try:
        json.loads(raw, object_pairs_hook=unique, parse_int=_short_number)
    except (ValueError, RecursionError):
        raise _not_json("The body is not JSON.") from None


def _short_number(digits: str) -> int:
    return int(digits) if len(digits) <= MAX_DIGITS else 0


def _not_json(message: str) -> Invalid:
    return Invalid(message, code="not_json")


def from_body(verb: Verb, value: Any) -> dict[str, Any]:
    """The parameters of a verb in a JSON body. Raises Invalid with the name that is missing or unknown."""
    if not isinstance(value, dict):
        raise Invalid(f"The body must be a JSON object with the parameters of {verb.name}.", field="body")
    known(value, (*verb.needs, *verb.takes), verb.name)
    missing(value, verb.needs)
    return value


def from_query(verb: Verb, query: bytes) -> dict[str, Any]:
    """The parameters of a verb in a query. What looks like what the verb takes becomes that; the rest stays text, for
    the verb to refuse."""
    if not query:
        missing((), verb.needs)
        return {}
    if len(query) > MAX_QUERY_CHARS:
        raise Invalid(f"The query has {len(query):,} characters; at most {MAX_QUERY_CHARS:,} are read.", field="query")
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=200)
    except ValueError:
        raise Invalid("The query is not percent-encoded UTF-8 text.", field="query") from None
    known([name for name, _ in pairs], (*verb.needs, *verb.takes), verb.name)
    found: dict[str, Any] = {}
    for name, text in pairs:
        kind = verb.needs.get(name, verb.takes.get(name))
        if _takes(kind, list):
            found.setdefault(name, []).append(text)
        elif name in found:
            raise Invalid(f"{name} is given twice; say it once.", field=name)
        else:
            found[name] = _read(text, kind)
    missing(found, verb.needs)
    return found


def from_path(params: Mapping[str, Any], *, quoted: bool) -> dict[str, str]:
    """What is in the path; `quoted` where it was left as it was sent, because a name in it has a slash."""
    found = {name.removeprefix(IN_PATH): str(value) for name, value in params.items()}
    if quoted:
        try:
            return {name: unquote(value, errors="strict") for name, value in found.items()}
        except UnicodeDecodeError:
            raise Invalid("The path is not percent-encoded UTF-8 text.", field="path") from None
    return found


def known(given: Collection[str], names: Collection[str], what: str) -> None:
    """Refuse a name that is not one of these, with the one that may be meant."""
    for name in given:
        if name not in names:
            near = get_close_matches(name[:80], list(names), 1)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(sorted(names)) or 'nothing'}."
            raise Invalid(f"{name[:80]!r} is nothing that {what} takes: {hint}", code="unknown_field", field=name[:200])


def missing(given: Collection[str], needed: Collection[str]) -> None:
    """Refuse if one of these is not given."""
    for name in needed:
        if name not in given:
            raise Invalid(f"{name} is missing.", code="missing_field", field=name)


def _takes(kind: Any, what: type) -> bool:
    return any(get_origin(part) is what or part is what for part in (kind, *get_args(kind)))


def _read(text: str, kind: Any) -> Any:
    if _takes(kind, str):
        return text
    if _takes(kind, bool) and text in ("true", "false"):
        return text == "true"
    if _takes(kind, int) and text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 25:
        return int(text)
    return text
