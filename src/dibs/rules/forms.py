"""What an answer may look like: the part of JSON Schema (2020-12) that any form can ask for.

Types, choices, bounds, the members of an object and the elements of a list. No references, patterns or alternatives:
checking takes time in proportion to schema and answer, and needs no library. Any other keyword is refused when the
question is asked, rather than ignored when it is answered.
"""

from __future__ import annotations

from typing import Any

from msgspec.json import encode

from dibs.errors import Invalid

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}
_WORDS = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
"""What a person calls the types."""
_NOTES = frozenset({"$schema", "$comment", "title", "description", "default", "examples", "format"})
_LIMITS = {
    "minimum": ("number", "at least"),
    "maximum": ("number", "at most"),
    "minLength": ("string", "at least"),
    "maxLength": ("string", "at most"),
    "minItems": ("array", "at least"),
    "maxItems": ("array", "at most"),
}
_SHAPES = frozenset({"type", "enum", "const", "properties", "required", "additionalProperties", "items"})
_KNOWN = _NOTES | _SHAPES | frozenset(_LIMITS)


def check(schema: Any, place: str = "schema") -> None:
    """Refuse what is no schema, or one that says more than a form can ask: `Invalid`, field `schema`."""
    if not isinstance(schema, dict):
        raise _invalid(f"{place} must be an object such as {{'type': 'string'}}")
    for keyword in schema:
        if keyword not in _KNOWN:
            raise _invalid(f"{place} has the keyword {keyword!r:.60}, which questions do not take; leave it out")
    _check_types(schema.get("type"), place)
    for keyword in _LIMITS:
        limit = schema.get(keyword, 0)
        if not _is(limit, "number"):
            raise _invalid(f"{keyword} in {place} must be a number")
    if not isinstance(schema.get("enum", []), list):
        raise _invalid(f"enum in {place} must be a list")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise _invalid(f"required in {place} must be a list of names")
    if not isinstance(schema.get("additionalProperties", True), bool):
        raise _invalid(f"additionalProperties in {place} must be true or false")
    members = schema.get("properties", {})
    if not isinstance(members, dict):
        raise _invalid(f"properties in {place} must be an object")
    for name, member in members.items():
        check(member, f"{place}.properties.{name}")
    if "items" in schema:
        check(schema["items"], f"{place}.items")


def fault(schema: Any, value: Any, place: str = "it") -> str | None:
    """What is wrong with a value, in words; None if it is what the schema asks for. None asks for nothing."""
    if schema is None:
        return None
    types = schema.get("type")
    if types is not None:
        named = [types] if isinstance(types, str) else types
        if not any(_is(value, name) for name in named):
            return f"{place} must be {' or '.join(_WORDS[name] for name in named)}{_members(schema, named)}"
    if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
        return f"{place} must be one of {', '.join(map(_shown, schema['enum'][:20]))}"
    if "const" in schema and not _same(value, schema["const"]):
        return f"{place} must be {_shown(schema['const'])}"
    return _limit_fault(schema, value, place) or _part_fault(schema, value, place)


def _members(schema: dict[str, Any], types: list[str]) -> str:
    """What an object must have, for whoever gave none."""
    if "object" not in types or not schema.get("required"):
        return ""
    return f" with {' and '.join(f'{name!r:.60}' for name in schema['required'][:20])}"


def _limit_fault(schema: dict[str, Any], value: Any, place: str) -> str | None:
    for keyword, (type_name, word) in _LIMITS.items():
        if keyword in schema and _is(value, type_name):
            limit = schema[keyword]
            size = value if type_name == "number" else len(value)
            if size < limit if word == "at least" else size > limit:
                unit = {"string": " characters", "array": " elements"}.get(type_name, "")
                return f"{place} must be {word} {limit:g}" if not unit else f"{place} must have {word} {limit:g}{unit}"
    return None


def _part_fault(schema: dict[str, Any], value: Any, place: str) -> str | None:
    """What is wrong inside an object or a list."""
    if isinstance(value, dict):
        members = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                return f"{place} must have {name!r:.60}"
        for name, member in value.items():
            if name in members:
                wrong = fault(members[name], member, f"{name!r:.60}")
                if wrong is not None:
                    return wrong
            elif schema.get("additionalProperties") is False:
                return f"{place} must not have {name!r:.60}"
    if isinstance(value, list) and "items" in schema:
        for number, element in enumerate(value, 1):
            wrong = fault(schema["items"], element, f"element {number}")
            if wrong is not None:
                return wrong
    return None


def _check_types(types: Any, place: str) -> None:
    named = [] if types is None else types if isinstance(types, list) else [types]
    for name in named:
        if not isinstance(name, str) or name not in _TYPES:
            raise _invalid(f"type in {place} must be one of {', '.join(_TYPES)}, not {name!r:.60}")


def _is(value: Any, type_name: str) -> bool:
    if isinstance(value, bool):
        return type_name == "boolean"
    if type_name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[type_name])


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; to Python, true would be 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    return bool(one == other)


def _shown(value: Any) -> str:
    """A value as it is written in JSON; texts in quotes of people."""
    return f"{value!r:.40}" if isinstance(value, str) else f"{encode(value).decode():.40}"


def _invalid(what: str) -> Invalid:
    return Invalid(f"{what}.", field="schema")
