"""Moving elsewhere: what a store is given it gives back, and while it is filled or left nobody changes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import IllegalTransition, Moved, Unavailable
from dibs.model.artifact import Artifact
from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.stores.carrying import Cargo
from dibs.stores.memory import MemoryStore
from dibs.stores.standing import CLOSED, FILLING, MOVED, Standing
from dibs.stores.values import Entry
from dibs.testing.conformance.topic import Topic, elapse, events, finish, kill, nothing, take

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from dibs.queue import Queue
    from dibs.stores.contract import Store
    from dibs.testing.clock import FakeClock


async def _carry(source: Store, target: Store, batch: int = 3) -> None:
    """Everything from one store into another that is being filled."""
    after = 0
    while True:
        cargo = await source.carry_out(after, batch)
        await target.carry_in(cargo)
        if not cargo.tasks:
            break
        after = cargo.tasks[-1].number
    await target.carry_in_settings(await source.carry_settings())


async def _a_bit_of_everything(queue: Queue, clock: FakeClock) -> dict[str, Any]:
    """Tasks in every status, and something of everything that can be set."""
    await queue.set_budget("type:paid", 5, default_reserve=1)
    await queue.set_slots("repo", 2)
    await queue.set_slots(type="build", slots=3)
    await queue.set_rate("build", "10/min")
    await queue.set_breaker("flaky", failure_threshold=2)
    await queue.set_escalation([{"after": 1, "do": "notify", "to": "ops"}], type="flaky")
    await queue.store.write_document("", "note", "a", b"\x00\xff")
    version = await queue.store.write_document("default", "note", "a", b"{}")
    await queue.store.write_document("default", "note", "a", b"[]", version)
    await queue.register_agent("grace", capabilities=["gpu"], max_concurrent=4)
    await queue.add("done", {"n": 1}, key="once", tags=["a"], user="ada", title="Work")
    await finish(queue, "done", {"answer": [1, 2.5, "ä"]})
    await queue.add("dead")
    await kill(queue, "dead")
    [dead] = (await queue.find(type="dead")).items
    await queue.add("after the dead", after=[dead])
    await queue.add("flaky", max_attempts=5)
    await queue.fail(await take(queue, "flaky"), "no", cost=0.25, tokens_in=7)
    await queue.add("later", run_after=3600, deadline=7200)
    await queue.add("approve", approval=True)
    await queue.add_dag(
        "a dag", [NewTask("first", ref="a"), NewTask("second", {"x": 1}, ref="b", after=["a"])], key="the dag", budget=3
    )
    await queue.add("locked", locks=["repo", "site"])
    held = await take(queue, "locked", claim_id="c1")
    await queue.record(held, [Entry(kind="step", name="s", digest="d", value=b"[1]")])
    await queue.checkpoint(held, {"page": 2})
    await queue.log(held, "a line")
    await queue.store.put_artifact(
        held.task.id, held.fence, Artifact(name="log", digest="sha256:" + "0" * 64, size=3, media_type="text/plain")
    )
    await queue.renew(held, progress=0.5, note="half", cost=0.5)
    await queue.add("waits for it", locks=["site"])
    assert await nothing(queue, "waits for it")
    await queue.add("paid", max_cost=1)
    paid = await take(queue, "paid")
    await queue.add("spawns")
    spawner = await take(queue, "spawns")
    await queue.spawn(spawner, [NewTask("child")], wait=True)
    await queue.add("asks")
    asker = await take(queue, "asks")
    await queue.ask(asker, "which?", assignee="ops")
    await queue.add("dropped", payload="x" * 100_000)
    dropped = await take(queue, "dropped")
    await queue.cancel(dropped.task.id, "no longer")
    await queue.pause(type="build", reason="later")
    clock.advance(1)
    return {"held": held, "paid": paid, "spawner": spawner, "dropped": dropped}


class Carrying(Topic):
    @pytest.mark.door
    @pytest.mark.routing
    async def test_what_is_carried_into_another_store_and_back_is_the_same(
        self, queue: Queue, other: Queue, clock: FakeClock
    ) -> None:
        await _a_bit_of_everything(queue, clock)
        before, settings = await queue.store.carry_out(0, 1000), await queue.store.carry_settings()
        assert {task.status for task in before.tasks} >= {"running", "pending", "waiting", "retrying", "cancelled"}
        away = MemoryStore(clock=clock)
        await away.stand(Standing(state=FILLING, peer="here"))
        await _carry(queue.store, away)
        assert (await away.carry_out(0, 1000)).tasks == before.tasks
        assert await away.carry_settings() == settings
        # And back, into this very store: the same again changes nothing.
        await queue.store.stand(Standing(state=FILLING, peer="there"))
        await _carry(away, queue.store)
        after = await other.store.carry_out(0, 1000)
        assert after.tasks == before.tasks
        assert after.dags == before.dags
        assert await other.store.carry_settings() == settings
        assert await other.store.check() == []
        await away.close()

    @pytest.mark.door
    @pytest.mark.routing
    async def test_work_goes_on_where_it_was_carried(self, queue: Queue, clock: FakeClock) -> None:
        from dibs.queue import Queue as AnotherQueue

        away = AnotherQueue(MemoryStore(clock=clock))
        known = await _a_bit_of_everything(away, clock)
        await queue.store.stand(Standing(state=FILLING, peer="there"))
        await _carry(away.store, queue.store)
        last = await away.store.last_seq()
        await queue.store.stand(Standing())
        held = known["held"]
        assert [claim.fence for claim in await queue.claim("ada", types=["locked"], claim_id="c1")] == [held.fence]
        await queue.complete(held, "done")
        with pytest.raises(IllegalTransition):
            await queue.complete(known["spawner"], "it is suspended")
        await finish(queue, "waits for it")
        await finish(queue, "child", "from the child")
        assert (await take(queue, "spawns")).children == {
            (await queue.find(type="child")).items[0].id: "from the child"
        }
        await queue.add("new")
        numbers = [task.number for task in (await queue.store.carry_out(0, 1000)).tasks]
        assert numbers == sorted(set(numbers))
        assert (await events(queue, after=last))[0].seq == last + 1
        await away.close()

    @pytest.mark.door
    async def test_a_store_that_is_filled_left_or_has_moved_refuses_every_change(
        self, queue: Queue, other: Queue, clock: FakeClock
    ) -> None:
        await _a_bit_of_everything(queue, clock)
        held = await take(queue, "first")
        asked = next(each for each in await queue.inbox() if each.kind == "question")
        before, settings = await queue.store.carry_out(0, 1000), await queue.store.carry_settings()
        changes: list[Callable[[], Coroutine[Any, Any, Any]]] = [
            lambda: other.add("more"),
            lambda: other.add_many([NewTask("more")] * 30),
            lambda: other.add("more", after=[held.task.id]),
            lambda: other.claim("ada"),
            lambda: other.claim("ada", types=["nothing of this kind"]),
            lambda: other.renew(held),
            lambda: other.complete(held),
            lambda: other.fail(held, "no"),
            lambda: other.checkpoint(held, 1),
            lambda: other.spawn(held, [NewTask("child")]),
            lambda: other.answer(asked.id, "this"),
            lambda: other.cancel(held.task.id),
            lambda: other.set_priority(held.task.id, 1),
            lambda: other.pause(type="first"),
            lambda: other.set_budget("global", 1),
            lambda: other.register_agent("somebody"),
            lambda: other.store.promote(10),
            lambda: other.store.write_document("", "note", "b", b""),
            lambda: other.store.write_document("", "note", "a", None),
        ]
        for state, code in ((FILLING, "filling"), (CLOSED, "moving"), (MOVED, "moved")):
            await queue.store.stand(Standing(state=state, peer="there", url="memory:there"))
            clock.advance(3700)
            for change in changes:
                with pytest.raises(Unavailable) as caught:
                    await change()
                assert caught.value.code == code
                assert "there" in caught.value.message
            if isinstance(caught.value, Moved):
                assert caught.value.url == "memory:there"
            assert (await queue.store.carry_out(0, 1000)).tasks == before.tasks
            assert await queue.store.carry_settings() == settings
            assert (await other.get(held.task.id)).status is Status.RUNNING
        await queue.store.stand(Standing())
        assert (await other.store.standing()).state == "open"
        await other.renew(held)
        await other.complete(held)

    @pytest.mark.door
    async def test_only_a_store_that_is_filled_or_may_be_gone_back_to_takes_tasks(self, queue: Queue) -> None:
        for standing in (Standing(), Standing(state=CLOSED), Standing(state=MOVED, final=True)):
            await queue.store.stand(standing)
            with pytest.raises(Unavailable) as caught:
                await queue.store.carry_in(Cargo())
            assert caught.value.code == "not_filling"
            with pytest.raises(Unavailable):
                await queue.store.carry_in_settings(await queue.store.carry_settings())
        await queue.store.stand(Standing(state=MOVED, peer="there"))
        await queue.store.carry_in(Cargo(), standing=Standing(state=MOVED, peer="there", seq=7))
        assert (await queue.store.standing()).seq == 7

    @pytest.mark.door
    async def test_whoever_opens_a_store_gives_every_claim_its_lease_anew(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, "job", lease=30)
        await queue.store.stand(Standing(state=CLOSED, peer="there"))
        clock.advance(100)
        await queue.store.stand(Standing())
        await elapse(queue, clock, 20)
        await queue.complete(claim, "still mine")

    @pytest.mark.door
    async def test_what_was_carried_is_replaced_and_forgotten(self, queue: Queue, clock: FakeClock) -> None:
        from dibs.queue import Queue as AnotherQueue

        away = AnotherQueue(MemoryStore(clock=clock))
        one = await away.add("one", key="k")
        two = await away.add("two", after=[one])
        await queue.store.stand(Standing(state=FILLING, peer="there"))
        await _carry(away.store, queue.store)
        await away.cancel(one.id)
        again = await away.add("one", key="k")
        # Whoever has the key now may come before whoever has lost it.
        await queue.store.carry_in(await away.store.carry_out_named([again.id]))
        await queue.store.carry_in(await away.store.carry_out_named([one.id]))
        named = await away.store.carry_out_named([one.id, "unknown"])
        assert named.dependents == [two.id]
        await queue.store.carry_in(Cargo(), forget=[two.id, "unknown"])
        assert [task.id for task in (await queue.store.carry_out(0, 10)).tasks] == [one.id, again.id]
        live = await queue.store.carry_out(0, 10, live=True)
        assert [task.id for task in live.tasks] == [again.id]
        assert (await queue.store.census()).by_status == {"cancelled": 1, "ready": 1}
        await away.close()

    async def test_a_dag_that_ended_keeps_the_key_that_another_has_now(self, queue: Queue, clock: FakeClock) -> None:
        from dibs.queue import Queue as AnotherQueue

        away = AnotherQueue(MemoryStore(clock=clock))
        ended = await away.add_dag("ended", [NewTask("a")], key="k")
        await away.cancel(ended.id)
        now = await away.add_dag("now", [NewTask("a")], key="k")
        await queue.store.stand(Standing(state=FILLING, peer="there"))
        for dag in (ended, now):
            await queue.store.carry_in(await away.store.carry_out_named([task.id for task in dag.tasks]))
        carried = await queue.store.carry_out(0, 10)
        assert {dag.title: dag.key for dag in carried.dags} == {"ended": "k", "now": "k"}
        await away.close()
