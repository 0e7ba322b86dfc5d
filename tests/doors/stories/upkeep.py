"""Looking after the store, and what a client of a server asks first."""

from __future__ import annotations

from tests.doors.story import Step, Story

STORIES = (
    Story(
        "a store with work in it is sound, and nothing in it is old",
        Step("add", {"type": "code"}, shell="add code", saves="task"),
        Step("cancel", {"target": "$task.id"}, shell="cancel $task.id"),
        Step("check", answers=[]),
        Step("advise"),
        Step("run_duties"),
        Step("prune", shell="prune", answers=0),
        Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers={"status": "cancelled"}),
        Step("check", answers=[]),
    ),
    Story(
        "a client learns what it talks to, and who it is to it",
        Step("about", answers={"api": 1, "name": "admin", "role": "admin", "project": "default", "types": None}),
        Step("about", role="agent", answers={"name": "agent", "role": "agent"}),
        Step("check", role="viewer", refused="denied"),
        Step("advise", role="viewer", refused="denied"),
        Step("run_duties", role="viewer", refused="denied"),
        Step("prune", role="viewer", refused="denied"),
        Step("audit", role="agent", refused="denied"),
        Step("create_token", {"name": "mine", "role": "admin"}, role="orchestrator", refused="denied"),
        Step("set_budget", {"scope": "global", "limit": 1}, role="orchestrator", refused="denied"),
        Step("pause", {"everything": True}, role="agent", refused="denied"),
        Step("add_hook", {"name": "spy", "url": "https://spy.example.com"}, role="orchestrator", refused="denied"),
        Step("gates", shell="gates", answers=[]),
        Step("budgets", shell="budget ls", answers=[]),
        Step("hooks", shell="hook ls", answers=[]),
        Step("tokens", shell="token ls", answers=[]),
    ),
)
