"""A real server in this process: uvicorn on loopback in a thread of its own, and a plain client for it."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from contextlib import contextmanager, suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec

import uvicorn

import dibs
from dibs.model.role import Role
from dibs.server.app import create_app
from dibs.server.callers import Caller

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from litestar import Litestar

    from dibs.queue import Queue
    from dibs.server.settings import Settings

P = ParamSpec("P")

PATIENCE_S = 60.0

TOKENS = {f"dibs_{role}_of_the_tests_0123456789": Caller(name=role, role=role, token_id=role) for role in Role}
ADMIN, AGENT, ORCHESTRATOR, VIEWER = (
    f"dibs_{role}_of_the_tests_0123456789" for role in ("admin", "agent", "orchestrator", "viewer")
)


class KnownCallers:
    """An authority that knows the callers it was made with, and writes down what it is told."""

    def __init__(self, callers: dict[str, Caller]) -> None:
        self.callers = dict(callers)
        self.recorded: list[tuple[str | None, str, str, str]] = []

    async def identify(self, secret: str) -> Caller | None:
        return self.callers.get(secret)

    async def record(self, caller: Caller | None, act: str, target: str, outcome: str) -> None:
        self.recorded.append((None if caller is None else caller.name, act, target, outcome))


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Running:
    """A server that runs, and how to ask it."""

    def __init__(self, port: int, app: Litestar, queue: Queue, authority: KnownCallers, loop: Any) -> None:
        self.port, self.app, self.queue, self.authority = port, app, queue, authority
        self._loop = loop

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = ADMIN,
        headers: dict[str, str] | None = None,
        raw: bytes | None = None,
        timeout: float = 2 * PATIENCE_S,
    ) -> Answer:
        """One request on a connection of its own. `raw`: the body as it is, with no Content-Type but the one given."""
        sent = dict(headers or {})
        if token is not None:
            sent.setdefault("Authorization", f"Bearer {token}")
        data = raw
        if raw is None and body is not None:
            data = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body=data, headers=sent)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def send(self, data: bytes, until: bytes | None = None) -> bytes:
        """Bytes on a socket, as they are; all that comes back until the server closes, has said `until`, or, where
        nothing need come, is quiet."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S) as line:
            with suppress(ConnectionError):  # it may have heard enough before the end
                line.sendall(data)
            return _all_of(line, until)

    def inside(self, make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Run something in the server's own loop."""
        return asyncio.run_coroutine_threadsafe(make(), self._loop).result(PATIENCE_S)


def _all_of(line: socket.socket, until: bytes | None) -> bytes:
    line.settimeout(0.5 if until is None else PATIENCE_S)
    found = b""
    try:
        while (until is None or until not in found) and (chunk := line.recv(65536)):
            found += chunk
    except TimeoutError:
        pass
    except ConnectionError:
        pass
    return found


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Runs a test that is a coroutine."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


@contextmanager
def running(
    url: str = "memory:", *, settings: Settings | None = None, callers: dict[str, Caller] | None = None, **options: Any
) -> Iterator[Running]:
    """A server on a store at this URL, until the block ends."""
    started = threading.Event()
    made: dict[str, Any] = {}

    async def serve() -> None:
        async with dibs.connect(url, **options) as queue:
            authority = KnownCallers(TOKENS if callers is None else callers)
            app = create_app(queue, authority=authority, settings=settings)
            config = uvicorn.Config(app, log_level="error", access_log=False, loop="none", ws="none", lifespan="on")
            server = uvicorn.Server(config)
            listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
            made.update(
                port=listener.getsockname()[1],
                app=app,
                queue=queue,
                authority=authority,
                loop=asyncio.get_running_loop(),
                server=server,
            )
            started.set()
            await server.serve([listener])

    def work() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            made["error"] = error
            started.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    started.wait(PATIENCE_S)
    if "error" in made:
        raise made["error"]
    server = made.pop("server")
    while not server.started:
        started.wait(0.01)
        threading.Event().wait(0.01)
    try:
        yield Running(made["port"], made["app"], made["queue"], made["authority"], made["loop"])
    finally:
        with suppress(RuntimeError):  # its loop has ended by itself
            made["loop"].call_soon_threadsafe(made["app"].state.desk.let_go)
        server.should_exit = True
        thread.join(PATIENCE_S)
