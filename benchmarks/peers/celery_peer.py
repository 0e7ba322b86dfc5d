"""Celery with Redis as its broker: JSON, late acknowledgement, no results."""

from __future__ import annotations

import kit
from celery import Celery, group

app = Celery("bench", broker=kit.URL)
app.conf.update(
    task_acks_late=True,
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    worker_prefetch_multiplier=kit.SETTINGS["prefetch_multiplier"],
    worker_send_task_events=False,
    worker_enable_remote_control=False,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options=kit.SETTINGS.get("transport", {}),
)


@app.task(name="noop")
def noop(number: int) -> None:
    kit.hit(number)
    if kit.HANGING:
        kit.hang()


class Peer(kit.Script):
    async def add(self, number: int) -> None:
        noop.delay(number)

    async def add_many(self, numbers) -> None:
        group(noop.s(number) for number in numbers).apply_async()

    async def load(self, count: int, lanes: int = 1) -> None:
        # Quicker than in groups.
        for number in range(count):
            noop.delay(number)

    async def work(self) -> None:
        kit.gate()
        options = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING"]
        pool = ["--pool", kit.SETTINGS["pool"], "--concurrency", str(kit.SETTINGS["concurrency"])]
        app.worker_main(["worker", *pool, *options])


kit.main(Peer())
