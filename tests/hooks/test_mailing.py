"""Mail to people: a real conversation with a mail server of the test's own, at an address that may be sent to."""

from __future__ import annotations

import asyncio
import email
import email.policy
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Invalid
from dibs.rules.addresses import parse_target
from dibs.rules.notices import Notice
from dibs.server.mailing import Mailer, MailServer, parse_server
from tests.hooks.certificates import make_certificate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from email.message import EmailMessage
    from pathlib import Path

NOTICE = Notice("Given up: code · Ünïcode", ("no such key", "dibs dlq show task_1"))


class Postbox:
    """What a small mail server took in. It answers `refuse` to whoever a mail is for, if there is one."""

    def __init__(self) -> None:
        self.letters: list[EmailMessage] = []
        self.said: list[str] = []
        self.refuse: bytes | None = None
        self.port = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        while line := await reader.readline():
            word = line.decode().strip()
            self.said.append(word)
            verb = word.split(" ")[0].upper()
            if verb == "DATA":
                writer.write(b"354 go on\r\n")
                text = await reader.readuntil(b"\r\n.\r\n")
                self.letters.append(email.message_from_bytes(text[:-5], policy=email.policy.default))
                writer.write(b"250 taken\r\n")
            elif verb == "RCPT" and self.refuse is not None:
                writer.write(self.refuse)
            elif verb == "EHLO":
                writer.write(b"250-here\r\n250 AUTH PLAIN\r\n")
            elif verb == "AUTH":
                writer.write(b"235 welcome\r\n")
            elif verb == "QUIT":
                writer.write(b"221 bye\r\n")
                break
            else:
                writer.write(b"250 fine\r\n")
        writer.close()


@asynccontextmanager
async def postbox(trust: ssl.SSLContext | None = None) -> AsyncIterator[Postbox]:
    """A mail server on a free port of 127.0.0.1."""
    box = Postbox()
    server = await asyncio.start_server(box.talk, "127.0.0.1", 0, ssl=trust)
    box.port = server.sockets[0].getsockname()[1]
    try:
        yield box
    finally:
        server.close()


async def test_a_notice_is_a_letter() -> None:
    async with postbox() as box:
        server = parse_server(f"smtp://127.0.0.1:{box.port}", "dibs@example.com")
        mailer = Mailer(server, [parse_target(f"127.0.0.1:{box.port}")])
        answer = await mailer.mail("oncall@example.com", NOTICE, "msg_1_7")
        assert (answer.code, answer.error) == (250, None)
        [letter] = box.letters
        assert (letter["From"], letter["To"]) == ("dibs@example.com", "oncall@example.com")
        assert letter["Subject"] == "[dibs] Given up: code · Ünïcode"
        assert letter["Message-ID"] == "<msg_1_7@127.0.0.1>"
        assert letter.get_content().splitlines() == list(NOTICE.lines)


async def test_a_mail_server_may_want_a_name_a_password_and_tls(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path, "mail.test")
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(certificate)
    async with postbox(serving) as box:
        server = parse_server(f"smtps://me:p%40ss@mail.test:{box.port}")
        assert (server.user, server.password, server.sender) == ("me", "p@ss", "dibs@mail.test")
        mailer = Mailer(
            server,
            [parse_target(f"mail.test:{box.port}")],
            resolve=lambda host, port: ["127.0.0.1"],
            trust=ssl.create_default_context(cafile=str(certificate)),
        )
        answer = await mailer.mail("oncall@example.com", NOTICE, "msg_1_7")
        assert (answer.code, answer.error) == (250, None)
        assert any(word.startswith("AUTH PLAIN") for word in box.said)
        wary = Mailer(server, [parse_target("mail.test")], resolve=lambda host, port: ["127.0.0.1"])
        assert "certificate" in ((await wary.mail("oncall@example.com", NOTICE, "msg_1_8")).error or "").lower()


async def test_a_mail_server_in_this_network_must_be_allowed() -> None:
    async with postbox() as box:
        server = parse_server(f"smtp://mail.test:{box.port}")
        for addresses in (["127.0.0.1"], ["93.184.215.14", "127.0.0.1"]):
            mailer = Mailer(server, resolve=lambda host, port, found=addresses: found)  # type: ignore[misc]
            answer = await mailer.mail("oncall@example.com", NOTICE, "msg_1_7")
            assert answer.code is None
            assert "127.0.0.1 is loopback" in (answer.error or "")
        assert box.said == []


async def test_what_the_mail_server_refuses_is_told() -> None:
    async with postbox() as box:
        box.refuse = b"550 nobody of that name\r\n"
        mailer = Mailer(parse_server(f"smtp://127.0.0.1:{box.port}"), [parse_target("127.0.0.1")])
        answer = await mailer.mail("oncall@example.com", NOTICE, "msg_1_7")
        assert answer.code is None
        assert "nobody of that name" in (answer.error or "")


async def test_without_a_mail_server_nothing_is_sent() -> None:
    assert "--smtp" in ((await Mailer(None).mail("a@b.test", NOTICE, "msg_1")).error or "")
    gone = MailServer(scheme="smtp", host="127.0.0.1", port=1)
    assert (await Mailer(gone, [parse_target("127.0.0.1")]).mail("a@b.test", NOTICE, "msg_1")).error


@pytest.mark.parametrize(
    ("url", "port"), [("smtp://mail.test", 25), ("smtp+starttls://mail.test", 587), ("smtps://mail.test", 465)]
)
def test_each_way_to_a_mail_server_has_its_port(url: str, port: int) -> None:
    assert parse_server(url).port == port


@pytest.mark.parametrize("url", ["", "mail.test", "http://mail.test", "smtp://", "smtp://mail.test:x"])
def test_what_is_no_mail_server_is_refused(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_server(url)
    assert refused.value.field == "smtp"
