"""How output looks: colours and tables on a terminal, plain text in a pipe, and nothing that could steer a terminal."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from dibs.cli.output import clean, clean_block
from tests.cli.conftest import COMMAND, Run

if TYPE_CHECKING:
    from pathlib import Path

EVIL = "\x1b[2J\x1b]0;owned\x07evil\x1b[31m red\x9b5m\u202egnp\x08\x7f end"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain", "plain"),
        ("ünïcode – 漢字 ✓", "ünïcode – 漢字 ✓"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPdcs\x1b\\x", "x"),
        ("\x9b31mred", "red"),
        ("a\x00b\x07c\x08d\x7fe\x85f", "abcdef"),
        ("cut\x1b[", "cut"),
        ("cut\x1b", "cut"),
        ("\u202eright to left\u2069", "right to left"),
        ("two\nlines\tand a tab\r\n", "two lines and a tab"),
        (EVIL, "evil redgnp end"),
    ],
)
def test_clean_takes_out_whatever_steers_a_terminal(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_clean_block_keeps_lines() -> None:
    assert clean_block("one\r\n\ttwo\x1b[1m\nthree\r") == "one\n\ttwo\nthree"


@pytest.fixture
def evil(dibs: Run, shell: Run) -> str:
    """A running task whose agent says terrible things wherever it can; people's own text is checked by the queue."""
    id = dibs("add", "t", "--payload", '{"text": "\\u001b[2J\\u009b5m\\u202e"}', ok=True).line
    dibs("add", "t", "--after", id, ok=True)
    dibs("claim", "--agent", "coder-1", ok=True)
    shell("renew", id, "--fence", "1", "--progress", "0.5", "--note", EVIL)
    shell("log", id, "--fence", "1", EVIL)
    return id


def steering(shown: str) -> set[str]:
    """Control characters in what was shown, but for the ones our own output consists of."""
    return {char for char in shown if not char.isprintable()} - set("\n\t")


COMMANDS = [["ls"], ["show", "ID"], ["history", "ID"], ["why", "ID"], ["tree", "ID"], ["stats"], ["top"], ["dlq", "ls"]]


@pytest.mark.parametrize("argv", [*COMMANDS, ["tail", "--no-follow"]], ids=lambda argv: argv[0])
def test_nothing_steers_a_terminal_through_a_pipe_either(dibs: Run, shell: Run, evil: str, argv: list[str]) -> None:
    command = [evil if part == "ID" else part for part in argv]
    shown = dibs(*command, ok=True).out
    assert steering(shown) == set()
    shell("fail", evil, "--fence", "1", "--error", EVIL, "--no-retry")
    shown = dibs(*command, ok=True).out
    assert steering(shown) == set()


@pytest.mark.parametrize("argv", [*COMMANDS, ["tail", "--no-follow"]], ids=lambda argv: argv[0])
def test_nothing_steers_a_terminal(shell: Run, terminal: Run, evil: str, argv: list[str]) -> None:
    command = [evil if part == "ID" else part for part in argv]
    keys = b"q" if argv == ["top"] else b""
    shown = terminal(*command, keys=keys).out
    shell("fail", evil, "--fence", "1", "--error", EVIL, "--no-retry")
    shown += terminal(*command, keys=keys).out
    for sequence in ("\x1b[2J\x1b]0", "\x1b]0;", "owned", "\x9b", "\u202e", "\x08", "\x7f", "\x07"):
        assert sequence not in shown
    assert "\x1b[5m" not in shown


def test_json_on_a_terminal_escapes_what_steers_it(terminal: Run, evil: str) -> None:
    shown = terminal("show", evil, "--json").out
    assert steering(shown.replace("\r\n", "\n")) == set()
    assert "\\u009b" in shown
    assert "\\u202e" in shown


def test_a_terminal_gets_colours_and_relative_times(terminal: Run, dibs: Run) -> None:
    id = dibs("add", "research", "What is CORS?", ok=True).line
    shown = terminal("ls").out
    assert "\x1b[" in shown
    assert "STATUS" in shown
    assert id in shown
    assert "What is CORS?" in shown
    assert "ago" in shown or "now" in shown


def test_no_color_is_respected(terminal: Run, dibs: Run) -> None:
    id = dibs("add", "research", "What is CORS?", ok=True).line
    for argv in (["ls"], ["show", id], ["why", id], ["tree", id], ["stats"], ["tail", "--no-follow"]):
        shown = terminal(*argv, env={"NO_COLOR": "1"}).out
        assert "\x1b" not in shown
        assert (id in shown) == (argv[0] not in ("stats", "why"))


def test_a_pipe_gets_no_colour(shell: Run, dibs: Run) -> None:
    dibs("add", "research", ok=True)
    assert "\x1b" not in shell("ls").out


def test_top_leaves_on_q(terminal: Run, dibs: Run) -> None:
    id = dibs("add", "research", ok=True).line
    dibs("claim", "--agent", "coder-1", ok=True)
    seen = terminal("top", keys=b"q")
    assert seen.code == 0
    assert id in seen.out
    assert "coder-1" in seen.out


def test_tree_watch_ends_with_its_dag(terminal: Run, dibs: Run) -> None:
    id = dibs("add", "t", ok=True).line
    dibs("cancel", id, ok=True)
    seen = terminal("tree", id, "--watch")
    assert (seen.code, "cancelled" in seen.out) == (0, True)


def test_tree_watch_left_with_q_leaves_the_whole_tree_behind(terminal: Run, dibs: Run) -> None:
    previous = dibs("add", "t", "number 0", ok=True).line
    for number in range(1, 12):
        previous = dibs("add", "t", f"number {number}", "--after", previous, ok=True).line
    seen = terminal("tree", previous, "--watch", keys=b"q", rows=8)
    on_screen, left_behind = seen.out.split("\x1b[?1049l")
    assert seen.code == 0
    assert "more below" in on_screen
    assert "number 11" not in on_screen
    assert all(f"number {number}" in left_behind for number in range(12))


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["ls"], "No tasks yet. Add one: dibs add"),
        (["ls", "--status", "ready"], "No task is like that."),
        (["stats"], "No tasks yet. Add one: dibs add"),
        (["top"], "No tasks yet. Add one: dibs add"),
        (["dlq", "ls"], "There are no dead letters."),
        (["dlq", "retry", "--all"], "There are no dead letters."),
        (["tail", "--no-follow"], "No events yet."),
        (["claim", "--agent", "me"], "Nothing to do."),
    ],
    ids=str,
)
def test_where_there_is_nothing_people_are_told_and_programs_are_not(
    terminal: Run, dibs: Run, argv: list[str], said: str
) -> None:
    assert said in terminal(*argv, keys=b"q" if argv == ["top"] else b"").out
    quiet = dibs(*argv)
    assert (quiet.out, quiet.err) == ("", "")


def test_a_long_value_is_cut_on_a_terminal_only(terminal: Run, dibs: Run) -> None:
    id = dibs("add", "t", "--payload", '"' + "x" * 10_000 + '"', ok=True).line
    shown = terminal("show", id).out
    assert "x" * 4_001 not in shown
    assert f"6,000 more characters: dibs show {id} --json" in shown
    assert "x" * 10_000 in dibs("show", id, ok=True).out


def test_top_calls_tasks_by_their_titles(terminal: Run, dibs: Run) -> None:
    id = dibs("add", "research", "What is CORS?", ok=True).line
    dibs("claim", "--agent", "coder-1", ok=True)
    dibs("complete", id, "--fence", 1, ok=True)
    seen = terminal("top", keys=b"q").out
    assert "What is CORS?" in seen
    assert id not in seen


def test_wait_draws_a_bar_for_a_dag_on_a_terminal(terminal: Run, dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "dag.yaml"
    file.write_text("title: A dag\ntasks: [{type: a}, {type: b}]")
    id = dibs("dag", "submit", file, ok=True).line
    late = terminal("wait", id, "--timeout", "0.5s")
    assert late.code == 3
    assert "0/2" in late.out
    dibs("cancel", id, ok=True)
    assert terminal("wait", id).out.strip().endswith("cancelled")


def test_a_reader_that_leaves_early_is_no_error(dibs: Run) -> None:
    for _ in range(3):
        dibs("add", "t", "x" * 4000, ok=True)
    command = subprocess.Popen([*COMMAND, "tail"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.readline()
    command.stdout.close()
    dibs("add", "t", ok=True)
    assert (command.wait(60), command.stderr.read()) == (0, b"")
    command.stderr.close()


def test_ctrl_c_is_quiet(url: str, dibs: Run) -> None:
    dibs("add", "t", ok=True)
    command = subprocess.Popen([*COMMAND, "tail"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.readline()
    command.send_signal(signal.SIGINT)
    assert command.wait(60) == 130
    assert command.stderr.read() == b""
    command.stdout.close()
    command.stderr.close()


def test_closed_output_is_no_error(url: str, dibs: Run) -> None:
    closed = subprocess.run(
        ["sh", "-c", f"{COMMAND[0]} -m dibs.cli add t >&- 2>&-"], capture_output=True, timeout=60, check=False
    )
    assert closed.returncode == 0
    assert len(dibs("ls", ok=True).out.splitlines()) == 1


def test_an_encoding_without_our_signs_is_no_error(dibs: Run, shell: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    id = dibs("add", "t", "naïve ✓", ok=True).line
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    shown = shell("tree", id)
    assert (shown.code, "na?ve ?" in shown.out) == (0, True)


def test_unexpected_errors_are_exit_1_and_say_so(dibs: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("dibs.sync.connect_sync", broken)
    failed = dibs("ls", "--json")
    assert (failed.code, failed.error["code"]) == (1, "unexpected")
    assert "ZeroDivisionError: oh" in failed.error["message"]
    monkeypatch.setitem(os.environ, "DIBS_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        dibs("ls")
