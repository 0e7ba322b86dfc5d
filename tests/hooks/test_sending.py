"""The sender goes nowhere it should not, whatever a name stands for, and waits for nobody long."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from dibs.rules.addresses import parse_target
from dibs.server.sending import MAX_ANSWER_BYTES, Answer, Sender
from tests.hooks.certificates import make_certificate
from tests.hooks.receiver import receiving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

PUBLIC = "93.184.215.14"


def knows(*answers: str | list[str]) -> tuple[Callable[[str, int], Awaitable[list[str]]], list[str]]:
    """A name service that gives one answer after the other, the last one for ever; and what it was asked."""
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        answer = answers[min(len(asked), len(answers)) - 1]
        return [answer] if isinstance(answer, str) else answer

    return resolve, asked


async def sent(sender: Sender, url: str, body: bytes = b"{}") -> Answer:
    """How sending to there goes."""
    try:
        return await sender.post(url, body, {"Content-Type": "application/json"})
    finally:
        await sender.close()


async def test_a_target_that_is_allowed_gets_what_is_sent_with_the_name_of_the_url() -> None:
    resolve, asked = knows("127.0.0.1")
    async with receiving() as receiver:
        answer = await sent(
            Sender([receiver.target], resolve=resolve), f"http://hooks.test:{receiver.port}/a?b=c", b"hi"
        )
        assert (answer.code, answer.error) == (200, None)
        [got] = receiver.got
        assert (got.path, got.body, got.headers["Host"]) == ("/a", b"hi", f"hooks.test:{receiver.port}")
        assert asked == ["hooks.test"]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "2130706433", "0x7f.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]"]
)
async def test_this_machine_is_not_sent_to_however_it_is_written(host: str) -> None:
    async with receiving() as receiver:
        answer = await sent(Sender(), f"http://{host}:{receiver.port}/")
        assert answer.code is None
        # What is no canonical address is not even looked up.
        assert "--allow-target" in (answer.error or "") or "canonical" in (answer.error or "")
        assert receiver.got == []


async def test_a_name_that_stands_for_a_refused_address_is_refused_also_beside_public_ones() -> None:
    async with receiving() as receiver:
        resolve, _ = knows([PUBLIC, "127.0.0.1"])
        answer = await sent(Sender(resolve=resolve), f"https://hooks.test:{receiver.port}/")
        assert answer.error is not None
        assert answer.error.startswith("hooks.test: 127.0.0.1 is loopback")
        assert receiver.got == []


async def test_a_name_that_changes_its_answer_is_judged_each_time_and_connected_to_as_judged() -> None:
    """The first answer is one that may be sent to, the next one is not: the second request is refused."""
    async with receiving() as receiver:
        allowed = [parse_target(f"127.0.0.2:{receiver.port}")]
        resolve, asked = knows("127.0.0.2", "127.0.0.1", "127.0.0.2")
        sender = Sender(allowed, resolve=resolve)
        outcomes = [await sent(sender, f"http://hooks.test:{receiver.port}/") for _ in range(3)]
        assert len(asked) == 3
        # Nobody listens on 127.0.0.2, so those that were let through fail otherwise.
        assert "loopback" not in (outcomes[0].error or "")
        assert "127.0.0.1 is loopback" in (outcomes[1].error or "")
        assert receiver.got == []


async def test_an_address_is_judged_again_when_it_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should whoever finds addresses let one through, the socket for it is not made."""
    async with receiving() as receiver:
        sender = Sender(resolve=knows("127.0.0.1")[0])
        monkeypatch.setattr("dibs.server.sending._Resolver._objects_to", lambda *_: None)
        answer = await sent(sender, f"http://hooks.test:{receiver.port}/")
        assert "127.0.0.1 is loopback" in (answer.error or "")
        assert receiver.got == []


async def test_without_tls_nobody_on_the_internet_is_sent_to() -> None:
    answer = await sent(Sender(resolve=knows(PUBLIC)[0]), "http://hooks.test/")
    assert "use https" in (answer.error or "")


async def test_redirects_are_not_followed() -> None:
    async with receiving() as receiver:
        receiver.answer = lambda got: web.Response(status=302, headers={"Location": "/elsewhere"})
        answer = await sent(Sender([receiver.target]), receiver.url)
        assert (answer.code, len(receiver.got)) == (302, 1)
        assert "redirects are not followed" in (answer.error or "")


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving() as proxy, receiving() as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        answer = await sent(Sender([receiver.target, proxy.target]), receiver.url)
        assert (answer.code, len(proxy.got), len(receiver.got)) == (200, 0, 1)


async def test_cookies_are_not_kept() -> None:
    async with receiving() as receiver:
        receiver.answer = lambda got: web.Response(headers={"Set-Cookie": "who=you"})
        sender = Sender([receiver.target])
        await sender.post(receiver.url, b"", {})
        await sent(sender, receiver.url)
        assert all("Cookie" not in got.headers for got in receiver.got)


async def test_a_refusal_is_told_in_the_words_of_the_receiver_cut_and_without_control_characters() -> None:
    async with receiving() as receiver:
        receiver.answer = lambda got: web.Response(status=422, text="no \x1b[31msuch\nfield " + "x" * 10_000)
        answer = await sent(Sender([receiver.target]), receiver.url)
        assert answer.code == 422
        assert (answer.error or "").startswith("it answered 422: no [31msuch field xxx")
        assert len(answer.error or "") < 300


async def test_how_long_the_receiver_wants_to_be_left_alone_is_told() -> None:
    async with receiving() as receiver:
        wanted = iter(["120", "Wed, 21 Oct 2015 07:28:00 GMT", "-5"])
        receiver.answer = lambda got: web.Response(status=503, headers={"Retry-After": next(wanted)})
        sender = Sender([receiver.target])
        heard = [(await sender.post(receiver.url, b"", {})).retry_after for _ in range(3)]
        await sender.close()
        assert heard == [120.0, None, None]


@asynccontextmanager
async def speaking(*parts: bytes, pause_s: float = 0.0) -> AsyncIterator[int]:
    """Somebody who says these things to whoever connects, and nothing else; their port."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            for part in parts:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(pause_s)
            await asyncio.sleep(600)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def test_an_answer_without_end_is_read_as_far_as_needed() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n%b\r\n" % (MAX_ANSWER_BYTES, b"x" * MAX_ANSWER_BYTES)
    async with speaking(head, *[chunk] * 50) as port:
        answer = await sent(Sender([parse_target("127.0.0.1")], timeout_s=60), f"http://127.0.0.1:{port}/")
        assert (answer.code, answer.error) == (200, None)
        assert answer.took_s < 50


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (b"HTTP/1.1 200 OK\r\n",),
        (b"H", b"T", b"T", b"P", b"/", b"1"),
    ],
)
async def test_who_does_not_answer_in_time_is_not_waited_for(parts: tuple[bytes, ...]) -> None:
    async with speaking(*parts, pause_s=0.1) as port:
        answer = await sent(Sender([parse_target("127.0.0.1")], timeout_s=0.4), f"http://127.0.0.1:{port}/")
        assert (answer.code, answer.error) == (None, "it did not answer in time")


@pytest.mark.parametrize(
    "parts",
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",),
        (b"HTTP/1.1 two hundred\r\n\r\n",),
    ],
)
async def test_who_speaks_no_http_is_an_error_and_not_more(parts: tuple[bytes, ...]) -> None:
    async with speaking(*parts) as port:
        answer = await sent(Sender([parse_target("127.0.0.1")], timeout_s=60), f"http://127.0.0.1:{port}/")
        assert answer.code is None
        assert answer.error


async def test_a_name_that_nobody_knows_is_an_error() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise OSError("name or service not known")

    answer = await sent(Sender(resolve=resolve), "https://nowhere.test/")
    assert answer.code is None
    assert "nowhere.test" in (answer.error or "")


async def test_the_certificate_must_be_that_of_the_name_and_the_name_is_sent(tmp_path: Path) -> None:
    names: list[str | None] = []
    certificate = make_certificate(tmp_path, "hooks.test")
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(certificate)
    serving.sni_callback = lambda _, name, __: names.append(name)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=serving)
    port = server.sockets[0].getsockname()[1]
    trust = ssl.create_default_context(cafile=str(certificate))
    allowed = [parse_target(f"127.0.0.1:{port}")]
    resolve, _ = knows("127.0.0.1")
    good = await sent(Sender(allowed, resolve=resolve, trust=trust), f"https://hooks.test:{port}/")
    other = await sent(Sender(allowed, resolve=resolve, trust=trust), f"https://other.test:{port}/")
    unknown = await sent(Sender(allowed, resolve=resolve), f"https://hooks.test:{port}/")
    server.close()
    assert (good.code, good.error) == (204, None)
    assert names[:2] == ["hooks.test", "other.test"]
    assert other.code is None
    assert "certificate" in (other.error or "").lower()
    assert unknown.code is None


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}#@hooks.internal:{port}/",
        "http://127.0.0.1:{port}?@hooks.internal:{port}/",
        "http://hooks.internal@127.0.0.1:{port}/",
        "http://hooks.internal:{port}@127.0.0.1:{port}/",
        "http://127.0.0.1:{port}\\@hooks.internal:{port}/",
    ],
)
async def test_an_address_that_two_readers_would_understand_differently_is_not_sent_to(url: str) -> None:
    async with receiving() as receiver:
        allowed = [parse_target(f"hooks.internal:{receiver.port}")]
        answer = await sent(Sender(allowed, resolve=knows("127.0.0.1")[0]), url.format(port=receiver.port))
        assert answer.code is None or all("hooks.internal" in got.headers["Host"] for got in receiver.got)
