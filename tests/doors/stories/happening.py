"""What happened, how much of everything there is, what it cost."""

from __future__ import annotations

from tests.doors.story import Step, Story

DONE = (
    Step("add", {"type": "t"}, shell="add t", saves="task"),
    Step("claim", {"agent": "a"}, shell="claim --agent a"),
    Step(
        "complete",
        {"claim": ["$task.id", 1], "cost": 0.5, "tokens_in": 7, "model": "large"},
        shell="complete $task.id --fence 1 --cost 0.5 --tokens-in 7 --model large",
    ),
)
TOLD = ("task.added", "task.ready", "agent.registered", "task.claimed", "task.started", "task.completed")

STORIES = (
    Story(
        "events are read in their order",
        *DONE,
        Step(
            "read_events",
            shell="tail --no-follow",
            answers=[{"seq": n, "type": type} for n, type in enumerate(TOLD, 1)],
        ),
        Step("read_events", {"after": 5}, shell="tail --no-follow --after 5", answers=[{"seq": 6}]),
        Step("read_events", {"after": 3, "limit": 2}, answers=[{"seq": 4}, {"seq": 5}]),
        Step("read_events", {"after": -1}, shell="tail --no-follow --after -1", refused="invalid", wrong="after"),
        Step("last_seq", answers=6),
        Step(
            "recent_events",
            {"task": "$task.id", "limit": 2},
            saves="page",
            answers={"items": [{"type": "task.completed"}, {"type": "task.started"}]},
        ),
        Step("recent_events", {"types": ["agent.registered"]}, answers={"items": [{"seq": 3, "agent": "a"}]}),
        Step("recent_events", {"types": "nonsense"}, answers={"items": [], "before": None}),
    ),
    Story(
        "news is a number that changes",
        Step("news", saves="before"),
        Step("news", {"since": "$before", "timeout": 0.05}, answers="$before"),
        Step("add", {"type": "new"}, shell="add new"),
        Step("news", {"since": "$before", "timeout": 50}, saves="after"),
        Step("last_seq", answers=2),
    ),
    Story(
        "a queue is counted",
        Step("stats", shell="stats", answers={"by_type": {}}),
        Step("add", {"type": "t"}, shell="add t"),
        Step("add", {"type": "t", "run_after": "1h"}, shell="add t --run-after 1h"),
        Step(
            "stats",
            shell="stats",
            answers={"by_status": {"ready": 1, "scheduled": 1}, "by_type": {"t": {"ready": 1, "scheduled": 1}}},
        ),
        Step(
            "overview",
            answers={
                "tasks": {"ready": 1, "held": 0},
                "agents": 0,
                "questions": {"count": 0},
                "dead_letters": {"count": 0},
                "pace": {"per_hour_usd": None},
            },
        ),
        Step("stats", role="viewer", shell="stats", answers={"by_status": {"ready": 1}}),
    ),
    Story(
        "it is measured how it has been going",
        *DONE,
        Step("add", {"type": "u"}, shell="add u", saves="other"),
        Step("claim", {"agent": "a"}, shell="claim --agent a"),
        Step("complete", {"claim": ["$other.id", 1]}, shell="complete $other.id --fence 1"),
        Step(
            "metrics",
            {"by": "type"},
            shell="stats --by type",
            answers=[
                {"name": "t", "created": 1, "completed": 1, "error_rate": 0, "cost_usd": 0.5, "tokens_in": 7},
                {"name": "u", "created": 1, "completed": 1, "cost_usd": None},
            ],
        ),
        Step("metrics", {"by": "agent"}, shell="stats --by agent", answers=[{"name": "a", "completed": 2}]),
        Step("metrics", {"by": "model"}, shell="stats --by model", answers=[{"name": "large"}, {"name": None}]),
        Step(
            "metrics",
            {"by": "agent", "since": "2199-01-01T00:00:00Z"},
            shell="stats --by agent --since 2199-01-01T00:00:00Z",
            answers=[],
        ),
        Step("costs", {"by": "type"}, answers=[{"name": "t", "cost_usd": 0.5}]),
        Step("costs", {"by": "colour"}, refused="invalid", wrong="by"),
        Step("metrics", {"by": "colour"}, shell="stats --by colour", refused="invalid", wrong="by"),
        Step(
            "metrics",
            {"by": "type", "since": "yesterday"},
            shell="stats --by type --since yesterday",
            refused="invalid",
            wrong="since",
        ),
    ),
)
