"""Looking at tasks: one, lists of them, why they are where they are, what was tried, until they have ended."""

from __future__ import annotations

from tests.doors.story import EMBEDDED, WITH_TOKENS, Step, Story

NOBODY = "task_00000000000000000000000000"

FOUR = tuple(
    Step(
        "add",
        {"type": "a" if n % 2 else "b", "tags": [f"t{n}"], "user": "ada"},
        shell=f"add {'a' if n % 2 else 'b'} --tag t{n} --user ada",
        saves=f"task{n}",
    )
    for n in range(4)
)


def found(arguments: dict[str, object], shell: str, *numbers: int) -> Step:
    """What is found of the four tasks, newest first."""
    answers = {"items": [{"id": f"$task{number}.id"} for number in numbers]}
    return Step("find", arguments, shell=f"ls {shell}", answers=answers)


STORIES = (
    Story(
        "tasks are found by what they are, a page at a time",
        *FOUR,
        found({}, "", 3, 2, 1, 0),
        found({"type": "a"}, "--type a", 3, 1),
        found({"tag": "t2"}, "--tag t2", 2),
        found(
            {"user": "ada", "status": ["ready", "running"]}, "--user ada --status ready --status running", 3, 2, 1, 0
        ),
        found({"user": "eve"}, "--user eve"),
        found({"dag": "$task0.dag_id"}, "--dag $task0.dag_id", 0),
        Step("find", {"limit": 3}, shell="ls --limit 3", saves="page", answers={"items": [{}, {}, {}]}),
        found({"limit": 3, "cursor": "$page.cursor"}, "--limit 3 --cursor $page.cursor", 0),
        Step("find", {"type": "a", "limit": 2}, shell="ls --type a --limit 2", answers={"cursor": None}),
        Step("look_up", {"ids": ["$task0.id", NOBODY]}, answers=[{"id": "$task0.id"}, None]),
        Step("find", {"status": "happy"}, shell="ls --status happy", refused="invalid", wrong="status"),
        Step("find", {"limit": 0}, shell="ls --limit 0", refused="invalid", wrong="limit"),
        Step("find", {"cursor": "garbage"}, shell="ls --cursor garbage", refused="invalid", wrong="cursor"),
    ),
    Story(
        "what was tried is remembered",
        Step("add", {"type": "t", "max_attempts": 1}, shell="add t --max-attempts 1", saves="task"),
        Step("why", {"task_id": "$task.id"}, shell="why $task.id", answers={"status": "ready"}),
        Step("history", {"task_id": "$task.id"}, shell="history $task.id", answers=[]),
        Step("claim", {"agent": "coder-1"}, shell="claim --agent coder-1"),
        Step("why", {"task_id": "$task.id"}, shell="why $task.id", answers={"status": "running"}),
        Step(
            "fail",
            {"claim": ["$task.id", 1], "error": "it broke\nbadly"},
            shell="fail $task.id --fence 1 --error 'it broke\nbadly'",
            answers={"status": "dead_lettered"},
        ),
        Step(
            "history",
            {"task_id": "$task.id"},
            shell="history $task.id",
            answers=[{"number": 1, "fence": 1, "outcome": "failed", "agent": "coder-1", "error": "it broke\nbadly"}],
        ),
        Step("why", {"task_id": "$task.id"}, shell="why $task.id", answers={"status": "dead_lettered"}),
        Step("judges_of", {"task_id": "$task.id"}, answers=[]),
        # Through a server it names the field, too.
        Step("history", {"task_id": NOBODY}, shell=f"history {NOBODY}", refused="not_found", doors=EMBEDDED),
        Step("history", {"task_id": NOBODY}, refused="not_found", wrong="task_id", doors=WITH_TOKENS),
        Step("why", {"task_id": NOBODY}, shell=f"why {NOBODY}", refused="not_found"),
        Step("get", {"task_id": NOBODY}, shell=f"show {NOBODY}", refused="not_found"),
        Step("get", {"task_id": NOBODY}, shell=f"tree {NOBODY}", refused="not_found"),
    ),
    Story(
        "why says what a task waits for",
        Step("add", {"type": "t"}, shell="add t", saves="first"),
        Step("add", {"type": "t", "after": ["$first.id"]}, shell="add t --after $first.id", saves="second"),
        Step(
            "why",
            {"task_id": "$second.id"},
            shell="why $second.id",
            answers={"status": "pending", "blockers": [{"kind": "dependency", "ids": ["$first.id"]}]},
        ),
        Step(
            "get_dag",
            {"dag_id": "$second.dag_id"},
            shell="show $second.dag_id",
            answers={"edges": [{"parent": "$first.id", "child": "$second.id"}]},
        ),
        Step(
            "get_dag",
            {"dag_id": "$second.dag_id"},
            shell="tree $second.dag_id",
            answers={"tasks": [{"id": "$first.id"}, {"id": "$second.id"}]},
        ),
    ),
    Story(
        "whoever waits hears of the end, or that there is none yet",
        Step("add", {"type": "t"}, shell="add t", saves="task"),
        Step(
            "wait",
            {"target": "$task.id", "timeout": 0.05},
            shell="wait $task.id --timeout 0.05s",
            refused="timeout",
        ),
        Step(
            "wait",
            {"target": "$task.id", "timeout": "later"},
            shell="wait $task.id --timeout later",
            refused="invalid",
            wrong="timeout",
        ),
        Step("cancel", {"target": "$task.id"}, shell="cancel $task.id"),
        Step("wait", {"target": "$task.id"}, shell="wait $task.id", answers={"status": "cancelled"}),
        Step("wait", {"target": NOBODY}, shell=f"wait {NOBODY}", refused="not_found"),
    ),
    Story(
        "a server says who it is to whom",
        Step("about", answers={"api": 1, "role": "admin"}),
        Step("about", role="agent", answers={"role": "agent"}),
    ),
)
