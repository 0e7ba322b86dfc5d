"""RQ: its worker that runs tasks in its own process, or (`fork`) the one that forks for each."""

from __future__ import annotations

import kit
import rq_task
from redis import Redis
from rq import Queue, Retry, SimpleWorker, Worker


class Peer(kit.Script):
    async def open(self) -> None:
        self.redis = Redis.from_url(kit.URL)
        self.queue = Queue(connection=self.redis)
        retries = kit.SETTINGS.get("retries")
        self.options = {"retry": Retry(max=retries)} if retries else {}
        if "timeout_s" in kit.SETTINGS:
            self.options["job_timeout"] = kit.SETTINGS["timeout_s"]

    async def add(self, number: int) -> None:
        self.queue.enqueue(rq_task.noop, number, **self.options)

    async def add_many(self, numbers) -> None:
        options = {"timeout" if name == "job_timeout" else name: value for name, value in self.options.items()}
        self.queue.enqueue_many([Queue.prepare_data(rq_task.noop, (number,), **options) for number in numbers])

    async def work(self) -> None:
        await self.open()
        kind = Worker if kit.SETTINGS.get("fork") else SimpleWorker
        worker = kind([self.queue], connection=self.redis, **kit.SETTINGS.get("worker", {}))
        kit.gate()
        worker.work(logging_level="WARNING")


kit.main(Peer())
