"""Tasks and dags of the queue as tasks of MCP's Tasks extension (SEP-2663).

A client that has the extension gets a handle from `add` with `wait`, and asks for it with `tasks/get` until it has
ended, or listens (`listening`); nothing is kept for it but the task itself. While somebody has to be asked it is
`input_required`, and the client's user may answer (`tasks/update`). A dead letter is `completed` with an error in its
result: the request worked, the work did not. What was cancelled is `cancelled`. `failed` is for faults of the protocol,
of which a task has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.mcp import answers
from dibs.model.status import DagStatus, Status
from dibs.rules import questions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from dibs.model.dag import Dag
    from dibs.model.question import Question
    from dibs.model.task import Task
    from dibs.queue import Queue

EXTENSION = "io.modelcontextprotocol/tasks"
POLL_MS = 1_000
MOST_ASKING = 50
"""For how many tasks of a dag it is looked what they ask."""

_FLAT = frozenset({"string", "number", "integer", "boolean"})
ANSWER = "answer"
"""The name of an answer in the form that its person fills in, if it is not a form by itself."""
_APPROVE = {"type": "boolean", "title": "Approve"}

Handle = dict[str, Any]


async def created(queue: Queue, id: str) -> Handle:
    """The handle of what was just added."""
    found = await _get(queue, id)
    return _base(found, _status_of(found))


async def get(queue: Queue, id: str, *, may_ask: bool) -> Handle:
    """Where it is. `may_ask`: the client's user can be asked."""
    found = await _get(queue, id)
    status = _status_of(found)
    if status == "working" and may_ask:
        requests = {question.id: elicitation(question) for question in await open_questions(queue, found)}
        if requests:
            return {**_base(found, "input_required"), "inputRequests": requests}
    handle = _base(found, status)
    if status == "completed":
        handle["result"] = _result(found)
    return handle


async def update(queue: Queue, id: str, responses: dict[str, Any], *, by: str) -> None:
    """Take the answers to what it asks. Those to something else, or that was answered before, are not looked at."""
    found = await _get(queue, id)
    asked = {question.id: question for question in await open_questions(queue, found)}
    for name, response in responses.items():
        question = asked.get(name)
        if question is not None and isinstance(response, dict):
            said, value = answered(question, response)
            if said:
                await queue.answer(question.id, value, by=by)


async def cancel(queue: Queue, id: str) -> None:
    """Cancel it, if it has not ended."""
    await _get(queue, id)
    await queue.cancel(id, "cancelled by an MCP client")


async def _get(queue: Queue, id: str) -> Task | Dag:
    return await queue.get_dag(id) if id.startswith("dag_") else await queue.get(id)


_TASKS = {Status.COMPLETED: "completed", Status.DEAD_LETTERED: "completed", Status.CANCELLED: "cancelled"}
_DAGS = {DagStatus.COMPLETED: "completed", DagStatus.FAILED: "completed", DagStatus.CANCELLED: "cancelled"}


def _status_of(found: Any) -> str:
    return _TASKS.get(found.status) or _DAGS.get(found.status) or "working"


def _base(found: Any, status: str) -> Handle:
    handle: Handle = {
        "taskId": found.id,
        "status": status,
        "statusMessage": _message(found),
        "createdAt": _iso(found.created_at),
        "lastUpdatedAt": _iso(_updated_at(found)),
        "ttlMs": None,
    }
    return handle if has_ended(handle) else {**handle, "pollIntervalMs": POLL_MS}


def has_ended(handle: Handle) -> bool:
    """Whether nothing more will come of it."""
    return handle["status"] in ("completed", "cancelled")


def _message(found: Any) -> str:
    """Where it is, in the queue's own word, and what its agent says."""
    if hasattr(found, "counts"):
        counts = ", ".join(f"{count} {status}" for status, count in found.counts.items() if count)
        return f"{found.status}: {counts}" if counts else str(found.status)
    said = [found.status]
    if found.progress is not None and _status_of(found) == "working":
        said.append(f"{found.progress:.0%}")
    said += [text[:500] for text in (found.cancel_reason, found.error, found.note) if text][:1]
    return ": ".join(said)


def _updated_at(found: Any) -> datetime | None:
    if hasattr(found, "counts"):
        known = [found.created_at, found.started_at, found.ended_at, *(task.updated_at for task in found.tasks)]
        return max((moment for moment in known if moment is not None), default=None)
    updated: datetime | None = found.updated_at or found.created_at
    return updated


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _result(found: Any) -> dict[str, Any]:
    """What the call would have answered if it had waited."""
    if hasattr(found, "counts"):
        last = [task for task in found.tasks if task.id in set(found.leaves)]
        outputs = {task.ref or task.id: _output(task) for task in last if task.status == Status.COMPLETED}
        told: Any = {"dag": found.id, "status": found.status, "outputs": outputs}
        bad = [answers.brief(task) for task in found.tasks if task.status == Status.DEAD_LETTERED]
        failed = found.status != DagStatus.COMPLETED
        text = answers.text({**told, "dead_letters": bad} if failed else told)
    else:
        failed = found.status != Status.COMPLETED
        if failed:
            text = answers.text(answers.lean({"task": found.id, "error": found.error, "reason": found.reason}))
        else:
            output = _output(found)
            text = output if isinstance(output, str) else answers.text(output)
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def _output(task: Task) -> Any:
    """What a task made; its beginning, if that is long."""
    return answers.cut(task.output, f"dibs://task/{task.id}/output")


# Who is asked


async def open_questions(queue: Queue, found: Any) -> list[Question]:
    """What it waits for somebody to say."""
    waiting: Sequence[Task] = found.tasks if hasattr(found, "counts") else [found]
    waiting = [task for task in waiting if task.status == Status.WAITING][:MOST_ASKING]
    asked = [question for task in waiting for question in await queue.questions_of(task)]
    return [question for question in asked if question.status == "open"]


def elicitation(question: Question) -> dict[str, Any]:
    """A question as a form for the client's user."""
    message = question.question or f"May {question.title or question.type} go on?"
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": _form(question)},
    }


def answered(question: Question, response: dict[str, Any]) -> tuple[bool, Any]:
    """Whether somebody said something, and what. Whoever declines an approval refuses it; a question stays open."""
    content = response.get("content")
    if response.get("action") != "accept" or not isinstance(content, dict):
        refused = response.get("action") == "decline" and question.kind == questions.APPROVAL
        return refused, False
    if question.kind == questions.APPROVAL:
        return True, content.get("approve")
    if question.kind == questions.VALIDATION or _is_form(question.schema):
        return True, content
    return True, content.get(ANSWER)


def _form(question: Question) -> dict[str, Any]:
    if question.kind == questions.APPROVAL:
        return _fields({"approve": _APPROVE})
    if question.kind == questions.VALIDATION:
        reason = {"type": "string", "title": "If not: why"}
        return {**_fields({"approve": _APPROVE, "reason": reason}), "required": ["approve"]}
    if _is_form(question.schema):
        kept = ("type", "properties", "required")
        return {name: question.schema[name] for name in kept if name in question.schema}
    schema = question.schema if _is_flat(question.schema) else {"type": "string"}
    return _fields({ANSWER: schema})


def _fields(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _is_form(schema: Any) -> bool:
    """Whether clients can show it as it is: an object of plain fields."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return False
    properties = schema.get("properties")
    return isinstance(properties, dict) and bool(properties) and all(map(_is_flat, properties.values()))


def _is_flat(schema: Any) -> bool:
    return isinstance(schema, dict) and isinstance(schema.get("type"), str) and schema["type"] in _FLAT
