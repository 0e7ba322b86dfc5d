"""Removing a whole schema: of a store that was only there to be tried out."""

from __future__ import annotations

import asyncio

from dibs.stores.postgres.address import Address
from dibs.stores.postgres.engine import Engine


def remove(url: str, prefix: str) -> None:
    """Drop the schema of this URL with everything in it, if there is one. Its name must begin with `prefix`."""
    address = Address.parse(url)
    if not address.schema.startswith(prefix):
        raise ValueError(f"{address.schema} is not to be removed")
    asyncio.run(_drop(address))


async def _drop(address: Address) -> None:
    connection = await Engine(address).connect()
    try:
        await connection.execute(f"DROP SCHEMA IF EXISTS {address.schema} CASCADE")
    finally:
        await connection.close()
