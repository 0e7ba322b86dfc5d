"""In which trace something is asked for, and passing that on.

A task keeps the `traceparent` of whoever added it in its `context`. Whoever asks for it is known, in this order, from
what `enter` was told (a server: the header of the request; the shell: `$TRACEPARENT`), or from the current span of
OpenTelemetry, if this process uses that. Nobody pays for it who does not: nothing is imported, one look-up is made.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from dibs.rules import traces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextvars import Token

Given = tuple[str, str | None]

_given: ContextVar[Given | None] = ContextVar("dibs_trace", default=None)
_current_span: Callable[[], Given | None] | None = None
"""What asks OpenTelemetry, once this process has loaded it."""


def enter(traceparent: str | None, tracestate: str | None = None) -> Token[Given | None]:
    """From here on everything is asked for in this trace. What is no `traceparent` means none."""
    trace = traces.parse(traceparent)
    return _given.set(None if trace is None else (trace.traceparent, traces.parse_state(tracestate)))


def leave(token: Token[Given | None]) -> None:
    """No longer in the trace that was entered with this answer."""
    _given.reset(token)


def current() -> Given | None:
    """The `traceparent` and `tracestate` that whatever is asked for now belongs to; None: it belongs to no trace."""
    given = _given.get()
    if given is not None:
        return given
    global _current_span
    if _current_span is None:
        if "opentelemetry.trace" not in sys.modules:
            return None
        from dibs.tracing.spans import current_span

        _current_span = current_span
    return _current_span()


def stamped(specs: Sequence[Any]) -> Sequence[Any]:
    """These new tasks with the current trace in their context; as they are, if there is none."""
    given = current()
    if given is None:
        return specs
    from dibs.tracing.stamping import with_trace

    return [with_trace(spec, given) for spec in specs]
