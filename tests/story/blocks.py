"""The code in our documentation, taken out of its pages and run for real.

`python` blocks are programs. `console` blocks are sessions: `$ ` begins a command, `> ` continues it, and what stands
below is what a terminal shows. In it, `…` stands for what differs from time to time, and alone on a line for any lines.
The console blocks of a page are one session, in one folder.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tests.story.shell import Shell

ROOT = Path(__file__).parents[2]
COLUMNS = 100
TIMEOUT_S = 60
"""How long one command may say nothing. How long a whole session takes depends on the machine."""

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_MARK = "\x1e"


class Command(NamedTuple):
    """One command of a session, and what the page says it prints."""

    text: str
    shown: str


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of a page in this language, in order."""
    return [body for found, body in _FENCE.findall(page.read_text(encoding="utf-8")) if found == language]


def session(page: Path) -> list[Command]:
    """All commands of a page's console blocks."""
    commands: list[Command] = []
    for block in blocks(page, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append(Command(line[2:], ""))
            elif line.startswith(">"):
                commands[-1] = commands[-1]._replace(text=f"{commands[-1].text}\n{line[2:]}")
            else:
                commands[-1] = commands[-1]._replace(shown=f"{commands[-1].shown}{line}\n")
    return commands


def play(commands: list[Command], shell: Shell) -> list[tuple[int, str]]:
    """Run a session in one bash on a terminal of its own; each command's exit code and output."""
    script = "\n".join(f"{command.text}\nprintf '{_MARK}%d{_MARK}\\n' $?" for command in commands)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    environment = {**shell.environment, "TERM": "xterm-256color", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    environment.pop("COLUMNS", None)
    bash = subprocess.Popen(
        ["bash", "-c", script],
        cwd=shell.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        said = _until_closed(ours, commands)
        assert bash.wait(TIMEOUT_S) == 0
    finally:
        bash.kill()
        bash.wait()
    pieces = _ESCAPES.sub("", said.replace("\r\n", "\n")).split(_MARK)
    outputs, codes = pieces[0:-1:2], pieces[1::2]
    return [(int(code), output.removeprefix("\n")) for code, output in zip(codes, outputs, strict=True)]


def _until_closed(terminal: int, commands: list[Command]) -> str:
    said = b""
    while True:
        if not select.select([terminal], [], [], TIMEOUT_S)[0]:
            stuck = commands[said.count(_MARK.encode()) // 2]
            raise AssertionError(f"for {TIMEOUT_S} s nothing came from: {stuck.text}")
        try:
            read = os.read(terminal, 65536)
        except OSError:
            # How a terminal says that nobody writes to it any more.
            read = b""
        if not read:
            os.close(terminal)
            return said.decode()
        said += read


def fits(shown: str, output: str) -> bool:
    """Whether the output is what the page shows."""
    pattern = ""
    for line in shown.splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r".*?".join(re.escape(part) for part in line.rstrip().split("…")) + r"[ ]*\n"
    return re.fullmatch(pattern, output) is not None


def check_session(page: Path, shell: Shell) -> None:
    """Every command of the page succeeds and prints what the page shows."""
    commands = session(page)
    assert commands
    for command, (code, output) in zip(commands, play(commands, shell), strict=True):
        assert code == 0, f"$ {command.text}\nexit code {code}\n{output}"
        assert fits(command.shown, output), f"$ {command.text}\nshown:\n{command.shown}\nbut printed:\n{output}"
