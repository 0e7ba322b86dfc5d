"""The shell: the queue's verbs as commands, and nothing of their own.

A command costs about as much as starting Python, so each imports what it needs when it needs it: this module
and `catalogue` know the names, `commands/…` modules do the work.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and answer its exit code; errors are told on standard error, never raised."""
    from dibs.cli.running import run

    return run(list(sys.argv[1:] if argv is None else argv))
