"""A git worktree and a branch for each attempt, so that many agents can share one repository.

The fence that proves an attempt also names its worktree (`.dibs/worktrees/TASK-FENCE`) and its branch
(`dibs/TASK/FENCE`): no two attempts ever share one, and the user's checkout, index and branches are not touched.

    the agent is done -> what is not committed is committed; commands that the output must pass run in the worktree
    completed ---------> it is merged, if that is asked for; the worktree goes, the branch stays, if it has anything
    otherwise ---------> the worktree stays as it is, to be looked at; if nothing was changed, both go
    the next attempt --> what the one before left in its worktree is committed on its branch, and the worktree goes;
                         or, if that one was done and only cut short, goes on with its worktree (`resume`)

While an attempt lasts, its worker holds a lock (flock) on a file beside the worktree. A worker that was killed holds
none: that is how its leftovers are told from somebody's work.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct, ValidationError, convert, field

from dibs.worker.repository import GitTrouble, MergeConflict, check_base, check_target, repository_around

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.model.claim import Claim
    from dibs.worker.repository import Repository

PREFIX = "dibs"
MAX_FILES = 100
"""Files that an output lists by name."""

_READY = b"ready\n"
_AMID = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "rebase-merge", "rebase-apply")
"""What git keeps while something is unfinished."""


class Made(Struct, kw_only=True, omit_defaults=True):
    """What an attempt left in the repository, as its output tells it under `worktree`.

    `branch` is None where nothing was changed, or where all of it was merged. `base` is the commit that it began with.
    `merged`: the branch that it was merged into. `earlier`: branches with the work of attempts before.
    """

    branch: str | None
    base: str
    commit: str
    files: int
    insertions: int
    deletions: int
    changed: list[str] = field(default_factory=list)
    merged: str | None = None
    merge_commit: str | None = None
    earlier: list[str] = field(default_factory=list)


class Worktrees:
    """The worktrees of one repository. `base`: where attempts begin, else with what is checked out then. `merge`: the
    branch that finished work is merged into, and where attempts begin once it is there."""

    def __init__(self, repository: Repository, base: str | None = None, merge: str | None = None) -> None:
        self.repository = repository
        self.base = base
        self.merge = merge
        self.root = os.path.join(repository.top, ".dibs", "worktrees")

    def take(self, claim: Claim, debris: tuple[str, ...] = ()) -> Tree:
        """A fresh worktree for this claim. `debris`: patterns of files that are nobody's work. Raises GitTrouble, and
        MergeConflict if the tasks that it builds on do not fit together."""
        self._prepare()
        task = claim.task
        tree = Tree(self, task.id, claim.fence, debris, title=task.title or task.type)
        tree.hold()
        try:
            with self.alone():
                tree.earlier = self._sweep(task.id, claim.fence)
                tree.add(self._start(claim))
        except BaseException:
            tree.let_go(gone=not os.path.exists(tree.path))
            raise
        return tree

    def resume(self, claim: Claim) -> Tree | None:
        """The worktree of an earlier attempt whose work is done and was cut short before it was completed: `gathered`
        already, and held again. None: there is no such attempt, somebody is still there, or its work is gone."""
        made, kept = claim.made, _kept_in(claim)
        if made is None or kept is None:
            return None
        self._prepare()
        tree = Tree(self, claim.task.id, made.fence, (), title=claim.task.title or claim.task.type)
        if made.folder != tree.path:
            return None
        with self.alone():
            try:
                if tree.hold_again(kept):
                    return tree
            except BaseException:
                tree.let_go(gone=False)
                raise
        return None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other worker adds, removes or merges meanwhile."""
        descriptor = os.open(os.path.join(self.root, ".lock"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _prepare(self) -> None:
        os.makedirs(self.root, exist_ok=True)
        ignore = os.path.join(self.repository.top, ".dibs", ".gitignore")
        if not os.path.exists(ignore):
            with open(ignore, "w") as file:
                file.write("*\n")

    def _start(self, claim: Claim) -> str:
        """The commit that an attempt begins with: the branch to merge into; else the base, and the work of the tasks
        that it depends on."""
        repository = self.repository
        if self.merge is not None:
            tip = repository.commit_of(f"refs/heads/{self.merge}")
            if tip is not None:
                return tip
        start = repository.git("rev-parse", "--verify", f"{self.base or 'HEAD'}^{{commit}}")
        for name, output in claim.inputs.items():
            commit = _commit_in(output)
            if commit is None or repository.commit_of(commit) is None:
                continue
            if repository.contains(commit, start):
                start = commit
            elif not repository.contains(start, commit):
                start = repository.merged(
                    start, commit, f"Work of {name}", our_name="the work beside it", their_name=f"the work of {name}"
                )
        return start

    def _sweep(self, task_id: str, fence: int) -> list[str]:
        """Tidy up after earlier attempts at a task; the branches that hold their work."""
        for name in sorted(os.listdir(self.root)):
            before = _fence_of(name, task_id)
            if before is not None and before < fence:
                Tree(self, task_id, before, (), title="What an attempt left that did not complete").tidy()
        self.repository.asked("worktree", "prune")
        listed = ("for-each-ref", "--format=%(refname:short)", f"refs/heads/{PREFIX}/{task_id}/")
        return self.repository.git(*listed).split()


class Tree:
    """The worktree of one attempt: `hold`, `add`, `gather`, then `finish` or `leave`. `tidy` is for whoever comes
    after, and `hold_again` for whoever goes on with it. `made` is what was gathered."""

    def __init__(self, worktrees: Worktrees, task_id: str, fence: int, debris: tuple[str, ...], *, title: str) -> None:
        self.path = os.path.join(worktrees.root, f"{task_id}-{fence}")
        self.branch = f"{PREFIX}/{task_id}/{fence}"
        self.start = ""
        self.earlier: list[str] = []
        self.made: Made | None = None
        self._worktrees = worktrees
        self._repository = worktrees.repository
        self._ref = f"refs/heads/{self.branch}"
        self._task_id = task_id
        self._debris = debris
        self._title = title
        self._lock: int | None = None

    # Its life

    def hold(self) -> None:
        """It is being worked in, as long as this process lives."""
        self._lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def add(self, start: str) -> None:
        """Make it, from this commit."""
        self._repository.git("worktree", "add", "--quiet", "--no-track", "-b", self.branch, self.path, start)
        self.start = start
        assert self._lock is not None
        os.write(self._lock, _READY)

    def gather(self) -> Made:
        """The agent is done: have the branch hold all that it did. The worktree stays. Raises GitTrouble and
        MergeConflict; then `leave` it."""
        self.made = self._measured(self._commit())
        return self.made

    @property
    def environment(self) -> dict[str, str]:
        """What is added to that of a program which runs in it. Some believe `PWD` more than where they are."""
        return {"PWD": self.path, "DIBS_WORKTREE": self.path, "DIBS_BRANCH": self.branch}

    @property
    def merges(self) -> bool:
        """Whether there is something to merge."""
        return self._worktrees.merge is not None and self.made is not None and self.made.commit != self.start

    @property
    def is_merged(self) -> bool:
        """Whether that has been done."""
        return self.merges and self._merge_commit() is not None

    def finish(self) -> Made:
        """Merge what was gathered, if that is asked for, and remove the worktree. May be said again after a crash:
        nothing is merged twice. Raises GitTrouble and MergeConflict; then `leave` it."""
        repository, made, target = self._repository, self.made, self._worktrees.merge
        assert made is not None
        with self._worktrees.alone():
            if made.commit == self.start:
                made.branch = None
            elif target is not None:
                made.merge_commit = self._merge_commit() or repository.merge_into(
                    target, made.commit, f"Merge {self.branch}: {self._title}"
                )
                made.branch, made.merged = None, target
            if os.path.isdir(self.path):
                repository.git("worktree", "remove", "--force", self.path)
            if made.branch is None and repository.commit_of(self._ref) is not None:
                repository.git("branch", "-D", self.branch)
            self.let_go(gone=True)
        return made

    def leave(self) -> str | None:
        """The attempt did not complete: keep the worktree as it is, to be looked at; its path. None: nothing was
        changed in it, and it is gone."""
        try:
            with self._worktrees.alone():
                untouched = self._is_untouched()
                if untouched:
                    self._drop()
                self.let_go(gone=untouched)
        finally:
            self.let_go(gone=False)
        return None if untouched else self.path

    def hold_again(self, made: Made) -> bool:
        """Go on with what an attempt had gathered; False if that cannot be. Its worktree may be gone: then it was about
        to be finished, and is made again unless it has been merged."""
        if not self._hold_if_free(os.O_CREAT):
            return False
        self.start, self.made, self.earlier = made.base, made, made.earlier
        if self.is_merged:
            return True
        tip = self._repository.commit_of(self._ref)
        if tip is None and made.commit == made.base:
            self._repository.git("branch", "--no-track", self.branch, made.base)
        elif tip != made.commit:
            self.let_go(gone=False)
            return False
        if not os.path.isdir(self.path):
            self._repository.asked("worktree", "prune")
            self._repository.git("worktree", "add", "--quiet", self.path, self.branch)
        assert self._lock is not None
        os.pwrite(self._lock, _READY, 0)
        return True

    def tidy(self) -> None:
        """Commit what is left here on the branch and remove the worktree, unless somebody works here. What git cannot
        read stays as it is."""
        if not self._hold_if_free():
            return
        assert self._lock is not None
        gone = True
        if os.read(self._lock, len(_READY)) != _READY:
            # Its worker died before any agent was here.
            self._drop()
        else:
            try:
                if os.path.isdir(self.path):
                    self._unlock_index()
                    self._commit()
                    self._repository.git("worktree", "remove", "--force", self.path)
                # Else its worker died when it had just removed it: what was done is on the branch.
                if self._repository.commit_of(self._ref) is not None and self._is_elsewhere():
                    self._repository.asked("branch", "-D", self.branch)
            except (GitTrouble, MergeConflict):
                gone = False
        self.let_go(gone=gone)

    def _hold_if_free(self, more: int = 0) -> bool:
        """Hold one that was made before, unless somebody works there. To be asked by one alone: who removes the file
        of the lock does so alone."""
        try:
            self._lock = os.open(f"{self.path}.lock", os.O_RDWR | more, 0o644)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            self.let_go(gone=False)
            return False
        return True

    def let_go(self, *, gone: bool) -> None:
        """Nobody works here any more."""
        if gone:
            try:
                os.unlink(f"{self.path}.lock")
            except FileNotFoundError:
                pass
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # What was done in it

    def _commit(self) -> str:
        """Commit what is not committed yet, and have the branch hold all that was done; its commit now."""
        git, repository = self._repository.git, self._repository
        if self._is_amid():
            raise GitTrouble("a merge or rebase was begun in its worktree and not finished.")
        if self._is_changed():
            git("add", "--all", *self._paths(), folder=self.path)
            message = f"{self._title}\n\nCommitted by dibs for {self._task_id}."
            git("commit", "--quiet", "--no-verify", "--message", message, folder=self.path)
        head, tip = git("rev-parse", "HEAD", folder=self.path), git("rev-parse", self._ref)
        if repository.contains(tip, head):
            return tip
        # The agent went to another branch, or to none. What it did there must not go with the worktree.
        if not repository.contains(head, tip):
            ours = f"what is on {self.branch}"
            head = repository.merged(tip, head, self._title, our_name=ours, their_name="what is checked out")
        git("update-ref", self._ref, head, tip)
        return head

    def _merge_commit(self) -> str | None:
        """The commit with which this work came to the branch that it is merged into; None if it is not there."""
        repository, made, target = self._repository, self.made, self._worktrees.merge
        tip = repository.commit_of(f"refs/heads/{target}")
        if made is None or tip is None or not repository.contains(tip, made.commit):
            return None
        since = ("rev-list", "--first-parent", "--min-parents=2", "--parents", f"{made.commit}..{tip}")
        for line in repository.git(*since).splitlines():
            merge, _, *others = line.split()
            if made.commit in others:
                return merge
        return made.commit  # the branch began with it

    def _is_changed(self) -> bool:
        status = ("status", "--porcelain", "--untracked-files=normal")
        return self._repository.git(*status, *self._paths(), folder=self.path) != ""

    def _is_untouched(self) -> bool:
        """Whether everything is as it was in the beginning. What git cannot read is not."""
        git = self._repository.git
        try:
            ends = {git("rev-parse", "HEAD", folder=self.path), git("rev-parse", self._ref)}
            return ends == {self.start} and not self._is_changed()
        except GitTrouble:
            return False

    def _is_amid(self) -> bool:
        if self._repository.git("diff", "--name-only", "--diff-filter=U", folder=self.path):
            return True
        return any(os.path.exists(self._inside(name)) for name in _AMID)

    def _is_elsewhere(self) -> bool:
        """Whether every commit of its branch is on another branch, too."""
        others = ("--not", f"--exclude={self._ref}", "--glob=refs/heads/*")
        return self._repository.git("rev-list", "--max-count=1", self._ref, *others) == ""

    def _measured(self, commit: str) -> Made:
        made = Made(branch=self.branch, base=self.start, commit=commit, files=0, insertions=0, deletions=0)
        made.earlier = self.earlier
        listed = self._repository.git("diff", "--numstat", "--no-renames", "-z", self.start, commit)
        for line in filter(None, listed.split("\0")):
            added, removed, path = line.split("\t", 2)
            made.files += 1
            made.insertions += int(added) if added.isdigit() else 0  # "-": not text
            made.deletions += int(removed) if removed.isdigit() else 0
            if len(made.changed) < MAX_FILES:
                made.changed.append(path.encode("utf-8", "replace").decode())
        return made

    def _paths(self) -> list[str]:
        """All files but what its program leaves lying about."""
        return ["--", ".", *(f":(exclude,glob)**/{pattern}" for pattern in self._debris)]

    def _inside(self, name: str) -> str:
        """A file of git's own for this worktree."""
        return os.path.join(self.path, self._repository.git("rev-parse", "--git-path", name, folder=self.path))

    def _unlock_index(self) -> None:
        """Remove the lock that a git left which was killed here."""
        try:
            os.unlink(self._inside("index.lock"))
        except FileNotFoundError:
            pass

    def _drop(self) -> None:
        self._repository.asked("worktree", "remove", "--force", self.path)
        shutil.rmtree(self.path, ignore_errors=True)
        self._repository.asked("worktree", "prune")
        self._repository.asked("branch", "-D", self.branch)


def open_worktrees(folder: str, *, base: str | None = None, merge: str | None = None) -> Worktrees:
    """The worktrees of the repository around a folder. Invalid says what is in the way."""
    repository = repository_around(folder)
    return Worktrees(
        repository,
        None if base is None else check_base(repository, base),
        None if merge is None else check_target(repository, merge),
    )


def _fence_of(name: str, task_id: str) -> int | None:
    """The fence in the name of the lock of a worktree of this task."""
    if not name.startswith(f"{task_id}-") or not name.endswith(".lock"):
        return None
    rest = name.removesuffix(".lock").removeprefix(f"{task_id}-")
    return int(rest) if rest.isdigit() else None


def _kept_in(claim: Claim) -> Made | None:
    """What an attempt before this one had gathered, as its output tells it."""
    output = None if claim.made is None else claim.made.output
    worktree = output.get("worktree") if isinstance(output, dict) else None
    try:
        return convert(worktree, Made) if isinstance(worktree, dict) else None
    except ValidationError:
        return None


def _commit_in(output: Any) -> str | None:
    """The commit that a task before this one left, if it had a worktree."""
    worktree = output.get("worktree") if isinstance(output, dict) else None
    commit = worktree.get("commit") if isinstance(worktree, dict) else None
    return commit if isinstance(commit, str) and re.fullmatch(r"[0-9a-f]{40,64}", commit) else None
