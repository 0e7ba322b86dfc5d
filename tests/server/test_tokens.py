"""A server with the tokens of its own store: made over HTTP, used, revoked; and the audit of it all."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from dibs.rules import audit, tokens
from dibs.server.authority import TRUSTED_S, StoreAuthority
from tests.server.running import ADMIN, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.running import Running


@contextmanager
def guarded(url: str = "memory:") -> Iterator[tuple[Running, str]]:
    """A server that knows the tokens of its store; with an admin's."""
    with running(url) as server:

        async def hand_over() -> tuple[StoreAuthority, str]:
            authority = StoreAuthority(server.queue)
            for verb in ("identify", "record"):
                setattr(server.authority, verb, getattr(authority, verb))
            return authority, (await server.queue.create_token("ops", role="admin")).secret

        authority, secret = server.inside(hand_over)
        try:
            yield server, secret
        finally:
            server.inside(authority.close)


def test_a_token_is_made_used_and_revoked_within_a_second() -> None:
    with guarded() as (server, ops):
        assert server.ask("GET", "/v1/stats", token=ADMIN).status == 401
        made = server.ask("POST", "/v1/tokens", {"name": "coder", "types": ["code"], "expires": "1h"}, token=ops)
        assert made.status == 201
        assert made.headers["cache-control"] == "no-store"
        secret, token_id = made.json["secret"], made.json["id"]
        assert tokens.is_secret(secret)
        server.ask("POST", "/v1/tasks", {"type": "code"}, token=ops)
        [claim] = server.ask("POST", "/v1/claims", {"agent": "host-7"}, token=secret).json["claims"]
        assert claim["agent"] == "coder:host-7"
        listed = server.ask("GET", "/v1/tokens", token=ops)
        assert [token["name"] for token in listed.json] == ["ops", "coder"]
        assert secret not in listed.body.decode()
        assert server.ask("DELETE", f"/v1/tokens/{token_id}", token=ops).json["revoked_at"] is not None
        revoked = time.monotonic()
        while server.ask("GET", "/v1/stats", token=secret).status != 401:
            assert time.monotonic() - revoked < 30
        # Nothing but this is waited for.
        assert TRUSTED_S < 1.0
        told = server.ask("POST", "/v1/claims", {"agent": "host-7"}, token=secret).json
        assert told["code"] == "unknown_token"


def test_an_agents_token_reaches_no_further_than_it_says() -> None:
    with guarded() as (server, ops):
        body = {"name": "coder", "types": ["code"], "max_depth": 1, "max_children": 2, "max_cost": 1.0}
        coder = server.ask("POST", "/v1/tokens", body, token=ops).json["secret"]
        rival = server.ask("POST", "/v1/tokens", {"name": "rival", "types": ["code"]}, token=ops).json["secret"]
        for _ in range(2):
            server.ask("POST", "/v1/tasks", {"type": "code"}, token=ops)
        server.ask("POST", "/v1/tasks", {"type": "deploy", "priority": 1}, token=ops)
        [claim] = server.ask("POST", "/v1/claims", {"agent": "a", "limit": 1}, token=coder).json["claims"]
        assert claim["task"]["type"] == "code"
        task_id, fence = claim["task"]["id"], claim["fence"]
        for path in ("complete", "release", "renew"):
            stolen = server.ask("POST", f"/v1/tasks/{task_id}/{path}", {"fence": fence}, token=rival)
            assert (stolen.status, stolen.json["field"]) == (403, "task_id"), path
        assert server.ask("POST", "/v1/claims", {"agent": "a", "types": ["deploy"]}, token=coder).status == 403
        assert server.ask("POST", "/v1/tasks", {"type": "code"}, token=coder).status == 403
        spawn = f"/v1/tasks/{task_id}/spawn"
        for field, tasks in (
            ("type", [{"type": "deploy", "max_cost": 0.1}]),
            ("max_cost", [{"type": "code"}]),
            ("max_cost", [{"type": "code", "max_cost": 1.5}]),
        ):
            refused = server.ask("POST", spawn, {"fence": fence, "tasks": tasks}, token=coder)
            assert (refused.status, refused.json["field"]) == (403, field)
        tasks = [{"type": "code", "max_cost": 0.1}]
        assert server.ask("POST", spawn, {"fence": fence, "tasks": tasks}, token=coder).status in (200, 201)
        assert server.ask("POST", f"/v1/tasks/{task_id}/complete", {"fence": fence}, token=coder).status == 200


def test_what_admins_do_and_what_is_refused_is_in_the_audit() -> None:
    with guarded() as (server, ops):
        viewer = server.ask("POST", "/v1/tokens", {"name": "eyes", "role": "viewer"}, token=ops).json["secret"]
        server.ask("PUT", "/v1/budgets/type:code", {"limit": 5}, token=ops)
        server.ask("PUT", "/v1/budgets/type:code", {"limit": 500}, token=viewer)
        server.ask("POST", "/v1/tokens", {"name": "root", "role": "root"}, token=ops)
        for _ in range(20):
            server.ask("GET", "/v1/stats", token=None)
        found = server.ask("GET", "/v1/audit", token=ops).json
        deadline = time.monotonic() + 30
        while len(found) < 6 and time.monotonic() < deadline:
            found = server.ask("GET", "/v1/audit", token=ops).json
        assert [(entry["by"], entry["act"], entry["outcome"]) for entry in found] == [
            ("shell", "create_token", "done"),
            ("ops", "create_token", "done"),
            ("ops", "set_budget", "done"),
            ("eyes", "set_budget", "denied"),
            ("ops", "create_token", "invalid"),
            (None, "stats", "no_token"),
        ]
        verdict = server.ask("GET", "/v1/audit/verdict", token=ops).json
        assert (verdict["sound"], verdict["number"]) == (True, 6)

        async def edit() -> None:
            [kept] = await server.queue.store.documents("", audit.KIND, name=audit.name_of(4))
            body = kept.body.replace(b"denied", b"done")
            await server.queue.store.write_document("", audit.KIND, kept.name, body)

        server.inside(edit)
        verdict = server.ask("GET", "/v1/audit/verdict", token=ops).json
        assert (verdict["sound"], verdict["faults"][0]["number"]) == (False, 4)


def test_an_admin_of_another_project_sees_to_that_one_only() -> None:
    with guarded() as (server, ops):
        made = server.ask("POST", "/v1/tokens", {"name": "boss", "role": "admin", "project": "b"}, token=ops).json
        boss = made["secret"]
        assert [token["name"] for token in server.ask("GET", "/v1/tokens", token=boss).json] == ["boss"]
        wrong = server.ask("POST", "/v1/tokens", {"name": "x", "project": "default"}, token=boss)
        assert (wrong.status, wrong.json["field"]) == (403, "project")
        ops_id = server.ask("GET", "/v1/tokens", token=ops).json[0]["id"]
        assert server.ask("DELETE", f"/v1/tokens/{ops_id}", token=boss).status == 404
        assert server.ask("GET", "/v1/audit/verdict", token=boss).status == 403
        assert server.ask("GET", "/v1/upkeep/check", token=boss).status == 403
        assert {entry["project"] for entry in server.ask("GET", "/v1/audit", token=boss).json} == {"b"}
        assert server.ask("POST", "/v1/tokens", {"name": "mine"}, token=boss).json["project"] == "b"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": "x", "role": "root"}, "role"),
        ({"name": "x", "roles": "viewer"}, "roles"),
        ({"name": 5}, "name"),
        ({"name": "x", "types": "code"}, "types"),
        ({"name": "x", "expires": "soon"}, "expires"),
        ({"name": "x", "by": "somebody else"}, "by"),
    ],
)
def test_what_is_no_token_is_refused_with_the_field(body: dict[str, object], field: str) -> None:
    with guarded() as (server, ops):
        wrong = server.ask("POST", "/v1/tokens", body, token=ops)
        assert (wrong.status, wrong.json["field"]) == (422, field)
        assert len(server.ask("GET", "/v1/tokens?ended=true", token=ops).json) == 1


def test_agents_of_many_tokens_and_projects_wait_together_and_each_gets_its_own() -> None:
    with guarded() as (server, ops):
        secrets = {}
        for name, project, types in (
            *((f"a{number}", "a", ["code"]) for number in range(4)),
            *((f"b{number}", "b", ["code"]) for number in range(4)),
            ("tester", "a", ["test"]),
        ):
            body = {"name": name, "project": project, "types": types}
            secrets[name] = server.ask("POST", "/v1/tokens", body, token=ops).json["secret"]
        adders = {
            project: server.ask(
                "POST", "/v1/tokens", {"name": "adds", "role": "orchestrator", "project": project}, token=ops
            ).json["secret"]
            for project in ("a", "b")
        }

        def wait(name: str) -> tuple[str, list[str], float]:
            answer = server.ask("POST", "/v1/claims", {"agent": "x", "wait": 60}, token=secrets[name])
            return name, [claim["task"]["id"] for claim in answer.json["claims"]], time.monotonic()

        with ThreadPoolExecutor(len(secrets)) as threads:
            waiting = [threads.submit(wait, name) for name in secrets]
            lobby = server.app.state.desk.lobby
            while len(lobby) < len(secrets):
                time.sleep(0.01)
            # From here on only those are asked who may get something.
            while lobby._last_seq is None:
                server.ask("POST", "/v1/tasks", {"type": "idle"}, token=adders["a"])
                time.sleep(0.1)
            started = time.monotonic()
            tested = server.ask("POST", "/v1/tasks", {"type": "test"}, token=adders["a"]).json["id"]
            meant = server.ask("POST", "/v1/tasks", {"type": "code", "assignee": "b2:x"}, token=adders["b"]).json["id"]
            first = [each.result() for each in as_completed([waiting[-1], waiting[6]])]
            assert {(name, tuple(ids)) for name, ids, _ in first} == {("tester", (tested,)), ("b2", (meant,))}
            assert all(at - started < 50 for *_, at in first)

            async def let_go() -> None:
                server.app.state.desk.let_go()

            server.inside(let_go)
            assert all(
                ids == [] for name, ids, _ in (each.result() for each in waiting) if name not in ("tester", "b2")
            )


def test_who_says_nothing_of_by_whom_does_it_in_the_name_of_its_token() -> None:
    with guarded() as (server, ops):
        lead = server.ask("POST", "/v1/tokens", {"name": "lead", "role": "orchestrator"}, token=ops).json["secret"]
        for _ in range(3):
            server.ask("POST", "/v1/tasks", {"type": "code", "approval": True}, token=ops)
        waiting = [question["id"] for question in server.ask("GET", "/v1/questions", token=ops).json]
        answered = []
        told: list[dict[str, str | None]] = [{}, {"by": None}, {"by": "ada"}]
        for id, said in zip(waiting, told, strict=True):
            answer = server.ask("POST", f"/v1/questions/{id}/answer", {"value": True, **said}, token=lead)
            answered.append(answer.json["answered_by"])
        assert answered == ["lead", "lead", "ada"]
        assert server.ask("POST", "/v1/pauses", {"type": "code"}, token=ops).json["by"] == "ops"
        assert server.ask("POST", "/v1/pauses", {"type": "docs", "by": "grace"}, token=ops).json["by"] == "grace"
        # Whatever they say, the audit has the token.
        deadline = time.monotonic() + 30
        while len(found := server.ask("GET", "/v1/audit?act=answer", token=ops).json) < 3:
            assert time.monotonic() < deadline
        assert [(entry["by"], entry["outcome"]) for entry in found] == [("lead", "done")] * 3


def test_an_agent_acts_for_nobody_else() -> None:
    with guarded() as (server, ops):
        coder = server.ask("POST", "/v1/tokens", {"name": "coder"}, token=ops).json["secret"]
        server.ask("POST", "/v1/tasks", {"type": "code"}, token=ops)
        [claim] = server.ask("POST", "/v1/claims", {"agent": "host-7"}, token=coder).json["claims"]
        body = {
            "fence": claim["fence"],
            "tasks": [
                {"type": "code", "created_by": "human:ada"},
                {"type": "code", "created_by": "coder:host-7"},
                {"type": "code"},
            ],
        }
        spawned = server.ask("POST", f"/v1/tasks/{claim['task']['id']}/spawn", body, token=coder).json["tasks"]
        assert [task["created_by"] for task in spawned] == ["coder:human:ada", "coder:host-7", "agent:coder:host-7"]
        for path, said in (
            ("/v1/questions/q_1/answer", {"value": 1, "by": "ada"}),
            ("/v1/pauses", {"type": "code", "by": "ada"}),
            (f"/v1/dead-letters/{claim['task']['id']}/review", {"resolution": "kept", "by": "ada"}),
        ):
            assert server.ask("POST", path, said, token=coder).status == 403
