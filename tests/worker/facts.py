"""Waiting for facts instead of for time."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any

import dibs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime
    from pathlib import Path

PATIENCE_S = 60.0
LOOK_S = 0.01
LEASE_S = 10.0
"""A lease that is to be kept: see `renewed`."""


async def eventually(fact: Callable[[], Any]) -> Any:
    """The fact's value as soon as it is true. `fact` may be a coroutine function."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        value = fact()
        if asyncio.iscoroutine(value):
            value = await value
        if value:
            return value
        assert time.monotonic() < deadline, "it did not become true in time"
        await asyncio.sleep(LOOK_S)


def lines(path: Path) -> list[str]:
    """What was noted in a file so far."""
    return path.read_text().splitlines() if path.exists() else []


def note(path: str, line: str) -> None:
    """Append a line, whole, from whatever process."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may end between opening and reading
        return False


def any_alive(pids: Path) -> bool:
    """Whether any of the processes noted in a file still runs."""
    return any(alive(int(pid)) for line in lines(pids) for pid in line.split())


async def file_exists(path: str) -> None:
    """Wait for a file."""
    while not os.path.exists(path):  # noqa: ASYNC110 -- another process makes it
        await asyncio.sleep(LOOK_S)


async def first(awaitable: Awaitable[Any]) -> Any:
    """A value that must come soon."""
    return await asyncio.wait_for(awaitable, PATIENCE_S)


async def renewed(queue: dibs.Queue, *task_ids: str) -> None:
    """Wait until their leases last longer than they did. A lease of a few seconds is renewed after a third of it, and
    lasts however the machine stumbles meanwhile."""
    before = [await _lease(queue, task_id) for task_id in task_ids]

    async def last_longer() -> bool:
        return all([await _lease(queue, id) > until for id, until in zip(task_ids, before, strict=True)])

    await eventually(last_longer)


def until_renewed(queue: dibs.SyncQueue, task_id: str) -> None:
    """The same for who has no event loop, or blocks it."""
    deadline = time.monotonic() + PATIENCE_S
    until = queue.get(task_id).lease_expires_at
    while queue.get(task_id).lease_expires_at == until:
        assert time.monotonic() < deadline, "nobody renewed it"
        time.sleep(LOOK_S)


async def _lease(queue: dibs.Queue, task_id: str) -> datetime:
    until = (await queue.get(task_id)).lease_expires_at
    assert until is not None, "the lease was lost"
    return until


async def has_status(queue: dibs.Queue, task_id: str, status: str) -> bool:
    """Whether the task is there now."""
    return (await queue.get(task_id)).status == status


async def ended(url: str, app: dibs.App, type: str, payload: Any = None, **options: Any) -> dibs.Task:
    """A new task, after one worker has drained the queue."""
    async with dibs.connect(url) as queue:
        task = await queue.add(type, payload, **options)
        async with dibs.Worker(app, queue, agent="tester") as worker:
            await first(worker.drain())
        return await queue.get(task.id)
