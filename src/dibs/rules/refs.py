"""References: how a task's context names what it wants to know, and what its claim gets in their place.

`task:ID:output` is what that task handed in, `task:ID:artifact:NAME` an artifact of it, and `artifact:NAME` the newest
artifact of that name in the task's own dag. They are resolved when the task is claimed. What is not there is said in
its place, and what is large stays a reference: no reference keeps a claim from being handed out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import to_builtins
from msgspec.json import encode

from dibs.errors import Invalid
from dibs.model.status import Status
from dibs.rules import validation
from dibs.rules.artifacts import is_digest, newest
from dibs.rules.handover import MAX_INPUT_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dibs.model.artifact import Artifact
    from dibs.model.task import Task

MAX_REFS = 100
MAX_CHARS = 1_000
MAX_TOTAL_BYTES = 8 << 20
"""Together the outputs in one claim's context have at most so many bytes; those after them stay references."""

OUTPUT, ARTIFACT, BYTES = "output", "artifact", "bytes"
_FORMS = "task:ID:output, task:ID:artifact:NAME or artifact:NAME"


class Ref(NamedTuple):
    """What a reference means. Without a task an artifact is looked for in the dag; `name` of bytes is their digest."""

    kind: str
    task_id: str | None = None
    name: str = ""


def parse(text: Any, field: str = "ref") -> Ref:
    """What this reference means; digests (`sha256:…`) are references too."""
    known = validation.text(text, field, max_chars=MAX_CHARS)
    if is_digest(known):
        return Ref(BYTES, None, known)
    scheme, _, rest = known.partition(":")
    if scheme == "artifact" and rest:
        return Ref(ARTIFACT, None, rest)
    if scheme == "task":
        task_id, found, name = rest.partition(":artifact:")
        if found and task_id and name:
            return Ref(ARTIFACT, task_id, name)
        task_id = rest.removesuffix(":output")
        if task_id and task_id != rest:
            return Ref(OUTPUT, task_id)
    raise Invalid(f"{known!r:.120} is not a reference; write {_FORMS}.", field=field)


def check(value: Any) -> None:
    """Refuse what is not a list of references."""
    if not isinstance(value, list | tuple):
        raise Invalid(f"context.refs must be a list of references: {_FORMS}.", field="context")
    if len(value) > MAX_REFS:
        raise Invalid(f"context.refs has {len(value)} references; at most {MAX_REFS} are resolved.", field="context")
    for ref in value:
        if parse(ref, "context").kind == BYTES:
            raise Invalid(f"context.refs takes no digests; write {_FORMS}.", field="context")


def wanted(context: Any) -> list[str]:
    """The references in a task's context, each once."""
    refs = context.get("refs") if isinstance(context, dict) else None
    return list(dict.fromkeys(refs)) if isinstance(refs, list) else []


def tasks_in(refs: Iterable[str]) -> list[str]:
    """The tasks that must be known to resolve these."""
    return list(dict.fromkeys(task_id for ref in refs if (task_id := parse(ref).task_id) is not None))


def names_in(refs: Iterable[str]) -> list[str]:
    """The names that must be looked for in the dag."""
    found = [parse(ref) for ref in refs]
    return [ref.name for ref in found if ref.kind == ARTIFACT and ref.task_id is None]


def resolved(
    refs: Sequence[str], tasks: Mapping[str, Task | None], in_dag: Sequence[Artifact], room: int = MAX_TOTAL_BYTES
) -> tuple[dict[str, Any], int]:
    """What each of these references means now: outputs as they are, artifacts by name, digest, size and media type.

    A large output is `{"ref": …}`. What is missing is `{"ref": …, "missing": why}`. `in_dag`: the artifacts of the dag
    in the order in which they were put. `room`: how many bytes the outputs may have together; what is left of it is
    answered too.
    """
    known = newest(in_dag)
    answer: dict[str, Any] = {}
    for text in refs:
        ref = parse(text)
        task = None if ref.task_id is None else tasks.get(ref.task_id)
        if ref.task_id is not None and task is None:
            answer[text] = _missing(text, f"There is no task {ref.task_id}.")
        elif ref.kind == ARTIFACT:
            answer[text] = _artifact(text, ref.name, known if task is None else newest(task.artifacts))
        else:
            assert task is not None
            answer[text], size = _output(text, task, room)
            room -= size
    return answer, room


def _artifact(text: str, name: str, known: Mapping[str, Artifact]) -> Any:
    found = known.get(name)
    return _missing(text, f"There is no artifact {name!r} yet.") if found is None else to_builtins(found)


def _output(text: str, task: Task, room: int) -> tuple[Any, int]:
    """An output, and how many bytes of the room it takes."""
    if task.status is not Status.COMPLETED:
        return _missing(text, f"Task {task.id} is {task.status}."), 0
    size = len(encode(task.output))
    if size > min(MAX_INPUT_BYTES, room):
        return {"ref": text}, 0
    return task.output, size


def _missing(text: str, why: str) -> dict[str, str]:
    return {"ref": text, "missing": why}
