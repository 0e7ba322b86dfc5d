"""Commands that are more than one request, with `dibs up` as a process of its own behind `--url http://…`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.loki.files import read, task, write
from tests.server.process import Up, up

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Run

LARGE = 200_000
"""More characters than a store keeps with the task."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One server for all of them; each has types of its own."""
    home = tmp_path_factory.mktemp("server")
    with up(home, f"sqlite:{home / 'work.db'}") as found:
        yield found


def ask(server: Up, *argv: object) -> Any:
    """What a command answers as JSON."""
    done = server.shell(*map(str, argv), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def added(server: Up, *argv: str) -> str:
    done = server.shell("add", *argv)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def issued(server: Up, name: str, **rights: Any) -> str:
    secret: str = server.ask("POST", "/v1/tokens", {"name": name, **rights}, token=server.token).json["secret"]
    return secret


# `dibs run`: the command stands at the end, behind the URL.


def run(server: Up, *argv: str, token: str | None = None) -> Any:
    options, program = argv[: argv.index("--")], argv[argv.index("--") + 1 :]
    return server.shell(*options, program=program, token=token)


def test_run_hands_the_claim_to_a_command_that_finds_the_server_too(server: Up) -> None:
    id = added(server, "say", "--payload", '{"prompt": "good morning"}')
    script = (
        "import json, os, subprocess, sys; claim = json.load(sys.stdin);"
        "subprocess.run([sys.executable, '-m', 'dibs.cli', 'renew', os.environ['DIBS_TASK_ID'],"
        " '--fence', os.environ['DIBS_FENCE'], '--progress', '0.5', '--note', 'halfway'], check=True);"
        "print(json.dumps([os.environ['DIBS_URL'], claim['task']['id'], sys.argv[1]]))"
    )
    done = run(server, "run", "--type", "say", "--drain", "--", sys.executable, "-c", script, "{prompt}")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    found = ask(server, "show", id)
    assert (found["status"], found["note"]) == ("completed", "halfway")
    assert found["output"] == [server.url, id, "good morning"]


def test_run_keeps_what_is_large_and_tells_what_failed(server: Up) -> None:
    large, failing = added(server, "large"), added(server, "failing", "--max-attempts", "1")
    printing = f"print('x' * {LARGE})"
    assert run(server, "run", "--type", "large", "--drain", "--", sys.executable, "-c", printing).returncode == 0
    assert ask(server, "show", large)["output"] == "x" * LARGE
    leaving = "import sys; sys.exit('it is broken')"
    assert run(server, "run", "--type", "failing", "--drain", "--", sys.executable, "-c", leaving).returncode == 0
    found = ask(server, "show", failing)
    assert (found["status"], found["exit_code"]) == ("dead_lettered", 1)
    assert "it is broken" in found["error"]


def test_run_with_an_agents_token_takes_its_types_and_no_others(server: Up) -> None:
    token = issued(server, "coder", types=["mine"])
    mine, other = added(server, "mine"), added(server, "others")
    done = run(server, "run", "--type", "mine", "--drain", "--agent", "one", "--", "echo", "done", token=token)
    assert done.returncode == 0, done.stderr
    found = ask(server, "show", mine)
    assert (found["output"], found["agent"]) == ("done", "coder:one")
    refused = run(server, "run", "--type", "others", "--drain", "--", "echo", "done", token=token)
    assert refused.returncode == 7, refused.stderr
    assert ask(server, "show", other)["status"] == "ready"


def test_a_worker_drains_what_is_at_a_server(server: Up) -> None:
    (server.home / "doubling.py").write_text(
        "import dibs\napp = dibs.App()\n@app.handler('double')\nasync def double(n):\n    return n * 2\n"
    )
    id = added(server, "double", "--payload", '{"n": 21}')
    done = server.shell("worker", "doubling:app", "--drain", "--agent", "w1")
    assert done.returncode == 0, done.stderr
    found = ask(server, "show", id)
    assert (found["output"], found["agent"]) == (42, "w1")


# `dibs import` and `dibs export`


def test_import_adds_once_and_export_writes_it_back(server: Up, tmp_path: Path) -> None:
    root = write(
        tmp_path / ".loki",
        pending=[task("review", type="eng-review", dependencies=["build"]), task("build", type="eng-build")],
        completed=[task("plan")],
    )
    rehearsed = ask(server, "import", root, "--dry-run")
    assert (rehearsed["added"], rehearsed["already"]) == (2, 0)
    assert ask(server, "ls", "--type", "eng-build")["items"] == []
    report = ask(server, "import", root)
    assert (report["added"], report["left_out"]["completed"]) == (2, 1)
    assert ask(server, "import", root)["already"] == 2
    [build] = ask(server, "ls", "--type", "eng-build")["items"]
    [review] = ask(server, "ls", "--type", "eng-review")["items"]
    assert (build["status"], review["status"], review["depends_on"]) == ("ready", "pending", [build["id"]])
    assert ask(server, "export", tmp_path / "back", "--type", "eng-build")["tasks"] == 1
    assert [each["type"] for each in read(tmp_path / "back")["pending"]] == ["eng-build"]


def test_import_takes_the_right_to_add(server: Up, tmp_path: Path) -> None:
    root = write(tmp_path / ".loki", pending=[task("a", type="eng-never")])
    token = issued(server, "reader", role="viewer")
    refused = server.shell("import", str(root), "--json", token=token)
    assert (refused.returncode, json.loads(refused.stderr)["code"]) == (7, "denied")
    exported = server.shell("export", str(tmp_path / "back"), "--json", token=token)
    assert exported.returncode == 0, exported.stderr
    assert ask(server, "ls", "--type", "eng-never")["items"] == []


# `dibs demo`


def test_the_demo_plays_at_a_server(server: Up) -> None:
    summary = ask(server, "demo", "--pace", "0.2")
    assert (summary["problems"], summary["url"]) == ([], server.url)
    assert summary["crashes"] >= 1  # also an agent that stood still for two seconds loses its lease
    assert ask(server, "dag", "show", summary["dag_id"])["status"] == "completed"


def test_the_demo_does_not_serve_a_server(server: Up, dibs: Run) -> None:
    refused = dibs("demo", "--serve", "--url", server.url)
    assert refused.code == 2
    assert "leave out --serve" in refused.err


def test_the_demo_takes_the_right_to_play(server: Up) -> None:
    refused = server.shell("demo", "--json", token=issued(server, "watcher", role="viewer"))
    assert (refused.returncode, json.loads(refused.stderr)["code"]) == (7, "denied")


# Letting others in: who asks is known by their token, and not said by the shell.


def test_tokens_are_made_rotated_and_revoked_through_a_server(server: Up) -> None:
    made = ask(server, "token", "add", "guest", "--role", "viewer")
    again = ask(server, "token", "rotate", "guest")
    assert made["secret"] != again["secret"]
    refused = server.shell("add", "secret-work", token=again["secret"])
    assert refused.returncode == 7
    ask(server, "token", "revoke", "guest")
    assert "guest" not in {token["name"] for token in ask(server, "token", "ls")}


def test_a_login_link_is_made_through_a_server_and_leads_to_it(server: Up) -> None:
    link = ask(server, "login-link", "--role", "viewer", "--name", "visitor")
    assert link["url"].startswith(f"{server.url}/login?once=")
    made = [entry for entry in ask(server, "audit", "ls") if entry["act"] == "create_login"]
    assert made[-1]["by"] is not None
