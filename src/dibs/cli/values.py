"""JSON that people and agents hand to a command: as it is, from `@file`, or from standard input (`-`)."""

from __future__ import annotations

import sys
from typing import Any

from dibs.errors import Invalid

MAX_BYTES = 64 << 20
"""More than any field may hold; an endless stream must not fill the memory."""


def read_json(source: str, field: str) -> Any:
    """The JSON value of `JSON|@file|-`. Anything else is refused, with a word on quoting."""
    from msgspec import DecodeError, json

    content = read_source(source, field)
    try:
        return json.decode(content)
    except (DecodeError, UnicodeError) as error:
        if not content.strip():
            raise Invalid(f"{field} is empty, which is not JSON; write null for nothing.", field=field) from None
        raise Invalid(f"{field} is not JSON ({error}). {_advice(source, field)}", field=field) from None
    except RecursionError:
        raise Invalid(f"{field} is nested too deeply.", field=field) from None


def read_output(source: str, field: str) -> Any:
    """What an agent hands in. Broken text must never keep a task from ending: the queue replaces and flags it.

    From a file or standard input: JSON if it parses, text otherwise. Written on the command line it must be JSON —
    a slip of quoting should not become the output — unless its bytes are broken, which no quoting can mend.
    """
    from msgspec import DecodeError, json

    content = read_source(source, field)
    try:
        return json.decode(content)
    except (DecodeError, UnicodeError, RecursionError):
        return _lenient(content, source, field)


def read_source(source: str, field: str) -> bytes:
    """The bytes behind `TEXT|@file|-`."""
    if source == "-":
        content = read_stdin(field)
    elif source.startswith("@"):
        content = read_file(source[1:], field)
    else:
        content = source.encode("utf-8", "surrogateescape")
    if len(content) > MAX_BYTES:
        raise Invalid(f"{field} has more than {MAX_BYTES:,} bytes.", field=field, code="too_large")
    return content


def read_stdin(field: str) -> bytes:
    """Standard input's bytes (one more than the limit at most)."""
    if sys.stdin is None:
        raise Invalid(f"{field}: standard input is closed.", field=field)
    return sys.stdin.buffer.read(MAX_BYTES + 1)


def read_file(path: str, field: str) -> bytes:
    """A file's bytes (one more than the limit at most); Invalid when it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Invalid(f"{field}: cannot read {path!r}: {why}.", field=field) from None


def _lenient(content: bytes, source: str, field: str) -> Any:
    # msgspec refuses raw control characters, lone surrogates and NaN inside otherwise sound JSON; json reads them.
    import json

    text = content.decode("utf-8", "surrogateescape")
    try:
        return json.loads(text, strict=False)
    except RecursionError:
        raise Invalid(f"{field} is nested too deeply.", field=field) from None
    except ValueError as error:
        written = source != "-" and not source.startswith("@")
        if written and text.isprintable():
            raise Invalid(f"{field} is not JSON ({error}). {_advice(source, field)}", field=field) from None
        return text


def _advice(source: str, field: str) -> str:
    if source == "-" or source.startswith("@"):
        return 'JSON looks like {"topic": "CORS"}; plain text needs double quotes.'
    if field == "payload" or source[:1] in "{[":
        return """Quote it for the shell: '{"topic": "CORS"}', or pass @file or - (standard input)."""
    return f"Text needs two kinds of quotes: '\"{source}\"'; or pass @file or - (standard input)."
