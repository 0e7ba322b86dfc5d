"""Windows of budgets: so much each day, and the day ends at midnight where it is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Invalid
from dibs.model.instants import from_micros
from dibs.model.task import NewTask
from dibs.stores.values import ClaimRequest
from dibs.testing.conformance.budgets import amounts, budget, parked, sound
from dibs.testing.conformance.topic import Topic, elapse, nothing, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock

DAILY: dict[str, Any] = {"window": "day"}
HOUR_S = 3600.0


def until_midnight(clock: FakeClock) -> float:
    """Seconds until the day ends in UTC."""
    now = from_micros(clock())
    midnight = datetime(now.year, now.month, now.day, tzinfo=UTC) + timedelta(days=1)
    return (midnight - now).total_seconds()


class Windows(Topic):
    async def test_a_budget_per_day_begins_anew_at_midnight_and_lets_in_who_waited(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        made = await queue.set_budget("type:job", 1.0, **DAILY)
        assert (made.window, made.timezone) == ("day", "UTC")
        assert made.ends_at == from_micros(clock()) + timedelta(seconds=until_midnight(clock))
        await queue.add_many([NewTask("job", max_cost=0.6) for _ in range(2)])
        await queue.complete(await take(queue), cost=0.6)
        assert await nothing(queue)
        assert len(await parked(queue)) == 1
        await elapse(queue, clock, until_midnight(clock) - 1)
        assert len(await parked(queue)) == 1
        await elapse(queue, clock, 1.5)
        assert await parked(queue) == [], "a duty let it in"
        assert await amounts(queue, "type:job") == (0.0, 0.0, 0)
        await take(queue)
        assert await amounts(queue, "type:job") == (0.6, 0.0, 0)
        assert (await budget(queue, "type:job")).ends_at == made.ends_at + timedelta(days=1)
        await sound(queue)

    async def test_the_first_claim_of_a_day_finds_it_begun(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("global", 1.0, **DAILY)
        await queue.add_many([NewTask("job", max_cost=1.0) for _ in range(2)])
        await queue.complete(await take(queue), cost=1.0)
        assert await nothing(queue)
        clock.advance(until_midnight(clock))
        assert len((await queue.store.claim(ClaimRequest(agent="ada"))).claims) == 1, "no duty had looked"
        await sound(queue)

    async def test_what_was_claimed_the_day_before_is_charged_to_that_day(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("global", 1.0, **DAILY)
        await queue.add_many([NewTask("job", max_cost=0.8) for _ in range(2)])
        late = await take(queue, lease=4 * HOUR_S)
        clock.advance(until_midnight(clock) - HOUR_S)
        await queue.renew(late)
        await elapse(queue, clock, 1.5 * HOUR_S)
        assert await amounts(queue) == (0.0, 0.0, 0), "it was reserved yesterday"
        await take(queue, agent="bob")
        await queue.complete(late, cost=0.8)
        assert await amounts(queue) == (0.8, 0.0, 0), "and charged yesterday"
        await sound(queue)

    async def test_what_ends_at_midnight_before_anybody_noticed_counts_for_the_day_before(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.set_budget("global", 1.0, **DAILY)
        await queue.add_many([NewTask("job", max_cost=0.8) for _ in range(2)])
        late = await take(queue, lease=24 * HOUR_S)
        clock.advance(until_midnight(clock) + 1)
        assert await amounts(queue) == (0.0, 0.0, 0), "shown as it is, noted or not"
        await queue.complete(late, cost=0.8)
        assert await amounts(queue) == (0.0, 0.0, 0)
        await take(queue)
        assert await amounts(queue) == (0.8, 0.0, 0)
        await sound(queue)

    async def test_days_end_by_the_clocks_of_the_time_zone(self, queue: Queue, clock: FakeClock) -> None:
        made = await queue.set_budget("global", 1.0, window="day", timezone="Asia/Kathmandu")
        assert made.timezone == "Asia/Kathmandu"
        assert made.ends_at is not None
        assert (made.ends_at.hour, made.ends_at.minute) == (18, 15)
        moved = await queue.set_budget("global", 1.0, window="day", timezone="UTC")
        assert moved.ends_at is not None
        assert moved.ends_at.hour == 0

    async def test_an_agent_has_so_much_each_day(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("agent:ada", 0.5, **DAILY)
        await queue.add_many([NewTask("job", max_cost=0.5) for _ in range(2)])
        await queue.complete(await take(queue), cost=0.5)
        assert (await queue.store.claim(ClaimRequest(agent="ada"))).reason == "budget"
        clock.advance(until_midnight(clock))
        await take(queue)
        await queue.register_agent("ada", budget=2)
        found = await budget(queue, "agent:ada")
        assert (found.limit, found.window) == (2.0, "day"), "registering leaves the window as it is"
        await sound(queue)

    async def test_an_idle_claim_says_when_the_day_ends(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("global", 0, **DAILY)
        await queue.add("job")
        assert await nothing(queue)
        claimed = await queue.store.claim(ClaimRequest(agent="ada"))
        assert claimed.next_due_in == until_midnight(clock)

    async def test_why_says_when_there_is_room_again(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("type:job", 1.0, **DAILY)
        tasks = await queue.add_many([NewTask("job", max_cost=0.6), NewTask("job", max_cost=0.6)])
        await take(queue)
        assert await nothing(queue)
        [blocker] = (await queue.why(tasks[1].id)).blockers
        ends = (await budget(queue, "type:job")).ends_at
        assert blocker.until == ends
        assert f"it begins anew at {ends:%Y-%m-%d} 00:00 UTC" in blocker.detail
        huge = await queue.add("job", max_cost=5)
        await queue.claim("ada")
        [blocker] = (await queue.why(huge.id)).blockers
        assert blocker.until is None
        assert "can never fit" in blocker.detail

    async def test_a_window_comes_and_goes_and_what_is_spent_stays(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("global", 1.0)
        await queue.add_many([NewTask("job", max_cost=0.3) for _ in range(3)])
        await queue.complete(await take(queue), cost=0.3)
        assert (await queue.set_budget("global", 1.0, **DAILY)).spent == 0.3
        assert (await queue.set_budget("global", 1.0)).ends_at is None
        clock.advance(86_400)
        assert await amounts(queue) == (0.0, 0.3, 0)
        await queue.set_budget("global", 1.0, **DAILY)
        await elapse(queue, clock, 86_400)
        assert await amounts(queue) == (0.0, 0.0, 0)
        removed = await queue.remove_budget("global")
        assert removed.window == "day"
        await sound(queue)

    @pytest.mark.door
    @pytest.mark.routing
    async def test_another_client_goes_by_the_same_window(self, queue: Queue, other: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("job", max_cost=1.0) for _ in range(3)])
        assert await nothing(other, type="nothing")
        await queue.set_budget("global", 1.0, **DAILY)
        await other.complete(await take(other), cost=1.0)
        assert await nothing(other)
        clock.advance(until_midnight(clock))
        await other.complete(await take(other), cost=1.0)
        assert await nothing(queue)

    async def test_many_days_may_pass_unnoticed(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("global", 1.0, **DAILY)
        await queue.add("job", max_cost=1.0)
        await queue.complete(await take(queue), cost=1.0)
        clock.advance(5 * 86_400 + 60)
        await queue.raise_budget("global", 0.5)
        found = await budget(queue)
        assert (found.limit, found.spent, found.left) == (1.5, 0.0, 1.5)
        assert found.ends_at is not None
        assert found.ends_at > from_micros(clock())

    async def test_windows_that_make_no_sense_are_refused(self, queue: Queue) -> None:
        for field, options in (
            ("window", {"window": "week"}),
            ("window", {"window": 1}),
            ("timezone", {"timezone": "Europe/Berlin"}),
            ("timezone", {"window": "day", "timezone": "Mars/Olympus"}),
            ("timezone", {"window": "day", "timezone": "../passwd"}),
        ):
            with pytest.raises(Invalid) as refused:
                await queue.set_budget("global", 1.0, **options)
            assert refused.value.field == field, options
        assert await queue.budgets() == []
