"""A whole worker process: `python -m tests.worker.serve URL LEASE CONCURRENCY`."""

from __future__ import annotations

import logging
import sys

from dibs.worker import run_worker
from tests.worker.apps import app

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    run_worker(app, sys.argv[1], lease=float(sys.argv[2]), concurrency=int(sys.argv[3]))
