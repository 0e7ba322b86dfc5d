"""Attempts as spans of OpenTelemetry.

An attempt is a trace of its own, *linked* to the span in which its task was added: a task may wait for days and be
tried many times, and a parent that ended long ago helps nobody. While a handler runs, the attempt's span is the current
one, so what it calls is below it; threads, processes and commands find its `traceparent` in the context of their claim.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from opentelemetry import context, trace
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from dibs.rules import traces
from dibs.tracing import attributes as names

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from dibs.model.claim import Claim
    from dibs.stores.values import Usage
    from dibs.tracing import Given

SCOPE = "dibs"
LOOK_EVERY_S = 1.0
NEVER = float("inf")


def current_span() -> Given | None:
    """The current span, as headers have it."""
    entered = context.get_current()
    if not entered:
        return None
    current = trace.get_current_span(entered)
    if current is trace.INVALID_SPAN:
        return None
    span = current.get_span_context()
    return (_written(span), span.trace_state.to_header() or None) if span.is_valid else None


class AttemptSpans:
    """Makes the spans of a worker's attempts."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer(SCOPE)
        self._idle = False
        self._look_at = 0.0

    def begin(self, claim: Claim) -> Span | None:
        """The attempt begins: its span is the current one of this coroutine, and in the context of its claim. None:
        OpenTelemetry is loaded, as some libraries do it by themselves, but nobody in this process asked for spans."""
        if self._is_idle():
            if trace.get_current_span() is not trace.INVALID_SPAN:
                context.attach(trace.set_span_in_context(trace.INVALID_SPAN))
            return None
        task = claim.task
        told: dict[str, Any] = {
            names.MESSAGING_SYSTEM: names.SYSTEM,
            names.MESSAGING_OPERATION: names.PROCESS,
            names.MESSAGING_DESTINATION: task.type,
            names.MESSAGING_MESSAGE: task.id,
            names.GEN_AI_OPERATION: names.INVOKE_AGENT,
            names.GEN_AI_AGENT_ID: claim.agent,
            names.GEN_AI_CONVERSATION: task.dag_id,
            names.GEN_AI_REQUEST_MODEL: claim.model,
            names.GEN_AI_PROVIDER: task.provider,
            names.TASK_DAG: task.dag_id,
            names.TASK_PROJECT: task.project,
            names.TASK_FENCE: claim.fence,
            names.TASK_ATTEMPT: task.attempts + 1,
        }
        span = self._tracer.start_span(
            f"{names.PROCESS} {task.type}",
            context=context.Context(),
            kind=SpanKind.CONSUMER,
            attributes={name: value for name, value in told.items() if value is not None},
            links=_links(task.context),
        )
        context.attach(trace.set_span_in_context(span))
        own = span.get_span_context()
        if own.is_valid:
            claim.context = {**(claim.context or {}), traces.KEY: _written(own)}
        return span

    def _is_idle(self) -> bool:
        """Whether spans would go nowhere: somebody may ask for them later, so this is looked at once a second."""
        now = monotonic()
        if now >= self._look_at:
            is_idle = isinstance(self._tracer, trace.ProxyTracer) and isinstance(
                trace.get_tracer_provider(), trace.ProxyTracerProvider
            )
            self._look_at = now + LOOK_EVERY_S if is_idle else NEVER
            self._idle = is_idle
        return self._idle

    def end(self, span: Span, outcome: str, error: str | None, reason: str | None, usage: Usage | None) -> None:
        """It ended so, and used this."""
        if usage is not None:
            told = {
                names.GEN_AI_RESPONSE_MODEL: usage.model,
                names.GEN_AI_INPUT_TOKENS: usage.tokens_in,
                names.GEN_AI_OUTPUT_TOKENS: usage.tokens_out,
                names.TASK_TURNS: usage.turns,
                names.TASK_COST: usage.cost_usd,
            }
            span.set_attributes({name: value for name, value in told.items() if value is not None})
        span.set_attribute(names.TASK_OUTCOME, outcome)
        if reason is not None:
            span.set_attribute(names.ERROR_TYPE, reason)
            # The first line: where it happened is in the task's history, and may say more than a trace should keep.
            span.set_status(Status(StatusCode.ERROR, (error or reason).partition("\n")[0][:500]))
        span.end()


def _links(of: Any) -> list[Link]:
    """To the span in which the task was added."""
    found = traces.of_context(of)
    if found is None:
        return []
    state = traces.parse_state(of.get(traces.STATE_KEY))
    return [
        Link(
            SpanContext(
                int(found.trace_id, 16),
                int(found.span_id, 16),
                is_remote=True,
                trace_flags=TraceFlags(found.flags),
                trace_state=TraceState.from_header([state]) if state else None,
            )
        )
    ]


def _written(span: SpanContext) -> str:
    return traces.Trace(f"{span.trace_id:032x}", f"{span.span_id:016x}", span.trace_flags & traces.SAMPLED).traceparent
