"""The page about adapters says what the tables say, and its program runs."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from dibs.adapters.items import COALESCES
from dibs.adapters.mapping import SOURCES, WORKFLOWS, max_attempts_to_source, status_to_source
from dibs.model.status import Status
from dibs.rules.retry import delay_s
from tests.story.blocks import ROOT, blocks

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "adapters.md"


def rows(heading: str) -> dict[str, list[str]]:
    """The table below a heading, by its first column."""
    text = PAGE.read_text(encoding="utf-8").partition(f"{heading}\n")[2].partition("\n#")[0]
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|") and "---" not in line]
    return {cells[0].strip(" *`"): [cell.strip() for cell in cells[1:]] for cells in lines}


def test_the_table_of_statuses_is_the_one_that_is_used() -> None:
    shown = rows("### Statuses")
    assert shown.pop("status") == [source.name for source in SOURCES]
    assert shown == {str(status): [status_to_source(source, status) for source in SOURCES] for status in Status}


def test_the_tables_of_numbers_are_the_ones_that_are_used() -> None:
    shown = rows("### Priorities")
    assert shown["usual"] == [str(source.default_priority) for source in SOURCES]
    shown = rows("### Retries")
    assert shown["max_attempts"] == [str(source.max_attempts) for source in SOURCES]
    assert [cell.split()[-1] for cell in shown["counts"]] == [
        str(max_attempts_to_source(source, source.max_attempts)) for source in SOURCES
    ]
    waits = [", ".join(f"{delay_s(source.retry, n, 0.5):g}" for n in (1, 2, 3)) for source in SOURCES]
    assert shown["waits, in s"] == [f"{three} …" for three in waits]
    longest = {"1 h": 3_600, "5 min": 300, "1 day": 86_400}
    assert [longest[cell] for cell in shown["at most"]] == [source.retry.cap for source in SOURCES]
    assert [cell.removeprefix("none") for cell in shown["jitter"]] == [
        f"± {source.retry.jitter:.0%}".replace("%", " %") if source.retry.jitter else "" for source in SOURCES
    ]


def test_the_table_of_kinds_is_the_one_that_is_used() -> None:
    shown = rows("## QueueRuntime")
    del shown["kind"]
    assert {kind: cells[1] == "yes" for kind, cells in shown.items()} == COALESCES


def test_the_priorities_of_workflows_are_those_of_the_page() -> None:
    levels = [f"{WORKFLOWS.to_dibs(level):g}" for level in range(4)]
    assert rows("### Priorities")["priority"][-1] == ", ".join(levels)


def test_the_program_of_the_page_runs(tmp_path: Path) -> None:
    [program] = blocks(PAGE, "python")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert (ended.stdout, ended.stderr) == ("completed\n", "")
