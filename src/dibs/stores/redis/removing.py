"""Removing a whole namespace: of a store that was only there to be tried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.stores.redis.address import Address
from dibs.stores.redis.engine import Engine
from dibs.stores.redis.keys import Keys

if TYPE_CHECKING:
    from dibs.stores.redis.engine import Line

PORTION = 1000


def remove(url: str, prefix: str) -> None:
    """Delete every key of the namespace of this URL, whose name must begin with `prefix`."""
    address = Address.parse(url)
    if not address.namespace.startswith(prefix):
        raise ValueError(f"{address.namespace} is not to be removed")
    keys = Keys(address.tag + ":")
    engine = Engine(address, keys)
    try:
        engine.run(lambda line: _unlink_all(line, keys.prefix + "*"))
    finally:
        engine.close()


def _unlink_all(line: Line, pattern: str) -> None:
    cursor: Any = 0
    while True:
        cursor, found = line.send([("SCAN", cursor, "MATCH", pattern, "COUNT", PORTION)])[0]
        if found:
            line.send([("UNLINK", *found)])
        if int(cursor) == 0:
            return
