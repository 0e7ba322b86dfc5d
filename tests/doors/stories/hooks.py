"""Hooks: who is told when something happens, where, and of what."""

from __future__ import annotations

from tests.doors.story import Step, Story

URL = "https://ci.example.com/dibs"
ADDED = Step("add_hook", {"name": "old", "url": URL}, shell=f"hook add old {URL}", saves="old")

STORIES = (
    Story(
        "a hook is added, shown and removed, and its secret is told once",
        Step("hooks", shell="hook ls", answers=[]),
        Step(
            "add_hook",
            {"name": "ci", "url": URL, "events": ["task.completed", "dag.*"]},
            shell=f"hook add ci {URL} --on task.completed,dag.*",
            saves="made",
            answers={"name": "ci", "kind": "cloudevents", "url": URL, "events": ["task.completed", "dag.*"]},
        ),
        Step(
            "get_hook",
            {"name": "ci"},
            shell="hook show ci",
            answers={
                "id": "$made.id",
                "kind": "cloudevents",
                "events": ["task.completed", "dag.*"],
                "created_at": "$made.created_at",
                "secret": None,
            },
        ),
        Step("hooks", shell="hook ls", answers=[{"name": "ci", "id": "$made.id", "secret": None}]),
        Step("remove_hook", {"name": "ci"}, shell="hook rm ci"),
        Step("hooks", shell="hook ls", answers=[]),
    ),
    Story(
        "a chat and a mailbox have no secret and get what needs a person",
        Step(
            "add_hook",
            {"name": "chat", "url": "https://chat.example.com/x", "kind": "slack"},
            shell="hook add chat https://chat.example.com/x --kind slack",
            saves="chat",
            answers={"kind": "slack", "secret": None},
        ),
        Step(
            "add_hook",
            {"name": "mail", "url": "oncall@example.com", "kind": "email"},
            shell="hook add mail oncall@example.com --kind email",
            answers={"url": "mailto:oncall@example.com", "events": "$chat.events", "secret": None},
        ),
        Step(
            "add_hook",
            {"name": "all", "url": "https://chat.example.com/x", "kind": "slack", "events": "task.dead_lettered"},
            shell="hook add all https://chat.example.com/x --kind slack --on task.dead_lettered",
            answers={"events": ["task.dead_lettered"]},
        ),
        Step("rotate_hook", {"name": "chat"}, shell="hook rotate chat", refused="invalid", wrong="name"),
    ),
    Story(
        "a hook is paused, resumed, rotated and replayed",
        Step("add", {"type": "job"}, shell="add job"),
        ADDED,
        Step("get_hook", {"name": "old"}, shell="hook show old", answers={"seq": 2}),
        Step("pause_hook", {"name": "old"}, shell="hook pause old", answers={"status": "paused"}),
        Step("test_hook", {"name": "old"}, shell="hook test old", refused="conflict", wrong="name"),
        Step("resume_hook", {"name": "old"}, shell="hook resume old", answers={"status": None}),
        Step(
            "rotate_hook",
            {"name": "old", "overlap": "1h"},
            shell="hook rotate old --overlap 1h",
            saves="rotated",
            answers={"id": "$old.id"},
        ),
        Step(
            "get_hook",
            {"name": "old"},
            shell="hook show old",
            answers={"old_secret_until": "$rotated.old_secret_until", "secret": None},
        ),
        Step("replay_hook", {"name": "old", "after": 0}, shell="hook replay old --after 0", answers={"seq": None}),
        Step("deliveries", {"name": "old", "limit": 5}, shell="hook deliveries old --limit 5", answers=[]),
        Step("test_hook", {"name": "old"}),
    ),
    Story(
        "a hook is told elsewhere and of other events, and stays what it is",
        Step(
            "add_hook",
            {"name": "ci", "url": URL, "events": ["task.*"], "agent": "ada", "source": "/here", "after": 0},
            shell=f"hook add ci {URL} --on task.* --agent ada --source /here --after 0",
            saves="made",
            answers={"agent": "ada", "source": "/here", "events": ["task.*"]},
        ),
        Step(
            "set_hook",
            {"name": "ci", "url": f"{URL}/v2", "events": ["dag.failed", "task.completed"], "dag": "dag_x"},
            shell=f"hook set ci {URL}/v2 --on dag.failed,task.completed --dag dag_x",
            answers={
                "id": "$made.id",
                "url": f"{URL}/v2",
                "events": ["dag.failed", "task.completed"],
                "dag": "dag_x",
                "agent": None,
                "secret": None,
            },
        ),
        Step(
            "set_hook",
            {"name": "ci", "url": "ftp://x.test"},
            shell="hook set ci ftp://x.test",
            refused="invalid",
            wrong="url",
        ),
        Step("get_hook", {"name": "ci"}, shell="hook show ci", answers={"url": f"{URL}/v2", "dag": "dag_x"}),
        Step(
            "set_hook",
            {"name": "nobody", "url": URL},
            shell=f"hook set nobody {URL}",
            refused="not_found",
            wrong="name",
        ),
    ),
    Story(
        "what is no hook is refused by its field and tells nobody",
        ADDED,
        Step("add_hook", {"name": "old", "url": URL}, shell=f"hook add old {URL}", refused="exists", wrong="name"),
        *(
            Step(
                "add_hook",
                {"name": "ci", "url": URL, **options},
                shell=f"hook add {shell}",
                refused="invalid",
                wrong=wrong,
            )
            for options, shell, wrong in (
                ({"url": "ftp://x.test"}, "ci ftp://x.test", "url"),
                ({"url": "https://u:p@x.test"}, "ci https://u:p@x.test", "url"),
                ({"name": ""}, f"'' {URL}", "name"),
                ({"kind": "pager"}, f"ci {URL} --kind pager", "kind"),
                ({"events": ["task.complete"]}, f"ci {URL} --on task.complete", "events"),
                ({"events": ["task.*", ""]}, f"ci {URL} --on task.*,", "events"),
                ({"after": -1}, f"ci {URL} --after -1", "after"),
                ({"agent": ""}, f"ci {URL} --agent ''", "agent"),
                ({"source": ""}, f"ci {URL} --source ''", "source"),
                ({"url": "x", "kind": "email"}, "ci x --kind email", "url"),
                ({"url": "mailto:ada@example.com"}, "ci mailto:ada@example.com", "url"),
            )
        ),
        *(
            Step(verb, {"name": "ci", **options}, shell=f"hook {shell}", refused="not_found", wrong="name")
            for verb, options, shell in (
                ("get_hook", {}, "show ci"),
                ("remove_hook", {}, "rm ci"),
                ("pause_hook", {}, "pause ci"),
                ("resume_hook", {}, "resume ci"),
                ("rotate_hook", {}, "rotate ci"),
                ("replay_hook", {"after": 0}, "replay ci --after 0"),
                ("deliveries", {}, "deliveries ci"),
                ("test_hook", {}, "test ci"),
            )
        ),
        *(
            Step(verb, {"name": "old", **options}, shell=f"hook {shell}", refused="invalid", wrong=wrong)
            for verb, options, shell, wrong in (
                ("rotate_hook", {"overlap": -1}, "rotate old --overlap -1", "overlap"),
                ("replay_hook", {"after": "x"}, "replay old --after x", "after"),
                ("deliveries", {"limit": 0}, "deliveries old --limit 0", "limit"),
            )
        ),
        Step(
            "replay_hook",
            {"name": "old"},
            shell="hook replay old",
            doors=("shell",),
            refused="invalid",
            wrong="after",
        ),
        Step("test_hook", shell="hook test old --wait later", doors=("shell",), refused="invalid", wrong="wait"),
        Step("hooks", shell="hook ls", answers=[{"name": "old", "id": "$old.id"}]),
    ),
)
