"""Work in a worktree is tested there before it is merged, and whoever is killed on the way leaves nothing to be done
twice: neither the work nor the merge."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from msgspec import to_builtins

import dibs
from dibs import keeping, settling
from dibs.worker import command_app
from dibs.worker.worktrees import Tree, Worktrees, open_worktrees
from tests.presets.conftest import git
from tests.presets.test_worktrees import (
    RUN,
    branches,
    edit,
    is_untouched,
    left_over,
    python,
    worked,
    worktrees,
)
from tests.servers.serving import SECRET
from tests.servers.threaded import threaded
from tests.worker.facts import eventually, first, lines

if TYPE_CHECKING:
    from pathlib import Path

TESTS = (
    "import json, os, pathlib, sys\n"
    "made = json.load(sys.stdin)['worktree']\n"
    "here = os.path.realpath('.')\n"
    "assert here == os.environ['DIBS_WORKTREE'] == os.environ['PWD'], here\n"
    "assert made['branch'] == os.environ['DIBS_BRANCH']\n"
    "pathlib.Path('built.o').write_text('what a test leaves behind')\n"
    "sys.exit('mended' not in pathlib.Path('list.txt').read_text())\n"
)
AGENT = (
    "import os, pathlib\n"
    "with open(os.environ['WORKED'], 'a') as file: file.write(os.environ['DIBS_FENCE'] + '\\n')\n"
    "path = pathlib.Path('list.txt')\n"
    "path.write_text(path.read_text().replace('line 7\\n', 'mended\\n'))\n"
)


def passes(code: str = TESTS) -> dict[str, Any]:
    """A contract with a command."""
    return {"validation": "command", "argv": python(code)}


@pytest.mark.parametrize("merge", [None, "agents"])
async def test_commands_of_a_contract_run_in_the_worktree(repository: Path, merge: str | None) -> None:
    options: dict[str, Any] = {} if merge is None else {"merge": merge}
    task = await worked(repository, payload=edit(7), expects=passes(), **options)
    assert task.status == "completed", task.error
    made = task.output["worktree"]
    # What the test left behind is nobody's work.
    assert made["changed"] == ["list.txt"]
    assert (worktrees(repository), left_over(repository)) == ([], [])
    assert made.get("merged") == merge
    assert branches(repository) == ([] if merge else [made["branch"]])
    assert git(repository, "show", f"{merge or made['branch']}:list.txt").splitlines()[7] == "mended-7"
    assert is_untouched(repository)


@pytest.mark.parametrize(
    "expects",
    [
        passes(),
        {"validation": "json-schema", "schema": {"required": ["approved"]}},
    ],
    ids=["a command", "a schema"],
)
async def test_work_that_is_refused_is_not_merged_and_can_be_looked_at(
    repository: Path, expects: dict[str, Any]
) -> None:
    task = await worked(repository, payload=edit(7, "spoilt"), expects=expects, merge="agents")
    assert (task.status, task.reason) == ("dead_lettered", "invalid_output")
    [kept] = worktrees(repository)
    assert kept in (task.error or "")
    assert (repository / kept / "list.txt").read_text().splitlines()[7] == "spoilt"
    assert branches(repository) == [f"dibs/{task.id}/1"]
    assert git(repository, "branch", "--list", "agents") == ""


async def test_the_others_of_a_group_are_tested_there_too(repository: Path, tmp_path: Path) -> None:
    tested = tmp_path / "tested"
    notes = f"import os; open({str(tested)!r}, 'a').write(os.environ['DIBS_TASK_ID'] + '\\n')\n"
    trees = open_worktrees(str(repository), merge="agents")
    app = command_app(["code"], [], preset="claude", worktrees=trees)
    async with dibs.connect("memory:") as queue:
        options: dict[str, Any] = {"coalesce_key": "k", "coalesce_window": 0, "max_attempts": 1}
        expects = passes(notes + TESTS)
        new = [dibs.NewTask("code", edit(7), expects=expects, **options) for _ in range(2)]
        tasks = await queue.add_many(new)
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        ends = [await queue.get(task.id) for task in tasks]
    assert [task.status for task in ends] == ["completed"] * 2, [task.error for task in ends]
    assert sorted(lines(tested)) == sorted(task.id for task in tasks)
    assert [task.output["worktree"]["merged"] for task in ends] == ["agents"] * 2
    assert left_over(repository) == []


async def test_on_a_server_it_is_the_same(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIBS_TOKEN", SECRET)
    trees = open_worktrees(str(repository), merge="agents")
    app = command_app(["code"], [], preset="claude", worktrees=trees)
    schema = {"validation": "json-schema", "schema": {"required": ["approved"]}}
    with threaded(f"sqlite:{tmp_path / 'dibs.db'}") as url:
        async with dibs.connect(url) as queue:
            good = await queue.add("code", edit(7), expects=passes(), max_attempts=1)
            bad = await queue.add("code", edit(9), expects=schema, max_attempts=1)
            async with dibs.Worker(app, queue) as worker:
                await first(worker.drain())
            good, bad = await queue.get(good.id), await queue.get(bad.id)
    assert (good.status, good.output["worktree"]["merged"]) == ("completed", "agents"), good.error
    assert (bad.status, bad.reason) == ("dead_lettered", "invalid_output")
    assert [text for text in git(repository, "show", "agents:list.txt").splitlines() if "mended" in text] == [
        "mended-7"
    ]


class Killed:
    """A worker that runs in a repository, and is killed there once."""

    def __init__(self, repository: Path, *options: str) -> None:
        self.repository = repository
        self.worked = repository.parent / "worked"
        self.url = f"sqlite:{repository.parent / 'dibs.db'}"
        self.command = [*RUN, "--worktree", *options, "--drain", "--url", self.url, "--"]
        self.environment = {**os.environ, "WORKED": str(self.worked)}

    def add(self, **options: Any) -> dibs.Task:
        with dibs.connect_sync(self.url) as queue:
            return queue.add("code", max_attempts=3, retry="immediate", **options)

    def get(self, task: dibs.Task) -> dibs.Task:
        with dibs.connect_sync(self.url) as queue:
            return queue.get(task.id)

    def start(self, **more: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*self.command, *python(AGENT)], env={**self.environment, **more})

    def again(self, task: dibs.Task) -> None:
        """Once nobody holds the task any more. Until then its lease had to last, however slow the machine is."""
        with dibs.connect_sync(self.url) as queue:
            queue.renew((task.id, 1), lease=1)
        with self.start() as worker:
            assert worker.wait(60) == 0


@pytest.mark.parametrize(
    ("moment", "merged"),
    [("merge-tree", False), ("worktree remove", True), ("branch -D", True), ("at the end", True)],
)
def test_a_worker_that_is_killed_when_it_has_merged_does_not_do_the_task_again(
    repository: Path, tmp_path: Path, moment: str, merged: bool
) -> None:
    """It is killed by a git that it calls: before it merged, with it merged, and with the worktree and its branch gone;
    or when all of that is done and only the task is not completed."""
    git(repository, "branch", "agents")
    killed = Killed(repository, "--merge", "agents")
    task = killed.add()
    real = shutil.which("git")
    folder = tmp_path / "killing"
    folder.mkdir()
    after = f'"{real}" "$@"; ' if moment == "at the end" else ""
    pattern = "branch -D" if moment == "at the end" else moment
    (folder / "git").write_text(
        "#!/bin/sh\n"
        f'case "$*" in *" {pattern}"*) if [ -e "{killed.worked}" ]; then {after}kill -9 $PPID; exit 1; fi;; esac\n'
        f'exec "{real}" "$@"\n'
    )
    (folder / "git").chmod(0o755)
    with killed.start(PATH=f"{folder}{os.pathsep}{os.environ['PATH']}") as worker:
        assert worker.wait(60) == -signal.SIGKILL
    assert killed.get(task).status == "running"
    assert ("mended" in git(repository, "show", "agents:list.txt")) == merged

    killed.again(task)
    done = killed.get(task)
    assert (done.status, done.fence) == ("completed", 2), done.error
    assert lines(killed.worked) == ["1"]
    made = done.output["worktree"]
    assert (made["merged"], made["changed"]) == ("agents", ["list.txt"])
    merges = git(repository, "rev-list", "--merges", "main..agents").split()
    assert merges == [made["merge_commit"]]
    assert git(repository, "rev-parse", f"{made['merge_commit']}^2") == made["commit"]
    assert (branches(repository), worktrees(repository), left_over(repository)) == ([], [], [])
    assert is_untouched(repository)


@pytest.mark.parametrize("is_gone", [False, True], ids=["", "whose worktree somebody removed"])
def test_what_a_killed_worker_was_testing_is_only_tested_again(repository: Path, tmp_path: Path, is_gone: bool) -> None:
    tested = tmp_path / "tested"
    hangs_once = (
        f"import os, time; p = {str(tested)!r}; again = os.path.exists(p)\n"
        "open(p, 'a').write('x\\n')\n"
        "again or time.sleep(600)\n"
    )
    killed = Killed(repository)
    task = killed.add(expects=passes(hangs_once + TESTS))
    with killed.start() as worker:
        asyncio.run(eventually(lambda: lines(tested)))
        worker.kill()
    [kept] = worktrees(repository)
    if is_gone:
        git(repository, "worktree", "remove", "--force", kept)
    killed.again(task)
    done = killed.get(task)
    assert (done.status, done.fence) == ("completed", 2), done.error
    assert (lines(killed.worked), len(lines(tested))) == (["1"], 2)
    assert done.output["worktree"]["branch"] == f"dibs/{task.id}/1"
    assert branches(repository) == [f"dibs/{task.id}/1"]
    assert (worktrees(repository), left_over(repository)) == ([], [])
    assert git(repository, "show", f"dibs/{task.id}/1:list.txt").splitlines()[7] == "mended"


def test_work_whose_branch_was_changed_meanwhile_is_done_again(repository: Path, tmp_path: Path) -> None:
    """Nobody can say what was tested then."""
    tested = tmp_path / "tested"
    killed = Killed(repository)
    hangs = (
        f"import os, time; open({str(tested)!r}, 'a').write('x\\n')\n"
        "os.environ['DIBS_FENCE'] == '1' and time.sleep(600)\n"
    )
    task = killed.add(expects=passes(hangs))
    with killed.start() as worker:
        asyncio.run(eventually(lambda: lines(tested)))
        worker.kill()
    [kept] = worktrees(repository)
    git(repository / kept, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-qm", "mine")
    killed.again(task)
    done = killed.get(task)
    assert (done.status, lines(killed.worked)) == ("completed", ["1", "2"]), done.error
    assert sorted(branches(repository)) == [f"dibs/{task.id}/1", f"dibs/{task.id}/2"]


async def test_a_branch_stays_though_its_worker_died_when_it_had_removed_the_worktree(repository: Path) -> None:
    trees = open_worktrees(str(repository))
    app = command_app(["code"], [], preset="claude", worktrees=trees)
    async with dibs.connect("memory:") as queue:
        task = await queue.add("code", edit(3))
        [claim] = await queue.claim("dead", types=["code"])
        tree = trees.take(claim)
        (repository / tree.path / "new.txt").write_text("done")
        tree.gather()
        git(repository, "worktree", "remove", "--force", tree.path)
        tree.let_go(gone=False)
        await queue.release(claim)
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
    assert sorted(branches(repository)) == [f"dibs/{task.id}/1", f"dibs/{task.id}/2"]
    assert git(repository, "show", f"dibs/{task.id}/1:new.txt") == "done"
    assert left_over(repository) == []


async def test_a_worktree_that_cannot_be_looked_at_changes_nothing_about_how_it_ended(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Worktrees) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    trees = open_worktrees(str(repository))
    app = command_app(["code"], python("import sys; sys.exit(7)"), worktrees=trees)
    real = Tree.leave

    def leave(self: Tree) -> str | None:
        with monkeypatch.context() as patch:
            patch.setattr(Worktrees, "alone", full)
            return real(self)

    monkeypatch.setattr(Tree, "leave", leave)
    async with dibs.connect("memory:") as queue:
        task = await queue.add("code", max_attempts=2, retry="immediate")
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        assert [attempt.exit_code for attempt in await queue.history(task.id)] == [7, 7]
    # It is let go of all the same: the second attempt has tidied up after the first.
    assert left_over(repository) == [f"{task.id}-2", f"{task.id}-2.lock"]


@pytest.mark.parametrize("far", [False, True], ids=["on a store", "on a server"])
async def test_what_was_merged_and_not_completed_is_completed_by_the_next(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, far: bool
) -> None:
    monkeypatch.setenv("DIBS_TOKEN", SECRET)
    trees = open_worktrees(str(repository), merge="agents")
    app = command_app(["code"], python("raise SystemExit('it is done')"), worktrees=trees)
    with ExitStack() as stack:
        url = f"sqlite:{tmp_path / 'dibs.db'}"
        if far:
            url = stack.enter_context(threaded(url))
        async with dibs.connect(url) as queue:
            task = await queue.add("code", max_attempts=1)
            [claim] = await queue.claim("dead", types=["code"])
            tree = trees.take(claim)
            (repository / tree.path / "new.txt").write_text("done")
            output = {"said": "all done", "worktree": to_builtins(tree.gather())}
            await keeping.keep(queue.store, claim, settling.completed(claim, output), tree.path)
            merged = tree.finish().merge_commit
            await queue.release(claim)
            async with dibs.Worker(app, queue) as worker:
                await first(worker.drain())
            done = await queue.get(task.id)
    assert done.status == "completed", done.error
    assert (done.output["said"], done.output["worktree"]["merge_commit"]) == ("all done", merged)
    # The branch began with it.
    assert git(repository, "rev-parse", "agents") == merged == done.output["worktree"]["commit"]
    assert (branches(repository), left_over(repository)) == ([], [])
