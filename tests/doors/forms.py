"""Where a door has another form than Python: the whole list, so that nothing else may differ.

`of_http`, `of_shell` and so on bring an answer into the form that the verb has in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.doors.doors import Outcome
    from tests.doors.story import Step

KINDS = {
    "invalid": (2, 422),
    "invalid_output": (2, 422),
    "too_large": (2, 413),
    "timeout": (3, 200),
    "not_found": (4, 404),
    "unavailable": (6, 503),
    "denied": (7, 403),
}
"""The exit code and the status of each code of an error."""
_CONFLICT = (5, 409)

HTTP_VERBS = {"spawn": "spawn_below", "ask": "ask_under"}
"""Verbs that are another one's over HTTP, and its answer has more than theirs."""

_OTHER_FIELDS = frozenset({"complete", "fail", "release", "start", "spawn"})
"""Commands that print the task as it is then, or less than their verb answers. What both have is the same."""

_FIELDS = {("cancel", "target"): "id"}
"""What the shell calls a parameter that it checks itself."""

_EXIT_3 = ("claim", "resume", "wait")
"""Commands that say by their exit code that there was nothing."""

_EXITS = (("outcome", "rejected", 2), ("fits", False, 3), ("sound", False, 1))
"""The same for what an answer says."""
_CALLERS = frozenset({"answered_by", "by", "created_by", "raised_by", "set_by"})
"""Fields in which a server writes whose token it was, unless it is told a name."""

_Form = Callable[[Any], Any]

_HTTP: dict[str, _Form] = {
    "claim": lambda answer: answer["claims"],
    "spawn": lambda answer: answer["tasks"],
    "ask": lambda answer: answer["question"],
    "wait": lambda answer: answer.get("task") or answer.get("dag"),
}
_SHELL: dict[str, _Form] = {
    "claim": lambda answer: [] if answer is None else [answer],
    "log": lambda answer: None if answer.get("logged") is True else answer,
    "checkpoint": lambda answer: None if answer.get("stored") is True else answer,
    "resume": lambda answer: answer["resumed"],
    "audit prune": lambda answer: answer["pruned"],
    "prune": lambda answer: answer["pruned"],
    "dlq show": lambda answer: answer["attempts"],
    "escalation clear": lambda answer: None if answer == {"cleared": True} else answer,
    "hook rm": lambda answer: None if answer.keys() == {"removed"} else answer,
    "dlq ls": lambda answer: [task["id"] for task in answer["items"]] if isinstance(answer, dict) else answer,
}


def of_refusal(code: str) -> tuple[int, int]:
    """The exit code and the status of an error with this code."""
    return KINDS.get(code, _CONFLICT)


def of_python(verb: str, answer: Any) -> Any:
    """What a verb answered in Python, without what only dibs itself asks for."""
    if verb == "spawn_below":
        return {name: value for name, value in answer.items() if name not in ("dag", "dag_id")}
    return answer


def of_http(verb: str, answer: Any) -> Any:
    """What a verb answered over HTTP, as in Python."""
    return _HTTP.get(verb, _same)(answer)


def of_server(answer: Any, role: str) -> Any:
    """What a server answered somebody of this role, as where nobody is asked who they are and nothing is sent twice."""
    return of_whom(answer, lambda name: name == role)


def _refused(item: dict[str, Any]) -> dict[str, Any]:
    """A task that could not end like its group, without its id: they are in their order."""
    return {name: value for name, value in item.items() if name not in ("task_id", "fence")}


def of_whom(answer: Any, is_usual: Callable[[str], bool]) -> Any:
    """An answer without the names that a door gives to whoever gave none."""
    if isinstance(answer, Mapping):
        return {name: _unsigned(name, of_whom(each, is_usual), is_usual) for name, each in answer.items()}
    return [of_whom(each, is_usual) for each in answer] if isinstance(answer, list) else answer


def _unsigned(field: str, value: Any, is_usual: Callable[[str], bool]) -> Any:
    if not isinstance(value, str):
        return value
    if field == "key" and value.startswith("idempotency-key:"):
        return None
    return None if field in _CALLERS and is_usual(value) else value


def of_shell(words: list[str], answer: Any) -> Any:
    """What a command of the shell answered, as in Python."""
    if "--group" in words:
        return [_refused(each) if "code" in each else each for each in answer]
    form = _SHELL.get(" ".join(words[:2])) or _SHELL.get(words[0], _same)
    return of_whom(form(answer), lambda name: name.startswith("shell:"))


def exit_code_of(step: Step, answer: Any) -> int:
    """What a command ends with that answered this."""
    if isinstance(answer, Mapping):
        for name, value, code in _EXITS:
            if name in answer and answer[name] == value:
                return code
    refused = [refusal for each in answer if (refusal := _code_of(each))] if isinstance(answer, list) else []
    if refused:
        return of_refusal(refused[0])[0]
    return 3 if step.shell is not None and step.shell.split()[0] in _EXIT_3 and answer in ([], False) else 0


def _code_of(item: Any) -> str | None:
    """The code of an item of a batch that was refused."""
    if not isinstance(item, Mapping):
        return None
    return "invalid_output" if item.get("outcome") == "rejected" else item.get("code")


def tells_otherwise(step: Step) -> bool:
    """Whether the shell tells something else about this step than its verb."""
    return step.shell is not None and step.shell.split()[0] in _OTHER_FIELDS


def is_told_alike(outcome: Outcome) -> bool:
    """Whether a refusal has the words that it has in Python: the shell names options, a server the verb it was asked
    for."""
    return outcome.door != "shell" and outcome.refusal is not None and outcome.refusal.code != "denied"


def field_in(door: str, step: Step) -> str | None:
    """The parameter that a refused step names at this door."""
    if door == "shell" and step.shell is not None and step.wrong is not None:
        words = step.shell.split()
        return _FIELDS.get((words[0], step.wrong), step.wrong)
    return step.wrong


def common(one: Any, other: Any) -> tuple[Any, Any]:
    """Of two answers, the fields that both have."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        both = sorted(one.keys() & other.keys())
        return {name: one[name] for name in both}, {name: other[name] for name in both}
    return one, other


def _same(answer: Any) -> Any:
    return answer
