"""Attempts from before prices were kept are all there, and later ones say with which prices their cost was computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs import connect_sync
from dibs.pricing import Prices
from dibs.rules.pricing import Rate, Table
from tests.stores.test_sqlite_upgrading import file_of_version

if TYPE_CHECKING:
    from pathlib import Path

BEFORE_PRICES = 6


def test_attempts_get_a_place_for_their_price(tmp_path: Path) -> None:
    path = file_of_version(tmp_path, BEFORE_PRICES)
    with connect_sync(f"sqlite:{path}") as queue:
        [before] = queue.history("task_1")
        assert (before.fingerprint, before.price) == ("abc", None)
        queue.queue.prices = Prices(Table({"m": Rate(1, 1)}))
        new = queue.add("job")
        [claim] = queue.claim("ada")
        queue.complete(claim, tokens_in=1_000_000, tokens_out=0, model="m")
        [attempt] = queue.history(new.id)
        assert attempt.cost_usd == 1
        assert attempt.price is not None
