"""A graph of LangGraph as the handler of a task.

    from dibs.adapters.langgraph import handler_of, run

    app.handler("report")(handler_of(graph))                   # the payload is the graph's input, its state the output

    @app.handler("review")
    async def review(ctx, text):                               # or in a handler of your own
        state = await run(ctx, graph, {"text": text})
        return state["verdict"]

The graph's checkpoints are the task's: after a crash it goes on with the nodes that were not done, on whatever worker.
A node is what is done once; in one that pays for several things, put each into a `@task`. `interrupt(…)` asks a person:
the task waits, holding no worker, and the answer is what `interrupt` returns. What chat models report is spent.

A graph that is run so needs no checkpointer of its own. The newest checkpoint is kept, at most 1 MiB of it; graphs with
delta channels need all of them, and another checkpointer.

Needs `pip install langgraph`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import AsyncCallbackHandler
from langgraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver, CheckpointTuple, get_checkpoint_id
from langgraph.graph import StateGraph
from langgraph.types import Command
from pydantic_core import to_jsonable_python

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from langchain_core.outputs import LLMResult
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
    from langgraph.types import Interrupt

    from dibs.worker.context import Context

INTERRUPTS = "__interrupt__"


async def run(
    ctx: Context, graph: Any, input: Any, *, config: RunnableConfig | None = None, **options: Any
) -> dict[str, Any]:
    """Run a graph (compiled or not) as part of a task; the state in the end. Takes the options of `ainvoke`."""
    saver = TaskSaver(ctx)
    compiled: Any = (
        graph.compile(checkpointer=saver)
        if isinstance(graph, StateGraph)
        else graph.copy(update={"checkpointer": saver})
    )
    given: Any = {} if config is None else dict(config)
    settings = {
        **given,
        "configurable": {**given.get("configurable", {}), "thread_id": ctx.task.id},
        "callbacks": [*(given.get("callbacks") or ()), _Spending(ctx)],
    }
    # Each superstep is on record before the next one begins: a crash costs no more than the nodes it hit.
    options.setdefault("durability", "sync")
    said = None if saver.has_begun else input
    while True:
        state: dict[str, Any] = await compiled.ainvoke(said, settings, **options)
        interrupts: Sequence[Interrupt] = state.get(INTERRUPTS, ())
        if not interrupts:
            return state
        said = Command(resume={interrupt.id: await _ask(ctx, interrupt) for interrupt in interrupts})


def handler_of(graph: Any, **options: Any) -> Callable[..., Awaitable[Any]]:
    """A handler whose payload is the graph's input, and whose output is its state in the end, as JSON."""

    async def handle(ctx: Context, **payload: Any) -> Any:
        return to_jsonable_python(await run(ctx, graph, payload, **options), fallback=_plain)

    return handle


async def _ask(ctx: Context, interrupt: Interrupt) -> Any:
    """Ask a person what a graph wants to know: a text, or an object with `question` and maybe a `schema`."""
    said = interrupt.value
    schema = None
    if isinstance(said, dict) and isinstance(said.get("question"), str):
        said, schema = said["question"], said.get("schema")
    question = said if isinstance(said, str) else str(to_jsonable_python(said, fallback=str))
    return await ctx.ask(question, schema, name=f"interrupt {interrupt.id}")


def _plain(value: Any) -> Any:
    """What JSON does not know: messages, as they are dumped; anything else as text."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)


class TaskSaver(BaseCheckpointSaver[str]):
    """A checkpointer that keeps the newest checkpoint of a graph, and of its subgraphs, as the checkpoint of a task."""

    def __init__(self, ctx: Context) -> None:
        super().__init__()
        self._ctx = ctx
        self._kept: dict[str, dict[str, Any]] = dict(ctx.last_checkpoint or {})
        """By namespace: its checkpoint and metadata, and what was written since, each as type and text."""

    @property
    def has_begun(self) -> bool:
        """Whether an earlier attempt got anywhere."""
        return bool(self._kept)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        space = config["configurable"].get("checkpoint_ns", "")
        kept = self._kept.get(space)
        wanted = get_checkpoint_id(config)
        if kept is None or wanted not in (None, kept["id"]):
            return None
        return CheckpointTuple(
            config=_config(config, space, kept["id"]),
            checkpoint=self._read(kept["checkpoint"]),
            metadata=self._read(kept["metadata"]),
            parent_config=None if kept["parent"] is None else _config(config, space, kept["parent"]),
            pending_writes=[
                (task_id, channel, self._read(value))
                for task_id, _, _, channel, value in sorted(
                    kept["writes"], key=lambda write: (write[1], write[0], write[2])
                )
            ],
        )

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The newest one is all there is."""
        found = None if config is None or before is not None else await self.aget_tuple(config)
        if found is not None:
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        space = config["configurable"].get("checkpoint_ns", "")
        self._kept[space] = {
            "id": checkpoint["id"],
            "parent": config["configurable"].get("checkpoint_id"),
            "checkpoint": self._write(checkpoint),
            "metadata": self._write(metadata),
            "writes": [],
        }
        await self._ctx.checkpoint(self._kept)
        return _config(config, space, checkpoint["id"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        space = config["configurable"].get("checkpoint_ns", "")
        kept = self._kept.get(space)
        if kept is None or kept["id"] != config["configurable"].get("checkpoint_id"):
            return
        known = {(write[0], write[2]): write for write in kept["writes"]}
        for number, (channel, value) in enumerate(writes):
            # Some channels have a place of their own, and are written anew; what else is there already stays.
            place = WRITES_IDX_MAP.get(channel, number)
            if place < 0 or (task_id, place) not in known:
                known[task_id, place] = [task_id, task_path, place, channel, self._write(value)]
        kept["writes"] = list(known.values())
        await self._ctx.checkpoint(self._kept)

    def get_next_version(self, current: str | None, channel: None) -> str:
        return f"{1 if current is None else int(current) + 1:032}"

    def _write(self, value: Any) -> list[str]:
        kind, data = self.serde.dumps_typed(value)
        return [kind, b64encode(data).decode()]

    def _read(self, kept: Sequence[str]) -> Any:
        return self.serde.loads_typed((kept[0], b64decode(kept[1])))


def _config(config: RunnableConfig, space: str, id: str) -> RunnableConfig:
    thread = config["configurable"]["thread_id"]
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space, "checkpoint_id": id}}


class _Spending(AsyncCallbackHandler):
    """Hears what chat models used."""

    raise_error = True

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    async def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        for generation in (each for line in response.generations for each in line):
            message = getattr(generation, "message", None)
            usage = getattr(message, "usage_metadata", None)
            if not usage:
                continue
            details = usage.get("input_token_details") or {}
            self._ctx.spend(
                tokens_in=usage["input_tokens"],
                tokens_out=usage["output_tokens"],
                tokens_cached=details.get("cache_read") or 0,
                tokens_cache_written=details.get("cache_creation") or 0,
                turns=1,
                model=(getattr(message, "response_metadata", None) or {}).get("model_name"),
            )
        await self._ctx.progress()
