"""Examples of every verb, told once: a story is a few steps, and each step can be taken through every door.

A step names a verb and its arguments as Python has them, and the same as a command of the shell. What a step answered
can be used by later ones: `"$task.id"` is the `id` of what the step saved as `task`; `"$claims.0.fence"` goes into
lists; `"task:${task.id}:output"` has it inside a text. A name of a field may be one, too.

    Story(
        "rates",
        Step("set_rate", {"type": "call", "rate": "2/hour"}, shell="rate set call 2/hour", answers={"amount": 2}),
        Step("add", {"type": "call"}, saves="task", shell="add call"),
        Step("set_rate", {"type": "call", "rate": "fast"}, shell="rate set call fast", refused="invalid", wrong="rate"),
    )

This module and the stories are plain data. Tests take each story through all doors and compare the answers;
`make compare` takes them through one door with two versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DOORS = ("python", "sync", "http", "remote", "shell")
ONLY_OVER_HTTP = frozenset(
    {"about", "advise", "check", "get_breaker", "get_budget", "get_rate", "last_seq", "look_up", "news"}
)
"""Verbs that only the server has; what they answer is in the answers of other verbs elsewhere."""
WITH_TOKENS = ("http", "remote")
"""Doors that ask who is there."""
EMBEDDED = ("python", "sync", "shell")
"""Doors that open the store themselves."""
ON_A_STORE = ("python", "sync", "shell")
"""The others."""


@dataclass(frozen=True)
class Step:
    """One verb with its arguments.

    `shell` is the command without `dibs` and `--json`, split as a shell splits it; None where the shell has no such
    command, and then the same is done in Python on the same store. `stdin` is what a command reads that has `-` among
    its words: text, or anything that is sent as JSON.

    `answers` are facts that the answer must have: see `holds`. Equality between doors does the rest. `refused` is the
    code of the error that is expected, `wrong` the parameter that it names. `saves` names the answer for later steps.

    `role` asks with a token of that role where there are tokens (`admin`, `orchestrator`, `agent`, `viewer`); what a
    role is denied is asked only there. `doors`: only those have it, in this form.
    """

    verb: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    shell: str | None = None
    saves: str | None = None
    refused: str | None = None
    role: str = "admin"
    wrong: str | None = None
    answers: Any = None
    stdin: Any = None
    doors: tuple[str, ...] = DOORS

    def is_for(self, door: str) -> bool:
        """Whether it can be taken through this door."""
        if self.refused is not None and self.role != "admin" and door not in WITH_TOKENS:
            return False
        return door in self.doors and (door == "http" or self.verb not in ONLY_OVER_HTTP)


class Story:
    """Steps that belong together, on a store of their own."""

    def __init__(self, name: str, *steps: Step) -> None:
        self.name = name
        self.steps = steps


def filled(value: Any, saved: Mapping[str, Any]) -> Any:
    """Return `value` with each `"$name.path"` replaced by what an earlier step answered."""
    if isinstance(value, str):
        if re.fullmatch(r"\$[a-z]\w*(\.\w+)*", value):
            return _at(value[1:], saved)
        return re.sub(r"\$\{([a-z][\w.]*)\}", lambda found: str(_at(found[1], saved)), value)
    if isinstance(value, Mapping):
        return {filled(name, saved) if "." in name else name: filled(each, saved) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [filled(each, saved) for each in value]
    return value


def _at(path: str, saved: Mapping[str, Any]) -> Any:
    name, *parts = path.split(".")
    found = saved[name]
    for part in parts:
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found


def holds(fact: Any, answer: Any) -> bool:
    """Whether an answer has these facts: a mapping those fields (None: it is left out or null), a list as many items,
    each with its facts; anything else is equal."""
    if isinstance(fact, Mapping):
        if not isinstance(answer, Mapping):
            return False
        return all(holds(each, answer.get(name)) for name, each in fact.items())
    if isinstance(fact, list | tuple):
        if not isinstance(answer, list) or len(fact) != len(answer):
            return False
        return all(map(holds, fact, answer))
    return isinstance(fact, bool) == isinstance(answer, bool) and bool(fact == answer)
