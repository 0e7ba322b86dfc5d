"""What a task leaves below it and behind it: children, log lines, checkpoints, a journal."""

from __future__ import annotations

from tests.doors.story import Step, Story

HOLD = (
    Step("add", {"type": "parent"}, shell="add parent", saves="task"),
    Step("claim", {"agent": "p", "types": ["parent"]}, shell="claim --agent p --type parent"),
)
TWO = [{"type": "child", "payload": 1, "ref": "one"}, {"type": "child", "after": ["one"]}]
ONE = [{"type": "child", "payload": 1}]
STEP = {"kind": "step", "name": "fetch", "digest": "d", "value": {"rows": 3}}

STORIES = (
    Story(
        "a task spawns others and waits for them",
        *HOLD,
        Step(
            "spawn_below",
            {"claim": ["$task.id", 1], "tasks": TWO, "wait": True},
            shell="spawn $task.id --fence 1 - --wait",
            stdin=TWO,
            saves="spawned",
            answers={
                "suspended": True,
                "tasks": [{"parent_id": "$task.id", "status": "ready"}, {"parent_id": "$task.id", "status": "pending"}],
            },
        ),
        Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers={"status": "pending"}),
        Step("claim", {"agent": "c"}, shell="claim --agent c", answers=[{"task": {"id": "$spawned.tasks.0.id"}}]),
        Step(
            "complete",
            {"claim": ["$spawned.tasks.0.id", 1], "output": 7},
            shell="complete $spawned.tasks.0.id --fence 1 --output 7",
        ),
        Step("claim", {"agent": "c"}, shell="claim --agent c", answers=[{"inputs": {"one": 7}}]),
        Step(
            "complete",
            {"claim": ["$spawned.tasks.1.id", 1], "output": 8},
            shell="complete $spawned.tasks.1.id --fence 1 --output 8",
        ),
        Step(
            "claim",
            {"agent": "p"},
            shell="claim --agent p",
            answers=[{"task": {"id": "$task.id"}, "fence": 2, "children": {"one": 7, "$spawned.tasks.1.id": 8}}],
        ),
    ),
    Story(
        "a task goes on beside those it spawned",
        *HOLD,
        Step(
            "spawn",
            {"claim": ["$task.id", 1], "tasks": ONE},
            shell="spawn $task.id --fence 1 -",
            stdin=ONE,
            saves="children",
            answers=[{"parent_id": "$task.id", "status": "ready", "payload": 1}],
        ),
        Step(
            "spawn",
            {"claim": ["$task.id", 1], "tasks": ONE},
            shell="spawn $task.id --fence 1 -",
            stdin=ONE,
            answers=[{"id": "$children.0.id"}],
        ),
        Step("cancel", {"target": "$children.0.id"}, shell="cancel $children.0.id", answers=["$children.0.id"]),
        Step(
            "spawn_below",
            {"claim": ["$task.id", 1], "tasks": ONE, "wait": True},
            shell="spawn $task.id --fence 1 - --wait",
            stdin=ONE,
            answers={"suspended": False, "tasks": [{"id": "$children.0.id"}]},
        ),
        Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers={"status": "running"}),
        Step("cancel", {"target": "$task.id"}, shell="cancel $task.id", answers=["$task.id"]),
    ),
    Story(
        "what cannot be spawned is refused by its field, and nothing is",
        *HOLD,
        Step("spawn", {"claim": ["$task.id", 1], "tasks": []}, refused="invalid", wrong="tasks"),
        Step(
            "spawn",
            {"claim": ["$task.id", 1], "tasks": [{"type": ""}]},
            shell="spawn $task.id --fence 1 -",
            stdin=[{"type": ""}],
            refused="invalid",
            wrong="type",
        ),
        Step(
            "spawn",
            {"claim": ["$task.id", 7], "tasks": ONE},
            shell="spawn $task.id --fence 7 -",
            stdin=ONE,
            refused="lease_lost",
        ),
        Step("find", shell="ls", answers={"items": [{"id": "$task.id"}]}),
    ),
    Story(
        "an attempt writes down what the next one needs",
        *HOLD,
        Step(
            "checkpoint",
            {"claim": ["$task.id", 1], "data": {"page": 7}},
            shell="checkpoint $task.id --fence 1 '{\"page\": 7}'",
        ),
        Step("log", {"claim": ["$task.id", 1], "line": "found it"}, shell="log $task.id --fence 1 'found it'"),
        Step(
            "journal",
            {"task_id": "$task.id"},
            saves="journal",
            doors=("http",),
            answers=[{"kind": "checkpoint", "value": {"page": 7}}, {"kind": "log", "value": "found it"}],
        ),
        Step("release", {"claim": ["$task.id", 1]}, shell="release $task.id --fence 1"),
        Step("claim", {"agent": "p"}, shell="claim --agent p", answers=[{"fence": 2, "checkpoint": {"page": 7}}]),
        Step("record", {"claim": ["$task.id", 2], "entries": [STEP]}, doors=("http",), answers=[STEP]),
        Step("record", {"claim": ["$task.id", 1], "entries": [STEP]}, doors=("http",), refused="lease_lost"),
        Step("journal", {"task_id": "$task.id"}, doors=("http",), answers=[{}, {}, STEP]),
    ),
    Story(
        "what is referred to is there when the work begins",
        *HOLD,
        Step("complete", {"claim": ["$task.id", 1], "output": [42]}, shell="complete $task.id --fence 1 --output [42]"),
        Step(
            "add",
            {"type": "code", "context": {"refs": ["task:${task.id}:output"]}},
            shell='add code --context \'{"refs": ["task:${task.id}:output"]}\'',
        ),
        Step(
            "claim",
            {"agent": "a"},
            shell="claim --agent a",
            saves="claims",
            answers=[{"context": {"refs": {"task:${task.id}:output": [42]}}}],
        ),
    ),
)
