"""Whatever two clients do at the same time, nothing is stranded: a task is ready exactly when nothing holds it back.

Each test steps two sessions of a real server through every order of their transactions.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from dibs import drafting, settling
from dibs.errors import Conflict, CycleDetected, DibsError, IllegalTransition, LeaseLost
from dibs.model.claim import Settled
from dibs.model.ids import new_id
from dibs.model.status import DagStatus, Status
from dibs.model.task import NewTask
from dibs.stores.values import ClaimRequest, Insertion
from tests.servers import clients
from tests.servers.stepping import Stage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dibs.model.claim import Claim
    from dibs.model.task import Task
    from dibs.queue import Queue


async def lanes(queue: Queue) -> None:
    """The lanes that are used are there."""
    await queue.add_many([NewTask("parent"), NewTask("child")])
    for claim in await queue.claim("ada", limit=2):
        await queue.complete(claim)


every_order = partial(clients.every_order, first=lanes, at_least=6)


async def held(queue: Queue, *tasks: Task) -> list[Claim]:
    """Claims of these tasks, which are the only ones that are ready."""
    claims = {claim.task.id: claim for claim in await queue.claim("ada", limit=100)}
    assert set(claims) == {task.id for task in tasks}
    return [claims[task.id] for task in tasks]


async def statuses(queue: Queue, *tasks: Task) -> list[str]:
    return [(await queue.get(task.id)).status.value for task in tasks]


def completing(claim: Claim) -> Callable[[Queue], Awaitable[Any]]:
    async def verb(queue: Queue) -> Any:
        [answer] = await queue.store.settle([settling.completed(claim, 1)])
        return answer

    return verb


async def finish(queue: Queue, *tasks: Task) -> None:
    """Complete what is ready, so that nothing of this run is in the way of the next."""
    for claim in await held(queue, *tasks):
        await queue.complete(claim)


def test_a_stranger_who_is_in_the_way_for_a_moment_changes_no_order(postgres_url: str) -> None:
    async def run() -> None:
        async with Stage(postgres_url) as stage:
            stranger = await stage.store._engine.connect()
            going: list[asyncio.Task[Any]] = []

            async def prepare(queue: Queue) -> Any:
                await finish(queue, await queue.add("parent"))
                if len(going) < 3:
                    await stranger.execute(f"BEGIN; {stage.store._engine.text('LOCK TABLE dibs.specs')}")
                    going.append(asyncio.create_task(leave()))

            async def leave() -> None:
                await asyncio.sleep(0.1)
                await stranger.execute("COMMIT")

            async def check(queue: Queue, _: Any, answers: list[Any]) -> None:
                await asyncio.gather(*going)
                await finish(queue, *answers)

            def verbs(_: Any) -> Any:
                return lambda queue: queue.add("parent"), lambda queue: queue.add("parent")

            try:
                # Two steps each, in any order.
                assert await stage.every_order(prepare, verbs, check) == 6
            finally:
                stranger.terminate()

    asyncio.run(run())


def test_two_parents_that_complete_at_once_free_their_child(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        a, b = await queue.add_many([NewTask("parent"), NewTask("parent")])
        child = await queue.add("child", after=[a, b])
        return child, await held(queue, a, b)

    def verbs(prepared: Any) -> Any:
        _, (a, b) = prepared
        return completing(a), completing(b)

    async def check(queue: Queue, prepared: Any, answers: list[Any]) -> None:
        assert all(isinstance(answer, Settled) for answer in answers)
        assert await statuses(queue, prepared[0]) == ["ready"]
        await finish(queue, prepared[0])

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_a_child_added_while_its_parent_completes_is_ready(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        parent = await queue.add("parent")
        return (await held(queue, parent))[0]

    def verbs(claim: Any) -> Any:
        return completing(claim), lambda queue: queue.add("child", after=[claim.task.id])

    async def check(queue: Queue, claim: Any, answers: list[Any]) -> None:
        child = answers[1]
        assert await statuses(queue, claim.task, child) == ["completed", "ready"]
        await finish(queue, child)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_a_child_added_while_its_parent_dies_is_cancelled(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        parent = await queue.add("parent")
        return (await held(queue, parent))[0]

    def verbs(claim: Any) -> Any:
        async def dying(queue: Queue) -> Any:
            return await queue.store.settle([settling.failed(claim, "no", retry_again=False, draw=0.5)])

        return dying, lambda queue: queue.add("child", after=[claim.task.id])

    async def check(queue: Queue, claim: Any, answers: list[Any]) -> None:
        child = await queue.get(answers[1].id)
        assert await statuses(queue, claim.task, child) == ["dead_lettered", "cancelled"]
        assert child.cause == claim.task.id

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_a_task_linked_while_its_parent_completes_is_ready(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        parent = await queue.add("parent")
        [claim] = await held(queue, parent)
        return claim, await queue.add("child")

    def verbs(prepared: Any) -> Any:
        claim, child = prepared
        return completing(claim), lambda queue: queue.link(child.id, after=[claim.task.id])

    async def check(queue: Queue, prepared: Any, answers: list[Any]) -> None:
        claim, child = prepared
        assert await statuses(queue, claim.task, child) == ["completed", "ready"]
        await finish(queue, child)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_a_task_linked_while_it_is_claimed_is_either(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        parent = await queue.add("parent", run_after=3600)
        return parent, await queue.add("child")

    def verbs(prepared: Any) -> Any:
        parent, child = prepared

        async def claiming(queue: Queue) -> Any:
            return (await queue.store.claim(ClaimRequest(agent="bob"))).claims

        return claiming, lambda queue: queue.link(child.id, after=[parent.id])

    async def check(queue: Queue, prepared: Any, answers: list[Any]) -> None:
        parent, child = prepared
        claims, linked = answers
        if claims:
            assert isinstance(linked, IllegalTransition)
            await queue.complete(claims[0])
        else:
            assert await statuses(queue, child) == ["pending"]
        await queue.cancel(parent.id)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_a_task_that_is_cancelled_while_it_completes_is_one_or_the_other(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        parent = await queue.add("parent")
        child = await queue.add("child", after=[parent])
        return (await held(queue, parent))[0], child

    def verbs(prepared: Any) -> Any:
        claim, _ = prepared
        return completing(claim), lambda queue: queue.store.cancel(claim.task.id, None)

    async def check(queue: Queue, prepared: Any, answers: list[Any]) -> None:
        claim, child = prepared
        settled, ended = answers
        if isinstance(settled, Settled):
            assert ended == []
            assert await statuses(queue, claim.task, child) == ["completed", "ready"]
            await finish(queue, child)
        else:
            assert isinstance(settled, IllegalTransition)
            assert await statuses(queue, claim.task, child) == ["cancelled", "cancelled"]

    every_order(postgres_url, prepare, verbs, check)


def test_a_child_that_is_cancelled_while_its_parent_completes_comes_back_ready(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        parent = await queue.add("parent")
        child = await queue.add("child", after=[parent])
        return (await held(queue, parent))[0], child

    def verbs(prepared: Any) -> Any:
        claim, child = prepared
        return completing(claim), lambda queue: queue.store.cancel(child.id, None)

    async def check(queue: Queue, prepared: Any, answers: list[Any]) -> None:
        claim, child = prepared
        assert await statuses(queue, claim.task, child) == ["completed", "cancelled"]
        assert (await queue.retry(child.id)).status is Status.READY
        await finish(queue, child)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_two_adds_with_one_key_make_one_task(postgres_url: str) -> None:
    numbers = iter(range(10_000))

    async def prepare(queue: Queue) -> Any:
        return f"key {next(numbers)}"

    def verbs(key: Any) -> Any:
        return (lambda queue: queue.add("child", 1, key=key)), (lambda queue: queue.add("child", 1, key=key))

    async def check(queue: Queue, key: Any, answers: list[Any]) -> None:
        one, two = answers
        assert one.id == two.id
        await finish(queue, one)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_keys_named_in_another_order_are_no_deadlock(postgres_url: str) -> None:
    numbers = iter(range(10_000))

    async def prepare(queue: Queue) -> Any:
        number = next(numbers)
        return [NewTask("child", key=f"{letter} {number}") for letter in "abc"]

    def verbs(tasks: Any) -> Any:
        return (lambda queue: queue.add_many(tasks)), (lambda queue: queue.add_many(tasks[::-1]))

    async def check(queue: Queue, tasks: Any, answers: list[Any]) -> None:
        one, two = answers
        assert [task.id for task in one] == [task.id for task in two[::-1]]
        await finish(queue, *one)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_a_key_that_becomes_free_while_it_is_asked_for_is_found_taken_or_free(postgres_url: str) -> None:
    numbers = iter(range(10_000))

    async def prepare(queue: Queue) -> Any:
        return await queue.add("child", 1, key=f"freed {next(numbers)}")

    def verbs(owner: Any) -> Any:
        return (
            lambda queue: queue.store.cancel(owner.id, None),
            lambda queue: queue.add("child", 1, key=owner.key),
        )

    async def check(queue: Queue, owner: Any, answers: list[Any]) -> None:
        added = await queue.get(answers[1].id)
        assert added.id == owner.id or added.status is Status.READY
        if added.id != owner.id:
            await finish(queue, added)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


@pytest.mark.timeout(600)  # So many orders there are.
def test_two_dags_with_one_key_are_one(postgres_url: str) -> None:
    numbers = iter(range(10_000))

    async def prepare(queue: Queue) -> Any:
        return f"dag {next(numbers)}"

    def verbs(key: Any) -> Any:
        tasks = [NewTask("parent", ref="a"), NewTask("child", after=["a"])]
        return (
            lambda queue: queue.add_dag("both", tasks, key=key),
            lambda queue: queue.add_dag("both", tasks, key=key),
        )

    async def check(queue: Queue, key: Any, answers: list[Any]) -> None:
        one, two = answers
        assert one.id == two.id
        assert len(one.tasks) == 2
        await finish(queue, one.tasks[0])
        await finish(queue, one.tasks[1])

    every_order(postgres_url, prepare, verbs, check)


def test_a_task_that_comes_back_while_another_parent_completes_waits_for_nothing_that_ended(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        dead, other = await queue.add_many([NewTask("parent"), NewTask("parent")])
        child = await queue.add("child", after=[dead, other])
        one, two = await held(queue, dead, other)
        await queue.fail(one, "no", retry=False)
        assert await statuses(queue, child) == ["cancelled"]
        return dead, two, child

    def verbs(prepared: Any) -> Any:
        dead, other, _ = prepared
        return (lambda queue: queue.store.revive(dead.id)), completing(other)

    async def check(queue: Queue, prepared: Any, answers: list[Any]) -> None:
        dead, other, child = prepared
        assert await statuses(queue, dead, other.task, child) == ["ready", "completed", "pending"]
        await finish(queue, dead)
        assert await statuses(queue, child) == ["ready"]
        await finish(queue, child)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_a_child_added_while_its_parent_comes_back_lives_with_it(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        dead = await queue.add("parent")
        [claim] = await held(queue, dead)
        await queue.fail(claim, "no", retry=False)
        return dead

    def verbs(dead: Any) -> Any:
        return (lambda queue: queue.store.revive(dead.id)), (lambda queue: queue.add("child", after=[dead.id]))

    async def check(queue: Queue, dead: Any, answers: list[Any]) -> None:
        child = answers[1]
        assert await statuses(queue, dead, child) == ["ready", "pending"]
        await finish(queue, dead)
        await finish(queue, child)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_a_task_cancelled_while_what_it_depends_on_comes_back_stays_so_or_was_taken_down(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        dead = await queue.add("parent")
        child = await queue.add("child", after=[dead])
        [claim] = await held(queue, dead)
        await queue.fail(claim, "no", retry=False)
        return dead, child

    def verbs(prepared: Any) -> Any:
        dead, child = prepared
        return (lambda queue: queue.store.revive(dead.id)), (lambda queue: queue.store.cancel(child.id, None))

    async def check(queue: Queue, prepared: Any, answers: list[Any]) -> None:
        dead, child = prepared
        assert await statuses(queue, dead, child) == ["ready", "cancelled" if answers[1] else "pending"]
        await finish(queue, dead)
        if not answers[1]:
            await finish(queue, child)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_of_two_links_that_close_a_cycle_one_is_refused(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        return await queue.add_many([NewTask("child"), NewTask("child")])

    def verbs(tasks: Any) -> Any:
        a, b = tasks
        return (lambda queue: queue.link(a.id, after=[b.id])), (lambda queue: queue.link(b.id, after=[a.id]))

    async def check(queue: Queue, tasks: Any, answers: list[Any]) -> None:
        assert sorted(isinstance(answer, CycleDetected) for answer in answers) == [False, True]
        first, second = tasks if await statuses(queue, tasks[0]) == ["ready"] else tasks[::-1]
        await finish(queue, first)
        await finish(queue, second)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_a_dag_that_gets_a_task_while_its_last_one_completes_goes_on(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        dag = await queue.add_dag("growing", [NewTask("parent")])
        return dag, (await held(queue, dag.tasks[0]))[0]

    def verbs(prepared: Any) -> Any:
        dag, claim = prepared
        return completing(claim), lambda queue: queue.add("child", dag=dag.id)

    async def check(queue: Queue, prepared: Any, answers: list[Any]) -> None:
        dag, _ = prepared
        child = answers[1]
        assert (await queue.get_dag(dag.id)).status is DagStatus.RUNNING
        assert await statuses(queue, child) == ["ready"]
        await finish(queue, child)
        assert (await queue.get_dag(dag.id)).status is DagStatus.COMPLETED

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_a_dag_that_gets_a_task_while_it_is_cancelled_has_no_survivor(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        return await queue.add_dag("closing", [NewTask("parent")])

    def verbs(dag: Any) -> Any:
        return (lambda queue: queue.store.cancel(dag.id, None)), (lambda queue: queue.add("child", dag=dag.id))

    async def check(queue: Queue, dag: Any, answers: list[Any]) -> None:
        child = answers[1]
        assert await statuses(queue, dag.tasks[0]) == ["cancelled"]
        if isinstance(child, DibsError):
            assert isinstance(child, Conflict)
        else:
            assert await statuses(queue, child) == ["cancelled"]

    every_order(postgres_url, prepare, verbs, check)


def test_a_spawner_cancelled_while_it_spawns_leaves_no_child_alive(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        return (await held(queue, await queue.add("parent")))[0]

    def verbs(claim: Any) -> Any:
        return (
            lambda queue: queue.spawn(claim, [NewTask("child"), NewTask("child")], wait=True),
            lambda queue: queue.store.cancel(claim.task.id, None),
        )

    async def check(queue: Queue, claim: Any, answers: list[Any]) -> None:
        spawned, ended = answers
        assert claim.task.id in ended
        if isinstance(spawned, DibsError):
            assert isinstance(spawned, LeaseLost)
        else:
            assert await statuses(queue, *spawned) == ["cancelled", "cancelled"]

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_two_children_added_at_once_below_a_standalone_task_share_its_dag(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        return await queue.add("parent")

    def verbs(parent: Any) -> Any:
        return (lambda queue: queue.add("child", after=[parent.id])), (
            lambda queue: queue.add("child", after=[parent.id])
        )

    async def check(queue: Queue, parent: Any, answers: list[Any]) -> None:
        assert {task.id for task in (await queue.get_dag(parent.dag_id)).tasks} == {parent.id, *(a.id for a in answers)}
        await finish(queue, parent)
        await finish(queue, *answers)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_the_same_call_made_twice_at_once_adds_once(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        return [
            drafting.drafts(
                [NewTask("parent", ref="a"), NewTask("child", after=["a"])] if graph else [NewTask("parent")],
                project="default",
                now=queue.store.now(),
                new_id=new_id,
            )
            for graph in (False, True)
        ]

    def verbs(prepared: Any) -> Any:
        async def verb(queue: Queue) -> Any:
            copies = [[replace(draft, task=replace(draft.task)) for draft in drafts] for drafts in prepared]
            return [await queue.store.insert(Insertion(drafts=drafts)) for drafts in copies]

        return verb, verb

    async def check(queue: Queue, prepared: Any, answers: list[Any]) -> None:
        one, two = answers
        for first, second in zip(one, two, strict=True):
            assert [task.id for task in first.tasks] == [task.id for task in second.tasks]
            assert sorted([first.existing[0], second.existing[0]]) == [False, True]
        await finish(queue, one[0].tasks[0], one[1].tasks[0])
        await finish(queue, one[1].tasks[1])

    every_order(postgres_url, prepare, verbs, check)


def test_the_same_spawn_made_twice_at_once_spawns_once(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        return (await held(queue, await queue.add("parent")))[0]

    def verbs(claim: Any) -> Any:
        async def verb(queue: Queue) -> Any:
            return await queue.spawn(claim, [NewTask("child"), NewTask("child")], wait=True)

        return verb, verb

    async def check(queue: Queue, claim: Any, answers: list[Any]) -> None:
        one, two = answers
        assert [task.id for task in one] == [task.id for task in two]
        await finish(queue, *one)
        assert await statuses(queue, claim.task) == ["ready"]
        await finish(queue, claim.task)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_a_dead_letter_that_comes_back_before_its_consequences_takes_nobody_down(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        parent = await queue.add("parent")
        child = await queue.add("child", after=[parent])
        return (await held(queue, parent))[0], child

    def verbs(prepared: Any) -> Any:
        claim, _ = prepared

        async def dying(queue: Queue) -> Any:
            return await queue.store.settle([settling.failed(claim, "no", retry_again=False, draw=0.5)])

        return dying, lambda queue: queue.store.revive(claim.task.id)

    async def check(queue: Queue, prepared: Any, answers: list[Any]) -> None:
        claim, child = prepared
        if isinstance(answers[1], IllegalTransition):
            # It was alive then.
            await queue.retry(claim.task.id)
        assert await statuses(queue, claim.task, child) == ["ready", "pending"]
        await finish(queue, claim.task)
        await finish(queue, child)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_two_claims_of_an_agent_that_may_hold_one_task_get_one(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        await queue.register_agent("bob", max_concurrent=1)
        assert await queue.claim("bob") == []  # so that the rule is known
        return await queue.add_many([NewTask("child"), NewTask("child")])

    def verbs(_: Any) -> Any:
        return claiming_as_bob, claiming_as_bob

    async def check(queue: Queue, tasks: Any, answers: list[Any]) -> None:
        [claim] = [claim for claims in answers for claim in claims]
        await queue.complete(claim)
        await finish(queue, *[task for task in tasks if task.id != claim.task.id])

    every_order(postgres_url, prepare, verbs, check, at_least=2)


async def claiming_as_bob(queue: Queue) -> Any:
    return (await queue.store.claim(ClaimRequest(agent="bob"))).claims
