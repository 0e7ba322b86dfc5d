"""Servers inside the test's own process, on loopback: real sockets and HTTP, and the test's own clock and store.

An application takes a while to make, so a few are made once and lent; what they serve is put in anew each time.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

from uvicorn import Config
from uvicorn.server import ServerState

from dibs.model.role import Role
from dibs.remote.opening import open_remote
from dibs.server.app import create_app
from dibs.server.callers import Caller, SpawnLimits
from dibs.server.desk import Desk
from dibs.server.settings import Settings

if TYPE_CHECKING:
    from litestar import Litestar

    from dibs.queue import Queue
    from dibs.remote.queue import RemoteQueue
    from dibs.rules.access import Rights

SETTINGS = Settings(requests_per_s=None)
SECRET = "dibs_for_tests_only_0123456789"


class Open:
    """An authority that lets in whoever has the one token, as whatever it was told to."""

    def __init__(self, role: Role = Role.ADMIN) -> None:
        self.role = role
        self.project = "default"
        self.callers: dict[str, Caller] = {}
        self.noted: list[tuple[str, str, str]] = []

    async def identify(self, secret: str) -> Caller | None:
        if secret == SECRET:
            return Caller(name="tester", role=self.role, project=self.project)
        return self.callers.get(secret)

    def token_for(self, rights: Rights) -> str:
        """A token that gives these rights."""
        secret = f"{SECRET}_{len(self.callers)}"
        self.callers[secret] = Caller(
            name=rights.agent or "tester",
            role=self.role if rights.agent is None else Role.AGENT,
            project=rights.project,
            types=rights.types,
            limits=SpawnLimits(depth=rights.depth, children=rights.children, cost_usd=rights.cost_usd),
        )
        return secret

    async def record(self, caller: Caller | None, act: str, target: str, outcome: str) -> None:
        self.noted.append((act, target, outcome))


_spare: list[Litestar] = []


class Serving:
    """One server in the running event loop. Use it in an `async with` statement."""

    def __init__(self, queue: Queue, authority: Open | None = None, port: int = 0) -> None:
        self.queue = queue
        self.authority = authority or Open()
        self._own = authority is not None
        self._state = ServerState()
        self._listener = _listening(port)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def begin(self) -> None:
        """Begin to serve. Clients may connect at once; they are answered when it has begun."""
        self._started = asyncio.ensure_future(self._start())

    async def __aenter__(self) -> Serving:
        self.begin()
        await self._started
        return self

    async def _start(self) -> None:
        if self._own or not _spare:
            self.app = create_app(self.queue, authority=self.authority, settings=SETTINGS)
        else:
            self.app = _spare.pop()
            self.serve(self.queue)
        config = Config(self.app, log_config=None, access_log=False, lifespan="off", http="httptools")
        config.load()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: config.http_protocol_class(  # type: ignore[call-arg]
                config=config, server_state=self._state, app_state={}, _loop=loop
            ),
            sock=self._listener,
        )

    async def __aexit__(self, *exc: object) -> None:
        await self._started
        self.app.state.desk.let_go()
        self._server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        while self._state.tasks:
            await asyncio.wait(set(self._state.tasks))
        await self._server.wait_closed()
        if not self._own and self.app not in _spare:
            # Whoever closes twice must not lend it to two at once.
            _spare.append(self.app)

    def serve(self, queue: Queue) -> None:
        """Serve this queue from now on."""
        self.queue = queue
        entrance: Any = self.app.asgi_handler.app  # type: ignore[attr-defined]
        entrance._admission._authority = self.authority
        self.app.state.desk = entrance._desk = Desk(queue, self.authority, SETTINGS)

    def connect(self, token: str = SECRET, **options: Any) -> RemoteQueue:
        """A client of it."""
        return open_remote(self.url, token=token, **options)


def _listening(port: int) -> socket.socket:
    # Named, so that asyncio knows it for TCP and sends small answers at once.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(100)
    return listener
