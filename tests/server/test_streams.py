"""What only HTTP has: who asks, the description, bytes and events as streams, news. Every verb is in tests/doors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.server.running import AGENT, Answer, Running, running

if TYPE_CHECKING:
    from collections.abc import Iterator


class Teller:
    """Asks a server and takes only good answers."""

    def __init__(self, server: Running) -> None:
        self.server = server

    def __call__(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        answer = self.answer(method, path, body, **options)
        return answer.json if answer.headers["content-type"] == "application/json" else answer.body

    def answer(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        found = self.server.ask(method, path, body, **options)
        assert found.status in (200, 201), (method, path, found.body)
        return found


@pytest.fixture
def tell(server: Running) -> Teller:
    return Teller(server)


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running("memory:", artifacts="memory:verbs") as found:
        yield found


def test_a_client_learns_who_it_is(tell: Teller) -> None:
    about = tell("GET", "/v1/about")
    assert about["api"] == 1
    assert about["role"] == "admin"
    assert tell("GET", "/v1/about", token=AGENT)["role"] == "agent"
    assert tell("GET", "/v1/openapi.json")["openapi"] == "3.1.0"


def test_artifacts_stream_up_and_down(tell: Teller) -> None:
    task = tell("POST", "/v1/tasks", {"type": "drawn"})
    tell("POST", "/v1/claims", {"agent": "coder", "types": ["drawn"]})
    path = f"/v1/tasks/{task['id']}/artifacts"
    content = bytes(range(256)) * 20_000
    kind = {"Content-Type": "application/octet-stream"}
    put = tell("PUT", f"{path}/plot%2F1.png?fence=1&media_type=image/png", raw=content, headers=kind)
    assert (put["name"], put["size"], put["media_type"]) == ("plot/1.png", len(content), "image/png")
    kept = tell("POST", "/v1/artifacts?name=notes", raw=b"bytes", headers=kind)
    assert tell("POST", path, {"fence": 1, "artifact": kept})["task_id"] == task["id"]
    assert [each["name"] for each in tell("GET", path)] == ["plot/1.png", "notes"]
    answer = tell.answer("GET", f"/v1/artifacts?ref={put['digest']}")
    assert answer.body == content
    assert answer.headers["content-disposition"] == "attachment"
    assert tell("GET", f"/v1/artifacts?ref=task:{task['id']}:artifact:notes") == b"bytes"
    assert "memory" in tell("GET", "/v1/artifacts/place")
    assert tell("POST", "/v1/artifacts/sweep", {"older_than": "2h"})["deleted"] == 0


def test_news_is_a_number_that_changes(tell: Teller) -> None:
    before = tell("GET", "/v1/news")
    tell("POST", "/v1/tasks", {"type": "new"})
    assert tell("GET", f"/v1/news?since={before}&timeout=50") != before


def test_events_are_streamed(tell: Teller) -> None:
    tell("POST", "/v1/tasks", {"type": "streamed"})
    body = tell("GET", "/v1/events?wait=0&type=task.added")
    assert body.startswith(b"retry: ")
    assert b'"type":"task.added"' in body
    assert b'"type":"task.ready"' not in body
