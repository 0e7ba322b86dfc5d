"""What only this store can get wrong when it reads: long backlogs, coarse filters, late numbers, sick tables."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from dibs.model.task import NewTask
from dibs.queue import Queue
from dibs.stores.postgres import PostgresStore, check, finding
from tests.servers.postgres import shared_url

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import asyncpg

    from dibs.stores.postgres.engine import Engine


def with_queue(url: str, story: Callable[[Queue, Engine], Awaitable[None]]) -> None:
    async def run() -> None:
        store = PostgresStore(url)
        await store.connect()
        queue = Queue(store)
        try:
            await story(queue, store._engine)
        finally:
            await queue.close()

    asyncio.run(run())


async def every_page(queue: Queue, **filters: Any) -> tuple[list[Any], int]:
    """The payloads on all pages, and how many pages there were."""
    payloads: list[Any] = []
    cursor: str | None = None
    for count in range(1, 1_000):
        page = await queue.find(limit=1_000, cursor=cursor, **filters)
        payloads += [task.payload for task in page.items]
        cursor = page.cursor
        if cursor is None:
            return payloads, count
    raise AssertionError("the pages never end")


# Values


def test_values_come_back_to_the_last_digit(postgres_url: str) -> None:
    payload = {"z": 2**80, "a": 0.1 + 0.2, "m": [1e-300, 12345678901234567890.0, -0.0], "text": 'ß\t"\\u0041" \\ 🜁'}

    async def story(queue: Queue, engine: Engine) -> None:
        # As an administrator may have it, for all sessions that begin from now on.
        await engine.fetch("SELECT set_config('extra_float_digits', '0', false)")
        task = await queue.add("job", payload, priority=33.333333333333336)
        found = await queue.get(task.id)
        assert found.payload == payload
        assert list(found.payload) == list(payload)
        assert found.priority == 33.333333333333336
        (claim,) = await queue.claim("ada")
        await queue.complete(claim, payload)
        found = await queue.get(task.id)
        assert (found.output, list(found.output)) == (payload, list(payload))

    with_queue(f"{postgres_url}&pool=1", story)


def test_an_input_has_the_ref_of_its_task_whatever_its_payload_says(postgres_url: str) -> None:
    async def story(queue: Queue, engine: Engine) -> None:
        await queue.add_many(
            [
                NewTask("a", {"ref": "wrong"}, ref="right"),
                NewTask("b", {"ref": "wrong"}, ref='q"uote'),
                NewTask("c", after=["right", 'q"uote']),
            ]
        )
        for type in ("a", "b"):
            (claim,) = await queue.claim("ada", types=[type])
            await queue.complete(claim, type)
        (claim,) = await queue.claim("ada")
        assert claim.inputs == {"right": "a", 'q"uote': "b"}

    with_queue(postgres_url, story)


# Finding


def test_text_is_found_in_any_case_and_alphabet(postgres_url: str) -> None:
    async def story(queue: Queue, engine: Engine) -> None:
        for text in (
            "ÄPFEL und Birnen",
            "ПРИВЕТ мир",
            "ΟΔΥΣΣΕΥΣ",
            "100% sure_",
            'say "hi"\\now',
            "日本語",
            "line\nbreak",
        ):
            await queue.add("job", {"text": text}, title=text.replace("\n", " "))
        for wanted, found in {
            "äpfel": "ÄPFEL und Birnen",
            "UND BIRNEN": "ÄPFEL und Birnen",
            "привет МИР": "ПРИВЕТ мир",
            "οδυσσευς": "ΟΔΥΣΣΕΥΣ",
            "0% SURE_": "100% sure_",
            'Say "Hi"\\n': 'say "hi"\\now',
            "本": "日本語",
            "line break": "line\nbreak",
        }.items():
            page = await queue.find(text=wanted)
            assert [task.payload["text"] for task in page.items] == [found], wanted
        # A key of the specification is none of the task's words, and a wildcard is just a letter.
        for nothing in ("created_by", "title", "s_re", "%äpfel%"):
            assert (await queue.find(text=nothing)).items == [], nothing

    with_queue(postgres_url, story)


def test_what_is_looked_for_coarsely_contains_what_is_looked_for() -> None:
    like, capitals, smalls = finding.pattern('50%_"é')
    assert (like, capitals, smalls) == ("%50\\%\\_%é%", "É", "é")


def test_a_tag_is_not_taken_for_a_word_of_the_payload(postgres_url: str) -> None:
    async def story(queue: Queue, engine: Engine) -> None:
        await queue.add("job", ["red"])
        tagged = await queue.add("job", tags=["red"])
        assert [task.id for task in (await queue.find(tag="red")).items] == [tagged.id]

    with_queue(postgres_url, story)


def test_pages_cover_everything_once_however_much_lies_in_between(postgres_url: str) -> None:
    """More than is looked at in one call, of several statuses, in several layers."""

    async def story(queue: Queue, engine: Engine) -> None:
        layer = [NewTask("early", number) for number in range(100)]
        await queue.add_many([*layer, *(NewTask("bulk", -number) for number in range(900))])
        for claim in (await queue.claim("ada", types=["early"], limit=100))[:60]:
            if claim.task.payload % 2:
                await queue.complete(claim)
            else:
                await queue.fail(claim, "no", retry=False)
        parent = await queue.add("late", "parent", run_after="1h")
        for start in range(0, 12_000, 1_000):
            await queue.add_many([NewTask("bulk", start + number) for number in range(1_000)])
        await queue.add("late", "pending", after=[parent])
        held = sorted(range(60, 100), reverse=True)
        assert await every_page(queue, status="running") == (held, 1)
        assert (await every_page(queue, status="running", type="early"))[0] == held
        assert (await every_page(queue, status="completed"))[0] == list(range(59, 0, -2))
        assert (await every_page(queue, status="completed", type="early"))[0] == list(range(59, 0, -2))
        assert (await every_page(queue, status="dead_lettered"))[0] == list(range(58, -1, -2))
        assert (await every_page(queue, status=["dead_lettered", "completed"]))[0] == list(range(59, -1, -1))
        assert (await every_page(queue, status="scheduled"))[0] == ["parent"]
        assert (await every_page(queue, status="pending"))[0] == ["pending"]
        assert (await every_page(queue, status=["pending", "scheduled"], type="late"))[0] == ["pending", "parent"]
        ready = [*range(11_999, -1, -1), *range(-899, 1)]
        found, pages = await every_page(queue, status="ready")
        assert (found, pages > 12) == (ready, True)
        mixed, _ = await every_page(queue, status=["ready", "running", "pending", "completed"])
        assert mixed == ["pending", *ready, *(n for n in range(99, -1, -1) if n >= 60 or n % 2)]
        assert len((await every_page(queue))[0]) == 13_002

    with_queue(postgres_url, story)


# Events


def test_events_that_nobody_read_for_long_are_all_there_at_once(postgres_url: str) -> None:
    async def story(queue: Queue, engine: Engine) -> None:
        await engine.fetch(
            'INSERT INTO dibs.outbox (at, count, body) SELECT g, 2, \'[[["task.added","task.ready"],\''
            " || g || ',null,null,[\"task_' || g || '\"]]]' FROM generate_series(1, 12000) g"
        )
        assert await queue.store.last_seq() == 24_000
        await engine.fetch("UPDATE dibs.outbox SET last_seq = NULL")
        # The last ones are asked for while nothing has a number.
        last = await queue.store.events(23_997, 100)
        assert [(event.seq, event.task_id) for event in last] == [
            (23_998, "task_11999"),
            (23_999, "task_12000"),
            (24_000, "task_12000"),
        ]
        first = await queue.store.events(0, 3)
        assert [(event.seq, event.type) for event in first] == [(1, "task.added"), (2, "task.ready"), (3, "task.added")]

    with_queue(postgres_url, story)


def test_an_event_in_flight_is_never_stepped_over(postgres_url: str) -> None:
    async def story(queue: Queue, engine: Engine) -> None:
        slow = await engine.connect()
        try:
            transaction = slow.transaction()
            await transaction.start()
            await slow.execute(
                engine.text(
                    "INSERT INTO dibs.outbox (at, count, body)"
                    ' VALUES (1, 1, \'[[["task.added"],1,null,null,["task_slow"]]]\')'
                )
            )
            quick = await queue.add("job")
            seen = await queue.store.events(0, 100)
            assert [event.task_id for event in seen] == [quick.id, quick.id]
            await transaction.commit()
        finally:
            await slow.close()
        assert [event.task_id for event in await queue.store.events(seen[-1].seq, 100)] == ["task_slow"]

    with_queue(postgres_url, story)


# The doctor


def test_a_sick_store_is_told_what_is_wrong() -> None:
    url = shared_url()
    schema = f"sick_{os.urandom(5).hex()}"

    async def story(queue: Queue, engine: Engine) -> None:
        try:
            parent = await queue.add("job")
            child = await queue.add("job", after=[parent])
            assert await queue.store.check() == []
            for harm, said in {
                f"UPDATE dibs.work SET open = 2 WHERE n = (SELECT n FROM dibs.specs WHERE id = '{child.id}')": (
                    f"Task {child.id} counts 2 open edges and has 1."
                ),
                "UPDATE dibs.lanes SET low = 'infinity'": "below the floor of its lane",
                "UPDATE dibs.work SET status = 'running' WHERE open = 0": "has no agent or lease",
                "UPDATE dibs.work SET lease_expires_at = 1, status = 'pending'": "but has a lease",
                "DROP INDEX dibs.waiting_ready": f"The index {schema}.waiting_ready is missing or invalid",
                "DROP FUNCTION dibs.last_seq": f"The function {schema}.last_seq is missing",
                "UPDATE dibs.meta SET value = '0.0.0 old' WHERE name = 'functions'": "run `dibs upgrade`",
                "UPDATE dibs.outbox SET last_seq = id * 100": "does not follow on event",
                f"DELETE FROM dibs.specs WHERE id = '{parent.id}'": "has no specification",
            }.items():
                assert not any(said in sentence for sentence in await queue.store.check()), said
                await engine.fetch(harm)
                assert any(said in sentence for sentence in await queue.store.check()), said
        finally:
            await engine.fetch(f"DROP SCHEMA {schema} CASCADE")

    with_queue(f"{url}{'&' if '?' in url else '?'}schema={schema}", story)


def test_a_long_backlog_is_worth_compressed_pages_in_the_log() -> None:
    def told(live: int | None, compression: str) -> list[str]:
        return check.with_a_long_backlog({"live": live, "wal_compression": compression})

    [sentence] = told(check.LONG_BACKLOG, "off")
    assert "100,000 tasks" in sentence
    assert "set wal_compression to lz4" in sentence
    assert told(check.LONG_BACKLOG - 1, "off") == told(None, "off") == told(check.LONG_BACKLOG, "pglz") == []


def test_dangers_are_named_with_what_to_do() -> None:
    url = shared_url()
    schema = f"sick_{os.urandom(5).hex()}"

    async def story(queue: Queue, engine: Engine) -> None:
        advise = queue.store.advise
        connection: asyncpg.Connection[Any] = await engine.connect()
        try:
            calm = await advise()
            await engine.fetch("ALTER TABLE dibs.waiting SET (autovacuum_enabled = off)")
            await engine.fetch("SELECT set_config('synchronous_commit', 'off', false)")
            told = [sentence for sentence in await advise() if sentence not in calm]
            assert len(told) == 2
            for words in ("synchronous_commit to on", f"ALTER TABLE {schema}.waiting RESET"):
                assert any(words in sentence for sentence in told), words
            await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            await connection.execute("SELECT 1 FROM pg_class LIMIT 1")
            sessions = await engine.fetch(check.old_snapshots(0))
            mine = [row for row in sessions if row["pid"] == connection.get_server_pid()]
            assert len(mine) == 1
            sentence = check.held_up_by(mine[0])
            assert f"pg_terminate_backend({connection.get_server_pid()})" in sentence
            assert "idle in transaction" in sentence
        finally:
            await connection.close()
            await engine.fetch(f"DROP SCHEMA {schema} CASCADE")

    with_queue(f"{url}{'&' if '?' in url else '?'}schema={schema}&pool=1", story)
