"""What a contest asks of a server, whichever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from benchmarks.peers.peer import Peer


class Server(Protocol):
    """A server on which everybody is measured in turn."""

    @property
    def version(self) -> tuple[int, int]:
        """What some contestants need to be new enough."""

    @property
    def can_restart(self) -> bool:
        """Is it ours to restart?"""

    def restart(self) -> None:
        """Stop and start it. Returns as soon as it answers again."""

    def fresh(self, suffix: str = "") -> str:
        """The URL of a new empty database: no run inherits what another left."""

    def drop(self, suffix: str = "") -> None:
        """Remove that database."""

    def tidy(self, url: str) -> None:
        """Let what is timed start from the same state, whatever was written before."""

    def watching(self, url: str, peer: Peer) -> AbstractContextManager[Callable[[], bool]]:
        """A question to the store itself, on a connection of its own: has `peer` anything left that waits or runs?"""

    def release(self, url: str, peer: Peer) -> None:
        """Give back what killed workers of `peer` still hold, where it is told how."""

    def describe(self) -> dict[str, str]:
        """Version and settings, for the report."""
