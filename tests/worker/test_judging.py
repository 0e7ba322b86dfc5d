"""Completing outside a worker what must pass a command: run here, once, while the lease is kept."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from tests.worker.facts import LEASE_S, any_alive, eventually, lines, renewed

if TYPE_CHECKING:
    from pathlib import Path


def must(code: str, **more: Any) -> dict[str, Any]:
    return {"validation": "command", "argv": [sys.executable, "-c", code], **more}


def waits(folder: Path) -> dict[str, Any]:
    """A command that says it runs, and ends well when it may."""
    code = (
        f"import os, time; open({str(folder / 'pids')!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        f"while not os.path.exists({str(folder / 'go')!r}): time.sleep(0.01)"
    )
    return must(code)


async def test_the_checks_are_made_in_their_order(url: str, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    note = must(f"open({str(ran)!r}, 'a').write('x')")
    link = {"validation": "regex", "pattern": "https?://"}
    async with dibs.connect(url) as queue:
        for order, runs in (([link, note], 0), ([note, link], 1)):
            task = await queue.add("job", expects={"validation": order})
            [claim] = await queue.claim("ada")
            assert (await queue.complete(claim, "no link")).outcome == "rejected"
            assert "refused by regex" in ((await queue.get(task.id)).error or "")
            assert len(ran.read_text() if ran.exists() else "") == runs


async def test_a_lease_is_kept_while_the_command_runs(url: str, tmp_path: Path) -> None:
    async with dibs.connect(url) as queue:
        await queue.add("job", expects=waits(tmp_path))
        [claim] = await queue.claim("ada", lease=LEASE_S)
        completing = asyncio.create_task(queue.complete((claim.task.id, claim.fence), 1))
        await eventually(lambda: lines(tmp_path / "pids"))
        await renewed(queue, claim.task.id)
        assert await queue.claim("bob") == []
        (tmp_path / "go").touch()
        assert (await completing).status == "completed"


def test_a_blocking_queue_keeps_the_lease_too(file_url: str, tmp_path: Path) -> None:
    with dibs.connect_sync(file_url) as queue:
        queue.add("job", expects=waits(tmp_path))
        [claim] = queue.claim("ada", lease=LEASE_S)

        async def watch() -> None:
            async with dibs.connect(file_url) as watching:
                await renewed(watching, claim.task.id)
            (tmp_path / "go").touch()

        watcher = threading.Thread(target=asyncio.run, args=(watch(),))
        watcher.start()
        assert queue.complete(claim, 1).status == "completed"
        watcher.join()
        assert len(lines(tmp_path / "pids")) == 1


async def test_said_again_nothing_is_run_again(url: str, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    # It passes the second time only.
    code = "import os, sys; found = os.path.exists({0!r}); open({0!r}, 'a').write('x'); sys.exit(not found)"
    async with dibs.connect(url) as queue:
        await queue.add("job", expects=must(code.format(str(ran))), retry="immediate")
        [first] = await queue.claim("ada")
        rejected = await queue.complete(first, 1)
        assert await queue.complete(first, 1) == rejected
        assert await queue.complete((first.task.id, first.fence), 1) == rejected
        with pytest.raises(dibs.IllegalTransition):
            await queue.complete(first, 2)
        [second] = await queue.claim("ada")
        assert second.previous_attempts[0].error is not None
        assert "ended with exit code 1" in second.previous_attempts[0].error
        assert await queue.complete(first, 1) == rejected
        completed = await queue.complete(second, 1)
        assert (rejected.outcome, completed.outcome) == ("rejected", "completed")
        assert await queue.complete(second, 1) == completed
        with pytest.raises(dibs.IllegalTransition):
            await queue.complete(second, 2)
    assert ran.read_text() == "xx"


async def test_for_a_claim_that_is_lost_nothing_is_run(url: str, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    async with dibs.connect(url) as queue:
        await queue.add("job", expects=must(f"open({str(ran)!r}, 'a')"))
        [old] = await queue.claim("ada")
        await queue.release(old)
        [new] = await queue.claim("bob")
        for claim in (old, (new.task.id, 7)):
            with pytest.raises(dibs.DibsError):
                await queue.complete(claim, 1)
        assert not ran.exists()
        assert (await queue.get(new.task.id)).status == "running"


async def test_a_cancel_ends_the_command(url: str, tmp_path: Path) -> None:
    async with dibs.connect(url) as queue:
        await queue.add("job", expects=waits(tmp_path))
        [claim] = await queue.claim("ada", lease=LEASE_S)
        completing = asyncio.create_task(queue.complete(claim, 1))
        await eventually(lambda: lines(tmp_path / "pids"))
        await queue.cancel(claim.task.id)
        with pytest.raises(dibs.Conflict):
            await completing
        await eventually(lambda: not any_alive(tmp_path / "pids"))
        assert (await queue.get(claim.task.id)).status == "cancelled"


async def test_whoever_stops_waiting_ends_the_command_and_keeps_the_claim(url: str, tmp_path: Path) -> None:
    async with dibs.connect(url) as queue:
        await queue.add("job", expects=waits(tmp_path))
        [claim] = await queue.claim("ada")
        completing = asyncio.create_task(queue.complete(claim, 1))
        await eventually(lambda: lines(tmp_path / "pids"))
        completing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await completing
        await eventually(lambda: not any_alive(tmp_path / "pids"))
        (tmp_path / "go").touch()
        assert (await queue.complete(claim, 1)).status == "completed"


async def test_where_it_cannot_be_run_the_claim_is_kept(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with dibs.connect(url) as queue:
        await queue.add("job", expects={"validation": "command", "argv": ["no-such-program"]})
        await queue.add("job", expects=must(""))
        one, two = await queue.claim("ada", limit=2)
        with pytest.raises(dibs.Unavailable, match="no program 'no-such-program'"):
            await queue.complete(one, 1)
        monkeypatch.setenv("DIBS_CHECK_COMMANDS", "off")
        with pytest.raises(dibs.Unavailable, match="DIBS_CHECK_COMMANDS"):
            await queue.complete(two, 1)
        monkeypatch.delenv("DIBS_CHECK_COMMANDS")
        assert (await queue.complete(two, 1)).status == "completed"
        assert (await queue.get(one.task.id)).attempts == 0
