"""Spans leave the processes that dibs starts itself, if the environment says where they go."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import dibs
from dibs.errors import Unavailable
from dibs.tracing import exporting


def test_nothing_is_set_up_where_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    exporting.set_up("dibs")()


def test_a_missing_extra_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr(exporting, "find_spec", lambda name: None)
    with pytest.raises(Unavailable, match=r"pip install 'dibs\[otel\]'"):
        exporting.set_up("dibs")


def test_a_worker_sends_its_spans_before_it_ends(file_url: str) -> None:
    received: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Collector) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        with dibs.connect_sync(file_url) as queue:
            queue.add("code", {})
        env = {
            **os.environ,
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
            # Whoever waits longer does not send it twice.
            "OTEL_EXPORTER_OTLP_TIMEOUT": "60",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        argv = ["run", "--type", "code", "--drain", "--url", file_url, "--", "echo", "done"]
        subprocess.run([sys.executable, "-m", "dibs.cli", *argv], env=env, check=True, timeout=60)
        collector.shutdown()
    [(path, body)] = received
    assert path == "/v1/traces"
    assert b"process code" in body
    assert b"dibs-worker" in body
