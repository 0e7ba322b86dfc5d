"""Budgets: what the work may use, who waits for more, and what is used up."""

from __future__ import annotations

from tests.doors.story import Step, Story

STORIES = (
    Story(
        "a budget is set, keeps back what does not fit, is raised and removed",
        Step("budgets", shell="budget ls", answers=[]),
        Step(
            "set_budget",
            {"scope": "type:code", "limit": 1, "default_reserve": 0.6},
            shell="budget set type:code 1 --default-reserve 0.6",
            answers={
                "scope": "type:code",
                "unit": "usd",
                "limit": 1.0,
                "default_reserve": 0.6,
                "left": 1.0,
                "window": None,
            },
        ),
        Step("add", {"type": "code"}, shell="add code", saves="first"),
        Step("add", {"type": "code"}, shell="add code", saves="second"),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada", answers=[{"task": {"id": "$first.id"}}]),
        Step("claim", {"agent": "bob"}, shell="claim --agent bob", answers=[]),
        Step("budgets", shell="budget ls", answers=[{"reserved": 0.6, "left": 0.4, "spent": 0, "waiting": 1}]),
        Step("get_budget", {"scope": "type:code"}, answers={"scope": "type:code", "reserved": 0.6, "waiting": 1}),
        Step("get", {"task_id": "$second.id"}, shell="show $second.id", answers={"parked_on": "budget:type:code:usd"}),
        Step(
            "why",
            {"task_id": "$second.id"},
            shell="why $second.id",
            answers={
                "blockers": [
                    {"kind": "gate", "help": "raise budget type:code by $0.20: dibs budget raise type:code 0.2"}
                ]
            },
        ),
        Step(
            "raise_budget",
            {"scope": "type:code", "amount": 0.5},
            shell="budget raise type:code 0.5",
            answers={"limit": 1.5, "left": 0.9},
        ),
        Step("claim", {"agent": "bob"}, shell="claim --agent bob", answers=[{"task": {"id": "$second.id"}}]),
        Step("complete", {"claim": ["$first.id", 1]}, shell="complete $first.id --fence 1"),
        Step(
            "remove_budget",
            {"scope": "type:code"},
            shell="budget rm type:code",
            answers={"spent": 0.6, "unpriced": 1, "reserved": 0.6},
        ),
        Step("budgets", shell="budget ls", answers=[]),
    ),
    Story(
        "an agent has a budget of its own",
        Step("register_agent", {"agent": "ada", "budget": 0.5}, shell="agents register ada --budget 0.5"),
        Step("budgets", shell="budget ls", answers=[{"scope": "agent:ada", "limit": 0.5}]),
        Step("add", {"type": "code", "max_cost": 1}, shell="add code --max-cost 1", saves="task"),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada", answers=[]),
        Step(
            "why",
            {"task_id": "$task.id"},
            shell="why $task.id",
            answers={"blockers": [{"help": "raise budget agent:ada by $0.50: dibs budget raise agent:ada 0.5"}]},
        ),
        Step("set_budget", {"scope": "agent:ada", "limit": 1}, shell="budget set agent:ada 1"),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada", answers=[{"task": {"id": "$task.id"}}]),
    ),
    Story(
        "a budget is for a day, and then for good",
        Step(
            "set_budget",
            {"scope": "type:code", "limit": 5, "window": "day", "timezone": "Europe/Berlin"},
            shell="budget set type:code 5 --per day --tz Europe/Berlin",
            answers={"window": "day", "timezone": "Europe/Berlin", "left": 5.0},
            saves="daily",
        ),
        Step("budgets", shell="budget ls", answers=[{"window": "day", "ends_at": "$daily.ends_at"}]),
        Step("add", {"type": "code", "max_cost": 4}, shell="add code --max-cost 4", saves="first"),
        Step("add", {"type": "code", "max_cost": 4}, shell="add code --max-cost 4", saves="second"),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada", answers=[{"task": {"id": "$first.id"}}]),
        Step("claim", {"agent": "bob"}, shell="claim --agent bob", answers=[]),
        Step("get", {"task_id": "$second.id"}, shell="show $second.id", answers={"parked_on": "budget:type:code:usd"}),
        Step(
            "set_budget",
            {"scope": "type:code", "limit": 5},
            shell="budget set type:code 5",
            answers={"window": None, "timezone": None, "ends_at": None, "reserved": 4.0},
        ),
    ),
    Story(
        "a budget is in other units than money",
        Step(
            "set_budget",
            {"scope": "global", "limit": 1200, "unit": "tokens"},
            shell="budget set global 1200 --unit tokens",
            answers={"scope": "global", "unit": "tokens", "limit": 1200},
        ),
        Step(
            "raise_budget",
            {"scope": "global", "amount": 34, "unit": "tokens"},
            shell="budget raise global 34 --unit tokens",
            answers={"limit": 1234},
        ),
        Step("raise_budget", {"scope": "global", "amount": 1}, shell="budget raise global 1", refused="not_found"),
        Step("get_budget", {"scope": "global", "unit": "tokens"}, answers={"limit": 1234}),
        Step(
            "remove_budget",
            {"scope": "global", "unit": "tokens"},
            shell="budget rm global --unit tokens",
            answers={"unit": "tokens", "limit": 1234},
        ),
    ),
    Story(
        "what is no budget is refused by its field and sets nothing",
        *(
            Step(
                "set_budget",
                {"scope": scope, "limit": 1, **options},
                shell=f"budget set {shell}",
                refused="invalid",
                wrong=wrong,
            )
            for scope, options, shell, wrong in (
                ("planet", {}, "planet 1", "scope"),
                ("type:", {}, "type: 1", "scope"),
                ("agent:", {}, "agent: 1", "scope"),
                ("global", {"limit": -1}, "global -1", "limit"),
                ("global", {"limit": "much"}, "global much", "limit"),
                ("global", {"window": "week"}, "global 1 --per week", "window"),
                ("global", {"timezone": "UTC"}, "global 1 --tz UTC", "timezone"),
                ("global", {"window": "day", "timezone": "Mars"}, "global 1 --per day --tz Mars", "timezone"),
                ("global", {"unit": "euro"}, "global 1 --unit euro", "unit"),
                ("global", {"default_reserve": -1}, "global 1 --default-reserve -1", "default_reserve"),
            )
        ),
        Step(
            "raise_budget",
            {"scope": "global", "amount": -1},
            shell="budget raise global -1",
            refused="invalid",
            wrong="amount",
        ),
        Step(
            "raise_budget",
            {"scope": "global", "amount": 1},
            shell="budget raise global 1",
            refused="not_found",
            wrong="scope",
        ),
        Step("remove_budget", {"scope": "global"}, shell="budget rm global", refused="not_found", wrong="scope"),
        Step("remove_budget", {"scope": "planet"}, shell="budget rm planet", refused="invalid", wrong="scope"),
        Step("get_budget", {"scope": "global"}, refused="not_found", wrong="scope"),
        Step("budgets", shell="budget ls", answers=[]),
    ),
)
