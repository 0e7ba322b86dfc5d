"""What a message says as the payload of a task, or as an answer; and what a task made, as parts.

The protocol's numbers are doubles. What comes in is taken as whole where it is, as JSON has it; what goes out and would
not arrive as it is (whole numbers beyond 2^53, or nested too deeply for its readers) goes as JSON in a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a.types.a2a_pb2 import Message, Part
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value
from msgspec import DecodeError
from msgspec.json import decode, encode

if TYPE_CHECKING:
    from a2a.types.a2a_pb2 import SendMessageRequest

    from dibs.a2a.offer import Offer, Skill

TEXT, JSON = "text/plain", "application/json"
MODES = (TEXT, JSON)
EXACT = 2**53
MAX_DEPTH = 40
"""Deeper than that, readers of the protocol give up."""
SKILL = "skill"
"""In the metadata of a message, or of the request: the type of task it asks for."""


def skill_for(offer: Offer, request: SendMessageRequest) -> Skill:
    """The skill that a message asks for; else the one for messages that name none."""
    named = None
    for metadata in (request.message.metadata, request.metadata):
        if SKILL in metadata:
            named = metadata[SKILL]
            break
    wanted = offer.default if named is None else named
    skill = offer.skills.get(wanted) if isinstance(wanted, str) else None
    if skill is None:
        known = ", ".join(offer.skills)
        what = "Say which skill is meant" if wanted is None else f"There is no skill {str(wanted)[:80]!r}; name one"
        raise InvalidParamsError(message=f'{what} in the metadata of the message ({{"skill": …}}): {known}.')
    return skill


def payload_of(message: Message, skill: Skill) -> dict[str, Any]:
    """The payload that a message asks for: the keys of its data, and its text under the skill's key."""
    texts, values = _said(message)
    payload: dict[str, Any] = {}
    for value in values:
        if not isinstance(value, dict):
            raise InvalidParamsError(message="A data part must be an object: its keys become those of the payload.")
        for key in value.keys() & payload.keys():
            raise InvalidParamsError(message=f"Two data parts have {key!r:.80}; say it once.")
        payload |= value
    if texts:
        if skill.text in payload:
            raise InvalidParamsError(message=f"The text becomes {skill.text!r} of the payload, and the data have one.")
        payload[skill.text] = "\n".join(texts)
    return payload


def answers_of(message: Message) -> list[Any]:
    """What a message may mean as an answer, the likeliest first: its data; else its text, else that as JSON."""
    texts, values = _said(message)
    if len(values) > 1:
        raise InvalidParamsError(message="An answer is one data part, or text.")
    if values:
        return values
    text = "\n".join(texts)
    try:
        return [text, decode(text)]
    except (DecodeError, RecursionError, ValueError):
        return [text]


def _said(message: Message) -> tuple[list[str], list[Any]]:
    texts: list[str] = []
    values: list[Any] = []
    for part in message.parts:
        kind = part.WhichOneof("content")
        if kind == "text":
            texts.append(part.text)
        elif kind == "data":
            values.append(plain(part.data))
        else:
            raise ContentTypeNotSupportedError(message=f"Only text and data are taken, not {kind or 'an empty part'}.")
    if not texts and not values:
        raise InvalidParamsError(message="The message says nothing: give it a part with text or data.")
    return texts, values


def plain(value: Any) -> Any:
    """A value of the protocol as JSON, whole numbers as such."""
    return _whole(MessageToDict(value))


def _whole(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= EXACT else value
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return value


def part_of(value: Any) -> Part:
    """A value as a part: text as text, anything else as data, or as JSON in a text if it would not arrive as it is."""
    if isinstance(value, str):
        return Part(text=value, media_type=TEXT)
    if arrives(value):
        return Part(data=ParseDict(value, Value()), media_type=JSON)
    return Part(text=encode(value).decode(), media_type=JSON)


def arrives(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Whether a reader of the protocol gets the value as it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) <= EXACT
    if isinstance(value, dict):
        return depth > 0 and all(arrives(item, depth - 1) for item in value.values())
    if isinstance(value, list):
        return depth > 0 and all(arrives(item, depth - 1) for item in value)
    return True
