"""Git, as a worker uses it: without hooks, without a terminal, and patient with its locks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time

from dibs.errors import Invalid

PATIENCE_S = 20.0
"""How long a lock of git is waited for."""
TIMEOUT_S = 600.0
"""How long one run of git may take: a worktree of a large repository takes minutes."""
MERGES = (2, 38)
"""The first version of git that merges without a checkout."""

_LOCKED = re.compile(r"unable to create '[^']*\.lock'|cannot lock ref|could not lock", re.IGNORECASE)


class GitTrouble(Exception):
    """Git refused something; the text is what it said."""


class MergeConflict(Exception):
    """Two lines of work changed the same places. `files` are where."""

    def __init__(self, ours: str, theirs: str, files: list[str]) -> None:
        shown = ", ".join(files[:10]) + (f" and {len(files) - 10} more" if len(files) > 10 else "")
        super().__init__(f"{theirs} and {ours} changed the same lines of {shown or 'the same files'}.")
        self.files = files


class Repository:
    """One repository, by the folder of its checkout."""

    def __init__(self, top: str) -> None:
        self.top = top
        words = run(top, "version").stdout.decode().split()
        self.version = tuple(int(part) for part in re.findall(r"\d+", words[2] if len(words) > 2 else "")[:3])
        self._identity: tuple[str, ...] = ()
        if not self.asked("config", "user.email"):
            self._identity = ("-c", "user.name=dibs", "-c", "user.email=dibs@localhost")

    def git(self, *arguments: str, folder: str | None = None) -> str:
        """What git answers, else GitTrouble. A lock that somebody holds is waited for."""
        deadline = time.monotonic() + PATIENCE_S
        pause_s = 0.02
        while True:
            done = self.call(*arguments, folder=folder)
            if done.returncode == 0:
                return _answer(done)
            said = _said(done)
            if _LOCKED.search(said) is None or time.monotonic() > deadline:
                raise GitTrouble(said)
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, 1.0)

    def asked(self, *arguments: str, folder: str | None = None) -> str:
        """What git answers; nothing if it refuses."""
        done = self.call(*arguments, folder=folder)
        return _answer(done) if done.returncode == 0 else ""

    def call(self, *arguments: str, folder: str | None = None) -> subprocess.CompletedProcess[bytes]:
        """One run of git, however it ends."""
        return run(folder or self.top, *self._identity, *arguments)

    def commit_of(self, name: str) -> str | None:
        """The commit that something names; None if there is none."""
        return self.asked("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") or None

    def contains(self, commit: str, other: str) -> bool:
        """Whether `other` is `commit` or one before it."""
        return self.call("merge-base", "--is-ancestor", other, commit).returncode == 0

    def is_checked_out(self, branch: str) -> bool:
        """Whether some worktree is on this branch."""
        return f"branch refs/heads/{branch}" in self.git("worktree", "list", "--porcelain").splitlines()

    def merged(self, ours: str, theirs: str, message: str, *, our_name: str, their_name: str) -> str:
        """A commit with both, made without a checkout. Raises MergeConflict."""
        if self.version < MERGES:
            raise GitTrouble(f"merging needs git {_dotted(MERGES)} or newer.")
        done = self.call("merge-tree", "--write-tree", "--name-only", "--no-messages", ours, theirs)
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        if done.returncode == 1:
            raise MergeConflict(our_name, their_name, sorted({line for line in lines[1:] if line}))
        if done.returncode != 0 or not lines:
            raise GitTrouble(_said(done))
        return self.git("commit-tree", lines[0], "-p", ours, "-p", theirs, "-m", message)

    def merge_into(self, branch: str, commit: str, message: str) -> str:
        """Merge a commit into a branch that nobody has checked out; the new commit there. A branch that is not there
        yet begins with it. Who changes the branch at the same time is not overwritten: it is merged again."""
        ref = f"refs/heads/{branch}"
        if self.is_checked_out(branch):
            raise GitTrouble(
                f"{branch} is checked out somewhere, and would change under somebody's hands; check out another branch "
                "there, then retry the task."
            )
        refused = ""
        for _ in range(50):
            tip = self.commit_of(ref)
            merged = commit
            if tip is not None:
                merged = self.merged(tip, commit, message, our_name=branch, their_name="this work")
            try:
                self.git("update-ref", ref, merged, tip or "")
            except GitTrouble as error:
                refused = str(error)
                continue
            return merged
        raise GitTrouble(f"{branch} kept changing, or cannot be changed: {refused}")


def repository_around(folder: str) -> Repository:
    """The repository of a folder; Invalid (`worktree`) says what is in the way."""
    if shutil.which("git") is None:
        raise Invalid("--worktree needs git, which is not installed here.", field="worktree")
    top = run(folder, "rev-parse", "--show-toplevel")
    if top.returncode != 0:
        raise Invalid(
            "--worktree needs a git repository, and this folder is in none; `git init` makes one.", field="worktree"
        )
    repository = Repository(_answer(top))
    if repository.commit_of("HEAD") is None:
        raise Invalid(
            "this repository has no commit yet, and a worktree begins with one; make the first.", field="worktree"
        )
    return repository


def check_base(repository: Repository, base: str) -> str:
    """What attempts shall begin with; Invalid if it is no commit."""
    if base.startswith("-") or repository.commit_of(base) is None:
        raise Invalid(f"there is no commit {base!r} in this repository to begin with.", field="base")
    return base


def check_target(repository: Repository, branch: str) -> str:
    """A branch to merge into; Invalid if it cannot be one, or is somebody's checkout."""
    if branch.startswith(("-", "@")) or repository.call("check-ref-format", "--branch", branch).returncode:
        raise Invalid(f"{branch!r} cannot be the name of a branch.", field="merge")
    if repository.version < MERGES:
        raise Invalid(
            f"--merge needs git {_dotted(MERGES)} or newer, not {_dotted(repository.version)}.", field="merge"
        )
    if repository.is_checked_out(branch):
        raise Invalid(
            f"{branch} is checked out, and would change under your hands; name another branch to merge into, "
            "such as agents, and take it over when you like.",
            field="merge",
        )
    return branch


def run(folder: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder. No hook of the repository runs for what dibs does."""
    # What a hook or an alias that started us has set would lead git elsewhere.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"}
    settings = ("-c", f"core.hooksPath={os.devnull}", "-c", "commit.gpgSign=false", "-c", "gc.auto=0")
    program = shutil.which("git") or "git"
    try:
        return subprocess.run(
            [program, *settings, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitTrouble(f"git {arguments[0]}: {error}") from None


def _answer(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    text = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
    return f"git said: {text[-1_000:] or f'exit code {done.returncode}'}"


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
