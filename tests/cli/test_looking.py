"""Reading commands: lists, one task, history, why, stats, trees, events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


def test_ls_in_a_pipe_is_tab_separated_and_nothing_is_cut(dibs: Run) -> None:
    long = "x" * 500
    id = dibs("add", "research", long, ok=True).line
    cells = dibs("ls", ok=True).line.split("\t")
    assert cells[:4] == [id, "ready", "research", long]


def test_ls_filters_and_pages(dibs: Run) -> None:
    ids = [dibs("add", "a" if n % 2 else "b", "--tag", f"t{n}", "--user", "ada", ok=True).line for n in range(4)]
    assert [task["id"] for task in dibs("ls", "--json", ok=True).json["items"]] == ids[::-1]
    assert [row.split("\t")[0] for row in dibs("ls", "--type", "a", ok=True).out.splitlines()] == [ids[3], ids[1]]
    assert dibs("ls", "--tag", "t2", ok=True).line.startswith(ids[2])
    assert len(dibs("ls", "--user", "ada", "--status", "ready", "--status", "running", ok=True).out.splitlines()) == 4
    assert dibs("ls", "--user", "eve", ok=True).out == ""
    assert dibs("ls", "--dag", ids[0].replace("task_", "dag_"), ok=True).line.startswith(ids[0])
    page = dibs("ls", "--limit", 3, "--json", ok=True).json
    rest = dibs("ls", "--limit", 3, "--cursor", page["cursor"], "--json", ok=True).json
    assert [task["id"] for task in (*page["items"], *rest["items"])] == ids[::-1]
    assert rest["cursor"] is None
    plain = dibs("ls", "--limit", 3, ok=True)
    assert f"--cursor {page['cursor']}" in plain.err


def test_show_says_everything_about_a_task(dibs: Run) -> None:
    id = dibs("add", "t", "The title", "--payload", '{"topic": "CORS"}', "--max-attempts", 1, ok=True).line
    dibs("claim", "--agent", "coder-1", ok=True)
    dibs("fail", id, "--fence", 1, "--error", "it broke\nbadly", ok=True)
    shown = dibs("show", id, ok=True).out
    for text in (
        "The title",
        "status\tdead_lettered",
        id,
        '"topic": "CORS"',
        "coder-1",
        "  it broke\n  badly",
        "1 of 1",
    ):
        assert text in shown
    assert dibs("show", id, "--json", ok=True).json["id"] == id
    attempts = dibs("history", id, "--json", ok=True).json
    assert [(one["number"], one["outcome"], one["agent"]) for one in attempts] == [(1, "failed", "coder-1")]
    assert dibs("history", id, ok=True).line.split("\t")[:4] == ["1", "1", "failed", "coder-1"]


def test_show_of_a_dag_id_shows_the_dag(dibs: Run) -> None:
    first = dibs("add", "t", ok=True).line
    second = dibs("add", "t", "--after", first, "--json", ok=True).json
    for command in (("show",), ("dag", "show")):
        shown = dibs(*command, second["dag_id"], ok=True).out
        assert first in shown
        assert second["id"] in shown
    assert dibs("dag", "show", second["dag_id"], "--json", ok=True).json["edges"][0]["parent"] == first


def test_why_says_one_sentence_then_each_blocker(dibs: Run) -> None:
    first = dibs("add", "t", ok=True).line
    second = dibs("add", "t", "--after", first, ok=True).line
    why = dibs("why", second, "--json", ok=True).json
    assert (why["status"], why["blockers"][0]["kind"]) == ("pending", "dependency")
    lines = dibs("why", second, ok=True).out.splitlines()
    assert why["explanation"] in lines[0]
    assert any(first in line for line in lines[1:])


def test_stats_counts(dibs: Run) -> None:
    dibs("add", "t", ok=True)
    dibs("add", "t", "--run-after", "1h", ok=True)
    assert dibs("stats", "--json", ok=True).json["by_status"]["ready"] == 1
    assert "scheduled\t1" in dibs("stats", ok=True).out


def test_tree_draws_each_task_once_below_its_latest_parent(dibs: Run) -> None:
    facts = dibs("add", "research", "facts", ok=True).line
    draft = dibs("add", "write", "draft", "--after", facts, ok=True).line
    dibs("add", "review", "final", "--after", draft, "--after", facts, ok=True)
    dag = dibs("show", draft, "--json", ok=True).json["dag_id"]
    dibs("claim", "--agent", "coder-1", ok=True)
    heading, *lines = dibs("tree", dag, ok=True).out.splitlines()
    assert "running" in heading
    assert "0/3" in heading
    assert [line.index("· ") for line in lines] == sorted(line.index("· ") for line in lines)
    assert lines[0].startswith("● research · facts  running  coder-1")
    assert lines[1].startswith("└─ ○ write · draft  pending")
    assert lines[2].startswith("   └─ ○ review · final  pending  (also after research · facts)")
    assert dibs("tree", facts, ok=True).out.splitlines()[1:] != []
    assert len(dibs("tree", dag, "--json", ok=True).json["tasks"]) == 3


def test_tree_of_a_long_chain_stays_on_the_screen(dibs: Run) -> None:
    previous = dibs("add", "t", ok=True).line
    for _ in range(30):
        previous = dibs("add", "t", "--after", previous, ok=True).line
    lines = dibs("tree", previous, ok=True).out.splitlines()
    assert len(lines) == 32
    assert max(map(len, lines)) < 120


def test_on_a_narrow_terminal_events_name_their_tasks_in_full(dibs: Run, terminal: Run) -> None:
    id = dibs("add", "t", ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    dibs("fail", id, "--fence", 1, "--error", "no", "--no-retry", ok=True)
    shown = terminal("tail", "--no-follow", "--type", "task.dead_lettered", columns=60).out
    assert id in shown


def test_tail_prints_events_in_order(dibs: Run) -> None:
    id = dibs("add", "t", ok=True).line
    dibs("claim", "--agent", "a", ok=True)
    dibs("complete", id, "--fence", 1, ok=True)
    rows = [row.split("\t") for row in dibs("tail", "--no-follow", ok=True).out.splitlines()]
    assert [row[2] for row in rows] == [
        "task.added",
        "task.ready",
        "agent.registered",
        "task.claimed",
        "task.started",
        "task.completed",
    ]
    assert [int(row[0]) for row in rows] == [1, 2, 3, 4, 5, 6]
    assert {row[3] for row in rows} == {id, ""}
    assert rows[2][3:] == ["", "a"]
    assert dibs("tail", "--no-follow", "--after", 5, ok=True).line.startswith("6\t")
    assert dibs("tail", "--no-follow", "--type", "task.ready", ok=True).line.startswith("2\t")
    assert len(dibs("tail", "--no-follow", "--type", "task", ok=True).out.splitlines()) == 5
    assert dibs("tail", "--no-follow", "--type", "dag", ok=True).out == ""


def test_nothing_is_cut_in_a_pipe(dibs: Run) -> None:
    id = dibs("add", "t", "--max-attempts", 1, ok=True).line
    dibs("claim", "--agent", "a", ok=True)
    note, error = "n" * 300, "first line\n" + "e" * 300
    dibs("renew", id, "--fence", 1, "--note", note, ok=True)
    dibs("fail", id, "--fence", 1, "--error", error, ok=True)
    whole = error.replace("\n", " ")
    for argv in (["tail", "--no-follow"], ["top"], ["tree", id], ["history", id], ["dlq", "ls"]):
        assert whole in dibs(*argv, ok=True).out
    assert note in dibs("tail", "--no-follow", ok=True).out


def test_top_in_a_pipe_is_one_snapshot(dibs: Run) -> None:
    first, second = dibs("add", "t", ok=True).line, dibs("add", "u", ok=True).line
    dibs("claim", "--agent", "coder-1", "--type", "t", ok=True)
    rows = [row.split("\t") for row in dibs("top", ok=True).out.splitlines()]
    assert ["status", "ready", "1"] in rows
    assert any(row[:4] == ["running", first, "t", "coder-1"] for row in rows)
    assert any(row[:3] == ["lane", "u", "1"] for row in rows)
    assert any(row[0] == "event" and row[4] == second for row in rows)
    assert dibs("top", "--json", ok=True).json["running"][0]["id"] == first


def test_wait_answers_the_end_or_gives_up(dibs: Run) -> None:
    id = dibs("add", "t", ok=True).line
    late = dibs("wait", id, "--timeout", "0.05s", "--json")
    assert (late.code, late.out, late.error["code"]) == (3, "", "timeout")
    dibs("cancel", id, ok=True)
    assert dibs("wait", id, ok=True).line == "cancelled"
    assert dibs("wait", id, "--json", ok=True).json["status"] == "cancelled"


def test_wait_sees_what_another_process_does(dibs: Run, shell: Run) -> None:
    import threading

    id = dibs("add", "t", ok=True).line
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(shell("wait", id, "--timeout", "60s")))
    waiting.start()
    shell("cancel", id)
    waiting.join()
    assert answers[0] == (0, "cancelled\n", "")


def test_looking_where_there_is_no_store_makes_none(dibs: Run, tmp_path: Path) -> None:
    where = f"sqlite:{tmp_path / 'missing' / 'x.db'}"
    assert dibs("ls", "--url", where) == (0, "", "")
    assert dibs("ls", "--url", where, "--json", ok=True).json["items"] == []
    for command in ("show", "why", "history", "tree"):
        assert dibs(command, "task_01j00000000000000000000000", "--url", where).code == 4
    assert dibs("show", "dag_01j00000000000000000000000", "--url", where).code == 4
    for argv in (("stats",), ("dlq", "ls")):
        assert dibs(*argv, "--url", where).code == 0
    assert not (tmp_path / "missing").exists()


def test_a_person_is_told_that_there_is_no_store_yet(terminal: Run, tmp_path: Path) -> None:
    missing = tmp_path / "missing.db"
    shown = terminal("ls", "--url", f"sqlite:{missing}").out
    assert "no store at" in shown
    assert "`dibs add` makes it" in shown
    assert not missing.exists()


@pytest.mark.parametrize(
    ("priority", "shown"), [(5, "5 (critical)"), (20, "20 (high)"), (50, "50 (normal)"), (99.5, "99.5 (background)")]
)
def test_show_says_how_urgent_a_priority_is(dibs: Run, priority: float, shown: str) -> None:
    id = dibs("add", "work", "--priority", priority, ok=True).line
    assert f"priority\t{shown}" in dibs("show", id, ok=True).out
