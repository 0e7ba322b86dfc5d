"""What a command does when its output goes nowhere: nobody reads it any more, or there is no room for it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import COMMAND

if TYPE_CHECKING:
    from tests.cli.conftest import Run


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_tail_ends_when_nobody_reads_it_also_if_nothing_happens(dibs: Run, options: tuple[str, ...]) -> None:
    dibs("add", "t", ok=True)
    process = subprocess.Popen([*COMMAND, "tail", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        assert b"task.added" in process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


def test_a_transcript_that_nobody_reads_ends_too(dibs: Run) -> None:
    id = dibs("add", "t", ok=True).line
    dibs("claim", "--agent", "a", ok=True)
    dibs("log", id, "--fence", 1, "a line", ok=True)
    process = subprocess.Popen([*COMMAND, "transcript", id, "--follow"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == b"a line\n"
        process.stdout.close()
        assert process.wait(60) == 0


@pytest.mark.parametrize("argv", [("ls",), ("ls", "--json"), ("add", "t"), ("--help",)])
def test_output_for_which_there_is_no_room_is_told_in_words(dibs: Run, argv: tuple[str, ...]) -> None:
    dibs("add", "t", ok=True)
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *argv], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "the output cannot be written: No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1
