"""The verbs about the audit: what was done to tokens and settings, by whom, and what was refused. `Queue` has them;
they are written here.

Any number of processes add entries: each writes the one after the last it knows, and whoever finds that somebody else
was there first reads on and tries again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import Conflict, Denied, Invalid, Unavailable
from dibs.requests import MAX_LIMIT, optional
from dibs.rules import validation
from dibs.rules.access import OPERATORS

if TYPE_CHECKING:
    from dibs.model.audit import AuditEntry, AuditVerdict
    from dibs.rules.audit import Head, Kept
    from dibs.stores.contract import Store

TRIES = 1_000
"""How often somebody else may be first."""
PORTION = 1_000


class Auditing:
    """What a queue remembers of those who run it."""

    store: Store
    project: str

    async def record_act(
        self,
        act: str,
        target: str = "",
        *,
        outcome: str = "done",
        by: str | None = None,
        token_id: str | None = None,
        project: str | None = None,
        count: int = 1,
    ) -> AuditEntry:
        """Add an entry to the audit: what was done, or refused (`outcome`: the code of the error)."""
        import os

        from dibs.rules import audit

        wanted = audit.Kept(
            number=0,
            at=0,
            by=audit.short(by),
            token_id=token_id,
            project=self.project if project is None else project,
            act=act,
            target=audit.short(target) or "",
            outcome=outcome,
            count=count,
            nonce=os.urandom(8).hex(),
        )
        entry, body = await _append(self.store, wanted)
        if entry.number % audit.LOOKED_AT_EVERY == 0:
            await _prune(self.store, audit.MOST_KEPT)
        return audit.shown(entry, body)

    async def audit(
        self, after: int | None = None, *, limit: int = 100, act: str | None = None, by: str | None = None
    ) -> list[AuditEntry]:
        """Entries of this project in their order, in the project `default` those of all: the first after the number
        `after`, or the last ones."""
        from dibs.rules import audit

        start = 0 if after is None else validation.whole(after, "after", 0, 10**12 - 1)
        most = validation.whole(limit, "limit", 1, MAX_LIMIT)
        verb, who = optional(act, "act"), optional(by, "by")
        found: list[AuditEntry] = []
        while after is None or len(found) < most:
            some = await self.store.documents("", audit.KIND, after=audit.name_of(start), limit=PORTION)
            for document in some:
                entry = audit.read(document.body)
                if entry is None or self.project not in (OPERATORS, entry.project):
                    continue
                if verb in (None, entry.act) and who in (None, entry.by):
                    found.append(audit.shown(entry, document.body))
            if after is None:
                del found[:-most]
            if len(some) < PORTION:
                break
            start = int(some[-1].name)
        return found[:most]

    async def verify_audit(self, noted: str | None = None) -> AuditVerdict:
        """Read the whole audit and say what is wrong with it. `noted`: `NUMBER:DIGEST` of an entry, as an earlier
        verdict gave them, which must still be there."""
        from dibs.rules import audit

        self._only_operators("verify the audit")
        chain = audit.Chain(None if noted is None else _noted(noted))
        # Before the entries: those that are added meanwhile are not missed.
        head = await _head(self.store)
        after = ""
        while some := await self.store.documents("", audit.KIND, after=after, limit=PORTION):
            chain.look_at((document.name, document.body) for document in some)
            after = some[-1].name
        return chain.verdict(head[0])

    async def prune_audit(self, keep: int | None = None) -> int:
        """Drop the oldest entries but the last `keep`, with an entry that says so; how many."""
        from dibs.rules import audit

        self._only_operators("prune the audit")
        most = audit.MOST_KEPT if keep is None else validation.whole(keep, "keep", 1, 10**9)
        return await _prune(self.store, most)

    def _only_operators(self, what: str) -> None:
        if self.project != OPERATORS:
            raise Denied(f"Only an admin of the project {OPERATORS} may {what}.", field="project")


async def _head(store: Store) -> tuple[Head, int]:
    """The newest entry as it was written down, and the version of that."""
    from dibs.rules import audit

    found = await store.documents("", audit.HEAD, name=audit.HEAD)
    return (audit.head_of(found[0].body), found[0].version) if found else (audit.Head(), 0)


async def _tail(store: Store, head: Head) -> Head:
    """The newest entry: whoever added it may not have written that down yet."""
    from dibs.rules import audit

    while some := await store.documents("", audit.KIND, after=audit.name_of(head.number), limit=PORTION):
        head = audit.Head(number=int(some[-1].name), digest=audit.digest_of(some[-1].body))
    return head


async def _append(store: Store, wanted: Kept) -> tuple[Kept, bytes]:
    from msgspec.structs import replace

    from dibs.rules import audit

    head, version = await _head(store)
    tail = head
    for _ in range(TRIES):
        tail = await _tail(store, tail)
        entry = replace(wanted, number=tail.number + 1, at=store.now(), previous=tail.digest)
        body = audit.encode(entry)
        try:
            await store.write_document("", audit.KIND, audit.name_of(entry.number), body, 0)
        except Conflict:
            # Also if it was ours, and only the answer was lost: then it is found there.
            there = await store.documents("", audit.KIND, name=audit.name_of(entry.number))
            if [document.body for document in there] != [body]:
                continue
        await _write_head(store, audit.Head(number=entry.number, digest=audit.digest_of(body)), head, version)
        return entry, body
    raise Unavailable("Too many others write to the audit at once: try again.")


async def _write_head(store: Store, newest: Head, known: Head, version: int) -> None:
    """Say which entry is the newest, unless somebody has said a newer one."""
    from dibs.rules import audit

    while newest.number > known.number:
        try:
            await store.write_document("", audit.HEAD, audit.HEAD, audit.encode(newest), version)
        except Conflict:
            known, version = await _head(store)
        else:
            return


async def _prune(store: Store, keep: int) -> int:
    """Drop all but the newest, oldest first, once the entry that says so is there."""
    import os

    from dibs.rules import audit

    tail = await _tail(store, (await _head(store))[0])
    last = tail.number - keep
    if last < 1:
        return 0
    found = await store.documents("", audit.KIND, name=audit.name_of(last))
    if not found:
        # It is gone already; what is left before it, if anything, goes with the next portion.
        return 0
    dropped = (last, audit.digest_of(found[0].body))
    wanted = audit.Kept(
        number=0, at=0, act=audit.PRUNED, target=f"up to {last}", dropped=dropped, nonce=os.urandom(8).hex()
    )
    await _append(store, wanted)
    count = 0
    while True:
        some = await store.documents("", audit.KIND, limit=PORTION)
        gone = [document.name for document in some if int(document.name) <= last]
        for name in gone:
            await store.write_document("", audit.KIND, name, None)
        count += len(gone)
        if len(gone) < PORTION:
            return count


def _noted(text: Any) -> Head:
    from dibs.rules import audit

    number, _, digest = validation.text(text, "noted").partition(":")
    if not number.isdecimal() or len(number) > 12 or len(digest) != 64:
        raise Invalid("noted must be NUMBER:DIGEST, as `dibs audit verify` prints them.", field="noted")
    return audit.Head(number=int(number), digest=digest)
