"""How much of dibs one verb walks through: the files and functions of `src/dibs` entered by a warm call, on each store.

Who wants to know what a claim does has to open these files. What makes the figures equal every time, on every Python:
clocks stand still unless they are moved; every call is made several times, the first ones unwatched, and of the others
the smallest counts; comprehensions, generator expressions and lambdas belong to the function they stand in. Memory and
SQLite work in the calling thread, as they do for the shell; PostgreSQL in an event loop; Redis there, and in threads
that work for it, which are watched as well. SQL, Lua and the clock of the tests are not counted.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar
from unittest.mock import patch

import dibs
from dibs.testing import FakeClock
from tests.servers.quick import place

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator
    from types import CodeType, FrameType

    from dibs.queue import Queue

T = TypeVar("T")

HOME = str(Path(dibs.__file__).parent) + os.sep
FOR_TESTS = HOME + "testing" + os.sep
STORES = ("memory", "sqlite", "postgres", "redis")
BLOCKING = ("memory", "sqlite")
UNWATCHED, WATCHED = 3, 10
"""How many calls warm up, and how many are watched."""
AGENT, TYPE = "agent-1", "job"
SECOND_S, RENEWED_AFTER_S, HOUR_S = 1, 20, 3600

GOALS = {"claim": "14 / 50", "expire": "24 files", "http-claim": "28 files"}
"""What verbs should enter one day, on SQLite."""


class Entered(NamedTuple):
    """How much a call entered."""

    files: int
    functions: int


Figures = dict[tuple[str, str], Entered]
"""By verb and store."""


class Watch:
    """Notes the functions of dibs that are entered inside a `with` statement: by this thread, and by threads that were
    begun while `in_threads` was in place."""

    current: ClassVar[Watch | None] = None

    def __init__(self) -> None:
        self._codes: set[CodeType] = set()

    def __enter__(self) -> Watch:
        self._before = sys.getprofile()
        Watch.current = self
        sys.setprofile(_note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)
        Watch.current = None

    def note(self, code: CodeType) -> None:
        """A function was entered."""
        self._codes.add(code)

    def entered(self) -> Entered:
        """How much was entered."""
        codes = {(code.co_filename, code.co_firstlineno, code.co_name) for code in self._codes if is_function(code)}
        return Entered(len({file for file, _, _ in codes}), len(codes))


def _note(frame: FrameType, event: str, _: object) -> None:
    if event == "call" and Watch.current is not None:
        Watch.current.note(frame.f_code)


@contextmanager
def in_threads() -> Iterator[None]:
    """Threads that are begun meanwhile can be watched."""
    before = threading.getprofile()
    threading.setprofile(_note)
    try:
        yield
    finally:
        threading.setprofile(before)


def is_function(code: CodeType) -> bool:
    """Whether it is a function of dibs. Some Pythons make functions of comprehensions, others do not."""
    where = code.co_filename
    return where.startswith(HOME) and not where.startswith(FOR_TESTS) and not code.co_name.startswith("<")


class Calls:
    """What the calls entered, by verb."""

    def __init__(self) -> None:
        self._entered: dict[str, list[Entered]] = {}

    async def watch(self, verb: str, call: Awaitable[T]) -> T:
        """Make a call and note what it enters."""
        with Watch() as watch:
            answer = await call
        self._entered.setdefault(verb, []).append(watch.entered())
        return answer

    def smallest(self) -> dict[str, Entered]:
        """Of each verb, what the call entered that entered least: others met work in the background."""
        return {
            verb: Entered(min(each.files for each in calls), min(each.functions for each in calls))
            for verb, all_calls in self._entered.items()
            if (calls := all_calls[UNWATCHED:])
        }


def trace(store: str, url: str) -> dict[str, Entered]:
    """What each verb enters on an empty store at this URL."""

    async def run() -> dict[str, Entered]:
        clock, calls = FakeClock(), Calls()
        # Where a store works in the calling thread, a SyncQueue's verbs are coroutines that never wait.
        blocks = store in BLOCKING
        async with (
            dibs.connect_sync(url, clock=clock).queue if blocks else await dibs.connect(url, clock=clock) as queue
        ):
            for number in range(UNWATCHED + WATCHED):
                await _round(queue, clock, calls, number)
            if store == "sqlite":
                await _http(queue, calls)
        return calls.smallest()

    # Ids begin anew with every millisecond, which takes a function more: so there is only one.
    now = time.time_ns()
    with patch("time.time_ns", lambda: now), in_threads():
        return asyncio.run(run())


async def _round(queue: Queue, clock: FakeClock, calls: Calls, number: int) -> None:
    """Every verb once, as an agent meets it who is alone with a task or two."""

    async def claimed(lease_s: float = HOUR_S) -> Any:
        [claim] = await queue.claim(AGENT, lease=lease_s)
        return claim

    # After a second duties are due, and find nothing to do; at the same instant none are due.
    await queue.add(TYPE)
    clock.advance(SECOND_S)
    [claim] = await calls.watch("claim-duties", queue.claim(AGENT, lease=HOUR_S))
    await queue.complete(claim)
    await calls.watch("add", queue.add(TYPE))
    [claim] = await calls.watch("claim", queue.claim(AGENT, lease=HOUR_S))
    await calls.watch("complete", queue.complete(claim))
    parent = await queue.add(TYPE)
    await calls.watch("add-after", queue.add(TYPE, after=[parent.id]))
    await calls.watch("complete-releases", queue.complete(await claimed()))
    await queue.complete(await claimed())
    failing = await queue.add(TYPE)
    await calls.watch("fail-retries", queue.fail(await claimed(), "it broke"))
    await queue.cancel(failing.id)
    expiring = await queue.add(TYPE)
    await claimed(SECOND_S)
    clock.advance(2 * SECOND_S)
    assert (await calls.watch("expire", queue.run_duties()))["expire"] == 1
    await queue.cancel(expiring.id)
    asking = await queue.add(TYPE)
    question = await queue.ask(await claimed(), f"Which way in round {number}?")
    await calls.watch("answer", queue.answer(question.id, "left"))
    await queue.cancel(asking.id)
    # A worker renews when a third of its lease has gone by. That its agent is alive is news by then, too.
    await queue.add(TYPE)
    claim = await claimed()
    clock.advance(RENEWED_AFTER_S)
    await calls.watch("renew", queue.renew(claim))
    await queue.complete(claim)
    await queue.run_duties()


async def _http(queue: Queue, calls: Calls) -> None:
    """A claim over HTTP, inside the server: from where a request comes in to its answer. With a token; none is due."""
    from dibs.server.app import create_app
    from dibs.server.authority import StoreAuthority

    token = await queue.create_token("tracer", role="admin")
    # Looked up once, a token is trusted for a while.
    authority = StoreAuthority(queue, trusted_s=HOUR_S)
    app = create_app(queue, authority=authority)
    for _ in range(UNWATCHED + WATCHED):
        await queue.add(TYPE)
        answer = await calls.watch("http-claim", _post(app, "/v1/claims", {"agent": AGENT}, token.secret))
        [claim] = answer["claims"]
        await queue.complete((claim["task"]["id"], claim["fence"]))
    await authority.close()


async def _post(app: Any, path: str, body: object, token: str) -> Any:
    """What an ASGI application answers to a request; both as JSON."""
    sent = json.dumps(body).encode()
    headers = {"host": "here", "authorization": f"Bearer {token}", "content-type": "application/json"}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [
            (name.encode(), value.encode()) for name, value in {**headers, "content-length": str(len(sent))}.items()
        ],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    answer = b""

    async def receive() -> object:
        return {"type": "http.request", "body": sent, "more_body": False}

    async def send(message: Any) -> None:
        nonlocal answer
        answer += message.get("body", b"")

    await app(scope, receive, send)
    return json.loads(answer)


def trace_all() -> Figures:
    """What each verb enters on each store. Starts the servers that tests use, and ends them."""
    with _urls() as urls:
        traced = {store: trace(store, urls[store]) for store in STORES}
    verbs = dict.fromkeys(verb for entered in traced.values() for verb in entered)
    return {(verb, store): traced[store][verb] for verb in verbs for store in STORES if verb in traced[store]}


def by_name(figures: Figures) -> dict[str, int]:
    """The figures by the names that bounds have."""
    found = {}
    for (verb, store), entered in figures.items():
        found[f"{verb}.{store}.files"] = entered.files
        found[f"{verb}.{store}.functions"] = entered.functions
    return found


@contextmanager
def _urls() -> Iterator[dict[str, str]]:
    """An empty store of each."""
    from tests.servers import postgres, redis

    folder = place() / f"dibs-tests-{os.urandom(4).hex()}-{os.getpid()}"
    os.environ[postgres.FOLDER] = str(folder)
    try:
        schemas = postgres.Schemas(postgres.shared_url())
        namespaces = redis.Namespaces(redis.shared_urls(redis.shared_programs()[0]))
        with TemporaryDirectory(dir=place()) as files, schemas.lend() as schema, namespaces.lend() as namespace:
            yield {"memory": "memory:", "sqlite": f"sqlite:{files}/dibs.db", "postgres": schema, "redis": namespace}
        namespaces.close()
        schemas.close()
    finally:
        del os.environ[postgres.FOLDER]
        redis.end_shared(folder)
        postgres.end_shared(folder)
