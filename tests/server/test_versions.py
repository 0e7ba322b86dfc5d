"""Two people change the same thing: whoever says what they have seen is told that it is another now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.server.running import Running

THINGS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("/v1/budgets/type:code", "/v1/budgets/type:code", {"limit": 1}, {"limit": 2}),
    ("/v1/breakers/code", "/v1/breakers/code", {"failure_threshold": 3}, {"failure_threshold": 4}),
    ("/v1/rates/code", "/v1/rates/code", {"rate": "1/min"}, {"rate": "2/min"}),
]


@pytest.mark.parametrize(("look", "change", "first", "second"), THINGS, ids=["budget", "breaker", "rate"])
def test_a_change_of_what_was_seen_is_let_in_and_another_is_not(
    server: Running, look: str, change: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    assert server.ask("PUT", change, first).status == 200
    seen = server.ask("GET", look).headers["etag"]
    changed = server.ask("PUT", change, second, headers={"If-Match": seen})
    assert changed.status == 200
    assert changed.headers["etag"] != seen
    late = server.ask("PUT", change, first, headers={"If-Match": seen})
    assert (late.status, late.json["code"], late.json["field"]) == (412, "changed_meanwhile", "If-Match")
    assert server.ask("GET", look).headers["etag"] == changed.headers["etag"]
    assert server.ask("PUT", change, first, headers={"If-Match": "*"}).status == 200
    assert server.ask("PUT", change, first, headers={"If-None-Match": "*"}).status == 412


def test_a_hook_is_changed_by_whoever_has_seen_it(server: Running) -> None:
    url = "https://ci.example.com/dibs"
    assert server.ask("POST", "/v1/hooks", {"name": "seen", "url": url}).status == 201
    seen = server.ask("GET", "/v1/hooks/seen").headers["etag"]
    server.ask("POST", "/v1/hooks/seen/pause")
    assert server.ask("GET", "/v1/hooks/seen").headers["etag"] == seen
    only = {"If-Match": seen}
    changed = server.ask("PUT", "/v1/hooks/seen", {"url": f"{url}/v2", "events": ["dag.failed"]}, headers=only)
    assert (changed.status, changed.json["url"], changed.json["events"]) == (200, f"{url}/v2", ["dag.failed"])
    assert "secret" not in changed.json
    assert server.ask("PUT", "/v1/hooks/seen", {"url": url}, headers=only).status == 412
    assert server.ask("PUT", "/v1/hooks/unseen", {"url": url}).status == 404
    assert server.ask("PUT", "/v1/hooks/seen", {"url": "ftp://x.test"}).json["field"] == "url"


def test_a_priority_is_changed_by_whoever_has_seen_it(server: Running) -> None:
    task = server.ask("POST", "/v1/tasks", {"type": "code"}).json
    path = f"/v1/tasks/{task['id']}"
    seen = server.ask("GET", path).headers["etag"]
    assert server.ask("PUT", f"{path}/priority", {"priority": 3}, headers={"If-Match": seen}).status == 200
    assert server.ask("PUT", f"{path}/priority", {"priority": 4}, headers={"If-Match": seen}).status == 412
    assert server.ask("GET", path).json["priority"] == 3


def test_so_is_whom_a_task_is_for(server: Running) -> None:
    task = server.ask("POST", "/v1/tasks", {"type": "code"}).json
    path = f"/v1/tasks/{task['id']}"
    seen = server.ask("GET", path).headers["etag"]
    assert server.ask("PUT", f"{path}/assignee", {"assignee": "ada"}, headers={"If-Match": seen}).status == 200
    late = server.ask("PUT", f"{path}/assignee", {"assignee": "bob"}, headers={"If-Match": seen})
    assert (late.status, late.json["code"]) == (412, "changed_meanwhile")
    assert server.ask("GET", path).json["assignee"] == "ada"


def test_what_the_queue_counts_is_no_change(server: Running) -> None:
    server.ask("PUT", "/v1/budgets/type:spent", {"limit": 9})
    seen = server.ask("GET", "/v1/budgets/type:spent").headers["etag"]
    task = server.ask("POST", "/v1/tasks", {"type": "spent", "max_cost": 2}).json
    server.ask("POST", "/v1/claims", {"agent": "coder", "types": ["spent"]})
    server.ask("POST", f"/v1/tasks/{task['id']}/complete", {"fence": 1, "cost": 1.5})
    answer = server.ask("GET", "/v1/budgets/type:spent")
    assert answer.json["spent"] == 1.5
    assert answer.headers["etag"] == seen


def test_a_new_thing_can_be_made_only_if_it_is_not_there(server: Running) -> None:
    only_new = {"If-None-Match": "*"}
    assert server.ask("PUT", "/v1/budgets/type:fresh", {"limit": 1}, headers=only_new).status == 200
    assert server.ask("PUT", "/v1/budgets/type:fresh", {"limit": 2}, headers=only_new).status == 412
    gone = server.ask("DELETE", "/v1/budgets/type:fresh", headers={"If-Match": '"another"'})
    assert gone.status == 412
    assert server.ask("DELETE", "/v1/budgets/type:fresh").status == 200
    assert server.ask("PUT", "/v1/budgets/type:fresh", {"limit": 2}, headers={"If-Match": "*"}).status == 412
