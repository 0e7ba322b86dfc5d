"""The audit: entries are only added, by any number of processes, and whatever is changed afterwards is found."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dibs import auditing
from dibs.errors import Denied, Invalid
from dibs.model.audit import AuditFault
from dibs.rules import access, audit
from dibs.tenancy import homes_of
from dibs.testing.conformance.topic import Topic, on_the_store, seen_by

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


WHOSE = "tok_1"


class Auditing(Topic):
    @pytest.mark.door
    @pytest.mark.routing
    async def test_entries_are_read_in_their_order(self, queue: Queue, other: Queue, clock: FakeClock) -> None:
        for number in range(5):
            clock.advance(1)
            entry = await queue.record_act("set_budget", f"type:{number}", by="ada", outcome="done")
            assert (entry.number, entry.act, entry.target) == (number + 1, "set_budget", f"type:{number}")
        await other.record_act("claim", "/v1/claims", outcome="denied", token_id=WHOSE, count=17)
        found = await other.audit()
        assert [entry.number for entry in found] == [1, 2, 3, 4, 5, 6]
        assert (found[-1].outcome, found[-1].count, found[-1].token_id, found[-1].by) == ("denied", 17, WHOSE, None)
        assert [entry.previous for entry in found[1:]] == [entry.digest for entry in found[:-1]]
        assert [entry.number for entry in await queue.audit(limit=2)] == [5, 6]
        assert [entry.number for entry in await queue.audit(2, limit=2)] == [3, 4]
        assert [entry.number for entry in await queue.audit(act="claim")] == [6]
        assert [entry.number for entry in await queue.audit(by="ada", limit=1)] == [5]
        assert [entry.number for entry in await queue.audit(0, by="ada", limit=1)] == [1]
        assert await queue.audit(6) == []
        verdict = await queue.verify_audit()
        assert (verdict.sound, verdict.checked, verdict.number) == (True, 6, 6)

    @pytest.mark.door
    async def test_many_processes_add_to_one_chain(self, queue: Queue, other: Queue) -> None:
        await asyncio.gather(*((queue if number % 2 else other).record_act("act", str(number)) for number in range(24)))
        found = await queue.audit()
        assert [entry.number for entry in found] == list(range(1, 25))
        assert sorted(int(entry.target) for entry in found) == list(range(24))
        assert (await other.verify_audit()).sound

    async def test_an_edited_and_a_removed_entry_are_named(self, queue: Queue) -> None:
        for number in range(6):
            await queue.record_act("act", str(number))
        noted = await queue.verify_audit()
        kept = await queue.store.documents("", audit.KIND, name=audit.name_of(3))
        await queue.store.write_document("", audit.KIND, audit.name_of(3), kept[0].body.replace(b'"2"', b'"9"'))
        verdict = await queue.verify_audit()
        assert [fault.number for fault in verdict.faults] == [3]
        await queue.store.write_document("", audit.KIND, audit.name_of(3), None)
        verdict = await queue.verify_audit()
        assert verdict.faults == [AuditFault(3, "Entry 3 is missing: removed after being written.")]
        await queue.store.write_document("", audit.KIND, audit.name_of(3), kept[0].body)
        assert (await queue.verify_audit(f"{noted.number}:{noted.head}")).sound
        # The end cut off, also by whoever knows of the head.
        await queue.store.write_document("", audit.KIND, audit.name_of(6), None)
        assert [fault.number for fault in (await queue.verify_audit()).faults] == [6]
        await queue.store.write_document("", audit.HEAD, audit.HEAD, None)
        assert (await queue.verify_audit()).sound
        assert not (await queue.verify_audit(f"{noted.number}:{noted.head}")).sound
        # Whoever adds the next one cannot hide it.
        await queue.record_act("act", "another")
        verdict = await queue.verify_audit(f"{noted.number}:{noted.head}")
        assert verdict.faults == [AuditFault(6, "Entry 6 is not the one you noted: the chain was written anew.")]

    async def test_old_entries_are_dropped_by_an_entry(self, queue: Queue, other: Queue) -> None:
        for number in range(10):
            await queue.record_act("act", str(number))
        assert await queue.prune_audit(keep=4) == 6
        found = await other.audit()
        assert [entry.number for entry in found] == [7, 8, 9, 10, 11]
        assert (found[-1].act, found[-1].target) == ("prune_audit", "up to 6")
        verdict = await other.verify_audit()
        assert (verdict.sound, verdict.pruned, verdict.number) == (True, 6, 11)
        assert await queue.prune_audit(keep=100) == 0
        await queue.record_act("act", "later")
        assert await queue.prune_audit(keep=1) == 5
        assert (await queue.verify_audit()).sound
        assert [entry.number for entry in await queue.audit()] == [12, 13]

    async def test_too_many_are_dropped_by_themselves(self, queue: Queue) -> None:
        before = audit.MOST_KEPT, audit.LOOKED_AT_EVERY, auditing.PORTION
        audit.MOST_KEPT, audit.LOOKED_AT_EVERY, auditing.PORTION = 10, 5, 3
        try:
            for number in range(31):
                await queue.record_act("act", str(number))
            assert len(await queue.audit()) <= 16
            assert (await queue.verify_audit()).sound
        finally:
            audit.MOST_KEPT, audit.LOOKED_AT_EVERY, auditing.PORTION = before

    @on_the_store("acts are recorded by the server, not by its callers")
    async def test_other_projects_see_their_own_entries_only(self, queue: Queue) -> None:
        alice = seen_by(queue, access.Rights(project="a"), homes_of(queue))
        await queue.record_act("act", "ours")
        await alice.record_act("act", "hers")
        assert [entry.target for entry in await alice.audit()] == ["hers"]
        assert [entry.target for entry in await queue.audit()] == ["ours", "hers"]
        for verb in (alice.verify_audit, alice.prune_audit):
            with pytest.raises(Denied):
                await verb()

    async def test_what_makes_no_sense_is_refused(self, queue: Queue) -> None:
        for field, call in (
            ("after", lambda: queue.audit(-1)),
            ("limit", lambda: queue.audit(limit=0)),
            ("act", lambda: queue.audit(act="")),
            ("noted", lambda: queue.verify_audit("17")),
            ("noted", lambda: queue.verify_audit("x:" + "0" * 64)),
            ("keep", lambda: queue.prune_audit(keep=0)),
        ):
            with pytest.raises(Invalid) as refused:
                await call()
            assert refused.value.field == field
