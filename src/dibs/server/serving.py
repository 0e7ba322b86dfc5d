"""`dibs up`: the API, the stream of events, the keeper and the deliveries, in one process on one store.

Any number of them may run on a store; each does everything. It leaves in order: at the first SIGTERM or SIGINT it
accepts nothing new, whoever waits is answered at once, what runs is finished, the keeper stops; at the second it ends.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, cast

import uvicorn
from msgspec import Struct

from dibs.connecting import connect
from dibs.errors import Invalid, Unavailable
from dibs.keeper import Keeper
from dibs.rules.addresses import parse_target
from dibs.server import logs
from dibs.server.accounting import Accounting
from dibs.server.app import create_app
from dibs.server.authority import StoreAuthority
from dibs.server.delivering import Delivering
from dibs.server.door import Door
from dibs.server.mailing import Mailer, MailServer, parse_server
from dibs.server.metering import Meter
from dibs.server.origins import Origins, hosts_of
from dibs.server.pages import is_built
from dibs.server.readiness import Readiness
from dibs.server.routes import health, login, metrics, pages
from dibs.server.scraping import Scraping
from dibs.server.sending import Sender
from dibs.server.welcoming import first_login, first_token, keep_local_token
from dibs.stores import shown
from dibs.watching import FileWatcher

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from dibs.a2a.offer import Offer
    from dibs.queue import Queue
    from dibs.rules.addresses import Target
    from dibs.server.accounting import App
    from dibs.server.desk import Desk

log = logging.getLogger("dibs.server")

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 3427
DRAIN_S = 60.0
"""How long what runs has to finish: longer than the longest long poll."""
INTERRUPTED = 130
BACKLOG = 2_048
AGAIN_S = 1.0


class Options(Struct, frozen=True, kw_only=True):
    """How to serve. `url` is the store, as for `dibs.connect`; `allow_targets` are the private addresses that webhooks
    may go to, `smtp` is the server for mail, `a2a` a file that says what is offered to other agents. `mcp_patience_s`:
    how long what an MCP client claimed is renewed after it was last heard of."""

    url: str | None = None
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    log_format: str = "text"
    access_log: str | None = None
    allow_hosts: tuple[str, ...] = ()
    allow_targets: tuple[str, ...] = ()
    smtp: str | None = None
    mail_from: str | None = None
    a2a: str | None = None
    drain_s: float = DRAIN_S
    mcp_patience_s: float | None = None


class Started(Struct, frozen=True, kw_only=True):
    """A server that answers: where, and on its first start the one token that may do everything, and a link that logs a
    browser in. `dashboard`: whether there is one."""

    url: str
    token: str | None = None
    login: str | None = None
    dashboard: bool = False


def serve(options: Options, on_start: Callable[[Started], None]) -> int:
    """Serve until told to end; the exit code. Raises Invalid, or Unavailable (the port is taken, the store is away)."""
    logs.set_up(options.log_format)
    targets = [parse_target(target, "allow_targets") for target in options.allow_targets]
    mail = None if options.smtp is None else parse_server(options.smtp, options.mail_from)
    offer = None if options.a2a is None else _read_offer(options.a2a)
    listener = _listen(options.host, options.port)
    with listener, asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_serve(options, listener, targets, mail, offer, on_start))


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens; before anything else is opened, so that a mistake costs nothing."""
    try:
        [(family, kind, proto, _, address), *_] = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise _not_here(host) from None
    # With its protocol: else asyncio leaves it to wait for more to send.
    listener = socket.socket(family, kind, proto)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except PermissionError:
        listener.close()
        raise Unavailable(f"Port {port} may not be used by this user: choose one above 1023 with --port.") from None
    except OSError as error:
        listener.close()
        import errno

        if error.errno == errno.EADDRINUSE:
            raise Unavailable(
                f"Port {port} of {host} is taken: end what uses it, or choose another one with --port.",
                code="port_taken",
                field="port",
            ) from None
        raise _not_here(host) from None
    return listener


def _not_here(host: str) -> Invalid:
    return Invalid(f"host must be an address of this machine, such as 127.0.0.1, not {host!r:.80}.", field="host")


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop, where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _serve(
    options: Options,
    listener: socket.socket,
    targets: Sequence[Target],
    mail: MailServer | None,
    offer: Offer | None,
    on_start: Callable[[Started], None],
) -> int:
    async with connect(options.url) as queue:
        sender = Sender(targets)
        try:
            return await _Process(options, listener, queue, sender, Mailer(mail, targets), offer).run(on_start)
        finally:
            await sender.close()


class _Server(uvicorn.Server):
    """uvicorn, but signals are ours."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()


class _Process:
    """Everything that runs in a server's process."""

    def __init__(
        self,
        options: Options,
        listener: socket.socket,
        queue: Queue,
        sender: Sender,
        mailer: Mailer,
        offer: Offer | None = None,
    ) -> None:
        self._options = options
        self._listener = listener
        self._queue = queue
        self._sender = sender
        self._mailer = mailer
        self._offer = offer
        self._url = _url(options.host, listener)
        self._keeper = Keeper(queue)
        self._meter = Meter()
        self._door = Door() if options.mcp_patience_s is None else Door(patience_s=options.mcp_patience_s)
        self._signals = 0

    async def run(self, on_start: Callable[[Started], None]) -> int:
        authority = StoreAuthority(self._queue)
        token = await first_token(self._queue)
        link = await first_login(self._queue, self._url) if token is not None and is_built() else None
        await keep_local_token(self._queue, authority, self._url)
        routers = [health.router, login.router, metrics.router, pages.router, self._door.handler]
        if self._offer is not None:
            from dibs.server.routes import a2a

            routers.append(a2a.router_of(self._offer, self._url))
        app = self._door.app = create_app(self._queue, authority=authority, routers=routers, astray=pages.astray)
        self._desk: Desk = app.state.desk
        scraping = Scraping(self._queue, self._meter, self._keeper)
        app.state.readiness = Readiness(self._queue, self._keeper, lambda: self._signals > 0)
        app.state.scraping = scraping
        options = self._options
        access = options.access_log or ("all" if options.log_format == "json" else "errors")
        hosts = hosts_of(options.host, options.allow_hosts)
        self._server = _Server(
            uvicorn.Config(
                Accounting(cast("App", Origins(app, hosts)), self._meter, access),
                access_log=False,
                log_config=None,
                lifespan="on",
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=int(options.drain_s),
                backlog=BACKLOG,
            )
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal)
        chores = [asyncio.create_task(_kept_up(name, run), name=name) for name, run in self._chores().items()]
        serving = asyncio.create_task(self._server.serve(sockets=[self._listener]), name="dibs-serving")
        try:
            await self._until_answering(serving)
            on_start(Started(url=self._url, token=token, login=link, dashboard=is_built()))
            log.info("serving %s at %s", shown(self._queue.url), self._url)
            await serving
        finally:
            for chore in chores:
                chore.cancel()
            await asyncio.gather(*chores, return_exceptions=True)
            await self._door.close()
            await scraping.end()
            await self._desk.streams.feed.close()
            await authority.close()
        log.info("left" if self._signals < 2 else "ended at once")
        return 0 if self._signals < 2 else INTERRUPTED

    def _chores(self) -> dict[str, Callable[[], Coroutine[None, None, None]]]:
        """What runs beside the requests."""
        delivering = Delivering(self._queue, self._desk.streams.feed, self._sender, self._mailer)
        chores = {
            "keeper": self._keeper.run,
            "delivering": delivering.run,
            "watching": FileWatcher(self._queue).run,
        }
        if self._offer is not None:
            from dibs.a2a.pushing import Pushing

            chores["a2a"] = Pushing(self._queue, self._sender.post, self._offer.url or self._url).run
        return chores

    async def _until_answering(self, serving: asyncio.Task[None]) -> None:
        while not self._server.started:
            if serving.done():
                serving.result()
                raise Unavailable("The server ended before it answered; what is above says why.")
            await asyncio.sleep(0.005)

    def _on_signal(self) -> None:
        self._signals += 1
        if self._signals == 1:
            log.info("leaving: what runs is finished; signal again to end at once")
            self._desk.let_go()
            self._door.let_go()
            self._server.should_exit = True
        else:
            self._server.force_exit = True
            for task in self._server.server_state.tasks:
                task.cancel()


def _read_offer(path: str) -> Offer:
    from dibs.a2a.offer import read_offer

    return read_offer(path)


async def _kept_up(name: str, run: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run a chore until it is cancelled. One that fails is told, and begun anew: it must not be missing unnoticed."""
    while True:
        try:
            await run()
        except Exception:
            log.exception("%s failed; it begins anew", name)
        await asyncio.sleep(AGAIN_S)


def _url(host: str, listener: socket.socket) -> str:
    """Where it can be reached from this machine."""
    port = listener.getsockname()[1]
    name = {"0.0.0.0": DEFAULT_HOST, "": DEFAULT_HOST, "::": "::1"}.get(host, host)  # noqa: S104 - it is only shown
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
