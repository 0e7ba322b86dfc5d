"""Large values that lie where artifacts are kept: the store has a mark of them, and nobody notices."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from dibs.artifacts.overflow import beneath
from dibs.errors import Invalid, Unavailable
from dibs.model.ids import new_id
from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.queue import Queue
from dibs.rules.large import LARGE_BYTES
from dibs.stores.values import ClaimRequest
from dibs.testing.conformance.topic import Topic, elapse, events, finish, kill, nothing, status, take

if TYPE_CHECKING:
    from dibs.stores.contract import Store
    from dibs.testing.clock import FakeClock

LARGE = "ä" * LARGE_BYTES
NOWHERE = "file:/dev/null/nothing"
"""A place where nothing can be written."""


def at(queue: Queue, place: str | None = None) -> Queue:
    """The same queue with large values elsewhere: in a fresh memory, if no place is named."""
    pytest.importorskip("obstore", reason="large values lie elsewhere with dibs[artifacts]")
    where = place or f"memory:{new_id('t')}"
    if queue.far:
        moved: Queue = queue.kept_at(where)  # type: ignore[attr-defined]
        return moved
    return Queue(queue.store, artifacts=where)


def _itself(queue: Queue) -> Store:
    """The store, which has only marks of what lies elsewhere; of a server, its own."""
    return beneath(getattr(queue.store, "served", queue.store))


async def marked(queue: Queue, task_id: str) -> list[str]:
    """What of a task lies elsewhere, as the store has it."""
    [task] = await _itself(queue).get([task_id])
    assert task is not None
    parts = {"payload": task.payload, "output": task.output}
    return [name for name, value in parts.items() if isinstance(value, dict) and "dibs:kept" in value]


class Overflowing(Topic):
    @pytest.mark.door
    async def test_payloads_and_outputs_elsewhere_are_as_they_were_handed_in(self, queue: Queue) -> None:
        queue = at(queue)
        alone = await queue.add("job", {"text": LARGE})
        assert alone.payload == {"text": LARGE}
        claim = await take(queue, "job")
        assert claim.task.payload == {"text": LARGE}
        await queue.complete(claim, [LARGE])
        known = await queue.get(alone.id)
        assert (known.payload, known.output, known.artifacts) == ({"text": LARGE}, [LARGE], ())
        assert (await queue.wait(alone.id, timeout=5)).output == [LARGE]
        assert await marked(queue, alone.id) == ["payload", "output"]
        assert (await queue.complete(claim, [LARGE])).outcome == "completed"
        small = await queue.add("job", "x" * 10)
        await finish(queue, "job", "y")
        assert await marked(queue, small.id) == []

    async def test_all_ways_of_adding_put_large_payloads_elsewhere(self, queue: Queue) -> None:
        queue = at(queue)
        many = await queue.add_many([NewTask("many", LARGE), NewTask("many", 1), NewTask("many", LARGE, approval=True)])
        dag = await queue.add_dag("d", [NewTask("a", LARGE, ref="a"), NewTask("b", [LARGE], ref="b", after=["a"])])
        [child] = await queue.spawn(await take(queue, "a"), [NewTask("child", {"deep": LARGE})])
        assert [task.payload for task in many] == [LARGE, 1, LARGE]
        assert child.payload == {"deep": LARGE}
        for task in (many[0], many[2], *dag.tasks, child):
            assert await marked(queue, task.id) == ["payload"]
        assert (await queue.get(dag.tasks[1].id)).payload == [LARGE]
        assert (await take(queue, "child")).task.payload == {"deep": LARGE}

    async def test_the_same_key_again_is_the_same_task_and_reads_nothing(self, queue: Queue) -> None:
        first = await at(queue).add("job", LARGE, key="k")
        again = await at(queue).add("job", LARGE, key="k")
        assert (again.id, again.payload) == (first.id, LARGE)

    async def test_outputs_elsewhere_flow_along_edges_and_references(self, queue: Queue) -> None:
        queue = at(queue)
        parent = await queue.add("parent")
        ref = f"task:{parent.id}:output"
        await queue.add("child", after=[parent], context={"refs": [ref]})
        await finish(queue, "parent", {"text": LARGE})
        claim = await take(queue, "child")
        assert claim.inputs == {parent.id: {"text": LARGE}}
        assert claim.context["refs"] == {ref: {"text": LARGE}}

    async def test_an_output_too_heavy_for_a_claim_stays_a_name(self, queue: Queue) -> None:
        queue = at(queue)
        parent = await queue.add("parent")
        await queue.add("child", after=[parent])
        await finish(queue, "parent", "x" * (1 << 20))
        assert (await take(queue, "child")).inputs == {parent.id: {"ref": f"task:{parent.id}:output"}}

    async def test_children_hand_large_outputs_to_their_parent(self, queue: Queue) -> None:
        queue = at(queue)
        await queue.add("parent")
        [child] = await queue.spawn(await take(queue, "parent"), [NewTask("child")], wait=True)
        await finish(queue, "child", LARGE)
        assert (await take(queue, "parent")).children == {child.id: LARGE}

    async def test_a_claim_counts_what_lies_elsewhere(self, queue: Queue) -> None:
        queue = at(queue)
        for task in await queue.add_many([NewTask("job", LARGE) for _ in range(3)]):
            assert await marked(queue, task.id) == ["payload"]
        claimed = await queue.store.claim(ClaimRequest(agent="ada", limit=3, max_bytes=5 * LARGE_BYTES))
        assert len(claimed.claims) == 2

    async def test_lists_and_changes_read_nothing_that_lies_elsewhere(self, queue: Queue) -> None:
        here = at(queue)
        task = await here.add("job", LARGE, title="one")
        done = await here.add("done")
        await finish(here, "done", LARGE)
        named = {"ref": f"task:{task.id}:payload"}
        away = at(queue)
        output, payload = (await away.find()).items
        assert (payload.payload, output.output, output.artifacts) == (named, {"ref": f"task:{done.id}:output"}, ())
        assert (await away.get_dag(task.dag_id)).tasks[0].payload == named
        assert (await away.find(text="kept")).items == []
        assert (await away.set_priority(task.id, 3)).payload == named
        assert (await away.link(task.id, [await away.add("first")])).payload == named
        assert (await away.why(task.id)).status == Status.PENDING
        await away.cancel(task.id)
        assert (await away.retry(task.id)).payload == named

    @pytest.mark.door
    async def test_a_task_whose_values_cannot_be_read_says_what_to_do_and_stays_as_it_is(self, queue: Queue) -> None:
        here = at(queue)
        task = await here.add("job")
        await finish(here, "job", LARGE)
        away = at(queue)
        with pytest.raises(Unavailable) as caught:
            await away.get(task.id)
        assert caught.value.field == "artifacts"
        assert f"task:{task.id}:output" in caught.value.message
        assert "DIBS_ARTIFACTS" in caught.value.message
        assert (await here.get(task.id)).output == LARGE

    @pytest.mark.door
    async def test_a_claim_that_cannot_be_read_goes_back_for_a_while_and_others_are_handed_out(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        here = at(queue)
        task = await here.add("job", LARGE, priority=1)
        small = await here.add("job", 1)
        away = at(queue)
        [claim] = await away.claim("ada", limit=5)
        assert claim.task.id == small.id
        known = await here.get(task.id)
        assert (known.status, known.attempts, known.releases) == (Status.RETRYING, 0, 0)
        assert await nothing(away)
        await elapse(away, clock, 31)
        with pytest.raises(Unavailable):
            await away.claim("ada")
        await elapse(here, clock, 31)
        again = await take(here)
        assert (again.task.id, again.task.payload, again.task.attempts) == (task.id, LARGE, 0)

    async def test_of_a_group_who_cannot_be_read_goes_back_and_the_others_are_handed_out_together(
        self, queue: Queue
    ) -> None:
        there, away = at(queue), at(queue)
        tasks = [await there.add("job", {"text": LARGE}, coalesce_key="k", coalesce_window=0)]
        tasks += [await there.add("job", {"text": "x"}, coalesce_key="k", coalesce_window=0) for _ in range(2)]
        claim = await take(away, "job")
        assert [claim.task.id, *(member.task.id for member in claim.group)] == [task.id for task in tasks[1:]]
        assert await status(there, tasks[0]) == Status.RETRYING
        await there.complete_group(claim)
        again = await there.add("job", {"text": LARGE}, coalesce_key="k", coalesce_window=0)
        await there.add("job", {"text": LARGE}, coalesce_key="k", coalesce_window=0)
        claim = await take(there, "job")
        assert claim.task.id == again.id
        assert [one.task.payload for one in (claim, *claim.group)] == [{"text": LARGE}] * 2

    async def test_work_whose_output_cannot_be_read_here_is_judged_all_the_same(self, queue: Queue) -> None:
        there, away = at(queue), at(queue)
        task = await there.add("job", expects={"validation": "judge", "rubric": "It is long."})
        await there.complete(await take(there, "job"), LARGE)
        await away.run_duties()
        verdict = {"verdict": "pass", "criteria": {}}
        await away.complete(await take(away, "judge", agent="bob", capabilities=["judge"]), verdict)
        known = await there.get(task.id)
        assert (known.status, known.output) == (Status.COMPLETED, LARGE)

    @pytest.mark.door
    async def test_what_cannot_be_put_elsewhere_is_kept_by_the_store(self, queue: Queue) -> None:
        away = at(queue, NOWHERE)
        task = await away.add("job", LARGE)
        claim = await take(away, "job")
        await away.complete(claim, {"text": LARGE})
        known = await queue.get(task.id)
        assert (known.payload, known.output) == (LARGE, {"text": LARGE})

    async def test_a_place_that_takes_little_leaves_the_rest_to_the_store(self, queue: Queue) -> None:
        with TemporaryDirectory() as folder:
            task = await at(queue, f"file:{folder}?max_bytes=100000").add("job", LARGE)
            assert (await queue.get(task.id)).payload == LARGE

    @pytest.mark.door
    async def test_a_sweep_is_told_what_tasks_refer_to_until_they_are_pruned(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        queue = at(queue)
        await queue.add("job", LARGE, context={"payload": {"dibs:kept": {"digest": "sha256:" + "0" * 64}}})
        claim = await take(queue, "job")
        await queue.complete(claim, [LARGE])
        [raw] = await _itself(queue).get([claim.task.id])
        assert raw is not None
        payload, output = raw.payload["dibs:kept"]["digest"], raw.output["dibs:kept"]["digest"]
        assert payload in await queue.store.payload_digests()
        assert await queue.store.kept_digests([payload, output]) == {output}
        clock.advance(8 * 86_400)
        assert await queue.prune() == 1
        assert await queue.store.payload_digests() == set()
        assert await queue.store.kept_digests([payload, output]) == set()

    async def test_another_payload_of_a_retry_lies_elsewhere_too(self, queue: Queue) -> None:
        queue = at(queue)
        task = await queue.add("job", 1, context={"a": {"payload": 2}})
        await kill(queue, "job")
        assert (await queue.retry(task.id, payload=LARGE)).payload == LARGE
        assert await marked(queue, task.id) == ["payload"]
        await kill(queue, "job")
        assert (await queue.review(task.id, "retried", by="ada", payload=[LARGE])).payload == [LARGE]
        assert len(await queue.store.payload_digests()) == 1
        claim = await take(queue, "job")
        assert (claim.task.payload, claim.task.context) == ([LARGE], {"a": {"payload": 2}})

    async def test_an_expired_claim_with_a_large_payload_is_told_of_by_name(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        queue = at(queue)
        task = await queue.add("job", LARGE, retry="immediate")
        await queue.renew(await take(queue, "job", lease=10))
        await elapse(queue, clock, 12)
        told: list[Any] = [event.data["payload"] for event in await events(queue) if "payload" in event.data]
        assert told == [{"ref": f"task:{task.id}:payload"}]

    async def test_values_that_look_like_marks_come_back_where_some_lie_elsewhere(self, queue: Queue) -> None:
        queue = at(queue)
        forged = {"dibs:kept": {"digest": "sha256:" + "0" * 64, "size": 5, "ref": "task:x:output"}}
        for value in (forged, {"dibs:kept": {"value": forged}}, {"dibs:kept": LARGE}):
            task = await queue.add("job", value)
            assert task.payload == value
            await queue.add("next", after=[task])
            claim = await take(queue, "job")
            assert claim.task.payload == value
            await queue.complete(claim, value)
            known = await queue.get(task.id)
            assert (known.payload, known.output) == (value, value)
            assert (await take(queue, "next")).inputs == {task.id: value}
        assert (await queue.find(type="job", limit=1)).items[0].output == {"ref": f"task:{task.id}:output"}

    async def test_what_keeps_an_output_elsewhere_is_no_artifact_of_anybody(self, queue: Queue) -> None:
        queue = at(queue)
        task = await queue.add("job")
        claim = await take(queue, "job")
        with pytest.raises(Invalid) as refused:
            await queue.put_artifact(claim, "dibs:output", b"mine")
        assert refused.value.field == "name"
        mine = await queue.put_artifact(claim, "mine", b"mine")
        with pytest.raises(Invalid) as refused:
            await queue.complete(claim, artifacts=[{"name": "dibs:output", "digest": mine.digest, "size": 4}])
        assert refused.value.field == "artifacts"
        assert await status(queue, task) == Status.RUNNING
        await queue.complete(claim, LARGE)
        assert [artifact.name for artifact in await queue.artifacts(task.id)] == ["mine"]
        assert [artifact.name for artifact in await queue.artifacts(task.dag_id)] == ["mine"]
