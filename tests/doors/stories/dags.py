"""Tasks joined by edges: added whole, looked at, cancelled."""

from __future__ import annotations

from tests.doors.story import Step, Story

NOWHERE = "dag_00000000000000000000000000"

PAGE = {
    "title": "Landing page",
    "on_failure": "continue",
    "tasks": [
        {"ref": "facts", "type": "research", "payload": {"topic": "competitors"}, "priority": 20},
        {"ref": "design", "type": "design", "retry": {"strategy": "fixed", "delay": 5}},
        {"ref": "build", "type": "code", "after": ["facts", "design"], "timeout": "10m", "tags": ["web"]},
    ],
}
SUBMIT = Step("add_dag", PAGE, shell="dag submit -", stdin=PAGE, saves="dag")


def refused(code: str, wrong: str | None, tasks: object, **options: object) -> Step:
    """A dag that cannot be."""
    said = {"title": "x", "tasks": tasks, **options}
    return Step("add_dag", said, shell="dag submit -", stdin=said, refused=code, wrong=wrong)


STORIES = (
    Story(
        "a dag is added whole, and cancelled",
        SUBMIT,
        Step(
            "get_dag",
            {"dag_id": "$dag.id"},
            shell="dag show $dag.id",
            answers={
                "title": "Landing page",
                "on_failure": "continue",
                "tasks": [
                    {
                        "ref": "facts",
                        "status": "ready",
                        "payload": {"topic": "competitors"},
                        "priority": 20,
                        "id": "$dag.tasks.0.id",
                    },
                    {"ref": "design", "status": "ready", "retry": {"strategy": "fixed", "delay": 5}},
                    {
                        "ref": "build",
                        "status": "pending",
                        "depends_on": ["$dag.tasks.0.id", "$dag.tasks.1.id"],
                        "timeout": 600,
                        "tags": ["web"],
                    },
                ],
            },
        ),
        Step("dags", {"text": "landing"}, answers={"items": [{"id": "$dag.id"}]}),
        Step("dags", {"status": ["completed"]}, answers={"items": []}),
        Step("dags", {"limit": 0}, refused="invalid", wrong="limit"),
        Step("artifacts", {"target": "$dag.id"}, shell="artifact ls $dag.id", answers=[]),
        Step("wait", {"target": "$dag.id", "timeout": 0.05}, shell="wait $dag.id --timeout 0.05s", refused="timeout"),
        Step(
            "cancel",
            {"target": "$dag.id", "reason": "no"},
            shell="dag cancel $dag.id --reason no",
            answers=["$dag.tasks.0.id", "$dag.tasks.1.id", "$dag.tasks.2.id"],
        ),
        Step("get_dag", {"dag_id": "$dag.id"}, shell="show $dag.id", answers={"status": "cancelled"}),
        Step("wait", {"target": "$dag.id"}, shell="wait $dag.id", answers={"status": "cancelled"}),
        Step("dags", {"status": ["cancelled"]}, answers={"items": [{"id": "$dag.id"}]}),
    ),
    Story(
        "the same key answers the same dag",
        Step("add_dag", {**PAGE, "key": "k"}, shell="dag submit - --key k", stdin=PAGE, saves="dag"),
        Step("add_dag", {**PAGE, "key": "k"}, shell="dag submit - --key k", stdin=PAGE, answers={"id": "$dag.id"}),
        Step("add_dag", PAGE, role="viewer", refused="denied"),
    ),
    Story(
        "the attempts of a dag are seen together",
        Step("add_dag", {"title": "One", "tasks": [{"type": "a"}], "budget": 5}, saves="dag"),
        Step("claim", {"agent": "a"}, shell="claim --agent a", saves="claims"),
        Step("dag_attempts", {"dag_id": "$dag.id"}, answers=[{"task_id": "$claims.0.task.id", "attempts": []}]),
        Step(
            "complete",
            {"claim": ["$claims.0.task.id", 1], "cost": 0.5},
            shell="complete $claims.0.task.id --fence 1 --cost 0.5",
        ),
        Step(
            "dag_attempts",
            {"dag_id": "$dag.id"},
            answers=[{"task_id": "$claims.0.task.id", "attempts": [{"outcome": "completed", "cost_usd": 0.5}]}],
        ),
        Step("wait", {"target": "$dag.id"}, shell="wait $dag.id", answers={"status": "completed", "cost_usd": 0.5}),
        Step("dag_attempts", {"dag_id": NOWHERE}, refused="not_found"),
        Step("get_dag", {"dag_id": NOWHERE}, shell=f"dag show {NOWHERE}", refused="not_found"),
        Step("get_dag", {"dag_id": NOWHERE}, shell=f"tree {NOWHERE}", refused="not_found"),
        Step("cancel", {"target": NOWHERE}, shell=f"dag cancel {NOWHERE}", refused="not_found"),
    ),
    Story(
        "what is no dag is refused by its field and adds nothing",
        refused("invalid", "tasks", []),
        refused("invalid", "title", [{"type": "a"}], title=""),
        refused("invalid", "title", [{"type": "a"}], title=7),
        refused("invalid", "type", [{"type": ["a"]}]),
        refused("invalid", "priority", [{"type": "a", "priority": "high"}]),
        refused("invalid", "after", [{"type": "a", "after": "one"}]),
        refused("invalid", "timeout", [{"type": "a", "timeout": "soon"}]),
        refused("invalid", "max_cost", [{"type": "a", "max_cost": -1}]),
        refused("invalid", "budget", [{"type": "a"}], budget="cheap"),
        refused("invalid", "on_failure", [{"type": "a"}], on_failure="panic"),
        refused("not_found", "after", [{"type": "a"}, {"type": "a", "after": ["nobody"]}]),
        refused(
            "cycle_detected",
            None,
            [{"type": "a", "ref": "one", "after": ["two"]}, {"type": "a", "ref": "two", "after": ["one"]}],
        ),
        Step("find", shell="ls", answers={"items": []}),
        Step("read_events", shell="tail --no-follow", answers=[]),
    ),
)
