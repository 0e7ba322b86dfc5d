"""New tasks with the trace that they are asked for in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs.drafting import Planned
from dibs.model.task import NewTask
from dibs.rules import traces

if TYPE_CHECKING:
    from typing import Any

    from dibs.tracing import Given


def with_trace(spec: Any, given: Given) -> Any:
    """The task as it was written, with the trace in its context. What is no task is left for others to refuse."""
    if isinstance(spec, Planned):
        return Planned(spec.id, with_trace(spec.spec, given))
    if not isinstance(spec, NewTask):
        return spec
    return replace(spec, context=traces.with_trace(spec.context, *given))
