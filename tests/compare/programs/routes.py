"""Every route asked badly: by nobody, by callers who may not, about what is not there, in words that it does not take.

Good answers of every route are in the stories. A program for each first part of a path, in a project of its own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.compare.http_client import Client
from tests.compare.program import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.compare.http_client import Answer
    from tests.compare.program import Scene
    from tests.doors.requests import Operation

PARTS = (
    *("a2a", "about", "agents", "artifacts", "audit", "breakers", "budgets", "claims", "costs", "dags"),
    *("dead-letters", "escalations", "events", "found", "gates", "groups", "hooks", "journal", "lanes", "locks"),
    *("outcomes", "overview", "pauses", "questions", "rates", "renewals", "reports", "schedules", "slots", "stats"),
    *("tasks", "tokens", "triggers"),
)
OTHERS = "others"
JSON = {"Content-Type": "application/json"}
NOBODY = {"task_id": "task_00000000000000000000000000", "dag_id": "dag_00000000000000000000000000"}
"""What a path names, where it must look like an id."""


def _of(part: str) -> Callable[[Scene], None]:
    def run(scene: Scene) -> None:
        client = Client(scene.served_at, scene.admin)
        tokens = client.tokens(f"routes-{part}")
        held = _held(client, tokens["admin"])
        for operation in client.operations:
            mine = operation.path.split("/")[2]
            if mine == part or (part == OTHERS and mine not in PARTS):
                for case, answer in _cases(client, operation, tokens, held):
                    scene.note(f"{operation.method} {operation.path}: {case}", answer.seen)
        if part == OTHERS:
            # Not `/`: the dashboard is built apart from the code, here but not for the other version.
            for path in ("/healthz", "/readyz", "/v1/nothing"):
                scene.note(f"GET {path}", client.ask("GET", path, token=None).seen)
            scene.note("PATCH /v1/tasks", client.ask("PATCH", "/v1/tasks").seen)

    return run


def _held(client: Client, token: str) -> str:
    """The id of a task that somebody holds."""
    added = client.ask("POST", "/v1/tasks", b'{"type": "held"}', token=token, headers=JSON)
    client.ask("POST", "/v1/claims", b'{"agent": "ada", "types": ["held"]}', token=token, headers=JSON)
    return str(added.body["id"])


def _cases(client: Client, operation: Operation, tokens: dict[str, str], held: str) -> Iterator[tuple[str, Answer]]:
    def ask(
        body: bytes | None = None, *, task: str = "", token: str | None = tokens["admin"], **headers: str
    ) -> Answer:
        values = {
            name: task if task and name == "task_id" else NOBODY.get(name, "nobody") for name in operation.in_path
        }
        path = operation.path.format(**values)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return client.ask(operation.method, path, body, token=token, headers=sent)

    takes = {"Content_Type": operation.takes} if operation.takes else {}
    sample = (
        _sample(client, operation) if operation.takes == "application/json" else b"bytes" if operation.takes else None
    )
    yield "no token", ask(sample, token=None, **takes)
    yield "a token of nobody", ask(sample, token="dibs_nobodys_token_0123456789abcdef", **takes)
    for role in ("viewer", "agent", "orchestrator"):
        yield f"{role}, not there", ask(sample, token=tokens[role], **takes)
    if operation.path.startswith("/v1/audit"):
        client.until_acts_are_written(tokens["admin"])
    yield "not there", ask(sample, **takes)
    if "task_id" in operation.in_path and operation.takes == "application/json":
        stale = json.dumps({**json.loads(sample or b"{}"), "fence": 77}).encode()
        yield "somebody else's", ask(stale, task=held, **takes)
    if any(each["name"] == "If-Match" for each in operation.described.get("parameters", ())):
        yield "another version", ask(sample, If_Match='"0123456789abcdef"', **takes)
    if operation.takes == "application/json":
        yield "a list", ask(b"[1]", **takes)
        yield "no JSON", ask(b"{", **takes)
        yield "another type", ask(sample, Content_Type="text/plain")
        yield "an unknown field", ask(b'{"no_such_field": 1}', **takes)


def _sample(client: Client, operation: Operation) -> bytes:
    """A body with all that must be given."""
    [content] = operation.described["requestBody"]["content"].values()
    schema = _resolved(client, content["schema"])
    needed = schema.get("required", ())
    return json.dumps({name: _value(client, schema["properties"][name]) for name in needed}).encode()


def _value(client: Client, schema: Any) -> Any:
    schema = _resolved(client, schema)
    for way in ("anyOf", "oneOf"):
        if way in schema:
            return _value(client, schema[way][0])
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if "enum" in schema:
        return schema["enum"][0]
    values: dict[str, Any] = {"string": "sample", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    return values.get(str(kind), "sample")


def _resolved(client: Client, schema: Any) -> Any:
    while "$ref" in schema:
        found: Any = client.description
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    return schema


PROGRAMS = tuple(Program("http", f"routes of {part}", _of(part)) for part in (*PARTS, OTHERS))
