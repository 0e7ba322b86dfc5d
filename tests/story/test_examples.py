"""The examples run as they stand."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from tests.server.running import in_loop

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
    found = json.loads(shell.run("dibs claim --agent ada --wait 60s --json").stdout)["task"]
    assert (found["type"], found["title"], found["tags"]) == ("investigate", "Why did Parse it fail?", ["of:code"])
    assert found["payload"] == {"task": claim["task"]["id"], "error": "no such module", "was": {"n": 7}}


def test_a_goal_is_taken_apart_and_grows_while_it_runs(shell: Shell) -> None:
    shutil.copy(EXAMPLES / "orchestrator.py", shell.folder)
    dag = shell.run("python orchestrator.py a landing page for Acme").stdout.strip()
    # Whoever does not know whether it was submitted says it again.
    assert shell.run("python orchestrator.py a landing page for Acme").stdout.strip() == dag
    added = shell.run(f"python orchestrator.py --more {dag} also in German").stdout.split()
    shell.run("dibs worker orchestrator:app --drain")
    assert shell.run(f"dibs wait {dag} --timeout 5s").stdout == "completed\n"

    tasks = json.loads(shell.run(f"dibs dag show {dag} --json").stdout)["tasks"]
    kinds = ["deploy", "design", "implement", "implement", "implement", "requirements", "research", "research"]
    assert sorted(task["type"] for task in tasks) == kinds
    [deploy] = [task for task in tasks if task["type"] == "deploy"]
    assert set(added) <= set(deploy["depends_on"])
    assert deploy["output"] == {"shipped": "a landing page for Acme", "parts": 4}
    [needs] = [task for task in tasks if task["type"] == "requirements"]
    [spawned] = [task for task in tasks if task["parent_id"] == needs["id"]]
    assert needs["output"] == {"from": ["design", "research"], "and": spawned["output"]}


def test_a_plan_that_nobody_can_do_is_refused() -> None:
    orchestrator = _load("orchestrator.py")
    with pytest.raises(ValueError, match="nobody does those"):
        orchestrator.tasks_of('[{"ref": "a", "type": "rm", "what": "everything"}]')


@in_loop
async def test_the_buyer_asks_before_it_buys() -> None:
    app = _load("pydantic_ai_buyer.py").app
    async with dibs.connect("memory:") as queue:
        task = await queue.add("buy", {"prompt": "a chair and a table"})
        await _worked(app, queue)
        [question] = await queue.inbox()
        assert question.question == "May I spend 320 euros?"
        await queue.answer(question, True)
        await _worked(app, queue)
        bought = await queue.get(task.id)
        assert (bought.status, bought.output) == ("completed", "A chair and a table were bought.")
        # Three model calls in two runs: none of them twice.
        assert (bought.tokens_in, bought.turns) == (300, 3)


@in_loop
async def test_the_help_desk_hands_over() -> None:
    app = _load("openai_agents_desk.py").app
    async with dibs.connect("memory:") as queue:
        task = await queue.add("help", {"prompt": "My invoice 17 is wrong."})
        await _worked(app, queue)
        helped = await queue.get(task.id)
        assert (helped.status, helped.output) == ("completed", "It is 170 euros, as agreed.")
        assert helped.tokens_in == 150


@in_loop
async def test_the_report_waits_for_a_word_and_goes_on() -> None:
    app = _load("langgraph_report.py").app
    async with dibs.connect("memory:") as queue:
        task = await queue.add("report", {"topic": "tea"})
        await _worked(app, queue)
        [question] = await queue.inbox()
        assert question.question == "Is this good? All about tea."
        await queue.answer(question, True)
        await _worked(app, queue)
        report = await queue.get(task.id)
        assert (report.status, report.output["report"]) == ("completed", "All about tea.")
        assert (report.tokens_in, report.turns) == (30, 1)


def _load(file: str) -> Any:
    """An example as a module: what it imports takes longer than what it does."""
    spec = spec_from_file_location(f"example_{file.removesuffix('.py')}", EXAMPLES / file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def _worked(app: dibs.App, queue: Any) -> None:
    async with dibs.Worker(app, queue, agent="ada") as worker:
        await worker.drain()


def test_every_example_is_listed_and_run() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    here = Path(__file__).read_text()
    for file in EXAMPLES.iterdir():
        if file.is_file() and file.name != "README.md":
            assert f"({file.name})" in listed
            assert file.name in here
