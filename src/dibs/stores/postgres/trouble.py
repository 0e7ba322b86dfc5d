"""What can go wrong between here and the server: what is waited out, what is repeated, and what people are told.

Every message is one sentence that says what to do.
"""

from __future__ import annotations

import ssl
from socket import gaierror
from typing import TYPE_CHECKING, Any

import asyncpg

from dibs.errors import DibsError, Invalid, Unavailable
from dibs.stores.postgres import refused

if TYPE_CHECKING:
    from dibs.stores.postgres.address import Address

_CONFLICTS = {"40001", "40P01", "55P03"}
"""Serialization failures, deadlocks, locks not to be had: the statement was undone and may be tried again at once."""

_COMING_OR_GOING = {"53300", "57P01", "57P02", "57P03", "57P05"}
"""The server shuts down, starts, is full, or ended this session."""

_STRANGE_SESSION = {"26000", "42P05"}
"""A prepared statement that is not there, or is there already: this is not the session it was made in."""

_ADVICE = {
    "25006": "is read-only: connect to the primary, or set default_transaction_read_only to off",
    "26000": "mixes up sessions, as a pooler does: add pooler=transaction to the URL",
    "28000": "does not let this user in: check user and database in the URL, and pg_hba.conf",
    "28P01": "refuses the password: correct it in the URL, or set PGPASSWORD",
    "3D000": "does not have this database: create it with `createdb {database}`, or name another one in the URL",
    "3F000": "has lost the schema {schema} while it was in use: connect again",
    "42501": "denies a right that dibs needs: let the owner of the schema {schema} grant it, or connect as the owner",
    "42883": "has other functions in the schema {schema} than this version of dibs needs: connect again",
    "42P01": "has lost tables of the schema {schema} while it was in use: connect again",
    "42P05": "mixes up sessions, as a pooler does: add pooler=transaction to the URL",
    "53100": "cannot write, its disk is full: free some space there and try again",
    "53200": "is out of memory: give it more, or lower its work_mem",
    "53300": "takes no more connections: raise its max_connections, or lower pool= in the URL",
    "57014": "cancelled a statement: raise its statement_timeout for this user, or ask who cancelled it",
}


def is_conflict(error: BaseException) -> bool:
    """Whether the server undid a statement that got in the way of another's."""
    return getattr(error, "sqlstate", None) in _CONFLICTS or isinstance(error, asyncpg.InvalidCachedStatementError)


def is_loss(error: BaseException) -> bool:
    """Whether the way to the server is lost, for now."""
    if isinstance(error, ssl.SSLError | asyncpg.ClientConfigurationError):
        return False
    if isinstance(error, OSError | TimeoutError | asyncpg.PostgresConnectionError | asyncpg.InternalClientError):
        # The driver calls it internal when the server ended the session between two statements.
        return True
    if isinstance(error, asyncpg.InterfaceError):
        # The same class tells of wrong arguments.
        return "closed" in str(error)
    return getattr(error, "sqlstate", None) in _COMING_OR_GOING


def is_passing(error: BaseException) -> bool:
    """Whether a server that cannot be reached yet is there, and about to take connections."""
    return getattr(error, "sqlstate", None) in _COMING_OR_GOING


def told(error: Exception, address: Address) -> Exception:
    """What whoever waits is told: refusals in our words, troubles as Unavailable.

    What is not the server's stays as it is, and violated constraints, which whoever made the statement understands.
    """
    if isinstance(error, DibsError | asyncpg.IntegrityConstraintViolationError):
        return error
    state = getattr(error, "sqlstate", None)
    if state == refused.SQLSTATE:
        failure: Exception = refused.refused(error)
    elif isinstance(error, asyncpg.ClientConfigurationError):
        failure = Invalid(f"The PostgreSQL URL cannot be used: {error}.", field="url")
    elif advice := _advice(error, address, state):
        failure = Unavailable(f"PostgreSQL at {address.place} {advice} ({_said(error)}).")
    else:
        return error
    failure.__cause__ = error
    return failure


def away(error: BaseException, address: Address) -> Unavailable:
    """What is said when reconnecting has been tried long enough."""
    advice = _ADVICE.get(getattr(error, "sqlstate", None) or "")
    if advice is not None:
        failure = Unavailable(f"PostgreSQL at {address.place} {_filled(advice, address)} ({_said(error)}).")
    else:
        failure = Unavailable(f"PostgreSQL at {address.place} does not answer: {why(error)}.")
    failure.__cause__ = error
    return failure


def busy(error: BaseException, address: Address) -> Unavailable:
    """What is said when a statement got in the way of others again and again."""
    failure = Unavailable(
        f"PostgreSQL at {address.place} kept undoing this because of what others do: try again ({_said(error)})."
    )
    failure.__cause__ = error
    return failure


def in_doubt(error: BaseException, address: Address) -> Unavailable:
    """What is said when nobody could tell whether a commit took place."""
    failure = Unavailable(
        f"PostgreSQL at {address.place} was lost during a commit and does not answer, so it is unknown whether this was"
        f" done: look before doing it again ({why(error)}).",
        code="outcome_unknown",
    )
    failure.__cause__ = error
    return failure


def _advice(error: Exception, address: Address, state: str | None) -> str | None:
    known = _ADVICE.get(state or "")
    if known is not None:
        return _filled(known, address)
    if isinstance(error, ssl.SSLCertVerificationError):
        return "has a certificate that is not trusted: give its authority with sslrootcert=FILE, or use sslmode=require"
    if isinstance(error, ssl.SSLError):
        return "cannot be spoken to over TLS: check sslmode and the certificates in the URL"
    if isinstance(error, gaierror):
        return f"cannot be found, the host name {address.host} is unknown: correct it in the URL"
    if isinstance(error, ConnectionError) and "rejected SSL upgrade" in str(error):
        return "does not speak TLS: turn on ssl there, or write sslmode=disable in the URL"
    if isinstance(error, TimeoutError):
        return f"did not answer within {address.connect_timeout_s:g} s: check host and port in the URL, and firewalls"
    if isinstance(error, OSError):
        return "is not there: start it, or check host and port in the URL"
    if is_loss(error):
        return "broke the connection: check that it is a PostgreSQL server and look into its log"
    if isinstance(error, asyncpg.PostgresError):
        return "refused a statement; this is a defect in dibs, please report it"
    return None


def _filled(advice: str, address: Address) -> str:
    return advice.format(database=address.database, schema=address.schema)


def _said(error: Any) -> str:
    """The error's own words, on one line, without the end of a sentence."""
    words = " ".join(str(getattr(error, "message", None) or error).split()).rstrip(".")
    return words or type(error).__name__


def why(error: BaseException) -> str:
    """Why the server cannot be reached, in a few words."""
    if isinstance(error, asyncpg.InternalClientError):
        return "it ended the session"
    if isinstance(error, gaierror):
        return "its host name is unknown"
    if isinstance(error, TimeoutError):
        return "the attempt to connect took too long"
    return _said(error)
