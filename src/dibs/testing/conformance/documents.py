"""Documents: small values by project, kind and name; of two that write the same version, one is told."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Conflict, Invalid
from dibs.model.instants import from_micros
from dibs.rules.documents import MAX_BODY_BYTES
from dibs.testing.conformance.topic import Topic, events, on_the_store

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def names(queue: Queue, project: str = "p", kind: str = "note", **options: Any) -> list[str]:
    """What is there."""
    return [found.name for found in await queue.store.documents(project, kind, **options)]


class Documents(Topic):
    async def test_a_document_is_read_as_it_was_written(self, queue: Queue, other: Queue, clock: FakeClock) -> None:
        body = bytes(range(256)) * 2
        written = clock()
        assert await queue.store.write_document("p", "note", "a", body) == written
        clock.advance(5)
        [found] = await other.store.documents("p", "note", name="a")
        assert (found.project, found.kind, found.name, found.version) == ("p", "note", "a", written)
        assert (found.body, found.updated_at) == (body, written)
        assert await other.store.write_document("p", "note", "a", b"") == written + 1
        [found] = await queue.store.documents("p", "note", name="a")
        assert (found.version, found.body, found.updated_at) == (written + 1, b"", clock())
        assert await queue.store.check() == []

    async def test_projects_and_kinds_are_apart(self, queue: Queue) -> None:
        store = queue.store
        for place, (project, kind) in enumerate((("", "note"), ("p", "note"), ("p", "other"), ("note", "p"))):
            await store.write_document(project, kind, "a", b"%d" % place, 0)
        assert [each.body for each in await store.documents("", "note")] == [b"0"]
        assert [each.body for each in await store.documents("p", "note")] == [b"1"]
        assert [each.body for each in await store.documents("p", "other", name="a")] == [b"2"]
        assert [each.body for each in await store.documents("note", "p")] == [b"3"]
        assert await store.documents("q", "note") == []
        assert await store.documents("p", "note", name="b") == []
        await store.write_document("p", "note", "a", None)
        assert len(await store.documents("", "note")) == 1
        assert len(await store.documents("p", "other")) == 1

    @pytest.mark.door
    async def test_they_are_listed_by_name_in_portions(self, queue: Queue) -> None:
        known = ["1", "10", "2", "B", "a", "a b", "a:b", "a\tb", "b", "z", "ä", "日本", "\U0001f600"]
        for name in known[::-1]:
            await queue.store.write_document("p", "note", name, name.encode())
        assert await names(queue) == sorted(known)
        assert await names(queue, limit=3) == sorted(known)[:3]
        assert await names(queue, after="a", limit=3) == [each for each in sorted(known) if each > "a"][:3]
        assert await names(queue, after="aa") == [each for each in sorted(known) if each > "aa"]
        assert await names(queue, after="\U0001f600") == []
        for name in known[::2]:
            await queue.store.write_document("p", "note", name, None)
        assert await names(queue) == sorted(known[1::2])
        assert await queue.store.check() == []

    @pytest.mark.door
    async def test_a_version_that_was_not_expected_changes_nothing(self, queue: Queue, clock: FakeClock) -> None:
        store = queue.store
        first = await store.write_document("p", "note", "a", b"1", 0)
        assert await store.write_document("p", "note", "a", b"2", first) == first + 1
        before = await store.documents("p", "note")
        clock.advance(1)
        for body, expected in (
            (b"3", 0),
            (b"3", first),
            (b"2", first),
            (b"3", first + 2),
            (None, 0),
            (None, first),
        ):
            with pytest.raises(Conflict) as caught:
                await store.write_document("p", "note", "a", body, expected)
            assert (caught.value.code, caught.value.field) == ("version_conflict", "expected")
            assert f"has version {first + 1}" in caught.value.message
        with pytest.raises(Conflict) as caught:
            await store.write_document("p", "note", "b", b"1", 1)
        assert "does not exist" in caught.value.message
        assert await store.documents("p", "note") == before

    async def test_a_document_that_comes_back_is_not_taken_for_the_one_before(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        store = queue.store
        await store.write_document("p", "note", "a", b"1")
        seen = await store.write_document("p", "note", "a", b"2")
        assert await store.write_document("p", "note", "a", None, seen) == 0
        assert await names(queue) == []
        assert await store.write_document("p", "note", "a", None) == 0
        assert await store.write_document("p", "note", "a", None, 0) == 0
        clock.advance(1)
        assert await store.write_document("p", "note", "a", b"3", 0) > seen
        with pytest.raises(Conflict):
            await store.write_document("p", "note", "a", b"by one that stalled", seen)

    @pytest.mark.door
    @pytest.mark.routing
    async def test_of_many_that_expect_the_same_version_one_gets_through(self, queue: Queue, other: Queue) -> None:
        expected = 0
        for _ in range(4):
            answers = await asyncio.gather(
                *(
                    (queue if number % 2 else other).store.write_document("p", "note", "a", b"%d" % number, expected)
                    for number in range(8)
                ),
                return_exceptions=True,
            )
            written = [number for number, answer in enumerate(answers) if not isinstance(answer, Conflict)]
            assert len(written) == 1
            [found] = await queue.store.documents("p", "note")
            assert (found.version, found.body) == (answers[written[0]], b"%d" % written[0])
            assert found.version > expected
            expected = found.version

    async def test_writes_that_expect_nothing_are_all_counted(self, queue: Queue, other: Queue) -> None:
        answers = await asyncio.gather(
            *((queue if number % 2 else other).store.write_document("p", "note", "a", b"x") for number in range(10))
        )
        assert sorted(answers) == list(range(min(answers), min(answers) + 10))

    @pytest.mark.door
    async def test_documents_are_news_but_no_events(self, queue: Queue, other: Queue) -> None:
        task = await queue.add("job")
        since, told = await other.store.news(), await events(other)
        await queue.store.write_document("p", "note", "a", b"1")
        await other.store.wait_for_news(since, 60)
        assert await other.store.news() != since
        assert await events(other) == told
        assert (await queue.get(task.id)).updated_at == task.updated_at

    @on_the_store("whoever asks a server sees their own project only")
    async def test_what_is_told_is_an_event_that_says_where(self, queue: Queue, clock: FakeClock) -> None:
        await queue.store.tell("default", "hook.disabled", reason="gone", data={"hook": "ci", "n": [1, None]})
        await queue.store.tell("ä", "hook.disabled", data={"hook": "ci"})
        await queue.store.tell("ä", "budget.low")
        first, second, third = await events(queue)
        assert (first.seq, first.type, first.reason) == (1, "hook.disabled", "gone")
        assert (first.at, first.data) == (from_micros(clock()), {"hook": "ci", "n": [1, None]})
        assert (first.task_id, first.dag_id, first.agent) == (None, None, None)
        assert (second.seq, second.reason, second.data) == (2, None, {"hook": "ci", "project": "ä"})
        assert third.data == {"project": "ä"}
        assert await queue.store.check() == []

    async def test_what_cannot_be_kept_is_refused(self, queue: Queue) -> None:
        write: Any = queue.store.write_document
        full = b"x" * MAX_BODY_BYTES
        assert await write("p", "note", "n" * 200, full) > 0
        assert (await queue.store.documents("p", "note"))[0].body == full
        for field, arguments in (
            ("name", ("p", "note", "", b"")),
            ("name", ("p", "note", "n" * 201, b"")),
            ("name", ("p", "note", "a\0b", b"")),
            ("name", ("p", "note", "\ud800", b"")),
            ("name", ("p", "note", None, b"")),
            ("kind", ("p", "", "a", b"")),
            ("body", ("p", "note", "a", full + b"x")),
            ("body", ("p", "note", "a", "text")),
            ("expected", ("p", "note", "a", b"", -1)),
            ("expected", ("p", "note", "a", b"", 1.5)),
            ("expected", ("p", "note", "a", b"", True)),
        ):
            with pytest.raises(Invalid) as refused:
                await write(*arguments)
            assert refused.value.field == field, arguments
        assert await names(queue) == ["n" * 200]
