"""A dag written down task by task."""

from __future__ import annotations

import asyncio

import pytest

import dibs


def test_leaving_the_block_submits_everything_in_one_commit() -> None:
    async def story() -> None:
        async with dibs.connect("memory:") as queue:
            async with queue.dag("Landing page", on_failure="continue") as dag:
                facts = dag.add("research", {"topic": "competitors"}, ref="facts")
                design = dag.add("design", {"page": "hero"})
                build = dag.add("code", {"goal": "implement"}, after=[facts, design])
                assert (await queue.stats()).by_status == {}
            found = await queue.get_dag(dag.id)
            assert found.title == "Landing page"
            assert found.roots == [facts.id, design.id]
            assert found.leaves == [build.id]
            assert (await queue.get(build.id)).depends_on == (facts.id, design.id)

    asyncio.run(story())


def test_an_error_inside_the_block_submits_nothing() -> None:
    async def story() -> None:
        async with dibs.connect("memory:") as queue:
            dag = queue.dag("Half a plan")

            async def plan() -> None:
                async with dag:
                    dag.add("research")
                    raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await plan()
            assert (await queue.stats()).by_status == {}
            with pytest.raises(dibs.Invalid):
                _ = dag.id

    asyncio.run(story())
