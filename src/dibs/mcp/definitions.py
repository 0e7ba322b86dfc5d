"""The tools, as agents read them with every session. All together they stay below 2,500 tokens, as a test measures."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dibs.model.role import EVERYONE, STEERING, WATCHING, WORKING, Role

MOST_WAIT_S = 45
"""How long a call may wait: less than clients do."""
USUAL_WAIT_S = 15

Schema = dict[str, Any]


class Tool(Struct, frozen=True, kw_only=True):
    """A tool: what it is for, what it takes, and whose token may use it. `holds`: it is about a task that is held.
    `looks`: it changes nothing."""

    name: str
    about: str
    takes: dict[str, Schema]
    needs: tuple[str, ...] = ()
    roles: frozenset[Role] = WORKING
    holds: bool = False
    looks: bool = False

    def schema(self, *, stateless: bool = False) -> Schema:
        """What it takes. Where nothing ties two calls together, whoever holds something says which session it is."""
        properties = dict(self.takes)
        if self.holds:
            properties["task"] = {"type": "string", "description": "only if you hold several"}
        if stateless and (self.holds or self.name == "claim"):
            properties["session"] = {"type": "string", "description": "from your first claim's answer"}
        found: Schema = {"type": "object", "properties": properties}
        needs = (*self.needs, "session") if stateless and self.holds else self.needs
        return {**found, "required": list(needs)} if needs else found


def _text(about: str = "") -> Schema:
    return {"type": "string", "description": about} if about else {"type": "string"}


def _list(about: str = "") -> Schema:
    found: Schema = {"type": "array", "items": {"type": "string"}}
    return {**found, "description": about} if about else found


def _number(about: str = "", **limits: float) -> Schema:
    found: Schema = {"type": "number", **limits}
    return {**found, "description": about} if about else found


_TASK: Schema = {
    "type": "object",
    "properties": {
        "type": _text("kind of work"),
        "title": _text(),
        "payload": {"description": "what its agent needs to know"},
        "ref": _text("its name for `after`"),
        "after": _list("refs or ids it waits for; their outputs are its inputs"),
    },
    "required": ["type"],
    "additionalProperties": True,
}
_SPENT: dict[str, Schema] = {
    "cost": _number("USD so far"),
    "tokens_in": {"type": "integer"},
    "tokens_out": {"type": "integer"},
}

TOOLS = (
    Tool(
        name="claim",
        about="Take the most urgent task that you can do. The answer has all you need: payload, inputs, limits, why "
        "earlier attempts failed. Then complete, fail, spawn, ask or release it. No task: it says if to ask again.",
        takes={
            "types": _list("only these"),
            "can": _list("your capabilities, for tasks that require some"),
            "wait": _number(f"seconds to wait for work, default {USUAL_WAIT_S}", minimum=0, maximum=MOST_WAIT_S),
        },
    ),
    Tool(
        name="progress",
        about="Say how your task goes, in long work. If the answer has `stop`, stop: it was cancelled or taken away."
        " `ended`: what you spawned and did not wait for.",
        takes={
            "progress": _number("0 to 1", minimum=0, maximum=1),
            "note": _text("what you do"),
            "checkpoint": {"description": "what the next attempt should know if you fail"},
            **_SPENT,
        },
        holds=True,
    ),
    Tool(
        name="complete",
        about="Your task is done. The output goes to the tasks after it. If it is refused, the answer says why.",
        takes={"output": {"description": "any JSON: what was made"}, **_SPENT, "model": _text()},
        holds=True,
    ),
    Tool(
        name="fail",
        about="Your task did not work. It is tried again as its policy says; the next attempt reads the error.",
        takes={
            "error": _text("what went wrong, and what you tried"),
            "reason": _text("error, rate_limit, invalid_input, auth_failure, timeout …"),
            "retry": {"type": "boolean", "description": "false: trying again cannot help"},
            **_SPENT,
        },
        needs=("error",),
        holds=True,
    ),
    Tool(
        name="release",
        about="Give your task back unharmed, for others; no attempt is counted.",
        takes={"delay": _number("seconds until it is offered again", minimum=0)},
        holds=True,
    ),
    Tool(
        name="spawn",
        about="Add smaller tasks below yours, once. With wait your claim ends, and the task is claimed again when all "
        "have ended, with their outputs in `children`.",
        takes={"tasks": {"type": "array", "items": _TASK}, "wait": {"type": "boolean"}},
        needs=("tasks",),
        holds=True,
    ),
    Tool(
        name="ask",
        about="Ask a person. Your claim ends; the task is claimed again with the answer in `answers`. A question that "
        "was answered before is answered at once.",
        takes={
            "question": _text(),
            "schema": {"type": "object", "description": "JSON Schema of the answer"},
            "default": {"description": "the answer after timeout"},
            "timeout": _text("such as 2h"),
            "assignee": _text("whom"),
        },
        needs=("question",),
        holds=True,
    ),
    Tool(
        name="add",
        about="Add tasks for others: all or none. Further options as in `dibs add`: priority, requires, assignee, key, "
        "max_attempts, timeout, tags …",
        takes={
            "tasks": {"type": "array", "items": _TASK},
            "title": _text("of the whole: makes them one dag"),
            "wait": {"type": "boolean", "description": f"answer when all ended, or after {MOST_WAIT_S} s"},
        },
        needs=("tasks",),
        roles=STEERING,
    ),
    Tool(
        name="find",
        about="List tasks, newest first.",
        takes={
            "status": _list("ready, running, waiting, completed, dead_lettered …"),
            "type": _text(),
            "tag": _text(),
            "dag": _text(),
            "text": _text("in title, payload, output"),
            "limit": {"type": "integer", "minimum": 1, "maximum": 200},
            "cursor": _text("of the answer before"),
        },
        roles=EVERYONE,
        looks=True,
    ),
    Tool(
        name="show",
        about="One task or dag: status, output, errors.",
        takes={
            "id": _text("task_… or dag_…"),
            "part": _text("output or payload: only that, in pieces"),
            "from": {"type": "integer", "minimum": 0, "description": "where the piece begins"},
        },
        needs=("id",),
        roles=EVERYONE,
        looks=True,
    ),
    Tool(
        name="why",
        about="Why a task does not run, and what would help.",
        takes={"id": _text()},
        needs=("id",),
        roles=EVERYONE,
        looks=True,
    ),
    Tool(
        name="inbox",
        about="Open questions and approvals, for people.",
        takes={"assignee": _text("for them or nobody")},
        roles=WATCHING,
        looks=True,
    ),
    Tool(
        name="answer",
        about="Answer one, if you know what the person wants. Approvals take true or false.",
        takes={"question": _text("its id"), "value": {"description": "as its schema says"}, "by": _text("who says so")},
        needs=("question", "value"),
        roles=STEERING,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}


def offered(role: Role | None) -> tuple[Tool, ...]:
    """The tools of whoever has this role; None: all."""
    return TOOLS if role is None else tuple(tool for tool in TOOLS if role in tool.roles)
