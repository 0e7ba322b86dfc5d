"""What was asked for, as the stores that speak SQL keep it: one JSON text for each task, written once."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from dibs.model.retry import Retry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.task import Task
    from dibs.stores.values import Draft

_encode = msgspec.json.Encoder().encode

_REMEMBERED = 1_000
_UNKNOWN: tuple[object, str] = (None, "")
_common: dict[int, tuple[object, str]] = {}
"""What tasks of a kind have in common, by the kind's address; the kind is kept, so that nobody else gets it."""


class Spec(Struct, omit_defaults=True):
    """What was asked for, as it is kept: the names and defaults of `Task`, and nothing that is at its default.

    What the row knows (dag, parent, priority, instants) is not repeated here.
    """

    id: str
    type: str
    project: str = "default"
    title: str | None = None
    payload: Raw | None = None
    boost: float = 0.1
    deadline: datetime | None = None
    on_deadline: str = "keep"
    depth: int = 0
    ref: str | None = None
    depends_on: tuple[str, ...] = ()
    key: str | None = None
    requires: tuple[str, ...] = ()
    assignee: str | None = None
    models: tuple[str, ...] = ()
    fallback_models: tuple[str, ...] = ()
    provider: str | None = None
    max_attempts: int = 3
    retry: Retry | None = None
    timeout: float | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    max_turns: int | None = None
    locks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    user: str | None = None
    created_by: str | None = None
    expects: Any = None
    approval: bool = False
    coalesce_key: str | None = None
    gathers_until: datetime | None = None
    context: Any = None
    charged_to: tuple[str, ...] = ()


def spec_of(task: Task, payload: bytes | None) -> str:
    """A task's specification as JSON; without a payload if none is given."""
    spec = Spec(
        task.id,
        task.type,
        task.project,
        task.title,
        None if payload is None else Raw(payload),
        task.boost,
        task.deadline,
        task.on_deadline,
        task.depth,
        task.ref,
        task.depends_on,
        task.key,
        task.requires,
        task.assignee,
        task.models,
        task.fallback_models,
        task.provider,
        task.max_attempts,
        task.retry,
        task.timeout,
        task.max_cost,
        task.max_tokens,
        task.max_turns,
        task.locks,
        task.tags,
        task.user,
        task.created_by,
        task.expects,
        task.approval,
        task.coalesce_key,
        task.gathers_until,
        task.context,
        task.charged_to,
    )
    return _encode(spec).decode()


def common_spec(task: Task) -> str:
    """The end of a specification, after id and payload: what tasks of one kind have in common."""
    spec = spec_of(task, None)
    beginning = f'{{"id":"{task.id}"'
    assert spec.startswith(beginning)
    return spec[len(beginning) :]


def specs_of(drafts: Sequence[Draft]) -> list[str]:
    """The specifications of standalone drafts. What drafts of one kind have in common is written once."""
    specs = []
    for draft in drafts:
        task = draft.task
        if draft.kind is None or task.title or task.ref or task.deadline or task.context or task.run_after:
            specs.append(spec_of(task, draft.payload))
            continue
        specs.append(f'{{"id":"{task.id}","payload":{draft.payload.decode()}{_rest_of(draft)}')
    return specs


def bare_spec_of(draft: Draft) -> str:
    """The specification of a standalone draft, without its payload."""
    task = draft.task
    if draft.kind is None or task.title or task.ref or task.deadline or task.context or task.run_after:
        return spec_of(task, None)
    return f'{{"id":"{task.id}"{_rest_of(draft)}'


def _rest_of(draft: Draft) -> str:
    """What comes after id and payload, written once for all of a kind."""
    kind, rest = _common.get(id(draft.kind), _UNKNOWN)
    if kind is not draft.kind:
        if len(_common) > _REMEMBERED:
            _common.clear()
        rest = common_spec(draft.task)
        _common[id(draft.kind)] = (draft.kind, rest)
    return rest
