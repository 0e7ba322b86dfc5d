"""Links that log a browser in: kept as digests, each good once, for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.errors import Invalid
from dibs.rules import logins
from dibs.testing.conformance.topic import Topic, on_the_store

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Logins(Topic):
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

    async def test_what_cannot_be_is_refused_by_its_name(self, queue: Queue) -> None:
        for field, value in (("name", ""), ("role", "root"), ("valid", "2d"), ("lasts", 0)):
            with pytest.raises(Invalid) as refused:
                await queue.create_login(**{field: value})  # type: ignore[arg-type]
            assert refused.value.field == field
