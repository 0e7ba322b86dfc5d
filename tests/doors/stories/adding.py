"""Adding tasks: one, many, with a key, after others; and what is no task."""

from __future__ import annotations

from tests.doors.story import Step, Story

NOBODY = "task_00000000000000000000000000"
NOWHERE = "dag_00000000000000000000000000"


def refused(arguments: dict[str, object], shell: str | None, wrong: str, code: str = "invalid") -> Step:
    """A task of type t that cannot be, with the options of the command behind `add t`."""
    command = None if shell is None else f"add t {shell}"
    return Step("add", {"type": "t", **arguments}, shell=command, refused=code, wrong=wrong)


def unexpected(expects: object, shell: str) -> Step:
    """A contract that is none."""
    return refused({"expects": expects}, f"--expects '{shell}'", "expects")


STORIES = (
    Story(
        "a task says all that it may say",
        Step(
            "add",
            {
                "type": "research",
                "title": "What is CORS?",
                "payload": {"topic": "CORS"},
                "priority": 20,
                "requires": ["web", "python"],
                "tags": ["a", "b"],
                "max_attempts": 5,
                "timeout": "5m",
                "user": "ada",
                "models": ["m1", "m2"],
                "retry": "fixed:5s",
            },
            shell="add research 'What is CORS?' --payload '{\"topic\": \"CORS\"}' --priority 20 --requires web,python"
            " --tag a --tag b --max-attempts 5 --timeout 5m --user ada --model m1 --model m2 --retry fixed:5s",
            saves="task",
            answers={
                "title": "What is CORS?",
                "payload": {"topic": "CORS"},
                "priority": 20,
                "requires": ["python", "web"],
                "tags": ["a", "b"],
                "max_attempts": 5,
                "timeout": 300,
                "user": "ada",
                "models": ["m1", "m2"],
                "retry": {"strategy": "fixed"},
                "status": "ready",
            },
        ),
        Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers={"title": "What is CORS?"}),
        Step(
            "add",
            {"type": "t", "deadline": "2199-01-01T00:00:00Z"},
            shell="add t --deadline 2199-01-01T00:00:00Z",
            answers={"deadline": "2199-01-01T00:00:00Z"},
        ),
        Step(
            "add",
            {"type": "t", "title": "Write the copy", "tags": ["x"], "priority": 3},
            shell="add t --tag x 'Write the copy' --priority 3",
            answers={"title": "Write the copy", "tags": ["x"], "priority": 3},
        ),
        Step(
            "add",
            {"type": "t", "retry": {"strategy": "fixed", "delay": 5}},
            answers={"retry": {"strategy": "fixed", "delay": 5}},
        ),
    ),
    Story(
        "the same key answers the same task",
        Step("add", {"type": "t", "key": "k", "payload": 1}, shell="add t --key k --payload 1", saves="first"),
        Step(
            "add",
            {"type": "t", "key": "k", "payload": 1},
            shell="add t --key k --payload 1",
            answers={"id": "$first.id"},
        ),
        refused({"key": "k", "payload": 2}, "--key k --payload 2", "key", "key_reused"),
        Step("add", {"type": "t", "key": {"content": True}, "payload": 1}, saves="second"),
        Step("add", {"type": "t", "key": {"content": True}, "payload": 1}, answers={"id": "$second.id"}),
    ),
    Story(
        "a task waits for others, and for its time",
        Step("add", {"type": "t"}, shell="add t", saves="first"),
        Step(
            "add",
            {"type": "t", "after": ["$first.id"]},
            shell="add t --after $first.id",
            answers={"status": "pending", "depends_on": ["$first.id"]},
        ),
        Step(
            "add",
            {"type": "t", "after_ended": ["$first.id"]},
            shell="add t --after-ended $first.id",
            answers={"status": "pending"},
        ),
        Step("add", {"type": "t", "run_after": "10m"}, shell="add t --run-after 10m", answers={"status": "scheduled"}),
        Step("add", {"type": "t", "run_after": 600}, shell="add t --run-after 600", answers={"status": "scheduled"}),
        Step("add", {"type": "t", "deadline": "2h"}, shell="add t --deadline 2h", saves="due"),
        refused({"after": ["$first.id", "$first.id"]}, "--after $first.id --after $first.id", "after"),
        refused({"after": [NOBODY]}, f"--after {NOBODY}", "after", "not_found"),
        refused({"dag": NOWHERE}, f"--dag {NOWHERE}", "dag", "not_found"),
        Step("stats", shell="stats", answers={"by_type": {"t": {"ready": 2, "pending": 2, "scheduled": 2}}}),
    ),
    Story(
        "many are added at once, all or none",
        Step(
            "add_many",
            {"tasks": [{"type": "many", "payload": n} for n in range(4)]},
            answers=[{"type": "many", "payload": n, "status": "ready"} for n in range(4)],
        ),
        Step(
            "add_many",
            {"tasks": [{"type": "a", "ref": "one"}, {"type": "b", "after": ["one"], "priority": 3}]},
            saves="two",
            answers=[{"ref": "one", "status": "ready"}, {"status": "pending", "priority": 3}],
        ),
        Step("get", {"task_id": "$two.1.id"}, shell="show $two.1.id", answers={"depends_on": ["$two.0.id"]}),
        Step("add_many", {"tasks": [{"type": "a"}, {"type": "a", "title": ""}]}, refused="invalid", wrong="title"),
        Step("add_many", {"tasks": [{"type": "a", "after": ["x"]}]}, refused="not_found", wrong="after"),
        Step("stats", shell="stats", answers={"by_type": {"many": {"ready": 4}, "a": {"ready": 1}}}),
    ),
    Story(
        "only those who steer may add",
        Step("add", {"type": "t"}, role="agent", refused="denied"),
        Step("add", {"type": "t"}, role="viewer", refused="denied"),
        Step("add", {"type": "t"}, role="orchestrator", shell="add t", answers={"status": "ready"}),
        Step("find", role="viewer", shell="ls", answers={"items": [{"type": "t"}], "cursor": None}),
    ),
    Story(
        "what is no task is refused by its field and adds nothing",
        Step("add", {"type": ""}, shell="add ''", refused="invalid", wrong="type"),
        Step("add", {"type": "   "}, shell="add '   '", refused="invalid", wrong="type"),
        refused({"title": ""}, "''", "title"),
        refused({"payload": "a\0b"}, "--payload '\"a\\u0000b\"'", "payload"),
        refused({"priority": "high"}, "--priority high", "priority"),
        refused({"priority": 101}, "--priority 101", "priority"),
        refused({"priority": -1}, "--priority -1", "priority"),
        refused({"boost": 1e9}, "--boost 1e9", "boost"),
        refused({"deadline": "yesterday"}, "--deadline yesterday", "deadline"),
        refused({"deadline": "2026-01-01T00:00:00"}, "--deadline 2026-01-01T00:00:00", "deadline"),
        refused({"run_after": -5}, "--run-after -5", "run_after"),
        refused({"on_deadline": "explode"}, "--on-deadline explode", "on_deadline"),
        refused({"timeout": 0}, "--timeout 0", "timeout"),
        refused({"timeout": 1e300}, "--timeout 1e300", "timeout"),
        refused({"timeout": "5 parsecs"}, "--timeout '5 parsecs'", "timeout"),
        refused({"max_attempts": 0}, "--max-attempts 0", "max_attempts"),
        refused({"max_attempts": 2.5}, "--max-attempts 2.5", "max_attempts"),
        refused({"retry": "sometimes"}, "--retry sometimes", "retry"),
        refused({"requires": ["a", "", "b"]}, "--requires a,,b", "requires"),
        refused({"tags": [" "]}, "--tag ' '", "tags"),
        refused({"key": ""}, "--key ''", "key"),
        refused({"key": "x" * 201}, f"--key {'x' * 201}", "key"),
        refused({"assignee": ""}, "--assignee ''", "assignee"),
        refused({"after": [""]}, "--after ''", "after"),
        refused({"max_cost": -0.5}, "--max-cost -0.5", "max_cost"),
        refused({"locks": [""]}, "--lock ''", "locks"),
        refused({"locks": ["budget:repo"]}, "--lock budget:repo", "locks"),
        unexpected({}, "{}"),
        unexpected([], "[]"),
        unexpected({"validation": "vibes"}, '{"validation": "vibes"}'),
        unexpected({"validation": "regex", "pattern": "("}, '{"validation": "regex", "pattern": "("}'),
        unexpected({"validation": "regex", "pattern": "(a)\\1"}, '{"validation": "regex", "pattern": "(a)\\\\1"}'),
        unexpected(
            {"validation": "json-schema", "schema": {"type": "strnig"}},
            '{"validation": "json-schema", "schema": {"type": "strnig"}}',
        ),
        unexpected(
            {"validation": "json-schema", "schema": {"$ref": "http://example.com/a"}},
            '{"validation": "json-schema", "schema": {"$ref": "http://example.com/a"}}',
        ),
        unexpected({"validation": "judge"}, '{"validation": "judge"}'),
        unexpected({"validation": ["human", "none"]}, '{"validation": ["human", "none"]}'),
        unexpected(
            {"validation": ["human", "command"], "argv": ["make"]},
            '{"validation": ["human", "command"], "argv": ["make"]}',
        ),
        unexpected(
            {"validation": "test-pass", "argv": "make test"},
            '{"validation": "test-pass", "argv": "make test"}',
        ),
        Step("find", shell="ls", answers={"items": [], "cursor": None}),
        Step("read_events", shell="tail --no-follow", answers=[]),
    ),
)
