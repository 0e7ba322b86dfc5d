"""What all stand-ins share: the task's prompt names a scene, and each plays it in the words of its program."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from typing import Any, NoReturn


class Actor:
    """A stand-in for one program: the same options, the same output. What is missing here is in its own file."""

    def begin(self) -> None:
        """What it writes first."""

    def works(self) -> None:
        """It uses a tool, tells of a plan, and of what that used."""
        raise NotImplementedError

    def answers(self, text: str) -> None:
        """It is done."""
        raise NotImplementedError

    def fails(self, why: str) -> NoReturn:
        """It is not."""
        raise NotImplementedError

    def is_limited(self) -> NoReturn:
        """The provider turned it away, for 700 seconds where it says so."""
        raise NotImplementedError

    def is_used_up(self, resets_at: int) -> NoReturn:
        """Its plan allows nothing more until then."""
        raise NotImplementedError

    def long_line(self) -> bytes:
        """A line of about 64 KiB that means little."""
        raise NotImplementedError

    def short_line(self) -> bytes:
        """A few words of its answer."""
        raise NotImplementedError


def put(line: str) -> None:
    """One line of output, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def play(actor: Actor, prompt: str) -> None:
    """Play the scene that the prompt names: `SCENE=name` or `SCENE=name:argument`."""
    found = re.search(r"SCENE=(\w+)(?::(\S+))?", prompt)
    scene, argument = (found[1], found[2]) if found else ("success", None)
    actor.begin()
    match scene:
        case "success":
            actor.works()
            actor.answers("all done")
        case "echo":
            actor.answers(prompt)
        case "json":
            actor.answers('```json\n{"files": 3}\n```')
        case "failure":
            actor.works()
            actor.fails("the tests do not pass")
        case "rate_limit":
            actor.is_limited()
        case "usage_limit":
            actor.is_used_up(int(argument or 0))
        case "killed":
            actor.works()
            os.kill(os.getpid(), signal.SIGKILL)
        case "family":
            _family(argument or "")
            actor.answers("left some behind")
        case "hangs":
            _family(argument or "")
            time.sleep(600)
        case "flood":
            _flood(actor.long_line(), int(argument or 0))
            actor.works()
            actor.answers("said a lot")
        case "chatter":
            _flood(actor.short_line(), int(argument or 0))
            actor.answers("said a lot")
        case "one_long_line":
            _flood(b"x" * 65_536, int(argument or 0))
            put("")
            actor.answers("said one thing")
        case "broken":
            actor.works()
            put('{"type": "assistant", "message": {"content": [{"type": "te')
            put("\x00\x01 not JSON at all \udcff".encode("utf-8", "surrogateescape").decode("latin-1"))
            put("[1, 2, 3]")
            put("null")
            actor.answers("all done")
        case "edit":
            _edit(argument or "")
            actor.answers(f"edited {argument}")
        case "silent":
            pass
        case _:
            raise SystemExit(f"no scene {scene}")


def _family(pids: str) -> None:
    """A child and a grandchild that would go on for ever; their pids are noted in a file."""
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({pids!r}, 'a').write(f'{{os.getpid()}} {{child.pid}}\\n')\n"
        "time.sleep(600)\n"
    )
    subprocess.Popen([sys.executable, "-c", code])
    while not os.path.exists(pids) or not os.path.getsize(pids):
        time.sleep(0.01)


def _flood(line: bytes, size: int) -> None:
    block = line * max(1, (1 << 20) // len(line))
    written = 0
    while written < size:
        written += sys.stdout.buffer.write(block)
    sys.stdout.flush()


def _edit(what: str) -> None:
    """`FILE,LINE,TEXT`: replace one line of a file in the working directory."""
    name, number, text = what.split(",")
    with open(name) as file:
        lines = file.read().splitlines()
    lines[int(number)] = text
    with open(name, "w") as file:
        file.write("\n".join(lines) + "\n")


def needs(arguments: list[str], *options: str) -> None:
    """The program would not do what dibs wants without these."""
    for option in options:
        if option not in arguments:
            raise SystemExit(f"error: {option} is missing in {arguments}")


def refuses(arguments: list[str], known: dict[str, int]) -> list[str]:
    """What is left of the arguments after these options, each with so many values; others are an error, as is one that
    comes twice."""
    left: list[str] = []
    seen: set[str] = set()
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-") or argument == "-":
            left.append(argument)
        elif argument not in known or argument in seen:
            raise SystemExit(f"error: unexpected argument {argument}")
        else:
            seen.add(argument)
            del rest[: known[argument]]
    return left


def value_of(arguments: list[str], option: str) -> Any:
    """What follows an option; None if it is not there."""
    return arguments[arguments.index(option) + 1] if option in arguments else None
