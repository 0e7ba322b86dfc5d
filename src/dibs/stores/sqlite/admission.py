"""Claiming among tasks that need locks, use budgets, or are of types with slots: the best that get all of theirs. Those
without a lock or room in a budget are parked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.rules.budgets import PASSED_OVER
from dibs.stores.sqlite.claim import LOCKS
from dibs.stores.sqlite.locks import Locks
from dibs.stores.sqlite.rows import decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.values import ClaimRequest, LaneKey


class Admission:
    """Who is let in by one claim, best first: those that fit into one batch, whose locks are free, whose budgets have
    room, and whose type has a slot left (`rooms`). What the agent cannot pay for is passed over."""

    def __init__(
        self, tx: Transaction, request: ClaimRequest, lanes: Mapping[int, LaneKey], rooms: dict[str, int]
    ) -> None:
        self.chosen: list[list[Any]] = []
        self.seen: set[int] = set()
        self.rooms = rooms
        self._lanes = lanes
        self._request = request
        self._locks = Locks(tx)
        self._holders: list[int] = []
        self._size = self._passed_over = 0

    def is_full_after(self, candidates: list[list[Any]]) -> bool:
        """Let in whom there is room for, and park whom a lock or budget does not admit; whether no others are needed.

        Those that were looked at before may be among the candidates.
        """
        request, locks = self._request, self._locks
        new = [
            (candidate, decode(candidate[LOCKS] or "[]")) for candidate in candidates if candidate[0] not in self.seen
        ]
        locks.look_at((request.project, name) for _, names in new for name in names)
        locks.budgets.look_at((candidate[0] for candidate, _ in new), request.agent)
        full = False
        shut_out: dict[int, str] = {}
        for candidate, names in new:
            number, lane, solo, count, _ = candidate
            self.seen.add(number)
            type = self._lanes[lane].type
            if self.rooms.get(type) == 0:
                continue
            if not locks.budgets.can_pay(number):
                self._passed_over += 1
                full = self._passed_over >= PASSED_OVER
                if full:
                    break
                continue
            if self.chosen and (self._size + count > request.max_bytes or solo):
                full = True
                break
            closed = locks.closed(request.project, number, names)
            if closed is not None:
                shut_out[number] = closed
                # What else it would have taken is free for others.
                for name in names:
                    locks.free((request.project, name))
                continue
            if names:
                locks.take(request.project, names)
                self._holders.append(number)
            locks.budgets.take(number)
            self._size += count
            self.chosen.append(candidate)
            if type in self.rooms:
                self.rooms[type] -= 1
            if solo or len(self.chosen) >= request.limit:
                full = True
                break
        if shut_out:
            locks.park(shut_out)
        return full

    def finish(self) -> None:
        """The chosen ones were claimed: they hold their locks and reserve. What became free meanwhile is for others."""
        self._locks.budgets.reserve(candidate[0] for candidate in self.chosen)
        if self._holders:
            self._locks.hold(self._holders)
        self._locks.follow()
