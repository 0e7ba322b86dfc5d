"""Ladders: what follows when tasks of a type or dag keep failing."""

from __future__ import annotations

from tests.doors.story import ON_A_STORE, WITH_TOKENS, Step, Story

LADDER = [
    {"after": 1, "do": "reassign", "agent": "senior"},
    {"after": 2, "do": "ask", "to": "grace", "question": "Which branch?", "timeout": "2h", "default": "main"},
]
WRITTEN = (
    """'[{"after": 1, "do": "reassign", "agent": "senior"}, {"after": 2, "do": "ask", "to": "grace","""
    """ "question": "Which branch?", "timeout": "2h", "default": "main"}]'"""
)
NOTIFY = [{"after": 1, "do": "notify", "to": "ops"}]
NOTIFIES = """'[{"after": 1, "do": "notify", "to": "ops"}]'"""

STORIES = (
    Story(
        "a ladder is set, shown and cleared",
        Step("escalations", shell="escalation ls", answers=[]),
        Step(
            "set_escalation",
            {"ladder": LADDER, "type": "code"},
            shell=f"escalation set --type code {WRITTEN}",
            answers={
                "type": "code",
                "dag": None,
                "rungs": [
                    {"after": 1, "do": "reassign", "agent": "senior"},
                    {"after": 2, "do": "ask", "to": "grace", "timeout_s": 7200.0, "default": "main"},
                ],
            },
        ),
        Step(
            "get_escalation",
            {"type": "code"},
            shell="escalation show --type code",
            answers={"type": "code", "rungs": [{"do": "reassign"}, {"question": "Which branch?"}]},
        ),
        Step("escalations", shell="escalation ls", answers=[{"type": "code", "rungs": [{}, {}]}]),
        Step(
            "set_escalation",
            {"ladder": NOTIFY, "type": "code"},
            shell=f"escalation set --type code {NOTIFIES}",
            answers={"rungs": [{"do": "notify", "to": "ops"}]},
        ),
        Step("clear_escalation", {"type": "code"}, shell="escalation clear --type code"),
        Step(
            "clear_escalation",
            {"type": "code"},
            shell="escalation clear --type code",
            refused="not_found",
            wrong="type",
        ),
        Step("escalations", shell="escalation ls", answers=[]),
    ),
    Story(
        "a failed task is for somebody else, then a person is asked",
        Step("set_escalation", {"ladder": LADDER, "type": "code"}, shell=f"escalation set --type code {WRITTEN}"),
        Step(
            "add",
            {"type": "code", "retry": "immediate", "max_attempts": 5},
            shell="add code --retry immediate --max-attempts 5",
            saves="task",
        ),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada"),
        Step("fail", {"claim": ["$task.id", 1], "error": "no"}, shell="fail $task.id --fence 1 --error no"),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada", answers=[]),
        Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers={"assignee": "senior", "status": "ready"}),
        Step("claim", {"agent": "senior"}, shell="claim --agent senior", answers=[{"fence": 2}]),
        Step("fail", {"claim": ["$task.id", 2], "error": "no"}, shell="fail $task.id --fence 2 --error no"),
        Step(
            "inbox",
            {"assignee": "grace"},
            shell="inbox --assignee grace",
            saves="questions",
            answers=[{"kind": "escalation", "question": "Which branch?", "task_id": "$task.id"}],
        ),
        Step(
            "why",
            {"task_id": "$task.id"},
            shell="why $task.id",
            answers={"blockers": [{"kind": "question"}, {"kind": "escalation"}]},
        ),
        Step(
            "answer",
            {"question_id": "$questions.0.id", "value": "main"},
            shell="answer $questions.0.id main",
            answers={"status": "answered", "answer": "main"},
        ),
        Step("claim", {"agent": "senior"}, shell="claim --agent senior", answers=[{"task": {"id": "$task.id"}}]),
        Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers={"escalations": [{}, {}]}),
    ),
    Story(
        "the ladder of a dag fails the dag",
        Step(
            "add_dag",
            {"title": "One", "tasks": [{"type": "code"}, {"type": "other"}]},
            shell="dag submit -",
            stdin={"title": "One", "tasks": [{"type": "code"}, {"type": "other"}]},
            saves="dag",
        ),
        Step(
            "set_escalation",
            {"ladder": [{"after": 1, "do": "fail_dag"}], "dag": "$dag.id"},
            shell="""escalation set --dag $dag.id '[{"after": 1, "do": "fail_dag"}]'""",
            answers={"type": None, "dag": "$dag.id", "rungs": [{"after": 1, "do": "fail_dag"}]},
        ),
        Step("get_escalation", {"dag": "$dag.id"}, shell="escalation show --dag $dag.id", answers={"dag": "$dag.id"}),
        Step(
            "get_dag",
            {"dag_id": "$dag.id"},
            shell="dag show $dag.id",
            answers={"escalation": [{"after": 1, "do": "fail_dag"}]},
        ),
        Step("claim", {"agent": "ada", "types": ["code"]}, shell="claim --agent ada --type code", saves="claims"),
        Step(
            "fail",
            {"claim": ["$claims.0.task.id", 1], "error": "no"},
            shell="fail $claims.0.task.id --fence 1 --error no",
        ),
        Step("get_dag", {"dag_id": "$dag.id"}, shell="dag show $dag.id", answers={"status": "failed"}),
    ),
    Story(
        "what is no ladder is refused by its field and sets nothing",
        *(
            Step(
                "set_escalation",
                {"ladder": ladder, **whose},
                shell=f"escalation set {shell}",
                refused=code,
                wrong=wrong,
            )
            for ladder, whose, shell, code, wrong in (
                ([], {"type": "code"}, "--type code []", "invalid", "escalation"),
                ({}, {"type": "code"}, "--type code {}", "invalid", "escalation"),
                (
                    [{"after": 1, "do": "ask"}],
                    {"type": "a"},
                    """--type a '[{"after": 1, "do": "ask"}]'""",
                    "invalid",
                    "to",
                ),
                (
                    [{"after": 0, "do": "fail_dag"}],
                    {"type": "a"},
                    """--type a '[{"after": 0, "do": "fail_dag"}]'""",
                    "invalid",
                    "after",
                ),
                (
                    [{"after": 1, "do": "shout"}],
                    {"type": "a"},
                    """--type a '[{"after": 1, "do": "shout"}]'""",
                    "invalid",
                    "do",
                ),
                (NOTIFY, {}, NOTIFIES, "invalid", "type"),
                (NOTIFY, {"type": "a", "dag": "d"}, f"--type a --dag d {NOTIFIES}", "invalid", "dag"),
                (NOTIFY, {"type": ""}, f"--type '' {NOTIFIES}", "invalid", "type"),
                (NOTIFY, {"dag": "dag_x"}, f"--dag dag_x {NOTIFIES}", "not_found", "dag"),
            )
        ),
        Step("get_escalation", {"type": "a"}, shell="escalation show --type a", refused="not_found", wrong="type"),
        Step(
            "set_escalation",
            shell="escalation set --type code {nope",
            doors=("shell",),
            refused="invalid",
            wrong="escalation",
        ),
        Step("get_escalation", shell="escalation show", refused="invalid", wrong="type"),
        *(
            # A server looks first whether the dag is one that the caller may see, and says so in other words.
            Step(
                "clear_escalation",
                {"dag": "dag_x"},
                shell="escalation clear --dag dag_x",
                refused="not_found",
                wrong="dag",
                doors=doors,
            )
            for doors in (ON_A_STORE, WITH_TOKENS)
        ),
        Step("escalations", shell="escalation ls", answers=[]),
    ),
)
