"""The SDK's own client for a server of the tests, and the words it is asked in."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types.a2a_pb2 import Message, Part, Role, SendMessageRequest, TaskState
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from a2a.client import Client
    from a2a.types.a2a_pb2 import StreamResponse, Task

OFFER = """\
name: The tests' agent
description: Does as it is told.
default: echo
skills:
  echo:
    description: Says it again.
    options: {max_attempts: 2, retry: immediate}
  slow:
    name: Slow
    description: Nobody does it.
    tags: [waiting]
    examples: [whatever]
    text: topic
"""
PATIENCE_S = 60.0


def offer(folder: Path) -> str:
    """A file that offers what the tests' worker does."""
    path = folder / "a2a.yaml"
    path.write_text(OFFER)
    return str(path)


@asynccontextmanager
async def client(
    url: str, token: str | None, *, streaming: bool = True, polling: bool = False
) -> AsyncIterator[Client]:
    """A client that read the card of the server at this URL, and has this token."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False) as line:
        card = await A2ACardResolver(line, f"{url}/a2a").get_agent_card()
        config = ClientConfig(streaming=streaming, polling=polling, httpx_client=line)
        yield ClientFactory(config).create(card)


def message(text: str | None = None, data: Any = None, *, id: str | None = None, **more: Any) -> SendMessageRequest:
    """A message with a text, data, or both; `task_id`, `context_id`, `metadata` as the protocol has them."""
    parts = [] if text is None else [Part(text=text)]
    if data is not None:
        parts.append(Part(data=ParseDict(data, Value())))
    said = Message(message_id=id or uuid4().hex, role=Role.ROLE_USER, parts=parts, **more)
    return SendMessageRequest(message=said)


async def last_task(stream: AsyncIterator[StreamResponse]) -> Task:
    """The task that an answer without a stream is."""
    [found] = [event async for event in stream]
    return found.task


def state(number: int) -> str:
    """`completed` for TASK_STATE_COMPLETED."""
    return TaskState.Name(number).removeprefix("TASK_STATE_").lower()


def told(event: StreamResponse) -> tuple[str, str]:
    """What an event of a stream is, in short."""
    kind = event.WhichOneof("payload") or ""
    if kind == "task":
        return kind, state(event.task.status.state)
    if kind == "status_update":
        return kind, state(event.status_update.status.state)
    return kind, event.artifact_update.artifact.artifact_id


def output(task: Task) -> Any:
    """What a completed task made."""
    [made] = [artifact for artifact in task.artifacts if artifact.artifact_id == "output"]
    [part] = made.parts
    return part.text if part.HasField("text") else MessageToDict(part.data)
