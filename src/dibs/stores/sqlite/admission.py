"""Claiming among tasks that need locks or use budgets: the best that get all of theirs. Others are parked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.stores.sqlite.claim import LOCKS
from dibs.stores.sqlite.locks import Locks
from dibs.stores.sqlite.rows import decode

if TYPE_CHECKING:
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.values import ClaimRequest


class Admission:
    """Who is let in by one claim, best first: those that fit into one batch, whose locks are free, and whose budgets
    have room."""

    def __init__(self, tx: Transaction, request: ClaimRequest) -> None:
        self.chosen: list[list[Any]] = []
        self._request = request
        self._locks = Locks(tx)
        self._holders: list[int] = []
        self._size = 0

    def is_full_after(self, candidates: list[list[Any]]) -> bool:
        """Let in whom there is room for, and park whom a lock or budget does not admit; whether no others are needed.

        The candidates begin with those that were chosen before.
        """
        request, locks = self._request, self._locks
        new = [(candidate, decode(candidate[LOCKS] or "[]")) for candidate in candidates[len(self.chosen) :]]
        locks.look_at((request.project, name) for _, names in new for name in names)
        locks.budgets.look_at(candidate[0] for candidate, _ in new)
        full = False
        shut_out: dict[int, str] = {}
        for candidate, names in new:
            number, _, solo, count, _ = candidate
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
