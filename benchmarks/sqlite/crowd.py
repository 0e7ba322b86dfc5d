"""One of several processes that use the same store while a worker is measured: add, claim, complete, and again.

`python -m benchmarks.sqlite.crowd URL TYPE` until it is told to end; then prints how many it did. The tasks are of a
type of its own, so the worker's count stays its own.
"""

from __future__ import annotations

import signal
import sys

import dibs


def main(url: str, type: str) -> None:
    done = 0
    asked_to_end = False

    def end(*_: object) -> None:
        nonlocal asked_to_end
        asked_to_end = True

    signal.signal(signal.SIGTERM, end)
    with dibs.connect_sync(url) as queue:
        while not asked_to_end:
            queue.add(type)
            for claim in queue.claim(type, types=[type]):
                queue.complete(claim)
                done += 1
    print(done)


if __name__ == "__main__":
    main(*sys.argv[1:])
