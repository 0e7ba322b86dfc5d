"""Claiming where locks, budgets, slots of types or groups matter: the best that get all they need, and who goes with
them. Those without a lock or room in a budget are parked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.rules.budgets import PASSED_OVER
from dibs.rules.coalescing import room_for_members
from dibs.stores.sqlite import coalescing
from dibs.stores.sqlite.claim import LOCKS
from dibs.stores.sqlite.locks import Locks
from dibs.stores.sqlite.rows import decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.values import ClaimRequest, LaneKey


class Admission:
    """Who is let in by one claim, best first: those that fit into one batch, whose locks are free, whose budgets have
    room, and whose type has a slot left (`rooms`); each followed by those that go with it. What the agent cannot pay
    for is passed over. `groups`: to which group each belongs. `most`: how many there may be in all."""

    def __init__(
        self,
        tx: Transaction,
        request: ClaimRequest,
        lanes: Mapping[int, LaneKey],
        rooms: dict[str, int],
        most: int | None,
    ) -> None:
        self.chosen: list[list[Any]] = []
        self.groups: list[int] = []
        self.seen: set[int] = set()
        self.rooms = rooms
        self._lanes = lanes
        self._leaders = 0
        self._tx = tx
        self._request = request
        self._most = most
        self._gathering: list[int] = []
        self._locks = Locks(tx)
        self._holders: list[int] = []
        self._size = self._passed_over = 0

    def is_full_after(self, candidates: list[list[Any]]) -> bool:
        """Let in whom there is room for, and park whom a lock or budget does not admit; whether no others are needed.

        Those that were looked at before may be among the candidates.
        """
        request, locks = self._request, self._locks
        new = [candidate for candidate in candidates if candidate[0] not in self.seen]
        keys = coalescing.keys_of(self._tx, [candidate[0] for candidate in new if candidate[LOCKS] is not None])
        needs = self._look_at(new)
        full = False
        shut_out: dict[int, str] = {}
        for candidate, names in zip(new, needs, strict=True):
            number, lane, solo, count, _ = candidate
            if number in self.seen:
                continue
            self.seen.add(number)
            if self.rooms.get(self._lanes[lane].type) == 0:
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
            self._leaders += 1
            self._let_in(candidate, names)
            if number in keys and not solo:
                self._let_in_others(lane, keys[number])
            if solo or self._leaders >= request.limit or len(self.chosen) == self._most:
                full = True
                break
        if shut_out:
            locks.park(shut_out)
        return full

    def _let_in_others(self, lane: int, key: str) -> None:
        """Those of the group of the one that was let in last; whom a lock or budget does not admit is left alone."""
        request, locks = self._request, self._locks
        room = room_for_members(taken=len(self.chosen), most=self._most)
        room = min(room, self.rooms.get(self._lanes[lane].type, room))
        taken = [candidate[0] for candidate in self.chosen]
        others = coalescing.others(self._tx, lane, key, taken) if room else []
        for (*other, gathers), names in zip(others, self._look_at(others), strict=True):
            if not room or self._size + other[3] > request.max_bytes:
                break
            if not locks.budgets.can_pay(other[0]) or locks.closed(request.project, other[0], names) is not None:
                continue
            self._let_in(other, names)
            room -= 1
            if gathers:
                self._gathering.append(other[0])

    def _look_at(self, candidates: list[list[Any]]) -> list[list[str]]:
        """Read what decides about these; the locks that each needs."""
        needs: list[list[str]] = [decode(candidate[LOCKS] or "[]") for candidate in candidates]
        self._locks.look_at((self._request.project, name) for names in needs for name in names)
        self._locks.budgets.look_at((candidate[0] for candidate in candidates), self._request.agent)
        return needs

    def _let_in(self, candidate: list[Any], names: list[str]) -> None:
        number, lane, _, count, _ = candidate
        type = self._lanes[lane].type
        if type in self.rooms:
            self.rooms[type] -= 1
        if names:
            self._locks.take(self._request.project, names)
            self._holders.append(number)
        self._locks.budgets.take(number)
        self._size += count
        self.seen.add(number)
        self.chosen.append(candidate)
        self.groups.append(self._leaders)

    @property
    def some_go_together(self) -> bool:
        return self._leaders < len(self.chosen)

    def make_ready(self) -> None:
        """Before the chosen ones are claimed: those that gather do so no longer."""
        if self._gathering:
            coalescing.make_ready(self._tx, self._gathering)

    def finish(self) -> None:
        """The chosen ones were claimed: they hold their locks and reserve. What became free meanwhile is for others."""
        self._locks.budgets.reserve(candidate[0] for candidate in self.chosen)
        if self._holders:
            self._locks.hold(self._holders)
        self._locks.follow()
