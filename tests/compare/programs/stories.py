"""The stories of `tests/doors`, each through one door with two versions: Python, HTTP, the shell as JSON and piped."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.compare.http_client import Client
from tests.compare.perform import plain
from tests.compare.processes import command
from tests.compare.program import IN_OTHER_PROCESSES, Program
from tests.doors import doors, forms, requests, shelf
from tests.doors.story import filled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.compare.program import Scene
    from tests.doors.story import Step, Story


OF_THE_MOMENT = ("last_seq", "run_duties")
"""Verbs whose answer over HTTP depends on what the server does by itself."""
Play = Callable[["Telling"], None]


class Telling:
    """A story on its way through a door, on a store of its own: notes of each step, and what was saved."""

    def __init__(self, scene: Scene, story: Story, url: str) -> None:
        self.scene, self.story, self.url = scene, story, url
        self.saved: dict[str, Any] = {}

    def steps(self, door: str) -> Iterator[tuple[str, Step, Any]]:
        """Name, step and arguments; what needs an answer that there was not is passed over."""
        for number, step in enumerate(self.story.steps, 1):
            name = f"{self.story.name}, {number}: {step.verb}"
            if step.is_for(door):
                try:
                    arguments = filled(step.arguments, self.saved)
                except (KeyError, IndexError, TypeError):
                    self.scene.note(name, "(what it needs was not answered)")
                    continue
                yield name, step, arguments

    def keep(self, step: Step, answer: Any) -> None:
        """Keep an answer that later steps need."""
        if step.saves is not None:
            self.saved[step.saves] = answer


def in_python(telling: Telling) -> None:
    """Through the Python API."""
    asyncio.run(_in_python(telling))


async def _in_python(telling: Telling) -> None:
    import dibs

    scene = telling.scene
    async with dibs.connect(telling.url, artifacts=f"file:{scene.folder / 'kept'}") as queue:
        for name, step, arguments in telling.steps("python"):
            verb = getattr(queue, step.verb, None)
            if verb is None:
                scene.absent(name)
                continue
            try:
                answer = await verb(**doors.as_python(arguments))
                if hasattr(answer, "read"):
                    answer = await answer.read()
            except Exception as error:
                told = {"code": getattr(error, "code", None), "field": getattr(error, "field", None)}
                scene.note(name, {"raised": type(error).__name__, **told, "message": str(error)})
            else:
                telling.keep(step, seen := plain(answer))
                scene.note(name, seen)


def over_http(telling: Telling) -> None:
    """As requests, with a token of each role in a project of the story's own."""
    scene = telling.scene
    client = Client(scene.served_at, scene.admin)
    tokens = client.tokens(re.sub(r"\W+", "-", telling.story.name).strip("-"))
    for name, step, arguments in telling.steps("http"):
        operation = requests.of_verb(client.operations, forms.HTTP_VERBS.get(step.verb, step.verb), arguments)
        if operation is None:
            scene.absent(name)
            continue
        if operation.path.startswith("/v1/audit"):
            client.until_acts_are_written(tokens["admin"])
        answer = client.call(operation, arguments, token=tokens[step.role])
        if answer.status < 400:
            telling.keep(step, forms.of_http(step.verb, answer.body))
        scene.note(name, {**answer.seen, "body": None} if step.verb in OF_THE_MOMENT else answer.seen)


def in_shell(telling: Telling) -> None:
    """As commands that print JSON."""
    _commands(telling, piped=False)


def piped(telling: Telling) -> None:
    """As commands that print what people read; JSON only where later steps need the answer."""
    _commands(telling, piped=True)


def _commands(telling: Telling, *, piped: bool) -> None:
    telling.scene.url = telling.url
    for name, step, _ in telling.steps("shell"):
        if step.shell is None:
            _instead(telling, step)
            continue
        words = [
            each if isinstance(each, str) else json.dumps(each)
            for each in (filled(word, telling.saved) for word in shlex.split(step.shell))
        ]
        is_json = (not piped or step.saves is not None) and words[:2] != ["artifact", "get"]
        stdin = filled(step.stdin, telling.saved)
        text = stdin if isinstance(stdin, str) else json.dumps(stdin)
        ran = command(telling.scene, *(["--json"] if is_json else []), *words, stdin=text.encode())
        telling.scene.note(f"{name}: dibs {' '.join(step.shell.split()[:2])}", ran.seen)
        if step.saves is not None and ran.out:
            telling.keep(step, forms.of_shell(words, json.loads(ran.out)))


def _instead(telling: Telling, step: Step) -> None:
    """Do in Python, on the same store, what has no command."""
    import dibs

    with dibs.connect_sync(telling.url) as queue:
        try:
            answer = getattr(queue, step.verb)(**doors.as_python(filled(step.arguments, telling.saved)))
        except (AttributeError, dibs.DibsError, TimeoutError):
            return
        telling.keep(step, plain(answer))


def _all(stories: tuple[Story, ...], play: Play) -> Callable[[Scene], None]:
    def run(scene: Scene) -> None:
        urls = [scene.another(number) for number in range(len(stories))]
        for story, url in zip(stories, urls, strict=True):
            play(Telling(scene, story, url))

    return run


PROGRAMS = tuple(
    program
    for topic, stories in shelf.by_topic().items()
    for program in (
        Program("python", topic, _all(stories, in_python)),
        Program("http", topic, _all(stories, over_http)),
        Program("shell", f"{topic}, as JSON", _all(stories, in_shell), stores=IN_OTHER_PROCESSES),
        Program("shell", f"{topic}, piped", _all(stories, piped), stores=IN_OTHER_PROCESSES),
    )
)
