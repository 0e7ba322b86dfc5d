"""Other designs' names (`dibs.adapters`), and another program's files there and back."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from tests.compare.perform import plain
from tests.compare.processes import command
from tests.compare.program import IN_OTHER_PROCESSES, Program

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.compare.program import Scene


async def _seen(scene: Scene, step: str, asked: Awaitable[Any]) -> Any:
    """Note what was answered, or how it was refused."""
    try:
        answer = await asked
    except Exception as error:
        scene.note(step, {"raised": type(error).__name__, "message": str(error)})
        return None
    scene.note(step, _told(answer))
    return answer


def _told(answer: Any) -> Any:
    try:
        return plain(answer)
    except Exception:
        return repr(answer)


async def _task_queue(scene: Scene, queue: Any) -> None:
    from dibs.adapters import Task, TaskQueue, TaskTool

    tasks = TaskQueue(queue)
    await _seen(scene, "register", tasks.register_worker("worker-1", 2))
    first = await _seen(scene, "enqueue", tasks.enqueue(Task(subagent_type="coder", prompt="do it", priority=10)))
    second = await _seen(scene, "enqueue", tasks.enqueue(Task(subagent_type="coder", prompt="fail", user_id="u")))
    await _seen(scene, "list", tasks.list_by_user("u"))
    taken = await _seen(scene, "dequeue", tasks.dequeue("worker-1", timeout_ms=0))
    await _seen(scene, "heartbeat", tasks.heartbeat("worker-1"))
    await _seen(scene, "complete", tasks.complete(getattr(taken, "id", first), {"done": True}))
    taken = await _seen(scene, "dequeue", tasks.dequeue("worker-1", timeout_ms=0))
    await _seen(scene, "fail", tasks.fail(getattr(taken, "id", second), "boom"))
    await _seen(scene, "dequeue", tasks.dequeue("worker-1", timeout_ms=0))
    for id in (first, second, "task_00000000000000000000000000"):
        await _seen(scene, "get_status", tasks.get_status(id))
        await _seen(scene, "get", tasks.get(id))
        await _seen(scene, "cancel", tasks.cancel(id))
        await _seen(scene, "retry", tasks.retry(id))
    await _seen(scene, "requeue", tasks.requeue_stalled())
    await _seen(scene, "tool", TaskTool(tasks).run("p", "coder", persist=True, tags=["t"]))
    await _seen(scene, "unregister", tasks.unregister_worker("worker-1", "done"))


async def _runtime(scene: Scene, queue: Any) -> None:
    from dibs.adapters import QueueItem, QueueRuntime

    runtime = QueueRuntime(queue)
    for n in range(3):
        await _seen(scene, "enqueue", runtime.enqueue(QueueItem(kind="message", content=f"hello {n}", scope_key="s")))
    await _seen(scene, "length", runtime.queue_length())
    await asyncio.sleep(0.1)
    for end in ("complete", "fail", "complete"):
        batch = await _seen(scene, "try_dequeue", runtime.try_dequeue())
        if batch is None:
            break
        await _seen(scene, "heartbeat", runtime.heartbeat())
        settle = runtime.complete(batch) if end == "complete" else runtime.fail(batch, "boom")
        await _seen(scene, end, settle)
    await _seen(scene, "close", runtime.close())


async def _orchestrator(scene: Scene, queue: Any) -> None:
    from dibs.adapters import Orchestrator, row_of

    orchestrator = Orchestrator(queue)
    first = await _seen(scene, "create", orchestrator.create_task("w", "A", "t", {"part": 7}, priority=0))
    await _seen(scene, "create", orchestrator.create_task("w", "B", "u", max_attempts=5))
    await _seen(scene, "create", orchestrator.create_task("w", "", "u"))
    if first is not None:
        scene.note("row", _told(row_of(await queue.get(first.id))))
    for claim in await queue.claim("A"):
        await queue.complete(claim, {"n": 1})
    for task in (await queue.find()).items:
        scene.note("row", _told(row_of(task)))


def _adapter(run: Callable[[Scene, Any], Awaitable[None]]) -> Callable[[Scene], None]:
    async def over(scene: Scene) -> None:
        import dibs

        async with dibs.connect(scene.url) as queue:
            await run(scene, queue)
            for task in sorted((await queue.find(limit=100)).items, key=lambda task: task.id):
                scene.note("task", plain(task))

    return lambda scene: asyncio.run(over(scene))


def _loki_task(id: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": id,
        "idempotencyKey": 4711,
        "type": "eng-backend",
        "priority": 5,
        "dependencies": [],
        "payload": {"action": "implement", "target": "src/login.ts", "params": {}, "goal": "People can log in"},
        "createdAt": "2001-01-01T08:00:00Z",
        "claimedBy": None,
        "claimedAt": None,
        "timeout": 3600,
        "retries": 0,
        "maxRetries": 3,
        "backoffSeconds": 60,
        "lastError": None,
        "completedAt": None,
        "result": None,
        **fields,
    }


def _loki(scene: Scene) -> None:
    folder = scene.folder / ".loki"
    (folder / "queue").mkdir(parents=True)
    done = {"completedAt": "2001-01-01T09:00:00Z", "result": {"ok": True}}
    files = {
        "pending": [_loki_task("one"), _loki_task("two", dependencies=["one"], priority=9, type="ops-security")],
        "in-progress": [_loki_task("three", claimedBy="agent-1", claimedAt="2001-01-01T08:30:00Z")],
        "completed": [_loki_task("four", **done)],
        "failed": [_loki_task("five", retries=1, lastError="boom")],
        "dead-letter": [_loki_task("six", retries=3, lastError="boom")],
    }
    for name, tasks in files.items():
        (folder / "queue" / f"{name}.json").write_text(json.dumps({"tasks": tasks}))
    scene.note("dry run", command(scene, "import", "--format", "loki", folder, "--dry-run", "--json").seen)
    scene.note("import", command(scene, "import", "--format", "loki", folder, "--json").seen)
    scene.note("again", command(scene, "import", "--format", "loki", folder).seen)
    claim = command(scene, "claim", "--agent", "ada", "--json")
    scene.note("claim", claim.seen)
    if claim.code == 0:
        task = json.loads(claim.out)["task"]["id"]
        scene.note("complete", command(scene, "complete", task, "--fence", 1, "--output", "1").seen)
    back = scene.folder / "back"
    scene.note("export", command(scene, "export", "--format", "loki", back).seen)
    scene.note("over it", command(scene, "export", "--format", "loki", back, "--json").seen)
    scene.note("forced", command(scene, "export", "--format", "loki", back, "--force", "--json").seen)
    for file in sorted(back.rglob("*.json")):
        scene.note(str(file.relative_to(back)), json.loads(file.read_text()))
    scene.note("nothing there", command(scene, "import", "--format", "loki", scene.folder / "none").seen)


PROGRAMS = (
    Program("adapters", "TaskQueue and TaskTool", _adapter(_task_queue)),
    Program("adapters", "QueueRuntime", _adapter(_runtime)),
    Program("adapters", "Orchestrator", _adapter(_orchestrator)),
    Program("loki", "there and back", _loki, stores=IN_OTHER_PROCESSES),
)
