"""`dibs` as a command, in this process."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import TYPE_CHECKING, NamedTuple

from dibs.cli import main

if TYPE_CHECKING:
    from collections.abc import Sequence


class Ran(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


def run(argv: Sequence[str], stdin: bytes = b"") -> Ran:
    """What a shell would see of it."""
    out, err = _stream(), _stream()
    usual, sys.stdin = sys.stdin, _stream(stdin)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(argv))
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    finally:
        sys.stdin = usual
    return Ran(code, _text(out), _text(err))


def _stream(content: bytes = b"") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode(errors="replace")
