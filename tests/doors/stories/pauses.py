"""What people close and open again: pauses of a type, a lane, an agent, of everything; and what a rate limit closed."""

from __future__ import annotations

from tests.doors.story import Step, Story

PAUSED = Step("pause", {"type": "code", "by": "ada"}, shell="pause --type code --by ada")

STORIES = (
    Story(
        "nothing of a paused type is handed out until it is resumed",
        Step("add", {"type": "code"}, shell="add code", saves="task"),
        Step(
            "pause",
            {"type": "code", "reason": "broken", "by": "human:ada"},
            shell="pause --type code --reason broken --by human:ada",
            answers={
                "gate": "type:code",
                "kind": "pause",
                "type": "code",
                "lane": None,
                "agent": None,
                "reason": "broken",
                "by": "human:ada",
                "until": None,
                "help": "dibs resume --type code",
            },
        ),
        Step("gates", shell="gates", answers=[{"gate": "type:code", "kind": "pause"}]),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[]),
        Step(
            "why",
            {"task_id": "$task.id"},
            shell="why $task.id",
            answers={"blockers": [{"kind": "gate", "ids": ["type:code"], "help": "dibs resume --type code"}]},
        ),
        Step("resume", {"type": "code"}, shell="resume --type code", answers=True),
        Step("gates", shell="gates", answers=[]),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[{"task": {"type": "code"}}]),
    ),
    Story(
        "each pause is ended by itself",
        Step("add", {"type": "code"}, shell="add code"),
        Step("stats", shell="stats", saves="stats"),
        Step(
            "pause",
            {"lane": "$stats.lanes.0.id", "until": "1h", "by": "grace"},
            shell="pause --lane $stats.lanes.0.id --until 1h --by grace",
            saves="lane",
            answers={"lane": "$stats.lanes.0.id", "kind": "pause", "type": None, "by": "grace"},
        ),
        Step(
            "pause",
            {"everything": True, "reason": "night", "by": "ada"},
            shell="pause --everything --reason night --by ada",
            answers={"gate": "everything", "reason": "night", "help": "dibs resume --everything"},
        ),
        Step("pause", {"agent": "a", "by": "ada"}, shell="pause --agent a --by ada", answers={"gate": "agent:a"}),
        Step(
            "gates",
            shell="gates",
            answers=[{"gate": "agent:a"}, {"gate": "everything"}, {"gate": "$lane.gate", "until": "$lane.until"}],
        ),
        Step("resume", {"type": "code"}, shell="resume --type code", answers=False),
        Step("resume", {"everything": True}, shell="resume --everything", answers=True),
        Step("resume", {"everything": True}, shell="resume --everything", answers=False),
        Step("claim", {"agent": "b"}, shell="claim --agent b", answers=[]),
        Step("resume", {"lane": "$stats.lanes.0.id"}, shell="resume --lane $stats.lanes.0.id", answers=True),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[]),
        Step("resume", {"agent": "a"}, shell="resume --agent a", answers=True),
        Step("resume", {"agent": "a"}, shell="resume --agent a", answers=False),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[{"task": {"type": "code"}}]),
    ),
    Story(
        "pausing again replaces the reason and the end",
        PAUSED,
        Step(
            "pause",
            {"type": "code", "reason": "again", "until": 3600, "by": "grace"},
            shell="pause --type code --reason again --until 3600 --by grace",
            saves="second",
            answers={"reason": "again", "by": "grace"},
        ),
        Step("gates", shell="gates", answers=[{"reason": "again", "by": "grace", "until": "$second.until"}]),
    ),
    Story(
        "what a rate limit of a provider closed is opened by hand",
        Step("add", {"type": "code", "provider": "acme"}, shell="add code --provider acme", saves="first"),
        Step("add", {"type": "lint", "provider": "acme"}, shell="add lint --provider acme", saves="second"),
        Step("claim", {"agent": "a", "types": ["code"]}, shell="claim --agent a --type code"),
        Step(
            "fail",
            {"claim": ["$first.id", 1], "error": "429 Too Many Requests", "retry_after": "1h"},
            shell="fail $first.id --fence 1 --error '429 Too Many Requests' --retry-after 1h",
        ),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[]),
        Step(
            "gates",
            shell="gates",
            answers=[
                {
                    "gate": "provider:acme",
                    "kind": "limit",
                    "provider": "acme",
                    "reason": "rate limit",
                    "help": "dibs resume --provider acme, or wait: it opens by itself",
                }
            ],
        ),
        Step(
            "why",
            {"task_id": "$second.id"},
            shell="why $second.id",
            answers={"blockers": [{"kind": "gate", "ids": ["provider:acme"]}]},
        ),
        Step("resume", {"provider": "other"}, shell="resume --provider other", answers=False),
        Step("resume", {"provider": "acme"}, shell="resume --provider acme", answers=True),
        Step("resume", {"provider": "acme"}, shell="resume --provider acme", answers=False),
        Step("gates", shell="gates", answers=[]),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[{"task": {"type": "lint"}}]),
    ),
    Story(
        "what a rate limit closed where nobody knows the provider is opened by its type",
        Step("add", {"type": "code"}, shell="add code", saves="first"),
        Step("add", {"type": "code"}, shell="add code"),
        Step("claim", {"agent": "a"}, shell="claim --agent a", saves="claims"),
        Step(
            "fail",
            {"claim": ["$claims.0.task.id", 1], "error": "429", "reason": "rate_limit"},
            shell="fail $claims.0.task.id --fence 1 --error 429 --reason rate_limit",
        ),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[]),
        Step("gates", shell="gates", answers=[{"gate": "limit:code", "kind": "limit", "type": "code"}]),
        Step("resume", {"limit": "other"}, shell="resume --limit other", answers=False),
        Step("resume", {"limit": "code"}, shell="resume --limit code", answers=True),
        Step("gates", shell="gates", answers=[]),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[{"task": {"type": "code"}}]),
        Step("resume", {"limit": "code"}, shell="resume --limit code", answers=False),
    ),
    Story(
        "what is no pause is refused by its field and closes nothing",
        *(
            Step(verb, arguments, shell=shell, refused=code, wrong=field)
            for verb, arguments, shell, code, field in (
                ("pause", {}, "pause", "invalid", "type"),
                ("pause", {"type": "a", "agent": "b"}, "pause --type a --agent b", "invalid", "agent"),
                ("pause", {"type": ""}, "pause --type ''", "invalid", "type"),
                ("pause", {"lane": "one"}, "pause --lane one", "invalid", "lane"),
                ("pause", {"lane": 77}, "pause --lane 77", "not_found", "lane"),
                ("pause", {"type": "a", "until": "yesterday"}, "pause --type a --until yesterday", "invalid", "until"),
                ("pause", {"type": "a", "until": 0}, "pause --type a --until 0", "invalid", "until"),
                ("pause", {"type": "a", "reason": ""}, "pause --type a --reason ''", "invalid", "reason"),
                ("pause", {"type": "a", "by": ""}, "pause --type a --by ''", "invalid", "by"),
                ("resume", {}, "resume", "invalid", "type"),
                ("resume", {"type": "a", "lane": 1}, "resume --type a --lane 1", "invalid", "lane"),
                ("resume", {"provider": "acme", "type": "a"}, "resume --provider acme --type a", "invalid", "provider"),
                ("resume", {"provider": "acme", "limit": "a"}, "resume --provider acme --limit a", "invalid", "limit"),
                ("resume", {"provider": ""}, "resume --provider ''", "invalid", "provider"),
            )
        ),
        Step("gates", shell="gates", answers=[]),
    ),
)
