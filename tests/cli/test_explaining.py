"""`dibs why` for people: said once, within the terminal's width, commands in one piece."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from dibs.cli.explaining import _PIECES, wrapped

if TYPE_CHECKING:
    from tests.cli.conftest import Run

PLAIN = {"NO_COLOR": "1"}


def test_what_the_sentence_says_is_not_said_again(dibs: Run) -> None:
    gpu = dibs("add", "train", "--requires", "gpu", ok=True).line
    assert dibs("claim", "--agent", "ada", "--json").code == 3
    told = dibs("why", gpu, ok=True).out
    assert told.count("no live agent offers gpu") == 1
    assert told.splitlines()[1] == "  → start an agent with capability gpu"


def test_what_ended_well_needs_one_line(dibs: Run) -> None:
    id = dibs("add", "t", ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    dibs("complete", id, "--fence", 1, ok=True)
    assert dibs("why", id, ok=True).line == "✓ It is completed."


def test_a_program_reads_until_when_although_the_sentence_says_it_roughly(dibs: Run, terminal: Run) -> None:
    task = dibs("add", "t", "--run-after", "2h", "--json", ok=True).json
    assert dibs("why", task["id"], ok=True).out.splitlines()[1:] == [f"  schedule: until {task['run_after']}"]
    assert len(terminal("why", task["id"], env=PLAIN).out.splitlines()) == 1


def test_a_blocker_that_adds_something_is_told(dibs: Run) -> None:
    id = dibs("add", "t", ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    dibs("fail", id, "--fence", 1, "--error", "connection reset", "--retry-after", "1h", ok=True)
    assert "  retry: failed with error: connection reset (until " in dibs("why", id, ok=True).out


@pytest.mark.parametrize("columns", [80, 120])
def test_rows_end_before_the_edge_and_commands_stay_whole(dibs: Run, terminal: Run, columns: int) -> None:
    name = "the parser of the configuration language, which everybody else is waiting for"
    first = dibs("add", "t", name, "--lock", "repo:myapp", ok=True).line
    second = dibs("add", "t", "--lock", "repo:myapp", ok=True).line
    third = dibs("add", "t", "--after", first, ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    assert dibs("claim", "--agent", "ada").code == 3
    for id, command in ((second, f"dibs why {first}"), (third, f"dibs why {first}")):
        rows = terminal("why", id, env=PLAIN, columns=columns).out.splitlines()
        assert any(command in row for row in rows)
        assert all(cell_len(row) <= columns for row in rows)
        assert " ".join(row.strip() for row in rows).count(first) >= 2


def test_a_row_is_broken_between_words_and_goes_on_below() -> None:
    assert wrapped("one two three four", 10, 2, 4) == ["one two", "three", "four"]
    assert wrapped("", 10, 2, 4) == [""]


def test_rows_are_measured_in_cells_not_in_characters() -> None:
    assert wrapped("日本 語です 次", 8, 0, 0) == ["日本", "語です", "次"]


def test_what_is_longer_than_a_row_is_left_to_the_terminal() -> None:
    assert wrapped(f"see {'x' * 30} there", 10, 0, 2) == ["see", "x" * 30, "there"]


@pytest.mark.parametrize(
    ("advice", "pieces"),
    [
        ("dibs resume code", ["dibs resume code"]),
        ("wait (dibs why t_1), or: dibs slots a 2", ["wait", "(dibs why t_1),", "or:", "dibs slots a 2"]),
        ("start one: dibs worker M:A, or dibs claim", ["start", "one:", "dibs worker M:A,", "or", "dibs claim"]),
        ("dibs why t_1; retrying helps", ["dibs why t_1;", "retrying", "helps"]),
        ("dibs answer q_1 retry (or drop)", ["dibs answer q_1 retry", "(or", "drop)"]),
    ],
)
def test_a_command_in_advice_is_one_piece(advice: str, pieces: list[str]) -> None:
    assert re.findall(_PIECES, advice) == pieces
