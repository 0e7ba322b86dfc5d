"""What a handler is given besides its arguments: the claim, and the verbs it may use while it works.

`Context` is for coroutines; `SyncContext` has the same names without `await`, for threads and child processes.
Steps, spawns and questions are told apart by name, and equal names by order, so a handler that runs again from the top
gets each earlier result in its place.
"""

from __future__ import annotations

import asyncio
import inspect
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from msgspec.json import encode

from dibs.errors import Invalid
from dibs.model.task import NewTask
from dibs.requests import agent_text
from dibs.rules import traces, validation
from dibs.rules.pricing import Tokens, check_tokens
from dibs.worker.handing import as_file, take_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from dibs.artifacts.verbs import Opened
    from dibs.model.artifact import Artifact
    from dibs.model.attempt import Attempt
    from dibs.model.claim import Claim, Settled
    from dibs.model.heard import Heard
    from dibs.model.task import Task
    from dibs.worker.line import Line
    from dibs.worker.work import Work

_OPTIONS = frozenset(NewTask.__struct_fields__) - {"type", "payload"}


class Facts:
    """The claim as a handler sees it, and the counting of names that both kinds of context share."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self._seen: dict[str, int] = {}

    @property
    def task(self) -> Task:
        return self._claim.task

    @property
    def fence(self) -> int:
        """Proves this claim. Together with the task's id it is an idempotency key for the world outside."""
        return self._claim.fence

    @property
    def agent(self) -> str:
        return self._claim.agent

    @property
    def model(self) -> str | None:
        return self._claim.model

    @property
    def inputs(self) -> dict[str, Any]:
        """The outputs of the tasks this one came after, by ref, else id."""
        return self._claim.inputs

    @property
    def children(self) -> dict[str, Any]:
        """The outputs of the tasks this one spawned and waited for, by ref, else id."""
        return self._claim.children

    @property
    def context(self) -> dict[str, Any] | None:
        """What the task was given to know beside its payload: goal, constraints, decisions …"""
        context: dict[str, Any] | None = self._claim.context
        return context

    @property
    def traceparent(self) -> str | None:
        """The trace to go on in (W3C): of this attempt if it is traced, else of whoever added the task."""
        trace = traces.of_context(self._claim.context)
        return None if trace is None else trace.traceparent

    @property
    def previous_attempts(self) -> list[Attempt]:
        return self._claim.previous_attempts

    @property
    def group(self) -> list[Claim]:
        """The claims of the tasks that were taken with this one. What the handler returns or raises ends them, too,
        unless it settled them one by one."""
        return self._claim.group

    @property
    def last_checkpoint(self) -> Any:
        """What an earlier attempt gave to `checkpoint`; None if none did."""
        return self._claim.checkpoint

    @property
    def answers(self) -> dict[str, Any]:
        """What people answered to the questions of this task so far, by question id."""
        return self._claim.answers

    def _name(self, name: str) -> str:
        """The name itself the first time, `name#2` the second time in this run, and so on."""
        count = self._seen.get(name, 0) + 1
        self._seen[name] = count
        return name if count == 1 else f"{name}#{count}"

    def _step_name(self, name: str) -> str:
        return self._name(validation.text(name, "name"))

    def _ask_arguments(self, question: str, name: str | None, **options: Any) -> dict[str, Any]:
        """Questions are told apart by name, else by order."""
        name = self._name("ask" if name is None else validation.text(name, "name"))
        return {"question": question, "name": name, **options}

    def _spawn_arguments(self, type: str, payload: Any, wait: bool, options: dict[str, Any]) -> dict[str, Any]:
        name = options.pop("name", None)
        unknown = options.keys() - _OPTIONS
        if unknown:
            option = min(unknown)
            raise Invalid(f"spawn has no option {option!r}.", field=option)
        name = self._name("spawn" if name is None else validation.text(name, "name"))
        return {"type": type, "payload": payload, "options": options, "name": name, "wait": wait}


class Context(Facts):
    """What a coroutine handler is given as `ctx`."""

    def __init__(self, line: Line) -> None:
        super().__init__(line.work.claim)
        self._line = line

    @property
    def cancelled(self) -> bool:
        """Whether this work should stop: it was cancelled, is over its timeout, or lost its lease."""
        return self._line.work.stopped is not None

    @property
    def slow_down(self) -> float:
        """For how many seconds to ask nothing more of the provider, which turned others away; 0: go on. Heard of with
        the renewals of the lease."""
        return self._line.work.slow_down

    async def step(self, name: str, fn: Callable[..., Any], *args: Any) -> Any:
        """Call `fn(*args)` once in the life of the task; later attempts get the stored result back.

        `fn` may be a function or a coroutine function and runs where the handler runs. The result is stored as JSON
        before it is returned. The same name again in one run is another step, matched by order.
        """
        name, digest = self._step_name(name), step_digest(fn, args)
        found, value = await self._line.find_step(name, digest)
        if found:
            return value
        value = fn(*args)
        if inspect.isawaitable(value):
            value = await value
        return await self._line.keep_step(name, digest, value)

    async def spawn(self, type: str, payload: Any = None, wait: bool = True, **options: Any) -> Task:
        """Add a task below this one, once. Takes the options of `add`, and `name` to match it by.

        With `wait` this run ends here; when the child has ended the handler runs again from the top and gets it,
        with its output. A child that was dead-lettered or cancelled raises `ChildFailed`.
        """
        return await self._line.spawn(**self._spawn_arguments(type, payload, wait, options))

    async def hear(self) -> list[Heard]:
        """Which of the tasks that this one spawned without waiting have ended, each told once to this run."""
        return await self._line.hear()

    async def ask(
        self,
        question: str,
        schema: Any = None,
        timeout: Any = None,
        default: Any = None,
        *,
        assignee: str | None = None,
        name: str | None = None,
    ) -> Any:
        """Ask a person, once, and get the answer. `name` to match it by; without one questions are matched by order.

        This run ends here, and with it its claim; while nobody answers no time of the task's counts. When there is an
        answer the handler runs again from the top and gets it. `schema` says what the answer must look like. If nobody
        answers within `timeout` that is `default`; without one the task is dead-lettered.
        """
        arguments = self._ask_arguments(
            question, name, schema=schema, assignee=assignee, timeout=timeout, default=default
        )
        return await self._line.ask(**arguments)

    async def complete(self, member: Claim, output: Any = None) -> Settled | None:
        """One of `ctx.group` is done, whatever becomes of the others. None: it was cancelled, or taken away."""
        return await self._line.settle_member(**member_arguments(member, "completed", value=output))

    async def fail(
        self, member: Claim, error: str, reason: str = "error", retry: bool = True, retry_after: Any = None
    ) -> Settled | None:
        """One of `ctx.group` failed, whatever becomes of the others. None: as for `complete`."""
        options = {"error": error, "reason": reason, "retry": retry, "retry_after": retry_after}
        return await self._line.settle_member(**member_arguments(member, "failed", **options))

    async def release(self, member: Claim, delay: Any = 0) -> Settled | None:
        """Give one of `ctx.group` back unharmed, to be taken again after `delay`. None: as for `complete`."""
        return await self._line.settle_member(**member_arguments(member, "released", delay=delay))

    async def progress(self, progress: float | None = None, note: str | None = None) -> None:
        """Show how far the work is (0 … 1) and what it is doing."""
        await self._line.progress(progress, note)

    async def checkpoint(self, data: Any) -> None:
        """Keep JSON that the next attempt finds as `ctx.last_checkpoint`; replaces the one before."""
        await self._line.checkpoint(data)

    async def artifact(self, name: str, data: Any, media_type: str | None = None) -> Artifact:
        """Keep bytes as an artifact of this task; the same name again takes the place of the one before.

        `data`: bytes, a `pathlib.Path` to a file that is read here, an open binary file, or an iterator or async
        iterator of bytes.
        """
        return await self._line.artifact(name, data, media_type)

    async def open_artifact(self, ref: Any) -> Opened:
        """The bytes of an artifact: one of those in `ctx.context["refs"]` or on a task, or a reference; `artifact:NAME`
        is the newest of that name in this task's dag."""
        return await self._line.open_artifact(ref)

    def log(self, line: str) -> None:
        """Add a line to the task's log. Lines are written within about a second, and before the task ends."""
        agent_text(line, "line")
        self._line.work.log(line)

    def spend(
        self,
        usd: float | None = None,
        tokens_in: int | None = None,
        tokens_out: int | None = None,
        turns: int | None = None,
        model: str | None = None,
        tokens_cached: int | None = None,
        tokens_cache_written: int | None = None,
    ) -> None:
        """Add to what this attempt has used; the totals are reported with renewals and at the end.

        Tokens without `usd` are priced, if the price of `model` (else the one named last, else the claim's) is known.
        `tokens_cached` were read from the model's cache, `tokens_cache_written` into it; both are part of `tokens_in`.
        """
        self._line.work.spend(**spending(usd, tokens_in, tokens_out, turns, model, tokens_cached, tokens_cache_written))

    def decide(self, report: Any) -> None:
        """Say what was decided and why, in JSON: the decision of this attempt if it completes. The last one counts."""
        check_decision(report)
        self._line.work.decision = report


class SyncContext(Facts):
    """What a handler in a thread or a child process is given as `ctx`: the same verbs, blocking.

    `call` carries a verb to the worker and waits for its answer; `tell` carries what needs none (log lines, spending,
    decisions).
    """

    def __init__(
        self,
        claim: Claim,
        call: Callable[[str, dict[str, Any]], Any],
        tell: Callable[[str, dict[str, Any]], None],
        stopped: Callable[[], bool],
        slow_down: Callable[[], float] = lambda: 0.0,
    ) -> None:
        super().__init__(claim)
        self._call = call
        self._tell = tell
        self._stopped = stopped
        self._slow_down = slow_down

    @property
    def cancelled(self) -> bool:
        """Whether this work should stop. A thread cannot be killed: look here now and then in long loops."""
        return self._stopped()

    @property
    def slow_down(self) -> float:
        """As `Context.slow_down`. A child process does not hear of it: always 0."""
        return self._slow_down()

    def step(self, name: str, fn: Callable[..., Any], *args: Any) -> Any:
        """As `Context.step`. A coroutine function is run to its end in this thread."""
        name, digest = self._step_name(name), step_digest(fn, args)
        found, value = self._call("find_step", {"name": name, "digest": digest})
        if found:
            return value
        value = fn(*args)
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
        return self._call("keep_step", {"name": name, "digest": digest, "value": value})

    def spawn(self, type: str, payload: Any = None, wait: bool = True, **options: Any) -> Task:
        """As `Context.spawn`."""
        child: Task = self._call("spawn", self._spawn_arguments(type, payload, wait, options))
        return child

    def hear(self) -> list[Heard]:
        """As `Context.hear`."""
        heard: list[Heard] = self._call("hear", {})
        return heard

    def ask(
        self,
        question: str,
        schema: Any = None,
        timeout: Any = None,
        default: Any = None,
        *,
        assignee: str | None = None,
        name: str | None = None,
    ) -> Any:
        """As `Context.ask`."""
        arguments = self._ask_arguments(
            question, name, schema=schema, assignee=assignee, timeout=timeout, default=default
        )
        return self._call("ask", arguments)

    def complete(self, member: Claim, output: Any = None) -> Settled | None:
        """As `Context.complete`."""
        return self._settle(member_arguments(member, "completed", value=output))

    def fail(
        self, member: Claim, error: str, reason: str = "error", retry: bool = True, retry_after: Any = None
    ) -> Settled | None:
        """As `Context.fail`."""
        options = {"error": error, "reason": reason, "retry": retry, "retry_after": retry_after}
        return self._settle(member_arguments(member, "failed", **options))

    def release(self, member: Claim, delay: Any = 0) -> Settled | None:
        """As `Context.release`."""
        return self._settle(member_arguments(member, "released", delay=delay))

    def _settle(self, arguments: dict[str, Any]) -> Settled | None:
        settled: Settled | None = self._call("settle_member", arguments)
        return settled

    def progress(self, progress: float | None = None, note: str | None = None) -> None:
        """As `Context.progress`."""
        self._call("progress", {"progress": progress, "note": note})

    def checkpoint(self, data: Any) -> None:
        """As `Context.checkpoint`."""
        self._call("checkpoint", {"data": data})

    def artifact(self, name: str, data: Any, media_type: str | None = None) -> Artifact:
        """As `Context.artifact`; not from an async iterator."""
        with as_file(data) as path:
            kept: Artifact = self._call("artifact", {"name": name, "path": path, "media_type": media_type})
        return kept

    def open_artifact(self, ref: Any) -> IO[bytes]:
        """As `Context.open_artifact`: a binary file to read from; close it, or use it in a `with` statement."""
        wanted = ref if isinstance(ref, str | dict) else getattr(ref, "digest", ref)
        return take_file(self._call("fetch_artifact", {"ref": wanted}))

    def log(self, line: str) -> None:
        """As `Context.log`."""
        agent_text(line, "line")
        self._tell("log", {"line": line})

    def spend(
        self,
        usd: float | None = None,
        tokens_in: int | None = None,
        tokens_out: int | None = None,
        turns: int | None = None,
        model: str | None = None,
        tokens_cached: int | None = None,
        tokens_cache_written: int | None = None,
    ) -> None:
        """As `Context.spend`."""
        spent = spending(usd, tokens_in, tokens_out, turns, model, tokens_cached, tokens_cache_written)
        self._tell("spend", spent)

    def decide(self, report: Any) -> None:
        """As `Context.decide`."""
        check_decision(report)
        self._tell("decide", {"report": report})


def member_arguments(member: Claim, how: str, **options: Any) -> dict[str, Any]:
    """How one of a group ends, checked while the handler can still do something about it."""
    from dibs.model.claim import Claim

    if not isinstance(member, Claim):
        raise Invalid(f"member must be one of ctx.group, not {member!r:.80}.", field="member")
    if "error" in options:
        agent_text(options["error"], "error")
        validation.text(options["reason"], "reason")
        validation.flag(options["retry"], "retry")
    for name in ("retry_after", "delay"):
        if options.get(name) is not None:
            options[name] = validation.duration_s(options[name], name)
    return {"task_id": member.task.id, "how": how, **options}


def hear(work: Work, verb: str, arguments: dict[str, Any]) -> None:
    """What `SyncContext` tells without waiting, applied to the work."""
    if verb == "log":
        work.log(**arguments)
    elif verb == "spend":
        work.spend(**arguments)
    elif verb == "decide":
        work.decision = arguments["report"]


def step_digest(fn: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """What makes a step the same step: its function's name and its arguments."""
    body = encode([_named(fn), args], enc_hook=_named, order="deterministic")
    return blake2b(body, digest_size=16).hexdigest()


def spending(
    usd: Any, tokens_in: Any, tokens_out: Any, turns: Any, model: Any, tokens_cached: Any, tokens_cache_written: Any
) -> dict[str, Any]:
    """What was spent, checked: refuses what cannot be added up or written down, for the outcome will carry it."""
    counts = {
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "turns": turns,
        "tokens_cached": tokens_cached,
        "tokens_cache_written": tokens_cache_written,
    }
    if usd is not None:
        validation.number(usd, "usd", 0, 1e9)
    for field, value in counts.items():
        if value is not None:
            validation.whole(value, field, 0, 10**15)
    if model is not None:
        validation.text(model, "model")
    check_tokens(Tokens(read=tokens_in or 0, cached=tokens_cached or 0, cache_written=tokens_cache_written or 0))
    return {"usd": usd, "model": model, **counts}


def check_decision(report: Any) -> None:
    """Refuse what the completion could not carry, while the handler can still do something about it."""
    validation.json_bytes(report, "decision", max_bytes=validation.MAX_PAYLOAD_BYTES)


def _named(thing: Any) -> str:
    """A name that is the same in every process, where `repr` would show an address."""
    name = getattr(thing, "__qualname__", None)
    return name if isinstance(name, str) else type(thing).__qualname__
