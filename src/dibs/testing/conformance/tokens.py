"""Tokens are kept as digests, end when they are told to, and whatever is done to them is in the audit."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Denied, Invalid, NotFound
from dibs.rules import access, audit, tokens
from dibs.tenancy import homes_of
from dibs.testing.conformance.topic import Topic, on_the_store, seen_by

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def acts(queue: Queue) -> list[tuple[str, str | None]]:
    """What was done, and by whom."""
    return [(entry.act, entry.by) for entry in await queue.audit()]


class Tokens(Topic):
    @on_the_store("by whom is what a server knows of its caller")
    async def test_a_secret_is_shown_once_and_kept_nowhere(self, queue: Queue, other: Queue) -> None:
        issued = await queue.create_token("coder", types=["code"], expires="1h", by="ada")
        assert tokens.is_secret(issued.secret)
        [token] = await other.tokens()
        assert (token.id, token.name, token.role, token.types) == (issued.id, "coder", "agent", ("code",))
        assert not hasattr(token, "secret")
        kept = await queue.store.documents("", tokens.KIND)
        assert [document.name for document in kept] == [tokens.digest_of(issued.secret)]
        assert issued.secret.encode() not in kept[0].body
        entries = await queue.store.documents("", audit.KIND)
        assert all(issued.secret.encode() not in document.body for document in entries)
        assert await acts(queue) == [("create_token", "ada")]

    @on_the_store("by whom is what a server knows of its caller")
    async def test_a_token_ends_when_it_expires_or_is_revoked(self, queue: Queue, clock: FakeClock) -> None:
        short = await queue.create_token("short", expires="1h")
        await queue.create_token("long", role="viewer")
        await queue.revoke_token("long", by="ada")
        assert [token.name for token in await queue.tokens()] == ["short"]
        clock.advance(3601)
        assert await queue.tokens() == []
        assert [token.name for token in await queue.tokens(ended=True)] == ["short", "long"]
        # Again is no mistake, and nothing is recorded twice.
        assert (await queue.revoke_token(short.id)).revoked_at is None
        assert await acts(queue) == [("create_token", "shell"), ("create_token", "shell"), ("revoke_token", "ada")]
        clock.advance(91 * 86_400)
        await queue.create_token("new")
        assert [token.name for token in await queue.tokens(ended=True)] == ["new"]

    @on_the_store("by whom is what a server knows of its caller")
    async def test_a_rotated_token_has_the_same_rights_and_the_old_one_ends(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        old = await queue.create_token("coder", types=["code"], max_depth=1, max_children=2, max_cost=0.5)
        new = await queue.rotate_token("coder", grace="10m", by="ada")
        assert new.secret != old.secret
        assert (new.name, new.types, new.max_depth, new.max_children, new.max_cost) == ("coder", ("code",), 1, 2, 0.5)
        assert [token.id for token in await queue.tokens()] == [old.id, new.id]
        clock.advance(601)
        assert [token.id for token in await queue.tokens()] == [new.id]
        last = await queue.rotate_token(new.id)
        assert [token.id for token in await queue.tokens()] == [last.id]
        with pytest.raises(Invalid) as refused:
            await queue.rotate_token(old.id)
        assert refused.value.field == "token"

    @pytest.mark.door
    async def test_a_grace_does_not_make_a_token_last_longer(self, queue: Queue, clock: FakeClock) -> None:
        await queue.create_token("coder", expires="5m")
        await queue.rotate_token("coder", grace="1h")
        clock.advance(301)
        assert await queue.tokens() == []

    @pytest.mark.door
    async def test_a_project_sees_to_its_own_tokens(self, queue: Queue) -> None:
        homes = homes_of(queue)
        alice, bob = (seen_by(queue, access.Rights(project=project), homes) for project in ("a", "b"))
        mine = await alice.create_token("mine")
        assert mine.project == "a"
        yours = await queue.create_token("yours", project="b")
        assert [token.name for token in await alice.tokens()] == ["mine"]
        assert [token.name for token in await bob.tokens()] == ["yours"]
        assert [token.name for token in await queue.tokens()] == ["mine", "yours"]
        for verb in (alice.revoke_token, alice.rotate_token):
            for name in (yours.id, "yours"):
                with pytest.raises(NotFound):
                    await verb(name)
        with pytest.raises(Denied) as refused:
            await alice.create_token("x", project="b")
        assert refused.value.field == "project"
        assert [entry.project for entry in await alice.audit()] == ["a"]
        assert len(await queue.audit()) == 2
        assert len(await queue.tokens()) == 2

    @pytest.mark.door
    async def test_what_makes_no_sense_is_refused_and_nothing_is_kept(self, queue: Queue) -> None:
        for field, options in (
            ("name", {"name": ""}),
            ("role", {"role": "root"}),
            ("project", {"project": ""}),
            ("types", {"types": []}),
            ("types", {"types": ["a"], "role": "viewer"}),
            ("expires", {"expires": "yesterday"}),
            ("expires", {"expires": -5}),
            ("max_depth", {"max_depth": 99}),
            ("max_children", {"max_children": 1.5}),
            ("max_cost", {"max_cost": "much"}),
        ):
            given: dict[str, Any] = {"name": "x", **options}
            with pytest.raises(Invalid) as refused:
                await queue.create_token(given.pop("name"), **given)
            assert refused.value.field == field
        with pytest.raises(NotFound):
            await queue.revoke_token("nobody's")
        with pytest.raises(Invalid) as refused:
            await queue.rotate_token("x", grace="-1s")
        assert refused.value.field == "grace"
        assert await queue.tokens(ended=True) == []
        assert await queue.audit() == []

    @pytest.mark.door
    @pytest.mark.routing
    async def test_a_token_is_revoked_once_however_many_do(self, queue: Queue, other: Queue) -> None:
        token = await queue.create_token("coder")
        ended = await asyncio.gather(*((queue if number % 2 else other).revoke_token(token.id) for number in range(6)))
        assert len({each.revoked_at for each in ended}) == 1
        assert [act for act, _ in await acts(queue)] == ["create_token", "revoke_token"]
