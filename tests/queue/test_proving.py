"""Commands of contracts as processes: what they are given, how they end, and that nothing of them is left."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from dibs import proving
from dibs.errors import Unavailable
from dibs.rules.contracts import Check
from tests.worker.facts import alive, any_alive, lines

if TYPE_CHECKING:
    from pathlib import Path

PROMPT_S = 60.0
"""Far more than anything here takes, far less than what it would wait for."""


def python(code: str, timeout_s: float = 30.0) -> Check:
    return Check("command", argv=(sys.executable, "-c", code), timeout_s=timeout_s)


def run(check: Check, output: bytes = b"null", groups: list[int] | None = None) -> str | None:
    seen = [] if groups is None else groups
    env = {**os.environ, "DIBS_TASK_ID": "task_1"}
    told = proving.run(check, output, env, seen.append, lambda group: seen.remove(group) if groups is None else None)
    assert groups is not None or seen == []
    return told


def test_exit_code_0_is_all_it_takes() -> None:
    assert run(python("print('fine')")) is None


def test_it_reads_the_output_as_json_and_knows_the_task() -> None:
    code = "import json, os, sys; sys.exit(json.load(sys.stdin) != {'n': 1} or os.environ['DIBS_TASK_ID'] != 'task_1')"
    assert run(python(code), b'{"n":1}') is None
    assert run(python(code), b"2") is not None


def test_a_large_output_that_nobody_reads_keeps_nobody_waiting() -> None:
    assert run(python(""), b"1" * (16 << 20)) is None


def test_no_shell_reads_its_arguments(tmp_path: Path) -> None:
    check = Check("command", argv=("echo", "$HOME", ";", f"touch {tmp_path}/x", "$(false)"))
    assert run(check) is None
    assert list(tmp_path.iterdir()) == []


def test_another_exit_code_refuses_with_the_end_of_what_it_wrote() -> None:
    code = "import sys; print('x' * 10**6); print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"
    told = run(python(code)) or ""
    assert "ended with exit code 3\n" in told
    assert told.endswith("x\nout\nerr")
    assert len(told) < 5_000


def test_a_command_killed_by_a_signal_refuses() -> None:
    assert "was killed by signal 9" in (run(python("import os; os.kill(os.getpid(), 9)")) or "")


@pytest.mark.parametrize(
    "stubborn",
    [
        "",
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);",
        "import os; os.close(1); os.close(2);",
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);",
    ],
    ids=["plainly", "deaf to SIGTERM", "silent", "with a child"],
)
def test_a_command_has_its_time_and_no_more(stubborn: str) -> None:
    began, groups = time.monotonic(), list[int]()
    told = run(python(f"import time; print('begun', flush=True); {stubborn} time.sleep(600)", 0.7), groups=groups)
    assert time.monotonic() - began < PROMPT_S
    assert "was still running after its timeout of 0.7 s" in (told or "")
    assert not any(alive(group) for group in groups)


def test_one_that_writes_for_ever_has_its_time_too() -> None:
    began = time.monotonic()
    assert "was still running" in (run(python("while True: print('y' * 1000)", 0.5)) or "")
    assert time.monotonic() - began < PROMPT_S


def test_what_it_leaves_running_is_ended_with_it(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    child = f"import os, time; open({str(pids)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    code = (
        f"import os, subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        f"while not os.path.exists({str(pids)!r}) or not open({str(pids)!r}).read(): time.sleep(0.01)"
    )
    began = time.monotonic()
    assert run(python(code)) is None
    assert time.monotonic() - began < PROMPT_S
    assert lines(pids)
    while any_alive(pids):
        assert time.monotonic() - began < PROMPT_S


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (("no-such-program", "-x"), "there is no program 'no-such-program' here"),
        (("/no/such/program",), "could not be started"),
        ((".",), "there is no program '.' here|could not be started"),
    ],
)
def test_one_that_cannot_be_started_decides_nothing(argv: tuple[str, ...], why: str) -> None:
    with pytest.raises(Unavailable, match=why):
        run(Check("command", argv=argv))


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DIBS_CHECK_COMMANDS", "off")
    with pytest.raises(Unavailable, match="is not run here, because DIBS_CHECK_COMMANDS is off") as caught:
        run(Check("command", argv=("touch", str(tmp_path / "x"))))
    assert caught.value.field == "expects"
    assert list(tmp_path.iterdir()) == []


def test_if_nobody_can_be_told_of_it_it_is_ended() -> None:
    groups: list[int] = []

    def entered(group: int) -> None:
        groups.append(group)
        raise RuntimeError("no")

    left: list[Any] = []
    with pytest.raises(RuntimeError):
        proving.run(python("import time; time.sleep(600)"), b"1", dict(os.environ), entered, left.append)
    assert groups == left
    assert not alive(groups[0])
