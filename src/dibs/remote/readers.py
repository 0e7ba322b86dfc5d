"""Answers as the values that verbs return. A refused item of a batch is the error that it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from msgspec import Raw, ValidationError
from msgspec.json import Decoder, decode

from dibs.wire.problems import unrefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.wire.verbs import Verb

_readers: dict[Any, Callable[[bytes], Any]] = {}
_raw_items = Decoder(list[Raw]).decode


def reader(verb: Verb) -> Callable[[bytes], Any]:
    """Reads the answers to a verb; made once for each type."""
    known = (verb.reply, verb.or_reply, verb.batch)
    found = _readers.get(known)
    if found is None:
        found = _readers[known] = _made(*known)
    return found


def _made(reply: Any, or_reply: Any, batch: bool) -> Callable[[bytes], Any]:
    if reply is None:
        return lambda _: None
    if batch:
        return _batch(Decoder(get_args(reply)[0]).decode)
    if or_reply is not None:
        return _either(Decoder(reply).decode, Decoder(or_reply).decode)
    return Decoder(reply).decode


def _batch(read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def read_batch(body: bytes) -> list[Any]:
        answers = []
        for item in _raw_items(body):
            refused = unrefused(decode(item)) if b'"message":' in bytes(item) else None
            answers.append(read(item) if refused is None else refused)
        return answers

    return read_batch


def _either(read: Callable[[bytes], Any], read_other: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Which of the two it is shows in the fields that it has."""

    def read_one(body: bytes) -> Any:
        try:
            return read(body)
        except ValidationError:
            return read_other(body)

    return read_one
