"""References that cannot be read at the moment: nobody works with half of what was meant."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import dibs


async def away(*_: Any) -> Any:
    raise dibs.Unavailable("the store is away")


@pytest.mark.parametrize("verb", ["get", "artifacts"])
def test_a_task_whose_references_cannot_be_read_is_given_back(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with dibs.connect("memory:") as queue:
            task = await queue.add("job", context={"refs": ["task:task_nobody:output", "artifact:report"]})
            with monkeypatch.context() as patched:
                patched.setattr(queue.store, verb, away)
                with pytest.raises(dibs.Unavailable):
                    await queue.claim("ada")
            found = await queue.get(task.id)
            assert (found.status, found.attempts, found.releases) == ("ready", 0, 0)
            [claim] = await queue.claim("ada")
            assert (claim.fence, list(claim.context["refs"])) == (2, task.context["refs"])

    asyncio.run(run())


def test_if_that_cannot_be_said_either_the_lease_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with dibs.connect_sync("memory:") as queue:
        task = queue.add("job", context={"refs": ["task:task_nobody:output"]})
        with monkeypatch.context() as patched:
            for verb in ("get", "settle"):
                patched.setattr(queue.queue.store, verb, away)
            with pytest.raises(dibs.Unavailable, match="away"):
                queue.claim("ada")
        assert queue.get(task.id).status == "running"


def test_tasks_without_references_are_claimed_without_looking_anything_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with dibs.connect_sync("memory:") as queue:
        queue.add("job", context={"goal": "know"})
        queue.add("job")
        for verb in ("get", "artifacts"):
            monkeypatch.setattr(queue.queue.store, verb, away)
        assert len(queue.claim("ada", limit=2)) == 2
