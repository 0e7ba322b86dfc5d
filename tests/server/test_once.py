"""Adding is safe to send again: Idempotency-Key, ids that were chosen before, and nothing stored for either."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from dibs.model.ids import new_id
from dibs.model.role import Role
from dibs.server.callers import Caller
from tests.server.running import ADMIN, ORCHESTRATOR, TOKENS, Running, running

if TYPE_CHECKING:
    from pathlib import Path


def add(server: Running, key: str, *, token: str = ADMIN, **body: Any) -> Any:
    return server.ask("POST", "/v1/tasks", {"type": "code", **body}, headers={"Idempotency-Key": key}, token=token)


def test_a_repeated_add_is_answered_with_the_same_task(server: Running) -> None:
    first, again = add(server, "a", payload={"n": 1}), add(server, "a", payload={"n": 1})
    assert (first.status, again.status) == (201, 201)
    assert again.json["id"] == first.json["id"]
    assert again.json["key"] is None


def test_a_repeated_add_is_answered_as_the_task_is_now(server: Running) -> None:
    task = add(server, "b", type="now").json
    server.ask("POST", "/v1/claims", {"agent": "coder", "types": ["now"]})
    server.ask("POST", f"/v1/tasks/{task['id']}/complete", {"fence": 1, "output": 7})
    again = add(server, "b", type="now").json
    assert (again["status"], again["output"]) == ("completed", 7)


def test_a_key_is_for_one_thing(server: Running) -> None:
    task = add(server, "c", payload=1).json
    other = add(server, "c", payload=2)
    assert (other.status, other.json["code"], other.json["field"]) == (409, "key_reused", "Idempotency-Key")
    assert server.ask("GET", f"/v1/tasks/{task['id']}").json["payload"] == 1


def test_a_key_is_the_callers_own(server: Running) -> None:
    assert add(server, "d").json["id"] != add(server, "d", token=ORCHESTRATOR).json["id"]


def test_a_repeated_batch_is_answered_with_the_same_tasks(server: Running) -> None:
    body = {"tasks": [{"type": "code", "ref": "a", "payload": 1}, {"type": "code", "after": ["a"]}]}
    ids = [
        [task["id"] for task in server.ask("POST", "/v1/tasks/batch", body, headers={"Idempotency-Key": "e"}).json]
        for _ in range(2)
    ]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 2


def test_a_repeated_dag_is_answered_with_the_same_dag(server: Running) -> None:
    body = {"title": "once", "tasks": [{"type": "code"}]}
    first, again = (server.ask("POST", "/v1/dags", body, headers={"Idempotency-Key": "f"}).json for _ in range(2))
    assert again["id"] == first["id"]
    other = server.ask("POST", "/v1/dags", {**body, "title": "other"}, headers={"Idempotency-Key": "f"})
    assert other.json["code"] == "key_reused"


def test_tasks_may_come_with_their_ids(server: Running) -> None:
    id = new_id("task")
    body = {"tasks": [{"type": "code", "id": id, "payload": 1}, {"type": "code", "after": [id]}]}
    first = server.ask("POST", "/v1/tasks/batch", body).json
    assert first[0]["id"] == id
    assert first[1]["depends_on"] == [id]
    body["tasks"] = body["tasks"][:1]
    assert server.ask("POST", "/v1/tasks/batch", body).json[0]["id"] == id


def test_a_key_is_remembered_by_the_store_and_not_by_the_server(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/queue.db"
    with running(url) as server:
        first = add(server, "g", payload=1).json
    with running(url) as server:
        assert add(server, "g", payload=1).json["id"] == first["id"]
        assert len(server.ask("GET", "/v1/tasks").json["items"]) == 1


def test_a_request_whose_answer_nobody_heard_is_sent_again_and_adds_nothing(tmp_path: Path) -> None:
    body = b'{"type": "code", "payload": "once"}'
    head = f"POST /v1/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\nIdempotency-Key: h\r\n"
    with running(f"sqlite:{tmp_path}/queue.db") as server:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.port)) as line:
                kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                line.sendall((head + kind).encode() + body)
        task = add(server, "h", payload="once").json
        assert [each["id"] for each in server.ask("GET", "/v1/tasks").json["items"]] == [task["id"]]


def test_an_id_of_another_project_is_taken_and_nothing_is_told_of_it() -> None:
    other = "dibs_of_another_project_0123456789"
    callers = {**TOKENS, other: Caller(name="eve", role=Role.ADMIN, project="elsewhere", token_id="eve")}
    with running(callers=callers) as server:
        id = new_id("task")
        server.ask("POST", "/v1/tasks/batch", {"tasks": [{"type": "secret", "id": id, "payload": "secret"}]})
        answer = server.ask("POST", "/v1/tasks/batch", {"tasks": [{"type": "code", "id": id}]}, token=other)
        assert (answer.status, answer.json["code"]) == (422, "id_taken")
        assert b"secret" not in answer.body
        assert server.ask("GET", f"/v1/tasks/{id}", token=other).status == 404
