"""Loki's folder as its own tools leave it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dibs.loki.format import QUEUES

if TYPE_CHECKING:
    from pathlib import Path


def task(id: str, **fields: Any) -> dict[str, Any]:
    """A task with every field of Loki's schema."""
    return {
        "id": id,
        "idempotencyKey": 4711,
        "type": "eng-backend",
        "priority": 5,
        "dependencies": [],
        "payload": {"action": "implement", "target": "src/login.ts", "params": {}, "goal": "People can log in"},
        "createdAt": "2026-01-01T08:00:00Z",
        "claimedBy": None,
        "claimedAt": None,
        "timeout": 3600,
        "retries": 0,
        "maxRetries": 3,
        "backoffSeconds": 60,
        "lastError": None,
        "completedAt": None,
        "result": None,
        **fields,
    }


def write(root: Path, **queues: list[Any]) -> Path:
    """A `.loki` folder with these tasks; queues that are not named are empty. `in_progress` is in-progress.json."""
    (root / "queue").mkdir(parents=True, exist_ok=True)
    named = {name.replace("_", "-"): tasks for name, tasks in queues.items()}
    assert named.keys() <= set(QUEUES)
    for queue in QUEUES:
        content = {"tasks": named.get(queue, [])}
        (root / "queue" / f"{queue}.json").write_text(json.dumps(content))
    return root


def read(root: Path) -> dict[str, list[Any]]:
    """The tasks of each of the five files, as any other program reads them."""
    return {queue: json.loads((root / "queue" / f"{queue}.json").read_text())["tasks"] for queue in QUEUES}


def known_to_loki(root: Path) -> dict[str, list[Any]]:
    """The same, without what only dibs knows."""
    return {
        queue: [{name: value for name, value in each.items() if name != "dibs"} for each in tasks]
        for queue, tasks in read(root).items()
    }
