"""What goes over a line: one request, one answer; and the two ways to get none."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct, field


class Request(Struct):
    """One request. `patience_s`: how long its answer may take, beyond what the server was asked to wait."""

    method: str
    path: str
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    patience_s: float = 60.0


class Answer(Struct):
    """A whole answer; the names of its headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Unheard(Exception):
    """Nobody got the request. The cause says why."""


class Unanswered(Exception):
    """The request was sent, or part of it, and there is no whole answer. The cause says why."""


class Line(Protocol):
    """A way to a server, kept open between requests."""

    async def send(self, request: Request) -> Answer:
        """Send a request once. Raises Unheard or Unanswered, caused by what happened."""
        ...

    async def pause(self, seconds: float) -> None:
        """Let time pass."""
        ...

    async def close(self) -> None:
        """Let go of the connections. Idempotent."""
        ...
