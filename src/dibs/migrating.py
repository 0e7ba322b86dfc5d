"""Moving everything from one store to another while it is in use: copy, follow, compare, cut over, and back.

The store that is filled (or, after the cutover, the one that was left) is the *follower* of the other. It knows how far
it has got, in the same commits that bring it there, so a migration that is stopped anywhere goes on where it was. What
was carried over is read back and compared at once.

Events tell which tasks changed. A few changes have none (a lease is renewed, a step written), so before a store is left
everything that is not final is compared once more, while nobody can change anything. Held tasks go with their fence and
lease: their agents settle in the new store what they claimed in the old one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from dibs.errors import Conflict, Invalid
from dibs.stores.carrying import Cargo, CarriedSettings
from dibs.stores.standing import CLOSED, FILLING, MOVED, OPEN, Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dibs.stores.carrying import CarriedEdge, CarriedTask
    from dibs.stores.contract import Store

BATCH = 500
EVENTS = 2_000
SHOWN = 20
"""How many differences are told one by one."""


class Difference(Struct, kw_only=True):
    """A task that is not the same in both stores: what of it, or that it is in one of them only."""

    task_id: str
    fields: list[str] = field(default_factory=list)


class Comparison(Struct, kw_only=True):
    """What was found: `behind` were brought up to date; `different` could not be."""

    tasks: int = 0
    behind: int = 0
    forgotten: int = 0
    different: list[Difference] = field(default_factory=list)


class Report(Struct, kw_only=True):
    """What a step of a migration did, and how both stores stand now."""

    did: str
    source: str
    target: str
    tasks: int = 0
    carried: int = 0
    events: int = 0
    bytes_copied: int = 0
    clock_skew_s: float = 0.0
    compared: Comparison | None = None
    source_is: str = OPEN
    target_is: str = OPEN


class Migration:
    """Two stores, and the way between them. `told`: what whoever comes to the old store is sent to; its URL without a
    password, unless said. `carry_bytes` takes the digests that some tasks refer to."""

    def __init__(
        self,
        source: Store,
        target: Store,
        *,
        told: str | None = None,
        told_back: str | None = None,
        progress: Callable[[str, int, int], None] = lambda what, done, total: None,
        carry_bytes: Callable[[Iterable[CarriedTask]], int] | None = None,
        batch: int = BATCH,
    ) -> None:
        self.source, self.target = source, target
        self._urls = {id(source): told_back or plain_url(source.url), id(target): told or plain_url(target.url)}
        self._progress = progress
        self._carry_bytes = carry_bytes
        self._batch = batch
        self._carried = self._events = self._bytes = 0
        self._sent: CarriedSettings | None = None

    # What people ask for

    async def copy(self) -> Report:
        """Copy everything, or go on with that, and catch up with what happened meanwhile. The old store stays in
        use."""
        src, dst = await self._direction()
        if src is not self.source:
            raise Conflict(f"{self._name(self.source)} has moved already: --follow keeps it up to date.", code="moved")
        await self._begin()
        await self._copy(src, dst)
        await self._catch_up(src, dst)
        return await self._report("copied")

    async def follow(self, goes_on: Callable[[], bool], wait_s: float = 1.0) -> Report:
        """Copy what is not there yet, then replay what happens, until told to stop. After a cutover the old store
        follows the new one."""
        src, dst = await self._direction()
        if src is self.source:
            await self._begin()
        while goes_on():
            await self._copy(src, dst)
            news = await src.news()
            await self._catch_up(src, dst)
            if not goes_on():
                break
            await src.wait_for_news(news, wait_s)
        return await self._report("followed")

    async def shadow(self) -> Report:
        """Catch up, then compare every task of both stores. What is behind is brought up to date; what cannot be made
        the same is told."""
        src, dst = await self._direction()
        if src is self.source:
            await self._begin()
        await self._copy(src, dst)
        await self._catch_up(src, dst)
        found = await self._compare(src, dst, live=False)
        return await self._report("compared", found)

    async def cutover(self) -> Report:
        """Leave the old store: from now on the new one is used, and whoever comes to the old one is told so."""
        source, target = await self._ended_switch()
        if self._has_moved(source) and target.state == OPEN:
            return await self._report("moved already")
        if not self._is_between(source):
            src, dst = await self._direction()
            assert src is self.source
            await self._begin()
            await self._copy(src, dst)
            await self._catch_up(src, dst)
        found = await self._switch(self.source, self.target)
        return await self._report("cut over", found)

    async def rollback(self) -> Report:
        """Go back to the old store, with everything that happened in the new one."""
        source, target = await self._ended_switch()
        if source.state == OPEN and target.state == MOVED and target.peer == self._name(self.source):
            return await self._report("rolled back already")
        if self._is_between(source):
            # It was never left.
            await self.source.stand(Standing(turn=source.turn), CLOSED)
            return await self._report("rolled back")
        if not self._has_moved(source) or source.final:
            raise Conflict(
                f"There is nothing to roll back: {self._name(self.source)} has not moved to {self._name(self.target)}"
                + (", or that was finished." if source.final else "."),
                code="nothing_to_roll_back",
            )
        if target.state != CLOSED:
            await self._copy(self.target, self.source)
            await self._catch_up(self.target, self.source)
        found = await self._switch(self.target, self.source)
        return await self._report("rolled back", found)

    async def finish(self) -> Report:
        """There is no way back from here: the old store is followed no more, and only says where everything is."""
        source, target = await self._ended_switch()
        if not self._has_moved(source) or target.state != OPEN:
            raise Conflict(
                f"There is nothing to finish: {self._name(self.source)} has not moved to {self._name(self.target)};"
                " `dibs migrate --cutover` does that.",
                code="nothing_to_finish",
            )
        await self.source.stand(replace(source, final=True))
        await self.target.stand(Standing())
        return await self._report("finished")

    # How they stand

    async def _standings(self) -> tuple[Standing, Standing]:
        return await self.source.standing(), await self.target.standing()

    def _name(self, store: Store) -> str:
        return plain_url(store.url)

    def _has_moved(self, source: Standing) -> bool:
        """Whether everything in the source moved to the target."""
        return source.state == MOVED and source.peer == self._name(self.target)

    async def _ended_switch(self) -> tuple[Standing, Standing]:
        """How both stand; a switch after which one was left and the other is not open yet is brought to its end."""
        source, target = await self._standings()
        both = source.state == MOVED and target.state == MOVED
        if self._has_moved(source) and (target.state == FILLING or (both and source.turn > target.turn)):
            await self._open(self.target, self.source, source)
        elif both and target.peer == self._name(self.source) and target.turn > source.turn:
            await self._open(self.source, self.target, target)
        return await self._standings()

    async def _open(self, store: Store, left: Store, stands: Standing) -> None:
        """Let a store be used whose peer was left."""
        await store.stand(Standing(peer=self._name(left), seq=stands.seq, turn=stands.turn))

    def _is_between(self, source: Standing) -> bool:
        """Whether a cutover was begun and not ended."""
        return source.state == CLOSED and source.peer == self._name(self.target)

    async def _direction(self) -> tuple[Store, Store]:
        """Who follows whom; Conflict where neither can."""
        if self._name(self.source) == self._name(self.target):
            raise Invalid("from and to are the same store: name another one.", field="to")
        source, target = await self._ended_switch()
        if self._has_moved(source) and target.state == OPEN:
            if source.final:
                raise Conflict("This migration is finished: nothing follows any more.", code="finished")
            return self.target, self.source
        if source.state != OPEN:
            where = f" ({source.peer})" if source.peer else ""
            raise Conflict(
                f"{self._name(self.source)} is {source.state}{where}: nothing can be copied from it now;"
                " go on with --cutover, or give that up with --rollback.",
                code=source.state,
                field="from",
            )
        if target.state == OPEN or (target.peer == self._name(self.source) and target.may_carry_in):
            return self.source, self.target
        raise Conflict(
            f"{self._name(self.target)} is {target.state}, of {target.peer}: name an empty store.",
            code="not_empty",
            field="to",
        )

    async def _begin(self) -> None:
        """Let the target be filled, if it is empty; what comes into the source from now on is followed."""
        if (await self.target.standing()).state != OPEN:
            return
        await _refuse_full(self.target, self._name(self.target))
        seq = await self.source.last_seq()
        await self.target.stand(Standing(state=FILLING, peer=self._name(self.source), seq=seq))
        if (await self.source.standing()).state == FILLING:
            await self.target.stand(Standing())
            raise Invalid("from and to are the same store, called by two names: name another one.", field="to")

    # Carrying

    async def _copy(self, src: Store, dst: Store) -> None:
        """Everything, from where the last copy stopped."""
        stands = await dst.standing()
        if stands.whole:
            return
        total = (await src.census()).tasks
        done = (await dst.census()).tasks
        while True:
            cargo = await src.carry_out(stands.copied, self._batch)
            if cargo.tasks:
                stands = replace(stands, copied=cargo.tasks[-1].number)
            else:
                stands = replace(stands, whole=True)
            await self._carry(dst, cargo, (), stands)
            done += len(cargo.tasks)
            self._progress("copied", min(done, total), total)
            if stands.whole:
                return

    async def _catch_up(self, src: Store, dst: Store) -> None:
        """Everything that happened since, as far as events tell."""
        stands = await dst.standing()
        while events := await src.events(stands.seq, EVENTS):
            if events[0].type == "gap":
                # Whatever they told, it is in the tasks.
                stands = replace(stands, seq=await src.last_seq(), copied=0, whole=False)
                await dst.carry_in(Cargo(), standing=stands)
                await self._copy(src, dst)
                await self._drop_strangers(src, dst)
                stands = await dst.standing()
                continue
            named = dict.fromkeys(
                each for event in events for each in (event.task_id, event.dag_id) if each is not None
            )
            tasks = {event.task_id for event in events if event.task_id is not None}
            await self._carry_named(src, dst, list(named), tasks)
            stands = replace(stands, seq=events[-1].seq)
            await dst.carry_in(Cargo(), standing=stands)
            self._events += len(events)
            self._progress("events", self._events, 0)
        told = await src.carry_settings()
        if told != self._sent:
            await dst.carry_in_settings(told)
            self._sent = told

    async def _carry_named(self, src: Store, dst: Store, ids: list[str], tasks: set[str]) -> None:
        """These, and those that wait for them: what they wait for may have changed without a word about them."""
        below: dict[str, None] = {}
        for start in range(0, len(ids), self._batch):
            wanted = ids[start : start + self._batch]
            cargo = await src.carry_out_named(wanted)
            there = {task.id for task in cargo.tasks}
            await self._carry(dst, cargo, [each for each in wanted if each in tasks and each not in there])
            below |= dict.fromkeys(cargo.dependents)
        rest = [each for each in below if each not in tasks]
        for start in range(0, len(rest), self._batch):
            await self._carry(dst, await src.carry_out_named(rest[start : start + self._batch]))

    async def _carry(
        self, dst: Store, cargo: Cargo, forget: Iterable[str] = (), standing: Standing | None = None
    ) -> None:
        """Carry tasks over, and read them back: they must be the same."""
        if self._carry_bytes is not None and cargo.tasks:
            self._bytes += self._carry_bytes(cargo.tasks)
        await dst.carry_in(cargo, forget=list(forget), standing=standing)
        self._carried += len(cargo.tasks)
        if cargo.tasks:
            different = await self._differences(cargo, dst)
            if different:
                names = ", ".join(different[0].fields)
                raise Conflict(
                    f"Task {different[0].task_id} is not the same after it was copied ({names}), nor are"
                    f" {len(different) - 1} more; nothing is lost where it comes from. This is a defect of dibs, please"
                    " report it.",
                    code="different",
                )

    async def _differences(self, cargo: Cargo, dst: Store) -> list[Difference]:
        there = {task.id: task for task in (await dst.carry_out_named([task.id for task in cargo.tasks])).tasks}
        found = ((task.id, _fields(task, there.get(task.id))) for task in cargo.tasks)
        return [Difference(task_id=task_id, fields=fields) for task_id, fields in found if fields]

    async def _compare(self, src: Store, dst: Store, *, live: bool) -> Comparison:
        """Every task of both, or all that are not final in one of them. What is behind is carried over."""
        found = Comparison()
        seen: set[str] = set()
        total = (await src.census()).tasks
        after = 0
        while (cargo := await src.carry_out(after, self._batch, live=live)).tasks:
            after = cargo.tasks[-1].number
            found.tasks += len(cargo.tasks)
            seen.update(task.id for task in cargo.tasks)
            behind = {each.task_id for each in await self._differences(cargo, dst)}
            found.behind += len(behind)
            found.different += await self._mended(src, dst, behind)
            self._progress("compared", found.tasks, 0 if live else total)
        after = 0
        while (theirs := await dst.carry_out(after, self._batch, live=live)).tasks:
            after = theirs.tasks[-1].number
            unseen = [task for task in theirs.tasks if task.id not in seen]
            if not unseen:
                continue
            ours = {task.id: task for task in (await src.carry_out_named([task.id for task in unseen])).tasks}
            gone = [task.id for task in unseen if task.id not in ours]
            behind = {task.id for task in unseen if task.id in ours and _fields(task, ours[task.id])}
            await dst.carry_in(Cargo(), forget=gone)
            found.forgotten += len(gone)
            found.behind += len(behind)
            found.different += await self._mended(src, dst, behind)
        return found

    async def _mended(self, src: Store, dst: Store, behind: set[str]) -> list[Difference]:
        """Carry these over; which of them are not the same for all that."""
        if not behind:
            return []
        cargo = await src.carry_out_named(sorted(behind))
        if self._carry_bytes is not None:
            self._bytes += self._carry_bytes(cargo.tasks)
        await dst.carry_in(cargo)
        self._carried += len(cargo.tasks)
        return await self._differences(cargo, dst)

    async def _drop_strangers(self, src: Store, dst: Store) -> None:
        """Forget what is no longer where it came from."""
        after = 0
        while (theirs := await dst.carry_out(after, self._batch)).tasks:
            after = theirs.tasks[-1].number
            ours = {task.id for task in (await src.carry_out_named([task.id for task in theirs.tasks])).tasks}
            await dst.carry_in(Cargo(), forget=[task.id for task in theirs.tasks if task.id not in ours])

    # Switching

    async def _switch(self, src: Store, dst: Store) -> Comparison:
        """Close one store, bring the other up to date, leave the first for good, open the second.

        That the first is left, if it is still closed, decides it: whoever gives up a cutover opens it, if it is still
        closed. Killed anywhere in between, it goes on from there.
        """
        before, there = await src.standing(), await dst.standing()
        turn = max(before.turn, there.turn) + 1
        closed = Standing(state=CLOSED, peer=self._name(dst), url=self._urls[id(dst)], turn=before.turn)
        await src.stand(closed, before.state)
        try:
            found = await self._settle(src, dst)
            seq = await dst.last_seq()
        except BaseException:
            # Whatever it is: better in the old store than in none.
            await src.stand(before if before.state == OPEN else Standing(turn=before.turn), CLOSED)
            raise
        left = replace(closed, state=MOVED, whole=True, seq=seq, turn=turn)
        await src.stand(left, CLOSED)
        await self._open(dst, src, left)
        return found

    async def _settle(self, src: Store, dst: Store) -> Comparison:
        """Nobody changes anything any more: make both the same, and make sure that they are."""
        self._sent = None
        await self._catch_up(src, dst)
        found = await self._compare(src, dst, live=True)
        if await src.census() != await dst.census():
            found = await self._compare(src, dst, live=False)
        told = await src.carry_settings()
        await dst.carry_in_settings(told)
        if (
            found.different
            or await src.census() != await dst.census()
            or _settings(told) != _settings(await dst.carry_settings())
        ):
            what = ", ".join(f"{each.task_id} ({', '.join(each.fields)})" for each in found.different[:SHOWN])
            raise Conflict(
                f"Both stores are not the same: {what or 'settings or counts'}. Nothing was switched, and"
                f" {self._name(src)} is in use again. This is a defect of dibs, please report it.",
                code="different",
            )
        return found

    async def _report(self, did: str, compared: Comparison | None = None) -> Report:
        source, target = await self._standings()
        return Report(
            did=did,
            source=self._name(self.source),
            target=self._name(self.target),
            tasks=(await self.target.census()).tasks,
            carried=self._carried,
            events=self._events,
            bytes_copied=self._bytes,
            clock_skew_s=round((self.source.now() - self.target.now()) / 1_000_000, 3),
            compared=compared,
            source_is=source.state,
            target_is=target.state,
        )


def plain_url(url: str) -> str:
    """A URL without its password, to be left where others can read it."""
    from urllib.parse import urlsplit, urlunsplit

    scheme, found, _ = url.partition("://")
    if not found or scheme == "sqlite":
        return url
    parts = urlsplit(url)
    login, at, host = parts.netloc.rpartition("@")
    query = "&".join(pair for pair in parts.query.split("&") if not pair.partition("=")[0].endswith("password"))
    return urlunsplit((parts.scheme, f"{login.partition(':')[0]}{at}{host}", parts.path, query, parts.fragment))


async def _refuse_full(store: Store, name: str) -> None:
    """Only an empty store is filled."""
    told = await store.carry_settings()
    empty = CarriedSettings(agents=told.agents, claims=told.claims, last_seq=told.last_seq)
    if (await store.census()).tasks or told != empty:
        raise Conflict(
            f"{name} is not empty: name one that is, such as another file, schema or namespace.",
            code="not_empty",
            field="to",
        )


def _settings(told: CarriedSettings) -> CarriedSettings:
    """Without the numbers: those of a store that was in use before may be higher."""
    return replace(told, last_number=0, last_put=0, last_seq=0)


def _fields(task: CarriedTask, other: CarriedTask | None) -> list[str]:
    """What of a task is not the same."""
    if task == other:
        return []
    if other is None:
        return ["missing"]
    return [
        name
        for name in task.__struct_fields__
        if getattr(task, name) != getattr(other, name)
        and not (name == "edges" and _same_edges(task.edges, other.edges))
    ]


def _same_edges(ours: list[CarriedEdge], theirs: list[CarriedEdge]) -> bool:
    """Where the other end is not copied yet, a store knows its number or its id only."""
    return len(ours) == len(theirs) and all(
        (one.kind, one.resolved) == (two.kind, two.resolved) and (one.number == two.number or one.parent == two.parent)
        for one, two in zip(ours, theirs, strict=True)
    )
