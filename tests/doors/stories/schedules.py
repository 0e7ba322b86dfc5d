"""Schedules: what is made again and again, when, and what is no schedule."""

from __future__ import annotations

from tests.doors.story import Step, Story

NIGHTLY = "30 2 * * MON-FRI"
DIGEST = {"title": "Digest", "tasks": [{"ref": "a", "type": "gather"}, {"type": "write", "after": ["a"]}]}

STORIES = (
    Story(
        "a schedule is added, shown, paused, resumed and removed",
        Step("schedules", shell="schedule ls", answers=[]),
        Step(
            "add_schedule",
            {
                "name": "audit",
                "cron": NIGHTLY,
                "timezone": "Europe/Berlin",
                "task": {"type": "audit", "payload": {"deep": True}},
            },
            shell=f"schedule add audit --cron '{NIGHTLY}' --timezone Europe/Berlin --type audit"
            """ --payload '{"deep": true}'""",
            saves="made",
            answers={
                "name": "audit",
                "cron": NIGHTLY,
                "every": None,
                "timezone": "Europe/Berlin",
                "task": {"type": "audit", "payload": {"deep": True}},
                "dag": None,
                "missed": "one",
                "overlap": "allow",
                "paused": False,
                "made": 0,
            },
        ),
        Step(
            "get_schedule",
            {"name": "audit"},
            shell="schedule show audit",
            answers={"name": "audit", "next_at": "$made.next_at"},
        ),
        Step("schedules", shell="schedule ls", answers=[{"name": "audit", "cron": NIGHTLY}]),
        Step("pause_schedule", {"name": "audit"}, shell="schedule pause audit", answers={"paused": True}),
        Step("pause_schedule", {"name": "audit"}, shell="schedule pause audit", answers={"paused": True}),
        Step("resume_schedule", {"name": "audit"}, shell="schedule resume audit", answers={"paused": False}),
        Step("remove_schedule", {"name": "audit"}, shell="schedule rm audit", answers={"name": "audit"}),
        Step("get_schedule", {"name": "audit"}, shell="schedule show audit", refused="not_found", wrong="name"),
        Step("schedules", shell="schedule ls", answers=[]),
    ),
    Story(
        "adding the same schedule again changes nothing, and another only on request",
        Step(
            "add_schedule",
            {"name": "digest", "every": "6h", "overlap": "skip", "dag": DIGEST, "paused": True},
            saves="made",
            answers={"every": 21600.0, "overlap": "skip", "paused": True, "task": None, "dag": {"title": "Digest"}},
        ),
        Step(
            "add_schedule",
            {"name": "digest", "every": "6h", "overlap": "skip", "dag": DIGEST},
            answers={"created_at": "$made.created_at", "paused": True},
        ),
        Step(
            "add_schedule",
            {"name": "digest", "every": "1h", "task": {"type": "digest"}},
            shell="schedule add digest --every 1h --type digest",
            refused="exists",
            wrong="name",
        ),
        Step("get_schedule", {"name": "digest"}, shell="schedule show digest", answers={"every": 21600.0}),
        Step(
            "add_schedule",
            {"name": "digest", "every": "1h", "task": {"type": "digest"}, "replace": True},
            shell="schedule add digest --every 1h --type digest --replace",
            answers={"every": 3600.0, "created_at": "$made.created_at", "dag": None, "paused": False},
        ),
    ),
    Story(
        "times to come are told by local clocks",
        Step(
            "add_schedule",
            {"name": "audit", "cron": "0 9 * * *", "timezone": "Asia/Tokyo", "task": {"type": "audit"}, "jitter": "1m"},
            shell="schedule add audit --cron '0 9 * * *' --timezone Asia/Tokyo --type audit --jitter 1m",
            answers={"jitter": 60.0},
        ),
        Step("next_runs", {"name": "audit", "count": 2}, shell="schedule next audit --count 2", saves="runs"),
        Step(
            "next_runs",
            {"name": "audit", "count": 3},
            shell="schedule next audit --count 3",
            answers=[{"local": "$runs.0.local"}, {"due_at": "$runs.1.due_at"}, {}],
        ),
        Step("next_runs", {"name": "audit"}, shell="schedule next audit", answers=[{}, {}, {}, {}, {}]),
        Step(
            "next_runs",
            {"name": "audit", "count": 0},
            shell="schedule next audit --count 0",
            refused="invalid",
            wrong="count",
        ),
        Step("next_runs", {"name": "other"}, shell="schedule next other", refused="not_found", wrong="name"),
    ),
    Story(
        "what is due is there for whoever claims next",
        Step(
            "add_schedule",
            {"name": "once", "at": 0, "task": {"type": "tidy", "priority": 5}},
            shell="""schedule add once --at 0 --task '{"type": "tidy", "priority": 5}'""",
        ),
        Step(
            "claim",
            {"agent": "ada"},
            shell="claim --agent ada",
            answers=[{"task": {"type": "tidy", "priority": 5.0, "created_by": "cron:once"}}],
        ),
        Step("get_schedule", {"name": "once"}, shell="schedule show once", answers={"made": 1, "next_at": None}),
        Step("next_runs", {"name": "once"}, shell="schedule next once", answers=[]),
    ),
    Story(
        "what is no schedule is refused by its field and keeps no time",
        *(
            Step(
                "add_schedule",
                {"name": "a", "every": "1m", "task": {"type": "x"}, **options},
                shell=None if shell is None else f"schedule add {shell}",
                refused="invalid",
                wrong=wrong,
            )
            for options, shell, wrong in (
                ({"every": None}, "a --type x", "cron"),
                ({"task": None}, "a --every 1m", "task"),
                ({"cron": "* * * * *"}, "a --every 1m --cron '* * * * *' --type x", "every"),
                ({"every": None, "cron": "nonsense"}, "a --cron nonsense --type x", "cron"),
                ({"every": "soon"}, "a --every soon --type x", "every"),
                ({"every": None, "at": "soon"}, "a --at soon --type x", "at"),
                (
                    {"every": None, "cron": "* * * * *", "timezone": "Nowhere"},
                    "a --cron '* * * * *' --timezone Nowhere --type x",
                    "timezone",
                ),
                ({"missed": "perhaps"}, "a --every 1m --type x --missed perhaps", "missed"),
                ({"missed": "all", "max_missed": 0}, "a --every 1m --type x --missed all --max-missed 0", "max_missed"),
                ({"overlap": "perhaps"}, "a --every 1m --type x --overlap perhaps", "overlap"),
                ({"jitter": "much"}, "a --every 1m --type x --jitter much", "jitter"),
                ({"task": []}, "a --every 1m --task []", "task"),
                ({"task": {"type": "x", "key": "k"}}, """a --every 1m --task '{"type": "x", "key": "k"}'""", "key"),
                ({"dag": DIGEST}, None, "dag"),
                ({"paused": "yes"}, None, "paused"),
                ({"replace": "yes"}, None, "replace"),
                ({"name": "a b"}, "'a b' --every 1m --type x", "name"),
            )
        ),
        *(
            Step(verb, {"name": "other"}, shell=shell, refused="not_found", wrong="name")
            for verb, shell in (
                ("pause_schedule", "schedule pause other"),
                ("resume_schedule", "schedule resume other"),
                ("remove_schedule", "schedule rm other"),
            )
        ),
        *(
            Step("add_schedule", shell=f"schedule add {shell}", doors=("shell",), refused="invalid", wrong=wrong)
            for shell, wrong in (
                ("--every 1m --type x", "name"),
                ("a --every 1m --type x --payload {", "payload"),
                ("a --every 1m --task [] --title x", "task"),
            )
        ),
        Step("schedules", shell="schedule ls", answers=[]),
    ),
)
