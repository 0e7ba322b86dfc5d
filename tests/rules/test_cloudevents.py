"""Events in the words of CloudEvents 1.0."""

from __future__ import annotations

from datetime import UTC, datetime

from dibs.model.event import Event
from dibs.rules.cloudevents import as_cloudevent, ping, source_of

AT = datetime(2030, 1, 2, 3, 4, 5, 600, tzinfo=UTC)


def test_an_event_says_what_it_is_where_from_and_about_what() -> None:
    told = Event(
        seq=42, type="task.completed", at=AT, task_id="task_1", dag_id="dag_1", agent="ada", data={"output": 1}
    )
    assert as_cloudevent(told, "/dibs/default") == {
        "specversion": "1.0",
        "id": "42",
        "source": "/dibs/default",
        "type": "dibs.task.completed",
        "subject": "task_1",
        "time": "2030-01-02T03:04:05.000600Z",
        "datacontenttype": "application/json",
        "sequence": "00000000000000000042",
        "data": {
            "seq": 42,
            "type": "task.completed",
            "at": "2030-01-02T03:04:05.000600Z",
            "task_id": "task_1",
            "dag_id": "dag_1",
            "agent": "ada",
            "data": {"output": 1},
        },
    }


def test_the_subject_is_whatever_it_is_about_and_may_be_missing() -> None:
    assert as_cloudevent(Event(seq=1, type="dag.failed", at=AT, dag_id="dag_1"), "x")["subject"] == "dag_1"
    assert as_cloudevent(Event(seq=1, type="agent.lost", at=AT, agent="ada"), "x")["subject"] == "ada"
    assert "subject" not in as_cloudevent(Event(seq=1, type="gap", at=AT), "x")


def test_a_source_is_a_reference_whatever_the_project_is_called() -> None:
    assert source_of("a b/ä") == "/dibs/a%20b%2F%C3%A4"


def test_a_test_message_is_an_event_too() -> None:
    assert ping(3, "2030-01-02T03:04:05Z", "/dibs/x") == {
        "specversion": "1.0",
        "id": "ping-3",
        "source": "/dibs/x",
        "type": "dibs.ping",
        "time": "2030-01-02T03:04:05Z",
        "datacontenttype": "application/json",
        "data": {"type": "ping"},
    }
