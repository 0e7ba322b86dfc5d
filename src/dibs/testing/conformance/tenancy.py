"""Projects are apart: whoever is confined to one is answered about another as if it did not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Denied, DibsError, LeaseLost, NotFound
from dibs.model.artifact import Artifact
from dibs.model.ids import new_id
from dibs.model.task import NewTask
from dibs.rules.access import Rights
from dibs.stores.values import Entry
from dibs.tenancy import homes_of
from dibs.testing.conformance.overflowing import at
from dibs.testing.conformance.topic import Topic, events, finish, kill, on_the_store, seen_by, take

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock

    Call = Callable[[Queue, str], Coroutine[Any, Any, Any]]

TASK = "task_01zzzzzzzzzzzzzzzzzzzzzzzz"
DAG = "dag_01zzzzzzzzzzzzzzzzzzzzzzzz"
QUESTION = "q_01zzzzzzzzzzzzzzzzzzzzzzzz"

ABOUT_TASKS: dict[str, Call] = {
    "get": lambda queue, id: queue.get(id),
    "history": lambda queue, id: queue.history(id),
    "why": lambda queue, id: queue.why(id),
    "wait": lambda queue, id: queue.wait(id, timeout=0),
    "journal": lambda queue, id: queue.journal(id),
    "questions_of": lambda queue, id: queue.questions_of(id),
    "judges_of": lambda queue, id: queue.judges_of(id),
    "artifacts": lambda queue, id: queue.artifacts(id),
    "open_artifact": lambda queue, id: queue.open_artifact(f"task:{id}:artifact:log"),
    "cancel": lambda queue, id: queue.cancel(id),
    "retry": lambda queue, id: queue.retry(id),
    "retry with a payload": lambda queue, id: queue.retry(id, payload={}),
    "set_priority": lambda queue, id: queue.set_priority(id, 1),
    "reassign": lambda queue, id: queue.reassign(id, "bob"),
    "tag": lambda queue, id: queue.tag(id, add=["seen"]),
    "find what it spawned": lambda queue, id: queue.find(query=f"parent:{id}"),
    "recent_events": lambda queue, id: queue.recent_events(task=id),
    "link": lambda queue, id: queue.link(id, after=[id]),
    "review": lambda queue, id: queue.review(id, "dropped", by="bob"),
    "add after it": lambda queue, id: queue.add("x", after=[id]),
    "add after its end": lambda queue, id: queue.add("x", after_ended=[id]),
    "add_dag after it": lambda queue, id: queue.add_dag("x", [NewTask("x", after=[id])]),
    "dead_letter_ids before it": lambda queue, id: queue.dead_letter_ids(before=id),
    "start": lambda queue, id: queue.start((id, 1)),
    "renew": lambda queue, id: queue.renew((id, 1)),
    "complete": lambda queue, id: queue.complete((id, 1)),
    "fail": lambda queue, id: queue.fail((id, 1), "no"),
    "release": lambda queue, id: queue.release((id, 1)),
    "checkpoint": lambda queue, id: queue.checkpoint((id, 1), 1),
    "log": lambda queue, id: queue.log((id, 1), "line"),
    "record": lambda queue, id: queue.record((id, 1), [Entry(kind="step", name="s")]),
    "spawn": lambda queue, id: queue.spawn((id, 1), [NewTask("x")]),
    "ask": lambda queue, id: queue.ask((id, 1), "what?"),
    "put_artifact": lambda queue, id: queue.put_artifact((id, 1), "x", b"x"),
    "a batch": lambda queue, id: _first(queue.review_many([id], "kept", by="bob")),
}
ABOUT_DAGS: dict[str, Call] = {
    "get_dag": lambda queue, id: queue.get_dag(id),
    "wait": lambda queue, id: queue.wait(id, timeout=0),
    "cancel": lambda queue, id: queue.cancel(id),
    "artifacts": lambda queue, id: queue.artifacts(id),
    "open_artifact": lambda queue, id: queue.open_artifact("artifact:log", dag=id),
    "add into it": lambda queue, id: queue.add("x", dag=id),
    "set_escalation": lambda queue, id: queue.set_escalation([{"after": 1, "do": "notify", "to": "ops"}], dag=id),
    "get_escalation": lambda queue, id: queue.get_escalation(dag=id),
    "find": lambda queue, id: queue.find(dag=id),
    "find in words": lambda queue, id: queue.find(query=f"dag:{id}"),
    "count": lambda queue, id: queue.count(f"dag:{id}"),
    "cancel_found": lambda queue, id: queue.cancel_found(f"dag:{id}"),
    "dag_attempts": lambda queue, id: queue.dag_attempts(id),
    "recent_events": lambda queue, id: queue.recent_events(dag=id),
    "dead_letters": lambda queue, id: queue.dead_letters(dag=id),
}
ABOUT_QUESTIONS: dict[str, Call] = {
    "get_question": lambda queue, id: queue.get_question(id),
    "answer": lambda queue, id: queue.answer(id, "this"),
}


async def _first(answers: Coroutine[Any, Any, list[Any]]) -> Any:
    [answer] = await answers
    if isinstance(answer, DibsError):
        raise answer
    return answer


async def _told(call: Call, queue: Queue, id: str) -> Any:
    """What is answered, whatever it is, without the id."""
    try:
        answer = await call(queue, id)
    except DibsError as error:
        return type(error), error.code, error.field, error.message.replace(id, "ID")
    except TimeoutError:
        return "it is there"
    return answer


def both(queue: Queue) -> tuple[Queue, Queue]:
    """The queue as two projects see it."""
    homes = homes_of(queue)
    return seen_by(queue, Rights(project="a"), homes), seen_by(queue, Rights(project="b"), homes)


class Tenancy(Topic):
    @pytest.mark.door
    async def test_what_is_in_another_project_is_answered_as_what_nobody_knows(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        alice, bob = both(queue)
        await alice.add("held")
        held = await take(alice, "held", lease=3600)
        artifact = Artifact(name="log", digest="sha256:" + "0" * 64, size=3, media_type="text/plain")
        await queue.store.put_artifact(held.task.id, held.fence, artifact)
        await alice.add("dead")
        dead = await kill(alice, "dead")
        await alice.add("asks")
        asked = await alice.ask(await take(alice, "asks"), "which?")
        plain = await alice.add("plain")
        dag = await alice.add_dag("d", [NewTask("one", ref="o"), NewTask("two", after=["o"])])
        before = await queue.store.carry_out(0, 1000)
        for name, call in ABOUT_TASKS.items():
            for task_id in (held.task.id, dead.task.id, plain.id):
                assert await _told(call, bob, task_id) == await _told(call, bob, TASK), name
        for name, call in ABOUT_DAGS.items():
            for dag_id in (dag.id, plain.dag_id):
                assert await _told(call, bob, dag_id) == await _told(call, bob, DAG), name
        for name, call in ABOUT_QUESTIONS.items():
            assert await _told(call, bob, asked.id) == await _told(call, bob, QUESTION), name
        clock.advance(1)
        after = await queue.store.carry_out(0, 1000)
        assert [task for task in after.tasks if task.id in {each.id for each in before.tasks}] == before.tasks
        assert await bob.inbox() == []
        assert await bob.agents() == []
        assert (await bob.find(limit=100)).items == []
        assert await bob.claim("bob") == []
        # Whose it is can do all that.
        assert (await alice.get(held.task.id)).id == held.task.id
        await alice.complete(held)

    @pytest.mark.door
    @pytest.mark.routing
    async def test_counts_lists_and_keys_are_those_of_the_project(self, queue: Queue) -> None:
        alice, bob = both(queue)
        for owner, count in ((alice, 3), (bob, 1)):
            await owner.add_many([NewTask("job", {"n": number}) for number in range(count)])
            await owner.add("keyed", {"of": owner.project}, key="the same")
        assert (await alice.stats()).by_status["ready"] == 4
        assert (await bob.stats()).by_status["ready"] == 2
        assert len((await bob.find(limit=100)).items) == 2
        await bob.pause(type="job")
        assert len(await alice.claim("ada", types=["job"], limit=9)) == 3
        assert await bob.claim("ada", types=["job"], limit=9) == []
        assert [agent.id for agent in await bob.agents()] == ["ada"]
        assert [len(agent.tasks) for agent in await bob.agents()] == [0]

    @pytest.mark.door
    async def test_what_is_seen_and_changed_from_above_is_of_the_project(self, queue: Queue) -> None:
        alice, bob = both(queue)
        plan = [NewTask("secret", ref="o", tags=["hers"], user="alice"), NewTask("secret", after=["o"])]
        dag = await alice.add_dag("the plan", plan)
        await alice.complete(await take(alice, "secret", agent="ada"), cost=2.0, model="big")
        await alice.add("dead")
        await kill(alice, "dead")
        await alice.add("asks", approval=True)
        await alice.pause(type="secret")
        before = await queue.store.carry_out(0, 1000)
        assert (await bob.count("")).count == (await bob.count("secret")).count == 0
        for begun in ("type:", "tag:", "user:", "agent:", "reason:"):
            assert await bob.suggest(begun) == []
        for query in (
            "",
            "type:secret",
            "-type:x",
            "tag:hers",
            "user:alice",
            "status:pending,ready,dead_lettered",
            "plan",
        ):
            assert (await bob.find(query=query)).items == []
            for handled in (
                await bob.cancel_found(query),
                await bob.retry_found(query),
                await bob.set_priority_found(query, 1),
                await bob.tag_found(query, add=["bob"]),
            ):
                assert (handled.done, handled.left, handled.refused, handled.cursor) == ([], [], [], None)
        assert (await bob.dags()).items == (await bob.dags(text="plan")).items == []
        assert await bob.lanes(minutes=60) == []
        for by in ("type", "agent", "model", "dag"):
            assert await bob.costs(by) == []
            assert len(await alice.costs(by)) == 1
        assert (await bob.recent_events(limit=1000)).items == []
        seen = await bob.overview()
        assert (seen.questions.count, seen.dead_letters.count, seen.paused, seen.agents) == (0, 0, [], 0)
        assert (seen.pace.spent_usd, seen.oldest_ready_at, seen.tasks) == (None, None, {"ready": 0, "held": 0})
        assert (await queue.store.carry_out(0, 1000)).tasks == before.tasks
        assert [each.id for each in (await alice.dags()).items] == [dag.id]

    @pytest.mark.door
    async def test_the_place_to_go_on_from_is_never_a_dag_of_others(self, queue: Queue, clock: FakeClock) -> None:
        alice, bob = both(queue)
        for owner in (bob, alice, bob, alice, alice, bob):
            clock.advance(1)
            await owner.add_dag("d", [NewTask("one", ref="o"), NewTask("two", after=["o"])])
        met, cursor = [], None
        while True:
            page = await bob.dags(limit=1, cursor=cursor)
            met += [dag.id for dag in page.items]
            cursor = page.cursor
            if cursor is None:
                break
            assert (await bob.get_dag(cursor)).project == "b"
        assert len(met) == 3
        assert met == sorted(met, reverse=True)

    @pytest.mark.door
    async def test_events_of_others_are_walked_past_once_wherever_one_begins(self, queue: Queue) -> None:
        alice, bob = both(queue)
        first = await bob.add("mine")
        await alice.add_many([NewTask("job") for _ in range(60)])
        last = await bob.add("mine, too")
        for start in (0, 1, 2, 50, 3, 0):
            for limit in (1, 2, 7):
                told = [event.task_id for event in await bob.read_events(start, limit)]
                assert told == ([first.id] * max(0, 2 - start) + [last.id] * 2)[:limit]
        assert await bob.read_events(await queue.store.last_seq(), 1) == []
        page = await bob.recent_events(before=100)
        assert ({event.task_id for event in page.items}, page.before) == ({first.id}, None)
        await alice.add("job")
        again = await bob.add("mine again")
        assert [event.task_id for event in (await bob.recent_events(limit=3)).items] == [again.id] * 2 + [last.id]

    @pytest.mark.door
    async def test_events_are_those_of_the_project(self, queue: Queue, other: Queue) -> None:
        alice, bob = both(queue)
        late = both(other)[0]
        await queue.add("nobody's")
        await alice.register_agent("ada")
        await alice.pause(type="job", reason="a")
        await bob.register_agent("ada")
        await bob.pause(agent="ada", reason="b")
        await bob.set_breaker("job", failure_threshold=1)
        await bob.open_breaker("job", reason="b")
        await alice.resume(type="job")
        await alice.add_dag("d", [NewTask("one", ref="o"), NewTask("two", after=["o"])])
        await finish(alice, "one")
        for owner in (alice, late):
            told = await events(owner)
            assert {event.type for event in told} >= {"agent.registered", "gate.closed", "gate.opened", "dag.started"}
            assert "breaker.opened" not in {event.type for event in told}
            assert {event.reason for event in told if event.type == "gate.closed"} == {"a"}
            own = {task.id for task in (await alice.find(limit=100)).items}
            assert {event.task_id for event in told if event.task_id} == own
        told = await events(bob)
        assert {event.type for event in told} == {"agent.registered", "gate.closed", "breaker.opened"}
        assert {event.data["project"] for event in told} == {"b"}
        # The default project names itself nowhere, and sees none of this.
        first = seen_by(queue, Rights(), homes_of(queue))
        assert {event.type for event in await events(first)} == {"task.added", "task.ready"}

    @pytest.mark.door
    async def test_whoever_waits_for_an_event_does_not_read_those_of_others_again(self, queue: Queue) -> None:
        alice, bob = both(queue)
        await alice.add_many([NewTask("job") for _ in range(30)])
        assert await bob.read_events(0, 10) == []
        await alice.add("one more")
        assert await bob.read_events(0, 10) == []
        task = await bob.add("mine")
        assert [event.task_id for event in await bob.read_events(0, 10)] == [task.id, task.id]

    @pytest.mark.door
    async def test_references_lead_nowhere_else(self, queue: Queue) -> None:
        alice, bob = both(queue)
        secret = (await alice.add("secret")).id
        await finish(alice, "secret", "the plan")
        await bob.add("curious", context={"refs": [f"task:{secret}:output"]})
        # Also for whoever is not confined.
        plain = seen_by(queue, Rights(project="b"), homes_of(queue))
        plain.store = queue.store
        claim = await take(plain, "curious")
        assert "the plan" not in str(claim.context)

    @pytest.mark.door
    async def test_bytes_are_of_the_project_that_brought_them(self, queue: Queue, other: Queue) -> None:
        place = f"memory:{new_id('t')}"
        alice, bob = both(at(queue, place))
        for owner in (alice, bob):
            await owner.add("job")
        hers, his = await take(alice), await take(bob)
        kept = await alice.put_artifact(hers, "plan", b"the plan")
        for reader in (alice, both(at(other, place))[0]):
            assert await (await reader.open_artifact(kept.digest)).read() == b"the plan"
        unknown = "sha256:" + "0" * 64
        assert await _told(lambda queue, id: queue.open_artifact(id), bob, kept.digest) == await _told(
            lambda queue, id: queue.open_artifact(id), bob, unknown
        )
        for refer in (
            lambda: bob.complete(his, artifacts=[kept]),
            lambda: bob.store.put_artifact(his.task.id, his.fence, kept),
        ):
            with pytest.raises(DibsError) as refused:
                await refer()
            assert "are not kept" in refused.value.message
        # Whoever has them anyway may bring them, too; and what was brought may be named.
        same = await bob.keep_bytes("plan", b"the plan")
        assert same.digest == kept.digest
        await bob.complete(his, artifacts=[same])
        assert await (await bob.open_artifact(kept.digest)).read() == b"the plan"
        assert await queue.store.kept_digests([kept.digest, unknown], "b") == {kept.digest}
        assert await queue.store.kept_digests([kept.digest], "c") == set()

    @pytest.mark.door
    async def test_where_something_is_at_home_can_be_asked(self, queue: Queue) -> None:
        alice, bob = both(queue)
        task = await alice.add("job")
        dag = await bob.add_dag("d", [NewTask("one", ref="o"), NewTask("two", after=["o"])])
        await bob.add("asks")
        asked = await bob.ask(await take(bob, "asks"), "which?")
        ids = [task.id, task.dag_id, dag.id, dag.tasks[0].id, dag.tasks[0].dag_id, asked.id, TASK, DAG, QUESTION, ""]
        assert await queue.store.projects(ids) == ["a", "a", "b", "b", "b", "b", None, None, None, None]
        assert await bob.store.projects([task.id, dag.id]) == [None, "b"]
        assert await queue.store.projects([]) == []

    @on_the_store("what is not for agents at all; routes refuse that before")
    async def test_an_agent_acts_as_itself_on_its_types_only(self, queue: Queue) -> None:
        homes = homes_of(queue)
        ada = seen_by(queue, Rights(agent="ada", types=frozenset({"code", "test"})), homes)
        await queue.add_many([NewTask("code"), NewTask("test"), NewTask("deploy", priority=1)])
        with pytest.raises(Denied) as denied:
            await ada.claim("ada", types=["code", "deploy"])
        assert denied.value.field == "types"
        claims = await ada.claim("ada:host:1") + await ada.claim("bob", limit=10)
        assert sorted(claim.task.type for claim in claims) == ["code", "test"]
        # Whatever it calls itself, it is known as one of its own.
        assert [claim.agent for claim in claims] == ["ada:host:1", "ada:bob"]
        assert (await ada.register_agent("carl")).id == "ada:carl"
        await ada.drain_agent("carl")
        await ada.unregister_agent("ada:carl")
        assert [agent.id for agent in await queue.agents()] == ["ada:bob", "ada:carl", "ada:host:1"]
        with pytest.raises(NotFound):
            await ada.drain_agent("nobody")
        with pytest.raises(Denied):
            await ada.add("code")
        with pytest.raises(Denied):
            await ada.add_many([NewTask("code") for _ in range(30)])

    @pytest.mark.door
    async def test_an_agent_ends_only_what_it_holds(self, queue: Queue, other: Queue, clock: FakeClock) -> None:
        homes = homes_of(queue)
        ada, bob = (seen_by(queue, Rights(agent=name), homes) for name in ("ada", "bob"))
        # On another server, which has seen none of it.
        far = seen_by(other, Rights(agent="bob"), homes_of(other))
        await queue.add_many([NewTask("job") for _ in range(3)])
        claim = await take(ada, agent="ada:1", lease=3600)
        for thief in (bob, far):
            for name, call in ABOUT_TASKS.items():
                if name in ("start", "renew", "complete", "fail", "release", "checkpoint", "log", "spawn", "ask"):
                    with pytest.raises(Denied) as refused:
                        await call(thief, claim.task.id)
                    assert refused.value.field == "task_id", name
            own = await take(thief, agent="bob")
            answers = await thief.renew_many([_renewal(own), _renewal(claim), _renewal(own)])
            assert [isinstance(answer, Denied) for answer in answers] == [False, True, False]
        assert (await queue.get(claim.task.id)).status == "running"
        # The same token under another of its names, or after it was rotated.
        await ada.renew((claim.task.id, claim.fence), progress=0.5)
        await ada.complete((claim.task.id, claim.fence), 1)
        # Said twice it is answered twice, also to a server that did not hand it out; but nobody else.
        anew = seen_by(other, Rights(agent="ada"), homes_of(other))
        assert (await anew.complete((claim.task.id, claim.fence), 1)).outcome == "completed"
        with pytest.raises(Denied):
            await far.complete((claim.task.id, claim.fence), 1)
        with pytest.raises(LeaseLost):
            await far.complete((claim.task.id, claim.fence + 1), 1)

    @pytest.mark.door
    async def test_an_agent_spawns_within_its_limits(self, queue: Queue) -> None:
        rights = Rights(agent="ada", types=frozenset({"code"}), depth=1, children=3, cost_usd=1.0)
        ada = seen_by(queue, rights, homes_of(queue))
        await queue.add("code")
        claim = await take(ada)
        for field, tasks in (
            ("type", [NewTask("deploy", max_cost=0.1)]),
            ("max_cost", [NewTask("code")]),
            ("max_cost", [NewTask("code", max_cost=0.6), NewTask("code", max_cost=0.6)]),
            ("children", [NewTask("code", max_cost=0.1) for _ in range(4)]),
        ):
            with pytest.raises(DibsError) as refused:
                await ada.spawn(claim, tasks)
            assert refused.value.field == field
        [child] = await ada.spawn(claim, [NewTask("code", max_cost=0.1)])
        below = await take(ada)
        assert below.task.id == child.id
        with pytest.raises(Denied) as denied:
            await ada.spawn(below, [NewTask("code", max_cost=0.1)])
        assert denied.value.field == "depth"
        assert len((await queue.find(limit=100)).items) == 2

    @pytest.mark.door
    async def test_the_store_as_a_whole_is_for_operators(self, queue: Queue) -> None:
        alice, _ = both(queue)
        first = seen_by(queue, Rights(), homes_of(queue))
        assert await first.store.check() == []
        for call in (alice.store.check, alice.store.advise, alice.store.census, alice.store.payload_digests):
            with pytest.raises(Denied):
                await call()
        with_a_place = both(at(queue))[0]
        for verb in (with_a_place.look_at_artifacts, with_a_place.sweep_artifacts):
            with pytest.raises(Denied):
                await verb()
        for name in ("carry_settings", "handed_in", "expired"):
            with pytest.raises(Denied):
                await getattr(first.store, name)()
        with pytest.raises(Denied):
            await alice.store.documents("b", "note")
        with pytest.raises(Denied):
            await alice.store.stats("b")
        with pytest.raises(NotFound):
            await alice.get(TASK)


def _renewal(claim: Any) -> Any:
    from dibs.stores.values import Renewal

    return Renewal(task_id=claim.task.id, fence=claim.fence)
