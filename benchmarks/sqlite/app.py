"""The app that the measured workers run: a handler that does nothing but say that it started."""

from __future__ import annotations

import dibs
from benchmarks import hits
from benchmarks.sqlite.noop import TYPE

app = dibs.App()


@app.handler(TYPE)
async def noop(number: int) -> None:
    hits.record(number)
