"""The verbs about schedules: what is made again and again. `Queue` has them; they are written here.

What they need is imported when they are used: adding and claiming from the shell pay nothing for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.model.schedule import Run, Schedule
    from dibs.stores.contract import Store


class Schedules:
    """What a queue makes at certain times."""

    store: Store
    project: str

    async def add_schedule(
        self,
        name: str,
        *,
        cron: str | None = None,
        every: Any = None,
        at: Any = None,
        timezone: str | None = None,
        task: Any = None,
        dag: Any = None,
        missed: str = "one",
        max_missed: int = 100,
        overlap: str = "allow",
        jitter: Any = 0,
        paused: bool = False,
        replace: bool = False,
    ) -> Schedule:
        """Make a task or a dag at certain times: `cron` (in `timezone`; UTC), `every` so often, or once, `at`.

        `task`: what `add` takes, as an object or a NewTask; `dag`: an object with `title`, `tasks` and what else
        `add_dag` takes. `{{schedule.tick}}` in a payload or title is the time it is made for. `missed`: what follows
        when nobody kept time (`skip`, `one` for all, `all` up to `max_missed`). `overlap`: if what was made before has
        not ended (`allow`, `skip`, `cancel` that). `jitter`: later by up to so long, the same for each tick.

        Adding the same again answers the one that is there; something else raises Conflict, unless `replace`.
        """
        from dibs import templates
        from dibs.duties import calendar
        from dibs.errors import Conflict, Invalid
        from dibs.model.instants import from_micros
        from dibs.model.schedule import Schedule
        from dibs.rules import ticks, validation

        now = self.store.now()
        parts: dict[str, Any] = {
            "name": ticks.parse_name(name),
            **ticks.parse_timing(cron, every, at, timezone, now=now),
            **templates.check(task, dag, project=self.project, now=now),
            **ticks.parse_policies(missed, max_missed, overlap, jitter),
            "paused": validation.flag(paused, "paused"),
        }
        replaces = validation.flag(replace, "replace")
        for _ in range(calendar.RACES):
            known = await calendar.load(self.store, self.project, parts["name"])
            if known is not None and _says(known, parts, paused=replaces):
                return known
            if known is not None and not replaces:
                raise ticks.exists(parts["name"])
            if known is None and len(await self.schedules()) >= ticks.MAX_SCHEDULES:
                raise Invalid(
                    f"there are {ticks.MAX_SCHEDULES:,} schedules, and no more are kept: remove one.", field="name"
                )
            begins = from_micros(now)
            made = Schedule(**parts, starts_at=begins, created_at=begins)
            if known is not None:
                for field in ("created_at", "last_at", "last_id", "made", "skipped", "firing", "live", "version"):
                    setattr(made, field, getattr(known, field))
                if known.every == made.every and made.every is not None:
                    made.starts_at = known.starts_at
            _begin(made, now)
            try:
                await self._keep(made)
            except Conflict:
                continue
            return made
        raise ticks.exists(parts["name"])

    async def schedules(self) -> list[Schedule]:
        """Every schedule there is, by name."""
        from dibs.duties import calendar

        under = calendar.place_of(self.project, "")
        return [calendar.read(document) async for document in calendar.pages(self.store, calendar.KIND, under)]

    async def get_schedule(self, name: str) -> Schedule:
        """The schedule of this name, with where it stands. Raises NotFound."""
        from dibs.duties import calendar
        from dibs.rules import ticks

        found = await calendar.load(self.store, self.project, ticks.parse_name(name))
        if found is None:
            raise ticks.no_schedule(name)
        return found

    async def pause_schedule(self, name: str) -> Schedule:
        """Let it make nothing until it is resumed. What it has made goes on. Paused already: nothing changes."""

        def pause(found: Schedule) -> None:
            found.paused = True

        return await self._change(name, pause, unless=lambda found: found.paused)

    async def resume_schedule(self, name: str) -> Schedule:
        """Let it go on with the next tick from now; those that passed meanwhile were not missed."""

        def resume(found: Schedule) -> None:
            found.paused = False
            _begin(found, self.store.now())

        return await self._change(name, resume, unless=lambda found: not found.paused)

    async def remove_schedule(self, name: str) -> Schedule:
        """Forget a schedule; what it made stays. As it was. Raises NotFound."""
        from dibs.duties import calendar
        from dibs.errors import Conflict
        from dibs.rules import ticks

        for _ in range(calendar.RACES):
            found = await self.get_schedule(name)
            place = calendar.place_of(self.project, name)
            try:
                await self.store.write_document(calendar.EVERYWHERE, calendar.KIND, place, None, found.version)
            except Conflict:
                continue
            return found
        raise ticks.exists(name)

    async def next_runs(self, name: str, count: int = 5) -> list[Run]:
        """When it will tick next, whether it is paused or not: fewer if it ends before."""
        from itertools import islice

        from dibs.duties import calendar
        from dibs.model.instants import from_micros, to_micros
        from dibs.model.schedule import Run
        from dibs.rules import ticks, validation

        wanted = validation.whole(count, "count", 1, ticks.MAX_RUNS)
        found = await self.get_schedule(name)
        whose = calendar.place_of(self.project, name)
        after = self.store.now()
        if found.next_at is not None and not found.paused:
            # One that is due and was not made yet is still to come.
            after = min(after, to_micros(found.next_at) - 1)
        return [
            Run(
                from_micros(tick),
                from_micros(ticks.due_at(found, whose, tick)),
                ticks.local_time(found, from_micros(tick)),
            )
            for tick in islice(ticks.ticks_after(found, after), wanted)
        ]

    async def _change(
        self, name: str, change: Callable[[Schedule], None], *, unless: Callable[[Schedule], bool]
    ) -> Schedule:
        """Change a schedule as it is now, however many others do at the same time."""
        from dibs.duties import calendar
        from dibs.errors import Conflict
        from dibs.rules import ticks

        for _ in range(calendar.RACES):
            found = await self.get_schedule(name)
            if unless(found):
                return found
            change(found)
            try:
                await self._keep(found)
            except Conflict:
                continue
            return found
        raise ticks.exists(name)

    async def _keep(self, found: Schedule) -> None:
        """Write a schedule, and let somebody look at it in time.

        Said before it is written, so that nobody who dies in between leaves a schedule that is not looked at; and
        again after, in case somebody looked too early.
        """
        from dibs.duties import calendar
        from dibs.model.instants import to_micros

        at = self.store.now() if found.next_at is None else to_micros(found.next_at)
        await calendar.wake(self.store, calendar.KIND, at)
        await calendar.save(self.store, self.project, found)
        await calendar.wake(self.store, calendar.KIND, at)


def _begin(found: Schedule, now: int) -> None:
    """Let it go on with the first tick after this instant; one that is said to be now is not over."""
    from dibs.model.instants import from_micros, to_micros
    from dibs.rules import ticks

    if found.at is not None:
        left = to_micros(found.at) >= now and found.last_at != found.at
        found.next_at = found.at if left else None
        return
    tick = ticks.next_tick(found, now)
    found.next_at = None if tick is None else from_micros(tick)


def _says(known: Schedule, parts: dict[str, Any], *, paused: bool) -> bool:
    """Whether a schedule is what these parts say; whether it is paused is its own, unless it is to be replaced."""
    return all(getattr(known, name) == value for name, value in parts.items() if paused or name != "paused")
