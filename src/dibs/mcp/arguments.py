"""What an agent passes to a tool, looked at before any verb is asked: names, what is missing, and kinds of values.

Values themselves are for the verbs to judge, in the words they always have.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from dibs.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def checked(schema: Mapping[str, Any], given: Mapping[str, Any] | None, where: str = "") -> dict[str, Any]:
    """The arguments, if they fit the schema of their tool; those that are null are left out. Raises Invalid."""
    properties: Mapping[str, Any] = schema["properties"]
    found = {name: value for name, value in (given or {}).items() if value is not None}
    for name in found:
        if name not in properties and not schema.get("additionalProperties"):
            close = get_close_matches(name, properties, 1)
            meant = f" Did you mean {close[0]}?" if close else ""
            raise Invalid(f"{where}there is no {name!r:.80}; it takes {', '.join(properties)}.{meant}", field=name)
    for name in schema.get("required", ()):
        if name not in found and not _may_be_null(properties[name], given, name):
            raise Invalid(f"{where}{name} is missing.", field=name)
    for name, value in found.items():
        _look_at(properties.get(name, {}), value, name, where)
    return found


def _may_be_null(schema: Mapping[str, Any], given: Mapping[str, Any] | None, name: str) -> bool:
    """Whether null was given where anything may be."""
    return "type" not in schema and given is not None and name in given


def _look_at(schema: Mapping[str, Any], value: Any, name: str, where: str) -> None:
    kind = schema.get("type")
    if kind is None:
        return
    if not _is_a(value, kind):
        raise Invalid(f"{where}{name} must be {_article(kind)}, not {value!r:.80}.", field=name)
    if kind in ("number", "integer"):
        low, high = schema.get("minimum"), schema.get("maximum")
        if (low is not None and value < low) or (high is not None and value > high):
            raise Invalid(f"{where}{name} must be between {low} and {high}, not {value!r:.80}.", field=name)
    if kind == "array":
        for place, item in enumerate(value):
            inner = schema.get("items", {})
            if "properties" in inner:
                if not isinstance(item, dict):
                    raise Invalid(f"{where}{name} must be a list of objects, not {item!r:.80}.", field=name)
                value[place] = checked(inner, item, f"{name}[{place}]: ")
            else:
                _look_at(inner, item, name, f"{where}each of ")


def _is_a(value: Any, kind: str) -> bool:
    return isinstance(value, _KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}"
