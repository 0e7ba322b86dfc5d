"""Large values that lie where artifacts are kept, for whoever uses a store: handed in and read as if they were in it.

Where nobody said where artifacts are kept, the store keeps everything. Else the bytes of a payload or an output above
64 KiB are put there first, and then the store commits a mark in its place. If they cannot be put, the store keeps them
after all: no work is lost because a bucket is away. Whoever gets or claims a task has its values read; answers to
whatever changed something name them instead, so that nothing fails which has happened.
"""

from __future__ import annotations

from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from msgspec.json import decode
from msgspec.structs import replace

from dibs import settling
from dibs.errors import DibsError, Unavailable
from dibs.model.artifact import Artifact
from dibs.model.status import Status
from dibs.rules import large
from dibs.rules.handover import MAX_INPUT_BYTES
from dibs.rules.large import KEPT_AS, Kept
from dibs.stores.values import LateDrafts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dibs.artifacts.depot import Depot
    from dibs.model.claim import Claim, Settled
    from dibs.model.dag import Dag
    from dibs.model.task import Task
    from dibs.model.views import Page
    from dibs.rules.review import Ruling
    from dibs.stores.contract import Store
    from dibs.stores.values import (
        Claimed,
        ClaimRequest,
        Dependency,
        Draft,
        Expired,
        Filter,
        Inserted,
        Insertion,
        Settlement,
    )

AWAY_S = 30.0
"""So long a place that could not be written to is left alone, and a task whose payload could not be read is not handed
out: others are."""


_NOTHING: dict[str, Any] = {}


def overflowing(store: Store, depot: Depot) -> Store:
    """The store, with large values in the depot if somebody said where that is."""
    return cast("Store", Overflow(beneath(store), depot))


async def filled(store: Store, claimed: Claimed) -> Claimed:
    """What the store beneath handed out by itself, with large values in it."""
    given: Any = store
    return await given.filled(claimed) if isinstance(given, Overflow) else claimed


def beneath(store: Store) -> Store:
    """The store itself, which has marks of what lies elsewhere."""
    given: Any = store
    found: Store = given.within if isinstance(given, Overflow) else given
    return found


class Overflow:
    """A store with large values elsewhere. What has to do with none is done by the store itself."""

    def __init__(self, store: Store, depot: Depot) -> None:
        self.within = store
        self._depot = depot
        self._away_until = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.within, name)

    def now(self) -> int:
        return self.within.now()

    # In

    @property
    def late_drafts(self) -> bool:
        """Bytes go first: what is drafted while the store is at work would come too late."""
        return self.within.late_drafts and not self._is_told()

    async def insert(self, insertion: Insertion, connection: Any = None) -> Inserted:
        drafts = insertion.drafts
        if isinstance(drafts, LateDrafts):
            drafts = drafts.changed(_guarded)
            insertion = replace(insertion, drafts=drafts)
        elif _are_noticed(drafts):
            kept = await self._keep([(f"task:{draft.task.id}:payload", draft.payload) for draft in drafts])
            drafts = [replace(draft, payload=body) for draft, body in zip(drafts, kept, strict=True)]
            insertion = replace(insertion, drafts=drafts)
        inserted = await self.within.insert(insertion, connection)
        if len(drafts) == 1 and inserted.dag is None and inserted.tasks[0] is drafts[0].task:
            return inserted
        if len(inserted.tasks) == len(drafts):
            for task, draft in zip(inserted.tasks, drafts, strict=True):
                if task is not draft.task:
                    _fill(task)
                    # Also what is there already was asked for with this payload.
                    task.payload = draft.task.payload
        else:
            _fill(*inserted.tasks)
        if inserted.dag is not None:
            _fill(*inserted.dag.tasks)
        return inserted

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | DibsError]:
        if any(each.output is not None and large.is_noticed(each.output) for each in settlements):
            asked = [(f"task:{each.task_id}:output", each.output) for each in settlements]
            kept = await self._keep(asked)
            settlements = [_settled_with(each, body) for each, body in zip(settlements, kept, strict=True)]
        return await self.within.settle(settlements)

    async def revive(self, task_id: str, *, payload: bytes | None = None, **options: Any) -> Task:
        [kept] = await self._keep([(f"task:{task_id}:payload", payload)])
        task = await self.within.revive(task_id, payload=kept, **options)
        _fill(task)
        if payload is not None:
            task.payload = decode(payload)
        return task

    async def review(self, task_ids: Sequence[str], ruling: Ruling) -> list[Task | DibsError]:
        payload = ruling.payload
        if payload is not None:
            [kept] = await self._keep([(f"task:{task_ids[0]}:payload", payload)])
            ruling = replace(ruling, payload=kept)
        answers = await self.within.review(task_ids, ruling)
        for answer in answers:
            if not isinstance(answer, DibsError):
                _fill(answer)
                if payload is not None:
                    answer.payload = decode(payload)
        return answers

    # Out

    async def claim(self, request: ClaimRequest) -> Claimed:
        return await self.filled(await self.within.claim(request))

    async def filled(self, claimed: Claimed) -> Claimed:
        """What a store handed out, with its values."""
        noticed = [claim for leader in claimed.claims for claim in (leader, *leader.group) if _is_noticed(claim)]
        if noticed:
            await self._hand_out(claimed, noticed)
        return claimed

    async def get(self, ids: Sequence[str], *, listed: bool = False) -> list[Task | None]:
        found = await self.within.get(ids, listed=listed)
        tasks = [task for task in found if task is not None]
        read = {} if listed else await self._read(kept for task in tasks for kept in _kept(task.payload, task.output))
        for answer in read.values():
            if isinstance(answer, DibsError):
                raise answer
        _fill(*tasks, read=read)
        return found

    async def find(self, filter: Filter, limit: int, cursor: str | None) -> Page:
        page = await self.within.find(filter, limit, cursor)
        _fill(*page.items)
        return page

    async def dag(self, dag_id: str) -> Dag | None:
        dag = await self.within.dag(dag_id)
        if dag is not None:
            _fill(*dag.tasks)
        return dag

    async def expired(self, limit: int) -> list[Expired]:
        found = await self.within.expired(limit)
        _fill(*(each.claim.task for each in found))
        return found

    async def link(self, task_id: str, dependencies: Sequence[Dependency]) -> Task:
        task = await self.within.link(task_id, dependencies)
        _fill(task)
        return task

    async def reprioritise(self, task_id: str, priority: float) -> Task:
        task = await self.within.reprioritise(task_id, priority)
        _fill(task)
        return task

    async def reassign(self, task_id: str, assignee: str | None) -> Task:
        task = await self.within.reassign(task_id, assignee)
        _fill(task)
        return task

    async def retag(self, task_id: str, add: Sequence[str], remove: Sequence[str]) -> Task:
        task = await self.within.retag(task_id, add, remove)
        _fill(task)
        return task

    async def artifacts(self, dag_id: str, names: Sequence[str] = ()) -> list[Artifact]:
        return [artifact for artifact in await self.within.artifacts(dag_id, names) if artifact.name != KEPT_AS]

    # The bytes

    def _is_told(self) -> bool:
        """Whether somebody said where artifacts are kept."""
        try:
            return self._depot.place is not None
        except DibsError:  # Whoever puts an artifact hears of it; and `dibs doctor` tells.
            return False

    async def _keep(self, values: Sequence[tuple[str, bytes | None]]) -> list[Any]:
        """Values (JSON) as the store keeps them, in their order, with large ones put where artifacts are kept."""
        bodies: list[Any] = [None if body is None else large.guarded(body) for _, body in values]
        heavy = [place for place, (_, body) in enumerate(values) if body is not None and len(body) > large.LARGE_BYTES]
        if not heavy or not self._is_told() or monotonic() < self._away_until:
            return bodies
        try:
            found = await self._each(self._put, [values[place] for place in heavy])
        except DibsError:
            self._away_until = monotonic() + AWAY_S
            return bodies
        for place, kept in zip(heavy, found, strict=True):
            if kept is not None:
                bodies[place] = large.mark(kept)
        return bodies

    def _put(self, value: tuple[str, bytes]) -> Kept | None:
        """Put a value where artifacts are kept; None if that takes nothing as large."""
        from io import BytesIO

        ref, body = value
        blobs = self._depot.blobs()
        if len(body) > blobs.max_bytes:
            return None
        digest = f"sha256:{sha256(body).hexdigest()}"
        blobs.put(digest, len(body), BytesIO(body))
        return Kept(digest, len(body), ref)

    async def _read(self, wanted: Iterable[Kept]) -> dict[str, bytes | DibsError]:
        """The bytes of these by their digests, or why they cannot be read."""
        found = {kept.digest: kept for kept in wanted}
        return dict(zip(found, await self._each(self._get, list(found.values())), strict=True)) if found else {}

    def _get(self, kept: Kept) -> bytes | DibsError:
        try:
            return self._depot.blobs().open(kept.digest).read()
        except DibsError as error:
            return Unavailable(
                f"{kept.ref} is kept with the artifacts, and cannot be read: {error.message} Say where they are kept"
                " (DIBS_ARTIFACTS, or connect with artifacts=URL), then try again; `dibs doctor` looks there.",
                field="artifacts",
            )

    async def _each(self, work: Any, items: Sequence[Any]) -> list[Any]:
        """Do what blocks for each of these, side by side where it may."""
        if len(items) == 1 or self._depot.blocking:
            return [await self._depot.run(work, item) for item in items]
        import asyncio

        return list(await asyncio.gather(*(self._depot.run(work, item) for item in items)))

    async def _hand_out(self, claimed: Claimed, noticed: list[Claim]) -> None:
        """Put values into claims. Claims that lack some are given back, for a while; Unavailable if all do."""
        wanted = {claim.task.id: _light(claim) for claim in noticed}
        read = await self._read(kept for found in wanted.values() for kept in found)
        lacking: dict[str, DibsError] = {}
        for claim in noticed:
            missing = (read[kept.digest] for kept in wanted[claim.task.id])
            trouble = next((answer for answer in missing if isinstance(answer, DibsError)), None)
            if trouble is not None:
                lacking[claim.task.id] = trouble
                continue
            _fill(claim.task, read=read)
            claim.inputs = {name: _handed(value, read) for name, value in claim.inputs.items()}
            claim.children = {name: _handed(value, read) for name, value in claim.children.items()}
        if not lacking:
            return
        try:
            await self.within.settle([_not_now(claim) for claim in noticed if claim.task.id in lacking])
        except DibsError:
            pass  # The leases will end by themselves.
        groups = ([one for one in (claim, *claim.group) if one.task.id not in lacking] for claim in claimed.claims)
        claimed.claims = [_together(group) for group in groups if group]
        if not claimed.claims:
            raise next(iter(lacking.values()))


def _are_noticed(drafts: Sequence[Draft]) -> bool:
    """Whether one of these has a payload that may lie elsewhere."""
    for draft in drafts:  # noqa: SIM110 - a generator costs one draft more than the look
        if large.is_noticed(draft.payload):
            return True
    return False


def _guarded(draft: Draft) -> Draft:
    return replace(draft, payload=large.guarded(draft.payload)) if large.is_noticed(draft.payload) else draft


def _settled_with(settlement: Settlement, body: bytes | None) -> Settlement:
    """With its output as the store keeps it; bytes that lie elsewhere are kept for the task, as artifacts are."""
    if body is settlement.output:
        return settlement
    kept = large.kept_as(decode(cast("bytes", body)))
    if not isinstance(kept, Kept):
        return replace(settlement, output=body)
    holder = Artifact(name=KEPT_AS, digest=kept.digest, size=kept.size, media_type="application/json")
    return replace(settlement, output=body, artifacts=(*settlement.artifacts, holder))


def _not_now(claim: Claim) -> Settlement:
    """Given back as it was, but not to be handed out for a while."""
    given_back = settling.untouched(claim, large.AWAY)
    given_back.next, given_back.delay_s = Status.RETRYING, AWAY_S
    return given_back


def _together(claims: list[Claim]) -> Claim:
    """What is left of a group: the first has the others in its group."""
    first, *first.group = claims
    return first


def _is_noticed(claim: Claim) -> bool:
    """Whether a claim may have something that lies elsewhere; most have nothing of the kind."""
    task = claim.task
    return bool(
        (type(task.payload) is dict and large.MARK in task.payload)
        or claim.inputs
        or claim.children
        or task.artifacts
        or task.output is not None
    )


def _light(claim: Claim) -> list[Kept]:
    """What a claim carries that lies elsewhere; what is too heavy for that stays a name."""
    task = claim.task
    found = _kept(task.payload, task.output, *claim.inputs.values(), *claim.children.values())
    return [kept for kept in found if kept.size <= MAX_INPUT_BYTES]


def _kept(*values: Any) -> list[Kept]:
    return [kept for kept in map(large.kept_as, values) if isinstance(kept, Kept)]


def _fill(*tasks: Task, read: Mapping[str, Any] = _NOTHING) -> None:
    """Tasks from the store as people see them: with what was read; what else lies elsewhere is named. Once for each: a
    value that was handed in may look like one of ours."""
    for task in tasks:
        task.payload, task.output = _handed(task.payload, read), _handed(task.output, read)
        if task.artifacts:
            task.artifacts = tuple(artifact for artifact in task.artifacts if artifact.name != KEPT_AS)


def _handed(value: Any, read: Mapping[str, Any]) -> Any:
    """A value as it was handed in; its name, if it was not read."""
    kept = large.kept_as(value)
    if not isinstance(kept, Kept):
        return kept
    return decode(read[kept.digest]) if kept.digest in read else {"ref": kept.ref}
