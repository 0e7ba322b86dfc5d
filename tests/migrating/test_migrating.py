"""Moving everything from one store to another, for every pair of stores: in steps, stopped anywhere, and back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.errors import Conflict, Invalid, Moved, Unavailable
from dibs.migrating import Migration, plain_url
from dibs.stores import open_store
from dibs.stores.standing import CLOSED, FILLING, MOVED, OPEN, Standing
from tests.servers.redis import Namespaces, shared_programs, shared_urls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from dibs.queue import Queue
    from dibs.stores.contract import Store
    from tests.servers.postgres import Schemas

KINDS = ("memory", "sqlite", "postgres", "redis")
PAIRS = [(one, two) for one in KINDS for two in KINDS]


class Places:
    """URLs of empty stores."""

    def __init__(self, folder: Path, servers: dict[str, Callable[[], str]]) -> None:
        self._folder = folder
        self._servers = servers
        self._made = 0

    def new(self, kind: str) -> str:
        self._made += 1
        if kind == "memory":
            return f"memory:{self._folder}-{self._made}"
        return f"sqlite:{self._folder}/{self._made}.db" if kind == "sqlite" else self._servers[kind]()


@pytest.fixture
def places(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    from contextlib import ExitStack

    with ExitStack() as lent:

        def redis() -> str:
            namespaces = Namespaces(shared_urls(shared_programs()[0]))
            lent.callback(namespaces.close)
            return lent.enter_context(namespaces.lend())

        def postgres() -> str:
            schemas: Schemas = request.getfixturevalue("postgres_schemas")
            return lent.enter_context(schemas.lend())

        yield Places(tmp_path, {"postgres": postgres, "redis": redis})


class Pair:
    """Two stores, a queue on the first as everybody would open it, and a migration between them."""

    def __init__(self, source: Store, target: Store, queue: Queue, urls: tuple[str, str]) -> None:
        self.source, self.target, self.queue, self.urls = source, target, queue, urls

    def migration(self, **options: Any) -> Migration:
        return Migration(self.source, self.target, batch=3, told=self.urls[1], told_back=self.urls[0], **options)

    async def states(self) -> tuple[str, str]:
        return (await self.source.standing()).state, (await self.target.standing()).state


def run(places: Places, kinds: tuple[str, str], story: Callable[[Pair], Awaitable[None]]) -> None:
    async def told() -> None:
        urls = (places.new(kinds[0]), places.new(kinds[1]))
        stores = [open_store(url) for url in urls]
        for store in stores:
            await store.connect()
        try:
            async with dibs.connect(urls[0]) as queue:
                await story(Pair(stores[0], stores[1], queue, urls))
        finally:
            for store in stores:
                await store.close()

    asyncio.run(told())


async def fill(queue: Queue, count: int = 10) -> None:
    await queue.add_many([dibs.NewTask("job", {"n": n}) for n in range(count)])


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_everything_moves_and_whoever_works_goes_on(places: Places, kinds: tuple[str, str]) -> None:
    async def story(pair: Pair) -> None:
        queue = pair.queue
        await fill(queue)
        [held] = await queue.claim("ada", lease=600)
        report = await pair.migration().copy()
        assert (report.tasks, report.source_is, report.target_is) == (10, OPEN, FILLING)
        # The old store stays in use, the new one is nobody's yet.
        [other] = await queue.claim("bob")
        await queue.complete(other, {"by": "bob"})
        await queue.checkpoint(held, "no event tells of this")
        with pytest.raises(Unavailable) as caught:
            async with dibs.connect(pair.urls[1]) as early:
                await early.add("job")
        assert caught.value.code == "filling"
        compared = (await pair.migration().shadow()).compared
        assert compared is not None
        assert (compared.tasks, compared.different) == (10, [])
        moved = await pair.migration().cutover()
        assert (moved.did, moved.source_is, moved.target_is) == ("cut over", MOVED, OPEN)
        # The same queue, opened on the old store, is where everything is now.
        await queue.complete(held, {"by": "ada"})
        await queue.add("job", {"n": "new"})
        assert queue.url == pair.target.url
        async with dibs.connect(pair.urls[0]) as late:
            found = (await late.find(type="job", limit=50)).items
            assert (len(found), late.url) == (11, pair.target.url)
        assert {task.agent for task in found if task.status == "completed"} == {"ada", "bob"}
        assert await pair.target.check() == []
        with pytest.raises(Moved):
            await pair.source.set_type_slots("default", "job", 1)

    run(places, kinds, story)


@pytest.mark.parametrize(
    "kinds",
    [("sqlite", "postgres"), ("postgres", "sqlite"), ("memory", "sqlite"), ("sqlite", "redis"), ("redis", "postgres")],
    ids="-".join,
)
def test_going_back_takes_along_what_happened(places: Places, kinds: tuple[str, str]) -> None:
    async def story(pair: Pair) -> None:
        queue = pair.queue
        await fill(queue)
        seq = await pair.source.last_seq()
        await pair.migration().cutover()
        [held] = await queue.claim("ada")
        [done] = await queue.claim("ada")
        await queue.complete(done, "in the new store")
        await queue.add("more")
        # The old one may follow, or be brought up to date when it is needed.
        rounds = iter([True, True, False])
        await pair.migration().follow(lambda: next(rounds), wait_s=0)
        assert (await pair.source.get([done.task.id]))[0].output == "in the new store"  # type: ignore[union-attr]
        report = await pair.migration().rollback()
        assert (report.did, report.source_is, report.target_is) == ("rolled back", OPEN, MOVED)
        await queue.complete(held, "back in the old store")
        assert queue.url == pair.source.url
        assert (await queue.get(held.task.id)).output == "back in the old store"
        assert (await pair.source.census()).tasks == 11
        assert await pair.source.check() == []
        first, *_ = await pair.source.events(0, 5)
        assert first.seq > seq
        # And once more: what was moved back can move again.
        await pair.migration().cutover()
        assert await pair.states() == (MOVED, OPEN)
        await pair.migration().finish()
        assert (await pair.source.standing()).final
        with pytest.raises(Conflict) as caught:
            await pair.migration().rollback()
        assert caught.value.code == "nothing_to_roll_back"
        await queue.add("still followed")
        assert queue.url == pair.target.url

    run(places, kinds, story)


@pytest.mark.parametrize(
    "kinds",
    [("memory", "sqlite"), ("sqlite", "memory"), ("sqlite", "postgres"), ("redis", "sqlite"), ("sqlite", "redis")],
    ids="-".join,
)
def test_stopped_at_any_call_it_goes_on_where_it_was(places: Places, kinds: tuple[str, str]) -> None:
    """Every call to a store may be the last one of a process, done or not; the next process ends the migration."""

    class Stopped(BaseException):
        pass

    class Mortal:
        """A store whose user is killed at one of its calls, before or after it."""

        def __init__(self, store: Store, calls: list[int], last: int, *, done: bool) -> None:
            self._store, self._calls, self._last, self._done = store, calls, last, done

        def __getattr__(self, name: str) -> Any:
            found = getattr(self._store, name)
            if name in ("url", "now", "clock"):
                return found

            async def call(*args: Any, **kwargs: Any) -> Any:
                self._calls[0] += 1
                if self._calls[0] > self._last or (self._calls[0] == self._last and not self._done):
                    raise Stopped
                answer = await found(*args, **kwargs)
                if self._calls[0] == self._last:
                    raise Stopped
                return answer

            return call

    async def story(pair: Pair) -> None:
        queue = pair.queue
        await fill(queue, 5)
        await queue.set_budget("global", 10)
        last, survived = 0, False
        while not survived:
            last += 1
            for done in (False, True):
                calls = [0]
                source: Any = Mortal(pair.source, calls, last, done=done)
                target: Any = Mortal(pair.target, calls, last, done=done)
                try:
                    await Migration(source, target, batch=3, told=pair.urls[1], told_back=pair.urls[0]).cutover()
                    survived = True
                except Stopped:
                    pass
                # Whatever there is: it is usable in one store at most, and never lost.
                states = await pair.states()
                assert states.count(OPEN) <= 1 or not (await pair.target.census()).tasks
                if survived:
                    break
        assert last > 10
        assert await pair.states() == (MOVED, OPEN)
        assert (await pair.target.census()).tasks == 5
        assert (await queue.budgets())[0].limit == 10

    run(places, kinds, story)


def test_events_that_were_pruned_are_no_reason_to_lose_anything(places: Places) -> None:
    async def story(pair: Pair) -> None:
        await fill(pair.queue, 4)
        await pair.migration().copy()
        [claim] = await pair.queue.claim("ada")
        await pair.queue.complete(claim, "done")
        gone = await pair.queue.add("gone")
        await pair.migration().copy()
        await pair.queue.cancel(gone.id)
        await pair.source.prune(-1, 1000)
        assert (await pair.source.census()).tasks == 3
        await pair.migration().cutover()
        assert (await pair.target.census()) == (await pair.source.census())
        assert (await pair.target.get([gone.id])) == [None]

    run(places, ("sqlite", "memory"), story)


def test_a_store_that_is_not_empty_is_not_filled(places: Places) -> None:
    async def story(pair: Pair) -> None:
        await fill(pair.queue, 2)
        async with dibs.connect(pair.urls[1]) as there:
            await there.pause(everything=True)
            with pytest.raises(Conflict) as caught:
                await pair.migration().copy()
            assert (caught.value.code, caught.value.field) == ("not_empty", "to")
            await there.resume(everything=True)
            await there.add("mine")
            with pytest.raises(Conflict, match="not empty"):
                await pair.migration().cutover()
        assert await pair.states() == (OPEN, OPEN)

    run(places, ("sqlite", "sqlite"), story)


def test_a_store_that_is_filled_from_another_one_is_not_filled_twice(places: Places) -> None:
    async def story(pair: Pair) -> None:
        await fill(pair.queue, 2)
        await pair.target.stand(Standing(state=FILLING, peer="sqlite:/elsewhere.db"))
        with pytest.raises(Conflict) as caught:
            await pair.migration().copy()
        assert (caught.value.field, "elsewhere" in caught.value.message) == ("to", True)

    run(places, ("memory", "sqlite"), story)


def test_one_store_under_two_names_is_noticed(places: Places) -> None:
    async def story(pair: Pair) -> None:
        again = open_store(pair.urls[0])
        with pytest.raises(Invalid) as caught:
            await Migration(pair.source, again).copy()
        assert caught.value.field == "to"
        again.url = "sqlite:/another/name.db"
        with pytest.raises(Invalid) as caught:
            await Migration(pair.source, again).copy()
        assert caught.value.field == "to"
        assert (await pair.source.standing()).state == OPEN
        await again.close()

    run(places, ("sqlite", "memory"), story)


def test_there_must_be_something_to_go_back_from_and_to_finish(places: Places) -> None:
    async def story(pair: Pair) -> None:
        for step in (pair.migration().rollback, pair.migration().finish):
            with pytest.raises(Conflict):
                await step()
        await pair.migration().copy()
        for step in (pair.migration().rollback, pair.migration().finish):
            with pytest.raises(Conflict):
                await step()
        assert await pair.states() == (OPEN, FILLING)

    run(places, ("sqlite", "memory"), story)


def test_a_cutover_that_was_begun_can_be_given_up(places: Places) -> None:
    async def story(pair: Pair) -> None:
        await fill(pair.queue, 2)
        await pair.migration().copy()
        await pair.source.stand(Standing(state=CLOSED, peer=plain_url(pair.target.url), url=pair.urls[1]))
        report = await pair.migration().rollback()
        assert (report.source_is, report.target_is) == (OPEN, FILLING)
        await pair.queue.add("job")

    run(places, ("sqlite", "memory"), story)


def test_a_call_waits_for_a_store_that_is_being_left(places: Places) -> None:
    async def story(pair: Pair) -> None:
        await pair.source.stand(Standing(state=CLOSED, peer="there"))
        adding = asyncio.create_task(pair.queue.add("job"))
        await asyncio.sleep(0.3)
        assert not adding.done()
        await pair.source.stand(Standing())
        assert (await adding).type == "job"

    run(places, ("sqlite", "memory"), story)


def test_passwords_are_not_left_behind() -> None:
    assert plain_url("postgresql://ada:secret@host:5432/db?schema=x&sslpassword=y") == (
        "postgresql://ada@host:5432/db?schema=x"
    )
    assert plain_url("sqlite:/a/b.db") == "sqlite:/a/b.db"
    assert plain_url("memory:x") == "memory:x"
