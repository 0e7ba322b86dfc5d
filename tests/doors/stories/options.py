"""What may be said beside what the other stories say: each option of these verbs once."""

from __future__ import annotations

from tests.doors.story import Step, Story

URL = "https://hooks.example.com/x"
ADD = Step("add", {"type": "t"}, shell="add t", saves="task")
CLAIM = Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[{"task": {"id": "$task.id"}}])
DEAD = (
    ADD,
    CLAIM,
    Step(
        "fail",
        {"claim": ["$task.id", 1], "error": "no", "retry": False},
        shell="fail $task.id --fence 1 --error no --no-retry",
    ),
)
STORIES = (
    Story(
        "a task may say more than most",
        ADD,
        Step(
            "add",
            {
                "type": "more",
                "boost": 2,
                "created_by": "ada",
                "fallback_models": ["m2"],
                "deadline": "2199-01-01T00:00:00Z",
                "on_deadline": "cancel",
                "provider": "acme",
                "max_cost": 0.5,
                "max_tokens": 100,
                "max_turns": 3,
                "locks": ["repo"],
                "context": {"goal": "peace"},
                "approval": True,
            },
            saves="more",
            answers={
                "boost": 2,
                "created_by": "ada",
                "fallback_models": ["m2"],
                "on_deadline": "cancel",
                "provider": "acme",
                "max_cost": 0.5,
                "max_tokens": 100,
                "max_turns": 3,
                "locks": ["repo"],
                "context": {"goal": "peace"},
                "status": "waiting",
            },
        ),
        Step("find", {"text": "peace"}, shell="ls --text peace", answers={"items": []}),
        Step("find", {"type": "more", "text": "x"}, shell="ls --type more --text x", answers={"items": []}),
        CLAIM,
        Step("find", {"agent": "a"}, shell="ls --agent a", answers={"items": [{"id": "$task.id"}]}),
    ),
    Story(
        "what is spawned or asked has a name",
        ADD,
        CLAIM,
        *(
            Step(
                "spawn_below",
                {"claim": ["$task.id", 1], "tasks": [{"type": "child", "payload": n}], "name": "kids"},
                answers={"tasks": [{"payload": 1}], "suspended": False},
            )
            for n in (1, 1)
        ),
        Step(
            "ask_under",
            {"claim": ["$task.id", 1], "question": "Which?", "name": "which", "timeout": "1h", "default": 3},
            shell="ask $task.id --fence 1 Which? --name which --timeout 1h --default 3",
            answers={"suspended": True, "question": {"question": "Which?", "default": 3}},
        ),
    ),
    Story(
        "a dag says whose it is",
        Step(
            "add_dag",
            {"title": "One", "tasks": [{"type": "t"}], "user": "ada", "created_by": "bob"},
            shell="dag submit - --user ada --created-by bob",
            stdin={"title": "One", "tasks": [{"type": "t"}]},
            saves="dag",
            answers={"user": "ada", "created_by": "bob"},
        ),
        Step(
            "add_dag",
            {"title": "Two", "tasks": [{"type": "t"}], "escalation": [{"after": 1, "do": "fail_dag"}]},
            saves="two",
            answers={"escalation": [{"after": 1, "do": "fail_dag"}]},
        ),
        Step("dags", {"limit": 1}, saves="page", answers={"items": [{"id": "$two.id"}]}),
        Step("dags", {"limit": 1, "cursor": "$page.cursor"}, answers={"items": [{"id": "$dag.id"}], "cursor": None}),
        Step("dags", {"status": ["happy"]}, refused="invalid", wrong="status"),
        Step("find", {"dag": "$dag.id"}, shell="ls --dag $dag.id", answers={"items": [{"id": "$dag.tasks.0.id"}]}),
        Step("add", {"type": "u", "dag": "$dag.id"}, shell="add u --dag $dag.id", answers={"dag_id": "$dag.id"}),
        Step(
            "recent_events", {"dag": "$dag.id", "limit": 1}, saves="events", answers={"items": [{"dag_id": "$dag.id"}]}
        ),
        Step("recent_events", {"dag": "$dag.id", "before": "$events.items.0.seq", "limit": 1}, answers={"items": [{}]}),
        Step("recent_events", {"limit": 0}, refused="invalid", wrong="limit"),
    ),
    Story(
        "dead letters and decisions, in full",
        *DEAD,
        *(
            Step("dead_letters", options, shell=f"dlq ls --groups {shell}", answers=[{"count": 1}] * count)
            for options, shell, count in (
                ({"dag": "$task.dag_id"}, "--dag $task.dag_id", 1),
                ({"tag": "x"}, "--tag x", 0),
                ({"text": "no"}, "--text no", 1),
                ({"user": "eve"}, "--user eve", 0),
                ({"fingerprint": "f"}, "--fingerprint f", 0),
                ({"since": "1h"}, "--since 1h", 1),
                ({"until": "1h"}, "--until 1h", 0),
            )
        ),
        Step("dead_letter_ids", {"dag": "$task.dag_id"}, shell="dlq ls --dag $task.dag_id", answers=["$task.id"]),
        Step(
            "review_many",
            {"task_ids": ["$task.id"], "resolution": "escalated", "by": "ada", "to": "grace", "question": "Well?"},
            shell="dlq escalate $task.id --by ada --to grace --question Well?",
            answers=[{"reviews": [{"to": "grace"}]}],
        ),
        Step("inbox", shell="inbox", answers=[{"question": "Well?"}]),
        Step(
            "review",
            {
                "task_id": "$task.id",
                "resolution": "escalated",
                "by": "ada",
                "to": "eve",
                "question": "And now?",
                "note": "late",
            },
            answers={"reviews": [{}, {"to": "eve", "note": "late"}]},
        ),
        Step(
            "review",
            {"task_id": "$task.id", "resolution": "retried", "by": "ada", "keep_steps": False},
            answers={"status": "ready"},
        ),
    ),
    Story(
        "what is found is changed a stretch at a time",
        *(Step("add", {"type": "t"}, shell="add t", saves=f"task{n}") for n in range(3)),
        Step(
            "cancel_found", {"query": "type:t", "limit": 2}, saves="part", answers={"done": ["$task1.id", "$task2.id"]}
        ),
        Step(
            "cancel_found",
            {"query": "type:t", "limit": 2, "cursor": "$part.cursor"},
            answers={"done": ["$task0.id"], "cursor": None},
        ),
        Step("cancel_found", {"query": "type:t", "limit": 0}, refused="invalid", wrong="limit"),
        Step("cancel_found", {"query": "type:t", "cursor": "x"}, refused="invalid", wrong="cursor"),
        Step(
            "retry_found",
            {"query": "type:t", "delay": "5m", "keep_steps": False},
            shell="retry --query type:t --delay 5m --forget-steps --yes",
            answers={"done": ["$task0.id", "$task1.id", "$task2.id"]},
        ),
        Step("get", {"task_id": "$task0.id"}, shell="show $task0.id", answers={"status": "scheduled"}),
        *(
            Step(
                verb,
                {"query": "type:t", "limit": 3, "cursor": None, **options},
                answers={"done": ["$task0.id", "$task1.id", "$task2.id"], "cursor": None},
            )
            for verb, options in (("set_priority_found", {"priority": 3}), ("tag_found", {"add": ["new"]}))
        ),
        Step(
            "retry_found",
            {"query": "type:t", "limit": 3, "cursor": None},
            answers={"done": [], "refused": [{"code": "illegal_transition"}] * 3, "cursor": None},
        ),
    ),
    Story(
        "who is told, what is made again and who may come are told more narrowly",
        Step(
            "add_hook",
            {"name": "one", "url": URL, "task": "task_x", "dag": "dag_x"},
            shell=f"hook add one {URL} --task task_x --dag dag_x",
            answers={"task": "task_x", "dag": "dag_x", "agent": None},
        ),
        Step(
            "set_hook",
            {"name": "one", "url": URL, "task": "task_y", "agent": "ada", "source": "/here"},
            shell=f"hook set one {URL} --task task_y --agent ada --source /here",
            answers={"task": "task_y", "dag": None, "agent": "ada", "source": "/here"},
        ),
        Step(
            "add_schedule",
            {"name": "late", "every": "6h", "missed": "all", "max_missed": 3, "task": {"type": "t"}},
            shell="schedule add late --every 6h --missed all --max-missed 3 --type t",
            answers={"missed": "all", "max_missed": 3},
        ),
        Step(
            "add_trigger",
            {
                "name": "tidy",
                "on": "event",
                "events": ["task.cancelled"],
                "dag": {"title": "Tidy", "tasks": [{"type": "tidy"}]},
                "rate": "5/min",
                "max_depth": 2,
            },
            answers={"rate": "5/min", "max_depth": 2, "task": None, "dag": {"title": "Tidy"}},
        ),
        Step(
            "create_token",
            {"name": "guest", "project": "elsewhere"},
            shell="token add guest --project elsewhere",
            answers={"name": "guest", "project": "elsewhere"},
        ),
    ),
    Story(
        "the ladder of one dag is taken away",
        Step("add_dag", {"title": "Ship", "tasks": [{"type": "build"}]}, saves="dag"),
        Step("set_escalation", {"ladder": [{"after": 2, "do": "notify", "to": "ops"}], "dag": "$dag.id"}),
        Step("clear_escalation", {"dag": "$dag.id"}, shell="escalation clear --dag $dag.id"),
        Step("escalations", shell="escalation ls", answers=[]),
    ),
)
