"""`dibs worker` and `dibs run`: processes that do the work."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

APP = """
import dibs

app = dibs.App()
number = 7

@app.handler("double")
async def double(n):
    return n * 2
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "doubling.py").write_text(APP)
    (tmp_path / "importing.py").write_text("import nothing_of_this_name\n")
    monkeypatch.chdir(tmp_path)


def test_worker_drains_what_its_app_can_do(dibs: Run, shell: Run, app: None) -> None:
    id = dibs("add", "double", "--payload", '{"n": 21}', ok=True).line
    other = dibs("add", "other", ok=True).line
    drained = shell("worker", "doubling:app", "--drain", "--agent", "w1", "--concurrency", 2, "--lease", "30s")
    assert drained.code == 0, drained.err
    assert drained.out == ""
    task = dibs("show", id, "--json", ok=True).json
    assert (task["status"], task["output"], task["agent"]) == ("completed", 42, "w1")
    assert dibs("show", other, "--json", ok=True).json["status"] == "ready"


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("doubling", "MODULE:APP"),
        (":app", "MODULE:APP"),
        ("nowhere:app", "no module 'nowhere'"),
        ("doubling:missing", "nothing, not a dibs.App; doubling:app is"),
        ("doubling:number", "a int"),
        (".:app", "not the name of a module"),
    ],
)
def test_worker_says_what_is_wrong_with_the_app(shell: Run, app: None, where: str, words: str) -> None:
    refused = shell("worker", where, "--json")
    assert (refused.code, refused.error["field"]) == (2, "app")
    assert words in refused.error["message"]


def test_an_app_that_cannot_import_is_unexpected(shell: Run, app: None) -> None:
    refused = shell("worker", "importing:app", "--json")
    assert (refused.code, refused.error["code"]) == (1, "unexpected")
    assert "nothing_of_this_name" in refused.error["message"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = 1\nraise ValueError('no key')\n", r"ValueError: no key \(.*broken\.py, line 2\)"),
        ("x = 1\nx y\n", r"SyntaxError: invalid syntax \(broken\.py, line 2\)"),
        ("import json\njson.loads('{')\n", r"JSONDecodeError: .* \(.*broken\.py, line 2\)"),
    ],
)
def test_an_app_that_breaks_says_in_which_line(shell: Run, app: None, tmp_path: Path, source: str, words: str) -> None:
    (tmp_path / "broken.py").write_text(source)
    refused = shell("worker", "broken:app", "--json")
    assert (refused.code, refused.error["code"]) == (1, "unexpected")
    assert re.search(f"broken cannot be imported: {words}", refused.error["message"])


def test_a_program_that_is_not_there_costs_no_task_an_attempt(dibs: Run, shell: Run, tmp_path: Path) -> None:
    id = dibs("add", "t", ok=True).line
    (tmp_path / "agent.sh").write_text("echo")
    for program, words in (
        ("no-such-agent", "not on the PATH"),
        ("./no-such-agent", "none at that path"),
        (str(tmp_path / "agent.sh"), "chmod +x"),
    ):
        refused = shell("run", "--json", "--type", "t", "--drain", "--", program, "{prompt}")
        assert (refused.code, refused.error["field"]) == (2, "command")
        assert words in refused.error["message"]
    assert dibs("show", id, "--json", ok=True).json["attempts"] == 0


def test_run_makes_a_command_an_agent(dibs: Run, shell: Run) -> None:
    id = dibs("add", "shout", "--payload", '{"prompt": "hello; $HOME", "n": [1]}', ok=True).line
    program = "import sys, json; print(json.dumps([sys.argv[1:], json.load(sys.stdin)['fence']]))"
    done = shell("run", "--type", "shout", "--drain", "--", sys.executable, "-c", program, "{prompt}", "--json")
    assert done.code == 0, done.err
    task = dibs("show", id, "--json", ok=True).json
    assert (task["status"], task["output"]) == ("completed", [["hello; $HOME", "--json"], 1])


def test_run_fails_the_task_when_the_command_fails(dibs: Run, shell: Run) -> None:
    id = dibs("add", "t", "--max-attempts", 1, ok=True).line
    shell("run", "--type", "t", "--drain", "--", sys.executable, "-c", "import sys; sys.exit('it broke')")
    task = dibs("show", id, "--json", ok=True).json
    assert (task["status"], task["exit_code"]) == ("dead_lettered", 1)
    assert "it broke" in task["error"]


@pytest.mark.parametrize(
    ("argv", "field"),
    [
        (["run", "--type", "t"], "command"),
        (["run", "--type", "t", "--"], "command"),
        (["run", "--", "true"], "types"),
        (["run", "--type", "", "--drain", "--", "true"], "type"),
        (["run", "--type", "t", "--concurrency", "0", "--drain", "--", "true"], "concurrency"),
        (["run", "--type", "t", "--lease", "0", "--drain", "--", "true"], "lease"),
        (["run", "--type", "t", "--timeout", "never", "--drain", "--", "true"], "timeout"),
        (["run", "--type", "t", "--colour", "--", "true"], "colour"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_a_bad_run_names_the_field(shell: Run, argv: list[str], field: str) -> None:
    refused = shell(argv[0], "--json", *argv[1:])
    assert (refused.code, refused.error["field"]) == (2, field)


FAILS = "import sys; sys.exit('it \\x1b]0;x\\x07broke\\nbad\\x1b[31mly') if 'bad' in sys.argv[1] else print(1)"


def test_on_a_terminal_each_task_is_told(dibs: Run, terminal: Run) -> None:
    good = dibs("add", "t", "A good one", "--payload", '{"prompt": "good"}', ok=True).line
    bad = dibs("add", "t", "--max-attempts", 1, "--payload", '{"prompt": "bad"}', ok=True).line
    told = terminal("run", "--type", "t", "--drain", "--", sys.executable, "-c", FAILS, "{prompt}").out
    assert f"took t A good one ({good})" in told
    assert re.search(rf"completed t A good one \({good}\) in \d+\.\d s", told)
    assert f"took t {bad}" in told
    assert re.search(rf"failed t {bad} after \d+\.\d s: .* exit code 1: badly; dead letter", told)
    assert "\x1b" not in told


def test_a_pipe_hears_of_what_is_wrong_only(dibs: Run, shell: Run) -> None:
    dibs("add", "t", "--payload", '{"prompt": "good"}', ok=True)
    done = shell("run", "--type", "t", "--drain", "--", sys.executable, "-c", FAILS, "{prompt}")
    assert done == (0, "", "")
    bad = dibs("add", "t", "--max-attempts", 1, "--payload", '{"prompt": "bad"}', ok=True).line
    done = shell("run", "--type", "t", "--drain", "--", sys.executable, "-c", FAILS, "{prompt}")
    assert re.fullmatch(rf"[\d:]+ failed t {bad} after \d+\.\d s: .* exit code 1: badly; dead letter\n", done.err)
