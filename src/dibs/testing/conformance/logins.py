"""Links that log a browser in: kept as digests, each good once, for a while."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Invalid
from dibs.rules import logins
from dibs.rules.access import Rights
from dibs.tenancy import homes_of
from dibs.testing.conformance.topic import Topic, on_the_store, seen_by

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Logins(Topic):
    @pytest.mark.door
    async def test_a_code_is_given_with_what_it_allows_and_when_it_ends(self, queue: Queue, clock: FakeClock) -> None:
        login = await queue.create_login("ada", role="viewer", valid="5m")
        assert logins.is_code(login.code)
        assert (login.name, login.role) == ("ada", "viewer")
        again = await queue.create_login("ada", role="viewer", valid="5m")
        assert again.code != login.code
        assert again.expires_at == login.expires_at

    @on_the_store("what is kept is seen in the store only")
    async def test_a_code_is_kept_nowhere_and_forgotten_when_it_is_too_old(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        login = await queue.create_login(valid=60, by="ada")
        [kept] = await queue.store.documents("", logins.KIND)
        assert kept.name == logins.digest_of(login.code)
        assert login.code.encode() not in kept.body
        assert [(entry.act, entry.by) for entry in await queue.audit()] == [("create_login", "ada")]
        clock.advance(61)
        other = await queue.create_login()
        assert [each.name for each in await queue.store.documents("", logins.KIND)] == [logins.digest_of(other.code)]

    @on_the_store("codes become tokens inside the server")
    async def test_of_many_who_follow_a_link_at_once_one_comes_in(self, queue: Queue, other: Queue) -> None:
        from dibs.server.logins import redeem

        login = await queue.create_login("ada", role="viewer")
        tries = [redeem(each, login.code) for each in (queue, other) * 5]
        found = await asyncio.gather(*tries, return_exceptions=True)
        assert sorted(type(each).__name__ for each in found) == ["Denied"] * 9 + ["IssuedToken"]
        assert [token.name for token in await queue.tokens()] == ["ada"]

    @on_the_store("what is kept is seen in the store only")
    async def test_links_of_one_project_leave_room_for_those_of_others(self, queue: Queue) -> None:
        homes = homes_of(queue)
        alice, bob = (seen_by(queue, Rights(project=project), homes) for project in ("a", "b"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(logins, "MAX_OPEN", 2)
            for _ in range(2):
                await alice.create_login()
            with pytest.raises(Invalid):
                await alice.create_login()
            assert (await bob.create_login()).role == "admin"

    @pytest.mark.door
    async def test_what_cannot_be_is_refused_by_its_name(self, queue: Queue) -> None:
        for field, value in (("name", ""), ("role", "root"), ("valid", "2d"), ("lasts", 0)):
            with pytest.raises(Invalid) as refused:
                await queue.create_login(**{field: value})  # type: ignore[arg-type]
            assert refused.value.field == field
