"""What can go wrong between here and the server: what is waited out, what is looked for elsewhere, and what people are
told.

A server says a word first, such as OOM; the driver turns some of these words into classes, and before Redis 7 a script
hides them in a longer sentence. `word_of` finds them everywhere. Every message is one sentence that says what to do.
"""

from __future__ import annotations

import re
import ssl
from socket import gaierror
from typing import TYPE_CHECKING

from redis import exceptions

from dibs.errors import DibsError, Unavailable

if TYPE_CHECKING:
    from dibs.stores.redis.address import Address

_CLASSES: tuple[tuple[type[Exception], str], ...] = (
    # The more particular ones first.
    (exceptions.BusyLoadingError, "LOADING"),
    (exceptions.MasterDownError, "MASTERDOWN"),
    (exceptions.ClusterDownError, "CLUSTERDOWN"),
    (exceptions.MovedError, "MOVED"),
    (exceptions.AskError, "ASK"),
    (exceptions.TryAgainError, "TRYAGAIN"),
    (exceptions.ClusterCrossSlotError, "CROSSSLOT"),
    (exceptions.NoPermissionError, "NOPERM"),
    (exceptions.NoScriptError, "NOSCRIPT"),
    (exceptions.OutOfMemoryError, "OOM"),
    (exceptions.ReadOnlyError, "READONLY"),
)
_PHRASES = (
    # What has no word of its own, or lost it on the way.
    ("Authentication required", "NOAUTH"),
    ("the client already authenticated", "NOAUTH"),
    ("called without any password configured", "NOPASS"),
    ("The user executing the script can't", "NOPERM"),
    ("ACL failure in script", "NOPERM"),
    ("max number of clients", "FULL"),
    ("DB index is out of range", "NODATABASE"),
    ("SELECT is not allowed in cluster mode", "ONEDATABASE"),
    ("unknown command", "UNKNOWN"),
    ("protected mode", "DENIED"),
)
_WORD = re.compile(
    r"(?:^|: ?-?)(ASK|BUSY|CLUSTERDOWN|CROSSSLOT|DENIED|LOADING|MASTERDOWN|MISCONF|MOVED|NOAUTH|NOPERM|NOREPLICAS"
    r"|NOSCRIPT|OOM|READONLY|TRYAGAIN|UNBLOCKED|WRONGPASS|WRONGTYPE) "
)

_COMING_OR_GOING = {"BUSY", "CLUSTERDOWN", "FULL", "LOADING", "MASTERDOWN", "TRYAGAIN"}
"""The server is there and did nothing; a moment later it may."""

_ELSEWHERE = {"ASK", "MOVED", "READONLY"}
"""Another server has the keys, or has become the primary; nothing was done here."""

_ADVICE = {
    "ASK": "is handing the keys to another node of its cluster: try again in a moment",
    "BUSY": "is busy with a script of somebody's: wait for it, or end it with `redis-cli script kill`",
    "CLUSTERDOWN": "is part of a cluster that does not serve all its slots: bring its nodes back, or repair it with"
    " `redis-cli --cluster fix`",
    "CROSSSLOT": "refused keys of several nodes at once; this is a defect in dibs, please report it",
    "DENIED": "takes connections only from its own machine: give it a password, or connect from there",
    "FULL": "takes no more connections: raise its maxclients, or let fewer processes connect",
    "LOADING": "is still reading its files: try again when it is ready",
    "MASTERDOWN": "is a replica that has lost its primary: connect to the primary, or bring it back",
    "MISCONF": "takes no writes, because it could not write to its disk: look into its log, free some space there and"
    " try again",
    "MOVED": "is the wrong node of its cluster: try again in a moment",
    "NOAUTH": "asks for a password: write it into the URL, as in redis://user:password@host",
    "NODATABASE": "has no database {database}: use a smaller number, or raise its setting databases",
    "NOPASS": "has no password, and the URL gives one: leave it out",
    "NOPERM": "denies {user} a right that dibs needs: let whoever runs it grant the rights with"
    " `ACL SETUSER {user} ~{tag}* resetchannels &{tag}* +@all -@dangerous +info +config|get +cluster|slots`",
    "NOREPLICAS": "takes no writes while fewer replicas are connected than its min-replicas-to-write: bring them back,"
    " or lower it",
    "NOSCRIPT": "has lost the scripts of dibs: try again",
    "ONEDATABASE": "is part of a cluster, which has only database 0: write /0, and keep apart by ?namespace=name",
    "OOM": "has no memory left and wrote nothing: raise its maxmemory, then delete what ended with `dibs prune`",
    "READONLY": "is a replica, which cannot be written to: connect to the primary, or name all servers in the URL",
    "TRYAGAIN": "is handing the keys to another node of its cluster: try again in a moment",
    "UNBLOCKED": "became a replica while it was asked: try again",
    "UNKNOWN": "does not know a command that dibs needs, or was told to hide it: use Redis 6.2 or newer, or Valkey,"
    " and rename no commands there",
    "WRONGPASS": "refuses the user or the password: correct them in the URL",
    "WRONGTYPE": "has keys in the namespace {namespace} that are not from dibs: name another one in the URL, such as"
    " ?namespace=dibs_tasks",
}


def word_of(error: BaseException) -> str | None:
    """The word by which the server says what is wrong; for what has none, one of our own. None: not the server's."""
    error = _beneath(error)
    for kind, word in _CLASSES:
        if isinstance(error, kind):
            return word
    if not isinstance(error, exceptions.RedisError):
        return None
    text = str(error)
    if found := _WORD.search(text):
        return found[1]
    for phrase, word in _PHRASES:
        if phrase in text:
            return word
    return "WRONGPASS" if isinstance(error, exceptions.AuthenticationError) else None


def is_loss(error: BaseException) -> bool:
    """Whether the way to the server is lost, for now; whether what was sent has been done, nobody knows."""
    error = _beneath(error)
    if isinstance(_origin(error), ssl.SSLError) or word_of(error) is not None:
        return False
    return isinstance(error, exceptions.ConnectionError | exceptions.TimeoutError | OSError)


def is_passing(error: BaseException) -> bool:
    """Whether a server is there that did nothing now, and may a moment later."""
    return word_of(error) in _COMING_OR_GOING


def is_elsewhere(error: BaseException) -> bool:
    """Whether nothing was done because another server is to be asked."""
    return word_of(error) in _ELSEWHERE


def moved_to(error: BaseException) -> tuple[str, int] | None:
    """The node of its cluster that a server says has the keys; without a name, one where it is itself."""
    if word_of(error) != "MOVED":
        return None
    host, _, port = str(error).split()[-1].rpartition(":")
    return host.strip("[]"), int(port)


def told(error: Exception, address: Address) -> Exception:
    """What whoever waits is told: troubles as Unavailable. What is not the server's stays as it is."""
    if isinstance(error, DibsError):
        return error
    advice = _advice(error, address)
    if advice is None:
        return error
    failure = Unavailable(f"Redis at {address.place} {advice} ({_said(error)}).")
    failure.__cause__ = error
    return failure


def away(error: BaseException, address: Address) -> Unavailable:
    """What is said when reconnecting has been tried long enough."""
    if isinstance(error, Unavailable):
        return error
    advice = _ADVICE.get(word_of(error) or "")
    if advice is not None:
        failure = Unavailable(f"Redis at {address.place} {_filled(advice, address)} ({_said(error)}).")
    else:
        failure = Unavailable(f"Redis at {address.place} does not answer: {_why(error)}.")
    failure.__cause__ = error
    return failure


def in_doubt(error: BaseException, address: Address) -> Unavailable:
    """What is said when nobody could tell whether a commit took place."""
    failure = Unavailable(
        f"Redis at {address.place} was lost during a commit and does not answer, so it is unknown whether this was"
        f" done: look before doing it again ({_why(error)}).",
        code="outcome_unknown",
    )
    failure.__cause__ = error
    return failure


def unconfirmed(address: Address) -> Unavailable:
    """What is said when a write was done, but not where the URL's wait= and aof= want it to be before it counts."""
    where = [f"{address.replicas} replicas" if address.replicas > 1 else "a replica"] if address.replicas else []
    where += ["its disk"] if address.on_disk else []
    return Unavailable(
        f"Redis at {address.place} did this, but could not say within {address.wait_ms} ms that {' and '.join(where)}"
        " had it, so a crash could undo it: look before doing it again, and check its replicas and its disk.",
        code="outcome_unknown",
    )


def _advice(error: Exception, address: Address) -> str | None:
    word = word_of(error)
    if word is not None:
        return _filled(_ADVICE[word], address)
    origin = _origin(error)
    if isinstance(origin, ssl.SSLCertVerificationError):
        return "has a certificate that is not trusted: give its authority with ssl_ca_certs=FILE in the URL"
    if isinstance(origin, ssl.SSLError):
        return "cannot be spoken to over TLS: check that it speaks TLS at this port, and the certificates in the URL"
    if isinstance(origin, gaierror):
        return "cannot be found, the host name is unknown: correct it in the URL"
    if isinstance(error, exceptions.TimeoutError | TimeoutError):
        return (
            f"did not answer within {address.connect_timeout_s:g} s: check host and port in the URL, firewalls, and"
            " whether it speaks TLS (rediss://)"
        )
    if isinstance(origin, ConnectionRefusedError):
        return "is not there: start it, or check host and port in the URL"
    if isinstance(error, exceptions.InvalidResponse):
        return "does not speak as Redis does: check host and port in the URL"
    if isinstance(error, exceptions.ConnectionError) and "not ready" in str(error):
        # It has spoken before it was asked, and the driver did not read what.
        return "ended the connection at once, as it does when it takes no more: check its maxclients and its log"
    if isinstance(error, exceptions.ConnectionError | OSError):
        return "broke the connection: check that it is a Redis server and look into its log"
    if isinstance(error, exceptions.ResponseError):
        return "refused a command; this is a defect in dibs, please report it"
    return None


def _filled(advice: str, address: Address) -> str:
    return advice.format(
        database=address.database, namespace=address.namespace, tag=address.tag, user=address.user or "default"
    )


def _beneath(error: BaseException) -> BaseException:
    """The trouble that was told in our words, where this is how it was told."""
    return error.__cause__ if isinstance(error, Unavailable) and error.__cause__ is not None else error


def _origin(error: BaseException) -> BaseException:
    """What the driver's error is about: the system's own, where there was one."""
    found: BaseException | None = error
    for _ in range(10):  # one that was raised from itself has no end
        if found is None or isinstance(found, OSError):
            break
        found = found.__cause__ or found.__context__
    return found if isinstance(found, OSError) else error


def _said(error: BaseException) -> str:
    """The error's own words, on one line, without the end of a sentence."""
    words = " ".join(str(error).split()).rstrip(".")
    return words or type(error).__name__


def _why(error: BaseException) -> str:
    """Why the server cannot be reached, in a few words."""
    if isinstance(_origin(error), gaierror):
        return "its host name is unknown"
    if isinstance(error, exceptions.TimeoutError | TimeoutError):
        return "it took too long"
    return _said(error)
