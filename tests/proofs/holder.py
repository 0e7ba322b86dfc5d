"""A process that sits on a database until it is killed: `python -m tests.proofs.holder PATH turn|transaction`.

It prints a line once it holds the turn at writing, or that and an open transaction.
"""

from __future__ import annotations

import signal
import sys

from dibs.stores.sqlite import opening
from dibs.stores.sqlite.turns import Turns


def main() -> None:
    path, what = sys.argv[1:]
    turns = Turns(path)
    turns.take()
    connection = opening.connect(path)
    if what == "transaction":
        connection.execute("BEGIN IMMEDIATE")
    print("held", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
