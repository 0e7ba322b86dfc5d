"""Locks, how many may hold one, and how many tasks of a type may run."""

from __future__ import annotations

from tests.doors.story import Step, Story

STORIES = (
    Story(
        "who holds a lock and who waits for it is shown",
        Step("locks", shell="locks", answers=[]),
        Step(
            "add",
            {"type": "code", "locks": ["repo:myapp", "gpu"]},
            shell="add code --lock repo:myapp --lock gpu",
            saves="first",
        ),
        Step("add", {"type": "code", "locks": ["repo:myapp"]}, shell="add code --lock repo:myapp", saves="second"),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada", answers=[{"task": {"id": "$first.id"}}]),
        Step("claim", {"agent": "bob"}, shell="claim --agent bob", answers=[]),
        Step(
            "locks",
            shell="locks",
            answers=[
                {"name": "gpu", "slots": 1, "waiting": 0, "holders": [{"task_id": "$first.id", "agent": "ada"}]},
                {"name": "repo:myapp", "waiting": 1, "holders": [{"task_id": "$first.id", "fence": 1}]},
            ],
        ),
        Step("get", {"task_id": "$second.id"}, shell="show $second.id", answers={"parked_on": "repo:myapp"}),
        Step(
            "why",
            {"task_id": "$second.id"},
            shell="why $second.id",
            answers={"blockers": [{"ids": ["$first.id"], "detail": "lock repo:myapp is held by ${first.id} (ada)"}]},
        ),
    ),
    Story(
        "slots of a lock let more in",
        Step("add", {"type": "train", "locks": ["gpu"]}, shell="add train --lock gpu"),
        Step("add", {"type": "train", "locks": ["gpu"]}, shell="add train --lock gpu"),
        Step(
            "set_slots",
            {"name": "gpu", "slots": 2},
            shell="slots gpu 2",
            answers={"name": "gpu", "slots": 2, "holders": []},
        ),
        Step("locks", shell="locks", answers=[{"name": "gpu", "slots": 2}]),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada", answers=[{"task": {"type": "train"}}]),
        Step("claim", {"agent": "bob"}, shell="claim --agent bob", answers=[{"task": {"type": "train"}}]),
    ),
    Story(
        "of a type so many run as it has slots",
        Step(
            "set_slots",
            {"type": "render", "slots": 1},
            shell="slots --type render 1",
            answers={"type": "render", "slots": 1, "held": 0},
        ),
        Step("add", {"type": "render"}, shell="add render", saves="first"),
        Step("add", {"type": "render"}, shell="add render", saves="second"),
        Step("gates", shell="gates", answers=[]),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada", answers=[{"task": {"id": "$first.id"}}]),
        Step("claim", {"agent": "bob"}, shell="claim --agent bob", answers=[]),
        Step("type_slots", answers=[{"type": "render", "slots": 1, "held": 1}]),
        Step(
            "gates",
            shell="gates",
            answers=[{"gate": "slots:render", "kind": "slots", "reason": "1 of 1 tasks of this type run"}],
        ),
        Step(
            "why",
            {"task_id": "$second.id"},
            shell="why $second.id",
            answers={
                "blockers": [
                    {
                        "ids": ["slots:render"],
                        "help": "wait for one to end, or let more run: dibs slots --type render 2",
                    }
                ]
            },
        ),
        Step("lanes", shell="lanes", answers=[{"type": "render", "slots": 1, "held": 1}]),
        Step("complete", {"claim": ["$first.id", 1]}, shell="complete $first.id --fence 1"),
        Step("claim", {"agent": "bob"}, shell="claim --agent bob", answers=[{"task": {"id": "$second.id"}}]),
        Step("set_slots", {"type": "render", "slots": None}, shell="slots --type render any"),
        Step("set_slots", {"type": "render", "slots": None}, shell="slots --type render any"),
        Step("gates", shell="gates", answers=[]),
        Step("type_slots", answers=[]),
    ),
    Story(
        "slots need a lock or a type, and a number",
        *(
            Step("set_slots", arguments, shell=shell, refused="invalid", wrong=field)
            for arguments, shell, field in (
                ({"name": "gpu", "slots": 0}, "slots gpu 0", "slots"),
                ({"name": "gpu", "slots": "some"}, "slots gpu some", "slots"),
                ({"name": "gpu", "slots": None}, "slots gpu any", "slots"),
                ({"name": "gpu"}, None, "slots"),
                ({"name": "", "slots": 1}, "slots '' 1", "name"),
                ({"slots": 1}, "slots 1", "name"),
                ({"type": "render", "slots": 0}, "slots --type render 0", "slots"),
                ({"type": "render", "slots": "some"}, "slots --type render some", "slots"),
                ({"type": "", "slots": 1}, "slots --type '' 1", "type"),
                ({"name": "gpu", "slots": 1, "type": "render"}, "slots gpu 1 --type render", "type"),
            )
        ),
        Step("add", {"type": "code", "locks": [""]}, shell="add code --lock ''", refused="invalid", wrong="locks"),
        Step("set_slots", shell="slots --type render", doors=("shell",), refused="invalid", wrong="slots"),
        Step("locks", shell="locks", answers=[]),
        Step("type_slots", answers=[]),
    ),
)
