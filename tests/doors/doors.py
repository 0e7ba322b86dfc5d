"""Takes a story through a door, and says what each step answered: plain data, in the form that the verb has in Python.

A door knows of dibs what users know: `import dibs` and its public names, the command, and what `/v1/openapi.json` says.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

import dibs
from tests.doors import command, forms, requests
from tests.doors.story import Step, Story, filled

Tokens = Mapping[str, str]
"""The secret of each role."""


class Refusal(NamedTuple):
    """What an error said."""

    code: str
    field: str | None
    message: str


class Outcome(NamedTuple):
    """How a step went: what was answered, or why it was refused.

    `sign` is the exit code or status; None where there is none. `door` says how it was really taken: in Python too
    where a command is missing. `place` counts the steps of the story.
    """

    step: Step
    answer: Any
    refusal: Refusal | None
    sign: int | None = None
    door: str = "python"
    place: int = 0


def python(story: Story, url: str, **options: Any) -> list[Outcome]:
    """Through `dibs.connect`."""
    return asyncio.run(_python(story, "python", url, options))


def remote(story: Story, url: str, tokens: Tokens) -> list[Outcome]:
    """Through a client of the server at this URL, one for each role."""
    return asyncio.run(_remote(story, url, tokens))


def sync(story: Story, url: str, **options: Any) -> list[Outcome]:
    """Through `dibs.connect_sync`."""
    walk = Walk(story, "sync")
    with dibs.connect_sync(url, **options) as queue:
        for step, arguments in walk.steps():
            walk.went(_in_sync(queue, step, arguments))
    return walk.outcomes


def over_http(story: Story, url: str, tokens: Tokens) -> list[Outcome]:
    """As requests, made as the server's own description says."""
    walk = Walk(story, "http")
    with Requests(url) as server:
        for step, arguments in walk.steps():
            outcome = server.ask(step, arguments, tokens[step.role])
            if outcome is not None:
                walk.went(outcome)
    return walk.outcomes


def shell(story: Story, url: str) -> list[Outcome]:
    """As commands, in this process. What has no command is done in Python on the same store."""
    walk = Walk(story, "shell")
    for step, arguments in walk.steps():
        if step.shell is None:
            with dibs.connect_sync(url) as queue:
                walk.went(_in_sync(queue, step, arguments))
            continue
        words = [_word(each) for each in filled(shlex.split(step.shell), walk.saved)]
        walk.went(_command(step, words, url, filled(step.stdin, walk.saved)))
    return walk.outcomes


class Walk:
    """A story on its way through one door: what was saved, and how each step went."""

    def __init__(self, story: Story, door: str) -> None:
        self.door = door
        self.outcomes: list[Outcome] = []
        self.saved: dict[str, Any] = {}
        self._story = story
        self._place = 0

    def steps(self) -> Iterator[tuple[Step, dict[str, Any]]]:
        """Each step that is for this door, with its arguments."""
        for place, step in enumerate(self._story.steps):
            if step.is_for(self.door):
                self._place = place
                yield step, filled(step.arguments, self.saved)

    def went(self, outcome: Outcome) -> None:
        """Keep how the step went."""
        self.outcomes.append(outcome._replace(place=self._place))
        if outcome.step.saves is not None:
            self.saved[outcome.step.saves] = outcome.answer


# In Python


async def _python(story: Story, door: str, url: str, options: dict[str, Any]) -> list[Outcome]:
    walk = Walk(story, door)
    async with dibs.connect(url, **options) as queue:
        for step, arguments in walk.steps():
            walk.went(await _in_python(queue, step, arguments))
    return walk.outcomes


async def _remote(story: Story, url: str, tokens: Tokens) -> list[Outcome]:
    walk = Walk(story, "remote")
    async with contextlib.AsyncExitStack() as stack:
        clients: dict[str, Any] = {}
        for step, arguments in walk.steps():
            if step.role not in clients:
                client = dibs.connect(url, token=tokens[step.role])
                clients[step.role] = await stack.enter_async_context(client)
            outcome = await _in_python(clients[step.role], step, arguments)
            walk.went(outcome._replace(answer=forms.of_server(outcome.answer, step.role)))
    return walk.outcomes


async def _in_python(queue: Any, step: Step, arguments: dict[str, Any]) -> Outcome:
    try:
        answer = await getattr(queue, step.verb)(**as_python(arguments))
        if hasattr(answer, "read"):
            answer = await answer.read()
    except (dibs.DibsError, TimeoutError) as error:
        return Outcome(step, None, _refusal(error))
    return Outcome(step, forms.of_python(step.verb, plain(answer)), None)


def _in_sync(queue: Any, step: Step, arguments: dict[str, Any]) -> Outcome:
    try:
        answer = getattr(queue, step.verb)(**as_python(arguments))
        if hasattr(answer, "read"):
            answer = answer.read()
    except (dibs.DibsError, TimeoutError) as error:
        return Outcome(step, None, _refusal(error), door="sync")
    return Outcome(step, forms.of_python(step.verb, plain(answer)), None, door="sync")


def as_python(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a step as a program writes them: new tasks, claims, bytes."""
    given = dict(arguments)
    if "claim" in given:
        given["claim"] = _claim(given["claim"])
    if isinstance(given.get("tasks"), list):
        given["tasks"] = [dibs.NewTask(**as_python(task)) for task in given["tasks"]]
    if isinstance(given.get("retry"), dict):
        given["retry"] = dibs.Retry(**given["retry"])
    if given.get("key") == {"content": True}:
        given["key"] = dibs.CONTENT
    if isinstance(given.get("data"), str) and "name" in given:
        given["data"] = given["data"].encode()
    return given


def _claim(claim: Any) -> Any:
    return [tuple(each) for each in claim] if claim and isinstance(claim[0], list) else tuple(claim)


def plain(answer: Any) -> Any:
    """An answer as JSON has it; an error in a list as what it says."""
    if isinstance(answer, bytes):
        return answer.decode()
    return forms.of_whom(json.loads(msgspec.json.encode(answer, enc_hook=_of_a_batch)), lambda name: name == "shell")


def _of_a_batch(value: Any) -> Any:
    if isinstance(value, dibs.DibsError):
        return {"code": value.code, "message": value.message, "field": value.field}
    raise NotImplementedError(type(value))


def _refusal(error: dibs.DibsError | TimeoutError) -> Refusal:
    if isinstance(error, TimeoutError):
        return Refusal("timeout", None, str(error))
    return Refusal(error.code, error.field, error.message)


# Over HTTP


class Requests:
    """A server's verbs, as its description has them. Use it in a `with` statement."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
        self._operations: list[requests.Operation] = []

    def __enter__(self) -> Requests:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(self, step: Step, arguments: Mapping[str, Any], token: str) -> Outcome | None:
        """Ask for the verb of a step with the token of its role; None if it has no path, because a name is empty."""
        operation = self._operation(forms.HTTP_VERBS.get(step.verb, step.verb), arguments, token)
        target, body, kind = operation.request(arguments)
        if "" in target.partition("?")[0].split("/")[1:]:
            return None
        status, found, answered = self._send(operation.method, target, body, kind, token)
        if status >= 400:
            problem = json.loads(found)
            assert answered == "application/problem+json", answered
            return Outcome(
                step, None, Refusal(problem["code"], problem.get("field"), problem["detail"]), status, "http"
            )
        assert str(status) in operation.described["responses"], (step.verb, status)
        if answered != "application/json":
            return Outcome(step, found.decode(), None, status, "http")
        answer = json.loads(found)
        if step.verb == "wait" and not answer["ended"]:
            refusal = Refusal("timeout", None, f"{arguments['target']} is still {answer['status']}")
            return Outcome(step, None, refusal, status, "http")
        answer = forms.of_server(_without_classes(forms.of_http(step.verb, answer)), step.role)
        return Outcome(step, answer, None, status, "http")

    def _operation(self, verb: str, arguments: Mapping[str, Any], token: str) -> requests.Operation:
        if not self._operations:
            self._operations = requests.operations(
                json.loads(self._send("GET", "/v1/openapi.json", None, None, token)[1])
            )
        found = requests.of_verb(self._operations, verb, arguments)
        assert found is not None, verb
        return found

    def _send(
        self, method: str, target: str, body: bytes | None, kind: str | None, token: str
    ) -> tuple[int, bytes, str]:
        headers = {"Authorization": f"Bearer {token}"}
        if kind is not None:
            headers["Content-Type"] = kind
        self._connection.request(method, target, body=body, headers=headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read(), (answer.getheader("Content-Type") or "").partition(";")[0]


def _without_classes(answer: Any) -> Any:
    """Refusals in a batch name their class too, for clients that raise it."""
    if not isinstance(answer, list):
        return answer
    return [
        {"field": None} | {name: value for name, value in each.items() if name != "error"}
        if isinstance(each, dict) and {"code", "message"} <= each.keys()
        else each
        for each in answer
    ]


# In the shell


def _command(step: Step, words: list[str], url: str, stdin: Any) -> Outcome:
    if words[:2] == ["artifact", "get"]:
        return _bytes(step, words, url)
    code, printed, told = _run(["--url", url, "--json", *words], stdin)
    refusal = _told(told) if code else None
    # Of work whose output is refused, both is said: how it ended, and why.
    if refusal is not None and not printed:
        return Outcome(step, None, refusal, code, "shell")
    if words[0] == "tail":
        answer: Any = [json.loads(line) for line in printed.splitlines()]
    else:
        answer = json.loads(printed) if printed else None
    return Outcome(step, forms.of_shell(words, answer), None, code, "shell")


def _bytes(step: Step, words: list[str], url: str) -> Outcome:
    """Bytes go to a file, beside JSON."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bytes"
        code, _, told = _run(["--url", url, "--json", *words, "-o", str(file)], None)
        if code:
            return Outcome(step, None, _told(told), code, "shell")
        return Outcome(step, file.read_text(), None, code, "shell")


def _run(argv: list[str], stdin: Any) -> command.Ran:
    return command.run(argv, (stdin if isinstance(stdin, str) else json.dumps(stdin)).encode())


def _told(err: str) -> Refusal | None:
    """The error on standard error; None where it says something else."""
    told = json.loads(err.splitlines()[-1]) if err else {}
    return Refusal(told["code"], told["field"], told["message"]) if "code" in told else None


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
