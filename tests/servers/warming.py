"""Imported by the warm process: what commands, workers and servers import, and proofs run."""

from __future__ import annotations

import gc
from contextlib import suppress
from importlib import import_module

for name in (
    "dibs.cli.running",
    "dibs.server.serving",
    "dibs.stores.postgres",
    "dibs.stores.redis",
    "dibs.stores.sqlite",
    "dibs.worker.running",
    "tests.hooks.delivering_process",
    "tests.loki.dying_export",
    "tests.proofs.dying_judges",
    "tests.proofs.dying_worker",
    "tests.servers.process",
):
    # What is not installed is not needed.
    with suppress(ImportError):
        import_module(name)

# What nobody looks at any more is not copied by those who are forked.
gc.collect()
gc.freeze()
