"""Opening the queue that a command was told to use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.sync import SyncQueue


def opened(args: Namespace) -> SyncQueue:
    """The queue at `--url`, else where `dibs.connect` looks; use it in a `with` statement.

    What is added belongs to the trace that `$TRACEPARENT` names.
    """
    import os
    import sys

    from dibs.stores import chosen
    from dibs.sync import connect_sync

    if chosen(args.url).startswith("memory:") and sys.stderr.isatty():
        print("memory: is forgotten when this command ends; sqlite:FILE is kept", file=sys.stderr)
    if "TRACEPARENT" in os.environ:
        from dibs import tracing

        tracing.enter(os.environ["TRACEPARENT"], os.environ.get("TRACESTATE"))
    return connect_sync(args.url)


def looked_into(args: Namespace) -> SyncQueue:
    """As `opened`, for commands that only look: where there is no file yet they make none, and see nothing."""
    import sys

    from dibs.stores import missing_file
    from dibs.sync import connect_sync

    path = missing_file(args.url)
    if path is None:
        return connect_sync(args.url)
    if sys.stderr.isatty():
        print(f"there is no store at {path} yet; `dibs add` makes it", file=sys.stderr)
    return connect_sync("memory:")
