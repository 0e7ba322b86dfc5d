"""What an attempt made and nobody has judged yet: its command was still running when the attempt ended."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Made(Struct, kw_only=True):
    """Output and decision of work that is done, the attempt (`fence`, `agent`) that did it, and where: the command that
    judges it must run on the same `host`, in the same `folder`."""

    fence: int
    agent: str
    host: str
    folder: str
    output: Any = None
    decision: Any = None
    sanitized: bool = False
    exit_code: int | None = None
