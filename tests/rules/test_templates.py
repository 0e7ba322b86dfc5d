"""Templates: what may be written in them, and what fills them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import Invalid
from dibs.model.retry import Retry
from dibs.model.task import CONTENT, NewTask
from dibs.rules import templates

KNOWN = {"event": {"type": "push", "data": {"ref": "main", "n": 3, "ok": True, "none": None, "list": [1, {"a": "b"}]}}}


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        ("{{event.data.n}}", 3),
        ("  {{ event.data.n }} ", 3),
        ("{{event.data.ok}}", True),
        ("{{event.data.list}}", [1, {"a": "b"}]),
        ("{{event.data.list.1.a}}", "b"),
        ("{{event.data.list.7}}", None),
        ("{{event.data.list.x}}", None),
        ("{{event.data.list.99999999999}}", None),
        ("{{event.data.missing}}", None),
        ("{{event.data.ref.deeper}}", None),
        ("{{schedule.tick}}", None),
        ("on {{event.data.ref}}: {{event.data.n}}", "on main: 3"),
        ("[{{event.data.missing}}{{event.data.none}}]", "[]"),
        ("all: {{event.data.list}}", 'all: [1,{"a":"b"}]'),
        ("{{name}} {{ event }} {{events.x}}", None),
        ("{event.data.n}", "{event.data.n}"),
        ({"a": ["{{event.data.n}}", 7], "{{event.type}}": ("x",)}, {"a": [3, 7], "{{event.type}}": ["x"]}),
        (7, 7),
        (None, None),
    ],
)
def test_references_become_values(written: Any, filled: Any) -> None:
    if filled is None and isinstance(written, str) and "name" in written:
        whole = templates.fill(written, {"event": "E"})
        assert whole == "{{name}} E {{events.x}}"
        return
    assert templates.fill(written, KNOWN) == filled


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda parts: st.lists(parts), max_leaves=5))
def test_what_is_filled_in_stays_data(value: Any) -> None:
    known = {"event": {"data": value, "again": "{{event.data}}"}}
    assert templates.fill("{{event.data}}", known) == value
    assert templates.fill("{{event.again}}", known) == "{{event.data}}"
    assert templates.fill("x{{event.again}}", known) == "x{{event.data}}"


def test_text_that_grows_without_end_is_cut() -> None:
    known = {"event": {"data": "x" * 100_000}}
    assert len(templates.fill("{{event.data}}{{event.data}}!", known)) == templates.MAX_FILLED_CHARS


def test_fields_that_hold_text_stay_usable_whatever_comes() -> None:
    known = {"event": {"data": {"t": "a\x00b\x1b[31m" + "x" * 9000, "n": 7, "list": ["a"]}}}
    task = {
        "type": "review",
        "title": "{{event.data.t}}",
        "user": "{{event.data.missing}}",
        "coalesce_key": "doc:{{event.data.n}}",
        "tags": ["n:{{event.data.n}}", "{{event.data.missing}}", "plain", "{{event.data.list}}"],
        "locks": ["{{event.data.t}}"],
        "payload": "{{event.data.n}}",
        "context": {"goal": "{{event.data.list}}"},
    }
    filled = templates.fill_task(task, known)
    assert filled["title"].startswith("a\ufffdb\ufffd[31mxxx")
    assert (len(filled["title"]), filled["user"], filled["coalesce_key"]) == (4000, None, "doc:7")
    assert filled["tags"] == ["n:7", "plain", '["a"]']
    assert len(filled["locks"][0]) == 200
    assert (filled["payload"], filled["context"]) == (7, {"goal": ["a"]})
    assert templates.fill_task({"type": "x", "title": "plain"}, known) == {"type": "x", "title": "plain"}


def test_a_dag_is_filled_task_by_task() -> None:
    dag = {
        "title": "{{event.data.ref}}",
        "user": "u-{{event.data.n}}",
        "tasks": [{"type": "a", "payload": "{{event.type}}"}],
    }
    assert templates.fill_dag(dag, KNOWN) == {
        "title": "main",
        "user": "u-3",
        "tasks": [{"type": "a", "payload": "push"}],
    }
    assert templates.fill_dag({"title": "{{event.x}}", "tasks": []}, KNOWN)["title"] == "untitled"


def test_a_template_is_a_task_or_a_dag() -> None:
    assert templates.parse({"type": "a"}, None) == {"task": {"type": "a"}, "dag": None}
    dag = {"title": "G", "tasks": [{"type": "a", "ref": "x"}], "budget": 5, "user": "{{event.data.u}}"}
    assert templates.parse(None, dag) == {"task": None, "dag": dag}


def test_a_new_task_is_kept_as_what_was_said_of_it() -> None:
    when = datetime(2030, 1, 1, tzinfo=UTC)
    task = NewTask("a", {"x": 1}, tags=("t",), retry=Retry(delay=5, retry_on=("timeout",)), deadline=when)
    kept = templates.parse(task, None)["task"]
    assert kept == {
        "type": "a",
        "payload": {"x": 1},
        "tags": ["t"],
        "retry": {"delay": 5, "retry_on": ["timeout"]},
        "deadline": "2030-01-01T00:00:00Z",
    }
    made = templates.new_task(kept)
    assert made.retry == Retry(delay=5, retry_on=("timeout",))
    assert templates.new_task({"type": "a", "retry": "immediate"}).retry == "immediate"


def test_what_holds_anyway_is_not_kept() -> None:
    said = {"type": "a", "priority": 50, "key": None, "ref": None, "tags": [], "payload": None, "timeout": 5}
    assert templates.parse(said, None)["task"] == {"type": "a", "timeout": 5}
    assert templates.parse(NewTask("a"), None)["task"] == {"type": "a"}


def test_a_dag_is_made_as_add_dag_takes_it() -> None:
    made = templates.new_dag({"title": "G", "tasks": [{"type": "a"}], "budget": 5})
    assert (made.title, made.tasks, made.options) == ("G", [NewTask("a")], {"budget": 5})


@pytest.mark.parametrize(
    ("task", "dag", "field"),
    [
        (None, None, "task"),
        ({"type": "a"}, {"title": "x", "tasks": [{"type": "a"}]}, "dag"),
        ("a", None, "task"),
        ({}, None, "type"),
        ({"type": "a", "ref": "x"}, None, "ref"),
        ({"type": "a", "key": "x"}, None, "key"),
        ({"type": "a", "created_by": "x"}, None, "created_by"),
        ({"type": "a", "colour": 1}, None, "colour"),
        ({"type": "a", "retry": {"delays": 1}}, None, "delays"),
        ({"type": "a", "tags": "x"}, None, "tags"),
        ({"type": "a", "locks": "x"}, None, "locks"),
        ({"type": "{{event.data.x}}"}, None, "type"),
        ({"type": "a", "assignee": "{{event.x}}"}, None, "assignee"),
        ({"type": "a", "expects": {"validation": "command", "command": ["{{event.x}}"]}}, None, "expects"),
        ({"type": "a", "requires": ["{{ event.x }}"]}, None, "requires"),
        ({"type": "a", "payload": {1, 2}}, None, "task"),
        ({"type": "a", "payload": "x" * 50_000}, None, "task"),
        ({"type": "a", "payload": ["{{event.data}}"] * 101}, None, "task"),
        (NewTask("a", key=CONTENT), None, "key"),
        (NewTask("a", key="k"), None, "key"),
        (NewTask("a", {"x": object()}), None, "task"),
        (None, [], "dag"),
        (None, {"title": "x"}, "tasks"),
        (None, {"title": "x", "tasks": []}, "tasks"),
        (None, {"title": "x", "tasks": "a"}, "tasks"),
        (None, {"tasks": [{"type": "a"}]}, "title"),
        (None, {"title": "x", "tasks": ["a"]}, "task"),
        (None, {"title": "x", "tasks": [{"type": "a"}], "colour": 1}, "colour"),
        (None, {"title": "x", "tasks": [{"type": "a"}], "on_failure": "{{event.x}}"}, "on_failure"),
    ],
)
def test_what_cannot_be_a_template_is_refused(task: Any, dag: Any, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        templates.parse(task, dag)
    assert refused.value.field == field


@pytest.mark.parametrize("path", ["event", "event.", "data.x", "schedule.tick", "event. x", "event.a b", "", 5])
def test_paths_lead_into_the_event(path: object) -> None:
    with pytest.raises(Invalid) as refused:
        templates.check_path(path, "where")
    assert refused.value.field == "where"
    assert templates.check_path("event.data.x-1.0", "where") == "event.data.x-1.0"
