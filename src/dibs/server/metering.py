"""What `/metrics` tells, and where each number comes from.

- **Gauges** are what the store answers now: stats, agents, lanes, budgets, breakers. They are kept for a while (at
  least `KEPT_S`, longer where the store needs long), so that a scrape never hurts it.
- **Counters and histograms** of tasks are counted from the outbox by `Tally`, from the first scrape on; every server
  on a store counts all of it, so look at one of them, or at the greatest.
- **Cost and tokens** are what the store has since midnight (UTC), and begin anew then: a counter may.
- **Requests** are counted where they are answered.

`CATALOGUE` names every metric: the page is made from it, and tests hold dashboards and alerts against it.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from dibs.model.agent import AgentStatus
from dibs.model.status import Status
from dibs.rules.exposition import COUNTER, GAUGE, HISTOGRAM, Family, Histogram
from dibs.rules.priority import TIERS

if TYPE_CHECKING:
    from dibs.model.metrics import Metrics
    from dibs.model.views import Agent
    from dibs.queue import Queue

KEPT_S = 5.0
SHARE = 0.05
"""The most of the time that the store may spend on being asked: what took long to answer is kept for longer."""
HTTP_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Entry(NamedTuple):
    """One metric of the catalogue."""

    kind: str
    help: str
    labels: tuple[str, ...] = ()


CATALOGUE: dict[str, Entry] = {
    # What there is.
    "dibs_tasks": Entry(GAUGE, "Tasks by type and status.", ("type", "status")),
    "dibs_tasks_ready_by_tier": Entry(GAUGE, "Ready tasks that are not parked, by tier of their priority.", ("tier",)),
    "dibs_oldest_ready_seconds": Entry(GAUGE, "How long the oldest ready task of a type has been waiting.", ("type",)),
    "dibs_dead_letters_waiting": Entry(GAUGE, "Dead letters that nobody has decided about.", ("type",)),
    "dibs_questions_open": Entry(GAUGE, "Questions to people that are not answered.", ("kind",)),
    # What happened, counted from the outbox.
    "dibs_tasks_added_total": Entry(COUNTER, "Tasks added.", ("type",)),
    "dibs_tasks_completed_total": Entry(COUNTER, "Tasks completed.", ("type",)),
    "dibs_tasks_dead_lettered_total": Entry(COUNTER, "Tasks given up.", ("type", "reason")),
    "dibs_tasks_cancelled_total": Entry(COUNTER, "Tasks cancelled.", ("type", "reason")),
    "dibs_attempts_failed_total": Entry(COUNTER, "Attempts that failed, timed out or expired.", ("type", "reason")),
    "dibs_attempts_expired_total": Entry(COUNTER, "Leases that ended for want of a renewal.", ("type",)),
    "dibs_claims_total": Entry(COUNTER, "Tasks handed out.", ("type",)),
    "dibs_task_wait_seconds": Entry(HISTOGRAM, "From first ready to first claimed.", ("type",)),
    "dibs_attempt_duration_seconds": Entry(HISTOGRAM, "From the start of an attempt to its end.", ("type", "outcome")),
    "dibs_task_attempts": Entry(HISTOGRAM, "Attempts that a task took until it was completed or given up.", ("type",)),
    # What it cost since midnight (UTC).
    "dibs_cost_usd_total": Entry(COUNTER, "Known cost since midnight UTC, by type.", ("type",)),
    "dibs_agent_cost_usd_total": Entry(COUNTER, "Known cost since midnight UTC, by agent.", ("agent",)),
    "dibs_model_cost_usd_total": Entry(COUNTER, "Known cost since midnight UTC, by model.", ("model",)),
    "dibs_spend_today_usd": Entry(GAUGE, "Known cost of everything since midnight UTC."),
    "dibs_model_tokens_total": Entry(
        COUNTER, "Tokens since midnight UTC, read (in) or written (out).", ("model", "direction")
    ),
    "dibs_unpriced_attempts_total": Entry(COUNTER, "Attempts since midnight UTC whose cost is not known.", ("type",)),
    "dibs_agent_attempts_total": Entry(
        COUNTER, "Claims of an agent that ended since midnight UTC.", ("agent", "outcome")
    ),
    # What may be used.
    "dibs_budget_limit": Entry(GAUGE, "What may be used of a budget.", ("scope", "unit")),
    "dibs_budget_remaining": Entry(GAUGE, "What is left of a budget, after what is reserved.", ("scope", "unit")),
    "dibs_budget_waiting_tasks": Entry(GAUGE, "Tasks that wait for room in a budget.", ("scope", "unit")),
    # Who works.
    "dibs_agents": Entry(GAUGE, "Agents heard of in the last day, by status.", ("status",)),
    "dibs_agent_utilisation_ratio": Entry(GAUGE, "Tasks that an agent holds, of those it may hold.", ("agent",)),
    "dibs_renewal_delay_seconds": Entry(GAUGE, "How long ago an agent that holds tasks was heard of.", ("agent",)),
    "dibs_lanes_without_agents": Entry(GAUGE, "Lanes with ready tasks that no live agent can do.", ("type",)),
    "dibs_tasks_without_agents": Entry(GAUGE, "Ready tasks that no live agent can do.", ("type",)),
    # What is closed.
    "dibs_breaker_open": Entry(GAUGE, "Circuit breakers: 1 open, 0.5 half-open, 0 closed.", ("type",)),
    "dibs_gates_closed": Entry(GAUGE, "Gates that are closed now: pauses, breakers, rate limits.", ("kind",)),
    # The outbox.
    "dibs_events_total": Entry(COUNTER, "Number of the last event in the outbox."),
    "dibs_outbox_backlog_events": Entry(GAUGE, "Events that a reader of the outbox has not taken.", ("reader",)),
    # This server.
    "dibs_http_requests_total": Entry(COUNTER, "Requests answered.", ("method", "route", "status")),
    "dibs_http_request_duration_seconds": Entry(HISTOGRAM, "From a request to the end of its answer.", ("route",)),
    "dibs_http_requests_in_flight": Entry(GAUGE, "Requests that are being answered, waiting ones included."),
    "dibs_claim_requests_total": Entry(COUNTER, "Requests to claim, by whether they got something.", ("result",)),
    "dibs_keeper_last_run_seconds": Entry(GAUGE, "How long ago this server looked after the duties."),
    "dibs_up_info": Entry(GAUGE, "1; the version of dibs.", ("version",)),
}


def family(name: str) -> Family:
    """An empty family of the catalogue."""
    entry = CATALOGUE[name]
    return Family(name, entry.kind, entry.help, entry.labels)


def histogram(name: str, bounds: tuple[float, ...] | None = None) -> Histogram:
    """An empty histogram of the catalogue."""
    entry = CATALOGUE[name]
    return Histogram(name, entry.help, entry.labels, *(() if bounds is None else (bounds,)))


class Meter:
    """What this process counts of its own requests."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._requests = family("dibs_http_requests_total")
        self._durations = histogram("dibs_http_request_duration_seconds", HTTP_BUCKETS_S)
        self._claims = family("dibs_claim_requests_total")

    def answered(self, method: str, route: str, status: int, took_s: float) -> None:
        """One request was answered."""
        self._requests.add(method if method in _METHODS else "other", route, str(status))
        self._durations.observe(route, value=took_s)

    def claimed(self, given: int) -> None:
        """One request to claim was answered with so many tasks."""
        self._claims.add("given" if given else "empty")

    def families(self) -> list[Family | Histogram]:
        """All of it."""
        in_flight = family("dibs_http_requests_in_flight")
        in_flight.put(value=self.in_flight)
        return [self._requests, self._durations, self._claims, in_flight]


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Gauges:
    """What the store answers about one project, kept for a while."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._families: list[Family] = []
        self._until = float("-inf")
        self._asking = asyncio.Lock()

    async def families(self) -> list[Family]:
        """As of now, or of a moment ago. Raises Unavailable if the store cannot be asked."""
        async with self._asking:
            if time.monotonic() >= self._until:
                began = time.monotonic()
                self._families = await self._ask()
                ended = time.monotonic()
                self._until = ended + max(KEPT_S, (ended - began) / SHARE)
            return self._families

    async def _ask(self) -> list[Family]:
        return [
            *await self._depth(),
            *await self._people(),
            *await self._usage(),
            *await self._budgets(),
            *await self._closed(),
        ]

    async def _depth(self) -> list[Family]:
        tasks, oldest = family("dibs_tasks"), family("dibs_oldest_ready_seconds")
        without, lanes = family("dibs_tasks_without_agents"), family("dibs_lanes_without_agents")
        stats = await self._queue.stats()
        for type, found in stats.by_type.items():
            for status in Status:
                tasks.put(type, status.value, value=found.get(status.value, 0))
        tiers = family("dibs_tasks_ready_by_tier")
        for tier in TIERS:
            tiers.put(tier, value=stats.by_tier.get(tier, 0))
        now = datetime.now(UTC)
        waiting: dict[str, float] = {}
        for lane in await self._queue.lanes():
            if lane.oldest_ready_at is not None:
                age = max(0.0, (now - lane.oldest_ready_at).total_seconds())
                waiting[lane.type] = max(age, waiting.get(lane.type, 0.0))
            if lane.agents == [] and lane.ready:
                lanes.add(lane.type)
                without.add(lane.type, by=lane.ready)
        for type, age in waiting.items():
            oldest.put(type, value=age)
        return [tasks, tiers, oldest, without, lanes, *self._agents(stats.agents)]

    def _agents(self, agents: list[Agent]) -> list[Family]:
        counts, utilisation = family("dibs_agents"), family("dibs_agent_utilisation_ratio")
        for status in AgentStatus:
            counts.put(status.value, value=0)
        for agent in agents:
            counts.add(agent.status.value)
            if agent.utilisation is not None and agent.status is not AgentStatus.LOST:
                utilisation.put(agent.id, value=agent.utilisation)
        return [counts, utilisation]

    async def _people(self) -> list[Family]:
        dead, questions = family("dibs_dead_letters_waiting"), family("dibs_questions_open")
        for group in await self._queue.dead_letters(reviewed=False):
            dead.add(group.type, by=group.count)
        for question in await self._queue.inbox():
            questions.add(question.kind)
        return [dead, questions]

    async def _usage(self) -> list[Family]:
        since = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        types = await self._queue.metrics("type", since)
        agents = await self._queue.metrics("agent", since)
        models = await self._queue.metrics("model", since)
        today, tokens = family("dibs_spend_today_usd"), family("dibs_model_tokens_total")
        unpriced, ended = family("dibs_unpriced_attempts_total"), family("dibs_agent_attempts_total")
        delays = family("dibs_renewal_delay_seconds")
        today.put(value=sum(one.cost_usd or 0.0 for one in types))
        for one in types:
            unpriced.put(one.name, value=one.unpriced)
        for one in models:
            tokens.put(one.name, "in", value=one.tokens_in or 0)
            tokens.put(one.name, "out", value=one.tokens_out or 0)
        for one in agents:
            ended.put(one.name, "completed", value=one.completed)
            ended.put(one.name, "failed", value=one.failed)
            if one.renewal_delay_s is not None:
                delays.put(one.name, value=one.renewal_delay_s)
        return [
            _costs("dibs_cost_usd_total", types),
            _costs("dibs_agent_cost_usd_total", agents),
            _costs("dibs_model_cost_usd_total", models),
            *(today, tokens, unpriced, ended, delays),
        ]

    async def _budgets(self) -> list[Family]:
        limit, left = family("dibs_budget_limit"), family("dibs_budget_remaining")
        waiting = family("dibs_budget_waiting_tasks")
        for budget in await self._queue.budgets():
            limit.put(budget.scope, budget.unit, value=budget.limit)
            left.put(budget.scope, budget.unit, value=budget.left)
            waiting.put(budget.scope, budget.unit, value=budget.waiting)
        return [limit, left, waiting]

    async def _closed(self) -> list[Family]:
        breakers, gates = family("dibs_breaker_open"), family("dibs_gates_closed")
        for breaker in await self._queue.breakers():
            if breaker.type != "*":
                breakers.put(breaker.type, value=_OPEN.get(breaker.state, 0.0))
        for gate in await self._queue.gates():
            gates.add(gate.kind)
        return [breakers, gates]


_OPEN = {"open": 1.0, "half_open": 0.5}


def _costs(name: str, groups: list[Metrics]) -> Family:
    costs = family(name)
    for one in groups:
        if one.cost_usd is not None:
            costs.put(one.name, value=one.cost_usd)
    return costs
