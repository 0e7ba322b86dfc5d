"""`dibs up` at work: what it does beside answering, and what happens to it over a day."""

from __future__ import annotations

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.process import until, up

if TYPE_CHECKING:
    from pathlib import Path

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'work.db'}"


def test_webhooks_are_delivered_to_targets_that_are_allowed(tmp_path: Path, store: str) -> None:
    received: list[tuple[str | None, Any]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            received.append((self.headers["webhook-signature"], body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as receiver:
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{receiver.server_port}"
        with up(tmp_path, store, "--allow-target", place) as server:
            hook = {"name": "ci", "url": f"http://{place}/dibs", "events": ["task.added"]}
            assert server.ask("POST", "/v1/hooks", hook, token=server.token).status == 201
            added = server.ask("POST", "/v1/tasks", {"type": "code"}, token=server.token).json
            signature, body = until(lambda: received)[0]
            assert body["type"].endswith("task.added")
            assert added["id"] in json.dumps(body)
            assert (signature or "").startswith("v1,")
            page = server.ask("GET", "/metrics", token=server.token).body
            assert b'dibs_outbox_backlog_events{reader="hook default/ci"}' in page
            server.signal()
            assert server.wait() == 0
        receiver.shutdown()


def test_schedules_fire_though_nobody_works(tmp_path: Path, store: str) -> None:
    with up(tmp_path, store) as server:
        wanted = {"every": 1, "task": {"type": "tick"}}
        made = server.ask("PUT", "/v1/schedules/clock", wanted, token=server.token)
        assert made.status == 200, made.body
        until(lambda: "tick" in server.ask("GET", "/v1/stats", token=server.token).json["by_type"])


def test_a_stream_of_events_ends_when_the_server_leaves(tmp_path: Path, store: str) -> None:
    with up(tmp_path, store) as server:
        server.ask("POST", "/v1/tasks", {"type": "code"}, token=server.token)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("GET", "/v1/events?after=0", headers={"Authorization": f"Bearer {server.token}"})
        stream = connection.getresponse()
        assert stream.status == 200
        while b'"task.added"' not in (line := stream.readline()):
            assert line
        server.signal()
        # What is left is little, and has an end.
        stream.read()
        connection.close()
        assert server.wait() == 0


def test_a_task_belongs_to_the_trace_of_the_request(tmp_path: Path, store: str) -> None:
    with up(tmp_path, store) as server:
        added = server.ask("POST", "/v1/tasks", {"type": "code"}, token=server.token, traceparent=PARENT)
        assert added.json["context"] == {"traceparent": PARENT}
        plain = server.ask("POST", "/v1/tasks", {"type": "code"}, token=server.token)
        assert plain.json["context"] is None


def test_what_happens_beside_the_server_is_counted_by_it(tmp_path: Path, store: str) -> None:
    import dibs

    with up(tmp_path, store) as server:
        server.ask("GET", "/metrics", token=server.token)
        with dibs.connect_sync(store) as queue:
            queue.add("code")
            [claim] = queue.claim("beside")
            queue.complete(claim, "done", cost=0.5)

        def counted() -> bool:
            page = server.ask("GET", "/metrics", token=server.token).body
            return b'dibs_tasks_completed_total{type="code"} 1' in page

        until(counted)
