"""The verbs about hooks: who is told when something happens. `Queue` has them; they are written here.

A hook is three documents of its project: what was set (`hook`, by its name), how far it is (`hook_state`, by its id)
and its last deliveries (`hook_log`, by its id). The first is written by these verbs, the others also by whoever
delivers; all with the version that was read, so nobody undoes what another did. A document of the whole store
(`hook_project`) names each project that has hooks.

What they need is imported when they are used: adding and claiming from the shell pay nothing for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from dibs.errors import Conflict, Invalid
from dibs.requests import MAX_LIMIT, id_of, optional
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.model.hook import Delivery, Hook, HookSpec, HookState
    from dibs.stores.contract import Store

    Kept = TypeVar("Kept", HookSpec, HookState)

HOOK = "hook"
STATE = "hook_state"
LOG = "hook_log"
PROJECT = "hook_project"

_TRIES = 20
"""How often a change is made again that somebody else was quicker than."""


class Hooks:
    """Who is told of what happens in a queue."""

    store: Store
    project: str
    new_id: Callable[[str], str]

    async def add_hook(
        self,
        name: str,
        url: str,
        *,
        kind: str = "cloudevents",
        events: Any = None,
        task: Any = None,
        dag: Any = None,
        agent: str | None = None,
        source: str | None = None,
        after: int | None = None,
    ) -> Hook:
        """Tell somebody of events from now on (`after`: of those after this number), each at least once, in order.

        `kind`: `cloudevents` (POST to `url`, signed; the answer has the `secret`, once), `slack` (a message to a chat
        of that kind) or `email` (`url` is `mailto:` somebody). `events`: types such as `task.completed`, `task.*`,
        `*:out_of_memory`; without them everything, or for people what needs them. `task`, `dag`, `agent`: only what
        concerns these. `source` is what the events say they come from. A server (`dibs up`) delivers them. Raises
        Invalid, with the field; Conflict if there is a hook of this name.
        """
        from dibs.model.hook import HookSpec, HookState
        from dibs.rules import hooks

        kind = hooks.check_kind(kind)
        spec = HookSpec(
            id=self.new_id("hook"),
            kind=kind,
            url=hooks.check_url(url, kind),
            events=hooks.patterns(events, kind),
            task=None if task is None else id_of(task, "task"),
            dag=None if dag is None else id_of(dag, "dag"),
            agent=optional(agent, "agent"),
            source=optional(source, "source"),
            secret=_new_secret() if kind == "cloudevents" else "",
            created_at=self.store.now(),
        )
        name = validation.text(name, "name")
        seq = await self._from(after)
        if len(await self.store.documents(self.project, HOOK)) >= hooks.MAX_HOOKS:
            raise Conflict(f"There are {hooks.MAX_HOOKS} hooks already: remove one first.", field="name")
        # In this order a hook that is there has all that it needs, wherever this ends.
        if not await self.store.documents("", PROJECT, name=self.project):
            await self.store.write_document("", PROJECT, self.project, b"{}")
        await write_state(self.store, self.project, spec.id, HookState(seq=seq), 0)
        try:
            await self.store.write_document(self.project, HOOK, name, _json(spec), 0)
        except Conflict:
            await self.store.write_document(self.project, STATE, spec.id, None)
            raise Conflict(f"There is a hook {name!r} already: remove it first.", code="exists", field="name") from None
        return _view(name, spec, HookState(seq=seq), secret=spec.secret or None)

    async def set_hook(
        self,
        name: str,
        url: str,
        *,
        events: Any = None,
        task: Any = None,
        dag: Any = None,
        agent: str | None = None,
        source: str | None = None,
    ) -> Hook:
        """Change where and of what a hook tells; what is not given is as for a new one. Its kind and secret stay, and
        how far it is: what was not delivered goes to the new place, at once, unless it is paused. Raises as `add_hook`
        does; NotFound."""
        from msgspec.structs import replace

        from dibs.rules import hooks

        wanted = {
            "task": None if task is None else id_of(task, "task"),
            "dag": None if dag is None else id_of(dag, "dag"),
            "agent": optional(agent, "agent"),
            "source": optional(source, "source"),
        }

        def change(spec: HookSpec) -> HookSpec:
            place, patterns = hooks.check_url(url, spec.kind), hooks.patterns(events, spec.kind)
            return replace(spec, url=place, events=patterns, **wanted)

        await self._change_hook(name, change)
        await self._change_state(name, hooks.resumed)
        return await self.get_hook(name)

    async def hooks(self) -> list[Hook]:
        """Every hook of this project, by name, with how it is going."""
        from dibs.model.hook import HookState

        states = await states_of(self.store, self.project)
        return [
            _view(name, spec, states.get(spec.id, (HookState(), 0))[0])
            for name, spec in (await specs_of(self.store, self.project)).items()
        ]

    async def get_hook(self, name: str) -> Hook:
        """One hook. Raises NotFound."""
        spec, _ = await self._spec(name)
        state, _ = await read_state(self.store, self.project, spec.id)
        return _view(name, spec, state)

    async def pause_hook(self, name: str) -> Hook:
        """Send nothing more, until it is resumed. What it misses is kept as long as events are."""
        return await self._change_hook(name, _paused(True))

    async def resume_hook(self, name: str) -> Hook:
        """Go on where it stopped, at once; also one that was disabled, or waits for its next try."""
        from dibs.rules import hooks

        await self._change_state(name, hooks.resumed)
        return await self._change_hook(name, _paused(False))

    async def remove_hook(self, name: str) -> None:
        """Forget a hook; nothing more is sent. Raises NotFound."""
        spec, version = await self._spec(name)
        await self.store.write_document(self.project, HOOK, name, None, version)
        for kind in (STATE, LOG):
            await self.store.write_document(self.project, kind, spec.id, None)

    async def rotate_hook(self, name: str, *, overlap: Any = "24h") -> Hook:
        """Make a new secret; the answer has it, once. For `overlap` requests are signed with both. Raises Invalid for
        a hook that signs nothing."""
        from msgspec.structs import replace

        from dibs.model.instants import seconds
        from dibs.rules import hooks

        both_s = validation.duration_s(overlap, "overlap", high=hooks.MAX_OVERLAP_S)
        secret, until = _new_secret(), self.store.now() + seconds(both_s)

        def rotate(spec: HookSpec) -> HookSpec:
            if not spec.secret:
                raise Invalid(f"a hook of kind {spec.kind} has no secret: it signs nothing.", field="name")
            return replace(spec, secret=secret, old_secret=spec.secret, old_until=until)

        hook = await self._change_hook(name, rotate)
        hook.secret = secret
        return hook

    async def deliveries(self, name: str, *, limit: int = 50) -> list[Delivery]:
        """The last tries to tell this hook, newest first; some fifty are kept."""
        spec, _ = await self._spec(name)
        log, _ = await read_log(self.store, self.project, spec.id)
        return log[::-1][: validation.whole(limit, "limit", 1, MAX_LIMIT)]

    async def replay_hook(self, name: str, after: int) -> Hook:
        """Deliver everything it wants after this number once more, under the ids that it had; if some of it is
        forgotten by now, it is told of a gap."""
        from msgspec.structs import replace

        from dibs.rules import hooks

        seq = await self._from(after)
        await self._change_state(name, lambda state: replace(hooks.resumed(state), seq=seq))
        return await self.get_hook(name)

    async def test_hook(self, name: str) -> str:
        """Have a test message sent, whatever the hook wants and how it is going; the id that `deliveries` will show."""
        from msgspec.structs import replace

        from dibs.rules import hooks

        spec, _ = await self._spec(name)
        if spec.paused:
            raise Conflict(f"{name!r} is paused: resume it first.", field="name")
        state = await self._change_state(name, lambda state: replace(state, pings=state.pings + 1))
        return hooks.ping_id(spec.id, state.pings)

    async def _from(self, after: int | None) -> int:
        """A number of an event that was; None: the newest."""
        newest = await self.store.last_seq()
        return newest if after is None else min(validation.whole(after, "after", 0, 2**63 - 1), newest)

    async def _spec(self, name: str) -> tuple[HookSpec, int]:
        from dibs.model.hook import HookSpec
        from dibs.rules import hooks

        found = await self.store.documents(self.project, HOOK, name=validation.text(name, "name"))
        if not found:
            raise hooks.no_hook(name)
        return _read(found[0].body, HookSpec), found[0].version

    async def _change_hook(self, name: str, change: Callable[[HookSpec], HookSpec]) -> Hook:
        for _ in range(_TRIES):
            spec, version = await self._spec(name)
            spec = change(spec)
            try:
                await self.store.write_document(self.project, HOOK, name, _json(spec), version)
            except Conflict:
                continue
            state, _ = await read_state(self.store, self.project, spec.id)
            return _view(name, spec, state)
        raise _too_busy(name)

    async def _change_state(self, name: str, change: Callable[[HookState], HookState]) -> HookState:
        spec, _ = await self._spec(name)
        for _ in range(_TRIES):
            state, version = await read_state(self.store, self.project, spec.id)
            state = change(state)
            try:
                await write_state(self.store, self.project, spec.id, state, version)
            except Conflict:
                continue
            return state
        raise _too_busy(name)


async def specs_of(store: Store, project: str) -> dict[str, HookSpec]:
    """The hooks of a project by their names, as they were set."""
    from dibs.model.hook import HookSpec

    return {found.name: _read(found.body, HookSpec) for found in await store.documents(project, HOOK)}


async def states_of(store: Store, project: str) -> dict[str, tuple[HookState, int]]:
    """How far the hooks of a project are, by their ids, each with its version."""
    from dibs.model.hook import HookState

    return {
        found.name: (_read(found.body, HookState), found.version) for found in await store.documents(project, STATE)
    }


async def read_state(store: Store, project: str, hook_id: str) -> tuple[HookState, int]:
    """How far a hook is, and the version of that; version 0 if nobody wrote it down."""
    from dibs.model.hook import HookState

    found = await store.documents(project, STATE, name=hook_id)
    return (_read(found[0].body, HookState), found[0].version) if found else (HookState(), 0)


async def write_state(store: Store, project: str, hook_id: str, state: HookState, version: int) -> int:
    """Write down how far a hook is; the new version. Raises Conflict if somebody else did since it was read."""
    return await store.write_document(project, STATE, hook_id, _json(state), version)


async def read_log(store: Store, project: str, hook_id: str) -> tuple[list[Delivery], int]:
    """The last deliveries of a hook, oldest first, and the version of that."""
    from msgspec import json

    from dibs.model.hook import Delivery

    found = await store.documents(project, LOG, name=hook_id)
    return (json.decode(found[0].body, type=list[Delivery]), found[0].version) if found else ([], 0)


async def write_log(store: Store, project: str, hook_id: str, log: list[Delivery], version: int) -> int:
    """Write down the last deliveries; the new version. Raises Conflict as `write_state` does."""
    return await store.write_document(project, LOG, hook_id, _json(log), version)


async def projects_with_hooks(store: Store) -> list[str]:
    """Every project that ever had a hook."""
    return [found.name for found in await store.documents("", PROJECT)]


def _view(name: str, spec: HookSpec, state: HookState, *, secret: str | None = None) -> Hook:
    from dibs.model.hook import Hook
    from dibs.model.instants import from_micros
    from dibs.rules import hooks

    status = hooks.status_of(spec, state)
    return Hook(
        name=name,
        id=spec.id,
        kind=spec.kind,
        url=spec.url,
        events=spec.events,
        task=spec.task,
        dag=spec.dag,
        agent=spec.agent,
        source=spec.source,
        status=status,
        seq=state.seq,
        attempts=state.attempts,
        failing_since=None if state.failing_since is None else from_micros(state.failing_since),
        next_at=None if state.next_at is None else from_micros(state.next_at),
        error=state.error,
        disabled_at=None if state.disabled_at is None else from_micros(state.disabled_at),
        old_secret_until=from_micros(spec.old_until) if spec.old_secret else None,
        created_at=from_micros(spec.created_at),
        secret=secret,
    )


def _paused(paused: bool) -> Callable[[HookSpec], HookSpec]:
    from msgspec.structs import replace

    return lambda spec: replace(spec, paused=paused)


def _new_secret() -> str:
    import os

    from dibs.rules import signing

    return signing.secret_of(os.urandom(signing.SECRET_BYTES))


def _json(value: object) -> bytes:
    from msgspec import json

    return json.encode(value)


def _read(body: bytes, kind: type[Kept]) -> Kept:
    from msgspec import json

    return json.decode(body, type=kind)


def _too_busy(name: str) -> Conflict:
    return Conflict(f"{name!r} is changed by others all the time: try again.", field="name")
