"""The README is true: its code runs, its output is what is printed, and the tests it names exist."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.story.blocks import ROOT, blocks, check_session

if TYPE_CHECKING:
    from tests.story.shell import Shell

README = ROOT / "README.md"


def test_the_python_of_the_readme_runs(shell: Shell) -> None:
    programs = blocks(README, "python")
    assert programs
    for number, program in enumerate(programs):
        (shell.folder / f"readme_{number}.py").write_text(program)
        shown = re.search(r"^print\(.*# (.*)$|^\s+print\(.*# (.*)$", program, re.MULTILINE)
        printed = shell.run(f"python readme_{number}.py").stdout
        assert shown, "the README shows what its program prints"
        assert printed.strip() == (shown[1] or shown[2])


def test_the_shell_session_of_the_readme_runs_and_prints_what_is_shown(shell: Shell) -> None:
    check_session(README, shell)


def test_the_transcript_of_the_demo_is_what_the_demo_prints(shell: Shell) -> None:
    [transcript] = (block for block in blocks(README, "text") if block.startswith("$ make demo"))
    printed = {_timeless(line) for line in shell.run("dibs demo --pace 0.3").stdout.splitlines()}
    for line in transcript.splitlines()[1:]:
        if line.strip() not in ("", "…"):
            assert _timeless(line) in printed, f"the demo does not print: {line}"


def _timeless(line: str) -> str:
    """A line of the demo without what differs from run to run: times, process ids, which of the coders it was."""
    line = re.sub(r"^ *\d+\.\ds  ", "", line)
    line = re.sub(r"\d+\.\d s$", "N s", line)
    line = re.sub(r"kill -9 \d+", "kill -9 PID", line)
    if line.startswith(("  attempts ", "  crashes ", "  cost ")):
        # On a machine that stalls for two seconds an innocent agent loses its lease too, and that is survived as well.
        line = re.sub(r"[\d,.]+", "N", line)
    return re.sub(r"coder-\d", "coder-N", line)


def test_the_promises_name_tests_that_exist() -> None:
    named = set(re.findall(r"`(test_\w+)`", README.read_text()))
    assert len(named) >= 4
    sources = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "src" / "dibs" / "testing").rglob("*.py")]
    defined = set(re.findall(r"def (test_\w+)\(", "\n".join(path.read_text() for path in sources)))
    assert named <= defined, f"no such tests: {sorted(named - defined)}"
