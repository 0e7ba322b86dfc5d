"""Where it is measured: beside the store that was named, never in it.

A server has one store; there it is a project of its own, in which nobody else's tasks, hooks, budgets or pauses are.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from dibs.cli.bench.measures import AGENT, AT_ONCE, PROMPT, TYPE
from dibs.errors import Denied
from dibs.stores.scratch import PREFIX, scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.sync import SyncQueue

MOST_S = "1h"
"""So long the token of a project is good for, whatever becomes of whoever made it."""


class Place(NamedTuple):
    """How to get there."""

    url: str
    token: str | None = None


def told(url: str) -> str | None:
    """What will be done to somebody's server; None where nobody can notice."""
    scheme = url.partition(":")[0]
    if scheme in ("postgresql", "postgres"):
        return f"in a schema of its own ({PREFIX}…) of this database, which is dropped afterwards"
    if scheme in ("redis", "rediss"):
        return f"in a namespace of its own ({PREFIX}…) of this server, whose keys are deleted afterwards"
    if scheme in ("http", "https"):
        return (
            f"in a project of its own ({PREFIX}…) on this server, with a token that ends afterwards; its tasks are "
            "seen by nobody else, and deleted when retention ends"
        )
    return None


@contextmanager
def place(url: str) -> Iterator[Place]:
    """A place for the URL that was named; what can be removed afterwards is, however impatient somebody is."""
    is_far = url.partition(":")[0] in ("http", "https")
    with ExitStack() as made:
        found = made.enter_context(_project(url)) if is_far else Place(made.enter_context(scratch(url)))
        try:
            yield found
        finally:
            with _undisturbed():
                made.close()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Another Ctrl-C changes nothing meanwhile."""
    import signal

    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _project(url: str) -> Iterator[Place]:
    from dibs.sync import connect_sync

    name = PREFIX + os.urandom(5).hex()
    with connect_sync(url) as queue:
        try:
            issued = queue.create_token(name, role="admin", project=name, expires=MOST_S)
        except Denied as error:
            raise Denied(
                f"This is measured in a project of its own, and only admins of the project default can make one: "
                f"{error.message}"
            ) from None
        try:
            yield Place(url, issued.secret)
        finally:
            try:
                with connect_sync(url, token=issued.secret) as own:
                    _end_rest(own)
            finally:
                queue.revoke_token(issued.id)


def _end_rest(queue: SyncQueue) -> None:
    """What has ended is pruned in its time; what nobody would ever do would stay for ever."""
    from dibs import settling

    # By the thousand this takes seconds; cancelled one by one it would take longer than what was measured.
    while claims := queue.claim(AGENT, types=[TYPE, PROMPT], limit=AT_ONCE):
        queue.settle([settling.completed(claim) for claim in claims])
    cursor = None
    while True:
        part = queue.cancel_found("status:ready,claimed,running", reason="dibs bench is over", cursor=cursor)
        cursor = part.cursor
        if cursor is None:
            return
