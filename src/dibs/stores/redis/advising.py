"""What `dibs doctor` says about a Redis server: what a crash can lose, and what will hurt soon. A sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.stores.redis.opening import warnings

if TYPE_CHECKING:
    from dibs.stores.redis.address import Address
    from dibs.stores.redis.opening import Seen

FULL = 0.8
"""The part of a limit from which on it is spoken about."""

LONG_FORK_US = 500_000


def advice(seen: Seen, address: Address) -> list[str]:
    """What endangers or slows down this server, and what to do about it."""
    there = f"{seen.name} at {address.place}"
    said = warnings(seen, address)
    said.extend(f"{there} {sentence}" for sentence in (*_memory(seen), *_disk(seen), *_company(seen)))
    return said


def _memory(seen: Seen) -> list[str]:
    said = []
    limit, used = seen.facts.get("maxmemory"), seen.facts.get("used_memory", 0)
    if limit == 0:
        said.append(
            "has no limit to its memory (maxmemory 0): when its machine has none left, the system may kill it; set"
            " maxmemory, to be refused new tasks instead."
        )
    elif limit and used >= FULL * limit:
        said.append(
            f"uses {used / limit:.0%} of its memory (maxmemory {seen.facts.get('maxmemory_human', limit)}): when it is"
            " full, nothing can be added, claimed or settled; raise maxmemory, or delete what ended with `dibs prune`."
        )
    evicted = seen.facts.get("evicted_keys", 0)
    if evicted:
        said.append(
            f"has thrown away {evicted:,} keys since it was started, because its maxmemory-policy was not noeviction:"
            " tasks may have been among them; look for what is missing."
        )
    return said


def _disk(seen: Seen) -> list[str]:
    said = []
    if "err" in (seen.facts.get("aof_last_write_status"), seen.facts.get("aof_last_bgrewrite_status")):
        said.append("could not write its log: look into its own log and free some space on its disk.")
    if seen.facts.get("rdb_last_bgsave_status") == "err":
        said.append(
            "could not write its last snapshot, and may take no writes until it can: look into its log and free some"
            " space on its disk."
        )
    fork = seen.facts.get("latest_fork_usec", 0)
    if fork >= LONG_FORK_US:
        said.append(
            f"stood still for {fork / 1_000_000:.1f} s when it last began to write a snapshot or a new log: turn off"
            " transparent huge pages on its machine, or keep less in it."
        )
    return said


def _company(seen: Seen) -> list[str]:
    most, now = seen.facts.get("maxclients"), seen.facts.get("connected_clients", 0)
    if most and now >= FULL * most:
        return [f"has {now:,} of at most {most:,} connections: raise its maxclients, or let fewer processes connect."]
    return []
