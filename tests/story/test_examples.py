"""The examples run as they stand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.story.shell import Shell

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_newsletter_is_written(shell: Shell) -> None:
    shutil.copy(EXAMPLES / "newsletter.py", shell.folder)
    dag = shell.run("python newsletter.py coffee tea").stdout.strip()
    shell.run("dibs worker newsletter:app --drain")
    assert shell.run(f"dibs wait {dag} --timeout 5s").stdout == "completed\n"

    tasks = json.loads(shell.run(f"dibs dag show {dag} --json").stdout)["tasks"]
    [issue] = [task for task in tasks if task["type"] == "issue"]
    assert issue["output"]["headline"] == "<a headline over coffee, tea>"
    assert issue["output"]["articles"]["tea"]["picture"] == "tea.png"
    assert sorted(task["type"] for task in tasks) == ["article", "article", "issue", "picture", "picture"]


def test_the_shell_agent_counts_words(shell: Shell) -> None:
    shutil.copy(EXAMPLES / "shell_agent.sh", shell.folder)
    shell.run("""dibs add count --payload '{"text": "to be or not to be"}' > good""")
    shell.run("dibs add count --payload '{}' > bad")
    shell.run("./shell_agent.sh")

    good = json.loads(shell.run("dibs show $(cat good) --json").stdout)
    assert (good["status"], good["output"]) == ("completed", {"words": 6})
    bad = json.loads(shell.run("dibs show $(cat bad) --json").stdout)
    assert (bad["status"], bad["reason"]) == ("dead_lettered", "invalid_input")


def test_an_audit_is_scheduled_for_every_weekday_night(shell: Shell) -> None:
    shutil.copy(EXAMPLES / "nightly_audit.yaml", shell.folder)
    assert shell.run("dibs schedule add --file nightly_audit.yaml").stdout == "nightly-audit\n"
    runs = json.loads(shell.run("dibs schedule next nightly-audit --count 5 --json").stdout)
    assert all("T02:30:00+0" in run["local"] for run in runs)


def test_a_dead_letter_is_looked_into(shell: Shell) -> None:
    shutil.copy(EXAMPLES / "repair.yaml", shell.folder)
    assert shell.run("dibs trigger add --file repair.yaml").stdout == "repair\n"
    shell.run("""dibs add code "Parse it" --payload '{"n": 7}' --max-attempts 1""")
    claim = json.loads(shell.run("dibs claim --agent ada --json").stdout)
    shell.run(f"dibs fail {claim['task']['id']} --fence {claim['fence']} --error 'no such module'")
    found = json.loads(shell.run("dibs claim --agent ada --wait 10s --json").stdout)["task"]
    assert (found["type"], found["title"], found["tags"]) == ("investigate", "Why did Parse it fail?", ["of:code"])
    assert found["payload"] == {"task": claim["task"]["id"], "error": "no such module", "was": {"n": 7}}


def test_every_example_is_listed_and_run() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    here = Path(__file__).read_text()
    for file in EXAMPLES.iterdir():
        if file.is_file() and file.name != "README.md":
            assert f"({file.name})" in listed
            assert file.name in here
