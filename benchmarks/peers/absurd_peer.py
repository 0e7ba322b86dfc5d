"""absurd: its asyncio client on psycopg 3; the schema comes with `absurdctl`."""

from __future__ import annotations

import kit
import psycopg
from absurd_sdk import AsyncAbsurd
from absurdctl import BUNDLED_SCHEMA_SQL

QUEUE = "q"


class Peer(kit.Script):
    def app(self) -> AsyncAbsurd:
        app = AsyncAbsurd(kit.URL, queue_name=QUEUE)

        @app.register_task("noop")
        async def noop(params, context) -> None:
            kit.hit(params["number"])
            if kit.HANGING:
                await kit.forever()

        return app

    async def install(self) -> None:
        with psycopg.connect(kit.URL, autocommit=True) as connection:
            connection.execute(BUNDLED_SCHEMA_SQL)
            connection.execute("SELECT absurd.create_queue(%s)", [QUEUE])

    async def open(self) -> None:
        self.producer = self.app()

    async def add(self, number: int) -> None:
        await self.producer.spawn("noop", {"number": number})

    async def load(self, count: int, lanes: int = 1) -> None:
        with psycopg.connect(kit.URL, autocommit=True) as connection:
            connection.execute(
                "SELECT count(*) FROM generate_series(0, %s::int - 1) g, LATERAL"
                " absurd.spawn_task(%s, 'noop', jsonb_build_object('number', g), '{}'::jsonb)",
                [count, QUEUE],
            )

    async def work(self) -> None:
        app = self.app()
        kit.gate()
        await app.start_worker(
            concurrency=kit.SETTINGS["concurrency"],
            batch_size=kit.SETTINGS["batch_size"],
            poll_interval=kit.SETTINGS["poll_interval_s"],
            claim_timeout=kit.SETTINGS.get("claim_timeout_s", 120),
        )


kit.main(Peer())
