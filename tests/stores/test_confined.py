"""What is confined is denied by default: every verb of the contract is written down, and no other can be reached."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from dibs.rules.access import Rights
from dibs.stores.confined import Confined, Homes
from dibs.stores.contract import Store
from dibs.stores.memory import MemoryStore


def members(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")} | {"url", "late_drafts"}


def test_every_verb_of_the_contract_says_what_it_is_for_whoever_is_confined() -> None:
    assert members(Confined) == members(Store)


def test_what_is_not_written_down_cannot_be_called() -> None:
    store: Any = MemoryStore()
    confined: Any = Confined(store, Rights(), Homes(store))
    store.a_new_verb = lambda: "done"
    with pytest.raises(AttributeError):
        confined.a_new_verb()
