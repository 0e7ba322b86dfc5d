"""How waits are judged: whoever is passed over has waited; whoever stood still with everybody else has not."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

from tests.proofs.crowd import BEAT_S, longest_wait

# Says how long it was awake, when it is asked.
AWAKE = """
from tests.proofs.crowd import Pulse
with Pulse() as pulse:
    while True:
        input()
        print(pulse.awake_s, flush=True)
"""


def writes(count: int, each_s: float, start: float = 0.0) -> list[tuple[float, float, float]]:
    return [(start + number * each_s, start + (number + 1) * each_s, each_s) for number in range(count)]


def test_whoever_is_passed_over_again_and_again_has_waited() -> None:
    busy = [writes(100, 0.02), writes(100, 0.02, 0.001)]
    assert longest_wait([*busy, [(0.0, 1.5, 1.5)]]) == 1.5


def test_whoever_was_stopped_has_not() -> None:
    busy = [writes(100, 0.02), writes(100, 0.02, 0.001)]
    assert longest_wait([*busy, [(0.0, 1.5, 0.1)]]) == 0.1


def test_whoever_stood_still_with_everybody_has_not() -> None:
    stalled = [[(0.0, 2.0, 2.0), *writes(10, 0.01, 2.0)] for _ in range(3)]
    assert longest_wait(stalled) == 0


def test_on_a_slow_machine_everybody_takes_long_and_nobody_is_passed_over() -> None:
    assert longest_wait([writes(20, 1.2, 0.1 * number) for number in range(16)]) == 0


def test_a_process_that_is_stopped_is_not_awake() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", AWAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def awake_s() -> float:
            print(file=process.stdin, flush=True)
            assert process.stdout is not None
            return float(process.stdout.readline())

        try:
            while awake_s() == 0:
                time.sleep(BEAT_S)
            began, before = time.monotonic(), awake_s()
            process.send_signal(signal.SIGSTOP)
            time.sleep(1)  # for everybody else
            process.send_signal(signal.SIGCONT)
            awake = awake_s() - before
            assert awake <= time.monotonic() - began - 1 + 2 * BEAT_S
        finally:
            process.kill()
