"""What claims and settlements read depends on nothing but their size: not on how much waits, has ended, or is known."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from dibs import settling
from dibs.model.task import NewTask
from dibs.queue import Queue
from dibs.rules.coalescing import LOOKED_AT, MOST
from dibs.stores.postgres import PostgresStore, opening
from dibs.stores.values import ClaimRequest
from dibs.testing import FakeClock
from tests.servers.postgres import shared_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from dibs.model.claim import Claim
    from dibs.stores.postgres.engine import Engine

LANES = 5
LIMIT = 100
WAITING = 50_000
ENDED = 50_000
SETTLED = 21_000
DATES = ("waiting_step_at_idx", "waiting_deadline_n_idx", "held_step_at_idx", "held_deadline_n_idx")
"""Indexes that both parts of `work` have."""

# Copies of the tasks that are there, one of each type.
_MANY_SPECS = """
WITH made AS (
    INSERT INTO dibs.specs (created_at, max_attempts, id, project, type, spec)
    SELECT s.created_at, s.max_attempts, i.id, s.project, s.type, replace(s.spec, s.id, i.id)
    FROM dibs.specs s JOIN dibs.work w USING (n)
    CROSS JOIN generate_series($1::bigint, $2::bigint) g
    CROSS JOIN LATERAL (SELECT left(s.id, 21) || lpad((g * 10 + w.lane)::text, 10, '0') AS id) i
    WHERE s.n = ANY ($3)
    RETURNING n, type, id
)
"""
_MANY_WAITING = (
    _MANY_SPECS
    + """
INSERT INTO dibs.waiting (n, rank, priority, boost, updated_at, ready_at, lane, bytes, status)
SELECT m.n, w.rank + right(m.id, 10)::bigint / 1e9, w.priority, w.boost, w.updated_at, w.ready_at, w.lane, w.bytes,
    'ready'
FROM made m JOIN dibs.specs s ON s.type = m.type AND s.n = ANY ($3) JOIN dibs.work w ON w.n = s.n
"""
)
_MANY_ENDED = (
    _MANY_SPECS
    + """
INSERT INTO dibs.ended (n, ended_at, updated_at, fence, priority, boost, lane, attempts, status, agent, digest)
SELECT m.n, w.updated_at, w.updated_at, 1, w.priority, w.boost, w.lane, 1, 'completed', 'ada', 'd'
FROM made m JOIN dibs.specs s ON s.type = m.type AND s.n = ANY ($3) JOIN dibs.work w ON w.n = s.n
"""
)
# Of a table: scans from end to end, and the rows they read. Of an index: scans, and the entries they read.
_READ = """
SELECT c.relname::text AS name,
    pg_stat_get_numscans(c.oid) + pg_stat_get_xact_numscans(c.oid) AS scans,
    pg_stat_get_tuples_returned(c.oid) + pg_stat_get_xact_tuples_returned(c.oid) AS rows
FROM pg_class c
WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'dibs.work'::regclass) AND c.relkind IN ('r', 'i')
"""


@asynccontextmanager
async def fresh_queue(clock: FakeClock | None = None) -> AsyncIterator[Queue]:
    """A queue on a schema of its own: its tables are swollen afterwards. All its statements share one connection. By
    its clock no duty is due again, however long a claim is in coming."""
    url = shared_url()
    schema = f"plans_{os.urandom(5).hex()}"
    store = PostgresStore(f"{url}{'&' if '?' in url else '?'}schema={schema}&pool=1", clock=clock or FakeClock())
    await store.connect()
    engine = store._engine
    try:
        for table in ("held", "waiting", "specs", "ended"):
            # What the planner knows is for the test to say.
            await engine.fetch(f"ALTER TABLE dibs.{table} SET (autovacuum_enabled = false)")
        yield Queue(store)
    finally:
        await engine.fetch(f"DROP SCHEMA {schema} CASCADE")
        await store.close()


@asynccontextmanager
async def old_snapshot() -> AsyncIterator[None]:
    """Somebody looks at the database as it is now, and keeps looking."""
    connection = await asyncpg.connect(shared_url())
    try:
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        await connection.fetch("SELECT count(*) FROM pg_class")
        yield
    finally:
        await connection.close()


async def fill(queue: Queue) -> list[str]:
    """Many waiting tasks in a few lanes, and many that ended. Their types."""
    types = [f"type{number}" for number in range(LANES)]
    await queue.add_many([NewTask(type, {"prompt": "some words"}) for type in types])
    engine = engine_of(queue)
    first = [row[0] for row in await engine.fetch("SELECT n FROM dibs.work WHERE status = 'ready'")]
    await engine.fetch(_MANY_ENDED, 1, ENDED // LANES, first)
    await engine.fetch(_MANY_WAITING, ENDED, ENDED + WAITING // LANES - 2, first)
    return types


def engine_of(queue: Queue) -> Engine:
    engine: Engine = queue.store._engine  # type: ignore[attr-defined]
    return engine


async def analyse(queue: Queue) -> None:
    await engine_of(queue).fetch("ANALYZE dibs.held, dibs.waiting, dibs.specs, dibs.ended")


async def know_nothing(queue: Queue) -> None:
    """The planner has never seen these tables."""
    await fill(queue)


async def know_the_truth(queue: Queue) -> None:
    """The planner saw the tables as they are."""
    await fill(queue)
    await analyse(queue)


async def know_nothing_ready(queue: Queue) -> None:
    """The planner saw the tables when all tasks were held."""
    await queue.add_many([NewTask("old") for _ in range(1_000)])
    claims = await queue.claim("ada", limit=1_000)
    await analyse(queue)
    await complete(queue, claims)
    await fill(queue)


async def know_of_a_few(queue: Queue) -> None:
    """The planner saw the tables when they were nearly empty, and nothing was held."""
    await queue.add_many([NewTask("old") for _ in range(10)])
    await analyse(queue)
    await complete(queue, await queue.claim("ada", limit=10))
    await fill(queue)


async def know_of_many_dead(queue: Queue) -> None:
    """The planner saw tables in which nothing lived, but whose dead rows nobody could clear away."""
    async with old_snapshot():
        for _ in range(SETTLED // 1_000):
            await queue.add_many([NewTask("job") for _ in range(1_000)])
            await complete(queue, await queue.claim("ada", limit=1_000))
        await engine_of(queue).fetch("VACUUM (ANALYZE) dibs.held, dibs.waiting, dibs.specs, dibs.ended")
    await fill(queue)


async def complete(queue: Queue, claims: list[Claim]) -> None:
    answers = await queue.store.settle([settling.completed(claim, {"fine": True}) for claim in claims])
    assert [getattr(answer, "status", answer) for answer in answers] == ["completed"] * len(claims)


async def read_by(queue: Queue, work: Callable[[], Any], *, duties_first: bool = True) -> dict[str, tuple[int, int]]:
    """Scans of each table and index that something makes, and the rows they read."""
    engine = engine_of(queue)
    if duties_first:
        # Else a claim would run those that are due.
        await queue.run_duties()
    before = {row["name"]: (row["scans"], row["rows"]) for row in await engine.fetch(_READ)}
    await work()
    after = {row["name"]: (row["scans"], row["rows"]) for row in await engine.fetch(_READ)}
    return {name: (after[name][0] - before[name][0], after[name][1] - before[name][1]) for name in after}


@pytest.mark.parametrize(
    "circumstance", [know_nothing, know_the_truth, know_nothing_ready, know_of_a_few, know_of_many_dead]
)
def test_claims_and_settlements_read_only_what_they_hand_out(circumstance: Callable[[Queue], Any]) -> None:
    async def story() -> None:
        async with fresh_queue() as queue:
            await circumstance(queue)
            # The lanes are read, and the agent is written down, at the first claim.
            held = await queue.claim("ada", limit=LIMIT)
            assert len(held) == LIMIT
            claims: list[Claim] = []

            async def claim() -> None:
                claims.extend(await queue.claim("ada", limit=LIMIT))

            read = await read_by(queue, claim)
            assert len({claim.task.type for claim in claims}) == LANES
            # Floors are raised now and then, which looks at the first of each lane.
            assert LIMIT <= read["waiting_ready"][1] <= 2 * LANES * LIMIT + LIMIT
            assert read["specs_pkey"][1] <= 2 * LIMIT
            for table in ("held", "waiting", "specs", "ended", "attempts", "edges", "claims"):
                assert read[table] == (0, 0), f"{table} was read from end to end"
            for index in ("waiting_pkey", "held_pkey", "held_over", "waiting_later", *DATES):
                assert read[index][1] == 0

            read = await read_by(queue, lambda: complete(queue, held))
            assert LIMIT <= read["held_pkey"][1] <= 3 * LIMIT
            for table in ("held", "waiting", "specs", "ended", "attempts", "edges", "claims"):
                assert read[table] == (0, 0), f"{table} was read from end to end"
            for index in ("waiting_pkey", "waiting_ready", "held_over", "waiting_later", *DATES):
                assert read[index][1] == 0

    asyncio.run(story())


# The statements themselves


class Plan:
    """The nodes of a plan."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes = list(_nodes(json.loads(text)[0]["Plan"]))

    def scans(self, table: str) -> list[dict[str, Any]]:
        return [node for node in self.nodes if node.get("Relation Name") == table and "Scan" in node["Node Type"]]

    def of_type(self, type: str) -> list[dict[str, Any]]:
        return [node for node in self.nodes if node["Node Type"] == type]


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def function(name: str) -> str:
    """The text of a function, without comments."""
    return re.sub("--.*", "", Path(opening.HERE, "functions", f"{name}.sql").read_text(encoding="utf-8"))


def explained(name: str, before: str, beginning: str, end: str, *, run: bool) -> str:
    """The function of this name, which also explains one of its statements — the very one, with the variables that it
    has there — before it comes to it. Plans go into a setting, the last one stays."""
    text = function(name)
    start = text.index(beginning)
    statement = text[start : text.index(end, start)]
    statement = re.sub(r"^\s*INTO .*\n", "", statement, flags=re.MULTILINE)
    option = "ANALYZE, TIMING off, " if run else ""
    block = (
        f"DECLARE explanation text; BEGIN FOR explanation IN EXPLAIN ({option}FORMAT json) {statement} LOOP"
        " PERFORM set_config('test.plan', explanation, false); END LOOP; END;\n"
    )
    place = text.rindex(before, 0, start + len(before))
    text = text[:place] + block + text[place:]
    header = f"CREATE OR REPLACE FUNCTION dibs.{name}("
    assert header in text
    return text[text.index(header) : text.index("END $$;", place) + len("END $$;")]


async def plan_of(queue: Queue, replaced: str, work: Callable[[], Any]) -> Plan:
    """What the explaining function said while something was done with it."""
    engine = engine_of(queue)
    await engine.fetch(replaced)
    await work()
    return Plan(await engine.value("SELECT current_setting('test.plan')"))


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    """The plans of the statements that matter, with many waiting and many ended."""

    async def story() -> dict[str, Plan]:
        async with fresh_queue() as queue:
            await know_the_truth(queue)

            async def claim() -> None:
                assert len(await queue.claim("ada", limit=LIMIT)) == LIMIT

            async def claim_with_locks() -> None:
                await queue.add("type0", locks=["repository"], priority=0)
                await claim()

            await claim()
            held = await queue.claim("ada", limit=LIMIT)
            found = "SELECT\n                    array_agg(b.tid)"
            weighed = "SELECT\n                array_agg(coalesce(w.bytes"
            taken = "WITH taken AS ("
            gone = "WITH gone AS ("
            return {
                "find": await plan_of(queue, explained("claim", found, found, ";", run=True), claim),
                "take": await plan_of(queue, explained("claim", taken, taken, ";", run=False), claim),
                "weigh": await plan_of(queue, explained("claim", weighed, weighed, ";", run=True), claim_with_locks),
                "settle": await plan_of(
                    queue,
                    explained("settle", "FOR told IN", gone, "LOOP\n", run=False),
                    lambda: complete(queue, held),
                ),
            }

    return asyncio.run(story())


def test_a_claim_walks_the_index_of_ready_tasks_lane_by_lane(plans: dict[str, Plan]) -> None:
    scans = plans["find"].scans("waiting")
    assert scans
    for scan in scans:
        assert scan["Index Name"] == "waiting_ready"
        assert "lane =" in scan["Index Cond"]
        assert "ROW(rank, n) >" in scan["Index Cond"]
        assert scan["Actual Loops"] <= LANES
        assert scan["Actual Rows"] * scan["Actual Loops"] <= LANES * LIMIT


def test_a_claim_sorts_candidates_but_never_the_backlog(plans: dict[str, Plan]) -> None:
    sorts = plans["find"].of_type("Sort") + plans["find"].of_type("Incremental Sort")
    assert sorts
    for sort in sorts:
        (child,) = sort["Plans"]
        assert child["Actual Rows"] * child["Actual Loops"] <= LANES * LIMIT


def test_what_is_claimed_is_found_where_it_was_seen(plans: dict[str, Plan]) -> None:
    assert [scan["Node Type"] for scan in plans["take"].scans("waiting")] == ["Tid Scan"]
    assert not plans["take"].scans("held")
    where_noted, elsewhere = plans["take"].scans("specs")
    assert where_noted["Node Type"] == "Tid Scan"
    assert elsewhere["Index Name"] == "specs_pkey"


def test_what_may_not_go_together_is_weighed_where_it_was_seen(plans: dict[str, Plan]) -> None:
    (scan,) = plans["weigh"].scans("waiting")
    assert scan["Node Type"] == "Tid Scan"
    assert scan["Actual Loops"] == LIMIT


def test_what_is_settled_is_found_by_its_number(plans: dict[str, Plan]) -> None:
    assert [scan["Index Name"] for scan in plans["settle"].scans("held")] == ["held_pkey"]
    assert not plans["settle"].scans("waiting")


def test_nothing_is_read_from_end_to_end(plans: dict[str, Plan]) -> None:
    for plan in plans.values():
        assert not plan.of_type("Seq Scan")
        assert not plan.of_type("Bitmap Heap Scan")


# What is where


def test_nothing_that_ended_stays_in_the_busy_table(postgres_url: str) -> None:
    async def story() -> None:
        store = PostgresStore(postgres_url)
        await store.connect()
        queue = Queue(store)
        engine = engine_of(queue)
        try:
            await queue.add_many([NewTask("job", number) for number in range(200)])
            while claims := await queue.claim("ada", limit=50):
                for claim in claims[::10]:
                    await queue.fail(claim, "no", retry=False)
                await complete(queue, [claim for claim in claims if claim not in claims[::10]])
            assert (await queue.stats()).by_status == {"completed": 180, "dead_lettered": 20}
            assert await engine.value("SELECT count(*) FROM dibs.work") == 0
        finally:
            await queue.close()

    asyncio.run(story())


def test_people_can_look_at_tasks_with_sql(postgres_url: str) -> None:
    async def story() -> None:
        store = PostgresStore(postgres_url)
        await store.connect()
        queue = Queue(store)
        engine = engine_of(queue)
        try:
            await queue.add("job", {"n": 1})
            await queue.complete((await queue.claim("ada"))[0], {"m": 2})
            task = await queue.add("job", {"n": 3}, user="grace")
            await queue.claim("bob")
            await queue.add("job")
            (running,) = await engine.fetch("SELECT * FROM dibs.tasks WHERE status = 'running'")
            assert (running["id"], running["agent"], running["user"]) == (task.id, "bob", "grace")
            assert json.loads(running["payload"]) == {"n": 3}
            assert running["created_at"] == task.created_at
            (done,) = await engine.fetch("SELECT * FROM dibs.tasks WHERE status = 'completed'")
            assert json.loads(done["output"]) == {"m": 2}
            assert done["ended_at"] >= done["started_at"]
            assert await engine.value("SELECT count(*) FROM dibs.tasks WHERE status = 'ready'") == 1
        finally:
            await queue.close()

    asyncio.run(story())


def test_what_was_due_long_ago_is_not_read_again_and_again_behind_an_old_snapshot() -> None:
    async def story() -> None:
        clock = FakeClock()
        async with fresh_queue(clock) as queue, old_snapshot():
            store = queue.store
            for _ in range(SETTLED // 1_000):
                await queue.add_many([NewTask("job") for _ in range(1_000)])
                await complete(queue, await queue.claim("ada", limit=1_000))
            await engine_of(queue).fetch("SELECT pg_stat_force_next_flush()")
            answers = []

            async def claim() -> None:
                answers.append(await store.claim(ClaimRequest(agent="ada")))

            assert (await read_by(queue, claim, duties_first=False))["held_over"][1] >= SETTLED
            assert (await read_by(queue, claim, duties_first=False))["held_over"][1] == 0
            nothing_known, remembered = answers
            assert nothing_known.next_due_in is None
            assert remembered.next_due_in is not None
            assert remembered.next_due_in > 0, "it would ask again at once"

            clock.advance(120)
            assert (await read_by(queue, lambda: store.expired(10), duties_first=False))["held_over"][1] >= SETTLED
            assert (await read_by(queue, lambda: store.expired(10), duties_first=False))["held_over"][1] == 0
            task = await queue.add("job")
            await queue.claim("bob", lease=10)
            clock.advance(11)
            assert [over.claim.task.id for over in await store.expired(10)] == [task.id]

    asyncio.run(story())


def test_what_is_promoted_late_is_still_promoted() -> None:
    """Nobody looks before the time at which nothing was due; what becomes due later always is due after it."""

    async def story() -> None:
        clock = FakeClock()
        async with fresh_queue(clock) as queue:
            assert await queue.store.promote(10) == 0
            await queue.add("job", run_after=3)
            assert await queue.store.promote(10) == 0
            clock.advance(3600)
            assert await queue.store.promote(10) == 1

    asyncio.run(story())


def test_nobody_looks_at_budgets_in_a_project_without_any_nor_a_claim_at_who_is_parked_there() -> None:
    async def story() -> None:
        async with fresh_queue() as queue:
            await queue.set_budget("type:dear", 1)
            await queue.add_many([NewTask("dear", max_cost=0.8, priority=10) for _ in range(1_000)])
            assert len(await queue.claim("ada", limit=10)) == 1
            await queue.add_many([NewTask("job", priority=90) for _ in range(3 * LIMIT)])
            assert len(await queue.claim("ada", limit=LIMIT)) == LIMIT
            claims: list[Claim] = []

            async def claim() -> None:
                claims.extend(await queue.claim("ada", limit=LIMIT))

            read = await read_by(queue, claim)
            assert len(claims) == LIMIT
            assert read["waiting_locks"][1] == 0
            await queue.remove_budget("type:dear")
            read = await read_by(queue, claim)
            # Nobody has a budget any more: nobody looks.
            assert read["budgets_pkey"][1] == read["budgets_scope"][1] == read["reserves_pkey"][1] == 0

    asyncio.run(story())


_MANY_IN_GROUPS = (
    _MANY_SPECS
    + """
INSERT INTO dibs.waiting (
    n, rank, priority, boost, updated_at, ready_at, lane, bytes, status, ties, coalesce_key, run_after, gathers_until
)
SELECT m.n, CASE WHEN g.ready THEN w.rank + right(m.id, 10)::bigint / 1e9 END, w.priority, w.boost, w.updated_at,
    CASE WHEN g.ready THEN w.ready_at END, w.lane, w.bytes, CASE WHEN g.ready THEN 'ready' ELSE 'scheduled' END, 16,
    CASE WHEN g.number % 5 = 0 THEN 'room' ELSE 'k' || g.number % 1000 END, 4102444800000000, 4102444800000000
FROM made m JOIN dibs.specs s ON s.type = m.type AND s.n = ANY ($3) JOIN dibs.work w ON w.n = s.n
CROSS JOIN LATERAL (SELECT right(m.id, 10)::bigint / 10 AS number, right(m.id, 10)::bigint / 10 % 3 > 0 AS ready) g
"""
)


@pytest.mark.parametrize("analysed", [True, False])
def test_taking_a_group_reads_no_more_than_the_group_however_many_wait(analysed: bool) -> None:
    """Among 100,000 tasks of other groups, and of its own; also if the planner has never seen them."""

    async def story() -> None:
        async with fresh_queue() as queue:
            task = await queue.add("note", coalesce_key="room", coalesce_window=0, priority=10)
            engine = engine_of(queue)
            first = [row[0] for row in await engine.fetch("SELECT n FROM dibs.work")]
            await engine.fetch(_MANY_IN_GROUPS, 1, 100_000, first)
            if analysed:
                await engine.fetch("ANALYZE dibs.waiting, dibs.specs")
            # The duties are done, the lanes are read, and the agent is written down, at the first claim.
            assert await queue.claim("ada", types=["nothing"]) == []
            claims: list[Claim] = []

            async def claim() -> None:
                claims.extend(await queue.claim("ada"))

            read = await read_by(queue, claim)
            assert claims[0].task.id == task.id
            assert len(claims[0].group) == MOST - 1
            # Those that are looked at, ready or gathering; then by number those that are taken.
            assert read["waiting_groups"][1] <= 2 * LOOKED_AT + LIMIT
            assert read["waiting_pkey"][1] <= 20 * LOOKED_AT
            assert read["waiting_ready"][1] + read["waiting_locks"][1] <= LIMIT
            assert read["waiting"][1] <= MOST, "nothing is read from end to end"

    asyncio.run(story())


def test_groups_cost_the_claims_of_others_nothing() -> None:
    async def story() -> None:
        async with fresh_queue() as queue:
            await queue.add_many(
                [NewTask("note", coalesce_key=f"k{n % 50}", coalesce_window=0, priority=90) for n in range(1_000)]
            )
            await queue.add_many([NewTask("job") for _ in range(3 * LIMIT)])
            assert len(await queue.claim("ada", types=["job"], limit=LIMIT)) == LIMIT

            async def claim() -> None:
                assert len(await queue.claim("ada", types=["job"], limit=LIMIT)) == LIMIT

            read = await read_by(queue, claim)
            assert read["waiting_groups"] == (0, 0)
            assert read["waiting_locks"][1] == read["locks_pkey"][1] == read["needs_pkey"][1] == 0

    asyncio.run(story())


def test_budgets_of_other_types_are_looked_at_once_for_each_claim_not_for_each_task() -> None:
    async def story() -> None:
        async with fresh_queue() as queue:
            for number in range(20):
                await queue.set_budget(f"type:dear-{number}", 1)
            await queue.add_many([NewTask("job") for _ in range(3 * LIMIT)])
            assert len(await queue.claim("ada", limit=LIMIT)) == LIMIT
            claims: list[Claim] = []

            async def claim() -> None:
                claims.extend(await queue.claim("ada", limit=LIMIT))

            read = await read_by(queue, claim)
            assert len(claims) == LIMIT
            assert sum(read[index][0] for index in ("budgets_pkey", "budgets_scope")) <= 4
            assert read["budgets"][1] == read["reserves_pkey"][1] == 0
            assert read["waiting_pkey"][1] <= LIMIT

    asyncio.run(story())


def test_tasks_parked_behind_a_lock_cost_the_claims_of_others_nothing() -> None:
    async def story() -> None:
        async with fresh_queue() as queue:
            await queue.add_many([NewTask("job", locks=["repo"], priority=10) for _ in range(1_000)])
            assert len(await queue.claim("ada", limit=10)) == 1
            assert len((await queue.find(status="ready", limit=1)).items) == 1
            await queue.add_many([NewTask("job", priority=90) for _ in range(3 * LIMIT)])
            # Floors are raised above what was parked, and not again: it looks at what was claimed meanwhile.
            floors: Any = queue.store
            floors._claiming._raised = -math.inf
            assert len(await queue.claim("ada", limit=LIMIT)) == LIMIT
            floors._claiming._raised = math.inf
            claims: list[Claim] = []

            async def claim() -> None:
                claims.extend(await queue.claim("ada", limit=LIMIT))

            read = await read_by(queue, claim)
            assert len(claims) == LIMIT
            # Those claimed before may still be in the way; the parked ones are not.
            assert read["waiting_ready"][1] <= 3 * LIMIT
            assert read["waiting_locks"][1] == read["locks_pkey"][1] == read["needs_pkey"][1] == 0

    asyncio.run(story())
