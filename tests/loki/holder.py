"""Holds a lock as Loki's tools do, until its standard input is closed: `python -m tests.loki.holder LOCK`."""

from __future__ import annotations

import fcntl
import sys

if __name__ == "__main__":
    with open(sys.argv[1], "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        print("held", flush=True)
        sys.stdin.read()
