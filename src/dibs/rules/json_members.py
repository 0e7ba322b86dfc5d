"""One member more, or less, in a JSON text that somebody wrote by hand: layout, order and comments stay as they are.

Comments and commas at the end, which editors allow in their settings, are understood. A new member stands first, so
that all there is to do is to put a text behind a brace.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import DecodeError
from msgspec.json import decode

_STEP = "  "


class Unreadable(ValueError):
    """The text is no JSON object."""


class Member(NamedTuple):
    """Where a member is: from its key to the end of its value."""

    key: str
    start: int
    value: int
    end: int


class Object(NamedTuple):
    """Where an object is, from brace to brace, and its members."""

    start: int
    end: int
    members: tuple[Member, ...]


def put(text: str, section: str, name: str, value: str) -> str:
    """The text with a member `name` in the object `section`, which is made if it is not there. `value` is JSON over
    several lines, without indentation. If there is such a member already, the text as it is."""
    root = read(text)
    found = _member(root, section)
    if found is None:
        inner = f'"{section}": {{\n{_indented(_entry(name, value), 1)}\n}}'
        return _put_first(text, root, inner, 1)
    inside = _object(text, found.value)
    if _member(inside, name) is not None:
        return text
    return _put_first(text, inside, _entry(name, value), 2)


def take_out(text: str, section: str, name: str) -> str:
    """The text without that member. A section that has no other goes with it, where `put` made it so."""
    root = read(text)
    found = _member(root, section)
    if found is None:
        return text
    inside = _object(text, found.value)
    member = _member(inside, name)
    if member is None:
        return text
    if len(inside.members) == 1 and root.members[0] is found:
        return _cut(text, root, found)
    return _cut(text, inside, member)


def value_at(text: str, section: str, name: str) -> Any:
    """What that member says; None if it is not there, or has comments in it."""
    found = _member(read(text), section)
    member = None if found is None else _member(_object(text, found.value), name)
    if member is None:
        return None
    try:
        return decode(text[member.value : member.end])
    except DecodeError:
        return None


def read(text: str) -> Object:
    """The object that a text is. Unreadable if it is none."""
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    found = _object(text, start)
    if _skip(text, found.end + 1) != len(text):
        raise Unreadable("something follows the object")
    return found


def _entry(name: str, value: str) -> str:
    return f'"{name}": {value}'


def _indented(text: str, levels: int) -> str:
    return "\n".join(_STEP * levels + line for line in text.split("\n"))


def _put_first(text: str, inside: Object, entry: str, levels: int) -> str:
    last = "," if inside.members else "\n" + _STEP * (levels - 1)
    added = "\n" + _indented(entry, levels) + last
    return text[: inside.start + 1] + added + text[inside.start + 1 :]


def _cut(text: str, inside: Object, member: Member) -> str:
    """Without a member, the space before it, and the comma that parted it from others."""
    place = inside.members.index(member)
    before = inside.start + 1 if place == 0 else inside.members[place - 1].end
    after = _skip(text, member.end)
    if place == 0 and after < len(text) and text[after] == ",":
        return text[:before] + text[after + 1 :]
    if len(inside.members) == 1:
        # All that stands between the braces but for this was there before it.
        rest = text[member.end : inside.end]
        return text[:before] + rest.lstrip(" \t").removeprefix("\n").lstrip(" \t") + text[inside.end :]
    return text[:before] + text[member.end :]


def _member(inside: Object, name: str) -> Member | None:
    return next((member for member in inside.members if member.key == name), None)


def _object(text: str, start: int) -> Object:
    """The object that begins here."""
    if text[start : start + 1] != "{":
        raise Unreadable("an object should be here")
    members: list[Member] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != "}":
        key_end = _string(text, at)
        colon = _skip(text, key_end)
        if text[colon : colon + 1] != ":":
            raise Unreadable("a colon should be here")
        value = _skip(text, colon + 1)
        end = _value(text, value)
        members.append(Member(_name(text[at:key_end]), at, value, end))
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != "}":
            raise Unreadable("a comma or a brace should be here")
    return Object(start, at, tuple(members))


def _value(text: str, start: int) -> int:
    """Where the value that begins here ends."""
    first = text[start : start + 1]
    if first == '"':
        return _string(text, start)
    if first in ("{", "["):
        depth, at = 0, start
        while at < len(text):
            char = text[at]
            if char == '"':
                at = _string(text, at)
                continue
            if text.startswith(("//", "/*"), at):
                at = _skip(text, at)
                continue
            depth += (char in "{[") - (char in "}]")
            at += 1
            if depth == 0:
                return at
        raise Unreadable("a bracket is not closed")
    at = start
    while at < len(text) and text[at] not in ",}] \t\r\n/":
        at += 1
    if at == start:
        raise Unreadable("a value should be here")
    return at


def _string(text: str, start: int) -> int:
    if text[start : start + 1] != '"':
        raise Unreadable("a text in quotes should be here")
    at = start + 1
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == '"':
            return at + 1
        else:
            at += 1
    raise Unreadable("a quote is not closed")


def _name(quoted: str) -> str:
    try:
        return decode(quoted, type=str)
    except DecodeError:
        raise Unreadable("a key cannot be read") from None


def _skip(text: str, at: int) -> int:
    """Past space and comments."""
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at)
            if end < 0:
                raise Unreadable("a comment is not closed")
            at = end + 2
        else:
            return at
    return at
