"""Agents: who there is, what they hold and may hold, and which lanes they can serve."""

from __future__ import annotations

from tests.doors.story import Step, Story

STORIES = (
    Story(
        "agents are listed with what they hold",
        Step("agents", shell="agents ls --all", answers=[]),
        Step("add", {"type": "job"}, shell="add job", saves="task"),
        Step("claim", {"agent": "scout", "capabilities": ["web", "git"]}, shell="claim --agent scout --can web,git"),
        Step(
            "register_agent",
            {"agent": "coder-1", "type": "coder", "max_concurrent": 2},
            shell="agents register coder-1 --type coder --max-concurrent 2",
            answers={"id": "coder-1", "type": "coder", "max_concurrent": 2, "status": "active", "tasks": []},
        ),
        Step(
            "agents",
            shell="agents ls",
            answers=[
                {"id": "coder-1", "type": "coder", "tasks": [], "utilisation": 0.0},
                {"id": "scout", "type": None, "capabilities": ["git", "web"], "tasks": ["$task.id"]},
            ],
        ),
        Step("agents", shell="agents", answers=[{"id": "coder-1"}, {"id": "scout"}]),
    ),
    Story(
        "what is registered holds for claims until it is registered again",
        Step("add", {"type": "job"}, shell="add job"),
        Step(
            "add",
            {"type": "job", "assignee": "coder", "requires": ["git"]},
            shell="add job --assignee coder --requires git",
        ),
        Step(
            "register_agent",
            {"agent": "me", "type": "coder", "capabilities": ["git"], "models": ["m"], "max_concurrent": 1},
            shell="agents register me --type coder --can git --model m --max-concurrent 1",
            answers={"capabilities": ["git"], "models": ["m"], "max_concurrent": 1},
        ),
        Step(
            "claim", {"agent": "me"}, shell="claim --agent me", saves="claims", answers=[{"task": {"assignee": None}}]
        ),
        Step("claim", {"agent": "me"}, shell="claim --agent me", answers=[]),
        Step(
            "register_agent",
            {"agent": "me", "type": "coder", "capabilities": ["git"]},
            shell="agents register me --type coder --can git",
            answers={"type": "coder", "max_concurrent": None, "models": [], "tasks": ["$claims.0.task.id"]},
        ),
        Step("claim", {"agent": "me"}, shell="claim --agent me", answers=[{"task": {"assignee": "coder"}}]),
    ),
    Story(
        "the process behind an agent is shown, and what is left out may be kept",
        Step(
            "register_agent",
            {
                "agent": "host/1",
                "type": "tester",
                "version": "3.2",
                "host": "box",
                "pid": 7,
                "poll": "5s",
                "concurrency": 4,
            },
            answers={"id": "host/1", "version": "3.2", "host": "box", "pid": 7, "poll_s": 5.0, "concurrency": 4},
        ),
        Step(
            "register_agent",
            {"agent": "host/1", "max_concurrent": 2, "keep": True},
            answers={"type": "tester", "max_concurrent": 2, "host": "box"},
        ),
        Step("agents", shell="agents ls", answers=[{"id": "host/1", "type": "tester", "concurrency": 4}]),
    ),
    Story(
        "a drained agent gets nothing new, and one that is unregistered is gone until it asks",
        Step("add", {"type": "job"}, shell="add job", saves="first"),
        Step("add", {"type": "job"}, shell="add job", saves="second"),
        Step("claim", {"agent": "me"}, shell="claim --agent me"),
        Step(
            "drain_agent",
            {"agent": "me"},
            shell="agents drain me",
            answers={"status": "draining", "tasks": ["$first.id"]},
        ),
        Step("claim", {"agent": "me"}, shell="claim --agent me", answers=[]),
        Step(
            "unregister_agent",
            {"agent": "me", "reason": "done"},
            shell="agents unregister me --reason done",
            answers={"status": "offline", "reason": "done"},
        ),
        Step("agents", shell="agents ls --all", answers=[{"id": "me", "status": "offline"}]),
        Step("claim", {"agent": "me"}, shell="claim --agent me", answers=[{"task": {"id": "$second.id"}}]),
        Step("agents", shell="agents ls", answers=[{"id": "me", "status": "active", "reason": None}]),
    ),
    Story(
        "lanes say what nobody can do",
        Step("lanes", shell="lanes", answers=[]),
        Step("add", {"type": "job"}, shell="add job"),
        Step("add", {"type": "render", "requires": ["gpu"]}, shell="add render --requires gpu", saves="task"),
        Step("register_agent", {"agent": "me"}, shell="agents register me"),
        Step(
            "lanes",
            shell="lanes",
            answers=[
                {"type": "job", "ready": 1, "requires": [], "agents": ["me"], "per_minute": None},
                {"type": "render", "ready": 1, "requires": ["gpu"], "agents": []},
            ],
        ),
        Step(
            "why",
            {"task_id": "$task.id"},
            shell="why $task.id",
            answers={"blockers": [{"kind": "capability", "help": "start an agent with capability gpu"}]},
        ),
        Step("claim", {"agent": "me"}, shell="claim --agent me", saves="claims"),
        Step("complete", {"claim": ["$claims.0.task.id", 1]}, shell="complete $claims.0.task.id --fence 1"),
        Step("lanes", shell="lanes", answers=[{"type": "render"}]),
        Step("lanes", {"minutes": 2}, answers=[{"type": "job", "ready": 0}, {"type": "render", "ready": 1}]),
        Step("lanes", {"minutes": 0}, refused="invalid", wrong="minutes"),
    ),
    Story(
        "what is no agent is refused by its field and changes nothing",
        *(
            Step("register_agent", {"agent": "me", **options}, shell=shell, refused="invalid", wrong=wrong)
            for options, shell, wrong in (
                ({"agent": ""}, "agents register ''", "agent"),
                ({"type": ""}, "agents register me --type ''", "type"),
                ({"capabilities": ["a", ""]}, "agents register me --can a,", "capabilities"),
                ({"models": [""]}, "agents register me --model ''", "models"),
                ({"max_concurrent": 0}, "agents register me --max-concurrent 0", "max_concurrent"),
                ({"max_concurrent": "many"}, "agents register me --max-concurrent many", "max_concurrent"),
                ({"budget": -1}, "agents register me --budget -1", "budget"),
                ({"version": ""}, None, "version"),
                ({"host": ""}, None, "host"),
                ({"pid": -1}, None, "pid"),
                ({"poll": "soon"}, None, "poll"),
                ({"concurrency": 0}, None, "concurrency"),
                ({"keep": "yes"}, None, "keep"),
            )
        ),
        Step("drain_agent", {"agent": "nobody"}, shell="agents drain nobody", refused="not_found", wrong="agent"),
        Step("drain_agent", {"agent": ""}, shell="agents drain ''", refused="invalid", wrong="agent"),
        Step(
            "unregister_agent",
            {"agent": "nobody"},
            shell="agents unregister nobody",
            refused="not_found",
            wrong="agent",
        ),
        Step(
            "unregister_agent",
            {"agent": "nobody", "reason": "x\0"},
            refused="invalid",
            wrong="reason",
        ),
        Step("register_agent", shell="agents register", doors=("shell",), refused="invalid", wrong="agent"),
        Step("agents", shell="agents ls --all", answers=[]),
        Step("budgets", shell="budget ls", answers=[]),
    ),
)
