"""Changing the course of tasks that exist: cancel, retry, priority, tags, whom they are for, what they wait for."""

from __future__ import annotations

from tests.doors.story import Step, Story

NOBODY = "task_00000000000000000000000000"

FIRST = Step("add", {"type": "t"}, shell="add t", saves="first")
SECOND = Step("add", {"type": "t"}, shell="add t", saves="second")
DEAD = (
    FIRST,
    Step("claim", {"agent": "a"}, shell="claim --agent a"),
    Step(
        "fail",
        {"claim": ["$first.id", 1], "error": "boom", "retry": False},
        shell="fail $first.id --fence 1 --error boom --no-retry",
        answers={"status": "dead_lettered"},
    ),
)

STORIES = (
    Story(
        "a cancel ends what depends on it too",
        FIRST,
        Step("add", {"type": "t", "after": ["$first.id"]}, shell="add t --after $first.id", saves="second"),
        Step(
            "cancel",
            {"target": "$first.id", "reason": "not needed"},
            shell="cancel $first.id --reason 'not needed'",
            answers=["$first.id", "$second.id"],
        ),
        Step("cancel", {"target": "$first.id"}, shell="cancel $first.id", answers=[]),
        Step(
            "get",
            {"task_id": "$first.id"},
            shell="show $first.id",
            answers={"status": "cancelled", "cancel_reason": "not needed"},
        ),
        Step(
            "wait",
            {"target": "$first.id", "timeout": 5},
            shell="wait $first.id --timeout 5",
            answers={"cancel_reason": "not needed"},
        ),
        Step(
            "get",
            {"task_id": "$second.id"},
            shell="show $second.id",
            answers={"status": "cancelled", "reason": "dependency_failed"},
        ),
        Step("cancel", {"target": NOBODY}, shell=f"cancel {NOBODY}", refused="not_found"),
        Step("cancel", {"target": "$first.id"}, role="agent", refused="denied"),
    ),
    Story(
        "a dead letter gets a new life",
        *DEAD,
        Step(
            "retry",
            {"task_id": "$first.id", "payload": {"n": 2}},
            shell="retry $first.id --payload '{\"n\": 2}'",
            answers={"status": "ready", "attempts": 0, "payload": {"n": 2}},
        ),
        Step("retry", {"task_id": "$first.id"}, shell="retry $first.id", refused="illegal_transition"),
        Step("retry", {"task_id": NOBODY}, shell=f"retry {NOBODY}", refused="not_found"),
        Step("cancel", {"target": "$first.id"}, shell="cancel $first.id", answers=["$first.id"]),
        Step(
            "retry",
            {"task_id": "$first.id", "delay": "x"},
            shell="retry $first.id --delay x",
            refused="invalid",
            wrong="delay",
        ),
        Step(
            "retry",
            {"task_id": "$first.id", "delay": "5m", "keep_steps": False},
            shell="retry $first.id --delay 5m --forget-steps",
            answers={"status": "scheduled"},
        ),
        Step("retry", {"task_id": "$first.id"}, role="agent", refused="denied"),
    ),
    Story(
        "a task becomes more urgent",
        FIRST,
        SECOND,
        Step(
            "set_priority",
            {"task_id": "$second.id", "priority": 10},
            shell="priority $second.id 10",
            answers={"id": "$second.id", "priority": 10},
        ),
        Step(
            "set_priority",
            {"task_id": "$second.id", "priority": 1000},
            shell="priority $second.id 1000",
            refused="invalid",
            wrong="priority",
        ),
        Step("set_priority", {"task_id": NOBODY, "priority": 1}, shell=f"priority {NOBODY} 1", refused="not_found"),
        Step("set_priority", {"task_id": "$second.id", "priority": 1}, role="agent", refused="denied"),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[{"task": {"id": "$second.id"}}]),
    ),
    Story(
        "tags are given and taken away",
        Step("add", {"type": "t", "tags": ["b"]}, shell="add t --tag b", saves="task"),
        Step(
            "tag",
            {"task_id": "$task.id", "add": ["a", "c"]},
            shell="tag $task.id --add a --add c",
            answers={"tags": ["a", "b", "c"]},
        ),
        Step(
            "tag",
            {"task_id": "$task.id", "remove": ["a"]},
            shell="tag $task.id --remove a",
            answers={"tags": ["b", "c"]},
        ),
        Step("tag", {"task_id": "$task.id"}, shell="tag $task.id", refused="invalid", wrong="add"),
        Step("tag", {"task_id": NOBODY, "add": ["a"]}, shell=f"tag {NOBODY} --add a", refused="not_found"),
        Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers={"tags": ["b", "c"]}),
    ),
    Story(
        "a task is given to somebody else",
        Step("add", {"type": "code", "assignee": "ada"}, shell="add code --assignee ada", saves="task"),
        Step("claim", {"agent": "bob"}, shell="claim --agent bob", answers=[]),
        Step(
            "reassign",
            {"task_id": "$task.id", "assignee": ""},
            shell="reassign $task.id ''",
            refused="invalid",
            wrong="assignee",
        ),
        Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers={"assignee": "ada"}),
        Step(
            "reassign",
            {"task_id": "$task.id", "assignee": "bob"},
            shell="reassign $task.id bob",
            answers={"id": "$task.id", "assignee": "bob"},
        ),
        Step(
            "reassign",
            {"task_id": "$task.id", "assignee": None},
            shell="reassign $task.id --anybody",
            answers={"assignee": None},
        ),
        Step("claim", {"agent": "carol"}, shell="claim --agent carol", answers=[{"task": {"id": "$task.id"}}]),
        Step(
            "reassign",
            {"task_id": "$task.id", "assignee": "bob"},
            shell="reassign $task.id bob",
            refused="illegal_transition",
        ),
        Step("reassign", {"task_id": NOBODY, "assignee": "bob"}, shell=f"reassign {NOBODY} bob", refused="not_found"),
    ),
    Story(
        "a task is made to wait, but not in a circle",
        FIRST,
        SECOND,
        Step(
            "link",
            {"task_id": "$second.id", "after": ["$first.id"]},
            shell="link $second.id --after $first.id",
            answers={"status": "pending", "depends_on": ["$first.id"]},
        ),
        Step(
            "link",
            {"task_id": "$first.id", "after": ["$second.id"]},
            shell="link $first.id --after $second.id",
            refused="cycle_detected",
        ),
        Step(
            "link",
            {"task_id": "$first.id", "after": ["$first.id"]},
            shell="link $first.id --after $first.id",
            refused="cycle_detected",
        ),
        Step("link", {"task_id": "$first.id"}, refused="invalid", wrong="after"),
        Step(
            "link", {"task_id": NOBODY, "after": [NOBODY]}, shell=f"link {NOBODY} --after {NOBODY}", refused="not_found"
        ),
        Step("add", {"type": "t"}, shell="add t", saves="third"),
        Step("link", {"task_id": "$third.id", "after_ended": ["$first.id"]}, answers={"status": "pending"}),
    ),
)
