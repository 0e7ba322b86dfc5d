"""Work that uses more than it may: of its own limit, or of a budget."""

from __future__ import annotations

from tests.doors.story import Step, Story

STORIES = (
    Story(
        "a renewal says when a task is over its own limit, and its end is a dead letter",
        Step(
            "add",
            {"type": "code", "max_cost": 0.5, "max_tokens": 10, "max_turns": 3},
            shell="add code --max-cost 0.5 --max-tokens 10 --max-turns 3",
            saves="task",
            answers={"max_cost": 0.5, "max_tokens": 10, "max_turns": 3},
        ),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada"),
        Step(
            "renew",
            {"claim": ["$task.id", 1], "cost": 0.5},
            shell="renew $task.id --fence 1 --cost 0.5",
            answers={"limits": {"exceeded": None}},
        ),
        Step(
            "renew",
            {"claim": ["$task.id", 1], "cost": 0.6},
            shell="renew $task.id --fence 1 --cost 0.6",
            answers={"limits": {"exceeded": "max_cost"}},
        ),
        Step(
            "complete",
            {"claim": ["$task.id", 1], "output": 7},
            shell="complete $task.id --fence 1 --output 7",
            answers={"outcome": "failed", "status": "dead_lettered"},
        ),
        Step(
            "get",
            {"task_id": "$task.id"},
            shell="show $task.id",
            answers={"status": "dead_lettered", "reason": "budget_exceeded", "output": 7},
        ),
    ),
    Story(
        "what is over a budget is released and waits for more",
        Step("set_budget", {"scope": "type:code", "limit": 0.5}, shell="budget set type:code 0.5"),
        Step("add", {"type": "code"}, shell="add code", saves="task"),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada"),
        Step(
            "renew",
            {"claim": ["$task.id", 1], "cost": 0.6},
            shell="renew $task.id --fence 1 --cost 0.6",
            answers={"limits": {"exceeded": "budget:type:code:usd"}},
        ),
        Step("release", {"claim": ["$task.id", 1]}, shell="release $task.id --fence 1"),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada", answers=[]),
        Step(
            "get",
            {"task_id": "$task.id"},
            shell="show $task.id",
            answers={"status": "ready", "reason": "budget_exceeded", "parked_on": "budget:type:code:usd"},
        ),
        Step(
            "why",
            {"task_id": "$task.id"},
            shell="why $task.id",
            answers={"blockers": [{"help": "raise budget type:code by $0.70: dibs budget raise type:code 0.7"}]},
        ),
        Step("raise_budget", {"scope": "type:code", "amount": 0.7}, shell="budget raise type:code 0.7"),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada", answers=[{"task": {"id": "$task.id"}}]),
    ),
)
