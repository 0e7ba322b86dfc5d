"""Locks: held with a claim, and let go with it. What does not get all of its locks is parked on one of them.

`holds` has the locks of claims, `wants` those of ready tasks that are not parked, and `locks` what is not as usual:
slots and reservations. Who waits for a lock is in the tasks themselves (`parked_on`). Only tasks that need locks come
here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from dibs.rules import locks as rules
from dibs.rules.budgets import PREFIX
from dibs.stores.sqlite.budgets import Budgets
from dibs.stores.sqlite.rows import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.rows import Row

    Name = tuple[str, str]
    """A lock: its project, its name."""

_STATES = """
SELECT
    j.value->>0, j.value->>1, coalesce(l.slots, 1), l.reserved_for,
    (SELECT count(*) FROM holds AS h WHERE h.project = j.value->>0 AND h.name = j.value->>1),
    EXISTS (
        SELECT 1 FROM tasks AS t INDEXED BY task_parked WHERE t.project = j.value->>0 AND t.parked_on = j.value->>1
    )
FROM json_each(?) AS j
LEFT JOIN locks AS l ON l.project = j.value->>0 AND l.name = j.value->>1
"""
_HOLD = """
INSERT INTO holds (project, name, n, fence)
SELECT t.project, need.value, t.n, t.fence
FROM json_each(?) AS j CROSS JOIN tasks AS t ON t.n = j.value CROSS JOIN json_each(t.locks) AS need
"""
_LET_GO = """
DELETE FROM holds WHERE (project, name, n, fence) IN (
    SELECT value->>0, value->>1, value->>2, value->>3 FROM json_each(?)
)
"""
_WANT = """
INSERT INTO wants (n, name, project, lane, rank)
SELECT t.n, need.value, t.project, t.lane, t.rank
FROM json_each(?) AS j CROSS JOIN tasks AS t ON t.n = j.value CROSS JOIN json_each(t.locks) AS need
WHERE true
ON CONFLICT (n, name) DO UPDATE SET lane = excluded.lane, rank = excluded.rank
"""
_WANT_NO_MORE = "DELETE FROM wants WHERE n IN (SELECT value FROM json_each(?))"
_UNRESERVE = """
UPDATE locks SET reserved_for = NULL
WHERE reserved_for IN (SELECT value FROM json_each(?)) AND name NOT GLOB 'budget:*' RETURNING project, name
"""
_FORGET_USUAL = f"""
DELETE FROM locks WHERE project = ? AND name = ? AND slots = {rules.SLOTS} AND reserved_for IS NULL
"""  # noqa: S608
_PARK = """
UPDATE tasks SET
    parked_on = j.value->>1,
    parked_since = CASE
        WHEN j.value->>1 GLOB 'budget:*' THEN NULL
        WHEN j.value->>1 IS NULL THEN parked_since
        ELSE coalesce(parked_since, ?2)
    END
FROM json_each(?1) AS j WHERE tasks.n = j.value->>0
"""
_NOT_PASSED_OVER = "UPDATE tasks SET parked_since = NULL WHERE n IN (SELECT value FROM json_each(?))"
# The lanes of those that are parked on a lock, one seek for each.
_LANES = """
WITH RECURSIVE lanes (id) AS (
    SELECT min(lane) FROM tasks INDEXED BY task_parked WHERE project = ?1 AND parked_on = ?2
    UNION ALL
    SELECT (
        SELECT min(lane) FROM tasks INDEXED BY task_parked WHERE project = ?1 AND parked_on = ?2 AND lane > lanes.id
    )
    FROM lanes WHERE id IS NOT NULL
)
SELECT id FROM lanes WHERE id IS NOT NULL
"""
# Of a lane, those that are parked on a lock, at most ?4, and those that are on their way to it (NULL), at most ?5.
_BEST = """
SELECT rank, n, locks FROM (
    SELECT rank, n, locks FROM tasks INDEXED BY task_parked WHERE project = ?1 AND parked_on = ?2 AND lane = ?3
    ORDER BY rank, n LIMIT ?4
)
UNION ALL
SELECT rank, n, NULL FROM (
    SELECT rank, n FROM wants INDEXED BY want_best WHERE project = ?1 AND name = ?2 AND lane = ?3
    ORDER BY rank, n LIMIT ?5
)
"""


class _State(Struct):
    """What decides whom a lock admits, and whether anybody waits for it."""

    slots: int
    taken: int
    reserved_for: int | None
    waited_for: bool


class Locks:
    """What one transaction does to locks. Those that may admit somebody now are looked at in `follow`, at its end."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._states: dict[Name, _State] = {}
        self._freed: dict[Name, None] = {}
        self._changed: dict[int, Row] = {}
        self._ended: list[tuple[str, str, int, int]] = []
        self.budgets = Budgets(tx)

    # Tasks that change

    def note(self, row: Row) -> None:
        """A task that needs locks changed; `leave` and `arrive` see what it became."""
        self._changed[row.n] = row

    def reranked(self, row: Row) -> None:
        """It is better or worse than before: another may be the best of those who wait for the same lock."""
        self.note(row)
        self._free_all(row)

    def let_go(self, row: Row) -> None:
        """Its claim ended."""
        self._ended += [(row.project, name, row.n, row.fence) for name in decode(row.locks or "[]")]
        self._free_all(row)

    def leave(self) -> None:
        """Before rows are written: what is no longer ready leaves its locks."""
        if self._ended:
            self._tx.run(_LET_GO, (encode(self._ended).decode(),))
            self._ended = []
        self.budgets.write()
        gone = [row for row in self._changed.values() if row.status != "ready" and not row.held]
        for row in gone:
            row.parked_on = row.parked_since = None
            self._free_all(row)
        if gone:
            self._want_no_more([row.n for row in gone])

    def arrive(self) -> None:
        """After rows are written: what is ready wants its locks."""
        changed, self._changed = self._changed, {}
        ready = [row.n for row in changed.values() if row.status == "ready" and row.parked_on is None]
        self.want(ready)

    def _want_no_more(self, numbers: Sequence[int]) -> None:
        """These are on their way no longer. What was reserved for them is free for others."""
        self._tx.run(_WANT_NO_MORE, (encode(numbers).decode(),))
        self._unreserve(numbers)

    def _unreserve(self, numbers: Sequence[int]) -> None:
        for lock in list(self._tx.connection.execute(_UNRESERVE, (encode(numbers).decode(),))):
            self.forget_usual(lock)
            self.free(lock)

    def forget_usual(self, lock: Name) -> None:
        """Nothing is known of a lock that has the usual slots and is not reserved."""
        self._tx.run(_FORGET_USUAL, lock)

    def _free_all(self, row: Row) -> None:
        for name in decode(row.locks or "[]"):
            self.free((row.project, name))

    # Claims

    def look_at(self, locks: Iterable[Name]) -> None:
        """Read those that were not read before."""
        missing = [lock for lock in dict.fromkeys(locks) if lock not in self._states]
        if not missing:
            return
        for project, name, slots, reserved_for, taken, waited_for in self._tx.connection.execute(
            _STATES, (encode(missing).decode(),)
        ):
            self._states[project, name] = _State(slots, taken, reserved_for, bool(waited_for))

    def closed(self, project: str, number: int, names: Iterable[str]) -> str | None:
        """The first lock, by name, that does not admit this task, or else the first budget; None if all do. They were
        looked at."""
        lock = rules.first_closed(names, lambda name: self._admits((project, name), number))
        return self.budgets.closed(number) if lock is None else lock

    def _admits(self, lock: Name, number: int) -> bool:
        state = self._states[lock]
        return rules.admits(slots=state.slots, taken=state.taken, reserved_for=state.reserved_for, number=number)

    def take(self, project: str, names: Iterable[str]) -> None:
        """A task that all of them admit will hold them. `hold` writes that, once it has its fence."""
        for name in names:
            self._states[project, name].taken += 1

    def hold(self, numbers: Sequence[int]) -> None:
        """Tasks that took their locks were claimed."""
        text = encode(numbers).decode()
        self._tx.run(_HOLD, (text,))
        self._tx.run(_NOT_PASSED_OVER, (text,))
        self._want_no_more(numbers)

    def park(self, closed: dict[int, str]) -> None:
        """Tasks, each with the lock or budget that does not admit it, that no claim looks at for now.

        That is how dibs sees a task, not the task: `updated_at` stays.
        """
        self._move(closed)
        self._tx.run(_WANT_NO_MORE, (encode(list(closed)).decode(),))

    def _move(self, moved: Mapping[int, str | None]) -> int:
        """Park tasks on these locks and budgets, or unpark them (None); how many were unparked.

        Whoever waits for a budget is not passed over by those who take locks, and keeps none for himself.
        """
        if not moved:
            return 0
        self._tx.run(_PARK, (encode(list(moved.items())).decode(), self._tx.now))
        broke = [number for number, name in moved.items() if name is not None and name.startswith(PREFIX)]
        if broke:
            self._unreserve(broke)
        unparked = [number for number, name in moved.items() if name is None]
        self.want(unparked)
        return len(unparked)

    def want(self, numbers: Sequence[int]) -> None:
        """These were unparked: they are on their way to their locks."""
        if numbers:
            self._tx.run(_WANT, (encode(numbers).decode(),))

    # What became free

    def free(self, lock: Name) -> None:
        """This lock may admit somebody now."""
        self._freed[lock] = None

    def follow(self) -> int:
        """Unpark what the locks that became free admit, and then the budgets that have room; how many."""
        unparked = 0
        while self._freed or self.budgets.roomy:
            freed, self._freed = sorted(self._freed), {}
            self._states = {}
            self.budgets.forget()
            self.look_at(freed)
            unparked += sum(self._open_up(project, name) for project, name in freed)
            if not self._freed:
                unparked += self._move(self.budgets.moves(self._closed_to))
        return unparked

    def _closed_to(self, project: str, parked: Sequence[tuple[int, str | None]]) -> list[str | None]:
        """What does not admit each of these tasks, given by number and locks."""
        needs = [(number, decode(names or "[]")) for number, names in parked]
        self.look_at((project, name) for _, names in needs for name in names)
        return [self.closed(project, number, names) for number, names in needs]

    def _open_up(self, project: str, name: str) -> int:
        """Unpark the best of each lane that are parked on a lock, so that as many as it has slots free are on their
        way."""
        state = self._states[project, name]
        free = state.slots - state.taken
        if free <= 0 or not state.waited_for:
            return 0
        moved: dict[int, str | None] = {}
        for (lane,) in list(self._tx.connection.execute(_LANES, (project, name))):
            moved |= self._moves(project, name, lane, free)
        return self._move(moved)

    def _moves(self, project: str, name: str, lane: int, free: int) -> dict[int, str | None]:
        """Of a lane, who is unparked from a lock (None), or parked on another one instead.

        As many as there are slots free are looked at, which mostly is one; if that does not do, as many as may be.
        """
        moves: dict[int, str | None] = {}
        for limit in sorted({min(free, rules.LOOKED_AT), rules.LOOKED_AT}):
            best = sorted(self._tx.connection.execute(_BEST, (project, name, lane, limit, free)))
            parked = {number: decode(locks) for _, number, locks in best if locks is not None}
            self.look_at((project, needed) for names in parked.values() for needed in names)
            self.budgets.look_at(parked)
            moves, places = self._decide((project, name), [number for _, number, _ in best], parked, free)
            if places <= 0 or len(parked) < limit:
                break
        return moves

    def _decide(
        self, lock: Name, best: Sequence[int], parked: dict[int, list[str]], places: int
    ) -> tuple[dict[int, str | None], int]:
        """Who of the best moves where; and the places that are left. Those that are not parked are on their way."""
        project, name = lock
        moves: dict[int, str | None] = {}
        left = len(parked)
        for number in best:
            # Who is on his way and comes after all that are parked may come after others that were not looked at.
            if places <= 0 or not left:
                break
            if number not in parked:
                places -= 1
                continue
            left -= 1
            other = self.closed(project, number, parked[number])
            if other != name:
                moves[number] = other
            if other is None:
                places -= 1
        return moves, places
