"""Tasks found in words: counted, and changed alike."""

from __future__ import annotations

from tests.doors.story import Step, Story

THREE = tuple(
    Step("add", {"type": "tidy", "tags": ["old"]}, shell="add tidy --tag old", saves=f"task{n}") for n in range(3)
)
OTHER = Step("add", {"type": "other"}, shell="add other", saves="other")
ALL = ["$task0.id", "$task1.id", "$task2.id"]

STORIES = (
    Story(
        "a query finds tasks in words",
        Step(
            "add",
            {"type": "code", "title": "Mend the gate", "tags": ["repo:x"]},
            shell="add code 'Mend the gate' --tag repo:x",
            saves="one",
        ),
        Step("add", {"type": "test", "priority": 10}, shell="add test --priority 10", saves="two"),
        Step("find", {"query": "type:code gate"}, shell="ls type:code gate", answers={"items": [{"id": "$one.id"}]}),
        Step("find", {"query": "priority<20"}, shell="ls 'priority<20'", answers={"items": [{"id": "$two.id"}]}),
        Step(
            "find",
            {"query": "tag:repo:x -type:test"},
            shell="ls 'tag:repo:x -type:test'",
            answers={"items": [{"id": "$one.id"}]},
        ),
        Step("count", {"query": "type:code"}, answers={"count": 1, "more": False}),
        Step("suggest", {"query": "ty"}, answers=[{"start": 0, "end": 2, "insert": "type:"}]),
        Step("suggest", {"query": "type:", "at": 5}, answers=[{"insert": "code"}, {"insert": "test"}]),
        Step("find", {"query": "colour:red"}, shell="ls colour:red", refused="invalid", wrong="query"),
        Step("count", {"query": "colour:red"}, refused="invalid", wrong="query"),
    ),
    Story(
        "what is found is changed alike",
        *THREE,
        OTHER,
        Step(
            "set_priority_found",
            {"query": "type:tidy", "priority": 7},
            shell="priority --query type:tidy 7 --yes",
            answers={"done": ALL, "refused": []},
        ),
        Step(
            "tag_found",
            {"query": "tag:old", "add": ["new"], "remove": ["old"]},
            shell="tag --query tag:old --add new --remove old --yes",
            answers={"done": ALL},
        ),
        Step("get", {"task_id": "$task0.id"}, shell="show $task0.id", answers={"priority": 7, "tags": ["new"]}),
        Step(
            "cancel_found",
            {"query": "type:tidy tag:new", "reason": "over"},
            shell="cancel --query 'type:tidy tag:new' --reason over --yes",
            answers={"done": ALL},
        ),
        Step(
            "get",
            {"task_id": "$task0.id"},
            shell="show $task0.id",
            answers={"status": "cancelled", "cancel_reason": "over"},
        ),
        Step(
            "get",
            {"task_id": "$other.id"},
            shell="show $other.id",
            answers={"status": "ready", "priority": 50, "tags": []},
        ),
        Step(
            "retry_found",
            {"query": "type:tidy status:cancelled"},
            shell="retry --query 'type:tidy status:cancelled' --yes",
            answers={"done": ALL},
        ),
        Step("count", {"query": "status:ready"}, answers={"count": 4}),
    ),
    Story(
        "what cannot be changed is told, and the others are",
        *THREE[:1],
        Step("cancel", {"target": "$task0.id"}, shell="cancel $task0.id"),
        OTHER,
        Step(
            "retry_found",
            {"query": "type:tidy,other"},
            shell="retry --query 'type:tidy,other' --yes",
            answers={"done": ["$task0.id"], "refused": [{"task_id": "$other.id", "code": "illegal_transition"}]},
        ),
        Step("tag_found", {"query": "type:tidy"}, shell="tag --query type:tidy --yes", refused="invalid", wrong="add"),
        Step(
            "set_priority_found",
            {"query": "x", "priority": 101},
            shell="priority --query x 101 --yes",
            refused="invalid",
            wrong="priority",
        ),
        Step("cancel_found", {"query": "type:tidy"}, role="agent", refused="denied"),
    ),
)
