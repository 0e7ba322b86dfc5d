"""The demo's server: an ordinary `dibs up` on its store, and agents that go on working until somebody has seen enough.

After the first play more of them follow, with something for people to do in each: a question, an approval, a task that
ends as a dead letter.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from msgspec.json import decode

from dibs.demo import landing_page
from dibs.errors import Unavailable
from dibs.model.retry import Retry
from dibs.model.status import DagStatus
from dibs.model.task import NewTask

if TYPE_CHECKING:
    from dibs.demo.fleet import Fleet
    from dibs.sync import SyncQueue

PAUSE_S = 4.0
"""Between two looks at whether there is room for another play."""
MOST_OPEN = 3
"""So many plays go on at a time: those that wait for people do not pile up."""
SLOWER = 4
"""How much longer the work of an encore takes: there should be something to see."""
_OPEN = (DagStatus.PENDING, DagStatus.RUNNING)


class Server:
    """`dibs up` on the demo's store, on a free port of this machine. Leaving the `with` block ends it."""

    def __init__(self, url: str, folder: str) -> None:
        self.log = os.path.join(folder, "server.log")
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "dibs.cli", "up", "--port", "0", "--json"],
                env=os.environ | {"DIBS_URL": url},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.stop()
            raise Unavailable(f"the server did not start; see {self.log}")
        told: dict[str, Any] = decode(line)
        self.url: str = told["url"]
        self.login: str | None = told.get("login")

    def stop(self) -> None:
        """Ask it to leave, then insist."""
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def go_on(queue: SyncQueue, fleet: Fleet, prefix: str, *, plays: int | None = None) -> None:
    """Play one encore after the other, until interrupted (or so many were begun). What is not done then is cancelled:
    nobody would do it any more. If adding one was interrupted, it is added again, which is the same, and cancelled."""
    queue.set_budget("type:" + prefix + "code", 25, window="day")
    begun: dict[int, str] = {}
    number = 1

    def begin(number: int) -> str:
        title, key = f"{landing_page.TITLE}, revision {number}", f"{prefix}revision {number}"
        return queue.add_dag(title, encore(prefix), created_by="orchestrator", key=key).id

    try:
        while plays is None or number <= plays:
            begun = {each: id for each, id in begun.items() if queue.get_dag(id).status in _OPEN}
            if len(begun) < MOST_OPEN and not fleet.lost():
                number += 1
                begun[number] = ""
                begun[number] = begin(number)
            time.sleep(PAUSE_S if plays is None else 0)
    except KeyboardInterrupt:
        for each, id in begun.items():
            queue.cancel(id or begin(each), reason="the demo was stopped")


def encore(prefix: str = "") -> list[NewTask]:
    """The graph once more, slower, with something for people in it."""
    tasks = []
    for task in landing_page.tasks(prefix):
        payload = {**task.payload, "seconds": task.payload["seconds"] * SLOWER}
        # Nobody is killed in an encore, and one failure is enough.
        payload.pop("lingers", None)
        if payload.get("failures"):
            payload["failures"] = 1
        if task.ref == "brand":
            payload["asks"] = {
                "question": "Which colour shall the sign-up button have?",
                "schema": {"enum": ["espresso", "latte", "mint"]},
                "timeout": 180,
                "default": "espresso",
            }
        task.payload = payload
        task.approval = task.ref == "deploy"
        tasks.append(task)
    badge = {"seconds": 1.0, "cost": 0.002, "notes": ["looking for the badge"], "failures": 9}
    tasks.append(
        NewTask(
            prefix + "research",
            badge,
            ref="badge",
            title="Find a badge that says “since 1873”",
            after=["plan"],
            requires=["web-search"],
            retry=Retry(strategy="fixed", delay=0.6, jitter=0),
            max_attempts=2,
            tags=("demo",),
        )
    )
    return tasks
