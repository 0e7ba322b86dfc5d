"""The verbs for artifacts, and what a claim's context refers to. `Queue` has them; they are written here.

What they need is imported when they are used: adding and claiming pay nothing for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from dibs.errors import Invalid, NotFound
from dibs.model.status import HELD
from dibs.requests import held, id_of
from dibs.rules import validation
from dibs.stores import refusals

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from dibs.artifacts.blobs import Blobs, Stream
    from dibs.artifacts.depot import Depot
    from dibs.model.artifact import Artifact, Swept
    from dibs.model.claim import Claim
    from dibs.model.task import Task
    from dibs.requests import Held
    from dibs.stores.contract import Store
    from dibs.stores.homes import Homes

T = TypeVar("T")

_AT_ONCE = 8
"""Tasks whose outputs are read together: each may have 16 MiB."""


_PROBE = b"dibs was here"


class Opened:
    """An artifact's bytes: `await opened.read()`, or `async for chunk in opened`; once.

    They are compared with their digest on the way; if they are others, reading ends with Unavailable.
    """

    def __init__(self, stream: Stream, run: Callable[..., Any]) -> None:
        self._stream = stream
        self._run = run
        self.digest = stream.digest
        self.size = stream.size

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while chunk := await self._run(self._stream.next_chunk):
            yield chunk

    async def read(self) -> bytes:
        """All that is left."""
        content: bytes = await self._run(self._stream.read)
        return content


class Artifacts:
    """What a queue does with artifacts."""

    store: Store
    project: str
    _homes: Homes | None = None
    """Of a queue that is confined to a project: what is known to be in that."""
    artifacts_at: str | None
    _depot: Depot

    async def put_artifact(self, claim: Held, name: str, data: Any, *, media_type: str | None = None) -> Artifact:
        """Keep bytes as an artifact of the task that this claim holds. Raises LeaseLost, and then nothing refers to
        them.

        `data`: bytes, a `pathlib.Path` to a file that is read here, an open binary file, or an iterator or async
        iterator of bytes; at most 1 GiB, or what the place is told to take. `name` is a label; the same name again
        takes the place of the artifact before. The bytes are there before the task tells of them.
        """
        task_id, fence = held(claim)
        # Whoever has lost the task should not have to send everything first to hear of it.
        task = await self._task(task_id)
        if task.fence != fence or task.status not in HELD:
            raise refusals.lease_lost(task_id, fence)
        artifact = await self.keep_bytes(name, data, media_type=media_type)
        return await self.store.put_artifact(task_id, fence, artifact)

    async def keep_bytes(self, name: str, data: Any, *, media_type: str | None = None) -> Artifact:
        """Keep bytes that no task refers to yet; as `put_artifact` takes them."""
        from dibs.artifacts import spool as spools
        from dibs.model.artifact import Artifact
        from dibs.rules import artifacts

        label = artifacts.label(name)
        kind = artifacts.media_type(media_type)
        spools.check(data)
        blobs = await self._run(self._open_blobs)
        with spools.Spool(blobs.max_bytes) as spool:
            if hasattr(data, "__aiter__"):
                async for chunk in data:
                    await self._run(spool.write, chunk)
            else:
                await self._run(spool.fill, data)
            await self._run(blobs.put, spool.digest, spool.size, spool.file)
            if self._homes is not None:
                self._homes.learn_bytes(self.project, [spool.digest])
            return Artifact(name=label, digest=spool.digest, size=spool.size, media_type=kind)

    async def open_artifact(self, ref: Any, *, dag: Any = None) -> Opened:
        """The bytes of an artifact. `ref`: an artifact, its digest (`sha256:…`), `task:ID:artifact:NAME`, or
        `artifact:NAME`, the newest of that name in `dag`. NotFound if it is not there."""
        return Opened(await self.artifact_stream(ref, dag=dag), self._run)

    async def artifact_stream(self, ref: Any, *, dag: Any = None) -> Stream:
        """As `open_artifact`, for those who may block while they read."""
        digest = await self._digest_of(ref, dag)
        blobs = await self._run(self._open_blobs)
        return await self._run(blobs.open, digest)

    async def artifacts(self, target: Any) -> list[Artifact]:
        """The artifacts of a task, or of all tasks of a dag, in the order in which they were put."""
        id = id_of(target)
        if not id.startswith("dag_"):
            return list((await self._task(id)).artifacts)
        found = await self.store.artifacts(id)
        if not found and await self.store.dag(id) is None:
            raise NotFound(f"There is no dag {id}.", field="dag_id")
        return found

    async def sweep_artifacts(self, older_than: Any = None) -> Swept:
        """Delete bytes that no task refers to any more, or ever did, if they were written longer ago than that (a day,
        at least an hour). Only for a place that no other store uses."""
        from dibs.model.artifact import Swept
        from dibs.rules import artifacts

        age_s = artifacts.SWEEP_AGE_S
        if older_than is not None:
            age_s = validation.duration_s(older_than, "older_than", low=artifacts.MIN_SWEEP_AGE_S)
        blobs = await self._run(self._open_blobs)
        deleted = size = kept = 0
        # Read once: what is added from here on has bytes that are new, or were written again.
        payloads = await self.store.payload_digests()
        listing = blobs.written_before(age_s)
        while found := await self._run(next, listing, None):
            needed = await self.store.kept_digests([digest for digest, _ in found])
            gone = {digest: length for digest, length in found if digest not in needed and digest not in payloads}
            if gone:
                again = await self._run(blobs.delete, list(gone), age_s)
                gone = {digest: length for digest, length in gone.items() if digest not in again}
            deleted, size, kept = deleted + len(gone), size + sum(gone.values()), kept + len(found) - len(gone)
        return Swept(deleted=deleted, bytes=size, kept=kept)

    async def look_at_artifacts(self) -> str | None:
        """Where somebody said that artifacts are kept, and with them large payloads and outputs; None: nobody did, and
        the store keeps those. Unavailable or Invalid if nothing can be written and read there: that is tried."""

        def looked_at() -> str | None:
            from hashlib import sha256
            from io import BytesIO

            if self._depot.place is None:
                return None
            digest = f"sha256:{sha256(_PROBE).hexdigest()}"
            blobs = self._open_blobs()
            blobs.put(digest, len(_PROBE), BytesIO(_PROBE))
            blobs.open(digest).read()
            return str(self._depot.place)

        if self._homes is not None:
            self._homes.check_operators(self.project)
        return await self._run(looked_at)

    async def _passed_on(self, values: Any) -> tuple[Artifact, ...]:
        """Artifacts that a completion names, once their bytes were found to be there."""
        from dibs.rules import artifacts

        found = artifacts.passed_on(values)
        if found:
            blobs = await self._run(self._open_blobs)
            for artifact in found:
                if await self._run(blobs.size_of, artifact.digest) != artifact.size:
                    raise artifacts.not_kept(artifact.name)
        return found

    async def _resolve(self, claims: Sequence[Claim]) -> None:
        """Put what the contexts of these claims refer to in the place of their references."""
        from dibs.rules import refs

        for claim in claims:
            found = refs.wanted(claim.context)
            if not found:
                continue
            names = refs.names_in(found)
            in_dag = await self.store.artifacts(claim.task.dag_id, names) if names else []
            values: dict[str, Any] = {}
            room = refs.MAX_TOTAL_BYTES
            for start in range(0, len(found), _AT_ONCE):
                some = found[start : start + _AT_ONCE]
                ids = refs.tasks_in(some)
                tasks = dict(zip(ids, await self.store.get(ids), strict=True)) if ids else {}
                # What is in another project does not exist for this task, whoever claims it.
                tasks = {id: _at_home(task, claim.task.project) for id, task in tasks.items()}
                more, room = refs.resolved(some, tasks, in_dag, room)
                values |= more
            claim.context = {**claim.context, "refs": values}

    async def _digest_of(self, ref: Any, dag: Any) -> str:
        from dibs.model.artifact import Artifact
        from dibs.rules import refs
        from dibs.rules.artifacts import newest, no_bytes

        if isinstance(ref, dict):
            ref = ref.get("digest")
        wanted = refs.parse(ref.digest if isinstance(ref, Artifact) else ref)
        if wanted.kind == refs.BYTES:
            if self._homes is not None and not await self._homes.bytes_in(self.project, [wanted.name]):
                raise no_bytes(wanted.name)
            return wanted.name
        if wanted.kind != refs.ARTIFACT:
            raise Invalid(f"{ref} is an output, not an artifact: get the task to read it.", field="ref")
        if wanted.task_id is not None:
            known: Sequence[Artifact] = (await self._task(wanted.task_id)).artifacts
        elif dag is not None:
            known = await self.store.artifacts(id_of(dag, "dag"), [wanted.name])
        else:
            raise Invalid(f"say in which dag {ref} is, or name its task: task:ID:artifact:NAME.", field="dag")
        found = newest(known).get(wanted.name)
        if found is None:
            raise NotFound(
                f"There is no artifact {wanted.name!r} there. `dibs artifact ls ID` shows the ones there are.",
                field="ref",
            )
        return found.digest

    async def _task(self, task_id: str) -> Task:
        [task] = await self.store.get([task_id], listed=True)
        if task is None:
            raise refusals.no_task(task_id, "task_id")
        return task

    def _open_blobs(self) -> Blobs:
        return self._depot.blobs()

    async def _run(self, work: Callable[..., T], *args: Any) -> T:
        return await self._depot.run(work, *args)


def _at_home(task: Task | None, project: str) -> Task | None:
    return task if task is not None and task.project == project else None
