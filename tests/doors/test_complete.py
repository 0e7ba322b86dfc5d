"""No verb and no command is left out of the stories, but for those that are named here with the reason."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from dibs import wire
from dibs.cli.catalogue import NESTED, names
from tests.doors import forms, shelf

if TYPE_CHECKING:
    from tests.doors.story import Step

TOLD_ELSEWHERE = {
    "follow_events": "a stream: tests/hooks/test_streams.py",
}
"""Verbs in no story, and where they are tested."""
PARAMETERS_ELSEWHERE = {
    ("complete", "artifacts"): "of workers: tests/worker/test_artifacts.py",
    ("complete", "judged"): "between a worker and a server: tests/server/test_contracts.py",
    ("complete", "refusal"): "between a worker and a server: tests/server/test_contracts.py",
    ("ask_under", "used"): "of workers: tests/worker/test_asking.py",
    ("spawn_below", "used"): "of workers: tests/worker/test_context.py",
    ("keep_bytes", "media_type"): "between a client and a server: tests/artifacts/test_verbs.py",
}
"""Parameters that no story gives, and where they are tested."""
COMMANDS_ELSEWHERE = {
    "worker": "runs a program's handlers: tests/worker, tests/cli/test_hosting.py",
    "run": "hosts an agent: tests/cli/test_hosting.py",
    "mcp": "another protocol: tests/mcp, tests/cli/test_mcp.py",
    "init": "writes files: tests/cli/test_init.py",
    "prime": "prints text: tests/cli/test_init.py",
    "start": "prints the task, not what the verb answers: tests/cli/test_working.py",
    "top": "draws: tests/cli/test_looking.py",
    "transcript": "follows a log: tests/cli/test_transcript.py",
    "hook test": "waits for the delivery: tests/cli/test_hooks.py",
    "login-link": "makes a link: tests/cli/test_login_link.py",
    "doctor": "looks at the store and around it: tests/cli/test_steering.py",
    "upgrade": "changes the schema: tests/cli/test_steering.py",
    "up": "is the server: tests/server/test_up.py",
    "export": "writes files: tests/cli/test_exchange.py",
    "import": "reads files: tests/cli/test_exchange.py",
    "migrate": "copies a store: tests/cli/test_migrating.py",
    "bench": "measures: tests/cli/test_bench.py",
    "demo": "plays: tests/story/test_7_demo.py",
    "dlq review": "asks on a terminal: tests/cli/test_dead_letters.py",
    "breaker apply": "reads a file: tests/cli/test_pausing.py",
    "escalation apply": "reads a file: tests/cli/test_escalation.py",
}
"""Commands in no story, and where they are tested."""

STEPS: list[Step] = [step for story in shelf.every() for step in story.steps]


def test_every_verb_of_a_server_is_in_a_story() -> None:
    told = {forms.HTTP_VERBS.get(step.verb, step.verb) for step in STEPS if step.refused is None}
    assert {verb.name for verb in wire.every()} - told == TOLD_ELSEWHERE.keys()


def test_every_parameter_is_given_in_a_story() -> None:
    given: dict[str, set[str]] = {}
    for step in STEPS:
        if step.refused is None:
            # Over HTTP a claim is these two.
            claim = {"task_id", "fence"} if "claim" in step.arguments else set()
            given.setdefault(forms.HTTP_VERBS.get(step.verb, step.verb), set()).update(step.arguments, claim)
    missing = {
        (verb.name, parameter)
        for verb in wire.every()
        if verb.name not in TOLD_ELSEWHERE
        for parameter in (*verb.in_path, *verb.needs, *verb.takes)
        if parameter not in given[verb.name]
    }
    assert missing == PARAMETERS_ELSEWHERE.keys()


def test_every_command_is_in_a_story() -> None:
    known = {f"{name} {second}" for name in NESTED for second, _ in NESTED[name]}
    known |= {name for name in names() if name not in NESTED}
    told = set()
    for step in STEPS:
        if step.shell is not None and step.refused is None:
            first, second, *_ = [*shlex.split(step.shell), ""]
            told.add(f"{first} {second}" if f"{first} {second}" in known else first)
    assert known - told == COMMANDS_ELSEWHERE.keys()


def test_every_way_of_a_verb_over_http_is_taken() -> None:
    """Three verbs have a path for a task and one for a dag."""
    for verb in ("artifacts", "cancel", "wait"):
        targets = {str(step.arguments["target"]) for step in STEPS if step.verb == verb}
        assert any("dag" in target for target in targets), verb
        assert any("task" in target and "dag" not in target for target in targets), verb
