"""Hooks: who is told what happens, kept with the tasks. Delivering to them is for a server."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Conflict, Invalid, NotFound
from dibs.model.instants import from_micros
from dibs.rules.hooks import MAX_HOOKS
from dibs.testing.conformance.topic import Topic, events

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock

URL = "https://ci.example.com/dibs"


class Hooks(Topic):
    @pytest.mark.routing
    async def test_a_hook_is_kept_as_it_was_set_and_its_secret_told_once(
        self, queue: Queue, other: Queue, clock: FakeClock
    ) -> None:
        task = await queue.add("job")
        made = await queue.add_hook("ci", URL, events=["task.*"], task=task, agent="ada", source="/here")
        assert made.secret is not None
        assert made.secret.startswith("whsec_")
        assert (made.name, made.kind, made.url, made.events) == ("ci", "cloudevents", URL, ("task.*",))
        assert (made.task, made.dag, made.agent, made.source) == (task.id, None, "ada", "/here")
        assert (made.status, made.created_at, made.seq) == ("active", from_micros(clock()), 2)
        made.secret = None
        assert await other.get_hook("ci") == made
        assert await other.hooks() == [made]
        assert await queue.store.check() == []

    async def test_a_hook_begins_with_what_comes_or_where_it_is_told_to(self, queue: Queue) -> None:
        await queue.add("job")
        assert (await queue.add_hook("now", URL)).seq == await queue.store.last_seq()
        assert (await queue.add_hook("all", URL, after=0)).seq == 0
        assert (await queue.add_hook("far", URL, after=10**9)).seq == await queue.store.last_seq()

    async def test_a_name_is_given_once(self, queue: Queue, other: Queue) -> None:
        first = await queue.add_hook("ci", URL)
        with pytest.raises(Conflict) as refused:
            await other.add_hook("ci", URL + "/other")
        assert (refused.value.code, refused.value.field) == ("exists", "name")
        assert [hook.id for hook in await queue.hooks()] == [first.id]
        assert len(await queue.store.documents("default", "hook_state")) == 1

    @pytest.mark.door
    async def test_of_many_that_add_the_same_one_does(self, queue: Queue, other: Queue) -> None:
        adding = [(queue if number % 2 else other).add_hook("ci", f"{URL}/{number}") for number in range(6)]
        answers = await asyncio.gather(*adding, return_exceptions=True)
        assert sum(not isinstance(answer, BaseException) for answer in answers) == 1
        assert len(await queue.hooks()) == 1

    async def test_hooks_of_projects_are_apart(self, queue: Queue) -> None:
        from dibs.hooks import projects_with_hooks
        from dibs.queue import Queue

        elsewhere = Queue(queue.store, project="elsewhere")
        await queue.add_hook("ci", URL)
        assert await elsewhere.hooks() == []
        with pytest.raises(NotFound):
            await elsewhere.get_hook("ci")
        await elsewhere.add_hook("ci", URL + "/other")
        assert [hook.url for hook in await queue.hooks()] == [URL]
        assert await projects_with_hooks(queue.store) == ["default", "elsewhere"]

    async def test_a_hook_is_paused_and_resumed(self, queue: Queue, other: Queue) -> None:
        await queue.add_hook("ci", URL)
        assert (await queue.pause_hook("ci")).status == "paused"
        assert (await other.get_hook("ci")).status == "paused"
        with pytest.raises(Conflict):
            await other.test_hook("ci")
        assert (await other.resume_hook("ci")).status == "active"
        assert (await queue.get_hook("ci")).status == "active"

    async def test_a_new_secret_leaves_the_old_one_valid_for_a_while(self, queue: Queue, clock: FakeClock) -> None:
        first = await queue.add_hook("ci", URL)
        second = await queue.rotate_hook("ci", overlap="1h")
        assert second.secret not in (None, first.secret)
        assert second.old_secret_until == from_micros(clock()) + timedelta(hours=1)
        assert (await queue.get_hook("ci")).secret is None
        await queue.add_hook("chat", URL, kind="slack")
        with pytest.raises(Invalid) as refused:
            await queue.rotate_hook("chat")
        assert refused.value.field == "name"

    async def test_a_hook_is_changed_and_keeps_its_secret_and_its_place(
        self, queue: Queue, other: Queue, clock: FakeClock
    ) -> None:
        from dibs.hooks import read_state, specs_of, write_state

        task = await queue.add("job")
        made = await queue.add_hook("ci", URL, events=["task.*"], agent="ada", source="/here", after=1)
        clock.advance(60)
        changed = await other.set_hook("ci", URL + "/v2", events="dag.failed", task=task)
        assert (changed.url, changed.events, changed.task) == (URL + "/v2", ("dag.failed",), task.id)
        assert (changed.agent, changed.source, changed.secret) == (None, None, None)
        assert (changed.id, changed.kind, changed.seq) == (made.id, "cloudevents", 1)
        assert changed.created_at == made.created_at
        assert await queue.get_hook("ci") == changed
        assert (await specs_of(queue.store, "default"))["ci"].secret == made.secret
        # One that nobody answered goes on at the new place; one that was paused stays so.
        state, version = await read_state(queue.store, "default", made.id)
        state.disabled_at = clock()
        await write_state(queue.store, "default", made.id, state, version)
        assert (await queue.get_hook("ci")).status == "disabled"
        assert (await queue.set_hook("ci", URL)).status == "active"
        await queue.pause_hook("ci")
        assert (await other.set_hook("ci", URL + "/v3")).status == "paused"
        await queue.add_hook("mail", "mailto:ada@example.com", kind="email")
        with pytest.raises(Invalid) as refused:
            await queue.set_hook("mail", URL)
        assert refused.value.field == "url"

    async def test_what_is_replayed_begins_where_it_is_told_to(self, queue: Queue) -> None:
        await queue.add("job")
        await queue.add_hook("ci", URL)
        assert (await queue.replay_hook("ci", 1)).seq == 1
        assert (await queue.get_hook("ci")).seq == 1

    async def test_tests_are_counted(self, queue: Queue, other: Queue) -> None:
        await queue.add_hook("ci", URL)
        ids = await asyncio.gather(*((queue if number % 2 else other).test_hook("ci") for number in range(4)))
        assert len(set(ids)) == 4
        assert await queue.deliveries("ci") == []

    async def test_a_hook_that_was_removed_leaves_nothing(self, queue: Queue) -> None:
        await queue.add_hook("ci", URL)
        await queue.test_hook("ci")
        await queue.remove_hook("ci")
        assert await queue.hooks() == []
        for kind in ("hook", "hook_state", "hook_log"):
            assert await queue.store.documents("default", kind) == []
        again = await queue.add_hook("ci", URL)
        assert again.status == "active"

    async def test_hooks_are_no_events(self, queue: Queue) -> None:
        await queue.add_hook("ci", URL)
        await queue.pause_hook("ci")
        await queue.remove_hook("ci")
        assert await events(queue) == []

    async def test_there_are_not_too_many(self, queue: Queue) -> None:
        for number in range(MAX_HOOKS):
            await queue.add_hook(f"hook {number}", URL)
        with pytest.raises(Conflict, match="remove one first"):
            await queue.add_hook("one more", URL)

    async def test_a_hook_that_makes_no_sense_is_refused_and_changes_nothing(self, queue: Queue) -> None:
        await queue.add_hook("old", URL)
        before = await queue.hooks()
        refused: list[tuple[str, str, tuple[Any, ...], dict[str, Any]]] = [
            ("name", "add_hook", ("", URL), {}),
            ("name", "add_hook", ("x" * 201, URL), {}),
            ("name", "add_hook", (5, URL), {}),
            ("url", "add_hook", ("ci", "ftp://x.test"), {}),
            ("url", "add_hook", ("ci", None), {}),
            ("url", "add_hook", ("ci", "https://u:p@x.test"), {}),
            ("kind", "add_hook", ("ci", URL), {"kind": "pager"}),
            ("events", "add_hook", ("ci", URL), {"events": ["task.complete"]}),
            ("events", "add_hook", ("ci", URL), {"events": 5}),
            ("task", "add_hook", ("ci", URL), {"task": ""}),
            ("dag", "add_hook", ("ci", URL), {"dag": 5}),
            ("agent", "add_hook", ("ci", URL), {"agent": "a\0"}),
            ("source", "add_hook", ("ci", URL), {"source": ""}),
            ("after", "add_hook", ("ci", URL), {"after": -1}),
            ("url", "set_hook", ("old", "ftp://x.test"), {}),
            ("events", "set_hook", ("old", URL), {"events": 5}),
            ("task", "set_hook", ("old", URL), {"task": ""}),
            ("agent", "set_hook", ("old", URL), {"agent": "a\0"}),
            ("after", "replay_hook", ("old", "x"), {}),
            ("after", "replay_hook", ("old", -1), {}),
            ("overlap", "rotate_hook", ("old",), {"overlap": "-1s"}),
            ("overlap", "rotate_hook", ("old",), {"overlap": "31d"}),
            ("limit", "deliveries", ("old",), {"limit": 0}),
        ]
        for field, verb, arguments, options in refused:
            with pytest.raises(Invalid) as caught:
                await getattr(queue, verb)(*arguments, **options)
            assert caught.value.field == field, verb
        for verb in ("get_hook", "pause_hook", "resume_hook", "remove_hook", "rotate_hook", "deliveries", "test_hook"):
            with pytest.raises(NotFound) as missing:
                await getattr(queue, verb)("ci")
            assert missing.value.field == "name"
        with pytest.raises(NotFound):
            await queue.replay_hook("ci", 0)
        with pytest.raises(NotFound):
            await queue.set_hook("ci", URL)
        assert await queue.hooks() == before
