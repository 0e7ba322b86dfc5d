"""Times, sizes and trees in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from dibs.cli import drawing, wording
from dibs.model.dag import Dag, Edge
from dibs.model.event import Event
from dibs.model.status import DagStatus, Status
from dibs.model.task import Task

if TYPE_CHECKING:
    from tests.cli.conftest import Run

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0s"),
        (0, "0.0s"),
        (0.42, "0.4s"),
        (12.9, "12s"),
        (185, "3m 05s"),
        (7_800, "2h 10m"),
        (97_200, "1d 3h"),
    ],
)
def test_span(seconds: float, words: str) -> None:
    assert wording.span(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((0.5, "now"), (5, "5s ago"), (185, "3m ago"), (7_300, "2h ago"), (200_000, "2d ago")),
        *((-90, "in 1m"), (-7_199, "in 2h"), (-29.9, "in 30s")),
    ],
)
def test_relative(seconds: float, words: str) -> None:
    assert wording.relative(NOW - timedelta(seconds=seconds), NOW) == words


def test_unknown_cost_is_not_zero() -> None:
    assert [wording.usd(cost) for cost in (None, 0, 0.5, 0.0304, 1234.5)] == [
        "unknown",
        "$0",
        "$0.5",
        "$0.0304",
        "$1,234.5",
    ]


def test_what_has_no_price_is_said_beside_what_has_one() -> None:
    assert [wording.cost(*told) for told in ((None, 0), (0.5, 0), (None, 1), (1.25, 2000))] == [
        "",
        "$0.5",
        "≥ $0, 1 unpriced",
        "≥ $1.25, 2,000 unpriced",
    ]


def test_a_task_is_called_by_its_title_its_ref_or_its_payload() -> None:
    assert wording.title_of(Task(id="t", type="a", title="Title", ref="ref")) == "Title"
    assert wording.title_of(Task(id="t", type="a", ref="ref")) == "ref"
    assert wording.title_of(Task(id="t", type="a", payload={"n": 1})) == '{"n":1}'
    assert wording.title_of(Task(id="t", type="a", payload="x" * 100)) == "x" * 59 + "…"
    assert wording.title_of(Task(id="t", type="a")) == ""


def test_what_is_waited_for_is_due_once_its_time_has_come() -> None:
    assert wording.due(NOW + timedelta(hours=2), NOW) == "in 2h"
    assert wording.due(NOW, NOW) == wording.due(NOW - timedelta(minutes=1), NOW) == "due"
    assert wording.due(None, NOW) == ""


def test_an_event_says_who_why_and_what() -> None:
    event = Event(
        seq=1,
        type="task.retrying",
        at=NOW,
        agent="coder-1",
        reason="error",
        data={"progress": 0.5, "note": "half\x1b[2J", "error": "first\nsecond"},
    )
    assert wording.about_event(event) == "coder-1 · error · 50% · half · first"
    assert wording.about_event(event, None) == "coder-1 · error · 50% · half · first second"
    decided = Event(seq=2, type="task.reviewed", at=NOW, reason="kept", data={"by": "grace", "note": "known"})
    assert wording.about_event(decided) == "grace · kept · known"


def test_the_tree_says_what_matters_in_each_status() -> None:
    spawner = Task(id="p", type="plan", status=Status.PENDING)
    dag = Dag(
        id="dag_1",
        status=DagStatus.RUNNING,
        counts={"retrying": 1, "completed": 1},
        tasks=[
            spawner,
            Task(id="c", type="child", parent_id="p", status=Status.SCHEDULED, run_after=NOW + timedelta(hours=1)),
            Task(
                id="r",
                type="try",
                status=Status.RETRYING,
                attempts=1,
                retry_at=NOW + timedelta(seconds=40),
                error="e" * 60,
            ),
            Task(id="x", type="ship", status=Status.CANCELLED, reason="cancelled", cancel_reason="not needed"),
        ],
        edges=[Edge("c", "p", "child"), Edge("r", "x")],
    )
    assert "".join(text for text, _ in drawing.heading(dag)) == "● dag_1  running  1/2"
    whole, cut = (["".join(text for text, _ in line) for line in drawing.tree(dag, NOW, width)] for width in (None, 80))
    assert whole == [
        "○ plan  pending  p",
        "└─ ◷ child  scheduled  in 1h  c",
        f"↻ try  retrying  1/3 · in 40s · {'e' * 60}  r",
        "└─ ⊘ ship  cancelled  cancelled · not needed  x",
    ]
    assert cut == [*whole[:2], f"↻ try  retrying  1/3 · in 40s · {'e' * 39}…  r", whole[3]]


@pytest.mark.parametrize("width", [200, 100, 80, 60, 40, 20])
def test_a_line_of_the_tree_never_wraps(width: int) -> None:
    long = Task(id="task_" + "0" * 26, type="research", title="日本語の長い題名 " * 20, status=Status.RUNNING)
    long.agent, long.note, long.progress = "scout-1", "n" * 200, 0.5
    after = Task(id="task_" + "1" * 26, type="code", title="x" * 300)
    other = Task(id="task_" + "2" * 26, type="code", title="y" * 300)
    edges = [Edge(long.id, after.id), Edge(other.id, after.id)]
    dag = Dag(id="dag_1", title="z" * 300, status=DagStatus.RUNNING, tasks=[long, after, other], edges=edges)
    drawn = [drawing.heading(dag, width), *drawing.tree(dag, NOW, width)]
    lines = ["".join(text for text, _ in line) for line in drawn]
    assert max(map(cell_len, lines)) <= width
    assert "● resea" in lines[1]
    assert "running" in lines[1]
    if width >= 80:
        assert long.id in lines[1]


def test_demo_passes_its_options_on(dibs: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def main(argv: list[str]) -> int:
        seen.append(argv)
        return 0

    monkeypatch.setattr("dibs.demo.main", main)
    dibs("demo", ok=True)
    dibs("demo", "--json", "--pace", 0, "--url", "sqlite:x.db", ok=True)
    assert seen == [[], ["--json", "--url=sqlite:x.db", "--pace=0.0"]]
    assert dibs("demo", "--pace", "slow", "--json").error["field"] == "pace"
