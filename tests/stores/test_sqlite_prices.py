"""What an earlier schema held is all there afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

from dibs import connect_sync
from dibs.pricing import Prices
from dibs.rules.pricing import Rate, Table

if TYPE_CHECKING:
    from pathlib import Path

BEFORE_PRICES = 6
"""The last version in which attempts did not say with which prices their cost was computed."""


def test_attempts_get_a_place_for_their_price(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'work.db'}"
    with connect_sync(url) as queue:
        old = queue.add("job")
        (claim,) = queue.claim("ada")
        queue.complete(claim, "done", cost=0.5, tokens_in=5)
        before = queue.history(old.id)
    file = apsw.Connection(str(tmp_path / "work.db"))
    file.execute(f"ALTER TABLE attempts DROP COLUMN price; PRAGMA user_version = {BEFORE_PRICES}")
    file.close()

    with connect_sync(url) as queue:
        assert queue.history(old.id) == before
        queue.queue.prices = Prices(Table({"m": Rate(1, 1)}))
        new = queue.add("job")
        (claim,) = queue.claim("ada")
        queue.complete(claim, tokens_in=1_000_000, tokens_out=0, model="m")
        (attempt,) = queue.history(new.id)
        assert attempt.cost_usd == 1
        assert attempt.price is not None
