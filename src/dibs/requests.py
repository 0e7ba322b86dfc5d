"""What users pass to the verbs, checked and put into the store's words."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.errors import DibsError, Invalid, NotFound
from dibs.model.claim import Claim
from dibs.model.instants import seconds
from dibs.model.status import Outcome
from dibs.rules import pricing, validation
from dibs.rules.schedule import RETENTION_S
from dibs.stores.values import ClaimRequest, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.model.task import Task
    from dibs.stores.contract import Store

T = TypeVar("T")

MAX_LIMIT = 1_000
MAX_WAIT_S = 86_400.0
MAX_DELAY_S = 365 * 86_400.0
MAX_NOTE_CHARS = 4_000
MAX_REMEMBERED = 1_000
"""How many requests to claim are remembered."""

_requests: dict[tuple[Any, ...], ClaimRequest] = {}
_MEMORABLE = {tuple, type(None)}
"""What names are given in that are the same the next time."""

Held = Claim | tuple[str, int]
"""What a verb of an agent takes: a claim, or the (task id, fence) of one."""


def claim_request(
    agent: str,
    *,
    project: str = "default",
    capabilities: Iterable[str] = (),
    types: Iterable[str] | None = None,
    models: Iterable[str] = (),
    limit: int = 1,
    lease: Any = 60,
    start: bool = True,
    claim_id: str | None = None,
) -> ClaimRequest:
    """A checked request to claim; remembered, because agents ask for the same again and again."""
    given = (agent, project, capabilities, types, models, limit, lease, start, claim_id)
    # True equals 1 and would find its request, but must be refused: so types are part of what was asked.
    asked = (*given, *map(type, given))
    if claim_id is not None or not _MEMORABLE.issuperset(map(type, (capabilities, types, models))):
        return _checked_request(*given)
    try:
        known = _requests.get(asked)
    except TypeError:  # something else among them, which will be refused
        return _checked_request(*given)
    if known is None:
        if len(_requests) >= MAX_REMEMBERED:
            _requests.clear()
        known = _requests[asked] = _checked_request(*given)
    return known


def _checked_request(
    agent: str,
    project: str,
    capabilities: Iterable[str],
    types: Iterable[str] | None,
    models: Iterable[str],
    limit: int,
    lease: Any,
    start: bool,
    claim_id: str | None,
) -> ClaimRequest:
    if not isinstance(start, bool):
        raise Invalid(f"start must be True or False, not {start!r:.80}.", field="start")
    return ClaimRequest(
        agent=validation.text(agent, "agent"),
        project=project,
        capabilities=validation.names(capabilities, "capabilities"),
        types=None if types is None else validation.names(types, "types"),
        models=validation.names(models, "models", ordered=True),
        limit=validation.whole(limit, "limit", 1, MAX_LIMIT),
        lease_s=lease_s(lease),
        start=start,
        claim_id=None if claim_id is None else validation.text(claim_id, "claim_id"),
    )


async def another_payload(store: Store, task_id: Any, payload: Any) -> tuple[bytes, str | None]:
    """A new payload as JSON; where the task has a key, with the hash of the request that it makes."""
    body = validation.json_bytes(payload, "payload", max_bytes=validation.MAX_PAYLOAD_BYTES)
    task = await get_task(store, task_id, listed=True)
    return body, None if task.key is None else validation.content_key(task.type, body)


async def get_task(store: Store, task_id: Any, *, listed: bool = False) -> Task:
    """The task as it is now; `listed`: with large values only named, which is enough to decide about it."""
    [task] = await store.get([id_of(task_id)], listed=listed)
    if task is None:
        raise no_task(id_of(task_id))
    return task


def usage(
    cost: float | None, tokens_in: int | None, tokens_out: int | None, turns: int | None, model: str | None
) -> Usage | None:
    """What an attempt used, checked; None if nothing was said."""
    if cost is None and tokens_in is None and tokens_out is None and turns is None and model is None:
        return None
    return Usage(
        cost_usd=None if cost is None else validation.number(cost, "cost", 0, 1e9),
        tokens_in=None if tokens_in is None else validation.whole(tokens_in, "tokens_in", 0, 2**53),
        tokens_out=None if tokens_out is None else validation.whole(tokens_out, "tokens_out", 0, 2**53),
        turns=None if turns is None else validation.whole(turns, "turns", 0, 2**53),
        model=None if model is None else validation.text(model, "model"),
    )


def tokens(
    tokens_in: int | None, tokens_out: int | None, cached: int | None, cache_written: int | None
) -> pricing.Tokens | None:
    """Totals that can be priced, checked: those read and those written, both told. None if one was not."""
    parts = {"tokens_cached": cached, "tokens_cache_written": cache_written}
    counts = {name: validation.whole(part, name, 0, 2**53) for name, part in parts.items() if part is not None}
    if counts and tokens_in is None:
        raise Invalid(f"{min(counts)} is part of tokens_in: tell that too.", field="tokens_in")
    counted = pricing.Tokens(
        read=tokens_in or 0,
        written=tokens_out or 0,
        cached=counts.get("tokens_cached", 0),
        cache_written=counts.get("tokens_cache_written", 0),
    )
    pricing.check_tokens(counted)
    return None if tokens_in is None or tokens_out is None else counted


def from_when(value: Any, now: int) -> int:
    """From when on: an instant, or how long ago. None: from the beginning."""
    if value is None:
        return 0
    try:
        return now - seconds(validation.duration_s(value, "since"))
    except Invalid:
        if not isinstance(value, str | datetime):
            raise
    return validation.instant(value, "since", now, durations=False)


def optional(value: Any, field: str) -> str | None:
    """A text or nothing."""
    return None if value is None else validation.text(value, field)


def raised(answer: T | DibsError) -> T:
    """The answer, unless it is an error."""
    if isinstance(answer, DibsError):
        raise answer
    return answer


def held(claim: Held) -> tuple[str, int]:
    if isinstance(claim, Claim):
        return claim.task.id, claim.fence
    if not isinstance(claim, tuple | list) or len(claim) != 2:  # type: ignore[redundant-expr]
        raise Invalid("claim must be a dibs.Claim or a (task id, fence) pair.", field="claim")
    return validation.text(claim[0], "task_id"), validation.whole(claim[1], "fence", 0, 2**63 - 1)


def is_remote(url: object) -> bool:
    """Whether a URL leads to a server."""
    return isinstance(url, str) and url.partition(":")[0].lower() in ("http", "https")


def refuse_token(token: str | None) -> None:
    """Tokens are for servers."""
    if token is not None:
        raise Invalid("token is for a server: connect to http://…, or leave it out.", field="token")


def retention_s(retention: Any) -> float:
    """How long what ended is kept: as told, else as the environment says, else a week."""
    import os

    wanted = (os.environ.get("DIBS_RETENTION") or None) if retention is None else retention
    return RETENTION_S if wanted is None else validation.duration_s(wanted, "retention")


def failure(error: str, *, reason: str, retry: bool, retry_after: Any, exit_code: int | None) -> dict[str, Any]:
    """What `fail` is told, as `settling.failed` takes it."""
    after = None if retry_after is None else validation.duration_s(retry_after, "retry_after", high=MAX_WAIT_S)
    text = agent_text(error, "error")
    cause = validation.text(reason, "reason")
    return {
        "error": text,
        "reason": cause,
        "retry_again": retry,
        "retry_after": after,
        "exit_code": None if exit_code is None else validation.whole(exit_code, "exit_code", -(2**31), 2**31),
        "outcome": Outcome.TIMED_OUT if cause == "timeout" else Outcome.FAILED,
        "crash": cause == "crash",
    }


def lease_s(lease: Any) -> float:
    return validation.duration_s(lease, "lease", low=validation.MIN_LEASE_S, high=validation.MAX_LEASE_S)


def id_of(target: Any, field: str = "id") -> str:
    return validation.text(target if isinstance(target, str) else getattr(target, "id", target), field)


def agent_text(value: Any, field: str) -> str | bytes:
    if not isinstance(value, (str, bytes)):
        raise Invalid(f"{field} must be text.", field=field)
    return value


def default_agent() -> str:
    """`host:pid:random`: process numbers are used again, the random part is not."""
    return f"{os.uname().nodename}:{os.getpid()}:{os.urandom(4).hex()}"


def no_task(task_id: str) -> NotFound:
    return NotFound(f"There is no task {task_id}. `dibs ls` shows the ones there are.", field="task_id")


def no_question(question_id: str) -> NotFound:
    return NotFound(
        f"There is no question {question_id}. `dibs inbox` shows the ones that are open.", field="question_id"
    )
