"""Whatever is sent, the answer is a refusal that says what is wrong, and the server answers the next one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.server.running import ADMIN, AGENT, ORCHESTRATOR, VIEWER, Running, running

if TYPE_CHECKING:
    from collections.abc import Iterator

from dibs.server.settings import Settings

NO_TASK = "/v1/tasks/task_nobody"


class Case(NamedTuple):
    """One bad request and how it is refused; `field` None: there is none at fault."""

    name: str
    method: str
    path: str
    status: int
    code: str
    field: str | None = None
    body: Any = None
    raw: bytes | None = None
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed
    token: str | None = ADMIN


def add(name: str, field: str | None, **body: Any) -> Case:
    return Case(name, "POST", "/v1/tasks", 422, "invalid", field, {"type": "code", **body})


def claim(name: str, field: str, **body: Any) -> Case:
    return Case(name, "POST", "/v1/claims", 422, "invalid", field, {"agent": "coder", **body})


def raw(name: str, data: bytes, status: int = 400, code: str = "not_json", field: str | None = None) -> Case:
    return Case(name, "POST", "/v1/tasks", status, code, field, raw=data, headers={"Content-Type": "application/json"})


def kind(name: str, content_type: str | None, **headers: str) -> Case:
    sent = {**headers, **({} if content_type is None else {"Content-Type": content_type})}
    data = b'{"type": "code"}'
    return Case(name, "POST", "/v1/tasks", 415, "wrong_media_type", "Content-Type", raw=data, headers=sent)


def query(name: str, path: str, field: str, code: str = "invalid") -> Case:
    return Case(name, "GET", path, 422, code, field)


def unauthorised(name: str, header: str | None, code: str) -> Case:
    headers = {} if header is None else {"Authorization": header}
    return Case(name, "GET", "/v1/stats", 401, code, headers=headers, token=None)


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


CASES = [
    # Tokens
    unauthorised("no token", None, "no_token"),
    unauthorised("an empty token", "Bearer ", "no_token"),
    unauthorised("a password", "Basic YTpi", "no_token"),
    unauthorised("a token without a scheme", ADMIN, "no_token"),
    unauthorised("a token of nobody", "Bearer dibs_nobody", "unknown_token"),
    unauthorised("half a token", f"Bearer {ADMIN[:-1]}", "unknown_token"),
    unauthorised("a token with more behind it", f"Bearer {ADMIN} x", "unknown_token"),
    unauthorised("a token that is too long", "Bearer " + "x" * 5000, "no_token"),
    unauthorised("a token that is no text", "Bearer d\xefbs", "no_token"),
    Case("a viewer that adds", "POST", "/v1/tasks", 403, "denied", "role", {"type": "x"}, token=VIEWER),
    Case("a viewer that claims", "POST", "/v1/claims", 403, "denied", "role", {"agent": "x"}, token=VIEWER),
    Case("an agent that adds", "POST", "/v1/tasks", 403, "denied", "role", {"type": "x"}, token=AGENT),
    Case("an agent that pauses", "POST", "/v1/pauses", 403, "denied", "role", {"everything": True}, token=AGENT),
    Case("a name that is too long", "POST", "/v1/claims", 422, "invalid", "agent", {"agent": "b" * 199}, token=AGENT),
    Case(
        "an orchestrator that claims", "POST", "/v1/claims", 403, "denied", "role", {"agent": "x"}, token=ORCHESTRATOR
    ),
    Case(
        "an orchestrator that sets a budget", "PUT", "/v1/budgets/global", 403, "denied", "role", {}, token=ORCHESTRATOR
    ),
    # Paths and methods
    Case("no such path", "GET", "/v1/nothing", 404, "not_found", "path"),
    Case("no path at all", "GET", "/", 404, "not_found", "path"),
    Case("another version", "GET", "/v2/tasks", 404, "not_found", "path"),
    Case("a path upwards", "GET", "/v1/tasks/../../etc/passwd", 404, "not_found", "path"),
    Case("a path too long", "GET", "/v1/tasks/" + "a" * 5000, 422, "invalid", "id"),
    Case("a method that does not go with the path", "DELETE", "/v1/tasks", 405, "wrong_method"),
    Case("a method that is not ours", "TRACE", "/v1/tasks", 405, "wrong_method"),
    Case("PUT of a task", "PUT", NO_TASK, 405, "wrong_method", body={}),
    Case("GET of a batch", "GET", "/v1/outcomes", 405, "wrong_method"),
    Case("OPTIONS", "OPTIONS", "/v1/tasks", 405, "wrong_method"),
    Case("a GET with a body", "GET", "/v1/stats", 400, "not_http", body={"a": 1}),
    # What is not JSON
    raw("nothing but a type", b""),
    raw("no JSON", b"type=code"),
    raw("half a document", b'{"type": "code"'),
    raw("two documents", b'{"type": "code"} {"type": "code"}'),
    raw("two documents on two lines", b'{"type": "code"}\n{"type": "code"}'),
    raw("a name twice", b'{"type": "code", "type": "deploy"}', field="type"),
    raw("a name twice, once in disguise", b'{"type": "code", "t\\u0079pe": "deploy"}', field="type"),
    raw("a name twice inside", b'{"type": "code", "payload": {"a": 1, "b" :2, "a" :3}}', field="a"),
    raw("NaN", b'{"type": "code", "payload": NaN}'),
    raw("infinity", b'{"type": "code", "payload": -Infinity}'),
    raw("a comma too many", b'{"type": "code",}'),
    raw("single quotes", b"{'type': 'code'}"),
    raw("a comment", b'{"type": "code" /* no */}'),
    raw("a byte order mark", b'\xef\xbb\xbf{"type": "code"}'),
    raw("UTF-16", '{"type": "code"}'.encode("utf-16")),
    raw("bytes that are no text", b'{"type": "co\xffde"}'),
    raw("half a surrogate", b'{"type": "code", "payload": "\\ud800"}'),
    raw("a line feed in a text", b'{"type": "co\nde"}'),
    raw("a number with too many zeros", b'{"type": "code", "priority": 007}'),
    raw("a hundred thousand brackets", b"[" * 100_000),
    raw("a body that is too deep", json.dumps({"type": "code", "payload": deep(100)}).encode()),
    raw("a list", b"[1]", 422, "invalid", "body"),
    raw("a text", b'"code"', 422, "invalid", "body"),
    raw("null", b"null", 422, "invalid", "body"),
    raw("a body that is too large", b'{"type": "code", "payload": "' + b"a" * 3_000_000 + b'"}', 413, "too_large"),
    kind("no type of the body", None),
    kind("a form", "application/x-www-form-urlencoded"),
    kind("plain text", "text/plain"),
    kind("a type like JSON", "application/jsonp"),
    kind("JSON in Latin-1", "application/json; charset=latin-1"),
    kind("JSON in UTF-16", "application/json; charset=utf-16"),
    kind("a compressed body", "application/json", **{"Content-Encoding": "gzip"}),
    # Adding
    Case("a task without a type", "POST", "/v1/tasks", 422, "missing_field", "type", {"payload": 1}),
    Case("a name that nobody knows", "POST", "/v1/tasks", 422, "unknown_field", "prority", {"type": "x", "prority": 1}),
    Case(
        "a parameter of the process",
        "POST",
        "/v1/tasks",
        422,
        "unknown_field",
        "connection",
        {"type": "x", "connection": 1},
    ),
    Case("an id where none is taken", "POST", "/v1/tasks", 422, "unknown_field", "id", {"type": "x", "id": "task_1"}),
    add("a type that is a number", "type", type=3),
    add("a type that is empty", "type", type=" "),
    add("a type that is too long", "type", type="x" * 201),
    add("a type with a NUL", "type", type="a\0b"),
    add("a priority that is a text", "priority", priority="high"),
    add("a priority that is too high", "priority", priority=101),
    add("a priority that is a list", "priority", priority=[1]),
    add("a boost below zero", "boost", boost=-1),
    add("a deadline without a zone", "deadline", deadline="2030-01-01T00:00:00"),
    add("a deadline that is none", "deadline", deadline="soon"),
    add("a deadline that is an object", "deadline", deadline={"in": 3}),
    add("no such thing to do at the deadline", "on_deadline", on_deadline="explode"),
    add("tags that are a text", "tags", tags="web"),
    add("tags that are numbers", "tags", tags=[1]),
    add("no attempts", "max_attempts", max_attempts=0),
    add("half an attempt", "max_attempts", max_attempts=1.5),
    add("attempts that are true", "max_attempts", max_attempts=True),
    add("a retry that nobody knows", "retry", retry="whenever"),
    add("a retry with a wrong part", "retry", retry={"strategy": "fixed", "delay": "long"}),
    add("a key that is a number", "key", key=7),
    add("a key that is an object", "key", key={"content": "yes"}),
    add("a contract that is none", "expects", expects={"validation": "magic"}),
    add("a title that is too long", "title", title="t" * 4001),
    add("a payload that is too large", "payload", payload="a" * 1_100_000),
    add("a payload that is too deep", "payload", payload=deep(70)),
    add("a payload with a NUL", "payload", payload={"a": "b\0"}),
    raw("a number with too many digits", b'{"type": "code", "payload": ' + b"9" * 5000 + b"}"),
    Case("a dag that is not there", "POST", "/v1/tasks", 404, "not_found", "dag", {"type": "x", "dag": "dag_none"}),
    Case(
        "a parent that is not there",
        "POST",
        "/v1/tasks",
        404,
        "not_found",
        "after",
        {"type": "x", "after": ["task_none"]},
    ),
    Case("a batch of nothing", "POST", "/v1/tasks/batch", 422, "invalid", "tasks", {"tasks": None}),
    Case("a batch of numbers", "POST", "/v1/tasks/batch", 422, "invalid", "tasks", {"tasks": [1, 2]}),
    Case(
        "a batch with one bad task",
        "POST",
        "/v1/tasks/batch",
        422,
        "missing_field",
        "type",
        {"tasks": [{"type": "x"}, {}]},
    ),
    Case(
        "an id that is not made like ours",
        "POST",
        "/v1/tasks/batch",
        422,
        "invalid",
        "id",
        {"tasks": [{"type": "x", "id": "mine"}]},
    ),
    Case("too many tasks", "POST", "/v1/tasks/batch", 422, "invalid", "tasks", {"tasks": [{"type": "x"}] * 10_001}),
    Case("an empty dag", "POST", "/v1/dags", 422, "invalid", "tasks", {"title": "x", "tasks": []}),
    Case(
        "a dag in a circle",
        "POST",
        "/v1/dags",
        409,
        "cycle_detected",
        "after",
        {"title": "x", "tasks": [{"type": "a", "ref": "a", "after": ["b"]}, {"type": "b", "ref": "b", "after": ["a"]}]},
    ),
    Case(
        "an empty idempotency key",
        "POST",
        "/v1/tasks",
        422,
        "invalid",
        "Idempotency-Key",
        {"type": "x"},
        headers={"Idempotency-Key": " "},
    ),
    Case(
        "an idempotency key that is too long",
        "POST",
        "/v1/tasks",
        422,
        "invalid",
        "Idempotency-Key",
        {"type": "x"},
        headers={"Idempotency-Key": "k" * 201},
    ),
    # Claiming and ending
    Case("a claim of nobody", "POST", "/v1/claims", 422, "missing_field", "agent", {}),
    claim("an agent that is a number", "agent", agent=7),
    claim("no tasks at all", "limit", limit=0),
    claim("too many tasks at once", "limit", limit=100_000),
    claim("a limit that is a text", "limit", limit="1"),
    claim("a lease that is too short", "lease", lease=0.1),
    claim("a lease that is no time", "lease", lease="forever"),
    claim("waiting backwards", "wait", wait=-1),
    claim("waiting for an object", "wait", wait={}),
    claim("types that are a text", "types", types="code"),
    claim("types in types", "types", types=[["code"]]),
    claim("capabilities of an object", "capabilities", capabilities={"python": True}),
    claim("a start that is a word", "start", start="yes"),
    Case("no fence", "POST", f"{NO_TASK}/complete", 422, "missing_field", "fence", {"output": 1}),
    Case("a fence that is a text", "POST", f"{NO_TASK}/complete", 422, "invalid", "fence", {"fence": "1"}),
    Case("a fence that is true", "POST", f"{NO_TASK}/renew", 422, "invalid", "fence", {"fence": True}),
    Case("a fence below zero", "POST", f"{NO_TASK}/start", 422, "invalid", "fence", {"fence": -1}),
    Case("a fence that is huge", "POST", f"{NO_TASK}/release", 422, "invalid", "fence", {"fence": 2**70}),
    Case("completing nothing", "POST", f"{NO_TASK}/complete", 404, "not_found", "task_id", {"fence": 1}),
    Case("failing without an error", "POST", f"{NO_TASK}/fail", 422, "missing_field", "error", {"fence": 1}),
    Case("an error that is a list", "POST", f"{NO_TASK}/fail", 422, "invalid", "error", {"fence": 1, "error": []}),
    Case("a cost below zero", "POST", f"{NO_TASK}/renew", 422, "invalid", "cost", {"fence": 1, "cost": -1}),
    Case("more progress than all", "POST", f"{NO_TASK}/renew", 422, "invalid", "progress", {"fence": 1, "progress": 2}),
    Case("outcomes that are an object", "POST", "/v1/outcomes", 422, "invalid", "outcomes", {"outcomes": {}}),
    Case("an outcome of nothing", "POST", "/v1/outcomes", 422, "missing_field", "task_id", {"outcomes": [{}]}),
    Case(
        "an outcome that names a list",
        "POST",
        "/v1/outcomes",
        422,
        "invalid",
        "task_id",
        {"outcomes": [{"task_id": [], "fence": 1, "outcome": "completed"}]},
    ),
    Case("renewals that are texts", "POST", "/v1/renewals", 422, "invalid", "renewals", {"renewals": ["a"]}),
    Case(
        "a renewal with a wrong lease",
        "POST",
        "/v1/renewals",
        422,
        "invalid",
        "lease_s",
        {"renewals": [{"task_id": "a", "fence": 1, "lease_s": "x"}]},
    ),
    Case("a group that is a text", "POST", "/v1/groups/complete", 422, "invalid", "claim", {"claim": "task_1"}),
    Case(
        "a journal of odd things",
        "POST",
        f"{NO_TASK}/journal",
        422,
        "invalid",
        "kind",
        {"fence": 1, "entries": [{"kind": "spawn"}]},
    ),
    Case("spawning nothing", "POST", f"{NO_TASK}/spawn", 422, "invalid", "tasks", {"fence": 1, "tasks": []}),
    Case("asking nothing", "POST", f"{NO_TASK}/ask", 422, "invalid", "question", {"fence": 1, "question": " "}),
    # Looking
    query("a limit that is a word", "/v1/tasks?limit=ten", "limit"),
    query("a limit that is too high", "/v1/tasks?limit=1001", "limit"),
    query("a limit of digits that are none", "/v1/tasks?limit=%D9%A3", "limit"),
    query("a cursor of nobody", "/v1/tasks?cursor=abc", "cursor"),
    query("a cursor that is empty", "/v1/tasks?cursor=", "cursor"),
    query("a status that is none", "/v1/tasks?status=sleeping", "status"),
    query("a name twice in the query", "/v1/tasks?limit=1&limit=2", "limit"),
    query("a name that nobody knows in the query", "/v1/tasks?limt=1", "limt", "unknown_field"),
    query("a query that is no text", "/v1/tasks?text=%ff", "query"),
    query("a query that is too long", "/v1/tasks?text=" + "a" * 20_000, "query"),
    query("events before the first", "/v1/events/page?after=-1", "after"),
    query("too many events", "/v1/events/page?limit=100000", "limit"),
    query("metrics by something else", "/v1/metrics?by=colour", "by"),
    query("since no time", "/v1/metrics?since=yesterday", "since"),
    query("reviewed perhaps", "/v1/dead-letters?reviewed=perhaps", "reviewed"),
    query("an artifact that is named wrongly", "/v1/artifacts?ref=here", "ref"),
    query("an artifact that is not named", "/v1/artifacts", "ref", "missing_field"),
    query("waiting for no time", f"{NO_TASK}/wait?timeout=long", "timeout"),
    Case("a task that is not there", "GET", NO_TASK, 404, "not_found", "task_id"),
    Case("a dag that nobody knows", "GET", "/v1/dags/dag_nobody", 404, "not_found", "dag_id"),
    Case("a question of nobody", "GET", "/v1/questions/q_nobody", 404, "not_found", "question_id"),
    # Setting
    Case("a budget without a limit", "PUT", "/v1/budgets/global", 422, "missing_field", "limit", {}),
    Case("a budget below zero", "PUT", "/v1/budgets/global", 422, "invalid", "limit", {"limit": -1}),
    Case("a budget for the moon", "PUT", "/v1/budgets/moon", 422, "invalid", "scope", {"limit": 1}),
    Case("a budget of apples", "PUT", "/v1/budgets/global", 422, "invalid", "unit", {"limit": 1, "unit": "apples"}),
    Case("a budget that is not there", "GET", "/v1/budgets/global", 404, "not_found", "scope"),
    Case("a pause of nothing", "POST", "/v1/pauses", 422, "invalid", "type", {}),
    Case("a pause of two things", "POST", "/v1/pauses", 422, "invalid", "agent", {"type": "a", "agent": "b"}),
    Case(
        "a pause in the past",
        "POST",
        "/v1/pauses",
        422,
        "invalid",
        "until",
        {"type": "a", "until": "2020-01-01T00:00:00Z"},
    ),
    Case("a rate that is none", "PUT", "/v1/rates/code", 422, "invalid", "rate", {"rate": "often"}),
    Case("no slots", "PUT", "/v1/slots", 422, "invalid", "slots", {"name": "gpu", "slots": 0}),
    Case("a ladder of words", "PUT", "/v1/escalations", 422, "invalid", "escalation", {"ladder": "up", "type": "x"}),
    Case(
        "a breaker that is odd",
        "PUT",
        "/v1/breakers/code",
        422,
        "invalid",
        "failure_threshold",
        {"failure_threshold": "few"},
    ),
    Case("an answer to nobody", "POST", "/v1/questions/q_nobody/answer", 404, "not_found", "question_id", {"value": 1}),
    Case(
        "a review of nobody",
        "POST",
        "/v1/dead-letters/task_none/review",
        404,
        "not_found",
        None,
        {"resolution": "kept", "by": "ada"},
    ),
    Case(
        "an agent that offers a text", "PUT", "/v1/agents/a", 422, "invalid", "capabilities", {"capabilities": "python"}
    ),
    Case("draining nobody", "POST", "/v1/agents/nobody/drain", 404, "not_found", "agent"),
    Case(
        "a version that is not there",
        "PUT",
        "/v1/budgets/global",
        412,
        "changed_meanwhile",
        "If-Match",
        {"limit": 1},
        headers={"If-Match": '"old"'},
    ),
]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running("memory:", settings=Settings(max_body_bytes=2_000_000)) as found:
        yield found


def test_there_are_more_than_a_hundred() -> None:
    assert len(CASES) > 101
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_bad_request_is_refused_and_the_server_answers_the_next(server: Running, case: Case) -> None:
    answer = server.ask(case.method, case.path, case.body, token=case.token, headers=case.headers, raw=case.raw)
    assert answer.headers["content-type"] == "application/problem+json", answer.body
    problem = answer.json
    assert (answer.status, problem["code"], problem.get("field")) == (case.status, case.code, case.field), problem
    assert problem["status"] == answer.status
    assert problem["detail"].endswith((".", "?", "…"))
    assert server.ask("GET", "/v1/events/last").status == 200


def test_nothing_of_all_that_was_kept(server: Running) -> None:
    for case in CASES:
        if case.method != "GET" and case.body is not None:
            server.ask(case.method, case.path, case.body, token=case.token, headers=case.headers)
    assert server.ask("GET", "/v1/tasks").json["items"] == []
    assert server.ask("GET", "/v1/budgets").json == []
    assert server.ask("GET", "/v1/gates").json == []


def test_what_is_allowed_is_named(server: Running) -> None:
    assert server.ask("DELETE", "/v1/tasks").headers["allow"] == "GET, POST"
    assert server.ask("PATCH", "/v1/budgets/global").headers["allow"] == "DELETE, GET, PUT"


HEAD = f"Host: x\r\nAuthorization: Bearer {ADMIN}\r\nContent-Type: application/json\r\n"
BODY = '{"type": "smuggled"}'
SMUGGLED = [
    f"POST /v1/tasks HTTP/1.1\r\n{HEAD}Content-Length: {len(BODY)}\r\n"
    f"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{BODY}",
    f"BREW /v1/tasks HTTP/1.1\r\n{HEAD}Content-Length: {len(BODY)}\r\n\r\n{BODY}",
    f"POST /v1/tasks HTTP/1.1\r\n{HEAD}Content-Length: {len(BODY)}\r\nContent-Length: 3\r\n\r\n{BODY}",
    f"POST /v1/tasks HTTP/1.1\r\n{HEAD}Content-Length: -{len(BODY)}\r\n\r\n{BODY}",
    f"POST /v1/tasks HTTP/1.1\r\n{HEAD}Content-Length: +{len(BODY)}\r\n\r\n{BODY}",
    f"POST /v1/tasks HTTP/1.1\r\n{HEAD}Content-Length: 0x14\r\n\r\n{BODY}",
    f"POST /v1/tasks HTTP/1.1\r\n{HEAD}Transfer-Encoding: xchunked\r\n\r\n14\r\n{BODY}\r\n0\r\n\r\n",
    f"POST /v1/tasks HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n{BODY}\r\n0\r\n\r\n",
    f"POST /v1/tasks HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{BODY}\r\n0\r\n\r\n",
    f"POST /v1/tasks HTTP/1.1\r\n{HEAD} Content-Length: {len(BODY)}\r\n\r\n{BODY}",
    f"POST /v1/tasks HTTP/1.1\r\n{HEAD}Content-Length : {len(BODY)}\r\n\r\n{BODY}",
    f"POST /v1/tasks HTTP/3.7\r\n{HEAD}Content-Length: {len(BODY)}\r\n\r\n{BODY}",
    f"GET /v1/stats HTTP/1.1\r\n{HEAD}Content-Length: {len(BODY)}\r\n\r\n{BODY}",
    f"POST /v1/tasks\r\n\r\n{BODY}",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "\0" * 100,
    "GET " + "/" * 100_000 + " HTTP/1.1\r\n\r\n",
    f"GET /v1/stats HTTP/1.1\r\n{HEAD}X: " + "a" * 200_000 + "\r\n\r\n",
    f"POST /v1/tasks HTTP/1.1\r\n{HEAD}Authorization: Bearer {ADMIN}\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}",
    f"POST /v1/tasks HTTP/1.1\r\n{HEAD}Content-Type: text/plain\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}",
]


@pytest.mark.parametrize("place", range(len(SMUGGLED)))
def test_a_request_that_is_not_http_as_it_should_be_adds_nothing(server: Running, place: int) -> None:
    answer = server.send(SMUGGLED[place].encode("latin-1"))
    assert b"HTTP/1.1 2" not in answer
    assert b"HTTP/1.1 5" not in answer
    assert server.ask("GET", "/v1/tasks?type=smuggled").json["items"] == []


def test_a_client_that_leaves_in_the_middle_of_a_body_adds_nothing(server: Running) -> None:
    server.send(f"POST /v1/tasks HTTP/1.1\r\n{HEAD}Content-Length: 1000\r\n\r\n{BODY}".encode())
    assert server.ask("GET", "/v1/tasks?type=smuggled").json["items"] == []
