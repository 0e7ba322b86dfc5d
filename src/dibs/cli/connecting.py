"""Opening the queue that a command was told to use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.sync import SyncQueue


def opened(args: Namespace) -> SyncQueue:
    """The queue at `--url`, else where `dibs.connect` looks; use it in a `with` statement."""
    from dibs.sync import connect_sync

    return connect_sync(args.url)
