"""What can go wrong between here and a server, as people are told: one sentence that says what to do."""

from __future__ import annotations

import ssl
from socket import gaierror
from typing import TYPE_CHECKING

from dibs.errors import Denied, DibsError, Unavailable

if TYPE_CHECKING:
    from dibs.remote.address import Address
    from dibs.remote.exchange import Answer


def unheard(error: BaseException | None, address: Address) -> Unavailable:
    """Nobody could be asked."""
    return _caused(f"The dibs server at {address.place} {_why_unheard(error, address)}.", error)


def unanswered(error: BaseException | None, address: Address) -> Unavailable:
    """It was asked, again and again or just once, and did not answer; asking again later does no harm."""
    return _caused(f"The dibs server at {address.place} does not answer: {_said(error)}; try again.", error)


def in_doubt(error: BaseException | None, address: Address) -> Unavailable:
    """It was asked for something that adds up, and did not answer."""
    failure = _caused(
        f"The dibs server at {address.place} was lost before it answered, so it is unknown whether this was done: look"
        f" before doing it again ({_said(error)}).",
        error,
    )
    failure.code = "outcome_unknown"
    return failure


def no_dibs(answer: Answer, address: Address) -> Unavailable:
    """Somebody answered, but not a dibs server."""
    if answer.status in (502, 503, 504):
        return Unavailable(
            f"The dibs server behind {address.place} is away, says what stands in front of it ({answer.status}): start"
            " it, or look there."
        )
    if 300 <= answer.status < 400:
        return Unavailable(
            f"What is at {address.place} sends elsewhere ({answer.headers.get('location', 'nowhere')}): use that URL."
        )
    return Unavailable(
        f"What is at {address.place} is no dibs server (it answered {answer.status}): check host, port and path in the"
        " URL."
    )


def newer(version: str, address: Address) -> Unavailable:
    """The server speaks another version of the interface."""
    return Unavailable(
        f"The dibs server at {address.place} speaks version {version} of the interface, which this dibs does not:"
        " upgrade it with `pip install --upgrade dibs`."
    )


def older(address: Address) -> Unavailable:
    """The server does not know what it was asked for."""
    if address.prefix:
        return Unavailable(
            f"There is no dibs server below {address.place}, but above it: leave out {address.prefix} in the URL, or"
            " what of it does not belong there."
        )
    return Unavailable(f"The dibs server at {address.place} is too old for this: upgrade dibs there.")


def no_token(address: Address) -> Denied:
    """The server does not know who asks."""
    return Denied(
        f"The dibs server at {address.place} wants a token: put yours into $DIBS_TOKEN. Whoever runs the server makes"
        " one with `dibs token add NAME`.",
        code="no_token",
    )


def unreadable(address: Address, error: Exception) -> DibsError:
    """It said something that nobody here understands."""
    return Unavailable(
        f"The dibs server at {address.place} answered what this dibs cannot read: use the same version here and there"
        f" ({error})."
    )


def _why_unheard(error: BaseException | None, address: Address) -> str:
    for each in _causes(error):
        if isinstance(each, ssl.SSLCertVerificationError):
            return "has a certificate that is not trusted: name its authority in $SSL_CERT_FILE"
        if isinstance(each, ssl.SSLError):
            return "cannot be spoken to over TLS: check whether its URL begins with http:// instead"
        if isinstance(each, gaierror):
            return f"cannot be found, the host name {address.host} is unknown: correct it in the URL"
        if isinstance(each, TimeoutError):
            return "does not answer: check host and port in the URL, and firewalls"
        if isinstance(each, ConnectionRefusedError):
            return "is not there: start it with `dibs up`, or check host and port in the URL"
    return f"cannot be reached: {_said(error)}"


def _causes(error: BaseException | None) -> list[BaseException]:
    """An error and what it was raised from; a library may have wrapped the system's own."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _said(error: BaseException | None) -> str:
    words = " ".join(str(error or "").split()).rstrip(".")
    if isinstance(error, TimeoutError):
        return "it took too long"
    return words or type(error).__name__


def _caused(message: str, error: BaseException | None) -> Unavailable:
    failure = Unavailable(message)
    failure.__cause__ = error
    return failure
