"""What the adapters for agent frameworks share: a call that was paid for is made once in the life of a task.

A model call or a tool call is a step of the task's handler: its result is stored before it is used, so an attempt after
a crash gets it back instead of paying again. What a call cost is reported before its result is stored. Thus a call that
has to be made again, because its result was lost, is counted again, too: it was paid for twice.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.rules.validation import MAX_NAME_CHARS
from dibs.worker.outcomes import Fail

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dibs.worker.context import Context

    T = TypeVar("T")

MODEL = "model"
"""The name of every model call's step: they are matched by their order."""
_DENIED = (401, 403)
_TOO_MANY = 429


async def once(
    ctx: Context,
    name: str,
    call: Callable[[], Awaitable[T]],
    dump: Callable[[T], Any],
    load: Callable[[Any], T],
    spent: Callable[[T], dict[str, Any]] | None = None,
) -> T:
    """What `call` answers, or answered to an earlier attempt. `dump` makes JSON of it, `load` the answer of that;
    `spent` says what it cost, as `ctx.spend` takes it."""

    async def made() -> Any:
        try:
            value = await call()
        except Exception as error:
            known = named(error)
            if known is error:
                raise
            # What it comes from is not also what it led to.
            raise known from None if known is error.__cause__ else error
        if spent is not None:
            ctx.spend(**spent(value))
            # Written down now: a process that dies later has spent it all the same.
            await ctx.progress()
        return dump(value)

    return load(await ctx.step(name, made))


def tool_step(tool: str, call_id: str) -> str:
    """The name of a tool call's step. Calls run side by side, so it is their id that tells them apart: the model gave
    it, and what the model said is stored."""
    name = f"tool {tool} {call_id}"
    if len(name) <= MAX_NAME_CHARS - 10:
        return name
    return f"tool {blake2b(name.encode(), digest_size=16).hexdigest()}"


def named(error: Exception) -> Exception:
    """What a provider refused, so that a worker knows it: no right to ask is not tried again, too many requests are no
    fault of the task."""
    status = getattr(error, "status_code", None)
    if status in _DENIED:
        return Fail(str(error), reason="auth_failure", retry=False)
    if status == _TOO_MANY and getattr(error, "response", None) is None:
        # The worker reads from the response how long to wait; a framework may have kept it from us.
        cause = error.__cause__
        return cause if isinstance(cause, Exception) and hasattr(cause, "response") else Fail(str(error), "rate_limit")
    return error
