"""A queue on a server: the same verbs, over HTTP.

It is a `Queue`, so whoever takes one takes this. Most verbs are one request (`verbs.py`). Those here are more: they
make ids before they ask, so that asking again finds what was done; they wait in portions; or something of them happens
here, because it is this process that has the claim: the commands that an output must pass are run by whoever made it.

What a claim's end means is decided by the server. `complete`, `fail` and their like are therefore inherited as they
are: what they decide is not sent, only what they were told (`reports.told`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

from dibs import settling
from dibs.coalescing import several, with_groups
from dibs.errors import Conflict, DibsError
from dibs.model.claim import Claim, Claims
from dibs.model.ids import new_id
from dibs.model.task import NewTask, Task
from dibs.pricing import Prices
from dibs.queue import Queue, _draw
from dibs.remote import values
from dibs.remote.blocking import BlockingLine
from dibs.remote.freight import Freight
from dibs.remote.reports import Unpriced
from dibs.remote.store import LONGEST_POLL_S, RemoteStore
from dibs.remote.verbs import VERBS, request_verb, route
from dibs.requests import MAX_WAIT_S, default_agent, held, id_of, tokens, usage
from dibs.rules import validation
from dibs.rules.schedule import RETENTION_S
from dibs.stores import refusals
from dibs.stores.values import Inserted
from dibs.wire import verb
from dibs.wire.problems import MUST_BE_JUDGED

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from dibs.artifacts.blobs import Stream
    from dibs.drafting import Planned
    from dibs.model.artifact import Artifact
    from dibs.model.claim import News, Settled
    from dibs.model.dag import Dag
    from dibs.remote.server import Server
    from dibs.requests import Held
    from dibs.stores.contract import Store
    from dibs.stores.values import Renewal, Settlement, Usage
    from dibs.wire.topics.claims import Taken


UNDO_S = 1.0


class RemoteQueue(Queue):
    """A queue on a server. Made by `dibs.connect`."""

    far = True

    def __init__(self, server: Server, *, blocking: bool) -> None:
        # Nothing of what a queue on a store is made of is here; the names are, for those who take either.
        self._server = server
        self._far = RemoteStore(server)
        self.store = cast("Store", self._far)
        self._freight = Freight(server, blocking=blocking)
        self._blocking = blocking
        self._waiting: set[asyncio.Future[Any]] = set()
        self._giving_back = set()
        self.project = "default"
        self.draw = _draw
        self.new_id = new_id
        self.poison = None
        self.prices = Prices()
        self.retention_s = RETENTION_S
        self.artifacts_at = None
        self.due_in = None

    @property
    def url(self) -> str:
        return self._far.url

    def beside(self) -> RemoteQueue:
        """Another way to the same server, for a thread: it blocks, and asks once, because that thread asks again."""
        server = self._server.over(BlockingLine(self._server.address), patience_s=0.0)
        return RemoteQueue(server, blocking=True)

    async def close(self) -> None:
        """Let go of the server. What is still being waited for is given up, which the server notices."""
        if self._waiting:
            import asyncio

            for waiting in list(self._waiting):
                waiting.cancel()
            await asyncio.gather(*self._waiting, return_exceptions=True)
        if self._giving_back:
            import asyncio

            await asyncio.gather(*self._giving_back, return_exceptions=True)
        await self._far.close()

    # Adding

    async def add(self, *args: Any, **kwargs: Any) -> Task:
        given = values.bound(Queue.add, args, kwargs)
        _refuse_connection(given.pop("connection", None))
        [task] = await self.add_many([NewTask(**given)])
        return task

    async def add_many(self, tasks: Sequence[NewTask | Planned], *, connection: Any = None) -> list[Task]:
        _refuse_connection(connection)
        if not tasks:
            return []
        # They have their ids from here: the same call again finds them there.
        body = {"tasks": values.tasks_of(tasks, self.new_id)}
        return await self._server.ask(verb("add_many", "tasks"), body)  # type: ignore[no-any-return]

    async def add_dag(self, *args: Any, **kwargs: Any) -> Dag:
        given = values.bound(Queue.add_dag, args, kwargs)
        _refuse_connection(given.pop("connection", None))
        given["tasks"] = values.tasks_of(given["tasks"], self.new_id)
        return await self._server.ask(verb("add_dag", "dags"), given)  # type: ignore[no-any-return]

    async def spawn_below(
        self,
        claim: Held,
        tasks: Sequence[NewTask],
        *,
        wait: bool = False,
        name: str | None = None,
        used: Usage | None = None,
    ) -> Inserted:
        task_id, fence = held(claim)
        asked = {
            "task_id": task_id,
            "fence": fence,
            "tasks": values.tasks_of(tasks),
            "wait": wait,
            "name": name,
            "used": used,
        }
        found = await self._server.ask(verb("spawn_below", "claims"), asked)
        return Inserted(tasks=found.tasks, existing=found.existing, suspended=found.suspended)

    # Working

    async def claim(self, *args: Any, **kwargs: Any) -> Claims:
        given = values.bound(Queue.claim, args, kwargs)
        given["agent"] = default_agent() if given.get("agent") is None else given["agent"]
        wait_s = validation.duration_s(given.pop("wait", 0), "wait", high=MAX_WAIT_S)
        own_id = given.get("claim_id")
        until = time.monotonic() + wait_s
        while True:
            # A request that got no answer is made again under its id, and answered with what it took then.
            given["claim_id"] = self.new_id("claim") if own_id is None else own_id
            given["wait"] = min(max(until - time.monotonic(), 0.0), LONGEST_POLL_S)
            taken = await self._take(given)
            self.due_in = taken.due_in
            if taken.claims or time.monotonic() >= until:
                found = Claims(taken.claims)
                found.slow_down, found.reason = taken.slow_down, taken.reason
                return found

    async def _take(self, given: dict[str, Any]) -> Taken:
        """One request to claim; if the caller stops waiting for it, what it took is given back."""
        asking = self._server.ask(verb("claim", "claims"), given, wait_s=given["wait"])
        if self._blocking:
            return await asking  # type: ignore[no-any-return]
        import asyncio

        taking = asyncio.ensure_future(asking)
        self._waiting.add(taking)
        taking.add_done_callback(self._waiting.discard)
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            if given["wait"] > 0:
                # At the server it would wait on, and take what nobody wants.
                taking.cancel()
                await self._undo(given)
            else:
                taking.add_done_callback(self._give_back)
            raise

    async def _undo(self, given: dict[str, Any]) -> None:
        """Give back what a request took whose answer nobody has read, if it took anything: asked for again under its
        id, it is answered. Not for long: where the server is away, the leases end by themselves."""
        import asyncio

        try:
            async with asyncio.timeout(UNDO_S):
                taken = await self._server.ask(verb("claim", "claims"), {**given, "wait": 0})
                if taken.claims:
                    await self._far.settle(_untouched(taken.claims))
        except (DibsError, TimeoutError):
            pass

    def _give_back(self, taken: asyncio.Future[Any]) -> None:
        """Nobody waits for what it took: it goes back."""
        if taken.cancelled() or taken.exception() is not None or not taken.result().claims:
            return
        import asyncio

        giving = asyncio.ensure_future(self._far.settle(_untouched(taken.result().claims)))
        self._giving_back.add(giving)
        giving.add_done_callback(self._given_back)

    async def renew_many(self, renewals: Sequence[Renewal]) -> list[News | DibsError]:
        return await self._far.renew(renewals)

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | DibsError]:
        return await self._far.settle(settlements)

    async def settle_outcomes(self, outcomes: Any, *, known: Any = None) -> list[Settled | DibsError]:
        told = {"outcomes": list(outcomes)}
        return await self._server.ask(verb("settle_outcomes", "claims"), told)  # type: ignore[no-any-return]

    async def complete(self, claim: Held, *args: Any, **kwargs: Any) -> Settled:
        try:
            return await super().complete(claim, *args, **kwargs)
        except Conflict as error:
            if error.code != MUST_BE_JUDGED or isinstance(claim, Claim):
                raise
            # Only now is it known that there is something to run, which takes all that is known of the task.
            return await super().complete(await Queue._snapshot(self, claim), *args, **kwargs)

    async def complete_group(self, claim: Any, *args: Any, **kwargs: Any) -> list[Settled | DibsError]:
        if isinstance(claim, Claim):
            return await super().complete_group(claim, *args, **kwargs)
        return await self._end_group(Queue.complete_group, claim, args, kwargs)

    async def fail_group(self, claim: Any, *args: Any, **kwargs: Any) -> list[Settled | DibsError]:
        if isinstance(claim, Claim):
            return await super().fail_group(claim, *args, **kwargs)
        return await self._end_group(Queue.fail_group, claim, args, kwargs)

    async def release_group(self, claim: Any, *args: Any, **kwargs: Any) -> list[Settled | DibsError]:
        if isinstance(claim, Claim):
            return await super().release_group(claim, *args, **kwargs)
        return await self._end_group(Queue.release_group, claim, args, kwargs)

    async def _end_group(self, described: Any, claim: Any, args: Any, kwargs: Any) -> list[Settled | DibsError]:
        """Whoever has only ids and fences at hand knows less than the server."""
        given = values.bound(described, (claim, *args), kwargs)
        given["claim"] = [list(held(each)) for each in several(claim)]
        return await self._server.ask(verb(described.__name__, "claims"), given)  # type: ignore[no-any-return]

    async def _snapshot(self, claim: Held) -> Claim:
        """Who only reports needs to know no more of the task than which it is."""
        if isinstance(claim, Claim):
            return claim
        task_id, fence = held(claim)
        return Claim(task=Task(id=task_id, type=""), fence=fence, agent="")

    async def _checked(self, claim: Claim, done: Settlement, beside: Sequence[Claim] = ()) -> Settlement:
        """The commands of a contract are run here; whatever else it wants is looked at by the server."""
        if claim.task.expects is None:
            return done
        from dibs import judging
        from dibs.rules import contracts

        if not contracts.commands(claim.task.expects):
            return done

        return await judging.settlement(self, claim, done, blocking=self._blocking, beside=beside)

    async def _used(
        self,
        claim: Held,
        cost: float | None,
        tokens_in: int | None,
        tokens_out: int | None,
        turns: int | None,
        model: str | None,
        cached: int | None,
        cache_written: int | None,
    ) -> Usage | None:
        """What was told, for the server to price."""
        used = usage(cost, tokens_in, tokens_out, turns, model)
        counted = tokens(tokens_in, tokens_out, cached, cache_written)
        if used is None:
            return None
        if used.model is None and counted is not None and isinstance(claim, Claim):
            used.model = claim.model
        return Unpriced.of(used, cached, cache_written)

    async def _over_limit(self, claim: Claim, told: Usage | None) -> str | None:
        """The server looks."""
        return None

    async def _over_budget(self, claim: Claim, told: Usage | None = None) -> str | None:
        """As above."""
        return None

    async def _passed_on(self, artifacts: Any) -> tuple[Artifact, ...]:
        """The server knows whether their bytes are there."""
        from dibs.rules.artifacts import passed_on

        return passed_on(artifacts)

    # Reading

    async def wait(self, target: Any, timeout: Any = None) -> Any:
        id = id_of(target)
        patience = None if timeout is None else validation.duration_s(timeout, "timeout")
        until = None if patience is None else time.monotonic() + patience
        asked = route("wait", "tasks", {"target": id})
        while True:
            left = LONGEST_POLL_S if until is None else max(until - time.monotonic(), 0.0)
            wait_s = min(left, LONGEST_POLL_S)
            found = await self._server.ask(asked, {"target": id, "timeout": wait_s}, wait_s=wait_s)
            if found.ended:
                return found.task if found.dag is None else found.dag
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(f"{id} is still {found.status}")

    async def record(self, claim: Held, entries: Any) -> Any:
        return await self._far.write_journal(*held(claim), entries)

    async def journal(self, task_id: str) -> Any:
        return await self._far.read_journal(task_id)

    # Artifacts

    async def put_artifact(self, claim: Held, name: str, data: Any, *, media_type: str | None = None) -> Artifact:
        task_id, fence = held(claim)
        return await self._freight.put(task_id, fence, name, data, media_type)

    async def keep_bytes(self, name: str, data: Any, *, media_type: str | None = None) -> Artifact:
        return await self._freight.keep(name, data, media_type)

    async def artifact_stream(self, ref: Any, *, dag: Any = None) -> Stream:
        return await self._freight.open(ref, dag)

    async def _run(self, work: Callable[..., Any], *args: Any) -> Any:
        return await self._freight.run(work, *args)


def _untouched(claims: Sequence[Claim]) -> list[Settlement]:
    return [settling.untouched(claim, "abandoned") for claim in with_groups(claims)]


def _refuse_connection(connection: Any) -> None:
    if connection is not None:
        raise refusals.no_connections()


def _described() -> None:
    """Verbs that are one request are made from the table; those above say what `Queue` says of them."""
    for topic, names in VERBS.items():
        for name in names:
            if hasattr(Queue, name):
                setattr(RemoteQueue, name, request_verb(name, topic))
    for name, own in vars(RemoteQueue).items():
        described = getattr(Queue, name, None)
        if name.startswith("_") or not callable(own) or described is None:
            continue
        own.__doc__ = described.__doc__
        if not hasattr(own, "__wrapped__"):
            own.__wrapped__ = described


_described()
