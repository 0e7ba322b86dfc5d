"""The verbs about triggers: what is made when something happens. `Queue` has them; they are written here.

What they need is imported when they are used: adding and claiming from the shell pay nothing for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dibs.model.trigger import Preview, Receipt, Trigger
    from dibs.stores.contract import Store


class Triggers:
    """What a queue makes when something happens."""

    store: Store
    project: str

    async def add_trigger(
        self,
        name: str,
        on: str,
        *,
        task: Any = None,
        dag: Any = None,
        where: Any = None,
        rate: str = "60/min",
        max_depth: int = 3,
        paused: bool = False,
        scheme: str | None = None,
        secret: Any = None,
        events: Any = (),
        type: str | None = None,
        failure_rate: float | None = None,
        cost: float | None = None,
        window: Any = None,
        least: int | None = None,
        cool_down: Any = None,
        paths: Any = (),
        replace: bool = False,
    ) -> Trigger:
        """Make a task or a dag when something happens; `{{event.data.x}}` in a payload, title or tag is filled in.

        `on="webhook"`: a signed request to `/in/NAME` (`scheme` github, slack or standard; `secret`, one or several;
        one is drawn if none is given). `on="event"`: `events` such as task.completed, task.dead_lettered, dag.failed.
        `on="friction"`: of the claims of a `type` that ended in the last `window`, at least `least`, `failure_rate`
        failed, or they `cost` so much; not again before `cool_down`. `on="files"`: something below `paths` changed.

        `where`: paths into the event and the values they must have. `rate` and `max_depth` bound what it makes. Adding
        the same again answers the one that is there; something else raises Conflict, unless `replace`. Secrets that are
        given or drawn are in this answer only; one that is kept when a trigger is replaced is not shown again.
        """
        from dibs import templates
        from dibs.duties import calendar, firing
        from dibs.errors import Conflict, Invalid
        from dibs.model.instants import from_micros
        from dibs.model.trigger import Trigger
        from dibs.rules import signatures, ticks, triggers, validation

        now = self.store.now()
        parts: dict[str, Any] = {
            "name": ticks.parse_name(name),
            **triggers.parse(
                on,
                where,
                rate,
                max_depth,
                {
                    "scheme": scheme,
                    "secret": secret,
                    "events": events,
                    "type": type,
                    "failure_rate": failure_rate,
                    "cost": cost,
                    "window": window,
                    "least": least,
                    "cool_down": cool_down,
                    "paths": paths,
                },
            ),
            **templates.check(task, dag, project=self.project, now=now),
            "paused": validation.flag(paused, "paused"),
        }
        replaces = validation.flag(replace, "replace")
        if on == triggers.WEBHOOK and secret is not None:
            parts["secrets"] = signatures.parse_secrets(secret, parts["scheme"])
        for _ in range(calendar.RACES):
            known = await firing.load(self.store, self.project, parts["name"])
            if known is not None and _says(known, parts, paused=replaces):
                return shown(known)
            if known is not None and not replaces:
                raise triggers.exists(parts["name"])
            if known is None and len(await self.triggers()) >= triggers.MAX_TRIGGERS:
                raise Invalid(
                    f"there are {triggers.MAX_TRIGGERS:,} triggers, and no more are kept: remove one.", field="name"
                )
            made = Trigger(**parts, created_at=from_micros(now), after_seq=await self._latest(on))
            if known is not None:
                for field in ("created_at", "made", "dropped", "last_at", "last_id", "full_at", "recent", "version"):
                    setattr(made, field, getattr(known, field))
            kept: tuple[str, ...] = ()
            if on == triggers.WEBHOOK and not made.secrets:
                kept = known.secrets if known is not None and known.scheme == made.scheme else ()
                made.secrets = kept or (_drawn(parts["scheme"]),)
            try:
                await firing.save(self.store, self.project, made)
            except Conflict:
                continue
            await self._forget_files(made)
            await calendar.wake(self.store, firing.KIND, now)
            return shown(made) if kept else made
        raise triggers.exists(parts["name"])

    async def triggers(self) -> list[Trigger]:
        """Every trigger there is, by name, without secrets."""
        from dibs.duties import calendar, firing

        under = calendar.place_of(self.project, "")
        return [shown(firing.read(document)) async for document in calendar.pages(self.store, firing.KIND, under)]

    async def get_trigger(self, name: str) -> Trigger:
        """The trigger of this name, with where it stands, without secrets. Raises NotFound."""
        return shown(await self._trigger(name))

    async def pause_trigger(self, name: str) -> Trigger:
        """Let it make nothing until it is resumed; a webhook is refused meanwhile. Paused already: nothing changes."""

        def pause(found: Trigger) -> None:
            found.paused = True

        return await self._change_trigger(name, pause, unless=lambda found: found.paused)

    async def resume_trigger(self, name: str) -> Trigger:
        """Let it go on; what happened meanwhile is not made up for."""
        latest = await self._latest((await self._trigger(name)).on)

        def resume(found: Trigger) -> None:
            found.paused = False
            found.after_seq = max(found.after_seq, latest)

        return await self._change_trigger(name, resume, unless=lambda found: not found.paused)

    async def remove_trigger(self, name: str) -> Trigger:
        """Forget a trigger; what it made stays. As it was. Raises NotFound."""
        from dibs.duties import calendar, firing
        from dibs.errors import Conflict
        from dibs.rules import triggers

        for _ in range(calendar.RACES):
            found = await self._trigger(name)
            place = calendar.place_of(self.project, name)
            try:
                await self.store.write_document(calendar.EVERYWHERE, firing.KIND, place, None, found.version)
            except Conflict:
                continue
            await self._forget_files(found)
            await calendar.wake(self.store, firing.KIND, self.store.now())
            return shown(found)
        raise triggers.exists(name)

    async def preview_trigger(self, name: str, event: Any) -> Preview:
        """What a trigger would make for an event, `{"type": …, "data": …}`; nothing is made."""
        from dibs.errors import Invalid
        from dibs.model.trigger import Preview
        from dibs.rules import templates, triggers, validation

        found = await self._trigger(name)
        if not isinstance(event, dict):
            raise Invalid('event must be an object such as {"type": "push", "data": {}}.', field="event")
        validation.json_bytes(event, "event", max_bytes=triggers.MAX_BODY_BYTES)
        known = {"event": {"id": "test", **event}}
        return Preview(
            trigger=name,
            fits=triggers.fits(found, known["event"]),
            task=None if found.task is None else templates.fill_task(found.task, known),
            dag=None if found.dag is None else templates.fill_dag(found.dag, known),
        )

    async def receive(self, name: str, headers: Mapping[str, str], body: bytes) -> Receipt:
        """Take in a webhook as it was sent: what was made for it, now or before.

        Raises NotFound (no such trigger on webhooks, or paused), Denied (its signature), Invalid (its body).
        """
        from dibs.duties import firing
        from dibs.errors import Invalid
        from dibs.model.instants import from_micros
        from dibs.model.trigger import Receipt
        from dibs.rules import signatures, triggers

        found = await self._trigger(name)
        if found.on != triggers.WEBHOOK or found.paused:
            raise triggers.no_trigger(name)
        if len(body) > triggers.MAX_BODY_BYTES:
            raise Invalid(f"the body has more than {triggers.MAX_BODY_BYTES:,} bytes.", field="body", code="too_large")
        now = self.store.now()
        delivery = signatures.verify(found.scheme or "", found.secrets, headers, body, now)
        data = _read_body(headers, body)
        event_id, type = delivery.id, delivery.type
        if isinstance(data, dict):
            type = type or (data["type"] if isinstance(data.get("type"), str) else None)
            if found.scheme == signatures.SLACK:
                if type == "url_verification" and isinstance(data.get("challenge"), str):
                    return Receipt(trigger=name, event=event_id, challenge=data["challenge"][:1000])
                if isinstance(data.get("event_id"), str):
                    # What Slack sends again has another time, and another signature.
                    event_id = data["event_id"][:80]
        event = {"type": type, "at": from_micros(now).isoformat(), "data": data}
        if not triggers.fits(found, event):
            return Receipt(trigger=name, event=event_id, reason="it does not fit")
        receipt = await firing.fire(self.store, self.project, name, event, event_id)
        if receipt is None:
            raise triggers.no_trigger(name)
        return receipt

    async def _trigger(self, name: str) -> Trigger:
        from dibs.duties import firing
        from dibs.rules import ticks, triggers

        found = await firing.load(self.store, self.project, ticks.parse_name(name))
        if found is None:
            raise triggers.no_trigger(name)
        return found

    async def _forget_files(self, trigger: Trigger) -> None:
        """Forget what the files of a trigger were like: what is there when they are looked at next is no change."""
        from dibs.duties import calendar
        from dibs.rules import triggers

        if trigger.on == triggers.FILES:
            place = calendar.place_of(self.project, trigger.name)
            await self.store.write_document(calendar.EVERYWHERE, triggers.FILES, place, None)

    async def _latest(self, on: str) -> int:
        """Up to which event nothing is made: what happened before is not what a new trigger waits for."""
        return await self.store.last_seq() if on == "event" else 0

    async def _change_trigger(
        self, name: str, change: Callable[[Trigger], None], *, unless: Callable[[Trigger], bool]
    ) -> Trigger:
        """Change a trigger as it is now, however many others do at the same time."""
        from dibs.duties import calendar, firing
        from dibs.errors import Conflict
        from dibs.rules import triggers

        for _ in range(calendar.RACES):
            found = await self._trigger(name)
            if unless(found):
                return shown(found)
            change(found)
            try:
                await firing.save(self.store, self.project, found)
            except Conflict:
                continue
            await calendar.wake(self.store, firing.KIND, self.store.now())
            return shown(found)
        raise triggers.exists(name)


def shown(trigger: Trigger) -> Trigger:
    """A trigger as everybody may see it."""
    trigger.secrets = ()
    return trigger


def _says(known: Trigger, parts: dict[str, Any], *, paused: bool) -> bool:
    """Whether a trigger is what these parts say; whether it is paused is its own, unless it is to be replaced."""
    return all(getattr(known, name) == value for name, value in parts.items() if paused or name != "paused")


def _drawn(scheme: str) -> str:
    import os

    from dibs.rules import signatures

    return signatures.secret_from(os.urandom(32), scheme)


def _read_body(headers: Mapping[str, str], body: bytes) -> Any:
    """What a webhook says: JSON, or a form. Text that no store can keep is replaced: the sender cannot mend it."""
    from msgspec import DecodeError
    from msgspec.json import decode

    from dibs.errors import Invalid
    from dibs.rules import plain_json

    kind = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
    if kind.partition(";")[0].strip().lower() == "application/x-www-form-urlencoded":
        from urllib.parse import parse_qsl

        try:
            fields = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=1000))
        except ValueError:
            raise Invalid("the body has too many fields.", field="body") from None
        data: Any = fields
        if "payload" in fields:
            # GitHub and Slack put JSON into a form like this.
            try:
                data = decode(fields["payload"])
            except (DecodeError, RecursionError):
                data = fields
    else:
        try:
            data = decode(body)
        except (DecodeError, UnicodeError, RecursionError) as error:
            raise Invalid(f"the body is not JSON: {str(error)[:200]}.", field="body") from None
    return plain_json.clean(data)[0]
