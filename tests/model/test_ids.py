"""Ids: fresh everywhere, and in the order they were made."""

from __future__ import annotations

import multiprocessing
import threading
from typing import Any

from dibs.model import ids


def test_ids_sort_in_the_order_they_were_made() -> None:
    made = [ids.new_id("task") for _ in range(20_000)]
    assert made == sorted(set(made))
    assert {len(id) for id in made} == {len("task_") + 26}


def test_ids_sort_also_when_the_clock_goes_back(monkeypatch: Any) -> None:
    first = ids.new_id("task")
    monkeypatch.setattr("dibs.model.ids.time.time_ns", lambda: 1_000_000_000)
    assert first < ids.new_id("task") < ids.new_id("task")


def test_threads_share_no_id() -> None:
    made: list[str] = []
    threads = [
        threading.Thread(target=lambda: made.extend([ids.new_id("task") for _ in range(5_000)])) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 20_000


def _make(results: Any) -> None:
    results.put([ids.new_id("task") for _ in range(1_000)])


def test_a_forked_process_shares_no_id_with_its_parent() -> None:
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    children = [context.Process(target=_make, args=(results,)) for _ in range(3)]
    for child in children:
        child.start()
    made = [ids.new_id("task")[15:] for _ in range(1_000)]
    for _ in children:
        made += [id[15:] for id in results.get()]
    for child in children:
        child.join()
    # Not even the part that says nothing of the time.
    assert len(set(made)) == 4_000


def test_a_derived_id_follows_from_what_it_is_for_and_sorts_by_its_instant() -> None:
    at = 1_800_000_000_000_000
    id = ids.derived_id("task", at, "default", "cron:nightly")
    assert id == ids.derived_id("task", at, "default", "cron:nightly")
    assert len(id) == len(ids.new_id("task"))
    others = {
        ids.derived_id("dag", at, "default", "cron:nightly"),
        ids.derived_id("task", at, "other", "cron:nightly"),
        ids.derived_id("task", at, "default", "cron:night", "ly"),
        ids.derived_id("task", at + 1_000, "default", "cron:nightly"),
    }
    assert len(others) == 4
    assert id not in others
    assert id < ids.derived_id("task", at + 1_000, "default", "a")
    assert ids.derived_id("task", -5, "x").startswith("task_0000000000")
