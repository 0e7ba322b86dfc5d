"""Documents: small values by project, kind and name, with a version each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules import documents as rules
from dibs.stores.values import Document

if TYPE_CHECKING:
    from dibs.stores.ledger.state import State


def write(state: State, project: str, kind: str, name: str, body: bytes | None, expected: int | None) -> int:
    """Keep a document, or remove it (None); its new version."""
    known = state.documents.get((project, kind, name))
    version = rules.next_version(
        0 if known is None else known.version, expected, name, removes=body is None, now=state.now
    )
    if body is not None:
        state.documents[project, kind, name] = Document(
            project=project, kind=kind, name=name, version=version, body=body, updated_at=state.now
        )
        state.changed = True
    elif known is not None:
        del state.documents[project, kind, name]
        state.changed = True
    return version


def documents(state: State, project: str, kind: str, name: str | None, after: str, limit: int) -> list[Document]:
    """Those of a kind by name, or the one of this name."""
    if name is not None:
        known = state.documents.get((project, kind, name))
        return [] if known is None else [known]
    return state.documents_of(project, kind, after, limit)
