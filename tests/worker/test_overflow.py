"""Large values in handlers, with a place for them and without."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

import dibs

if TYPE_CHECKING:
    from pathlib import Path

LARGE = "x" * 100_000


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_large_values_flow_through_handlers(url: str, tmp_path: Path, elsewhere: bool) -> None:
    app = dibs.App()

    @app.handler("make")
    async def make(text: str) -> Any:
        return {"made": text}

    @app.handler("measure")
    def measure(ctx: dibs.Context) -> Any:
        return {name: len(value["made"]) for name, value in ctx.inputs.items()}

    place = f"file:{tmp_path / 'kept'}" if elsewhere else None
    async with dibs.connect(url, artifacts=place) as queue:
        async with queue.dag("d") as plan:
            made = plan.add("make", {"text": LARGE}, ref="first")
            measured = plan.add("measure", after=[made])
        async with dibs.Worker(app, queue) as worker:
            await worker.drain()
        assert (await queue.get(measured.id)).output == {"first": 100_000}
        assert (await queue.get(made.id)).output == {"made": LARGE}
        assert len(list((tmp_path / "kept").rglob("*/??/*"))) == (2 if elsewhere else 0)


async def test_a_command_gets_and_hands_in_large_values(file_url: str, tmp_path: Path) -> None:
    app = dibs.App()
    echo = "import json, sys; print(json.dumps(json.load(sys.stdin)['task']['payload'][::-1]))"
    app.command("echo", [sys.executable, "-c", echo])
    async with dibs.connect(file_url, artifacts=f"file:{tmp_path / 'kept'}") as queue:
        task = await queue.add("echo", LARGE + "y")
        async with dibs.Worker(app, queue) as worker:
            await worker.drain()
        known = await queue.get(task.id)
    assert (known.status, known.error) == ("completed", None)
    assert "y" + LARGE in str(known.output)
    assert len(list((tmp_path / "kept").rglob("*/??/*"))) == 2
