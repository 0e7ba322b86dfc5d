"""A process that delivers to the hooks of a store until it is killed."""

from __future__ import annotations

import asyncio

import dibs
from dibs.rules.addresses import parse_target
from dibs.server import delivering
from dibs.server.delivering import Delivering
from dibs.server.feed import Feed
from dibs.server.mailing import Mailer
from dibs.server.sending import Sender


async def deliver(url: str, port: int) -> None:
    # Another server takes over within this time, instead of a minute.
    delivering.LEASE_S, delivering.RENEW_S = 1.0, 0.5
    delivering.LOOK_S, delivering.IDLE_S = 0.05, 0.2
    async with dibs.connect(url) as queue:
        sender = Sender([parse_target(f"127.0.0.1:{port}")])
        print("delivering", flush=True)
        await Delivering(queue, Feed(queue.store), sender, Mailer(None)).run()


def run(url: str, port: int) -> None:
    """The same for who has no event loop: URL of the store, port of the receiver."""
    asyncio.run(deliver(url, port))
