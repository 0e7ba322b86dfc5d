"""What a person reads in a chat or a mail: what happened, to what, and what they can do about it.

Titles, errors and questions are other people's words. In a chat they must not mention anybody or make links, in a mail
they must not become a header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from dibs.model.event import Event
    from dibs.model.question import Question
    from dibs.model.task import Task

MAX_LINE_CHARS = 500
MAX_TITLE_CHARS = 150

_WHAT = {
    "task.dead_lettered": "Given up",
    "task.waiting": "Waits for an answer",
    "task.completed": "Completed",
    "task.cancelled": "Cancelled",
    "task.retrying": "Failed, and is tried again",
    "task.overdue": "Past its deadline",
    "task.escalated": "Keeps failing",
    "dag.failed": "A dag failed",
    "dag.completed": "A dag completed",
    "breaker.opened": "A breaker opened",
    "breaker.closed": "A breaker closed",
    "agent.lost": "An agent is lost",
    "budget.low": "A budget is nearly used up",
    "budget.exhausted": "A budget is used up",
    "hook.disabled": "A hook is disabled",
    "gate.closed": "A gate closed",
    "gap": "Events were missed",
    "ping": "A test",
}
_ADVICE = {
    "breaker.opened": "dibs breaker ls",
    "budget.low": "dibs budget ls",
    "budget.exhausted": "dibs budget ls",
    "hook.disabled": "dibs hook ls",
}
_ABOUT = {"breaker": "type", "budget": "scope", "hook": "hook"}
"""What names the thing in the data of an event about neither task, dag nor agent."""
_REASONS = {"out_of_memory": "Out of memory", "budget_exceeded": "Over its budget"}


class Notice(Struct, frozen=True):
    """A title on one line, and what else there is to know, a line each."""

    title: str
    lines: tuple[str, ...] = ()


def notice(event: Event, task: Task | None = None, question: Question | None = None) -> Notice:
    """What to say of an event. Without its task or question, if they are forgotten, it says less."""
    what = _REASONS.get(event.reason or "") or _WHAT.get(event.type) or event.type
    named = _named(event, task)
    lines = [*_error(event, task), *_question(question), *_where(event, task), *_advice(event, question)]
    title = _line(f"{what}: {named}" if named else what, MAX_TITLE_CHARS)
    return Notice(title, tuple(filter(None, map(_line, lines))))


def as_chat(notice: Notice) -> dict[str, Any]:
    """The notice as chats of Slack's kind take it: marks that would mention somebody or make a link are escaped."""
    text = "\n".join([f"*{_escaped(notice.title)}*", *map(_escaped, notice.lines)])
    return {"text": text}


def _named(event: Event, task: Task | None) -> str:
    if task is not None:
        return f"{task.type} · {task.title}" if task.title else f"{task.type} {task.id}"
    about = event.data.get(_ABOUT.get(event.type.partition(".")[0], ""))
    return str(about or event.task_id or event.dag_id or event.agent or "")


def _error(event: Event, task: Task | None) -> list[str]:
    error = event.data.get("error") or (task.error if task is not None else None)
    if event.type == "gap":
        return [f"Everything up to event {event.seq} was forgotten before it could be told."]
    return [str(error)] if error and event.type != "task.waiting" else []


def _question(question: Question | None) -> list[str]:
    if question is None:
        return []
    return [question.question, f"for {question.assignee}"] if question.assignee else [question.question]


def _where(event: Event, task: Task | None) -> list[str]:
    """Ids and numbers, on one line."""
    parts = [event.task_id or event.dag_id]
    if event.reason:
        parts.append(f"reason {event.reason}")
    if event.agent:
        parts.append(f"agent {event.agent}")
    if task is not None and task.attempts:
        parts.append(f"attempts {task.attempts}")
    if event.type == "breaker.opened":
        parts.append(f"failures {event.data.get('failures', 0)}")
    if event.type.startswith("budget."):
        parts += [f"{name} {event.data[name]}" for name in ("spent", "limit", "unit", "waiting") if name in event.data]
    return [", ".join(part for part in parts if part)] if any(parts) else []


def _advice(event: Event, question: Question | None) -> list[str]:
    if event.type == "task.dead_lettered":
        return [f"dibs dlq show {event.task_id}"]
    if event.type in _ADVICE:
        return [_ADVICE[event.type]]
    return [f"dibs answer {question.id} …"] if question is not None else []


def _line(text: str, longest: int = MAX_LINE_CHARS) -> str:
    """Text on one line without control characters, cut where it gets long."""
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


def _escaped(text: str) -> str:
    # Chats of this kind that are not Slack also take a bare @here to heart.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "@\u200b")
