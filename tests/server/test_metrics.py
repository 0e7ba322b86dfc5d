"""What `/metrics` tells, read by Prometheus' own parser and held against its conventions."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from prometheus_client.parser import text_string_to_metric_families

import dibs
from dibs.keeper import Keeper
from dibs.rules.exposition import COUNTER, HISTOGRAM
from dibs.server import metering
from dibs.server.metering import CATALOGUE, Gauges, Meter
from dibs.server.scraping import Scraping

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import pytest

    from dibs.queue import Queue

Samples = dict[tuple[str, ...], float]


def read(page: str) -> dict[str, Samples]:
    """Every sample of a page by the values of its labels."""
    found: dict[str, Samples] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


def scraped(scene: Callable[[Queue], Awaitable[None]], *, whole_server: bool = True) -> dict[str, Samples]:
    """What a scrape says after something happened since the one before."""

    async def run() -> str:
        async with dibs.connect("memory:") as queue:
            scraping = Scraping(queue, Meter(), Keeper(queue))
            await scraping.page("default", whole_server=whole_server)
            await scene(queue)
            gauges, tally = scraping._of("default")
            gauges._until = 0.0
            while await tally.read() or tally.cursor < await queue.store.last_seq():
                pass
            try:
                return await scraping.page("default", whole_server=whole_server)
            finally:
                await scraping.end()

    return read(asyncio.run(run()))


async def a_day(queue: Queue) -> None:
    """Some of everything that can happen."""
    await queue.set_budget("type:code", 5)
    await queue.set_breaker("code", enabled=True)
    await queue.open_breaker("flaky")
    await queue.register_agent("coder", max_concurrent=4)
    await queue.add("code", {"n": 1}, models=["large"])
    [claim] = await queue.claim("coder", models=["large"])
    await queue.complete(claim, "done", cost=0.25, tokens_in=100, tokens_out=20)
    await queue.add("code", max_attempts=1)
    [claim] = await queue.claim("coder")
    await queue.fail(claim, "no", reason="syntax_error", tokens_in=7, tokens_out=7, model="nobody-knows-it")
    await queue.add("code", retry="fixed:1h")
    [claim] = await queue.claim("coder")
    await queue.fail(claim, "slow", reason="timeout")
    cancelled = await queue.add("review")
    await queue.cancel(cancelled.id)
    await queue.add("paint", requires=["brush"])
    await queue.add("paint", requires=["brush"])
    await queue.add("ship", approval=True)
    await queue.add("code")
    await queue.claim("coder")


def test_a_scrape_tells_what_there_is_and_what_happened() -> None:
    found = scraped(a_day)
    assert found["dibs_tasks"]["code", "completed"] == 1
    assert found["dibs_tasks"]["code", "dead_lettered"] == 1
    assert found["dibs_tasks"]["code", "retrying"] == 1
    assert found["dibs_tasks"]["code", "running"] == 1
    assert found["dibs_tasks"]["paint", "ready"] == 2
    assert found["dibs_tasks"]["paint", "running"] == 0
    assert found["dibs_tasks_ready_by_tier"]["normal",] == 2
    assert found["dibs_tasks_ready_by_tier"]["critical",] == 0
    assert found["dibs_tasks_added_total"] == {("code",): 4, ("review",): 1, ("paint",): 2, ("ship",): 1}
    assert found["dibs_tasks_completed_total"] == {("code",): 1}
    assert found["dibs_tasks_dead_lettered_total"] == {("code", "syntax_error"): 1}
    assert found["dibs_attempts_failed_total"] == {("code", "syntax_error"): 1, ("code", "timeout"): 1}
    assert sum(found["dibs_tasks_cancelled_total"].values()) == 1
    assert found["dibs_claims_total"] == {("code",): 4}
    assert found["dibs_task_wait_seconds_count"] == {("code",): 4}
    assert found["dibs_attempt_duration_seconds_count"] == {("code", "completed"): 1, ("code", "failed"): 2}
    assert found["dibs_task_attempts_bucket"]["code", "1"] == 2
    assert found["dibs_cost_usd_total"] == {("code",): 0.25}
    assert found["dibs_agent_cost_usd_total"] == {("coder",): 0.25}
    assert found["dibs_model_cost_usd_total"] == {("large",): 0.25}
    assert found["dibs_spend_today_usd"] == {(): 0.25}
    assert found["dibs_model_tokens_total"]["large", "in"] == 100
    assert found["dibs_model_tokens_total"]["large", "out"] == 20
    assert found["dibs_unpriced_attempts_total"]["code",] == 1
    assert found["dibs_budget_limit"] == {("type:code", "usd"): 5}
    assert found["dibs_budget_remaining"]["type:code", "usd"] <= 4.75
    assert found["dibs_agents"]["active",] == 1
    assert found["dibs_agents"]["lost",] == 0
    assert found["dibs_agent_utilisation_ratio"] == {("coder",): 0.25}
    assert found["dibs_agent_attempts_total"]["coder", "failed"] == 2
    assert found["dibs_tasks_without_agents"] == {("paint",): 2}
    assert found["dibs_lanes_without_agents"] == {("paint",): 1}
    assert found["dibs_oldest_ready_seconds"]["paint",] >= 0
    assert found["dibs_dead_letters_waiting"] == {("code",): 1}
    assert found["dibs_questions_open"] == {("approval",): 1}
    assert found["dibs_breaker_open"]["flaky",] == 1
    assert found["dibs_breaker_open"]["code",] == 0
    assert found["dibs_gates_closed"] == {("breaker",): 1}
    assert found["dibs_outbox_backlog_events"] == {("metrics",): 0}
    assert found["dibs_events_total"][()] > 20


def test_a_lease_that_ended_is_a_missed_renewal() -> None:
    async def scene(queue: Queue) -> None:
        await queue.add("code")
        await queue.claim("coder", lease=1)
        await asyncio.sleep(1.05)
        await queue.run_duties()

    found = scraped(scene)
    assert found["dibs_attempts_expired_total"] == {("code",): 1}
    assert "dibs_renewal_delay_seconds" not in found


def test_nothing_of_other_projects_is_told() -> None:
    async def scene(queue: Queue) -> None:
        async with dibs.connect("memory:shared", project="mine") as mine, dibs.connect("memory:shared") as theirs:
            await theirs.add("secret-type")
            scraping = Scraping(mine, Meter(), Keeper(queue))
            await scraping.page("mine", whole_server=False)
            await theirs.add("secret-type")
            await mine.add("code")
            tally = scraping._of("mine")[1]
            while await tally.read():
                pass
            page = await scraping.page("mine", whole_server=False)
            await scraping.end()
            assert "secret-type" not in page
            assert "dibs_events_total" not in page
            assert "dibs_http_requests_total" not in page
            assert read(page)["dibs_tasks_added_total"] == {("code",): 1}

    scraped(scene)


def test_a_scrape_asks_the_store_only_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    async def scene() -> None:
        async with dibs.connect("memory:") as queue:
            stats = queue.stats

            async def counted() -> Any:
                asked.append(True)
                await asyncio.sleep(0.01)
                return await stats()

            monkeypatch.setattr(queue, "stats", counted)
            gauges = Gauges(queue)
            await asyncio.gather(*(gauges.families() for _ in range(10)))
            assert len(asked) == 1
            gauges._until = 0.0
            monkeypatch.setattr(metering, "SHARE", 0.0001)
            await gauges.families()
            await gauges.families()
            assert len(asked) == 2

    asyncio.run(scene())


def test_many_types_do_not_make_many_series() -> None:
    async def scene(queue: Queue) -> None:
        await queue.add_many([dibs.NewTask(f"type-{n}") for n in range(500)])

    found = scraped(scene)
    assert sum(found["dibs_tasks_added_total"].values()) == 500
    assert sum(value for key, value in found["dibs_tasks"].items()) == 500
    assert all(len(samples) <= 1_000 for samples in found.values())


def test_names_follow_the_conventions() -> None:
    for name, entry in CATALOGUE.items():
        assert re.fullmatch(r"dibs_[a-z][a-z_]*[a-z]", name), name
        assert (entry.kind == COUNTER) == name.endswith("_total"), name
        assert not re.search(r"_(ms|milliseconds|minutes|kb|mb|percent)(_|$)", name), name
        assert not set(entry.labels) & {"le", "quantile", "job", "instance"}, name
        assert entry.help.endswith("."), name
        if entry.kind == HISTOGRAM:
            assert name.endswith(("_seconds", "_attempts")), name


def test_every_metric_of_the_catalogue_is_told_and_no_other() -> None:
    async def run() -> str:
        async with dibs.connect("memory:") as queue:
            keeper = Keeper(queue)
            keeper.ran_at = 0.0
            scraping = Scraping(queue, Meter(), keeper)
            page = await scraping.page("default", whole_server=True)
            await scraping.end()
            return page

    page = asyncio.run(run())
    told = {line.split()[2]: line.split()[3] for line in page.splitlines() if line.startswith("# TYPE")}
    assert told == {name: entry.kind for name, entry in CATALOGUE.items()}
    assert len(page.split("# TYPE")) == len(CATALOGUE) + 1
