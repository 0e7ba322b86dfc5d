"""Opening a database file: creating it, refusing what is not ours, bringing an older schema up to date.

Any number of processes may do this at once; they take turns, and the first one does the work.
Every refusal is one sentence that says what to do.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import apsw

from dibs.errors import Unavailable

if TYPE_CHECKING:
    from dibs.stores.sqlite.turns import Turns

APPLICATION_ID = 0x64696273  # "dibs"
_MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")
_BUSY_MS = 30_000
_WHOSE = """
SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
FROM pragma_application_id, pragma_user_version
"""
CHECKPOINT_PAGES = 4_000
"""How long the log may get before it is moved to its place."""


def prepare_folder(path: str) -> None:
    """Create the folder of a database file, and refuse what cannot be one."""
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise Unavailable(
            f"The folder {folder} cannot be created ({error.strerror}): choose another path for the database."
        ) from error
    if os.path.isdir(path):
        raise Unavailable(f"{path} is a folder: name a file inside it, such as sqlite:{path}/dibs.db.")
    if os.path.exists(path):
        if not os.access(path, os.R_OK):
            raise Unavailable(f"{path} cannot be read: give this user permission to read and write it.")
        if not os.access(path, os.W_OK):
            raise Unavailable(f"{path} is read-only: make it writable or choose another database.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Unavailable(
            f"The folder {folder} is not writable, and SQLite keeps its log beside the database: "
            "make it writable or choose another path."
        )


def connect(path: str) -> apsw.Connection:
    """A connection with the settings that every connection of this store has."""
    connection = apsw.Connection(path)
    connection.set_busy_timeout(_BUSY_MS)
    # Else SQLite plans a statement anew whenever a LIMIT is bound to it: 119 µs instead of 11 for the claim.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return connection


def begin_at_once(connection: apsw.Connection) -> bool:
    """Begin a transaction if that needs no waiting; whether it is begun."""
    connection.set_busy_timeout(0)
    try:
        connection.execute("BEGIN IMMEDIATE")
    except apsw.Error:
        return False
    finally:
        connection.set_busy_timeout(_BUSY_MS)
    return True


def tune(connection: apsw.Connection) -> None:
    """What makes commits durable and quick."""
    connection.execute(
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY;"
        "PRAGMA cache_size = -32000; PRAGMA journal_size_limit = 67108864"
    )


def migrate(connection: apsw.Connection, turns: Turns, path: str) -> None:
    """Make the file ours and its schema the newest, or refuse it and change nothing."""
    if _version(connection, path) == newest_version() and _journal(connection) == "wal":
        return
    turns.take()
    try:
        if _journal(connection) != "wal":
            _version(connection, path)
            _use_log(connection)
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = _version(connection, path)
            for number, name in _migrations():
                if number > version:
                    with open(os.path.join(_MIGRATIONS, name), encoding="utf-8") as file:
                        connection.execute(file.read())
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {newest_version()}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    finally:
        turns.give()


def unavailable(error: apsw.Error | OSError, path: str) -> Unavailable:
    """What went wrong below us, as one sentence with what to do."""
    if isinstance(error, apsw.NotADBError):
        advice = "is not a SQLite database: choose another path, or move that file away"
    elif isinstance(error, apsw.BusyError | apsw.LockedError):
        advice = (
            "stayed locked: another program holds a transaction open on it, or a dibs process was stopped in the middle"
            " of one; let it go on, or end it"
        )
    elif isinstance(error, apsw.FullError):
        advice = "cannot grow, the disk is full: free some space and try again"
    elif isinstance(error, apsw.CorruptError):
        advice = "is damaged: restore it from a backup, or recover what is left with `sqlite3 FILE .recover`"
    elif isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError):
        advice = "is read-only: make it and its folder writable"
    elif isinstance(error, apsw.CantOpenError):
        advice = "cannot be opened: check that its folder exists and this user may write there"
    elif isinstance(error, apsw.IOError | OSError):
        advice = "could not be read or written: check the disk it lies on"
    else:
        advice = "refused a statement; this is a defect in dibs, please report it"
    return Unavailable(f"The database {path} {advice} ({error}).")


def identity(path: str) -> tuple[int, int] | None:
    """Which file is at this path now; None if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def moved(path: str) -> Unavailable:
    """What is said instead of writing into a file that nobody else can find any more."""
    return Unavailable(f"The database {path} was deleted or replaced while it was in use: connect again.")


def _use_log(connection: apsw.Connection) -> None:
    """Switch to write-ahead logging. This statement does not wait for others by itself."""
    until = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _journal(connection: apsw.Connection) -> str:
    return str(connection.execute("PRAGMA journal_mode").get)


def _version(connection: apsw.Connection, path: str) -> int:
    """The schema's version; 0 for a file that is still empty. Refuses files that are not ours or too new."""
    # One statement, so that another process that is just creating the file is seen before or after, not in between.
    [(application, version, tables)] = connection.execute(_WHOSE)
    if application != APPLICATION_ID:
        if application or version or tables:
            raise Unavailable(
                f"{path} is a database of another program: choose another path, dibs will not touch that one."
            )
        return 0
    if version > newest_version():
        raise Unavailable(
            f"{path} was written by a newer dibs (schema {version}, this one knows {newest_version()}): upgrade dibs."
        )
    return int(version)


def _migrations() -> list[tuple[int, str]]:
    """The migrations there are, in order."""
    return sorted((int(name[:4]), name) for name in os.listdir(_MIGRATIONS) if name.endswith(".sql"))


def newest_version() -> int:
    return _migrations()[-1][0]
