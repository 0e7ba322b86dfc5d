"""W3C trace context: which `traceparent` and `tracestate` may be kept on a task and handed on.

A `traceparent` says of which trace, and below which span, something was asked for. It comes from others, so what does
not have the right form is dropped, as the standard says, and never refused: no work is lost over a trace.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

HEX = frozenset("0123456789abcdef")
MAX_STATE_CHARS = 512
SAMPLED = 1
KEY, STATE_KEY = "traceparent", "tracestate"
"""Where they are in a task's `context`."""


class Trace(Struct, frozen=True):
    """One place in a trace: ids as lower-case hex, as the header has them."""

    trace_id: str
    span_id: str
    flags: int = SAMPLED

    @property
    def traceparent(self) -> str:
        """The header's text."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"


def parse(text: Any) -> Trace | None:
    """What a `traceparent` says; None if it is none. Versions to come may say more at its end."""
    if not isinstance(text, str):
        return None
    version, *rest = text.strip().split("-")
    if len(rest) < 3 or not _is_hex(version, 2) or version == "ff" or (version == "00" and len(rest) > 3):
        return None
    trace_id, span_id, flags = rest[:3]
    if not (_is_hex(trace_id, 32) and _is_hex(span_id, 16) and _is_hex(flags, 2)):
        return None
    if not (int(trace_id, 16) and int(span_id, 16)):
        return None
    return Trace(trace_id, span_id, int(flags, 16) & SAMPLED)


def parse_state(text: Any) -> str | None:
    """A `tracestate` that may be handed on; None if there is none, or it is no header."""
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_STATE_CHARS:
        return None
    return text.strip() if text.isascii() and text.isprintable() else None


def of_context(context: Any) -> Trace | None:
    """The trace in which a task with this context was asked for."""
    return parse(context.get(KEY)) if isinstance(context, dict) else None


def with_trace(context: Any, traceparent: str, tracestate: str | None) -> Any:
    """The context of a task that is asked for in this trace; what it says of a trace itself stays."""
    if context is None:
        context = {}
    if not isinstance(context, dict) or KEY in context:
        return context
    return {**context, KEY: traceparent, **({STATE_KEY: tracestate} if tracestate else {})}


def _is_hex(text: str, length: int) -> bool:
    return len(text) == length and HEX.issuperset(text)
