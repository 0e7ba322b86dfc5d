"""Work that is done and about to be judged by a command: written down first, and found by the next claim.

So whoever runs the command may be killed: the work is not done again for it, only the judgement (`rules.made`). It is
an entry of the task's journal, replaced each time, of kind `made`; its digest is that of the payload, so that a task
which is retried with another one is done anew.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import TYPE_CHECKING

from msgspec import DecodeError
from msgspec.json import decode, encode

from dibs.errors import Unavailable
from dibs.model.made import Made
from dibs.rules.made import still_counts
from dibs.stores.values import Entry, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.model.claim import Claim
    from dibs.stores.contract import Store
    from dibs.stores.values import Settlement

KIND = "made"


async def keep(store: Store, claim: Claim, done: Settlement, folder: str | None = None) -> None:
    """Write down what this claim made, and where (else here). Raises LeaseLost if it is not held any more."""
    made = Made(
        fence=claim.fence,
        agent=claim.agent,
        host=_host(),
        folder=folder or os.getcwd(),
        output=decode(done.output or b"null"),
        decision=decode(done.decision or b"null"),
        sanitized=done.output_sanitized,
        exit_code=done.exit_code,
    )
    entry = Entry(kind=KIND, digest=_digest(claim), value=encode(made))
    await store.write_journal(claim.task.id, claim.fence, [entry])


async def find(store: Store, claims: Iterable[Claim]) -> None:
    """Tell these claims what an earlier attempt made that only has to be judged. What cannot be read is done again."""
    for claim in claims:
        try:
            entries = await store.read_journal(claim.task.id)
            kept = [entry for entry in entries if entry.kind == KIND and entry.digest == _digest(claim)]
            made = decode(kept[-1].value, type=Made) if kept else None
        except (Unavailable, DecodeError):
            continue
        if made is not None and still_counts(made.fence, claim.previous_attempts):
            claim.made = made


def is_here(made: Made) -> bool:
    """Whether this process is where it was made: elsewhere a command would judge something else."""
    return is_on_this_host(made) and made.folder == os.getcwd()


def is_on_this_host(made: Made) -> bool:
    """Whether it was made on this machine, in whatever folder."""
    return made.host == _host()


def used_before(claim: Claim) -> Usage:
    """What an attempt that only judges has used itself: nothing of all that is known of the one before it."""
    before = claim.previous_attempts[-1]
    return Usage(
        cost_usd=None if before.cost_usd is None else 0.0,
        tokens_in=None if before.tokens_in is None else 0,
        tokens_out=None if before.tokens_out is None else 0,
        turns=None if before.turns is None else 0,
    )


def _host() -> str:
    return os.uname().nodename


def _digest(claim: Claim) -> str:
    return blake2b(encode(claim.task.payload, order="sorted"), digest_size=12).hexdigest()
