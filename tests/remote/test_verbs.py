"""A queue on a server has every verb of a queue on a store, and takes what that takes."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.json import decode

import dibs
from dibs import wire
from dibs.drafting import Planned
from dibs.model.task import NewTask
from dibs.queue import Queue
from dibs.remote import values
from dibs.remote.queue import RemoteQueue
from dibs.remote.server import ADDS_UP
from dibs.remote.verbs import VERBS

DERIVED = {
    "abandon": "not asked for: see chance",
    "ask": "made of ask_under",
    "checkpoint": "made of record",
    "chance": "not asked for: a server has no news by which a claim could be sent, a claim waits there",
    "dag": "writes down a plan, which is submitted by add_dag",
    "events": "made of read_events, and waits for news",
    "fail": "made of settle",
    "hear": "made of journal, get and record",
    "log": "made of record",
    "open_artifact": "made of artifact_stream",
    "receive": "webhooks come in at /in/NAME, as their senders send them",
    "record_act": "what is recorded is what the server itself did",
    "release": "made of settle",
    "renew_with": "made of renew_many",
    "seized": "not asked for: see chance",
    "spawn": "made of spawn_below",
}
"""Verbs that `Queue` makes of others, and how they get to the server."""


def verbs_of(kind: type) -> dict[str, Any]:
    return {name: verb for name, verb in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def test_every_verb_is_there_with_the_same_signature() -> None:
    theirs = verbs_of(RemoteQueue)
    for name, verb in verbs_of(Queue).items():
        assert inspect.signature(theirs[name]) == inspect.signature(verb), name
        assert theirs[name].__doc__ == verb.__doc__, name
        assert inspect.iscoroutinefunction(theirs[name]) == inspect.iscoroutinefunction(verb), name


def test_verbs_that_are_written_out_take_what_they_say() -> None:
    for name, verb in verbs_of(RemoteQueue).items():
        own = inspect.signature(verb, follow_wrapped=False).parameters.values()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in own) or name not in verbs_of(Queue):
            continue  # it reads its arguments by the signature that it shows
        shown = inspect.signature(verb).parameters.values()
        assert [(p.name, p.kind, p.default) for p in own] == [(p.name, p.kind, p.default) for p in shown], name


def test_every_verb_is_a_request_or_made_of_those() -> None:
    inherited = {name for name, verb in verbs_of(RemoteQueue).items() if verb is verbs_of(Queue).get(name)}
    assert inherited == DERIVED.keys() & verbs_of(Queue).keys()


def test_every_verb_of_the_table_is_asked_for_by_its_topic() -> None:
    for topic, names in VERBS.items():
        if topic in wire.TOPICS:
            assert set(names) <= {verb.name for verb in wire.of(topic)}, topic
    asked = {name for names in VERBS.values() for name in names}
    table = {verb.name for verb in wire.every() if hasattr(Queue, verb.name)}
    written_out = {name for name in vars(RemoteQueue) if name in table}
    assert table <= asked | written_out | DERIVED.keys()


def test_what_adds_up_is_known_by_its_name() -> None:
    table = {verb.name for verb in wire.every()}
    known = {name for names in VERBS.values() for name in names}
    assert table | known >= ADDS_UP


# Values


def body(**parameters: Any) -> Any:
    return decode(values.body_of(parameters))


def test_values_become_what_the_wire_has_for_them() -> None:
    at = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    task = dibs.Task(id="task_1", type="a")
    sent = body(run_after=timedelta(minutes=5), deadline=at, after=[task, "task_2"], tags={"x"}, key=dibs.CONTENT)
    assert sent == {
        "run_after": 300.0,
        "deadline": "2030-01-02T03:04:05Z",
        "after": ["task_1", "task_2"],
        "tags": ["x"],
        "key": {"content": True},
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("payload", {1: 2}),
        ("payload", float("nan")),
        ("payload", "\0"),
        ("payload", object()),
        ("priority", float("inf")),
        ("title", "\ud800"),
        ("title", b"bytes"),
        ("retry", object()),
        ("tags", [object()]),
    ],
)
def test_what_json_cannot_carry_is_refused_by_field(field: str, value: Any) -> None:
    with pytest.raises(dibs.Invalid) as caught:
        values.body_of({"type": "a", field: value})
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("kind", "value", "sent"),
    [
        (str | None, None, ""),
        (str, "a b&c", "?name=a%20b%26c"),
        (bool, True, "?name=true"),
        (float | str, 5, "?name=5"),
        (float | str, datetime(2030, 1, 1, tzinfo=UTC), "?name=2030-01-01T00%3A00%3A00Z"),
        (list[str], ["a", "b"], "?name=a&name=b"),
        (list[str], "a", "?name=a"),
    ],
)
def test_queries(kind: Any, value: Any, sent: str) -> None:
    assert values.query_of({"name": value}, {"name": kind}) == sent


@pytest.mark.parametrize(("kind", "value"), [(str, 7), (bool | None, "yes"), (float | str, True), (str, ["a"])])
def test_in_a_query_nothing_is_taken_for_something_else(kind: Any, value: Any) -> None:
    with pytest.raises(dibs.Invalid) as caught:
        values.query_of({"name": value}, {"name": kind})
    assert caught.value.field == "name"


@pytest.mark.parametrize(("name", "part"), [("a/b", "a%2Fb"), ("..", "%2E%2E"), ("ü?", "%C3%BC%3F")])
def test_names_in_paths_are_quoted(name: str, part: str) -> None:
    assert values.in_path("agent", name) == part


def test_new_tasks_say_what_is_not_the_default_and_have_ids() -> None:
    plain = NewTask("a", {"n": 1}, priority=50, tags=["x"])
    planned = Planned("task_chosen", NewTask("b", after=[Planned("task_chosen", plain)]))
    sent = decode(bytes(values.tasks_of([plain, planned], lambda _: "task_made")))
    assert sent == [
        {"type": "a", "payload": {"n": 1}, "tags": ["x"], "id": "task_made"},
        {"type": "b", "after": ["task_chosen"], "id": "task_chosen"},
    ]


def test_an_error_says_of_which_task() -> None:
    with pytest.raises(dibs.Invalid, match="task 2 of 2: payload") as caught:
        values.tasks_of([NewTask("a"), NewTask("b", object())])
    assert caught.value.field == "payload"


@pytest.mark.parametrize(
    ("args", "kwargs", "told"),
    [
        ((), {}, "missing required argument 'agent'"),
        (("a", "b", (), (), 1, None, 7), {}, "takes 6 positional"),
        (("a",), {"agent": "b"}, "multiple values"),
        (("a",), {"colour": 1}, "unexpected keyword argument 'colour'"),
    ],
)
def test_a_wrong_call_is_a_type_error(args: tuple[Any, ...], kwargs: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        values.bound(Queue.register_agent, args, kwargs)
