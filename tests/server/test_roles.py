"""Every route of the app's own table, for every role: who is not named is refused; another project does not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin
from urllib.parse import quote

import pytest

from dibs.model.role import EVERYONE, OPERATING, Role
from dibs.model.task import NewTask
from dibs.rules import tokens
from dibs.server.admitting import ANYBODY
from dibs.server.callers import Caller
from tests.server.running import TOKENS, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.wire.verbs import Verb
    from tests.server.running import Answer, Running

OTHERS = {
    f"dibs_{role}_of_another_project_0123456789": Caller(name=role, role=role, token_id=f"b-{role}", project="b")
    for role in Role
}
WRONG = (tokens.secret_of(bytes(32)), "dibs_admin_of_the_tests_012345678", "x")


class Route(NamedTuple):
    """One method of one path, and who may ask."""

    method: str
    path: str
    roles: frozenset[Role]
    verb: Verb | None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Furniture(NamedTuple):
    """Something of everything, in the default project: what stands for each name in a path."""

    tasks: list[str]
    dags: list[str]
    question: str
    token: str


@pytest.fixture(scope="module")
def house() -> Iterator[tuple[Running, Furniture]]:
    with running(callers=TOKENS | OTHERS) as server:

        async def furnish() -> Furniture:
            queue = server.queue
            plain = await queue.add("job")
            dag = await queue.add_dag("d", [NewTask("one", ref="o"), NewTask("two", after=["o"])])
            await queue.add("asks")
            [asker] = await queue.claim("ada", types=["asks"])
            question = await queue.ask(asker, "which?")
            await queue.add("held")
            [held] = await queue.claim("ada", types=["held"], lease=3600)
            await queue.add("dead")
            [dead] = await queue.claim("ada", types=["dead"])
            await queue.fail(dead, "no", retry=False)
            token = await queue.create_token("somebody")
            return Furniture([plain.id, held.task.id, dead.task.id], [dag.id, plain.dag_id], question.id, token.id)

        yield server, server.inside(furnish)


def routes(server: Running) -> list[Route]:
    """The app's own table: nothing is listed by hand."""
    found = []
    for route in server.app.routes:
        for handler in getattr(route, "route_handlers", ()):
            roles = handler.opt.get("roles")
            if roles is None:
                assert handler.http_methods == {"OPTIONS"}, route.path
                continue
            verb = handler.opt.get("verb")
            path = route.path if verb is None else verb.path
            found += [Route(method, path, roles, verb) for method in sorted(handler.http_methods)]
    assert len(found) > 60
    return found


def filled(route: Route, ids: dict[str, str]) -> str:
    """The path with these in the place of its names."""
    parts = []
    for part in route.path.split("/"):
        name = part.strip("{}").partition(":")[0]
        parts.append(quote(ids.get(name, "x"), safe="") if part.startswith("{") else part)
    return "/".join(parts)


def dummy(kind: Any) -> Any:
    """Something of this type."""
    options = [kind, *get_args(kind)] if get_origin(kind) is not list else [list]
    for each in options:
        for known, value in ((str, "x"), (bool, True), (int, 1), (float, 1.0), (list, [])):
            if each is known or get_origin(each) is known:
                return value
    return {}


def asked(server: Running, route: Route, path: str, token: str | None) -> Answer:
    """The route, with what it needs; nobody waits."""
    body: dict[str, Any] = {}
    if route.verb is not None:
        body = {name: dummy(kind) for name, kind in route.verb.needs.items()}
        for name in ("timeout", "wait"):
            if name in route.verb.takes:
                body[name] = 0
        if route.verb.in_query:
            query = "&".join(f"{name}={quote(str(value))}" for name, value in body.items())
            raw = b"x" if route.verb.sends == "bytes" else None
            return server.ask(route.method, f"{path}?{query}" if query else path, token=token, raw=raw)
    return server.ask(route.method, path, body if route.method not in ("GET", "HEAD", "DELETE") else None, token=token)


def test_whoever_has_no_token_or_a_wrong_one_is_refused_everywhere(house: tuple[Running, Furniture]) -> None:
    server, _ = house
    for route in routes(server):
        if route.roles == ANYBODY:
            continue
        path = filled(route, {})
        for token, code in ((None, "no_token"), *((wrong, "unknown_token") for wrong in WRONG)):
            answer = asked(server, route, path, token)
            assert answer.status == 401, f"{route} with {token}"
            assert route.method == "HEAD" or answer.json["code"] == code
            assert "bearer" in answer.headers["www-authenticate"].lower()


def test_a_role_that_is_not_named_is_refused_everywhere_and_that_is_recorded(
    house: tuple[Running, Furniture],
) -> None:
    server, furniture = house
    before = server.inside(lambda: _whole(server))
    refused = 0
    for route in routes(server):
        if route.roles == ANYBODY:
            continue
        assert route.roles <= EVERYONE
        path = filled(route, {"task_id": furniture.tasks[1], "dag_id": furniture.dags[0], "token": furniture.token})
        for token, caller in (TOKENS | OTHERS).items():
            if caller.role in route.roles:
                continue
            server.authority.recorded.clear()
            answer = asked(server, route, path, token)
            assert answer.status == 403, f"{route} as {caller.role}"
            assert route.method == "HEAD" or (answer.json["code"], answer.json["field"]) == ("denied", "role")
            assert [outcome for *_, outcome in server.authority.recorded] == ["denied"], str(route)
            refused += 1
    assert refused > 100
    assert server.inside(lambda: _whole(server)) == before


def test_a_role_that_is_named_comes_in(house: tuple[Running, Furniture]) -> None:
    server, _ = house
    for route in routes(server):
        for token, caller in TOKENS.items():
            if route.roles == ANYBODY or caller.role not in route.roles:
                continue
            answer = asked(server, route, filled(route, {}), token)
            assert answer.status not in (401, 500, 503), f"{route} as {caller.role}: {answer.body!r}"
            if answer.status == 403:
                # Not the role: it is an agent that holds nothing of this.
                assert answer.json["field"] != "role", f"{route} as {caller.role}: {answer.body!r}"


def test_tokens_and_the_audit_are_for_admins_only(house: tuple[Running, Furniture]) -> None:
    server, _ = house
    about = [route for route in routes(server) if route.path.startswith(("/v1/tokens", "/v1/audit"))]
    assert {route.roles for route in about} == {OPERATING}
    assert len(about) >= 7


UNKNOWN = {
    "task": "task_01zzzzzzzzzzzzzzzzzzzzzzzz",
    "dag": "dag_01zzzzzzzzzzzzzzzzzzzzzzzz",
    "question": "q_01zzzzzzzzzzzzzzzzzzzzzzzz",
    "token": "tok_01zzzzzzzzzzzzzzzzzzzzzzz",
}


def named(route: Route, furniture: Furniture) -> list[tuple[str, str, str]]:
    """What a path names: the name, an id of the default project, and one that nobody knows."""
    found = []
    for part in route.path.split("/"):
        name = part.strip("{}")
        kind = {"task_id": "task", "dag_id": "dag", "question_id": "question", "token": "token"}.get(name)
        if name == "target":
            kind = "dag" if "/dags/" in route.path else "task"
        if part.startswith("{") and kind is not None:
            ids = {"task": furniture.tasks, "dag": furniture.dags, "question": [furniture.question]}
            found += [(name, id, UNKNOWN[kind]) for id in ids.get(kind, [furniture.token])]
    return found


def test_what_another_project_has_is_answered_as_what_nobody_has(house: tuple[Running, Furniture]) -> None:
    server, furniture = house
    before = server.inside(lambda: _whole(server))
    compared = 0
    for route in routes(server):
        for name, id, unknown in named(route, furniture):
            for token, caller in OTHERS.items():
                if caller.role not in route.roles:
                    continue
                theirs = asked(server, route, filled(route, {name: id}), token)
                nobodys = asked(server, route, filled(route, {name: unknown}), token)
                assert _told(theirs, id) == _told(nobodys, unknown), f"{route} as {caller.role}"
                assert theirs.status != 200 or theirs.body in (b"[]", b'{"items":[],"cursor":null}'), str(route)
                compared += 1
    assert compared > 100
    assert server.inside(lambda: _whole(server)) == before


def test_lists_and_counts_of_another_project_are_empty(house: tuple[Running, Furniture]) -> None:
    server, furniture = house
    ids = [*furniture.tasks, *furniture.dags, furniture.question, furniture.token]
    looked = 0
    for route in routes(server):
        if route.method != "GET" or "{" in route.path or route.verb is None:
            continue
        for token, caller in OTHERS.items():
            if caller.role not in route.roles:
                continue
            answer = asked(server, route, route.path, token)
            for id in ids:
                assert id.encode() not in answer.body, f"{route} as {caller.role}"
            looked += 1
    assert looked > 20
    viewer = next(token for token, caller in OTHERS.items() if caller.role is Role.VIEWER)
    stats = server.ask("GET", "/v1/stats", token=viewer).json
    assert not any(stats["by_status"].values())


def _told(answer: Answer, id: str) -> tuple[int, bytes]:
    return answer.status, answer.body.replace(id.encode(), b"ID").replace(quote(id, safe="").encode(), b"ID")


async def _whole(server: Running) -> Any:
    """All that the default project has. Agents are heard of again by every claim."""
    cargo = await server.queue.store.carry_out(0, 1000)
    return [task for task in cargo.tasks if '"project":"b"' not in task.spec]
