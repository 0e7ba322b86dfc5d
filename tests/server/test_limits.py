"""No caller takes the server from the others."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from dibs.server.held import HeldClaims
from dibs.server.pacing import Pace
from dibs.server.refusing import Busy
from dibs.server.settings import Settings
from tests.server.running import ADMIN, VIEWER, running


def test_a_token_that_asks_too_often_is_told_when_to_come_back() -> None:
    with running(settings=Settings(requests_per_s=0.001, burst=3)) as server:
        statuses = [server.ask("GET", "/v1/stats").status for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        refused = server.ask("POST", "/v1/claims", {"agent": "coder"})
        assert refused.status == 429
        assert refused.json["code"] == "too_many_requests"
        assert int(refused.headers["retry-after"]) >= 1
        assert refused.json["retry_after"] > 0
        assert server.ask("GET", "/v1/stats", token=VIEWER).status == 200


def test_a_bucket_fills_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("dibs.server.pacing.monotonic", lambda: now[0])
    pace = Pace(2.0, 2)
    pace.take("a")
    pace.take("a")
    with pytest.raises(Busy) as refused:
        pace.take("a")
    assert refused.value.retry_after == pytest.approx(0.5)
    pace.take("b")
    now[0] += 0.5
    pace.take("a")


def test_a_server_without_a_pace_takes_all() -> None:
    pace = Pace(None, 0)
    for _ in range(1000):
        pace.take("a")


def test_a_body_that_is_too_large_is_refused_before_it_is_read() -> None:
    with running(settings=Settings(max_body_bytes=1000)) as server:
        head = (
            f"POST /v1/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\nContent-Type: application/json\r\n"
        )
        announced = server.send(f"{head}Content-Length: 1000000\r\n\r\n".encode(), until=b" 413 ")
        assert b" 413 " in announced
        chunk = b"400\r\n" + b"a" * 1024 + b"\r\n"
        streamed = server.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk * 2, until=b" 413 ")
        assert b" 413 " in streamed
        assert server.ask("POST", "/v1/tasks", {"type": "code"}).status == 201


def test_no_more_requests_are_served_at_once_than_may() -> None:
    with running(settings=Settings(max_at_once=1)) as server:
        waiting = threading.Thread(target=server.ask, args=("POST", "/v1/claims", {"agent": "coder", "wait": 60}))
        waiting.start()
        lobby = server.app.state.desk.lobby
        while not len(lobby):
            waiting.join(0.01)
        refused = server.ask("GET", "/v1/stats")
        assert refused.status == 503
        assert refused.headers["retry-after"] == "1"
        lobby_closed = threading.Event()

        async def let_go() -> None:
            server.app.state.desk.let_go()
            lobby_closed.set()

        server.inside(let_go)
        waiting.join(60)
        assert server.ask("GET", "/v1/stats").status == 200


def test_claims_are_remembered_up_to_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    from dibs.model.claim import Claim
    from dibs.model.task import Task

    def claim(number: int) -> Any:
        return Claim(task=Task(id=f"task_{number}", type="code"), fence=1, agent="coder", inputs={"a": 1})

    monkeypatch.setattr("dibs.server.held.MAX_BYTES", 100)
    held = HeldClaims()
    held.keep("default", [claim(number) for number in range(5)], 30)
    found = [number for number in range(5) if held.find("default", f"task_{number}", 1) is not None]
    assert found == [2, 3, 4]
    kept = held.find("default", "task_4", 1)
    assert kept is not None
    assert kept.inputs == {}
    assert held.find("elsewhere", "task_4", 1) is None
    assert held.find("default", "task_4", 2) is None
    held.forget("default", "task_4", 1)
    assert held.find("default", "task_4", 1) is None
    held.keep("default", [claim(9)], 60)
    assert held.find("default", "task_2", 1) is None
