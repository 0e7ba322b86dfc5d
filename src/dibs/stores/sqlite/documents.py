"""Documents: small values by project, kind and name, with a version each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules import documents as rules
from dibs.stores.values import Document

if TYPE_CHECKING:
    from dibs.stores.sqlite.engine import Transaction

_VERSION = "SELECT version FROM documents WHERE project = ? AND kind = ? AND name = ?"
_PUT = "INSERT OR REPLACE INTO documents (project, kind, name, version, body, updated_at) VALUES (?, ?, ?, ?, ?, ?)"
_DROP = "DELETE FROM documents WHERE project = ? AND kind = ? AND name = ?"
_ONE = "SELECT version, body, updated_at FROM documents WHERE project = ? AND kind = ? AND name = ?"
_SOME = """
SELECT name, version, body, updated_at FROM documents
WHERE project = ? AND kind = ? AND name > ? ORDER BY name LIMIT ?
"""


def write(tx: Transaction, project: str, kind: str, name: str, body: bytes | None, expected: int | None) -> int:
    """Keep a document, or remove it (None); its new version."""
    known = tx.row(_VERSION, (project, kind, name))
    version = rules.next_version(0 if known is None else known[0], expected, name, removes=body is None, now=tx.now)
    if body is not None:
        tx.run(_PUT, (project, kind, name, version, body, tx.now))
    elif known is not None:
        tx.run(_DROP, (project, kind, name))
    return version


def documents(tx: Transaction, project: str, kind: str, name: str | None, after: str, limit: int) -> list[Document]:
    """Those of a kind by name, or the one of this name."""
    if name is not None:
        rows = [(name, *row) for row in tx.connection.execute(_ONE, (project, kind, name))]
    else:
        rows = list(tx.connection.execute(_SOME, (project, kind, after, limit)))
    return [
        Document(project=project, kind=kind, name=name, version=version, body=body, updated_at=updated_at)
        for name, version, body, updated_at in rows
    ]
