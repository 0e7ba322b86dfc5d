"""What Loki's own scripts do with exported files: `flock`, and within it `jq` and `mv`."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from dibs.loki import exporting, importing
from dibs.loki.folder import read_folder
from dibs.loki.planning import plan
from tests.loki.files import read

if TYPE_CHECKING:
    from pathlib import Path

    import dibs

pytestmark = pytest.mark.skipif(
    shutil.which("jq") is None or shutil.which("flock") is None, reason="needs the commands jq and flock"
)

CLAIM = """
set -eu
pending=queue/pending.json
(
  flock -x -w 10 200
  id=$(jq -r '[.tasks[] | select(.claimedBy == null)][0].id' "$pending")
  jq --arg id "$id" '(.tasks[] | select(.id == $id)) |= (.claimedBy = "agent-1" | .claimedAt = now)' "$pending" > tmp
  mv tmp "$pending"
  echo "$id"
) 200> state/locks/queue.lock
"""

MOVE = """
set -eu
(
  flock -x -w 10 200
  jq '.tasks[0] | .retries += 1 | .lastError = "503" | .availableAt = now + 3600' queue/pending.json > moving
  jq --slurpfile task moving '.tasks += $task' queue/in-progress.json > tmp && mv tmp queue/in-progress.json
  jq 'del(.tasks[0])' queue/pending.json > tmp && mv tmp queue/pending.json
) 200> state/locks/queue.lock
"""


def run(script: str, folder: Path) -> str:
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_they_claim_the_most_urgent_task_and_it_comes_back(queue: dibs.SyncQueue, tmp_path: Path) -> None:
    for priority in (70, 5, 50):
        queue.add("eng-backend", {"action": "test"}, title=f"at {priority}", priority=priority)
    exporting.export(queue, str(tmp_path))
    claimed = run(CLAIM, tmp_path)
    [first, *others] = read(tmp_path)["pending"]
    assert (first["id"], first["claimedBy"], first["dibs"]["title"]) == (claimed, "agent-1", "at 5")
    assert [other["claimedBy"] for other in others] == [None, None]

    run(MOVE, tmp_path)
    planned = plan(read_folder(str(tmp_path)).tasks)
    spec = importing.checked(planned)[claimed]
    assert [wanted.task.queue for wanted in planned.adding] == ["in-progress", "pending", "pending"]
    assert (spec.title, spec.priority, spec.max_attempts, spec.payload) == ("at 5", 5, 2, {"action": "test"})
    assert spec.run_after is not None
    assert spec.context["loki"]["lastError"] == "503"
