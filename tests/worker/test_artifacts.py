"""What handlers leave behind, wherever they run, and how others get at it."""

from __future__ import annotations

import sys
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from tests.worker.artifact_apps import CONTENT
from tests.worker.artifact_apps import app as plain_app
from tests.worker.facts import ended

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

DIGEST = f"sha256:{sha256(CONTENT).hexdigest()}"


async def test_a_coroutine_leaves_bytes_behind_and_reads_them_back(url: str) -> None:
    app = dibs.App()

    async def pieces() -> AsyncIterator[bytes]:
        yield CONTENT[:10]
        yield CONTENT[10:]

    @app.handler("write")
    async def write(ctx: dibs.Context) -> Any:
        artifact = await ctx.artifact("report", pieces(), media_type="text/plain")
        opened = await ctx.open_artifact("artifact:report")
        assert await opened.read() == CONTENT
        return artifact.digest

    task = await ended(url, app, "write")
    assert (task.status, task.output) == ("completed", DIGEST)
    assert [(each.name, each.digest, each.size, each.media_type) for each in task.artifacts] == [
        ("report", DIGEST, len(CONTENT), "text/plain")
    ]


@pytest.mark.parametrize("executor", ["thread", "process"])
async def test_a_plain_function_leaves_bytes_behind_and_others_read_them(
    url: str, executor: str, tmp_path: Path
) -> None:
    async with dibs.connect(url) as queue:
        async with queue.dag("Report") as plan:
            writing = plan.add(f"write in a {executor}", {"folder": str(tmp_path)})
            reading = plan.add(f"read in a {executor}", after=[writing], context={"refs": ["artifact:path"]})
        async with dibs.Worker(plain_app, queue) as worker:
            await worker.drain()
        written, read = await queue.get(writing.id), await queue.get(reading.id)
    assert (written.status, written.output) == ("completed", [DIGEST] * 4), written.error
    assert [each.name for each in written.artifacts] == ["bytes", "path", "file", "pieces"]
    assert written.artifacts[0].media_type == "text/plain"
    assert (read.status, read.output) == ("completed", len(CONTENT)), read.error


@pytest.mark.parametrize("executor", ["thread", "process"])
async def test_what_cannot_be_an_artifact_is_refused_in_the_handler(executor: str) -> None:
    task = await ended("memory:", plain_app, f"misuse in a {executor}")
    assert (task.status, task.output) == ("completed", ["name", "data", "data", "ref"]), task.error
    assert task.artifacts == ()


async def test_a_handler_whose_task_was_cancelled_leaves_nothing_behind(url: str) -> None:
    app = dibs.App()
    refused = []

    async with dibs.connect(url) as queue:

        @app.handler("write", retry="immediate")
        async def write(ctx: dibs.Context) -> None:
            async def pieces() -> AsyncIterator[bytes]:
                yield CONTENT
                await queue.cancel(ctx.task.id)

            try:
                await ctx.artifact("report", pieces())
            except dibs.LeaseLost:
                refused.append(ctx.cancelled)
                raise

        task = await queue.add("write")
        async with dibs.Worker(app, queue) as worker:
            await worker.drain()
        task = await queue.get(task.id)
    assert (task.status, task.artifacts, refused) == ("cancelled", (), [True])


async def test_a_command_puts_artifacts_where_its_worker_keeps_them(file_url: str, tmp_path: Path) -> None:
    app = dibs.App()
    script = (
        "import os, subprocess, sys; subprocess.run([sys.executable, '-m', 'dibs', 'artifact', 'put',"
        " os.environ['DIBS_TASK_ID'], '--fence', os.environ['DIBS_FENCE'], 'report', '-'], input=b'hello', check=True)"
    )
    app.command("write", [sys.executable, "-c", script])
    async with dibs.connect(file_url, artifacts=f"file:{tmp_path}/elsewhere") as queue:
        task = await queue.add("write")
        async with dibs.Worker(app, queue) as worker:
            await worker.drain()
        task = await queue.get(task.id)
        assert task.status == "completed", task.error
        assert await (await queue.open_artifact(task.artifacts[0])).read() == b"hello"
    assert (tmp_path / "elsewhere").is_dir()
    assert not (tmp_path / "artifacts").exists()
