"""Chapter 5. Everything from a shell: scripts are agents too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.story.shell import Shell


def test_a_shell_script_adds_claims_and_completes(shell: Shell) -> None:
    # `dibs add` prints the id. The store is a file, .dibs/dibs.db, made where you stand.
    added = shell.run("""dibs add research "What is CORS?" --payload '{"topic": "CORS"}'""").stdout.strip()
    assert (shell.folder / ".dibs" / "dibs.db").exists()

    claim = json.loads(shell.run("dibs claim --agent scout-1 --type research").stdout)
    assert (claim["task"]["id"], claim["fence"]) == (added, 1)

    shell.run(f"""dibs complete {added} --fence 1 --output '"a browser rule"' --cost 0.02""")
    task = json.loads(shell.run(f"dibs show {added} --json").stdout)
    assert (task["status"], task["output"]) == ("completed", "a browser rule")


def test_nothing_to_do_is_exit_code_3(shell: Shell) -> None:
    ended = shell.run("dibs claim --agent scout-1", check=False)
    assert (ended.returncode, ended.stdout) == (3, "")


def test_errors_are_exit_codes_and_one_line(shell: Shell) -> None:
    assert shell.run("dibs show task_nowhere", check=False).returncode == 4
    assert shell.run("dibs add code --priority urgent", check=False).returncode == 2

    task = shell.run("dibs add code").stdout.strip()
    stale = shell.run(f"dibs complete {task} --fence 7 --json", check=False)
    assert stale.returncode == 5
    assert json.loads(stale.stderr)["code"] == "lease_lost"


def test_any_command_becomes_an_agent(shell: Shell) -> None:
    shell.run("""dibs add shout --payload '{"prompt": "hello there"}' > id""")
    # Each {…} is replaced inside its argument; there is no shell in between, so nothing needs quoting.
    shell.run("""dibs run --type shout --drain -- tr a-z A-Z""")
    task = json.loads(shell.run("dibs show $(cat id) --json").stdout)
    # What `tr` read on standard input was the claim, as JSON; what it wrote became the output.
    assert "HELLO THERE" in json.dumps(task["output"])

    shell.run("""dibs add say --payload '{"prompt": "hello; rm -rf /"}' > id""")
    shell.run("dibs run --type say --drain -- echo {prompt}")
    said = json.loads(shell.run("dibs show $(cat id) --json").stdout)
    assert said["output"].strip() == "hello; rm -rf /"


def test_a_command_that_ends_well_is_never_taken_for_one_that_was_killed(shell: Shell) -> None:
    # A command closes its output a moment before it has ended; whoever kills its group then, kills it.
    graph = {"title": "Twenty at once", "tasks": [{"type": "quick"}] * 20}
    (shell.folder / "tasks.json").write_text(json.dumps(graph))
    shell.run("dibs dag submit tasks.json")
    shell.run("dibs run --type quick --concurrency 2 --drain -- echo done")
    tasks = json.loads(shell.run("dibs ls --json").stdout)["items"]
    assert [(task["status"], task["attempts"]) for task in tasks] == [("completed", 1)] * 20


def test_a_failing_command_leaves_its_exit_code_and_last_words(shell: Shell) -> None:
    shell.run("dibs add broken --max-attempts 1 > id")
    shell.run("""dibs run --type broken --drain -- bash -c 'echo "no such model" >&2; exit 9'""")
    task = json.loads(shell.run("dibs show $(cat id) --json").stdout)
    assert (task["status"], task["exit_code"]) == ("dead_lettered", 9)
    assert "no such model" in task["error"]


def test_a_graph_is_a_file(shell: Shell) -> None:
    (shell.folder / "page.yaml").write_text(
        """
title: Landing page
tasks:
  - {ref: facts, type: research, title: Research competitors}
  - {ref: build, type: code, title: Build the page, after: [facts]}
"""
    )
    dag = shell.run("dibs dag submit page.yaml").stdout.strip()
    drawn = shell.run(f"dibs tree {dag}").stdout
    assert drawn.index("Research competitors") < drawn.index("Build the page")

    build = json.loads(shell.run("dibs ls --type code --json").stdout)["items"][0]["id"]
    assert "waits for" in shell.run(f"dibs why {build}").stdout

    shell.run("dibs run --type research --type code --drain -- echo done")
    assert shell.run(f"dibs wait {dag} --timeout 5s").stdout.strip() == "completed"
