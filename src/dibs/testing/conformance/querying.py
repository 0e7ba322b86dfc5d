"""Looking for tasks in words: what each term of a query picks, alone and with others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.errors import Invalid
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, finish, kill, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def found(queue: Queue, query: str, **more: object) -> list[object]:
    return [task.title for task in (await queue.find(query=query, **more)).items]  # type: ignore[arg-type]


class Querying(Topic):
    async def test_values_pick_what_has_one_of_them(self, queue: Queue) -> None:
        await queue.add("code", title="one", tags=["repo:x", "hot"], user="grace")
        await queue.add("code", title="two", tags=["repo:x", "a,b"])
        await queue.add("test", title="three", user="alan")
        await finish(queue, "test")
        held = await take(queue, "code", agent="bob")
        assert held.task.title == "one"
        assert await found(queue, "") == ["three", "two", "one"]
        assert await found(queue, "status:ready,running") == ["two", "one"]
        assert await found(queue, "status:ready status:running") == ["two", "one"]
        assert await found(queue, "-status:completed") == ["two", "one"]
        assert await found(queue, "-status:completed -status:running status:ready") == ["two"]
        assert await found(queue, "status:ready -status:ready") == []
        assert await found(queue, "type:code,test") == ["three", "two", "one"]
        assert await found(queue, "-type:code") == ["three"]
        assert await found(queue, "status:completed,ready type:test") == ["three"]
        assert await found(queue, "status:completed,ready -type:test") == ["two"]
        assert await found(queue, "tag:repo:x") == ["two", "one"]
        assert await found(queue, "tag:repo:x tag:hot") == ["one"]
        assert await found(queue, "tag:repo:x -tag:hot") == ["two"]
        assert await found(queue, "tag:a,b") == ["two"]
        assert await found(queue, "tag:repo") == []
        assert await found(queue, "user:grace") == ["one"]
        assert await found(queue, "-user:grace") == ["three", "two"]
        assert await found(queue, "agent:bob") == ["one"]
        assert await found(queue, "agent:bob,ada") == ["three", "one"]
        assert await found(queue, "-agent:bob") == ["three", "two"]
        assert await found(queue, f"dag:{held.task.dag_id}") == ["one"]
        assert await found(queue, f"dag:{held.task.dag_id} -agent:bob") == []

    async def test_words_must_all_be_there(self, queue: Queue) -> None:
        await queue.add("code", {"goal": "mend the gate"}, title="Red gate")
        await queue.add("code", {"goal": 'say "cheese"'}, title="Blue gate")
        assert await found(queue, "gate") == ["Blue gate", "Red gate"]
        assert await found(queue, "gate RED") == ["Red gate"]
        assert await found(queue, "gate -red") == ["Blue gate"]
        assert await found(queue, '"mend the gate"') == ["Red gate"]
        assert await found(queue, '"the mend"') == []
        assert await found(queue, "-gate") == []
        assert await found(queue, 'type:code -"mend the"') == ["Blue gate"]

    async def test_measures_are_compared(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("paid", title="paid", priority=10)
        claim = await take(queue, "paid")
        await queue.complete(claim, cost=0.5, tokens_in=900, tokens_out=100)
        clock.advance(3_600)
        await queue.add("new", title="new", priority=80)
        assert await found(queue, "cost>=0.5") == ["paid"]
        assert await found(queue, "cost=0.5") == ["paid"]
        assert await found(queue, "cost>0.5") == []
        assert await found(queue, "cost<0.5") == []
        assert await found(queue, "cost<1 cost>0.1") == ["paid"]
        assert await found(queue, "tokens>=1000") == ["paid"]
        assert await found(queue, "tokens<1000") == []
        assert await found(queue, "priority<20") == ["paid"]
        assert await found(queue, "priority>20") == ["new"]
        assert await found(queue, "attempts>0") == ["paid"]
        assert await found(queue, "attempts<1") == ["new"]
        assert await found(queue, "age>30m") == ["paid"]
        assert await found(queue, "age<30m") == ["new"]
        assert await found(queue, "age>=1h") == ["paid"]
        assert await found(queue, "age>1h") == []
        assert await found(queue, "age<=1h age>0.5h") == ["paid"]

    async def test_age_finds_what_is_days_away(self, queue: Queue, clock: FakeClock) -> None:
        for day in range(6):
            await queue.add("job", title=f"day {day}")
            clock.advance(86_400)
        assert await found(queue, "age>4.5d") == ["day 1", "day 0"]
        assert await found(queue, "age<2.5d") == ["day 5", "day 4"]
        assert await found(queue, "age>1.5d age<3.5d") == ["day 4", "day 3"]
        page = await queue.find(query="age<1.5d", limit=1)
        assert ([task.title for task in page.items], page.cursor) == (["day 5"], None)
        assert await found(queue, "age>30d") == []

    async def test_parked_poison_reason_and_parent(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("first", title="first", locks=["repo"])
        await queue.add("second", title="second", locks=["repo"])
        holder = await take(queue, "first")
        assert await queue.claim("bob", types=["second"]) == []
        assert await found(queue, "parked:yes") == ["second"]
        assert await found(queue, "parked:no") == ["first"]
        assert await found(queue, "parked:yes status:running") == []
        [child] = await queue.spawn(holder, [NewTask("third", title="child")])
        assert await found(queue, f"parent:{holder.task.id}") == ["child"]
        assert await found(queue, f"parent:{child.id}") == []
        await kill(queue, "third")
        assert await found(queue, "reason:error") == ["child"]
        assert await found(queue, "reason:crash,error") == ["child"]
        assert await found(queue, "-reason:error") == ["second", "first"]
        assert await found(queue, "status:dead_lettered reviewed:no") == ["child"]
        await queue.review(child.id, "kept", by="grace")
        assert await found(queue, "status:dead_lettered reviewed:no") == []
        assert await found(queue, "reviewed:yes") == ["child"]
        assert await found(queue, "poison:yes") == []
        assert await found(queue, "poison:no reason:error") == ["child"]

    @pytest.mark.door
    async def test_pages_follow_each_other(self, queue: Queue) -> None:
        for number in range(5):
            await queue.add("job", title=str(number), tags=["even" if number % 2 == 0 else "odd"])
        first = await queue.find(query="tag:even", limit=2)
        assert [task.title for task in first.items] == ["4", "2"]
        rest = await queue.find(query="tag:even", limit=2, cursor=first.cursor)
        assert ([task.title for task in rest.items], rest.cursor) == (["0"], None)

    async def test_a_query_goes_with_what_is_given_by_name(self, queue: Queue) -> None:
        await queue.add("a", title="one", tags=["hot"])
        await queue.add("b", title="two", tags=["hot"])
        assert await found(queue, "tag:hot", type="a") == ["one"]
        with pytest.raises(Invalid) as refused:
            await queue.find(query="type:b", type="a")
        assert refused.value.field == "type"

    async def test_what_cannot_be_read_is_refused_with_its_place(self, queue: Queue) -> None:
        for query, place in (("status:gone", 8), ("tag:a colour:red", 7), ('tag:"open', 5), ("cost>much", 6)):
            with pytest.raises(Invalid) as refused:
                await queue.find(query=query)
            assert refused.value.field == "query"
            assert f"character {place}:" in refused.value.message
        for wrong in (7, "a" * 2_001, "nul\x00"):
            with pytest.raises(Invalid) as refused:
                await queue.find(query=wrong)  # type: ignore[arg-type]
            assert refused.value.field == "query"
