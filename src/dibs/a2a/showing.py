"""Where a task is, in the protocol's words.

| here | there |
|---|---|
| not claimed yet | submitted |
| claimed, running, judged, to be tried again, waiting for children or for somebody of ours | working |
| waiting for the answer to a question that whoever sent the task may answer | input-required |
| completed | completed; the output and the artifacts are artifacts |
| dead-lettered | failed |
| cancelled | canceled; rejected, if it was not approved |

Approvals, validations and escalations are for our own people: whoever sent a task does not approve it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from a2a.types.a2a_pb2 import Artifact, Message, Part, Role, Task, TaskState, TaskStatus
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Struct as ProtoStruct
from msgspec import Struct
from msgspec.json import encode

from dibs.a2a.content import TEXT, arrives, part_of
from dibs.model.question import Question
from dibs.model.status import FINAL, Status
from dibs.model.task import Task as Ours
from dibs.rules.questions import ANSWERED, OPEN, QUESTION

if TYPE_CHECKING:
    from datetime import datetime

    from dibs.queue import Queue

TAG = "a2a"
"""Every task that came this way has it; and with a colon and the id of its context behind it, another one."""
OUTPUT = "output"
ENDED = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)
STATUSES: dict[int, tuple[str, ...]] = {
    TaskState.TASK_STATE_SUBMITTED: (Status.PENDING, Status.SCHEDULED, Status.READY, Status.WAITING),
    TaskState.TASK_STATE_WORKING: tuple(status for status in Status if status not in FINAL),
    TaskState.TASK_STATE_INPUT_REQUIRED: (Status.WAITING,),
    TaskState.TASK_STATE_COMPLETED: (Status.COMPLETED,),
    TaskState.TASK_STATE_FAILED: (Status.DEAD_LETTERED,),
    TaskState.TASK_STATE_CANCELED: (Status.CANCELLED,),
    TaskState.TASK_STATE_REJECTED: (Status.CANCELLED,),
}
"""Of which statuses the tasks of a state may be. Others have none."""
_NOT_APPROVED = "it was not approved"


class Seen(Struct):
    """A task at one moment, and what it asks of whoever sent it."""

    task: Ours
    question: Question | None = None

    @property
    def state(self) -> int:
        return state_of(self.task, self.question)

    @property
    def has_ended(self) -> bool:
        return self.task.status in FINAL


def is_ours(task: Ours) -> bool:
    """Whether a task came this way: no other one is known here."""
    return TAG in task.tags


def asks_sender(task: Ours, question: Question) -> bool:
    """Whether an open question is for whoever sent the task: an agent asked it, of nobody else."""
    return (
        question.kind == QUESTION
        and question.status == OPEN
        and (question.assignee is None or question.assignee == task.created_by)
    )


async def look(queue: Queue, task: Ours) -> Seen:
    """What there is to know of a task that was just read."""
    if task.status is not Status.WAITING:
        return Seen(task)
    asked = await queue.questions_of(task.id)
    return Seen(task, next((question for question in asked if asks_sender(task, question)), None))


def state_of(task: Ours, question: Question | None) -> int:
    """Where a task is, in the protocol's words."""
    match task.status:
        case Status.COMPLETED:
            return TaskState.TASK_STATE_COMPLETED
        case Status.DEAD_LETTERED:
            return TaskState.TASK_STATE_FAILED
        case Status.CANCELLED:
            refused = (task.cancel_reason or "").startswith(_NOT_APPROVED)
            return TaskState.TASK_STATE_REJECTED if refused else TaskState.TASK_STATE_CANCELED
        case Status.WAITING if question is not None:
            return TaskState.TASK_STATE_INPUT_REQUIRED
        case _:
            return TaskState.TASK_STATE_WORKING if task.fence else TaskState.TASK_STATE_SUBMITTED


def context_of(task: Ours) -> str:
    """The context that a task belongs to: the one of its message."""
    return str(_kept(task).get("context_id") or task.dag_id)


def kept(context_id: str, message_id: str, text: str) -> dict[str, Any]:
    """What a task's `context` keeps of its message, beside the payload."""
    return {TAG: {"context_id": context_id, "message_id": message_id, "text": text}}


def _kept(task: Ours) -> dict[str, Any]:
    found = task.context.get(TAG) if isinstance(task.context, dict) else None
    return found if isinstance(found, dict) else {}


def shown(seen: Seen, *, url: str, asked: list[Question] | None = None, artifacts: bool = True) -> Task:
    """A task as the protocol has it. `asked` are its questions, if its history is to be told."""
    task = seen.task
    told = Task(id=task.id, context_id=context_of(task), status=status_of(seen), metadata=facts_of(task))
    if artifacts:
        told.artifacts.extend(artifacts_of(task, url))
    if asked is not None:
        told.history.extend(history_of(task, asked))
    return told


def status_of(seen: Seen) -> TaskStatus:
    """Its state, since when, and in words what there is to say about it."""
    task = seen.task
    status = TaskStatus(state=_state(seen.state), timestamp=task.updated_at or task.created_at)
    said = _question(task, seen.question) if seen.question is not None else _words(task)
    if said is not None:
        status.message.CopyFrom(said)
    return status


def working(task: Ours, note: str | None, progress: float | None, at: datetime) -> TaskStatus:
    """How far the work is, as its agent said."""
    status = TaskStatus(state=TaskState.TASK_STATE_WORKING, timestamp=at)
    said = _progress(task, note, progress, f"{task.id}-{at.timestamp():.6f}")
    if said is not None:
        status.message.CopyFrom(said)
    return status


def facts_of(task: Ours) -> ProtoStruct:
    """What else may be of use to whoever sent a task."""
    facts: dict[str, Any] = {"skill": task.type, "attempts": task.attempts}
    for name in ("progress", "cost_usd"):
        value = getattr(task, name)
        if value is not None:
            facts[name] = value
    return _struct(facts)


def artifacts_of(task: Ours, url: str) -> list[Artifact]:
    """What a completed task made: its output, and a link to each of its artifacts (to be read with the same token)."""
    if task.status is not Status.COMPLETED:
        return []
    made = [] if task.output is None else [Artifact(artifact_id=OUTPUT, name=OUTPUT, parts=[part_of(task.output)])]
    for kept in task.artifacts:
        link = f"{url}/v1/artifacts?ref={quote(kept.digest, safe='')}"
        part = Part(url=link, filename=kept.name, media_type=kept.media_type or "application/octet-stream")
        made.append(Artifact(artifact_id=f"artifact:{kept.name}", name=kept.name, parts=[part]))
    return made


def history_of(task: Ours, asked: list[Question]) -> list[Message]:
    """What was said, oldest first: the message that the task was made of, its questions, and the answers to them."""
    key = _kept(task).get("text", "")
    payload = dict(task.payload) if isinstance(task.payload, dict) else {}
    text = payload.pop(key, None)
    parts = ([Part(text=text, media_type=TEXT)] if isinstance(text, str) else []) + (
        [part_of(payload)] if payload else []
    )
    first = _message(task, str(_kept(task).get("message_id") or task.id), parts, Role.ROLE_USER)
    said = [first]
    for question in asked:
        if question.kind != QUESTION:
            continue
        said.append(_question(task, question))
        if question.status == ANSWERED:
            said.append(_message(task, f"{question.id}-answer", [part_of(question.answer)], Role.ROLE_USER))
    return said


def _words(task: Ours) -> Message | None:
    """What there is to say about where a task is; None: nothing."""
    id = f"{task.id}-{task.fence}-{task.status}"
    match task.status:
        case Status.DEAD_LETTERED:
            return _told(task, id, task.error or task.reason or "it failed")
        case Status.CANCELLED:
            return None if task.cancel_reason is None else _told(task, id, task.cancel_reason)
        case Status.RETRYING:
            why = f"attempt {task.attempts} of {task.max_attempts} failed: {task.error or task.reason}"
            return _told(task, id, f"{why}; it is tried again")
        case Status.WAITING:
            return _told(task, id, "it waits for somebody on this side")
        case Status.CLAIMED | Status.RUNNING:
            return _progress(task, task.note, task.progress, id)
        case _:
            return None


def _progress(task: Ours, note: str | None, progress: float | None, id: str) -> Message | None:
    if note is None and progress is None:
        return None
    said = _told(task, id, note if note is not None else f"{progress:.0%}")
    if progress is not None:
        said.metadata.CopyFrom(_struct({"progress": progress}))
    return said


def _question(task: Ours, question: Question) -> Message:
    """A question, with its schema beside it: what an answer must look like."""
    said = _told(task, question.id, question.question)
    if question.schema is not None:
        schema = question.schema if arrives(question.schema) else encode(question.schema).decode()
        said.metadata.CopyFrom(_struct({"schema": schema}))
    return said


def _told(task: Ours, id: str, text: str) -> Message:
    return _message(task, id, [Part(text=text, media_type=TEXT)], Role.ROLE_AGENT)


def _message(task: Ours, id: str, parts: list[Part], role: Any) -> Message:
    return Message(message_id=id, task_id=task.id, context_id=context_of(task), role=role, parts=parts)


def _struct(value: dict[str, Any]) -> ProtoStruct:
    return ParseDict(value, ProtoStruct())


def _state(number: int) -> Any:
    return number
