"""The verbs about agents: who there is, what each offers and holds, and which lanes they can serve. `Queue` has them;
they are written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import Invalid
from dibs.requests import MAX_NOTE_CHARS, optional
from dibs.rules import agents, slots, validation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.model.views import Agent, Lane
    from dibs.stores.contract import Store


class Agents:
    """Who works on a queue."""

    store: Store
    project: str

    async def register_agent(
        self,
        agent: str,
        type: str | None = None,
        capabilities: Iterable[str] = (),
        models: Iterable[str] = (),
        max_concurrent: int | None = None,
        budget: Any = None,
        *,
        version: str | None = None,
        host: str | None = None,
        pid: int | None = None,
        poll: Any = None,
        concurrency: int | None = None,
        keep: bool = False,
    ) -> Agent:
        """Say who an agent is; its first claim does it otherwise. Replaces what was registered before.

        Tasks assigned to `type` are for it too. `capabilities` and `models` hold for claims that name none.
        It never holds more than `max_concurrent` tasks, and uses no more than `budget` (USD; as `set_budget` for
        `agent:NAME`, which stays when it is left out). The rest is shown and not enforced: the process behind it, how
        often it asks for work, and how much it does at once. With `keep`, what is left out stays as it was.
        """
        from dibs.model.agent import Process, Registered
        from dibs.stores.agents import Registration

        if not isinstance(keep, bool):
            raise Invalid(f"keep must be True or False, not {keep!r:.80}.", field="keep")
        process = Process(
            version=optional(version, "version"),
            host=optional(host, "host"),
            pid=None if pid is None else validation.whole(pid, "pid", 0, 2**53),
            poll_s=None if poll is None else validation.duration_s(poll, "poll"),
            concurrency=_at_once(concurrency, "concurrency"),
        )
        registered = Registered(
            type=optional(type, "type"),
            capabilities=validation.names(capabilities, "capabilities"),
            models=validation.names(models, "models", ordered=True),
            max_concurrent=_at_once(max_concurrent, "max_concurrent"),
        )
        told = Registration(
            agent=validation.text(agent, "agent"),
            project=self.project,
            registered=registered,
            process=None if process == Process() else process,
            keep=keep,
        )
        if budget is not None:
            await self._give(told.agent, budget)
        return await self.store.register_agent(told)

    async def _give(self, agent: str, budget: Any) -> None:
        """What an agent may cost, in USD. What else is set for that budget stays."""
        from dibs.rules import budgets

        scope = budgets.of_agent(agent)
        limit = budgets.parse_amount(budget, "budget", "usd")
        reserve, window = 0, None
        for known in await self.store.budgets(self.project):
            if (known.scope, known.unit) == (scope, "usd"):
                reserve, window = budgets.to_parts(known.default_reserve, "usd"), budgets.window_of(known)
        await self.store.set_budget(self.project, scope, "usd", limit, reserve, window)

    async def agents(self) -> list[Agent]:
        """Every agent that is remembered, by id: what it offers, how it stands, what it holds."""
        found = await self.store.agents(self.project)
        now = self.store.now()
        for agent in found:
            agent.status = agents.seen_at(agent, now)
        return found

    async def drain_agent(self, agent: str) -> Agent:
        """Give an agent nothing new; it keeps what it holds. Registering or unregistering it ends that."""
        return await self.store.drain_agent(self.project, validation.text(agent, "agent"))

    async def unregister_agent(self, agent: str, reason: str | None = None) -> Agent:
        """Say that an agent is gone. It comes back with its next claim, as what it was registered."""
        text = None if reason is None else validation.text(reason, "reason", max_chars=MAX_NOTE_CHARS)
        return await self.store.unregister_agent(self.project, validation.text(agent, "agent"), text)

    async def lanes(self, minutes: int | None = None) -> list[Lane]:
        """What is ready, by lane: how much, since when, and which live agents can do it (`agents`).

        With `minutes` also lanes from which something was completed within so many: how long that had waited
        (`wait_p50_s`, `wait_p95_s`), and how much it was in each minute (`per_minute`).
        """
        now = self.store.now()
        lanes = await self.store.ready(self.project)
        if minutes is not None:
            lanes = await self._flowing(lanes, minutes, now)
        known = await self.store.agents(self.project)
        for lane in lanes:
            lane.agents = agents.servers(lane, known, now)
        slots.mark(lanes, await self.store.type_slots(self.project))
        return lanes

    async def _flowing(self, lanes: list[Lane], minutes: int, now: int) -> list[Lane]:
        """These, and those from which something was completed lately; with how that went."""
        from dibs.model.views import Lane
        from dibs.rules import flow

        count = validation.whole(minutes, "minutes", 1, flow.MAX_MINUTES)
        begin = flow.since(now, count)
        ended = await self.store.ends(self.project, begin, flow.MOST_ENDS)
        flows = flow.flows(ended.ends, begin, count)
        known = {lane.id: lane for lane in lanes}
        for id, key in ended.lanes.items():
            if id not in known:
                known[id] = Lane(
                    id=id,
                    type=key.type,
                    assignee=key.assignee,
                    requires=key.requires,
                    models=key.models,
                    boost=key.boost,
                    provider=key.provider,
                )
        for id, lane in known.items():
            went = flows.get(id) or flow.Flow(per_minute=flow.nothing(ended.ends, begin, count))
            lane.per_minute = went.per_minute
            lane.wait_p50_s = None if went.wait_p50 is None else went.wait_p50 / 1_000_000
            lane.wait_p95_s = None if went.wait_p95 is None else went.wait_p95 / 1_000_000
        return [known[id] for id in sorted(known)]


def _at_once(value: int | None, field: str) -> int | None:
    """How many tasks at once."""
    return None if value is None else validation.whole(value, field, 1, agents.MAX_CONCURRENT)
