"""A worktree and a branch for each attempt: nothing is lost, nothing lies about, and nobody's checkout changes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.worker import command_app
from dibs.worker.worktrees import open_worktrees
from tests.presets.conftest import git
from tests.worker.facts import ended, eventually, first, has_status

if TYPE_CHECKING:
    from pathlib import Path

RUN = [sys.executable, "-m", "dibs.cli", "run", "--type", "code"]


def edit(number: int, text: str | None = None, **more: Any) -> dict[str, Any]:
    """A payload that has a stand-in change one line of the list."""
    return {"prompt": f"SCENE=edit:list.txt,{number},{text or f'mended-{number}'}", **more}


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def branches(repository: Path) -> list[str]:
    return git(repository, "for-each-ref", "--format=%(refname:short)", "refs/heads/dibs/").split()


def worktrees(repository: Path) -> list[str]:
    """Those beside the user's own."""
    listed = git(repository, "worktree", "list", "--porcelain").split("\n\n")
    return [part.splitlines()[0].removeprefix("worktree ") for part in listed if part][1:]


def is_untouched(repository: Path) -> bool:
    """Whether the user's checkout is as it was."""
    return git(repository, "status", "--porcelain") == "" and git(repository, "branch", "--show-current") == "main"


def left_over(repository: Path) -> list[str]:
    """What lies in the folder of worktrees, but for the lock that all share."""
    return sorted(name for name in os.listdir(repository / ".dibs" / "worktrees") if name != ".lock")


async def worked(
    repository: Path, preset: str | None = "claude", *, program: tuple[str, ...] = (), **options: Any
) -> dibs.Task:
    """One task in a worktree."""
    trees = open_worktrees(str(repository), **{key: options.pop(key) for key in ("base", "merge") if key in options})
    app = command_app(["code"], program, preset=preset, worktrees=trees)
    return await ended("memory:", app, "code", options.pop("payload", None), **{"max_attempts": 1, **options})


@pytest.mark.timeout(300)
@pytest.mark.parametrize("merging", [False, True])
def test_five_workers_and_thirty_tasks_on_one_file_lose_no_edit(repository: Path, merging: bool) -> None:
    url = f"sqlite:{repository.parent / 'dibs.db'}"
    numbers = [6 * number for number in range(30)]
    with dibs.connect_sync(url) as queue:
        tasks = {number: queue.add("code", edit(number), title=f"Mend {number}", max_attempts=1) for number in numbers}
    more = ["--merge", "agents"] if merging else []
    command = [*RUN, "--preset", "codex", "--worktree", *more, "--drain", "--url", url]
    workers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(5)]
    assert [(worker.wait(240), worker.communicate()[1]) for worker in workers] == [(0, b"")] * 5

    assert is_untouched(repository)
    assert worktrees(repository) == []
    assert left_over(repository) == []
    with dibs.connect_sync(url) as queue:
        made = {number: queue.get(task.id) for number, task in tasks.items()}
    told = {}
    for number, task in made.items():
        assert task.status == "completed", task.error
        kept = task.output["worktree"]
        assert (kept["files"], kept["insertions"], kept["deletions"], kept["changed"]) == (1, 1, 1, ["list.txt"])
        told[number] = kept
    if merging:
        assert branches(repository) == []
        lines = git(repository, "show", "agents:list.txt").splitlines()
        assert [lines[number] for number in numbers] == [f"mended-{number}" for number in numbers]
        assert len(git(repository, "rev-list", "--first-parent", "main..agents").split()) == 30
        for kept in told.values():
            git(repository, "merge-base", "--is-ancestor", kept["commit"], "agents")
    else:
        assert sorted(branches(repository)) == sorted(kept["branch"] for kept in told.values())
        for number, kept in told.items():
            assert git(repository, "rev-parse", kept["branch"]) == kept["commit"]
            assert git(repository, "show", f"{kept['branch']}:list.txt").splitlines()[number] == f"mended-{number}"
            assert git(repository, "log", "-1", "--format=%s", kept["branch"]) == f"Mend {number}"


async def test_a_failed_attempt_keeps_its_worktree_and_the_next_one_tidies_it_up(repository: Path) -> None:
    code = (
        "import os, pathlib, sys\n"
        "pathlib.Path('new.txt').write_text('half done')\n"
        "sys.exit(int(os.environ['DIBS_FENCE']) == 1)\n"
    )
    app = command_app(["code"], python(code), worktrees=open_worktrees(str(repository)))
    async with dibs.connect("memory:") as queue:
        task = await queue.add("code", max_attempts=1)
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
            failed = await queue.get(task.id)
            [kept] = worktrees(repository)
            assert kept in (failed.error or "")
            assert (repository / kept / "new.txt").read_text() == "half done"
            await queue.retry(task.id)
            await first(worker.drain())
        done = await queue.get(task.id)
    assert done.status == "completed", done.error
    assert worktrees(repository) == []
    assert left_over(repository) == []
    assert sorted(branches(repository)) == [f"dibs/{task.id}/1", f"dibs/{task.id}/2"]
    assert done.output["worktree"]["earlier"] == [f"dibs/{task.id}/1"]
    for branch in branches(repository):
        assert git(repository, "show", f"{branch}:new.txt") == "half done"
    assert is_untouched(repository)


async def test_an_attempt_that_changed_nothing_leaves_nothing(repository: Path) -> None:
    done = await worked(repository, payload={"prompt": "SCENE=success"})
    assert done.output["worktree"]["branch"] is None
    failed = await worked(repository, payload={"prompt": "SCENE=failure"})
    assert failed.status == "dead_lettered"
    limited = await worked(repository, "aider", payload={"prompt": "SCENE=failure"})
    assert limited.status == "dead_lettered"
    assert (branches(repository), worktrees(repository), left_over(repository)) == ([], [], [])


async def test_what_a_program_leaves_lying_about_is_not_committed(repository: Path) -> None:
    done = await worked(repository, "aider", payload=edit(3))
    assert done.status == "completed", done.error
    assert done.output["worktree"]["changed"] == ["list.txt"]


async def test_work_on_another_branch_or_none_is_kept(repository: Path) -> None:
    code = (
        "import pathlib, subprocess\n"
        "def git(*a): subprocess.run(['git', '-c', 'user.name=a', '-c', 'user.email=a@b', *a], check=True)\n"
        "git('checkout', '-q', '--detach')\n"
        "pathlib.Path('one.txt').write_text('1'); git('add', '.'); git('commit', '-qm', 'one')\n"
        "git('checkout', '-q', '-b', 'elsewhere')\n"
        "pathlib.Path('two.txt').write_text('2')\n"
    )
    done = await worked(repository, None, program=tuple(python(code)))
    assert done.status == "completed", done.error
    kept = done.output["worktree"]
    assert kept["changed"] == ["one.txt", "two.txt"]
    assert git(repository, "show", f"{kept['branch']}:two.txt") == "2"


async def test_a_merge_left_unfinished_is_a_failure_that_can_be_looked_at(repository: Path) -> None:
    code = (
        "import pathlib, subprocess\n"
        "def git(*a): subprocess.run(['git', '-c', 'user.name=a', '-c', 'user.email=a@b', *a])\n"
        "list = pathlib.Path('list.txt')\n"
        "git('checkout', '-q', '-b', 'side'); list.write_text('a'); git('commit', '-qam', 'a')\n"
        "git('checkout', '-q', '-'); list.write_text('b'); git('commit', '-qam', 'b'); git('merge', 'side')\n"
    )
    task = await worked(repository, None, program=tuple(python(code)))
    assert task.status == "dead_lettered"
    assert "not finished" in (task.error or "")
    assert len(worktrees(repository)) == 1


async def test_a_task_begins_with_the_work_of_those_it_depends_on(repository: Path) -> None:
    app = command_app(["code"], [], preset="claude", worktrees=open_worktrees(str(repository)))
    async with dibs.connect("memory:") as queue:
        one, two = await queue.add("code", edit(3)), await queue.add("code", edit(9))
        both = await queue.add("code", edit(15), after=[one, two])
        last = await queue.add("code", edit(21), after=[both])
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        done = await queue.get(last.id)
    assert done.status == "completed", done.error
    lines = git(repository, "show", f"{done.output['worktree']['branch']}:list.txt").splitlines()
    assert [lines[number] for number in (3, 9, 15, 21)] == ["mended-3", "mended-9", "mended-15", "mended-21"]
    assert done.output["worktree"]["insertions"] == 1


async def test_work_that_does_not_fit_together_is_a_conflict_that_names_the_file(repository: Path) -> None:
    app = command_app(["code"], [], preset="claude", worktrees=open_worktrees(str(repository)))
    async with dibs.connect("memory:") as queue:
        one, two = await queue.add("code", edit(3, "mine")), await queue.add("code", edit(3, "yours"))
        both = await queue.add("code", edit(15), after=[one, two])
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        task = await queue.get(both.id)
    assert (task.status, task.reason) == ("dead_lettered", "merge_conflict")
    assert "list.txt" in (task.error or "")


async def test_a_merge_conflict_is_a_failed_attempt_and_the_next_begins_with_what_is_there(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of two that began together conflicts; its next attempt sees the first one's work."""
    code = (
        "import os, pathlib, time\n"
        "gate = pathlib.Path(os.environ['GATE'])\n"
        "here = pathlib.Path('list.txt')\n"
        "text = here.read_text()\n"
        "(gate / os.environ['DIBS_TASK_ID']).write_text('')\n"
        "while len(list(gate.iterdir())) < 2: time.sleep(0.01)\n"
        "here.write_text(os.environ['DIBS_TASK_ID'] + '\\n' + text)\n"
    )
    gate = repository.parent / "gate"
    gate.mkdir()
    monkeypatch.setenv("GATE", str(gate))
    app = command_app(["code"], python(code), worktrees=open_worktrees(str(repository), merge="agents"))
    async with dibs.connect("memory:") as queue:
        tasks = [await queue.add("code", retry="immediate", max_attempts=2) for _ in range(2)]
        async with dibs.Worker(app, queue, concurrency=2) as worker:
            await first(worker.drain())
        ends = [await queue.get(task.id) for task in tasks]
        reasons = [attempt.reason for task in tasks for attempt in await queue.history(task.id)]
    assert [task.status for task in ends] == ["completed", "completed"]
    assert reasons.count("merge_conflict") == 1
    lines = git(repository, "show", "agents:list.txt").splitlines()
    assert {task.id for task in tasks} == set(lines[:2])
    # The branch of the attempt that conflicted is kept.
    assert len(branches(repository)) == 1


@pytest.mark.timeout(120)
def test_a_killed_worker_leaves_nothing_that_the_next_attempt_does_not_find(repository: Path) -> None:
    url = f"sqlite:{repository.parent / 'dibs.db'}"
    code = (
        "import os, pathlib, time\n"
        "pathlib.Path('new.txt').write_text('half done')\n"
        "pathlib.Path(os.environ['BEGUN']).write_text('')\n"
        "time.sleep(600 if os.environ['DIBS_FENCE'] == '1' else 0)\n"
    )
    begun = repository.parent / "begun"
    environment = {**os.environ, "BEGUN": str(begun)}
    with dibs.connect_sync(url) as queue:
        task = queue.add("code", max_attempts=3, retry="immediate")
    command = [*RUN, "--worktree", "--drain", "--url", url, "--", *python(code)]
    worker = subprocess.Popen(command, env=environment)
    asyncio.run(eventually(begun.exists))
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    assert len(worktrees(repository)) == 1
    with dibs.connect_sync(url) as queue:
        queue.renew((task.id, 1), lease=1)  # nobody is left who needs it
    # A git that is killed leaves its lock behind.
    (repository / ".git" / "worktrees" / f"{task.id}-1" / "index.lock").write_text("")
    subprocess.run(command, env=environment, check=True, timeout=100)
    with dibs.connect_sync(url) as queue:
        done = queue.get(task.id)
    assert (done.status, done.fence) == ("completed", 2)
    assert (worktrees(repository), left_over(repository)) == ([], [])
    assert sorted(branches(repository)) == [f"dibs/{task.id}/1", f"dibs/{task.id}/2"]
    assert git(repository, "show", f"dibs/{task.id}/1:new.txt") == "half done"
    assert is_untouched(repository)


async def test_a_worktree_that_was_not_even_made_is_cleared_away(repository: Path) -> None:
    trees = open_worktrees(str(repository))
    app = command_app(["code"], [], preset="claude", worktrees=trees)
    async with dibs.connect("memory:") as queue:
        task = await queue.add("code", edit(3))
        [claim] = await queue.claim("dead", types=["code"])
        tree = trees.take(claim)
        # As if its worker had died while git made it.
        tree.let_go(gone=False)
        lock = f"{tree.path}.lock"
        open(lock, "w").close()
        os.unlink(os.path.join(tree.path, "list.txt"))
        await queue.release(claim)
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        assert await has_status(queue, task.id, "completed")
    assert branches(repository) == [f"dibs/{task.id}/2"]
    assert left_over(repository) == []


async def test_somebody_who_still_works_there_is_left_alone(repository: Path) -> None:
    trees = open_worktrees(str(repository))
    app = command_app(["code"], [], preset="claude", worktrees=trees)
    async with dibs.connect("memory:") as queue:
        task = await queue.add("code", edit(3))
        [claim] = await queue.claim("slow", types=["code"])
        tree = trees.take(claim)
        await queue.release(claim)
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        assert await has_status(queue, task.id, "completed")
        assert worktrees(repository) == [tree.path]
        assert tree.leave() is None
    assert left_over(repository) == []


def test_a_lock_of_git_is_waited_for(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = open_worktrees(str(repository))
    lock = repository / ".git" / "index.lock"
    lock.write_text("")
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        lock.unlink(missing_ok=True)

    monkeypatch.setattr("dibs.worker.repository.time.sleep", sleep)
    trees.repository.git("update-index", "--refresh")
    assert waits


@pytest.mark.parametrize(
    ("options", "field", "said"),
    [
        (["--base", "nowhere"], "base", "nowhere"),
        (["--base=-x"], "base", "-x"),
        (["--merge", "main"], "merge", "checked out"),
        (["--merge", "a..b"], "merge", "name of a branch"),
    ],
)
def test_bad_options_are_refused(repository: Path, options: list[str], field: str, said: str) -> None:
    assert_refused([*RUN, "--worktree", *options, "--json", "--", "true"], field, said)
    assert is_untouched(repository)


def test_a_folder_without_git_or_without_a_commit_is_refused(programs: Path, tmp_path: Path) -> None:
    assert_refused([*RUN, "--worktree", "--json", "--", "true"], "worktree", "git init")
    git(tmp_path / "here", "init", "--quiet")
    assert_refused([*RUN, "--worktree", "--json", "--", "true"], "worktree", "no commit yet")
    assert_refused([*RUN, "--merge", "agents", "--json", "--", "true"], "merge", "--worktree")
    assert_refused([*RUN, "--preset", "clod", "--json"], "preset", "claude")
    assert not (tmp_path / "here" / ".dibs").exists()


def test_a_program_that_is_not_installed_is_said_at_once(programs: Path) -> None:
    (programs / "gemini").unlink()
    assert_refused([*RUN, "--preset", "gemini", "--json"], "preset", "not installed")


def assert_refused(command: list[str], field: str, said: str) -> None:
    import json

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done
    error = json.loads(done.stderr)
    assert error["field"] == field
    assert said in error["message"]
