"""What tasks leave behind: which bytes, under which name. The bytes themselves lie elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs.model.artifact import Artifact
from dibs.model.instants import from_micros
from dibs.rules import large
from dibs.rules.artifacts import MAX_PER_TASK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.stores.postgres.engine import Engine

_PUT = "SELECT dibs.put_artifact($1, $2, $3, $4, $5, $6, $7, $8)"
_IN_DAG = """
SELECT a.name, a.digest, a.size, a.media_type, s.id, a.put_at FROM dibs.artifacts a JOIN dibs.specs s ON s.n = a.n
WHERE a.dag = $1 AND (cardinality($2::text[]) = 0 OR a.name = ANY ($2)) ORDER BY a.id
"""
# A specification that somebody else's text gets into may hold more than one: all of them count.
_PAYLOADS = """
SELECT DISTINCT left(p.rest, 71) FROM dibs.specs s
CROSS JOIN LATERAL unnest((string_to_array(s.spec, $1))[2:]) AS p (rest)
WHERE strpos(s.spec, $1) > 0
"""
_DIGESTS = """
SELECT DISTINCT a.digest FROM dibs.artifacts a
WHERE a.digest = ANY ($1)
    AND ($2::text IS NULL OR EXISTS (SELECT 1 FROM dibs.specs s WHERE s.n = a.n AND s.project = $2))
"""


async def put(engine: Engine, task_id: str, fence: int, artifact: Artifact) -> Artifact:
    """Remember an artifact of a task under a held fence."""
    at = await engine.value(
        _PUT,
        engine.at,
        task_id,
        fence,
        artifact.name,
        artifact.digest,
        artifact.size,
        artifact.media_type,
        MAX_PER_TASK,
    )
    engine.changed()
    return replace(artifact, task_id=task_id, put_at=from_micros(at))


async def in_dag(engine: Engine, dag_id: str, names: Sequence[str]) -> list[Artifact]:
    """Those of a dag's tasks, in the order in which they were put."""
    return [
        Artifact(name=name, digest=digest, size=size, media_type=media_type, task_id=task_id, put_at=from_micros(at))
        for name, digest, size, media_type, task_id, at in await engine.fetch(_IN_DAG, dag_id, list(names))
    ]


async def kept_digests(engine: Engine, digests: Sequence[str], project: str | None) -> set[str]:
    """Those of these that some task's artifact has."""
    return {row[0] for row in await engine.fetch(_DIGESTS, list(digests), project)}


async def payload_digests(engine: Engine) -> set[str]:
    """Those of payloads that lie elsewhere."""
    return {row[0] for row in await engine.fetch(_PAYLOADS, large.PAYLOAD_MARK)}
