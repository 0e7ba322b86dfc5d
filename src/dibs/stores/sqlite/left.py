"""How this file stands. By itself, so that a shell command that looks pays for nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.stores.standing import Standing, refusal

if TYPE_CHECKING:
    import apsw

    from dibs.stores.sqlite.engine import Transaction

REFUSED = "dibs: standing"
"""What the triggers say that keep others from changing a file which is being filled or left."""

_STANDING = "SELECT value FROM meta WHERE name = 'standing'"


def standing(connection: apsw.Connection) -> Standing:
    """How this file stands."""
    found = connection.execute(_STANDING).fetchone()
    if found is None:
        return Standing()
    from msgspec.json import decode

    return decode(found[0], type=Standing)


def refuse(tx: Transaction) -> None:
    """Say why nothing is handed out here."""
    refused = refusal(standing(tx.connection))
    if refused is not None:
        raise refused
