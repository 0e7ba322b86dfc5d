"""A server in a process of its own, to be killed."""

from __future__ import annotations

import asyncio
import http.client
import time
from typing import TYPE_CHECKING

from tests.proofs.crowd import Forked
from tests.servers.ports import free_port

if TYPE_CHECKING:
    from pathlib import Path


class ServerProcess:
    """One that can be killed and started again, on the same port and the same store."""

    def __init__(self, store: str, said: Path) -> None:
        self._store = store
        self._said = said
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = Forked(run, self._store, self.port, said=self._said)
        end = time.monotonic() + 60
        while not self._answers():
            assert self._process.poll() is None, self._said.read_text()
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.02)  # a process takes its time

    def kill(self) -> None:
        """`kill -9`, whatever it is doing."""
        self._process.kill()

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", "/v1/about")
            return connection.getresponse().status == 401
        except OSError:
            return False
        finally:
            connection.close()


async def serve(store: str, port: int) -> None:
    from uvicorn import Config, Server

    import dibs
    from dibs.keeper import Keeper
    from dibs.server.app import create_app
    from tests.servers.serving import SETTINGS, Open

    async with dibs.connect(store) as queue:
        keeping = asyncio.create_task(Keeper(queue).run())
        app = create_app(queue, authority=Open(), settings=SETTINGS)
        config = Config(app, host="127.0.0.1", port=port, log_level="warning", lifespan="off", access_log=False)
        await Server(config).serve()
        keeping.cancel()


def run(store: str, port: int) -> None:
    """The same for who has no event loop."""
    asyncio.run(serve(store, port))
