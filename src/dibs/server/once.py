"""`Idempotency-Key`: a request to add that is sent again is answered with what the first one added.

Nothing is stored for it. The ids of the tasks are made from the key, so a repetition names tasks that exist, and a
store answers an id that exists with its task; this holds over crashes and across servers, for as long as the task is
kept. A dag is told by its `key`, which is made likewise.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec.json import encode

from dibs.drafting import Planned
from dibs.errors import Invalid, KeyReused
from dibs.model.task import NewTask
from dibs.rules.validation import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.task import Task
    from dibs.server.desk import Asking

HEADER = "Idempotency-Key"
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


async def added_once(asking: Asking, key: str, options: dict[str, Any]) -> Task:
    """As `add`, once for this key."""
    [task] = await many_added_once(asking, key, [NewTask(**options)])
    return task


async def many_added_once(asking: Asking, key: str, specs: Sequence[NewTask | Planned]) -> list[Task]:
    """As `add_many`, once for this key."""
    stem = _digest(asking, key)
    return await added_by_id(
        asking,
        [
            spec if isinstance(spec, Planned) else Planned(f"task_{_id(stem, place)}", spec)
            for place, spec in enumerate(specs)
        ],
    )


async def added_by_id(asking: Asking, planned: Sequence[Planned]) -> list[Task]:
    """As `add_many`, with ids that were chosen before: what exists under one of them must be what is asked for."""
    if not planned:
        return []
    inserted = await asking.queue._insert(planned)
    places = [place for place, existing in enumerate(inserted.existing) if existing]
    there = await asking.queue.store.get([inserted.tasks[place].id for place in places]) if places else []
    for place, task in zip(places, there, strict=True):
        spec = planned[place].spec
        if task is None:
            # It is in another project, of which nothing is told.
            raise Invalid("This id is taken; make a new one.", code="id_taken", field="id")
        if task.type != spec.type or encode(task.payload, order="sorted") != encode(spec.payload, order="sorted"):
            raise KeyReused(
                f"This was used to add something else: {task.id}. Use a new {HEADER}, or id, for new work.",
                field=HEADER,
            )
        inserted.tasks[place] = task
    return inserted.tasks


def dag_key(asking: Asking, key: str) -> str:
    """The key of a dag that is added once for this key."""
    return f"idempotency-key:{_id(_digest(asking, key), 0)}"


def _digest(asking: Asking, key: str) -> bytes:
    """What tells this key of this caller from all others."""
    caller = asking.caller
    parts = (asking.queue.project, caller.token_id or caller.name, asking.verb.name, text(key, HEADER))
    return sha256("\0".join(parts).encode()).digest()


def _id(stem: bytes, place: int) -> str:
    """26 characters: 130 bits of a digest."""
    number = int.from_bytes(sha256(stem + place.to_bytes(8)).digest()) >> 126
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
