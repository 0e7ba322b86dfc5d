"""Operations that every task needs, and the start of a command in the shell."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.operations.operation import TYPE, Amount, Operation, add, claim, claims_one_by_one, complete

if TYPE_CHECKING:
    from collections.abc import Sequence

    import dibs

SHELL = "shell: dibs add"


def _times(queue: dibs.SyncQueue, amount: Amount) -> int:
    return amount.times


def _add(queue: dibs.SyncQueue, times: int) -> int:
    for number in range(times):
        queue.add(TYPE, {"number": number})
    return times


def _clear(queue: dibs.SyncQueue, times: int) -> None:
    """All of them are there, and are not the next sample's."""
    complete(queue, claim(queue, times))


def _waiting(queue: dibs.SyncQueue, amount: Amount) -> int:
    add(queue, amount.times)
    return amount.times


def _held(queue: dibs.SyncQueue, amount: Amount) -> list[dibs.Claim]:
    add(queue, amount.times)
    return claim(queue, amount.times)


def _renew(queue: dibs.SyncQueue, claims: Sequence[dibs.Claim]) -> Sequence[dibs.Claim]:
    for one in claims:
        queue.renew(one)
    return claims


def _complete(queue: dibs.SyncQueue, claims: Sequence[dibs.Claim]) -> int:
    for one in claims:
        queue.complete(one)
    return 0


def _commands(queue: dibs.SyncQueue, amount: Amount) -> list[list[str]]:
    command = [sys.executable, "-m", "dibs", "add", TYPE, "a title", "--url", queue.url]
    return [command for _ in range(amount.times)]


def _run(queue: dibs.SyncQueue, commands: Sequence[Sequence[str]]) -> int:
    for command in commands:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    return len(commands)


OPERATIONS = (
    Operation("add", 1_000, _times, _add, _clear),
    Operation("claim", 1_000, _waiting, claims_one_by_one, complete),
    Operation("settle", 1_000, _held, _complete, _clear),
    Operation("renew", 1_000, _held, _renew, complete),
    Operation(SHELL, 3, _commands, _run, _clear, by_shell=True),
)
