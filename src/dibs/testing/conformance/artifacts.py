"""Artifacts and references: what a store remembers of the bytes that tasks leave behind, and what claims get of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs import settling
from dibs.errors import IllegalTransition, Invalid, LeaseLost, NotFound
from dibs.model.artifact import Artifact
from dibs.model.task import NewTask
from dibs.rules.artifacts import MAX_PER_TASK
from dibs.testing.conformance.topic import Topic, elapse, events, finish, kill, on_the_store, take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.claim import Claim
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


def made(name: str, content: int = 1, **more: Any) -> Artifact:
    return Artifact(name=name, digest=f"sha256:{content:064x}", size=content, **more)


async def put(queue: Queue, claim: Claim, *artifacts: Artifact) -> None:
    for artifact in artifacts:
        await queue.store.put_artifact(claim.task.id, claim.fence, artifact)


def shown(artifacts: Sequence[Artifact]) -> list[tuple[str, int]]:
    return [(artifact.name, artifact.size) for artifact in artifacts]


class Artifacts(Topic):
    async def test_an_artifact_is_listed_on_its_task_while_it_runs_and_afterwards(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add("job")
        claim = await take(queue)
        clock.advance(1)
        kept = await queue.store.put_artifact(claim.task.id, claim.fence, made("report", media_type="text/plain"))
        assert (kept.name, kept.size, kept.media_type, kept.task_id) == ("report", 1, "text/plain", claim.task.id)
        assert claim.task.claimed_at is not None
        assert kept.put_at is not None
        assert (kept.put_at - claim.task.claimed_at).total_seconds() == 1
        assert (await queue.get(claim.task.id)).artifacts == (kept,)
        await queue.complete(claim, "done")
        assert (await queue.get(claim.task.id)).artifacts == (kept,)
        assert [task.artifacts for task in (await queue.find()).items] == [(kept,)]
        assert [task.artifacts for task in (await queue.get_dag(claim.task.dag_id)).tasks] == [(kept,)]

    async def test_the_same_name_again_takes_the_place_of_the_one_before(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await put(queue, claim, made("a", 1), made("b", 2), made("a", 3))
        assert shown((await queue.get(claim.task.id)).artifacts) == [("b", 2), ("a", 3)]

    async def test_a_stale_agent_puts_nothing(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", retry="immediate")
        stale = await take(queue, lease=10)
        await elapse(queue, clock, 12)
        claim = await take(queue)
        with pytest.raises(LeaseLost) as caught:
            await put(queue, stale, made("report"))
        assert caught.value.field == "fence"
        await queue.complete(claim)
        with pytest.raises(LeaseLost):
            await put(queue, claim, made("report"))
        assert (await queue.get(task.id)).artifacts == ()

    @pytest.mark.door
    async def test_an_attempt_over_its_timeout_puts_nothing(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", timeout=5)
        claim = await take(queue)
        clock.advance(6)
        with pytest.raises(LeaseLost):
            await put(queue, claim, made("report"))

    async def test_a_cancelled_task_takes_no_artifact(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.cancel(claim.task.id)
        with pytest.raises(LeaseLost):
            await put(queue, claim, made("report"))

    async def test_a_task_that_nobody_knows_takes_no_artifact(self, queue: Queue) -> None:
        with pytest.raises(NotFound):
            await queue.store.put_artifact("task_nobody", 1, made("report"))

    async def test_an_artifact_confirms_the_start_and_is_no_event(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", retry="immediate")
        claim = await take(queue, lease=10)
        before = len(await events(queue))
        await put(queue, claim, made("report"))
        assert len(await events(queue)) == before
        await elapse(queue, clock, 12)
        assert (await queue.get(claim.task.id)).crashes == 1

    async def test_artifacts_outlive_their_attempt_and_a_new_life(self, queue: Queue) -> None:
        task = await queue.add("job")
        claim = await take(queue)
        await put(queue, claim, made("a", 1))
        await queue.fail(claim, "no", retry=False)
        assert shown((await queue.get(task.id)).artifacts) == [("a", 1)]
        await queue.retry(task.id, keep_steps=False)
        again = await take(queue)
        assert shown(again.task.artifacts) == [("a", 1)]
        await put(queue, again, made("b", 2))
        await queue.complete(again)
        assert shown((await queue.get(task.id)).artifacts) == [("a", 1), ("b", 2)]

    async def test_a_task_has_at_most_a_thousand_artifacts(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await put(queue, claim, *[made(f"a{number}") for number in range(MAX_PER_TASK)])
        with pytest.raises(Invalid) as caught:
            await put(queue, claim, made("one too many"))
        assert caught.value.field == "name"
        await put(queue, claim, made("a0", 7))
        found = (await queue.get(claim.task.id)).artifacts
        assert (len(found), found[-1].name, found[-1].size) == (MAX_PER_TASK, "a0", 7)

    @pytest.mark.door
    @pytest.mark.routing
    async def test_artifacts_of_a_dag_come_in_the_order_they_were_put(self, queue: Queue) -> None:
        dag = await queue.add_dag("Dag", [NewTask("one"), NewTask("two")])
        await queue.add("one")
        one, two, stranger = await take(queue, "one"), await take(queue, "two"), await take(queue, "one")
        await put(queue, two, made("a", 1))
        await put(queue, one, made("b", 2))
        await put(queue, stranger, made("a", 9))
        await put(queue, two, made("c", 3), made("a", 4))
        found = await queue.artifacts(dag.id)
        assert [(artifact.name, artifact.size, artifact.task_id) for artifact in found] == [
            ("b", 2, one.task.id),
            ("c", 3, two.task.id),
            ("a", 4, two.task.id),
        ]
        assert shown(await queue.store.artifacts(dag.id, ["a", "b"])) == [("b", 2), ("a", 4)]
        assert shown(await queue.artifacts(stranger.task.id)) == [("a", 9)]
        assert shown(await queue.artifacts(stranger.task.dag_id)) == [("a", 9)]

    async def test_a_virtual_dag_that_becomes_a_real_one_keeps_its_artifacts(self, queue: Queue) -> None:
        task = await queue.add("one")
        claim = await take(queue)
        await put(queue, claim, made("a"))
        await queue.spawn(claim, [NewTask("two")])
        await put(queue, await take(queue, "two"), made("b", 2))
        assert shown(await queue.artifacts(task.dag_id)) == [("a", 1), ("b", 2)]

    async def test_artifacts_of_what_nobody_knows_are_not_found(self, queue: Queue) -> None:
        for target in ("task_nobody", "dag_nobody"):
            with pytest.raises(NotFound):
                await queue.artifacts(target)
        assert await queue.store.artifacts("dag_nobody") == []

    async def test_which_digests_are_still_needed(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await put(queue, claim, made("a", 1), made("b", 2), made("b", 3))
        digests = [made("x", number).digest for number in range(5)]
        assert await queue.store.kept_digests(digests) == {digests[1], digests[3]}
        assert await queue.store.kept_digests([]) == set()

    @pytest.mark.door
    async def test_artifacts_go_with_their_task(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue)
        await put(queue, claim, made("a"))
        await queue.complete(claim)
        await elapse(queue, clock, 8 * 86_400)
        await queue.prune()
        assert await queue.store.kept_digests([made("a").digest]) == set()
        assert await queue.store.artifacts(claim.task.dag_id) == []

    @on_the_store("artifacts without bytes, which a server looks for")
    async def test_a_settlement_keeps_the_artifacts_that_it_names(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await put(queue, claim, made("a", 1), made("b", 2))
        ending = settling.completed(claim, "out", artifacts=[made("c", 3, media_type="a/b"), made("a", 4)])
        [first] = await queue.settle([ending])
        assert [first] == await queue.settle([ending])
        task = await queue.get(claim.task.id)
        assert task.output == "out"
        assert shown(task.artifacts) == [("b", 2), ("c", 3), ("a", 4)]
        assert (task.artifacts[1].media_type, task.artifacts[1].task_id) == ("a/b", task.id)
        other = settling.completed(claim, "other", artifacts=[made("d")])
        [refused] = await queue.settle([other])
        assert isinstance(refused, IllegalTransition)
        assert shown((await queue.get(claim.task.id)).artifacts) == [("b", 2), ("c", 3), ("a", 4)]


class Referring(Topic):
    @pytest.mark.door
    async def test_a_claim_carries_what_its_context_refers_to(self, queue: Queue) -> None:
        facts = await queue.add("facts")
        await finish(queue, "facts", {"answer": 42})
        refs = [f"task:{facts.id}:output"]
        task = await queue.add("job", context={"goal": "know", "refs": refs})
        claim = await take(queue, "job", claim_id="once")
        assert claim.context == {"goal": "know", "refs": {refs[0]: {"answer": 42}}}
        assert claim.task.context == {"goal": "know", "refs": refs}
        [same] = await queue.claim("ada", types=["job"], claim_id="once")
        assert same.context == claim.context
        assert (await queue.get(task.id)).context == {"goal": "know", "refs": refs}

    async def test_what_is_missing_is_told_in_its_place(self, queue: Queue) -> None:
        live, dead = await queue.add("live"), await queue.add("dead")
        await kill(queue, "dead")
        refs = [f"task:{live.id}:output", f"task:{dead.id}:output", "task:task_nobody:output", "artifact:nothing"]
        refs.append(f"task:{live.id}:artifact:nothing")
        await queue.add("job", context={"refs": refs})
        found = (await take(queue, "job")).context["refs"]
        assert list(found) == refs
        for ref, value in found.items():
            assert (value["ref"], sorted(value)) == (ref, ["missing", "ref"])
        assert found[refs[0]]["missing"] == f"Task {live.id} is ready."
        assert found[refs[2]]["missing"] == "There is no task task_nobody."

    async def test_a_large_output_stays_a_reference(self, queue: Queue) -> None:
        large = await queue.add("large")
        await finish(queue, "large", "x" * (1 << 20))
        ref = f"task:{large.id}:output"
        await queue.add("job", context={"refs": [ref]})
        assert (await take(queue, "job")).context == {"refs": {ref: {"ref": ref}}}

    @pytest.mark.door
    async def test_an_artifact_is_the_newest_of_its_name_in_the_dag(self, queue: Queue) -> None:
        await queue.add_dag(
            "Dag",
            [
                NewTask("one"),
                NewTask("two"),
                NewTask("job", context={"refs": ["artifact:report", "artifact:nothing"]}),
            ],
        )
        await queue.add("one", priority=90)
        one, two, stranger = await take(queue, "one"), await take(queue, "two"), await take(queue, "one")
        await put(queue, two, made("report", 1))
        await put(queue, one, made("report", 2, media_type="text/markdown"))
        await put(queue, stranger, made("report", 3))
        found = (await take(queue, "job")).context["refs"]
        report = found["artifact:report"]
        assert (report["name"], report["digest"], report["size"], report["media_type"], report["task_id"]) == (
            "report",
            made("report", 2).digest,
            2,
            "text/markdown",
            one.task.id,
        )
        assert found["artifact:nothing"]["missing"] == "There is no artifact 'nothing' yet."

    async def test_an_artifact_of_a_task_anywhere(self, queue: Queue) -> None:
        await queue.add("one")
        one = await take(queue, "one")
        await put(queue, one, made("report", 5))
        ref = f"task:{one.task.id}:artifact:report"
        await queue.add("job", context={"refs": [ref, ref]})
        found = (await take(queue, "job")).context["refs"]
        assert (list(found), found[ref]["size"]) == ([ref], 5)

    async def test_references_are_resolved_anew_for_every_attempt(self, queue: Queue) -> None:
        facts = await queue.add("facts")
        ref = f"task:{facts.id}:output"
        await queue.add("job", context={"refs": [ref]})
        claim = await take(queue, "job")
        assert "missing" in claim.context["refs"][ref]
        await queue.release(claim)
        await finish(queue, "facts", [1])
        assert (await take(queue, "job")).context["refs"] == {ref: [1]}

    @pytest.mark.parametrize(
        "refs",
        [
            "task:x:output",
            {"task:x:output": 1},
            [7],
            ["report"],
            ["task:x"],
            ["task::output"],
            ["artifact:"],
            ["task:x:artifact:"],
            ["sha256:" + "0" * 64],
            ["artifact:a"] * 101,
        ],
    )
    def test_a_context_with_bad_references_is_refused(self, refs: Any) -> None:
        async def test(_self: Topic, queue: Queue) -> None:
            with pytest.raises(Invalid) as caught:
                await queue.add("job", context={"refs": refs})
            assert caught.value.field == "context"
            assert (await queue.find()).items == []

        self.run(test)
