"""Who may take what: an agent may serve a lane, or not, as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dibs.model.task import Task

ANYBODY_BUT = "!"

FALLBACK_AFTER = 2
"""After so many counted attempts the fallback models take over."""


def may_serve(
    *,
    type: str,
    assignee: str | None,
    requires: Collection[str],
    models: Collection[str],
    agent: str,
    agent_type: str | None = None,
    capabilities: Collection[str],
    types: Collection[str] | None,
    offered_models: Collection[str],
) -> bool:
    """Whether an agent may take the tasks of a lane.

    It must want the type, be meant by the assignee if there is one (`is_meant`), have every required capability,
    and offer one of the models — an agent that declares no models takes any.
    """
    if types is not None and type not in types:
        return False
    if assignee is not None and not is_meant(assignee, agent, agent_type):
        return False
    if requires and not set(requires) <= set(capabilities):
        return False
    return not models or not offered_models or not set(models).isdisjoint(offered_models)


def is_meant(assignee: str, agent: str, agent_type: str | None) -> bool:
    """Whether an assignee means this agent: by its id, or as what it is registered. `!NAME` means anybody but NAME."""
    if assignee.startswith(ANYBODY_BUT):
        return assignee.removeprefix(ANYBODY_BUT) not in (agent, agent_type)
    return assignee in (agent, agent_type)


def models_of(task: Task) -> tuple[str, ...]:
    """The models a task asks for now: after the second failed attempt its fallback models take their place."""
    return task.fallback_models if uses_fallback(task.fallback_models, task.attempts) else task.models


def may_be_given(status: str, assignee: str | None) -> bool:
    """Whether a task can be given to somebody else: nobody works on it, nothing of it is being judged, it has not
    ended; and it is not one that its author must not get."""
    if assignee is not None and assignee.startswith(ANYBODY_BUT):
        return False
    return status in ("pending", "scheduled", "ready", "waiting", "retrying")


def uses_fallback(fallback_models: Collection[str], attempts: int) -> bool:
    """Whether the fallback models apply after so many counted attempts."""
    return bool(fallback_models) and attempts >= FALLBACK_AFTER


def choose_model(models: Sequence[str], offered_models: Collection[str]) -> str | None:
    """The first preference the agent offers; the first preference if it declares none; None if the task has none."""
    if not offered_models:
        return models[0] if models else None
    return next((model for model in models if model in offered_models), None)
