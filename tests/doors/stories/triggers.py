"""Triggers: what is made when something happens, what it would be, and what is no trigger."""

from __future__ import annotations

from tests.doors.story import Step, Story

REPAIR = {
    "name": "repair",
    "on": "event",
    "events": ["task.dead_lettered"],
    "where": {"event.task.type": "code", "event.data.n": 7},
    "task": {"type": "fix", "payload": {"of": "{{event.task.id}}"}},
}
REVIEW = {"type": "review", "title": "Review {{event.data.n}}"}
SECRET = "sixteen of them!"

STORIES = (
    Story(
        "a trigger is added, shown, paused, resumed and removed",
        Step("triggers", shell="trigger ls", answers=[]),
        Step(
            "add_trigger",
            REPAIR,
            shell="trigger add repair --event task.dead_lettered --where event.task.type=code --where event.data.n=7"
            """ --type fix --payload '{"of": "{{event.task.id}}"}'""",
            answers={**REPAIR, "rate": "60/min", "max_depth": 3, "paused": False, "secrets": [], "made": 0},
        ),
        Step("get_trigger", {"name": "repair"}, shell="trigger show repair", answers=REPAIR),
        Step("triggers", shell="trigger ls", answers=[REPAIR]),
        Step("pause_trigger", {"name": "repair"}, shell="trigger pause repair", answers={"paused": True}),
        Step("resume_trigger", {"name": "repair"}, shell="trigger resume repair", answers={"paused": False}),
        Step("remove_trigger", {"name": "repair"}, shell="trigger rm repair", answers={"name": "repair"}),
        Step("get_trigger", {"name": "repair"}, shell="trigger show repair", refused="not_found", wrong="name"),
        Step("triggers", shell="trigger ls", answers=[]),
    ),
    Story(
        "adding the same trigger again changes nothing, and another only on request",
        Step("add_trigger", REPAIR, saves="made"),
        Step("add_trigger", REPAIR, answers={"created_at": "$made.created_at"}),
        Step(
            "add_trigger",
            {"name": "repair", "on": "event", "events": ["task.cancelled"], "task": {"type": "fix"}},
            shell="trigger add repair --event task.cancelled --type fix",
            refused="exists",
            wrong="name",
        ),
        Step(
            "add_trigger",
            {"name": "repair", "on": "event", "events": ["task.cancelled"], "task": {"type": "fix"}, "replace": True},
            shell="trigger add repair --event task.cancelled --type fix --replace",
            answers={"events": ["task.cancelled"], "where": {}, "created_at": "$made.created_at"},
        ),
    ),
    Story(
        "an event is tried, and nothing is made",
        Step(
            "add_trigger",
            {"name": "review", "on": "webhook", "scheme": "github", "where": {"event.type": "pull*"}, "task": REVIEW},
            shell="trigger add review --webhook github --where event.type=pull*"
            """ --task '{"type": "review", "title": "Review {{event.data.n}}"}'""",
            answers={"on": "webhook", "scheme": "github"},
        ),
        Step(
            "preview_trigger",
            {"name": "review", "event": {"type": "pull_request", "data": {"n": 7}}},
            shell="""trigger test review '{"type": "pull_request", "data": {"n": 7}}'""",
            answers={"trigger": "review", "fits": True, "task": {"type": "review", "title": "Review 7"}, "dag": None},
        ),
        Step(
            "preview_trigger",
            {"name": "review", "event": {"type": "push"}},
            shell="""trigger test review '{"type": "push"}'""",
            answers={"fits": False},
        ),
        *(
            Step("preview_trigger", {"name": name, "event": event}, shell=shell, refused=refused, wrong=wrong)
            for name, event, shell, refused, wrong in (
                ("review", [1], "trigger test review [1]", "invalid", "event"),
                ("other", {}, "trigger test other {}", "not_found", "name"),
            )
        ),
        Step("find", shell="ls", answers={"items": []}),
    ),
    Story(
        "secrets that are given are told once",
        Step(
            "add_trigger",
            {"name": "in", "on": "webhook", "scheme": "github", "secret": SECRET, "task": {"type": "fix"}},
            shell=f"trigger add in --webhook github --secret '{SECRET}' --type fix",
            answers={"secrets": [SECRET]},
        ),
        Step("get_trigger", {"name": "in"}, shell="trigger show in", answers={"secrets": []}),
        Step("triggers", shell="trigger ls", answers=[{"name": "in", "secrets": []}]),
    ),
    Story(
        "trouble with a type and changed files make something, too",
        Step(
            "add_trigger",
            {
                "name": "refactor",
                "on": "friction",
                "type": "auth",
                "failure_rate": 0.4,
                "window": "6h",
                "task": {"type": "refactor"},
            },
            shell="trigger add refactor --friction auth --failure-rate 0.4 --window 6h --type refactor",
            answers={"on": "friction", "type": "auth", "failure_rate": 0.4, "window": 21600.0, "cost": None},
        ),
        Step(
            "add_trigger",
            {
                "name": "dear",
                "on": "friction",
                "type": "auth",
                "cost": 5,
                "cool_down": "2h",
                "least": 3,
                "task": {"type": "cheaper"},
            },
            shell="trigger add dear --friction auth --cost 5 --cool-down 2h --least 3 --type cheaper",
            answers={"cost": 5.0, "cool_down": 7200.0, "least": 3, "failure_rate": None},
        ),
        Step(
            "add_trigger",
            {"name": "docs", "on": "files", "paths": ["/srv/**/*.md"], "task": {"type": "index"}, "paused": True},
            shell="trigger add docs --path '/srv/**/*.md' --type index --paused",
            answers={"on": "files", "paths": ["/srv/**/*.md"], "paused": True},
        ),
        Step("triggers", shell="trigger ls", answers=[{"name": "dear"}, {"name": "docs"}, {"name": "refactor"}]),
    ),
    Story(
        "what is no trigger is refused by its field and waits for nothing",
        *(
            Step(
                "add_trigger",
                {"name": "a", "on": "event", "events": ["task.completed"], "task": {"type": "x"}, **options},
                shell=None if shell is None else f"trigger add {shell}",
                refused="invalid",
                wrong=wrong,
            )
            for options, shell, wrong in (
                ({"on": "whim"}, "a --on whim --type x", "on"),
                ({"name": "a b"}, "'a b' --event task.completed --type x", "name"),
                ({"events": ["agent.lost"]}, "a --event agent.lost --type x", "events"),
                ({"events": ["task.compleeted"]}, "a --event task.compleeted --type x", "events"),
                ({"task": None}, "a --event task.completed", "task"),
                ({"task": {"type": "{{event.x}}"}}, "a --event task.completed --type '{{event.x}}'", "type"),
                ({"where": {"x": 1}}, "a --event task.completed --type x --where x=1", "where"),
                ({"rate": "often"}, "a --event task.completed --type x --rate often", "rate"),
                ({"max_depth": -1}, "a --event task.completed --type x --max-depth -1", "max_depth"),
                ({"scheme": "github"}, "a --webhook github --event task.completed --type x --on event", "scheme"),
                ({"paused": "yes"}, None, "paused"),
            )
        ),
        *(
            Step(
                "add_trigger",
                {"name": "a", "task": {"type": "x"}, **options},
                shell=f"trigger add a --type x {shell}",
                refused="invalid",
                wrong=wrong,
            )
            for options, shell, wrong in (
                ({"on": "webhook", "scheme": "telegram"}, "--webhook telegram", "scheme"),
                ({"on": "webhook", "scheme": "github", "secret": "short"}, "--webhook github --secret short", "secret"),
                ({"on": "friction", "type": "auth"}, "--friction auth", "failure_rate"),
                (
                    {"on": "friction", "type": "auth", "failure_rate": 2},
                    "--friction auth --failure-rate 2",
                    "failure_rate",
                ),
                (
                    {"on": "friction", "type": "auth", "cost": 1, "window": "x"},
                    "--friction auth --cost 1 --window x",
                    "window",
                ),
                ({"on": "files", "paths": ["docs/*.md"]}, "--path 'docs/*.md'", "paths"),
            )
        ),
        *(
            Step(verb, {"name": "other"}, shell=shell, refused="not_found", wrong="name")
            for verb, shell in (
                ("pause_trigger", "trigger pause other"),
                ("resume_trigger", "trigger resume other"),
                ("remove_trigger", "trigger rm other"),
            )
        ),
        *(
            Step("add_trigger", shell=f"trigger add {shell}", doors=("shell",), refused="invalid", wrong=wrong)
            for shell, wrong in (
                ("a --type x", "on"),
                ("--event task.completed --type x", "name"),
                ("a --event task.completed --type x --where event.x", "where"),
            )
        ),
        Step("triggers", shell="trigger ls", answers=[]),
    ),
)
