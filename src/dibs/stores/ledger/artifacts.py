"""What tasks leave behind: which bytes, under which name. The bytes themselves lie elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs.model.instants import from_micros
from dibs.rules import large
from dibs.rules.artifacts import MAX_PER_TASK
from dibs.stores import refusals

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.model.artifact import Artifact
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State


def put(state: State, task_id: str, fence: int, artifact: Artifact) -> Artifact:
    """Remember an artifact of a task under a held fence."""
    record = state.get(task_id)
    if not record.held_under(fence):
        raise refusals.lease_lost(task_id, fence)
    if record.over_timeout(state.now):
        raise refusals.over_timeout(task_id, fence, record.timeout_s)
    if len(record.artifacts) >= MAX_PER_TASK and artifact.name not in record.artifacts:
        raise refusals.too_many_artifacts(task_id, MAX_PER_TASK)
    record.confirmed = True
    state.changed = True
    keep(state, record, [artifact])
    return record.artifacts[artifact.name][1]


def keep(state: State, record: Record, artifacts: Iterable[Artifact]) -> None:
    """These are the newest of a task; each takes the place of the one of its name."""
    for artifact in artifacts:
        state.last_put += 1
        record.artifacts.pop(artifact.name, None)
        kept = replace(artifact, task_id=record.id, put_at=from_micros(state.now))
        record.artifacts[artifact.name] = (state.last_put, kept)


def in_dag(state: State, dag_id: str, names: Sequence[str]) -> list[Artifact]:
    """Those of a dag's tasks, in the order in which they were put."""
    found = [put for record in state.members.get(dag_id, ()) for put in record.artifacts.values()]
    found.sort(key=lambda put: put[0])
    return [artifact for _, artifact in found if not names or artifact.name in names]


def payload_digests(state: State) -> set[str]:
    """Those of payloads that lie elsewhere."""
    marked = (f'"payload":{record.payload.decode()}' for record in state.tasks.values())
    return {digest for text in marked for digest in large.payload_digests(text)}


def kept_digests(state: State, digests: Sequence[str], project: str | None) -> set[str]:
    """Those of these that some task's artifact has."""
    records = (record for record in state.tasks.values() if project in (None, record.spec.project))
    known = {artifact.digest for record in records for _, artifact in record.artifacts.values()}
    return known.intersection(digests)
