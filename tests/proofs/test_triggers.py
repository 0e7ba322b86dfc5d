"""One task for everything that happens, also where whoever looks is killed with any of its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.model.task import NewTask
from dibs.rules import signatures
from dibs.sync import connect_sync, drive
from dibs.testing import FakeClock
from tests.proofs.crowd import exit_of
from tests.proofs.dying import Killed

if TYPE_CHECKING:
    from pathlib import Path

    from dibs.sync import SyncQueue

SECRET = "It's a Secret to Everybody"


def _look(path: str, now: int, at: int, after: bool) -> None:
    from dibs.duties.desk import Desk
    from dibs.duties.trigger import trigger

    queue = connect_sync(f"sqlite:{path}", clock=lambda: now)
    killed: Any = Killed(queue.queue.store, at, after)
    drive(trigger(Desk(killed, draw=lambda: 0.5)))


def _receive(path: str, now: int, at: int, after: bool) -> None:
    queue = connect_sync(f"sqlite:{path}", clock=lambda: now).queue
    store: Any = Killed(queue.store, at, after)
    queue.store = store
    body = b'{"n": %d}' % at
    drive(queue.receive("in", signatures.sign("github", SECRET, body, id="", stamp=0), body))


def _die(work: Any, path: str, clock: FakeClock, at: int, after: bool) -> bool:
    """Whether the process was killed."""
    ended = exit_of(work, path, clock(), at, after)
    assert ended in (0, -9)
    return ended == -9


def _made(queue: SyncQueue, type: str) -> list[Any]:
    return [task.payload for task in queue.find(type=type, limit=1000).items]


pytestmark = pytest.mark.timeout(300)  # A process for every point.
each_side = pytest.mark.parametrize("after", [False, True], ids=["before", "after"])


@each_side
def test_whoever_follows_events_and_is_killed_anywhere_leaves_one_task_for_each(after: bool, tmp_path: Path) -> None:
    clock = FakeClock()
    path = str(tmp_path / "dibs.db")
    with connect_sync(f"sqlite:{path}", clock=clock) as queue:
        task = {"type": "docs", "payload": "{{event.task.id}}"}
        where = {"event.task.type": "code"}
        queue.add_trigger("docs", "event", events="task.completed", where=where, task=task, rate="10000/min")
    done: list[str] = []
    for at in range(1, 60):
        with connect_sync(f"sqlite:{path}", clock=clock) as queue:
            queue.add_many([NewTask("code"), NewTask("code")])
            # Not run before: whoever claims would look, too.
            drive(queue.queue.store.postpone("trigger", 30))
            for claim in queue.claim("ada", types=["code"], limit=2):
                queue.complete(claim)
                done.append(claim.task.id)
        killed = _die(_look, path, clock, at, after)
        with connect_sync(f"sqlite:{path}", clock=clock) as queue:
            clock.advance(31)
            queue.run_duties()
            assert sorted(_made(queue, "docs")) == sorted(done)
            assert queue.get_trigger("docs").made == len(done)
        if not killed:
            break
    assert not killed
    assert at > 8


@each_side
def test_a_webhook_that_is_sent_again_after_a_kill_makes_one_task(after: bool, tmp_path: Path) -> None:
    clock = FakeClock()
    path = str(tmp_path / "dibs.db")
    with connect_sync(f"sqlite:{path}", clock=clock) as queue:
        task = {"type": "in", "payload": "{{event.data.n}}"}
        queue.add_trigger("in", "webhook", scheme="github", secret=SECRET, task=task, rate="10000/min")
    for at in range(1, 60):
        killed = _die(_receive, path, clock, at, after)
        with connect_sync(f"sqlite:{path}", clock=clock) as queue:
            body = b'{"n": %d}' % at
            headers = signatures.sign("github", SECRET, body, id="", stamp=0)
            assert queue.receive("in", headers, body).id is not None
            assert sorted(_made(queue, "in")) == list(range(1, at + 1))
            assert queue.get_trigger("in").made == at
        if not killed:
            break
    assert not killed
    assert at > 3
