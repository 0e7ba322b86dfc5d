"""From what users pass to a verb to what is sent: JSON by the names of its parameters.

Whatever is wrong with a value is for the server to say. Only what JSON cannot carry is refused here, as the verb itself
would refuse it: `Invalid`, with the field.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from math import isfinite
from typing import TYPE_CHECKING, Any, get_args, get_origin
from urllib.parse import quote

from msgspec import Raw, Struct
from msgspec.json import Encoder, encode

from dibs.drafting import Planned, say_of_whom
from dibs.errors import Invalid
from dibs.model.task import Content, NewTask
from dibs.requests import id_of
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

JSON = frozenset({"context", "decision", "default", "expects", "payload", "schema", "value"})
"""Parameters that are any JSON."""

_FIELDS = NewTask.__struct_fields__
_DEFAULTS = dict(zip(_FIELDS[-len(NewTask.__struct_defaults__) :], NewTask.__struct_defaults__, strict=True))
AGENTS_TEXT = frozenset({"note", "question"})
"""What agents write: never refused for what is in it, but repaired."""
_MOST_CHARS = 1 << 20
_CALLED = {"task_id": "id", "target": "id", "dag_id": "id", "question_id": "question_id"}
"""How verbs call what is wrong with an id."""
_encoder = Encoder()


def body_of(parameters: Mapping[str, Any]) -> bytes:
    """Parameters as one JSON object."""
    plain = {name: value_of(name, value) for name, value in parameters.items()}
    try:
        return _encoder.encode(plain)
    except (TypeError, ValueError, OverflowError, RecursionError):
        for name, value in plain.items():
            _must_be_sendable(name, value)
        raise


def query_of(parameters: Mapping[str, Any], kinds: Mapping[str, Any]) -> str:
    """Parameters as the query of a URL; what is None is left out, of a list each element is named by itself.

    There all is text: what is not of one of the `kinds` that the verb takes would be read as if it were."""
    plain = [(name, value_of(name, value)) for name, value in parameters.items()]
    for name, value in plain:
        if value is not None and not _is_one_of(value, kinds.get(name, str)):
            raise unsendable(name, value)
    pairs = [
        f"{name}={quote(_in_query(name, each), safe='')}"
        for name, value in plain
        for each in (value if isinstance(value, list) else (value,))
        if each is not None
    ]
    return f"?{'&'.join(pairs)}" if pairs else ""


def repaired(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What whoever holds a task passes, its text without what no store can keep."""
    return {
        name: validation.clean_text(value, _MOST_CHARS)[0]
        if name in AGENTS_TEXT and isinstance(value, (str, bytes))
        else value
        for name, value in parameters.items()
    }


def in_path(name: str, value: Any) -> str:
    """A parameter as part of a path."""
    text = id_of(value, _CALLED[name]) if name in _CALLED else validation.text(value, name)
    # A dot alone means a folder to whoever tidies paths on the way.
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")


def value_of(name: str, value: Any) -> Any:
    """A value as it can be encoded; Invalid if it cannot be sent."""
    if value is None or isinstance(value, (bool, Raw)):
        return value
    if name in JSON:
        return Raw(validation.json_bytes(value, name, max_bytes=validation.MAX_PAYLOAD_BYTES))
    if name == "output":
        return validation.clean(value)[0]
    if isinstance(value, float):
        return _finite(name, value)
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Content):
        return {"content": True}
    if isinstance(value, dict):
        return Raw(validation.json_bytes(value, name, max_bytes=validation.MAX_PAYLOAD_BYTES))
    if isinstance(getattr(value, "id", None), str):
        return value.id
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise unsendable(name, value)
    if isinstance(value, Struct) or not hasattr(value, "__iter__"):
        return value
    return [value_of(name, each) for each in value]


def tasks_of(tasks: Sequence[NewTask | Planned], new_id: Callable[[str], str] | None = None) -> Raw:
    """New tasks as a JSON list, each with what it says beyond the defaults. With `new_id` each has an id, so that the
    same call again finds them there."""
    if isinstance(tasks, (str, bytes, dict)) or not hasattr(tasks, "__iter__"):
        raise Invalid(f"tasks must be a list of dibs.NewTask, not {type(tasks).__name__}.", field="tasks")
    items = list(tasks)
    parts: list[bytes] = []
    for place, item in enumerate(items):
        planned = isinstance(item, Planned)
        spec = item.spec if isinstance(item, Planned) else item
        if not isinstance(spec, NewTask):
            raise Invalid(f"tasks must be dibs.NewTask, not {type(spec).__name__}.", field="tasks")
        given = told(spec)
        if planned or new_id is not None:
            given["id"] = item.id if isinstance(item, Planned) else new_id("task")  # type: ignore[misc]
        try:
            parts.append(body_of(given))
        except Invalid as error:
            say_of_whom(error, spec, place, len(items))
            raise
    return Raw(b"[" + b",".join(parts) + b"]")


def told(spec: NewTask) -> dict[str, Any]:
    """What a new task says: its type, and whatever is not the default."""
    given = {"type": spec.type}
    for name, default in _DEFAULTS.items():
        value = getattr(spec, name)
        if value is not default and not (type(value) is type(default) and value == default):
            given[name] = value
    return given


def unsendable(name: str, value: object) -> Invalid:
    """JSON has nothing like it."""
    return Invalid(f"{name} cannot be {_called(value)}.", field=name)


def _finite(name: str, value: float) -> float:
    if not isfinite(value):
        raise Invalid(f"{name} must be a number, not {value}.", field=name)
    return value


def _is_one_of(value: Any, kind: Any) -> bool:
    kinds = {get_origin(part) or part for part in (kind, *get_args(kind))}
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, list):
        return list in kinds
    if isinstance(value, (int, float)):
        return float in kinds or (int in kinds and isinstance(value, int))
    return str in kinds or list in kinds or (float in kinds and isinstance(value, datetime))


def _in_query(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        _must_be_sendable(name, value)
        return value
    try:
        return encode(value).decode().strip('"')
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise unsendable(name, value) from None


def _must_be_sendable(name: str, value: Any) -> None:
    try:
        encode(value)
    except UnicodeError:
        raise Invalid(f"{name} contains a lone surrogate; remove it.", field=name) from None
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise unsendable(name, value) from None


def _called(value: object) -> str:
    return f"a value of type {type(value).__name__}"


def bound(verb: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names of the verb's parameters; TypeError as Python itself would raise it."""
    code: Any = verb.__code__
    count = code.co_argcount
    names = code.co_varnames[1:count]
    known = code.co_varnames[1 : count + code.co_kwonlyargcount]
    given = list(args)
    if len(given) > len(names):
        raise TypeError(f"{verb.__name__}() takes {len(names)} positional arguments but {len(given)} were given")
    found = dict(zip(names, given, strict=False))
    for name, value in kwargs.items():
        if name not in known:
            raise TypeError(f"{verb.__name__}() got an unexpected keyword argument {name!r}")
        if name in found:
            raise TypeError(f"{verb.__name__}() got multiple values for argument {name!r}")
        found[name] = value
    optional = set(names[len(names) - len(verb.__defaults__ or ()) :]) | set(verb.__kwdefaults__ or ())
    missing = [name for name in known if name not in found and name not in optional]
    if missing:
        raise TypeError(f"{verb.__name__}() missing required argument {missing[0]!r}")
    return found
