"""Triggers: one task or dag for everything that happens, and never too many."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.json import encode

from dibs.errors import Conflict, Denied, Invalid, NotFound
from dibs.model.task import NewTask
from dibs.rules import signatures
from dibs.testing.conformance.schedules import made
from dibs.testing.conformance.topic import Topic, elapse, finish, kill, take

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.model.trigger import Receipt
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock

SECRET = "It's a Secret to Everybody"  # noqa: S105 - as documented by GitHub
FIX = {
    "type": "fix",
    "payload": {"task": "{{event.task.id}}", "why": "{{event.reason}}", "all": "{{event.task.payload}}"},
}


async def send(
    queue: Queue, name: str, data: Any, *, scheme: str = "github", secret: str = SECRET, id: str = "msg_1", **more: str
) -> Receipt:
    """Send a webhook as its sender would."""
    body = encode(data)
    headers: Mapping[str, str] = signatures.sign(scheme, secret, body, id=id, stamp=queue.store.now() // 1_000_000)
    return await queue.receive(name, {**headers, **{key.replace("_", "-"): value for key, value in more.items()}}, body)


class Triggers(Topic):
    @pytest.mark.routing
    async def test_a_dead_letter_makes_a_task(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("code", {"old": True})
        await kill(queue, "code")
        trigger = await queue.add_trigger("repair", "event", events=["task.dead_lettered"], task=FIX)
        assert (trigger.on, trigger.events, trigger.made) == ("event", ("task.dead_lettered",), 0)
        await elapse(queue, clock, 1)
        assert await made(queue, "fix") == [], "what happened before is not what it waits for"
        task = await queue.add("code", {"n": 7})
        await kill(queue, "code")
        await elapse(queue, clock, 1)
        await elapse(queue, clock, 1)
        [fix] = await made(queue, "fix")
        assert fix.payload == {"task": task.id, "why": "error", "all": {"n": 7}}
        assert fix.created_by == "trigger:repair"
        assert fix.context["trigger"]["depth"] == 1
        trigger = await queue.get_trigger("repair")
        assert (trigger.made, trigger.last_id, trigger.error) == (1, fix.id, None)
        assert await queue.store.check() == []

    async def test_only_what_fits_makes_something(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_trigger(
            "docs",
            "event",
            events="task.completed",
            where={"event.task.type": ["code", "api*"], "event.task.tags.0": "public"},
            task={"type": "docs", "title": "Docs of {{event.task.title}}", "tags": ["of:{{event.task.type}}"]},
        )
        await queue.add_many(
            [
                NewTask("code", title="Parser", tags=["public"]),
                NewTask("code", title="Lexer"),
                NewTask("api-v2", title="API", tags=["public"]),
                NewTask("other", title="Other", tags=["public"]),
            ]
        )
        for type in ("code", "code", "api-v2", "other"):
            await finish(queue, type)
        await elapse(queue, clock, 1)
        found = await made(queue, "docs")
        assert sorted((task.title, task.tags) for task in found) == [
            ("Docs of API", ("of:api-v2",)),
            ("Docs of Parser", ("of:code",)),
        ]

    async def test_a_dag_that_ended_makes_a_dag(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_trigger(
            "report",
            "event",
            events=["dag.completed"],
            where={"event.dag.title": "Pipeline*"},
            dag={
                "title": "Report on {{event.dag.title}}",
                "tasks": [{"ref": "a", "type": "gather"}, {"type": "write", "after": ["a"]}],
            },
        )
        await queue.add_dag("Pipeline 7", [NewTask("load")])
        await queue.add_dag("Another", [NewTask("load")])
        await finish(queue, "load")
        await finish(queue, "load")
        await elapse(queue, clock, 1)
        await elapse(queue, clock, 1)
        [gather] = await made(queue, "gather")
        dag = await queue.get_dag(gather.dag_id)
        assert (dag.title, dag.created_by) == ("Report on Pipeline 7", "trigger:report")

    async def test_whoever_looks_and_however_often_an_event_makes_one(
        self, queue: Queue, other: Queue, clock: FakeClock
    ) -> None:
        from dibs.duties.desk import Desk
        from dibs.duties.trigger import CURSOR, KIND, trigger

        await queue.add_trigger("docs", "event", events="task.completed", where={"event.task.type": "code"}, task=FIX)
        await queue.add_many([NewTask("code") for _ in range(5)])
        for claim in await queue.claim("ada", limit=5):
            await queue.complete(claim)
        desks = [Desk(place.store, draw=lambda: 0.5) for place in (queue, other, queue)]
        await asyncio.gather(*(trigger(desk) for desk in desks))
        assert len(await made(queue, "fix")) == 5
        # As if whoever made them was killed before it said so, and one of them has ended since.
        await kill(queue, "fix")
        await queue.store.write_document("", CURSOR, KIND, b"0")
        await trigger(desks[0])
        await trigger(desks[1])
        assert len(await made(queue, "fix")) == 5
        assert (await queue.get_trigger("docs")).made == 5

    async def test_a_loop_ends_at_its_depth(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_trigger("again", "event", events="task.completed", task={"type": "loop"}, max_depth=3)
        await queue.add("loop")
        for _ in range(8):
            for claim in await queue.claim("ada", limit=10):
                await queue.complete(claim)
            await elapse(queue, clock, 1)
        found = await made(queue, "loop")
        assert sorted(task.context["trigger"]["depth"] for task in found if task.context) == [1, 2, 3]
        trigger = await queue.get_trigger("again")
        assert (trigger.made, trigger.dropped) == (3, 1)
        assert "loop" in (trigger.error or "")

    async def test_a_loop_through_spawned_tasks_ends_too(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_trigger(
            "again",
            "event",
            events="task.completed",
            where={"event.task.type": "leaf"},
            task={"type": "root"},
            max_depth=2,
        )
        await queue.add("leaf")
        for _ in range(8):
            for claim in await queue.claim("ada", types=["root"], limit=10):
                await queue.spawn(claim, [NewTask("leaf")])
                await queue.complete(claim)
            for claim in await queue.claim("ada", types=["leaf"], limit=10):
                await queue.complete(claim)
            await elapse(queue, clock, 1)
        assert len(await made(queue, "root")) == 2

    async def test_no_more_is_made_than_the_rate_allows(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_trigger(
            "docs",
            "event",
            events="task.completed",
            where={"event.task.type": "code"},
            rate="3/min",
            task={"type": "docs"},
        )
        await queue.add_many([NewTask("code") for _ in range(10)])
        for claim in await queue.claim("ada", limit=10):
            await queue.complete(claim)
        await elapse(queue, clock, 1)
        assert len(await made(queue, "docs")) == 3
        trigger = await queue.get_trigger("docs")
        assert (trigger.made, trigger.dropped, trigger.error) == (3, 7, "dropped: its rate is 3/min")
        clock.advance(60)
        await queue.add("code")
        await finish(queue, "code")
        await elapse(queue, clock, 1)
        assert len(await made(queue, "docs")) == 4

    async def test_a_pause_and_what_happened_meanwhile(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_trigger("docs", "event", events="task.completed", task={"type": "docs"})
        await queue.pause_trigger("docs")
        await queue.add("code")
        await finish(queue, "code")
        await elapse(queue, clock, 1)
        assert not (await queue.resume_trigger("docs")).paused
        await elapse(queue, clock, 1)
        assert await made(queue, "docs") == []
        await queue.add("code")
        await finish(queue, "code")
        await elapse(queue, clock, 1)
        assert len(await made(queue, "docs")) == 1

    async def test_those_of_another_project_are_its_own_and_so_is_what_happens_there(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        from dibs.queue import Queue

        there = Queue(queue.store, project="other")
        await queue.add_trigger("docs", "event", events="task.completed", task={"type": "docs"})
        await there.add_trigger("docs", "event", events="task.completed", task={"type": "theirs"}, max_depth=1)
        await there.add("code")
        await finish(there, "code")
        await elapse(queue, clock, 1)
        assert await made(queue, "docs") == []
        assert len(await made(there, "theirs")) == 1
        assert [trigger.made for trigger in await queue.triggers()] == [0]

    async def test_friction_makes_one_task_until_it_has_cooled_down(
        self, queue: Queue, other: Queue, clock: FakeClock
    ) -> None:
        await queue.add_trigger(
            "refactor",
            "friction",
            type="auth",
            failure_rate=0.4,
            window="1h",
            least=5,
            cool_down="2h",
            task={"type": "refactor", "payload": {"rate": "{{event.data.failure_rate}}", "n": "{{event.data.failed}}"}},
        )
        await queue.add_many([NewTask("auth", max_attempts=1) for _ in range(5)])
        for number in range(5):
            claim = await take(queue, "auth")
            if number < 2:
                await queue.fail(claim, "broken")
            else:
                await queue.complete(claim)
            await elapse(queue, clock, 61)
            assert len(await made(queue, "refactor")) == (1 if number == 4 else 0)
        [task] = await made(queue, "refactor")
        assert task.payload == {"rate": 0.4, "n": 2}
        for _ in range(3):
            await elapse(other, clock, 61)
        assert len(await made(queue, "refactor")) == 1
        clock.advance(timedelta(hours=2))
        await elapse(queue, clock, 61)
        assert len(await made(queue, "refactor")) == 1, "it goes smoothly now"
        await queue.add_many([NewTask("auth", max_attempts=1) for _ in range(5)])
        for _ in range(5):
            await queue.fail(await take(queue, "auth"), "broken")
        await elapse(queue, clock, 61)
        assert len(await made(queue, "refactor")) == 2

    async def test_friction_that_was_not_written_down_is_found_again(self, queue: Queue, clock: FakeClock) -> None:
        from dibs.duties import firing
        from dibs.duties.trigger import feel

        await queue.add_trigger(
            "cheaper", "friction", type="code", cost=5, task={"type": "cheaper", "payload": "{{event.data.cost_usd}}"}
        )
        await queue.add_many([NewTask("code"), NewTask("code")])
        await queue.complete(await take(queue, "code"), cost=6)
        before = await firing.load(queue.store, queue.project, "cheaper")
        assert before is not None
        assert await feel(queue.store, queue.project, before) == 1
        await queue.complete(await take(queue, "code"), cost=2)
        # As if whoever made it was killed before it said so: another look finds another cost, and the same task.
        after = await firing.load(queue.store, queue.project, "cheaper")
        assert after is not None
        before.version = after.version
        await firing.save(queue.store, queue.project, before)
        assert await feel(queue.store, queue.project, before) == 1
        [task] = await made(queue, "cheaper")
        assert task.payload == 6
        assert await feel(queue.store, queue.project, before) == 0

    # Webhooks

    @pytest.mark.door
    async def test_a_signed_webhook_makes_a_task_once(self, queue: Queue) -> None:
        trigger = await queue.add_trigger(
            "review",
            "webhook",
            scheme="github",
            secret=SECRET,
            where={"event.type": "pull_request", "event.data.action": ["opened", "reopened"]},
            task={
                "type": "review",
                "title": "Review {{event.data.title}}",
                "payload": {
                    "number": "{{event.data.number}}",
                    "url": "x/{{event.data.number}}",
                    "raw": "{{event.data}}",
                },
            },
        )
        assert trigger.secrets == (SECRET,)
        assert (await queue.get_trigger("review")).secrets == ()
        assert [each.secrets for each in await queue.triggers()] == [()]
        data = {"action": "opened", "number": 7, "title": "Mend {{event.data.action}}"}
        receipt = await send(queue, "review", data, x_github_event="pull_request")
        assert receipt.id is not None
        assert not receipt.existing
        again = await send(queue, "review", data, x_github_event="pull_request", x_github_delivery="another")
        assert (again.id, again.existing) == (receipt.id, True)
        task = await queue.get(receipt.id)
        assert (task.title, task.created_by) == ("Review Mend {{event.data.action}}", "trigger:review")
        assert task.payload == {"number": 7, "url": "x/7", "raw": data}
        other = await send(queue, "review", {"action": "closed"}, x_github_event="pull_request")
        assert (other.id, other.reason) == (None, "it does not fit")
        assert len(await made(queue, "review")) == 1
        assert (await queue.get_trigger("review")).made == 1

    async def test_what_is_not_signed_with_the_secret_makes_nothing(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_trigger(
            "in", "webhook", scheme="standard", secret=signatures.secret_from(b"a" * 32, "standard"), task=FIX
        )
        body = b'{"x": 1}'
        headers = signatures.sign(
            "standard",
            signatures.secret_from(b"a" * 32, "standard"),
            body,
            id="m",
            stamp=clock() // 1_000_000,
        )
        for wrong in ({}, {**headers, "Webhook-Signature": "v1,x"}, {**headers, "Webhook-Id": "n"}):
            with pytest.raises(Denied):
                await queue.receive("in", wrong, body)
        with pytest.raises(Denied):
            await queue.receive("in", headers, body + b" ")
        clock.advance(301)
        with pytest.raises(Denied) as refused:
            await queue.receive("in", headers, body)
        assert refused.value.code == "stale_signature"
        assert await made(queue, "fix") == []

    async def test_slack_is_answered_and_repeats_itself_in_vain(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_trigger("slack", "webhook", scheme="slack", secret=SECRET, task=FIX)
        hello = await send(queue, "slack", {"type": "url_verification", "challenge": "c1"}, scheme="slack")
        assert hello.challenge == "c1"
        data = {"type": "event_callback", "event_id": "Ev1", "event": {"text": "hi"}}
        first = await send(queue, "slack", data, scheme="slack")
        clock.advance(60)
        again = await send(queue, "slack", data, scheme="slack")
        assert (again.id, again.existing) == (first.id, True)
        assert len(await made(queue, "fix")) == 1

    async def test_a_form_is_read_as_what_it_holds(self, queue: Queue) -> None:
        await queue.add_trigger(
            "form", "webhook", scheme="github", secret=SECRET, task={"type": "form", "payload": "{{event.data}}"}
        )
        for body in (b"text=a+b&empty=", b"payload=%7B%22n%22%3A1%7D", b"payload=nothing"):
            headers = signatures.sign("github", SECRET, body, id="", stamp=0)
            await queue.receive("form", {**headers, "content-type": "application/x-www-form-urlencoded"}, body)
        found = [task.payload for task in await made(queue, "form")]
        assert {"text": "a b", "empty": ""} in found
        assert {"n": 1} in found
        assert {"payload": "nothing"} in found

    @pytest.mark.door
    async def test_text_that_no_store_keeps_is_replaced(self, queue: Queue) -> None:
        await queue.add_trigger(
            "in", "webhook", scheme="github", secret=SECRET, task={"type": "fix", "payload": "{{event.data.x}}"}
        )
        body = b'{"x": "a\\u0000b"}'
        receipt = await queue.receive("in", signatures.sign("github", SECRET, body, id="", stamp=0), body)
        assert receipt.id is not None
        assert (await queue.get(receipt.id)).payload == "a\ufffdb"

    async def test_bodies_that_cannot_be_read_are_refused(self, queue: Queue) -> None:
        await queue.add_trigger("in", "webhook", scheme="github", secret=SECRET, task=FIX)
        for body in (b"", b"{", b"\xff", b"[" * 100_000, b'"' + b"x" * (600 << 10) + b'"'):
            headers = signatures.sign("github", SECRET, body, id="", stamp=0)
            with pytest.raises(Invalid) as refused:
                await queue.receive("in", headers, body)
            assert refused.value.field == "body"
        assert await made(queue, "fix") == []

    async def test_webhooks_for_nobody_are_refused(self, queue: Queue) -> None:
        await queue.add_trigger("events", "event", events="task.completed", task=FIX)
        await queue.add_trigger("in", "webhook", scheme="github", secret=SECRET, task=FIX)
        await queue.pause_trigger("in")
        for name in ("events", "in", "nobody"):
            with pytest.raises(NotFound):
                await send(queue, name, {})

    async def test_a_rate_holds_for_webhooks(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_trigger("in", "webhook", scheme="github", secret=SECRET, rate="2/min", task=FIX)
        receipts = [await send(queue, "in", {"n": number}) for number in range(4)]
        assert [receipt.reason for receipt in receipts] == [None, None, "its rate is 2/min", "its rate is 2/min"]
        again = await send(queue, "in", {"n": 0})
        assert (again.id, again.existing) == (receipts[0].id, True)
        clock.advance(30)
        assert (await send(queue, "in", {"n": 2})).id is not None
        assert len(await made(queue, "fix")) == 3

    @pytest.mark.door
    async def test_many_at_once_make_one_each(self, queue: Queue, other: Queue) -> None:
        await queue.add_trigger("in", "webhook", scheme="github", secret=SECRET, task=FIX)
        receipts = await asyncio.gather(
            *(send(place, "in", {"n": number}) for number in range(4) for place in (queue, other))
        )
        assert len({receipt.id for receipt in receipts}) == 4
        assert len(await made(queue, "fix")) == 4

    async def test_a_secret_is_drawn_and_kept_when_it_is_replaced_and_not_shown_again(self, queue: Queue) -> None:
        for scheme in ("github", "standard"):
            trigger = await queue.add_trigger(scheme, "webhook", scheme=scheme, task=FIX)
            [secret] = trigger.secrets
            changed = await queue.add_trigger(scheme, "webhook", scheme=scheme, task={"type": "other"}, replace=True)
            assert (changed.task, changed.secrets) == ({"type": "other"}, ())
            assert (await send(queue, scheme, {"n": 1}, scheme=scheme, secret=secret)).id is not None

    async def test_a_secret_that_is_new_is_shown_when_a_trigger_is_replaced(self, queue: Queue) -> None:
        [first] = (await queue.add_trigger("in", "webhook", scheme="github", task=FIX)).secrets
        [given] = (
            await queue.add_trigger("in", "webhook", scheme="github", secret=SECRET, task=FIX, replace=True)
        ).secrets
        assert given == SECRET
        [drawn] = (await queue.add_trigger("in", "webhook", scheme="standard", task=FIX, replace=True)).secrets
        assert drawn not in (first, SECRET)
        assert (await send(queue, "in", {"n": 1}, scheme="standard", secret=drawn)).id is not None
        with pytest.raises(Denied):
            await send(queue, "in", {"n": 2}, scheme="github", secret=SECRET)

    # As they are

    async def test_what_cannot_be_made_is_told(self, queue: Queue) -> None:
        await queue.add_trigger(
            "in", "webhook", scheme="github", secret=SECRET, task={"type": "fix", "after": ["task_that_is_not_there"]}
        )
        receipt = await send(queue, "in", {})
        assert receipt.id is None
        assert "task_that_is_not_there" in (receipt.reason or "")
        assert (await queue.get_trigger("in")).error == receipt.reason

    async def test_a_trigger_is_added_once_replaced_if_that_is_said_and_removed_once(self, queue: Queue) -> None:
        first = await queue.add_trigger("docs", "event", events="task.completed", task=FIX)
        assert await queue.add_trigger("docs", "event", events=["task.completed"], task=FIX) == first
        with pytest.raises(Conflict) as refused:
            await queue.add_trigger("docs", "event", events="dag.failed", task=FIX)
        assert (refused.value.code, refused.value.field) == ("exists", "name")
        changed = await queue.add_trigger("docs", "event", events="dag.failed", task=FIX, replace=True)
        assert changed.events == ("dag.failed",)
        assert [trigger.name for trigger in await queue.triggers()] == ["docs"]
        assert (await queue.remove_trigger("docs")).name == "docs"
        for verb in (queue.remove_trigger, queue.get_trigger, queue.pause_trigger, queue.resume_trigger):
            with pytest.raises(NotFound) as gone:
                await verb("docs")
            assert gone.value.field == "name"

    async def test_a_trigger_can_be_tried_without_making_anything(self, queue: Queue) -> None:
        await queue.add_trigger("docs", "event", events="task.completed", where={"event.reason": "x"}, task=FIX)
        tried = await queue.preview_trigger("docs", {"reason": "x", "task": {"id": "t1", "payload": [1]}})
        assert (tried.fits, tried.task) == (True, {"type": "fix", "payload": {"task": "t1", "why": "x", "all": [1]}})
        assert not (await queue.preview_trigger("docs", {})).fits
        with pytest.raises(Invalid) as refused:
            await queue.preview_trigger("docs", [])
        assert refused.value.field == "event"
        assert await made(queue, "fix") == []

    async def test_where_there_are_no_triggers_one_document_is_read(self, queue: Queue) -> None:
        from dibs.duties.desk import Desk
        from dibs.duties.trigger import trigger
        from dibs.testing.conformance.schedules import Counting

        counting = Counting(queue.store)
        desk = Desk(counting, draw=lambda: 0.5)
        assert await trigger(desk) == 0
        assert counting.calls == ["documents"]
        await queue.add_trigger("in", "webhook", scheme="github", task=FIX)
        await trigger(desk)
        counting.calls.clear()
        await trigger(desk)
        assert counting.calls == ["documents"]

    async def test_triggers_that_make_no_sense_are_refused_and_nothing_is_kept(self, queue: Queue) -> None:
        right: dict[str, Any] = {"on": "event", "events": "task.completed", "task": FIX}
        wrongs: list[tuple[str, dict[str, Any]]] = [
            ("name", {"name": "a b"}),
            ("on", {"on": "whim"}),
            ("events", {"events": ()}),
            ("scheme", {"scheme": "github"}),
            ("where", {"where": {"x": 1}}),
            ("rate", {"rate": "many"}),
            ("max_depth", {"max_depth": 0}),
            ("paused", {"paused": 1}),
            ("replace", {"replace": 1}),
            ("task", {"task": None}),
            ("type", {"task": {"type": "{{event.data.type}}"}}),
            ("secret", {"on": "webhook", "events": (), "scheme": "github", "secret": "short"}),
            ("scheme", {"on": "webhook", "events": (), "scheme": "none"}),
            ("paths", {"on": "files", "events": (), "paths": ["relative/*.md"]}),
            ("failure_rate", {"on": "friction", "events": (), "type": "x"}),
        ]
        for field, wrong in wrongs:
            parts: dict[str, Any] = {"name": "t", **right, **wrong}
            with pytest.raises(Invalid) as refused:
                await queue.add_trigger(parts.pop("name"), parts.pop("on"), **parts)
            assert refused.value.field == field, wrong
        assert await queue.triggers() == []
