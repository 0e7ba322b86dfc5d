"""The verbs that stop and let go: pauses and circuit breakers; what rate limits stop. `Queue` has them.

What they need is imported when they are used: adding and claiming from the shell pay nothing for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import Invalid
from dibs.requests import optional
from dibs.rules import validation

if TYPE_CHECKING:
    from dibs.model.closures import Breaker, Closure
    from dibs.rules.breaker import Override, Record
    from dibs.rules.closing import Pause
    from dibs.stores.contract import Store

MAX_REASON_CHARS = 4_000


class Pausing:
    """What a queue can stop, and let go again."""

    store: Store
    project: str

    async def pause(
        self,
        type: str | None = None,
        lane: int | None = None,
        agent: str | None = None,
        everything: bool = False,
        reason: str | None = None,
        until: Any = None,
        *,
        by: str | None = None,
    ) -> Closure:
        """Hand out nothing more of a type or lane, to an agent, or at all; until then (an instant, or a duration from
        now), else until it is resumed. What is being worked on goes on.

        Pausing again replaces reason and end. `lane` is the number that `stats` shows; one that does not exist:
        NotFound.
        """
        from dibs.rules import closing

        now = self.store.now()
        ends = None if until is None else validation.instant(until, "until", now, durations=True)
        if ends is not None and ends <= now:
            raise Invalid("until must lie in the future; to end a pause, resume it.", field="until")
        scope, name = _what(type, lane, agent, everything)
        why = None if reason is None else validation.text(reason, "reason", max_chars=MAX_REASON_CHARS)
        wanted = closing.Pause(scope=scope, name=name, until=ends, reason=why, by=optional(by, "by"))
        return closing.told(await self.store.pause(self.project, wanted))

    async def resume(
        self,
        type: str | None = None,
        lane: int | None = None,
        agent: str | None = None,
        everything: bool = False,
        *,
        provider: str | None = None,
        limit: str | None = None,
    ) -> bool:
        """End this pause; false if there was none. Other pauses and breakers stay: `gates` lists them.

        `provider`, or `limit` (the type) where nobody knows who serves it: open what a rate limit closed, and forget
        how often it did.
        """
        from dibs.rules import closing

        limited = [(kind, name) for kind, name in (("provider", provider), ("limit", limit)) if name is not None]
        if limited:
            kind, named = limited[0]
            if len(limited) > 1 or everything or any(other is not None for other in (type, lane, agent)):
                raise Invalid(f"name one thing to resume: {kind} goes by itself.", field=limited[-1][0])
            return await self.store.resume(self.project, f"{kind}:{validation.text(named, kind)}")
        scope, name = _what(type, lane, agent, everything)
        return await self.store.resume(self.project, closing.Pause(scope=scope, name=name).gate)

    async def gates(self) -> list[Closure]:
        """What is closed now: pauses, then circuit breakers that are not closed, then what rate limits closed, then
        types of which as many tasks run, or were handed out, as may."""
        from dibs.rules import closing, providers, rates, slots

        pauses, records = await self._shut()
        stopped = [closing.told_breaker(type, record) for type, record in sorted(records.items())]
        limited = await self.store.backoffs(self.project)
        full = [slots.told(found) for found in await self.store.type_slots(self.project)]
        full += [rates.told(found) for found in await self.store.rates(self.project)]
        return [
            *(closing.told(pause) for pause in pauses),
            *(closure for closure in stopped if closure is not None),
            *(providers.told(gate, record) for gate, record in limited.items()),
            *(closure for closure in full if closure is not None),
        ]

    async def set_breaker(
        self,
        type: str = "*",
        *,
        failure_threshold: int | None = None,
        cooldown_s: Any = None,
        half_open_after_s: Any = None,
        enabled: bool = True,
    ) -> Breaker:
        """Switch the circuit breaker of a type on, or off (which closes it), and set how it works; what holds now.

        `*` sets what holds for every type without settings of its own. What is left out stays as it was set before,
        else is as for `*`, else: 5 failures in a row, forgotten after 300 s, tried again after 60 s.
        """
        from dibs.rules.breaker import override_of

        wanted = override_of(
            type,
            failure_threshold=failure_threshold,
            cooldown_s=cooldown_s,
            half_open_after_s=half_open_after_s,
            enabled=enabled,
        )
        await self.store.set_breaker(self.project, type, wanted)
        return await self._breaker(type)

    async def open_breaker(self, type: str, reason: str | None = None) -> Breaker:
        """Open the circuit breaker of a type by hand: nothing of it is handed out until it is half-open, or closed."""
        why = None if reason is None else validation.text(reason, "reason", max_chars=MAX_REASON_CHARS)
        return await self._steer(type, "open", why)

    async def close_breaker(self, type: str) -> Breaker:
        """Close the circuit breaker of a type by hand, and forget the failures it counted: work flows."""
        return await self._steer(type, "close")

    async def reset_breaker(self, type: str) -> Breaker:
        """Forget all that the circuit breaker of a type remembers, and what was set for it."""
        return await self._steer(type, "reset")

    async def breakers(self) -> list[Breaker]:
        """The circuit breakers: what holds for every type (`*`), then each type that was set or has failed."""
        from dibs.rules.breaker import EVERY

        overrides, records = await self.store.breakers(self.project)
        types = sorted({*overrides, *records} - {EVERY})
        return [_told(type, overrides, records) for type in (EVERY, *types)]

    async def _steer(self, type: str, to: str, reason: str | None = None) -> Breaker:
        from dibs.rules.breaker import EVERY

        name = validation.text(type, "type")
        if name == EVERY and to != "reset":
            raise Invalid(f"name the type whose breaker to {to}; * only stands for settings.", field="type")
        await self.store.steer_breaker(self.project, name, to, reason)
        return await self._breaker(name)

    async def _breaker(self, type: str) -> Breaker:
        return _told(type, *await self.store.breakers(self.project))

    async def _shut(self) -> tuple[list[Pause], dict[str, Record]]:
        _, records = await self.store.breakers(self.project)
        return await self.store.pauses(self.project), records


def _what(type: str | None, lane: int | None, agent: str | None, everything: bool) -> tuple[str, str]:
    """Scope and name of what is meant: exactly one of these."""
    if not isinstance(everything, bool):
        raise Invalid(f"everything must be True or False, not {everything!r:.80}.", field="everything")
    given = [name for name, value in (("type", type), ("lane", lane), ("agent", agent)) if value is not None]
    given += ["everything"] * everything
    if len(given) != 1:
        meant = f"not {' and '.join(f'`{name}`' for name in given)}" if given else "or say `everything`"
        raise Invalid(f"name one of `type`, `lane` and `agent`, {meant}.", field=given[1] if given else "type")
    if given[0] == "lane":
        return "lane", str(validation.whole(lane, "lane", 1, 2**31 - 1))
    name = type if given[0] == "type" else agent
    return given[0], "" if given[0] == "everything" else validation.text(name, given[0])


def _told(type: str, overrides: dict[str, Override], records: dict[str, Record]) -> Breaker:
    """A breaker as people see it."""
    from dibs.model.closures import Breaker
    from dibs.model.instants import from_micros
    from dibs.rules.breaker import EVERY, HEALTHY, settings_of

    holds = settings_of(overrides.get(type), overrides.get(EVERY))
    record = records.get(type, HEALTHY)
    instants = {
        "last_failure_at": record.last_failure_at,
        "opened_at": record.opened_at,
        "half_open_at": record.half_open_at,
        "half_open_due_at": record.due_at,
    }
    return Breaker(
        type=type,
        state=record.state.value,
        failures=len(record.failed_at),
        probe=None if record.probe is None else record.probe[0],
        reason=record.reason,
        enabled=holds.enabled,
        failure_threshold=holds.failure_threshold,
        cooldown_s=holds.cooldown_s,
        half_open_after_s=holds.half_open_after_s,
        own=type in overrides,
        **{name: None if at is None else from_micros(at) for name, at in instants.items()},
    )
