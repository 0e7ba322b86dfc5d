"""Templates: what schedules and triggers make. A task or a dag as it is written in a file, with places to fill in.

`{{event.data.branch}}` stands for a value: names between dots lead into objects, numbers into lists. Nothing is
computed. A payload or context that is nothing but one such reference becomes the value itself, of whatever JSON type it
is (null, if there is none); inside other text it becomes text. What is filled in stays data: it is not looked at for
references again, and may be named only in what an agent reads or people search by (`FILLED`), never in what decides who
runs it, what it may cost, or which command judges it. What looks like a reference but begins with another word is text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.json import decode, encode
from msgspec.structs import asdict

from dibs.errors import Invalid
from dibs.model.retry import Retry
from dibs.model.task import Content, NewTask
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES = 48 << 10
"""What a template may hold: the whole of it is kept as one document."""
MAX_REFERENCES = 100
"""How often something is filled in: what happened may be large."""
MAX_FILLED_CHARS = 64 << 10
"""How long a text may become by what is filled in."""

WHOLE = ("payload", "context")
"""Where a reference may become any JSON value."""
TEXTS = ("title", "user", "coalesce_key")
LISTS = ("tags", "locks")
FILLED = frozenset({*WHOLE, *TEXTS, *LISTS})

GIVEN = ("key", "created_by")
"""Said by whoever makes it, not by the template."""
TASK_FIELDS = tuple(name for name in NewTask.__struct_fields__ if name not in GIVEN)
DAG_FIELDS = ("title", "tasks", "budget", "on_failure", "escalation", "user")

_REFERENCE = re.compile(r"\{\{\s*((?:event|schedule)(?:\.[^\s{}.]+)*)\s*\}\}")


class DagTemplate(Struct, frozen=True):
    """A dag that is to be made: its title, its tasks, and its options."""

    title: str
    tasks: list[NewTask]
    options: dict[str, Any]


def parse(task: Any, dag: Any) -> dict[str, Any]:
    """What is to be made, checked as far as its shape goes: the parts `task` and `dag`, one of which is None."""
    if (task is None) == (dag is None):
        raise Invalid("say what is to be made: a task or a dag, one of them.", field="task" if task is None else "dag")
    field = "dag" if task is None else "task"
    made = _dag(dag) if task is None else _task(task, "the task", lone=True)
    encoded = validation.json_bytes(made, field, max_bytes=1 << 30)
    if len(encoded) > MAX_BYTES:
        raise Invalid(
            f"{field} has {len(encoded):,} bytes; at most {MAX_BYTES:,} fit into a template. Refer to an artifact.",
            field=field,
        )
    if len(_REFERENCE.findall(encoded.decode())) > MAX_REFERENCES:
        raise Invalid(
            f"{field} has more than {MAX_REFERENCES} references; refer to a larger part at once.", field=field
        )
    return {"task": None, "dag": None, field: decode(encoded)}


def new_task(fields: Mapping[str, Any]) -> NewTask:
    """A task of a template, as `add` takes it."""
    retry = fields.get("retry")
    if not isinstance(retry, dict):
        return NewTask(**fields)
    reasons = {name: tuple(retry[name]) for name in ("retry_on", "no_retry_on") if isinstance(retry.get(name), list)}
    return NewTask(**{**fields, "retry": Retry(**{**retry, **reasons})})


def new_dag(template: Mapping[str, Any]) -> DagTemplate:
    """A dag of a template, as `add_dag` takes it."""
    options = {name: value for name, value in template.items() if name not in ("title", "tasks")}
    return DagTemplate(template["title"], [new_task(each) for each in template["tasks"]], options)


def fill_task(fields: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """A task with what is known in the places of its references."""
    filled = dict(fields)
    for name in WHOLE:
        if name in filled:
            filled[name] = fill(filled[name], known)
    for name in TEXTS:
        if name in filled:
            longest = validation.MAX_TITLE_CHARS if name == "title" else validation.MAX_NAME_CHARS
            filled[name] = _line(filled[name], known, longest) or None
    for name in LISTS:
        if name in filled:
            texts = [_line(each, known, validation.MAX_NAME_CHARS) for each in filled[name]]
            filled[name] = [text for text in texts if text]
    return filled


def fill_dag(template: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """A dag with what is known in the places of its references."""
    filled = {**template, "tasks": [fill_task(each, known) for each in template["tasks"]]}
    filled["title"] = _line(template["title"], known, validation.MAX_TITLE_CHARS) or "untitled"
    if "user" in filled:
        filled["user"] = _line(filled["user"], known, validation.MAX_NAME_CHARS) or None
    return filled


def fill(value: Any, known: Mapping[str, Any]) -> Any:
    """A JSON value with what is known in the places of references; keys of objects stay as they are."""
    if isinstance(value, str):
        whole = _REFERENCE.fullmatch(value.strip())
        return found(whole[1], known) if whole else _text(value, known)
    if isinstance(value, dict):
        return {name: fill(part, known) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [fill(part, known) for part in value]
    return value


def found(path: str, known: Any) -> Any:
    """The value at a dotted path, None if there is none."""
    value = known
    for name in path.split("."):
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list | tuple) and name.isascii() and name.isdigit() and len(name) < 10:
            value = value[int(name)] if int(name) < len(value) else None
        else:
            return None
    return value


def check_path(path: object, field: str) -> str:
    """A dotted path that begins with `event`."""
    text = validation.text(path, field)
    if not _REFERENCE.fullmatch(f"{{{{{text}}}}}") or not text.startswith("event."):
        raise Invalid(f"{field} names values by paths such as event.data.branch, not {text!r:.80}.", field=field)
    return text


def _text(value: str, known: Mapping[str, Any]) -> str:
    text = _REFERENCE.sub(lambda match: _as_text(found(match[1], known)), value)
    return text if len(text) <= max(MAX_FILLED_CHARS, len(value)) else text[:MAX_FILLED_CHARS]


def _line(value: Any, known: Mapping[str, Any], longest: int) -> str:
    """Text of a field that has room for so many characters; what came from outside must not make it unusable."""
    if not isinstance(value, str) or not _REFERENCE.search(value):
        return value  # type: ignore[no-any-return]
    text = "".join(char if char.isprintable() or char in "\t\n" else "\ufffd" for char in _text(value, known))
    return text[:longest].strip()


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else encode(value).decode()


def _task(task: Any, who: str, *, lone: bool) -> dict[str, Any]:
    written = _written(task, who)
    allowed = [name for name in TASK_FIELDS if not (lone and name == "ref")]
    _refuse_unknown(written, allowed, who)
    if "type" not in written:
        raise Invalid(f"{who} has no type.", field="type")
    if isinstance(written.get("retry"), dict):
        _refuse_unknown(written["retry"], Retry.__struct_fields__, f"the retry of {who}")
    for name in LISTS:
        if name in written and not isinstance(written[name], list | tuple):
            raise Invalid(f"{name} must be a list of texts.", field=name)
    for name, value in written.items():
        if name not in FILLED:
            _refuse_references(value, name)
    return written


def _dag(dag: Any) -> dict[str, Any]:
    if not isinstance(dag, dict):
        raise Invalid("dag must be an object with a title and tasks.", field="dag")
    _refuse_unknown(dag, DAG_FIELDS, "the dag")
    validation.text(dag.get("title"), "title", max_chars=validation.MAX_TITLE_CHARS)
    tasks = dag.get("tasks")
    if not isinstance(tasks, list | tuple) or not tasks:
        raise Invalid("a dag needs at least one task: tasks: [{type: …}, …]", field="tasks")
    for name, value in dag.items():
        if name not in ("title", "user", "tasks"):
            _refuse_references(value, name)
    plain = [_task(each, f"task {place}", lone=False) for place, each in enumerate(tasks, 1)]
    return {**dag, "tasks": plain}


def _written(task: Any, who: str) -> dict[str, Any]:
    """A task as plain JSON: what was said of it, without what holds anyway."""
    if isinstance(task, NewTask):
        if isinstance(task.key, Content):
            raise Invalid("key is given by whoever makes the task; leave it out.", field="key")
        try:
            task = decode(encode(asdict(task)))
        except (TypeError, ValueError, RecursionError):
            raise Invalid(f"{who} holds something that is not JSON.", field="task") from None
    if not isinstance(task, dict):
        raise Invalid(f"{who} must be an object such as {{type: research}}.", field="task")
    return {name: value for name, value in task.items() if name not in _DEFAULTS or value != _DEFAULTS[name]}


_DEFAULTS = {
    name: list(value) if isinstance(value, tuple) else value
    for name, value in asdict(NewTask("")).items()
    if name != "type"
}


def _refuse_unknown(written: Mapping[Any, Any], known: Any, where: str) -> None:
    for name in written:
        if name in GIVEN:
            raise Invalid(f"{name} is given by whoever makes it; leave it out.", field=str(name))
        if name not in known:
            raise Invalid(f"{where} has an unknown field {str(name)[:60]!r}.", field=str(name)[:60])


def _refuse_references(value: Any, field: str) -> None:
    """What decides must not come from outside."""
    texts = [value] if isinstance(value, str) else []
    if isinstance(value, dict | list | tuple):
        texts = [encode(value).decode()]
    if any(_REFERENCE.search(text) for text in texts):
        raise Invalid(f"{field} cannot be filled in; references may stand in {', '.join(sorted(FILLED))}.", field=field)
