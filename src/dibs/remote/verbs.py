"""The verbs that are one request each, made from the table of the wire: signature and description are those of `Queue`.

`VERBS` names them by topic, so that a command of the shell loads the topic of its own verb only. Verbs that are more
than a request are written out in `queue.py`; those that `Queue` makes of others are made of the same others here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.queue import Queue
from dibs.remote import values
from dibs.requests import held
from dibs.wire import of, verb

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dibs.remote.server import Server
    from dibs.wire.verbs import Verb

VERBS: dict[str, tuple[str, ...]] = {
    "agents": ("agents", "register_agent", "drain_agent", "unregister_agent", "lanes"),
    "artifacts": ("artifacts", "look_at_artifacts", "sweep_artifacts"),
    "audit": ("audit", "verify_audit", "prune_audit"),
    "budgets": ("budgets", "set_budget", "raise_budget", "remove_budget"),
    "claims": ("start", "renew", "ask_under"),
    "dags": ("dags", "dag_attempts", "get_dag"),
    "deadletters": ("dead_letters", "dead_letter_ids", "review", "review_many"),
    "events": ("read_events", "stats", "metrics", "overview", "costs", "recent_events"),
    "found": ("count", "suggest", "cancel_found", "retry_found", "set_priority_found", "tag_found"),
    "gates": (
        *("gates", "pause", "resume", "breakers", "set_breaker", "open_breaker", "close_breaker", "reset_breaker"),
        *("locks", "set_slots", "type_slots", "rates", "set_rate", "remove_rate"),
        *("escalations", "get_escalation", "set_escalation", "clear_escalation"),
    ),
    "hooks": (
        *("hooks", "add_hook", "get_hook", "remove_hook", "pause_hook", "resume_hook", "rotate_hook", "replay_hook"),
        *("set_hook", "test_hook", "deliveries"),
    ),
    "questions": ("inbox", "get_question", "answer", "questions_of"),
    "reports": ("reports", "set_report", "remove_report"),
    "schedules": (
        *("schedules", "get_schedule", "add_schedule", "next_runs"),
        *("pause_schedule", "resume_schedule", "remove_schedule"),
    ),
    "tasks": (
        *("find", "get", "why", "history", "judges_of"),
        *("cancel", "retry", "link", "reassign", "set_priority", "tag"),
    ),
    "tokens": ("tokens", "create_token", "revoke_token", "rotate_token", "create_login"),
    "triggers": (
        *("triggers", "get_trigger", "add_trigger", "pause_trigger", "resume_trigger", "remove_trigger"),
        "preview_trigger",
    ),
    "upkeep": ("run_duties", "prune"),
}
_EITHER = frozenset({"artifacts", "cancel", "wait"})
"""Verbs about a task or a dag, with a path for each."""


def request_verb(name: str, topic: str) -> Callable[..., Any]:
    """A verb that is one request."""
    described = getattr(Queue, name)

    async def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        given = values.bound(described, args, kwargs)
        return await asked(self._server, name, topic, described, given)

    call.__name__ = name
    call.__qualname__ = f"RemoteQueue.{name}"
    call.__doc__ = described.__doc__
    call.__wrapped__ = described  # type: ignore[attr-defined]
    return call


async def asked(server: Server, name: str, topic: str, described: Any, given: dict[str, Any]) -> Any:
    """The answer to a verb that was called with these arguments."""
    found = route(name, topic, given)
    if "by" not in found.takes and "by" not in found.needs:
        # Who asks is known by their token: that is what the server writes down.
        given.pop("by", None)
    if "claim" in given:
        given["task_id"], given["fence"] = held(given.pop("claim"))
        given = values.repaired(given)
    for missing in found.in_path:
        if missing not in given:
            given[missing] = _default(described, missing)
    return await server.ask(found, given)


def route(name: str, topic: str, given: Mapping[str, Any]) -> Verb:
    """How the verb goes over the wire; where it takes a task or a dag, by what it was given."""
    if name in _EITHER:
        target = given.get("target")
        id = target if isinstance(target, str) else getattr(target, "id", None)
        if isinstance(id, str) and id.startswith("dag_"):
            for home in ("dags", topic):
                for found in of(home):
                    if found.name == name and found.path.startswith("/v1/dags/"):
                        return found
    return verb(name, topic)


def _default(described: Any, name: str) -> Any:
    code = described.__code__
    names = code.co_varnames[: code.co_argcount]
    defaults = dict(zip(reversed(names), reversed(described.__defaults__ or ()), strict=False))
    return defaults[name]
