"""Mail to people, through the mail server that this one was started with.

The standard library speaks to it, in a thread; its addresses are judged as those of any other target.
"""

from __future__ import annotations

import asyncio
import smtplib
import socket
import ssl
import time
from email.message import EmailMessage
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from dibs.errors import Invalid
from dibs.rules.addresses import objection
from dibs.server.sending import Answer, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.rules.addresses import Target
    from dibs.rules.notices import Notice

TIMEOUT_S = 15.0
MOST_AT_ONCE = 2

_PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}


class MailServer(Struct, frozen=True, kw_only=True):
    """Who takes our mail. `scheme`: `smtp` (in the clear), `smtp+starttls` or `smtps`."""

    scheme: str
    host: str
    port: int
    user: str | None = None
    password: str | None = None
    sender: str = "dibs@localhost"


def parse_server(url: str, sender: str | None = None) -> MailServer:
    """`smtps://user:password@mail.example.com:465`, `smtp+starttls://…`, `smtp://…`; `sender` is who mail is from."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise Invalid("smtp must be like smtps://user:password@mail.example.com:465.", field="smtp")
    return MailServer(
        scheme=parts.scheme,
        host=parts.hostname,
        port=port or _PORTS[parts.scheme],
        user=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
        sender=sender or f"dibs@{parts.hostname}",
    )


class Mailer:
    """Sends notices as mail. `resolve` and `trust` are for tests."""

    def __init__(
        self,
        server: MailServer | None,
        targets: Sequence[Target] = (),
        *,
        resolve: Callable[[str, int], list[str]] | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._server = server
        self._targets = tuple(targets)
        self._resolve = resolve or _addresses_of
        self._trust = trust
        self._room = asyncio.Semaphore(MOST_AT_ONCE)

    async def mail(self, to: str, notice: Notice, message_id: str) -> Answer:
        """Send a notice. Whatever goes wrong is in the answer."""
        if self._server is None:
            return Answer(error="this server has no mail server: start it with --smtp")
        begun = time.monotonic()
        letter = _letter(self._server, to, notice, message_id)
        async with self._room:
            try:
                await asyncio.to_thread(self._deliver, self._server, letter)
                answer = Answer(250)
            except (smtplib.SMTPException, OSError) as error:
                answer = Answer(error=_reason(error))
        return Answer(answer.code, answer.error, None, round(time.monotonic() - begun, 3))

    def _deliver(self, server: MailServer, letter: EmailMessage) -> None:
        trust = self._trust or ssl.create_default_context()
        connect = self._connected
        if server.scheme == "smtps":
            client: smtplib.SMTP = _SecureClient(connect, trust)
        else:
            client = _Client(connect)
        with client:
            client.connect(server.host, server.port)
            if server.scheme == "smtp+starttls":
                client.starttls(context=trust)
            if server.user is not None:
                client.login(server.user, server.password or "")
            client.send_message(letter)

    def _connected(self, host: str, port: int) -> socket.socket:
        """A connection to the first address of a name that answers; all of them must be ones to send to."""
        found = self._resolve(host, port)
        for address in found:
            # Whether mail is encrypted is for whoever set the mail server to say.
            why = objection(self._targets, host, address, port, secure=True)
            if why is not None:
                raise Refused(f"{host}: {why}")
        trouble: OSError = OSError(f"{host} has no address")
        for address in found:
            try:
                return socket.create_connection((address, port), TIMEOUT_S)
            except OSError as error:
                trouble = error
        raise trouble


class _Client(smtplib.SMTP):
    """Connects where it is told to, whatever the name stands for by then."""

    def __init__(self, connect: Callable[[str, int], socket.socket]) -> None:
        self._opened = connect
        super().__init__(timeout=TIMEOUT_S)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        self._host = host
        return self._opened(host, port)


class _SecureClient(_Client):
    """The same over TLS from the first byte on."""

    def __init__(self, connect: Callable[[str, int], socket.socket], trust: ssl.SSLContext) -> None:
        self._trust = trust
        super().__init__(connect)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return self._trust.wrap_socket(super()._get_socket(host, port, timeout), server_hostname=host)


def _letter(server: MailServer, to: str, notice: Notice, message_id: str) -> EmailMessage:
    letter = EmailMessage()
    letter["Subject"] = f"[dibs] {notice.title}"
    letter["From"] = server.sender
    letter["To"] = to
    letter["Message-ID"] = f"<{message_id}@{server.host}>"
    letter["Auto-Submitted"] = "auto-generated"
    letter.set_content("\n".join(notice.lines) or notice.title)
    return letter


def _addresses_of(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _reason(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        said = error.smtp_error
        text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
        return f"the mail server answered {error.smtp_code} {text}".strip()
    return "the mail server did not answer in time" if isinstance(error, TimeoutError) else str(error)
