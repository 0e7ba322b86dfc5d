"""Parameters that are more than a JSON value: tasks of a list, retry policies, journal entries, outcomes.

Their names are checked here; their values by the verb that takes them, in the words it always has.
"""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Struct, ValidationError, convert
from msgspec.json import decode, encode

from dibs.drafting import Planned
from dibs.errors import DibsError, Invalid
from dibs.model.artifact import Artifact
from dibs.model.ended import Ended
from dibs.model.retry import Retry
from dibs.model.task import CONTENT, NewTask
from dibs.rules.validation import text, whole
from dibs.server.bodies import known, missing
from dibs.stores.values import Entry, Renewal, Usage
from dibs.wire.topics.tasks import IN_A_LIST

T = TypeVar("T", bound=Struct)
_ENDED = frozenset(Ended.__struct_fields__)
_ALPHABET = frozenset("0123456789abcdefghjkmnpqrstvwxyz")
KINDS = ("step", "checkpoint", "log", "made")
"""The kinds of journal entries that a claim may write by itself."""


def options(given: dict[str, Any]) -> dict[str, Any]:
    """What a new task says, in the words of `NewTask`."""
    retry = given.get("retry")
    if isinstance(retry, dict):
        known(retry, Retry.__struct_fields__, "retry")
        given["retry"] = Retry(**_tuples(retry))
    key = given.get("key")
    if isinstance(key, dict):
        if key != {"content": True}:
            raise Invalid('key must be text, or {"content": true}.', field="key")
        given["key"] = CONTENT
    elif key is not None and not isinstance(key, str):
        raise Invalid('key must be text, or {"content": true}.', field="key")
    return given


def tasks(given: Any) -> list[NewTask | Planned]:
    """The tasks of a list. An error says which of them is at fault."""
    if not isinstance(given, list):
        raise Invalid("tasks must be a list of tasks: objects with at least a type.", field="tasks")
    found: list[NewTask | Planned] = []
    for place, each in enumerate(given):
        try:
            if not isinstance(each, dict):
                raise Invalid("tasks must be a list of objects with at least a type.", field="tasks")
            known(each, IN_A_LIST, "a task")
            missing(each, ("type",))
            id = each.pop("id", None)
            task = NewTask(**options(each))
            found.append(task if id is None else Planned(task_id(id), task))
        except DibsError as error:
            if len(given) > 1:
                raise Invalid(f"task {place}: {error.message}", code=error.code, field=error.field) from None
            raise
    return found


def task_id(value: Any) -> str:
    """An id that a caller may choose: made like ours, so that it is nobody else's."""
    id = text(value, "id")
    if not id.startswith("task_") or len(id) != 31 or not _ALPHABET.issuperset(id[5:]):
        raise Invalid("id must be `task_` and 26 of the characters 0-9, a-z without i, l, o and u.", field="id")
    return id


def usage(value: Any) -> Usage | None:
    """What an attempt has used, priced already."""
    if value is None:
        return None
    used = struct(value, Usage, "used")
    _check_usage(used)
    return used


def renewals(value: Any) -> list[Renewal]:
    """Leases to extend."""
    from dibs.requests import MAX_NOTE_CHARS, lease_s
    from dibs.rules.validation import clean_text, number

    found = []
    for each in _listed(value, "renewals"):
        renewal: Renewal = struct(each, Renewal, "renewals")
        text(renewal.task_id, "task_id")
        whole(renewal.fence, "fence", 0, 2**63 - 1)
        if renewal.lease_s is not None:
            renewal.lease_s = lease_s(renewal.lease_s)
        if renewal.progress is not None:
            renewal.progress = number(renewal.progress, "progress", 0, 1)
        if renewal.note is not None:
            renewal.note = clean_text(renewal.note, MAX_NOTE_CHARS)[0]
        if renewal.usage is not None:
            _check_usage(renewal.usage)
        found.append(renewal)
    return found


def _check_usage(used: Usage) -> None:
    from dibs.requests import usage as checked

    checked(used.cost_usd, used.tokens_in, used.tokens_out, used.turns, used.model)


def outcomes(value: Any) -> list[Ended]:
    """How claims ended."""
    found = []
    for each in _listed(value, "outcomes"):
        known(each, _ENDED, "an outcome")
        missing(each, ("task_id", "fence", "outcome"))
        text(each["task_id"], "task_id")
        whole(each["fence"], "fence", 0, 2**63 - 1)
        found.append(Ended(**each))
    return found


def entries(value: Any) -> list[Entry]:
    """Lines for a journal."""
    found = []
    for each in _listed(value, "entries"):
        known(each, Entry.__struct_fields__, "an entry")
        missing(each, ("kind",))
        if each["kind"] not in KINDS:
            raise Invalid(f"kind must be one of {', '.join(KINDS)}, not {each['kind']!r:.80}.", field="kind")
        found.append(
            Entry(
                kind=each["kind"],
                name=text(each.get("name", ""), "name", blank=True),
                digest=text(each.get("digest", ""), "digest", blank=True),
                value=encode(each.get("value")),
            )
        )
    return found


def lines(entries: list[Entry]) -> list[dict[str, Any]]:
    """Entries as they are sent: their values as what they are."""
    return [
        {"kind": each.kind, "name": each.name, "digest": each.digest, "value": decode(each.value)} for each in entries
    ]


def artifact(value: Any) -> Artifact:
    """An artifact whose bytes are kept already."""
    return struct(value, Artifact, "artifact")


def members(value: Any) -> list[tuple[str, int]]:
    """Id and fence of each task of a group."""
    if not isinstance(value, list) or not all(isinstance(each, list) and len(each) == 2 for each in value):
        raise Invalid("claim must be a list with [task id, fence] of each task of the group.", field="claim")
    return [(text(id, "task_id"), whole(fence, "fence", 0, 2**63 - 1)) for id, fence in value]


def struct(value: Any, kind: type[T], field: str) -> T:
    """A value of ours that came as JSON; Invalid names the part at fault."""
    if isinstance(value, dict):
        known(value, kind.__struct_fields__, field)
    try:
        return convert(value, kind)
    except ValidationError as error:
        told = str(error)
        part = told.rpartition("`$.")[2].partition("`")[0].partition("[")[0] if "`$." in told else field
        raise Invalid(f"{field}: {told[:300]}.", field=part) from None


def _listed(value: Any, field: str) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise Invalid(f"{field} must be a list of objects.", field=field)
    return value


def _tuples(given: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
