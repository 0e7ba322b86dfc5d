"""Redis over TLS: the same verbs, over a connection that only the right certificate opens."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

import dibs
from tests.servers.certificates import certificate
from tests.servers.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificate of localhost."""
    return certificate(tmp_path_factory.mktemp("tls"), "localhost")


@pytest.fixture
def url(redis_url: str, signed: Path) -> Iterator[str]:
    """A namespace that is reached over TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(signed, signed.with_name("key"))
    with Wire(redis_url, context) as wire:
        yield wire.url.replace("redis://127.0.0.1", "rediss://localhost")


def test_a_task_is_added_claimed_and_completed(url: str, signed: Path) -> None:
    with dibs.connect_sync(f"{url}&ssl_ca_certs={quote(str(signed))}") as queue:
        task = queue.add("work", {"over": "TLS"})
        [claim] = queue.claim("ada")
        assert claim.task.payload == {"over": "TLS"}
        queue.complete(claim, "done")
        assert queue.get(task.id).output == "done"


def test_who_waits_in_an_event_loop_hears_of_others(url: str, signed: Path) -> None:
    async def story() -> None:
        whole = f"{url}&ssl_ca_certs={quote(str(signed))}"
        async with dibs.connect(whole) as queue, dibs.connect(whole) as other:
            waiting = asyncio.create_task(queue.claim("ada", wait=60))
            await asyncio.sleep(0.2)
            task = await other.add("work")
            [claim] = await waiting
            assert claim.task.id == task.id
            await queue.complete(claim)

    asyncio.run(story())


def test_a_certificate_of_somebody_unknown_is_refused(url: str) -> None:
    with pytest.raises(dibs.Unavailable, match="certificate"):
        dibs.connect_sync(url)
