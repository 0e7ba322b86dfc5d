"""The tokens that a server makes itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs import localtokens
from dibs.model.role import Role
from dibs.server.authority import StoreAuthority
from dibs.server.welcoming import first_token, keep_local_token

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from dibs.queue import Queue

URL = "http://127.0.0.1:3427"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def on_a_queue(scene: Callable[[Queue], Awaitable[None]]) -> None:
    async def run() -> None:
        async with dibs.connect("memory:") as queue:
            await scene(queue)

    asyncio.run(run())


def test_of_many_that_start_at_once_one_shows_its_token_and_no_other_is_valid() -> None:
    async def scene(queue: Queue) -> None:
        # All of them have seen that there is none before the first is made.
        made = asyncio.Barrier(5)
        create = queue.create_token

        async def together(*args: Any, **options: Any) -> Any:
            await made.wait()
            return await create(*args, **options)

        queue.create_token = together  # type: ignore[method-assign]
        secrets = await asyncio.gather(*(first_token(queue) for _ in range(5)))
        assert len([secret for secret in secrets if secret]) == 1
        assert len(await queue.tokens()) == 1
        queue.create_token = create  # type: ignore[method-assign]
        assert await first_token(queue) is None

    on_a_queue(scene)


def test_a_store_whose_admin_was_made_by_hand_needs_no_other() -> None:
    async def scene(queue: Queue) -> None:
        await queue.create_token("me", role="admin")
        assert await first_token(queue) is None

    on_a_queue(scene)


def test_who_died_before_its_token_was_shown_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(queue: Queue) -> None:
        write = queue.store.write_document

        async def die(project: str, kind: str, *rest: Any) -> int:
            if kind == "server":
                raise KeyboardInterrupt
            return await write(project, kind, *rest)

        monkeypatch.setattr(queue.store, "write_document", die)
        with pytest.raises(KeyboardInterrupt):
            await first_token(queue)
        monkeypatch.setattr(queue.store, "write_document", write)
        assert await first_token(queue) is not None

    on_a_queue(scene)


def test_the_first_token_is_not_made_again_after_it_was_revoked() -> None:
    async def scene(queue: Queue) -> None:
        assert await first_token(queue) is not None
        await queue.revoke_token("admin")
        assert await first_token(queue) is None

    on_a_queue(scene)


def test_the_token_of_the_shell_is_kept_as_long_as_it_is_valid() -> None:
    async def scene(queue: Queue) -> None:
        await keep_local_token(queue, StoreAuthority(queue), URL)
        first = localtokens.find(URL)
        assert first is not None
        await keep_local_token(queue, StoreAuthority(queue), URL)
        assert localtokens.find(URL) == first
        [token] = await queue.tokens()
        assert token.role is Role.ADMIN
        await queue.revoke_token(token.id)
        await keep_local_token(queue, StoreAuthority(queue), URL)
        assert localtokens.find(URL) not in (None, first)
        assert len(await queue.tokens()) == 1

    on_a_queue(scene)


def test_a_lost_file_leaves_no_token_behind() -> None:
    async def scene(queue: Queue) -> None:
        for secret in ("dibs_nonsense", "dibs_other"):
            await keep_local_token(queue, StoreAuthority(queue), URL)
            localtokens.keep(URL, secret)
        await keep_local_token(queue, StoreAuthority(queue), URL)
        assert len(await queue.tokens()) == 1

    on_a_queue(scene)


def test_where_nothing_can_be_kept_the_server_starts_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(queue: Queue) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", "/proc/nowhere")
        await keep_local_token(queue, StoreAuthority(queue), URL)
        assert await queue.tokens() == []
        assert "needs a token" in caplog.text
        await keep_local_token(queue, StoreAuthority(queue), "http://queue.example.com:3427")
        assert await queue.tokens() == []

    on_a_queue(scene)
