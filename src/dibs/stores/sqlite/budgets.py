"""Budgets: claims reserve in them, and are charged when they end. What does not fit is parked.

`budgets` has their sums, `reserves` what each claim has reserved; a task whose claim has some says so (`reserved`).
Only projects that have budgets come here.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec import Struct

from dibs.model.instants import seconds
from dibs.model.status import Outcome
from dibs.rules import budgets as rules
from dibs.stores.sqlite.rows import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.rows import Row
    from dibs.stores.values import Usage

    Name = tuple[str, str]
    """A budget: its project, its name."""

    Closed = Callable[[str, Sequence[tuple[int, str | None]]], list[str | None]]

# Of each task (numbers) the budgets it uses, if an agent (NULL: nobody) claims it, for whom they are saved (`saving`),
# and what tells how much an attempt at it would reserve there.
_WISHES = """
SELECT
    t.n, b.project, b.name, (
        SELECT o.n FROM locks AS l CROSS JOIN tasks AS o ON o.n = l.reserved_for
        WHERE l.project = b.project AND l.name = b.name AND o.status = 'ready'
    ), b.unit, b.cap, b.reserved + b.spent, b.default_reserve, s.spec->>'max_cost',
    s.spec->>'max_tokens', s.spec->>'max_turns', t.timeout_s, t.reason, t.lane, t.rank, t.cost_usd, t.tokens_in,
    t.tokens_out, t.turns
FROM json_each(?1) AS j
CROSS JOIN tasks AS t ON t.n = j.value
CROSS JOIN specs AS s ON s.n = t.n
CROSS JOIN budgets AS b INDEXED BY budget_scope ON b.project = t.project AND b.scope IN (
    'global', 'type:' || t.type, 'user:' || t.user,
    'dag:' || coalesce(t.dag, 'dag_' || iif(substr(t.id, 1, 5) = 'task_', substr(t.id, 6), t.id)), 'agent:' || ?2,
    s.spec->>'$.charged_to[0]', s.spec->>'$.charged_to[1]'
)
"""
_BROKE = "SELECT ends_at FROM budgets WHERE project = ?1 AND scope = 'agent:' || ?2 AND reserved + spent >= cap"
_ANY = "SELECT EXISTS (SELECT 1 FROM budgets)"
_AGENTS_PAY = "SELECT EXISTS (SELECT 1 FROM budgets WHERE project = ? AND scope GLOB 'agent:*')"
_OF_AGENTS = rules.PREFIX + rules.OF_AGENTS
_RESERVE = """
INSERT INTO reserves (n, fence, name, project, amount, window_no)
SELECT t.n, t.fence, b.name, b.project, j.value->>2, b.window_no
FROM json_each(?) AS j CROSS JOIN tasks AS t ON t.n = j.value->>0
CROSS JOIN budgets AS b ON b.project = t.project AND b.name = j.value->>1
"""
_MARK = "UPDATE tasks SET reserved = 1 WHERE n IN (SELECT value->>0 FROM json_each(?))"
_ADD_UP = """
UPDATE budgets SET
    reserved = reserved + (j.value->>2), spent = spent + (j.value->>3), unpriced = unpriced + (j.value->>4)
FROM json_each(?) AS j WHERE budgets.project = j.value->>0 AND budgets.name = j.value->>1
"""
# What was reserved in a window that is over is not charged any more.
_GIVE_BACK = """
DELETE FROM reserves WHERE (n, fence) IN (SELECT value->>0, value->>1 FROM json_each(?))
RETURNING n, fence, project, name, amount, window_no = (
    SELECT b.window_no FROM budgets AS b WHERE b.project = reserves.project AND b.name = reserves.name
)
"""
_LANES = """
SELECT DISTINCT lane FROM tasks INDEXED BY task_parked WHERE project = ?1 AND parked_on = ?2
"""
# Of a lane, those that are parked on a budget, and those that are on their way (for long?); at most ?4 of each.
_BEST = """
SELECT * FROM (
    SELECT rank, n, locks, true, false FROM tasks INDEXED BY task_parked
    WHERE project = ?1 AND parked_on = ?2 AND lane = ?3 ORDER BY rank, n LIMIT ?4
)
UNION ALL
SELECT * FROM (
    SELECT rank, n, locks, false, ready_at <= ?5 FROM tasks INDEXED BY task_ready
    WHERE status = 'ready' AND parked_on IS NULL AND lane = ?3 ORDER BY rank, n LIMIT ?4
)
"""


def is_broke(tx: Transaction, project: str, agent: str) -> bool:
    """Whether a budget of this agent is used up."""
    return tx.row(_BROKE, (project, agent)) is not None


def broke_for_s(tx: Transaction, project: str, agent: str) -> float | None:
    """How long it takes until no budget of this agent is used up any more, by time alone; None: for ever."""
    return rules.broke_for_s([ends_at for (ends_at,) in tx.connection.execute(_BROKE, (project, agent))], tx.now)


def stuck_before(tx: Transaction, project: str) -> int:
    """What is ready and not parked since before this may be what no agent can pay for. Never, if none has a budget."""
    return tx.now - seconds(rules.PASSED_OVER_S) if tx.row(_AGENTS_PAY, (project,))[0] else -1


class _Room(Struct):
    """What a budget has, what is taken of it, and the task for which the rest is saved."""

    cap: int
    taken: int
    saved_for: int | None


class _End(Struct):
    """How a claim ended, as far as it matters what it is charged."""

    used: rules.Usage
    micros: int
    sure: bool
    given_back: bool

    def charge(self, unit: str, reserved: int) -> tuple[int, bool]:
        if unit == "seconds":
            return rules.charge(self.micros, reserved, sure=True, given_back=False)
        return rules.charge(self.used.of(unit), reserved, sure=self.sure, given_back=self.given_back)


class Budgets:
    """What one transaction does to budgets. Those that may admit somebody now (`roomy`) are looked at at its end."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._some: bool | None = None
        self._rooms: dict[Name, _Room] = {}
        self._wishes: dict[int, dict[Name, int]] = {}
        self._places: dict[int, tuple[int, tuple[float, int]]] = {}
        self._ended: dict[tuple[int, int], _End] = {}
        self.roomy: dict[Name, None] = {}

    # Claims

    def look_at(self, numbers: Iterable[int], agent: str | None = None) -> None:
        """Read what these tasks would reserve, and where; if there are any budgets. `agent`: also in its own."""
        if self._some is None:
            self._some = bool(self._tx.row(_ANY)[0])
        missing = [number for number in numbers if number not in self._wishes] if self._some else []
        if not missing:
            return
        for number in missing:
            self._wishes[number] = {}
        for (
            number,
            project,
            name,
            saved_for,
            unit,
            cap,
            taken,
            default,
            cost,
            tokens,
            turns,
            timeout_s,
            reason,
            lane,
            rank,
            *spent,
        ) in self._tx.connection.execute(_WISHES, (encode(missing).decode(), agent)):
            stopped = reason == rules.EXCEEDED
            allowance = rules.Allowance(cost, tokens, turns, timeout_s, rules.Usage(*spent), stopped)
            self._wishes[number][project, name] = rules.reserve(unit, allowance, default, cap)
            self._places[number] = (lane, (rank or 0.0, number))
            self._rooms.setdefault((project, name), _Room(cap, taken, saved_for))
        self.look_at([room.saved_for for room in self._rooms.values() if room.saved_for is not None], agent)

    def wanted(self, budget: Name, number: int) -> int | None:
        """What this task would reserve in a budget; None if it does not use it."""
        self.look_at([number])
        return self._wishes.get(number, {}).get(budget)

    def _fits(self, budget: Name, number: int, wanted: int, more: int = 0) -> bool:
        """Whether it fits, beside `more` and what is saved for another task, if that is not behind it in its lane."""
        room = self._rooms[budget]
        other = room.saved_for
        aside = 0
        if other is not None and other != number and not self._is_behind(other, number):
            aside = self._wishes[other].get(budget, 0)
        return rules.fits(limit=room.cap, taken=room.taken + aside + more, wanted=wanted)

    def _is_behind(self, other: int, number: int) -> bool:
        """Whether it is worse than another of the same lane; both were looked at."""
        if other not in self._places:
            return False
        (lane, rank), (its_lane, its_rank) = self._places[number], self._places[other]
        return lane == its_lane and rank < its_rank

    def closed(self, number: int) -> str | None:
        """The first budget, by name, that has no room for this task; None if all have, but for those of its agent. It
        was looked at."""
        for budget, wanted in sorted(self._wishes.get(number, {}).items()):
            if not budget[1].startswith(_OF_AGENTS) and not self._fits(budget, number, wanted):
                return budget[1]
        return None

    def can_pay(self, number: int) -> bool:
        """Whether the budgets of the agent that it was looked at for have room for this task."""
        return all(
            self._fits(budget, number, wanted)
            for budget, wanted in self._wishes.get(number, {}).items()
            if budget[1].startswith(_OF_AGENTS)
        )

    def take(self, number: int) -> None:
        """A task that fits will reserve. `reserve` writes that, once it has its fence."""
        for budget, wanted in self._wishes.get(number, {}).items():
            room = self._rooms[budget]
            room.taken += wanted
            if room.saved_for == number:
                room.saved_for = None

    def reserve(self, numbers: Iterable[int]) -> None:
        """Tasks that took their share were claimed."""
        reserved = [
            (number, name, wanted, project)
            for number in numbers
            for (project, name), wanted in self._wishes.get(number, {}).items()
        ]
        if reserved:
            text = encode(reserved).decode()
            self._tx.run(_RESERVE, (text,))
            self._tx.run(_MARK, (text,))
            self._add_up([(project, name, wanted, 0, 0) for _, name, wanted, project in reserved])

    def count_in(self, budget: Name, numbers: Sequence[int], agent: str | None) -> None:
        """A new budget counts those who work in its scope, as if they were claimed now; `agent`: whose it is."""
        self.look_at(numbers, agent)
        for number in numbers:
            self._wishes[number] = {name: wanted for name, wanted in self._wishes[number].items() if name == budget}
        self.reserve(numbers)

    # Ends of claims

    def settle(self, row: Row, used: Usage, *, outcome: str, reason: str | None, by_duty: bool) -> None:
        """Its claim ended; `write` charges it."""
        row.reserved = None
        self._ended[row.n, row.fence] = _End(
            rules.Usage(used.cost_usd, used.tokens_in, used.tokens_out, used.turns),
            0 if row.started_at is None else self._tx.now - row.started_at,
            sure=not by_duty and reason != "crash",
            given_back=row.started_at is None or Outcome(outcome) in rules.GIVEN_BACK,
        )

    def write(self) -> None:
        """Charge the claims that ended: what they used is spent, and the rest is free for others."""
        if not self._ended:
            return
        ended, self._ended = self._ended, {}
        charges = []
        for number, fence, project, name, amount, counts in list(
            self._tx.connection.execute(_GIVE_BACK, (encode(list(ended)).decode(),))
        ):
            if not counts:
                continue
            charge, priced = ended[number, fence].charge(name.rpartition(":")[2], amount)
            charges.append((project, name, -amount, charge, int(not priced)))
            self.roomy[project, name] = None
        if charges:
            self._add_up(charges)

    def _add_up(self, changes: Sequence[tuple[str, str, int, int, int]]) -> None:
        """Add to what is reserved and spent, and to how many attempts are unpriced."""
        sums: dict[Name, list[int]] = {}
        for project, name, *amounts in changes:
            total = sums.setdefault((project, name), [0, 0, 0])
            for place, amount in enumerate(amounts):
                total[place] += amount
        rows = [(project, name, *total) for (project, name), total in sums.items()]
        self._tx.run(_ADD_UP, (encode(rows).decode(),))

    # Who has room

    def forget(self) -> None:
        """Read everything anew: what was written since may have changed it."""
        self._some = None
        self._rooms = {}
        self._wishes = {}

    def moves(self, closed: Closed) -> dict[int, str | None]:
        """Of budgets that may have room, who is unparked (None), or parked on another budget or lock instead.

        Of each lane the best, as long as they fit beside those that are on their way. `closed` tells what else does not
        admit tasks, given by number and locks.
        """
        roomy, self.roomy = sorted(self.roomy), {}
        moved: dict[int, str | None] = {}
        for project, name in roomy:
            for (lane,) in list(self._tx.connection.execute(_LANES, (project, name))):
                moved |= self._moves((project, name), lane, closed)
        return moved

    def _moves(self, budget: Name, lane: int, closed: Closed) -> dict[int, str | None]:
        before = stuck_before(self._tx, budget[0])
        found = self._tx.connection.execute(_BEST, (*budget, lane, rules.LOOKED_AT, before))
        best = sorted(found, key=itemgetter(0, 1))
        self.look_at(number for _, number, *_ in best)
        if budget not in self._rooms:
            return {}
        saved_for = self._rooms[budget].saved_for
        # Whom it is saved for does not wait for those who have been on their way for long.
        coming = lately = 0
        moved: dict[int, str | None] = {}
        parked = [(number, locks) for _, number, locks, is_parked, _ in best if is_parked]
        others = dict(zip((number for number, _ in parked), closed(budget[0], parked), strict=True))
        for _, number, _, is_parked, for_long in best:
            wanted = self._wishes[number].get(budget)
            before_it = lately if number == saved_for else coming
            if wanted is None or not self._fits(budget, number, wanted, before_it):
                continue
            if is_parked:
                moved[number] = others[number]
            # What is saved for it is aside already.
            if number != saved_for and (not is_parked or others[number] is None):
                coming += wanted
                lately += 0 if for_long else wanted
        return moved
