"""What a worker can do: an `App` is a set of handlers, one per task type.

A handler's signature is read once, when it is registered. Afterwards a payload that does not fit is told apart from
a handler that fails: the first is `invalid_input`, naming the argument, and is not tried again.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.errors import Invalid
from dibs.rules import retry as retrying
from dibs.rules import validation
from dibs.worker.outcomes import Fail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.model.retry import Retry
    from dibs.presets.preset import Preset
    from dibs.worker.worktrees import Worktrees

    F = TypeVar("F", bound=Callable[..., Any])

EXECUTORS = ("auto", "coroutine", "thread", "process")
_CONTEXTS = ("Context", "SyncContext")
_NOTHING: dict[str, Any] = {}


class Handler:
    """One type's function (or command) and what holds where its tasks say nothing."""

    __slots__ = (
        "argv",
        "call",
        "capabilities",
        "executor",
        "function",
        "preset",
        "retry",
        "timeout_s",
        "type",
        "worktrees",
    )

    def __init__(
        self,
        type: str,
        function: Callable[..., Any],
        *,
        executor: str,
        capabilities: frozenset[str],
        timeout_s: float | None,
        retry: Retry | None,
        argv: tuple[str, ...] = (),
        preset: Preset | None = None,
        worktrees: Worktrees | None = None,
    ) -> None:
        self.type = type
        self.function = function
        self.call = Signature(function) if not argv else None
        self.executor = executor
        self.capabilities = capabilities
        self.timeout_s = timeout_s
        self.retry = retry
        self.argv = argv
        self.preset = preset
        self.worktrees = worktrees


class Signature:
    """Which arguments a handler takes. `context` is the name of its context parameter, if it has one."""

    __slots__ = ("_accepted", "_any", "_first", "_required", "context")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.context: str | None = None
        required: list[str] = []
        accepted: list[str] = []
        self._any = False
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                self._any = True
            elif parameter.kind is parameter.POSITIONAL_ONLY:
                raise Invalid(
                    f"the parameter {parameter.name} is positional-only; payload keys are passed by name.",
                    field="handler",
                )
            elif parameter.kind is parameter.VAR_POSITIONAL:
                continue
            elif self.context is None and _is_context(parameter):
                self.context = parameter.name
            else:
                accepted.append(parameter.name)
                if parameter.default is parameter.empty:
                    required.append(parameter.name)
        self._required = tuple(required)
        self._accepted = frozenset(accepted)
        self._first = accepted[0] if accepted else None

    def arguments(self, payload: Any) -> dict[str, Any]:
        """The payload as keyword arguments; `Fail` with `invalid_input` names the one that is missing or unexpected.

        An object's keys are arguments; no payload is no arguments; anything else is the one argument.
        """
        if payload is None:
            given = _NOTHING
        elif type(payload) is dict:
            given = payload
        elif self._first is not None:
            given = {self._first: payload}
        else:
            raise _unfit("the handler takes no argument, but the task has a payload")
        for name in self._required:
            if name not in given:
                raise _unfit(f"the payload lacks {name!r}, which the handler requires")
        if given and not (given.keys() <= self._accepted):
            for name in given:
                if name not in self._accepted and (not self._any or name == self.context):
                    raise _unfit(f"the payload has {name!r}, which the handler does not take")
        return given


class App:
    """The handlers of a worker. Register functions with `@app.handler("type")`, programs with `app.command`."""

    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {}

    def handler(
        self,
        type: str,
        capabilities: Iterable[str] = (),
        timeout: float | str | None = None,
        retry: Retry | str | None = None,
        executor: str = "auto",
    ) -> Callable[[F], F]:
        """Register the decorated function for tasks of `type`; the function itself stays as it is.

        `capabilities` are what it offers. `timeout` and `retry` hold where a task says nothing. `executor`: `auto` runs
        coroutine functions in the event loop and plain functions in a thread; `process` runs a plain, importable
        function in a child process, which can be killed. A thread cannot: at a timeout it is left alone
        with `ctx.cancelled` set, and whatever it still does is no longer part of the task.
        """
        if callable(type):
            raise Invalid('write the type of its tasks: @app.handler("research").', field="type")
        if executor not in EXECUTORS:
            raise Invalid(f"executor must be one of {', '.join(EXECUTORS)}, not {executor!r}.", field="executor")

        def register(function: F) -> F:
            self._register(
                Handler(
                    validation.text(type, "type"),
                    function,
                    executor=_executor_for(function, executor),
                    capabilities=frozenset(validation.names(capabilities, "capabilities")),
                    timeout_s=_timeout_s(timeout),
                    retry=_policy(retry),
                )
            )
            return function

        return register

    def command(
        self,
        type: str,
        argv: Sequence[str],
        *,
        capabilities: Iterable[str] = (),
        timeout: float | str | None = None,
        retry: Retry | str | None = None,
        preset: str | None = None,
        worktrees: Worktrees | None = None,
    ) -> None:
        """Run a program for tasks of `type`: a list of arguments, never a shell line.

        `{payload.key}`, `{prompt}`, `{id}`, `{title}` and `{type}` inside an argument are replaced. With a `preset`
        (`dibs.presets.NAMES`) these are more arguments for its program, if any. With `worktrees`
        (`dibs.worker.worktrees.open_worktrees`) each attempt runs in a git worktree of its own.
        """
        from dibs import presets

        known = None if preset is None else presets.find(preset)
        lacks = not argv and known is None
        if isinstance(argv, (str, bytes)) or lacks or not all(isinstance(part, str) for part in argv):
            raise Invalid("a command is a list of texts: the program, then its arguments.", field="command")
        self._register(
            Handler(
                validation.text(type, "type"),
                _no_function,
                executor="command" if known is None and worktrees is None else "agent",
                capabilities=frozenset(validation.names(capabilities, "capabilities")),
                timeout_s=_timeout_s(timeout),
                retry=_policy(retry),
                argv=tuple(argv),
                preset=known,
                worktrees=worktrees,
            )
        )

    def _register(self, handler: Handler) -> None:
        if handler.type in self.handlers:
            raise Invalid(f"the type {handler.type!r} has a handler already.", field="type")
        self.handlers[handler.type] = handler


def _no_function() -> None:
    """Stands where a command's handler has no function."""


def _executor_for(function: Callable[..., Any], wanted: str) -> str:
    is_coroutine = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 -- asks what kind of call it is, not whether there is one
    )
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise Invalid("a handler returns its output; it cannot be a generator.", field="handler")
    if wanted == "auto":
        return "coroutine" if is_coroutine else "thread"
    if is_coroutine != (wanted == "coroutine"):
        kind = "a coroutine function" if is_coroutine else "a plain function"
        raise Invalid(f"the executor {wanted!r} cannot run {kind}.", field="executor")
    if wanted == "process" and "<locals>" in getattr(function, "__qualname__", "<locals>"):
        raise Invalid("a process handler must be a function at the top of a module.", field="executor")
    return wanted


def _is_context(parameter: inspect.Parameter) -> bool:
    if parameter.name == "ctx":
        return True
    annotation = parameter.annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return name.rpartition(".")[2] in _CONTEXTS


def _timeout_s(timeout: float | str | None) -> float | None:
    return None if timeout is None else validation.duration_s(timeout, "timeout", low=0.001)


def _policy(policy: Retry | str | None) -> Retry | None:
    if policy is None:
        return None
    return retrying.parse(policy) if isinstance(policy, str) else retrying.check(policy)


def _unfit(why: str) -> Fail:
    return Fail(f"{why}.", reason="invalid_input", retry=False)
