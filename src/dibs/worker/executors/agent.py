"""Coding agents as handlers: a preset's program, or any command in a worktree of its own.

What the program writes is understood line by line while it runs (`dibs.presets`): into the task's log and its note,
into what the attempt has used, and in the end into its output. All of it is kept as an artifact, `transcript-FENCE`.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import tempfile
import time
from contextlib import suppress
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, TypeVar

from msgspec import to_builtins
from msgspec.json import encode

from dibs import keeping
from dibs.errors import DibsError
from dibs.presets import prompting
from dibs.rules import contracts, validation
from dibs.worker.executors.command import Pump, claim_file, crashed, ending_of_command, environment_of, run_program
from dibs.worker.executors.groups import relay
from dibs.worker.executors.proofs import taken_over
from dibs.worker.executors.templates import fill
from dibs.worker.line import Line
from dibs.worker.outcomes import Completed, Failed, Released, ending_of
from dibs.worker.repository import GitTrouble, MergeConflict
from dibs.worker.transcript import Transcript
from dibs.worker.work import Stop

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from dibs.presets.preset import Preset
    from dibs.presets.reader import Reader
    from dibs.queue import Queue
    from dibs.worker.executors.minder import Minder
    from dibs.worker.executors.threads import DaemonThreads
    from dibs.worker.outcomes import Ending
    from dibs.worker.work import Work
    from dibs.worker.worktrees import Made, Tree, Worktrees

    Tell = Callable[[float | None, str | None], None]

log = logging.getLogger("dibs.worker")

MAX_LINE_BYTES = 8 << 20
"""A longer line of output is kept in the transcript, and not understood."""
PIPE_BYTES = 1 << 20
LINES_PER_S = 20
"""Lines of a task's log; the transcript has all."""
TELL_EVERY_S = 2.0
"""How often progress is told."""
SPEND_EVERY_S = 1.0
KEEP_S = 30.0
"""How long an outcome waits for its transcript to be kept."""
STOPPED_KEEP_S = 5.0
"""The same, if the attempt was stopped."""
MERGE_CONFLICT = "merge_conflict"

N = TypeVar("N", int, float)


async def run_agent(work: Work, threads: DaemonThreads, minder: Minder, queue: Queue) -> Ending:
    """Run an agent's program for a claim, to the end of its whole process group."""
    line, loop = Line(work, queue), asyncio.get_running_loop()
    transcript = Transcript()

    def tell(progress: float | None, note: str | None) -> None:
        asyncio.run_coroutine_threadsafe(_told(line, progress, note), loop)

    try:
        await _look_back(work, queue)
        return await relay(work, threads, lambda: _run(work, minder, queue, transcript, tell))
    finally:
        if transcript.size:
            await _keep(work, queue, transcript)
        transcript.close()


async def _told(line: Line, progress: float | None, note: str | None) -> None:
    """Tell how it goes; who no longer holds the task, or does not reach the store, hears of it elsewhere."""
    try:
        await line.progress(progress, note)
    except DibsError:
        pass


async def _keep(work: Work, queue: Queue, transcript: Transcript) -> None:
    """Keep the transcript beside the task. Where that cannot be done the attempt is none the worse for it."""
    claim = work.claim
    if transcript.lost is not None:
        work.log(f"its transcript is not kept: {transcript.lost}")
        return
    try:
        async with asyncio.timeout(KEEP_S if work.stopped is None else STOPPED_KEEP_S):
            kept = await queue.keep_bytes(
                f"transcript-{claim.fence}", transcript.chunks(), media_type="application/x-ndjson"
            )
            if work.stopped is Stop.TIMEOUT:
                # Over its timeout, an attempt says nothing more but how it ended.
                work.artifacts = (kept,)
            else:
                await queue.store.put_artifact(claim.task.id, claim.fence, kept)
    except (DibsError, TimeoutError) as error:
        log.info("the transcript of %s is not kept: %s", claim.task.id, error)
        work.log(f"its transcript is not kept: {str(error) or 'it took too long'}")


async def _look_back(work: Work, queue: Queue) -> None:
    """Whether an earlier attempt was done and only cut short before its work was merged and completed. The queue looks
    for itself where commands have to be passed."""
    claim, worktrees = work.claim, work.handler.worktrees
    if worktrees is not None and worktrees.merge is not None and claim.previous_attempts and claim.made is None:
        await keeping.find(queue.store, [claim])


def _run(work: Work, minder: Minder, queue: Queue, transcript: Transcript, tell: Tell) -> Ending:
    """In a thread: the worktree, the program in it, and what both come to. If that is done the tree is the work's, to
    be judged and finished."""
    worktrees, preset = work.handler.worktrees, work.handler.preset
    if worktrees is None:
        return _perform(work, minder, queue, transcript, tell, None)
    try:
        made = _resumed(work, worktrees)
        if made is not None:
            return made
        tree = worktrees.take(work.claim, preset.debris if preset is not None else ())
    except MergeConflict as conflict:
        return Failed(f"what it builds on does not fit together: {conflict}", reason=MERGE_CONFLICT, retry=False)
    except (GitTrouble, OSError) as error:
        return Failed(f"its worktree could not be made: {error}")
    ending: Ending = Released(reason="worker_left")
    try:
        if work.stopped is None:
            ending = _perform(work, minder, queue, transcript, tell, tree)
    except BaseException:
        _left_behind(work, tree, ending)
        raise
    # An attempt that was stopped is not completed, whatever its program made of it.
    if not isinstance(ending, Completed) or work.stopped is not None:
        return _left_behind(work, tree, ending)
    try:
        ending.output = _with_tree(ending.output, tree.gather())
    except MergeConflict as conflict:
        return _left_behind(work, tree, Failed(f"its work does not fit together: {conflict}", reason=MERGE_CONFLICT))
    except (GitTrouble, OSError) as error:
        return _left_behind(work, tree, Failed(f"its work could not be kept: {error}"))
    work.tree = tree
    return ending


def _resumed(work: Work, worktrees: Worktrees) -> Completed | None:
    """What an earlier attempt has done here, if that is all but completed. A group is done anew."""
    made = work.claim.made
    if made is None or work.members or not keeping.is_on_this_host(made):
        return None
    tree = worktrees.resume(work.claim)
    if tree is None:
        return None
    work.tree = tree
    work.log(f"attempt {made.fence} had done it: its work in {tree.branch} is completed now")
    ending = taken_over(work, made)
    ending.judged = tree.is_merged  # which it was judged for
    return ending


async def concluded(work: Work, ending: Ending, threads: DaemonThreads) -> Ending:
    """What the attempt comes to once its worktree is dealt with; the others of its group end accordingly."""
    tree, work.tree = work.tree, None
    assert tree is not None
    try:
        ending = await relay(work, threads, lambda: _conclude(work, tree, ending))
    except BaseException as error:
        # It was stopped meanwhile. What was merged by then is found by the next attempt.
        ending = ending_of(error)
    for member in work.members:
        if isinstance(member.ending, Completed):
            if isinstance(ending, Completed):
                member.ending.output = ending.output
            else:
                member.ending = None
    return ending


def _conclude(work: Work, tree: Tree, ending: Ending) -> Ending:
    if isinstance(ending, Completed) and ending.refusal is None and work.stopped is None:
        try:
            ending.output = _with_tree(ending.output, tree.finish())
            return ending
        except MergeConflict as conflict:
            ending = Failed(f"its work could not be merged: {conflict}", reason=MERGE_CONFLICT)
        except (GitTrouble, OSError) as error:
            ending = Failed(f"its work could not be kept: {error}")
    return _left_behind(work, tree, ending)


def _left_behind(work: Work, tree: Tree, ending: Ending) -> Ending:
    """Leave the worktree of an attempt that is not completed, and say where it is."""
    try:
        kept = tree.leave()
    except (GitTrouble, OSError) as error:
        # How the attempt ended is what counts.
        log.warning("the worktree %s could not be looked at: %s", tree.path, error)
        kept = tree.path
    if kept is not None:
        work.log(f"its worktree is kept: {kept}, on the branch {tree.branch}")
        where = f"\n\nIts worktree is kept: {kept} (branch {tree.branch})."
        if isinstance(ending, Failed):
            ending.error += where
        elif isinstance(ending, Completed) and ending.refusal is not None:
            ending.refusal += where
    return ending


def _with_tree(output: Any, made: Made) -> dict[str, Any]:
    """An output that tells what was left in the repository."""
    return {**(output if isinstance(output, dict) else {"output": output}), "worktree": to_builtins(made)}


def _perform(work: Work, minder: Minder, queue: Queue, transcript: Transcript, tell: Tell, tree: Tree | None) -> Ending:
    """The program itself."""
    preset, body = work.handler.preset, encode(work.claim)
    folder = None if tree is None else tree.path
    with claim_file(body, minder) as path:
        environment = environment_of(work, queue, path)
        if tree is not None:
            environment |= tree.environment
        argv = fill(work.handler.argv, work.claim.task)
        if preset is None:
            plain = run_program(work, argv, minder, environment, body, Pump, folder)
            return plain if isinstance(plain, Failed) else ending_of_command(work, argv, *plain)
        prompt = prompting.prompt_of(work.claim, () if tree is None else tree.earlier)
        if prompt is None:
            why = "the task says nothing to do: give it a payload with a prompt, a goal in its context, or a title."
            return Failed(why, reason="invalid_input", retry=False)
        return _ask(work, preset, argv, prompt, minder, {**environment, **preset.environment}, transcript, tell, folder)


def _ask(
    work: Work,
    preset: Preset,
    extra: list[str],
    prompt: str,
    minder: Minder,
    environment: dict[str, str],
    transcript: Transcript,
    tell: Tell,
    folder: str | None,
) -> Ending:
    """Ask a preset's program, and understand what it says."""
    claim, reader, text = work.claim, preset.reader(), prompt.encode("utf-8", "replace")
    with tempfile.NamedTemporaryFile(prefix="dibs-prompt-", suffix=".md") as file:
        if preset.prompt_file is not None:
            file.write(text)
            file.flush()
        argv = preset.command(
            tuple(extra),
            model=claim.model,
            max_cost=_left(claim.task.max_cost, claim.task.cost_usd),
            max_turns=_left(claim.task.max_turns, claim.task.turns),
            prompt_file=file.name,
        )

        def make_pump(work: Work, process: subprocess.Popen[bytes], body: bytes) -> ReadingPump:
            return ReadingPump(work, process, body, reader, transcript, tell)

        body = b"" if preset.prompt_file is not None else text
        done = run_program(work, argv, minder, environment, body, make_pump, folder)
    if isinstance(done, Failed):
        hint = f"is {preset.program} installed, and on the PATH of this worker?"
        return Failed(f"{done.error}; {hint}")
    code, pump = done
    pump.end()
    if code < 0:
        return crashed(argv, code, pump.tail.strip())
    return _answer(work, preset, reader, code, pump.tail.strip())


def _left(limit: N | None, used: N | None) -> N | None:
    """What earlier attempts left of a limit."""
    return limit if limit is None or used is None else max(limit - used, limit * 0)


def _answer(work: Work, preset: Preset, reader: Reader, code: int, complaint: str) -> Ending:
    """What a program's answer is for its task."""
    if reader.broken:
        work.log(f"{reader.broken:,} of {reader.lines:,} lines of its output could not be read")
    failure = reader.ended(code, complaint, _now())
    if failure is not None:
        return Failed(
            f"{preset.name}: {failure.error}",
            reason=failure.reason,
            retry=failure.retry,
            retry_after=failure.retry_after,
            exit_code=code,
        )
    output, sanitized = validation.clean(prompting.output_of(reader.text, reader.value))
    work.decision, _ = validation.clean(contracts.report_in(output, work.claim.task.expects))
    return Completed(output, exit_code=code, sanitized=sanitized)


class ReadingPump(Pump):
    """A pump that understands what the program writes, line by line, in bounded memory."""

    most = PIPE_BYTES

    def __init__(
        self,
        work: Work,
        process: subprocess.Popen[bytes],
        body: bytes,
        reader: Reader,
        transcript: Transcript,
        tell: Tell,
    ) -> None:
        super().__init__(work, process, body)
        self._reader = reader
        self._transcript = transcript
        self._tell = tell
        self._rest = bytearray()
        self._skipping = False
        self._second = 0
        self._lines = 0
        self._told: tuple[float | None, str | None] = (None, None)
        self._tell_at = 0.0
        self._spend_at = 0.0
        self._spent: dict[str, Any] = {}
        _widen(process.stdout)

    def take(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._transcript.write(chunk)
        first, *lines = chunk.split(b"\n")
        if lines:
            rest = lines.pop()
            self._line_ends(first)
            for line in lines:
                self._read(line)
            self._gather(rest)
        else:
            self._gather(first)
        self._report(monotonic())

    def end(self) -> None:
        """It has ended: the last line may have no end of its own."""
        if self._rest or self._skipping:
            self._line_ends(b"")
        self._spend()

    def _gather(self, part: bytes) -> None:
        """A piece of a line that goes on. One that gets too long is let go."""
        if self._skipping:
            return
        self._rest += part
        if len(self._rest) > MAX_LINE_BYTES:
            self._rest.clear()
            self._skipping = True

    def _line_ends(self, part: bytes) -> None:
        self._gather(part)
        if self._skipping:
            self._skipping = False
            self._reader.skip()
            return
        line = bytes(self._rest)
        self._rest.clear()
        self._read(line)

    def _read(self, line: bytes) -> None:
        said = self._reader.read(line, _now())
        if said is not None and self._may_log():
            self._work.log(validation.clean_text(said, 1_000)[0])

    def _may_log(self) -> bool:
        second = int(monotonic())
        if second != self._second:
            self._second, self._lines = second, 0
        self._lines += 1
        return self._lines <= LINES_PER_S

    def _report(self, now: float) -> None:
        """Tell what was used and how far it is, from time to time."""
        if now >= self._spend_at:
            self._spend_at = now + SPEND_EVERY_S
            self._spend()
        reader = self._reader
        news = (reader.progress, reader.note)
        if now >= self._tell_at and news != self._told:
            self._tell_at, self._told = now + TELL_EVERY_S, news
            self._tell(reader.progress, reader.note)

    def _spend(self) -> None:
        """The difference between what it has used by now and what was told of that."""
        used, more = self._reader.used, {}
        for name in ("usd", "tokens_in", "tokens_out", "tokens_cached", "tokens_cache_written", "turns"):
            total = getattr(used, name)
            before = self._spent.get(name)
            if total is not None and total != before:
                more[name] = round(total - (before or 0), 9)
                self._spent[name] = total
        if more:
            self._work.spend(**more, model=used.model)


def _widen(pipe: IO[bytes] | None) -> None:
    """Let more into a pipe at once, where the system can and allows it: who writes much waits less often."""
    size = getattr(fcntl, "F_SETPIPE_SZ", None)  # Linux
    if pipe is not None and size is not None:
        with suppress(OSError):
            fcntl.fcntl(pipe, size, PIPE_BYTES)


def _now() -> int:
    return time.time_ns() // 1_000
