"""Hooks are told of everything they want, in order, at least once, under one id; and a receiver that does not want it
harms nobody."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from msgspec.structs import replace

import dibs
from dibs import hooks as kept
from dibs.queue import Queue
from dibs.rules import hooks as rules
from dibs.server import delivering
from dibs.server.delivering import Delivering
from dibs.server.feed import Feed
from dibs.server.mailing import Mailer
from dibs.server.sending import Sender
from dibs.testing import FakeClock
from tests.hooks.receiver import Received, Receiver, receiving, until, until_so
from tests.servers.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from dibs.model.hook import Delivery, Hook


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes are noticed at once, and nobody waits long for another try."""
    monkeypatch.setattr(delivering, "LOOK_S", 0.02)
    monkeypatch.setattr(delivering, "IDLE_S", 0.1)
    monkeypatch.setattr(delivering, "PAUSE_S", 0.05)
    monkeypatch.setattr(delivering, "ALARM_S", 0.02)
    monkeypatch.setattr(rules, "FIRST_DELAY_S", 0.05)


@asynccontextmanager
async def serving(queue: Queue, *receivers: Receiver, name: str | None = None) -> AsyncIterator[Delivering]:
    """A server's part that delivers, for as long as it is needed."""
    feed = Feed(queue.store)
    targets = [receiver.target for receiver in receivers]
    # What is sent twice, because its answer took too long, is not what is tested.
    sender = Sender(targets, timeout_s=100)
    delivers = Delivering(queue, feed, sender, Mailer(None), name=name, draw=lambda: 0.0)
    task = asyncio.create_task(delivers.run())
    try:
        yield delivers
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await feed.close()
        await sender.close()


async def status_of(queue: Queue, name: str, status: str) -> Hook:
    """The hook once it has this status."""

    async def look() -> Hook | None:
        hook = await queue.get_hook(name)
        return hook if hook.status == status else None

    found: Hook = await until(look)
    return found


async def delivered(queue: Queue, name: str, count: int) -> list[Delivery]:
    """What was sent to a hook, once it is written down that so much of it arrived."""

    async def look() -> list[Delivery] | None:
        log = await queue.deliveries(name)
        return log if [one.outcome for one in log].count("delivered") >= count else None

    found: list[Delivery] = await until(look)
    return found


async def nobody_sends(delivers: Delivering) -> None:
    """Until no hook has anybody who would send it anything."""
    await until_so(lambda: not delivers._couriers and not delivers._leaving)


async def work(queue: Queue, count: int = 1) -> list[str]:
    """Tasks that are added and completed."""
    ids = []
    for _ in range(count):
        task = await queue.add("job", {"n": 1})
        [claim] = await queue.claim("ada")
        await queue.complete(claim, {"done": True})
        ids.append(task.id)
    return ids


def types(got: list[Received]) -> list[str]:
    return [one.event["type"] for one in got]


async def test_a_hook_gets_what_it_wants_signed_and_in_order() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        hook = await queue.add_hook("all", receiver.url, events=["task.*"])
        async with serving(queue, receiver):
            [task_id] = await work(queue)
            got = await receiver.until(5)
        assert types(got) == [f"dibs.task.{name}" for name in ("added", "ready", "claimed", "started", "completed")]
        assert len({one.id for one in got}) == 5
        assert hook.secret is not None
        assert all(one.is_signed_with(hook.secret) for one in got)
        assert not got[0].is_signed_with("whsec_" + "A" * 44)
        last = got[-1]
        assert last.headers["Content-Type"] == "application/cloudevents+json"
        told = last.event
        assert (told["specversion"], told["source"], told["subject"]) == ("1.0", "/dibs/default", task_id)
        assert told["id"] == str(told["data"]["seq"])
        assert told["data"]["data"]["output"] == {"done": True}


async def test_only_what_it_wants_is_sent() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        first = await queue.add("job")
        await queue.add_hook("ends", receiver.url, events=["task.completed"])
        await queue.add_hook("one", receiver.url + "/one", task=first)
        async with serving(queue, receiver):
            await work(queue, 2)
            await receiver.until(2 + 3)
            await asyncio.sleep(0.1)
        ends = [one for one in receiver.got if one.path == "/in"]
        about = [one for one in receiver.got if one.path == "/in/one"]
        assert types(ends) == ["dibs.task.completed"] * 2
        assert {one.event["subject"] for one in about} == {first.id}


async def test_nobody_is_told_of_another_project() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        other = Queue(queue.store, project="other")
        await queue.add_hook("mine", receiver.url + "/mine", events=["*"])
        await other.add_hook("theirs", receiver.url + "/theirs", events=["*"])
        async with serving(queue, receiver):
            mine, theirs = await work(queue), await work(other)
            for path in ("/in/mine", "/in/theirs"):
                await until_so(lambda path=path: [one.path for one in receiver.got].count(path) >= 6)  # type: ignore[misc]
            await asyncio.sleep(0.1)
        for path, ids, source in (("/in/mine", mine, "/dibs/default"), ("/in/theirs", theirs, "/dibs/other")):
            got = [one.event for one in receiver.got if one.path == path]
            assert {told["subject"] for told in got if told["data"].get("task_id")} == set(ids)
            assert {told["source"] for told in got} == {source}
            # An agent of the same name is registered in each.
            assert len(got) >= 6


async def test_a_receiver_that_is_away_gets_everything_when_it_is_back() -> None:
    async with dibs.connect("memory:") as queue:
        async with receiving(free_port()) as gone:
            port = gone.port
        await queue.add_hook("ends", gone.url, events=["task.completed"])
        async with serving(queue, gone):
            ids = await work(queue, 5)
            hook = await status_of(queue, "ends", "failing")
            assert hook.attempts >= 1
            assert hook.next_at is not None
            assert hook.error
            async with receiving(port) as receiver:
                got = await receiver.until(5)
                assert [one.event["subject"] for one in got] == ids
                log = await delivered(queue, "ends", 5)
                await status_of(queue, "ends", "active")
            assert [one.outcome for one in log][:5] == ["delivered"] * 5
            assert log[-1].outcome == "failed"
            assert log[-1].id == log[4].id
            assert log[4].attempt > 1


async def test_an_event_that_is_not_wanted_is_given_up_and_the_next_one_comes() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        await queue.add_hook("ends", receiver.url, events=["task.completed"])
        ids: list[str] = []
        receiver.answer = lambda got: web.Response(status=422 if got.event["subject"] == ids[0] else 200)
        ids += [(await queue.add("job")).id for _ in range(2)]
        async with serving(queue, receiver):
            for claim in await queue.claim("ada", limit=2):
                await queue.complete(claim)
            got = await receiver.until(rules.TRIES_OF_REFUSED + 1)
            log = await delivered(queue, "ends", 1)
            await status_of(queue, "ends", "active")
        assert [one.event["subject"] for one in got] == [ids[0]] * rules.TRIES_OF_REFUSED + [ids[1]]
        assert len({one.id for one in got}) == 2
        assert [one.outcome for one in log] == ["delivered", "refused"] + ["failed"] * (rules.TRIES_OF_REFUSED - 1)


async def test_a_receiver_that_says_that_it_is_gone_is_disabled_until_it_is_resumed() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        await queue.add_hook("ends", receiver.url, events=["task.completed"])
        receiver.answer = lambda got: web.Response(status=410)
        async with serving(queue, receiver) as delivers:
            first = await work(queue)
            hook = await status_of(queue, "ends", "disabled")
            assert "410" in (hook.error or "")
            [told] = [event for event in await queue.read_events() if event.type == "hook.disabled"]
            assert (told.reason, told.data["hook"]) == ("gone", "ends")
            await nobody_sends(delivers)
            more = await work(queue, 2)
            assert len(receiver.got) == 1
            receiver.answer = None
            await queue.resume_hook("ends")
            got = await receiver.until(4)
        assert [one.event["subject"] for one in got] == first + first + more


async def test_a_receiver_that_is_not_reached_for_days_is_disabled() -> None:
    clock = FakeClock()
    async with dibs.connect("memory:", clock=clock) as queue, receiving() as receiver:
        await queue.add_hook("ends", receiver.url, events=["task.completed"])
        receiver.answer = lambda got: web.Response(status=500)
        async with serving(queue, receiver):
            await work(queue)
            await status_of(queue, "ends", "failing")
            clock.advance(rules.DEAD_AFTER_S)
            await queue.test_hook("ends")  # anything that makes its courier look at the clock again
            hook = await status_of(queue, "ends", "disabled")
        assert hook.disabled_at is not None
        assert hook.next_at is None


async def test_what_was_forgotten_before_it_was_told_is_told_as_a_gap() -> None:
    clock = FakeClock()
    async with dibs.connect("memory:", clock=clock, retention="1h") as queue, receiving() as receiver:
        await queue.add_hook("ends", receiver.url, events=["task.completed"])
        await queue.pause_hook("ends")
        await work(queue, 3)
        clock.advance(7_200)
        await queue.prune()
        [last] = await work(queue)
        await queue.resume_hook("ends")
        async with serving(queue, receiver):
            got = await receiver.until(2)
        assert types(got) == ["dibs.gap", "dibs.task.completed"]
        assert got[1].event["subject"] == last
        assert "gap" in got[0].id


async def test_a_paused_hook_gets_nothing_and_goes_on_where_it_was() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        await queue.add_hook("ends", receiver.url, events=["task.completed"])
        async with serving(queue, receiver) as delivers:
            first = await work(queue)
            await receiver.until(1)
            # That it arrived is written down: who is stopped before that sends it again.
            await until(lambda: _is_at(queue, "ends"))
            await queue.pause_hook("ends")
            await nobody_sends(delivers)
            missed = await work(queue, 2)
            assert len(receiver.got) == 1
            await queue.resume_hook("ends")
            got = await receiver.until(3)
        assert [one.event["subject"] for one in got] == first + missed


async def test_what_is_replayed_comes_again_under_the_id_it_had() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        await queue.add_hook("ends", receiver.url, events=["task.completed"])
        async with serving(queue, receiver):
            await work(queue, 3)
            await receiver.until(3)
            second = receiver.got[1]
            await until(lambda: _is_at(queue, "ends"))
            await queue.replay_hook("ends", second.event["data"]["seq"] - 1)
            got = await receiver.until(5)
        assert [one.id for one in got[3:]] == [one.id for one in got[1:3]]
        assert got[3].body == second.body


async def _is_at(queue: Queue, name: str) -> bool:
    return (await queue.get_hook(name)).seq == await queue.store.last_seq()


async def test_while_a_secret_is_replaced_both_are_used() -> None:
    clock = FakeClock()
    async with dibs.connect("memory:", clock=clock) as queue, receiving() as receiver:
        old = (await queue.add_hook("ends", receiver.url, events=["task.completed"])).secret
        new = (await queue.rotate_hook("ends", overlap="1h")).secret
        assert old is not None
        assert new is not None
        assert old != new
        async with serving(queue, receiver):
            await work(queue)
            [got] = await receiver.until(1)
            assert got.is_signed_with(old)
            assert got.is_signed_with(new)
            clock.advance(3_600)
            await work(queue)
            got = (await receiver.until(2))[1]
        assert not got.is_signed_with(old)
        assert got.is_signed_with(new)


async def test_a_test_message_is_sent_also_where_nothing_happens_and_shown() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        hook = await queue.add_hook("ends", receiver.url, events=["dag.failed"])
        async with serving(queue, receiver):
            id = await queue.test_hook("ends")
            [got] = await receiver.until(1)
            [shown] = await until(lambda: queue.deliveries("ends"))
        assert (got.id, got.event["type"]) == (id, "dibs.ping")
        assert hook.secret is not None
        assert got.is_signed_with(hook.secret)
        assert (shown.id, shown.type, shown.outcome, shown.code) == (id, "ping", "delivered", 200)


async def test_two_servers_deliver_each_event_once_as_long_as_both_live() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        await queue.add_hook("ends", receiver.url, events=["task.completed"])
        async with serving(queue, receiver, name="one"), serving(queue, receiver, name="two"):
            ids = await work(queue, 30)
            await receiver.until(30)
            await until(lambda: _is_at(queue, "ends"))
        assert [one.event["subject"] for one in receiver.got] == ids


async def test_a_server_that_is_stopped_lets_the_other_go_on_at_once() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        await queue.add_hook("ends", receiver.url, events=["task.completed"])
        async with serving(queue, receiver, name="one"):
            await work(queue, 3)
            await receiver.until(1)
        async with serving(queue, receiver, name="two"):
            more = await work(queue, 2)
            await until(lambda: _is_at(queue, "ends"))
        assert [one.event["subject"] for one in receiver.got][-2:] == more
        assert len({one.id for one in receiver.got}) == 5


async def test_where_the_server_may_not_send_is_told_and_nothing_is_sent() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        await queue.add_hook("ends", receiver.url, events=["task.completed"])
        async with serving(queue):
            await work(queue)
            hook = await status_of(queue, "ends", "failing")
        assert "loopback" in (hook.error or "")
        assert receiver.got == []


async def test_a_removed_hook_gets_nothing_more_and_leaves_nothing() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        await queue.add_hook("ends", receiver.url, events=["task.completed"])
        async with serving(queue, receiver) as delivers:
            await work(queue)
            await receiver.until(1)
            await queue.remove_hook("ends")
            await nobody_sends(delivers)
            await work(queue)
        assert len(receiver.got) == 1
        for kind in ("hook", "hook_state", "hook_log"):
            assert await queue.store.documents("default", kind) == []


async def test_a_chat_is_told_in_words_of_what_needs_a_person() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        await queue.add_hook("chat", receiver.url, kind="slack")
        async with serving(queue, receiver):
            task = await queue.add("deploy", title="Ship <!channel> it", max_attempts=1)
            [claim] = await queue.claim("ada")
            await queue.fail(claim, "no & such key", reason="out_of_memory")
            asked = await queue.add("deploy", title="Really?", approval=True)
            got = await receiver.until(2)
        dead, waits = (one.event["text"].splitlines() for one in got)
        assert dead[0] == "*Out of memory: deploy · Ship &lt;!channel&gt; it*"
        assert "no &amp; such key" in dead
        assert f"dibs dlq show {task.id}" in dead
        assert waits[0] == "*Waits for an answer: deploy · Really?*"
        assert any(line.startswith("dibs answer ") for line in waits)
        assert any(asked.id in line for line in waits)
        assert "webhook-signature" not in got[0].headers


async def test_a_budget_that_is_used_up_is_an_alarm_told_once_however_many_servers_look() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        await queue.add_hook("chat", receiver.url, kind="slack", events=["budget.*"])
        await queue.set_budget("type:job", 1.0)
        async with serving(queue, receiver), serving(queue, receiver):
            for cost in (0.85, 0.15):
                await queue.add("job")
                [claim] = await queue.claim("ada")
                await queue.complete(claim, cost=cost)
                await receiver.until(1 if cost == 0.85 else 2)
            await asyncio.sleep(0.2)
        first, second = (one.event["text"].splitlines()[0] for one in receiver.got)
        assert first == "*A budget is nearly used up: type:job*"
        assert second == "*A budget is used up: type:job*"


async def test_a_server_that_is_at_it_is_left_alone_until_its_time_is_over() -> None:
    async with dibs.connect("memory:") as queue, receiving() as receiver:
        hook = await queue.add_hook("ends", receiver.url, events=["task.completed"])
        state, version = await kept.read_state(queue.store, "default", hook.id)
        until_then = queue.store.now() + 700_000
        held = replace(state, holder="another", until=until_then)
        await kept.write_state(queue.store, "default", hook.id, held, version)
        await work(queue)
        async with serving(queue, receiver):
            id = await queue.test_hook("ends")
            await receiver.until(2)
            assert queue.store.now() >= until_then
        assert sorted(types(receiver.got)) == ["dibs.ping", "dibs.task.completed"]
        assert id in {one.id for one in receiver.got}
