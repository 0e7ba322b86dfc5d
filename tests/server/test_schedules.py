"""Schedules and triggers over HTTP, and webhooks that come in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dibs.model.role import Role
from dibs.rules import signatures
from dibs.server.callers import Caller
from tests.server.running import ADMIN, AGENT, ORCHESTRATOR, TOKENS, VIEWER, Running, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.running import Answer

SECRET = "It's a Secret to Everybody"
THEIRS = "dibs_admin_of_another_project_0123456789"
AUDIT = {"every": "1h", "task": {"type": "audit"}}


@pytest.fixture
def server() -> Iterator[Running]:
    callers = {**TOKENS, THEIRS: Caller(name="other", role=Role.ADMIN, token_id="other", project="other")}
    with running(callers=callers) as found:
        yield found


def send(server: Running, path: str, data: Any, *, secret: str = SECRET, **headers: str) -> Answer:
    body = json.dumps(data).encode()
    signed = signatures.sign("github", secret, body, id="", stamp=0)
    sent = {**signed, "Content-Type": "application/json", **{key.replace("_", "-"): v for key, v in headers.items()}}
    return server.ask("POST", path, raw=body, token=None, headers=sent)


def test_a_schedule_is_changed_by_who_has_seen_it(server: Running) -> None:
    made = server.ask("PUT", "/v1/schedules/audit", AUDIT, headers={"If-None-Match": "*"})
    assert (made.status, made.json["every"]) == (200, 3600.0)
    assert server.ask("PUT", "/v1/schedules/audit", AUDIT, headers={"If-None-Match": "*"}).status == 412
    again = server.ask("PUT", "/v1/schedules/audit", {**AUDIT, "every": "2h"})
    assert (again.status, again.json["code"]) == (409, "exists")
    seen = server.ask("GET", "/v1/schedules/audit").headers["etag"]
    other = {**AUDIT, "every": "2h", "replace": True}
    assert server.ask("PUT", "/v1/schedules/audit", other, headers={"If-Match": seen}).json["every"] == 7200.0
    assert server.ask("PUT", "/v1/schedules/audit", other | {"every": "3h"}, headers={"If-Match": seen}).status == 412
    assert server.ask("DELETE", "/v1/schedules/audit", headers={"If-Match": seen}).status == 412
    assert len(server.ask("GET", "/v1/schedules/audit/next?count=3").json) == 3
    assert server.ask("POST", "/v1/schedules/audit/pause").json["paused"]
    assert not server.ask("POST", "/v1/schedules/audit/resume").json["paused"]
    assert server.ask("DELETE", "/v1/schedules/audit").status == 200
    assert server.ask("GET", "/v1/schedules/audit").status == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"every": "1h"}, "task"),
        ({"task": {"type": "a"}}, "cron"),
        ({"every": "1h", "task": {"type": "a"}, "colour": 1}, "colour"),
        ({"cron": "x", "task": {"type": "a"}}, "cron"),
        ({"every": "1h", "task": {"type": "a", "priority": 1000}}, "priority"),
        ({"every": "1h", "task": [1]}, "task"),
        ({"every": [1], "task": {"type": "a"}}, "every"),
    ],
)
def test_what_is_wrong_is_named(server: Running, body: Any, field: str) -> None:
    refused = server.ask("PUT", "/v1/schedules/audit", body)
    assert (refused.status, refused.json["field"]) == (422, field)
    assert server.ask("GET", "/v1/schedules").json == []


def test_who_may_do_what(server: Running) -> None:
    for token, status in ((ADMIN, 200), (ORCHESTRATOR, 200), (VIEWER, 403), (AGENT, 403)):
        assert server.ask("PUT", "/v1/schedules/audit", AUDIT, token=token).status == status
    for token, status in ((ADMIN, 200), (ORCHESTRATOR, 200), (VIEWER, 200), (AGENT, 403)):
        assert server.ask("GET", "/v1/schedules", token=token).status == status
    trigger = {"on": "event", "events": "task.completed", "task": {"type": "docs"}}
    for token, status in ((ADMIN, 200), (ORCHESTRATOR, 403), (VIEWER, 403), (AGENT, 403)):
        assert server.ask("PUT", "/v1/triggers/docs", trigger, token=token).status == status


def test_a_webhook_comes_in_with_a_signature_and_no_token(server: Running) -> None:
    trigger = {
        "on": "webhook",
        "scheme": "github",
        "secret": SECRET,
        "where": {"event.type": "push"},
        "task": {"type": "build", "payload": {"ref": "{{event.data.ref}}"}},
    }
    made = server.ask("PUT", "/v1/triggers/build", trigger)
    assert made.json["secrets"] == [SECRET]
    assert SECRET.encode() not in server.ask("GET", "/v1/triggers/build").body
    assert SECRET.encode() not in server.ask("GET", "/v1/triggers").body
    first = send(server, "/in/build", {"ref": "main"}, X_GitHub_Event="push")
    assert first.status == 200
    task = server.ask("GET", f"/v1/tasks/{first.json['id']}").json
    assert (task["payload"], task["created_by"]) == ({"ref": "main"}, "trigger:build")
    again = send(server, "/in/build", {"ref": "main"}, X_GitHub_Event="push").json
    assert (again["id"], again["existing"]) == (task["id"], True)
    assert "id" not in send(server, "/in/build", {"ref": "main"}, X_GitHub_Event="ping").json
    wrong = send(server, "/in/build", {"ref": "main"}, secret="another secret altogether", X_GitHub_Event="push")
    assert (wrong.status, wrong.json["code"]) == (403, "bad_signature")
    assert server.authority.recorded[-1] == (None, "receive", "/in/build", "bad_signature")
    assert send(server, "/in/nobody", {}).status == 404
    assert send(server, "/in/a%20b", {}).status == 422
    assert send(server, "/in/a%00b/build", {}).status in (400, 422)
    assert send(server, "/in/build", "x" * 600_000).status == 413
    assert server.ask("GET", "/in/build", token=None).status == 405
    body = b"{"
    headers = signatures.sign("github", SECRET, body, id="", stamp=0)
    assert server.ask("POST", "/in/build", raw=body, token=None, headers=headers).json["field"] == "body"
    tried = server.ask("POST", "/v1/triggers/build/test", {"event": {"type": "push", "data": {"ref": "x"}}}).json
    assert (tried["fits"], tried["task"]["payload"]) == (True, {"ref": "x"})
    assert server.ask("POST", "/v1/triggers/build/pause").json["paused"]
    assert send(server, "/in/build", {"ref": "other"}, X_GitHub_Event="push").status == 404
    assert server.ask("POST", "/v1/triggers/build/resume").status == 200
    assert server.ask("DELETE", "/v1/triggers/build").status == 200
    assert len(server.ask("GET", "/v1/tasks?type=build").json["items"]) == 1


def test_each_project_has_its_own(server: Running) -> None:
    trigger = {"on": "webhook", "scheme": "github", "secret": SECRET, "task": {"type": "build"}}
    assert server.ask("PUT", "/v1/triggers/build", trigger, token=THEIRS).status == 200
    assert server.ask("PUT", "/v1/schedules/audit", AUDIT, token=THEIRS).status == 200
    assert server.ask("GET", "/v1/triggers/build").status == 404
    assert server.ask("GET", "/v1/schedules").json == []
    assert send(server, "/in/build", {}).status == 404
    made = send(server, "/in/other/build", {}).json["id"]
    assert server.ask("GET", f"/v1/tasks/{made}").status == 404
    assert server.ask("GET", f"/v1/tasks/{made}", token=THEIRS).json["project"] == "other"


def test_what_is_scheduled_cannot_depend_on_another_project(server: Running) -> None:
    foreign = server.ask("POST", "/v1/tasks", {"type": "secret"}).json["id"]
    spying = {"at": 0, "task": {"type": "spy", "after_ended": [foreign]}}
    assert server.ask("PUT", "/v1/schedules/spy", spying, token=THEIRS).status == 200
    server.inside(lambda: server.queue.store.postpone("schedule", 0))
    server.inside(server.queue.run_duties)
    found = server.ask("GET", "/v1/schedules/spy", token=THEIRS).json
    assert (found["made"], found["last_id"]) == (0, None)
    assert foreign in found["error"]
    assert server.ask("GET", "/v1/tasks?type=spy", token=THEIRS).json["items"] == []
