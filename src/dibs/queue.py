"""The verbs. Everything a user can do with dibs is a method of `Queue`: rules asked, then one call to the store.

Each verb is written once, as a coroutine. On an embedded store opened for blocking use it never suspends, so
`dibs.sync` can drive it without an event loop.

The life of a task is here, from its start to its end. How it is added and handed out, and what surrounds it, is in a
file for each topic, and `Queue` has the verbs of all: `adding`, `agents`, `artifacts`, `auditing`, `budgets`,
`claiming`, `coalescing`, `deadletters`, `escalating`, `hooks`, `journal`, `locks`, `logins`, `outcomes`, `overseeing`,
`pausing`, `people`, `rates`, `reading`, `reports`, `schedules`, `spawning`, `steering`, `tokens`, `triggers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs import drafting, duties, settling
from dibs.adding import Adding
from dibs.agents import Agents
from dibs.artifacts.depot import Depot
from dibs.artifacts.overflow import overflowing
from dibs.artifacts.verbs import Artifacts
from dibs.auditing import Auditing
from dibs.budgets import Budgets
from dibs.claiming import Claiming
from dibs.coalescing import Coalescing
from dibs.deadletters import DeadLetters
from dibs.errors import DibsError, Invalid, LeaseLost
from dibs.escalating import Escalating
from dibs.hearing import Hearing
from dibs.hooks import Hooks
from dibs.journal import Journal
from dibs.locks import Locks
from dibs.logins import Logins
from dibs.model.claim import Claim, News, Settled
from dibs.model.ids import JUDGES, new_id
from dibs.model.status import FINAL, Status
from dibs.outcomes import Outcomes
from dibs.overseeing import Overseeing
from dibs.pausing import Pausing
from dibs.people import People
from dibs.pricing import Prices
from dibs.rates import Rates
from dibs.reading import Reading
from dibs.reports import Reports
from dibs.requests import (
    MAX_DELAY_S,
    MAX_NOTE_CHARS,
    Held,
    agent_text,
    another_payload,
    failure,
    get_task,
    held,
    id_of,
    lease_s,
    raised,
)
from dibs.rules import validation
from dibs.schedules import Schedules
from dibs.spawning import Spawning
from dibs.steering import Steering
from dibs.stores.following import Follower
from dibs.stores.values import (
    Renewal,
    Settlement,
    Usage,
)
from dibs.tokens import Tokens
from dibs.triggers import Triggers

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from dibs.model.task import Task
    from dibs.rules.retry import PoisonPolicy
    from dibs.stores.contract import Store


class Queue(
    Adding,
    Agents,
    Artifacts,
    Auditing,
    Budgets,
    Claiming,
    Coalescing,
    DeadLetters,
    Escalating,
    Hearing,
    Hooks,
    Journal,
    Locks,
    Logins,
    Outcomes,
    Overseeing,
    Pausing,
    People,
    Rates,
    Reading,
    Reports,
    Schedules,
    Spawning,
    Steering,
    Tokens,
    Triggers,
):
    """A durable work queue on one store. Made by `dibs.connect`."""

    far = False
    """Whether every look is a request to a server, which also does what must happen on time."""
    kept_until = 0.0
    """Until then, by the monotonic clock, a keeper runs the duties, and claims leave them to it."""

    def __init__(
        self,
        store: Store,
        *,
        project: str = "default",
        draw: Callable[[], float] | None = None,
        new_id: Callable[[str], str] = new_id,
        poison: PoisonPolicy | None = None,
        prices: Prices | None = None,
        retention_s: float = duties.RETENTION_S,
        artifacts: str | None = None,
        blocking: bool = False,
    ) -> None:
        self._depot = Depot(artifacts, store.url, blocking=blocking)
        self.store = overflowing(store, self._depot)
        if isinstance(store, Follower):
            store.on_move = self._depot.follow
        self.project = project
        self.draw = draw or _draw
        self.new_id = new_id
        self.poison = poison
        self.prices = prices or Prices()
        self.artifacts_at = artifacts
        self.retention_s = retention_s
        self._blocking = blocking
        self.due_in: float | None = None
        """Of the last claim, if it found nothing: seconds until time alone may change that."""
        self._giving_back: set[asyncio.Future[Any]] = set()
        self._desk = duties.Desk(self.store, draw=self.draw, poison=poison, retention_s=retention_s)

    @property
    def url(self) -> str:
        """Where the tasks are kept; connecting to it again reaches the same ones."""
        return self.store.url

    async def close(self) -> None:
        """Finish what was accepted and let go of the store."""
        await self.store.close()

    async def __aenter__(self) -> Queue:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    # Working

    async def start(self, claim: Held) -> None:
        """Say that the work has begun. Only needed after `claim(start=False)`."""
        [answer] = await self.store.start([held(claim)])
        if answer is not None:
            raise answer

    async def renew(
        self,
        claim: Held,
        *,
        lease: Any = None,
        progress: float | None = None,
        note: str | None = None,
        cost: float | None = None,
        tokens_in: int | None = None,
        tokens_out: int | None = None,
        turns: int | None = None,
        model: str | None = None,
        tokens_cached: int | None = None,
        tokens_cache_written: int | None = None,
    ) -> News:
        """Extend the lease from now and say how it goes; the answer says whether to stop. Raises LeaseLost.

        Costs and tokens are this attempt's totals so far. Tokens without a cost are priced, if the price is known:
        `tokens_in` and `tokens_out` together, of `model` (else the claim's). Those of a cache are part of `tokens_in`.
        """
        used = await self._used(claim, cost, tokens_in, tokens_out, turns, model, tokens_cached, tokens_cache_written)
        return await self.renew_with(claim, used, lease=lease, progress=progress, note=note)

    async def renew_with(
        self,
        claim: Held,
        used: Usage | None,
        *,
        lease: Any = None,
        progress: float | None = None,
        note: str | None = None,
    ) -> News:
        """As `renew`, with usage that is priced already."""
        task_id, fence = held(claim)
        renewal = Renewal(
            task_id=task_id,
            fence=fence,
            lease_s=None if lease is None else lease_s(lease),
            progress=None if progress is None else validation.number(progress, "progress", 0, 1),
            note=None if note is None else validation.clean_text(agent_text(note, "note"), MAX_NOTE_CHARS)[0],
            usage=used,
        )
        [answer] = await self.renew_many([renewal])
        return raised(answer)

    async def renew_many(self, renewals: Sequence[Renewal]) -> list[News | DibsError]:
        """Renew all leases of a process in one call; an answer or an error each."""
        answers = await self.store.renew(renewals)
        await self._tidy_after(answers)
        return answers

    async def complete(
        self,
        claim: Held,
        output: Any = None,
        *,
        cost: float | None = None,
        tokens_in: int | None = None,
        tokens_out: int | None = None,
        turns: int | None = None,
        model: str | None = None,
        tokens_cached: int | None = None,
        tokens_cache_written: int | None = None,
        decision: Any = None,
        artifacts: Sequence[Any] = (),
    ) -> Settled:
        """The work is done. Saying it again is answered the same; saying something else raises IllegalTransition.

        Output that is not what the task expects is refused: the answer's outcome is `rejected`, the attempt has ended
        like one that failed with `invalid_output`, and the next one finds the reasons in its `previous_attempts`.
        Where a judge or a person has to look at it, the outcome is `submitted`: the work is done, and nobody holds it.
        A command that it must pass is run here, in this process's folder, while the lease is kept.
        Cost and tokens: as for `renew`. `artifacts` are kept with it: those of other tasks, to pass them on. What
        `put_artifact` kept need not be named.
        """
        kept = await self._passed_on(artifacts) if artifacts else ()
        used = await self._used(claim, cost, tokens_in, tokens_out, turns, model, tokens_cached, tokens_cache_written)
        snapshot = await self._snapshot(claim)
        over = await self._over_limit(snapshot, used)
        done = settling.completed(snapshot, output, usage=used, decision=decision, artifacts=kept, over=over)
        return await self._settle_one(await self._checked(snapshot, done))

    async def _checked(self, claim: Claim, done: Settlement, beside: Sequence[Claim] = ()) -> Settlement:
        """A completion, if it is what its task expects. `beside`: others whose leases are kept meanwhile."""
        if done.next is Status.COMPLETED and settling.runs_commands(claim):
            # Few tasks have them; nobody else pays for the import.
            from dibs import judging

            return await judging.settlement(self, claim, done, blocking=self._blocking, beside=beside)
        return settling.checked(claim, done, draw=self.draw, poison=self.poison)

    async def fail(
        self,
        claim: Held,
        error: str,
        *,
        reason: str = "error",
        retry: bool = True,
        retry_after: Any = None,
        exit_code: int | None = None,
        cost: float | None = None,
        tokens_in: int | None = None,
        tokens_out: int | None = None,
        turns: int | None = None,
        model: str | None = None,
        tokens_cached: int | None = None,
        tokens_cache_written: int | None = None,
    ) -> Settled:
        """The attempt failed. The task's retry policy, the reason and `retry` decide whether it is tried again."""
        told = failure(error, reason=reason, retry=retry, retry_after=retry_after, exit_code=exit_code)
        used = await self._used(claim, cost, tokens_in, tokens_out, turns, model, tokens_cached, tokens_cache_written)
        snapshot = await self._snapshot(claim)
        over = await self._over_limit(snapshot, used)
        return await self._settle_one(
            settling.failed(
                snapshot,
                **told,
                draw=self.draw(),
                usage=used,
                over=over,
                poison=self.poison,
                now=self.store.now(),
            )
        )

    async def release(self, claim: Held, *, delay: Any = 0) -> Settled:
        """Give the work back unharmed; no attempt is used up. It is offered again after `delay`.

        Work that overdraws a budget which others share was stopped by that: it waits until there is room for as much as
        it has used.
        """
        delay_s = validation.duration_s(delay, "delay", high=MAX_DELAY_S)
        snapshot = await self._snapshot(claim)
        over = await self._over_budget(snapshot)
        return await self._settle_one(settling.released(snapshot, delay_s=delay_s, over=over))

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | DibsError]:
        """End many claims in one commit; an answer or an error each. What depended on a dead letter ends too."""
        answers = await self.store.settle(settlements)
        if any(isinstance(answer, Settled) and answer.status == Status.DEAD_LETTERED for answer in answers):
            while await self.store.spread():
                pass
        await self._conclude_after(answers)
        await self._tidy_after(answers)
        return answers

    async def _conclude_after(self, answers: Sequence[Settled | DibsError]) -> None:
        """Go on with work that was handed in, and with work that a judge has judged; a duty would, a little later."""
        for answer in answers:
            if isinstance(answer, DibsError):
                continue
            if answer.status == Status.VALIDATING:
                answer.status = await duties.conclude_one(self._desk, answer.task_id) or answer.status
            elif JUDGES in answer.task_id and answer.status in FINAL:
                await duties.conclude_one(self._desk, answer.task_id.rpartition(JUDGES)[0])

    async def _tidy_after(self, answers: Sequence[object]) -> None:
        """An attempt over its timeout is refused but not ended; where its agent is alone, nobody else would end it."""
        if any(isinstance(answer, LeaseLost) for answer in answers):
            await self.run_duties()

    async def _settle_one(self, settlement: Settlement) -> Settled:
        [answer] = await self.settle([settlement])
        return raised(answer)

    # Steering

    async def cancel(self, target: Any, reason: str | None = None) -> list[str]:
        """Cancel a task or dag, and what depends on it or was spawned by it. The ids that this ended."""
        id = id_of(target)
        text = None if reason is None else validation.text(reason, "reason", max_chars=MAX_NOTE_CHARS)
        ended = await self.store.cancel(id, text)
        if ended:
            while more := await self.store.spread(cause=id):
                ended += more
        return ended

    async def retry(self, task_id: Any, *, payload: Any = None, delay: Any = 0, keep_steps: bool = True) -> Task:
        """Give a dead-lettered or cancelled task a new life, and with it what was cancelled because of it."""
        body = body_hash = None
        delay_s = validation.duration_s(delay, "delay", high=MAX_DELAY_S)
        validation.flag(keep_steps, "keep_steps")
        if payload is not None:
            body, body_hash = await another_payload(self.store, task_id, payload)
        return await self.store.revive(
            id_of(task_id), payload=body, body_hash=body_hash, delay_s=delay_s, keep_steps=keep_steps
        )

    async def link(self, task_id: Any, after: Sequence[Any] = (), *, after_ended: Sequence[Any] = ()) -> Task:
        """Make a task that has not started wait for others too. Raises CycleDetected naming the cycle."""
        edges = drafting.dependencies(after, after_ended)
        if not edges:
            raise Invalid("link needs at least one task to wait for.", field="after")
        return await self.store.link(id_of(task_id), edges)

    async def set_priority(self, task_id: Any, priority: float) -> Task:
        """Change how urgent a task is (0–100, lower is more urgent)."""
        return await self.store.reprioritise(id_of(task_id), validation.number(priority, "priority", 0, 100))

    async def reassign(self, task_id: Any, assignee: str | None) -> Task:
        """Say whom a task is for that nobody holds: an agent, agents of a type, `!NAME` (anybody but), or anybody
        (None)."""
        wanted = None if assignee is None else validation.text(assignee, "assignee")
        return await self.store.reassign(id_of(task_id), wanted)

    async def run_duties(self) -> dict[str, int]:
        """Run the duties that are due; claims do this by themselves."""
        return await duties.run_due(self._desk)

    async def prune(self) -> int:
        """Delete everything that retention no longer keeps; how many tasks."""
        pruned = 0
        while count := await duties.DUTIES["prune"](self._desk):
            pruned += count
        return pruned

    async def _snapshot(self, claim: Held) -> Claim:
        """The claim; where only (id, fence) is known, one made from what the store knows."""
        if isinstance(claim, Claim):
            return claim
        task_id, fence = held(claim)
        task = await get_task(self.store, task_id, listed=True)
        previous = [attempt for attempt in await self.store.history(task_id) if attempt.fence < fence]
        return Claim(task=task, fence=fence, agent=task.agent or "", previous_attempts=previous[-10:])


def _draw() -> float:
    """A random number in [0, 1), without the cost of importing `random`."""
    import os

    return int.from_bytes(os.urandom(6)) / 2**48
