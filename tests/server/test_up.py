"""`dibs up` as a real process: started, asked, told to leave, killed, started again."""

from __future__ import annotations

import http.client
import json
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.process import COMMAND, environment, up
from tests.servers import warm
from tests.servers.ports import free_port, nobody_at

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'work.db'}"


def refused(home: Path, *argv: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the error of a command that must not start anything."""
    done = warm.run(["up", "--json", *argv], env=environment(home))
    assert done.stdout == ""
    return done.returncode, json.loads(done.stderr.splitlines()[-1])


def test_the_first_start_prints_an_admin_token_and_the_next_ones_do_not(tmp_path: Path, store: str) -> None:
    with up(tmp_path, store) as server:
        assert server.token is not None
        assert server.token.startswith("dibs_")
        assert len(server.token) >= 25
        assert server.ask("GET", "/healthz").json == {"status": "ok"}
        assert server.ask("GET", "/v1/stats").status == 401
        assert server.ask("GET", "/v1/stats", token=server.token).status == 200
        first = server.token
        server.signal()
        assert server.wait() == 0
        assert first not in server.log
    with up(tmp_path, store) as server:
        assert server.token is None
        assert server.ask("GET", "/v1/stats", token=first).status == 200


def test_people_are_told_in_words(tmp_path: Path, store: str) -> None:
    command = [*COMMAND, "up", "--url", store, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(tmp_path)) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("dibs is at http://127.0.0.1:")
        assert "shown only this once: dibs_" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_the_token_of_the_shell_is_kept_for_its_user_alone(tmp_path: Path, store: str) -> None:
    port = free_port()
    with up(tmp_path, store, port=port) as server:
        [kept] = (tmp_path / "config/dibs/servers").iterdir()
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        secret = kept.read_text().strip()
        assert secret != server.token
        assert server.ask("GET", "/v1/stats", token=secret).status == 200
        server.process.kill()
    with up(tmp_path, store, port=port) as server:
        assert kept.read_text().strip() == secret
        assert server.ask("GET", "/v1/stats", token=secret).status == 200
    with up(tmp_path, f"sqlite:{tmp_path / 'other.db'}", port=port) as server:
        other = kept.read_text().strip()
        assert other != secret
        assert server.ask("GET", "/v1/stats", token=secret).status == 401
        assert server.ask("GET", "/v1/stats", token=other).status == 200


def test_it_answers_only_to_names_that_it_was_given(tmp_path: Path, store: str) -> None:
    with up(tmp_path, store, "--allow-host", "queue.example.com") as server:
        for host, status in (("queue.example.com", 200), (f"localhost:{server.port}", 200), ("evil.example", 421)):
            assert server.ask("GET", "/v1/stats", token=server.token, host=host).status == status
        assert server.ask("GET", "/healthz", host="10.0.0.7").status == 200


@pytest.mark.parametrize("argv", [["add", "code", "Write the tests"], ["ls", "--json"], ["stats", "--json"]], ids=str)
def test_the_shell_on_the_same_machine_needs_no_token(tmp_path: Path, store: str, argv: list[str]) -> None:
    with up(tmp_path, store) as server:
        done = server.shell(*argv)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout
        shutil.rmtree(tmp_path / "config")
        refused = server.shell(*argv)
        assert refused.returncode == 7
        assert server.shell(*argv, token=server.token).returncode == 0


def test_a_server_is_ready_when_its_duties_run(tmp_path: Path, store: str) -> None:
    with up(tmp_path, store) as server:
        server.until_ready()
        answer = server.ask("GET", "/readyz")
        assert answer.json == {"status": "ready"}
        assert answer.headers["cache-control"] == "no-store"


def test_what_is_due_happens_though_nobody_claims(tmp_path: Path, store: str) -> None:
    with up(tmp_path, store) as server:
        added = server.ask("POST", "/v1/tasks", {"type": "code", "run_after": 0.2}, token=server.token)
        assert added.status == 201, added.body
        end = time.monotonic() + 60
        while server.ask("GET", f"/v1/tasks/{added.json['id']}", token=server.token).json["status"] != "ready":
            assert time.monotonic() < end
            time.sleep(0.05)


def test_every_answer_has_the_id_of_its_request_and_so_has_the_log(tmp_path: Path, store: str) -> None:
    with up(tmp_path, store, "--log-format", "json") as server:
        answer = server.ask("GET", "/v1/stats?secret=geheim", token=server.token, x_request_id="mine-1")
        assert answer.headers["x-request-id"] == "mine-1"
        missing = server.ask("GET", "/v1/tasks/task_none", token=server.token)
        assert missing.status == 404
        assert missing.json["instance"] == missing.headers["x-request-id"]
        server.signal()
        assert server.wait() == 0
        lines = [json.loads(line) for line in server.logged]
        told = [line for line in lines if line.get("request_id") == "mine-1"]
        assert [(line["method"], line["path"], line["status"]) for line in told] == [("GET", "/v1/stats", 422)]
        assert told[0]["caller"] == "admin"
        assert server.token not in server.log
        assert "geheim" not in server.log


def test_an_administrator_sees_the_servers_own_metrics(tmp_path: Path, store: str) -> None:
    with up(tmp_path, store) as server:
        assert server.ask("GET", "/metrics").status == 401
        server.ask("POST", "/v1/claims", {"agent": "a"}, token=server.token)
        answer = server.ask("GET", "/metrics", token=server.token)
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert b'dibs_http_requests_total{method="POST",route="/v1/claims",status="200"} 1' in answer.body
        assert b'dibs_claim_requests_total{result="empty"} 1' in answer.body
        viewer = server.ask("POST", "/v1/tokens", {"name": "v", "role": "viewer"}, token=server.token)
        if viewer.status == 201:
            page = server.ask("GET", "/metrics", token=viewer.json["secret"])
            assert page.status == 200
            assert b"dibs_tasks" in page.body
            assert b"dibs_http_requests_total" not in page.body


class Poll(threading.Thread):
    """A claim that waits for work in a thread of its own."""

    def __init__(self, port: int, token: str | None, wait: float = 50) -> None:
        super().__init__(daemon=True)
        self.port, self.token, self.wait_s = port, token, wait
        self.status = 0
        self.body: Any = None
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            connection.request("POST", "/v1/claims", json.dumps({"agent": "a", "wait": self.wait_s}), headers)
            answer = connection.getresponse()
            self.status, self.body = answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException) as error:
            self.error = error
        finally:
            connection.close()


def until_waiting(server: Any) -> None:
    """Until a long poll is in flight, beside the request that asks."""
    end = time.monotonic() + 60
    while True:
        page = server.ask("GET", "/metrics", token=server.token).body
        if b"dibs_http_requests_in_flight 2" in page:
            return
        assert time.monotonic() < end, page
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_leaves_answers_whoever_waits(tmp_path: Path, store: str, number: int) -> None:
    with up(tmp_path, store) as server:
        poll = Poll(server.port, server.token)
        until_waiting(server)
        began = time.monotonic()
        server.signal(number)
        assert server.wait() == 0
        assert time.monotonic() - began < 40
        poll.join(60)
        assert poll.error is None
        assert (poll.status, poll.body["claims"]) == (200, [])
        assert "leaving" in server.log


def test_a_request_that_runs_is_finished_and_nothing_new_is_taken(tmp_path: Path, store: str) -> None:
    with up(tmp_path, store, port=free_port()) as server:
        half = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        body = json.dumps({"type": "code"}).encode()
        head = f"POST /v1/tasks HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        half.sendall(head.encode() + body[:4])
        until_waiting(server)
        server.signal()
        server.until_logged("leaving")
        refused_at = time.monotonic() + 40
        while time.monotonic() < refused_at:
            try:
                socket.create_connection(("127.0.0.1", server.port), timeout=60).close()
            except ConnectionRefusedError:
                break
            time.sleep(0.02)
        else:
            raise AssertionError("it still accepts")
        half.sendall(body[4:])
        assert half.recv(65536).startswith(b"HTTP/1.1 201")
        half.close()
        assert server.wait() == 0
    with up(tmp_path, store) as server:
        local = next((tmp_path / "config/dibs/servers").glob(f"*-{server.port}")).read_text().strip()
        assert server.ask("GET", "/v1/stats", token=local).json["by_status"] == {"ready": 1}


def test_a_second_signal_ends_it_at_once(tmp_path: Path, store: str) -> None:
    with up(tmp_path, store) as server:
        half = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        half.sendall(
            f"POST /v1/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n"
            "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{".encode()
        )
        until_waiting(server)
        server.signal()
        server.until_logged("leaving")
        began = time.monotonic()
        server.signal()
        assert server.wait() == 130
        assert time.monotonic() - began < 40
        half.close()


def test_a_server_that_was_killed_goes_on_where_it_was(tmp_path: Path, store: str) -> None:
    port = free_port()
    with up(tmp_path, store, port=port) as server:
        token = server.token
        added = server.ask("POST", "/v1/tasks", {"type": "code"}, token=token).json
        [claim] = server.ask("POST", "/v1/claims", {"agent": "a"}, token=token).json["claims"]
        server.signal(signal.SIGKILL)
        server.wait()
    with up(tmp_path, store, port=port) as server:
        assert server.token is None
        done = server.ask(
            "POST", f"/v1/tasks/{added['id']}/complete", {"fence": claim["fence"], "output": 1}, token=token
        )
        assert done.status == 200, done.body
        assert server.ask("GET", f"/v1/tasks/{added['id']}", token=token).json["status"] == "completed"


def test_two_servers_on_one_store_are_one_queue(tmp_path: Path, store: str) -> None:
    with up(tmp_path, store) as one, up(tmp_path, store) as two:
        assert one.token is not None
        assert two.token is None
        poll = Poll(two.port, one.token)
        added = one.ask("POST", "/v1/tasks", {"type": "code"}, token=one.token).json
        poll.join(60)
        assert [claim["task"]["id"] for claim in poll.body["claims"]] == [added["id"]]
        assert one.ask("POST", "/v1/claims", {"agent": "b"}, token=one.token).json["claims"] == []
        one.until_ready()
        two.until_ready()


def test_servers_that_start_at_once_make_one_admin_token(tmp_path: Path, store: str) -> None:
    command = [*COMMAND, "up", "--url", store, "--port", "0", "--json"]
    servers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(tmp_path)) for _ in range(3)
    ]
    try:
        started = [json.loads(server.stdout.readline()) for server in servers if server.stdout is not None]
        assert len([each for each in started if "token" in each]) == 1
    finally:
        for server in servers:
            server.kill()
            server.communicate()


def test_a_port_that_is_taken_is_told(tmp_path: Path, store: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, error = refused(tmp_path, "--url", store, "--port", str(port))
    assert code == 6
    assert error["code"] == "port_taken"
    assert f"Port {port}" in error["message"]
    assert "--port" in error["message"]
    assert not (tmp_path / "work.db").exists()


@pytest.mark.parametrize(
    ("argv", "field"),
    [
        (["--port", "70000"], "port"),
        (["--port", "x"], "port"),
        (["--host", "http://x"], "host"),
        (["--allow-target", "no such place"], "allow_targets"),
        (["--smtp", "mail.example.com"], "smtp"),
        (["--host", "192.0.2.1"], "host"),
        (["--host", "no such host"], "host"),
        (["--log-format", "xml"], "log_format"),
        (["--access-log", "some"], "access_log"),
        (["--drain", "soon"], "drain"),
        (["--url", "ftp://x"], "url"),
        (["--port", "0", "--url", "nonsense"], "url"),
        (["--port", "0", "--url", "http://127.0.0.1:1"], "url"),
    ],
)
def test_mistakes_are_named_and_nothing_is_made(tmp_path: Path, argv: list[str], field: str) -> None:
    code, error = refused(tmp_path, *(["--port", "0"] if "--port" not in argv else []), *argv)
    assert (code, error["field"]) == (2, field)
    option = f"--{field.removesuffix('s').replace('_', '-')}"
    assert field in ("port", "url") or error["message"].startswith(f"{option} must ")
    assert not (tmp_path / ".dibs").exists()


def test_a_store_that_is_away_is_told(tmp_path: Path) -> None:
    with nobody_at() as port:
        code, error = refused(tmp_path, "--port", "0", "--url", f"postgresql://me:geheim@127.0.0.1:{port}/x")
    assert code == 6
    assert "geheim" not in error["message"]


def test_a_missing_extra_is_told(tmp_path: Path) -> None:
    program = "import sys; sys.modules['litestar'] = None; from dibs.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, "up"], capture_output=True, text=True, env=environment(tmp_path), check=False
    )
    assert done.returncode == 6
    assert "pip install 'dibs[server]'" in done.stderr
