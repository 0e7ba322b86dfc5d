"""Every verb over HTTP, against a real server: a story for each topic, and no verb left out."""

from __future__ import annotations

import re
from inspect import signature
from typing import TYPE_CHECKING, Any

import pytest

from dibs import wire
from tests.server.running import AGENT, Answer, Running, running

if TYPE_CHECKING:
    from collections.abc import Iterator

asked: set[tuple[str, str]] = set()
"""Method and path of all that was asked and answered well in this module."""


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
        asked.add((method, path.partition("?")[0]))
        return found

    def add(self, type: str = "code", **options: Any) -> Any:
        return self("POST", "/v1/tasks", {"type": type, **options})

    def claim(self, type: str = "code", **options: Any) -> Any:
        return self("POST", "/v1/claims", {"agent": "coder", "types": [type], **options})["claims"]


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


def test_a_task_is_added_claimed_renewed_and_completed(tell: Teller) -> None:
    task = tell.add("write", payload={"topic": "CORS"}, priority=20, tags=["web"], deadline="2h")
    assert task["status"] == "ready"
    [claim] = tell.claim("write", lease="2m")
    assert claim["task"]["payload"] == {"topic": "CORS"}
    path = f"/v1/tasks/{task['id']}"
    news = tell("POST", f"{path}/renew", {"fence": 1, "progress": 0.5, "note": "half", "cost": 0.1})
    assert news["cancel"] is False
    settled = tell("POST", f"{path}/complete", {"fence": 1, "output": {"words": 3}, "cost": 0.2})
    assert (settled["outcome"], settled["status"]) == ("completed", "completed")
    assert tell("POST", f"{path}/complete", {"fence": 1, "output": {"words": 3}}) == settled
    now = tell("GET", path)
    assert now["output"] == {"words": 3}
    assert now["cost_usd"] == 0.2
    assert [attempt["outcome"] for attempt in tell("GET", f"{path}/history")] == ["completed"]
    assert tell("GET", f"{path}/judges") == []
    assert tell("GET", f"{path}/why")["status"] == "completed"


def test_work_that_fails_is_tried_again_and_then_a_dead_letter_that_somebody_decides_about(tell: Teller) -> None:
    ids = [tell.add("fragile", max_attempts=1)["id"] for _ in range(3)]
    for claim in [claim for _ in ids for claim in tell.claim("fragile")]:
        path = f"/v1/tasks/{claim['task']['id']}/fail"
        settled = tell("POST", path, {"fence": 1, "error": "boom", "reason": "syntax_error", "exit_code": 2})
        assert settled["status"] == "dead_lettered"
    [group] = tell("GET", "/v1/dead-letters?type=fragile&reviewed=false")
    assert group["count"] == 3
    assert tell("GET", "/v1/dead-letters/ids?type=fragile&limit=2") == ids[:0:-1]
    kept = tell("POST", f"/v1/dead-letters/{ids[0]}/review", {"resolution": "kept", "by": "ada", "note": "known"})
    assert kept["reviews"][0]["by"] == "ada"
    both = {"task_ids": [ids[1], "task_nobody"], "resolution": "dropped", "by": "ada"}
    dropped, unknown = tell("POST", "/v1/dead-letters/review", both)
    assert dropped["status"] == "cancelled"
    assert unknown["code"] == "not_found"
    assert tell("POST", f"/v1/tasks/{ids[2]}/retry", {"payload": {"n": 2}, "delay": "1h"})["status"] == "scheduled"


def test_tasks_are_found_in_words_and_changed_alike(tell: Teller) -> None:
    ids = [tell.add("tidy", tags=["old"])["id"] for _ in range(3)]
    assert tell("GET", "/v1/found/count?query=type:tidy") == {"count": 3, "more": False}
    assert "type:" in str(tell("GET", "/v1/found/suggestions?query=ty"))
    for verb, options in (("priority", {"priority": 7}), ("tags", {"add": ["new"], "remove": ["old"]})):
        assert sorted(tell("POST", f"/v1/found/{verb}", {"query": "type:tidy", **options})["done"]) == sorted(ids)
    assert tell("POST", f"/v1/tasks/{ids[0]}/tags", {"add": ["own"]})["tags"] == ["new", "own"]
    given = tell("PUT", f"/v1/tasks/{ids[0]}/assignee", {"assignee": "ada"})
    assert (given["assignee"], given["priority"]) == ("ada", 7)
    assert len(tell("POST", "/v1/found/cancel", {"query": "type:tidy tag:new", "reason": "over"})["done"]) == 3
    assert len(tell("POST", "/v1/found/retry", {"query": "type:tidy status:cancelled"})["done"]) == 3


def test_a_queue_is_seen_from_above(tell: Teller) -> None:
    dag = tell("POST", "/v1/dags", {"title": "From above", "tasks": [{"type": "above"}]})
    assert dag["id"] in [each["id"] for each in tell("GET", "/v1/dags?text=above")["items"]]
    [claim] = tell.claim("above")
    tell("POST", f"/v1/tasks/{claim['task']['id']}/complete", {"fence": claim["fence"], "cost": 0.5})
    assert claim["task"]["id"] in str(tell("GET", f"/v1/dags/{dag['id']}/attempts"))
    assert "0.5" in str(tell("GET", "/v1/costs?by=type"))
    assert set(tell("GET", "/v1/overview")) >= {"tasks", "questions", "dead_letters", "pace"}
    told = tell("GET", f"/v1/events/recent?task={claim['task']['id']}")
    assert "task.completed" in str(told)


def test_work_is_given_back(tell: Teller) -> None:
    task = tell.add("given")
    tell.claim("given")
    assert tell("POST", f"/v1/tasks/{task['id']}/release", {"fence": 1, "delay": 60})["outcome"] == "released"
    assert tell("GET", f"/v1/tasks/{task['id']}")["status"] == "retrying"


def test_a_claim_that_only_claims_is_started(tell: Teller) -> None:
    task = tell.add("slow")
    [claim] = tell.claim("slow", start=False)
    assert claim["task"]["status"] == "claimed"
    assert tell("POST", f"/v1/tasks/{task['id']}/start", {"fence": 1}) is None
    assert tell("GET", f"/v1/tasks/{task['id']}")["status"] == "running"


def test_many_are_added_claimed_renewed_and_ended_at_once(tell: Teller) -> None:
    tasks = tell("POST", "/v1/tasks/batch", {"tasks": [{"type": "many", "payload": n} for n in range(4)]})
    assert [task["payload"] for task in tasks] == [0, 1, 2, 3]
    claims = tell.claim("many", limit=10)
    held = [(claim["task"]["id"], claim["fence"]) for claim in claims]
    renewals = [{"task_id": id, "fence": fence, "lease_s": 90} for id, fence in held]
    lost = {"task_id": held[0][0], "fence": 7}
    answers = tell("POST", "/v1/renewals", {"renewals": [*renewals, lost]})
    assert [answer.get("code") for answer in answers] == [None] * 4 + ["lease_lost"]
    outcomes = [
        {"task_id": held[0][0], "fence": 1, "outcome": "completed", "output": "done", "tokens_in": 3, "tokens_out": 1},
        {"task_id": held[1][0], "fence": 1, "outcome": "failed", "error": "boom", "retry": False},
        {"task_id": held[2][0], "fence": 1, "outcome": "released"},
        {"task_id": held[3][0], "fence": 1, "outcome": "vanished"},
        {"task_id": held[3][0], "fence": 9, "outcome": "completed"},
    ]
    answers = tell("POST", "/v1/outcomes", {"outcomes": outcomes})
    assert [each.get("status", each.get("code")) for each in answers] == [
        "completed",
        "dead_lettered",
        "ready",
        "invalid",
        "lease_lost",
    ]


def test_a_group_ends_together(tell: Teller) -> None:
    for verb, options in (("complete", {"output": 1}), ("fail", {"error": "x", "retry": False}), ("release", {})):
        for n in range(2):
            tell.add("grouped", payload=[verb, n], coalesce_key=verb, coalesce_window=0)
        [claim] = tell.claim("grouped")
        members = [[each["task"]["id"], each["fence"]] for each in (claim, *claim["group"])]
        assert len(members) == 2
        answers = tell("POST", f"/v1/groups/{verb}", {"claim": members, **options})
        assert len({answer["status"] for answer in answers}) == 1
        for id, _ in members:
            tell("POST", f"/v1/tasks/{id}/cancel")


def test_a_task_spawns_others_and_asks_a_person(tell: Teller) -> None:
    task = tell.add("parent")
    tell.claim("parent")
    path = f"/v1/tasks/{task['id']}"
    spawned = tell("POST", f"{path}/spawn", {"fence": 1, "tasks": [{"type": "child", "payload": 1}]})
    assert spawned["suspended"] is False
    assert spawned["tasks"][0]["parent_id"] == task["id"]
    asked_for = tell("POST", f"{path}/ask", {"fence": 1, "question": "Which?", "assignee": "ada"})
    assert asked_for["suspended"] is True
    id = asked_for["question"]["id"]
    assert [question["id"] for question in tell("GET", "/v1/questions?assignee=ada")] == [id]
    assert tell("GET", f"/v1/questions/{id}")["question"] == "Which?"
    assert tell("POST", f"/v1/questions/{id}/answer", {"value": "this", "by": "ada"})["status"] == "answered"
    assert tell("GET", f"{path}/questions")[0]["answer"] == "this"
    [claim] = tell.claim("parent")
    assert claim["answers"] == {id: "this"}


def test_an_attempt_writes_down_what_the_next_one_needs(tell: Teller) -> None:
    task = tell.add("written")
    tell.claim("written")
    path = f"/v1/tasks/{task['id']}"
    assert tell("PUT", f"{path}/checkpoint", {"fence": 1, "data": {"page": 7}}) is None
    assert tell("POST", f"{path}/log", {"fence": 1, "line": "found it"}) is None
    step = {"kind": "step", "name": "fetch", "digest": "d", "value": {"rows": 3}}
    assert tell("POST", f"{path}/journal", {"fence": 1, "entries": [step]}) == [step]
    assert [(entry["kind"], entry["value"]) for entry in tell("GET", f"{path}/journal")] == [
        ("checkpoint", {"page": 7}),
        ("log", "found it"),
        ("step", {"rows": 3}),
    ]


def test_a_dag_is_added_looked_at_waited_for_and_cancelled(tell: Teller) -> None:
    tasks = [{"type": "a", "ref": "first"}, {"type": "b", "after": ["first"]}]
    dag = tell("POST", "/v1/dags", {"title": "two", "tasks": tasks, "budget": 5})
    assert [task["status"] for task in tell("GET", f"/v1/dags/{dag['id']}")["tasks"]] == ["ready", "pending"]
    waited = tell("GET", f"/v1/dags/{dag['id']}/wait?timeout=0.05")
    assert (waited["ended"], waited["status"]) == (False, "pending")
    assert len(tell("POST", f"/v1/dags/{dag['id']}/cancel", {"reason": "no"})) == 2
    assert tell("GET", f"/v1/dags/{dag['id']}/wait")["dag"]["status"] == "cancelled"
    assert tell("GET", f"/v1/dags/{dag['id']}/artifacts") == []


def test_tasks_are_found_steered_and_waited_for(tell: Teller) -> None:
    first, second = tell.add("steered", user="ada"), tell.add("steered", run_after="1h")
    page = tell("GET", "/v1/tasks?type=steered&status=ready&status=scheduled&limit=1")
    assert [task["id"] for task in page["items"]] == [second["id"]]
    rest = tell("GET", f"/v1/tasks?type=steered&cursor={page['cursor']}")
    assert [task["id"] for task in rest["items"]] == [first["id"]]
    found = tell("POST", "/v1/tasks/look-up", {"ids": [first["id"], "task_nobody"]})
    assert (found[0]["id"], found[1]) == (first["id"], None)
    assert tell("PUT", f"/v1/tasks/{first['id']}/priority", {"priority": 3})["priority"] == 3
    linked = tell("POST", f"/v1/tasks/{second['id']}/link", {"after": [first["id"]]})
    assert linked["depends_on"] == [first["id"]]
    assert tell("POST", f"/v1/tasks/{first['id']}/cancel", {"reason": "changed my mind"}) == [first["id"], second["id"]]
    assert tell("GET", f"/v1/tasks/{first['id']}/wait?timeout=5")["task"]["cancel_reason"] == "changed my mind"


def test_agents_register_drain_and_leave(tell: Teller) -> None:
    path = "/v1/agents/host%2F1"
    agent = tell("PUT", path, {"type": "tester", "capabilities": ["python"], "max_concurrent": 2})
    assert (agent["id"], agent["max_concurrent"]) == ("host/1", 2)
    assert tell("POST", f"{path}/drain")["status"] == "draining"
    assert tell("DELETE", f"{path}?reason=done")["reason"] == "done"
    assert "host/1" in [each["id"] for each in tell("GET", "/v1/agents")]
    tell.add("laned", requires=["rust"])
    assert "laned" in [lane["type"] for lane in tell("GET", "/v1/lanes")]


def test_what_stops_tasks_is_set_and_shown(tell: Teller) -> None:
    closed = tell("POST", "/v1/pauses", {"type": "deploy", "reason": "friday", "until": "1h", "by": "ada"})
    assert closed["gate"] == "type:deploy"
    assert [gate["gate"] for gate in tell("GET", "/v1/gates")] == ["type:deploy"]
    assert tell("POST", "/v1/pauses/resume", {"type": "deploy"}) is True
    assert tell("POST", "/v1/pauses/resume", {"type": "deploy"}) is False
    assert tell("PUT", "/v1/breakers/deploy", {"failure_threshold": 2})["own"] is True
    assert tell("GET", "/v1/breakers/deploy")["failure_threshold"] == 2
    assert tell("POST", "/v1/breakers/deploy/open", {"reason": "look"})["state"] == "open"
    assert tell("POST", "/v1/breakers/deploy/close")["state"] == "closed"
    assert tell("POST", "/v1/breakers/deploy/reset")["own"] is False
    assert tell("GET", "/v1/breakers")[0]["type"] == "*"
    assert tell("PUT", "/v1/slots", {"name": "gpu", "slots": 2})["slots"] == 2
    assert tell("PUT", "/v1/slots", {"type": "deploy", "slots": 1})["type"] == "deploy"
    assert [each["name"] for each in tell("GET", "/v1/locks")] == ["gpu"]
    assert [each["type"] for each in tell("GET", "/v1/slots")] == ["deploy"]
    assert tell("PUT", "/v1/slots", {"type": "deploy", "slots": None}) is None
    assert tell("PUT", "/v1/rates/deploy", {"rate": "10/min", "burst": 3})["burst"] == 3
    assert tell("GET", "/v1/rates/deploy")["amount"] == 10
    assert len(tell("GET", "/v1/rates")) == 1
    assert tell("DELETE", "/v1/rates/deploy")["type"] == "deploy"


def test_ladders_are_set_and_cleared(tell: Teller) -> None:
    rungs = [{"after": 1, "do": "notify", "to": "ada"}]
    assert tell("PUT", "/v1/escalations", {"ladder": rungs, "type": "deploy"})["rungs"][0]["to"] == "ada"
    assert tell("GET", "/v1/escalations/one?type=deploy")["type"] == "deploy"
    assert len(tell("GET", "/v1/escalations")) == 1
    assert tell("DELETE", "/v1/escalations?type=deploy") is None


def test_what_reports_must_say_is_set_and_forgotten(tell: Teller) -> None:
    assert tell("PUT", "/v1/reports/deploy", {"fields": ["decision", "risks"]})["fields"] == ["decision", "risks"]
    assert tell("GET", "/v1/reports") == [{"type": "deploy", "fields": ["decision", "risks"]}]
    assert tell("DELETE", "/v1/reports/deploy")["type"] == "deploy"


def test_budgets_are_set_raised_and_removed(tell: Teller) -> None:
    path = "/v1/budgets/type:code"
    assert tell("PUT", path, {"limit": 3, "window": "day", "timezone": "Europe/Berlin"})["left"] == 3
    assert tell("POST", f"{path}/raise", {"amount": 2})["limit"] == 5
    assert tell("GET", path)["window"] == "day"
    assert "type:code" in [budget["scope"] for budget in tell("GET", "/v1/budgets")]
    assert tell("DELETE", f"{path}?unit=usd")["scope"] == "type:code"


def test_artifacts_stream_up_and_down(tell: Teller) -> None:
    task = tell.add("drawn")
    tell.claim("drawn")
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


def test_what_happened_is_read_a_page_at_a_time(tell: Teller) -> None:
    tell.add("seen")
    last = tell("GET", "/v1/events/last")
    events = tell("GET", f"/v1/events/page?after={last - 2}&limit=10")
    assert [event["type"] for event in events] == ["task.added", "task.ready"]
    news = tell("GET", "/v1/news")
    assert tell("GET", f"/v1/news?since={news}&timeout=0.05") == news
    assert tell("GET", "/v1/stats")["by_type"]["seen"] == {"ready": 1}
    assert "seen" in [each["name"] for each in tell("GET", "/v1/metrics?by=type&since=1h")]


def test_tokens_are_made_and_ended_and_that_is_in_the_audit(tell: Teller) -> None:
    made = tell("POST", "/v1/tokens", {"name": "coder", "types": ["code"]})
    assert made["secret"].startswith("dibs_")
    assert [token["name"] for token in tell("GET", "/v1/tokens")] == ["coder"]
    again = tell("POST", f"/v1/tokens/{made['id']}/rotate", {"grace": "1h"})
    assert tell("DELETE", f"/v1/tokens/{again['id']}")["name"] == "coder"
    assert [entry["act"] for entry in tell("GET", "/v1/audit?limit=2")] == ["revoke_token", "revoke_token"]
    assert tell("GET", "/v1/audit/verdict")["sound"] is True
    assert tell("POST", "/v1/audit/prune", {"keep": 1}) == 3


def test_news_is_a_number_that_changes(tell: Teller) -> None:
    before = tell("GET", "/v1/news")
    tell.add("new")
    assert tell("GET", f"/v1/news?since={before}&timeout=50") != before


def test_events_are_streamed(tell: Teller) -> None:
    tell.add("streamed")
    body = tell("GET", "/v1/events?wait=0&type=task.added")
    assert body.startswith(b"retry: ")
    assert b'"type":"task.added"' in body
    assert b'"type":"task.ready"' not in body


def test_a_hook_is_set_changed_and_forgotten(tell: Teller) -> None:
    made = tell("POST", "/v1/hooks", {"name": "ci", "url": "https://ci.example.com/dibs", "events": ["task.*"]})
    assert made["secret"].startswith("whsec_")
    assert "secret" not in tell("GET", "/v1/hooks/ci")
    assert [hook["name"] for hook in tell("GET", "/v1/hooks")] == ["ci"]
    changed = tell("PUT", "/v1/hooks/ci", {"url": "https://ci.example.com/v2", "events": "task.completed"})
    assert (changed["url"], changed["events"]) == ("https://ci.example.com/v2", ["task.completed"])
    assert tell("POST", "/v1/hooks/ci/pause")["status"] == "paused"
    assert "status" not in tell("POST", "/v1/hooks/ci/resume")
    assert tell("POST", "/v1/hooks/ci/rotate", {"overlap": "1h"})["secret"] != made["secret"]
    assert "seq" not in tell("POST", "/v1/hooks/ci/replay", {"after": 0})
    assert tell("POST", "/v1/hooks/ci/test").startswith("msg_")
    assert tell("GET", "/v1/hooks/ci/deliveries?limit=5") == []
    assert tell("DELETE", "/v1/hooks/ci") is None


def test_things_are_made_again_and_again_and_when_something_happens(tell: Teller) -> None:
    made = tell("PUT", "/v1/schedules/audit", {"cron": "@daily", "task": {"type": "audit"}})
    assert tell("GET", "/v1/schedules") == [made] == [tell("GET", "/v1/schedules/audit")]
    assert len(tell("GET", "/v1/schedules/audit/next?count=2")) == 2
    assert tell("POST", "/v1/schedules/audit/pause")["paused"]
    assert not tell("POST", "/v1/schedules/audit/resume")["paused"]
    assert tell("DELETE", "/v1/schedules/audit")["name"] == "audit"
    wanted = {"on": "event", "events": ["dag.failed"], "task": {"type": "fix", "payload": "{{event.dag_id}}"}}
    trigger = tell("PUT", "/v1/triggers/fix", wanted)
    assert tell("GET", "/v1/triggers") == [trigger] == [tell("GET", "/v1/triggers/fix")]
    assert tell("POST", "/v1/triggers/fix/test", {"event": {"dag_id": "d"}})["task"]["payload"] == "d"
    assert tell("POST", "/v1/triggers/fix/pause")["paused"]
    assert not tell("POST", "/v1/triggers/fix/resume")["paused"]
    assert tell("DELETE", "/v1/triggers/fix")["name"] == "fix"


def test_the_store_is_looked_after(tell: Teller) -> None:
    assert tell("GET", "/v1/upkeep/check") == []
    assert isinstance(tell("GET", "/v1/upkeep/advice"), list)
    assert isinstance(tell("POST", "/v1/upkeep/duties"), dict)
    assert tell("POST", "/v1/upkeep/prune") == 0


def test_a_browser_is_let_in_once(tell: Teller) -> None:
    login = tell("POST", "/v1/logins", {"name": "laptop", "role": "viewer"})
    assert (login["name"], login["role"], len(login["code"]) > 20) == ("laptop", "viewer", True)


def test_no_verb_was_left_out() -> None:
    def shape(path: str) -> str:
        return re.sub(r"{\w+}", "[^/]+", path)

    stories = [
        each for name, each in globals().items() if name.startswith("test_") and "tell" in signature(each).parameters
    ]
    asked.clear()
    with running("memory:", artifacts="memory:all-verbs") as server:
        for story in stories:
            story(Teller(server))
    forgotten = [
        f"{verb.method} {verb.path}"
        for verb in wire.every()
        if not any(method == verb.method and re.fullmatch(shape(verb.path), path) for method, path in asked)
    ]
    assert forgotten == []
