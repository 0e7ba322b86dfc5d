"""What Loki's files may say, and how a mistake in them is told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.loki.format import COMPLETED, PENDING, read_tasks
from tests.loki.files import task


def test_a_task_needs_only_an_id_and_a_type() -> None:
    [read] = read_tasks({"tasks": [{"id": "a", "type": "t"}]}, PENDING, "pending.json")
    assert (read.priority, read.dependencies, read.payload, read.timeout_s) == (5, (), {}, None)
    assert (read.retries, read.max_retries, read.backoff_s, read.available_at) == (0, 3, 60, None)
    assert read.rest == {}


def test_null_is_as_good_as_nothing() -> None:
    fields = (
        "priority",
        "dependencies",
        "payload",
        "timeout",
        "retries",
        "maxRetries",
        "backoffSeconds",
        "availableAt",
    )
    [read] = read_tasks({"tasks": [{"id": "a", "type": "t", **dict.fromkeys(fields)}]}, PENDING, "pending.json")
    assert read == read_tasks({"tasks": [{"id": "a", "type": "t"}]}, PENDING, "pending.json")[0]


def test_what_is_not_read_is_kept_except_claims() -> None:
    said = task("a", claimedBy="agent-7", claimedAt="2026-01-01T09:00:00Z", lastError="503", colour="red")
    [read] = read_tasks({"tasks": [said]}, PENDING, "pending.json")
    assert read.rest == {
        "idempotencyKey": 4711,
        "createdAt": "2026-01-01T08:00:00Z",
        "lastError": "503",
        "colour": "red",
    }


@pytest.mark.parametrize("said", ["2026-01-01T12:00:00Z", "2026-01-01T13:00:00+01:00", 1767268800, 1767268800.0])
def test_instants_are_iso_or_seconds_as_jq_writes_them(said: Any) -> None:
    [read] = read_tasks({"tasks": [task("a", availableAt=said)]}, PENDING, "pending.json")
    assert read.available_at == datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_an_instant_without_a_zone_is_this_machines() -> None:
    [read] = read_tasks({"tasks": [task("a", availableAt="2026-01-01T12:00:00")]}, PENDING, "pending.json")
    assert read.available_at == datetime(2026, 1, 1, 12).astimezone()


def test_a_dependency_named_twice_is_one() -> None:
    [read] = read_tasks({"tasks": [task("a", dependencies=["b", "b"])]}, PENDING, "pending.json")
    assert read.dependencies == ("b",)


def test_of_tasks_that_are_over_only_the_id_is_read() -> None:
    [read] = read_tasks({"tasks": [{"id": "a", "priority": "whatever"}]}, COMPLETED, "completed.json")
    assert (read.id, read.queue) == ("a", COMPLETED)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"id": 7}, "id"),
        ({"id": ""}, "id"),
        ({"id": "a\0b"}, "id"),
        ({"type": None}, "type"),
        ({"type": 7}, "type"),
        ({"priority": "high"}, "priority"),
        ({"priority": 0}, "priority"),
        ({"priority": 11}, "priority"),
        ({"priority": True}, "priority"),
        ({"dependencies": "b"}, "dependencies"),
        ({"dependencies": [7]}, "dependencies"),
        ({"payload": "do it"}, "payload"),
        ({"timeout": "soon"}, "timeout"),
        ({"timeout": -1}, "timeout"),
        ({"retries": 1.5}, "retries"),
        ({"retries": -1}, "retries"),
        ({"maxRetries": "3"}, "maxRetries"),
        ({"backoffSeconds": [60]}, "backoffSeconds"),
        ({"availableAt": "tomorrow"}, "availableAt"),
        ({"availableAt": -1}, "availableAt"),
        ({"availableAt": {}}, "availableAt"),
        ({"dibs": "yes"}, "dibs"),
    ],
    ids=str,
)
def test_a_wrong_field_is_refused_naming_file_task_and_field(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_tasks({"tasks": [task("first"), {**task("second"), **fields}]}, PENDING, "q/pending.json")
    assert refused.value.field == field
    who = "task '" if isinstance(fields.get("id", "second"), str) and fields.get("id") != "" else "task 2"
    assert refused.value.message.startswith(f"q/pending.json: {who}")


@pytest.mark.parametrize("content", [None, [], "tasks", {}, {"tasks": {}}, {"tasks": None}], ids=str)
def test_a_file_holds_a_list_of_tasks(content: Any) -> None:
    with pytest.raises(Invalid, match=r"q/pending\.json must hold"):
        read_tasks(content, PENDING, "q/pending.json")


def test_a_task_is_an_object() -> None:
    with pytest.raises(Invalid, match="task 2 must be an object"):
        read_tasks({"tasks": [task("a"), "b"]}, PENDING, "pending.json")


def test_a_task_stands_once_in_a_file() -> None:
    with pytest.raises(Invalid, match="'a' is there twice"):
        read_tasks({"tasks": [task("a"), task("b"), task("a")]}, PENDING, "pending.json")
