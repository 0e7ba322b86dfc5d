"""What is done to all tasks that a query finds, and the tags of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Invalid, NotFound
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, finish, kill, status, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Steering(Topic):
    async def test_tags_are_added_and_removed(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", {"big": 12345678901234567890}, tags=["b", "a"])
        clock.advance(1)
        changed = await queue.tag(task.id, add=["ü", "c"], remove=["a", "zebra"])
        assert changed.tags == ("b", "c", "ü")
        assert changed.payload == {"big": 12345678901234567890}
        assert changed.updated_at != task.updated_at
        assert (await queue.get(task.id)).tags == ("b", "c", "ü")
        assert [each.id for each in (await queue.find(tag="ü")).items] == [task.id]
        clock.advance(1)
        again = await queue.tag(task.id, add=["c"], remove=["a"])
        assert again.updated_at == changed.updated_at
        assert (await queue.tag(task.id, remove=["b", "c", "ü"])).tags == ()

    async def test_a_held_and_an_ended_task_can_be_tagged(self, queue: Queue) -> None:
        await queue.add("job")
        held = await take(queue, "job")
        await queue.tag(held.task.id, add=["seen"])
        await queue.complete(held)
        ended = await queue.tag(held.task.id, add=["kept"])
        assert (ended.status, ended.tags) == ("completed", ("kept", "seen"))

    async def test_bad_tags_change_nothing(self, queue: Queue) -> None:
        task = await queue.add("job", tags=[f"t{number}" for number in range(99)])
        wrong: list[tuple[dict[str, Any], str]] = [
            ({}, "add"),
            ({"add": "text"}, "add"),
            ({"remove": "text"}, "remove"),
            ({"add": ["nul\x00"]}, "add"),
            ({"add": ["one", "two"]}, "add"),
        ]
        for given, field in wrong:
            with pytest.raises(Invalid) as refused:
                await queue.tag(task.id, **given)
            assert refused.value.field == field
        assert (await queue.get(task.id)).updated_at == task.updated_at
        with pytest.raises(NotFound):
            await queue.tag("task_nobody", add=["a"])

    async def test_a_count_is_exact(self, queue: Queue) -> None:
        await queue.add_many([NewTask("a", tags=["hot"] if number % 3 == 0 else []) for number in range(30)])
        assert (await queue.count()).count == 30
        found = await queue.count("tag:hot type:a")
        assert (found.count, found.more) == (10, False)
        assert (await queue.count("type:b")).count == 0
        assert (await queue.count("hot")).count == 0

    @pytest.mark.routing
    async def test_what_is_found_is_cancelled(self, queue: Queue) -> None:
        tasks = await queue.add_many([NewTask("a", str(number), tags=["hot"]) for number in range(5)])
        other = await queue.add("b")
        await finish(queue, "a")
        first = await queue.cancel_found("tag:hot", reason="enough", limit=2)
        assert (set(first.done), first.left, first.refused) == ({tasks[4].id, tasks[3].id}, [], [])
        assert first.cursor is not None
        rest = await queue.cancel_found("tag:hot", cursor=first.cursor)
        assert (set(rest.done), rest.left, rest.cursor) == ({tasks[2].id, tasks[1].id}, [tasks[0].id], None)
        assert (await queue.get(tasks[4].id)).cancel_reason == "enough"
        assert await status(queue, tasks[0]) == "completed"
        assert await status(queue, other) == "ready"

    @pytest.mark.door
    async def test_what_is_found_is_retried_and_each_is_judged_by_itself(self, queue: Queue) -> None:
        for number in range(3):
            await queue.add("a", number)
        dead = [(await kill(queue, "a")).task.id for _ in range(2)]
        found = await queue.retry_found("type:a")
        assert set(found.done) == set(dead)
        [refused] = found.refused
        assert refused.code == "illegal_transition"
        assert {task.status for task in (await queue.find(type="a")).items} == {"ready"}

    async def test_what_is_found_is_retried_in_order(self, queue: Queue) -> None:
        first = await queue.add("a")
        second = await queue.add("b", after=[first.id])
        await kill(queue, "a")
        assert await status(queue, second) == "cancelled"
        found = await queue.retry_found("-status:completed")
        assert first.id in found.done
        assert await status(queue, second) == "pending"

    async def test_what_is_found_becomes_more_urgent(self, queue: Queue) -> None:
        await queue.add("a")
        done = await finish(queue, "a")
        later = await queue.add("a")
        found = await queue.set_priority_found("type:a", 5)
        assert (found.done, [each.task_id for each in found.refused]) == ([later.id], [done.task.id])
        assert (await queue.get(later.id)).priority == 5

    async def test_what_is_found_is_tagged(self, queue: Queue) -> None:
        await queue.add_many([NewTask("a", tags=["old"]) for _ in range(3)])
        found = await queue.tag_found("tag:old", add=["new"], remove=["old"])
        assert (len(found.done), found.cursor) == (3, None)
        assert (await queue.count("tag:new")).count == 3
        assert (await queue.count("tag:old")).count == 0

    async def test_one_that_can_take_no_more_tags_does_not_keep_the_others_from_theirs(self, queue: Queue) -> None:
        first = await queue.add("a")
        full = await queue.add("a", tags=[f"t{number}" for number in range(100)])
        last = await queue.add("a")
        found = await queue.tag_found("type:a", add=["new"])
        assert found.done == [first.id, last.id]
        assert [(each.task_id, each.code, each.field) for each in found.refused] == [(full.id, "invalid", "add")]
        assert (await queue.count("tag:new")).count == 2

    async def test_what_is_wrong_with_the_request_is_said_once(self, queue: Queue) -> None:
        await queue.add("a")
        wrong: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
            ("cancel_found", ("nokey:x",), {}, "query"),
            ("cancel_found", ("type:a",), {"limit": 501}, "limit"),
            ("cancel_found", ("type:a",), {"cursor": "nonsense"}, "cursor"),
            ("cancel_found", ("type:nothing",), {"reason": "x" * 4001}, "reason"),
            ("retry_found", ("type:a",), {"delay": "soon"}, "delay"),
            ("retry_found", ("type:nothing",), {"delay": "soon"}, "delay"),
            ("retry_found", ("type:nothing",), {"keep_steps": "yes"}, "keep_steps"),
            ("set_priority_found", ("type:a", 101), {}, "priority"),
            ("tag_found", ("type:a",), {}, "add"),
            ("count", ("cost>much",), {}, "query"),
            ("suggest", ("type:", 99), {}, "at"),
        ]
        for verb, given, options, field in wrong:
            with pytest.raises(Invalid) as refused:
                await getattr(queue, verb)(*given, **options)
            assert (verb, refused.value.field) == (verb, field)
        [task] = (await queue.find()).items
        assert (task.status, task.tags, task.priority) == ("ready", (), 50)

    @pytest.mark.door
    async def test_suggestions_know_what_there_is(self, queue: Queue) -> None:
        await queue.add("code", tags=["repo:x"], user="grace")
        await queue.register_agent("ada")
        assert [each.insert for each in await queue.suggest("st")] == ["status:"]
        assert [each.insert for each in await queue.suggest("type:c")] == ["code"]
        assert [each.insert for each in await queue.suggest("tag:")] == ['"repo:x"']
        assert [each.insert for each in await queue.suggest("user:g rest", 6)] == ["grace"]
        [agent] = await queue.suggest("agent:a")
        assert (agent.start, agent.end, agent.insert) == (6, 7, "ada")
