"""Documents: small values by project, kind and name. What `functions/documents.sql` writes is read here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import json

from dibs.stores.values import Document

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine

_WRITE = "SELECT dibs.write_document($1, $2, $3, $4, $5, $6)"
_TELL = "SELECT dibs.tell($1, $2, $3, $4, $5)"
_COLUMNS = "SELECT name, version, body, updated_at FROM dibs.documents WHERE project = $1 AND kind = $2"
_ONE = f"{_COLUMNS} AND name = $3"
_SOME = f"{_COLUMNS} AND name > $3 ORDER BY name LIMIT $4"


async def write(engine: Engine, project: str, kind: str, name: str, body: bytes | None, expected: int | None) -> int:
    """Keep a document, or remove it (None); its new version."""
    [[version]] = await engine.once(_WRITE, engine.at, project, kind, name, body, expected)
    engine.changed()
    return int(version)


async def tell(engine: Engine, project: str, type: str, reason: str | None, data: dict[str, Any] | None) -> None:
    """Emit an event about something that is kept in documents."""
    await engine.once(_TELL, engine.at, project, type, reason, json.encode(data).decode() if data else None)
    engine.changed()


async def documents(
    engine: Engine, project: str, kind: str, name: str | None, after: str, limit: int
) -> list[Document]:
    """Those of a kind by name, or the one of this name."""
    if name is not None:
        rows = await engine.fetch(_ONE, project, kind, name)
    else:
        rows = await engine.fetch(_SOME, project, kind, after, limit)
    return [Document(project=project, kind=kind, **row) for row in rows]
