"""From what a user wrote (`NewTask`) to what a store inserts (`Draft`): checked, refs resolved, lanes known.

Whatever is wrong is refused here, before any store sees it, with the field named.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeGuard

from msgspec.json import encode
from msgspec.structs import asdict, replace

from dibs.errors import CycleDetected, DibsError, Invalid
from dibs.kinds import is_like, kind_of
from dibs.model.instants import from_micros, seconds
from dibs.model.task import Content, NewTask, Task
from dibs.rules import budgets, graph, validation
from dibs.stores.values import DagDraft, Dependency, Draft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.kinds import Kind


class Planned:
    """A task that will be added when its dag is submitted. Its id is known already, so others can come `after` it."""

    __slots__ = ("id", "spec")

    def __init__(self, id: str, spec: NewTask) -> None:
        self.id = id
        self.spec = spec


MANY = 300
"""Tasks from which on it pays to draft some while others are on their way."""


_DEFAULTS = {**asdict(NewTask("")), "type": None}


def drafts(
    specs: Sequence[NewTask | Planned],
    *,
    project: str,
    now: int,
    new_id: Callable[[str], str],
    dag_id: str = "",
    before: int = 0,
    total: int | None = None,
) -> list[Draft]:
    """Check tasks of one call and resolve what they say of each other; in the order given.

    Raises Invalid, or CycleDetected naming the cycle. An error names the ref (or place) of the task at fault: these are
    the tasks after the first `before` of `total`.
    """
    total = len(specs) if total is None else total
    if total > validation.MAX_TASKS_PER_CALL:
        raise Invalid(
            f"{total:,} tasks in one call; at most {validation.MAX_TASKS_PER_CALL:,} are taken. Split them.",
            field="tasks",
        )
    if total == 1 and type(specs[0]) is NewTask and specs[0].ref is None:
        # The common case of the common case.
        return [_draft(new_id("task"), specs[0], {}, project=project, now=now, dag_id=dag_id)]
    ids = [item.id if isinstance(item, Planned) else new_id("task") for item in specs]
    plain = [item.spec if isinstance(item, Planned) else item for item in specs]
    for spec in plain:
        if not isinstance(spec, NewTask):
            raise Invalid(f"tasks must be dibs.NewTask, not {type(spec).__name__}.", field="tasks")
    refs = _refs(plain, ids)
    made = []
    linked = False
    for place, (id, spec) in enumerate(zip(ids, plain, strict=True)):
        try:
            draft = _draft(id, spec, refs, project=project, now=now, dag_id=dag_id)
        except DibsError as error:
            say_of_whom(error, spec, before + place, total)
            raise
        linked = linked or bool(draft.dependencies)
        made.append(draft)
    if linked:
        _weigh(made)
    return made


def drafts_alone(
    specs: Sequence[NewTask], *, project: str, now: int, new_id: Callable[[str], str], before: int, total: int
) -> list[Draft]:
    """As `drafts`, of tasks that `are_alone`: in half the time."""
    payloads = validation.many_json_bytes([spec.payload for spec in specs], max_bytes=validation.MAX_PAYLOAD_BYTES)
    if payloads is None or total > validation.MAX_TASKS_PER_CALL:
        return drafts(specs, project=project, now=now, new_id=new_id, before=before, total=total)
    made = []
    last: NewTask | None = None
    for place, (spec, payload) in enumerate(zip(specs, payloads, strict=True)):
        try:
            if last is None or not is_like(last, spec):
                kind = kind_of(spec, project)
                last = replace(spec)
            task = _task(new_id("task"), spec, kind)
        except DibsError as error:
            say_of_whom(error, spec, before + place, total)
            raise
        made.append(Draft(task=task, payload=payload, lane=kind.lane, fallback_lane=kind.fallback_lane, kind=kind))
    return made


def are_alone(specs: Sequence[NewTask | Planned]) -> TypeGuard[Sequence[NewTask]]:
    """Whether these are many standalone tasks that are ready at once, so that none needs to be seen before another."""
    return len(specs) >= MANY and all(
        type(spec) is NewTask
        and not (spec.after or spec.after_ended or spec.approval or spec.locks or spec.coalesce_key)
        and spec.dag is spec.key is spec.ref is spec.run_after is spec.deadline is None
        and (spec.expects is None or not _is_open(spec.expects))
        for spec in specs
    )


def dag_draft(
    title: str,
    tasks: Sequence[NewTask | Planned],
    *,
    id: str,
    project: str,
    key: str | None = None,
    budget: float | None = None,
    on_failure: str = "fail_fast",
    escalation: Any = None,
    user: str | None = None,
    created_by: str | None = None,
) -> DagDraft:
    """What is said of a dag as a whole, checked."""
    allowed = None if budget is None else budgets.parse_amount(budget, "budget", "usd")
    given = [] if allowed is None else [f"budget {allowed}"]
    ladder = None
    if escalation is not None:
        from dibs.rules.escalation import as_json, parse

        ladder = as_json(parse(escalation))
        given.append(f"escalation {ladder}")
    if not tasks:
        raise Invalid("a dag needs at least one task.", field="tasks")
    graph.parse_on_failure(on_failure)
    return DagDraft(
        id=id,
        project=project,
        title=validation.text(title, "title", max_chars=validation.MAX_TITLE_CHARS),
        key=None if key is None else validation.text(key, "key"),
        body_hash=None if key is None else digest(tasks, title, on_failure, user, created_by, *given),
        on_failure=on_failure,
        user=None if user is None else validation.text(user, "user"),
        created_by=None if created_by is None else validation.text(created_by, "created_by"),
        budget=allowed,
        ladder=ladder,
    )


def owned(specs: Sequence[NewTask | Planned], user: str | None, created_by: str | None) -> Sequence[NewTask | Planned]:
    """Tasks that do not say themselves whom they are for, and who made them, with what is said here."""
    if user is None and created_by is None:
        return specs
    return [
        Planned(item.id, _owned(item.spec, user, created_by))
        if isinstance(item, Planned)
        else _owned(item, user, created_by)
        for item in specs
    ]


def _owned(spec: NewTask, user: str | None, created_by: str | None) -> NewTask:
    return replace(
        spec,
        user=user if spec.user is None else spec.user,
        created_by=created_by if spec.created_by is None else spec.created_by,
    )


def insertion_order(made: list[Draft]) -> list[Draft]:
    """Parents before children; the order given (the same list) where nothing else decides."""
    if not any(draft.dependencies for draft in made):
        return made
    inside = {draft.task.id: draft for draft in made}
    edges = [
        (dependency.parent, draft.task.id)
        for draft in made
        for dependency in draft.dependencies
        if dependency.parent in inside
    ]
    if not edges:
        return made
    return [inside[id] for id in graph.order(inside, edges)]


def dependencies(
    after: Iterable[Any], after_ended: Iterable[Any], refs: dict[str, str] | None = None
) -> tuple[Dependency, ...]:
    """Edges from ids, tasks or refs. Naming a task twice is refused."""
    found: dict[str, Dependency] = {}
    for field, kind, given in (("after", "after", after), ("after_ended", "after_ended", after_ended)):
        if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
            raise Invalid(f"{field} must be a list of ids, tasks or refs; write [{given!r}].", field=field)
        for item in given:
            parent = _parent(item, field, refs or {})
            if parent in found:
                raise Invalid(f"{field} names {parent} twice.", field=field)
            found[parent] = Dependency(parent, kind)
    return tuple(found.values())


def digest(specs: Iterable[NewTask | Planned], *more: str | None) -> str:
    """A hash of tasks as they were sent, equal for equal requests: the fields given, and parents by place or id."""
    items = list(specs)
    places = {item.id: f"#{place}" for place, item in enumerate(items) if isinstance(item, Planned)}
    body = [_sent(item.spec if isinstance(item, Planned) else item, places) for item in items]
    try:
        text = encode([*more, body], enc_hook=repr, order="deterministic")
    except (TypeError, ValueError, RecursionError):
        raise Invalid("a payload that is not JSON, or nested too deeply, cannot be stored.", field="payload") from None
    return blake2b(text, digest_size=16).hexdigest()


def _sent(spec: NewTask, places: dict[str, str]) -> dict[str, Any]:
    """The fields that differ from their defaults. Tasks of the same call are named by their place in it."""
    sent = {name: value for name, value in asdict(spec).items() if value != _DEFAULTS.get(name)}
    for field in ("after", "after_ended"):
        if field in sent:
            ids = [item if isinstance(item, str) else getattr(item, "id", item) for item in sent[field]]
            sent[field] = [places.get(id, id) if isinstance(id, str) else id for id in ids]
    return sent


def _draft(id: str, spec: NewTask, refs: dict[str, str], *, project: str, now: int, dag_id: str) -> Draft:
    payload = validation.json_bytes(spec.payload, "payload", max_bytes=validation.MAX_PAYLOAD_BYTES)
    kind = kind_of(spec, project)
    task = _task(id, spec, kind)
    if spec.ref is not None:
        task.ref = spec.ref
    if spec.run_after is not None:
        task.run_after = from_micros(validation.instant(spec.run_after, "run_after", now, durations=True))
    elif kind.window_s:
        task.run_after = task.gathers_until = from_micros(now + seconds(kind.window_s))
    if spec.deadline is not None:
        task.deadline = from_micros(validation.instant(spec.deadline, "deadline", now, durations=True))
    named = _dag_id(spec.dag)
    if named and dag_id:
        raise Invalid("dag is given by the call; leave it out of its tasks.", field="dag")
    task.dag_id = dag_id or named
    body_hash = None
    if spec.key is not None:
        body_hash = validation.content_key(task.type, payload)
        task.key = body_hash if isinstance(spec.key, Content) else validation.text(spec.key, "key")
    edges: tuple[Dependency, ...] = ()
    if spec.after or spec.after_ended:
        edges = dependencies(spec.after, spec.after_ended, refs)
        if any(edge.parent == id for edge in edges):
            raise CycleDetected(f"{spec.ref or id} would wait for itself.", field="after")
    return Draft(
        task=task,
        payload=payload,
        lane=kind.lane,
        fallback_lane=kind.fallback_lane,
        dependencies=edges,
        body_hash=body_hash,
        kind=kind,
    )


def _task(id: str, spec: NewTask, kind: Kind) -> Task:
    """The task, with what its kind has and what it says in its own words."""
    task: Task = kind.task.__copy__()  # type: ignore[attr-defined]
    task.id = id
    task.payload = spec.payload
    if spec.title is not None:
        task.title = validation.text(spec.title, "title", max_chars=validation.MAX_TITLE_CHARS)
    if spec.context is not None:
        if not isinstance(spec.context, dict):
            raise Invalid("context must be an object with text keys.", field="context")
        validation.json_bytes(spec.context, "context", max_bytes=validation.MAX_PAYLOAD_BYTES)
        if "refs" in spec.context:
            from dibs.rules import refs

            refs.check(spec.context["refs"])
        task.context = spec.context
    return task


def say_of_whom(error: DibsError, spec: NewTask, place: int, total: int) -> None:
    """Put the task at fault before what is wrong with it, if there are several."""
    if total > 1:
        who = f"task {spec.ref!r}" if spec.ref else f"task {place + 1} of {total}"
        error.message = f"{who}: {error.message}"
        error.args = (error.message,)


def _refs(specs: Sequence[NewTask], ids: Sequence[str]) -> dict[str, str]:
    refs: dict[str, str] = {}
    for id, spec in zip(ids, specs, strict=True):
        if spec.ref is None:
            continue
        ref = validation.text(spec.ref, "ref")
        if ref in refs:
            raise Invalid(f"ref {ref!r} is used twice in this call.", field="ref")
        refs[ref] = id
    return refs


def _parent(item: Any, field: str, refs: dict[str, str]) -> str:
    if isinstance(item, str):
        return refs.get(item) or validation.text(item, field)
    id = getattr(item, "id", None)
    if not isinstance(id, str):
        raise Invalid(f"{field} takes ids, tasks or refs of the same call, not {item!r:.80}.", field=field)
    return id


def _dag_id(dag: Any) -> str:
    if dag is None:
        return ""
    return validation.text(dag if isinstance(dag, str) else getattr(dag, "id", dag), "dag")


def _is_open(expects: Any) -> bool:
    """Whether a contract is completed by what its type wants, for which somebody has to look."""
    from dibs import reporting

    return reporting.is_open(expects)


def _weigh(made: Sequence[Draft]) -> None:
    """Refuse cycles inside the call; note how long a chain hangs below each task."""
    edges = [(edge.parent, draft.task.id) for draft in made for edge in draft.dependencies]
    cycle = graph.find_cycle(edges)
    if cycle:
        names = {draft.task.id: draft.task.ref or draft.task.id for draft in made}
        graph.refuse_cycle([names.get(id, id) for id in cycle])
    below = graph.weights(edges)
    for draft in made:
        draft.weight = below.get(draft.task.id, 0)
