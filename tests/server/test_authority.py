"""Who is asking: tokens of the store, trusted for half a second; and an audit that nobody can fill by knocking."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Unavailable
from dibs.model.role import Role
from dibs.queue import Queue
from dibs.rules import tokens
from dibs.rules.access import Rights
from dibs.server import authority as module
from dibs.server.authority import StoreAuthority, rights_of
from dibs.server.callers import Caller
from dibs.stores.memory import MemoryStore
from dibs.testing import FakeClock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class CountingStore(MemoryStore):
    """Counts how often tokens are looked up; can be away."""

    looks = 0
    is_away = False

    async def documents(self, project: str, kind: str, **options: Any) -> Any:
        if self.is_away:
            raise Unavailable("It is away.")
        if kind == tokens.KIND and options.get("name"):
            self.looks += 1
            await asyncio.sleep(0.01)
        return await super().documents(project, kind, **options)


def on_a_server(
    test: Callable[[Queue, StoreAuthority, CountingStore], Awaitable[None]],
    clock: FakeClock | None = None,
    **options: Any,
) -> None:
    async def run() -> None:
        store = CountingStore(clock=clock)
        queue = Queue(store)
        authority = StoreAuthority(queue, **options)
        try:
            await test(queue, authority, store)
        finally:
            store.is_away = False
            await authority.close()

    asyncio.run(run())


def test_a_secret_becomes_a_caller() -> None:
    async def test(queue: Queue, authority: StoreAuthority, _: CountingStore) -> None:
        issued = await queue.create_token("coder", project="p", types=["code"], max_depth=1, max_cost=2)
        caller = await authority.identify(issued.secret)
        assert caller is not None
        assert (caller.name, caller.role, caller.project, caller.types) == (
            "coder",
            Role.AGENT,
            "p",
            frozenset({"code"}),
        )
        assert (caller.token_id, caller.limits.depth, caller.limits.children) == (issued.id, 1, 1000)
        assert rights_of(caller) == Rights(
            project="p", agent="coder", types=frozenset({"code"}), depth=1, children=1000, cost_usd=2.0
        )
        admin = await authority.identify((await queue.create_token("ops", role="admin")).secret)
        assert admin is not None
        assert rights_of(admin) == Rights(project="default")

    on_a_server(test)


@pytest.mark.parametrize("secret", ["", "x", "dibs_", "dibs_" + "0" * 49, "dibs_\x00", "dibs_" + "é" * 49])
def test_what_is_no_secret_is_not_looked_up(secret: str) -> None:
    async def test(_: Queue, authority: StoreAuthority, store: CountingStore) -> None:
        assert await authority.identify(secret) is None
        assert store.looks == 0

    on_a_server(test)


def test_a_secret_of_nobody_is_nobody() -> None:
    async def test(_: Queue, authority: StoreAuthority, store: CountingStore) -> None:
        assert await authority.identify(tokens.secret_of(bytes(32))) is None
        assert store.looks == 1

    on_a_server(test)


def test_many_requests_at_once_cost_one_look() -> None:
    async def test(queue: Queue, authority: StoreAuthority, store: CountingStore) -> None:
        secret = (await queue.create_token("coder")).secret
        callers = await asyncio.gather(*(authority.identify(secret) for _number in range(100)))
        assert len({caller.token_id for caller in callers if caller is not None}) == 1
        assert all(await asyncio.gather(*(authority.identify(secret) for _number in range(100))))
        assert store.looks == 1

    on_a_server(test, trusted_s=600)


def test_a_revoked_token_is_refused_within_a_second_on_every_server() -> None:
    async def test(queue: Queue, authority: StoreAuthority, _: CountingStore) -> None:
        other = StoreAuthority(queue)
        secret = (await queue.create_token("coder")).secret
        assert await authority.identify(secret) is not None
        assert await other.identify(secret) is not None
        await queue.revoke_token("coder")
        for each in (authority, other):
            while await each.identify(secret) is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        # Nothing but this is waited for.
        assert module.TRUSTED_S < 1.0
        await other.close()

    on_a_server(test)


def test_a_token_expires_to_the_moment() -> None:
    clock = FakeClock()

    async def test(queue: Queue, authority: StoreAuthority, store: CountingStore) -> None:
        secret = (await queue.create_token("coder", expires=1.0)).secret
        assert await authority.identify(secret) is not None
        clock.advance(0.999)
        assert await authority.identify(secret) is not None
        clock.advance(0.001)
        assert await authority.identify(secret) is None
        assert store.looks == 1, "it is trusted for as long as others are"

    on_a_server(test, clock, trusted_s=600)


def test_nobody_comes_in_while_the_store_is_away() -> None:
    async def test(queue: Queue, authority: StoreAuthority, store: CountingStore) -> None:
        secret = (await queue.create_token("coder")).secret
        store.is_away = True
        with pytest.raises(Unavailable):
            await authority.identify(secret)
        store.is_away = False
        assert await authority.identify(secret) is not None

    on_a_server(test)


def test_it_is_noted_now_and_then_that_a_token_was_used() -> None:
    async def test(queue: Queue, authority: StoreAuthority, _: CountingStore) -> None:
        issued = await queue.create_token("coder")
        for _number in range(50):
            await authority.identify(issued.secret)
        await asyncio.sleep(0)
        [token] = await queue.tokens()
        assert token.last_used_at is not None
        [used] = await queue.store.documents("", tokens.USED)
        assert (used.name, used.version) == (issued.id, used.updated_at), "written once"

    on_a_server(test)


CODER = Caller(name="coder", role=Role.AGENT, project="p", token_id="tok_1")


async def _entries(queue: Queue, authority: StoreAuthority) -> list[tuple[str | None, str, str, int]]:
    await authority.close()
    return [(entry.by, entry.act, entry.outcome, entry.count) for entry in await queue.audit()]


def test_what_repeats_is_counted_and_not_written_each_time() -> None:
    async def test(queue: Queue, authority: StoreAuthority, _: CountingStore) -> None:
        for number in range(500):
            await authority.record(None, "claim", f"/v1/claims/{number}", "no_token")
            await authority.record(CODER, "set_budget", "/v1/budgets", "denied")
        await authority.record(CODER, "set_budget", "/v1/budgets", "not_found")
        assert await _entries(queue, authority) == [
            (None, "claim", "no_token", 1),
            ("coder", "set_budget", "denied", 1),
            ("coder", "set_budget", "not_found", 1),
            (None, "claim", "no_token", 499),
            ("coder", "set_budget", "denied", 499),
        ]
        assert [entry.project for entry in await queue.audit()] == ["default", "p", "p", "default", "p"]
        assert (await queue.verify_audit()).sound

    on_a_server(test)


def test_what_is_counted_is_written_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FOLDED_S", 0.05)

    async def test(queue: Queue, authority: StoreAuthority, _: CountingStore) -> None:
        for _number in range(3):
            await authority.record(None, "claim", "/v1/claims", "no_token")
        while len(await queue.audit()) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert [entry.count for entry in await queue.audit()] == [1, 2]
        while authority._folded:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        # What was forgotten is told at once when it comes again.
        await authority.record(None, "claim", "/v1/claims", "no_token")
        assert [count for *_, count in await _entries(queue, authority)] == [1, 2, 1]

    on_a_server(test)


def test_every_act_that_was_done_is_written() -> None:
    async def test(queue: Queue, authority: StoreAuthority, _: CountingStore) -> None:
        for number in range(20):
            await authority.record(CODER, "set_budget", f"/v1/budgets/{number}", "done")
        assert await _entries(queue, authority) == [("coder", "set_budget", "done", 1)] * 20

    on_a_server(test)


def test_recording_never_raises(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 2)

    async def test(_: Queue, authority: StoreAuthority, store: CountingStore) -> None:
        store.is_away = True
        for _number in range(5):
            await authority.record(CODER, "set_budget", "/v1/budgets", "done")
        await authority.close()

    on_a_server(test)
    assert "cannot keep up" in caplog.text
    assert "It is away." in caplog.text
