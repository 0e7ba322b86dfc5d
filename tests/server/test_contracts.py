"""Contracts over HTTP: the server checks outputs; commands are run by whoever completes, never by the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.running import Running

SCHEMA = {"validation": "json-schema", "schema": {"type": "object", "required": ["answer"]}}


def claimed(server: Running, type: str, **options: Any) -> str:
    task = server.ask("POST", "/v1/tasks", {"type": type, **options}).json
    server.ask("POST", "/v1/claims", {"agent": "coder", "types": [type]})
    return str(task["id"])


def test_an_output_that_is_not_what_was_expected_is_rejected(server: Running) -> None:
    id = claimed(server, "schema", expects=SCHEMA)
    answer = server.ask("POST", f"/v1/tasks/{id}/complete", {"fence": 1, "output": {"no": 1}}).json
    assert (answer["outcome"], answer["status"]) == ("rejected", "retrying")


@pytest.mark.parametrize("known", [True, False], ids=["remembered", "looked-up"])
def test_a_worker_cannot_pass_by_what_is_expected(server: Running, known: bool) -> None:
    id = claimed(server, f"passed-{known}", expects=SCHEMA)
    if not known:
        server.app.state.desk.held.forget("default", id, 1)
    done = {"task_id": id, "fence": 1, "outcome": "completed", "output": 3, "judged": True}
    [answer] = server.ask("POST", "/v1/outcomes", {"outcomes": [done]}).json
    assert answer["outcome"] == "rejected"


def test_a_server_never_runs_a_command(server: Running, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    expects = {"validation": "command", "argv": ["touch", str(mark)]}
    id = claimed(server, "command", expects=expects)
    path = f"/v1/tasks/{id}/complete"
    refused = server.ask("POST", path, {"fence": 1, "output": 1})
    assert (refused.status, refused.json["code"], refused.json["field"]) == (409, "must_be_judged", "judged")
    [in_batch] = server.ask(
        "POST", "/v1/outcomes", {"outcomes": [{"task_id": id, "fence": 1, "outcome": "completed"}]}
    ).json
    assert in_batch["code"] == "must_be_judged"
    in_group = server.ask("POST", "/v1/groups/complete", {"claim": [[id, 1]]})
    assert in_group.json["code"] == "must_be_judged"
    assert server.ask("POST", path, {"fence": 1, "output": 1, "judged": True}).json["outcome"] == "completed"
    assert not mark.exists()


def test_whoever_ran_the_command_says_what_it_found(server: Running) -> None:
    id = claimed(server, "found", expects={"validation": "command", "argv": ["false"]})
    body = {"fence": 1, "output": 1, "judged": True, "refusal": "two tests failed"}
    answer = server.ask("POST", f"/v1/tasks/{id}/complete", body).json
    assert answer["outcome"] == "rejected"
    [attempt] = server.ask("GET", f"/v1/tasks/{id}/history").json
    assert attempt["error"] == "two tests failed"


def test_a_refusal_needs_a_judgement(server: Running) -> None:
    id = claimed(server, "unjudged")
    answer = server.ask("POST", f"/v1/tasks/{id}/complete", {"fence": 1, "refusal": "no"})
    assert (answer.status, answer.json["field"]) == (422, "judged")
