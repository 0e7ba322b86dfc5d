"""OpenAPI 3.1, made from the table of verbs; committed as docs/openapi.json.

The schemas of bodies are those that the types in the table have: what a value may be beyond that is said by the verb
that refuses it, in the answer.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

import dibs
from dibs import wire
from dibs.wire.problems import MEDIA_TYPE, Problem
from dibs.wire.topics.tasks import IN_A_LIST
from dibs.wire.verbs import Refusal, Verb

_REF = "#/components/schemas/{name}"
_DESCRIPTION = (
    "A durable work queue for fleets of AI agents. Every path is one verb of the queue; its parameters have the same"
    " names in Python, in the shell and here. Durations are seconds or texts such as `5m`; instants are ISO 8601."
)
_ERRORS = {
    "400": "Not a request: not JSON, or not HTTP as it should be.",
    "401": "No token, or one that is unknown here.",
    "403": "This token may not do that.",
    "404": "There is nothing of that name in this project.",
    "409": "The state of things refuses it: `code` says why.",
    "412": "It was changed since you looked (If-Match).",
    "413": "The body is too large.",
    "415": "Only application/json is read here.",
    "422": "A value is wrong: `field` names it.",
    "429": "Too many requests: wait as long as Retry-After says.",
    "503": "The store cannot be reached now: try again.",
}


def table() -> list[Verb]:
    """All verbs that are served."""
    return wire.every()


@lru_cache(maxsize=1)
def document() -> bytes:
    """The document, as JSON that is the same each time."""
    return msgspec.json.format(msgspec.json.encode(described(table())), indent=1) + b"\n"


def described(verbs: list[Verb]) -> dict[str, Any]:
    """The document of these verbs."""
    bodies = {_body_name(verb): _struct(_body_name(verb), verb) for verb in verbs if _has_body(verb)}
    new_task = _defined("NewTask", {"type": str}, {k: v for k, v in IN_A_LIST.items() if k != "type"})
    replies = [reply for verb in verbs for reply in (verb.reply, verb.or_reply) if reply is not None]
    kinds = [kind for verb in verbs for kind in (*verb.needs.values(), *verb.takes.values())]
    wanted = [*bodies.values(), new_task, Problem, Refusal, *replies, *kinds]
    schemas, components = msgspec.json.schema_components(wanted, ref_template=_REF)
    found = dict(zip(map(id, wanted), schemas, strict=True))
    for name, body in bodies.items():
        _hold_tasks(components[name], body)
    paths: dict[str, Any] = {}
    for verb in verbs:
        paths.setdefault(verb.path, {})[verb.method.lower()] = _operation(verb, found)
    return {
        "openapi": "3.1.0",
        "info": {"title": "dibs", "version": dibs.__version__, "description": _DESCRIPTION},
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "A token: `dibs_…`"}},
            "responses": _problems(),
            "schemas": dict(sorted(components.items())),
        },
    }


def _operation(verb: Verb, found: dict[int, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {
        "operationId": f"{verb.name}_{verb.path.split('/')[2]}",
        "summary": verb.about,
        "tags": [verb.path.split("/")[2]],
        "x-roles": sorted(verb.roles),
        "parameters": _parameters(verb, found),
        "responses": _responses(verb, found),
    }
    if verb.sends == "bytes":
        content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        said["requestBody"] = {"required": True, "content": content}
    elif _has_body(verb):
        schema = {"$ref": _REF.format(name=_body_name(verb))}
        said["requestBody"] = {"required": bool(verb.needs), "content": {"application/json": {"schema": schema}}}
    return said


def _parameters(verb: Verb, found: dict[int, Any]) -> list[dict[str, Any]]:
    text = {"type": "string"}
    said = [{"name": name, "in": "path", "required": True, "schema": text} for name in verb.in_path]
    if verb.in_query:
        for name, kind in (*verb.needs.items(), *verb.takes.items()):
            said.append(
                {"name": name, "in": "query", "required": name in verb.needs, "schema": _plain(found[id(kind)])}
            )
    if verb.once:
        said.append(_header("Idempotency-Key", "Sent again with the same key, it is answered as before."))
    if verb.edits:
        said.append(_header("If-Match", "The version (ETag) that you have seen; if it is another now: 412."))
    return said


def _plain(schema: Any) -> Any:
    """A schema for a query, where nothing is null: it is left out instead."""
    options = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if not options:
        return schema
    return options[0] if len(options) == 1 else {"anyOf": options}


def _header(name: str, about: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, "description": about, "schema": {"type": "string"}}


def _responses(verb: Verb, found: dict[int, Any]) -> dict[str, Any]:
    if verb.answers == "bytes":
        content: Any = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    elif verb.answers == "events":
        content = {"text/event-stream": {"schema": {"type": "string"}}}
    else:
        content = {"application/json": {"schema": _reply(verb, found)}}
    errors = {status: {"$ref": f"#/components/responses/{status}"} for status in _ERRORS}
    return {str(verb.status): {"description": verb.about, "content": content}, **errors}


def _problems() -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(name="Problem")}}}
    return {status: {"description": about, "content": content} for status, about in _ERRORS.items()}


def _reply(verb: Verb, found: dict[int, Any]) -> Any:
    if verb.reply is None:
        return {"type": "null"}
    schema = found[id(verb.reply)]
    if verb.batch:
        refusal = {"$ref": _REF.format(name="Refusal")}
        return {"type": "array", "items": {"anyOf": [schema["items"], refusal]}}
    return schema if verb.or_reply is None else {"anyOf": [schema, found[id(verb.or_reply)]]}


def _has_body(verb: Verb) -> bool:
    return not verb.in_query and bool(verb.needs or verb.takes)


def _body_name(verb: Verb) -> str:
    words = f"{verb.name}_{verb.path.split('/')[2].removesuffix('s')}" if verb.name == "cancel" else verb.name
    return "".join(word.capitalize() for word in words.split("_")) + "Request"


def _struct(name: str, verb: Verb) -> type[Struct]:
    return _defined(name, verb.needs, verb.takes)


def _defined(name: str, needs: dict[str, Any], takes: dict[str, Any]) -> type[Struct]:
    needed: list[Any] = list(needs.items())
    taken = [(field, kind | msgspec.UnsetType, msgspec.UNSET) for field, kind in takes.items()]
    return msgspec.defstruct(name, [*needed, *taken], kw_only=True, forbid_unknown_fields=True)


def _hold_tasks(component: dict[str, Any], body: type[Struct]) -> None:
    """Lists of tasks are lists of new tasks, not of anything."""
    if "tasks" in body.__struct_fields__:
        component["properties"]["tasks"] = {"type": "array", "items": {"$ref": _REF.format(name="NewTask")}}


if __name__ == "__main__":
    import sys

    sys.stdout.buffer.write(document())
