"""Large payloads and outputs: as they were handed in where somebody asks for them, and named in lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.model.task import NewTask
from dibs.rules.large import LARGE_BYTES
from dibs.stores.values import ClaimRequest
from dibs.testing.conformance.topic import Topic, events, finish, kill, take

if TYPE_CHECKING:
    from dibs.queue import Queue

AT_MOST = "ä" * (LARGE_BYTES // 2 - 1)
"""With its quotes the largest text that is not large."""
LARGE = AT_MOST + "x"


class Large(Topic):
    @pytest.mark.door
    @pytest.mark.routing
    async def test_a_large_payload_is_claimed_and_got_as_it_was_added(self, queue: Queue) -> None:
        alone = await queue.add("alone", {"text": LARGE})
        [first, _] = await queue.add_many([NewTask("many", [LARGE]), NewTask("many", 1)])
        dag = await queue.add_dag("d", [NewTask("root", LARGE, ref="a"), NewTask("leaf", LARGE, ref="b", after=["a"])])
        assert alone.payload == {"text": LARGE}
        assert (await queue.get(alone.id)).payload == {"text": LARGE}
        assert (await queue.get(first.id)).payload == [LARGE]
        claim = await take(queue, "alone")
        assert claim.task.payload == {"text": LARGE}
        await queue.fail(claim, "it broke", retry_after=0)
        assert (await take(queue, "alone")).task.payload == {"text": LARGE}
        assert (await take(queue, "root")).task.payload == LARGE
        assert (await queue.get(dag.tasks[1].id)).payload == LARGE

    @pytest.mark.door
    async def test_a_large_output_is_got_waited_for_and_handed_on_as_it_was(self, queue: Queue) -> None:
        task = await queue.add("job")
        child = await queue.add("next", after=[task], context={"refs": [f"task:{task.id}:output"]})
        claim = await finish(queue, "job", {"text": LARGE})
        assert (await queue.get(task.id)).output == {"text": LARGE}
        assert (await queue.wait(task.id, timeout=5)).output == {"text": LARGE}
        following = await take(queue, "next")
        assert following.task.id == child.id
        assert following.inputs == {task.id: {"text": LARGE}}
        assert following.context["refs"] == {f"task:{task.id}:output": {"text": LARGE}}
        again = await queue.complete(claim, {"text": LARGE})
        assert (again.task_id, again.outcome) == (task.id, "completed")

    @pytest.mark.door
    async def test_lists_name_large_values_and_carry_all_others(self, queue: Queue) -> None:
        for asked, made in ((AT_MOST, LARGE), (LARGE, AT_MOST), (1, 2)):
            await queue.add("job", asked)
            await finish(queue, "job", made)
        small, heavy, long = (await queue.find()).items
        assert (small.payload, small.output) == (1, 2)
        assert (long.payload, long.output) == (AT_MOST, {"ref": f"task:{long.id}:output"})
        assert (heavy.payload, heavy.output) == ({"ref": f"task:{heavy.id}:payload"}, AT_MOST)
        assert [task.payload for task in (await queue.find(status="completed", limit=2)).items] == [1, heavy.payload]
        assert await queue.store.get([long.id, "task_none", heavy.id], listed=True) == [long, None, heavy]
        [alone] = (await queue.get_dag(long.dag_id)).tasks
        assert alone.output == {"ref": f"task:{long.id}:output"}

    async def test_the_tasks_of_a_dag_are_listed(self, queue: Queue) -> None:
        dag = await queue.add_dag(
            "d", [NewTask("a", LARGE, ref="a"), NewTask("b", ref="b", after=["a"], title="the second", tags=["t"])]
        )
        await finish(queue, "a", {"text": LARGE})
        first, second = (await queue.get_dag(dag.id)).tasks
        assert first.payload == {"ref": f"task:{first.id}:payload"}
        assert first.output == {"ref": f"task:{first.id}:output"}
        assert (second.payload, second.title, second.tags) == (None, "the second", ("t",))
        assert second.depends_on == (first.id,)

    async def test_what_else_a_task_has_is_listed_beside_a_large_payload(self, queue: Queue) -> None:
        context = {"payload": [1], "b": 1.0, "a": 2}
        task = await queue.add("job", LARGE, title='a "payload": 1', tags=["t"], context=context, priority=7)
        [listed] = (await queue.find(tag="t")).items
        whole = await queue.get(task.id)
        assert (whole.title, whole.context, whole.priority) == ('a "payload": 1', context, 7)
        assert list(listed.context) == list(context)
        whole.payload = listed.payload
        assert listed == whole

    async def test_texts_are_not_looked_for_in_large_payloads(self, queue: Queue) -> None:
        small = await queue.add("job", f"needle {AT_MOST[10:]}")
        titled = await queue.add("job", LARGE, title="a needle")
        await queue.add("job", f"needle {LARGE}")
        assert [task.id for task in (await queue.find(text="NEEDLE")).items] == [titled.id, small.id]
        assert (await queue.find(text="payload")).items == []
        for _ in range(3):
            await kill(queue, "job")
        assert await queue.dead_letter_ids(text="needle") == [titled.id, small.id]

    async def test_a_retry_with_another_payload_makes_it_large_or_small(self, queue: Queue) -> None:
        task = await queue.add("job", 1)
        await kill(queue, "job")
        assert (await queue.retry(task.id, payload=LARGE)).payload == LARGE
        assert (await queue.find()).items[0].payload == {"ref": f"task:{task.id}:payload"}
        await kill(queue, "job")
        assert (await queue.review(task.id, "retried", by="ada", payload=2)).payload == 2
        assert (await queue.find()).items[0].payload == 2

    @pytest.mark.door
    async def test_a_claim_is_bounded_by_what_its_payloads_have_together(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", LARGE) for _ in range(4)])
        claimed = await queue.store.claim(ClaimRequest(agent="ada", limit=4, max_bytes=3 * LARGE_BYTES))
        assert len(claimed.claims) == 2
        one = await queue.store.claim(ClaimRequest(agent="ada", limit=4, max_bytes=1))
        assert len(one.claims) == 1

    async def test_events_name_large_values(self, queue: Queue) -> None:
        task = await queue.add("job", LARGE)
        await finish(queue, "job", LARGE)
        [done] = [event for event in await events(queue) if event.type == "task.completed"]
        assert done.data == {"payload": {"ref": f"task:{task.id}:payload"}, "output": {"ref": f"task:{task.id}:output"}}

    async def test_values_that_look_like_ours_come_back_as_they_were(self, queue: Queue) -> None:
        forged = {"dibs:kept": {"digest": "sha256:" + "0" * 64, "size": 5, "ref": "task:x:output"}}
        nested = {"dibs:kept": {"value": forged}}
        alike = [forged, nested, {"dibs:kept": 1}, {"dibs:kept": {}}, {"ref": "task:x:output"}]
        tasks = await queue.add_many([NewTask("job", value, key=f"k{place}") for place, value in enumerate(alike)])
        plain = await queue.add_many([NewTask("plain", value) for value in alike])
        assert [task.payload for task in (*tasks, *plain)] == alike + alike
        for value in alike:
            claim = await take(queue, "job")
            assert claim.task.payload == value
            await queue.complete(claim, value)
            assert (await take(queue, "plain")).task.payload == value
        for task, value in zip(tasks, alike, strict=True):
            known = await queue.get(task.id)
            assert (known.payload, known.output) == (value, value)
            assert (await queue.add("job", value, key=task.key)).id == task.id
        found = {task.id: task for task in (await queue.find(status="completed")).items}
        assert [(found[task.id].payload, found[task.id].output) for task in tasks] == [(one, one) for one in alike]
        after = await queue.add("after", after=[tasks[0]])
        assert (await take(queue, "after")).inputs == {tasks[0].id: forged}
        assert (await queue.get(after.id)).depends_on == (tasks[0].id,)
