"""Triggers: what they wait for, what fits, what is too much."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dibs.errors import Conflict, Invalid, NotFound
from dibs.model.event import Event
from dibs.model.metrics import Metrics
from dibs.model.status import Status
from dibs.model.task import Task
from dibs.model.trigger import Trigger
from dibs.rules import triggers

START = datetime(2026, 1, 1, tzinfo=UTC)


def trigger(**parts: Any) -> Trigger:
    parts = {"name": "t", "on": "event", "created_at": START, **parts}
    return Trigger(**parts)


def parse(on: object = "event", **parts: Any) -> dict[str, Any]:
    where, rate, depth = parts.pop("where", None), parts.pop("rate", "60/min"), parts.pop("max_depth", 3)
    return triggers.parse(on, where, rate, depth, parts)


def test_triggers_are_read() -> None:
    common = {"where": {}, "rate": "60/min", "max_depth": 3}
    assert parse(events=["task.completed", "dag.*"]) == {
        **common,
        "on": "event",
        "events": ("dag.*", "task.completed"),
    }
    assert parse(events="task.completed")["events"] == ("task.completed",)
    assert parse("webhook", scheme="github", secret="x", events=[], paths=())["scheme"] == "github"
    assert parse("files", paths="/srv/*.md")["paths"] == ("/srv/*.md",)
    rubs = parse("friction", type="code", failure_rate=0.4)
    assert rubs == {
        **common,
        "on": "friction",
        "type": "code",
        "failure_rate": 0.4,
        "cost": None,
        "window": 86400.0,
        "least": 10,
        "cool_down": 86400.0,
    }
    dear = parse("friction", type="code", cost=5, window="1h", least=1, cool_down="2h")
    assert (dear["cost"], dear["window"], dear["least"], dear["cool_down"]) == (5.0, 3600.0, 1, 7200.0)
    assert parse(events="dag.failed", where={"event.reason": ["a", None], "event.data.x": 1})["where"] == {
        "event.reason": ["a", None],
        "event.data.x": 1,
    }


@pytest.mark.parametrize(
    ("on", "parts", "field"),
    [
        ("sometimes", {}, "on"),
        (None, {}, "on"),
        ("event", {}, "events"),
        ("event", {"events": ["agent.lost"]}, "events"),
        ("event", {"events": ["task." + "x" * 50]}, "events"),
        ("event", {"events": 5}, "events"),
        ("event", {"events": "task.compleeted"}, "events"),
        ("event", {"events": "dag.ready"}, "events"),
        ("event", {"events": "task.x*"}, "events"),
        ("event", {"events": "task.added", "scheme": "github"}, "scheme"),
        ("event", {"events": "task.added", "rate": "fast"}, "rate"),
        ("event", {"events": "task.added", "max_depth": 0}, "max_depth"),
        ("event", {"events": "task.added", "where": "x"}, "where"),
        ("event", {"events": "task.added", "where": {"x": 1}}, "where"),
        ("event", {"events": "task.added", "where": {"event.x": {1}}}, "where"),
        ("event", {"events": "task.added", "where": {f"event.x{n}": 1 for n in range(21)}}, "where"),
        ("webhook", {}, "scheme"),
        ("webhook", {"scheme": "github", "paths": ["/x"]}, "paths"),
        ("friction", {"type": "x"}, "failure_rate"),
        ("friction", {"failure_rate": 0.5}, "type"),
        ("friction", {"type": "x", "failure_rate": 1.5}, "failure_rate"),
        ("friction", {"type": "x", "cost": 0}, "cost"),
        ("friction", {"type": "x", "cost": 1, "window": "1s"}, "window"),
        ("friction", {"type": "x", "cost": 1, "least": 0}, "least"),
        ("friction", {"type": "x", "cost": 1, "cool_down": 0}, "cool_down"),
        ("files", {}, "paths"),
        ("files", {"paths": ["relative"]}, "paths"),
        ("files", {"paths": ["/x"] * 21}, "paths"),
        ("files", {"paths": [5]}, "paths"),
    ],
)
def test_what_is_no_trigger_is_refused(on: object, parts: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(on, **parts)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("where", "fits"),
    [
        ({}, True),
        ({"event.type": "push"}, True),
        ({"event.type": "pull"}, False),
        ({"event.type": ["pull", "push"]}, True),
        ({"event.type": "p*h"}, True),
        ({"event.type": "p?*"}, False),
        ({"event.type": "[p]*"}, False),
        ({"event.data.n": 1}, True),
        ({"event.data.n": 1.0}, True),
        ({"event.data.n": True}, False),
        ({"event.data.n": "1*"}, False),
        ({"event.data.missing": None}, True),
        ({"event.data.n": None}, False),
        ({"event.type": "push", "event.data.n": 2}, False),
    ],
)
def test_everything_that_is_wanted_must_fit(where: dict[str, Any], fits: bool) -> None:
    assert triggers.fits(trigger(where=where), {"type": "push", "data": {"n": 1}}) is fits


@pytest.mark.parametrize(
    ("type", "seq", "parts", "waits"),
    [
        ("task.completed", 8, {}, True),
        ("task.completed", 7, {}, False),
        ("task.failed", 8, {}, False),
        ("dag.failed", 8, {}, True),
        ("agent.lost", 8, {"events": ("*",)}, False),
        ("task.completed", 8, {"paused": True}, False),
    ],
)
def test_events_are_waited_for_by_type_from_when_the_trigger_was_there(
    type: str, seq: int, parts: dict[str, Any], waits: bool
) -> None:
    found = trigger(**{"events": ("task.completed", "dag.*"), "after_seq": 7, **parts})
    assert triggers.waits_for(found, Event(seq=seq, type=type, at=START)) is waits


def test_a_task_is_told_in_plain_values() -> None:
    told = triggers.told_of_task(Task(id="task_1", type="code", tags=("a",), status=Status.COMPLETED, output={"x": 1}))
    assert (told["id"], told["tags"], told["status"], told["output"]) == ("task_1", ["a"], "completed", {"x": 1})


@pytest.mark.parametrize(
    ("context", "depth"),
    [
        (None, None),
        ("x", None),
        ({}, None),
        ({"trigger": "x"}, None),
        ({"trigger": {"depth": "2"}}, None),
        ({"trigger": {"depth": True}}, None),
        ({"trigger": {"depth": 0}}, None),
        ({"trigger": {"depth": 2}}, 2),
    ],
)
def test_depth_is_what_the_context_says(context: object, depth: int | None) -> None:
    assert triggers.depth_of(context) == depth


def test_the_context_says_why_something_was_made() -> None:
    context = triggers.context_of(trigger(), "7", 2)
    assert context == {"trigger": {"name": "t", "event": "7", "depth": 2}}
    assert triggers.depth_of(context) == 2


def test_no_more_is_made_than_its_rate_allows() -> None:
    found = trigger(rate="2/min")
    assert triggers.has_token(found, 0)
    found.full_at = triggers.token_taken(found, 0)
    found.full_at = triggers.token_taken(found, 0)
    assert not triggers.has_token(found, 29_000_000)
    assert triggers.has_token(found, 30_000_000)


@pytest.mark.parametrize(
    ("parts", "measured", "reason"),
    [
        ({"failure_rate": 0.4, "least": 10}, None, None),
        ({"failure_rate": 0.4, "least": 10}, {"completed": 5, "failed": 4}, None),
        ({"failure_rate": 0.4, "least": 10}, {"completed": 6, "failed": 4}, "failure_rate"),
        ({"failure_rate": 0.4, "least": 10}, {"completed": 7, "failed": 3}, None),
        ({"failure_rate": 0.4}, {"completed": 0, "failed": 0}, None),
        ({"failure_rate": 0.4}, {"completed": 0, "failed": 1}, "failure_rate"),
        ({"cost": 5.0}, {"completed": 1, "cost_usd": 4.9}, None),
        ({"cost": 5.0}, {"completed": 1, "cost_usd": 5.0}, "cost"),
        ({"cost": 5.0}, {"completed": 1}, None),
        ({"cost": 5.0}, {"cost_usd": 6.0}, "cost"),
    ],
)
def test_friction_is_too_much_failing_or_too_much_cost(
    parts: dict[str, Any], measured: dict[str, Any] | None, reason: str | None
) -> None:
    found = trigger(on="friction", type="code", window=3600.0, **parts)
    rubs = triggers.friction(found, None if measured is None else Metrics(name="code", **measured))
    assert (None if rubs is None else rubs["data"]["reason"]) == reason


def test_friction_cools_down() -> None:
    assert triggers.cools_until(trigger(cool_down=60.0), 5) == 60_000_005
    assert triggers.cools_until(trigger(), 0) == 86_400_000_000


def test_triggers_are_told_in_words() -> None:
    assert triggers.in_words(trigger(on="webhook", scheme="slack")) == "webhook, slack: POST /in/t"
    assert triggers.in_words(trigger(events=("dag.failed", "task.*"))) == "event dag.failed, task.*"
    assert triggers.in_words(trigger(on="files", paths=("/a", "/b"))) == "files /a, /b"
    rubs = trigger(on="friction", type="code", failure_rate=0.4, cost=5.0, window=3600.0)
    assert triggers.in_words(rubs) == "40% of code fail or code costs $5 in 3600s"
    assert triggers.key_of("t", "7") == "trigger:t:7"
    assert isinstance(triggers.no_trigger("x"), NotFound)
    assert isinstance(triggers.exists("x"), Conflict)
