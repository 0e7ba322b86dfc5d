"""Denied by default: every route, every role, and what is written down about it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from litestar import get

import dibs
from dibs import wire
from dibs.model.role import EVERYONE, Role
from dibs.server.admitting import ANYBODY
from dibs.server.app import create_app
from tests.server.running import ADMIN, AGENT, TOKENS, VIEWER, KnownCallers, Running, running

if TYPE_CHECKING:
    from pathlib import Path

    from dibs.wire.verbs import Verb

PATHS = {"{task_id}": "task_none", "{target}": "task_none", "{dag_id}": "dag_none", "{scope}": "global"}


def filled(verb: Verb) -> str:
    """Its path with some name in each place; a stream is asked for what there is already."""
    path = "/".join(PATHS.get(part, "x") if part.startswith("{") else part for part in verb.path.split("/"))
    return f"{path}?wait=0" if verb.answers == "events" else path


@pytest.mark.parametrize("role", Role)
def test_each_role_reaches_what_names_it_and_nothing_else(server: Running, role: Role) -> None:
    token = f"dibs_{role}_of_the_tests_0123456789"
    for verb in wire.every():
        if verb.name in ("run_duties", "prune", "sweep_artifacts"):
            continue
        body: Any = None if verb.in_query else {}
        answer = server.ask(verb.method, filled(verb), body, token=token)
        refused = answer.status == 403 and answer.json["field"] == "role"
        assert refused is (role not in verb.roles), (verb.name, answer.status, answer.body)


def test_nobody_reaches_anything_without_a_token(server: Running) -> None:
    for verb in wire.every():
        for token in (None, "dibs_nobody"):
            answer = server.ask(verb.method, filled(verb), None if verb.in_query else {}, token=token)
            assert answer.status == 401, (verb.name, answer.status)
            assert answer.headers["www-authenticate"] == "Bearer"


def test_refusals_and_changes_are_written_down_and_looking_is_not() -> None:
    with running() as server:
        server.ask("GET", "/v1/stats", token=None)
        server.ask("GET", "/v1/stats")
        server.ask("PUT", "/v1/slots", {"name": "gpu", "slots": 1}, token=AGENT)
        server.ask("PUT", "/v1/slots", {"name": "gpu", "slots": 1})
        server.ask("PUT", "/v1/slots", {"name": "gpu", "slots": 0})
        server.ask("POST", "/v1/claims", {"agent": "coder"})
        assert server.authority.recorded == [
            (None, "stats", "/v1/stats", "no_token"),
            ("agent", "set_slots", "/v1/slots", "denied"),
            ("admin", "set_slots", "/v1/slots", "done"),
            ("admin", "set_slots", "/v1/slots", "invalid"),
        ]


def test_nothing_that_is_told_is_kept_by_browsers_and_proxies(tmp_path: Path) -> None:
    with running(artifacts=f"file:{tmp_path}") as server:
        task = server.ask("POST", "/v1/tasks", {"type": "code"}).json
        server.ask("POST", "/v1/claims", {"agent": "coder"})
        server.ask("PUT", f"/v1/tasks/{task['id']}/artifacts/log?fence=1", raw=b"secret")
        kept = server.ask("GET", f"/v1/artifacts?ref=task:{task['id']}:artifact:log")
        assert (kept.body, kept.headers["cache-control"]) == (b"secret", "no-store")
        for verb in wire.every():
            answer = server.ask(verb.method, filled(verb), None if verb.in_query else {}, token=VIEWER)
            assert "no-store" in answer.headers["cache-control"], (verb.name, answer.status)


def test_what_another_page_made_a_browser_send_is_refused_and_written_down() -> None:
    with running() as server:
        forged = {"Cookie": f"dibs_{server.port}={ADMIN}", "Sec-Fetch-Site": "cross-site"}
        for verb, method, path in (("set_slots", "PUT", "/v1/slots"), ("add", "POST", "/v1/tasks")):
            answer = server.ask(method, path, {}, token=None, headers=forged)
            assert (answer.status, answer.json["code"]) == (403, "wrong_origin")
            assert server.authority.recorded.pop() == (None, verb, path, "wrong_origin")
        assert not server.authority.recorded


def test_an_agent_sees_no_payloads_and_outputs_of_others_in_lists() -> None:
    with running() as server:
        task = server.ask(
            "POST", "/v1/tasks", {"type": "code", "payload": "secret", "context": {"goal": "secret"}}
        ).json
        for path in ("/v1/tasks", f"/v1/dags/{task['dag_id']}"):
            assert b"secret" not in server.ask("GET", path, token=AGENT).body
            assert b"secret" in server.ask("GET", path).body
        server.ask("POST", "/v1/claims", {"agent": "coder"})
        server.ask("POST", f"/v1/tasks/{task['id']}/complete", {"fence": 1, "output": "secret"})
        for path in ("/v1/events/page", "/v1/events/recent", f"/v1/dags/{task['dag_id']}/wait"):
            assert b"secret" not in server.ask("GET", path, token=AGENT).body
            assert b"secret" in server.ask("GET", path).body
        searched = server.ask("GET", "/v1/tasks?text=secret", token=AGENT)
        assert (searched.status, searched.json["field"]) == (403, "text")
        for query in ("secret", "-secret", '"secret"', "type:code secret", "type:code -%22secret%22"):
            searched = server.ask("GET", f"/v1/tasks?query={quote(query, safe='%')}", token=AGENT)
            assert (searched.status, searched.json["field"]) == (403, "query"), query
        assert server.ask("GET", "/v1/tasks?query=type:code", token=AGENT).json["items"]
        looked_up = server.ask("POST", "/v1/tasks/look-up", {"ids": [task["id"]]}, token=AGENT)
        assert b"secret" not in looked_up.body


def test_a_handler_that_names_nobody_keeps_the_app_from_starting() -> None:
    @get("/open", sync_to_thread=False)
    def unguarded() -> str:
        return "hello"

    @get("/closed", opt={"roles": EVERYONE}, sync_to_thread=False)
    def guarded() -> str:
        return "hello"

    @get("/public", opt={"roles": ANYBODY}, sync_to_thread=False)
    def public() -> str:
        return "hello"

    async def start() -> None:
        async with dibs.connect("memory:") as queue:
            create_app(queue, authority=KnownCallers(TOKENS), routers=[guarded, public])
            with pytest.raises(RuntimeError, match="GET /open"):
                create_app(queue, authority=KnownCallers(TOKENS), routers=[unguarded])

    asyncio.run(start())
